"""Public corpora of chats, looked for beside the checkout as they are not part of the project, and only read.

MemoryBank and LoCoMo as conversations (one a day, one a session); and LoCoMo, MADial and talk about code as messages
with questions of which it is known where the answer stands. What is done with them is left to the benches.
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from shared.search.models import POSITION_BITS
from shared.search.query import identifiers_of

DEFAULT_DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
"""Where the corpora are looked for: in ``shared/data`` beside the checkout."""
SESSIONS = DEFAULT_DATA / "sessions"
"""Where recorded coding sessions are looked for."""
CACHE = Path(tempfile.gettempdir()) / "afterthought-bench"
"""Where vectors are kept from run to run."""
DataFolder = Annotated[Path, "directory that holds chats/"]
_LOCOMO, _MEMORYBANK = "chats/locomo_dev4.json", "chats/memorybank_en.json"
_MADIAL, _MADIAL_MEMORIES = "chats/madial_dialogue_en.json", "chats/madial_memory_en.json"
LABELLED = (_LOCOMO, _MADIAL, _MADIAL_MEMORIES, "sessions")
"""What holds questions of which it is known where the answer stands."""
_PACE = timedelta(seconds=30)
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


class CorpusTurn(NamedTuple):
    """One message as an app would append it."""

    role: str
    name: str | None
    content: str
    created_at: datetime


@dataclass(frozen=True)
class CorpusConversation:
    """One conversation of a corpus; ``number`` counts from 1 in order of time."""

    number: int
    started_at: datetime
    messages: list[CorpusTurn]


@dataclass(frozen=True)
class CorpusQuestion:
    """A question a corpus asks about its conversations; ``sessions`` are the numbers that hold the answer."""

    text: str
    answer: str
    category: int
    sessions: frozenset[int]


@dataclass(frozen=True)
class CorpusSubject:
    """One user or pair of speakers: what becomes one app."""

    name: str
    conversations: list[CorpusConversation]
    questions: list[CorpusQuestion]

    @property
    def app(self) -> str:
        """The name as the id of an app."""
        return self.name.replace(" ", "-")


def missing(data: Path, wanted: tuple[str, ...] = (_MEMORYBANK, _LOCOMO)) -> str | None:
    """Say what is missing at ``data``, or return None."""
    absent = ", ".join(name for name in wanted if not (data / name).exists())
    return f"{absent} not found in {data}; give the corpora's directory with --data" if absent else None


def required(data: Path) -> Path:
    """Return ``data``; end with status 1 where the chats are not there."""
    if (problem := missing(data)) is not None:
        sys.exit(problem)
    return data


def memorybank(data: Path = DEFAULT_DATA) -> Iterator[CorpusSubject]:
    """Yield the users of MemoryBank, one conversation a day, user and assistant in turn."""
    sides = (("user", "query"), ("assistant", "response"))
    for name, person in json.loads((data / _MEMORYBANK).read_text("utf-8")).items():
        days = []
        for number, (date, exchanges) in enumerate((day for day in sorted(person["history"].items()) if day[1]), 1):
            start = datetime.fromisoformat(date).replace(hour=9, tzinfo=UTC)
            said = [(role, None, one[key]) for one in exchanges for role, key in sides]
            days.append(_conversation(number, start, said))
        yield CorpusSubject(name.strip(), days, [])


def locomo(data: Path = DEFAULT_DATA) -> Iterator[CorpusSubject]:
    """Yield LoCoMo's dialogues, one conversation per session; both speakers are people, so both are named users."""
    for name, sessions, asked in _locomo(data):
        talks = [
            _conversation(number, start, [("user", turn["speaker"], turn.get("text") or "") for turn in turns])
            for number, (start, turns) in sessions.items()
        ]
        questions = [
            CorpusQuestion(
                one["question"], str(one["answer"]), one["category"],
                frozenset(int(number) for place in one["evidence"] for number in re.findall(r"D(\d+):", place)),
            )
            for one in asked if "answer" in one and one["category"] != 5
        ]  # fmt: skip
        yield CorpusSubject(name, talks, questions)


def _locomo(data: Path) -> Iterator[tuple[str, dict[int, tuple[datetime, list[Any]]], list[Any]]]:
    """Yield each dialogue's name, its sessions by number, with their beginning and turns, and what is asked."""
    for dialogue in json.loads((data / _LOCOMO).read_text("utf-8")):
        spoken = dialogue["conversation"]
        sessions = {}
        for number in sorted(int(key[8:]) for key in spoken if re.fullmatch(r"session_\d+", key) and spoken[key]):
            written = " ".join(spoken[f"session_{number}_date_time"].split())
            start = datetime.strptime(written, "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)
            sessions[number] = (start, spoken[f"session_{number}"])
        yield dialogue["sample_id"], sessions, dialogue["qa"]


def _conversation(number: int, start: datetime, said: list[tuple[str, str | None, str]]) -> CorpusConversation:
    spoken = [one for one in said if one[2].strip()]
    turns = [CorpusTurn(role, name, text.strip(), start + _PACE * i) for i, (role, name, text) in enumerate(spoken)]
    return CorpusConversation(number, start, turns)


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
    """Messages in order of place, and what is asked about them; what would be one app."""

    name: str
    messages: tuple[CorpusMessage, ...]
    questions: tuple[FindingQuestion, ...]

    @property
    def now(self) -> datetime:
        """When the questions are asked."""
        return max(one.created_at for one in self.messages) + timedelta(hours=1)

    @property
    def names(self) -> frozenset[str]:
        """The parts of the names of everyone who speaks."""
        return frozenset(part for one in self.messages if one.name for part in one.name.lower().split())


def labelled_locomo(data: Path, *, captions: bool = False) -> Iterator[Corpus]:
    """Yield LoCoMo's dialogues with all five kinds of questions, as far as their evidence is named.

    ``captions``: what a picture shows is said with the turn it was shared in.
    """
    for name, sessions, asked in _locomo(data):
        messages, ids = [], {}
        for number, (start, turns) in sessions.items():
            for at, turn in enumerate(turns):
                ids[turn["dia_id"]] = len(messages)
                caption = turn.get("blip_caption") if captions else None
                text = f"{turn['text']} [shares a picture of {caption}]" if caption else str(turn["text"])
                messages.append(CorpusMessage(_doc_id(number, at), "user", turn["speaker"], text, start + at * _PACE))
        questions = []
        for one in asked:
            found = (turn for place in one["evidence"] for turn in re.findall(r"D(\d+):(\d+)", place))
            places = {f"D{session}:{int(turn)}" for session, turn in found}
            relevant = frozenset(ids[place] for place in places if place in ids)
            questions.append(FindingQuestion(one["question"], one["category"], relevant))
        yield Corpus(name, tuple(messages), tuple(one for one in questions if one.relevant))


def _doc_id(conversation: int, position: int) -> int:
    return conversation << POSITION_BITS | position


def madial(data: Path) -> Corpus:
    """Return MADial's memories, each a conversation of its own; asked is what a user says before one is recalled."""
    lines = (data / _MADIAL_MEMORIES).read_text("utf-8").splitlines()
    memories = [(int(key), memory) for line in lines for key, memory in json.loads(line).items()]
    memories.sort(key=lambda one: one[0])
    times = {key: datetime.fromisoformat(one["time"]).replace(tzinfo=UTC) for key, one in memories}
    messages = tuple(CorpusMessage(_doc_id(key, 0), "user", None, one["event"], times[key]) for key, one in memories)
    numbers = {key: nth for nth, (key, _) in enumerate(memories)}
    questions = []
    for line in (data / _MADIAL).read_text("utf-8").splitlines():
        one = json.loads(line)
        spoken = one["dialogue"][: min(one["test-turn"])]
        before = [turn for turn in spoken if not turn.startswith(("<BOD>", "<Assistant>"))]
        relevant = frozenset(numbers[key] for key in one["relevant-id"] if key in numbers)
        if before and relevant:
            questions.append(FindingQuestion(before[-1].split(":", 1)[1].strip().strip('"'), 0, relevant))
    return Corpus("madial", messages, tuple(questions))


def code_talk(data: Path) -> Corpus:
    """Return what was said in recorded coding sessions; asked is about identifiers that stand in few messages."""
    messages: list[CorpusMessage] = []
    for number, path in enumerate(sorted((data / "sessions").glob("*.jsonl")), 1):
        for position, (role, text) in enumerate(_spoken(path)):
            moment = datetime(2025, 1, 1, tzinfo=UTC) + timedelta(days=number) + position * _PACE
            messages.append(CorpusMessage(_doc_id(number, position), role, None, text, moment))
    texts = [one.content for one in messages]
    lowered = [text.lower() for text in texts]
    questions = []
    for name in sorted({name for text in texts for name in identifiers_of(text) if len(name) >= _SHORTEST}):
        relevant = frozenset(nth for nth, text in enumerate(lowered) if name in text)
        if len(relevant) <= _MOST_RELEVANT:
            written = re.findall(re.escape(name), texts[min(relevant)], re.IGNORECASE)[0]
            text = _CODE_QUESTIONS[len(name) % len(_CODE_QUESTIONS)].format(written)
            questions.append(FindingQuestion(text, 0, relevant))
    return Corpus("code", tuple(messages), tuple(questions))


def records_of(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the records of a transcript that can be read."""
    for line in path.read_text("utf-8", "replace").splitlines():
        try:
            record = json.loads(line)
        except ValueError:
            continue
        if isinstance(record, dict):
            yield record


def _spoken(path: Path) -> Iterator[tuple[str, str]]:
    for message in (record.get("message") for record in records_of(path)):
        if isinstance(message, dict) and message.get("role") in ("user", "assistant"):
            content = message.get("content")
            blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content or []
            text = "\n\n".join(one["text"] for one in blocks if isinstance(one, dict) and one.get("type") == "text")
            if text.strip() and not text.startswith("<"):
                yield message["role"], text
