"""Where recordings come from: spoken digits, a set with transcripts, a folder of one's own, and the built-in set."""

import random
from collections.abc import Sequence
from typing import Any

from core.data import Looks, MapScores
from core.demo import Prediction
from core.held_out import with_held_out
from core.metrics import Score
from core.public import DataError, load_public
from tasks.speech import digits, own, toy
from tasks.speech.audio import Waves, at_rate, decoded
from tasks.speech.data import SpeechData
from tasks.speech.examples import Example, Recording
from tasks.speech.scores import error_scores

DIGITS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")


class DigitStrings(SpeechData):
    """Strings of one to six digits, joined from recordings of single ones (columns `audio` and `label`), of one speaker
    where there is a column `speaker`. `holdout` is a speaker whom training and validation never hear: the test has
    strings of the others and strings of this one, and scores of both."""

    what_is_known = "characters of a digit on the frames of that digit"

    def __init__(
        self, *, path: str, strings: int, test_strings: int, holdout: str | None = None, **shared: Any
    ) -> None:
        super().__init__(**shared)
        if strings < 1 or test_strings < 1:
            raise ValueError(f"strings and test_strings are at least 1; got {strings} and {test_strings}")
        self.path, self.strings, self.test_strings, self.holdout = path, strings, test_strings, holdout

    def recordings(self) -> dict[str, list[Recording]]:
        loaded = load_public(self.path, columns=("audio", "label"), splits=("train", "test"))
        words = {split: self.words(loaded[split], split) for split in ("train", "test")}
        unseen = [word for some in words.values() for word in some if self.holdout and word.speaker == self.holdout]
        for split, some in words.items():
            words[split] = [word for word in some if not self.holdout or word.speaker != self.holdout]
        if not words["train"] or not words["test"]:
            raise DataError(f"data.path={self.path}: train and test need recordings of digits")
        chance = random.Random(f"digits {self.seed}")
        train, validation = digits.set_apart(words["train"], chance)
        test = [*digits.strings(words["test"], self.test_strings, "test", chance)]
        if unseen:
            test += digits.strings(unseen, self.test_strings, "unseen", chance)
            chance.shuffle(test)
        return {
            "train": [*digits.strings(train, self.strings, "train", chance)],
            "validation": [*digits.strings(validation, self.test_strings, "validation", chance)],
            "test": test,
        }

    def words(self, rows: Any, split: str) -> list[digits.Word]:
        speakers = rows["speaker"] if "speaker" in rows.column_names else None
        if self.holdout and speakers is None:
            raise DataError(
                f"data.holdout={self.holdout}: {self.path} has no column `speaker`, only {rows.column_names}, so "
                "nobody can be held out. Leave data.holdout out, or take a copy that names its speakers"
            )
        if self.holdout and speakers is not None and self.holdout not in set(speakers):
            raise DataError(
                f"data.holdout={self.holdout}: the speakers in {split} are {', '.join(sorted(set(speakers)))}"
            )
        sounds = sounds_of(rows, split)
        labels = rows["label"]
        rate = self.asked_rate or next((each.rate for each in sounds if len(each.samples)), 8000)
        found = []
        for number, (sound, label) in enumerate(zip(sounds, labels, strict=True)):
            if not isinstance(label, int) or not 0 <= label < len(DIGITS):
                raise DataError(f"row {number} of {split}: a label is a digit from 0 to 9; found {label!r}")
            if not len(sound.samples):
                self.counts[f"{split}.without_sound"] += 1
                continue
            speaker = speakers[number] if speakers is not None else None
            found.append(digits.Word(at_rate(sound, rate).samples, rate, DIGITS[label], speaker))
        return found

    def scores(self, examples: Sequence[Example], predictions: Sequence[Prediction]) -> dict[str, Score]:
        """Of speakers heard in training, and of the one that was not, where one is held out."""
        pairs = [*zip(examples, predictions, strict=True)]
        unseen = [pair for pair in pairs if self.holdout and pair[0].recording.speaker == self.holdout]
        seen = [pair for pair in pairs if not self.holdout or pair[0].recording.speaker != self.holdout]
        some = seen or unseen
        found = super().scores([each for each, _ in some], [prediction for _, prediction in some])
        if unseen and seen:
            said = [prediction.output for _, prediction in unseen]
            found |= error_scores(said, [each.recording.text for each, _ in unseen], f", unseen {self.holdout}")
        return found

    def map_scores(self, looks: Looks, validation: Sequence[Example], test: Sequence[Example]) -> MapScores:
        seen = [each for each in test if not self.holdout or each.recording.speaker != self.holdout]
        return super().map_scores(looks, validation, seen)


class TranscribedSet(SpeechData):
    """A set with the columns `audio` and `text`, train and test; validation is drawn from train."""

    def __init__(self, *, path: str, held_out: int, **shared: Any) -> None:
        super().__init__(**shared)
        self.path, self.held_out = path, held_out

    def recordings(self) -> dict[str, list[Recording]]:
        loaded = load_public(self.path, columns=("audio", "text"), splits=("train", "test"))
        found = {split: [*transcribed(loaded[split], split)] for split in loaded}
        return with_held_out(found, self.held_out, seed=self.seed)


def transcribed(rows: Any, split: str) -> list[Recording]:
    texts = rows["text"]
    sounds = sounds_of(rows, split)
    return [
        Recording(f"{split} {number}", (sound.samples,), sound.rate, texts[number] or "")
        for number, sound in enumerate(sounds)
    ]


def sounds_of(rows: Any, split: str) -> list[Waves]:
    """The sounds of a column `audio`: bytes of files, read here and not by the set's own decoder."""
    from datasets import Audio

    if isinstance(rows.features["audio"], Audio):
        rows = rows.cast_column("audio", Audio(decode=False))
    found = []
    for number, audio in enumerate(rows["audio"]):
        data = audio.get("bytes") if isinstance(audio, dict) else None
        if data is None:
            raise DataError(
                f"row {number} of {split}: the column audio holds no bytes of a sound file; found "
                f"{sorted(audio) if isinstance(audio, dict) else type(audio).__name__}"
            )
        found.append(decoded(data, f"row {number} of {split}"))
    return found


class OwnRecordings(SpeechData):
    """A folder of sounds and a file of their transcripts. Where the file names no splits, some are set apart."""

    def __init__(
        self, *, path: str, transcripts: str, held_out: int = 500, skip_broken: bool = False, **shared: Any
    ) -> None:
        super().__init__(**shared)
        self.path, self.transcripts = path, transcripts
        self.held_out, self.skip_broken = held_out, skip_broken

    def recordings(self) -> dict[str, list[Recording]]:
        lines = own.read_transcripts(self.path, self.transcripts)
        found = own.recordings(lines, skip_broken=self.skip_broken, counts=self.counts)
        return with_held_out(found, self.held_out, seed=self.seed)


class ToySpeech(SpeechData):
    """The built-in tones, of which it is known when each letter sounds: so the maps can be right or wrong."""

    what_is_known = "each letter on its own frames"

    def recordings(self) -> dict[str, list[Recording]]:
        return toy.recordings(seed=self.seed)
