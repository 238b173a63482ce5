"""Compare mechanisms over several trainings: `python scripts/compare.py data=toy attention=dot,additive seed=1,2,3`"""

import os
import shlex
import statistics
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from rich.cells import cell_len
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from command import command, console
from comparison import write_page, write_tables
from compose import ConfigError
from members import Member, lists_of, members_of
from summary import Result, Summary, most_telling, summary_of, table_of
from trainings import LOG, NOT_TRAINED, TRAIN, Outcome, done_before, last_lines, train

HELP = """\
usage: python scripts/compare.py KEY=A,B[,...] [KEY=VALUE ...] [--print] [--help]

Trains one model for each combination of the lists, one after another, and says how they differ: mean and
standard deviation over the seeds of every test score, of seconds, peak memory and parameters.

Every key of train.py can have a list (python scripts/train.py --help says which keys there are). A comma inside
[...], {...} or quotes is no list: quote such a text, as in data.path='"a,b.tsv"'.

  --print   the members and whether they are done, without training

All members are checked before the first is trained. Each is kept in OUTPUT/compare/members under the hash of
its configuration; what is done is not trained again, by this comparison or another. What failed or was
interrupted is. After a change of the code or of your data files, delete the member's folder or take another output=.

Examples:
  python scripts/compare.py data=toy attention=dot,additive,cosine seed=1,2,3
  python scripts/compare.py data=toy model=transformer,rnn
  python scripts/compare.py data=toy model.dropout=0.1,0.2 trainer.max_epochs=8
  python scripts/compare.py trainer=smoke attention=local attention.before=1,2,4"""
INTERRUPTED = 130
PADDING = 1


def main(arguments: list[str], *, script: Path = TRAIN) -> None:
    """`script` is what trains a member."""
    options = {argument for argument in arguments if argument.startswith("-")}
    wishes = [argument for argument in arguments if argument not in options]
    if {"--help", "-h"} & options:
        print(HELP)
        return
    if unknown := options - {"--print"}:
        raise ConfigError(f"{min(unknown)}: no such option; there are --print and --help")
    from core.public import reachable

    screen = console()
    members, output, notices = members_of(wishes, reachable=reachable)
    for notice in notices:
        screen.print(notice, style="bold yellow", markup=False, highlight=False)
    root = Path(output).expanduser() / "compare"
    folders = {member.key: root / "members" / member.key for member in members}
    outcomes = {member.key: done_before(member, folders[member.key]) or NOT_TRAINED for member in members}
    if "--print" in options:
        listing(members, outcomes, screen)
        return
    sys.exit(compare(wishes, members, folders, outcomes, screen, script=script))


def listing(members: Sequence[Member], outcomes: dict[str, Outcome], screen: Console) -> None:
    for number, member in enumerate(members, start=1):
        line = f"{number:3d}  {member.key}  {outcomes[member.key].state:11}  {member.name}"
        screen.print(line, markup=False, highlight=False, soft_wrap=True)


def compare(
    wishes: Sequence[str],
    members: Sequence[Member],
    folders: dict[str, Path],
    outcomes: dict[str, Outcome],
    screen: Console,
    *,
    script: Path,
) -> int:
    """Trains what is not done, writes and shows what came of it. Returns the exit status."""
    from core.run import make_folder, mark_latest

    config = members[0].config
    folder = make_folder(config["output"], "compare")
    waiting = [member for member in members if outcomes[member.key] is NOT_TRAINED]
    if done := len(members) - len(waiting):
        screen.print(f"{done} of {len(members)} members have been done before", highlight=False)
    interrupted = not train_all(waiting, folders, outcomes, screen, script=script)
    results = [(member, outcomes[member.key]) for member in members]
    summary, title = summary_of(results), f"{config['task']}, {config['data_used']}, test split"
    write_tables(results, summary, folder, title=title)
    latest = mark_latest(folder)
    place = latest if latest.is_dir() else folder  # `latest` is a text file where links need privileges
    if not write_page(results, summary, folder / "compare.html", title=title):
        screen.print("no compare.html: the members of the first seed have maps of no test example in common")
    report(wishes, results, summary, place, title, screen)
    return INTERRUPTED if interrupted else int(any(not outcome.metrics for outcome in outcomes.values()))


def train_all(
    members: Sequence[Member], folders: dict[str, Path], outcomes: dict[str, Outcome], screen: Console, *, script: Path
) -> bool:
    """Trains one member after another and puts down what came of each. Returns False if Ctrl-C ended it before."""
    columns = TextColumn("{task.description}", markup=False), BarColumn(20), TimeElapsedColumn()
    with Progress(*columns, console=screen, transient=True, disable=not screen.is_terminal) as progress:
        bar = progress.add_task("", total=len(members))
        for number, member in enumerate(members, start=1):
            left = estimate(outcomes.values(), len(members) + 1 - number)
            what = f"member {number} of {len(members)}{left}: {member.name}"
            progress.update(bar, description=what, completed=number - 1)
            if not screen.is_terminal:
                screen.print(what, markup=False, highlight=False, soft_wrap=True)
            try:
                outcomes[member.key] = train(member, folders[member.key], script=script)
            except KeyboardInterrupt:
                screen.print("Interrupted. What is done is below, and the same command goes on from here.")
                return False
            tell(member, outcomes[member.key], folders[member.key], screen)
    return True


def estimate(outcomes: Iterable[Outcome], number: int) -> str:
    """How long so many trainings will take, if they are like those that are done."""
    from core.training import clock

    known = [outcome.seconds for outcome in outcomes if outcome.metrics and outcome.seconds]
    return f", about {clock(statistics.fmean(known) * number)} left" if known else ""


def tell(member: Member, outcome: Outcome, folder: Path, screen: Console) -> None:
    """A line for a member that was trained, and the end of its log for one that failed."""
    memory = "" if outcome.mebibytes is None else f", at most {outcome.mebibytes:,.0f} MiB"
    line = f"{outcome.state} in {outcome.seconds:.0f} s{memory}: {member.name}"
    screen.print(line, style="" if outcome.metrics else "bold red", markup=False, highlight=False, soft_wrap=True)
    if not outcome.metrics:
        for line in [*last_lines(folder), f"all of it: {folder / LOG}"]:
            screen.print(f"    {line}", markup=False, highlight=False, soft_wrap=True)


def report(
    wishes: Sequence[str], results: Sequence[Result], summary: Summary, folder: Path, title: str, screen: Console
) -> None:
    """The table that a comparison ends with, what is missing from it, where its files are, and what to try next."""
    table, left_out = fitting(summary, title, screen.width)
    screen.print()
    screen.print(table)
    if left_out:
        screen.print(f"\nin compare.md as well: {'; '.join(left_out)}", highlight=False, soft_wrap=True)
    if not hasattr(os, "wait4"):
        screen.print("\nno peak memory: this system does not say it of a process that has ended")
    finished = [outcome for _, outcome in results if outcome.run]
    if len(finished) < len(results):
        missing = [f"{member.name} ({outcome.state})" for member, outcome in results if not outcome.run]
        screen.print(f"\nnot in the table: {', '.join(missing)}", style="bold yellow", markup=False, soft_wrap=True)
    files = ", ".join(sorted(path.name for path in folder.iterdir()))
    lines = [f"\nfiles      {folder}: {files}", *following(wishes, finished)]
    screen.print("\n".join(lines), markup=False, highlight=False, soft_wrap=True)


def fitting(summary: Summary, title: str, width: int) -> tuple[Table, list[str]]:
    """The table with as many columns as fit, the most telling first, and the names of those that do not."""
    ordered = most_telling(summary.figures)
    head, rows = table_of(summary, ordered)
    fixed = len(head) - len(ordered)
    widths = [
        max(cell_len(each) for each in [*(word for word in name.split()), *column]) + 2 * PADDING
        for name, *column in zip(head, *rows, strict=True)
    ]
    count = fixed + 1
    while count < len(head) and sum(widths[: count + 1]) <= width:
        count += 1
    shown = Table(title=title, title_justify="left", title_style="bold", box=None, pad_edge=False, padding=(0, PADDING))
    for place, name in enumerate(head[:count]):
        shown.add_column(name, justify="left" if place < fixed - 1 else "right", no_wrap=False)
    for row in rows:
        shown.add_row(*map(escape, row[:count]))
    return shown, head[count:]


def following(wishes: Sequence[str], finished: Sequence[Outcome]) -> list[str]:
    """Commands to go on with. The input of the second is the one that a finished run left as its sample."""
    lines = ["\nnext", f"  python scripts/compare.py {shlex.join(with_more_seeds(wishes))}"]
    for outcome in finished[:1]:
        words = shlex.join([str(outcome.run), *outcome.metrics.get("sample", [])])
        lines.append(f"  python scripts/maps.py {words}")
    return lines


def with_more_seeds(wishes: Sequence[str]) -> list[str]:
    """What was typed, with another seed; what is done already is not trained again."""
    seeds = lists_of(wishes).get("seed", ["1"])
    largest = max((int(seed) for seed in seeds if seed.isdecimal()), default=0)
    more = [*seeds, str(largest + 1)] if len(seeds) > 1 else [*seeds, str(largest + 1), str(largest + 2)]
    return [*(wish for wish in wishes if not wish.lstrip("+").startswith("seed=")), f"seed={','.join(more)}"]


if __name__ == "__main__":
    command(main)
