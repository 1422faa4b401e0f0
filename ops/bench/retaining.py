"""Print as JSON how much of recorded sessions survives compression, beside cutting out the middle at the same length.

Of the identifiers, file paths, commands and requests of a transcript, each counted once: the share that stands in the
version of the built-in agent, in the beginning and end of the whole transcript, and in those of its words alone (not of
what tools gave back). What counts as what is looked up here by patterns of its own, not by the code that is measured.
Run: python -m ops.bench.retaining
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shared.sessions.blocks import Block, BlockKind, markdown_lines
from shared.sessions.compress.run import CompressionRun
from shared.sessions.compress.settings import CompressionMode, CompressionSettings
from shared.sessions.compress.sources import CompressionTask, read_original
from shared.sessions.transcripts.contents import read_blocks
from tests.support.meters import Calls
from worker.agent.session_rules import ExtractiveCompressionAgent

DEFAULT_SESSIONS = Path(__file__).resolve().parents[3] / "shared" / "data" / "sessions"
RATIOS = (5, 10, 30)
_LEAST_TOKENS = 1_000
"""Shorter transcripts say nothing about 30:1."""
_WORDS = (BlockKind.HUMAN, BlockKind.ASSISTANT, BlockKind.THINKING, BlockKind.TOOL_USE)
_SAID = (BlockKind.HUMAN, BlockKind.ASSISTANT, BlockKind.TOOL_USE)
_IDENTIFIER = re.compile(r"\b(?:[a-z]+(?:[A-Z][a-z0-9]+)+|(?:[A-Z][a-z0-9]+){2,}|[A-Za-z]+(?:_[A-Za-z0-9]+)+)\b")
_PATH = re.compile(r"(?:~|\.)?(?:/[\w.@+-]+){2,}|\b[\w-]+(?:/[\w.@+-]+)+\.[a-z]{1,5}\b")
_PATH_KEYS = ("file_path", "notebook_path", "path")
_COMMAND_CHARS, _REQUEST_CHARS = 100, 60


@dataclass(frozen=True)
class Contents:
    """What could get lost of a transcript, each thing once."""

    identifiers: frozenset[str]
    """In what people and the assistant said, and in what tools were called with."""
    identifiers_anywhere: frozenset[str]
    """In what tools gave back as well."""
    paths: frozenset[str]
    commands: frozenset[str]
    requests: frozenset[str]

    def kept_in(self, text: str) -> dict[str, int]:
        """Return how many of each stand in a text, however its white space runs."""
        squeezed = _squeezed(text)
        return {name: sum(one in squeezed for one in getattr(self, name)) for name in self.__dataclass_fields__}

    def counts(self) -> dict[str, int]:
        """Return how many there are of each."""
        return {name: len(getattr(self, name)) for name in self.__dataclass_fields__}


def contents_of(turns: Sequence[Block]) -> Contents:
    """Look up what a transcript holds."""
    said = [turn.text for turn in turns if turn.kind in _SAID]
    calls = [turn.call.input for turn in turns if turn.kind is BlockKind.TOOL_USE and turn.call]
    human = [turn.text for turn in turns if turn.kind is BlockKind.HUMAN]
    named = [value for call in calls for key in _PATH_KEYS if isinstance(value := call.get(key), str)]
    written = [path for text in human for path in _PATH.findall(text)]
    commands = [value for call in calls if isinstance(value := call.get("command"), str)]
    return Contents(
        identifiers=frozenset(name for text in said for name in _IDENTIFIER.findall(text)),
        identifiers_anywhere=frozenset(name for turn in turns for name in _IDENTIFIER.findall(turn.text)),
        paths=frozenset(path for path in (*named, *written) if len(path) > 3),
        commands=frozenset(_squeezed(command)[:_COMMAND_CHARS] for command in commands),
        requests=frozenset(_squeezed(text)[:_REQUEST_CHARS] for text in human),
    )


def _squeezed(text: str) -> str:
    return " ".join(text.split())


def compressed(path: Path, turns: Sequence[Block], ratio: int) -> str:
    """Compress with the built-in agent."""
    settings = CompressionSettings(mode=CompressionMode.UNIFORM, compaction_ratio=ratio).complete("extractive")
    agent = ExtractiveCompressionAgent()
    making = CompressionRun(
        CompressionTask(path.stem, settings, "", None, read_original(turns, path.stem, {}, ratio)), agent.chunk_tokens
    )
    made = making.finish([agent.condense(chunk, Calls()) for chunk in making.chunks])
    return "".join(markdown_lines(made.blocks, made.heading))


def head_and_tail(turns: Sequence[Block], chars: int) -> str:
    """Keep the beginning and the end of all that is said."""
    text = "\n\n".join(turn.text for turn in turns)
    return text if len(text) <= chars else f"{text[: chars // 2]}\n{text[len(text) - chars // 2 :]}"


def measure(sessions: Path, ratios: Sequence[int] = RATIOS, most: int | None = None) -> dict[str, Any]:
    """Measure every transcript and all of them in one; ``most``: only so many of the former."""
    with tempfile.TemporaryDirectory() as folder:
        paths = [*_long_ones(sessions)][:most]
        whole = _joined(paths, Path(folder) / "all.jsonl")
        begun = time.perf_counter()
        return {
            "transcripts": [path.stem for path in paths],
            "each": {f"{ratio}:1": _compare(paths, ratio) for ratio in ratios},
            "all_in_one": {f"{ratio}:1": _compare([whole], ratio) for ratio in ratios},
            "seconds": round(time.perf_counter() - begun, 2),
        }


def _long_ones(sessions: Path) -> Iterator[Path]:
    for path in sorted(sessions.glob("*.jsonl")):
        if sum(len(turn.text) for turn in read_blocks(path)) >= 4 * _LEAST_TOKENS:
            yield path


def _joined(paths: Sequence[Path], target: Path) -> Path:
    target.write_bytes(b"\n".join(path.read_bytes() for path in paths))
    return target


def _compare(paths: Sequence[Path], ratio: int) -> dict[str, Any]:
    found: dict[str, dict[str, int]] = {}
    total: dict[str, int] = {}
    before = after = 0
    for path in paths:
        turns = list(read_blocks(path))
        contents = contents_of(turns)
        version = compressed(path, turns, ratio)
        words = [turn for turn in turns if turn.kind in _WORDS]
        ways = {
            "compressed": version,
            "head_and_tail": head_and_tail(turns, len(version)),
            "head_and_tail_of_words": head_and_tail(words, len(version)),
        }
        for way, text in ways.items():
            _add(found.setdefault(way, {}), contents.kept_in(text))
        _add(total, contents.counts())
        before, after = before + sum(len(turn.text) for turn in turns), after + len(version)
    shares = {way: {name: _share(kept[name], total[name]) for name in total} for way, kept in found.items()}
    return shares | {"of": total, "tokens": {"before": before // 4, "after": after // 4}}


def _add(to: dict[str, int], counts: dict[str, int]) -> None:
    for name, count in counts.items():
        to[name] = to.get(name, 0) + count


def _share(kept: int, total: int) -> float | None:
    return round(kept / total, 3) if total else None


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sessions", type=Path, default=DEFAULT_SESSIONS, help="Folder of transcripts.")
    parser.add_argument("--smallest", action="store_true", help="One transcript, one ratio.")
    wanted = parser.parse_args()
    if not wanted.sessions.is_dir():
        sys.exit(f"{wanted.sessions} is not there; name a folder of transcripts with --sessions.")
    figures = measure(wanted.sessions, RATIOS[1:2], 1) if wanted.smallest else measure(wanted.sessions)
    print(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()
