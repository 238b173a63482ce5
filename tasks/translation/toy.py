"""A toy translation set: real German and English sentences, drawn from a small grammar, with their true word alignment.

A German sentence has exactly one translation; two German word orders may share theirs. What is linked to what is told
in `toy_grammar`.
"""

import random
import re
from dataclasses import replace
from typing import Any, NamedTuple

from tasks.translation import toy_lexicon as lexicon
from tasks.translation.toy_grammar import Clause, Sentence, links, write
from tasks.translation.toy_lexicon import Noun, Verb
from tasks.translation.toy_phrases import NounPhrase, PrepositionalPhrase, Pronoun

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


class Author:
    """Draws derivations that make sense. Within a sentence no noun or verb comes twice if that can be helped."""

    def __init__(self, random: random.Random) -> None:
        self.draw, self.choose = random.random, random.choice
        self.used: set[str] = set()  # in English

    def fresh(self, words: tuple[Any, ...]) -> Any:
        word = self.choose([word for word in words if word.english[0] not in self.used] or words)
        self.used.add(word.english[0])
        return word

    def sentence(self) -> Sentence:
        self.used.clear()
        draw = self.draw()
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
        conjunction = self.choose(("dass", "ob"))
        return Sentence(Clause(subject, self.choose(lexicon.SPEECH)), "subject", "", conjunction, said)

    def two_clauses(self) -> Sentence:
        """The subject of the second clause is often a pronoun for that of the first."""
        conjunction, front = self.choose(("weil", "wenn", "obwohl")), self.choose(("subject", ""))
        mode = self.choose(("present", "present", "can", "must", "want"))
        first = self.subject()
        if self.draw() < 0.2:
            weather = Clause(Pronoun("it"), self.choose(lexicon.WEATHER))
            return Sentence(self.clause(first, mode), front, "", conjunction, weather)
        second = self.follow(first)
        subject, other = (first, second) if front else (second, first)
        main, when = self.clause(subject, mode), conjunction == "wenn"
        reason = self.clause(other, self.choose(("present", "be") if when else MODES))
        return Sentence(main, front, "", conjunction, replace(reason, time="") if when else reason)

    def subject(self) -> NounPhrase | Pronoun:
        if self.draw() < 0.1:
            return Pronoun(self.choose(("he", "she", "they", "we")))
        return self.phrase(("person",) if self.draw() < 0.75 else ("animal",), "no" if self.draw() < 0.03 else "")

    def follow(self, subject: NounPhrase | Pronoun) -> NounPhrase | Pronoun:
        """A pronoun for the subject, or a new subject; es is left to the weather."""
        if subject.person == "it" or subject.determiner == "no" or self.draw() < 0.3:
            return self.subject()
        return Pronoun(subject.person, subject.kinds)

    def phrase(self, kinds: tuple[str, ...], determiner: str = "", owner: str = "", singular=False) -> NounPhrase:
        """A noun of these kinds, with the determiner or any; kin belong to the owner, or else to the speaker."""
        noun = self.fresh(lexicon.nouns(kinds))
        plural = len(noun.german) > 1 and not singular and determiner != "a" and self.draw() < 0.25
        if "kin" in noun.kinds:
            determiner = owner or self.choose(("my", "the"))
        elif not determiner:
            plurals = ("the", "the", "two", "many", "" if "thing" in noun.kinds else "the")
            determiner = self.choose(plurals if plural else ("the", "the", "a"))
        return NounPhrase(noun, determiner, self.adjectives(noun), plural)

    def adjectives(self, noun: Noun) -> tuple[str, ...]:
        """None, one or two, in order; what is tired here is not said to be tired again."""
        draw = self.draw()
        if draw > 0.4:
            return ()
        chosen = {self.choose(noun.adjectives) for _ in range(2 if draw < 0.1 else 1)}
        self.used |= {"tired"} if "müd" in chosen else set()
        ordered = [[a for a in group.split() if a in chosen] for group in lexicon.ADJECTIVE_ORDER]
        return tuple(group[0] for group in ordered if group)

    def clause(self, subject: NounPhrase | Pronoun, mode: str, question: str = "") -> Clause:
        verb = self.fresh(lexicon.verbs(subject.kinds, mode, question))
        owner = lexicon.POSSESSIVES.get(subject.person, "the")
        affirmed = subject.determiner != "no"
        negated = affirmed and mode != "must" and question != "wo" and self.draw() < 0.2
        often = affirmed and not negated and mode == "present" and self.draw() < 0.15
        timed = mode == "past" or not often and self.draw() < 0.25
        object = self.object(verb, negated, owner) if verb.objects and question != "was" else None
        by_nicht = negated and not (object and object.determiner in ("no", "not a"))
        placed = verb.places and question != "wo" and not (by_nicht and object) and self.draw() < 0.35
        return Clause(
            subject,
            verb,
            mode,
            object,
            recipient=self.phrase(("person",), owner=owner, singular=True) if verb.extra == "to" else None,
            company=self.company(verb, owner) if verb.extra in lexicon.COMPANY and self.draw() < 0.4 else None,
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
        phrase = self.phrase(verb.places, self.choose(("the", "the", "a")))
        return PrepositionalPhrase(*lexicon.PLACES[phrase.noun], phrase)


def pairs(*, seed: int = 0) -> dict[str, list[Pair]]:
    """Distinct sentence pairs for each split; no sentence of either language is in two splits."""
    author = Author(random.Random(seed))
    splits: dict[str, list[Pair]] = {name: [] for name in SIZES}
    home: dict[str, str] = {}  # sentence of either language: its split
    for name, size in SIZES.items():
        while len(splits[name]) < size:
            sentence = author.sentence()
            german = sentence.german()
            source = write(german)
            if source in home or len(german) > LONGEST:
                continue
            english = sentence.english()
            target = write(english)
            if home.get(target, name) == name and len(english) <= LONGEST:
                splits[name].append(Pair(source, target, links(german, english)))
                home[source] = home[target] = name
    return splits
