"""The grammar of the toy translation set: what a clause says in German and in English, and which words are partners.

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

from collections import defaultdict
from dataclasses import dataclass
from itertools import chain

from tasks.translation import toy_lexicon as lexicon
from tasks.translation.toy_lexicon import Verb
from tasks.translation.toy_phrases import Concept, NounPhrase, PrepositionalPhrase, Pronoun, Token, say


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
    def negation(self) -> tuple[Concept, ...]:
        """What negates the clause, if anything does: its nicht or the kein of its object."""
        if self.object and self.object.determiner == "not a":
            return ((self.object, "determiner"),)
        return ((self, "not"),) if self.negated else ()

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
        return Token(auxiliary[self.plural], (finite,)), [Token(last, (verb, particle))]

    def german_middle(self) -> dict[str, list[Token]]:
        """What stands between the two parts of the verb. Objects come before adverbs only where nicht follows."""
        adverbs = {
            "time": [Token(word, ((self, word),)) for word in self.time.split()],
            "often": say(self.often, (self, self.often)),
        }
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
        return [*parts.pop(front, []), finite, *chain.from_iterable(parts.values()), *end]

    def german_subordinate(self) -> list[Token]:
        """Verb last; a separable verb is one word again."""
        finite, end = self.german_verb()
        last = [*end, finite]
        if self.mode == "present":
            concepts = tuple(chain.from_iterable(part.concepts for part in last))
            last = [Token("".join(part.text for part in last), concepts)]
        return [*self.subject.german("nominative"), *chain.from_iterable(self.german_middle().values()), *last]

    def english_verb(self, inverted: bool) -> tuple[list[Token], list[Token]]:
        """What a question puts before the subject and `not` follows (often nothing), and the rest of the verb."""
        verb, finite, plural = (self, "verb"), (self, "finite"), self.plural
        base, third, past, participle = (*self.verb.english, "", "", "")[:4]  # some are used in one mode only
        if self.mode in ("perfect", "be", "can", "must"):
            auxiliary = lexicon.AUXILIARIES[self.mode][2 + plural]
            return say(auxiliary, finite), say(participle if self.mode == "perfect" else base, verb)
        supported = inverted or bool(self.negation)
        do = "did" if self.mode == "past" else "do" if plural else "does"
        support = say(do, finite, *self.negation) if supported else []
        if self.mode == "want":
            want = lexicon.AUXILIARIES["want"][2 + (plural or supported)]
            return support, [*say(want + " to", finite), *say(base, verb)]
        if supported:
            return support, say(base, verb)
        return [], say(past if self.mode == "past" else base if plural else third, verb, finite)

    def english(self, *, inverted: bool = False, time_first: bool = False) -> list[Token]:
        auxiliary, rest = self.english_verb(inverted)
        negation = say("not", *self.negation) if self.negation else []
        if negation and self.mode == "can" and not inverted:
            auxiliary, negation = say("cannot", (self, "finite"), *self.negation), []
        objects, prepositions = (self.recipient, self.object), (self.company, self.place)
        time = self.english_adverb(self.time)
        subject = self.subject.english()
        return [
            *(time if time_first else []),
            *(auxiliary + subject if inverted else subject + auxiliary),
            *negation,
            *self.english_adverb(self.often),
            *rest,
            *[Token(word, ((self, "verb"),)) for word in self.verb.tail.split()],
            *chain.from_iterable(part.english() for part in objects if part),
            *[Token(word, ((self, "particle"),)) for word in self.verb.english_particle.split()],
            *chain.from_iterable(part.english() for part in prepositions if part),
            *([] if time_first else time),
        ]

    def english_adverb(self, adverb: str) -> list[Token]:
        return [Token(m, ((self, word),)) for word in adverb.split() for m in lexicon.ADVERBS[word].split()]


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
    places: dict[Concept, list[int]] = defaultdict(list)
    for place, token in enumerate(german):
        for concept in token.concepts:
            places[concept].append(place)
    found = {(g, e) for e, token in enumerate(english) for concept in token.concepts for g in places[concept]}
    return tuple(sorted(found))


def write(tokens: list[Token]) -> str:
    text = " ".join([token.text for token in tokens[:-1]]).replace(" ,", ",") + tokens[-1].text
    return text[0].upper() + text[1:]
