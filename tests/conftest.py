"""What several test files share: a toy set of a few sentences, one finished run, and what another process makes of it.

Nothing of `core` or `tasks` is imported at the top: the shape checks of the test run are switched on after this file.
"""

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SIZES = {"train": 60, "validation": 12, "test": 12}
SMALL = "data=toy trainer=smoke model.width=16 model.heads=2 model.hidden=16 model.max_length=32".split()
SMALL += "data.tokens_per_batch=100 trainer.max_epochs=3 trainer.precision=32-true".split()
SENTENCES = ["Der Hund schläft.", "", "Die Frau liest ein Buch, weil sie müde ist.", "ein ein ein"]
LENGTHS = [1 + number * 7919 % 23 for number in range(300)]

ELSEWHERE = """
import json, sys
from core.data import TokenBatches
from core.run import load
run, lengths, sentences = json.loads(sys.argv[1])
batches = TokenBatches(lengths, tokens=97, seed=5)
batches.set_epoch(3)
print(json.dumps({"batches": batches.batches, "predictions": load(run).predict(sentences)}))
"""


@pytest.fixture(scope="session")
def toy_pairs():
    from tasks.translation import toy

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(toy, "SIZES", SIZES)
        return toy.pairs(seed=1)


@pytest.fixture
def small_toy(toy_pairs, monkeypatch):
    """`data=toy` is these few sentences."""
    monkeypatch.setattr("tasks.translation.toy.pairs", lambda *, seed=0: toy_pairs)
    return toy_pairs


@pytest.fixture(scope="session")
def finished(toy_pairs, tmp_path_factory) -> Path:
    """The folder of a finished run. Do not change it: copy it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tasks.translation.toy.pairs", lambda *, seed=0: toy_pairs)
        return trained(tmp_path_factory.mktemp("runs"))


def trained(output: Path, *more: str) -> Path:
    """A small run from the configuration to its folder, as train.py does it."""
    from rich.console import Console
    from train import train

    from compose import compose

    return train(compose([*SMALL, f"output={output}", *more]), Console(file=io.StringIO()))


@pytest.fixture(scope="session")
def elsewhere(finished) -> dict:
    """Batches and predictions of another process, whose sets of strings have another order."""
    task = json.dumps([str(finished), LENGTHS, SENTENCES])
    return json.loads(python("-c", ELSEWHERE, task, PYTHONHASHSEED="2").stdout)


def python(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """A process of its own, in the repository's root."""
    return subprocess.run(
        [sys.executable, *arguments],
        env=os.environ | {"OMP_NUM_THREADS": "1"} | environment,
        cwd=ROOT,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=300,
    )
