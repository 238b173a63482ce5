"""What is left of attention maps in a folder: files, pictures, and one page to look at them all."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from command import say_warnings

PAGE = "maps.html"


def write_maps(
    maps: Sequence[Sequence[Any]],
    folder: Path,
    *,
    title: str,
    first: Sequence[Sequence[Any]] = (),
    timeline: Sequence[Any] = (),
    heads: bool = False,
) -> None:
    """An npz a map, a PNG an example (of means; with `heads`, one of all heads too), and `maps.html`. Maps with other
    labels than the first have PNGs of their own. Maps over a picture are drawn on it, a PNG a module, and with `heads`
    a PNG a head; those over a sound, under its spectrogram.

    The page begins with `first`, examples that get no files here, whose maps over time are `timeline`.
    """
    from core.maps import Picture, Sound, save_all
    from core.maps.html import write_html
    from core.maps.png import draw_layers

    save_all(maps, folder)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for number, found in enumerate(maps, start=1):
            if found and all(isinstance(map.shown, Picture) for map in found):
                draw_on_picture(found, folder / f"{number:03d}.png", heads=heads)
                continue
            if found and all(isinstance(map.shown, Sound) for map in found):
                draw_under_sound(found, folder / f"{number:03d}.png", heads=heads)
                continue
            for place, alike in enumerate(with_the_same_labels(found), start=1):
                stem = f"{number:03d}" if place == 1 else f"{number:03d}-{place}"
                if heads:
                    draw_layers(alike, folder / f"{stem}-heads.png", title=alike[0].heading)
                draw_layers([map.mean() for map in alike], folder / f"{stem}.png", title=alike[0].heading)
    if shown := [each for each in (*first, *maps) if each]:
        write_html(shown, folder / PAGE, title=title, timeline=timeline)
    say_warnings(caught)


def with_the_same_labels(maps: Sequence[Any]) -> list[list[Any]]:
    """The maps in groups that fit into one picture, in the order in which they come."""
    groups: dict[tuple, list[Any]] = {}
    for map in maps:
        groups.setdefault((map.queries, map.keys), []).append(map)
    return list(groups.values())


def draw_on_picture(maps: Sequence[Any], path: Path, *, heads: bool) -> None:
    """A picture each, of modules and perhaps of their heads; the first module has the name of `path` itself."""
    from core.maps.overlay import draw_overlay

    draw_each(draw_overlay, maps, path, heads=heads)


def draw_under_sound(maps: Sequence[Any], path: Path, *, heads: bool) -> None:
    """The same for maps over a sound."""
    from core.maps.spectrogram import draw_spectrogram

    draw_each(draw_spectrogram, maps, path, heads=heads)


def draw_each(draw: Callable[..., Path], maps: Sequence[Any], path: Path, *, heads: bool) -> None:
    for place, map in enumerate(maps):
        own = path if place == 0 else path.with_stem(f"{path.stem}-{place + 1}")
        draw(map, own, title=map.heading)
        for head, weights in enumerate(map.weights if heads and len(map.weights) > 1 else ()):
            one = replace(map, weights=weights, name=f"{map.name}, head {head}")
            draw(one, own.with_stem(f"{own.stem}-head-{head}"), title=map.heading)
