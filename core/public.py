"""Public data sets through `datasets`: the probe, the loading, and errors that name the ways out."""

import logging
import os
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from datasets import Dataset, load_dataset

PROBE_SECONDS = 3.0
ADDRESS = ("http://", "https://")
FILES = (".tsv", ".csv", ".jsonl", ".txt", ".parquet")
WAYS_OUT = (
    "Ways out: a mirror with HF_ENDPOINT=https://..., a local copy with data.path=DIR, "
    "or the built-in set with data=toy."
)


class DataError(ValueError):
    """A data set that cannot be used: what was found, what was wanted, and the ways out."""


def reachable(path: str) -> bool:
    """Whether a data set can be had: a local folder, a copy in the cache, or a hub that answers within three seconds;
    or whether the machine of an address, https://..., answers so soon.

    Only this probe may send a default run to the built-in set: no route, no name, no connection, no answer. A hub that
    answers is reachable, also when it answers "not found"; loading says so then.
    """
    address = path.startswith(ADDRESS)
    if not address and (not _is_hub_id(path) or Path(path).expanduser().exists() or _cached(path)):
        return True  # if a local path is wrong, loading says so
    answer = _address_answers if address else _hub_answers
    answers: list[bool] = []
    # A name that does not resolve can hang longer than a request's time limit: so a thread, left behind if need be.
    probe = threading.Thread(target=lambda: answers.append(answer(path)), daemon=True)
    probe.start()
    probe.join(PROBE_SECONDS)
    return bool(answers and answers[0])


def _is_hub_id(path: str) -> bool:
    """Whether a path can be OWNER/NAME on the hub, and not a file or a folder."""
    return not path.startswith((".", "/", "~")) and path.count("/") == 1 and Path(path).suffix not in FILES


def _cached(path: str) -> bool:
    from datasets.config import HF_DATASETS_CACHE
    from datasets.naming import camelcase_to_snakecase

    *owner, name = path.split("/")
    folder = Path(HF_DATASETS_CACHE) / "___".join([*owner, camelcase_to_snakecase(name)])
    return any(folder.rglob("dataset_info.json"))  # a download that broke off has none


def _address_answers(address: str) -> bool:
    try:
        urlopen(Request(address, method="HEAD"), timeout=PROBE_SECONDS).close()
    except HTTPError:  # any answer is an answer: loading will say what is wrong with it
        return True
    except (OSError, ValueError):
        return False
    return True


def _hub_answers(path: str) -> bool:
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HfHubHTTPError

    try:
        HfApi().dataset_info(path, timeout=PROBE_SECONDS)
    except (HfHubHTTPError, ValueError):  # any answer is an answer: loading will say what is wrong with it
        return True
    except Exception:  # no connection; what that raises changes with the client that the hub's library is built on
        return False
    return True


def load_public(
    path: str, *, columns: Sequence[str], splits: Sequence[str], name: str | None = None
) -> Mapping[Any, Dataset]:
    """The data set at a hub id or in a local folder of the same layout, with these columns in these splits.

    `name` is the configuration, where the set has several.

    Raises:
        DataError: if it cannot be loaded, or lacks a split or a column; what was found and wanted is named.
    """
    local = Path(path).expanduser()
    if not local.exists() and not _is_hub_id(path):
        raise DataError(f"data.path={path}: there is no such folder (from {os.getcwd()}). {WAYS_OUT}")
    logging.getLogger("huggingface_hub.repocard").setLevel(logging.ERROR)  # a folder needs no card
    try:
        loaded = load_dataset(str(local) if local.exists() else path, name)
    except Exception as error:
        raise DataError(f"data.path={path} cannot be loaded: {_first_line(error)}. {WAYS_OUT}") from error
    missing = [split for split in splits if split not in loaded]
    if missing:
        raise DataError(f"data.path={path} lacks the splits {missing}; it has {list(loaded)}.")
    found = loaded[splits[0]].column_names
    if not set(columns) <= set(found):
        raise DataError(f"data.path={path}: found the columns {found}, wanted {list(columns)}.")
    return loaded


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return f"{type(error).__name__}: {lines[0].rstrip('.')}"
