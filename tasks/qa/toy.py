"""A toy set of questions: passages of facts about people, each question answered by one sentence of its passage.

The other sentences tell the same kind of fact of other people, and other facts of the same person: so neither the
name nor the kind of fact alone leads to the answer. No answer is anywhere else in its passage.
"""

import random
from collections.abc import Sequence
from typing import NamedTuple

SIZES = {"train": 4_000, "validation": 300, "test": 300}
PEOPLE = (
    "Anna Ben Clara David Emma Felix Grace Henry Ida Jonas Klara Liam Mia Noah Olga Paul Rosa Simon Tina Viktor Wanda "
    "Yusuf Zoe Amir Bella Carlos Dana Elif Farid Greta"
).split()
CITIES = "Oslo Rome Lima Cairo Paris Berlin Madrid Vienna Dublin Athens Prague Lisbon Warsaw Delhi Tokyo Boston".split()
PLACES = ("old barn", "tall cupboard", "blue shed", "kitchen drawer", "car", "attic", "wooden box", "back garden")
THINGS = "bicycle guitar telescope camera umbrella violin tent lamp drum sledge kite map".split()
COLOURS = "red green black white yellow silver brown purple".split()
JOBS = ("baker", "night nurse", "pilot", "history teacher", "carpenter", "bus driver", "judge", "plumber", "dentist")
ANIMALS = "dog cat horse parrot rabbit goat turtle pony".split()
NAMES = "Rex Luna Bruno Coco Max Nala Oscar Pippa Rusty Shadow Toby Willow".split()
FOODS = ("lentil soup", "apple pie", "fresh bread", "noodles", "goat cheese", "plum cake", "rice", "grilled fish")
DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()

KINDS = {
    "city": (
        ("{who} lives in {city}.", "The home of {who} is in {city}.", "{who} has a small flat in {city}."),
        ("Where does {who} live?", "In which city does {who} live?", "Which city is the home of {who}?"),
        "city",
    ),
    "job": (
        ("{who} works as a {job}.", "{who} earns money as a {job}.", "By trade {who} is a {job}."),
        ("What does {who} work as?", "What is {who} by trade?", "What is the job of {who}?"),
        "job",
    ),
    "thing": (
        ("{who} keeps a {thing} in the {place}.", "In the {place} stands a {thing} that belongs to {who}."),
        ("Where does {who} keep the {bare}?", "Where is the {bare} of {who}?"),
        "place",
    ),
    "bought": (
        ("On {day} {who} bought a {thing}.", "{who} bought a {thing} on {day}."),
        ("What did {who} buy?", "What did {who} buy on {day}?"),
        "thing",
    ),
    "pet": (
        ("{who} has a {animal} called {name}.", "The {animal} of {who} is called {name}."),
        ("What is the {animal} of {who} called?", "What is the name of the {animal} that {who} has?"),
        "name",
    ),
    "born": (
        ("{who} was born in {year}.", "In {year} {who} came into the world."),
        ("When was {who} born?", "In which year was {who} born?"),
        "year",
    ),
    "food": (
        ("{who} likes {food} best.", "Nothing tastes better to {who} than {food}."),
        ("What does {who} like best?", "What is the favourite food of {who}?"),
        "food",
    ),
}
"""Kinds of facts: their sentences, their questions, and which word of the sentence is asked for."""


class Toy(NamedTuple):
    """A passage, a question about it, and where the answer and its sentence stand in it, in characters."""

    passage: str
    question: str
    answer: str
    start: int
    sentence: tuple[int, int]


def questions(*, seed: int = 0) -> dict[str, list[Toy]]:
    """Train, validation and test. The same seed gives the same set."""
    return {
        split: [question(random.Random(f"{seed}-{split}-{number}")) for number in range(size)]
        for split, size in SIZES.items()
    }


def question(chance: random.Random) -> Toy:
    """Two people, a few facts of each; one fact is asked for that both have."""
    first, second, third = chance.sample(PEOPLE, 3)
    asked = chance.choice(list(KINDS))
    others = [kind for kind in KINDS if kind != asked]
    facts = [(first, asked), (second, asked)]
    facts += [(first, kind) for kind in chance.sample(others, chance.randint(1, 3))]
    facts += [(second, kind) for kind in chance.sample(others, chance.randint(1, 2))]
    facts += [(third, chance.choice(list(KINDS)))] * chance.randint(0, 1)
    chance.shuffle(facts)
    used: set[str] = set()
    sentences, wanted = [], {}
    for who, kind in facts:
        words = fresh(chance, used) | {"who": who}
        sentences.append(chance.choice(KINDS[kind][0]).format(**words))
        if (who, kind) == (first, asked):
            wanted, place = words, len(sentences) - 1
    passage = " ".join(sentences)
    begins = sum(len(sentence) + 1 for sentence in sentences[:place])
    answer = wanted[KINDS[asked][2]]
    return Toy(
        passage=passage,
        question=chance.choice(KINDS[asked][1]).format(**wanted),
        answer=answer,
        start=begins + sentences[place].index(answer),
        sentence=(begins, begins + len(sentences[place])),
    )


def fresh(chance: random.Random, used: set[str]) -> dict[str, str]:
    """A word for every slot, none of which the passage has had."""

    def new(words: Sequence[str]) -> str:
        word = chance.choice([word for word in words if word not in used])
        used.add(word)
        return word

    bare = new(THINGS)
    return {
        "city": new(CITIES),
        "job": new(JOBS),
        "place": new(PLACES),
        "bare": bare,
        "thing": f"{chance.choice(COLOURS)} {bare}",
        "day": chance.choice(DAYS),
        "animal": chance.choice(ANIMALS),
        "name": new(NAMES),
        "year": new([str(year) for year in range(1950, 2010)]),
        "food": new(FOODS),
    }
