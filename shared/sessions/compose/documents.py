"""The two documents of a composition, one to read, one that tools go on from: what is pinned, then the most valuable.

A part may be read twice, once to be weighed and once to be written, so that no session has to be in memory whole. In an
original a call of a tool and its result become one block, wherever the result stands; half a pair becomes text, and
thinking is left out: no provider takes it back without a signature. Source: seed 004, "File Naming Conventions".
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from shared.llm.calls import LAST_RESORT
from shared.sessions.blocks import Block, BlockKind, Heading, fill_budget, heading_of, markdown_of
from shared.sessions.compose.plan import ORIGINAL, budget_too_small
from shared.sessions.markers import PINNED
from shared.sessions.models import KeepitMarker, Project, RecordedSession, SessionVersion
from shared.sessions.recording import PART, RecordOrigin, line_of, records_of

MARKDOWN_FILE, LINES_FILE, RECORD_FILE = "composed.md", "composed.jsonl", "composition.json"
FILES = {"md": MARKDOWN_FILE, "jsonl": LINES_FILE}
"""By the endings under which their digests are known."""
VERSION = "composed"
"""Stands in the records where those of a version name it."""
PATIENCE = 500
"""Blocks after a call within which its result is waited for, so that a lost one does not hold up all that follows."""
_LEFT_OUT = (BlockKind.THINKING, BlockKind.SYSTEM)
_KINDS = {BlockKind.HUMAN: BlockKind.REQUEST, BlockKind.ASSISTANT: BlockKind.WORDS}
VALUES = {
    BlockKind.NAMES: 0,
    BlockKind.META: 0,
    BlockKind.SYSTEM: 0,
    BlockKind.THINKING: 0,
    BlockKind.TOOL: 1,
    BlockKind.SUMMARY: 2,
    BlockKind.WORDS: 2,
    BlockKind.FAILURE: 3,
    BlockKind.REQUEST: 4,
    BlockKind.QUESTION: 4,
    BlockKind.LEFT: 5,
    BlockKind.INSTRUCTION: 5,
    BlockKind.KEEPIT: 6,
}
"""What goes first when there is no room: the least."""
_LAST_REQUEST_SHARE = 4
ReadBlocks = Callable[[], Iterable[Block]]


@dataclass(frozen=True)
class CompositionSource:
    """A session's part before anything is left out."""

    recorded: RecordedSession
    version: SessionVersion | None
    """None for the original."""
    project: str | None = None
    """Named where it is another project's."""
    allocation: int = 0
    """Tokens."""
    read: ReadBlocks = tuple
    begins_as: str | None = None
    """The session before it with which it begins alike; that beginning stands there alone."""

    @property
    def heading(self) -> str:
        """The line above what it says."""
        last_said, name = self.recorded.last_timestamp, ORIGINAL if self.version is None else self.version.version_id
        day = f"{last_said:%Y-%m-%d}" if last_said else "no date"
        if self.version is not None and self.version.skipped_messages:
            name += f", without its first {self.version.skipped_messages} messages"
        if self.version is not None and self.version.source_bytes < self.recorded.size_bytes:
            name += ", without what was said since it was made"
        of = f" of {self.project}" if self.project else ""
        alike = f", going on from what {self.begins_as} says as well" if self.begins_as else ""
        return f"## Session {self.recorded.session_id}{of} ({day}, {name}){alike}"


def named_beside(owner: Project, project: Project) -> str | None:
    """Return how a project is called in a composition of another one; None in its own."""
    return None if owner.key == project.key else owner.display_name


@dataclass(frozen=True)
class CompositionPart:
    """What goes in of a source."""

    source: CompositionSource
    positions: frozenset[int]
    left_out: int
    chars: int

    @property
    def tokens(self) -> int:
        """What it takes with its heading."""
        return LAST_RESORT.tokens_in(self.chars)

    def blocks(self) -> Iterator[Block]:
        """Yield what goes in, in order."""
        for position, block in enumerate(self.source.read()):
            if position in self.positions:
                yield block


@dataclass(frozen=True)
class ComposedContext:
    """A composition that fits its budget, ready to be written."""

    title: str
    parts: tuple[CompositionPart, ...]

    @property
    def tokens(self) -> int:
        """Tokens of its Markdown, of which the records say no more."""
        return LAST_RESORT.tokens_in(len(heading_of(Heading(self.title))) + sum(part.chars for part in self.parts))

    def markdown(self) -> Iterator[str]:
        """Yield the document to read."""
        yield heading_of(Heading(self.title))
        for part in self.parts:
            yield f"{part.source.heading}\n\n"
            yield from map(markdown_of, part.blocks())

    def lines(self, chain: str) -> Iterator[str]:
        """Yield the document to go on from, line by line: one chain under the id ``chain``."""
        return map(line_of, records_of(self._with_own_calls(), RecordOrigin(chain, VERSION), Heading(self.title)))

    def messages(self) -> int:
        """Return how many messages it has, headings not counted."""
        return sum(len(part.positions) for part in self.parts)

    def _with_own_calls(self) -> Iterator[Block]:
        """Yield all blocks, every call with an id of its own: sessions that were resumed share ids."""
        seen: set[str] = set()
        for part in self.parts:
            yield Block(BlockKind.SYSTEM, "note", part.source.heading, part.source.recorded.first_timestamp, label=PART)
            for block in part.blocks():
                if block.call is None:
                    yield block
                    continue
                name = own = block.call.tool_use_id or "toolu"
                number = 1
                while own in seen:
                    number += 1
                    own = f"{name}_{number}"
                seen.add(own)
                yield replace(block, call=replace(block.call, tool_use_id=own))


def compose_documents(title: str, sources: Sequence[CompositionSource], budget: int) -> ComposedContext:
    """Return what fits. Raises: Invalid (``budget_too_small``) where what may not be left out does not."""
    sized = [_sized_part(source) for source in sources]
    kept = fit(sized, budget, overhead_chars(title, [source.heading for source in sources]))
    parts = []
    for source, part, positions in zip(sources, sized, kept, strict=True):
        chars = len(source.heading) + 2 + sum(part.blocks[position].chars for position in positions)
        parts.append(CompositionPart(source, frozenset(positions), len(part.blocks) - len(positions), chars))
    return ComposedContext(title, tuple(parts))


def overhead_chars(title: str, headings: Iterable[str]) -> int:
    """Return the characters that stand there whatever is left out."""
    return len(heading_of(Heading(title))) + sum(len(heading) + 2 for heading in headings)


@dataclass(frozen=True, slots=True)
class SizedBlock:
    """What fitting knows of a block, so that a long original need not be in memory."""

    chars: int
    value: int
    is_pinned: bool = False


@dataclass(frozen=True)
class SizedPart:
    """The blocks of a session, in order."""

    blocks: tuple[SizedBlock, ...]
    budget: int
    """Characters it may take; more where others leave some."""

    @property
    def pinned(self) -> int:
        """Characters it takes in any case."""
        return sum(block.chars for block in self.blocks if block.is_pinned)


def sized(block: Block) -> SizedBlock:
    """Return how much a block takes and what it is worth; what was marked goes last."""
    value = VALUES[BlockKind.KEEPIT if block.marker_ids else block.kind]
    return SizedBlock(len(markdown_of(block)), value, block.is_pinned)


def _sized_part(source: CompositionSource) -> SizedPart:
    budget = LAST_RESORT.chars_in(source.allocation)
    blocks: list[SizedBlock] = []
    last_request: int | None = None
    for position, block in enumerate(source.read()):
        blocks.append(sized(block))
        if block.kind is BlockKind.REQUEST:
            last_request = position
    # What an original was asked last stays, unless that alone would take more than a quarter of the budget.
    if source.version is None and last_request is not None:
        last = blocks[last_request]
        blocks[last_request] = replace(last, is_pinned=last.is_pinned or last.chars * _LAST_REQUEST_SHARE <= budget)
    return SizedPart(tuple(blocks), budget)


def fit(parts: Sequence[SizedPart], budget: int, fixed: int) -> tuple[tuple[int, ...], ...]:
    """Return the positions of the blocks to keep, for each part in order: pinned ones, then the most valuable.

    ``budget``: tokens; ``fixed``: characters that headings take. Raises: Invalid when that and what is pinned alone
    take more. Counted in characters, so that no rounding of many blocks can pass the budget by a token.
    """
    free = LAST_RESORT.chars_in(budget) - fixed - sum(part.pinned for part in parts)
    if free < 0:
        missing = LAST_RESORT.tokens_in(-free)
        raise budget_too_small(missing, "what is pinned, and the headings, may not be left out", budget)
    chosen = [{position for position, block in enumerate(part.blocks) if block.is_pinned} for part in parts]
    carried = 0
    for part, kept in zip(parts, chosen, strict=True):
        # What one part leaves of its budget is the next one's.
        own = min(free, max(0, part.budget - part.pinned) + carried)
        taken = _take_best(part.blocks, kept, own)
        free, carried = free - taken, own - taken
    for part, kept in zip(parts, chosen, strict=True):
        free -= _take_best(part.blocks, kept, free)
    return tuple(tuple(sorted(kept)) for kept in chosen)


def _take_best(blocks: Sequence[SizedBlock], kept: set[int], budget: int) -> int:
    """Keep the most valuable that fit, of equal ones the later; return the characters they take."""
    others = (position for position in range(len(blocks)) if position not in kept)
    best_first = sorted(others, key=lambda position: (-blocks[position].value, -position))
    taken = list(fill_budget(best_first, lambda position: blocks[position].chars, budget))
    kept.update(taken)
    return sum(blocks[position].chars for position in taken)


def paired_blocks(blocks: Iterable[Block], marked: Mapping[str, Sequence[KeepitMarker]]) -> Iterator[Block]:
    """Yield what an original says as a composition shows it, in order; at most some hundreds are held at a time.

    ``marked``: the marked parts of messages, by their uuids.
    """
    source, ahead = iter(blocks), deque[Block]()
    while (block := ahead.popleft() if ahead else next(source, None)) is not None:
        call = block.call
        if call is not None and block.kind is BlockKind.TOOL_USE:
            text, result = f"{call.name}: {block.text}", _take_result(call.tool_use_id, ahead, source)
            if result is None or result.call is None:
                yield _unpaired(block, f"Called {text}", "assistant")
            else:
                answered = replace(call, result=result.text, is_error=result.call.is_error)
                sources = (block.uuid, result.uuid)
                yield Block(BlockKind.TOOL, "assistant", text, block.at, sources, call=answered)
        elif call is not None and block.kind is BlockKind.TOOL_RESULT:
            yield _unpaired(block, f"Result of a call that is not here: {block.text}", "user")
        elif block.kind not in _LEFT_OUT and block.text.strip():
            parts = marked.get(block.uuid, ())
            yield replace(
                block,
                kind=_KINDS.get(block.kind, block.kind),
                marker_ids=tuple(one.marker_id for one in parts),
                is_pinned=any(one.weight_in_force >= PINNED for one in parts),
            )


def _take_result(tool_use_id: str, ahead: deque[Block], source: Iterator[Block]) -> Block | None:
    """Take the result of a call from what comes; what was read on the way to it waits in ``ahead``.

    None where none comes soon, or another call of the same id comes first.
    """
    for place in range(PATIENCE if tool_use_id else 0):
        if place == len(ahead):
            ahead.extend(islice(source, 1))
        if place == len(ahead):
            return None
        one = ahead[place]
        if one.call is not None and one.call.tool_use_id == tool_use_id:
            if one.kind is not BlockKind.TOOL_RESULT:
                return None
            del ahead[place]
            return one
    return None


def _unpaired(block: Block, text: str, role: str) -> Block:
    is_error = block.call is not None and block.call.is_error
    return Block(BlockKind.FAILURE if is_error else BlockKind.WORDS, role, text, block.at, block.sources)
