"""The words of the toy translation set. `toy_phrases.py` bends them.

Nouns and verbs are chosen by kind (a cake is eaten), so that most sentences make sense; all forms stay below 270 a
language. Few English words are settled by the word before (who falls may fall asleep or down): those need no look.
"""

from dataclasses import dataclass
from functools import cache


@dataclass(frozen=True, eq=False)
class Noun:
    """A noun in both languages, each as (singular, plural), or (singular,) where it has no plural here."""

    gender: str  # m, f or n
    german: tuple[str, ...]
    english: tuple[str, ...]
    kinds: tuple[str, ...]
    adjectives: tuple[str, ...]
    oblique: str  # accusative and dative singular; differs from the nominative for weak nouns only


def noun(gender: str, german: str, english: str, kinds: str, adjectives: str, oblique: str = "") -> Noun:
    forms, translations, sorts, epithets = (tuple(text.split()) for text in (german, english, kinds, adjectives))
    return Noun(gender, forms, translations, sorts, epithets, oblique or forms[0])


@dataclass(frozen=True, eq=False)
class Verb:
    """A verb in both languages, with what may stand around it."""

    particle: str  # the separable part: "an" in anrufen
    stem: str  # third person plural without the particle
    singular: str  # third person singular without the particle
    participle: str  # empty for verbs used in the present only
    english: tuple[str, ...]  # base, third person, past, participle
    subjects: tuple[str, ...]
    objects: tuple[str, ...]
    places: tuple[str, ...]
    extra: str = ""  # "mit", "für", or "to" for a dative recipient
    tail: str = ""  # belongs to the English verb and follows it: look for, fall asleep
    english_particle: str = ""  # partner of the German particle, after the object: call her up
    moves: bool = False  # perfect with sein


def verb(german: str, english: str, subjects: str, objects: str = "", places: str = "", **more) -> Verb:
    """Build a verb from "an|rufen ruft angerufen" and "call calls called called"."""
    infinitive, singular, *participle = german.split()
    particle, _, stem = infinitive.rpartition("|")
    forms, agents, themes, sites = (tuple(text.split()) for text in (english, subjects, objects, places))
    return Verb(particle, stem, singular, "".join(participle), forms, agents, themes, sites, **more)


def glossary(text: str) -> dict[str, str]:
    """Read "heute today, am in the": a German word and what it means."""
    return dict(entry.split(" ", 1) for entry in text.split(", "))


ADJECTIVES = glossary("müd tired, schön beautiful, klein little, groß big, alt old, jung young, neu new, rot red")
ADJECTIVE_ORDER = ("müd schön", "klein groß", "alt jung neu", "rot")  # both languages keep it; one word of a group
NOUNS = (
    noun("m", "Mann Männer", "man men", "person", "müd alt jung"),
    noun("f", "Frau Frauen", "woman women", "person", "müd alt jung schön"),
    noun("n", "Kind Kinder", "child children", "person", "müd klein"),
    noun("m", "Junge Jungen", "boy boys", "person", "müd klein", oblique="Jungen"),
    noun("n", "Mädchen Mädchen", "girl girls", "person", "müd klein jung"),
    noun("m", "Bruder", "brother", "person kin", "klein groß"),
    noun("f", "Schwester", "sister", "person kin", "klein groß"),
    noun("f", "Mutter", "mother", "person kin", "müd alt"),
    noun("m", "Vater", "father", "person kin", "müd alt"),
    noun("m", "Freund Freunde", "friend friends", "person kin", "alt jung neu"),
    noun("m", "Hund Hunde", "dog dogs", "animal pet", "müd schön klein groß alt jung"),
    noun("f", "Katze Katzen", "cat cats", "animal pet", "müd schön klein groß alt jung"),
    noun("n", "Pferd Pferde", "horse horses", "animal pet", "müd schön klein groß alt jung"),
    noun("m", "Vogel Vögel", "bird birds", "animal bird", "schön klein rot"),
    noun("n", "Buch Bücher", "book books", "text written thing goods", "schön alt neu rot"),
    noun("m", "Brief Briefe", "letter letters", "text written thing", "schön alt neu"),
    noun("f", "Zeitung", "newspaper", "text thing goods", "alt neu"),
    noun("f", "Geschichte", "story", "text written", "schön klein alt neu"),
    noun("n", "Lied Lieder", "song songs", "song", "schön klein alt neu"),
    noun("n", "Bild Bilder", "picture pictures", "thing goods painted", "schön klein groß alt"),
    noun("m", "Apfel Äpfel", "apple apples", "food thing goods toy", "schön klein groß rot"),
    noun("m", "Kuchen", "cake", "food thing goods", "schön klein groß"),
    noun("f", "Suppe", "soup", "food", "rot"),
    noun("m", "Ball Bälle", "ball balls", "thing goods toy", "klein groß neu rot"),
    noun("f", "Blume Blumen", "flower flowers", "thing goods painted toy", "schön klein groß rot"),
    noun("n", "Auto", "car", "goods", "schön klein neu rot"),
    noun("n", "Haus", "house", "goods painted", "schön klein alt rot"),
    noun("f", "Tür Türen", "door doors", "opening", "klein groß alt rot"),
    noun("n", "Fenster Fenster", "window windows", "opening", "klein groß alt neu"),
)

PLACES = {  # place, of kind in or out: German and English preposition; all take the dative here
    noun("m", "Garten", "garden", "out", "schön klein groß alt"): ("in", "in"),
    noun("m", "Park", "park", "out", "schön klein groß alt"): ("in", "in"),
    noun("f", "Straße", "street", "out", "klein groß alt neu"): ("auf", "in"),
    noun("n", "Haus", "house", "out", "groß alt rot"): ("vor", "in front of"),
    noun("m", "Baum", "tree", "out", "schön klein groß alt"): ("unter", "under"),
    noun("f", "Küche", "kitchen", "in", "schön klein groß neu"): ("in", "in"),
    noun("n", "Fenster", "window", "in", "klein groß alt neu"): ("an", "at"),
}

VERBS = (
    verb("schlafen schläft geschlafen", "sleep sleeps slept slept", "person animal", places="in out"),
    verb("spielen spielt gespielt", "play plays played played", "person pet", places="in out", extra="mit"),
    verb("tanzen tanzt getanzt", "dance dances danced danced", "person", places="in out", extra="mit"),
    verb("lachen lacht gelacht", "laugh laughs laughed laughed", "person", places="in out"),
    verb("laufen läuft gelaufen", "run runs ran run", "person pet", places="out", moves=True),
    verb("singen singt gesungen", "sing sings sang sung", "bird", places="in out"),
    verb("singen singt gesungen", "sing sings sang sung", "person", "song", "in out", extra="für"),
    verb("lesen liest gelesen", "read reads read read", "person", "text", "in out"),
    verb("schreiben schreibt geschrieben", "write writes wrote written", "person", "written", "in out", extra="für"),
    verb("essen isst gegessen", "eat eats ate eaten", "person", "food", "in out"),
    verb("kaufen kauft gekauft", "buy buys bought bought", "person", "goods", extra="für"),
    verb("finden findet gefunden", "find finds found found", "person", "thing pet", "in out"),
    verb("finden findet gefunden", "find finds found found", "animal", "toy", "in out"),
    verb("suchen sucht gesucht", "look looks looked looked", "person", "thing pet", "in out", tail="for"),
    verb("suchen sucht gesucht", "look looks looked looked", "animal", "toy pet", "in out", tail="for"),
    verb("sehen sieht gesehen", "see sees saw seen", "person", "painted animal person", "out"),
    verb("sehen sieht gesehen", "see sees saw seen", "animal", "toy animal person", "out"),
    verb("malen malt gemalt", "paint paints painted painted", "person", "painted animal", "in out", extra="für"),
    verb("besuchen besucht besucht", "visit visits visited visited", "person", "person"),
    verb("geben gibt gegeben", "give gives gave given", "person", "thing", "in out", extra="to"),
    verb("an|sehen sieht angesehen", "look looks looked looked", "person", "painted animal", "in out", tail="at"),
    verb("haben hat", "have has", "person", "goods pet"),
    verb("wollen will", "want wants", "person", "food goods pet"),
    verb("wollen will", "want wants", "animal", "food toy"),
    verb("an|rufen ruft angerufen", "call calls called called", "person", "person", english_particle="up"),
    verb("mit|bringen bringt mitgebracht", "bring brings brought brought", "person", "thing", english_particle="along"),
    verb("ein|laden lädt eingeladen", "invite invites invited invited", "person", "person"),
    verb("auf|machen macht aufgemacht", "open opens opened opened", "person", "opening"),
    verb("zu|machen macht zugemacht", "close closes closed closed", "person", "opening"),
    verb("ein|schlafen schläft eingeschlafen", "fall falls fell fallen", "person animal", tail="asleep", moves=True),
    verb(
        "hin|fallen fällt hingefallen", "fall falls fell fallen", "person pet", places="in out", tail="down", moves=True
    ),
)
SPEECH = (  # take a clause with dass or ob
    verb("sagen sagt", "say says", "person"),
    verb("hören hört", "hear hears", "person"),
    verb("wissen weiß", "know knows", "person"),
)
STATES = (  # follow ist and sind; the adjective takes the place of the infinitive
    verb("müde müde", "tired", "person animal"),
    verb("hungrig hungrig", "hungry", "person animal"),
    verb("krank krank", "sick", "person animal"),
)
WEATHER = (
    verb("regnen regnet", "rain rains", "weather"),
    verb("schneien schneit", "snow snows", "weather"),
)

AUXILIARIES = {  # mode: German singular and plural, English singular and plural
    "perfect": ("hat", "haben", "has", "have"),
    "past": ("hat", "haben", "did", "did"),
    "be": ("ist", "sind", "is", "are"),
    "can": ("kann", "können", "can", "can"),
    "must": ("muss", "müssen", "must", "must"),
    "want": ("will", "wollen", "wants", "want"),
}
TIMES = {"past": ("gestern",), "perfect": ("heute",), "be": ("heute", "jetzt")}  # by mode, same in both languages
ANY_TIME = ("heute", "jetzt", "am Abend", "am Morgen")
PRONOUNS = {"he": "er", "she": "sie", "they": "sie", "we": "wir", "it": "es"}
POSSESSIVES = {"he": "his", "she": "her", "they": "their"}
COMPANY = glossary("mit with, für for")
FREQUENCIES = glossary("oft often, immer always, manchmal sometimes")
ADVERBS = FREQUENCIES | glossary("heute today, jetzt now, gestern yesterday, am in the, Abend evening, Morgen morning")
CONJUNCTIONS = glossary("weil because, wenn when, obwohl although, dass that, ob whether")
QUESTIONS = glossary("warum why, wo where, was what")


@cache
def nouns(kinds: tuple[str, ...]) -> tuple[Noun, ...]:
    return tuple(noun for noun in (*NOUNS, *PLACES) if set(noun.kinds) & set(kinds))


@cache
def verbs(kinds: tuple[str, ...], mode: str, question: str = "") -> tuple[Verb, ...]:
    """What subjects of these kinds can do in this mode, such that the question makes sense."""
    if mode == "be":
        return STATES
    return tuple(
        verb
        for verb in VERBS
        for _ in range(2 if verb.particle else 1)  # separable verbs are a point of the set
        if set(verb.subjects) & set(kinds)
        and (verb.participle or mode == "present")
        and (question != "was" or verb.objects not in ((), ("person",)))
        and (question != "wo" or verb.places)
    )
