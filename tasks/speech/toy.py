"""Toy speech: each letter is a chord of two tones, each word syllables, and it is known when each letter sounds."""

import random

import numpy as np

from core.held_out import SPLITS
from tasks.speech.audio import Samples
from tasks.speech.examples import Recording, Said

RATE = 8000
SIZES = {"train": 1600, "validation": 100, "test": 100}
CHORDS = {
    "a": (800, 1300),
    "e": (500, 1900),
    "i": (300, 2300),
    "o": (500, 900),
    "u": (300, 700),
    "k": (1500, 2900),
    "l": (400, 1500),
    "m": (200, 1100),
    "s": (2500, 3400),
    "t": (1900, 3100),
}
VOWELS, CONSONANTS = "aeiou", "klmst"
FADE = 0.012
"""Seconds in which a letter comes and goes."""
NOISE = 0.02


def recordings(*, seed: int) -> dict[str, list[Recording]]:
    chance = random.Random(f"speech {seed}")
    return {split: [recording(f"toy {split} {number}", chance) for number in range(SIZES[split])] for split in SPLITS}


def recording(name: str, chance: random.Random) -> Recording:
    """One to four words of one or two syllables, by a voice of its own pitch, pace and loudness."""
    words = ["".join(syllable(chance) for _ in range(chance.choice((1, 2)))) for _ in range(chance.randint(1, 4))]
    text = " ".join(words)
    pitch, pace, loud = chance.uniform(0.94, 1.06), chance.uniform(0.8, 1.25), chance.uniform(0.2, 0.8)
    noise = np.random.default_rng(chance.getrandbits(32))
    parts, said = [quiet(chance.uniform(0.05, 0.2))], []
    at = len(parts[0]) / RATE
    for place, letter in enumerate(text):
        sound = quiet(chance.uniform(0.06, 0.15)) if letter == " " else tone(letter, pitch, pace, chance)
        if letter != " ":
            said.append(Said(place, place + 1, at, at + len(sound) / RATE))
        parts.append(sound)
        at += len(sound) / RATE
    samples = np.concatenate([*parts, quiet(chance.uniform(0.05, 0.2))])
    heard = loud * (samples + NOISE * noise.standard_normal(len(samples)))
    return Recording(name, (heard.astype(np.float32),), RATE, text, tuple(said))


def syllable(chance: random.Random) -> str:
    return chance.choice(CONSONANTS) + chance.choice(VOWELS)


def quiet(seconds: float) -> Samples:
    return np.zeros(round(seconds * RATE), np.float32)


def tone(letter: str, pitch: float, pace: float, chance: random.Random) -> Samples:
    seconds = pace * (chance.uniform(0.07, 0.14) if letter in VOWELS else chance.uniform(0.05, 0.1))
    times = np.arange(round(seconds * RATE)) / RATE
    low, high = (2 * np.pi * pitch * hertz * times + chance.uniform(0, 6) for hertz in CHORDS[letter])
    ends = np.minimum(times, times[::-1]) / FADE
    return ((0.6 * np.sin(low) + 0.4 * np.sin(high)) * ends.clip(0, 1)).astype(np.float32)
