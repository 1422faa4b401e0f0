"""What a version is made from, in one shape whether it comes from the original or from another version.

A tool's call is brought together with its result, messages are counted, marked parts are set apart from the words
around them, and results are cut to what can be of use, so that a long session takes little memory. Tool records are
the bulk of a session and the least of it; they are shortened before any word is.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from itertools import accumulate, zip_longest
from pathlib import Path
from typing import Any

from shared.base.errors import Conflict
from shared.llm.calls import estimate_tokens
from shared.sessions.blocks import Block, BlockKind, RecordedToolCall, block_tokens, fill_budget, mask_block, mask_value
from shared.sessions.compress.settings import CompressionSettings
from shared.sessions.markers import MarkerNames, PlacedMarker, without_idle_marks
from shared.sessions.models import KeepitMarker, SessionVersion
from shared.sessions.recording import blocks_in
from shared.sessions.store import Store
from shared.sessions.text import Fence, cut, fences_at
from shared.sessions.transcripts.contents import read_blocks
from shared.sessions.transcripts.typed import ANSWERED, OUTPUT, REFUSED
from shared.text.lines import clean, shorten
from shared.text.secrets import without_key_blocks
from shared.text.sentences import mask_secrets

_IDENTIFYING = (
    "command", "file_path", "notebook_path", "path", "pattern", "query", "url", "description", "subagent_type",
    "skill", "prompt", "uri", "name", "glob",
)  # fmt: skip
"""Keys of inputs that say what a call was about, the most informative first."""
_VERBS = {
    "Read": "read", "NotebookRead": "read", "Edit": "edited", "MultiEdit": "edited", "NotebookEdit": "edited",
    "Write": "wrote", "Bash": "ran", "Grep": "searched", "Glob": "listed", "LS": "listed", "WebFetch": "fetched",
    "WebSearch": "searched the web for", "Task": "delegated", "Agent": "delegated", "TodoWrite": "planned",
    "ExitPlanMode": "proposed the plan", "AskUserQuestion": "asked",
}  # fmt: skip
CHANGING = frozenset({"Edit", "MultiEdit", "Write", "NotebookEdit"})
"""Tools that leave something changed."""
RUNNING = frozenset({"Bash", "BashOutput", "KillShell"})
_ERROR = re.compile(
    r"\b(?:\w*error|errors|\w*exception|traceback|fail(?:ed|ure|ures|s)?|fatal|panic|denied|refused|not found|cannot"
    r"|can't|no such|undefined|unexpected|mismatch|exit code|timed? ?out|assert\w*|warning|\w*fehler\w*|fehlgeschlagen"
    r"|ungültig\w*|erreurs?|échec|échoué\w*|introuvable|errore?s|falló|fallos?|fallid[oa]s?)\b",
    re.IGNORECASE,
)
_PASSES = re.compile(
    r"\s*(?:[✓✔√]|ok\s|(?:--- )?PASS(?:ED)?\b)"
    r"|.*(?:\bPASS(?:ED)?(?:\s*[\[(][^\])]*[\])])?|\.\.\.\s*ok(?:\s*\(.*\))?)\s*$"
)
"""A line about one test that passed: what fails in its name ("test_error") did not fail."""
_COUNT = re.compile(r"\b\d+\s+(?:\w+\s+)?(?:passed|failed|tests?|errors?|issues?|files?|warnings?|changed)\b", re.I)
_BROKEN = re.compile(
    r"^\s*(?:\w*(?:Error|Exception)\b.{0,4}:|Traceback \(|FAILED\b|FAIL:|fatal:|npm ERR!|panic:|error(?:\[\w+\])?:"
    r"|Exit code [1-9]|command not found|bash: .*: (?:command )?not found)",
    re.IGNORECASE | re.MULTILINE,
)
_SAYS_NOTHING = re.compile(
    r"(?:Exit code \d+|(?:FAILURE: )?Build failed\b.{0,40}|Traceback \(.*|npm ERR! (?:code|errno) .*|\W*errors?:?\W*"
    r"|\* What went wrong:|Process completed with exit code \d+\.?|Command failed.{0,20})$",
    re.IGNORECASE,
)
_GIT_UNDOES = re.compile(r"\bgit (?:reset --hard\b|(?:checkout|restore)\b(?! -b)(?P<paths>[^;&|\n]*))")
_RAISED = re.compile(r"(?:[\w.]+\.)?\w*(?:Error|Exception)(?::|$)")
_TAG = re.compile(r"</?(?:tool_use_error|system-reminder|error)>")
_NUMBERED = re.compile(r"^\s*\d+[→\t]")
_LONGEST_LINE, _SHORT_RESULT, _LEAST_WHY = 240, 40, 36


def verb_of(tool: str) -> str:
    """Return how a use of a tool is told."""
    return _VERBS.get(tool, f"used {tool}:")


def object_of(tool: str, given: Mapping[str, Any], most: int = 160) -> str:
    """Return what a call was about in one line: a path as it is, a command as code."""
    if tool == "TodoWrite":
        todos = given.get("todos")
        entries = [one for one in todos if isinstance(one, dict)] if isinstance(todos, list) else []
        told = clean(", ".join(str(one.get("content", "")) for one in open_tasks(given) or entries)) or "a list"
        done = len(entries) - len(open_tasks(given))
        return shorten(told, most) + (f" ({done} of {len(entries)} done)" if done else "")
    if tool == "ExitPlanMode":
        return ""
    if tool == "AskUserQuestion" and isinstance(asked := given.get("questions"), list):
        return shorten(clean(", ".join(str(one.get("question", "")) for one in asked if isinstance(one, dict))), most)
    for key in _IDENTIFYING:
        value = given.get(key)
        if isinstance(value, str) and value.strip():
            text = clean(value)
            if key in ("command", "pattern"):
                return f"`{cut(text, most)}`"
            return cut(text, most) if key.endswith("path") or key in ("url", "uri") else shorten(text, most)
    return cut(clean(json.dumps(given, ensure_ascii=False)), most) if given else ""


def open_tasks(given: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the entries of a list of tasks that are not done."""
    todos = given.get("todos")
    entries = todos if isinstance(todos, list) else []
    return [one for one in entries if isinstance(one, dict) and one.get("status") != "completed"]


def call_words(call: RecordedToolCall) -> tuple[str, str]:
    """Return what was done and to what; with what came of it, where a call that changed nothing has a short result."""
    about, result = object_of(call.name, call.input), call.result
    if result is None:
        outcome = " (no result)"
    else:
        result = result.strip()
        is_short = 0 < len(result) <= _SHORT_RESULT and "\n" not in result and call.name not in CHANGING
        outcome = f" ({result})" if is_short else ""
    return verb_of(call.name), f"{about}{outcome}".strip()


def call_text(call: RecordedToolCall) -> str:
    """Return a call in a few words."""
    return " ".join(call_words(call)).strip()


def shorten_input(given: Mapping[str, Any], most: int) -> dict[str, Any]:
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


def shorten_result(result: str, most: int) -> str:
    """Return the lines of a result that say most, in order, in at most so many characters."""
    if len(result) <= most:
        return result
    lines = [cut(line.rstrip(), _LONGEST_LINE) for line in result.splitlines() if line.strip()]
    chosen = set(fill_budget(_most_informative(lines), lambda place: len(lines[place]) + 3, most - 2, least=20))
    mentioned: list[str] = []
    before = -1
    for place in sorted(chosen):
        mentioned += ["…", lines[place]] if place != before + 1 else [lines[place]]
        before = place
    if chosen and before != len(lines) - 1:
        mentioned.append("…")
    return "\n".join(mentioned) or cut(clean(result), most)


def _most_informative(lines: list[str]) -> Iterator[int]:
    last = len(lines) - 1
    passes = {place for place, line in enumerate(lines) if _PASSES.match(line)}
    errors = [
        place
        for place, line in enumerate(lines)
        if _ERROR.search(line) and place not in passes and not _NUMBERED.match(line)
    ]
    counts = [place for place, line in enumerate(lines) if _COUNT.search(line) and place not in passes][-3:]
    telling = [place for place in range(len(lines)) if place not in passes]
    yield from dict.fromkeys(
        [*errors[:3], *counts, 0, last, *errors[-3:], 1, last - 1, *errors, *telling, *range(len(lines))]
        if last > 1
        else range(last + 1)
    )


def without_passes(result: str) -> str:
    """Return a result without its lines about tests that passed."""
    return "\n".join(line for line in result.splitlines() if not _PASSES.match(line))


def is_done(call: RecordedToolCall) -> bool:
    """Whether a call may be told as something that was done."""
    return not is_answered_by_user(call) and not has_failed(call)


def is_answered_by_user(call: RecordedToolCall) -> bool:
    """Whether a call is told by what a person answered to it, and not as something that was done."""
    return call.result in (REFUSED, ANSWERED)


def undone_changes(calls: Sequence[tuple[int, RecordedToolCall]]) -> set[int]:
    """Return the positions of changes that git took back later; ``calls``: with their positions, in order."""
    undone: set[int] = set()
    taken_back: list[str] = []
    for position, call in reversed(calls):
        if call.name in RUNNING and is_done(call):
            for found in _GIT_UNDOES.finditer(str(call.input.get("command", ""))):
                paths = (word.strip("'\"").removeprefix("./") for word in (found["paths"] or ".").split())
                taken_back += (path.rstrip("/") for path in paths if not path.startswith("-"))
        elif call.name in CHANGING and taken_back:
            file = f"/{call.input.get('file_path') or call.input.get('notebook_path') or ''}/"
            if any(path in (".", "") or f"/{path}/" in file for path in taken_back):
                undone.add(position)
    return undone


def has_failed(call: RecordedToolCall) -> bool:
    """Whether a call did not do what it was made for: by its own word, or by what a command put out."""
    return call.is_error or (call.name in RUNNING and _BROKEN.search((call.result or "")[:20_000]) is not None)


def failure_line(call: RecordedToolCall, most: int = 200) -> str:
    """Return a failed attempt in one line: what was tried, and the first line that says why it failed."""
    tool, given, result = call.name, call.input, call.result or ""
    if result == REFUSED:
        return f"{cut(f'{tool} {object_of(tool, given, most)}'.strip(), most - len(REFUSED) - 2)}: {REFUSED}"
    tried = f"{verb_of(tool)} {object_of(tool, given, most // 2)}".strip()
    lines = [clean(_TAG.sub("", line)) for line in result.splitlines()]
    worded = [line for line in lines if any(character.isalnum() for character in line) and not _PASSES.match(line)]
    told = [nth for nth, line in enumerate(worded) if _ERROR.search(line)]
    # That it failed is said already; why comes behind, and in a traceback last of all.
    why_told = [nth for nth in told if not _SAYS_NOTHING.match(worded[nth])]
    raised = [nth for nth in why_told if _RAISED.match(worded[nth])]
    at = [*raised[-1:], *why_told, *told, 0][0]
    if not why_told and len(worded) > at + 1:
        at += 1
    # What ends with a colon says why in the next line.
    why = " ".join(worded[at : at + 2] if worded[at:] and worded[at].endswith(":") else worded[at : at + 1])
    # Of a long command its beginning will do: why it failed is what nobody can look up.
    tried = cut(tried, max(most - min(len(why), _LEAST_WHY) - 2, _LEAST_WHY))
    return f"{tried}: {cut(why or 'it failed', most - len(tried) - 2)}"


_ANNOUNCED_WITHIN = 200
"""Characters before a marked part in which it is looked for whether they announce a secret."""
LEAST_RESULT = 4_000
"""Characters of a tool's result that are looked at in any case."""
_ANSWERS = (BlockKind.ASSISTANT, BlockKind.THINKING, BlockKind.TOOL_USE)
DIGESTS = (BlockKind.FAILURE, BlockKind.TOOL)
"""Lines that another version made: of a failure, of several calls."""
_KEPT_KINDS = (*DIGESTS, BlockKind.SUMMARY, BlockKind.QUESTION, BlockKind.LEFT)


@dataclass(frozen=True)
class CompressionTask:
    """What a version is made of and how."""

    session_id: str
    settings: CompressionSettings
    source_sha256: str
    source_version: str | None
    blocks: Sequence[Block]

    @property
    def cache_key(self) -> str:
        """Digest of the inputs and settings: the same for all versions made of the same by the same settings."""
        settings = self.settings.model_dump(mode="json", by_alias=True)
        parts = json.dumps([self.session_id, self.source_sha256, settings], sort_keys=True)
        return sha256(parts.encode()).hexdigest()[:12]


@dataclass(frozen=True)
class CompressionOrigin:
    """Where what is compressed lies, and what is known of it."""

    app_id: str
    project_id: str
    session_id: str
    sha256: str
    size_bytes: int
    """How much of the original counts."""
    version: SessionVersion | None
    """The version it is made from; None for the original."""
    markers: Sequence[KeepitMarker]

    def version_file(self, store: Store, version: SessionVersion, ending: str) -> Path:
        return store.versions_folder(self.app_id, self.project_id, self.session_id) / f"{version.file}.{ending}"


def read_task(store: Store, origin: CompressionOrigin, settings: CompressionSettings) -> CompressionTask:
    """Read what is to be compressed. Raises: Conflict ``source_gone`` where its file is missing."""
    version = origin.version
    if version is not None:
        path = origin.version_file(store, version, "jsonl")
    else:
        path = store.original(origin.app_id, origin.project_id, origin.session_id)
    if not path.is_file():
        raise Conflict(
            f"{path.name} is not in the store any more; unregister the session and register it again.",
            code="source_gone",
        )
    weights = {marker.marker_id: marker.weight_in_force for marker in origin.markers}
    if version is not None:
        blocks = read_version(blocks_in(path), weights)
    else:
        ratio = min(tier.compaction_ratio for tier in settings.tiers)
        blocks = read_original(read_blocks(path, origin.size_bytes), origin.session_id, weights, ratio)
    return CompressionTask(
        origin.session_id, settings, origin.sha256, None if version is None else version.version_id, blocks
    )


def read_version(blocks: Iterable[Block], weights: Mapping[str, int]) -> list[Block]:
    """Return what a version says; each of its blocks is a message. ``weights``: of markers, by their ids."""
    found = []
    for message, block in enumerate(one for one in blocks if one.kind is not BlockKind.NAMES):
        weight = weights.get(block.marker_ids[0]) if block.kind is BlockKind.KEEPIT and block.marker_ids else None
        found.append(
            # One that was made when secrets were not masked yet may hold some.
            replace(
                mask_block(block),
                kind=_kind_in_version(block),
                marker_ids=block.marker_ids[:1] if weight is not None else (),
                is_pinned=False,
                tier=0,
                extra={},
                is_sidechain=block.role == "note" and block.kind is BlockKind.WORDS,
                message=message,
                tokens=block_tokens(block),
                weight=weight,
            )
        )
    return found


def _kind_in_version(block: Block) -> BlockKind:
    """Return what a block of a version is for one made of it."""
    if (
        block.call is not None
        or block.kind in _KEPT_KINDS
        or (block.role == "note" and block.kind is not BlockKind.WORDS)
    ):
        return BlockKind.TOOL if block.call is not None else block.kind
    return BlockKind.HUMAN if block.role == "user" else BlockKind.ASSISTANT


def read_original(
    blocks: Iterable[Block], session_id: str, weights: Mapping[str, int], least_ratio: int
) -> list[Block]:
    """Return what an original says, read from its beginning, calls with their results and marked parts apart.

    ``least_ratio``: the lowest of its tiers; results are cut by it.
    """
    reader = _OriginalReader(MarkerNames(session_id), weights, least_ratio)
    for block in blocks:
        reader.add(block)
    return reader.found


def message_count(blocks: Sequence[Block]) -> int:
    return blocks[-1].message + 1 if blocks else 0


@dataclass
class _OriginalReader:
    """What was read so far."""

    names: MarkerNames
    weights: Mapping[str, int]
    least_ratio: int
    found: list[Block] = field(default_factory=list)
    message: int = -1
    key: str = ""
    open_calls: dict[str, int] = field(default_factory=dict)

    def add(self, block: Block) -> None:
        key = block.uuid if block.kind is BlockKind.HUMAN else block.message_id if block.kind in _ANSWERS else None
        if key is not None and key != self.key:
            self.message, self.key = self.message + 1, key
        placed, _ = self.names.of(block)
        call = block.call
        if block.kind is BlockKind.TOOL_USE and call is not None:
            if call.tool_use_id:
                self.open_calls[call.tool_use_id] = len(self.found)
            given, masked = mask_value(shorten_input(call.input, self._most(block.text)))
            call = replace(call, input=given)
            self._append(block, BlockKind.TOOL, "", estimate_tokens(block.text), call=call, masked=masked)
        elif block.kind is BlockKind.TOOL_RESULT and call is not None and call.tool_use_id in self.open_calls:
            position = self.open_calls.pop(call.tool_use_id)
            use = self.found[position]
            assert use.call is not None
            result, masked = self._shown_result(block.text)
            self.found[position] = replace(
                use,
                masked=use.masked + masked,
                call=replace(use.call, result=result, is_error=call.is_error),
                sources=tuple(dict.fromkeys((*use.sources, block.uuid))),
                tokens=use.tokens + estimate_tokens(block.text),
            )
        elif placed:
            self._add_parts(block, placed)
        elif block.text.strip():
            # What the tool itself wrote about the session is no part of what the registry counts.
            is_counted = block.kind not in (BlockKind.SUMMARY, BlockKind.SYSTEM, BlockKind.LEFT)
            self._add_text(block, block.text, estimate_tokens(block.text) if is_counted else 0)

    def _append(self, block: Block, kind: BlockKind, text: str, tokens: int, **more: Any) -> None:
        sources, message = (block.uuid,), max(self.message, 0)
        more = {"call": None, "message_id": None} | more
        self.found.append(replace(block, kind=kind, text=text, sources=sources, message=message, tokens=tokens, **more))

    def _add_text(self, block: Block, text: str, tokens: int, before: str = "", **more: Any) -> None:
        if block.kind is BlockKind.TOOL_RESULT:
            shown, (text, masked) = replace(block, role="note", label=OUTPUT), self._shown_result(text)
            self._append(shown, BlockKind.SYSTEM, text, tokens, masked=masked, **more)
            return
        if not more:
            # Marks that mark nothing are no words either; a marked part stands byte for byte.
            text = without_idle_marks(text)
        text, masked = mask_secrets(text, before)
        if text.strip():
            self._append(block, block.kind, text, tokens, masked=masked, **more)

    def _add_parts(self, block: Block, placed: Sequence[PlacedMarker]) -> None:
        """Take in a message's words and its marked parts, in order; the marks themselves are no words."""
        text, first = block.text, len(self.found)
        ends = [0, *accumulate((one.found.end for one in placed), max)]
        gaps = list(zip(ends, (*(one.found.start for one in placed), len(text)), strict=True))
        # A part may lie within another's; then there is nothing between them.
        fences = iter(fences_at(text, [place for start, end in gaps if start < end for place in (start, end)]))
        for (start, end), one in zip_longest(gaps, placed):
            if start < end:
                before = text[max(0, start - _ANNOUNCED_WITHIN) : start]
                self._add_between(block, text[start:end], before, next(fences), next(fences))
            if one is not None:
                weight = self.weights.get(one.marker_id, one.found.weight)
                # What stands before a mark may announce a secret behind it: "Password: ##keepit1.00## ...".
                before = text[max(0, one.found.start - _ANNOUNCED_WITHIN) : one.found.start]
                self._add_text(block, one.found.content, 0, before, marker_ids=(one.marker_id,), weight=weight)
        # Parts of one message are of one tier, so that all of it can be counted with the first.
        self.found[first] = replace(self.found[first], tokens=estimate_tokens(block.text))

    def _add_between(self, block: Block, text: str, before: str, opened: Fence | None, left_open: Fence | None) -> None:
        """Take in words between marked parts; code that a mark parts is opened and closed on either side."""
        if not text.strip():
            return
        if opened is not None and text.lstrip().startswith(opened.marks):
            text = text.lstrip().lstrip(opened.marks[0])  # Nothing of the code is left but its end.
        elif opened is not None:
            text = f"{opened.opening}\n{text}"
        self._add_text(block, text if left_open is None else f"{text.rstrip()}\n{left_open.marks}", 0, before)

    def _shown_result(self, text: str) -> tuple[str, int]:
        """Return a result as it is looked at, with its secrets masked, and how many of them there are."""
        # Shortened first, as to look for secrets takes four times as long as to read; but no key loses its beginning.
        return mask_secrets(shorten_result(without_key_blocks(text), self._most(text)))

    def _most(self, text: str) -> int:
        return max(LEAST_RESULT, len(text) * 5 // (4 * self.least_ratio))
