"""A toy language whose next token is often decided by one place before it, which is known: recall and copying.

A recall sequence tells pairs of a letter and a digit, and then asks for letters again: "a3f7k2.f7a3k2a3". A copying
sequence tells letters, and then says the same ones again and again: "hxBq.hxBqhxBqhx". Letters of one sequence differ
from each other. A model that predicts such a token must find the letter it has just read earlier in the sequence, and
say what followed there: an induction head (Olsson et al. 2022).
"""

import random
import string
from typing import NamedTuple

from tasks.generation.examples import Link

LETTERS, DIGITS, MARK = string.ascii_letters, string.digits, "."
CHARACTERS = LETTERS + DIGITS + MARK
LENGTH = 65
"""Characters of a sequence; all but the last are read."""
SIZES = {"train": 3_000, "validation": 300, "test": 300}
PAIRS, SEGMENT = (6, 14), (12, 28)
"""How many pairs, and how many letters of a segment, at least and at most."""
RECALL, COPYING = "recall", "copying"


class Sequence(NamedTuple):
    text: str
    links: tuple[Link, ...]
    """For each token that is decided: the place of the one before it, and the places of what followed that earlier."""


def sequences(*, seed: int = 0) -> dict[str, list[Sequence]]:
    """Train, validation and test; half of each is recall. The same seed gives the same sequences."""
    return {
        split: [sequence(random.Random(f"{seed} {split} {n}"), n) for n in range(size)] for split, size in SIZES.items()
    }


def sequence(chance: random.Random, number: int) -> Sequence:
    return recall(chance) if number % 2 else copying(chance)


def recall(chance: random.Random) -> Sequence:
    """Pairs, a mark, and the same pairs again in any order, some of them more than once."""
    count = chance.randint(*PAIRS)
    letters = chance.sample(LETTERS, count)
    values = {letter: chance.choice(DIGITS) for letter in letters}
    asked = ask(letters, LENGTH // 2 - count, chance)
    text = "".join(letter + values[letter] for letter in letters) + MARK
    text += "".join(letter + values[letter] for letter in asked)
    return Sequence(text, links_of(text, 2 * count + 1, RECALL))


def ask(letters: list[str], count: int, chance: random.Random) -> list[str]:
    """So many letters, each as often as another or once more."""
    rounds = [chance.sample(letters, len(letters)) for _ in range(count // len(letters) + 1)]
    return [letter for letters in rounds for letter in letters][:count]


def copying(chance: random.Random) -> Sequence:
    """Letters, a mark, and the same letters again and again."""
    segment = "".join(chance.sample(LETTERS, chance.randint(*SEGMENT)))
    text = (segment + MARK + segment * LENGTH)[:LENGTH]
    return Sequence(text, links_of(text, len(segment) + 1, COPYING))


def links_of(text: str, begin: int, kind: str) -> tuple[Link, ...]:
    """Of the letters after the mark, at `begin`: a token is decided where the one before it came earlier with it."""
    places: dict[str, list[int]] = {}
    links = []
    for place in range(len(text) - 1):
        pair = text[place : place + 2]
        earlier = places.setdefault(pair, [])
        if place >= begin and pair[0] in LETTERS and earlier:
            links.append(Link(place, tuple(earlier), kind))
        earlier.append(place + 1)
    return tuple(links)
