"""What follows the commit of an erasure: the database's own files are scrubbed, the queues looked at, and the receipt
completed with what was found.
"""

from __future__ import annotations

from datetime import datetime
from urllib.parse import quote

from pydantic import Field
from sqlalchemy.orm import Session
from tenacity import Retrying, retry_if_exception_type, stop_after_attempt, wait_fixed

from loop.api.dependencies import RequestContext
from loop.api.schema import ResponseModel, Success
from loop.api.writes import WriteResult
from loop.totals import erase_text
from loop.wiring import Loop
from shared.apps.models import DATABASE_LOG, QUEUED_TEXT, Erasure
from shared.base.errors import Transient
from shared.db.engine import Database
from shared.erasure.queries import still_remembered
from shared.jobs.models import JobState
from shared.jobs.queries import count_ended_at
from shared.sessions.sweep import SESSION_FILES, clear_files
from shared.telemetry.logging import get_logger
from shared.telemetry.metrics import FactRemoval


class Receipt(ResponseModel):
    """What was erased, and for each store that was checked, what is left there."""

    receipt_id: str
    app_id: str
    scope: str = Field(examples=["memories"])
    user_id: str | None = Field(description="Whose; null where it was about the whole app, or about nobody.")
    actor: str
    at: datetime
    erased: dict[str, int] = Field(
        description="Store by store what was erased. idempotencyKeys are remembered answers of the whole app, as "
        "nobody can tell whose words one holds.",
        examples=[{"memories": 8, "memoryHistory": 21}],
    )
    left: dict[str, int | None] = Field(
        description=(
            "Store by store what is left; null: it could not be looked at. databaseLog is 1 while deleted text may "
            "still stand in the database's own log."
        ),
        examples=[{"memories": 0, "memoryHistory": 0, "databaseLog": 0, "queuedText": 0}],
    )


class Erased(Success):
    """What a purge or an erasure did."""

    deleted_count: int
    receipt: Receipt
    note: str | None = Field(None, description="What is left to do, where something is.")


class StillRemembered(ResponseModel):
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


class ReceiptList(ResponseModel):
    """An app's receipts, newest first."""

    erasures: list[Receipt]
    cursor: str | None


_OF_EVERYTHING = "data"
"""The scope of an erasure of all that an app has."""
_SCRUBS = 2
_MOST_BYTES = 128 * 1024 * 1024
"""A larger SQLite file is not rewritten while somebody waits for the answer: it takes more than a second."""
_UNSCRUBBED = (
    "Everything was deleted, but the database's files could not be written anew at once, so deleted text may still "
    "stand in them. The loop does it within minutes; the receipt under /apps/{app_id}/erasures says when it is done."
)
_COUNTED = ("memories", "facts", "messages", "conversations", "profiles")


def erased(ctx: RequestContext, session: Session, erasure: Erasure) -> WriteResult:
    """Answer an erasure, and complete its receipt once it is committed."""
    open_receipt(session, erasure)
    # Not remembered under the app's id: its keys are erased with it. The answer holds counts, times and ids only.
    return WriteResult(_answer(erasure), then=lambda: _answer(complete(ctx, erasure)))


def purged(ctx: RequestContext, session: Session, erasure: Erasure, user_id: str | None) -> WriteResult:
    """Answer a purge of memories as ``erased`` does, with what else still remembers."""
    open_receipt(session, erasure)
    counts = still_remembered(session, erasure.app_id, user_id)
    whole, only = f"/apps/{erasure.app_id}", ""
    if user_id is not None:
        whole, only = f"{whole}/users/{quote(user_id, safe='')}", f"?userId={quote(user_id, safe='')}"
    how = (
        f"DELETE /apps/{erasure.app_id}/facts{only} forgets facts, DELETE /apps/{erasure.app_id}/conversations/ID a "
        f"conversation with its messages and summaries, DELETE {whole}/data everything."
    )
    remembered = StillRemembered(**counts, how_to_erase=how)

    def answer(receipt: Erasure) -> PurgedMemories:
        return PurgedMemories(**dict(_answer(receipt)), still_remembered=remembered)

    return WriteResult(answer(erasure), then=lambda: answer(complete(ctx, erasure)))


def open_receipt(session: Session, erasure: Erasure) -> None:
    """Say in a receipt that is yet to be committed what is not yet known or done."""
    files = {SESSION_FILES: 1} if erasure.scope == _OF_EVERYTHING else {}
    # As left over until it is known otherwise: a loop that dies before the scrubbing must not have said it was done.
    erasure.left = erasure.left | {DATABASE_LOG: 1, QUEUED_TEXT: None} | files
    session.flush()


def complete(ctx: RequestContext, erasure: Erasure) -> Erasure:
    """Scrub, look at the queues, and write both into the receipt."""
    loop = ctx.loop
    loop.metrics.erasures.labels(erasure.scope).inc()
    erasure.left = erasure.left | {
        DATABASE_LOG: 0 if _scrub(loop.database) else 1,
        QUEUED_TEXT: erase_text(loop.redis, erasure.app_id),
    }
    if SESSION_FILES in erasure.left:
        erasure.left = erasure.left | {SESSION_FILES: _clear_files(loop, erasure.app_id)}
    # Count the jobs the erasure cancelled: those that ended at its very moment.
    with ctx.read() as session:
        cancelled = count_ended_at(session, erasure.app_id, JobState.CANCELLED, erasure.at)
    for kind, count in cancelled.items():
        ctx.loop.metrics.jobs_finished.labels(kind, JobState.CANCELLED).inc(count)
    removal = FactRemoval.CLEARED if erasure.scope == "facts" else FactRemoval.ERASED
    loop.metrics.facts_removed.labels(removal).inc(erasure.erased.get("facts", 0))
    if any(erasure.left.values()):
        loop.metrics.erasures_incomplete.labels(erasure.scope).inc()
    with ctx.loop.database.write() as session:
        # Merged, as the session it belongs to was closed with the commit.
        session.merge(erasure)
    get_logger().info("erased", app_id=erasure.app_id, scope=erasure.scope, receipt_id=erasure.erasure_id)
    return erasure


def note_on(erasure: Erasure) -> str | None:
    """Say what is left to do, if anything is."""
    return _UNSCRUBBED.format(app_id=erasure.app_id) if erasure.left.get(DATABASE_LOG) else None


def _answer(erasure: Erasure) -> Erased:
    counted = ("memories",) if erasure.scope == "memories" else _COUNTED
    deleted = sum(erasure.erased.get(store, 0) for store in counted)
    return Erased(deleted_count=deleted, receipt=Receipt.model_validate(erasure), note=note_on(erasure))


def _clear_files(loop: Loop, app_id: str) -> int:
    """Remove the files of an app's sessions; 1 where that has to be tried again."""
    try:
        return clear_files(loop.database, loop.store, app_id)
    except (Transient, OSError) as error:
        get_logger().warning("session_files_left", app_id=app_id, error=type(error).__name__)
        return 1


def _scrub(database: Database) -> bool:
    try:
        for attempt in Retrying(
            stop=stop_after_attempt(_SCRUBS),
            wait=wait_fixed(0.2),
            retry=retry_if_exception_type(Transient),
            reraise=True,
        ):
            with attempt:
                database.scrub(most_bytes=_MOST_BYTES)
    except Transient as error:
        get_logger().warning("scrub_failed", error=error.message)
        return False
    return True
