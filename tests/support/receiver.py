"""An HTTP receiver of webhooks on loopback that checks signatures with code of its own, and misbehaves on demand."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import hmac
import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Behave = Callable[[BaseHTTPRequestHandler], None]
"""Answers one request in a way of its own."""


@dataclass(frozen=True)
class Received:
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def message_id(self) -> str:
        return self.headers["webhook-id"]

    def is_signed_with(self, secret: str) -> bool:
        """Whether the signature is the secret's. Source: Standard Webhooks."""
        key = base64.b64decode(secret.split("_", 1)[1])
        signed = f"{self.message_id}.{self.headers['webhook-timestamp']}.".encode() + self.body
        wanted = base64.b64encode(hmac.digest(key, signed, hashlib.sha256)).decode()
        return self.headers["webhook-signature"] == f"v1,{wanted}"


@dataclass
class Receiver:
    """What came, and what is to be answered: the statuses in order, then 204."""

    port: int = 0
    statuses: list[int] = field(default_factory=list)
    behave: Behave | None = None
    received: list[Received] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hook?a=b"


@contextlib.contextmanager
def receiving() -> Iterator[Receiver]:
    receiver = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            receiver.received.append(Received(self.path, headers, body))
            if receiver.behave is not None:
                receiver.behave(self)
                return
            self.send_response(receiver.statuses.pop(0) if receiver.statuses else 204)
            self.send_header("Location", f"http://127.0.0.1:{receiver.port}/elsewhere")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    class Server(ThreadingHTTPServer):
        def handle_error(self, *_: object) -> None:
            """A client that hangs up at its deadline is what is tested."""

    with Server(("127.0.0.1", 0), Handler) as server:
        receiver.port = server.server_address[1]
        serving = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        serving.start()
        try:
            yield receiver
        finally:
            server.shutdown()
            serving.join()
