"""Bodies that do not come: their clients are answered and let go, so that they hold no place of their app's."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

from loop.api import bodies
from tests.support.api import ADMIN, Api
from tests.support.command_line import served

_SILENT_SECONDS = 0.3


@pytest.fixture
def address(sqlite_api: Api, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, int]]:
    monkeypatch.setattr(bodies, "SILENT_SECONDS", _SILENT_SECONDS)
    sqlite_api.install()
    with served(sqlite_api.client.app) as url:
        yield "127.0.0.1", urlsplit(url).port or 0


def _begin(address: tuple[str, int], path: str, kind: str) -> socket.socket:
    client = socket.create_connection(address, timeout=30)
    client.sendall(
        f"POST {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {ADMIN}\r\nContent-Type: {kind}\r\n"
        'Content-Length: 2000\r\n\r\n{"fact":'.encode()
    )
    return client


def _all_of(client: socket.socket) -> bytes:
    """Return what is sent until the connection ends."""
    parts = []
    while part := client.recv(65536):
        parts.append(part)
    return b"".join(parts)


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/apps/chat/facts", "application/json"),
        ("/v1/chat/completions?appId=chat", "application/json"),
        ("/api/memory/projects/-home-me-app/sessions/s1?appId=chat", "application/x-ndjson"),
        ("/api/memory/projects/import?appId=chat", "application/zip"),
    ],
)
def test_a_body_of_which_nothing_comes_any_more_is_given_up(
    address: tuple[str, int], sqlite_api: Api, path: str, kind: str
) -> None:
    with _begin(address, path, kind) as client:
        said = _all_of(client)
    assert said.startswith(b"HTTP/1.1 408 "), said
    assert b"too_slow" in said and b"connection: close" in said.lower()
    assert list((sqlite_api.loop.settings.home / "sessions").rglob(".tmp-*")) == []


def test_a_body_that_comes_bit_by_bit_is_taken(address: tuple[str, int], sqlite_api: Api) -> None:
    body = b'{"fact": "Ada keeps a lathe."}'
    with socket.create_connection(address, timeout=30) as client:
        client.sendall(
            f"POST /apps/chat/facts HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {ADMIN}\r\nConnection: close\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode()
        )
        for at in range(len(body)):
            client.sendall(body[at : at + 1])
            time.sleep(_SILENT_SECONDS / 10)
        assert _all_of(client).startswith(b"HTTP/1.1 201 ")
    assert [one["fact"] for one in sqlite_api.ask("GET", "/apps/chat/facts")["facts"]] == ["Ada keeps a lathe."]


def test_what_comes_too_slowly_is_given_up_though_it_comes(
    address: tuple[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bodies, "_FREE_SECONDS", 1.0)
    with _begin(address, "/apps/chat/facts", "application/json") as client:
        client.settimeout(_SILENT_SECONDS / 3)
        for _ in range(100):
            client.sendall(b" ")
            try:
                said = client.recv(65536)
                break
            except TimeoutError:
                continue
    assert said.startswith(b"HTTP/1.1 408 ")
