"""Where a trained model looks on your own inputs: `python scripts/maps.py outputs/translation/latest "Ein Hund."`"""

import sys
from pathlib import Path
from typing import Any

from decoding import add_options, apply

from command import command
from compose import ConfigError
from inputs import inputs, parser
from pages import PAGE, write_maps

LONGEST = 200
"""Characters of a source that are told on the terminal; the files have all of it."""
WITHOUT = "this model has no attention to look at"


def main(arguments: list[str]) -> None:
    """Writes for each input the weights with their labels (npz), a picture of all heads and one of their means; and
    one page for all inputs."""
    options = parser("Draw the attention on your own inputs.")
    options.add_argument("--out", metavar="DIR", help="where to write (default: a new folder inside the run's)")
    options.add_argument(
        "--forbid", metavar="WORD", action="append", default=[], help="a word of the input that may not be looked at"
    )
    add_options(options)
    chosen = options.parse_intermixed_args(arguments)

    from core.maps.attention_map import visible
    from core.maps.measures import measured
    from core.run import load, new_maps_folder

    run = load(chosen.run)
    texts = inputs(chosen, run.data.asks)
    apply(chosen, run)
    found = maps_without(run, texts, chosen.forbid) if chosen.forbid else run.maps(texts)
    before = [each.output for each in run.predict(texts)] if chosen.forbid else []
    folder = Path(chosen.out).expanduser() if chosen.out else new_maps_folder(run.folder)
    write_maps([[measured(map) for map in maps] for maps in found], folder, title="Attention maps", heads=True)
    for number, maps in enumerate(found, start=1):
        if not maps:
            print(f"{number}: {'the input is empty' if run.model.gaze else WITHOUT}: no map")
            continue
        print(f"{number}: {visible(maps[0].text['source'], LONGEST)}  ->  {maps[0].text['prediction']}")
        if before:
            print(f"   with nothing forbidden:  {before[number - 1]}")
        if notice := maps[0].text.get("notice"):
            print(f"  {number}: {notice}", file=sys.stderr)
    if any(found):
        print(f"look at them: {folder / PAGE}")
    print(f"maps: {folder}")


def maps_without(run: Any, texts: list[Any], forbidden: list[str]) -> list[list[Any]]:
    """The maps while these words may not be looked at, in each input: an error where one has no such word."""
    try:
        return run.maps(texts, forbid=forbidden)
    except ValueError as error:
        raise ConfigError(f"--forbid: {error}") from error


if __name__ == "__main__":
    command(main)
