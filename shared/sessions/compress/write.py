"""What a version shows so far, what that takes to the character, and the blocks it comes to.

A part is a statement, a call of a tool, or a whole block, and stands where it stood in the session. What is put in
touches its neighbours in nothing but the joints: so each part knows what it costs where it would stand, with its label
and the signs for what is missing, before it is put in, and nothing that was put in has to go again.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, pairwise

from shared.search.words import query_words
from shared.sessions.blocks import Block, BlockKind, Heading, closing_of, escaped, heading_of, markdown_of, speaker_of
from shared.sessions.compress.plan import (
    SETS_BOUNDS,
    TAKES_BACK,
    BlockPiece,
    CompressionPlan,
    PartKey,
    Rank,
    is_request,
    pieces_of,
    statements_in,
)
from shared.sessions.compress.sources import (
    call_words,
    failure_line,
    has_failed,
    is_answered_by_user,
    shorten_input,
    shorten_result,
)
from shared.sessions.text import GAP, joint_of, shortened
from shared.sessions.transcripts.typed import SUB_AGENT

Parts = tuple[tuple[PartKey, int], ...]
"""Where each of some parts stands, and the most characters of it."""
WHOLE = 10**9
"""Characters of what is not cut."""
FAILURE_CHARS = 200
"""Most characters of a call that is told in a line; with more it is shown with its result."""
QUESTION_CHARS = 160
_JOINTS = {BlockKind.WORDS: "\n\n", BlockKind.SUMMARY: "\n", BlockKind.FAILURE: "\n"}
"""What stands between neighbours of a kind that are written as one block."""
_LONGEST_CHANGE, _RARE = 400, 3
"""Characters of a wish or of what takes it back; prompts that a word of both may stand in."""
_LONGEST = 1_000
"""Tokens of a version, about, within which neighbours are written as one block."""


@dataclass(frozen=True, slots=True)
class Part:
    """Something that is shown."""

    key: PartKey
    most: int
    """Characters it was given; given more, it takes the place of itself with less."""
    block: Block
    """What it is if it stands alone."""
    label: int
    """Characters of its label."""
    chars: int
    """Characters of its text."""
    is_statement: bool = False
    verb: str | None = None
    """Of a call that shares a line with its neighbours, what was done; its text is to what."""

    @property
    def is_cut(self) -> bool:
        """Whether a statement does not stand whole; what is cut ends in a sign of its own."""
        return self.is_statement and self.most < WHOLE


@dataclass
class Selection:
    """The parts of a version under way."""

    plan: CompressionPlan
    heading: Heading
    pieces: list[BlockPiece] = field(init=False)
    chars: int = field(init=False)
    """Of the whole, never less than it takes: a label becomes shorter where not all of a prompt comes to be rules."""
    tier_chars: list[int] = field(init=False)

    def __post_init__(self) -> None:
        blocks = self.plan.blocks
        self.statements = [statements_in(block) for block in blocks]
        self.pieces = pieces_of(blocks, self.statements)
        self.taken_back = _taken_back(blocks)
        # Where the statements of each block begin among all.
        self._begin = [0, *accumulate(map(len, self.statements))]
        over = accumulate(block.tokens for block in blocks)
        tiers = self.plan.settings.tiers
        # Neighbours of one stretch are one block: by where they stood, so that no joint depends on another one.
        self._stretch = [
            tokens // (_LONGEST * tiers[block.tier].compaction_ratio)
            for tokens, block in zip(over, blocks, strict=True)
        ]
        self._lines: dict[PartKey, Block] = {}
        self._parts: dict[PartKey, Part] = {}
        self._order: list[PartKey] = []
        self.chars, self.tier_chars = len(heading_of(self.heading)), [0] * len(self.plan.budgets)
        for position, block in enumerate(blocks):
            beside = (at for at in (position - 1, position + 1) if at in self.plan.kept)
            if position in self.plan.kept or block.kind is BlockKind.LEFT:
                self.add((((position, 0), WHOLE),), WHOLE)
            elif self.statements[position] and any(blocks[at].sources == block.sources for at in beside):
                # That words beside a marked part are missing is shown, until some of them are put in.
                self.add((((position, 0), 0),), WHOLE)

    def pieces_at(self, position: int) -> list[BlockPiece]:
        """Return the statements of a block; none of a marked part that is kept, which stands whole."""
        if position in self.plan.kept:
            return []
        return self.pieces[self._begin[position] : self._begin[position + 1]]

    def open_pieces(self) -> Iterator[BlockPiece]:
        """Yield the statements that can be chosen one by one: not of marked parts, nor of what was asked last."""
        apart = self.plan.kept | self.plan.last_request
        return (piece for piece in self.pieces if piece.block not in apart)

    def shown_at(self, position: int) -> list[Part]:
        """Return what is shown of a block; not the sign that something is missing."""
        # Lines of an agent's, of this block or the next one, have numbers below 0 and are none of its parts.
        begin, end = bisect_left(self._order, (position, 0)), bisect_left(self._order, (position + 1, -WHOLE))
        return [part for key in self._order[begin:end] if (part := self._parts[key]).most]

    def is_shown(self, piece: BlockPiece) -> bool:
        """Whether a statement is shown, be it cut."""
        part = self._parts.get(piece.key)
        return part is not None and part.most > 0

    def is_whole(self, position: int) -> bool:
        shown = [part for part in self.shown_at(position) if not part.is_cut]
        return position in self.plan.kept or len(shown) == len(self.statements[position])

    def lengthen(self, most: int) -> None:
        """Show more of the last statement that cannot be shown whole."""
        cut = [part for part in self._parts.values() if part.is_cut and part.most]
        for part in sorted(cut, key=lambda one: one.key)[-1:]:
            self.add(((part.key, part.most + most),), most)

    def add_line(self, position: int, line: Block) -> PartKey:
        """Take in a line of an agent's own words, to stand before a block; return its key, nothing is shown yet."""
        at = self.plan.blocks[position]
        # Before everything of its block, and behind the lines that came before it.
        key = (position, len(self._lines) - WHOLE)
        self._lines[key] = replace(line, at=at.at, tier=at.tier)
        return key

    def add(self, parts: Parts, most: int) -> int:
        """Put parts in if all of them take at most so many characters; return how many, 0 where they do not go in.

        What is shown already, at least as long, takes nothing.
        """
        put: list[tuple[PartKey, Part | None]] = []
        cost = 0
        for key, chars in parts:
            before = self._parts.get(key)
            if before is None or before.most < chars:
                put.append((key, before))
                cost += self.put(key, self._part(key, chars))
        if cost <= most:
            return cost
        # Tried and taken out again in reverse: only in its place is it known what something takes.
        for key, before in reversed(put):
            self.put(key, before)
        return 0

    def put(self, key: PartKey, part: Part | None) -> int:
        """Put a part in the place of what stands there, or take that out; return how many more the whole takes."""
        at, before = bisect_left(self._order, key), self._parts.get(key)
        follows = at + (before is not None)
        # Only the two joints can change, as each depends on nothing but the parts on either side of it.
        left = self._parts[self._order[at - 1]] if at else None
        right = self._parts[self._order[follows]] if follows < len(self._order) else None
        change = self._length(left, part, right) - self._length(left, before, right)
        self._order[at:follows] = [] if part is None else [key]
        self._parts.pop(key, None)
        if part is not None:
            self._parts[key] = part
        self.chars += change
        self.tier_chars[self.plan.blocks[key[0]].tier] += change
        return change

    def _length(self, left: Part | None, part: Part | None, right: Part | None) -> int:
        """Return the characters of a part, if there is one, and of the joints between its neighbours."""
        length = part.chars if part else 0
        for one, other in pairwise([left, part, right] if part else [left, right]):
            tail, between, head = self._joint(one, other)
            # A new block begins behind an empty line and with its label.
            frame = (2 if one else 0) + (other.label if other else 0) if between is None else len(between)
            length += len(tail) + frame + len(head)
        return length

    def _joint(self, left: Part | None, right: Part | None) -> tuple[str, str | None, str]:
        """Return what ends the left part, what joins the two (None where a new block begins), what begins the right."""
        if left and right and left.is_statement and right.is_statement and left.key[0] == right.key[0]:
            if not left.is_cut:
                return "", self._excerpt_joint(left.key[0], left.key[1], right.key[1]), ""
            # What is cut has its sign already.
            return self._tail(left), "\n", self._head(right)[len(GAP) + 1 :]
        return self._tail(left), self._between(left, right), self._head(right)

    def _head(self, part: Part | None) -> str:
        """Return what stands before a statement with which an excerpt begins."""
        is_words = part is not None and part.is_statement and part.most > 0
        return self._excerpt_joint(part.key[0], -1, part.key[1]) if part and is_words else ""

    def _tail(self, part: Part | None) -> str:
        """Return what stands behind a statement with which an excerpt ends; code that it is cut in is closed."""
        if part is None or not part.is_statement:
            return ""
        if part.is_cut:
            return closing_of(self._head(part) + part.block.text)
        # As if the block's end came next: what is left out behind the last one shown has its sign.
        return self._excerpt_joint(part.key[0], part.key[1], len(self.statements[part.key[0]]))

    def _excerpt_joint(self, position: int, before: int, after: int) -> str:
        text, statements = self.plan.blocks[position].text, self.statements[position]
        joint = joint_of(text, statements, before, after)
        # Code that the text itself leaves open is closed with the excerpt, so that it takes no neighbour in.
        is_last = after == len(statements) == before + 1
        return joint + closing_of(text) if is_last and statements[before].open else joint

    def _between(self, left: Part | None, right: Part | None) -> str | None:
        """Return what joins neighbours that are written as one block, None where they are not."""
        if left is None or right is None or self._stretch[left.key[0]] != self._stretch[right.key[0]]:
            return None
        one, other = left.block, right.block
        alike = (one.kind, one.role, one.label, one.tier) == (other.kind, other.role, other.label, other.tier)
        if not alike or one.call or other.call or one.is_pinned or other.is_pinned:
            return None
        if left.verb is not None and right.verb is not None:
            lead = "" if left.verb == right.verb else f"; {right.verb}"
            return lead + ((" " if lead else ", ") if other.text else "")
        return _JOINTS.get(one.kind)

    def _part(self, key: PartKey, most: int) -> Part:
        position, nth = key
        block = self.plan.blocks[position]
        base = Block(BlockKind.WORDS, block.role, "", block.at, block.sources, tier=block.tier, label=block.label)
        if nth < 0:
            return _alone(key, most, self._lines[key])
        if position in self.plan.kept:
            extra, ids = {"weight": block.weight}, block.marker_ids
            kept = replace(base, kind=BlockKind.KEEPIT, text=block.text, marker_ids=ids, is_pinned=True, extra=extra)
            return _alone(key, most, kept)
        if block.call is not None:
            return self._call(key, most, block)
        if block.kind is BlockKind.QUESTION:
            text = shortened(block.text.strip(), QUESTION_CHARS)
            return _alone(key, most, replace(block, text=text, message=0, tokens=0))
        if block.kind is BlockKind.LEFT:
            return _alone(key, most, replace(base, kind=BlockKind.LEFT, text=block.text))
        piece = self.pieces[self._begin[position] + nth]
        is_pinned, text = position in self.plan.last_request, shortened(piece.text, most) if most else GAP
        most = WHOLE if text == piece.text else most
        kind = BlockKind.WORDS if block.kind is BlockKind.ASSISTANT else block.kind
        if block.kind is BlockKind.HUMAN:
            kind = BlockKind.INSTRUCTION if piece.rank is Rank.RULE and most else BlockKind.REQUEST
        shown = replace(base, kind=kind, text=text, is_pinned=is_pinned)
        return Part(key, most, shown, _label_chars(shown), len(escaped(text)), True)

    def _call(self, key: PartKey, most: int, block: Block) -> Part:
        call = block.call
        assert call is not None
        verb, about = call_words(call)
        base = Block(BlockKind.TOOL, "assistant", "", block.at, block.sources, tier=block.tier)
        # What was given and what came back share one block, so that they cannot be parted.
        if most > FAILURE_CHARS:
            result = None if call.result is None else shorten_result(call.result, most)
            shown = replace(call, input=shorten_input(call.input, most), result=result)
            return _alone(key, most, replace(base, text=capital(f"{verb} {about}".strip()), call=shown))
        if is_answered_by_user(call) or has_failed(call):
            line = failure_line(call, most)
            return _alone(key, most, replace(base, kind=BlockKind.FAILURE, text=line))
        if block.is_sidechain:
            base = replace(base, role="note", label=SUB_AGENT)
        mention = replace(base, text=about)
        return Part(key, most, mention, _label_chars(mention) + len(verb) + bool(about), len(about), verb=verb)

    def blocks(self, names: Sequence[str] = ()) -> list[Block]:
        """Return the blocks in the order of the session, below the names that stand nowhere else."""
        shown = [self._parts[key] for key in self._order]
        found = [Block(BlockKind.NAMES, "note", ", ".join(names))] if names else []
        group: list[Part] = []
        texts: list[str] = []
        for left, right in pairwise([None, *shown, None]):
            tail, between, head = self._joint(left, right)
            texts += (tail, between or "")
            if between is None and group:
                found.append(_joined(group, "".join(texts)))
                group, texts = [], []
            if right:
                if not group and right.verb:
                    texts.append(right.verb + " " * bool(right.block.text))
                texts += (head, right.block.text)
                group.append(right)
        return found


def _taken_back(blocks: Sequence[Block]) -> dict[int, int]:
    """Return the positions of what was asked for and taken back later, each with that of what takes it back.

    It does so in so many words, or sets bounds to the same number, and shares a word that hardly another prompt has.
    """
    said: dict[str, list[int]] = defaultdict(list)
    for position, block in enumerate(blocks):
        if is_request(block) and len(block.text) <= _LONGEST_CHANGE:
            for word in query_words(block.text):
                said[word].append(position)
    found: dict[int, int] = {}
    for word, places in said.items():
        for place, later in pairwise(places if len(places) <= _RARE else ()):
            is_number = len(word) > 2 and word.isdecimal() and SETS_BOUNDS.search(blocks[later].text)
            if is_number or TAKES_BACK.search(blocks[later].text):
                found[place] = max(later, found.get(place, later))
    return found


def _joined(group: Sequence[Part], text: str) -> Block:
    """Return neighbours as the one block they are written as."""
    first = group[0].block
    if first.call is not None:
        return first
    # More than rules stands in it after all; that its longer label was counted is the one bound of decision 42.
    if first.kind is BlockKind.INSTRUCTION and any(part.block.kind is not first.kind for part in group):
        first = replace(first, kind=BlockKind.REQUEST)
    sources = tuple(dict.fromkeys(source for part in group for source in part.block.sources))
    return replace(first, text=text if group[0].verb is None else capital(text), sources=sources)


def _alone(key: PartKey, most: int, block: Block) -> Part:
    """Return a part that is a block as it is; what it takes is what its Markdown does, without the empty line."""
    label = _label_chars(block)
    return Part(key, most, block, label, len(markdown_of(block)) - label - 2)


def _label_chars(block: Block) -> int:
    return 0 if block.call is not None else len(f"**{speaker_of(block)}:** ")


def capital(text: str) -> str:
    return text[:1].upper() + text[1:]
