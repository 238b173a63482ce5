"""Text to batches, and generated ids back to text, whatever text it is (`sets.py`)."""

import math
from abc import abstractmethod
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from jaxtyping import Float
from numpy import ndarray

from core.data import DemoData, Looks, MapScores, pack
from core.decode import Decoded
from core.demo import Alternative, Prediction
from core.maps import AttentionMap
from core.metrics import Score
from tasks.generation import induction
from tasks.generation.characters import Characters, LinePieces, Vocabulary, following, plain
from tasks.generation.examples import Batch, Example, collate

SHOWN = 128
"""Tokens of a prompt and what follows it that a map shows, at most; a quarter of them are generated ones."""
PROBES = 60
"""Examples with known links that heads are chosen on, and as many that they are scored on."""
ALARM_PROBES = 20


class GenerationData(DemoData):
    """Stretches of text through one vocabulary, of characters or of `pieces` pieces."""

    score_name = "log-probability"
    aloud = True

    def __init__(
        self, *, context: int, tokens_per_batch: int, pieces: int = 0, length: int = 300, seed: int = 0
    ) -> None:
        super().__init__(tokens_per_batch=tokens_per_batch, seed=seed)
        if context < 2 or length < 1 or pieces < 0:
            raise ValueError(
                f"context is at least 2, length at least 1, and pieces not below 0, which stands for characters; "
                f"got {context}, {length} and {pieces}"
            )
        self.context, self.pieces, self.length = context, pieces, length
        self._tokenizer: Vocabulary | None = None

    @abstractmethod
    def probes(self, split: str) -> list[Example]:
        """Texts some of whose tokens are decided by known places, to find heads by."""

    @property
    def tokenizer(self) -> Vocabulary:
        """The vocabulary: learned by `load` from the training text, unless `restore` read it from a run before."""
        assert self._tokenizer is not None, "load() or restore() comes first"
        return self._tokenizer

    @property
    def vocabulary(self) -> int:
        return self.tokenizer.size

    def learn(self, text: str) -> None:
        if self._tokenizer is None:
            self._tokenizer = LinePieces.learn(text, pieces=self.pieces) if self.pieces else Characters.learn(text)

    def read(self, inputs: Sequence[str]) -> list[Example]:
        return [self.prompt(plain(text)) for text in inputs]

    def prompt(self, text: str) -> Example:
        """The end of a prompt, as much as the context holds."""
        ids, labels = self.tokenizer.encode(text), self.tokenizer.labels(text)
        kept = slice(max(0, len(ids) - self.context), None)
        return Example(tuple(ids[kept]), length=self.length, text=text, labels=tuple(labels[kept]), tokens=len(ids))

    def size(self, example: Example) -> int:
        if example.length:
            return len(example.ids) + example.length if example.ids else 0
        return len(example.ids) if len(example.ids) > 1 else 0

    def batches(self, examples: Sequence[Example]) -> list[list[int]]:
        """Prompts only with others of their length: what follows them begins in one column."""
        groups: dict[tuple[int, ...], list[int]] = defaultdict(list)
        sizes = [self.size(example) for example in examples]
        for number, example in enumerate(examples):
            if sizes[number]:
                groups[(example.length, len(example.ids)) if example.length else ()].append(number)
        return [
            batch
            for _, numbers in sorted(groups.items())
            for batch in pack(sorted(numbers, key=sizes.__getitem__), sizes, 4 * self.tokens_per_batch)
        ]

    def collate(self, examples: Sequence[Example]) -> Batch:
        return collate(examples)

    def predictions(self, examples: Sequence[Example], generated: Sequence[Decoded | None]) -> list[Prediction]:
        return [self.prediction(example, decoded) for example, decoded in zip(examples, generated, strict=True)]

    def prediction(self, example: Example, decoded: Decoded | None) -> Prediction:
        text = self.text_of(example)
        if decoded is None:
            return Prediction(text, "", None, ("nothing to go on from: the prompt is empty",))
        best, *others = [
            Alternative(self.output(example, each.tokens), mean(each.log_probabilities))
            for each in (decoded, *decoded.others)
        ]
        return Prediction(text, *best, self.notices(example), tuple(others))

    def output(self, example: Example, ids: Sequence[int]) -> str:
        """What was said after a prompt; of a text that was scored, the likeliest token at each place."""
        return following(self.tokenizer, example.ids, ids) if example.length else self.tokenizer.decode(ids)

    def text_of(self, example: Example) -> str:
        return example.text or self.tokenizer.decode(example.ids)

    def notices(self, example: Example) -> tuple[str, ...]:
        """What a reader should know of a prompt."""
        found = []
        pairs = zip(example.labels, example.ids, strict=False)  # a window leaves its labels to its ids
        if unknown := [label for label, id in pairs if id == Characters.UNKNOWN]:
            found.append(f"never seen in training: {' '.join(dict.fromkeys(unknown))}")
        if example.tokens > len(example.ids):
            what = "pieces" if self.pieces else "characters"
            found.append(f"the prompt has {example.tokens} {what}; its last {len(example.ids)} were kept")
        return tuple(found)

    def scores(self, examples: Sequence[Example], predictions: Sequence[Prediction]) -> dict[str, Score]:
        """Of all tokens that count, each given what is before it in its window."""
        nats, tokens, characters, right = 0.0, 0, 0, 0
        for example, prediction in zip(examples, predictions, strict=True):
            counted = example.ids[example.scored :]
            if prediction.mean_log_probability is None:
                continue
            truth = following(self.tokenizer, example.ids[: example.scored], counted)
            nats -= prediction.mean_log_probability * len(counted)
            tokens, characters = tokens + len(counted), characters + len(truth)
            if not self.pieces:
                right += sum(one == other for one, other in zip(prediction.output, truth, strict=True))
        of = f"of {tokens:,} tokens, {characters:,} characters"
        found = {
            "log-probability": Score(-nats / max(1, tokens), f"mean {of}, in nats"),
            "loss": Score(nats / max(1, tokens), f"nats a token, mean {of}; {self.context_told()}"),
            "bits a character": Score(nats / math.log(2) / max(1, characters), of),
        }
        if not self.pieces:
            found["next character"] = Score(right / max(1, tokens), f"share whose likeliest guess is right, {of}")
        return found

    def context_told(self) -> str:
        """How much was before each token that was scored."""
        return f"up to {self.context} tokens before each, half as many in the mean"

    def forced(self, examples: Sequence[Example], generated: Sequence[Decoded | None]) -> list[Example]:
        """Prompts with what was generated: so much of both as a map shows. Texts that are scored stay what they are."""
        return [
            self.said(example, decoded.tokens if decoded else []) if example.length else example
            for example, decoded in zip(examples, generated, strict=True)
        ]

    def said(self, example: Example, tokens: Sequence[int]) -> Example:
        """What the map of a prompt is of: the first tokens that follow it, and as much of its end as there is room."""
        shown, prompt = min(SHOWN, self.context), len(example.ids)
        follow = min(len(tokens), max(shown // 4, shown - prompt))
        begin = max(0, prompt - (shown - follow))
        after = tokens[: follow + 1]  # the last one is said, and not read
        return example._replace(
            ids=(*example.ids[begin:], *after),
            labels=(*example.labels[begin:], *(self.tokenizer.decode([id]) for id in after)),
            length=0,
            tokens=prompt - begin,
        )

    def maps(self, example: Example, weights: dict[str, Float[ndarray, "H Q K"]]) -> list[AttentionMap]:
        """A map a module: each token that was read, and where it looks to say the next one."""
        read = example.ids[:-1]
        labels = (example.labels or tuple(self.tokenizer.decode([id]) for id in example.ids))[: len(read)]
        texts = {"source": self.text_of(example)}
        if example.tokens:
            prompt, after = example.ids[: example.tokens], example.ids[example.tokens :]
            texts |= {"prediction": following(self.tokenizer, prompt, after), "notice": self.of_the_map(example)}
        return [
            AttentionMap(
                weights=array,
                queries=labels,
                keys=labels,
                name=name,
                text=texts,
                origin={"task": "generation", "rows": "having read", "columns": "looks at"},
            )
            for name, array in weights.items()
        ]

    def of_the_map(self, example: Example) -> str:
        """How much of a prompt and of what follows it a map shows."""
        what = "pieces" if self.pieces else "characters"
        return f"the map shows the last {example.tokens} {what} of the prompt and the first that follow it"

    def keys_of(self, example: Example, word: str) -> list[int]:
        """The tokens of every place where this text stands in the prompt."""
        labels = example.labels or tuple(self.tokenizer.decode([id]) for id in example.ids)
        text = "".join(labels)
        owners = [number for number, label in enumerate(labels) for _ in label]
        starts = [at for at in range(len(text)) if word and text.startswith(word, at)]
        if not starts:
            raise ValueError(f"{word!r} does not stand in {text!r}")
        if len(example.ids) + example.length > self.context:
            room = max(1, self.context - len(example.ids))
            raise ValueError(
                f"a prompt of {len(example.ids)} tokens and {example.length} that follow are more than the context of "
                f"{self.context}, where places move; make fewer follow: --length {room}"
            )
        return sorted({owners[place] for at in starts for place in range(at, at + len(word))})

    def without(self, example: Example, keys: Sequence[int]) -> Example:
        """Unknown tokens in the place of these."""
        ids = tuple(Characters.UNKNOWN if place in set(keys) else id for place, id in enumerate(example.ids))
        return example._replace(ids=ids)

    def tried(self, example: Example, steps: int) -> Sequence[int]:
        """The last prediction alone: it may look at every key, and the earlier ones at fewer."""
        return [steps - 1]

    def map_scores(self, looks: Looks, validation: Sequence[Example], test: Sequence[Example]) -> MapScores:
        choosing, scoring = (self.probes(split)[:PROBES] for split in ("validation", "test"))
        chosen_on, scored_on = (
            [(maps, each.links) for maps, each in zip(looks.maps(some), some, strict=True)]
            for some in (choosing, scoring)
        )
        return induction.scores(chosen_on, scored_on, self.probed())

    def probed(self) -> str:
        """What the probes are, in words."""
        return "in random characters that come again in the same order"

    def save(self, folder: Path) -> None:
        self.tokenizer.save(folder)

    def restore(self, folder: Path) -> None:
        self._tokenizer = LinePieces.load(folder) if self.pieces else Characters.load(folder)

    def fingerprint(self) -> dict[str, str]:
        return {"vocabulary": self.tokenizer.digest}


def mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
