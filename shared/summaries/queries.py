"""Reads and writes of summaries, always of one conversation or of one app, and their wording.

What is summarised when is left to ``shared.conversations.summarising``, what is worth saying to the agents. A summary
is bullets, one clean line each, together no longer than the limit, and repeats no code. Source: seed 002.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Select, delete, func, or_, select, update
from sqlalchemy.orm import Session

from shared.base.ids import new_id
from shared.conversations.models import Conversation
from shared.db.queries import count, rows_changed
from shared.llm.calls import LAST_RESORT, estimate_tokens
from shared.summaries.models import Summary
from shared.text.lines import clean, shorten


def of_conversation(
    session: Session, conversation_key: int, limit: int | None = None, before: int | None = None
) -> Sequence[Summary]:
    """Return a conversation's summaries, newest first; ``before`` is the key to go on below."""
    query = select(Summary).where(Summary.conversation_key == conversation_key).order_by(Summary.key.desc())
    query = query if before is None else query.where(Summary.key < before)
    return session.scalars(query.limit(limit)).all()


def newest(session: Session, conversation_key: int) -> Summary | None:
    """Return a conversation's last summary, or None."""
    return next(iter(of_conversation(session, conversation_key, 1)), None)


def summaries_to_embed(session: Session, app_id: str, model: str, limit: int) -> dict[int, str]:
    """Return the texts of an app's summaries that have no vector by a model, by their keys, newest first."""
    lacks = or_(Summary.vector_model.is_(None), Summary.vector_model != model)
    query = select(Summary.key, Summary.content).where(Summary.app_id == app_id, lacks)
    rows = session.execute(query.order_by(Summary.key.desc()).limit(limit))
    return {key: content for key, content in rows}  # noqa: C416 - dict() takes a result for a mapping


def count_of_app(session: Session, app_id: str, conversations: Select[int] | None = None) -> int:
    query = select(func.count()).select_from(Summary).where(Summary.app_id == app_id)
    return count(session, query if conversations is None else query.where(Summary.conversation_key.in_(conversations)))


@dataclass(frozen=True)
class NewSummary:
    """What was made of a part of a conversation, from one position to another, both included."""

    content: str
    agent: str
    from_position: int
    to_position: int
    vector: bytes | None = None
    vector_model: str | None = None
    job_id: str | None = None


def insert_summary(session: Session, conversation: Conversation, new: NewSummary, now: datetime) -> Summary:
    """Keep a summary of a locked conversation."""
    summary = Summary(
        **vars(new),
        summary_id=new_id("sum", now),
        app_id=conversation.app_id,
        conversation_key=conversation.key,
        conversation_id=conversation.conversation_id,
        tokens=estimate_tokens(new.content),
        created_at=now,
    )
    session.add(summary)
    session.flush()
    return summary


def update_summary_vectors(session: Session, vectors: Mapping[int, bytes], model: str) -> None:
    """Give summaries their vectors; those that are gone by now stay gone."""
    for key, vector in vectors.items():
        session.execute(update(Summary).where(Summary.key == key).values(vector=vector, vector_model=model))


def forget_all(session: Session, app_id: str, conversations: Select[int] | None = None) -> dict[str, int]:
    """Remove all summaries of a locked app, or of some of its conversations.

    How far the conversations were summarised stays, so none comes back.
    """
    gone = delete(Summary).where(Summary.app_id == app_id)
    gone = gone if conversations is None else gone.where(Summary.conversation_key.in_(conversations))
    return {"summaries": rows_changed(session, gone)}


def left_of_app(session: Session, app_id: str, conversations: Select[int] | None = None) -> dict[str, int]:
    """Count what is left of the summaries of an app, or of some of its conversations."""
    return {"summaries": count_of_app(session, app_id, conversations)}


MOST_TOKENS = 200
MOST_CHARS = LAST_RESORT.chars_in(MOST_TOKENS)
_BULLET = "- "
_MARK = re.compile(r"^(?:[-*•–+]\s+|\d{1,2}[.)]\s+)+")
_FENCE = re.compile(r"(```|~~~)[^\n]*\n(.*?)(?:\1|\Z)", re.DOTALL)
_SHORTEST_CODE = 10
"""A shorter line (``end``, ``return``) is as likely prose, characters without white space."""


def written(points: Iterable[str], most_tokens: int = MOST_TOKENS) -> str:
    """Return points as bullets, each once, as many whole ones as fit; the first alone is cut to fit."""
    lines: list[str] = []
    for point in distinct(points):
        line = f"{_BULLET}{point}"
        if estimate_tokens("\n".join([*lines, line])) <= most_tokens:
            lines.append(line)
        elif not lines:
            lines.append(f"{_BULLET}{shorten(point, LAST_RESORT.chars_in(most_tokens) - len(_BULLET))}")
    return "\n".join(lines)


def distinct(points: Iterable[str]) -> list[str]:
    """Return points as clean lines without marks of their own, those that say something, each once."""
    found: dict[str, str] = {}
    for point in points:
        line = _MARK.sub("", clean(point))
        if any(character.isalnum() for character in line):
            found.setdefault(line.casefold().rstrip(" ."), line)
    return list(found.values())


def tokens_of(points: Iterable[str]) -> int:
    """Return how long points are when they are written whole."""
    return estimate_tokens("\n".join(f"{_BULLET}{point}" for point in distinct(points)))


def code_lines(texts: Iterable[str]) -> frozenset[str]:
    """Return the lines of fenced code in texts, without white space; short ones say nothing and are left out."""
    bodies = (match[2] for text in texts for match in _FENCE.finditer(text))
    lines = (_dense(line) for body in bodies for line in body.splitlines())
    return frozenset(line for line in lines if len(line) >= _SHORTEST_CODE)


def repeats_code(point: str, lines: Iterable[str]) -> bool:
    """Whether a point holds a whole line of code."""
    dense = _dense(point)
    return "```" in point or any(line in dense for line in lines)


def _dense(text: str) -> str:
    return "".join(text.split())
