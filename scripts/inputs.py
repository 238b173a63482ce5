"""A person's own inputs: plain arguments, a file, or standard input. They never pass through the override grammar."""

import argparse
import sys
from pathlib import Path

from compose import ConfigError


def parser(what: str) -> argparse.ArgumentParser:
    """An argument parser for a run and inputs for it."""
    made = argparse.ArgumentParser(description=what)
    made.add_argument("run", metavar="RUN", help="a run folder, such as outputs/translation/latest")
    made.add_argument("text", metavar="TEXT", nargs="*", help="one input each; quote it if it has spaces")
    made.add_argument("--file", metavar="F", help="a file with an input a line, in UTF-8")
    return made


def inputs(arguments: argparse.Namespace) -> list[str]:
    """The inputs, in order: every line counts, an empty one too, so that outputs stay beside their inputs.

    Raises:
        ConfigError: if there are none, or from two places at once.
    """
    from core.text import lines_of

    if arguments.text and arguments.file:
        raise ConfigError("give inputs as arguments or with --file, not both")
    if arguments.text:
        return arguments.text
    name = arguments.file or "standard input"
    if arguments.file and not Path(arguments.file).is_file():
        raise ConfigError(f"--file {arguments.file}: there is no such file")
    if not arguments.file and sys.stdin.isatty():
        print("Type an input a line; end with Ctrl-D.", file=sys.stderr)
    try:
        return lines_of(Path(name).read_bytes() if arguments.file else sys.stdin.buffer.read(), name)
    except ValueError as error:
        raise ConfigError(str(error)) from error
