"""Corpora with questions of which it is known where the answer stands: LoCoMo, MADial, and talk about code.

Only reads; the files are not part of the project. A corpus is what would be one app.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from shared.search.models import POSITION_BITS
from shared.search.query import identifiers_of

_PACE = timedelta(seconds=30)
_AFTER = timedelta(hours=1)
"""How long after the last message the questions are asked."""
_CODE_QUESTIONS = (
    "What did we say about {}?",
    "Where is {} used?",
    "Why did we change {}?",
    "Can you remind me what {} does?",
    "What was the problem with {}?",
)
_MOST_RELEVANT = 3
"""An identifier that stands in more messages singles none of them out."""
_SHORTEST = 6


@dataclass(frozen=True)
class CorpusMessage:
    """One message and where it stands."""

    doc_id: int
    role: str
    name: str | None
    content: str
    created_at: datetime


@dataclass(frozen=True)
class FindingQuestion:
    """A question and the numbers of the messages that answer it."""

    text: str
    category: int
    relevant: frozenset[int]


@dataclass(frozen=True)
class Corpus:
    """Messages in order of place, and what is asked about them."""

    name: str
    messages: tuple[CorpusMessage, ...]
    questions: tuple[FindingQuestion, ...]

    @property
    def now(self) -> datetime:
        """When the questions are asked."""
        return max(one.created_at for one in self.messages) + _AFTER

    @property
    def speakers(self) -> frozenset[str]:
        """Everyone who speaks."""
        return frozenset(one.name for one in self.messages if one.name)


def locomo(data: Path, *, captions: bool = False) -> Iterator[Corpus]:
    """Yield LoCoMo's dialogues with all five kinds of questions, as far as their evidence is named.

    ``captions``: what a picture shows is said with the turn it was shared in.
    """
    for dialogue in json.loads((data / "chats" / "locomo_dev4.json").read_text(encoding="utf-8")):
        spoken: dict[str, Any] = dialogue["conversation"]
        sessions = sorted(int(key[8:]) for key in spoken if re.fullmatch(r"session_\d+", key) and spoken[key])
        turns = [(number, at, turn) for number in sessions for at, turn in enumerate(spoken[f"session_{number}"])]
        ids = {turn["dia_id"]: nth for nth, (_, _, turn) in enumerate(turns)}
        started = {number: _started(spoken[f"session_{number}_date_time"]) for number in sessions}
        messages = tuple(
            CorpusMessage(
                _doc_id(number, at), "user", turn["speaker"], _said(turn, captions), started[number] + at * _PACE
            )
            for number, at, turn in turns
        )
        questions = (FindingQuestion(one["question"], one["category"], _evidence(one, ids)) for one in dialogue["qa"])
        yield Corpus(dialogue["sample_id"], messages, tuple(one for one in questions if one.relevant))


def _said(turn: dict[str, Any], captions: bool) -> str:
    caption = turn.get("blip_caption") if captions else None
    return f"{turn['text']} [shares a picture of {caption}]" if caption else str(turn["text"])


def _doc_id(conversation: int, position: int) -> int:
    return conversation << POSITION_BITS | position


def _started(written: str) -> datetime:
    return datetime.strptime(" ".join(written.split()), "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)


def _evidence(one: dict[str, Any], ids: dict[str, int]) -> frozenset[int]:
    named = [
        f"D{session}:{int(turn)}" for doc_id in one["evidence"] for session, turn in re.findall(r"D(\d+):(\d+)", doc_id)
    ]
    return frozenset(ids[name] for name in named if name in ids)


def madial(data: Path) -> Corpus:
    """Return MADial's memories, each a conversation of its own; asked is what a user says before one is recalled."""
    memories = [
        (int(key), memory)
        for line in (data / "chats" / "madial_memory_en.json").read_text(encoding="utf-8").splitlines()
        for key, memory in json.loads(line).items()
    ]
    memories.sort(key=lambda one: one[0])
    numbers = {key: nth for nth, (key, _) in enumerate(memories)}
    messages = tuple(
        CorpusMessage(
            _doc_id(key, 0), "user", None, memory["event"], datetime.fromisoformat(memory["time"]).replace(tzinfo=UTC)
        )
        for key, memory in memories
    )
    return Corpus("madial", messages, tuple(_madial_questions(data, numbers)))


def _madial_questions(data: Path, numbers: dict[int, int]) -> Iterator[FindingQuestion]:
    for line in (data / "chats" / "madial_dialogue_en.json").read_text(encoding="utf-8").splitlines():
        one = json.loads(line)
        before = [
            turn for turn in one["dialogue"][: min(one["test-turn"])] if not turn.startswith(("<BOD>", "<Assistant>"))
        ]
        relevant = frozenset(numbers[key] for key in one["relevant-id"] if key in numbers)
        if before and relevant:
            yield FindingQuestion(before[-1].split(":", 1)[1].strip().strip('"'), 0, relevant)


def code_talk(data: Path) -> Corpus:
    """Return what was said in recorded coding sessions; asked is about identifiers that stand in few messages."""
    messages: list[CorpusMessage] = []
    for number, path in enumerate(sorted((data / "sessions").glob("*.jsonl")), 1):
        for position, (role, text) in enumerate(_spoken(path)):
            moment = datetime(2025, 1, 1, tzinfo=UTC) + timedelta(days=number) + position * _PACE
            messages.append(CorpusMessage(_doc_id(number, position), role, None, text, moment))
    return Corpus("code", tuple(messages), tuple(_code_questions([one.content for one in messages])))


def _spoken(path: Path) -> Iterator[tuple[str, str]]:
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        try:
            record = json.loads(line)
        except ValueError:
            continue
        message = record.get("message") if isinstance(record, dict) else None
        if not isinstance(message, dict) or message.get("role") not in ("user", "assistant"):
            continue
        content = message.get("content")
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content or []
        text = "\n\n".join(one["text"] for one in blocks if isinstance(one, dict) and one.get("type") == "text")
        if text.strip() and not text.startswith("<"):
            yield message["role"], text


def _code_questions(texts: list[str]) -> Iterator[FindingQuestion]:
    found = sorted({name for text in texts for name in identifiers_of(text) if len(name) >= _SHORTEST})
    lowered = [text.lower() for text in texts]
    for name in found:
        relevant = frozenset(nth for nth, text in enumerate(lowered) if name in text)
        if len(relevant) <= _MOST_RELEVANT:
            written = next(iter(re.findall(re.escape(name), texts[min(relevant)], re.IGNORECASE)))
            yield FindingQuestion(_CODE_QUESTIONS[len(name) % len(_CODE_QUESTIONS)].format(written), 0, relevant)
