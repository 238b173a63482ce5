"""Where text comes from: Tiny Shakespeare, files of one's own, and the toy language."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from core.demo import Prediction
from core.maps import AttentionMap
from core.metrics import Score
from tasks.generation import induction, toy
from tasks.generation.characters import Characters
from tasks.generation.data import ALARM_PROBES, GenerationData
from tasks.generation.examples import Example
from tasks.generation.texts import TextData


class ToyText(GenerationData):
    """Sequences whose decided tokens, and the places that decide them, are known."""

    def __init__(self, *, context: int, tokens_per_batch: int, length: int = 16, seed: int = 0) -> None:
        super().__init__(context=context, tokens_per_batch=tokens_per_batch, length=length, seed=seed)

    def load(self) -> None:
        self._tokenizer = Characters(toy.CHARACTERS)
        for split, found in toy.sequences(seed=self.seed).items():
            self.splits[split] = [self.example(each) for each in found]
            self.counts[f"{split}.sequences"] = len(found)

    def example(self, each: toy.Sequence) -> Example:
        return Example(tuple(self.tokenizer.encode(each.text)), links=each.links)

    def scores(self, examples: Sequence[Example], predictions: Sequence[Prediction]) -> dict[str, Score]:
        """And the share of the decided tokens that are guessed right, of each kind."""
        found = super().scores(examples, predictions)
        for kind in (toy.RECALL, toy.COPYING):
            right = [
                prediction.output[link.query] == self.tokenizer.decode([example.ids[link.query + 1]])
                for example, prediction in zip(examples, predictions, strict=True)
                for link in example.links
                if link.kind == kind
            ]
            chance = f"chance {1 / len(toy.DIGITS if kind == toy.RECALL else toy.LETTERS):.3f}"
            found[f"{kind} accuracy"] = Score(
                sum(right) / max(1, len(right)), f"{len(right):,} decided tokens; {chance}"
            )
        return found

    def context_told(self) -> str:
        return "each given all of its sequence before it; most tokens are random"

    def sample(self, example: Example, folder: Path) -> list[str]:
        """A sequence up to a place from which the rest is decided."""
        return [self.text_of(example)[: example.links[-1].query - 3]]

    def probes(self, split: str) -> list[Example]:
        return self.splits[split]

    def probed(self) -> str:
        return "where it decides"

    def not_aligning(self, maps: Callable[[Sequence[Example]], Iterator[list[AttentionMap]]]) -> str | None:
        some = self.probes("validation")[:ALARM_PROBES]
        heads = induction.of_heads(maps(some), [each.links for each in some])
        return induction.not_found(heads, [link for each in some for link in each.links])


class Shakespeare(TextData):
    """Tiny Shakespeare (Karpathy 2015): an address, a file, or a folder with the file in it."""


class OwnText(TextData):
    """Files of one's own: a .txt, a .txt.gz, or a folder of them."""
