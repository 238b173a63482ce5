"""Fonts for labels in any script: which families show a text, and a notice where none does."""

import unicodedata
import warnings
from collections.abc import Iterable
from contextlib import suppress
from functools import cache

import numpy as np
from matplotlib.font_manager import FontEntry, findfont, findSystemFonts, fontManager
from matplotlib.ft2font import FaceFlags, FT2Font

FONT = "DejaVu Sans"
"""The font that comes with matplotlib."""


def families_for(text: str) -> list[str]:
    """Font families that show every character of a text, as far as installed fonts can."""
    families, missing = [FONT], {each for each in text if unicodedata.category(each)[0] not in "CZ"}
    missing -= shown_by(findfont(FONT), 0, missing)
    fonts = installed(text) if missing else []
    enough = next((font for font in fonts if shown_by(font.fname, font.index, missing) == missing), None)
    best = [enough] if enough else sorted(fonts, key=lambda each: -len(shown_by(each.fname, each.index, missing)))
    for font in best:
        if shown := shown_by(font.fname, font.index, missing):
            families.append(font.name)
            missing -= shown
    if missing:
        warn_of_boxes(_scripts(missing))
    return families


def installed(text: str) -> list[FontEntry]:
    """Upright fonts, best first for a text's language; also those installed since matplotlib made its list."""
    for path in sorted(set(findSystemFonts()) - {each.fname for each in fontManager.ttflist}):
        with suppress(RuntimeError, OSError):
            fontManager.addfont(path)
    scripts = _scripts(text)
    region = "KR" if "HANGUL" in scripts else "JP" if scripts & {"HIRAGANA", "KATAKANA"} else "SC"
    # The last resort font claims every character, and draws a box.
    real = [each for each in fontManager.ttflist if each.style == "normal" and not each.name.startswith("Last Resort")]
    return sorted(real, key=lambda font: (font.name not in ("Noto Sans", f"Noto Sans CJK {region}"), font.name))


def shown_by(path: str, face: int, characters: set[str]) -> set[str]:
    """Those of the characters that a font has."""
    codes = np.array([ord(each) for each in characters], dtype=np.uint32)
    return {chr(code) for code in np.intersect1d(codes, _charmap(path, face))}


@cache
def _charmap(path: str, face: int) -> np.ndarray:
    """Codes of all characters of a font; none where it cannot be read, or not be scaled."""
    with suppress(RuntimeError, OSError):
        font = FT2Font(path, face_index=face)
        return np.array(list(font.get_charmap()) * (FaceFlags.SCALABLE in font.face_flags), dtype=np.uint32)
    return np.array([], dtype=np.uint32)


def _scripts(text: Iterable[str]) -> frozenset[str]:
    """First words of the characters' names, which for letters are their scripts."""
    return frozenset(unicodedata.name(each, "UNNAMED").replace("-", " ").split()[0] for each in text)


@cache
def warn_of_boxes(scripts: frozenset[str]) -> None:
    """Once for each set of scripts, not once for each picture."""
    warnings.warn(
        f"No installed font has the {', '.join(sorted(scripts))} characters of these labels; the picture shows boxes "
        "(saved labels are complete). Install a font and draw again: Noto Sans CJK for Chinese, Japanese and Korean "
        "(Debian: apt install fonts-noto-cjk); for others see https://fonts.google.com/noto.",
        stacklevel=2,
    )
