"""The rules by which a subject's memories come back to the cap; pure functions of values.

A decision names one memory to delete, or one to rewrite so that it takes in another. What the agent proposes is
checked here; what is refused is replaced by oldest-goes. Where a person writes or restores a memory, the least valuable
goes. Source: seed 003, decisions "Memories".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from shared.telemetry.metrics import CompactionOutcome
from shared.text.lines import shorten
from shared.text.words import content_stems, unfounded

LONGEST_REASON = 500
"""Characters of an agent's reason that are kept; an archive takes no longer ones either."""
OLDEST_GOES, LEAST_GOES = "rule:oldest_goes", "rule:least_goes"
RULES = (OLDEST_GOES, LEAST_GOES)
"""Who made room, where no agent chose: as it stands in the history."""
NEW = 0
"""The id of the memory that has no place yet; real ids start at 1."""


class Action(StrEnum):
    """What a decision does to its target."""

    DELETE = "delete"
    EDIT = "edit"


@dataclass(frozen=True)
class CompactionCandidate:
    """A memory as compaction sees it."""

    id: int
    content: str
    updated_at: datetime
    """When the newest of what it holds was said."""
    importance: int = 5
    tags: tuple[str, ...] = ()
    pinned: bool = False
    by_hand: bool = False
    """Whether a person wrote its present text."""


@dataclass(frozen=True)
class Decision:
    """What an agent proposes; ids and text are not yet trusted."""

    action: Action
    target_id: int
    """The memory to delete or to rewrite; ``NEW`` is allowed for delete."""
    reason: str
    new_content: str | None = None
    absorbed_id: int = NEW
    """For edit: the memory whose content the target takes in; it then no longer stands alone."""


@dataclass(frozen=True)
class Eviction:
    """How room is made: ``removed_id`` loses its place, ``rewritten_id`` (if any) gets ``content``."""

    outcome: CompactionOutcome
    removed_id: int
    reason: str
    rewritten_id: int | None = None
    content: str | None = None
    rule: str | None = None
    """Who chose it, where not the agent that wrote the new memory: a rule, or the built-in agent in a model's stead."""


def refusal(
    decision: Decision, existing: Sequence[CompactionCandidate], new: CompactionCandidate, limit: int
) -> str | None:
    """Say why a decision may not be carried out, or return None when it may."""
    places = {memory.id: memory for memory in (*existing, new)}
    touched = (decision.target_id,) if decision.action is Action.DELETE else (decision.target_id, decision.absorbed_id)
    if any(i not in places for i in touched):
        return "it names a memory that is not this subject's"
    if any(i != NEW and places[i].pinned for i in touched):
        return "it touches a pinned memory"
    if decision.action is Action.DELETE:
        least = decision.target_id != NEW or is_clearly_least(new, existing)
        return None if least else "it gives up the new memory, which is not clearly worth least"
    return _refuse_edit(decision, limit) or _refuse_text(
        decision.new_content or "", places[decision.target_id], places[decision.absorbed_id]
    )


_CLEARLY = 2
"""By so much importance the new memory must fall short of every other, to be the one that goes."""


def is_clearly_least(new: CompactionCandidate, existing: Sequence[CompactionCandidate]) -> bool:
    """Say whether the new memory may be given up: nothing else can go, it says nothing new, or it matters far less."""
    said = content_stems(new.content)
    return (
        all(memory.pinned or memory.importance >= new.importance + _CLEARLY for memory in existing)
        or any(said <= content_stems(memory.content) for memory in existing)
    )  # fmt: skip


def _refuse_edit(decision: Decision, limit: int) -> str | None:
    if decision.target_id == NEW:
        return "it rewrites the new memory instead of a present one"
    if decision.absorbed_id == decision.target_id:
        return "it merges a memory with itself"
    if not (decision.new_content or "").strip():
        return "it gives no new text"
    if len(decision.new_content or "") > limit:
        return f"its text is longer than {limit} characters"
    return None


def _refuse_text(text: str, target: CompactionCandidate, absorbed: CompactionCandidate) -> str | None:
    """Say why a text is no merge of two memories: it holds nothing of one, or what stands in neither."""
    held = content_stems(text)
    for one, other in ((target, absorbed), (absorbed, target)):
        own = content_stems(one.content) - content_stems(other.content)
        if own and not own & held:
            return f"its text holds nothing of memory {one.id}, which it names as a source"
    made_up = unfounded(text, f"{target.content}\n{absorbed.content}")
    return f"its text holds {', '.join(made_up[:3])}, which neither memory says" if made_up else None


def carry_out(decision: Decision) -> Eviction:
    """Turn an accepted decision into the room it makes; a reason that goes on and on is cut."""
    reason = shorten(decision.reason, LONGEST_REASON)
    if decision.action is Action.EDIT:
        return Eviction(
            CompactionOutcome.MERGED, decision.absorbed_id, reason, decision.target_id, decision.new_content
        )
    outcome = CompactionOutcome.NEW_GAVE_WAY if decision.target_id == NEW else CompactionOutcome.DELETED
    return Eviction(outcome, decision.target_id, reason)


def oldest_goes(existing: Sequence[CompactionCandidate], why: str) -> Eviction:
    """Make room without a model: the oldest unpinned memory goes, or the new one when every place is pinned.

    Oldest is what took in nothing new for longest. Source: decisions, "What is handed back".
    """
    free = [memory for memory in existing if not memory.pinned]
    if not free:
        return Eviction(CompactionOutcome.NEW_GAVE_WAY, NEW, f"every place is pinned; {why}", rule=OLDEST_GOES)
    oldest = min(free, key=lambda memory: (memory.updated_at, memory.id))
    return Eviction(CompactionOutcome.OLDEST_WENT, oldest.id, why, rule=OLDEST_GOES)


def least_goes(existing: Sequence[CompactionCandidate], why: str) -> Eviction:
    """Make room for what a person wrote: of the unpinned memories the least important goes, of equals the oldest.

    What a machine wrote goes before what a person did, and never the one that changed last, where there is another: it
    may be what was written a moment ago.
    """
    free = sorted((memory for memory in existing if not memory.pinned), key=lambda one: (one.updated_at, one.id))
    if not free:
        return Eviction(CompactionOutcome.NEW_GAVE_WAY, NEW, f"every place is pinned; {why}", rule=LEAST_GOES)
    least = min(free[:-1] or free, key=lambda memory: (memory.by_hand, memory.importance))
    return Eviction(
        CompactionOutcome.LEAST_WENT, least.id, f"{why}; it mattered least ({least.importance} of 10)", rule=LEAST_GOES
    )
