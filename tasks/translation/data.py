"""Sentence pairs to batches, and generated ids back to sentences, whatever set they are from (`sets.py`)."""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from numpy import ndarray
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from core.data import DemoData, Looks, MapScores
from core.decode import Decoded
from core.demo import Alternative, Prediction
from core.familiarity import Familiarity
from core.maps import AttentionMap
from core.masks import padding
from core.metrics import Score, translation_scores
from core.public import DataError
from core.text import Tokenizer, clean, word_of_piece, words
from tasks.translation import alignment
from tasks.translation.links import Linked

END_LABEL = "⟨end⟩"
ALARM_PAIRS = 50
"""How many linked pairs tell whether the gaze aligns at all, in the middle of a training."""


class Example(NamedTuple):
    """A sentence pair. The source ids close with the end mark; the target ids carry no mark."""

    source: str
    target: str
    source_ids: list[int]
    target_ids: list[int]
    pieces: int = 0
    """How many pieces the source had before it was cut to the longest length."""


class Pair(NamedTuple):
    """A sentence and its translation, as text."""

    source: str
    target: str


class Truth(NamedTuple):
    """Sentence pairs with true links: some to choose a reading of the gaze by, others to score it on."""

    choosing: Sequence[Linked]
    scoring: Sequence[Linked]
    chosen_on: str
    """What `choosing` is, in words."""


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
        seed: int = 0,
    ) -> None:
        super().__init__(tokens_per_batch=tokens_per_batch, seed=seed)
        if max_length < 2:
            raise ValueError(f"max_length must leave room for a piece and the end mark: at least 2; got {max_length}")
        self.source, self.target = source, target
        self.pieces, self.max_length = pieces, max_length
        self._tokenizer: Tokenizer | None = None
        self._familiarity: Familiarity | None = None

    @abstractmethod
    def pairs(self) -> dict[str, list[Pair]]:
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
        self.look_back()

    def look_back(self) -> None:
        """Counts what a reader should know of the data before the training."""
        train, held_out = ([example.source_ids for example in self.splits[split]] for split in ("train", "validation"))
        self._familiarity = Familiarity.learn(train, held_out, size=self.vocabulary)
        known = {(each.source, each.target) for each in self.splits["train"]}
        for split in ("validation", "test"):
            examples = self.splits[split]
            self.counts[f"{split}.also_in_train"] = sum((each.source, each.target) in known for each in examples)
        ids = [id for each in self.splits["validation"] for id in (*each.source_ids[:-1], *each.target_ids)]
        self.counts["validation.pieces"] = len(ids)
        self.counts["validation.unknown_pieces"] = ids.count(Tokenizer.UNKNOWN)

    def report(self) -> list[str]:
        """What was read, in plain words."""
        counts = self.counts
        lines = [
            f"{split}: {counts[f'{split}.pairs']:,} of {counts[f'{split}.read']:,} pairs, {self.source} → {self.target}"
            + self.told({"dropped_empty": "without text on one side", "also_in_train": "also in train"}, split)
            for split in self.splits
        ]
        cut = f"{counts['cut_to_max_length']:,} pairs cut to {self.max_length} pieces with the end mark"
        share = counts["validation.unknown_pieces"] / max(1, counts["validation.pieces"])
        return [*lines, f"{cut}; vocabulary {self.vocabulary:,} pieces, {share:.2%} of validation unknown to it"]

    def told(self, kinds: dict[str, str], split: str) -> str:
        return "".join(
            f"; {count:,} {words}" for kind, words in kinds.items() if (count := self.counts[f"{split}.{kind}"])
        )

    def usable(self, split: str, pairs: Sequence[tuple[str, str]]) -> list[Pair]:
        """The pairs with text on both sides; the others are counted."""
        found = [Pair(clean(source), clean(target)) for source, target in pairs]
        kept = [pair for pair in found if pair.source and pair.target]
        self.counts[f"{split}.read"], self.counts[f"{split}.dropped_empty"] = len(found), len(found) - len(kept)
        return kept

    def example(self, source: str, target: str) -> Example:
        source_ids, target_ids = self.tokenizer.encode(source), self.tokenizer.encode(target)
        longest = self.max_length - 1
        self.counts["cut_to_max_length"] += len(source_ids) > longest or len(target_ids) > longest
        kept = [*source_ids[:longest], Tokenizer.END] if source_ids else []
        return Example(source, target, kept, target_ids[:longest], len(source_ids))

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

    def predictions(self, examples: Sequence[Example], generated: Sequence[Decoded | None]) -> list[Prediction]:
        return [self.prediction(example, decoded) for example, decoded in zip(examples, generated, strict=True)]

    def prediction(self, example: Example, decoded: Decoded | None) -> Prediction:
        if decoded is None:
            return Prediction(example.source, "", None, ("nothing to translate: the input is empty",))
        best, *others = [
            Alternative(self.tokenizer.decode(each.tokens), mean(each.log_probabilities))
            for each in (decoded, *decoded.others)
        ]
        return Prediction(example.source, *best, self.notices(example, decoded), tuple(others))

    def notices(self, example: Example, decoded: Decoded | None = None) -> tuple[str, ...]:
        """What a reader should know of an input, and of the output where there is one."""
        notices = []
        if unknown := self.tokenizer.pieces(example.source).unknown:
            notices.append(f"never seen in training: {' '.join(dict.fromkeys(unknown))}")
        if self._familiarity and (notice := self._familiarity.notice(example.source_ids)):
            notices.append(notice)
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

    def keys_of(self, example: Example, word: str) -> list[int]:
        """The pieces of this source word; capitals count only where the word occurs as it is written."""
        told = [(example.source[start:end], (start, end)) for start, end in words(example.source)]
        same = [span for text, span in told if text == word] or [
            span for text, span in told if text.casefold() == word.casefold()
        ]
        if not same:
            raise ValueError(
                f"{word!r} is no word of {example.source!r}; its words are: {', '.join(t for t, _ in told)}"
            )
        spans = self.tokenizer.pieces(example.source).spans[: len(example.source_ids) - 1]
        return [key for key, owner in enumerate(word_of_piece(spans, same)) if owner >= 0]

    def without(self, example: Example, keys: Sequence[int]) -> Example:
        """Unknown pieces in the place of these source pieces."""
        ids = [Tokenizer.UNKNOWN if place in keys else id for place, id in enumerate(example.source_ids)]
        return example._replace(source_ids=ids)

    def truth(self, validation: int, test: int) -> Truth | None:
        """True links where the data know some; of at most so many pairs of each split."""
        return None

    def map_scores(self, looks: Looks, validation: Sequence[Example], test: Sequence[Example]) -> MapScores:
        truth = self.truth(len(validation), len(test))
        if truth is None:
            return MapScores({}, [])
        choosing, scoring = self.aligned(looks.maps, truth.choosing), self.aligned(looks.maps, truth.scoring)
        posterior = self.aligned(looks.posterior, truth.scoring)
        trained_on = [(example.source, example.target) for example in self.splits["train"]]
        return alignment.scores(choosing, scoring, posterior, trained_on, chosen_on=truth.chosen_on)

    def not_aligning(self, maps: Callable[[Sequence[Example]], Iterator[list[AttentionMap]]]) -> str | None:
        truth = self.truth(ALARM_PAIRS, 0)
        return alignment.not_aligning(self.aligned(maps, truth.choosing[:ALARM_PAIRS])) if truth else None

    def aligned(
        self, maps: Callable[[Sequence[Example]], Iterator[list[AttentionMap]]], linked: Sequence[Linked]
    ) -> list[alignment.Aligned]:
        """The maps of each linked pair, its target forced, and the places of their pieces in the text."""
        examples = [self.example(each.source, each.target) for each in linked]
        return [
            alignment.aligned(
                found,
                self.tokenizer.pieces(example.source).spans[: len(example.source_ids) - 1],
                self.tokenizer.pieces(example.target).spans[: len(example.target_ids)],
                each,
            )
            for example, each, found in zip(examples, linked, maps(examples), strict=True)
            if found
        ]

    def save(self, folder: Path) -> None:
        self.tokenizer.save(folder / "tokenizer.model")
        if self._familiarity:
            self._familiarity.save(folder / "familiarity.json")

    def restore(self, folder: Path) -> None:
        self._tokenizer = Tokenizer.load(folder / "tokenizer.model")
        self._familiarity = Familiarity.load(folder / "familiarity.json", size=self.tokenizer.size)

    def fingerprint(self) -> dict[str, str]:
        return {"vocabulary": self.tokenizer.digest}


def mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
