import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tasks.translation import toy, toy_lexicon
from tasks.translation.toy import Clause, Sentence
from tasks.translation.toy_phrases import NounPhrase, PrepositionalPhrase, Pronoun

EVERY_VERB = (*toy_lexicon.VERBS, *toy_lexicon.SPEECH, *toy_lexicon.STATES)


def phrase(determiner, name, *adjectives, plural=False):
    (noun,) = (noun for noun in toy_lexicon.NOUNS if noun.german[0] == name)
    return NounPhrase(noun, determiner, adjectives, plural)


def at(name, *adjectives):
    ((noun, prepositions),) = (place for place in toy_lexicon.PLACES.items() if place[0].german[0] == name)
    return PrepositionalPhrase(*prepositions, NounPhrase(noun, "the", adjectives))


def verb(infinitive):
    return next(verb for verb in EVERY_VERB if verb.particle + verb.stem == infinitive)


def clause(subject, infinitive, mode="present", object=None, **more):
    return Clause(subject, verb(infinitive), mode, object, **more)


def spoken(sentence):
    german, english = sentence.german(), sentence.english()
    links = " ".join(f"{g}-{e}" for g, e in toy.links(german, english))
    return toy.write(german), toy.write(english), links


def words(sentence):
    return [sentence[start:end] for start, end in toy.words(sentence)]


RAINS = Clause(Pronoun("it"), toy_lexicon.WEATHER[0])
TIRED = clause(Pronoun("she"), "müde", "be")
CALLS = clause(phrase("the", "Mann"), "anrufen", object=phrase("his", "Schwester"))

# Each a construction: the derivation, both sentences and their links (German word - English word), all by hand.
CASES = {
    "two adjectives": (
        Sentence(clause(phrase("the", "Mann", "müd", "alt"), "sehen", object=phrase("a", "Pferd", "schön"))),
        "Der müde alte Mann sieht ein schönes Pferd.",
        "The tired old man sees a beautiful horse.",
        "0-0 1-1 2-2 3-3 4-4 5-5 6-6 7-7 8-8",
    ),
    "nicht": (
        Sentence(clause(phrase("the", "Hund", "klein"), "schlafen", negated=True)),
        "Der kleine Hund schläft nicht.",
        "The little dog does not sleep.",
        "0-0 1-1 2-2 3-3 3-5 4-3 4-4 5-6",
    ),
    "kein in the perfect": (
        Sentence(
            clause(phrase("the", "Frau", plural=True), "kaufen", "perfect", phrase("not a", "Buch", "alt", plural=True))
        ),
        "Die Frauen haben keine alten Bücher gekauft.",
        "The women have not bought any old books.",
        "0-0 1-1 2-2 3-3 3-5 4-6 5-7 6-4 7-8",
    ),
    "kein in the present": (
        Sentence(clause(phrase("a", "Katze"), "suchen", object=phrase("not a", "Ball", "rot"))),
        "Eine Katze sucht keinen roten Ball.",
        "A cat does not look for a red ball.",
        "0-0 1-1 2-2 2-4 2-5 3-2 3-3 3-6 4-7 5-8 6-9",
    ),
    "kein after haben": (
        Sentence(clause(phrase("the", "Mann"), "haben", object=phrase("no", "Auto"))),
        "Der Mann hat kein Auto.",
        "The man has no car.",
        "0-0 1-1 2-2 3-3 4-4 5-5",
    ),
    "separable verb, both parts one word": (
        Sentence(clause(Pronoun("she"), "aufmachen", object=phrase("the", "Fenster"))),
        "Sie macht das Fenster auf.",
        "She opens the window.",
        "0-0 1-1 2-2 3-3 4-1 5-4",
    ),
    "separable verb, word by word": (
        Sentence(CALLS),
        "Der Mann ruft seine Schwester an.",
        "The man calls his sister up.",
        "0-0 1-1 2-2 3-3 4-4 5-5 6-6",
    ),
    "verb last, without a comma": (
        Sentence(clause(phrase("the", "Kind"), "lachen"), conjunction="weil", subordinate=CALLS),
        "Das Kind lacht, weil der Mann seine Schwester anruft.",
        "The child laughs because the man calls his sister up.",
        "0-0 1-1 2-2 4-3 5-4 6-5 7-7 8-8 9-6 9-9 10-10",
    ),
    "verb last, with a comma": (
        Sentence(clause(Pronoun("she"), "tanzen"), conjunction="obwohl", subordinate=TIRED),
        "Sie tanzt, obwohl sie müde ist.",
        "She dances, although she is tired.",
        "0-0 1-1 2-2 3-3 4-4 5-6 6-5 7-7",
    ),
    "subordinate clause first": (
        Sentence(clause(phrase("the", "Katze"), "schlafen", place=at("Fenster")), "", "", "wenn", RAINS),
        "Wenn es regnet, schläft die Katze am Fenster.",
        "When it rains, the cat sleeps at the window.",
        "0-0 1-1 2-2 3-3 4-6 5-4 6-5 7-7 7-8 8-9 9-10",
    ),
    "dass, perfect with sein": (
        Sentence(
            clause(phrase("the", "Junge"), "wissen"),
            conjunction="dass",
            subordinate=clause(phrase("the", "Vogel"), "einschlafen", "perfect"),
        ),
        "Der Junge weiß, dass der Vogel eingeschlafen ist.",
        "The boy knows that the bird has fallen asleep.",
        "0-0 1-1 2-2 4-3 5-4 6-5 7-7 7-8 8-6 9-9",
    ),
    "cannot": (
        Sentence(clause(Pronoun("we"), "lesen", "can", phrase("the", "Brief"), time="heute", negated=True)),
        "Wir können den Brief heute nicht lesen.",
        "We cannot read the letter today.",
        "0-0 1-1 2-3 3-4 4-5 5-1 6-2 7-6",
    ),
    "does not want to, time first": (
        Sentence(clause(phrase("the", "Junge"), "spielen", "want", time="heute", negated=True), "time"),
        "Heute will der Junge nicht spielen.",
        "Today the boy does not want to play.",
        "0-0 1-3 1-5 1-6 2-1 3-2 4-3 4-4 5-7 6-8",
    ),
    "gestern": (
        Sentence(clause(phrase("the", "Junge"), "lesen", "past", phrase("a", "Buch"), time="gestern"), "time"),
        "Gestern hat der Junge ein Buch gelesen.",
        "Yesterday the boy read a book.",
        "0-0 1-3 2-1 3-2 4-4 5-5 6-3 7-6",
    ),
    "object first": (
        Sentence(
            clause(phrase("the", "Hund"), "suchen", object=phrase("the", "Ball", "rot"), place=at("Garten")), "object"
        ),
        "Den roten Ball sucht der Hund im Garten.",
        "The dog looks for the red ball in the garden.",
        "0-4 1-5 2-6 3-2 3-3 4-0 5-1 6-7 6-8 7-9 8-10",
    ),
    "place first": (
        Sentence(clause(phrase("a", "Vogel", "rot"), "singen", place=at("Park")), "place"),
        "Im Park singt ein roter Vogel.",
        "A red bird sings in the park.",
        "0-4 0-5 1-6 2-3 3-0 4-1 5-2 6-7",
    ),
    "am Abend, vor": (
        Sentence(clause(phrase("the", "Kind", plural=True), "spielen", time="am Abend", place=at("Haus")), "time"),
        "Am Abend spielen die Kinder vor dem Haus.",
        "In the evening the children play in front of the house.",
        "0-0 0-1 1-2 2-5 3-3 4-4 5-6 5-7 5-8 6-9 7-10 8-11",
    ),
    "dative": (
        Sentence(
            clause(phrase("my", "Mutter"), "geben", object=phrase("a", "Apfel"), recipient=phrase("a", "Kind", "klein"))
        ),
        "Meine Mutter gibt einem kleinen Kind einen Apfel.",
        "My mother gives a little child an apple.",
        "0-0 1-1 2-2 3-3 4-4 5-5 6-6 7-7 8-8",
    ),
    "often": (
        Sentence(clause(Pronoun("he"), "mitbringen", object=phrase("many", "Blume", plural=True), often="oft")),
        "Er bringt oft viele Blumen mit.",
        "He often brings many flowers along.",
        "0-0 1-2 2-1 3-3 4-4 5-5 6-6",
    ),
    "warum": (
        Sentence(clause(phrase("the", "Frau"), "anrufen", object=phrase("her", "Bruder")), "", "warum"),
        "Warum ruft die Frau ihren Bruder an?",
        "Why does the woman call her brother up?",
        "0-0 1-1 1-4 2-2 3-3 4-5 5-6 6-7 7-8",
    ),
    "was": (
        Sentence(clause(phrase("the", "Junge"), "malen", "past", time="gestern"), "", "was"),
        "Was hat der Junge gestern gemalt?",
        "What did the boy paint yesterday?",
        "0-0 1-1 2-2 3-3 4-5 5-4 6-6",
    ),
}


def separately(code, hash_seed="0"):
    """What code prints in a process of its own: without the shape checks of the test run it is ten times as fast."""
    command, home = [sys.executable, "-c", code], Path(toy.__file__).parents[2]
    environment = os.environ | {"PYTHONHASHSEED": hash_seed}
    return subprocess.run(command, env=environment, cwd=home, capture_output=True, text=True, check=True).stdout


@pytest.fixture(scope="module")
def splits():
    printed = separately("import json; from tasks.translation import toy; print(json.dumps(toy.pairs()))")
    return {name: [toy.Pair(*pair) for pair in pairs] for name, pairs in json.loads(printed).items()}


@pytest.mark.parametrize("case", CASES)
def test_a_construction_in_both_languages(case):
    derivation, *expected = CASES[case]
    assert spoken(derivation) == tuple(expected)


@pytest.mark.parametrize(
    "determiner, nominative, accusative, dative",
    [
        ("the", "der rote Ball", "den roten Ball", "dem roten Ball"),
        ("the", "die rote Blume", "die rote Blume", "der roten Blume"),
        ("the", "das rote Auto", "das rote Auto", "dem roten Auto"),
        ("a", "ein roter Ball", "einen roten Ball", "einem roten Ball"),
        ("the", "der rote Junge", "den roten Jungen", "dem roten Jungen"),  # weak
        ("my", "meine rote Blume", "meine rote Blume", "meiner roten Blume"),
        ("no", "kein rotes Auto", "kein rotes Auto", "keinem roten Auto"),
    ],
)
def test_german_declension(determiner, nominative, accusative, dative):
    dressed = phrase(determiner, nominative.split()[-1], "rot")
    for case, expected in {"nominative": nominative, "accusative": accusative, "dative": dative}.items():
        assert " ".join(token.text for token in dressed.german(case)) == expected


@pytest.mark.parametrize("determiner, expected", [("the", "die roten"), ("no", "keine roten"), ("two", "zwei rote")])
def test_german_plurals(determiner, expected):
    spoken = phrase(determiner, "Ball", "rot", plural=True).german("accusative")
    assert " ".join(token.text for token in spoken) == f"{expected} Bälle"


def test_words_are_spans():
    assert words("Der kleine Hund schläft nicht.") == ["Der", "kleine", "Hund", "schläft", "nicht", "."]
    assert words("It's a well-known cat, isn’t it?") == ["It's", "a", "well-known", "cat", ",", "isn’t", "it", "?"]
    assert toy.words(" a  -b") == [(1, 2), (4, 5), (5, 6)]
    assert toy.words("") == []


def test_splits_have_their_sizes_and_share_no_sentence(splits):
    assert {name: len(pairs) for name, pairs in splits.items()} == {"train": 10_000, "validation": 500, "test": 500}
    sources = [pair.source for pairs in splits.values() for pair in pairs]
    assert len(set(sources)) == len(sources)
    sentences = [{text for pair in pairs for text in (pair.source, pair.target)} for pairs in splits.values()]
    assert len(set.union(*sentences)) == sum(map(len, sentences))


@pytest.mark.parametrize("side, most", [("source", 270), ("target", 230)])
def test_a_small_closed_vocabulary_seen_in_training(splits, side, most):
    counts = Counter(word for pair in splits["train"] for word in words(getattr(pair, side)))
    assert len(counts) <= most
    assert min(counts.values()) >= 8
    held_out = {word for name in ("validation", "test") for pair in splits[name] for word in words(getattr(pair, side))}
    assert held_out <= counts.keys()


def test_lengths(splits):
    for side in ("source", "target"):
        lengths = [len(toy.words(getattr(pair, side))) for pairs in splits.values() for pair in pairs]
        assert min(lengths) >= 3 and max(lengths) == 16
        assert 9 <= sum(lengths) / len(lengths) <= 10.5


def test_only_the_comma_that_english_leaves_out_has_no_partner(splits):
    for pair in (pair for pairs in splits.values() for pair in pairs):
        source, target = words(pair.source), words(pair.target)
        linked_sources, linked_targets = (set(side) for side in zip(*pair.links, strict=True))
        assert pair.links == sorted(pair.links)
        assert linked_targets == set(range(len(target)))
        alone = [source[place] for place in set(range(len(source))) - linked_sources]
        assert alone == [","] * (source.count(",") - target.count(","))
        assert pair.links[-1] == [len(source) - 1, len(target) - 1]


def test_a_german_sentence_has_one_translation():
    code = """
import random
from tasks.translation import toy
author, translations, count = toy.Author(random.Random(1)), {}, 15_000
for _ in range(count):
    sentence = author.sentence()
    german, english = sentence.german(), sentence.english()
    translations.setdefault(toy.write(german), set()).add((toy.write(english), toy.links(german, english)))
print(count - len(translations), max(map(len, translations.values())))
"""
    repeated, most = map(int, separately(code).split())
    assert repeated > 300
    assert most == 1


def test_the_seed_alone_decides(monkeypatch):
    sizes = {"train": 100, "validation": 10, "test": 10}
    code = f"from tasks.translation import toy; toy.SIZES = {sizes}; print(ascii(toy.pairs(seed=5)))"
    monkeypatch.setattr(toy, "SIZES", sizes)
    expected = ascii(toy.pairs(seed=5))
    assert separately(code, "1") == separately(code, "2") == f"{expected}\n"
    assert ascii(toy.pairs(seed=6)) != expected
