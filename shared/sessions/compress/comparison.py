"""Two versions of one session beside each other: what one says that the other does not. Values in, values out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any

from shared.sessions.blocks import Block, markdown_of


@dataclass(frozen=True)
class BlockDifference:
    """A block that stands in one version only, in the order of both."""

    block: Block
    position: int
    """Its place among the blocks of its version, from 0."""
    is_first: bool
    """Whether it is the first version that has it."""


@dataclass(frozen=True)
class BlockComparison:
    """What two versions say, block by block; a block that stands elsewhere in the other is a difference too."""

    same: int
    """Blocks that both have."""
    only_first: Mapping[str, int]
    """Blocks that the second version has nowhere, by their kinds."""
    only_second: Mapping[str, int]
    differences: tuple[BlockDifference, ...]


def compare_blocks(first: Sequence[Block], second: Sequence[Block]) -> BlockComparison:
    """Compare by what is read, so that two blocks that read the same are the same."""
    texts = [markdown_of(block) for block in first], [markdown_of(block) for block in second]
    differences: list[BlockDifference] = []
    # Ratios are not asked for, so the matcher's own heuristic against frequent elements may stay: it keeps long
    # versions with many equal lines from taking quadratic time.
    matcher = SequenceMatcher(None, *texts)
    unequal = [one for one in matcher.get_opcodes() if one[0] != "equal"]
    for _, begin, end, begin_second, end_second in unequal:
        differences += [BlockDifference(first[place], place, True) for place in range(begin, end)]
        differences += [BlockDifference(second[place], place, False) for place in range(begin_second, end_second)]
    counts = Counter(texts[0]), Counter(texts[1])
    return BlockComparison(
        same=(counts[0] & counts[1]).total(),
        only_first=_kinds(first, texts[0], counts[0] - counts[1]),
        only_second=_kinds(second, texts[1], counts[1] - counts[0]),
        differences=tuple(differences),
    )


def compare_settings(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    """Return the settings that differ, each as the first and the second have it; None where one has it not."""
    names = dict.fromkeys([*first, *second])
    return {name: (first.get(name), second.get(name)) for name in names if first.get(name) != second.get(name)}


def _kinds(blocks: Sequence[Block], texts: Sequence[str], only: Counter[str]) -> dict[str, int]:
    """Return how many blocks of each kind are among those that only one version has."""
    left, found = Counter(only), Counter[str]()
    for block, text in zip(blocks, texts, strict=True):
        if left[text] > 0:
            left[text] -= 1
            found[block.kind.value] += 1
    return dict(sorted(found.items()))
