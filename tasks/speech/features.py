"""Log-mel features at the sound's own rate, and what is hidden of them in training (SpecAugment, Park et al. 2019)."""

from functools import cache

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor
from torchaudio.transforms import MelSpectrogram

from tasks.speech.audio import Waves

WINDOW, HOP = 0.025, 0.01
"""Seconds of a window, and from one to the next."""
TOGETHER = 4
"""Frames of features that the encoder makes one of: its frames, the keys of the gaze, are 0.04 s apart."""
FLOOR = 1e-3
"""Added to the power of a band, where the loudest sample is 1: about 66 decibels below a loud tone."""
SILENT = 1e-4
"""A sound whose loudest sample is below this is not made louder."""
EVEN = 0.5
"""The least spread, in nats, that features are divided by: silence stays silent."""


def frames_of(samples: int, rate: int) -> int:
    """How many frames of features a sound has; a sound of one sample has one."""
    return 1 + samples // hop_of(rate) if samples else 0


def keys_of_frames(frames: int) -> int:
    return -(-frames // TOGETHER)


def hop_of(rate: int) -> int:
    return max(1, round(HOP * rate))


def edges(keys: int, rate: int) -> Float[np.ndarray, " edges"]:
    """When each frame of the encoder begins, and the last one ends, in seconds; frame k is centred at 0.04 k."""
    middles = TOGETHER * hop_of(rate) / rate * (np.arange(keys + 1) - 0.5)
    return np.maximum(middles, 0.0)


def log_mel(waves: Waves, mels: int) -> Float[Tensor, "F M"]:
    """The logarithm of each band's power, each band with mean 0 over the sound, so that loudness and the colour of a
    microphone do not matter. Beyond its ends a sound is silent, so any length but 0 has frames."""
    samples = torch.from_numpy(waves.samples)
    loudest = samples.abs().max()
    powers = mel(waves.rate, mels)(samples / loudest if loudest > SILENT else samples)
    logs = (powers.T + FLOOR).log()
    logs = logs - logs.mean(dim=0)
    return logs / logs.square().mean().sqrt().clamp(min=EVEN)


@cache
def mel(rate: int, mels: int) -> MelSpectrogram:
    """Raises ValueError for more bands than the window can tell apart."""
    window = max(8, round(WINDOW * rate))
    size = 1 << (window - 1).bit_length()
    if mels > size // 4:
        raise ValueError(f"{mels} mel bands are too many at {rate} Hz: at most {size // 4}. Set model.mels")
    return MelSpectrogram(
        rate, n_fft=size, win_length=window, hop_length=hop_of(rate), n_mels=mels, pad_mode="constant"
    )


def hidden(features: Float[Tensor, "F M"], *, masks: int, frames: int, bands: int) -> Float[Tensor, "F M"]:
    """With `masks` stretches of at most `frames` frames and `bands` bands each set to the mean, which is 0."""
    features = features.clone()
    for _ in range(masks):
        start, width = drawn(features.shape[0], min(frames, features.shape[0] // 5))
        features[start : start + width] = 0.0
        start, width = drawn(features.shape[1], min(bands, features.shape[1] // 4))
        features[:, start : start + width] = 0.0
    return features


def drawn(size: int, most: int) -> tuple[int, int]:
    """A place and a width, both at random."""
    width = int(torch.randint(most + 1, ()))
    return int(torch.randint(size - width + 1, ())), width
