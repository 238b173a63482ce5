"""Pictures with captions to batches, and generated ids back to sentences, whatever set they are from (`sets.py`)."""

import json
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, cast

import numpy as np
from jaxtyping import Float
from rich.progress import track

from core.data import DemoData, Looks, MapScores
from core.decode import Decoded
from core.demo import Alternative, Prediction
from core.maps import AttentionMap, Picture
from core.metrics import Score
from core.public import DataError
from core.run import write_json
from tasks.captioning import cells, encoders, grounding
from tasks.captioning.examples import Batch, Captioned, Example, batched
from tasks.captioning.features import Features, default_folder
from tasks.captioning.grounding import Grounded
from tasks.captioning.pictures import Photo, squared
from tasks.captioning.report import made_by, read_of
from tasks.captioning.scores import caption_scores, left_out
from tasks.captioning.words import Words, caption_words

END_LABEL = "⟨end⟩"
SHORTEST = 12
"""Tokens that a row of a batch counts at least: each has a grid of its own to look at."""
CHOOSING = 1000
"""How many captions of validation a reading of the gaze is chosen on, at most."""
ALARM_CAPTIONS = 100
"""How many captions with boxes tell whether the gaze points anywhere, in the middle of a training."""


class CaptioningData(DemoData):
    """Pictures through one encoder, captions through one vocabulary of words."""

    score_name = "BLEU-4"

    def __init__(
        self,
        *,
        encoder: str | None,
        size: int,
        cells: int,
        tokens_per_batch: int,
        max_length: int,
        min_count: int = 1,
        mirror: bool = False,
        features: str | None = None,
        seed: int = 0,
    ) -> None:
        super().__init__(tokens_per_batch=tokens_per_batch, seed=seed)
        if max_length < 2 or min_count < 1:
            raise ValueError(f"max_length is at least 2, and min_count 1; got {max_length} and {min_count}")
        self.asked, self.size_of_picture, self.cells = encoder, size, cells
        self.max_length, self.min_count, self.mirror = max_length, min_count, mirror
        self.features_folder = Path(features).expanduser() if features else default_folder()
        self._tokenizer: Words | None = None
        self._kept: encoders.Kept | None = None

    @abstractmethod
    def captioned(self) -> dict[str, list[Captioned]]:
        """The pictures of train, validation and test, with their captions."""

    @property
    def tokenizer(self) -> Words:
        """The vocabulary: learned by `load` from the training captions, unless `restore` read it from a run before."""
        assert self._tokenizer is not None, "load() or restore() comes first"
        return self._tokenizer

    @property
    def vocabulary(self) -> int:
        return self.tokenizer.size

    @property
    def kept(self) -> encoders.Kept | None:
        """The encoder that made the features; None where the model has one of its own."""
        if self.asked and self._kept is None:
            self._kept = self.features.kept
        return self._kept

    @property
    def supplies(self) -> dict[str, Any]:
        return super().supplies | {"shapes": self.kept.shapes if self.kept else []}

    @property
    def grid(self) -> tuple[int, int]:
        """Rows and columns of what is looked at."""
        _, rows, columns = self.kept.shapes[0] if self.kept else (0, self.cells, self.cells)
        return rows, columns

    @cached_property
    def features(self) -> Features:
        """Of the encoder that the run was trained with, or of the one that was asked for, if it can be had."""
        assert self.asked is not None
        kept = self._kept
        found = Features(
            encoders.encoder(kept.name) if kept else encoders.encoder_or_packaged(self.asked),
            self.features_folder,
            size=self.size_of_picture,
        )
        if kept and found.kept.digest != kept.digest:
            raise DataError(
                f"this run was trained with other weights of {kept.name} (hash {kept.digest}) than those here "
                f"({found.kept.digest}): install those that it was trained with"
            )
        return found

    def load(self) -> None:
        captioned = {split: self.usable(split, found) for split, found in self.captioned().items()}
        for split, found in captioned.items():
            if not found:
                raise DataError(f"the {split} split has no picture with a caption in words")
        if self._tokenizer is None:
            lines = [caption_words(line) for each in captioned["train"] for line in each.captions]
            self._tokenizer = Words.learn(lines, min_count=self.min_count)
        self.splits = {split: self.examples(split, found) for split, found in captioned.items()}
        said = [id for each in self.splits["validation"] for ids in each.ids for id in ids]
        self.counts.update({"validation.words": len(said), "validation.unknown_words": said.count(Words.UNKNOWN)})

    def usable(self, split: str, found: Sequence[Captioned]) -> list[Captioned]:
        """The pictures that have a caption with a word in it, with these captions; the others are counted."""
        kept = [Captioned(photo, [line for line in lines if caption_words(line)]) for photo, lines in found]
        for each, less in zip(found, kept, strict=True):
            self.counts[f"{split}.captions"] += len(less.captions)
            blank = sum(not line.strip() for line in each.captions)
            self.counts[f"{split}.blank_captions"] += blank
            self.counts[f"{split}.captions_without_words"] += len(each.captions) - len(less.captions) - blank
        kept = [each for each in kept if each.captions]
        self.counts[f"{split}.pictures"] = len(kept)
        self.counts[f"{split}.pictures_without_caption"] = len(found) - len(kept)
        return kept

    def examples(self, split: str, found: Sequence[Captioned]) -> list[Example]:
        photos = [each.photo for each in found]
        inputs, mirrored = self.inputs(photos), [None] * len(photos)
        if self.mirror and split == "train":
            mirrored = self.inputs(photos, mirrored=True)
        examples = []
        for each, input, mirror in zip(found, inputs, mirrored, strict=True):
            captions = tuple(" ".join(caption_words(line)) for line in each.captions)
            sides = any({"left", "right"} & set(caption.split()) for caption in captions)
            ids = tuple(self.ids(caption) for caption in captions)
            examples.append(Example(each.photo, input, captions, ids, None if sides else mirror))
        return examples

    def inputs(self, photos: Sequence[Photo], *, mirrored: bool = False) -> list[np.ndarray]:
        if self.asked:
            return [*self.features.of(photos, mirrored=mirrored)]
        squares = [
            squared(photo.pixels(), self.size_of_picture).numpy()
            for photo in track(photos, "reading pictures", disable=len(photos) < 1000)
        ]
        return [np.ascontiguousarray(square[..., ::-1]) if mirrored else square for square in squares]

    def ids(self, caption: str) -> tuple[int, ...]:
        ids = self.tokenizer.encode(caption)
        self.counts["cut_to_max_length"] += len(ids) >= self.max_length
        return tuple(ids[: self.max_length - 1])

    def read(self, inputs: Sequence[str]) -> list[Example]:
        """Pictures by the paths of their files."""
        return [self.example(Photo.of_file(line) if line.strip() else None) for line in inputs]

    def example(self, photo: Photo | None) -> Example:
        """A picture without captions, as it is read in training; nothing is kept of its features on disk."""
        if photo is None:
            return Example(Photo("", bytes), None)
        square = squared(photo.pixels(), self.size_of_picture)
        return Example(photo, self.features.computed([square])[0] if self.asked else square.numpy())

    def size(self, example: Example) -> int:
        longest = max((len(ids) + 1 for ids in example.ids), default=0)
        return 0 if example.input is None else max(1, len(example.ids)) * max(longest, SHORTEST)

    def collate(self, examples: Sequence[Example]) -> Batch:
        rows, columns = self.grid
        return batched(examples, self.kept.shapes if self.kept else None, rows * columns)

    def predictions(self, examples: Sequence[Example], generated: Sequence[Decoded | None]) -> list[Prediction]:
        return [self.prediction(example, decoded) for example, decoded in zip(examples, generated, strict=True)]

    def prediction(self, example: Example, decoded: Decoded | None) -> Prediction:
        if decoded is None:
            return Prediction(example.photo.name, "", None, ("nothing to describe: no picture was named",))
        found = (decoded, *decoded.others)
        best, *others = [Alternative(self.tokenizer.decode(e.tokens), mean(e.log_probabilities)) for e in found]
        cut = f"the caption was stopped at {len(decoded.tokens)} words, before its end"
        return Prediction(example.photo.name, *best, (cut,) if decoded.cut else (), tuple(others))

    def scores(self, examples: Sequence[Example], predictions: Sequence[Prediction]) -> dict[str, Score]:
        return caption_scores([each.output for each in predictions], [each.captions for each in examples])

    def forced(self, examples: Sequence[Example], generated: Sequence[Decoded | None]) -> list[Example]:
        return [
            example._replace(ids=(tuple(decoded.tokens if decoded else ()),))
            for example, decoded in zip(examples, generated, strict=True)
        ]

    def maps(self, example: Example, weights: dict[str, Float[np.ndarray, "... Q K"]]) -> list[AttentionMap]:
        """A map a module over the cells of the picture: rows are the steps that predict each word of the first caption,
        the last one its end."""
        ids = example.ids[0]
        said, target = self.tokenizer.spell(ids)
        texts = {"source": example.photo.name, "prediction": said, "reference": " / ".join(example.captions)}
        shown = Picture(example.photo.shown(), self.grid)
        return [
            AttentionMap(
                weights=array[..., : len(ids) + 1, :],
                queries=[*target.labels, END_LABEL],
                keys=cells.labels(self.grid),
                name=name,
                text={kind: text for kind, text in texts.items() if text},
                origin={"task": "captioning", "rows": "words", "columns": "cells of the picture"},
                shown=shown,
            )
            for name, array in weights.items()
        ]

    def keys_of(self, example: Example, word: str) -> list[int]:
        """The cells that "r3c4" (row and column, from 1 at the top left) or "x0,y0,x1,y1" (a box in shares) names."""
        return cells.keys_of(word, self.grid)

    def without(self, example: Example, keys: Sequence[int]) -> Example:
        """The mean of all cells in the place of these."""
        return example._replace(blank=tuple(sorted({*example.blank, *keys})))

    @property
    def keys_at_once(self) -> int:
        """A tenth of the picture: a single cell is a part of a thing, and its neighbours show the same."""
        return max(1, self.grid[0] * self.grid[1] // 10)

    def sample(self, example: Example, folder: Path) -> list[str]:
        data = example.photo.read()
        path = folder / ("sample.jpg" if data.startswith(b"\xff\xd8") else "sample.png")
        path.write_bytes(data)
        return [str(path)]

    def grounded(self, split: str) -> list[Grounded]:
        """Captions whose phrases have boxes, of the pictures of a split."""
        return []

    def map_scores(self, looks: Looks, validation: Sequence[Example], test: Sequence[Example]) -> MapScores:
        within = {example.photo.name for example in (*validation, *test)}
        choosing, scoring = (
            [each for each in self.grounded(split) if each.photo in within] for split in ("validation", "test")
        )
        choosing = choosing[:: -(-len(choosing) // CHOOSING) or 1]
        return grounding.scores(self.looked(looks.maps, choosing), self.looked(looks.maps, scoring), self.grid)

    def not_aligning(self, maps: Callable[[Sequence[Example]], Iterator[list[AttentionMap]]]) -> str | None:
        return grounding.not_pointing(self.looked(maps, self.grounded("validation")[:ALARM_CAPTIONS]), self.grid)

    def looked(
        self, maps: Callable[[Sequence[Example]], Iterator[list[AttentionMap]]], captions: Sequence[Grounded]
    ) -> list[grounding.Looked]:
        """Where the gaze was at each phrase, while the caption that the boxes belong to was forced."""
        by_name = {example.photo.name: example for split in ("validation", "test") for example in self.splits[split]}
        forced = [by_name[each.photo]._replace(ids=(self.ids(" ".join(each.words)),)) for each in captions]
        return [grounding.looked(each, found) for each, found in zip(captions, maps(forced), strict=True) if found]

    def report(self) -> list[str]:
        lines = [read_of(split, self.counts) for split in self.splits]
        share = self.counts["validation.unknown_words"] / max(1, self.counts["validation.words"])
        lines.append(
            f"{self.counts['cut_to_max_length']:,} captions cut to {self.max_length - 1} words; vocabulary "
            f"{self.vocabulary:,} words, {share:.2%} of validation unknown to it"
        )
        rows, columns = self.grid
        made = made_by(self.asked, self.kept, self.features.folder) if self.asked else "pictures as they are"
        return [*lines, f"{made}, {rows} x {columns} cells", *left_out()]

    def save(self, folder: Path) -> None:
        self.tokenizer.save(folder / "tokenizer.model")
        kept = self.kept._asdict() if self.kept else None
        write_json({"asked": self.asked, "used": kept}, folder / "encoder.json")

    def restore(self, folder: Path) -> None:
        self._tokenizer = cast(Words, Words.load(folder / "tokenizer.model"))
        path = folder / "encoder.json"
        try:
            used = json.loads(path.read_text(encoding="utf-8"))["used"]
            self._kept = encoders.Kept(**used) if used else None
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ValueError(f"{path} is missing or damaged: {error}") from error

    def fingerprint(self) -> dict[str, str]:
        encoder = f"{self.kept.name} {self.kept.digest}" if self.kept else "trained with the decoder"
        return {"vocabulary": self.tokenizer.digest, "encoder": encoder}


def mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
