"""Sounds, read one way for training and prediction: one channel of float32 from -1 to 1, at their own rate."""

import io
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import soundfile
import torch
from jaxtyping import Float
from torchaudio.transforms import Resample

from core.files import whole_file
from core.public import DataError

Samples = Float[np.ndarray, " _"]


class Waves(NamedTuple):
    """One channel, and how many samples a second has."""

    samples: Samples
    rate: int

    @property
    def seconds(self) -> float:
        return len(self.samples) / self.rate


def read_file(path: str | Path) -> Waves:
    """The sound of a file: WAV, FLAC, OGG, MP3, ... of any rate, channels and sample format.

    Raises:
        DataError: naming the file, where it cannot be opened or is no sound.
    """
    try:
        return decoded(Path(path).expanduser().read_bytes(), str(path))
    except OSError as error:
        raise DataError(f"{path} cannot be read as a sound: {error.strerror}; wanted the path of a file") from error


def decoded(data: bytes, name: str) -> Waves:
    """The sound in the bytes of a file, all channels mixed. Raises DataError, with the name, for what is no sound."""
    if not data:
        raise DataError(f"{name} is an empty file; wanted a sound (WAV, FLAC, OGG, MP3)")
    try:
        samples, rate = soundfile.read(io.BytesIO(data), dtype="float32", always_2d=True)
    except (soundfile.SoundFileError, RuntimeError, TypeError) as error:
        raise DataError(f"{name} is no sound that can be read ({error}); wanted WAV, FLAC, OGG or MP3") from error
    if not np.isfinite(samples).all():
        raise DataError(f"{name} has samples that are no numbers (NaN or infinite): export it again")
    return Waves(samples.mean(axis=1), int(rate))  # soundfile gives samples first, then channels


def at_rate(waves: Waves, rate: int) -> Waves:
    """The same sound with another number of samples a second."""
    if waves.rate == rate or not len(waves.samples):
        return Waves(waves.samples, rate)
    return Waves(resampler(waves.rate, rate)(torch.from_numpy(waves.samples)).numpy(), rate)


def faster(samples: Samples, speed: float) -> Samples:
    """The sound at so many times its speed, and pitch (Ko et al. 2015)."""
    if speed == 1.0 or not len(samples):
        return samples
    return resampler(round(20 * speed), 20)(torch.from_numpy(samples)).numpy()


@cache
def resampler(before: int, after: int) -> Resample:
    return Resample(before, after)


def write_file(waves: Waves, path: Path) -> None:
    """As WAV, 16 bits a sample."""
    with whole_file(path) as file:
        soundfile.write(file, waves.samples.clip(-1, 1), waves.rate, format="WAV", subtype="PCM_16")
