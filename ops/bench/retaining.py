"""Print as JSON what compression keeps of recorded sessions, beside two rivals at the same length.

Counted are whole requests and whole sentences of a person's, what they typed when they refused a call or answered a
question, and identifiers, paths and commands: without the section of names, whose finds stand apart. Sentences that are
not what was typed and words under a wrong speaker are counted as well. The rivals are the beginning and end of the
transcript and its last tokens, written out as its records say who speaks. What a person typed is read here from the
raw records, or known from the labels of made-up transcripts, not asked of the code that is measured.
Run: python -m ops.bench.retaining
"""

from __future__ import annotations

import json
import re
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from ops.bench.corpora import SESSIONS, records_of
from ops.bench.harness import run
from shared.sessions.blocks import markdown_lines
from shared.sessions.compress.run import CompressionRun
from shared.sessions.compress.settings import CompressionMode, CompressionSettings
from shared.sessions.compress.sources import CompressionTask, read_original
from shared.sessions.transcripts.contents import read_blocks
from tests.support.meters import Calls
from tests.support.odd_recorder import Foreign, Labels
from tests.support.odd_transcripts import odd_transcripts
from tests.support.recorded_speech import read_speech
from tests.support.version_checker import GAP, Section, check_markdown, markdown_sections, record_sections, squash
from worker.agent.session_rules import ExtractiveCompressionAgent

RATIOS = (5, 10, 30)
_LEAST_CHARS = 4_000
"""Shorter transcripts say nothing about 30:1."""
_IDENTIFIER = re.compile(r"\b(?:[a-z]+(?:[A-Z][a-z0-9]+)+|(?:[A-Z][a-z0-9]+){2,}|[A-Za-z]+(?:_[A-Za-z0-9]+)+)\b")
_PATH = re.compile(r"(?:~|\.)?(?:/[\w.@+-]+){2,}|\b[\w-]+(?:/[\w.@+-]+)+\.[a-z]{1,5}\b")
_PATH_KEYS = ("file_path", "notebook_path", "path")
_COMMAND_CHARS = 100
_WRONG = {"spliced_sentences": ("spliced", "gap"), "wrong_speakers": ("speaker", "left branch")}


@dataclass(frozen=True)
class Session:
    """A transcript with who said what, and all of it written out."""

    path: Path
    labels: Labels
    sections: Sequence[Section]
    names: Mapping[str, frozenset[str]]
    """Identifiers, paths and commands, each once, white space squeezed."""


def open_session(path: Path, labels: Labels | None = None) -> Session:
    """Read a transcript; ``labels``: what is known of it."""
    records = [record for record in records_of(path) if record.get("type") in ("user", "assistant")]
    labels = labels or read_speech(path)
    return Session(path, labels, record_sections(_plain(records)), _names_of(records, labels))


def measure(
    folder: Path,
    sessions: Annotated[Path, "Folder of transcripts."] = SESSIONS,
    smallest: Annotated[bool, "One transcript of each kind, one ratio."] = False,
) -> dict[str, Any]:
    """Measure the recorded transcripts, if there are any, and the made-up ones."""
    if not sessions.is_dir() and sessions != SESSIONS:
        sys.exit(f"{sessions} is not there; name a folder of transcripts with --sessions.")
    return compare_all(folder, sessions, RATIOS[1:2], 1) if smallest else compare_all(folder, sessions)


def compare_all(
    folder: Path, sessions: Path, ratios: Sequence[int] = RATIOS, most: int | None = None
) -> dict[str, Any]:
    """Return what is kept of the transcripts of ``sessions`` and of made-up ones; ``most``: only so many of each."""
    found = [open_session(path) for path in sorted(sessions.glob("*.jsonl"))]
    recorded = [one for one in found if sum(part.length for part in one.sections) >= _LEAST_CHARS][:most]
    odd = [open_session(one.write(folder), one.labels) for one in odd_transcripts()[:most]]
    begun = time.perf_counter()
    kinds = {"recorded": recorded, "made_up": odd} if recorded else {"made_up": odd}
    return {
        "transcripts": {kind: [one.path.stem for one in ones] for kind, ones in kinds.items()},
        **{kind: {f"{ratio}:1": compare(ones, ratio) for ratio in ratios} for kind, ones in kinds.items()},
        "seconds": round(time.perf_counter() - begun, 2),
    }


def compare(sessions: Iterable[Session], ratio: int) -> dict[str, Any]:
    """Return what each way keeps of transcripts at a ratio: shares, and how many things are wrong.

    ``sentences`` are shares of all sentences, ``by_text`` means of the shares of each text that was typed.
    """
    counts: dict[str, Counter[str]] = {}
    of: Counter[str] = Counter()
    for session in sessions:
        version = compressed(session.path, ratio)
        ways = {
            "compressed": version,
            "head_and_tail": head_and_tail(session.sections, len(version)),
            "last_tokens": last_tokens(session.sections, len(version)),
        }
        for way, text in ways.items():
            kept, total = _kept(session, text)
            counts.setdefault(way, Counter()).update(kept)
        of.update(total)
        of.update({"chars_before": sum(one.length for one in session.sections), "chars_after": len(version)})
    tokens = {"before": of["chars_before"] // 4, "after": of["chars_after"] // 4}
    return {way: _shares(kept, of) for way, kept in counts.items()} | {
        "of": {name: of[name] for name in sorted(of) if not name.startswith("chars")}, "tokens": tokens,
    }  # fmt: skip


def compressed(path: Path, ratio: int) -> str:
    """Compress with the built-in agent."""
    settings = CompressionSettings(mode=CompressionMode.UNIFORM, compaction_ratio=ratio).complete("extractive")
    agent = ExtractiveCompressionAgent()
    blocks = read_original(read_blocks(path), path.stem, {}, ratio)
    run = CompressionRun(CompressionTask(path.stem, settings, "", None, blocks), agent.chunk_tokens)
    made = run.finish([agent.condense(chunk, Calls()) for chunk in run.chunks])
    return "".join(markdown_lines(made.blocks, made.heading))


def head_and_tail(sections: Sequence[Section], chars: int) -> str:
    """Keep the beginning and the end of all that is said."""
    text = _written(sections)
    return text if len(text) <= chars else f"{text[: chars // 2]} {GAP}\n\n{last_tokens(sections, chars - chars // 2)}"


def last_tokens(sections: Sequence[Section], chars: int) -> str:
    """Keep the end of all that is said, under the speaker whom the cut goes through."""
    kept: list[Section] = []
    for section in reversed(sections):
        if chars <= 0:
            break
        text = section.text if len(section.text) <= chars else f"{GAP} {section.text[-chars:]}"
        kept.append(Section(section.label, text, len(text)))
        chars -= section.length
    return _written(reversed(kept))


def _written(sections: Iterable[Section]) -> str:
    return "".join(f"**{one.label}:** {one.text}\n\n" for one in sections)


def _plain(records: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield records as one who knows nothing of the recorder takes them: whoever has the role speaks."""
    for record in records:
        message = record.get("message")
        content = message.get("content") if isinstance(message, dict) else message
        parts = [{"type": "text", "text": one} if isinstance(one, str) else one for one in content or ()]
        blocks = [one for one in parts if isinstance(one, dict)] if isinstance(content, list) else [
            {"type": "text", "text": str(content or "")}
        ]  # fmt: skip
        whole = [
            {"id": "", "name": "", "input": {}, "text": "", "content": "", "thinking": ""} | one
            for one in blocks
            if one.get("type") in ("text", "thinking", "tool_use", "tool_result")
        ]
        yield {"type": record["type"], "message": {"content": whole}}


def _names_of(records: Sequence[Mapping[str, Any]], labels: Labels) -> dict[str, frozenset[str]]:
    calls = [
        block["input"]
        for record in _plain(records)
        for block in record["message"]["content"]
        if block["type"] == "tool_use" and isinstance(block["input"], dict)
    ]
    typed = [one.text for one in labels.spoken]
    said = typed + [one.text for one in labels.foreign if one.kind is Foreign.ASSISTANT]
    said += [json.dumps(call, ensure_ascii=False) for call in calls]
    named = [value for call in calls for key in _PATH_KEYS if isinstance(value := call.get(key), str)]
    named += [path for text in typed for path in _PATH.findall(text)]
    commands = [value for call in calls if isinstance(value := call.get("command"), str)]
    return {
        "identifiers": frozenset(name for text in said for name in _IDENTIFIER.findall(text)),
        "paths": frozenset(path for path in named if len(path) > 3),
        "commands": frozenset(command[:_COMMAND_CHARS] for command in commands),
    }


def _kept(session: Session, text: str) -> tuple[Counter[str], Counter[str]]:
    """Return what stands in a text, and of how many."""
    kept, of = Counter[str](), Counter[str]()
    verdict = check_markdown(text, session.labels)
    for name in ("requests", "sentences", "by_text", "rejections", "answers"):
        kept[name], of[name] = getattr(verdict.retained, name)
    sections = markdown_sections(text)
    turns = squash("".join(one.text for one in sections if one.speaker != "Names"))
    listed = squash("".join(one.text for one in sections if one.speaker == "Names"))
    for kind, names in session.names.items():
        of[kind] = len(names)
        kept[kind] = sum(squash(name) in turns for name in names)
        kept[f"{kind}_in_names_only"] = sum(squash(name) in listed and squash(name) not in turns for name in names)
    kept["names_chars"] = sum(one.length for one in sections if one.speaker == "Names")
    kept["chars"] = len(text)
    for name, rules in _WRONG.items():
        kept[name] = len(verdict.broken(*rules))
    return kept, of


def _shares(kept: Counter[str], of: Counter[str]) -> dict[str, float | int | None]:
    shares: dict[str, float | int | None] = {}
    for name in ("requests", "sentences", "by_text", "rejections", "answers", "identifiers", "paths", "commands"):
        shares[name] = round(kept[name] / of[name], 3) if of[name] else None
    for name in ("identifiers", "paths", "commands"):
        only = f"{name}_in_names_only"
        shares[only] = round(kept[only] / of[name], 3) if of[name] else None
    shares["names_share"] = round(kept["names_chars"] / max(1, kept["chars"]), 3)
    return shares | {name: kept[name] for name in _WRONG}


if __name__ == "__main__":
    run(measure)
