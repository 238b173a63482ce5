"""Short reviews whose deciding words are known: what is said of the film counts, what is said of the evening does not.

The same words praise and blame both, and a negation turns them round: so a bag of words cannot tell, and a reader can.
"""

import random
from typing import NamedTuple

SIZES = {"train": 4000, "validation": 500, "test": 500}
OF_THE_FILM = ("plot", "acting", "music", "ending", "story", "cast", "script", "photography")
OF_THE_EVENING = ("popcorn", "weather", "seat", "dinner", "parking", "traffic", "coffee", "hotel")
GOOD = ("good", "great", "lovely", "brilliant", "charming", "superb", "delightful", "wonderful")
BAD = ("bad", "awful", "dull", "weak", "boring", "clumsy", "dreadful", "terrible")
NOT = ("not", "never", "hardly")
WAS = ("was", "seemed", "felt", "looked")
VERY = ("really", "rather", "so", "quite", "very")
ASIDES = ("we came by train", "my sister paid", "it rained all day", "the room was full", "we sat in row nine")
JOINED = (", and", ", but", ";", ", while")


class Review(NamedTuple):
    """A text, its label, and the places of the words that decide it, counted as `core.text.words` does."""

    text: str
    label: str
    deciding: tuple[int, ...]


class Clause(NamedTuple):
    """A few words, and which of them decide."""

    words: tuple[str, ...]
    deciding: tuple[int, ...] = ()
    good: bool | None = None
    """Whether it praises the film; None where it is not about it."""


def reviews(*, seed: int = 0) -> dict[str, list[Review]]:
    """The splits; no text is in two of them, or twice in one."""
    chance = random.Random(f"reviews-{seed}")
    found: dict[str, Review] = {}
    while len(found) < sum(SIZES.values()):
        made = review(chance)
        found.setdefault(made.text, made)
    everything = iter(found.values())
    return {split: [next(everything) for _ in range(size)] for split, size in SIZES.items()}


def review(chance: random.Random) -> Review:
    """One or two clauses on the film, one or two on the evening that may well say the opposite, perhaps an aside."""
    on_film = [opinion(chance, OF_THE_FILM, film=True) for _ in range(chance.choice((1, 2, 2)))]
    others = [opinion(chance, OF_THE_EVENING, film=False) for _ in range(chance.choice((1, 1, 2)))]
    asides = [Clause(tuple(chance.choice(ASIDES).split()))] if chance.random() < 0.3 else []
    clauses = [*on_film, *others, *asides]
    chance.shuffle(clauses)
    praised = {each.good for each in on_film}
    label = "mixed" if len(praised) == 2 else "positive" if True in praised else "negative"
    return joined(chance, clauses, label)


def opinion(chance: random.Random, subjects: tuple[str, ...], *, film: bool) -> Clause:
    """As "the plot was hardly dull": subject, negation and judgement decide, if it is about the film."""
    good, turned = chance.random() < 0.5, chance.random() < 0.4
    negation = [chance.choice(NOT)] if turned else []
    very = [chance.choice(VERY)] if chance.random() < 0.3 and not turned else []
    judgement = chance.choice(GOOD if good != turned else BAD)
    words = ("the", chance.choice(subjects), chance.choice(WAS), *negation, *very, judgement)
    deciding = (1, *([3] if turned else []), len(words) - 1)
    return Clause(words, deciding if film else (), good if film else None)


def joined(chance: random.Random, clauses: list[Clause], label: str) -> Review:
    """The clauses in one sentence."""
    text, deciding, count = "", [], 0
    for number, clause in enumerate(clauses):
        between = chance.choice(JOINED) if number else ""
        count += len(between.split(" ")) if number else 0
        deciding += [count + place for place in clause.deciding]
        count += len(clause.words)
        text += f"{between} {' '.join(clause.words)}" if number else " ".join(clause.words)
    return Review(f"{text}.", label, tuple(deciding))
