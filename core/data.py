"""Examples, batches and honest counts: what every task's data module shares."""

import random
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import lightning as L
from torch.utils.data import DataLoader, Dataset

from core.demo import Prediction
from core.maps import AttentionMap
from core.metrics import Score


class MapScores(NamedTuple):
    """Scores of attention maps, and the table of all heads and readings that they were chosen from."""

    scores: dict[str, Score]
    readings: list[dict[str, Any]]


class Looks(NamedTuple):
    """Where a model looks on examples whose reference is forced."""

    maps: Callable[[Sequence[Any]], Iterator[list[AttentionMap]]]
    """The gaze as it is, a map a module."""
    posterior: Callable[[Sequence[Any]], Iterator[list[AttentionMap]]]
    """Where it must have looked, once it is known what was said: one map."""


class DemoData(L.LightningDataModule):
    """A task's data: examples by split, batches of them, and the way back from what a model says to a person's words.

    `load` reads everything and complains before anything is trained. Whatever is dropped, cut or approximated on the
    way is counted in `counts`. A finished run is read back with `restore` instead, which needs no data set.
    """

    score_name: str
    """The validation score that decides which weights are kept; higher is better."""
    asks: tuple[str, ...] = ("source",)
    """The parts of one input, in the order in which a person gives them. `read` gets a text for each input, or a tuple
    of texts where there are several parts."""

    def __init__(self, *, tokens_per_batch: int, seed: int = 0) -> None:
        super().__init__()
        if tokens_per_batch < 1:
            raise ValueError(f"tokens_per_batch must be at least 1; got {tokens_per_batch}")
        self.tokens_per_batch = tokens_per_batch
        self.seed = seed
        self.first_epoch = 0
        self.splits: dict[str, list[Any]] = {}
        self.counts: Counter[str] = Counter()

    vocabulary: int

    aloud: bool = False
    """Whether what is generated can be told while it is: a text that goes on."""

    @property
    def supplies(self) -> dict[str, Any]:
        """What a model is told that only the data know, by the names of its arguments."""
        return {"vocabulary": self.vocabulary}

    @property
    def keys_at_once(self) -> int:
        """How many keys of the gaze are taken away together, where it is measured what they were worth."""
        return 1

    @abstractmethod
    def load(self) -> None:
        """Fills `splits` with train, validation and test, and prepares whatever reading needs."""

    @abstractmethod
    def save(self, folder: Path) -> None:
        """Leaves in a run folder what `restore` needs."""

    @abstractmethod
    def restore(self, folder: Path) -> None:
        """Gets ready to read inputs, from a run folder alone."""

    @abstractmethod
    def fingerprint(self) -> dict[str, str]:
        """What the weights only make sense with, such as the hash of a vocabulary."""

    @abstractmethod
    def read(self, inputs: Sequence[Any]) -> list[Any]:
        """A person's inputs as examples: the same reading as in training."""

    @abstractmethod
    def collate(self, examples: Sequence[Any]) -> Any:
        """A batch with its masks."""

    @abstractmethod
    def size(self, example: Any) -> int:
        """How many tokens a row of a batch needs for this example; 0 where there is nothing to predict from."""

    @abstractmethod
    def predictions(self, examples: Sequence[Any], generated: Sequence[Any]) -> list[Prediction]:
        """What a model generated, in words."""

    @abstractmethod
    def scores(self, examples: Sequence[Any], predictions: Sequence[Prediction]) -> dict[str, Score]:
        """How good the predictions are, by the field's own measures."""

    @abstractmethod
    def forced(self, examples: Sequence[Any], generated: Sequence[Any]) -> list[Any]:
        """The examples with what was generated in place of the reference: one pass over them shows the attention."""

    @abstractmethod
    def maps(self, example: Any, weights: dict[str, Any]) -> list[AttentionMap]:
        """The weights of one example, by module, as maps with labels."""

    @abstractmethod
    def keys_of(self, example: Any, word: str) -> list[int]:
        """The keys of the gaze that a word of the input stands for, wherever it occurs.

        Raises:
            ValueError: if it does not occur.
        """

    def forbidden(self, example: Any, words: Sequence[str], explains: Sequence[str]) -> dict[str, list[int]]:
        """The keys that these words of the input are, for each of these modules; a task may add others of the gaze.

        Raises:
            ValueError: as `keys_of`.
        """
        keys = [key for word in words for key in self.keys_of(example, word)]
        return {module: keys for module in explains}

    @abstractmethod
    def without(self, example: Any, keys: Sequence[int]) -> Any:
        """The example with something that says nothing in the place of these keys of the gaze."""

    def sample(self, example: Any, folder: Path) -> list[str]:
        """An example as the words of a command line; a task whose inputs are no short texts leaves them in `folder`,
        and names the files."""
        return [self.predictions([example], [None])[0].input]

    def listing(self, examples: Sequence[Any], predictions: Sequence[Prediction]) -> dict[str, str]:
        """Texts for a person to read beside the scores, by the names of the files that they are left in."""
        return {}

    def tried(self, example: Any, steps: int) -> Sequence[int]:
        """Which of an example's steps are asked what they lose without some of their keys; any of them may be."""
        return range(steps)

    def map_scores(self, looks: Looks, validation: Sequence[Any], test: Sequence[Any]) -> MapScores:
        """How right the maps are, where the data know: what is chosen is chosen on validation, and scored on test."""
        return MapScores({}, [])

    def not_aligning(self, maps: Callable[[Sequence[Any]], Iterator[list[AttentionMap]]]) -> str | None:
        """Where the data know the truth of some examples, not those of the final score, and the gaze on them is no
        nearer to it than its baseline: the figures, in words."""
        return None

    def draw(self, examples: Sequence[Any], predictions: Sequence[Prediction], folder: Path) -> None:
        """Leaves pictures of all predictions together in a run folder, where a task has such pictures."""

    def report(self) -> list[str]:
        """What was read, dropped and cut, a line each."""
        return [", ".join(f"{name} {count:,}" for name, count in self.counts.items() if count)]

    def batches(self, examples: Sequence[Any]) -> list[list[int]]:
        """Numbers of all examples in batches of like length, longest last; those of size 0 are left out.

        They are larger than in training: nothing is kept for a backward pass, and each step of a generation costs
        nearly the same for many rows as for few.
        """
        sizes = [self.size(example) for example in examples]
        order = sorted((n for n, size in enumerate(sizes) if size), key=lambda n: (sizes[n], n))
        return list(pack(order, sizes, 4 * self.tokens_per_batch))

    def train_dataloader(self) -> DataLoader:
        sizes = [self.size(example) for example in self.splits["train"]]
        sampler = TokenBatches(sizes, tokens=self.tokens_per_batch, seed=self.seed)
        sampler.set_epoch(self.first_epoch)  # Lightning asks for the first batches before it sets the epoch
        return DataLoader(Batches(self.splits["train"], self.collate), sampler=sampler, batch_size=None)

    def val_dataloader(self) -> DataLoader:
        examples = self.splits["validation"]
        return DataLoader(Batches(examples, self.collate), sampler=self.batches(examples), batch_size=None)


class Batches(Dataset):
    """Batches by lists of example numbers: the index of this data set is a whole batch."""

    def __init__(self, examples: Sequence[Any], collate: Callable[[Sequence[Any]], Any]) -> None:
        self.examples, self.collate = examples, collate

    def __getitem__(self, numbers: Sequence[int]) -> Any:
        return self.collate([self.examples[number] for number in numbers])


class TokenBatches:
    """A sampler of batches with at most `tokens` padded tokens each, in an order of its own for each seed and epoch.

    Examples are shuffled and then sorted by size, so a batch holds whatever examples of its size came together, and
    the batches are shuffled again. Every epoch has the same number of batches: Lightning counts them once and times
    its validations by that.

    It stands where a DataLoader has its sampler (`batch_size=None`), for there Lightning calls `set_epoch`; on a
    batch sampler of one's own it does not, and every epoch would repeat the first.
    """

    def __init__(self, sizes: Sequence[int], *, tokens: int, seed: int) -> None:
        self.sizes, self.tokens, self.seed = sizes, tokens, seed
        self.set_epoch(0)

    def set_epoch(self, epoch: int) -> None:
        self.batches = self.arrange(random.Random(f"{self.seed}-{epoch}"))

    def arrange(self, chance: random.Random) -> list[list[int]]:
        order = [number for number, size in enumerate(self.sizes) if size]
        chance.shuffle(order)
        batches = list(pack(sorted(order, key=self.sizes.__getitem__), self.sizes, self.tokens))
        chance.shuffle(batches)
        return batches

    def __iter__(self) -> Iterator[list[int]]:
        return iter(self.batches)

    def __len__(self) -> int:
        return len(self.batches)


def pack(order: Sequence[int], sizes: Sequence[int], tokens: int) -> Iterator[list[int]]:
    """Cuts a sorted order into batches whose padded size stays within `tokens`; a longer example is a batch alone."""
    batch: list[int] = []
    longest = 0
    for number in order:
        longest = max(longest, sizes[number])
        if batch and longest * (len(batch) + 1) > tokens:
            yield batch
            batch, longest = [], sizes[number]
        batch.append(number)
    if batch:
        yield batch
