"""Ollama's wire protocol on loopback; what the server does is in ``model_server``.

Run it alone with ``python -m tests.support.ollama_server --port 11434``; it prints its address.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tests.support.model_server import Act, Handler, ModelServer, count_tokens
from tests.support.ollama_answers import embedding

__all__ = ["Act", "OllamaServer", "count_tokens"]
VERSION = "0.12.3"
_MADE_AT = "2025-01-01T00:00:00Z"


class _Handler(Handler):
    content_type = "application/x-ndjson"
    chat_path = "/api/chat"
    garbage = b"<html>not what you asked for</html>\n"

    def error(self, status: int, message: str) -> dict[str, Any]:
        return {"error": message}

    def get(self, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        names = self.server.script.models
        if self.path == "/api/version":
            return 200, {"version": VERSION}
        if self.path == "/api/tags":
            return 200, {"models": [{"name": name, "model": name} for name in names]}
        if self.path == "/api/ps":
            return 200, {"models": []}
        if self.path == "/v1/models":
            return 200, {"object": "list", "data": [{"id": name, "owned_by": "library"} for name in names]}
        if not self.has(str(body.get("model", ""))):
            return 404, self.error(404, "model not found")
        if self.path == "/api/show":
            can = ["completion", *(["tools"] if self.server.script.takes_tools else [])]
            return 200, {"details": {"family": "test"}, "capabilities": can} | self.server.script.shown
        if self.path == "/api/embed":
            texts = [body["input"]] if isinstance(body["input"], str) else body["input"]
            count = sum(map(count_tokens, texts))
            vectors = [embedding(text) for text in texts]
            return 200, {"model": body["model"], "embeddings": vectors, "prompt_eval_count": count}
        return 404, self.error(404, "404 page not found")

    def piece(self, text: str, body: dict[str, Any]) -> bytes:
        return self._line(body, False, content=text)

    def tool(self, number: int, name: str, arguments: Any, body: dict[str, Any]) -> Iterator[bytes]:
        yield self._line(body, False, content="", tool_calls=[{"function": {"name": name, "arguments": arguments}}])

    def failing(self, act: Act) -> bytes:
        return json.dumps({"error": act.error}).encode() + b"\n"

    def ending(self, act: Act, body: dict[str, Any], prompt: int | None, said: int) -> Iterator[bytes]:
        counts = {} if prompt is None else {"prompt_eval_count": prompt, "eval_count": said}
        spans = {"load": act.load_seconds, "prompt_eval": act.read_seconds, "eval": act.write_seconds}
        spans["total"] = sum(spans.values())
        took = {f"{name}_duration": round(seconds * 1e9) for name, seconds in spans.items()}
        yield self._line(body, True, content="", about={"done_reason": act.done_reason, **took, **counts})

    def _line(self, body: dict[str, Any], done: bool, about: dict[str, Any] | None = None, **message: Any) -> bytes:
        said = {"role": "assistant", **message}
        line = {"model": body["model"], "created_at": _MADE_AT, "done": done, **(about or {}), "message": said}
        return json.dumps(line).encode() + b"\n"


class OllamaServer(ModelServer):
    handler = _Handler
    chat_path = _Handler.chat_path
