"""A text in windows: random ones to train on, and all of it, each token once, to score."""

import random
from collections.abc import Sequence
from pathlib import Path

import torch
from torch.utils.data import DataLoader

from core.public import DataError
from tasks.generation.characters import LinePieces, plain
from tasks.generation.data import PROBES, GenerationData
from tasks.generation.examples import Example, Link, RandomWindows, Windows, windows
from tasks.generation.own import read_text

SEGMENT = 32
"""Random tokens of a probe, which then come again."""
LEAST = 1000
"""Characters that a text must have."""


class TextData(GenerationData):
    """One text: its beginning is trained on, then comes the part for validation, then that for the test.

    An epoch is `steps` batches of windows drawn at random.
    """

    def __init__(
        self,
        *,
        path: str,
        context: int,
        tokens_per_batch: int,
        steps: int,
        validation: float,
        test: float,
        stride: int | None = None,
        pieces: int = 0,
        length: int = 300,
        seed: int = 0,
    ) -> None:
        super().__init__(context=context, tokens_per_batch=tokens_per_batch, pieces=pieces, length=length, seed=seed)
        if min(validation, test) <= 0 or validation + test >= 0.9:
            raise ValueError(
                f"validation and test are shares of the text above 0, together below 0.9; got {validation} and {test}"
            )
        if stride is not None and not 1 <= stride <= context:
            raise ValueError(f"stride is from 1 to context={context}, or null for windows side by side; got {stride}")
        if steps < 1 or tokens_per_batch < context:
            raise ValueError(
                f"an epoch has a step or more, and a batch holds a window of context={context}; got steps={steps} and "
                f"tokens_per_batch={tokens_per_batch}"
            )
        self.path, self.steps, self.stride = path, steps, stride or context
        self.shares = {"validation": validation, "test": test}

    def load(self) -> None:
        found, files = read_text(self.path)
        text = plain(found)
        if len(text) < LEAST:
            raise DataError(f"data.path={self.path} has {len(text):,} characters; a model needs {LEAST:,} at least")
        parts = self.parts(text)
        self.learn(parts["train"])
        self.counts["files"] = files
        for split, part in parts.items():
            ids = self.tokenizer.encode(part)
            self.counts.update({f"{split}.characters": len(part), f"{split}.tokens": len(ids)})
            self.counts[f"{split}.unknown"] = ids.count(LinePieces.UNKNOWN)
            if split == "train":
                self.text = torch.tensor(ids)
            self.splits[split] = list(windows(ids, self.context, self.stride))
        if len(self.text) <= self.context + 1:
            raise DataError(
                f"the training part has {len(self.text):,} tokens, and a window {self.context}: make it shorter, "
                f"model.context={max(2, len(self.text) // 8)}"
            )

    def parts(self, text: str) -> dict[str, str]:
        """The three parts, one after the other."""
        test = len(text) - round(self.shares["test"] * len(text))
        validation = test - round(self.shares["validation"] * len(text))
        return {"train": text[:validation], "validation": text[validation:test], "test": text[test:]}

    def train_dataloader(self) -> DataLoader:
        rows = self.tokens_per_batch // self.context
        sampler = RandomWindows(len(self.text), context=self.context, rows=rows, steps=self.steps, seed=self.seed)
        sampler.set_epoch(self.first_epoch)  # Lightning asks for the first batches before it sets the epoch
        return DataLoader(Windows(self.text, self.context), sampler=sampler, batch_size=None)

    def probes(self, split: str) -> list[Example]:
        """Random tokens of the text, and the same ones again (Olsson et al. 2022): no text would be so."""
        chance = random.Random(f"{self.seed} {split}")
        segment = min(SEGMENT, self.context // 2)
        known = sorted(set(self.text.tolist()) - {LinePieces.UNKNOWN})
        found = []
        for _ in range(PROBES):
            ids = tuple(chance.choices(known, k=segment)) * 2
            links = tuple(Link(place, (place - segment + 1,), "copying") for place in range(segment, 2 * segment - 1))
            found.append(Example(ids, links=links))
        return found

    def context_told(self) -> str:
        if self.stride == self.context:
            return (
                f"windows of {self.context} tokens side by side, so each token has half as many before it in the mean"
            )
        return f"windows of {self.context} tokens, each token with {self.context - self.stride} before it or more"

    def report(self) -> list[str]:
        counts, unit = self.counts, "pieces" if self.pieces else "characters"
        files = f"{counts['files']} files" if counts["files"] > 1 else "one file"
        lines = [
            f"{split}: {counts[f'{split}.characters']:,} characters"
            + (f", {counts[f'{split}.tokens']:,} pieces" if self.pieces else "")
            + (f", {unknown:,} of them unknown" if (unknown := counts[f"{split}.unknown"]) else "")
            for split in self.splits
        ]
        tokens = self.steps * (self.tokens_per_batch // self.context) * self.context
        return [
            f"one text of {files}, in the order of its lines: train, then validation, then test",
            *lines,
            f"vocabulary {self.vocabulary:,} {unit}; an epoch is {self.steps:,} steps, {tokens:,} tokens in windows of "
            f"{self.context}",
        ]

    def sample(self, example: Example, folder: Path) -> list[str]:
        """The first line of a window that has something in it."""
        lines: Sequence[str] = [line for line in self.text_of(example).split("\n") if line.strip()]
        return [lines[0] if lines else "The "]
