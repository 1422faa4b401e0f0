"""Asking a loop from outside whether it can serve, over a real socket with a stand-in that says what the test wants."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from loop.embedded_redis import free_port
from loop.supervisor import Readiness
from loop.up import ask_readiness, welcome
from shared.base.settings import read_settings

_MODEL = {"ok": False, "needed": False, "detail": "It has no model tiny. Run: ollama pull tiny"}
_FINE = {"ok": True, "needed": True, "detail": "It answers."}


@contextmanager
def _loop(status: int, body: bytes) -> Iterator[int]:
    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Answer) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.parametrize(
    ("status", "body", "expected"),
    [
        (200, {"dependencies": {"redis": _FINE}}, Readiness(True, {})),
        (200, {"dependencies": {"redis": _FINE, "ollama": _MODEL}}, Readiness(True, {"ollama": str(_MODEL["detail"])})),
        (503, {"dependencies": {"ollama": _MODEL}}, Readiness(False, {"ollama": str(_MODEL["detail"])})),
        (404, ["a stranger"], Readiness(False, {})),
        (200, None, Readiness(True, {})),
    ],
    ids=["well", "without-its-model", "not-ready", "not-ours", "nothing-said"],
)
def test_a_loop_says_whether_it_can_serve_and_what_it_lacks(status: int, body: object, expected: Readiness) -> None:
    with _loop(status, json.dumps(body).encode()) as port:
        assert ask_readiness("127.0.0.1", port) == expected


def test_a_loop_that_does_not_answer_is_not_ready() -> None:
    found = ask_readiness("127.0.0.1", free_port())
    assert not found.ready
    assert "ConnectionRefusedError" in found.wrong["loop"]


def test_the_welcome_says_when_the_model_cannot_be_asked_and_what_to_do(tmp_path: Path) -> None:
    settings = read_settings(home=tmp_path, model="ollama:tiny")
    said = welcome("http://127.0.0.1:8700", "token", settings, Readiness(True, {"ollama": str(_MODEL["detail"])}))
    assert "ollama:tiny, which cannot be asked yet: It has no model tiny. Run: ollama pull tiny" in said
    assert "cannot be asked" not in welcome("http://127.0.0.1:8700", "token", settings, Readiness(True, {}))
