"""Reads of profiles, consents and the audit. Outside this package a profile is had only through ``gate``."""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import ColumnElement, and_, bindparam, func, or_, select
from sqlalchemy.orm import Session

from shared.db.queries import count
from shared.profiles.models import AuditEntry, Consent, Profile

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
    query = select(Profile).join(Consent, _AGREES).where(Profile.app_id == app_id, Profile.user_id == user_id)
    # As the database has it now: consent may be withdrawn while this session knows the row.
    return session.scalar(query, execution_options={"populate_existing": True})


def agreed_profiles(session: Session, app_id: str) -> Sequence[tuple[Profile, Consent]]:
    """Return an app's profiles, each with the consent it stands on."""
    query = select(Profile, Consent).join(Consent, _AGREES).where(Profile.app_id == app_id)
    return [(profile, consent) for profile, consent in session.execute(query.order_by(Profile.user_id))]


def unembedded(session: Session, app_id: str, model: str, limit: int) -> Sequence[Profile]:
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
    return count(session, select(func.count()).select_from(table).where(*is_of(table, app_id, user_id)))
