"""Brings messages into the index, fills it for those said before, and takes out what is erased.

Words and passages are written in the transaction of the message; vectors are made later, so each message is noted as
unembedded. A word index that is missing costs the words and nothing else. A back-fill walks an app's messages by key
and adds only what is absent, so it can stop anywhere, go on, and be repeated.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol, TypeVar

from sqlalchemy import delete, insert
from sqlalchemy.orm import Session

from shared.base.ids import new_id
from shared.contracts.jobs import INDEX_PRIORITY, INDEX_SEQUENCE, JobKind
from shared.db.queries import rows_changed
from shared.jobs.dispatch import NewJob, enqueue
from shared.jobs.models import OPEN, Job, JobState
from shared.jobs.queries import last_of_kind
from shared.search import index_queries, models, word_index
from shared.search.passages import passages_of
from shared.search.vectors import note_unembedded, remove_all_vectors, remove_conversation_vectors
from shared.telemetry.logging import get_logger

_WITHOUT_WORDS = "messages_without_words"
INDEXED_ROLES = frozenset({"user", "assistant"})
# The table itself: this is in the way of every message, and mapping objects costs more than the rest.
_CUT = insert(models.Passage.__table__)  # type: ignore[arg-type]


class IndexableMessage(Protocol):
    """A message as the indexes see it."""

    @property
    def key(self) -> int:
        """Its key."""

    @property
    def conversation_key(self) -> int:
        """The key of its conversation."""

    @property
    def position(self) -> int:
        """Its position in it."""

    @property
    def role(self) -> str:
        """Who spoke."""

    @property
    def content(self) -> str:
        """What was said."""


class SpokenMessage(IndexableMessage, Protocol):
    """A message that may name who speaks."""

    @property
    def name(self) -> str | None:
        """Who speaks."""


MessageT = TypeVar("MessageT", bound=IndexableMessage)


def index_messages(session: Session, app_id: str, messages: Sequence[SpokenMessage]) -> int:
    """Bring new messages of an app into the indexes; return how many went without words, the index being missing."""
    placed = list(with_doc_ids(messages))
    if not placed:
        return 0
    standing = word_index.open_index(session, app_id)
    if not standing.has_names and any(one.name for _, one in placed):
        word_index.note_names(session, app_id)
    lacking = add_words(session, app_id, standing, placed)
    add_passages(session, app_id, placed)
    note_unembedded(session, app_id, [doc_id for doc_id, _ in placed])
    return lacking


def without_words(session: Session) -> int:
    """Return how many messages a session has kept without words so far; for who counts them after the commit."""
    return int(session.info.get(_WITHOUT_WORDS, 0))


def with_doc_ids(messages: Sequence[MessageT]) -> Iterator[tuple[int, MessageT]]:
    """Return those messages that are indexed, each with its doc id: what people and assistants said in words."""
    for one in messages:
        doc_id = models.doc_id_of(one.conversation_key, one.position) if one.role in INDEXED_ROLES else None
        if doc_id is not None and one.content.strip():
            yield doc_id, one


def add_words(
    session: Session, app_id: str, standing: word_index.OpenIndex, placed: Sequence[tuple[int, IndexableMessage]]
) -> int:
    """Add the words of messages that have none in the index; return how many went without."""
    if not standing.is_present:
        get_logger().warning("word_index_missing", app_id=app_id, messages=len(placed))
        session.info[_WITHOUT_WORDS] = without_words(session) + len(placed)
        return len(placed)
    word_index.add(session, app_id, standing, [(doc_id, one.content) for doc_id, one in placed])
    return 0


def add_passages(session: Session, app_id: str, placed: Sequence[tuple[int, IndexableMessage]]) -> None:
    """Add the passages of messages that have none."""
    rows = [
        {"message_key": one.key, "part": part, "app_id": app_id, "doc_id": doc_id, **vars(span)}
        for doc_id, one in placed
        for part, span in enumerate(passages_of(one.content), 1)
    ]
    if rows:
        session.connection().execute(_CUT, rows)


FILLED_AT_ONCE = 200
"""Messages seen to in one transaction; on SQLite nobody else can write meanwhile."""


@dataclass(frozen=True)
class FillProgress:
    """How far something has come, in messages."""

    done: int
    total: int


@dataclass(frozen=True)
class VectorSetStatus:
    """A set of vectors: how many it has, and how far it is filled while it is."""

    model: str
    state: models.SetState
    vectors: int
    fill: FillProgress | None


@dataclass(frozen=True)
class IndexStatus:
    """What there is of an app's indexes. ``words`` and ``unembedded`` count messages."""

    messages: int
    words: int
    word_index_is_present: bool
    unembedded: int
    sets: tuple[VectorSetStatus, ...]
    fill: FillProgress | None
    """Of the back-fill under way."""
    fill_asked_at: datetime | None
    fill_ended_at: datetime | None


@dataclass(frozen=True)
class BackfillStep:
    """What one step of a fill did."""

    messages: int
    words: int
    """Messages whose words were added."""
    without_words: int
    """Messages that lack them still, the index being missing."""
    is_over: bool


def request_backfill(session: Session, app_id: str, epoch: int, now: datetime, max_attempts: int = 5) -> Job:
    """Ask for a back-fill of a locked app; one under way goes on from where it is, up to what was said since."""
    word_index.ensure_key(session, app_id)
    index = index_queries.app_index(session, app_id)
    assert index is not None
    if index.fill_until is None:
        index.filled_to, index.fill_done = 0, 0
    index.fill_until = index_queries.newest_message(session, app_id)
    index.fill_total = index.fill_done + index_queries.count_messages(
        session, app_id, index.filled_to, index.fill_until
    )
    index.fill_asked_at, index.fill_ended_at = now, None
    session.flush()
    last = last_of_kind(session, app_id, JobKind.INDEX_MESSAGES)
    # It reads anew at every batch how far to go, so it needs no successor for what was said since.
    if last is not None and last.state in OPEN:
        return last
    return _enqueue(session, JobKind.INDEX_MESSAGES, app_id, epoch, now, max_attempts)


def recreate_word_index(session: Session, now: datetime, max_attempts: int = 5) -> int:
    """Make the word index of the whole installation anew and ask for a fill of every app; return of how many."""
    epochs = index_queries.lock_apps_with_messages(session)
    for app_id in epochs:
        # Before the table goes: who speaks in an app for the first time makes its key, and then waits for the table.
        word_index.ensure_key(session, app_id)
    word_index.recreate(session)
    for app_id, epoch in epochs.items():
        index = index_queries.app_index(session, app_id)
        if index is not None:
            index.fill_until = None
        request_backfill(session, app_id, epoch, now, max_attempts)
    return len(epochs)


def backfill_batch(session: Session, app_id: str, now: datetime, limit: int = FILLED_AT_ONCE) -> BackfillStep | None:
    """See to some messages of a locked app; None when no fill is under way."""
    index = index_queries.app_index(session, app_id)
    if index is None or index.fill_until is None:
        return None
    batch = index_queries.messages_between(session, app_id, index.filled_to, index.fill_until, limit)
    placed = list(with_doc_ids(batch))
    words, lacking = 0, len(placed)
    standing = word_index.open_index(session, app_id)
    if standing.is_present:
        present = word_index.doc_ids_present(session, app_id, [doc_id for doc_id, _ in placed])
        absent = [(doc_id, one) for doc_id, one in placed if doc_id not in present]
        if absent:
            add_words(session, app_id, standing, absent)
        words, lacking = len(absent), 0
    cut = index_queries.has_passages(session, [one.key for _, one in placed])
    add_passages(session, app_id, [(doc_id, one) for doc_id, one in placed if one.key not in cut])
    serving = index_queries.serving_set(session, app_id)
    kept = index_queries.parts_kept(session, serving.key, [doc_id for doc_id, _ in placed]) if serving else {}
    passages = index_queries.passages_of_messages(session, [one.key for _, one in placed])
    parts = {doc_id: {0, *(part.part for part in passages.get(one.key, ()))} for doc_id, one in placed}
    note_unembedded(session, app_id, [doc_id for doc_id, wanted in parts.items() if wanted - kept.get(doc_id, set())])
    index.filled_to = batch[-1].key if batch else index.filled_to
    index.fill_done += len(batch)
    is_over = len(batch) < limit
    if is_over:
        index.fill_until, index.fill_ended_at = None, now
    session.flush()
    return BackfillStep(len(batch), words, lacking, is_over)


def index_status(session: Session, app_id: str) -> IndexStatus:
    """Return what there is of an app's indexes. Looks at each of its messages."""
    index = index_queries.app_index(session, app_id)
    filling = index is not None and index.fill_until is not None
    return IndexStatus(
        messages=index_queries.count_spoken(session, app_id),
        words=word_index.count_of_app(session, app_id),
        word_index_is_present=word_index.is_present(session),
        unembedded=index_queries.count_unembedded(session, app_id),
        sets=tuple(
            VectorSetStatus(
                model=one.model,
                state=models.SetState(one.state),
                vectors=index_queries.count_vectors(session, one.key),
                fill=FillProgress(one.fill_done, one.fill_total) if one.state == models.SetState.FILLING else None,
            )
            for one in index_queries.sets_of(session, app_id)
        ),
        fill=FillProgress(index.fill_done, index.fill_total) if index is not None and filling else None,
        fill_asked_at=None if index is None else index.fill_asked_at,
        fill_ended_at=None if index is None else index.fill_ended_at,
    )


REST_PER_ATTEMPT = timedelta(seconds=60)
"""After a job has failed for good, for each attempt it took."""
REST_AFTER_NOTHING = timedelta(seconds=60)
"""After one that found nothing to do although it looked as if there were."""


def may_enqueue(last: Job | None, now: datetime) -> bool:
    """Whether another job may be asked for, given the last one of its kind."""
    if last is None or last.finished_at is None:
        return last is None or last.state not in OPEN
    rest = {JobState.DEAD: REST_PER_ATTEMPT * last.attempts, JobState.NOTHING: REST_AFTER_NOTHING}
    # A job that ended in the future did so before the clock was set back.
    return not last.finished_at <= now < last.finished_at + rest.get(JobState(last.state), timedelta())


def may_enqueue_embedding(session: Session, app_id: str, now: datetime) -> bool:
    """Whether a job for the vectors of an app's messages may be asked for now."""
    last = last_of_kind(session, app_id, JobKind.EMBED_MESSAGES)
    # The rest after a job that found nothing is for false alarms; here something waits for certain.
    said_since = last is not None and last.state == JobState.NOTHING and index_queries.has_unembedded(session, app_id)
    return said_since or may_enqueue(last, now)


def enqueue_embedding(session: Session, app_id: str, epoch: int, now: datetime, max_attempts: int) -> Job | None:
    """Ask for the vectors of a locked app's messages; None while a job is under way, or it is too early for another."""
    if not may_enqueue_embedding(session, app_id, now):
        return None
    return _enqueue(session, JobKind.EMBED_MESSAGES, app_id, epoch, now, max_attempts)


def _enqueue(session: Session, kind: JobKind, app_id: str, epoch: int, now: datetime, max_attempts: int) -> Job:
    wanted = NewJob(
        kind=kind,
        app_id=app_id,
        # New each time: that only one is under way is seen to by callers, who look under the lock of the app.
        dedupe=f"{kind}:{new_id('ask', now)}",
        epoch=epoch,
        priority=INDEX_PRIORITY,
        max_attempts=max_attempts,
        sequence=INDEX_SEQUENCE,
    )
    return enqueue(session, wanted, now)


_READ_AT_ONCE = 500


def remove_conversation_from_index(session: Session, app_id: str, conversation_key: int) -> dict[str, int]:
    """Take a conversation of a locked app out of the indexes; return what went, by index."""
    first, last = models.doc_ids_of(conversation_key)
    erased = {
        "words": _forget_words(session, app_id, conversation_key),
        "passages": rows_changed(session, delete(models.Passage).where(models.Passage.doc_id.between(first, last))),
        "vectors": remove_conversation_vectors(session, app_id, conversation_key),
    }
    session.execute(
        delete(models.Unembedded).where(
            models.Unembedded.app_id == app_id, models.Unembedded.doc_id.between(first, last)
        )
    )
    return erased


def _forget_words(session: Session, app_id: str, conversation_key: int) -> int:
    standing = word_index.open_index(session, app_id)
    if standing.key is None or not standing.is_present:
        return 0
    removed, after = 0, -1
    # While the messages still stand: blocks and FTS5 alike give up a word only if they are told which.
    while batch := index_queries.messages_of_conversation(session, conversation_key, after, _READ_AT_ONCE):
        texts = [(doc_id, one.content) for doc_id, one in with_doc_ids(batch)]
        removed += word_index.remove(session, standing.key, texts)
        after = batch[-1].position
    return removed


def remove_app_from_index(session: Session, app_id: str) -> dict[str, int]:
    """Take everything of a locked app out of the indexes; return what went, by index."""
    # Counted before: the one table drops them unread, the other keeps them where nothing leads to them.
    words = word_index.count_of_app(session, app_id)
    word_index.remove_app(session, app_id)
    erased = {
        "words": words,
        "passages": rows_changed(session, delete(models.Passage).where(models.Passage.app_id == app_id)),
        "vectors": remove_all_vectors(session, index_queries.sets_of(session, app_id)),
    }
    session.execute(delete(models.Unembedded).where(models.Unembedded.app_id == app_id))
    session.execute(delete(models.VectorSet).where(models.VectorSet.app_id == app_id))
    # Its key and salt: what tokens are left in the word index belong to nobody and mean nothing.
    session.execute(delete(models.AppIndex).where(models.AppIndex.app_id == app_id))
    return erased


def left_in_index_of_conversation(session: Session, app_id: str, conversation_key: int) -> dict[str, int]:
    """Count, index by index, what is left of a conversation."""
    first, last = models.doc_ids_of(conversation_key)
    return {
        "words": word_index.count_between(session, app_id, first, last),
        "passages": index_queries.count_passages(session, app_id, first, last),
        "vectors": index_queries.count_vectors_between(session, app_id, first, last),
    }


def left_in_index_of_app(session: Session, app_id: str) -> dict[str, int]:
    """Count, index by index, what is left of an app; words that nothing leads to any more are none."""
    return {
        "words": word_index.count_of_app(session, app_id),
        "passages": index_queries.count_passages(session, app_id),
        "vectors": sum(index_queries.count_vectors(session, one.key) for one in index_queries.sets_of(session, app_id)),
    }
