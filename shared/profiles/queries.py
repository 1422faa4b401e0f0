"""Reads of profiles, consents and the audit. Outside this package a profile is had only through ``gate``.

The only way to a profile for whoever composes contexts, searches or embeds: none without its user's consent.

Who granted, revoked, wrote, erased, used or was refused a profile is noted in the audit, without any text. Giving and
withdrawing consent, and writing a profile, are left to ``consent``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, and_, bindparam, func, or_, select, update
from sqlalchemy.orm import Session

from shared.apps.queries import hold_off_erasure
from shared.contracts.values import EventKind
from shared.db.engine import Database
from shared.db.queries import count
from shared.events.recording import record
from shared.profiles.models import ONLY_USER, AuditEntry, AuditKind, Consent, Profile, content_of, lines_of
from shared.telemetry.metrics import Metrics

Table = type[Profile] | type[Consent] | type[AuditEntry]
STORES: dict[str, Table] = {"profiles": Profile, "consents": Consent, "profileAudit": AuditEntry}
"""What is kept of users, as receipts name it."""
_AGREES = and_(Consent.app_id == Profile.app_id, Consent.user_id == Profile.user_id, Consent.given)


def consent_of(session: Session, app_id: str, user_id: str) -> Consent | None:
    """Return what a user said about having a profile, or None."""
    return session.get(Consent, (app_id, user_id), populate_existing=True)


# Written once: every context asks, and building a statement takes longer than this one takes to run.
_HAS_CONSENT = select(Consent.user_id).where(
    Consent.app_id == bindparam("app_id"), Consent.user_id == bindparam("user_id")
)


def has_consent(session: Session, app_id: str, user_id: str) -> bool:
    """Whether a user ever said anything about having a profile."""
    return session.connection().execute(_HAS_CONSENT, {"app_id": app_id, "user_id": user_id}).first() is not None


def agreed_profile(session: Session, app_id: str, user_id: str) -> Profile | None:
    """Return the profile of a user who agrees to having one."""
    query = select(Profile).join(Consent, _AGREES).where(Profile.app_id == app_id, Profile.user_id == user_id)
    return session.scalar(query, execution_options={"populate_existing": True})


def agreed_profiles(session: Session, app_id: str) -> Sequence[tuple[Profile, Consent]]:
    """Return an app's profiles, each with the consent it stands on."""
    query = select(Profile, Consent).join(Consent, _AGREES).where(Profile.app_id == app_id)
    return [(profile, consent) for profile, consent in session.execute(query.order_by(Profile.user_id))]


def unembedded(session: Session, app_id: str, model: str, limit: int) -> Sequence[Profile]:
    """Return an app's profiles that have no vector by a model."""
    lacks = or_(Profile.vector_model.is_(None), Profile.vector_model != model)
    query = select(Profile).join(Consent, _AGREES).where(Profile.app_id == app_id, lacks)
    return session.scalars(query.order_by(Profile.user_id).limit(limit)).all()


def audit_of(
    session: Session, app_id: str, user_id: str | None, limit: int, before: int | None = None
) -> Sequence[AuditEntry]:
    """Return the lines of an app's audit, or of one user's, newest first; ``before`` is the key to go on below."""
    query = select(AuditEntry).where(AuditEntry.app_id == app_id).order_by(AuditEntry.key.desc()).limit(limit)
    query = query if user_id is None else query.where(AuditEntry.user_id == user_id)
    return session.scalars(query if before is None else query.where(AuditEntry.key < before)).all()


def line_since(
    session: Session, app_id: str, user_id: str, kind: str, actor: str, since: datetime, until: datetime
) -> int | None:
    """Return the key of the last line of a kind and an actor that was begun after ``since``, by ``until``."""
    mine = (AuditEntry.app_id == app_id, AuditEntry.user_id == user_id)
    same = (AuditEntry.kind == kind, AuditEntry.actor == actor, AuditEntry.at > since, AuditEntry.at <= until)
    return session.scalar(select(AuditEntry.key).where(*mine, *same).order_by(AuditEntry.key.desc()).limit(1))


def is_of(table: Table, app_id: str, user_id: str | None = None) -> list[ColumnElement[bool]]:
    """Say of many rows that they are an app's, or one of its users'."""
    mine = [table.app_id == app_id]
    return mine if user_id is None else [*mine, table.user_id == user_id]


def count_rows(session: Session, table: Table, app_id: str, user_id: str | None = None) -> int:
    """Return how many profiles, consents or lines of the audit an app has, or one of its users."""
    return count(session, select(func.count()).select_from(table).where(*is_of(table, app_id, user_id)))


ProfileVersion = tuple[str, int, datetime]
"""A user of an app, and which version of their profile, from when: a new one begins to count anew."""


@dataclass(frozen=True)
class GateDecision:
    """What came of asking for a profile."""

    consent: bool
    profile: Profile | None


def user_of(user_id: str | None) -> str:
    """Return a user as profiles name them; of an app that names none there is one."""
    return user_id or ONLY_USER


def agrees(session: Session, app_id: str, user_id: str | None) -> bool:
    """Whether a user agrees to having a profile; without a word from them, they do not."""
    consent = consent_of(session, app_id, user_of(user_id))
    return consent is not None and consent.given


def has_answered(session: Session, app_id: str, user_id: str | None) -> bool:
    """Whether a user ever said that they agree, or that they do not any more."""
    return has_consent(session, app_id, user_of(user_id))


def profile_of(session: Session, app_id: str, user_id: str | None) -> Profile | None:
    """Return a user's profile; None without one, and without their consent."""
    return agreed_profile(session, app_id, user_of(user_id))


def text_of(profile: Profile) -> str:
    """Return what a profile says, one short line for each field."""
    return "\n".join(lines_of(content_of(profile.fields, profile.notes)))


def ask_for(
    database: Database, app_id: str, user_id: str | None, actor: str, now: datetime, metrics: Metrics
) -> GateDecision:
    """Return a user's profile for use, and put into audit and figures that it was used, or withheld.

    With consent but no profile there is nothing to use, and nothing is written. Call it outside of any transaction.
    """
    with database.read() as session:
        shown = GateDecision(agrees(session, app_id, user_id), profile_of(session, app_id, user_id))
    if shown.consent and shown.profile is None:
        return shown
    kind = AuditKind.USED if shown.profile is not None else AuditKind.WITHHELD
    with database.write() as session:
        hold_off_erasure(session, app_id, user_id)
        write_audit(session, app_id, user_of(user_id), kind, actor, now)
    metrics.profile_gate.labels(kind.value).inc()
    return shown


def profiles_to_embed(session: Session, app_id: str, model: str, limit: int) -> dict[ProfileVersion, str]:
    """Return the texts of an app's profiles that have no vector by a model."""
    found = unembedded(session, app_id, model, limit)
    texts = {(one.user_id, one.version, one.updated_at): text_of(one) for one in found}
    return {version: text for version, text in texts.items() if text}


def update_profile_vectors(session: Session, app_id: str, vectors: Mapping[ProfileVersion, bytes], model: str) -> None:
    """Give profiles their vectors, unless they were changed or erased since they were read."""
    for (user_id, version, at), vector in vectors.items():
        mine = (Profile.app_id == app_id, Profile.user_id == user_id)
        same = (Profile.version == version, Profile.updated_at == at)
        session.execute(update(Profile).where(*mine, *same).values(vector=vector, vector_model=model))


GATHERED = timedelta(hours=1)
"""Uses by one actor within so long are one line with a count."""
_REPEATED = (AuditKind.USED, AuditKind.WITHHELD)


def write_audit(session: Session, app_id: str, user_id: str, kind: AuditKind, actor: str, now: datetime) -> None:
    """Write down what happened; the same use again within an hour is counted on the line of the first."""
    known = line_since(session, app_id, user_id, kind, actor, now - GATHERED, now) if kind in _REPEATED else None
    if known is None:
        line = AuditEntry(app_id=app_id, user_id=user_id, kind=kind, actor=actor, count=1, at=now, last_at=now)
        session.add(line)
        session.flush()
        if kind not in _REPEATED:
            # Without whose, as an event outlives the user's erasure.
            record(session, EventKind.PROFILE_CHANGED, app_id, now, change=kind.value)
    else:
        again = update(AuditEntry).where(AuditEntry.key == known)
        session.execute(again.values(count=AuditEntry.count + 1, last_at=now))
