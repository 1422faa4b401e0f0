"""Receipts of purges and erasures."""

from __future__ import annotations

from datetime import datetime

from pydantic import Field

from loop.api.schemas.wire import Answer, Success
from shared.apps.models import Erasure


class Receipt(Answer):
    """What was erased, and for each store that was checked, what is left there."""

    receipt_id: str
    app_id: str
    scope: str = Field(examples=["memories"])
    user_id: str | None = Field(description="Whose; null where it was about the whole app, or about nobody.")
    actor: str
    at: datetime
    erased: dict[str, int] = Field(examples=[{"memories": 8, "memoryHistory": 21}])
    left: dict[str, int | None] = Field(
        description=(
            "Store by store what is left; null: it could not be looked at. databaseLog is 1 while deleted text may "
            "still stand in the database's own log."
        ),
        examples=[{"memories": 0, "memoryHistory": 0, "databaseLog": 0, "queuedText": 0}],
    )

    @classmethod
    def of(cls, erasure: Erasure) -> Receipt:
        """Return a receipt as it goes over the wire."""
        return cls(
            receipt_id=erasure.erasure_id,
            app_id=erasure.app_id,
            scope=erasure.scope,
            user_id=erasure.user_id,
            actor=erasure.actor,
            at=erasure.at,
            erased=erasure.erased,
            left=erasure.left,
        )


class Erased(Success):
    """What a purge or an erasure did."""

    deleted_count: int
    receipt: Receipt
    note: str | None = Field(None, description="What is left to do, where something is.")


class StillRemembered(Answer):
    """What remembers after a purge of memories, and how to erase it."""

    facts: int
    messages: int
    summaries: int
    how_to_erase: str


class PurgedMemories(Erased):
    """What a purge of memories did, and what it does not reach."""

    still_remembered: StillRemembered


class Uninstalled(Success):
    """What became of an app and its memories."""

    app_id: str
    memories_kept: int
    deleted_count: int = 0
    receipt: Receipt | None = None
    note: str | None = None


class ReceiptList(Answer):
    """An app's receipts, newest first."""

    erasures: list[Receipt]
    cursor: str | None
