"""Sentence pairs to batches, and generated ids back to sentences: the public sets and the built-in one."""

import zlib
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from numpy import ndarray
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from core.data import DemoData, MapScores
from core.decode import Decoded
from core.demo import Prediction
from core.maps import AttentionMap
from core.masks import padding
from core.metrics import Score, translation_scores
from core.public import DataError, load_public
from core.text import Tokenizer, clean, word_of_piece
from tasks.translation import alignment, toy

END_LABEL = "⟨end⟩"


class Example(NamedTuple):
    """A sentence pair. The source ids close with the end mark; the target ids carry no mark."""

    source: str
    target: str
    source_ids: list[int]
    target_ids: list[int]
    links: tuple[tuple[int, int], ...] = ()
    pieces: int = 0
    """How many pieces the source had before it was cut to the longest length."""


class Batch(NamedTuple):
    """Padded ids. Targets stand between a start and an end mark."""

    source: Int[Tensor, "B S"]
    source_mask: Bool[Tensor, "B 1 S"]
    target: Int[Tensor, "B T"]


class TranslationData(DemoData):
    """Pairs of sentences through one vocabulary of pieces that both languages share."""

    score_name = "bleu"

    def __init__(
        self,
        *,
        source: str,
        target: str,
        pieces: int,
        tokens_per_batch: int,
        max_length: int,
        sample: float = 0.0,
        seed: int = 0,
    ) -> None:
        super().__init__(tokens_per_batch=tokens_per_batch, seed=seed)
        if max_length < 2:
            raise ValueError(f"max_length must leave room for a piece and the end mark: at least 2; got {max_length}")
        if not 0.0 <= sample <= 1.0:
            raise ValueError(f"sample is the share of merges left out, from 0 to 1; got {sample}")
        self.source, self.target = source, target
        self.pieces, self.max_length, self.sample = pieces, max_length, sample
        self._tokenizer: Tokenizer | None = None

    @abstractmethod
    def pairs(self) -> dict[str, list[toy.Pair]]:
        """The sentence pairs of train, validation and test."""

    @property
    def tokenizer(self) -> Tokenizer:
        """The vocabulary: learned by `load` from the training pairs, unless `restore` read it from a run before."""
        assert self._tokenizer is not None, "load() or restore() comes first"
        return self._tokenizer

    @property
    def vocabulary(self) -> int:
        return self.tokenizer.size

    def load(self) -> None:
        pairs = {split: self.usable(split, found) for split, found in self.pairs().items()}
        if self._tokenizer is None:
            lines = [sentence for pair in pairs["train"] for sentence in (pair.source, pair.target)]
            self._tokenizer = Tokenizer.train(lines, size=self.pieces)
        self.splits = {split: [self.example(*pair) for pair in found] for split, found in pairs.items()}
        for split, examples in self.splits.items():
            self.counts[f"{split}.pairs"] = len(examples)
            if not examples:
                raise DataError(f"the {split} split has no pair with text on both sides")

    def usable(self, split: str, pairs: Sequence[toy.Pair]) -> list[toy.Pair]:
        """The pairs with text on both sides; the others are counted."""
        found = [pair._replace(source=clean(pair.source), target=clean(pair.target)) for pair in pairs]
        kept = [pair for pair in found if pair.source and pair.target]
        self.counts[f"{split}.dropped_empty"] = len(found) - len(kept)
        return kept

    def example(self, source: str, target: str, links: tuple[tuple[int, int], ...] = ()) -> Example:
        source_ids, target_ids = self.tokenizer.encode(source), self.tokenizer.encode(target)
        longest = self.max_length - 1
        self.counts["cut_to_max_length"] += len(source_ids) > longest or len(target_ids) > longest
        kept = [*source_ids[:longest], Tokenizer.END] if source_ids else []
        return Example(source, target, kept, target_ids[:longest], links, len(source_ids))

    def read(self, inputs: Sequence[str]) -> list[Example]:
        return [self.example(clean(line), "") for line in inputs]

    def size(self, example: Example) -> int:
        return max(len(example.source_ids), len(example.target_ids) + 1) if example.source_ids else 0

    def collate(self, examples: Sequence[Example]) -> Batch:
        sources = [torch.tensor(example.source_ids) for example in examples]
        targets = [torch.tensor([Tokenizer.START, *example.target_ids, Tokenizer.END]) for example in examples]
        lengths = torch.tensor([len(source) for source in sources])
        return Batch(
            source=pad_sequence(sources, batch_first=True, padding_value=Tokenizer.PAD),
            source_mask=padding(lengths, int(lengths.max())),
            target=pad_sequence(targets, batch_first=True, padding_value=Tokenizer.PAD),
        )

    def collate_train(self, examples: Sequence[Example]) -> Batch:
        return self.collate([self.varied(example) for example in examples] if self.sample else examples)

    def varied(self, example: Example) -> Example:
        """The source in other pieces than last time (Provilkov et al. 2020): the same words, seen from all sides."""
        assert self.trainer is not None, "examples vary from epoch to epoch, so only while training"
        seed = zlib.crc32(f"{self.seed} {self.trainer.current_epoch} {example.source}".encode())
        ids = self.tokenizer.encode(example.source, sample=self.sample, seed=seed)
        return example._replace(source_ids=[*ids[: self.max_length - 1], Tokenizer.END])

    def predictions(self, examples: Sequence[Example], generated: Sequence[Decoded | None]) -> list[Prediction]:
        return [self.prediction(example, decoded) for example, decoded in zip(examples, generated, strict=True)]

    def prediction(self, example: Example, decoded: Decoded | None) -> Prediction:
        if decoded is None:
            return Prediction(example.source, "", None, ("nothing to translate: the input is empty",))
        scores = decoded.log_probabilities
        mean = sum(scores) / len(scores) if scores else None
        return Prediction(example.source, self.tokenizer.decode(decoded.tokens), mean, self.notices(example, decoded))

    def notices(self, example: Example, decoded: Decoded | None = None) -> tuple[str, ...]:
        """What a reader should know of an input, and of the output where there is one."""
        notices = []
        if unknown := self.tokenizer.pieces(example.source).unknown:
            notices.append(f"never seen in training: {' '.join(dict.fromkeys(unknown))}")
        if example.pieces >= self.max_length:
            notices.append(f"the input has {example.pieces} pieces; the first {self.max_length - 1} were kept")
        if decoded and decoded.cut:
            notices.append(f"the output was stopped at {len(decoded.tokens)} pieces, before its end")
        return tuple(notices)

    def scores(self, examples: Sequence[Example], predictions: Sequence[Prediction]) -> dict[str, Score]:
        hypotheses = [prediction.output for prediction in predictions]
        return translation_scores(hypotheses, [example.target for example in examples], language=self.target)

    def forced(self, examples: Sequence[Example], generated: Sequence[Decoded | None]) -> list[Example]:
        return [
            example._replace(target_ids=decoded.tokens if decoded else [])
            for example, decoded in zip(examples, generated, strict=True)
        ]

    def maps(self, example: Example, weights: dict[str, Float[ndarray, "H Q K"]]) -> list[AttentionMap]:
        """A map a module: rows are the steps that predict each target piece, the last one its end."""
        source = self.tokenizer.pieces(example.source)
        said, target = self.tokenizer.spell(example.target_ids)
        keys = [*source.labels[: len(example.source_ids) - 1], END_LABEL]
        more = {"reference": example.target, "notice": "; ".join(self.notices(example))}
        texts = {"source": example.source, "prediction": said} | {kind: text for kind, text in more.items() if text}
        return [
            AttentionMap(
                weights=array if array.ndim == 3 else array[None],
                queries=[*target.labels, END_LABEL],
                keys=keys,
                name=name,
                special=[False] * (len(keys) - 1) + [True],
                text=texts,
                origin={"task": "translation", "rows": self.target, "columns": self.source},
            )
            for name, array in weights.items()
        ]

    def save(self, folder: Path) -> None:
        self.tokenizer.save(folder / "tokenizer.model")

    def restore(self, folder: Path) -> None:
        self._tokenizer = Tokenizer.load(folder / "tokenizer.model")

    def fingerprint(self) -> dict[str, str]:
        return {"vocabulary": self.tokenizer.digest}


class PublicTranslation(TranslationData):
    """A set with a column a language and the splits train, validation and test, such as Multi30k: from the hub or a
    local folder of the same layout."""

    def __init__(
        self,
        *,
        path: str,
        source: str,
        target: str,
        pieces: int,
        tokens_per_batch: int,
        max_length: int,
        sample: float = 0.0,
        seed: int = 0,
    ) -> None:
        super().__init__(
            source=source,
            target=target,
            pieces=pieces,
            tokens_per_batch=tokens_per_batch,
            max_length=max_length,
            sample=sample,
            seed=seed,
        )
        self.path = path

    def pairs(self) -> dict[str, list[toy.Pair]]:
        splits = ("train", "validation", "test")
        loaded = load_public(self.path, columns=(self.source, self.target), splits=splits)
        for column in (self.source, self.target):
            kind = loaded["train"].features[column]
            if getattr(kind, "dtype", None) not in ("string", "large_string"):
                raise DataError(f"data.path={self.path}: the column {column} holds {kind}, wanted text")
        return {
            split: [
                toy.Pair(source or "", target or "", ())
                for source, target in zip(loaded[split][self.source], loaded[split][self.target], strict=True)
            ]
            for split in splits
        }


class ToyTranslation(TranslationData):
    """The built-in German and English sentences, whose true alignment is known: so the maps can be right or wrong."""

    def __init__(self, *, pieces: int, tokens_per_batch: int, max_length: int, seed: int = 0) -> None:
        super().__init__(
            source="de",
            target="en",
            pieces=pieces,
            tokens_per_batch=tokens_per_batch,
            max_length=max_length,
            seed=seed,
        )

    def pairs(self) -> dict[str, list[toy.Pair]]:
        return toy.pairs(seed=self.seed)

    def map_scores(
        self,
        maps: Callable[[Sequence[Example]], Iterator[list[AttentionMap]]],
        validation: Sequence[Example],
        test: Sequence[Example],
    ) -> MapScores:
        """Link accuracy of the gaze on the test split, by the head and step that were best on validation."""
        return alignment.scores(
            *(
                [self.aligned(example, each) for example, each in zip(examples, maps(examples), strict=True)]
                for examples in (validation, test)
            )
        )

    def aligned(self, example: Example, maps: list[AttentionMap]) -> alignment.Aligned:
        """The maps with the number of the word that each piece is a part of; what was cut has no links either."""
        spans = self.tokenizer.pieces(example.source).spans[: len(example.source_ids) - 1]
        sources = word_of_piece(spans, toy.words(example.source))
        targets = word_of_piece(self.tokenizer.spell(example.target_ids)[1].spans, toy.words(example.target))
        return alignment.Aligned(
            maps,
            source_words=[*sources, -1],
            target_words=[*targets, -1],
            links=tuple(link for link in example.links if link[0] in sources and link[1] in targets),
        )
