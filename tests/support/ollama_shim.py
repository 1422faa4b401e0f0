"""Ollama's protocol before an engine that speaks OpenAI's, as far as a chat without tools needs it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import httpx

_SECONDS = 600.0


@contextmanager
def speak_ollama(base_url: str, engines_name: str, name: str) -> Iterator[str]:
    """Serve the engine at ``base_url`` as an Ollama that has its model under ``name``; yields the address."""
    with httpx.Client(base_url=base_url, timeout=_SECONDS, trust_env=False) as engine:

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                known = {"/api/version": {"version": "0.12.3"}, "/api/tags": {"models": [{"name": f"{name}:latest"}]}}
                self._answer(200 if self.path in known else 404, known.get(self.path, {"error": "not found"}))

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                if str(body.get("model")).removesuffix(":latest") != name:
                    self._answer(404, {"error": f"model '{body.get('model')}' not found"})
                elif self.path == "/api/show":
                    self._answer(200, {"details": {"family": "llama"}, "capabilities": ["completion"]})
                elif self.path != "/api/chat":
                    self._answer(404, {"error": "not found"})
                elif body.get("tools"):
                    self._answer(400, {"error": f"registry.ollama.ai/library/{name}:latest does not support tools"})
                else:
                    self._chat(body)

            def log_message(self, format: str, *args: object) -> None:
                """Keep the test's output clean."""

            def _chat(self, body: dict[str, Any]) -> None:
                with engine.stream("POST", "/chat/completions", json=_asked(body, engines_name)) as answer:
                    if answer.status_code != 200:
                        self._answer(answer.status_code, {"error": answer.read().decode()})
                        return
                    self.send_response(200)
                    self.send_header("Content-Type", "application/x-ndjson")
                    self.end_headers()
                    try:
                        for line in _told(answer.iter_lines(), name):
                            self.wfile.write(json.dumps(line).encode() + b"\n")
                    except OSError:
                        return  # Whoever asked has given up; the engine stops as the stream is closed.

            def _answer(self, status: int, value: dict[str, Any]) -> None:
                text = json.dumps(value).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        thread = Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            server.server_close()
            thread.join()


def _asked(body: dict[str, Any], model: str) -> dict[str, Any]:
    options = body.get("options", {})
    asked = {
        "model": model, "messages": body["messages"], "max_tokens": options["num_predict"],
        "temperature": options["temperature"], "stream": True, "stream_options": {"include_usage": True},
    }  # fmt: skip
    if body.get("format"):
        asked["response_format"] = {"type": "json_schema", "json_schema": {"name": "Answer", "schema": body["format"]}}
    return asked


def _told(events: Iterator[str], model: str) -> Iterator[dict[str, Any]]:
    frame = {"model": model, "created_at": "2025-01-01T00:00:00Z"}
    reason, usage = "stop", dict[str, Any]()
    for event in events:
        if not event.startswith("data: {"):
            continue
        chunk = json.loads(event.removeprefix("data: "))
        usage = chunk.get("usage") or usage
        for choice in chunk["choices"]:
            reason = choice["finish_reason"] or reason
            if text := choice["delta"].get("content"):
                yield {**frame, "done": False, "message": {"role": "assistant", "content": text}}
    counts = {"prompt_eval_count": usage["prompt_tokens"], "eval_count": usage["completion_tokens"]}
    yield {**frame, "done": True, "done_reason": reason, "message": {"role": "assistant", "content": ""}, **counts}
