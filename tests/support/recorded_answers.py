"""Plays recorded answers of a model at the test's Ollama server, each to the prompt of its own conversation.

The answers stand in tests/fixtures/recorded_answers, one line for a conversation. Readers wrote them for the tests;
nothing was measured on a model. The words of the conversations are not part of the project: whoever plays them brings
those.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from shared.text.lines import clean
from tests.support.ollama_answers import asked

ANSWERS = Path(__file__).parents[1] / "fixtures" / "recorded_answers" / "answers.jsonl"
MODEL = "recorded"
_LINE = re.compile(r"^user(?: \([^)]*\))?: (.+)$", re.MULTILINE)
_LEAST = 20
"""Characters from which a part of a message is taken for that message."""


class RecordedAnswers:
    """Answers a chat's body; None where nothing was recorded for it."""

    def __init__(self, conversations: Iterable[Mapping[str, Any]], answers: Path = ANSWERS) -> None:
        """``conversations`` have an ``id`` and ``messages`` with role and content."""
        recorded = map(json.loads, answers.read_text("utf-8").splitlines())
        self._answers: dict[str, dict[str, Any]] = {one.pop("id"): one for one in recorded}
        self._spoken = {one["id"]: _spoken(one["messages"]) for one in conversations if one["id"] in self._answers}
        self.asked: list[str] = []
        """The conversation of every question that was answered from a record."""

    def __call__(self, body: Mapping[str, Any]) -> dict[str, Any] | None:
        schema = body.get("format")
        is_reading = isinstance(schema, dict) and "memory" in schema.get("properties", {})
        name = self._conversation(asked(body)) if is_reading else None
        if name is None:
            return None
        self.asked.append(name)
        return self._answers[name]

    def _conversation(self, prompt: str) -> str | None:
        """Return the one conversation that most of the prompt's lines are from; None where two are as likely."""
        lines = _LINE.findall(prompt)
        counts = {
            name: sum(any(_is_from(line, said) for said in spoken) for line in lines)
            for name, spoken in self._spoken.items()
        }
        most = max(counts.values(), default=0)
        best = [name for name, count in counts.items() if count == most > 0]
        return best[0] if len(best) == 1 else None


def _spoken(messages: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return what users and the assistant said, as prompts show it."""
    texts = (_text(message["content"]) for message in messages if message["role"] in ("user", "assistant"))
    return [text for text in map(clean, texts) if text]


def _text(content: str | list[dict[str, Any]] | None) -> str:
    if isinstance(content, list):
        return "\n".join(part["text"] for part in content if part.get("type") == "text")
    return content or ""


def _is_from(line: str, said: str) -> bool:
    return line == said or (len(line) >= _LEAST and line in said)
