"""How much of a message a version holds: told by what stands in it, not by what it names."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from shared.sessions.blocks import Block, BlockKind, RecordedToolCall
from shared.sessions.extent import ReadingPosition, VersionExtent, read_page
from shared.sessions.transcripts.contents import read_blocks
from tests.support.transcripts import assistant, tool, user, write

_PAGE = [
    user("Make it faster. Reading takes too long.\n\n##keepit0.90## Keep the API.", "u1"),
    assistant("First I look.\n\nThen I measure.", "a1"),
    *tool("Bash", {"command": "ls"}, "a.py\nb.py\n" * 9, 1),
    *tool("Bash", {"command": "whoami"}, "dev", 2),
    user("Thanks.", "u2"),
]


def _held(tmp_path: Path, version: Iterable[Block]) -> list[tuple[str, str | None, str]]:
    extent = VersionExtent(version)
    blocks = read_blocks(write(tmp_path / "s1.jsonl", *_PAGE))
    page, _ = read_page(blocks, "s1", ReadingPosition(), 50, 10_000)
    return [(one.block.uuid, one.tool, extent.held(one.block, one.markers)) for one in page]


def _words(kind: BlockKind, text: str, *sources: str) -> Block:
    return Block(kind, "assistant", text, sources=sources)


def test_a_line_that_tells_calls_holds_their_results_only_where_it_says_them(tmp_path: Path) -> None:
    line = _words(BlockKind.TOOL, "Ran `ls`, `whoami` (dev)", "use1", "res1", "use2", "res2")
    assert _held(tmp_path, [line])[2:6] == [
        ("use1", "Bash", "part"), ("res1", "Bash", "none"), ("use2", "Bash", "part"), ("res2", "Bash", "whole"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("result", "held"), [("a.py\nb.py\n" * 9, "whole"), ("a.py\n…", "part"), ("", "none"), (None, "none")]
)
def test_a_call_that_is_kept_with_its_result_holds_as_much_as_is_shown(
    tmp_path: Path, result: str | None, held: str
) -> None:
    call = RecordedToolCall("t1", "Bash", {"command": "ls"}, result)
    shown = Block(BlockKind.TOOL, "assistant", "Ran `ls`", sources=("use1", "res1"), call=call)
    assert _held(tmp_path, [shown])[2:4] == [("use1", "Bash", "whole"), ("res1", "Bash", held)]


def test_words_are_held_whole_in_part_or_not_at_all(tmp_path: Path) -> None:
    version = [
        _words(BlockKind.REQUEST, "Make it faster. […]", "u1"),
        _words(BlockKind.KEEPIT, "Keep the API.", "u1"),
        _words(BlockKind.WORDS, "First I look.\n\nThen I measure.\n\nAnd more.", "a1", "a2"),
    ]
    found = {uuid: held for uuid, _, held in _held(tmp_path, version)}
    assert (found["u1"], found["a1"], found["u2"]) == ("part", "whole", "none")
    summed_up = _words(BlockKind.SUMMARY, "It was measured.", "a1", "res1")
    found = {uuid: held for uuid, _, held in _held(tmp_path, [summed_up])}
    assert (found["a1"], found["res1"], found["use1"]) == ("part", "part", "none")
