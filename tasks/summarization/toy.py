"""Small news about one thing among others, in which it is known which sentences matter.

An article has a subject, that most of its sentences name, and other things that it names once or twice. What matters
is what was decided, found or won by the subject: neither its name nor such a verb is enough, so a sentence can only be
judged by one who knows what the others are about. Where it stands says nothing.
"""

import random
from typing import NamedTuple

SIZES = {"train": 1500, "validation": 100, "test": 150}
SUBJECTS = (
    "harbour museum railway bakery library theatre hospital school garden bridge brewery orchestra airport factory "
    "market lighthouse stadium university zoo church cinema dairy castle ferry"
).split()
PLACES = "Oslo Lima Porto Turin Quito Ghent Perth Kyoto Tunis Riga Graz Cork".split()
NEWS = (
    "won {number} prizes",
    "opened {number} new rooms",
    "will close in {number} weeks",
    "sold {number} million tickets",
    "lost {number} workers",
    "discovered {number} old coins",
)
CHATTER = (
    "is quiet on most days",
    "has a red door and {number} windows",
    "looks lovely in the morning",
    "is near the station",
    "was painted {number} years ago",
    "smells of coffee",
)
NUMBERS = "two three four five six seven eight nine ten twelve".split()


class Story(NamedTuple):
    sentences: list[str]
    salient: tuple[int, ...]


def stories(*, seed: int) -> dict[str, list[Story]]:
    return {
        split: [story(random.Random(f"{seed}-{split}-{number}")) for number in range(size)]
        for split, size in SIZES.items()
    }


def story(chance: random.Random) -> Story:
    """Three sentences that matter, three or four of chatter about the same subject, and three to five about others,
    most of which are news of theirs."""
    subject, *others = chance.sample(SUBJECTS, 6)
    told = [(subject, NEWS, True)] * 3 + [(subject, CHATTER, False)] * chance.randint(3, 4)
    told += [(other, NEWS if chance.random() < 0.7 else CHATTER, False) for other in others[: chance.randint(3, 5)]]
    chance.shuffle(told)
    sentences = [sentence(chance, thing, verbs) for thing, verbs, _ in told]
    return Story(sentences, tuple(number for number, (*_, salient) in enumerate(told) if salient))


def sentence(chance: random.Random, thing: str, verbs: tuple[str, ...]) -> str:
    said = chance.choice(verbs).format(number=chance.choice(NUMBERS))
    return f"The {thing} in {chance.choice(PLACES)} {said}."
