"""What a comparison leaves: tables for programs and people, and a page with the maps of all members side by side."""

import csv
import io
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core.files import whole_file
from members import Member
from summary import Result, Summary, member_table_of, table_of, wide_table_of
from trainings import Outcome

if TYPE_CHECKING:
    from core.maps import AttentionMap

DIFFERS = ("prediction", "notice")
"""The parts of an example's text that are the model's; the others are the example's own."""


def write_tables(results: Sequence[Result], summary: Summary, folder: Path, *, title: str) -> None:
    """`compare.csv` with a row a group, `members.csv` with a row a member, and `compare.md` to paste."""
    write(as_csv(*wide_table_of(summary)), folder / "compare.csv")
    write(as_csv(*member_table_of(results, summary.figures)), folder / "members.csv")
    lost = [f"- {member.name}: {outcome.state}" for member, outcome in results if not outcome.metrics]
    parts = [f"# {title}", as_markdown(*table_of(summary, summary.figures)), "Mean ± standard deviation over seeds."]
    missing = ["Not in the table:", "\n".join(lost)] if lost else []
    write("\n\n".join([*parts, *missing]) + "\n", folder / "compare.md")


def as_csv(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([head, *rows])
    return text.getvalue()


def as_markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [[cell.replace("|", r"\|") for cell in line] for line in (head, ["---"] * len(head), *rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def write(text: str, path: Path) -> None:
    with whole_file(path) as file:
        file.write(text.encode())


def write_page(results: Sequence[Result], summary: Summary, path: Path, *, title: str) -> bool:
    """The table, and below it each test example that all members of the first seed have maps of.

    Returns False, and writes nothing, where there is no such example.
    """
    from core.maps.html import Table, write_html

    examples = side_by_side(results)
    if examples:
        table = Table(*table_of(summary, summary.figures))
        write_html(examples, path, title=title, table=table, together=True)
    return bool(examples)


def side_by_side(results: Sequence[Result]) -> list[list["AttentionMap"]]:
    """For each example the map of every finished member of the first seed, named after its member.

    An example counts where its texts are the same for all, so members with other data have none in common. A member
    without any map, as one without attention, is left out.
    """
    first = results[0][0].config["seed"]
    shown = [(member, outcome) for member, outcome in results if outcome.run and member.config["seed"] == first]
    found = [maps for member, outcome in shown if (maps := maps_of(member, outcome))]
    examples = []
    for number in found[0] if found else ():
        maps = [each[number] for each in found if number in each]
        if len(maps) == len(found) and all(own_text(map) == own_text(maps[0]) for map in maps):
            examples.append(maps)
    return examples


def maps_of(member: Member, outcome: Outcome) -> dict[int, "AttentionMap"]:
    """By the number of its example, the map of the module that looks best, as the mean of its heads."""
    from core.maps import AttentionMap

    assert outcome.run is not None
    folder = outcome.run / "maps"
    listed = json.loads((folder / "maps.json").read_text(encoding="utf-8"))["maps"]
    by_example: dict[int, dict[str, str]] = {}
    for entry in listed:
        if "beside" not in entry.get("origin", {}):  # such maps are no looks of the model's
            by_example.setdefault(entry["example"], {})[entry["name"]] = entry["file"]
    found = {}
    for number, files in by_example.items():
        map = AttentionMap.load(folder / files[best_module(list(files), outcome.metrics)]).mean()
        found[number] = replace(map, name=member.name, origin=map.origin | {"module": map.name})
    return found


def best_module(modules: Sequence[str], metrics: dict[str, Any]) -> str:
    """The module with the reading that has the best link accuracy on what readings are chosen on; else the last one."""
    accuracies: dict[str, float] = {}
    for reading in metrics.get("attention") or ():
        accuracy = reading.get("chosen_on", {}).get("link accuracy")
        if accuracy is not None and reading["module"] in modules:
            accuracies[reading["module"]] = max(accuracy, accuracies.get(reading["module"], 0.0))
    return max(accuracies, key=accuracies.__getitem__) if accuracies else modules[-1]


def own_text(map: "AttentionMap") -> dict[str, str]:
    return {part: text for part, text in map.text.items() if part not in DIFFERS}
