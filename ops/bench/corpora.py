"""Public chat corpora as conversations: MemoryBank (one conversation a day) and LoCoMo (one per session).

Only reads; the files are not part of the project and are looked for beside the checkout. What is done with the
conversations is left to the benches.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

DEFAULT_DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
"""Where the corpora are looked for: in ``shared/data`` beside the checkout."""

_Said = tuple[str, str | None, str]
_PACE = timedelta(seconds=30)


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


def missing(data: Path) -> str | None:
    """Say what is missing at ``data``, or return None when both corpora are there."""
    absent = [name for name in ("memorybank_en.json", "locomo_dev4.json") if not (data / "chats" / name).is_file()]
    if not absent:
        return None
    return f"{', '.join(absent)} not found in {data / 'chats'}; give the corpora's directory with --data"


def parse(parser: argparse.ArgumentParser, arguments: list[str]) -> argparse.Namespace:
    """Parse arguments with ``--data`` among them; end with status 1 where the corpora are not there."""
    parser.add_argument("--data", type=Path, default=DEFAULT_DATA, help="directory that holds chats/")
    options = parser.parse_args(arguments)
    absent = missing(options.data)
    if absent:
        sys.exit(absent)
    return options


def memorybank(data: Path = DEFAULT_DATA) -> Iterator[CorpusSubject]:
    """Yield the users of MemoryBank, one conversation a day, user and assistant in turn."""
    people = json.loads((data / "chats" / "memorybank_en.json").read_text(encoding="utf-8"))
    for name, person in people.items():
        days = [day for day in sorted(person["history"].items()) if day[1]]
        yield CorpusSubject(name.strip(), [_day(number, *day) for number, day in enumerate(days, 1)], [])


def _day(number: int, date: str, exchanges: list[dict[str, str]]) -> CorpusConversation:
    start = datetime.fromisoformat(date).replace(hour=9, tzinfo=UTC)
    sides = (("user", "query"), ("assistant", "response"))
    said: list[_Said] = [(role, None, one[key]) for one in exchanges for role, key in sides]
    return CorpusConversation(number, start, _timed(said, start))


def locomo(data: Path = DEFAULT_DATA) -> Iterator[CorpusSubject]:
    """Yield LoCoMo's dialogues, one conversation per session; both speakers are people, so both are named users."""
    for dialogue in json.loads((data / "chats" / "locomo_dev4.json").read_text(encoding="utf-8")):
        spoken: dict[str, Any] = dialogue["conversation"]
        numbers = sorted(int(key[8:]) for key in spoken if re.fullmatch(r"session_\d+", key) and spoken[key])
        questions = [_question(one) for one in dialogue["qa"] if "answer" in one and one["category"] != 5]
        yield CorpusSubject(dialogue["sample_id"], [_session(number, spoken) for number in numbers], questions)


def _session(number: int, spoken: dict[str, Any]) -> CorpusConversation:
    written = " ".join(spoken[f"session_{number}_date_time"].split())
    start = datetime.strptime(written, "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)
    said: list[_Said] = [("user", turn["speaker"], turn.get("text") or "") for turn in spoken[f"session_{number}"]]
    return CorpusConversation(number, start, _timed(said, start))


def _question(one: dict[str, Any]) -> CorpusQuestion:
    sessions = frozenset(int(number) for place in one["evidence"] for number in re.findall(r"D(\d+):", place))
    return CorpusQuestion(one["question"], str(one["answer"]), one["category"], sessions)


def _timed(said: list[_Said], start: datetime) -> list[CorpusTurn]:
    spoken = [one for one in said if one[2].strip()]
    return [CorpusTurn(role, name, text.strip(), start + _PACE * i) for i, (role, name, text) in enumerate(spoken)]
