"""The probe that decides whether a default run can have its public set, against hubs on this machine."""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

import huggingface_hub
import pytest

from core import public
from core.public import reachable

HOME = "127.0.0.1"


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """An empty cache, and a client that is made anew, without a proxy."""
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "cache")
    monkeypatch.setenv("NO_PROXY", "*")
    huggingface_hub.close_session()
    yield tmp_path / "cache"
    huggingface_hub.close_session()


@pytest.fixture
def hub(monkeypatch):
    """Says which port of this machine is the hub."""
    return lambda port: monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", f"http://{HOME}:{port}")


@contextmanager
def answering(status: int, body: bytes) -> Iterator[int]:
    """The port of a hub that answers all requests alike."""

    class Hub(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    with HTTPServer((HOME, 0), Hub) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        yield server.server_port
        server.shutdown()


@contextmanager
def silent() -> Iterator[int]:
    """The port of a hub that takes a connection and never says anything."""
    with socket.create_server((HOME, 0)) as server:
        yield server.getsockname()[1]


def test_a_local_folder_is_not_asked_for(tmp_path, monkeypatch):
    monkeypatch.setattr(public, "_hub_answers", lambda path: pytest.fail("asked"))
    assert reachable(str(tmp_path))


@pytest.mark.parametrize("status", [200, 401, 403, 404, 500])
def test_a_hub_that_answers_is_reachable_whatever_it_says(hub, status):
    with answering(status, b'{"id": "some/Pairs", "siblings": []}') as port:
        hub(port)
        assert reachable("some/Pairs")


def test_nobody_there(hub):
    with silent() as port:
        pass
    hub(port)
    assert not reachable("some/Pairs")


def test_a_name_that_nobody_knows(monkeypatch):
    def unknown(*_, **__):
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    assert not reachable("some/Pairs")


def test_a_hub_that_does_not_answer_in_time(hub, monkeypatch):
    monkeypatch.setattr(public, "PROBE_SECONDS", 0.2)
    begun = time.monotonic()
    with silent() as port:
        hub(port)
        assert not reachable("some/Pairs")
    assert time.monotonic() - begun < 2


def test_a_probe_that_hangs_is_left_behind(monkeypatch):
    monkeypatch.setattr(public, "PROBE_SECONDS", 0.2)
    released = threading.Event()
    monkeypatch.setattr(public, "_hub_answers", lambda path: released.wait(20))
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
