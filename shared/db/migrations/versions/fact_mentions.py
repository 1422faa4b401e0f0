"""Facts keep each mention, one row each, and no longer one row a conversation that counts its mentions.

What a source counted together is told apart again as far as its messages tell it: each mention has one message, the
last has the rest. What a hand made of a fact's words stands at its mentions, and what replaced a fact, which only its
history knew, is what the replacing fact's mention names.
"""

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import sqlalchemy as sa
from alembic import op

from shared.db.base import BigKey, UtcDateTime
from shared.db.migrations.versions.initial import revision as down_revision

__all__ = ["down_revision"]
revision = "fact_mentions"

Row = dict[str, Any]


def upgrade() -> None:
    """Make mentions of sources."""
    mentions = op.create_table(
        "fact_mentions",
        sa.Column("mention_id", BigKey, primary_key=True),
        sa.Column("fact_id", BigKey, sa.ForeignKey("facts.fact_id", ondelete="CASCADE"), nullable=False, index=True),
        sa.Column("app_id", sa.String(100), sa.ForeignKey("apps.app_id"), nullable=False),
        sa.Column("user_id", sa.String(200), nullable=False, server_default=""),
        sa.Column("meaning", sa.BigInteger, nullable=False),
        sa.Column("updates", sa.BigInteger),
        sa.Column("conversation_key", BigKey, sa.ForeignKey("conversations.key"), index=True),
        sa.Column("conversation_id", sa.String(200)),
        sa.Column("message_ids", sa.JSON, nullable=False),
        sa.Column("statement", sa.Text, nullable=False),
        sa.Column("edits", sa.JSON, nullable=False),
        sa.Column("category", sa.String(12), nullable=False),
        sa.Column("agent", sa.String(200), nullable=False),
        sa.Column("heard_at", UtcDateTime, nullable=False),
        sa.Column("said_at", UtcDateTime, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_fact_mentions_app_id_user_id", "fact_mentions", ["app_id", "user_id"])
    rows = list(_mentions())
    for one in rows:
        # What a hand changed was changed when all of these were there; they are numbered from 1 on.
        one["edits"] = [[len(rows), words] for words in one["edits"]]
    if rows:
        op.bulk_insert(mentions, rows)
    op.drop_table("fact_sources")


def _mentions() -> Iterator[Row]:
    """Yield the mentions of every fact, in the order in which the facts were made."""
    facts = _rows(
        "SELECT fact_id, app_id, user_id, said_key, statement, category, agent, said_at, updated_at"
        " FROM facts ORDER BY fact_id"
    )
    sources = defaultdict(list)
    for one in _rows("SELECT * FROM fact_sources ORDER BY first_seen, source_id"):
        sources[one["fact_id"]].append(one)
    by, meaning_of = _replaced_by(), dict[tuple[str, str], int]()
    # Facts that say the same in a chain have one meaning: that of the first.
    meanings = {
        one["fact_id"]: meaning_of.setdefault((one["app_id"], one["said_key"]), one["fact_id"]) for one in facts
    }
    replaces = defaultdict(list)
    for lower, upper in by.items():
        # What says the same needs no name, and would take that of another.
        if meanings[lower] != meanings[upper]:
            replaces[upper].append(meanings[lower])
    for fact in facts:
        own = {
            "fact_id": fact["fact_id"],
            "app_id": fact["app_id"],
            "user_id": fact["user_id"],
            "meaning": meanings[fact["fact_id"]],
            "updates": None,
            "conversation_key": None,
            "conversation_id": None,
        }
        made = [own | one for source in sources[fact["fact_id"]] for one in _taken_apart(source)]
        # As a fold orders them: what a hand wrote at the same instant is the last.
        made.sort(key=lambda one: (one["said_at"], one["conversation_id"] is None, one["conversation_id"] or ""))
        for one, updates in zip(made, replaces[fact["fact_id"]], strict=False):
            one["updates"] = updates
        is_reworded = bool(made) and fact["statement"] != made[0]["statement"]
        # Numbered as they were heard.
        made.sort(key=lambda one: one["heard_at"])
        yield from (one | {"edits": [fact["statement"]] * is_reworded} for one in made)


def _taken_apart(source: Row) -> Iterator[Row]:
    kept = ("conversation_key", "conversation_id", "statement", "category", "agent")
    ids, count = source["message_ids"], source["mentions"]
    said = dict[str, Any]()
    if ids:
        query = sa.text("SELECT message_id, created_at FROM messages WHERE conversation_key = :key")
        typed = query.columns(message_id=sa.String, created_at=UtcDateTime)
        said = {
            one.message_id: one.created_at for one in op.get_bind().execute(typed, {"key": source["conversation_key"]})
        }
    for number in range(count):
        part = ids[number:] if number == count - 1 else ids[number : number + 1]
        # A sender's clock may be ahead of ours; then the source has ours.
        times = [min(said[one], source["said_at"]) for one in part if one in said]
        yield {name: source[name] for name in kept} | {
            "message_ids": part,
            "heard_at": source["first_seen"] if number == 0 and count > 1 else source["last_seen"],
            "said_at": max(times, default=source["said_at"]),
        }


def _replaced_by() -> dict[int, int]:
    """Return what replaced each fact last, as its history says, or else what lies above it."""
    rows = _rows("SELECT fact_id, updates_fact_id FROM facts ORDER BY fact_id")
    above = {one["updates_fact_id"]: one["fact_id"] for one in rows}
    query = "SELECT fact_id, related_fact_id FROM fact_history WHERE kind = 'replaced' ORDER BY change_id"
    history = {one["fact_id"]: one["related_fact_id"] for one in _rows(query)}
    # One that stands was replaced once, and no longer is.
    facts = {one["fact_id"] for one in rows}
    by = {lower: history.get(lower, upper) for lower, upper in above.items() if lower is not None}
    # What replaced it may have been erased since; the chain was closed over that.
    return {lower: upper if upper in facts else above[lower] for lower, upper in by.items() if lower in facts}


_TYPES: dict[str, sa.types.TypeEngine[Any]] = {
    "message_ids": sa.JSON(),
    **{name: UtcDateTime() for name in ("said_at", "updated_at", "first_seen", "last_seen")},
}


def _rows(query: str) -> list[Row]:
    """Return what a query finds, with times and lists as both databases keep them."""
    bind = op.get_bind()
    names = list(bind.execute(sa.text(query)).keys())
    typed = sa.text(query).columns(*(sa.column(name, _TYPES.get(name)) for name in names))
    return [dict(row._mapping) for row in bind.execute(typed)]
