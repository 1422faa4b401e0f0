"""Folds old rows of the ledger into sums of a day and of a conversation, so that every total stays what it was.

Only what was settled is folded, in bites: each row is in the ledger or in the sums, never in both.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Table, delete
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Session

from shared.energy.ledger import settled_before
from shared.energy.models import ConversationSpending, DaySpending, Spending

_SUMS = ("calls", "prompt_tokens", "completion_tokens", "micro")


def fold(session: Session, before: datetime, limit: int) -> int:
    """Fold the oldest settled rows of before a time, at most ``limit``; return how many."""
    rows = settled_before(session, before, limit)
    days: dict[tuple[object, ...], Counter[str]] = {}
    conversations: Counter[int] = Counter()
    for row in rows:
        sums = days.setdefault((row.app_id, row.at.date(), row.kind, row.model), Counter())
        sums.update(dict(zip(_SUMS, (1, row.prompt_tokens, row.completion_tokens, row.micro), strict=True)))
        if row.conversation_key is not None:
            conversations[row.conversation_key] += row.micro
    if rows:
        names = ("app_id", "day", "kind", "model")
        _add(session, DaySpending.__table__, _SUMS, [dict(zip(names, key, strict=True)) | s for key, s in days.items()])
        session.execute(delete(Spending).where(Spending.entry.in_([row.entry for row in rows])))
    if conversations:
        of_each = [{"conversation_key": key, "micro": micro} for key, micro in conversations.items()]
        _add(session, ConversationSpending.__table__, ("micro",), of_each)
    return len(rows)


def _add(session: Session, table: Any, sums: Sequence[str], rows: Sequence[Mapping[str, object]]) -> None:
    """Insert rows of sums, or add to those that stand."""
    assert isinstance(table, Table)
    insert = (sqlite if session.get_bind().dialect.name == "sqlite" else postgresql).insert(table)
    added = {name: table.c[name] + insert.excluded[name] for name in sums}
    session.execute(insert.on_conflict_do_update(index_elements=list(table.primary_key), set_=added), list(rows))
