"""Plays recorded answers of a model at the test's Ollama server, each to the prompt of its own conversation.

The answers stand in tests/fixtures/recorded_answers, one file for a conversation. They were written for the tests and
not measured on Ollama. The words of the conversations are not part of the project: whoever plays them brings those.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from shared.text.lines import clean

FOLDER = Path(__file__).parents[1] / "fixtures" / "recorded_answers"
MODEL = "recorded"
_LINE = re.compile(r"^(?:\[(\d+)\] )?(user|assistant)(?: \([^)]*\))?: (.+)$", re.MULTILINE)
_NOTE = re.compile(r"^- (.+)$", re.MULTILINE)
_KNOWN = re.compile(r"^(\d+): (.+)$", re.MULTILINE)
_LEAST = 20
"""Characters from which a part of a message is taken for that message."""


class RecordedAnswers:
    """Answers a chat's body; None where nothing was recorded for it."""

    def __init__(self, conversations: Iterable[Mapping[str, Any]], folder: Path = FOLDER) -> None:
        """``conversations`` have an ``id`` and ``messages`` with role and content."""
        self._answers = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in folder.glob("*.json")}
        self._spoken = {one["id"]: _spoken(one["messages"]) for one in conversations if one["id"] in self._answers}
        self.asked: list[tuple[str, str]] = []
        """Conversation and kind (``create`` or ``facts``) of every question that was answered from a record."""

    def __call__(self, body: Mapping[str, Any]) -> dict[str, Any] | None:
        schema = body.get("format")
        fields = schema.get("properties", {}) if isinstance(schema, dict) else {}
        kind = "create" if "memory" in fields else "facts" if "facts" in fields else None
        prompt = str(body["messages"][1]["content"]) if kind else ""
        name = self._conversation(prompt) if kind else None
        if kind is None or name is None:
            return None
        self.asked.append((name, kind))
        recorded: dict[str, Any] = self._answers[name][kind]
        return recorded if kind == "create" else _shown_facts(recorded, self._spoken[name], prompt)

    def _conversation(self, prompt: str) -> str | None:
        """Return the one conversation that most of the prompt's lines are from; None where two are as likely."""
        lines = [text for _, role, text in _LINE.findall(prompt) if role == "user"]
        lines += _NOTE.findall(prompt.partition("notes on the conversation:")[2])
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


def _shown_facts(recorded: Mapping[str, Any], spoken: Sequence[str], prompt: str) -> dict[str, Any]:
    """Return the facts whose last message is shown, by the numbers of this prompt and the ids of what it knows."""
    shown = {int(number): text for number, _, text in _LINE.findall(prompt) if number}
    # What is read may begin in the middle of the conversation: there its lines fit best.
    start = max(range(len(spoken)), key=lambda at: sum(_at(spoken, at, i) == text for i, text in shown.items()))
    known = {_bare(text): int(number) for number, text in _KNOWN.findall(prompt.partition("Said before")[0])}
    facts = []
    for fact in recorded["facts"]:
        numbers = [number - start for number in fact["messages"]]
        if numbers and max(numbers) in shown:
            updates = known.get(_bare(fact["updates"] or ""), 0)
            shown_numbers = [number for number in numbers if number in shown]
            facts.append({**fact, "messages": shown_numbers, "updates": updates, "updates_previous": updates > 0})
    return {"facts": facts}


def _at(spoken: Sequence[str], start: int, number: int) -> str | None:
    return spoken[start + number - 1] if start + number <= len(spoken) else None


def _bare(text: str) -> str:
    return clean(text).rstrip(" .").casefold()
