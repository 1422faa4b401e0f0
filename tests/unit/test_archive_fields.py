"""The parts of an archive have the names they always had, and a row that goes out and comes back is the same row."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from shared.archive.document import ArchivedFactSource, ArchivedMessage
from shared.conversations.models import Message
from shared.db.base import copied, row_of
from shared.facts.models import FactSource

AT = datetime(2026, 3, 1, 12, tzinfo=UTC)
MESSAGE = Message(
    key=7, conversation_key=3, app_id="notes", position=0, message_id="m1", role="user", name=None, content="Hello",
    payload=None, tokens=4, created_at=AT,
)  # fmt: skip
SOURCE = FactSource(
    source_id=9, fact_id=1, conversation_key=3, conversation_id="c1", message_ids=["m1"], statement="Likes tea",
    category="preference", agent="admin", mentions=2, first_seen=AT, last_seen=AT + timedelta(hours=1), said_at=AT,
)  # fmt: skip


def test_a_message_is_written_as_it_always_was() -> None:
    assert copied(ArchivedMessage, MESSAGE).model_dump_json(by_alias=True) == (
        '{"messageId":"m1","role":"user","name":null,"content":"Hello","payload":null,"tokens":4,'
        '"createdAt":"2026-03-01T12:00:00Z","utcOffsetMinutes":null}'
    )


def test_a_facts_source_is_written_as_it_always_was() -> None:
    assert copied(ArchivedFactSource, SOURCE).model_dump_json(by_alias=True) == (
        '{"conversationId":"c1","messageIds":["m1"],"statement":"Likes tea","category":"preference","agent":"admin",'
        '"mentions":2,"saidAt":"2026-03-01T12:00:00Z","firstSeen":"2026-03-01T12:00:00Z",'
        '"lastSeen":"2026-03-01T13:00:00Z"}'
    )


def test_a_row_comes_back_as_it_went_out_but_for_what_is_set_apart() -> None:
    back = row_of(FactSource, copied(ArchivedFactSource, SOURCE), fact_id=2, conversation_key=5)
    assert (back.fact_id, back.conversation_key, back.source_id) == (2, 5, None)
    for name in (
        "conversation_id",
        "message_ids",
        "statement",
        "category",
        "agent",
        "mentions",
        "said_at",
        "last_seen",
    ):
        assert getattr(back, name) == getattr(SOURCE, name)
