"""One training of a comparison in a process of its own, and whether it has been done before."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

from members import Member, key_of

TRAIN = Path(__file__).with_name("train.py")
LOG, RECORD = "log.txt", "member.json"
"""In a member's folder: what its training said; and, written last, that it is finished, and what it took."""
PATIENCE = 10.0
"""Seconds that a process has to end when it is told to."""


class Outcome(NamedTuple):
    """What became of a member. Without a run there is nothing to read but its log."""

    state: str
    run: Path | None = None
    metrics: dict[str, Any] = {}
    seconds: float | None = None
    """From the start of the process to its end."""
    mebibytes: float | None = None
    """The most memory that the process had at once; None where the system does not say (Windows)."""


NOT_TRAINED = Outcome("not trained")


def done_before(member: Member, folder: Path) -> Outcome | None:
    """The outcome of an earlier training of this member in its folder, if it came to its end."""
    from core.run import RunError, read_config

    try:
        record = json.loads((folder / RECORD).read_text(encoding="utf-8"))
        run = folder / record["run"]
        metrics = json.loads((run / "metrics.json").read_text(encoding="utf-8"))
        same = key_of(read_config(run / "config.yaml")) == member.key
        return Outcome("done before", run, metrics, record["seconds"], record["peak_mebibytes"]) if same else None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RunError):
        return None


def train(member: Member, folder: Path, *, script: Path = TRAIN) -> Outcome:
    """Trains a member and waits for it; an exception, such as Ctrl-C, stops the training before it goes on its way."""
    from core.run import write_json

    folder.mkdir(parents=True, exist_ok=True)
    (folder / RECORD).unlink(missing_ok=True)
    begun = time.monotonic()
    with open(folder / LOG, "wb") as log:
        process = subprocess.Popen(
            [sys.executable, str(script), *member.words, f"output={folder.resolve()}"],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            env=os.environ | {"PYTHONUNBUFFERED": "1", "PYTHONIOENCODING": "utf-8"},
        )
        try:
            status, mebibytes = wait(process)
        except BaseException:
            stop(process)
            raise
    seconds = round(time.monotonic() - begun, 1)
    if status != 0:
        return Outcome("failed", None, {}, seconds, mebibytes)
    try:
        run = newest(folder / member.config["task"])
        metrics = json.loads((run / "metrics.json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        with open(folder / LOG, "a", encoding="utf-8") as log:
            log.write(f"the training ended well, but {error}\n")
        return Outcome("failed", None, {}, seconds, mebibytes)
    name = run.relative_to(folder.resolve()).as_posix()
    write_json({"run": name, "seconds": seconds, "peak_mebibytes": mebibytes}, folder / RECORD)
    return Outcome("trained", run, metrics, seconds, mebibytes)


def newest(folder: Path) -> Path:
    from core.run import find

    return find(folder / "latest").resolve()


def wait(process: subprocess.Popen) -> tuple[int, float | None]:
    """The exit status of a process, and the most memory that it had, in MiB.

    The system counts a new process from where it split off, so no figure is below what this process had then; a
    training loads all that is loaded here, and more.
    """
    if not hasattr(os, "wait4"):
        return process.wait(), None
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, round(usage.ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10), 1)


def stop(process: subprocess.Popen) -> None:
    process.terminate()
    try:
        process.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def last_lines(folder: Path, number: int = 6) -> list[str]:
    """The end of a member's log."""
    lines = (folder / LOG).read_text(encoding="utf-8", errors="replace").splitlines()
    return [line for line in lines if line.strip()][-number:]
