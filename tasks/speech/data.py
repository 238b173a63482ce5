"""Recordings with transcripts to batches, and generated ids back to text, whatever set they are from (`sets.py`)."""

import json
import re
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float
from rich.progress import track
from torch import Tensor

from core.data import DemoData, Looks, MapScores
from core.decode import Decoded
from core.demo import Alternative, Prediction
from core.maps import AttentionMap, Sound
from core.metrics import Score
from core.public import DataError
from core.run import write_json
from tasks.speech import features, hearing
from tasks.speech.audio import Waves, at_rate, faster, read_file, write_file
from tasks.speech.characters import Characters, spoken
from tasks.speech.ctc import needed_frames
from tasks.speech.examples import Batch, Example, Recording, batched
from tasks.speech.report import read_of
from tasks.speech.scores import error_scores, side_by_side

END_LABEL = "⟨end⟩"
SPEEDS = (0.9, 0.95, 1.0, 1.05, 1.1)
CHOOSING = 200
"""How many examples the gaze is scored on, at most, of each split."""
ALARM = 50


class SpeechData(DemoData):
    """Sounds of one rate, which is the data's own, and transcripts in characters.

    In training each sound is heard at a `speed` of its own and with `masks` stretches of time and bands hidden, anew
    each time; an epoch hears each of them `repeat` times.
    """

    score_name = "character accuracy"
    what_is_known = "each character on the frames in which it is said"

    def __init__(
        self,
        *,
        mels: int,
        max_length: int,
        max_seconds: float,
        tokens_per_batch: int,
        rate: int | None = None,
        speed: bool = True,
        masks: int = 2,
        repeat: int = 1,
        seed: int = 0,
    ) -> None:
        super().__init__(tokens_per_batch=tokens_per_batch, seed=seed)
        if max_length < 2 or max_seconds <= 0 or masks < 0 or repeat < 1 or (rate is not None and rate < 1000):
            raise ValueError(
                "max_length is at least 2, max_seconds above 0, masks at least 0, repeat at least 1 and rate, if any, "
                f"at least 1000; got {max_length}, {max_seconds}, {masks}, {repeat} and {rate}"
            )
        self.mels, self.max_length, self.max_seconds = mels, max_length, max_seconds
        self.asked_rate, self.speed, self.masks, self.repeat = rate, speed, masks, repeat
        self._rate: int | None = None
        self._tokenizer: Characters | None = None

    @abstractmethod
    def recordings(self) -> dict[str, list[Recording]]:
        """Those of train, validation and test, at the rates that they have."""

    @property
    def tokenizer(self) -> Characters:
        """The characters of the training transcripts, unless `restore` read them from a run before."""
        assert self._tokenizer is not None, "load() or restore() comes first"
        return self._tokenizer

    @property
    def vocabulary(self) -> int:
        return self.tokenizer.size

    @property
    def rate(self) -> int:
        """Samples a second of every sound, once read."""
        assert self._rate is not None, "load() or restore() comes first"
        return self._rate

    @property
    def keys_at_once(self) -> int:
        """Three frames, an eighth of a second: a single one is a part of a sound, and its neighbours tell the same."""
        return 3

    def load(self) -> None:
        found = self.recordings()
        if self._rate is None:
            rates = Counter(each.rate for each in found["train"] if each.samples)
            self._rate = self.asked_rate or max(rates, key=lambda rate: rates[rate], default=16000)
        features.mel(self.rate, self.mels)
        usable = {split: self.usable(split, some) for split, some in found.items()}
        for split, some in usable.items():
            if not some:
                raise DataError(f"the {split} split has no recording with a transcript that can be used")
        if self._tokenizer is None:
            self._tokenizer = Characters.learn(each.text for each in usable["train"])
        self.splits = {split: [self.example(each) for each in some] for split, some in usable.items()}
        self.count_unusual()
        self.splits["train"] = [each._replace(varied=True) for each in self.splits["train"]] * self.repeat

    def usable(self, split: str, found: Sequence[Recording]) -> list[Recording]:
        """Those with sound and words, at the one rate; the others are counted."""
        kept = []
        for each in track(found, "reading sounds", disable=len(found) < 3000):
            text = spoken(each.text)
            reasons = {
                "without_sound": not each.samples,
                "without_words": not text,
                "too_long": each.seconds > self.max_seconds or len(text) >= self.max_length,
            }
            reason = next((name for name, holds in reasons.items() if holds), None)
            self.counts[f"{split}.{reason or 'recordings'}"] += 1
            if reason is None:
                kept.append(self.resampled(each, split)._replace(text=text))
        self.counts[f"{split}.seconds"] = round(sum(each.seconds for each in kept))
        return kept

    def resampled(self, recording: Recording, split: str) -> Recording:
        if recording.rate == self.rate:
            return recording
        self.counts[f"{split}.resampled"] += 1
        return recording._replace(parts=(at_rate(recording.waves, self.rate).samples,), rate=self.rate)

    def example(self, recording: Recording) -> Example:
        return Example(recording, tuple(self.tokenizer.encode(recording.text)))

    def count_unusual(self) -> None:
        """What training is told before it begins: transcripts that the frames cannot carry, unknown characters."""
        self.crowded = [each.recording.name for each in self.splits["train"] if needed_frames(each.ids) > keys(each)]
        self.counts["train.too_short_for_ctc"] = len(self.crowded)
        said = [id for each in self.splits["validation"] for id in each.ids]
        self.counts.update(
            {"validation.characters": len(said), "validation.unknown_characters": said.count(Characters.UNKNOWN)}
        )

    def read(self, inputs: Sequence[str]) -> list[Example]:
        """Sounds by the paths of their files; an empty one stands for no sound."""
        return [Example(self.heard(line)) for line in inputs]

    def heard(self, line: str) -> Recording:
        if not line.strip():
            return Recording("", (), self.rate, notices=("nothing to hear: no sound was named",))
        waves = read_file(line)
        notices = []
        if not len(waves.samples):
            notices.append("nothing to hear: the file has no samples")
        elif np.abs(waves.samples).max() <= features.SILENT:
            notices.append("the sound is silent: whatever is written is made up")
        if waves.rate != self.rate:
            notices.append(f"resampled from {waves.rate} to {self.rate} Hz, the rate of the training")
        if waves.seconds > self.max_seconds:
            notices.append(f"only the first {self.max_seconds:g} of {waves.seconds:.1f} seconds were heard")
            waves = waves._replace(samples=waves.samples[: int(self.max_seconds * waves.rate)])
        waves = at_rate(waves, self.rate)
        parts = (waves.samples,) if len(waves.samples) else ()
        return Recording(line, parts, self.rate, notices=tuple(notices))

    def size(self, example: Example) -> int:
        return max(keys(example), len(example.ids) + 1) if example.recording.samples else 0

    def collate(self, examples: Sequence[Example]) -> Batch:
        return batched([self.features(each) for each in examples], [each.ids for each in examples])

    @torch.autocast("cpu", enabled=False)  # batches are also made where a model is run in bfloat16
    def features(self, example: Example) -> Float[Tensor, "F M"]:
        waves = example.recording.waves
        if example.varied and self.speed:
            speed = SPEEDS[int(np.random.randint(len(SPEEDS)))]
            waves = Waves(faster(waves.samples, speed), waves.rate)
        found = features.log_mel(waves, self.mels)
        if example.varied and self.masks:
            return features.hidden(found, masks=self.masks, frames=8, bands=8)
        for key in example.blank:
            middle = features.TOGETHER * key
            found[max(0, middle - features.TOGETHER // 2) : middle + features.TOGETHER // 2] = 0.0
        return found

    def predictions(self, examples: Sequence[Example], generated: Sequence[Decoded | None]) -> list[Prediction]:
        return [self.prediction(example, decoded) for example, decoded in zip(examples, generated, strict=True)]

    def prediction(self, example: Example, decoded: Decoded | None) -> Prediction:
        name, notices = example.recording.name, example.recording.notices
        if decoded is None:
            return Prediction(name, "", None, notices)
        found = (decoded, *decoded.others)
        best, *others = [Alternative(self.tokenizer.decode(e.tokens), mean(e.log_probabilities)) for e in found]
        cut = f"the transcript was stopped at {len(decoded.tokens)} characters, before its end"
        return Prediction(name, *best, notices + ((cut,) if decoded.cut else ()), tuple(others))

    def scores(self, examples: Sequence[Example], predictions: Sequence[Prediction]) -> dict[str, Score]:
        said, wanted = [each.output for each in predictions], [each.recording.text for each in examples]
        found = error_scores(said, wanted)
        right = Score(100 - found["CER"].value, "100 - CER")
        return found | {self.score_name: right}

    def listing(self, examples: Sequence[Example], predictions: Sequence[Prediction]) -> dict[str, str]:
        names = [each.recording.name for each in examples]
        said, wanted = [each.output for each in predictions], [each.recording.text for each in examples]
        return {"alignment.txt": side_by_side(names, said, wanted)}

    def forced(self, examples: Sequence[Example], generated: Sequence[Decoded | None]) -> list[Example]:
        return [
            example._replace(ids=tuple(decoded.tokens if decoded else ()))
            for example, decoded in zip(examples, generated, strict=True)
        ]

    def maps(self, example: Example, weights: dict[str, Float[np.ndarray, "... Q K"]]) -> list[AttentionMap]:
        """A map a module over the frames of the sound: rows are the steps that say each character, and the end."""
        ids, recording = example.ids, example.recording
        texts = {"source": recording.name, "prediction": self.tokenizer.decode(ids), "reference": recording.text}
        waves = recording.waves
        times = features.edges(keys(example), self.rate)
        times[-1] = max(times[-1], recording.seconds)  # the last frame hears a little more than its share
        texts |= {"notice": "; ".join(recording.notices)}
        return [
            AttentionMap(
                weights=array[..., : len(ids) + 1, : len(times) - 1],
                queries=[*self.tokenizer.labels(ids), END_LABEL],
                keys=[f"{time:.2f} s" for time in (times[:-1] + times[1:]) / 2],
                name=name,
                text={kind: text for kind, text in texts.items() if text},
                origin={"task": "speech", "rows": "characters", "columns": "frames of the sound"},
                shown=Sound(waves.samples.clip(-1, 1), self.rate, times),
            )
            for name, array in weights.items()
        ]

    def keys_of(self, example: Example, word: str) -> list[int]:
        """The frames between two times in seconds, "0.4-0.9"."""
        found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*-\s*(\d+(?:\.\d+)?)\s*(?:s)?\s*", word)
        start, end = map(float, found.groups()) if found else (0.0, 0.0)
        times = features.edges(keys(example), self.rate)
        middles = (times[:-1] + times[1:]) / 2
        chosen = np.flatnonzero((middles >= start) & (middles < end)).tolist()
        if not chosen:
            raise ValueError(
                f"{word!r}: there are no words in a sound yet; say what may not be heard in seconds, START-END, such "
                f"as 0.4-0.9, within 0 to {example.recording.seconds:.2f}"
            )
        return chosen

    def without(self, example: Example, keys: Sequence[int]) -> Example:
        """The mean of the sound in the place of these frames."""
        return example._replace(blank=tuple(sorted({*example.blank, *keys})))

    def sample(self, example: Example, folder: Path) -> list[str]:
        path = folder / "sample.wav"
        write_file(example.recording.waves, path)
        return [str(path)]

    def map_scores(self, looks: Looks, validation: Sequence[Example], test: Sequence[Example]) -> MapScores:
        chosen, scored = (hearing.Heard(some, [*looks.maps(some)]) for some in (validation[:CHOOSING], test[:CHOOSING]))
        return hearing.scores(chosen, scored, self.what_is_known)

    def not_aligning(self, maps: Callable[[Sequence[Example]], Iterator[list[AttentionMap]]]) -> str | None:
        examples = self.splits["validation"][:ALARM]
        return hearing.not_listening(hearing.Heard(examples, [*maps(examples)]))

    def report(self) -> list[str]:
        return read_of(self.counts, self.rate, self.vocabulary, self.crowded)

    def save(self, folder: Path) -> None:
        self.tokenizer.save(folder / "characters.json")
        write_json({"rate": self.rate, "mels": self.mels}, folder / "sound.json")

    def restore(self, folder: Path) -> None:
        self._tokenizer = Characters.load(folder / "characters.json")
        path = folder / "sound.json"
        try:
            self._rate = int(json.loads(path.read_text(encoding="utf-8"))["rate"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ValueError(f"{path} is missing or damaged: {error}") from error

    def fingerprint(self) -> dict[str, str]:
        return {"vocabulary": self.tokenizer.digest, "sound": f"{self.rate} Hz, {self.mels} mel bands"}


def keys(example: Example) -> int:
    """How many frames of the encoder there are of an example's sound."""
    recording = example.recording
    return features.keys_of_frames(features.frames_of(recording.samples, recording.rate))


def mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
