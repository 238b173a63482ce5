"""Pictures, read one way for training and prediction: upright, in red, green and blue, on white where transparent."""

import io
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float, UInt8
from PIL import Image, ImageOps, UnidentifiedImageError
from torch import Tensor
from torchvision.transforms import v2

from core.public import DataError

MOST_PIXELS = 80_000_000
"""More than any camera's; as RGB they take 240 MB."""
SHOWN = 320
"""Pixels of the longer side of a picture that is kept with its maps."""
BACKGROUND = "white"

Pixels = UInt8[np.ndarray, "height width 3"]


@dataclass(frozen=True)
class Photo:
    """A picture that is read when it is needed, with a name for messages."""

    name: str
    read: Callable[[], bytes]

    @classmethod
    def of_file(cls, path: str | Path) -> "Photo":
        return cls(str(path), partial(_file, Path(path).expanduser()))

    def pixels(self) -> Pixels:
        return np.asarray(opened(self.read(), self.name))

    def shown(self) -> Pixels:
        """Small enough to be kept with a map, in its own proportions."""
        image = opened(self.read(), self.name)
        image.thumbnail((SHOWN, SHOWN), Image.Resampling.LANCZOS)
        return np.asarray(image)


def _file(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise DataError(f"{path} cannot be read as a picture: {error.strerror}; wanted the path of a file") from error


def opened(data: bytes, name: str) -> Image.Image:
    """The picture as it is meant to be seen: turned as its camera says, transparency on white, of any mode in RGB.

    Raises:
        DataError: naming the picture, where it is broken, cut off, no picture, or has too many pixels.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)  # there is a limit of our own below
            image = Image.open(io.BytesIO(data))
        if image.width * image.height > MOST_PIXELS:
            raise Image.DecompressionBombError(f"it has {image.width} x {image.height} pixels")
        image.load()
        return in_rgb(ImageOps.exif_transpose(image))
    except Image.DecompressionBombError as error:
        raise DataError(f"{name}: {error}; at most {MOST_PIXELS:,} are opened. Make it smaller") from error
    except UnidentifiedImageError as error:
        kind = "an empty file" if not data else "no picture of a known format (JPEG, PNG, WebP, ...)"
        raise DataError(f"{name} is {kind}") from error
    except (OSError, ValueError, SyntaxError, EOFError, IndexError, TypeError) as error:
        raise DataError(f"{name} is a broken picture ({error}): half downloaded, perhaps. Get it again") from error


def in_rgb(image: Image.Image) -> Image.Image:
    if image.mode.startswith("I;16") or image.mode == "I":  # 16 bits a pixel, which Pillow would clip at 255
        image = Image.fromarray((np.asarray(image).clip(0, 2**16 - 1) // 256).astype(np.uint8))
    if not image.has_transparency_data:
        return image.convert("RGB")
    seen = image.convert("RGBA")
    ground = Image.new("RGBA", seen.size, BACKGROUND)
    ground.alpha_composite(seen)
    return ground.convert("RGB")


def squared(pixels: Pixels, size: int) -> UInt8[Tensor, "3 Y X"]:
    """The whole picture as a square: nothing is cut off, so a share of its width stays the same share."""
    resize = v2.Compose([v2.ToImage(), v2.Resize((size, size), antialias=True)])
    return resize(np.array(pixels)).as_subclass(Tensor)


def normalised(
    pixels: UInt8[Tensor, "*B 3 Y X"], mean: tuple[float, ...], deviation: tuple[float, ...]
) -> Float[Tensor, "*B 3 Y X"]:
    change = v2.Compose([v2.ToDtype(torch.float32, scale=True), v2.Normalize(mean, deviation)])
    return change(pixels)
