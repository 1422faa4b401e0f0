"""What of a tool's call tells something: of its input what identifies it, of its result the lines that say how it went.

Tool records are the bulk of a session and the least of it; they are shortened before any word is. Pure functions of
text. Which calls are kept at all is left to the planning.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from shared.text.lines import clean, shorten

_IDENTIFYING = (
    "command", "file_path", "notebook_path", "path", "pattern", "query", "url", "description", "subagent_type",
    "skill", "prompt", "uri", "name", "glob",
)  # fmt: skip
"""Keys of inputs that say what a call was about, the most telling first."""
_VERBS = {
    "Read": "read", "NotebookRead": "read", "Edit": "edited", "MultiEdit": "edited", "NotebookEdit": "edited",
    "Write": "wrote", "Bash": "ran", "Grep": "searched", "Glob": "listed", "LS": "listed", "WebFetch": "fetched",
    "WebSearch": "searched the web for", "Task": "delegated", "Agent": "delegated", "TodoWrite": "planned",
}  # fmt: skip
CHANGING = frozenset({"Edit", "MultiEdit", "Write", "NotebookEdit"})
"""Tools that leave something changed."""
RUNNING = frozenset({"Bash", "BashOutput", "KillShell"})
_ERROR = re.compile(
    r"\b(?:\w*error|errors|\w*exception|traceback|fail(?:ed|ure|ures|s)?|fatal|panic|denied|refused|not found|cannot"
    r"|can't|no such|undefined|unexpected|mismatch|exit code|timed? ?out|assert\w*|warning)\b",
    re.IGNORECASE,
)
_COUNT = re.compile(r"\b\d+\s+(?:\w+\s+)?(?:passed|failed|tests?|errors?|issues?|files?|warnings?|changed)\b", re.I)
_BROKEN = re.compile(
    r"^\s*(?:\w*(?:Error|Exception)\b.{0,4}:|Traceback \(|FAILED\b|FAIL:|fatal:|npm ERR!|panic:|error(?:\[\w+\])?:"
    r"|Exit code [1-9]|command not found|bash: .*: (?:command )?not found)",
    re.IGNORECASE | re.MULTILINE,
)
_TAG = re.compile(r"</?(?:tool_use_error|system-reminder|error)>")
_NUMBERED = re.compile(r"^\s*\d+[→\t]")
_LONGEST_LINE = 240


def verb_of(tool: str) -> str:
    """Return how a use of a tool is told."""
    return _VERBS.get(tool, f"used {tool}:")


def object_of(tool: str, given: Mapping[str, Any], most: int = 160) -> str:
    """Return what a call was about in one line: a path as it is, a command as code."""
    if tool == "TodoWrite":
        return shorten(clean(_todos(given)) or "a list", most)
    for key in _IDENTIFYING:
        value = given.get(key)
        if isinstance(value, str) and value.strip():
            text = clean(value)
            if key in ("command", "pattern"):
                return f"`{cut(text, most)}`"
            return cut(text, most) if key.endswith("path") or key in ("url", "uri") else shorten(text, most)
    return cut(clean(json.dumps(given, ensure_ascii=False)), most) if given else ""


def _todos(given: Mapping[str, Any]) -> str:
    todos = given.get("todos")
    entries = [one for one in todos if isinstance(one, dict)] if isinstance(todos, list) else []
    open_ones = [one for one in entries if one.get("status") != "completed"] or entries
    return ", ".join(str(one.get("content", "")) for one in open_ones)


def cut(text: str, most: int) -> str:
    """Return a text cut to so many characters, behind a word where one ends, with a sign that it was."""
    if len(text) <= most:
        return text
    end = max(most - 1, 0)
    if not text[end : end + 1].isspace():
        end = max(text.rfind(space, most // 2, end) for space in " \n") if " " in text[most // 2 : end] else end
    return text[:end].rstrip() + "…"


def identifying(given: Mapping[str, Any], most: int) -> dict[str, Any]:
    """Return an input with what identifies it whole, and the rest of it as far as ``most`` characters allow."""
    ordered = sorted(given, key=lambda key: _IDENTIFYING.index(key) if key in _IDENTIFYING else len(_IDENTIFYING))
    kept: dict[str, Any] = {}
    for key in ordered:
        value = given[key]
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        if len(text) <= most:
            kept[key] = value
        elif most > len(key) + 20:
            kept[key] = cut(text, most)
        most -= min(len(text), max(most, 0)) + len(key)
    return kept


def telling(result: str, most: int) -> str:
    """Return the lines of a result that say most, in order, in at most so many characters."""
    if len(result) <= most:
        return result
    lines = [cut(line.rstrip(), _LONGEST_LINE) for line in result.splitlines() if line.strip()]
    chosen, room = set[int](), most - 2
    for place in _most_telling(lines):
        if len(lines[place]) + 3 <= room:
            chosen.add(place)
            room -= len(lines[place]) + 3
        if room < 20:
            break
    return _joined(lines, chosen) or cut(clean(result), most)


def _most_telling(lines: list[str]) -> Iterator[int]:
    last = len(lines) - 1
    errors = [place for place, line in enumerate(lines) if _ERROR.search(line) and not _NUMBERED.match(line)]
    yield from dict.fromkeys(
        [*errors[:3], *_counting(lines), 0, last, *errors[-3:], 1, last - 1, *errors, *range(len(lines))]
        if last > 1
        else range(last + 1)
    )


def _counting(lines: list[str]) -> list[int]:
    return [place for place, line in enumerate(lines) if _COUNT.search(line)][-3:]


def _joined(lines: list[str], chosen: set[int]) -> str:
    told: list[str] = []
    before = -1
    for place in sorted(chosen):
        if place != before + 1:
            told.append("…")
        told.append(lines[place])
        before = place
    if chosen and before != len(lines) - 1:
        told.append("…")
    return "\n".join(told)


def has_failed(tool: str, result: str, is_error: bool) -> bool:
    """Whether a call failed: by its own word, or by what a command put out."""
    return is_error or (tool in RUNNING and _BROKEN.search(result[:20_000]) is not None)


def failure(tool: str, given: Mapping[str, Any], result: str, most: int = 200) -> str:
    """Return a failed attempt in one line: what was tried, and the first line that says why it failed."""
    tried = f"{verb_of(tool)} {object_of(tool, given, most // 2)}".strip()
    lines = [clean(_TAG.sub("", line)) for line in result.splitlines()]
    worded = [line for line in lines if any(character.isalnum() for character in line)]
    why = next((line for line in worded if _ERROR.search(line)), worded[0] if worded else "it failed")
    return f"{tried}: {cut(why, max(most - len(tried) - 2, 40))}"
