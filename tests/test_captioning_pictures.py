"""Pictures as files come: of any mode, turned, broken, too large."""

import io
import struct
import zlib

import numpy as np
import pytest
import torch
from PIL import Image

from core.public import DataError
from tasks.captioning.pictures import Photo, opened, squared


def encoded(image: Image.Image, format: str = "PNG", **how) -> bytes:
    file = io.BytesIO()
    image.save(file, format, **how)
    return file.getvalue()


def of_mode(mode: str) -> Image.Image:
    """Two pixels side by side, and what each is in red, green and blue on white."""
    image = Image.new(mode, (2, 1))
    pixels = {
        "L": (0, 200),
        "LA": ((0, 0), (200, 255)),
        "RGBA": ((0, 0, 0, 0), (200, 10, 10, 255)),
        "1": (0, 255),
        "I;16": (0, 65535),
    }[mode]
    for x, pixel in enumerate(pixels):
        image.putpixel((x, 0), pixel)
    return image


@pytest.mark.parametrize(
    "mode, wanted",
    [
        ("L", [(0, 0, 0), (200, 200, 200)]),
        ("LA", [(255, 255, 255), (200, 200, 200)]),
        ("RGBA", [(255, 255, 255), (200, 10, 10)]),
        ("1", [(0, 0, 0), (255, 255, 255)]),
        ("I;16", [(0, 0, 0), (255, 255, 255)]),
    ],
)
def test_modes(mode, wanted):
    assert [tuple(pixel) for pixel in np.asarray(opened(encoded(of_mode(mode)), "x"))[0].tolist()] == wanted


def test_a_palette_with_a_transparent_index():
    image = Image.new("P", (2, 1))
    image.putpalette([9, 9, 9, 200, 10, 10])
    image.putpixel((1, 0), 1)
    assert np.asarray(opened(encoded(image, transparency=0), "x"))[0].tolist() == [[255, 255, 255], [200, 10, 10]]


def test_cmyk():
    red = np.asarray(opened(encoded(Image.new("CMYK", (8, 8), (0, 255, 255, 0)), "JPEG"), "x"))
    assert abs(red.astype(int) - [255, 0, 0]).max() < 8


def test_a_turned_photo_stands_upright():
    image = Image.new("RGB", (4, 2), "black")
    image.paste((255, 255, 255), (0, 0, 2, 2))  # the left half is white; turned a quarter to the right it is on top
    exif = Image.Exif()
    exif[0x0112] = 6
    photo = Photo("x", lambda: encoded(image, exif=exif))
    assert photo.pixels().shape == (4, 2, 3) and photo.shown().shape == (4, 2, 3)
    assert (photo.pixels()[:2] == 255).all() and (photo.pixels()[2:] == 0).all()
    square = squared(photo.pixels(), 8)
    assert square.shape == (3, 8, 8) and square.dtype == torch.uint8
    assert square[:, :3].min() > 200 > 50 > square[:, 5:].max()


BROKEN = {
    "cut.jpg": encoded(Image.effect_noise((64, 64), 90), "JPEG")[:900],
    "empty.jpg": b"",
    "text.jpg": b"this is no picture",
    "cut.png": encoded(Image.effect_noise((64, 64), 90))[:900],
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_pictures_are_errors_with_their_names(name, tmp_path):
    (tmp_path / name).write_bytes(BROKEN[name])
    with pytest.raises(DataError, match=name):
        Photo.of_file(tmp_path / name).pixels()


def test_a_missing_file_and_a_folder(tmp_path):
    for path in (tmp_path / "none.jpg", tmp_path):
        with pytest.raises(DataError, match=path.name):
            Photo.of_file(path).pixels()


def giant(side: int) -> bytes:
    """A white png of one bit a pixel, packed."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", side, side, 1, 0, 0, 0, 0)
    row = b"\0" + b"\xff" * (side // 8)
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(row * side)) + chunk(b"IEND", b"")
    )


@pytest.mark.parametrize("side", [20_000, 12_000])
def test_a_giant_is_refused_with_its_name_and_size(side):
    limit = Image.MAX_IMAGE_PIXELS
    with pytest.raises(DataError, match=r"giant\.png.*(pixels|400000000)"):
        opened(giant(side), "giant.png")
    assert Image.MAX_IMAGE_PIXELS == limit is not None


def test_the_picture_of_a_map_is_small_and_keeps_its_proportions():
    assert Photo("x", lambda: encoded(Image.new("RGB", (1000, 500)))).shown().shape == (160, 320, 3)
