"""Statements as they are collected: each once, and none that only repeats what was recalled."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from shared.facts.likeness import oppose
from shared.facts.normalising import normal
from shared.facts.single_values import contradict
from worker.agent.facts.protocol import KnownFact, Statement

LONGEST = 200
"""Characters of a statement at most; a longer one is not made, because cutting changes meaning."""
_MARKER = re.compile(r"^[ \t]*(?:[-*•+>]|\d{1,2}[.)])?[ \t]*")


def without_known(content: str, known: Sequence[KnownFact]) -> tuple[str, int]:
    """Leave out the lines that a known fact says word for word, and count them."""
    recalled = {normal(fact.statement) for fact in known}
    lines = content.splitlines()
    own = [line for line in lines if normal(_MARKER.sub("", line)) not in recalled]
    return "\n".join(own), len(lines) - len(own)


def once_each(statements: Iterable[Statement]) -> tuple[Statement, ...]:
    """Give each statement once, with the messages of every time; of two that contradict each other, the later."""
    kept: dict[str, Statement] = {}
    for new in statements:
        key = normal(new.text)
        if key not in kept:
            kept = {k: old for k, old in kept.items() if not _over(old, new)}
        kept[key] = _joined(kept[key], new) if key in kept else new
    return tuple(kept.values())


def _over(old: Statement, new: Statement) -> bool:
    """Say whether the newer of two statements takes the place of the older one."""
    same = old.updates is not None and old.updates == new.updates
    return same or contradict(old.text, new.text) or oppose(old.text, new.text)


def _joined(old: Statement, new: Statement) -> Statement:
    ids = tuple(dict.fromkeys((*old.message_ids, *new.message_ids)))
    return replace(old, message_ids=ids, updates=old.updates if new.updates is None else new.updates)
