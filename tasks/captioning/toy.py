"""A toy set of captioned pictures: two coloured shapes, one beside or over the other, and sometimes a third in a
corner.

A picture has exactly one right caption: the larger shape is named first. Where every named thing is, is known.
"""

import io
import random
from typing import NamedTuple

import numpy as np
from PIL import Image, ImageDraw

SIZES = {"train": 3500, "validation": 300, "test": 300}
SIDE = 64
COLOURS = {
    "red": (214, 48, 44),
    "green": (52, 158, 74),
    "blue": (48, 92, 206),
    "yellow": (240, 200, 40),
    "purple": (142, 62, 168),
    "orange": (240, 138, 36),
    "black": (34, 34, 34),
    "pink": (246, 150, 190),
}
SHAPES = ("circle", "square", "triangle", "diamond", "cross", "ring")
RELATIONS = ("above", "below", "left of", "right of")
KINDS = [(colour, shape) for colour in COLOURS for shape in SHAPES]
CORNERS = {"top left": (0, 0), "top right": (1, 0), "bottom left": (0, 1), "bottom right": (1, 1)}
LARGE, MIDDLE, SMALL = 20, 14, 10
"""Pixels across."""

Box = tuple[float, float, float, float]


class Thing(NamedTuple):
    colour: str
    shape: str
    centre: tuple[float, float]
    across: float

    @property
    def told(self) -> str:
        name = f"{'small ' if self.across == SMALL else ''}{self.colour} {self.shape}"
        return f"{'an' if name[0] in 'aeiou' else 'a'} {name}"

    @property
    def corners(self) -> tuple[float, float, float, float]:
        (x, y), half = self.centre, self.across / 2
        return x - half, y - half, x + half, y + half

    @property
    def box(self) -> Box:
        left, top, right, bottom = (edge / SIDE for edge in self.corners)
        return left, top, right, bottom


class Named(NamedTuple):
    """Words [start, end) of a caption that name a thing, and its box in shares of the picture."""

    start: int
    end: int
    box: Box


class Scene(NamedTuple):
    pixels: np.ndarray
    """Bytes, `64 64 3`."""
    caption: str
    named: tuple[Named, ...]
    """The things in the order of their words, each with its article."""


def scenes(*, seed: int = 0) -> dict[str, list[Scene]]:
    """Train, validation and test; the same seed gives the same pictures."""
    return {split: [scene(random.Random(f"{seed} {split} {n}")) for n in range(size)] for split, size in SIZES.items()}


def scene(chance: random.Random) -> Scene:
    relation = chance.choice(RELATIONS)
    (one, other, small), (here, there) = chance.sample(KINDS, 3), places(relation, chance)
    first, second = Thing(*one, here, LARGE), Thing(*other, there, MIDDLE)
    caption, things = f"{first.told} {relation} {second.told}", [first, second]
    if chance.random() < 0.5:
        corner = chance.choice([*CORNERS])
        things.append(in_corner(small, corner, chance))
        caption += f" and {things[-1].told} in the {corner} corner"
    return Scene(painted(things, chance), caption, places_of(caption, things))


def places(relation: str, chance: random.Random) -> list[tuple[float, float]]:
    """Centres of the two shapes: clearly apart along one axis, nearly level along the other."""
    low, high, level = chance.uniform(17, 21), chance.uniform(41, 47), chance.uniform(24, 40)
    near = level + chance.uniform(-2, 2)
    pair = [(low, level), (high, near)] if relation in ("left of", "right of") else [(level, low), (near, high)]
    return pair if relation in ("left of", "above") else pair[::-1]


def in_corner(name: tuple[str, str], corner: str, chance: random.Random) -> Thing:
    right, down = CORNERS[corner]
    away = SMALL / 2 + chance.uniform(0, 1)
    return Thing(*name, (abs(SIDE * right - away), abs(SIDE * down - away)), SMALL)


def places_of(caption: str, things: list[Thing]) -> tuple[Named, ...]:
    words, found, at = caption.split(), [], 0
    for thing in things:
        told = thing.told.split()
        at = next(n for n in range(at, len(words)) if words[n : n + len(told)] == told)
        found.append(Named(at, at + len(told), thing.box))
        at += len(told)
    return tuple(found)


def painted(things: list[Thing], chance: random.Random) -> np.ndarray:
    """On a pale, noisy ground, so that no place is empty."""
    ground = np.random.default_rng(chance.getrandbits(32)).normal(chance.uniform(200, 235), 6, (SIDE, SIDE, 3))
    image = Image.fromarray(ground.clip(0, 255).astype(np.uint8))
    pen = ImageDraw.Draw(image)
    for thing in things:
        paint(pen, thing)
    return np.asarray(image)


def paint(pen: ImageDraw.ImageDraw, thing: Thing) -> None:
    left, top, right, bottom = thing.corners
    (x, y), third, colour = thing.centre, thing.across / 6, COLOURS[thing.colour]
    if thing.shape == "circle":
        pen.ellipse(thing.corners, fill=colour)
    elif thing.shape == "square":
        pen.rectangle(thing.corners, fill=colour)
    elif thing.shape == "triangle":
        pen.polygon([(x, top), (right, bottom), (left, bottom)], fill=colour)
    elif thing.shape == "diamond":
        pen.polygon([(x, top), (right, y), (x, bottom), (left, y)], fill=colour)
    elif thing.shape == "cross":
        pen.rectangle((left, y - third, right, y + third), fill=colour)
        pen.rectangle((x - third, top, x + third, bottom), fill=colour)
    else:
        pen.ellipse(thing.corners, outline=colour, width=max(2, round(thing.across / 5)))


def png(pixels: np.ndarray) -> bytes:
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "PNG")
    return file.getvalue()
