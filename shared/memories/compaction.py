"""The rules by which a subject's memories come back to the cap; pure functions of values.

A decision names one memory to delete, or one to rewrite so that it takes in another. What the agent proposes is
checked here; what is refused is left to the built-in agent's rules, and to age where these may not decide either. Where
a person writes or restores a memory, the least valuable goes. No way takes what is vital while something slight could
go. No refusal quotes a memory: it is part of a reason, and those outlive a purge. Source: seed 003, decisions
"Memories".
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
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
VITAL, SLIGHT = 8, 5
"""Nothing of importance ``VITAL`` or more goes while something of less than ``SLIGHT`` stands that could go."""
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
    memories = {memory.id: memory for memory in (*existing, new)}
    touched = (decision.target_id,) if decision.action is Action.DELETE else (decision.target_id, decision.absorbed_id)
    if any(i not in memories for i in touched):
        return "it names a memory that is not this subject's"
    if any(i != NEW and memories[i].pinned for i in touched):
        return "it touches a pinned memory"
    if decision.action is Action.DELETE:
        if decision.target_id == NEW and not is_clearly_least(new, existing):
            return "it gives up the new memory, which is not clearly worth least"
    else:
        target, absorbed = memories[decision.target_id], memories[decision.absorbed_id]
        refused = _refuse_edit(decision, limit) or _refuse_text(decision.new_content or "", target, absorbed)
        if refused is not None:
            return refused
    # What is vital may not go where something slight stays, and what it says would stand nowhere.
    others = [m for i, m in memories.items() if i not in touched]
    slight = next((one for one in others if _is_slight(one)), None)
    if slight is None:
        return None
    for memory in (memories[i] for i in touched):
        if memory.importance >= VITAL and not _is_kept(memory, decision.new_content, others):
            kept, gone = ("the new memory" if one.id == NEW else f"memory {one.id}" for one in (slight, memory))
            return f"{gone} of importance {memory.importance} would be lost while {kept} of {slight.importance} stays"
    return None


def _is_slight(memory: CompactionCandidate) -> bool:
    return memory.importance < SLIGHT and not memory.pinned


def _is_kept(memory: CompactionCandidate, merged: str | None, others: Sequence[CompactionCandidate]) -> bool:
    """Whether most of what a memory says is in the merged text, or all of it in another that is as safe."""
    stems = content_stems(memory.content)
    if merged is not None:
        return 2 * len(stems & content_stems(merged)) > len(stems)
    return any(other.importance >= VITAL and stems <= content_stems(other.content) for other in others)


_CLEARLY = 2
"""By so much importance the new memory must fall short of every other, to be the one that goes."""


def is_clearly_least(new: CompactionCandidate, existing: Sequence[CompactionCandidate]) -> bool:
    """Say whether the new memory may be given up: nothing else can go, it says nothing new, or it matters far less."""
    stems = content_stems(new.content)
    return (
        all(memory.pinned or memory.importance >= new.importance + _CLEARLY for memory in existing)
        or any(stems <= content_stems(memory.content) for memory in existing)
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
    stems = content_stems(text)
    for one, other in ((target, absorbed), (absorbed, target)):
        own = content_stems(one.content) - content_stems(other.content)
        if own and not own & stems:
            return f"its text holds nothing of memory {one.id}, which it names as a source"
    made_up = unfounded(text, f"{target.content}\n{absorbed.content}")
    return "its text holds a name or a number that neither memory says" if made_up else None


def carry_out(decision: Decision) -> Eviction:
    """Turn an accepted decision into the room it makes; a reason that goes on and on is cut."""
    reason = shorten(decision.reason, LONGEST_REASON)
    if decision.action is Action.EDIT:
        return Eviction(
            CompactionOutcome.MERGED, decision.absorbed_id, reason, decision.target_id, decision.new_content
        )
    outcome = CompactionOutcome.NEW_GAVE_WAY if decision.target_id == NEW else CompactionOutcome.DELETED
    return Eviction(outcome, decision.target_id, reason)


def shielded(existing: Sequence[CompactionCandidate]) -> tuple[CompactionCandidate, ...]:
    """Return the memories with the vital ones as if they were pinned, where something slight could go instead."""
    has_slight = any(map(_is_slight, existing))
    return tuple(replace(one, pinned=one.pinned or (has_slight and one.importance >= VITAL)) for one in existing)


def oldest_goes(existing: Sequence[CompactionCandidate], why: str, new: CompactionCandidate | None = None) -> Eviction:
    """Make room by age: of the unpinned memories that matter least the oldest goes.

    They are compared as slight, middling and vital. Oldest is what took in nothing new for longest. The new memory goes
    where every place is pinned, or where it is known, slight, and all that could go is vital.
    Source: decisions, "What is handed back", "What may be stored".
    """
    free = [memory for memory in existing if not memory.pinned]
    if not free:
        return Eviction(CompactionOutcome.NEW_GAVE_WAY, NEW, f"every place is pinned; {why}", rule=OLDEST_GOES)
    # False comes before True: slight ones first, vital ones last.
    oldest = min(free, key=lambda one: (one.importance >= SLIGHT, one.importance >= VITAL, one.updated_at, one.id))
    if new is not None and _is_slight(new) and oldest.importance >= VITAL:
        why = f"it mattered least ({new.importance} of 10); {why}"
        return Eviction(CompactionOutcome.NEW_GAVE_WAY, NEW, why, rule=OLDEST_GOES)
    return Eviction(CompactionOutcome.OLDEST_WENT, oldest.id, why, rule=OLDEST_GOES)


def least_goes(existing: Sequence[CompactionCandidate], why: str) -> Eviction:
    """Make room for what a person wrote: of the unpinned memories the least important goes, of equals the oldest.

    What a machine wrote goes before what a person did, and never the one that changed last, where there is another: it
    may be what was written a moment ago. Nothing of that lets what is vital go before what is slight.
    """
    # By age, so that what changed last is last, and of equals `min` takes the oldest.
    free = sorted((one for one in shielded(existing) if not one.pinned), key=lambda one: (one.updated_at, one.id))
    if not free:
        return Eviction(CompactionOutcome.NEW_GAVE_WAY, NEW, f"every place is pinned; {why}", rule=LEAST_GOES)
    least = min(free[:-1] or free, key=lambda memory: (memory.by_hand, memory.importance))
    return Eviction(
        CompactionOutcome.LEAST_WENT, least.id, f"{why}; it mattered least ({least.importance} of 10)", rule=LEAST_GOES
    )
