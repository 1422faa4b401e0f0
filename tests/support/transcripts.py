"""Small transcripts written by the tests themselves, and where the real ones lie."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

REAL = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "sessions"
FOREIGN = "entire_ec_38b74f08e3_2_full.jsonl"


def real_files() -> list[Path]:
    """Return the real transcripts that are there, the foreign file left out."""
    return [path for path in sorted(REAL.glob("*.jsonl")) if path.name != FOREIGN]


def user(text: str, uuid: str, **more: Any) -> dict[str, Any]:
    return {"type": "user", "uuid": uuid, "parentUuid": None, "message": {"role": "user", "content": text}} | more


def assistant(text: str, uuid: str, parent: str | None = None, **more: Any) -> dict[str, Any]:
    message = {"id": f"msg-{uuid}", "role": "assistant", "model": "m", "usage": {"output_tokens": 5}}
    blocks = [{"type": "text", "text": text}]
    return {"type": "assistant", "uuid": uuid, "parentUuid": parent, "message": message | {"content": blocks}} | more


def tool(name: str, given: dict[str, Any], result: str, number: int) -> Iterator[dict[str, Any]]:
    use = {"type": "tool_use", "id": f"t{number}", "name": name, "input": given}
    answer = {"type": "tool_result", "tool_use_id": f"t{number}", "content": result}
    yield {"type": "assistant", "uuid": f"use{number}", "message": {"id": f"mu{number}", "content": [use]}}
    yield {"type": "user", "uuid": f"res{number}", "parentUuid": f"use{number}", "message": {"content": [answer]}}


def lines(*records: dict[str, Any]) -> bytes:
    return b"".join(json.dumps(one, ensure_ascii=False).encode() + b"\n" for one in records)


def write(path: Path, *records: dict[str, Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(lines(*records))
    return path


def records_in(path: Path) -> list[Any]:
    """Return the records of a transcript; what is no JSON stays as it is."""
    found: list[Any] = []
    for line in path.read_text("utf-8").splitlines():
        try:
            found.append(json.loads(line))
        except ValueError:
            found.append(line)
    return found


def markable(records: Sequence[Any]) -> list[tuple[dict[str, Any], str]]:
    """Return the parts of records that hold what a person or the assistant said, each with the name of its text."""
    found: list[tuple[dict[str, Any], str]] = []
    for record in records:
        message = record.get("message") if isinstance(record, dict) else None
        if not isinstance(message, dict) or record.get("isSidechain") or record.get("isMeta"):
            continue
        content = message.get("content")
        if isinstance(content, str) and not content.startswith("<"):
            found.append((message, "content"))
        elif isinstance(content, list):
            found += [(one, "text") for one in content if isinstance(one, dict) and one.get("type") == "text"]
    return found
