"""What a bench asks of a model: a server to ask, an engine started with a GGUF file, and what its calls cost."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Annotated

import httpx

from shared.base.process import tied_to_me
from shared.energy.budget import to_units
from shared.energy.models import Spending
from shared.llm.transport import is_loopback

ENGINE_MODEL = "openai:engine"
"""What the model of ``serve_engine`` is called in settings."""
EngineFile = Annotated[Path | None, "a GGUF file to start xllamacpp with; it is asked as openai:engine"]
EnginePython = Annotated[str, "the interpreter that has xllamacpp"]
_PROMPT = re.compile(rb'"prompt_tokens": ?(\d+)')
_CACHED = re.compile(rb'"cached_tokens": ?(\d+)')
_SECONDS = 600.0
_PASSED_ON = ("Authorization", "Content-Type", "Accept")


@dataclass
class ModelCost:
    """What some work took of a model; ``tokens_read_anew`` is None where no engine tells it."""

    calls: int
    tokens_read: int
    tokens_read_anew: int | None
    tokens_written: int
    seconds: float
    energy_units: float


def cost_of(calls: Sequence[Spending], energy: Sequence[Spending], seconds: float, anew: int | None) -> ModelCost:
    """Return what entries of the ledger come to: ``calls`` those of the model, ``energy`` all that drew any."""
    return ModelCost(
        calls=len(calls),
        tokens_read=sum(row.prompt_tokens for row in calls),
        tokens_read_anew=anew,
        tokens_written=sum(row.completion_tokens for row in calls),
        seconds=round(seconds, 1),
        energy_units=round(to_units(sum(row.micro for row in energy)), 2),
    )


@contextmanager
def open_model(
    model: str, address: str | None, engine: Path | None, python: str = sys.executable, context_tokens: int = 8192
) -> Iterator[tuple[PromptWatch | None, str | None]]:
    """Start ``engine`` where there is a file; yields what watches a model on this machine, and its base URL."""
    with ExitStack() as stack:
        if engine is not None:
            address = stack.enter_context(serve_engine(engine, python, context_tokens))
        # No provider's own address is changed: how it is asked goes by that.
        if model.startswith("openai:") and address is not None and is_loopback(address):
            yield stack.enter_context(watch_prompts(address))
        else:
            yield None, address


@contextmanager
def serve_engine(file: Path, python: str, context_tokens: int) -> Iterator[str]:
    """Serve a GGUF file with xllamacpp, which ``python`` has; yields the address for OpenAI's clients."""
    server = Path(__file__).with_name("engine_server.py")
    argv = [python, str(server), str(file), "--context-tokens", str(context_tokens)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, preexec_fn=tied_to_me()) as process:
        try:
            assert process.stdout is not None
            address = process.stdout.readline().strip()
            if not address:
                raise RuntimeError(f"The engine did not start: {python} needs xllamacpp, and {file} be a GGUF file.")
            yield f"{address}/v1"
        finally:
            process.kill()


class PromptWatch:
    """A proxy before a server of OpenAI's protocol that adds up what its answers say of their prompts."""

    def __init__(self, target: str) -> None:
        self.target = target.rstrip("/")
        self.read = 0
        """Tokens of prompts."""
        self.cached: int | None = None
        """Those of them that the engine had read before; None where it does not tell."""
        self._taken = 0
        self._adding = threading.Lock()

    def add(self, pieces: Sequence[bytes]) -> None:
        """Take in the end of an answer."""
        prompt, cached = (pattern.findall(b"".join(pieces)) for pattern in (_PROMPT, _CACHED))
        with self._adding:
            self.read += int(prompt[-1]) if prompt else 0
            self.cached = (self.cached or 0) + int(cached[-1]) if cached else self.cached

    def take(self) -> int | None:
        """Return the tokens of prompts that the engine had to read since it was asked last; None if it is not told."""
        if self.cached is None:
            return None
        before, self._taken = self._taken, self.read - self.cached
        return self._taken - before


@contextmanager
def watch_prompts(target: str) -> Iterator[tuple[PromptWatch, str]]:
    """Serve a proxy before ``target``; yields what it adds up, and its address."""
    watch = PromptWatch(target)
    with httpx.Client(timeout=_SECONDS, trust_env=False) as client:

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.0"

            def do_GET(self) -> None:
                self._pass_on(b"")

            def do_POST(self) -> None:
                self._pass_on(self.rfile.read(int(self.headers["Content-Length"])))

            def log_message(self, format: str, *args: object) -> None:
                """Say nothing: standard error is for what is being measured."""

            def _pass_on(self, body: bytes) -> None:
                headers = {name: self.headers[name] for name in _PASSED_ON if name in self.headers}
                url = watch.target + self.path.removeprefix("/v1")
                ending: list[bytes] = []
                with client.stream(self.command, url, content=body, headers=headers) as answer:
                    self.send_response(answer.status_code)
                    self.send_header("Content-Type", answer.headers.get("Content-Type", "application/json"))
                    self.end_headers()
                    try:
                        for piece in answer.iter_bytes():
                            # What it took stands in the last pieces.
                            ending = [*ending[-8:], piece]
                            self.wfile.write(piece)
                    except OSError:
                        return  # Whoever asked has given up, and the engine is told so by the closed stream.
                watch.add(ending)

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield watch, f"http://127.0.0.1:{server.server_address[1]}/v1"
        finally:
            server.shutdown()
            server.server_close()
            thread.join()
