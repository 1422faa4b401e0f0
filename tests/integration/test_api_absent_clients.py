"""Clients that stop sending, or leave: they hold no place of their app's, and nothing is worked out for nobody."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from urllib.parse import urlsplit

import pytest
from sqlalchemy.orm import Session

from loop.api import admission, bodies
from shared.base.process import Client
from shared.search import candidates, search_queries
from shared.search.search_queries import PassageRow
from shared.search.view import ScopedView
from shared.telemetry.metrics import Refusal
from tests.support.api import ADMIN, Api
from tests.support.command_line import served
from tests.support.waiting import wait_until

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


def test_a_search_whose_client_leaves_is_given_up(
    sqlite_api: Api, address: tuple[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    api, text = sqlite_api, "The heron stands by the weir and waits for the eels. " * 400
    for number in range(3):
        api.converse("/apps/chat", f"c{number}", f"Day {number}. {text}")
    weighed: list[int] = []
    left: list[bool] = []
    at_work, go = threading.Event(), threading.Event()
    glance, read = candidates._glance, search_queries.whole_contents

    def wait(session: Session, keys: Sequence[int]) -> dict[int, str]:
        at_work.set()
        assert go.wait(30)
        return read(session, keys)

    def note(view: ScopedView, words: Iterable[str], passage: PassageRow, said: str) -> tuple[float, float]:
        weighed.append(passage.doc_id)
        return glance(view, words, passage, said)

    async def note_leaving(heard: admission._BufferedReceive, client: Client) -> None:
        await noticed(heard, client)
        left.append(client.has_left)

    noticed = admission._BufferedReceive.note_leaving
    monkeypatch.setattr(admission._BufferedReceive, "note_leaving", note_leaving)
    monkeypatch.setattr(search_queries, "whole_contents", wait)
    monkeypatch.setattr(candidates, "_glance", note)
    monkeypatch.setattr(candidates, "_WEIGHED", 3)
    body = b'{"query": "Where does the heron wait?"}'

    def ask() -> socket.socket:
        client = socket.create_connection(address, timeout=30)
        client.sendall(
            f"POST /apps/chat/search HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {ADMIN}\r\nConnection: close\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode()
            + body
        )
        assert at_work.wait(30)
        return client

    ask().close()
    wait_until(lambda: left, 30, "it to be noticed that its client left")
    go.set()
    given_up = api.loop.metrics.http_refused.labels(Refusal.LEFT)._value
    wait_until(lambda: given_up.get() == 1, 30, "it to be given up")
    assert weighed == []
    with ask() as stays:
        assert _all_of(stays).startswith(b"HTTP/1.1 200 ")
    assert weighed != []
