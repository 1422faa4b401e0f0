"""An engine of models for a bench: started with a GGUF file, and watched for how much of its prompts it has cached."""

from __future__ import annotations

import re
import subprocess
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx

from shared.base.process import tied_to_me

ENGINE_MODEL = "openai:engine"
"""What the model of ``serve_engine`` is called in settings."""
_SERVER = Path(__file__).with_name("engine_server.py")
_PROMPT = re.compile(rb'"prompt_tokens": ?(\d+)')
_CACHED = re.compile(rb'"cached_tokens": ?(\d+)')
_SECONDS = 600.0
_PASSED_ON = ("Authorization", "Content-Type", "Accept")


@contextmanager
def serve_engine(file: Path, python: str, context_tokens: int) -> Iterator[str]:
    """Serve a GGUF file with xllamacpp, which ``python`` has; yields the address for OpenAI's clients."""
    argv = [python, str(_SERVER), str(file), "--context-tokens", str(context_tokens)]
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
        self.cached = 0
        """Those of them that the engine had read before."""
        self.tells_cached = False
        self._adding = threading.Lock()

    def add(self, pieces: Sequence[bytes]) -> None:
        """Take in the end of an answer."""
        prompt, cached = (pattern.findall(b"".join(pieces)) for pattern in (_PROMPT, _CACHED))
        with self._adding:
            self.read += int(prompt[-1]) if prompt else 0
            self.cached += int(cached[-1]) if cached else 0
            self.tells_cached = self.tells_cached or bool(cached)

    @property
    def read_anew(self) -> int | None:
        """Tokens of prompts that the engine had to read; None where it does not tell."""
        return self.read - self.cached if self.tells_cached else None


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
