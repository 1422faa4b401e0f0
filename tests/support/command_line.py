"""The command line against the HTTP interface, served on a real port of this process."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
import uvicorn
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send
from structlog.testing import capture_logs

from loop.cli.program import main
from tests.support.api import ADMIN, Api
from tests.support.waiting import wait_until


@dataclass(frozen=True)
class Ran:
    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Standard output, which must be JSON and nothing else."""
        return json.loads(self.out)

    def rows(self) -> list[list[str]]:
        """The lines of a table, without its titles, cut where there are two blanks."""
        lines = [line.rstrip() for line in self.out.splitlines()]
        return [[cell.strip() for cell in line.split("  ") if cell.strip()] for line in lines[1:] if line]


class Busy:
    """ASGI middleware that answers 503 to every request but each ``n``-th; ``n`` of 1 lets all through."""

    def __init__(self, app: ASGIApp, n: int = 1) -> None:
        self._app = app
        self.n = n
        self.refused = 0
        self._count = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._count += 1
        if self._count % self.n == 0:
            await self._app(scope, receive, send)
            return
        self.refused += 1
        error = {"error": {"code": "transient", "message": "busy", "details": {}}}
        await JSONResponse(error, 503, {"Retry-After": "0"})(scope, receive, send)


@dataclass
class Terminal:
    api: Api
    url: str
    busy: Busy
    capsys: pytest.CaptureFixture[str]

    def run(self, *arguments: str, status: int = 0) -> Ran:
        return run(self.capsys, *arguments, status=status)

    def json(self, *arguments: str, status: int = 0) -> Any:
        return self.run(*arguments, "--json", status=status).json


def run(capsys: pytest.CaptureFixture[str], *arguments: str, status: int = 0) -> Ran:
    capsys.readouterr()
    with pytest.raises(SystemExit) as left:
        main(arguments)
    out, err = capsys.readouterr()
    assert left.value.code == status, (left.value.code, out, err)
    return Ran(status, out, err)


@contextlib.contextmanager
def served(app: ASGIApp) -> Iterator[str]:
    """Serve an application on a free port until the block ends; gives its address."""
    # The server's log would otherwise stand between the lines of the command's output.
    with capture_logs(), socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        server = uvicorn.Server(uvicorn.Config(app, log_config=None, access_log=False, lifespan="off"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            wait_until(lambda: server.started, 20, "the server")
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()


@contextlib.contextmanager
def typing_at(api: Api, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Terminal]:
    """Serve an interface to a shell that has its address and the admin's token."""
    busy = Busy(api.client.app)
    with served(busy) as url:
        monkeypatch.setenv("AFTERTHOUGHT_URL", url)
        monkeypatch.setenv("AFTERTHOUGHT_TOKEN", ADMIN)
        yield Terminal(api, url, busy, capsys)
