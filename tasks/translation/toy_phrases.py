"""The phrases of the toy translation set: German bends them by gender and case, and every word names what it says."""

from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

from tasks.translation.toy_lexicon import ADJECTIVES, PRONOUNS, Noun

Concept = tuple[Any, str]  # a part of a derivation, and what is said of it: (clause, "verb")


class Token(NamedTuple):
    """A word, and the concepts that it realises; words of two languages that share one are partners."""

    text: str
    concepts: tuple[Concept, ...]


def say(text: str, *concepts: Concept) -> list[Token]:
    """Say words, perhaps none, that all realise the same concepts."""
    return [Token(word, concepts) for word in text.split()]


def paradigm(nominative: str, accusative: str, dative: str) -> dict[tuple[str, str], str]:
    """A table by case and gender from rows of masculine, feminine, neuter, plural; "-" is an empty ending."""
    rows = {"nominative": nominative, "accusative": accusative, "dative": dative}
    return {
        (case, gender): form.strip("-")
        for case, row in rows.items()
        for gender, form in zip("mfnp", row.split(), strict=False)
    }


# Dative plurals would double the forms of most nouns, so the dative is singular here.
DEFINITE = paradigm("der die das die", "den die das die", "dem der dem")
EIN_ENDINGS = paradigm("- e - e", "en e - e", "em er em")
EIN_WORDS = {"a": "ein", "no": "kein", "not a": "kein", "my": "mein", "his": "sein", "her": "ihr", "their": "ihr"}
BARE = {"two": "zwei", "many": "viele", "": ""}
WEAK = paradigm("e e e en", "en e e en", "en en en")  # after der
MIXED = paradigm("er e es en", "en e es en", "en en en")  # after ein, kein, mein
STRONG = "e"  # after zwei, viele or nothing: plurals


@cache
def german_determiner(determiner: str, case: str, gender: str) -> tuple[str, str]:
    """The German word for an English determiner, and the ending it asks of the adjectives after it."""
    if determiner == "the":
        return DEFINITE[case, gender], WEAK[case, gender]
    if determiner in EIN_WORDS:
        return EIN_WORDS[determiner] + EIN_ENDINGS[case, gender], MIXED[case, gender]
    return BARE[determiner], STRONG


@dataclass(frozen=True, eq=False)
class NounPhrase:
    """The determiner is named in English; "not a" is the kein of an object, "" a bare plural."""

    noun: Noun
    determiner: str
    adjectives: tuple[str, ...] = ()
    plural: bool = False

    @property
    def kinds(self) -> tuple[str, ...]:
        return self.noun.kinds

    @property
    def person(self) -> str:
        return "they" if self.plural else {"m": "he", "f": "she", "n": "it"}[self.noun.gender]

    def german(self, case: str) -> list[Token]:
        determiner, ending = german_determiner(self.determiner, case, "p" if self.plural else self.noun.gender)
        noun = self.noun.german[self.plural] if self.plural or case == "nominative" else self.noun.oblique
        tokens = [Token(determiner, ((self, "determiner"),))] if determiner else []
        tokens += [Token(adjective + ending, ((self, adjective),)) for adjective in self.adjectives]
        return [*tokens, Token(noun, ((self, "noun"),))]

    def english(self) -> list[Token]:
        tokens = [Token(ADJECTIVES[adjective], ((self, adjective),)) for adjective in self.adjectives]
        tokens += [Token(self.noun.english[self.plural], ((self, "noun"),))]
        determiner = "any" if self.determiner == "not a" and self.plural else self.determiner.removeprefix("not ")
        if determiner == "a" and tokens[0].text[0] in "aeiou":
            determiner = "an"
        return [Token(determiner, ((self, "determiner"),)), *tokens] if determiner else tokens


@dataclass(frozen=True, eq=False)
class Pronoun:
    """A subject named by its English pronoun, of the kinds of what it stands for."""

    person: str
    kinds: tuple[str, ...] = ("person",)
    determiner: str = ""

    def german(self, case: str) -> list[Token]:
        return [Token(PRONOUNS[self.person], ((self, "pronoun"),))]

    def english(self) -> list[Token]:
        return [Token(self.person, ((self, "pronoun"),))]


@dataclass(frozen=True, eq=False)
class PrepositionalPhrase:
    """With the dative, but für with the accusative; in dem and an dem contract."""

    preposition: str
    translation: str
    phrase: NounPhrase

    def german(self) -> list[Token]:
        phrase = self.phrase.german("accusative" if self.preposition == "für" else "dative")
        if self.preposition in ("in", "an") and phrase[0].text == "dem":
            contracted = {"in": "im", "an": "am"}[self.preposition]
            return [Token(contracted, ((self, "preposition"), *phrase[0].concepts)), *phrase[1:]]
        return [Token(self.preposition, ((self, "preposition"),)), *phrase]

    def english(self) -> list[Token]:
        return [*say(self.translation, (self, "preposition")), *self.phrase.english()]
