"""A server of language models on loopback that does what a test tells it to, call by call, in a protocol left open.

Without a script it gives deterministic, sensible answers to the questions of this project, so that whole-system tests
can run against it. The protocols are ``ollama_server``, ``openai_server`` and ``anthropic_server``.
"""

from __future__ import annotations

import json
import re
import socket
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from tests.support.ollama_answers import sensible_answer, sensible_tools


@dataclass(frozen=True)
class Act:
    """What the server does with one call of a chat; without anything set it answers sensibly."""

    answer: dict[str, Any] | str | None = None
    """An object is sent as JSON, a text as it stands."""
    status: int = 200
    error: str = "refused by the test"
    """What an error says; ``{key}`` stands for whatever the request showed to be let in."""
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
    whole: bool = False
    """Answer in one piece of JSON, though a stream was asked for, as a whole answer of each protocol is."""
    garbage: bool = False
    """Send a line that is not JSON."""
    seen_tokens: int | None = -1
    """Length of the prompt: -1 counts honestly, None reports no usage."""
    said_tokens: int = -1
    """Length of the answer: -1 counts honestly."""
    done_reason: str = "stop"
    load_seconds: float = 0.0
    """How long it loads the model first; Ollama says so."""
    read_seconds: float = 0.001
    """How long it says that it read the prompt; Ollama does."""
    write_seconds: float = 0.001
    """How long it says that it wrote the answer."""
    tools: tuple[tuple[str, Any], ...] = ()
    """Tools the model wants used, as (name, arguments)."""
    refused: bool = False
    """Whether the model declines to answer."""


@dataclass
class Script:
    """What is still to be done, and what was asked; shared by the server's threads."""

    models: list[str]
    acts: deque[Act] = field(default_factory=deque)
    requests: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    keys: list[str | None] = field(default_factory=list)
    """What each request showed to be let in."""
    go_on: threading.Event = field(default_factory=threading.Event)
    hung_up: threading.Event = field(default_factory=threading.Event)
    """Set when a client went away before its answer was complete."""
    arrived: threading.Condition = field(default_factory=threading.Condition)
    answers: Callable[[dict[str, Any]], dict[str, Any] | None] = lambda _: None
    """What a chat's body is answered where no act is left; None: sensibly."""
    takes_tools: bool = True
    """Whether its models can use tools; where not, a chat that offers any is refused in Ollama's words."""
    away: int | None = None
    """What a proxy says to everybody while there is no server behind it; 0: it takes the connection and breaks it."""
    shown: dict[str, Any] = field(default_factory=dict)
    """What it tells of each model beside its name."""
    props: dict[str, Any] = field(default_factory=dict)
    """What it tells of itself, as llama.cpp does."""


class ModelServer:
    """The server as a context manager; ``url`` is its address."""

    handler: type[Handler]
    chat_path: str

    def __init__(
        self,
        *acts: Act,
        models: tuple[str, ...] = ("tiny:latest", "embedder:latest"),
        port: int = 0,
        answers: Callable[[dict[str, Any]], dict[str, Any] | None] = lambda _: None,
        shown: dict[str, Any] | None = None,
        props: dict[str, Any] | None = None,
    ) -> None:
        self.script = Script(list(models), deque(acts), answers=answers, shown=shown or {}, props=props or {})
        self._server = _Server(("127.0.0.1", port), self.handler, self.script)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def chats(self) -> list[dict[str, Any]]:
        return [body for path, body in self.script.requests if path == self.chat_path]

    @property
    def asked(self) -> list[dict[str, Any]]:
        """The same, in Ollama's words, whatever the protocol."""
        return [self.handler.asked(body) for body in self.chats]

    def will(self, *acts: Act) -> None:
        """Add to what it will do; an ``Act()`` is the sensible answer."""
        self.script.acts.extend(acts)

    def go_on(self) -> None:
        self.script.go_on.set()

    def wait_for_chats(self, count: int, seconds: float = 10.0) -> None:
        with self.script.arrived:
            if not self.script.arrived.wait_for(lambda: len(self.chats) >= count, seconds):
                raise TimeoutError(f"only {len(self.chats)} of {count} calls arrived")

    def wait_for_hang_up(self, seconds: float = 10.0) -> bool:
        """Wait until a client has gone away early; False when none has."""
        return self.script.hung_up.wait(seconds)

    def __enter__(self) -> Self:
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

    def __init__(self, address: tuple[str, int], handler: type[Handler], script: Script) -> None:
        super().__init__(address, handler)
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


class Handler(BaseHTTPRequestHandler):
    """One connection; what a protocol says is in its subclass."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server
    content_type = "text/event-stream"
    chat_path: str

    def get(self, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        raise NotImplementedError

    def error(self, status: int, message: str) -> dict[str, Any]:
        return {"error": {"message": message, "type": "test", "param": None, "code": None}}

    @staticmethod
    def asked(body: dict[str, Any]) -> dict[str, Any]:
        """Return a chat's body with ``messages``, ``format``, ``tools`` and ``options`` as Ollama has them."""
        return body

    def opening(self, act: Act, body: dict[str, Any]) -> Iterator[bytes]:
        yield from ()

    def piece(self, text: str, body: dict[str, Any]) -> bytes:
        raise NotImplementedError

    def tool(self, number: int, name: str, arguments: Any, body: dict[str, Any]) -> Iterator[bytes]:
        raise NotImplementedError

    def failing(self, act: Act) -> bytes:
        raise NotImplementedError

    def ending(self, act: Act, body: dict[str, Any], prompt: int | None, said: int) -> Iterator[bytes]:
        """Yield what ends a stream; ``prompt`` None: no usage is reported."""
        raise NotImplementedError

    def do_GET(self) -> None:
        self._answer({})

    def do_POST(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        self._answer(json.loads(self.rfile.read(length) or b"{}"))

    def log_message(self, format: str, *args: Any) -> None:
        """Keep the test's output clean."""

    @property
    def key(self) -> str | None:
        return self.headers.get("Authorization") or self.headers.get("x-api-key")

    def has(self, name: str) -> bool:
        return name in self.server.script.models or f"{name}:latest" in self.server.script.models

    def _answer(self, body: dict[str, Any]) -> None:
        script = self.server.script
        with script.arrived:
            script.requests.append((self.path, body))
            script.keys.append(self.key)
            script.arrived.notify_all()
        if script.away is not None:
            self.send_json(
                script.away, self.error(script.away, "nobody is there")
            ) if script.away else self._break_off()
        elif self.path == self.chat_path:
            self._chat(body)
        else:
            self.send_json(*self.get(body))

    def _chat(self, body: dict[str, Any]) -> None:
        script = self.server.script
        if not self.has(str(body.get("model", ""))):
            self.send_json(404, self.error(404, "model not found"))
            return
        if body.get("tools") and not script.takes_tools:
            self.send_json(400, self.error(400, f"registry.ollama.ai/library/{body['model']} does not support tools"))
            return
        act = script.acts.popleft() if script.acts else Act(answer=script.answers(body))
        act = replace(act, error=act.error.replace("{key}", self.key or ""))
        if act.status != 200:
            self.send_json(act.status, self.error(act.status, act.error))
        elif act.close_after == 0:
            self._break_off()
        elif act.whole:
            said = {"role": "assistant", "content": act.answer}
            of_each = {"choices": [{"index": 0, "message": said, "finish_reason": "stop"}], "object": "chat.completion"}
            of_each |= {"id": "1", "model": body["model"], "message": said, "done": True, "done_reason": "stop"}
            self.send_json(200, of_each)
        else:
            self._stream(act, body)

    def _stream(self, act: Act, body: dict[str, Any]) -> None:
        if act.stall:
            self.server.script.go_on.wait()
        try:
            self.send_answer(act, body)
        except OSError:
            self.server.script.hung_up.set()
            self.close_connection = True

    def send_answer(self, act: Act, body: dict[str, Any]) -> None:
        time.sleep(act.load_seconds)
        self.send_response(200)
        self.send_header("Content-Type", self.content_type)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        asked = self.asked(body)
        text = text_of(act, asked)
        self._write(*self.opening(act, body))
        for number, piece in enumerate(_pieces(text, act)):
            if not self._goes_on(act, number):
                return
            self._write(self.piece(piece, body))
            time.sleep(act.drip_seconds)
        for number, (name, arguments) in enumerate(tools_of(act, asked)):
            self._write(*self.tool(number, name, arguments, body))
        if act.garbage:
            self._write(self.garbage)
        else:
            self._write(*self.ending(act, body, *self.counts(act, asked, text)))
        self.wfile.write(b"0\r\n\r\n")

    garbage = b"data: <html>not what you asked for</html>\n\n"

    def counts(self, act: Act, asked: dict[str, Any], text: str) -> tuple[int | None, int]:
        """Return the tokens of the prompt (None: not reported) and of the answer."""
        window = int(asked.get("options", {}).get("num_ctx", 2**20))
        prompt = sum(count_tokens(str(message.get("content") or "")) + 4 for message in asked["messages"])
        seen = min(prompt, window) if act.seen_tokens == -1 else act.seen_tokens
        return seen, count_tokens(text) + 1 if act.said_tokens == -1 else act.said_tokens

    def _goes_on(self, act: Act, number: int) -> bool:
        """Do what the act has for this place of the stream; False when nothing more may be sent."""
        if number == act.stall_after:
            self.server.script.go_on.wait()
        if number == act.close_after:
            self._break_off()
            return False
        if number == act.error_after:
            self._write(self.failing(act))
        if number in (act.error_after, act.end_after):
            self.wfile.write(b"0\r\n\r\n")
            return False
        return True

    def _write(self, *lines: bytes) -> None:
        for line in lines:
            self.wfile.write(b"%x\r\n%s\r\n" % (len(line), line))

    def _break_off(self) -> None:
        self.close_connection = True
        _shut(self.connection)

    def send_json(self, status: int, value: dict[str, Any]) -> None:
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


def text_of(act: Act, asked: dict[str, Any]) -> str:
    if act.answer is None and (act.tools or asked.get("tools")):
        return ""
    answer = sensible_answer(asked) if act.answer is None else act.answer
    return answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)


def tools_of(act: Act, asked: dict[str, Any]) -> tuple[tuple[str, Any], ...]:
    if act.tools or act.answer is not None or not asked.get("tools"):
        return act.tools
    return sensible_tools(asked)


def _pieces(text: str, act: Act) -> Iterator[str]:
    size = 1 if act.drip_seconds else 8
    return (text[start : start + size] for start in range(0, max(len(text), 1), size))


def count_tokens(text: str) -> int:
    """Return what this server takes for tokens: words and marks, as tokenizers divide a text before anything else."""
    return len(re.findall(r"\w+|[^\w\s]", text))


def sse(value: dict[str, Any], event: str | None = None) -> bytes:
    return (f"event: {event}\n" if event else "").encode() + b"data: " + json.dumps(value).encode() + b"\n\n"
