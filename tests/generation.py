"""What the tests of generation share: a small toy set, a small text, and a small model."""

from functools import partial
from pathlib import Path

import torch

from core.attention import AttentionFactory, ScaledDotProductAttention
from tasks.generation import toy
from tasks.generation.model import LanguageModel
from tasks.generation.sets import OwnText, ToyText

SIZES = {"train": 40, "validation": 8, "test": 8}
SMALL = "task=generation data=toy trainer=smoke model.width=16 model.heads=2 model.hidden=16".split()
SMALL += "data.tokens_per_batch=520 trainer.precision=32-true trainer.eval_examples=4 trainer.map_examples=2".split()
LINES = [f"Line {number}: the cat sat on mat {number * 7 % 11}, and said \u201cno\u201d.\n" for number in range(60)]


def small_toy(monkeypatch) -> ToyText:
    monkeypatch.setattr(toy, "SIZES", SIZES)
    data = ToyText(context=64, tokens_per_batch=520, length=5)
    data.load()
    return data


def small_text(folder: Path, text: str = "".join(LINES), **more) -> OwnText:
    path = folder / "text.txt"
    path.write_text(text, encoding="utf-8")
    numbers = {"context": 16, "tokens_per_batch": 64, "steps": 3, "validation": 0.1, "test": 0.1, "length": 5}
    return OwnText(**({"path": str(path)} | numbers | more))


def small_model(vocabulary: int, attention: AttentionFactory | None = None, **more) -> LanguageModel:
    """With output projections that are not zero, so that its layers say something at once."""
    torch.manual_seed(0)
    numbers = {
        "context": 16,
        "width": 16,
        "heads": 2,
        "layers": 2,
        "hidden": 16,
        "neighbours": 0,
        "positions": "rotary",
        "activation": "gelu",
        "tied": False,
        "dropout": 0.0,
        "learning_rate": 1e-2,
        "matrix_rate": None,
        "warmup_steps": 1,
        "weight_decay": 0.0,
    }
    model = LanguageModel(
        attention=attention or partial(ScaledDotProductAttention), vocabulary=vocabulary, **(numbers | more)
    )
    for weight in model.parameters():
        if not weight.any():
            torch.nn.init.normal_(weight, std=0.3)
    return model
