"""Features of pictures by a frozen encoder, computed once and kept on disk."""

import hashlib
import os
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, UInt8
from rich.progress import track
from torch import Tensor

from core.files import whole_file
from core.training import best_precision
from tasks.captioning.encoders import GridEncoder
from tasks.captioning.pictures import Photo, squared

SHARD = 256
"""Pictures in a file: what an interruption costs at most."""
AT_ONCE = 16
READING = 2
"""The version of how pictures are read: another one makes other files."""

Row = Float[np.ndarray, " numbers"]


def default_folder() -> Path:
    """Where caches of the user lie: XDG_CACHE_HOME, or .cache in the home folder."""
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "attention-gallery" / "features"


class Features:
    """Rows of half precision numbers, a picture each: all maps of an encoder, one after the other.

    A file holds the rows of up to `SHARD` pictures. Its name depends on the encoder's weights, the size of the squares
    that it sees, whether they are mirrored, how they are read, and the bytes of every picture in it.
    """

    def __init__(self, encoder: GridEncoder, folder: Path, *, size: int) -> None:
        self.encoder, self.size = encoder, size
        self.kept = encoder.kept(size)
        self.folder = folder / f"{encoder.name}-{self.kept.digest}-{size}"

    def of(self, photos: Sequence[Photo], *, mirrored: bool = False) -> list[Row]:
        """The rows, in order, read from disk when they are needed; what is not there yet is computed with a bar."""
        shards = [photos[at : at + SHARD] for at in range(0, len(photos), SHARD)]
        paths = [self.folder / f"{self.name_of(shard, mirrored)}.npy" for shard in shards]
        missing = [(path, shard) for path, shard in zip(paths, shards, strict=True) if not path.is_file()]
        if missing:
            self.folder.mkdir(parents=True, exist_ok=True)
        what = f"features by {self.encoder.name}{', mirrored' if mirrored else ''}"
        for path, shard in track(missing, what, disable=not missing):
            with whole_file(path) as file:
                np.save(file, self.computed([squared(photo.pixels(), self.size) for photo in shard], mirrored))
        return [row for path in paths for row in np.load(path, mmap_mode="r")]

    def computed(
        self, squares: Sequence[UInt8[Tensor, "3 Y X"]], mirrored: bool = False
    ) -> Float[np.ndarray, "N numbers"]:
        rows = []
        for at in range(0, len(squares), AT_ONCE):
            pictures = torch.stack([*squares[at : at + AT_ONCE]])
            with fast():
                maps = self.encoder(pictures.flip(-1) if mirrored else pictures)
            rows.append(torch.cat([each.flatten(1) for each in maps], dim=1).half().numpy())
        return np.concatenate(rows)

    def name_of(self, shard: Sequence[Photo], mirrored: bool) -> str:
        digest = hashlib.sha256(f"{READING} {mirrored}".encode())
        for photo in shard:
            digest.update(hashlib.sha256(photo.read()).digest())
        return digest.hexdigest()[:24]


def fast() -> Any:
    """bfloat16 where the processor multiplies in it: half the time, and the features are kept in 16 bits anyway."""
    return torch.autocast("cpu", dtype=torch.bfloat16) if best_precision() == "bf16-mixed" else nullcontext()


def maps_of(rows: Sequence[Row], shapes: Sequence[Sequence[int]]) -> list[Float[Tensor, "N _ _ _"]]:
    """The maps that rows were made of, `N C Y X` each, in half precision."""
    numbers = torch.from_numpy(np.stack([np.asarray(row) for row in rows]))
    sizes = [channels * height * width for channels, height, width in shapes]
    return [part.unflatten(1, tuple(shape)) for part, shape in zip(numbers.split(sizes, dim=1), shapes, strict=True)]
