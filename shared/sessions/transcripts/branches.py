"""Which records of a transcript are what happened: the chain that ends in the last one, and what hangs beside it.

Who rewinds a session leaves a branch behind: its records stay in the file, and what replaced it begins at the same
parent. Several results of calls made at once look like branches too and are none. Of ids eight bytes are kept, so that
a long file takes little memory. Source: the recorder's files; decisions, "Recorded sessions".
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from shared.sessions.transcripts.records import BadLine, Record, short_hash
from shared.sessions.transcripts.typed import queued_text, user_parts

_LIKE, _FEW_WORDS, _ROOT_CHARACTERS = 0.5, 4, 2_000
"""Share of its words, and how many, that a first prompt has in common with one of which it is a new wording."""


def said_hash(text: str) -> int:
    """Return eight bytes of the hash of what was said, however its white space runs."""
    return short_hash(" ".join(text.split()))


@dataclass(slots=True)
class _Node:
    parent: int | None
    order: int
    message: int
    """Of an answer the message it belongs to, else 0."""
    is_prompt: bool
    branch: int | None = None
    """The first record of the branch it was left with; 0 where it was not; None while it is not known."""


@dataclass
class BranchMap:
    """What has to be known of a whole transcript before it is read. Feed it every record in order, then ``close``."""

    records: set[int] = field(default_factory=set)
    """Hashes of the ids of all records."""
    said: set[int] = field(default_factory=set)
    """Hashes of what stands in a user's messages, which prompts that were queued before become."""
    taken_back: set[int] = field(default_factory=set)
    """Lines of prompts that were queued and fetched back before the assistant saw them."""
    waiting: set[int] = field(default_factory=set)
    """Lines of prompts that were queued and never sent."""
    left: dict[int, int] = field(default_factory=dict)
    """Records that were left by rewinding, each with the first of its branch."""
    prompts: dict[int, int] = field(default_factory=dict)
    """By the first record of a branch how many prompts were left in it."""
    _nodes: dict[int, _Node] = field(default_factory=dict)
    _in_order: list[int] = field(default_factory=list)
    _jumps: dict[int, int] = field(default_factory=dict)
    """Parents that only the tool knows: of what follows a compaction."""
    _roots: dict[int, tuple[str, frozenset[str]]] = field(default_factory=dict)
    """First prompts, with their session and their words."""
    _has_linked_prompts: bool = False
    _chained: set[bool] = field(default_factory=set)
    """Whether answers name what they answer."""
    _beside: dict[int, int] = field(default_factory=dict)
    """What sub-agents said, which hangs on no record, with the record that stands before it."""
    _last: int | None = None
    _queue: list[tuple[int, int]] = field(default_factory=list)
    """What waits, with its line."""

    @classmethod
    def of(cls, records: Iterable[Record | BadLine]) -> BranchMap:
        """Return the map of a whole transcript."""
        found = cls()
        for record in records:
            if isinstance(record, Record):
                found.add(record)
        found.close()
        return found

    def add(self, record: Record) -> None:
        """Take a record into account."""
        text = "\n".join(one for block in record.blocks if isinstance(one := block.get("text"), str))
        parts = list(user_parts(text, record.flag("isMeta"))) if record.kind == "user" and text else []
        if record.kind == "user":
            self.said.update(said_hash(part.text) for part in parts)
        elif record.kind == "attachment":
            self.said.add(said_hash(queued_text(record.fields)[0]))
        elif record.kind == "queue-operation":
            self._follow_queue(record)
        own = record.word("uuid")
        if own is None:
            return
        key = short_hash(own)
        self.records.add(key)
        if record.flag("isSidechain") and self._in_order:
            self._beside[key] = self._in_order[-1]
        if record.flag("isSidechain") or key in self._nodes:
            return
        parent = record.word("parentUuid")
        is_result = any(str(block.get("type", "")).endswith("tool_result") for block in record.blocks)
        is_prompt = not is_result and any(not part.label for part in parts)
        message = short_hash(record.message_key) if record.kind == "assistant" else 0
        node = _Node(None if parent is None else short_hash(parent), len(self._in_order), message, is_prompt)
        self._nodes[key] = node
        self._in_order.append(key)
        if record.kind in ("user", "assistant"):
            self._last = key
        if logical := record.word("logicalParentUuid"):
            self._jumps[key] = short_hash(logical)
        elif parent is None and is_prompt and "parentUuid" in record.fields:
            words = frozenset(text[:_ROOT_CHARACTERS].casefold().split())
            self._roots[key] = (record.word("sessionId") or "", words)
        elif record.kind == "assistant":
            self._chained.add(parent is not None)
        elif is_prompt and parent is not None:
            self._has_linked_prompts = True

    def _follow_queue(self, record: Record) -> None:
        operation, content = record.word("operation"), said_hash(record.word("content") or "")
        if operation == "enqueue":
            self._queue.append((content, record.line))
        elif operation == "popAll":
            self.taken_back.update(line for _, line in self._queue)
            self._queue.clear()
        elif self._queue:
            at = next((nth for nth, one in enumerate(self._queue) if one[0] == content), 0)
            del self._queue[at]

    def close(self) -> None:
        """Find what was left."""
        self.waiting = {line for _, line in self._queue}
        chain = self._chain()
        for key in self._in_order:
            first = self._branch_of(key, chain)
            if first:
                self.left[key] = first
                self.prompts[first] = self.prompts.get(first, 0) + self._nodes[key].is_prompt
        self.left |= {key: self.left[before] for key, before in self._beside.items() if before in self.left}
        self._nodes.clear()
        self._in_order.clear()
        self._beside.clear()

    def _chain(self) -> set[int]:
        """Return the records from the last one back to the beginning, over gaps and compactions."""
        chain: set[int] = set()
        key = self._last if self._last is not None else next(reversed(self._in_order), None)
        while key is not None and key not in chain:
            chain.add(key)
            node = self._nodes[key]
            key = node.parent if node.parent in self._nodes else self._before(key)
        return chain

    def _before(self, key: int) -> int | None:
        """Return what came before a record whose parent is not in the file."""
        jump = self._jumps.get(key)
        if jump in self._nodes:
            return jump
        start = self._replaced_root(key)
        order = self._nodes[key if start is None else start].order
        return self._in_order[order - 1] if order else None

    def _replaced_root(self, key: int) -> int | None:
        """Return the earliest of the first prompts that another first prompt of their session replaces.

        Only where answers name what they answer, as recorders write them, and prompts do as well; where none does, by
        the words they share. Behind a record without a parent that is no message, as of a session that was resumed, a
        first prompt goes on.
        """
        node = self._nodes[key]
        if key not in self._roots or self._chained != {True} or not node.order:
            return None
        before = self._nodes[self._in_order[node.order - 1]]
        if before.parent is None and not before.is_prompt:
            return None
        replaced = [root for root in self._roots if self._nodes[root].order < node.order and self._replaces(key, root)]
        for root in replaced:
            self._nodes[root].branch = root
        return replaced[0] if replaced else None

    def _replaces(self, key: int, root: int) -> bool:
        """Whether a first prompt may stand in the place of an earlier one."""
        (session, words), (other, had) = self._roots[key], self._roots[root]
        common = len(words & had)
        is_alike = common >= _FEW_WORDS and common >= _LIKE * min(len(words), len(had))
        return session == other and (self._has_linked_prompts or is_alike)

    def _branch_of(self, key: int, chain: set[int]) -> int:
        """Return the first record of the branch a record was left with, 0 where it was not left."""
        path: list[int] = []
        while (node := self._nodes[key]).branch is None and key not in chain:
            path.append(key)
            node.branch = 0  # So that a circle of parents ends.
            if node.parent not in self._nodes:
                break
            assert node.parent is not None
            key = node.parent
        branch = 0 if key in chain else self._nodes[key].branch or 0
        for one in reversed(path):
            node = self._nodes[one]
            parent = self._nodes.get(node.parent) if node.parent is not None else None
            if not branch and parent is not None and (node.is_prompt or node.message not in (0, parent.message)):
                branch = one
            node.branch = branch
        return branch
