"""OpenAI's wire protocol on loopback; what the server does is in ``model_server``."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tests.support.model_server import Act, Handler, ModelServer, count_tokens, sse, text_of, tools_of
from tests.support.ollama_answers import embedding


class _Handler(Handler):
    chat_path = "/v1/chat/completions"

    def get(self, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        if self.path == "/v1/models":
            script = self.server.script
            names = [name.removesuffix(":latest") for name in script.models]
            listed = [{"id": name, "object": "model", **script.shown} for name in names]
            return 200, {"object": "list", "data": listed}
        if self.path == "/props" and self.server.script.props:
            return 200, self.server.script.props
        if self.path == "/v1/embeddings" and self.has(str(body.get("model"))):
            texts = [body["input"]] if isinstance(body["input"], str) else body["input"]
            rows = [{"object": "embedding", "index": at, "embedding": embedding(t)} for at, t in enumerate(texts)]
            count = sum(map(count_tokens, texts))
            usage = {"prompt_tokens": count, "total_tokens": count}
            # In another order, as the protocol allows: each says its place.
            return 200, {"object": "list", "model": body["model"], "data": rows[::-1], "usage": usage}
        return 404, self.error(404, "not found")

    @staticmethod
    def asked(body: dict[str, Any]) -> dict[str, Any]:
        wanted = body.get("response_format", {}).get("json_schema", {}).get("schema")
        options = {"temperature": body.get("temperature"), "num_predict": body.get("max_tokens")}
        return {"messages": body["messages"], "format": wanted, "tools": body.get("tools"), "options": options}

    def send_answer(self, act: Act, body: dict[str, Any]) -> None:
        if body.get("stream"):
            super().send_answer(act, body)
            return
        asked = self.asked(body)
        text = text_of(act, asked)
        calls = [
            {"id": f"call_{n}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
            for n, (name, arguments) in enumerate(tools_of(act, asked))
        ]
        message = {"role": "assistant", "content": text or None} | ({"tool_calls": calls} if calls else {})
        prompt, said = self.counts(act, asked, text)
        frame = self._frame(body) | {"object": "chat.completion"}
        choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if calls else act.done_reason}
        usage = {} if prompt is None else {"usage": {"prompt_tokens": prompt, "completion_tokens": said}}
        self.send_json(200, frame | {"choices": [choice]} | usage)

    def opening(self, act: Act, body: dict[str, Any]) -> Iterator[bytes]:
        yield self._chunk(body, {"role": "assistant", "content": ""})

    def piece(self, text: str, body: dict[str, Any]) -> bytes:
        return self._chunk(body, {"content": text})

    def tool(self, number: int, name: str, arguments: Any, body: dict[str, Any]) -> Iterator[bytes]:
        written = arguments if isinstance(arguments, str) else json.dumps(arguments)
        yield self._call(body, number, id=f"call_{number}", type="function", function={"name": name, "arguments": ""})
        half = len(written) // 2
        for part in (written[:half], written[half:]):
            yield self._call(body, number, function={"arguments": part})

    def failing(self, act: Act) -> bytes:
        return sse({"error": {"message": act.error, "type": "server_error", "param": None, "code": None}})

    def ending(self, act: Act, body: dict[str, Any], prompt: int | None, said: int) -> Iterator[bytes]:
        reason = "content_filter" if act.refused else act.done_reason
        yield self._chunk(body, {}, reason)
        if prompt is not None and body.get("stream_options", {}).get("include_usage"):
            usage = {"prompt_tokens": prompt, "completion_tokens": said, "total_tokens": prompt + said}
            yield sse({**self._frame(body), "choices": [], "usage": usage})
        yield b"data: [DONE]\n\n"

    def _call(self, body: dict[str, Any], number: int, **call: Any) -> bytes:
        return self._chunk(body, {"tool_calls": [{"index": number, **call}]})

    def _chunk(self, body: dict[str, Any], delta: dict[str, Any], reason: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": reason}
        return sse({**self._frame(body), "choices": [choice]})

    def _frame(self, body: dict[str, Any]) -> dict[str, Any]:
        return {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1735689600, "model": body["model"]}


class OpenAiServer(ModelServer):
    """A server of OpenAI's protocol; its base URL is ``url`` with ``/v1``."""

    handler = _Handler
    chat_path = _Handler.chat_path
