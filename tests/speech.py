"""What the tests of speech share: small data, a small model, and sounds as files."""

import io
from functools import partial
from pathlib import Path

import numpy as np
import soundfile
import torch
from datasets import Audio, Features, Value
from pyarrow import Table
from pyarrow.parquet import write_table

from core.attention import AttentionFactory, LocationAttention
from tasks.speech import toy
from tasks.speech.model import Speech
from tasks.speech.sets import ToySpeech

SIZES = {"train": 24, "validation": 6, "test": 6}
NUMBERS = {"mels": 20, "max_length": 40, "max_seconds": 10.0, "tokens_per_batch": 200, "seed": 1}
SMALL = (
    "task=speech data=toy trainer=smoke model.width=16 model.channels=4 model.mels=20 data.tokens_per_batch=200".split()
)
SMALL += "trainer.train_batches=3 trainer.precision=32-true trainer.eval_examples=4 trainer.map_examples=2".split()


def small_toy(monkeypatch, **more) -> ToySpeech:
    monkeypatch.setattr(toy, "SIZES", SIZES)
    data = ToySpeech(**(NUMBERS | more))
    data.load()
    return data


def small_model(vocabulary: int, attention: AttentionFactory | None = None, **more) -> Speech:
    torch.manual_seed(0)
    numbers = {
        "mels": 20,
        "encoder": "recurrent",
        "channels": 4,
        "width": 16,
        "layers": 1,
        "heads": 2,
        "hidden": 16,
        "gaze_heads": 2,
        "dropout": 0.0,
        "character_dropout": 0.0,
        "label_smoothing": 0.0,
        "ctc": 0.3,
        "max_length": 40,
        "max_seconds": 10.0,
        "learning_rate": 1e-2,
        "warmup_steps": 1,
        "weight_decay": 0.0,
    }
    attention = attention or partial(LocationAttention, filters=3, reach=2)
    return Speech(attention=attention, vocabulary=vocabulary, **(numbers | more))


def tone(seconds: float = 0.4, rate: int = 8000, hertz: float = 440.0) -> np.ndarray:
    return (0.4 * np.sin(2 * np.pi * hertz * np.arange(round(seconds * rate)) / rate)).astype(np.float32)


def encoded(samples: np.ndarray, rate: int = 8000, **how) -> bytes:
    file = io.BytesIO()
    soundfile.write(file, samples, rate, **({"format": "FLAC"} | how))
    return file.getvalue()


def save(path: Path, samples: np.ndarray, rate: int = 8000, **how) -> str:
    path.write_bytes(encoded(samples, rate, **({"format": "WAV"} | how)))
    return str(path)


def digits(folder: Path, *, speakers: bool, many: int = 40) -> Path:
    """Digits in the layout of the hub's copy, an Audio column and a label; or of a copy that names its speakers."""
    folder.mkdir(exist_ok=True)
    for split, rows in (("train", many), ("test", 20)):
        audio = [
            {"bytes": encoded(tone(0.2 + 0.01 * (n % 5), hertz=200 + 100 * (n % 10))), "path": f"{n}.flac"}
            for n in range(rows)
        ]
        columns = {"audio": audio, "label": [n % 10 for n in range(rows)]}
        features = {"audio": Audio(), "label": Value("int64")}
        if speakers:
            columns["speaker"] = ["ann" if n // 10 % 2 else "bob" for n in range(rows)]
            features["speaker"] = Value("string")
        parquet(folder / f"{split}.parquet", columns, Features(features), as_audio=not speakers)
    return folder


def parquet(path: Path, columns: dict[str, list], features: Features, *, as_audio: bool) -> None:
    """As the hub has it, whose reader would decode the sounds; or as plain bytes. Nothing is encoded on the way."""
    schema = features.arrow_schema
    table = Table.from_pydict(columns, schema=schema if as_audio else schema.remove_metadata())
    write_table(table, path)
