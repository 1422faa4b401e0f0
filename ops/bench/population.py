"""Fills a database with many apps at their cap, quickly."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from sqlalchemy import insert

from shared.apps.models import App
from shared.db.engine import Database
from shared.memories.models import Memory, Origin

FULL_APP = 10
_BEGUN = datetime(2026, 1, 1, tzinfo=UTC)
_BATCH = 1000


def app_id(number: int) -> str:
    """Return the id of an app of the population."""
    return f"bench-{number:06d}"


def populate(database: Database, apps: int, first: int = 0) -> None:
    """Add apps ``first``..``apps``-1, each with ten memories."""
    for start in range(first, apps, _BATCH):
        numbers = range(start, min(apps, start + _BATCH))
        with database.write() as session:
            session.execute(insert(App), [_app(number) for number in numbers])
            origins = [_origin(number, doc_id) for number in numbers for doc_id in range(FULL_APP)]
            ids = session.scalars(
                insert(Origin).returning(Origin.memory_id, sort_by_parameter_order=True), origins
            ).all()
            rows = [
                _memory(memory_id, origin, i % FULL_APP)
                for i, (memory_id, origin) in enumerate(zip(ids, origins, strict=True))
            ]
            session.execute(insert(Memory), rows)


def _app(number: int) -> dict[str, object]:
    return {
        "app_id": app_id(number), "name": f"Bench {number}", "config": {}, "purge_epoch": 0,
        "created_at": _BEGUN, "updated_at": _BEGUN,
    }  # fmt: skip


def _origin(number: int, doc_id: int) -> dict[str, object]:
    at = _BEGUN + timedelta(hours=doc_id)
    return {"app_id": app_id(number), "epoch": 0, "agent": "extractive", "created_at": at}


def _memory(memory_id: int, origin: dict[str, object], doc_id: int) -> dict[str, object]:
    text = f"User: planted {doc_id + 3} rows of beans in the north field and sold the tractor to cousin Marta {doc_id}."
    return {
        "memory_id": memory_id, "app_id": origin["app_id"], "slot": doc_id + 1, "content": text, "importance": 5,
        "tags": ["beans"], "pinned": False, "agent": "extractive", "version": 1,
        "created_at": origin["created_at"], "updated_at": origin["created_at"],
    }  # fmt: skip
