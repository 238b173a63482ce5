"""What the tests of captioning share: a tiny encoder, small data, and a small model."""

from functools import partial
from pathlib import Path

import numpy as np
import torch
from datasets import Dataset, DatasetDict, Features, Image, Value
from torch import nn

from core.attention import AttentionFactory, ScaledDotProductAttention
from tasks.captioning import toy
from tasks.captioning.encoders import HALVES, GridEncoder
from tasks.captioning.examples import Example
from tasks.captioning.model import Captioning
from tasks.captioning.sets import CAPTIONS, ToyCaptions

SIZES = {"train": 24, "validation": 6, "test": 6}
NUMBERS = {"size": 16, "cells": 4, "tokens_per_batch": 200, "max_length": 24, "seed": 1}
SMALL = "task=captioning data=toy trainer=smoke model.width=16 model.size=16 model.cells=4 model.max_length=24".split()
SMALL += "data.tokens_per_batch=200 trainer.precision=32-true trainer.eval_examples=4 trainer.map_examples=2".split()


def tiny_encoder(name: str = "tiny", seed: int = 0) -> GridEncoder:
    """Maps of 4 x 4 and 2 x 2 of a picture of 16 pixels."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        parts = [
            nn.Conv2d(few, many, 4, stride=4 if few == 3 else 2, padding=few // 3) for few, many in ((3, 5), (5, 7))
        ]
    parts[0].padding, parts[1].padding = (0, 0), (1, 1)
    return GridEncoder(name, [*parts], HALVES)


def small_toy(monkeypatch, *, encoder: str | None = None, **more) -> ToyCaptions:
    monkeypatch.setattr(toy, "SIZES", SIZES)
    data = ToyCaptions(**{"encoder": encoder, **NUMBERS, **more})
    data.load()
    for split, examples in data.splits.items():
        data.splits[split] = [with_two_captions(example) for example in examples]
    return data


def with_two_captions(example: Example) -> Example:
    """The caption, and its first words in another order."""
    return example._replace(captions=example.captions * 2, ids=(*example.ids, example.ids[0][4::-1]))


def small_model(data: ToyCaptions, attention: AttentionFactory | None = None, **more) -> Captioning:
    torch.manual_seed(0)
    numbers = {
        "encoder": data.asked,
        "decoder": "recurrent",
        "size": 16,
        "cells": 4,
        "width": 16,
        "gaze_heads": 2,
        "dropout": 0.0,
        "label_smoothing": 0.0,
        "unevenness": 0.0,
        "remembers": True,
        "layers": 2,
        "heads": 2,
        "hidden": 16,
        "max_length": 24,
        "learning_rate": 1e-2,
        "warmup_steps": 1,
        "weight_decay": 0.0,
    }
    return Captioning(attention=attention or partial(ScaledDotProductAttention), **data.supplies, **(numbers | more))


def flickr8k(folder: Path, *, names: bool, pictures: int = 4) -> Path:
    """A set in the layout of the hub's copy: an image column and five captions, without the names of files; or with."""
    features = Features({"image": Image(), **{caption: Value("string") for caption in CAPTIONS}})
    if names:
        features["filename"] = Value("string")
    splits = {}
    for number, split in enumerate(("train", "validation", "test")):
        rows = {"image": [picture(10 * number + n) for n in range(pictures)]}
        for place, caption in enumerate(CAPTIONS):
            rows[caption] = [f"{split} picture {n} , told the {place}th time ." for n in range(pictures)]
        if names:
            rows["filename"] = [f"{split}-{n}.jpg" for n in range(pictures)]
        splits[split] = Dataset.from_dict(rows, features=features)
    for split, rows in DatasetDict(splits).items():
        rows.to_parquet(folder / f"{split}.parquet")
    return folder


def picture(seed: int):
    from PIL import Image as Pictures

    return Pictures.fromarray(np.random.default_rng(seed).integers(0, 255, (20, 30, 3), dtype=np.uint8))
