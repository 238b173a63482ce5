"""A person's own inputs: plain arguments, a file, or standard input. They never pass through the override grammar."""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from compose import ConfigError
from core.inputs import Input


def parser(what: str) -> argparse.ArgumentParser:
    """An argument parser for a run and inputs for it."""
    made = argparse.ArgumentParser(description=what)
    made.add_argument("run", metavar="RUN", help="a run folder, such as outputs/translation/latest")
    made.add_argument(
        "text", metavar="TEXT", nargs="*", help="an input, or the parts of one in turn; quote it if it has spaces"
    )
    made.add_argument(
        "--file", metavar="F", help="a file with an input a line, in UTF-8; parts are tab-separated, or an object"
    )
    return made


def inputs(arguments: argparse.Namespace, asks: Sequence[str]) -> list[Input]:
    """The inputs, in order: every line counts, an empty one too, so that outputs stay beside their inputs.

    `asks` are the parts of one input; where there are several, each input is a tuple of them.

    Raises:
        ConfigError: if there are none, or from two places at once, or without all of their parts.
    """
    from core.text import lines_of

    if arguments.text and arguments.file:
        raise ConfigError("give inputs as arguments or with --file, not both")
    if arguments.text:
        return grouped(arguments.text, asks)
    name = arguments.file or "standard input"
    if arguments.file and not Path(arguments.file).is_file():
        raise ConfigError(f"--file {arguments.file}: there is no such file")
    if not arguments.file and sys.stdin.isatty():
        what = "an input" if len(asks) == 1 else f"{', a tab, '.join(asks)}:"
        print(f"Type {what} a line; end with Ctrl-D.", file=sys.stderr)
    try:
        lines = lines_of(Path(name).read_bytes() if arguments.file else sys.stdin.buffer.read(), name)
    except ValueError as error:
        raise ConfigError(str(error)) from error
    if len(asks) == 1:
        return list(lines)
    return [parts_of(line, asks, f"{name}, line {number}") for number, line in enumerate(lines, start=1)]


def grouped(texts: Sequence[str], asks: Sequence[str]) -> list[Input]:
    """Arguments by the parts that an input has."""
    if len(texts) % len(asks):
        raise ConfigError(
            f"an input has {len(asks)} parts here: {', '.join(asks)}; {len(texts)} came. Quote each part that has "
            f"spaces: predict.py RUN {' '.join(part.upper() for part in asks)}"
        )
    if len(asks) == 1:
        return list(texts)
    return [tuple(texts[at : at + len(asks)]) for at in range(0, len(texts), len(asks))]


def parts_of(line: str, asks: Sequence[str], place: str) -> tuple[str, ...]:
    """The parts of an input: an object that has them as keys, or tab-separated; an empty line has empty ones."""
    if line.lstrip().startswith("{"):
        try:
            found: Any = json.loads(line)
        except ValueError:
            found = None
        if isinstance(found, dict) and all(isinstance(found.get(part), str) for part in asks):
            return tuple(found[part] for part in asks)
    parts = line.split("\t") if line else [""] * len(asks)
    if len(parts) != len(asks):
        keys = ", ".join(f'"{part}": "..."' for part in asks)
        raise ConfigError(
            f"{place}: wanted {len(asks)} parts, {', '.join(asks)}, with a tab between them, or {{{keys}}}; "
            f"found {len(parts)}"
        )
    return tuple(parts)
