"""What the commands share: errors that end in one line and a status, and tables."""

import os
import sys
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path

from rich.console import Console
from rich.table import Table

os.environ.setdefault("HYDRA_FULL_ERROR", "1")
ROOT = Path(__file__).resolve().parent.parent


def command(main: Callable[[list[str]], None]) -> None:
    """Runs a command. What a person can mend is said in a few lines, with status 2; anything else is a traceback."""
    import core

    if Path(core.__file__).resolve().parent.parent != ROOT:
        print(f"note: `core` comes from {core.__file__}, not from {ROOT}: pip install -e {ROOT}", file=sys.stderr)
    from compose import ConfigError
    from core.public import DataError
    from core.run import RunError

    try:
        main(sys.argv[1:])
    except BrokenPipeError:  # whoever read the output wants no more of it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or Python complains when it closes the pipe
        sys.exit(0)
    except (ConfigError, DataError, RunError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        sys.exit(130)


def table(title: str, rows: Mapping[str, tuple[float, str]]) -> Table:
    """Scores in a table: name, value, and how it was counted."""
    shown = Table(title=title, title_justify="left", title_style="bold", box=None, pad_edge=False, padding=(0, 2))
    shown.add_column("score")
    shown.add_column("", justify="right")
    shown.add_column("how", overflow="fold", style="dim")
    for name, (value, how) in rows.items():
        shown.add_row(name, f"{value:.3f}" if value < 1.5 else f"{value:.2f}", how)
    return shown


def say_warnings(caught: list[warnings.WarningMessage]) -> None:
    """Warnings as plain lines on standard error, each once."""
    for message in dict.fromkeys(str(warning.message) for warning in caught):
        print(f"note: {message}", file=sys.stderr)


def console() -> Console:
    return Console(width=None if sys.stdout.isatty() else 120)
