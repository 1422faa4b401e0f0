"""Takes what is erased out of the indexes, in the transaction of the erasure and before its messages go.

Whoever holds copies of vectors learns of it from the sets' count of erasures.
"""

from __future__ import annotations

from sqlalchemy import delete, update
from sqlalchemy.orm import Session

from shared.db.counting import rows_changed
from shared.indexing import queries, word_index
from shared.indexing.models import AppIndex, MessageVector, Passage, Unembedded, VectorSet
from shared.indexing.places import places_of
from shared.indexing.writing import with_places

_READ_AT_ONCE = 500


def forget_conversation(session: Session, app_id: str, conversation_key: int) -> dict[str, int]:
    """Take a conversation of a locked app out of the indexes; return what went, by index."""
    first, last = places_of(conversation_key)
    sets = [one.key for one in queries.sets_of(session, app_id)]
    mine = (MessageVector.set_key.in_(sets), MessageVector.place.between(first, last))
    erased = {
        "words": _forget_words(session, app_id, conversation_key),
        "passages": rows_changed(session, delete(Passage).where(Passage.place.between(first, last))),
        "vectors": rows_changed(session, delete(MessageVector).where(*mine)) if sets else 0,
    }
    session.execute(delete(Unembedded).where(Unembedded.place.between(first, last)))
    session.execute(
        update(VectorSet).where(VectorSet.app_id == app_id).values(erasures=VectorSet.erasures + 1),
        execution_options={"synchronize_session": "fetch"},
    )
    return erased


def _forget_words(session: Session, app_id: str, conversation_key: int) -> int:
    standing = word_index.look(session, app_id)
    if standing.key is None or not standing.is_present:
        return 0
    removed, after = 0, -1
    while batch := queries.messages_of_conversation(session, conversation_key, after, _READ_AT_ONCE):
        texts = [(place, one.content) for place, one in with_places(batch)]
        removed += word_index.remove(session, standing.key, texts)
        after = batch[-1].position
    return removed


def forget_app(session: Session, app_id: str) -> dict[str, int]:
    """Take everything of a locked app out of the indexes; return what went, by index."""
    sets = [one.key for one in queries.sets_of(session, app_id)]
    words = word_index.count_of_app(session, app_id)
    word_index.remove_conversations_of(session, app_id)
    erased = {
        "words": words,
        "passages": rows_changed(session, delete(Passage).where(Passage.app_id == app_id)),
        "vectors": rows_changed(session, delete(MessageVector).where(MessageVector.set_key.in_(sets))) if sets else 0,
    }
    session.execute(delete(Unembedded).where(Unembedded.app_id == app_id))
    session.execute(delete(VectorSet).where(VectorSet.app_id == app_id))
    # Its key and salt: what tokens are left in the word index belong to nobody and mean nothing.
    session.execute(delete(AppIndex).where(AppIndex.app_id == app_id))
    return erased


def left_of_conversation(session: Session, app_id: str, conversation_key: int) -> dict[str, int]:
    """Count, index by index, what is left of a conversation."""
    first, last = places_of(conversation_key)
    return {
        "words": word_index.count_between(session, first, last),
        "passages": queries.count_passages(session, app_id, first, last),
        "vectors": queries.count_vectors_between(session, app_id, first, last),
    }


def left_of_app(session: Session, app_id: str) -> dict[str, int]:
    """Count, index by index, what is left of an app; words that nothing leads to any more are none."""
    has_key = queries.app_index(session, app_id) is not None
    return {
        "words": word_index.count_of_app(session, app_id) if has_key else 0,
        "passages": queries.count_passages(session, app_id),
        "vectors": sum(queries.count_vectors(session, one.key) for one in queries.sets_of(session, app_id)),
    }
