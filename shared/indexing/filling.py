"""Brings messages into the indexes that were said before there were any, or without them.

A fill walks an app's messages by key and adds only what is absent, so it can stop anywhere, go on, and be repeated.
How far it has come moves in the transaction of what it added. Vectors it only asks for, as for any message.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy.orm import Session

from shared.indexing import queries, word_index
from shared.indexing.asking import ask_for_filling
from shared.indexing.models import AppIndex, SetState
from shared.indexing.vector_sets import note_unembedded
from shared.indexing.writing import Said, add_passages, add_words, with_places
from shared.outbox.models import Job

FILLED_AT_ONCE = 200
"""Messages seen to in one transaction; on SQLite nobody else can write meanwhile."""


@dataclass(frozen=True)
class Progress:
    """How far something has come, in messages."""

    done: int
    total: int


@dataclass(frozen=True)
class SetStatus:
    """A set of vectors: how many it has, and how far it is filled while it is."""

    model: str
    state: SetState
    vectors: int
    fill: Progress | None


@dataclass(frozen=True)
class IndexStatus:
    """What there is of an app's indexes. ``words`` and ``unembedded`` count messages."""

    messages: int
    words: int
    word_index_is_present: bool
    unembedded: int
    sets: tuple[SetStatus, ...]
    fill: Progress | None
    """Of the back-fill under way."""
    fill_asked_at: datetime | None
    fill_ended_at: datetime | None


@dataclass(frozen=True)
class Filled:
    """What one step of a fill did."""

    messages: int
    words: int
    """Messages whose words were added."""
    without_words: int
    """Messages that lack them still, the index being missing."""
    is_over: bool


def ask(session: Session, app_id: str, epoch: int, now: datetime, max_attempts: int = 5) -> Job:
    """Ask for a back-fill of a locked app; one under way goes on from where it is, up to what was said since."""
    word_index.make_key(session, app_id)
    index = queries.app_index(session, app_id)
    assert index is not None
    if index.fill_until is None:
        index.filled_to, index.fill_done = 0, 0
    index.fill_until = queries.newest_message(session, app_id)
    index.fill_total = index.fill_done + queries.count_messages(session, app_id, index.filled_to, index.fill_until)
    index.fill_asked_at, index.fill_ended_at = now, None
    session.flush()
    return ask_for_filling(session, app_id, epoch, now, max_attempts)


def rebuild(session: Session, now: datetime, max_attempts: int = 5) -> int:
    """Make the word index of the whole installation anew and ask for a fill of every app; return of how many."""
    epochs = queries.lock_apps_with_messages(session)
    for app_id in epochs:
        # Before the table goes: who speaks in an app for the first time makes its key, and then waits for the table.
        word_index.make_key(session, app_id)
    word_index.make_anew(session)
    for app_id, epoch in epochs.items():
        index = queries.app_index(session, app_id)
        if index is not None:
            index.fill_until = None
        ask(session, app_id, epoch, now, max_attempts)
    return len(epochs)


def fill_some(session: Session, app_id: str, now: datetime, limit: int = FILLED_AT_ONCE) -> Filled | None:
    """See to some messages of a locked app; None when no fill is under way."""
    index = queries.app_index(session, app_id)
    if index is None or index.fill_until is None:
        return None
    batch = queries.messages_between(session, app_id, index.filled_to, index.fill_until, limit)
    placed = list(with_places(batch))
    words, lacking = _fill_words(session, app_id, placed)
    _fill_passages(session, app_id, placed)
    _ask_for_vectors(session, app_id, placed)
    _move_on(index, batch, is_over=len(batch) < limit, now=now)
    session.flush()
    return Filled(len(batch), words, lacking, index.fill_until is None)


def _move_on(index: AppIndex, batch: Sequence[Said], is_over: bool, now: datetime) -> None:
    index.filled_to = batch[-1].key if batch else index.filled_to
    index.fill_done += len(batch)
    if is_over:
        index.fill_until, index.fill_ended_at = None, now


def _fill_words(session: Session, app_id: str, placed: Sequence[tuple[int, Said]]) -> tuple[int, int]:
    if not word_index.is_present(session):
        return 0, len(placed)
    present = word_index.places_present(session, [place for place, _ in placed])
    absent = [(place, one) for place, one in placed if place not in present]
    if absent:
        add_words(session, app_id, absent)
    return len(absent), 0


def _fill_passages(session: Session, app_id: str, placed: Sequence[tuple[int, Said]]) -> None:
    have = queries.has_passages(session, [one.key for _, one in placed])
    add_passages(session, app_id, [(place, one) for place, one in placed if one.key not in have])


def _ask_for_vectors(session: Session, app_id: str, placed: Sequence[tuple[int, Said]]) -> None:
    serving = queries.serving_set(session, app_id)
    kept = queries.parts_kept(session, serving.key, [place for place, _ in placed]) if serving else {}
    passages = queries.passages_of_messages(session, [one.key for _, one in placed])
    parts = {place: {0, *(part.part for part in passages.get(one.key, ()))} for place, one in placed}
    note_unembedded(session, app_id, [place for place, wanted in parts.items() if wanted - kept.get(place, set())])


def status(session: Session, app_id: str) -> IndexStatus:
    """Return what there is of an app's indexes. Looks at each of its messages."""
    index = queries.app_index(session, app_id)
    filling = index is not None and index.fill_until is not None
    return IndexStatus(
        messages=queries.count_spoken(session, app_id),
        words=word_index.count_of_app(session, app_id),
        word_index_is_present=word_index.is_present(session),
        unembedded=queries.count_unembedded(session, app_id),
        sets=tuple(_sets(session, app_id)),
        fill=Progress(index.fill_done, index.fill_total) if index is not None and filling else None,
        fill_asked_at=None if index is None else index.fill_asked_at,
        fill_ended_at=None if index is None else index.fill_ended_at,
    )


def _sets(session: Session, app_id: str) -> list[SetStatus]:
    return [
        SetStatus(
            model=one.model,
            state=SetState(one.state),
            vectors=queries.count_vectors(session, one.key),
            fill=Progress(one.fill_done, one.fill_total) if one.state == SetState.FILLING else None,
        )
        for one in queries.sets_of(session, app_id)
    ]
