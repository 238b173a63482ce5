"""The probe that decides whether a default run can have its public set."""

import threading
import time

import httpx
import pytest
from huggingface_hub.errors import RepositoryNotFoundError

from core import public
from core.public import reachable

REQUEST = httpx.Request("GET", "https://hub/api/datasets/some/Pairs")


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """An empty cache, and no network but the one that a test makes up."""
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "cache")
    monkeypatch.setattr("socket.socket.connect", lambda *_: pytest.fail("a connection was opened"))
    return tmp_path / "cache"


@pytest.fixture
def hub(monkeypatch):
    """Gives the hub a behaviour: a function in the place of the request."""

    def behave(answer):
        class Hub:
            def dataset_info(self, path, timeout):
                return answer()

        monkeypatch.setattr("huggingface_hub.HfApi", Hub)

    return behave


def failing(error: Exception):
    def answer():
        raise error

    return answer


def test_a_local_folder(tmp_path, hub):
    hub(lambda: pytest.fail("asked"))
    assert reachable(str(tmp_path))


def test_a_hub_that_knows_the_set(hub):
    hub(lambda: "all about it")
    assert reachable("some/Pairs")


def test_a_hub_that_answers_not_found_is_reachable(hub):
    hub(failing(RepositoryNotFoundError("404", response=httpx.Response(404, request=REQUEST))))
    assert reachable("some/Pairs")


@pytest.mark.parametrize(
    "error",
    [
        httpx.ConnectError("no route", request=REQUEST),
        httpx.ConnectTimeout("no answer", request=REQUEST),
        httpx.ProxyError("refused", request=REQUEST),
        ConnectionError("reset"),
        TimeoutError(),
    ],
    ids=lambda error: type(error).__name__,
)
def test_no_route_and_no_answer(hub, error):
    hub(failing(error))
    assert not reachable("some/Pairs")


def test_a_probe_that_hangs_is_left_behind(hub, monkeypatch):
    monkeypatch.setattr(public, "PROBE_SECONDS", 0.2)
    released = threading.Event()
    hub(lambda: released.wait(20))
    begun = time.monotonic()
    assert not reachable("some/Pairs")
    assert time.monotonic() - begun < 2
    released.set()


def test_offline_only_what_is_in_the_cache_is_reachable(cache, monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    assert not reachable("some/Pairs")
    broken_off = cache / "some___pairs" / "default" / "0.0.0" / "abc"
    broken_off.mkdir(parents=True)
    assert not reachable("some/Pairs")
    (broken_off / "dataset_info.json").write_text("{}")
    assert reachable("some/Pairs") and not reachable("other/Pairs")
