"""A toy translation set: a small grammar of German and English whose sentence pairs carry their true word alignment.

One derivation speaks both languages. Every word it says names the concepts that it realises, and two words are linked
where they share one, so the links hold by construction. What is not obvious about them:

- Do-support carries the tense of the German finite verb and is there because of the negation: it is linked to both
  (`schläft nicht`: does-schläft, does-nicht, not-nicht, sleep-schläft). In a question it is linked to the verb alone.
- The `kein` of an object is `not ... a`, linked to does, not and a; elsewhere it is `no`. `kann nicht` is `cannot`.
- `im` is linked to in and the; both halves of `macht ... auf` to opens; `ruft ... an` one by one to calls ... up.
- `gestern hat ... gelesen` is a plain past: read is linked to hat and gelesen. Other perfects go word by word.
- Every English word has a partner. The only German word without one is the comma that English leaves out.

A German sentence has exactly one translation; two German word orders may share theirs.
"""

import random
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from tasks.translation import toy_lexicon as lexicon
from tasks.translation.toy_lexicon import Noun, NounPhrase, PrepositionalPhrase, Pronoun, Token, Verb, say

SIZES = {"train": 10_000, "validation": 500, "test": 500}
LONGEST = 16  # words of a sentence in either language, punctuation included
MODES = "present present present present perfect perfect past past be can must want".split()  # by weight
WORD = re.compile(r"\w+(?:['’-]\w+)*|\S")


class Pair(NamedTuple):
    """A German sentence, its English translation, and the sorted links (source word, target word) between them."""

    source: str
    target: str
    links: tuple[tuple[int, int], ...]


def words(sentence: str) -> list[tuple[int, int]]:
    """The character spans of a sentence's words; a punctuation mark is a word of its own."""
    return [match.span() for match in WORD.finditer(sentence)]


def join(parts: Iterable[list[Token]]) -> list[Token]:
    return [token for part in parts for token in part]


@dataclass(frozen=True, eq=False)
class Clause:
    """A subject and what it does, before any word order. The mode is "present" or a key of `AUXILIARIES`."""

    subject: NounPhrase | Pronoun
    verb: Verb
    mode: str = "present"
    object: NounPhrase | None = None
    recipient: NounPhrase | None = None
    company: PrepositionalPhrase | None = None
    place: PrepositionalPhrase | None = None
    time: str = ""
    often: str = ""
    negated: bool = False  # by nicht

    @property
    def plural(self) -> bool:
        return self.subject.person in ("they", "we")

    @property
    def negation(self) -> object:
        """The concept that negates the clause: its nicht or the kein of its object; None where it is affirmed."""
        if self.object and self.object.determiner == "not a":
            return (self.object, "determiner")
        return (self, "not") if self.negated else None

    def german_verb(self) -> tuple[Token, list[Token]]:
        """The finite verb, and the part that stands at the end of the clause."""
        verb, finite = (self, "verb"), (self, "finite")
        particle = (self, "particle") if self.verb.english_particle else verb
        if self.mode == "present":
            stem = self.verb.stem if self.plural else self.verb.singular
            return Token(stem, (verb, finite)), say(self.verb.particle, particle)
        done = self.mode in ("perfect", "past")
        auxiliary = lexicon.AUXILIARIES["be" if done and self.verb.moves else self.mode]
        last = self.verb.participle if done else self.verb.particle + self.verb.stem
        return Token(auxiliary[self.plural], (finite,)), say(last, verb, particle)

    def german_middle(self) -> dict[str, list[Token]]:
        """What stands between the two parts of the verb. Objects come before adverbs only where nicht follows."""
        adverbs = {"time": self.german_adverb(self.time), "often": self.german_adverb(self.often)}
        objects = {
            "recipient": self.recipient.german("dative") if self.recipient else [],
            "object": self.object.german("accusative") if self.object else [],
        }
        return (objects | adverbs if self.negated else adverbs | objects) | {
            "not": say("nicht", (self, "not")) if self.negated else [],
            "company": self.company.german() if self.company else [],
            "place": self.place.german() if self.place else [],
        }

    def german_main(self, front: str = "") -> list[Token]:
        """Verb second after the part named by `front`; verb first without it."""
        parts = {"subject": self.subject.german("nominative")} | self.german_middle()
        finite, end = self.german_verb()
        return [*parts.pop(front, []), finite, *join(parts.values()), *end]

    def german_subordinate(self) -> list[Token]:
        """Verb last; a separable verb is one word again."""
        finite, end = self.german_verb()
        if self.mode == "present":
            last = [Token("".join(t.text for t in [*end, finite]), sum((t.concepts for t in end), finite.concepts))]
        else:
            last = [*end, finite]
        return [*self.subject.german("nominative"), *join(self.german_middle().values()), *last]

    def english_verb(self, inverted: bool) -> tuple[list[Token], list[Token]]:
        """What a question puts before the subject and `not` follows (often nothing), and the rest of the verb."""
        verb, finite = (self, "verb"), (self, "finite")
        base, third, past, participle = (*self.verb.english, "", "", "")[:4]
        supported = inverted or self.negation is not None
        plain = self.plural or supported  # the finite form without -s
        if self.mode in ("perfect", "be", "can", "must"):
            auxiliary = say(lexicon.AUXILIARIES[self.mode][2 + self.plural], finite)
            return auxiliary, say(participle if self.mode == "perfect" else base, verb)
        do = "did" if self.mode == "past" else "do" if self.plural else "does"
        support = say(do, finite, *([self.negation] if self.negation else [])) if supported else []
        if self.mode == "want":
            want = lexicon.AUXILIARIES["want"][2 + plain]
            return support, [*say(want + " to", finite), *say(base, verb)]
        if supported:
            return support, say(base, verb)
        return [], say(past if self.mode == "past" else base if plain else third, verb, finite)

    def english(self, *, inverted: bool = False, time_first: bool = False) -> list[Token]:
        auxiliary, rest = self.english_verb(inverted)
        negation = say("not", self.negation) if self.negation else []
        if negation and self.mode == "can" and not inverted:
            auxiliary, negation = say("cannot", (self, "finite"), self.negation), []
        subject, time = self.subject.english(), self.english_adverb(self.time)
        return [
            *(time if time_first else []),
            *(auxiliary + subject if inverted else subject + auxiliary),
            *negation,
            *self.english_adverb(self.often),
            *rest,
            *say(self.verb.tail, (self, "verb")),
            *join(part.english() for part in (self.recipient, self.object) if part),
            *say(self.verb.english_particle, (self, "particle")),
            *join(part.english() for part in (self.company, self.place) if part),
            *([] if time_first else time),
        ]

    def german_adverb(self, adverb: str) -> list[Token]:
        return [Token(word, ((self, word),)) for word in adverb.split()]

    def english_adverb(self, adverb: str) -> list[Token]:
        if not adverb:
            return []
        return join(say(lexicon.ADVERBS[word], (self, word)) for word in adverb.split())


@dataclass(frozen=True, eq=False)
class Sentence:
    """A clause, with at most one subordinate clause; or a question.

    `front` is what the main clause begins with: "subject", "object", "time" or "place"; "" in a question, and where the
    subordinate clause comes before it.
    """

    main: Clause
    front: str = "subject"
    question: str = ""
    conjunction: str = ""
    subordinate: Clause | None = None

    def german(self) -> list[Token]:
        main = [*say(self.question, (self, "question")), *self.main.german_main(self.front)]
        clause = self.subordinate.german_subordinate() if self.subordinate else []
        return self.arrange(main, clause, self.conjunction, comma=True)

    def english(self) -> list[Token]:
        question = say(lexicon.QUESTIONS.get(self.question, ""), (self, "question"))
        main = [*question, *self.main.english(inverted=bool(self.question), time_first=self.front == "time")]
        clause = self.subordinate.english() if self.subordinate else []
        conjunction = lexicon.CONJUNCTIONS.get(self.conjunction, "")
        return self.arrange(main, clause, conjunction, comma=not self.front or conjunction == "although")

    def arrange(self, main: list[Token], clause: list[Token], conjunction: str, comma: bool) -> list[Token]:
        end = say("?" if self.question else ".", (self, "end"))
        if not clause:
            return main + end
        clause = say(conjunction, (self, "conjunction")) + clause
        middle = say(",", (self, "comma")) if comma else []
        return main + middle + clause + end if self.front else clause + middle + main + end


def links(german: list[Token], english: list[Token]) -> tuple[tuple[int, int], ...]:
    """The sorted places (German, English) of the words that share a concept."""
    places: dict[object, list[int]] = defaultdict(list)
    for place, token in enumerate(german):
        for concept in token.concepts:
            places[concept].append(place)
    found = {(g, e) for e, token in enumerate(english) for concept in token.concepts for g in places[concept]}
    return tuple(sorted(found))


def write(tokens: list[Token]) -> str:
    text = " ".join([token.text for token in tokens[:-1]]).replace(" ,", ",") + tokens[-1].text
    return text[0].upper() + text[1:]


class Author:
    """Draws derivations that make sense. Within a sentence no noun or verb comes twice if that can be helped."""

    def __init__(self, random: random.Random) -> None:
        self.random = random
        self.used: set[tuple[str, ...]] = set()  # the English forms of nouns and verbs

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def choose(self, options: Sequence[Any]) -> Any:
        return options[int(self.random.random() * len(options))]  # random.choice takes three times as long

    def fresh(self, words: tuple[Any, ...]) -> Any:
        word = self.choose([word for word in words if word.english not in self.used] or words)
        self.used.add(word.english)
        return word

    def sentence(self) -> Sentence:
        self.used.clear()
        draw = self.random.random()
        if draw < 0.5:
            return self.statement()
        return self.two_clauses() if draw < 0.78 else self.report() if draw < 0.88 else self.question()

    def statement(self) -> Sentence:
        clause = self.clause(self.subject(), self.choose(MODES))
        fronts = ["subject"] + ["time"] * bool(clause.time)
        if clause.place and clause.place.german()[0].text in ("im", "am"):
            fronts.append("place")
        if clause.object and clause.object.german("accusative")[0].text == "den":  # only there is the case plain
            fronts.append("object")
        return Sentence(clause, self.choose(fronts))

    def question(self) -> Sentence:
        question, mode = self.choose(("warum", "wo", "was")), self.choose([mode for mode in MODES if mode != "be"])
        return Sentence(self.clause(self.subject(), mode, question), "", question)

    def report(self) -> Sentence:
        subject = self.phrase(("person",))
        said = self.clause(self.follow(subject), self.choose(MODES))
        return Sentence(Clause(subject, self.choose(lexicon.SPEECH)), "subject", "", "dass", said)

    def two_clauses(self) -> Sentence:
        """The subject of the second clause is often a pronoun for that of the first."""
        conjunction, front = self.choose(("weil", "wenn", "obwohl")), self.choose(("subject", ""))
        mode = self.choose(("present", "present", "can", "must", "want"))
        first = self.subject()
        if self.chance(0.2):
            rain = Clause(Pronoun("it"), lexicon.RAIN)
            return Sentence(self.clause(first, mode), front, "", conjunction, rain)
        second = self.follow(first)
        subject, other = (first, second) if front else (second, first)
        main, when = self.clause(subject, mode), conjunction == "wenn"
        reason = self.clause(other, self.choose(("present", "be") if when else MODES))
        return Sentence(main, front, "", conjunction, replace(reason, time="") if when else reason)

    def subject(self) -> NounPhrase | Pronoun:
        if self.chance(0.1):
            return Pronoun(self.choose(("he", "she", "they", "we")))
        return self.phrase(("person",) if self.chance(0.75) else ("animal",), "no" if self.chance(0.03) else "")

    def follow(self, subject: NounPhrase | Pronoun) -> NounPhrase | Pronoun:
        """A pronoun for the subject, or a new subject; es is left to the weather."""
        if subject.person == "it" or subject.determiner == "no" or self.chance(0.3):
            return self.subject()
        return Pronoun(subject.person, subject.kinds)

    def phrase(self, kinds: tuple[str, ...], determiner: str = "", owner: str = "", singular=False) -> NounPhrase:
        """A noun of these kinds, with the determiner or any; kin belong to the owner, or else to the speaker."""
        noun = self.fresh(lexicon.nouns(kinds))
        plural = len(noun.german) > 1 and not singular and determiner != "a" and self.chance(0.25)
        if "kin" in noun.kinds:
            determiner = owner or self.choose(("my", "the"))
        elif not determiner:
            plurals = ("the", "the", "two", "many", "" if "thing" in noun.kinds else "the")
            determiner = self.choose(plurals if plural else ("the", "the", "a"))
        return NounPhrase(noun, determiner, self.adjectives(noun), plural)

    def adjectives(self, noun: Noun) -> tuple[str, ...]:
        """None, one or two, in order; what is tired here is not said to be tired again."""
        draw = self.random.random()
        if draw > 0.4:
            return ()
        chosen = {self.choose(noun.adjectives) for _ in range(2 if draw < 0.1 else 1)}
        if "müd" in chosen:
            self.used.add(lexicon.STATES[0].english)
        found = ([a for a in group.split() if a in chosen] for group in lexicon.ADJECTIVE_ORDER)
        return tuple(group[0] for group in found if group)

    def clause(self, subject: NounPhrase | Pronoun, mode: str, question: str = "") -> Clause:
        verb = self.fresh(lexicon.verbs(subject.kinds, mode, question))
        owner = lexicon.POSSESSIVES.get(subject.person, "the")
        affirmed = subject.determiner != "no"
        negated = affirmed and mode != "must" and question != "wo" and self.chance(0.2)
        often = affirmed and not negated and mode == "present" and self.chance(0.15)
        timed = mode == "past" or not often and self.chance(0.25)
        object = self.object(verb, negated, owner) if verb.objects and question != "was" else None
        by_nicht = negated and not (object and object.determiner in ("no", "not a"))
        placed = verb.places and question != "wo" and not (by_nicht and object) and self.chance(0.35)
        return Clause(
            subject,
            verb,
            mode,
            object,
            recipient=self.phrase(("person",), owner=owner, singular=True) if verb.extra == "to" else None,
            company=self.company(verb, owner) if verb.extra in lexicon.COMPANY and self.chance(0.4) else None,
            place=self.place(verb) if placed else None,
            time=self.choose(lexicon.TIMES.get(mode, lexicon.ANY_TIME)) if timed else "",
            often=self.choose(tuple(lexicon.FREQUENCIES)) if often else "",
            negated=by_nicht,
        )

    def object(self, verb: Verb, negated: bool, owner: str) -> NounPhrase:
        determiner = self.choose(("the", "not a")) if negated else ""
        if verb.english[0] == "have":
            determiner = "no" if negated else "a"
        return self.phrase(verb.objects, determiner, owner)

    def company(self, verb: Verb, owner: str) -> PrepositionalPhrase:
        kinds = ("person", "pet") if "pet" in verb.subjects else ("person",)
        other = self.phrase(kinds, owner=owner, singular=True)
        return PrepositionalPhrase(verb.extra, lexicon.COMPANY[verb.extra], other)

    def place(self, verb: Verb) -> PrepositionalPhrase:
        phrase = self.phrase(verb.places, "the")
        return PrepositionalPhrase(*lexicon.PLACES[phrase.noun], phrase)


def pairs(*, seed: int = 0) -> dict[str, list[Pair]]:
    """Distinct sentence pairs for each split; no sentence of either language is in two splits."""
    author = Author(random.Random(seed))
    splits: dict[str, list[Pair]] = {name: [] for name in SIZES}
    home: dict[str, str] = {}  # sentence of either language: its split
    for name, size in SIZES.items():
        while len(splits[name]) < size:
            sentence = author.sentence()
            german, english = sentence.german(), sentence.english()
            source, target = write(german), write(english)
            new = source not in home and home.get(target, name) == name
            if new and max(len(german), len(english)) <= LONGEST:
                splits[name].append(Pair(source, target, links(german, english)))
                home[source] = home[target] = name
    return splits
