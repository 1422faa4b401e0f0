"""A server that speaks Ollama's wire protocol on loopback and does what a test tells it to, call by call.

Without a script it gives deterministic, sensible answers to the questions of this project, so that whole-system tests
can run against it. Run it alone with ``python -m tests.support.ollama_server --port 11434``; it prints its address.
"""

from __future__ import annotations

import argparse
import json
import re
import socket
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.support.ollama_answers import embedding, sensible_answer, sensible_tools

VERSION = "0.12.3"
_MADE_AT = "2025-01-01T00:00:00Z"


@dataclass(frozen=True)
class Act:
    """What the server does with one /api/chat call; without anything set it answers sensibly."""

    answer: dict[str, Any] | str | None = None
    """An object is sent as JSON, a text as it stands."""
    status: int = 200
    error: str = "refused by the test"
    drip_seconds: float = 0.0
    """Pause between chunks; then each chunk is one character."""
    stall: bool = False
    """Say nothing until the server is told to go on or closes."""
    stall_after: int | None = None
    """Stall after so many chunks."""
    close_after: int | None = None
    """Break the connection after so many chunks; 0 is before any header."""
    end_after: int | None = None
    """End the stream in good order after so many chunks, without the final one."""
    error_after: int | None = None
    """Send an error line after so many chunks."""
    garbage: bool = False
    """Send a line that is not JSON."""
    seen_tokens: int | None = -1
    """prompt_eval_count: -1 counts honestly, None leaves it out."""
    said_tokens: int = -1
    """eval_count: -1 counts honestly."""
    done_reason: str = "stop"
    load_seconds: float = 0.0
    """How long it loads the model first; it says so, as Ollama does."""
    tools: tuple[tuple[str, Any], ...] = ()
    """Tools the model wants used, as (name, arguments)."""


@dataclass
class Script:
    """What is still to be done, and what was asked; shared by the server's threads."""

    models: list[str]
    acts: deque[Act] = field(default_factory=deque)
    requests: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    go_on: threading.Event = field(default_factory=threading.Event)
    hung_up: threading.Event = field(default_factory=threading.Event)
    """Set when a client went away before its answer was complete."""
    arrived: threading.Condition = field(default_factory=threading.Condition)
    answers: Callable[[dict[str, Any]], dict[str, Any] | None] = lambda _: None
    """What a chat's body is answered where no act is left; None: sensibly."""
    away: int | None = None
    """What a proxy says to everybody while there is no server behind it; 0: it takes the connection and breaks it."""


class OllamaServer:
    """The server as a context manager; ``url`` is its address."""

    def __init__(
        self,
        *acts: Act,
        models: tuple[str, ...] = ("tiny:latest", "embedder:latest"),
        port: int = 0,
        answers: Callable[[dict[str, Any]], dict[str, Any] | None] = lambda _: None,
    ) -> None:
        self.script = Script(list(models), deque(acts), answers=answers)
        self._server = _Server(("127.0.0.1", port), self.script)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def chats(self) -> list[dict[str, Any]]:
        """The bodies of the /api/chat calls so far."""
        return [body for path, body in self.script.requests if path == "/api/chat"]

    def will(self, *acts: Act) -> None:
        """Add to what it will do; an ``Act()`` is the sensible answer."""
        self.script.acts.extend(acts)

    def go_on(self) -> None:
        """Let what is stalled continue."""
        self.script.go_on.set()

    def wait_for_chats(self, count: int, seconds: float = 10.0) -> None:
        """Wait until ``count`` calls have arrived."""
        with self.script.arrived:
            if not self.script.arrived.wait_for(lambda: len(self.chats) >= count, seconds):
                raise TimeoutError(f"only {len(self.chats)} of {count} calls arrived")

    def wait_for_hang_up(self, seconds: float = 10.0) -> bool:
        """Wait until a client has gone away early; False when none has."""
        return self.script.hung_up.wait(seconds)

    def __enter__(self) -> OllamaServer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.script.go_on.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = False
    block_on_close = True

    def __init__(self, address: tuple[str, int], script: Script) -> None:
        super().__init__(address, _Handler)
        self.script = script
        self._open: set[socket.socket] = set()

    def get_request(self) -> tuple[socket.socket, Any]:
        connection, address = super().get_request()
        self._open.add(connection)
        return connection, address

    def shutdown_request(self, request: Any) -> None:
        self._open.discard(request)
        super().shutdown_request(request)

    def server_close(self) -> None:
        # A client may keep its connection; waiting for its thread would then never end.
        for connection in list(self._open):
            _shut(connection)
        super().server_close()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of clients that go away: they are part of the tests."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server

    def do_GET(self) -> None:
        self._answer({})

    def do_POST(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        self._answer(json.loads(self.rfile.read(length) or b"{}"))

    def log_message(self, format: str, *args: Any) -> None:
        """Keep the test's output clean."""

    def _answer(self, body: dict[str, Any]) -> None:
        script = self.server.script
        with script.arrived:
            script.requests.append((self.path, body))
            script.arrived.notify_all()
        if script.away is not None:
            self._json(script.away, {"error": "nobody is behind this"}) if script.away else self._break_off()
            return
        routes = {
            "/api/version": lambda _: {"version": VERSION},
            "/api/tags": lambda _: {"models": [{"name": name, "model": name} for name in script.models]},
            "/api/ps": lambda _: {"models": []},
            "/api/show": self._show,
            "/api/embed": self._embed,
        }
        if self.path == "/api/chat":
            self._chat(body)
        elif self.path in routes:
            answer = routes[self.path](body)
            if answer is not None:
                self._json(200, answer)
        else:
            self._json(404, {"error": "404 page not found"})

    def _missing(self, body: dict[str, Any]) -> bool:
        name = str(body.get("model", ""))
        if name in self.server.script.models or f"{name}:latest" in self.server.script.models:
            return False
        self._json(404, {"error": f"model '{name}' not found"})
        return True

    def _show(self, body: dict[str, Any]) -> dict[str, Any] | None:
        return None if self._missing(body) else {"details": {"family": "test"}, "capabilities": ["completion"]}

    def _embed(self, body: dict[str, Any]) -> dict[str, Any] | None:
        if self._missing(body):
            return None
        texts = [body["input"]] if isinstance(body["input"], str) else body["input"]
        count = sum(map(count_tokens, texts))
        return {"model": body["model"], "embeddings": [embedding(text) for text in texts], "prompt_eval_count": count}

    def _chat(self, body: dict[str, Any]) -> None:
        script = self.server.script
        if self._missing(body):
            return
        act = script.acts.popleft() if script.acts else Act(answer=script.answers(body))
        if act.status != 200:
            self._json(act.status, {"error": act.error})
        elif act.close_after == 0:
            self._break_off()
        elif body.get("stream", True):
            self._stream(act, body)
        else:
            self._whole(act, body)

    def _whole(self, act: Act, body: dict[str, Any]) -> None:
        if act.stall:
            self.server.script.go_on.wait()
        text = _text(act, body)
        self._json(200, {**_final(act, body, text), "message": {"role": "assistant", "content": text}})

    def _stream(self, act: Act, body: dict[str, Any]) -> None:
        if act.stall:
            self.server.script.go_on.wait()
        try:
            self._send_chunks(act, body)
        except OSError:
            self.server.script.hung_up.set()
            self.close_connection = True

    def _send_chunks(self, act: Act, body: dict[str, Any]) -> None:
        time.sleep(act.load_seconds)
        self.send_response(200)
        self.send_header("Content-Type", "application/x-ndjson")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        text = _text(act, body)
        for number, piece in enumerate(_pieces(text, act)):
            if not self._goes_on(act, number):
                return
            self._chunk(
                {
                    "model": body["model"],
                    "created_at": _MADE_AT,
                    "done": False,
                    "message": {"role": "assistant", "content": piece},
                }
            )
            time.sleep(act.drip_seconds)
        for name, arguments in _tools(act, body):
            wish = {"function": {"name": name, "arguments": arguments}}
            self._chunk(
                {
                    "model": body["model"],
                    "created_at": _MADE_AT,
                    "done": False,
                    "message": {"role": "assistant", "content": "", "tool_calls": [wish]},
                }
            )
        if act.garbage:
            self._write(b"<html>not what you asked for</html>\n")
        else:
            self._chunk({**_final(act, body, text), "message": {"role": "assistant", "content": ""}})
        self.wfile.write(b"0\r\n\r\n")

    def _goes_on(self, act: Act, number: int) -> bool:
        """Do what the act has for this place of the stream; False when nothing more may be sent."""
        if number == act.stall_after:
            self.server.script.go_on.wait()
        if number == act.close_after:
            self._break_off()
            return False
        if number == act.error_after:
            self._chunk({"error": act.error})
        if number in (act.error_after, act.end_after):
            self.wfile.write(b"0\r\n\r\n")
            return False
        return True

    def _chunk(self, value: dict[str, Any]) -> None:
        self._write(json.dumps(value).encode() + b"\n")

    def _write(self, line: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(line), line))

    def _break_off(self) -> None:
        self.close_connection = True
        _shut(self.connection)

    def _json(self, status: int, value: dict[str, Any]) -> None:
        line = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(line)))
        self.end_headers()
        self.wfile.write(line)


def _shut(connection: socket.socket) -> None:
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        return  # the client was quicker


def _text(act: Act, body: dict[str, Any]) -> str:
    if act.answer is None and (act.tools or body.get("tools")):
        return ""
    answer = sensible_answer(body) if act.answer is None else act.answer
    return answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)


def _tools(act: Act, body: dict[str, Any]) -> tuple[tuple[str, Any], ...]:
    if act.tools or act.answer is not None or not body.get("tools"):
        return act.tools
    return sensible_tools(body)


def _pieces(text: str, act: Act) -> Iterator[str]:
    size = 1 if act.drip_seconds else 8
    return (text[start : start + size] for start in range(0, max(len(text), 1), size))


def count_tokens(text: str) -> int:
    """Return what this server takes for tokens: words and marks, as tokenizers divide a text before anything else."""
    return len(re.findall(r"\w+|[^\w\s]", text))


def _final(act: Act, body: dict[str, Any], text: str) -> dict[str, Any]:
    window = int(body.get("options", {}).get("num_ctx", 4096))
    prompt = sum(count_tokens(str(message.get("content") or "")) + 4 for message in body["messages"])
    seen = min(prompt, window) if act.seen_tokens == -1 else act.seen_tokens
    said = count_tokens(text) + 1 if act.said_tokens == -1 else act.said_tokens
    counts = {} if seen is None else {"prompt_eval_count": seen, "eval_count": said}
    return {
        "model": body["model"],
        "created_at": _MADE_AT,
        "done": True,
        "done_reason": act.done_reason,
        "total_duration": 1_000_000,
        "load_duration": round(act.load_seconds * 1e9),
        **counts,
    }


def main() -> None:
    """Serve until interrupted."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--model", action="append", default=[], help="a model it has; may be repeated")
    options = parser.parse_args()
    with OllamaServer(models=tuple(options.model) or ("tiny:latest", "embedder:latest"), port=options.port) as server:
        print(server.url, flush=True)
        try:
            threading.Event().wait()
        except KeyboardInterrupt:
            return


if __name__ == "__main__":
    main()
