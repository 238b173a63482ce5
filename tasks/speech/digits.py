"""Recordings of single words joined to strings of one speaker, so that it is known when each word is said."""

import random
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from tasks.speech.audio import Samples
from tasks.speech.examples import Recording, Said

LONGEST = 6
"""Words of a string."""
NOISE = 1e-3
"""How loud a pause is, beside the loudest sample of a word."""


class Word(NamedTuple):
    """One recording of one word."""

    samples: Samples
    rate: int
    text: str
    speaker: str | None


def set_apart(words: Sequence[Word], chance: random.Random) -> tuple[list[Word], list[Word]]:
    """Nine tenths and a tenth of each speaker's recordings of each word; a tenth of all where these are too few."""
    groups: dict[tuple[str, str], list[Word]] = {}
    for word in words:
        groups.setdefault((word.speaker or "", word.text), []).append(word)
    most: list[Word] = []
    tenth: list[Word] = []
    for group in groups.values():
        chance.shuffle(group)
        size = len(group) // 10
        tenth += group[:size]
        most += group[size:]
    if not tenth:
        chance.shuffle(most)
        size = max(1, len(most) // 10)
        tenth, most = most[:size], most[size:]
    return most, tenth


def strings(words: Sequence[Word], count: int, name: str, chance: random.Random) -> Iterator[Recording]:
    """So many strings of one to six words, each of one speaker where speakers are known."""
    speakers: dict[str | None, list[Word]] = {}
    for word in words:
        speakers.setdefault(word.speaker, []).append(word)
    names = sorted(speakers, key=str)
    for number in range(count):
        speaker = chance.choice(names)
        chosen = [chance.choice(speakers[speaker]) for _ in range(chance.randint(1, LONGEST))]
        yield joined(chosen, f"{name} {number}" + (f" {speaker}" if speaker else ""), chance)


def joined(words: Sequence[Word], name: str, chance: random.Random) -> Recording:
    """Words with pauses around them of up to 0.15 s, which are as good as silent."""
    rate = words[0].rate
    parts, said, text, at = [pause(rate, chance)], [], "", 0
    for word in words:
        at = sum(map(len, parts))
        text += " " if text else ""
        said.append(Said(len(text), len(text) + len(word.text), at / rate, (at + len(word.samples)) / rate))
        text += word.text
        parts += [word.samples, pause(rate, chance)]
    return Recording(name, tuple(parts), rate, text, tuple(said), words[0].speaker)


def pause(rate: int, chance: random.Random) -> Samples:
    noise = np.random.default_rng(chance.getrandbits(32))
    return (NOISE * noise.standard_normal(round(chance.uniform(0.02, 0.15) * rate))).astype(np.float32)
