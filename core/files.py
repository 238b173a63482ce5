"""Files that are written whole or not at all."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A file to write that appears under its name only when complete; an error leaves what was there before."""
    path = Path(path)
    draft = path.with_name(f".{secrets.token_hex(6)}.part")
    try:
        with open(draft, "xb") as file:
            yield file
        os.replace(draft, path)
    finally:
        draft.unlink(missing_ok=True)
