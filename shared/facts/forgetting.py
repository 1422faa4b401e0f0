"""Facts that go for good, with what was said: all of an app's or a user's, a final clear's, and a conversation's words.

Of an erased conversation, what another said too, or a person wrote, stays; what stood before an erased contradiction
stands again: the mentions go, and what is left is folded. What else is erased with them, and the receipt, is left to
``shared.erasure``.
"""

from collections.abc import Collection, Sequence
from datetime import datetime

from sqlalchemy import delete, func, update
from sqlalchemy.orm import Session

from shared.base.audit import AGED, ERASED, Cause
from shared.base.subjects import NOBODY, Subject
from shared.conversations.models import Conversation
from shared.db.queries import rows_changed
from shared.facts import queries
from shared.facts.mentions import group_of, refold
from shared.facts.models import Fact, FactChange, FactClear, FactMention
from shared.facts.queries import FoldScope
from shared.facts.retention import empty


def forget_all(session: Session, app_id: str, user_id: str | None = None) -> dict[str, int]:
    """Remove all facts of a locked app, or of one of its users, and their clear-alls; return how much of what."""
    erased = _forget_facts(session, app_id, user_id)
    # After the facts, which point at them.
    clears = delete(FactClear).where(FactClear.app_id == app_id)
    session.execute(clears if user_id is None else clears.where(FactClear.user_id == user_id))
    return erased


def _forget_facts(session: Session, app_id: str, user_id: str | None) -> dict[str, int]:
    """Remove facts in whatever state, with the text of their history."""
    mine = queries.within(Fact, app_id, user_id)
    mentions = delete(FactMention).where(*queries.within(FactMention, app_id, user_id))
    history = update(FactChange).where(*queries.within(FactChange, app_id, user_id))
    sources = queries.count_sources(session, app_id, user_id)
    session.execute(mentions)
    return {
        "factSources": sources,
        "facts": rows_changed(session, delete(Fact).where(*mine)),
        "factHistory": rows_changed(session, history.values(before=None, after=None, reason=ERASED, source_keys=[])),
    }


def forget_old_texts(session: Session, before: datetime, after: int, limit: int) -> tuple[int, int | None]:
    """Empty the history, older than that, of facts that are gone; looks at ``limit`` changes above ``after``.

    Return how many were emptied, and the change to go on above; None when there are no more.
    """
    looked_at = queries.changes_before(session, before, after, limit)
    old = [change_id for change_id, may_go in looked_at.items() if may_go]
    if old:
        emptied = update(FactChange).where(FactChange.change_id.in_(old))
        session.execute(emptied.values(before=None, after=None, reason=AGED, source_keys=[]))
    return len(old), max(looked_at) if len(looked_at) == limit else None


def detach_user(session: Session, subject: Subject) -> None:
    """Let what is left of a subject's facts forget whose they were."""
    theirs = queries.within(FactChange, subject.app_id, subject.user_id)
    session.execute(update(FactChange).where(*theirs).values(user_id=NOBODY))


def forget_conversation(session: Session, app_id: str, conversation_key: int, cause: Cause) -> dict[str, int]:
    """Take a conversation's words out of every fact of a locked app and their history; return how much of what."""
    touched = {fact.fact_id: fact for fact in queries.facts_mentioned_in(session, conversation_key)}
    derived = [one for one in queries.changes_with_text(session, app_id) if conversation_key in one.source_keys]
    history, gone = empty(derived), 0
    for subject in sorted({fact.subject for fact in touched.values()}, key=lambda one: one.user_id):
        for scope in queries.fold_scopes(session, subject):
            mine = {fact.fact_id for fact in scope.facts} & touched.keys()
            if mine:
                gone += _forget_mentions(session, scope, mine, conversation_key, cause)
    return {"facts": gone, "factSources": len(touched), "factHistory": history}


def _forget_mentions(
    session: Session, scope: FoldScope, touched: Collection[int], conversation_key: int, cause: Cause
) -> int:
    """Take a conversation's mentions out of facts of one scope; return how many facts nobody mentions any more."""
    # What the mentions linked is looked up while they are there: it may come apart without them.
    group = group_of(session, scope, touched)
    left = 0
    for fact_id in touched:
        mentions = queries.mentions_of(session, [fact_id])
        remain = [one for one in mentions if one.conversation_key != conversation_key]
        left += bool(remain)
        for one in mentions:
            if one not in remain:
                session.delete(one)
            elif not any(other.by_hand for other in remain):
                # Words that a hand gave to what a conversation said may quote it; not those that it said itself.
                one.edits = []
    session.flush()
    refold(session, scope, group, cause)
    return len(touched) - left


def make_final(session: Session, clear: FactClear, now: datetime) -> dict[str, int]:
    """Erase what a clear deleted, and let nothing said before it become a fact; return how much of what.

    The app is locked, and so are its conversations.
    """
    erased = _forget_facts(session, clear.app_id, clear.user_id)
    # Move the pointers of the app's conversations up to what was said when it was cleared.
    seen = queries.said_until(clear.last_message_key)
    mine = [Conversation.app_id == clear.app_id]
    if clear.user_id is not None:
        mine.append(func.coalesce(Conversation.user_id, NOBODY) == clear.user_id)
    session.execute(update(Conversation).where(*mine, Conversation.facts_seen < seen).values(facts_seen=seen))
    all_seen = Conversation.facts_seen >= Conversation.message_count
    session.execute(update(Conversation).where(*mine, all_seen).values(facts_due_at=None))
    for one in settled_with(session, clear):
        one.settled_at = now
    session.flush()
    return erased


def settled_with(session: Session, clear: FactClear) -> Sequence[FactClear]:
    """Return the open clears that can no longer be taken back once one is final: with the app's, those of its users."""
    return [clear] if clear.user_id is not None else queries.open_clears(session, clear.app_id)


def left_of_app(session: Session, app_id: str, user_id: str | None = None) -> dict[str, int]:
    """Count, store by store, what is left of the facts of an app, or of one of its users."""
    session.flush()
    return {
        "facts": queries.count_facts(session, app_id, user_id),
        "factSources": queries.count_sources(session, app_id, user_id),
        "factHistory": queries.count_changes_with_text(session, app_id, user_id),
    }


def left_of_conversation(session: Session, app_id: str, conversation_key: int) -> dict[str, int]:
    """Count, store by store, what is left of one conversation's words in an app's facts."""
    session.flush()
    return queries.count_derived(session, app_id, conversation_key)
