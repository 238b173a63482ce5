"""Text from files of one's own, or from an address: one text a file, with its lines as they are."""

import gzip
import zlib
from collections.abc import Sequence
from pathlib import Path

from core.public import ADDRESS, DataError
from core.text import lines_of

ENDINGS = (".txt", ".txt.gz")


def read_text(path: str) -> tuple[str, int]:
    """The text at an address, in a file, or in all .txt and .txt.gz files of a folder, by name; and how many files.

    Texts of several files follow each other with an empty line between them.

    Raises:
        DataError: naming the file, what is wrong with it, and the way out.
    """
    if path.startswith(ADDRESS):
        return downloaded(path), 1
    place = Path(path).expanduser()
    files = files_of(place) if place.is_dir() else [place]
    texts = [read_file(file) for file in files]
    return "\n\n".join(text.rstrip("\n") for text in texts) + "\n", len(files)


def files_of(folder: Path) -> Sequence[Path]:
    files = sorted(file for file in folder.iterdir() if file.name.endswith(ENDINGS))
    if not files:
        raise DataError(f"data.path={folder}: there is no file in it that ends in {' or '.join(ENDINGS)}")
    return files


def read_file(file: Path) -> str:
    """A text in UTF-8, perhaps packed by gzip; lines may end in \\r\\n."""
    try:
        data = file.read_bytes()
        if data.startswith(b"\x1f\x8b"):
            data = gzip.decompress(data)
        return "\n".join(lines_of(data, str(file))) + "\n"
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DataError(f"{file} is a damaged gzip file: {error}") from error
    except OSError as error:
        raise DataError(f"cannot read {file}: {error.strerror}. Give a file with data.path=FILE") from error
    except ValueError as error:
        raise DataError(str(error)) from error


def downloaded(address: str) -> str:
    """What the `text` loader of `datasets` finds at an address; it keeps a copy in its cache."""
    from datasets import load_dataset

    try:
        rows = load_dataset("text", data_files=address, sample_by="document", split="train")
    except Exception as error:
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise DataError(
            f"data.path={address} cannot be read: {reason}. Ways out: a file with data.path=FILE, or the built-in set "
            "with data=toy."
        ) from error
    return "\n\n".join(rows["text"])
