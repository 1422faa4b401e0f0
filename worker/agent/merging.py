"""Which memory gives way, chosen by what would be lost: a redundant one, or the least of two merged into one.

Nothing is forgotten only because it is old. Every pair that may be touched is tried; the pair whose union loses least
is merged. Pinned memories are read, because what they say need not be said twice, and never touched. Reasons count and
name memories without quoting them, so that they may outlive a purge.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from shared.memories.compaction import NEW, Action, Candidate, Decision
from shared.wording import shorten
from worker.agent.dating import written
from worker.agent.pieces import Piece, choose, fuller, read, render, total
from worker.agent.telegraphic import telegram
from worker.agent.value import WEIGHTS, Weights, words_of


@dataclass(frozen=True)
class _Read:
    """A memory with its pieces and everything it says."""

    memory: Candidate
    pieces: tuple[Piece, ...]
    says: frozenset[str]


@dataclass(frozen=True)
class _Union:
    """Two memories, the pieces that stay when they become one, and the value that is lost by it."""

    target: _Read
    absorbed: _Read
    kept: tuple[Piece, ...]
    loss: float


def make_room(existing: Sequence[Candidate], new: Candidate, limit: int, weights: Weights = WEIGHTS) -> Decision:
    """Choose how the memories become one fewer; the decision always passes ``refusal``."""
    every = [_understand(memory, weights) for memory in (*existing, new)]
    loose = [one for one in every if not one.memory.pinned or one.memory.id == NEW]
    if len(loose) == 1:
        return Decision(Action.DELETE, NEW, "every present memory is pinned, so the new one gives way")
    return _drop_redundant(loose, every) or _merge(loose, every, limit, weights)


def _understand(memory: Candidate, weights: Weights) -> _Read:
    factor = 0.75 + memory.importance / 20
    pieces = tuple(
        replace(piece, factor=factor, text=telegram(piece.text) or piece.text, full=piece.text)
        for piece in read(memory.content)
    )
    return _Read(memory, pieces, frozenset(words_of(memory.content, weights)))


def _drop_redundant(loose: Sequence[_Read], every: Sequence[_Read]) -> Decision | None:
    """Delete a memory all of whose words another one says, if there is one."""
    for one in loose:
        for other in every:
            if one is not other and one.says <= other.says:
                reason = f"{_called(one)} says nothing that {_called(other)} does not say"
                return Decision(Action.DELETE, one.memory.id, reason)
    return None


def _merge(loose: Sequence[_Read], every: Sequence[_Read], limit: int, weights: Weights) -> Decision:
    unions = [_unite(a, b, every, limit, weights) for a, b in combinations(sorted(loose, key=_age), 2)]
    best = min(unions, key=lambda union: (union.loss, _age(union.target), _age(union.absorbed)))
    content = render(fuller(best.kept, limit)) or shorten(best.target.memory.content, limit)
    return Decision(Action.EDIT, best.target.memory.id, _explained(best), content, best.absorbed.memory.id)


def _age(one: _Read) -> tuple[bool, float, int]:
    """Sort oldest first and the new one last: the older of two is rewritten, and never the new one."""
    return one.memory.id == NEW, one.memory.updated_at.timestamp(), one.memory.id


def _unite(target: _Read, absorbed: _Read, every: Sequence[_Read], limit: int, weights: Weights) -> _Union:
    elsewhere = (one.says for one in every if one is not target and one is not absorbed)
    said: frozenset[str] = frozenset().union(*elsewhere)
    both = [replace(piece, place=i) for i, piece in enumerate((*target.pieces, *absorbed.pieces))]
    kept = tuple(choose(both, limit, said, weights))
    return _Union(target, absorbed, kept, total(both, said, weights) - total(kept, said, weights))


def _explained(union: _Union) -> str:
    before = len(union.target.pieces) + len(union.absorbed.pieces)
    let_go = before - len(union.kept)
    fate = f"the {let_go} that say least are let go" if let_go else "nothing is lost"
    names = f"{_called(union.target)} takes in {_called(union.absorbed)}"
    return f"{names}, the pair that loses least: of {before} statements {len(union.kept)} are kept and {fate}"


def _called(one: _Read) -> str:
    day = written(one.memory.updated_at.date())
    return f"the new memory ({day})" if one.memory.id == NEW else f"memory {one.memory.id} ({day})"
