"""Which records of a transcript were left by rewinding: those under a prompt in whose place another one stands.

Who rewinds a session leaves a branch behind: its records stay in the file, and another prompt goes on at the same
parent. All else at which a file forks is none, as nobody rewound: progress, hooks and retries stand beside what was
said, one answer is several records, and calls made at once have a result each, or hang on the prompt each. Of ids eight
bytes are kept, so that a long file takes little memory. Source: the recorder's files; decisions, "Recorded sessions".
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from shared.sessions.transcripts.records import BadLine, Record, short_hash
from shared.sessions.transcripts.typed import COMMAND, OUTPUT, queued_text, user_parts

_LIKE, _FEW_WORDS, _ROOT_CHARACTERS = 0.5, 4, 2_000
"""Share of its words, and how many, that a first prompt has in common with one of which it is a new wording."""
_CAVEAT = "Caveat: "
"""So begins what the recorder writes before a command that only steers itself."""


def said_hash(text: str) -> int:
    """Return eight bytes of the hash of what was said, however its white space runs."""
    return short_hash(" ".join(text.split()))


@dataclass(slots=True)
class _Node:
    parent: int | None
    order: int
    is_prompt: bool


@dataclass
class BranchMap:
    """What has to be known of a whole transcript before it is read. Feed it every record in order, then ``close``."""

    records: set[int] = field(default_factory=set)
    """Hashes of the ids of all records."""
    user_contents: set[int] = field(default_factory=set)
    """Hashes of what stands in a user's messages, which prompts that were queued before become."""
    queued: Counter[int] = field(default_factory=Counter)
    """Hashes of prompts that were queued, with how often; not those fetched back before the assistant saw them."""
    waiting: set[int] = field(default_factory=set)
    """Those that were never sent."""
    left: dict[int, int] = field(default_factory=dict)
    """Records that were left by rewinding, each with the first of its branch."""
    prompts: Counter[int] = field(default_factory=Counter)
    """By the first record of a branch how many prompts were left in it."""
    _nodes: dict[int, _Node] = field(default_factory=dict)
    """In the order of the file."""
    _in_order: list[int] = field(default_factory=list)
    _prompts_at: defaultdict[int, list[int]] = field(default_factory=lambda: defaultdict(list))
    """By what they hang on."""
    _steering: dict[int, int | None] = field(default_factory=dict)
    """Commands that only steer the tool, with what they hang on, on which the prompt behind them hangs as well."""
    _command: int | None = None
    """The command with arguments that was just typed: it only steers where the tool itself prints something next."""
    _jumps: dict[int, int] = field(default_factory=dict)
    """Parents that only the tool knows: of what follows a compaction."""
    _roots: dict[int, tuple[str, frozenset[str]]] = field(default_factory=dict)
    """First prompts, with their session and their words."""
    _has_linked_prompts: bool = False
    _chained: set[bool] = field(default_factory=set)
    """Whether answers name what they answer."""
    _results_answered: int = 0
    """How many answers hang on the result before them, less those that hang on the prompt instead."""
    _is_behind_result: bool = False
    _sub_agent_parents: dict[int, int] = field(default_factory=dict)
    """What sub-agents said, which hangs on no record, with the record that stands before it."""
    _last: int | None = None
    _queue: list[int] = field(default_factory=list)
    """What waits."""

    @classmethod
    def of(cls, records: Iterable[Record | BadLine]) -> BranchMap:
        found = cls()
        for record in records:
            if isinstance(record, Record):
                found.add(record)
        found.close()
        return found

    def add(self, record: Record) -> None:
        text = "\n".join(one for block in record.blocks if isinstance(one := block.get("text"), str))
        parts = list(user_parts(text, record.flag("isMeta"))) if record.kind == "user" and text else []
        if record.kind == "user":
            self.user_contents.update(said_hash(part.text) for part in parts)
        elif record.kind == "attachment":
            self.user_contents.add(said_hash(queued_text(record.fields)[0]))
        elif record.kind == "queue-operation":
            self._follow_queue(record)
        own = record.word("uuid")
        if own is None:
            return
        key = short_hash(own)
        self.records.add(key)
        if record.flag("isSidechain") and self._in_order:
            self._sub_agent_parents[key] = self._in_order[-1]
        # Of two with one id the first counts: copies are appended, often without a parent (decision 33).
        if record.flag("isSidechain") or key in self._nodes:
            return
        is_result = any(str(block.get("type", "")).endswith("tool_result") for block in record.blocks)
        is_typed = not is_result and not record.flag("isCompactSummary") and any(not part.label for part in parts)
        named = record.word("parentUuid")
        node = _Node(None if named is None else short_hash(named), len(self._in_order), is_typed)
        labels = {COMMAND if text.startswith(_CAVEAT) else part.label for part in parts}
        if OUTPUT in labels and self._command is not None:
            self._take_for_steering(self._command)
        if (labels and labels <= {COMMAND, OUTPUT}) or (record.word("content") or "").startswith("<command-"):
            # Commands may follow each other; all of them hang where the first one does.
            self._steering[key] = self._steering.get(node.parent or 0, node.parent)
        self._link(record, key, node, text)
        # Others, as hooks and progress, may stand between a command and what the tool prints of it.
        if record.kind in ("user", "assistant"):
            self._command = key if is_typed and text.lstrip().startswith("<command-name>") else None
            self._last, self._is_behind_result = key, is_result

    def _link(self, record: Record, key: int, node: _Node, text: str) -> None:
        """Note on what a record hangs."""
        self._nodes[key] = node
        self._in_order.append(key)
        parent = self._nodes.get(node.parent) if node.parent is not None else None
        is_answer = record.kind == "assistant"
        if is_answer and self._is_behind_result and parent is not None:
            self._results_answered += -1 if parent.is_prompt else 1
        # A prompt behind a command that only steers the tool stands where the command hangs (decision 33).
        at = self._steering.get(node.parent or 0, node.parent)
        if node.is_prompt and at in self._nodes:
            self._prompts_at[at].append(key)
        if logical := record.word("logicalParentUuid"):
            self._jumps[key] = short_hash(logical)
        elif node.parent is None and node.is_prompt and "parentUuid" in record.fields:
            words = frozenset(text[:_ROOT_CHARACTERS].casefold().split())
            self._roots[key] = (record.word("sessionId") or "", words)
        elif is_answer:
            self._chained.add(node.parent is not None)
        elif node.is_prompt and node.parent is not None:
            self._has_linked_prompts = True

    def _take_for_steering(self, key: int) -> None:
        """Count a command with arguments for no prompt."""
        node = self._nodes[key]
        node.is_prompt = False
        at = self._steering[key] = self._steering.get(node.parent or 0, node.parent)
        if at in self._nodes:
            self._prompts_at[at].remove(key)
        self._roots.pop(key, None)

    def _follow_queue(self, record: Record) -> None:
        operation, content = record.word("operation"), said_hash(record.word("content") or "")
        if operation == "enqueue":
            self._queue.append(content)
            self.queued[content] += 1
        elif operation == "popAll":
            self.queued.subtract(self._queue)
            self._queue.clear()
        elif self._queue:
            # One that is taken without its words being named is the first.
            del self._queue[self._queue.index(content) if content in self._queue else 0]

    def close(self) -> None:
        """Find what was left."""
        self.waiting = set(self._queue)
        chain, firsts = self._chain()
        for at, prompts in self._prompts_at.items():
            # Where a recorder hangs answers on the prompt that others hang on results, it may hang prompts there too.
            if prompts and (self._results_answered >= 0 or not self._nodes[at].is_prompt):
                # What leads to the last record stays; where nothing does, what was said last.
                live = max(prompts, key=lambda key: (key in chain, self._nodes[key].order))
                firsts |= {key: key for key in prompts if key != live}
        for key, node in self._nodes.items():
            # A branch that was left within another goes with it.
            first = self.left.get(node.parent or 0) or firsts.get(key)
            if first is not None:
                self.left[key] = first
                self.prompts[first] += node.is_prompt
        self.left |= {key: self.left[before] for key, before in self._sub_agent_parents.items() if before in self.left}
        # Only needed until here, and as long as the transcript.
        for done in (self._nodes, self._in_order, self._sub_agent_parents, self._prompts_at, self._steering):
            done.clear()

    def _chain(self) -> tuple[set[int], dict[int, int]]:
        """Return the records from the last one back to the beginning, over gaps and compactions, and first prompts
        that were replaced on the way."""
        chain: set[int] = set()
        replaced: dict[int, int] = {}
        key = self._last if self._last is not None else next(reversed(self._in_order), None)
        # A damaged file may name its records in a circle.
        while key is not None and key not in chain:
            chain.add(key)
            parent = self._nodes[key].parent
            key = parent if parent in self._nodes else self._before(key, replaced)
        return chain, replaced

    def _before(self, key: int, replaced: dict[int, int]) -> int | None:
        """Return what came before a record whose parent is not in the file."""
        jump = self._jumps.get(key)
        if jump in self._nodes:
            return jump
        roots = self._replaced_roots(key)
        replaced |= {root: root for root in roots}
        order = self._nodes[roots[0] if roots else key].order
        return self._in_order[order - 1] if order else None

    def _replaced_roots(self, key: int) -> list[int]:
        """Return the first prompts that another first prompt of their session replaces.

        Only where answers name what they answer, as recorders write them, and prompts do as well; where none does, by
        the words they share.
        """
        order = self._nodes[key].order
        if key not in self._roots or self._chained != {True} or not order:
            return []
        before = self._nodes[self._in_order[order - 1]]
        # Behind a record without a parent that is no message, as where a session was resumed, a first prompt goes on.
        if before.parent is None and not before.is_prompt:
            return []
        return [root for root in self._roots if self._nodes[root].order < order and self._replaces(key, root)]

    def _replaces(self, key: int, root: int) -> bool:
        """Whether a first prompt may stand in the place of an earlier one."""
        (session, words), (other, had) = self._roots[key], self._roots[root]
        common = len(words & had)
        is_alike = common >= _FEW_WORDS and common >= _LIKE * min(len(words), len(had))
        return session == other and (self._has_linked_prompts or is_alike)
