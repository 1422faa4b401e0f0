"""Anthropic's wire protocol on loopback; what the server does is in ``model_server``."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tests.support.model_server import Act, Handler, ModelServer, sse

_REASONS = {"stop": "end_turn", "length": "max_tokens"}


class _Handler(Handler):
    chat_path = "/v1/messages"
    garbage = b"event: message_delta\ndata: <html>not what you asked for</html>\n\n"
    block = 0

    def error(self, status: int, message: str) -> dict[str, Any]:
        return {"type": "error", "error": {"type": "test_error", "message": message}}

    def get(self, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        if self.path.partition("?")[0] == "/v1/models":
            listed = [{"id": name.removesuffix(":latest"), "type": "model"} for name in self.server.script.models]
            return 200, {"data": listed, "has_more": False}
        return 404, self.error(404, "not found")

    @staticmethod
    def asked(body: dict[str, Any]) -> dict[str, Any]:
        tools = [{"function": {**tool, "parameters": tool.get("input_schema")}} for tool in body.get("tools") or ()]
        return {
            "messages": [{"role": "system", "content": body.get("system")}, *map(_as_ollama, body["messages"])],
            "format": body.get("output_config", {}).get("format", {}).get("schema"),
            "tools": tools,
            "options": {"temperature": body.get("temperature"), "num_predict": body["max_tokens"]},
        }

    def opening(self, act: Act, body: dict[str, Any]) -> Iterator[bytes]:
        self.block = 0
        message = {
            "id": "msg_1", "type": "message", "role": "assistant", "model": body["model"], "content": [],
            "stop_reason": None, "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1},
        }  # fmt: skip
        yield self._event("message_start", message=message)
        yield self._event("content_block_start", index=0, content_block={"type": "text", "text": ""})

    def piece(self, text: str, body: dict[str, Any]) -> bytes:
        return self._event("content_block_delta", index=0, delta={"type": "text_delta", "text": text})

    def tool(self, number: int, name: str, arguments: Any, body: dict[str, Any]) -> Iterator[bytes]:
        written = arguments if isinstance(arguments, str) else json.dumps(arguments)
        use = {"type": "tool_use", "id": f"toolu_{number}", "name": name, "input": {}}
        yield self._event("content_block_stop", index=self.block)
        self.block = number + 1
        yield self._event("content_block_start", index=self.block, content_block=use)
        half = len(written) // 2
        for part in (written[:half], written[half:]):
            delta = {"type": "input_json_delta", "partial_json": part}
            yield self._event("content_block_delta", index=self.block, delta=delta)

    def failing(self, act: Act) -> bytes:
        return sse(self.error(500, act.error), "error")

    def ending(self, act: Act, body: dict[str, Any], prompt: int | None, said: int) -> Iterator[bytes]:
        reason = "refusal" if act.refused else _REASONS[act.done_reason]
        usage = {"output_tokens": 0} if prompt is None else {"input_tokens": prompt, "output_tokens": said}
        yield self._event("content_block_stop", index=self.block)
        yield self._event("message_delta", delta={"stop_reason": reason, "stop_sequence": None}, usage=usage)
        yield self._event("message_stop")

    def _event(self, kind: str, **about: Any) -> bytes:
        return sse({"type": kind, **about}, kind)


def _as_ollama(message: dict[str, Any]) -> dict[str, Any]:
    content = message["content"]
    if isinstance(content, str):
        return message
    uses = [{"function": {"name": one["name"]}} for one in content if one["type"] == "tool_use"]
    results = [one["content"] for one in content if one["type"] == "tool_result"]
    if results:
        return {"role": "tool", "content": "".join(results)}
    said = "".join(one["text"] for one in content if one["type"] == "text")
    return {"role": message["role"], "content": said, "tool_calls": uses}


class AnthropicServer(ModelServer):
    handler = _Handler
    chat_path = _Handler.chat_path
