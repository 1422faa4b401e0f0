"""Consent, and what it guards: given, withdrawn, a profile written under it, imported with it, and forgotten again.

The caller has locked the app in every function that writes, so that no profile is written while its consent is
withdrawn. What else a withdrawal erases, and its receipt, are left to ``shared.erasure``.
"""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import delete
from sqlalchemy.orm import Session

from shared.base.errors import Conflict, Operation
from shared.db.queries import rows_changed
from shared.profiles import queries
from shared.profiles.gate import agrees, write_audit
from shared.profiles.models import AuditKind, Consent, Content, Profile, lines_of
from shared.text.gate import refuse_secret


def grant(session: Session, app_id: str, user_id: str, actor: str, now: datetime) -> Consent:
    """Let a user agree to having a profile, which begins empty; again, do nothing."""
    consent = queries.consent_of(session, app_id, user_id)
    if consent is not None and consent.given:
        return consent
    return _set(session, consent, app_id, user_id, True, actor, now)


def withdraw(session: Session, app_id: str, user_id: str, actor: str, now: datetime) -> None:
    """Take a user's consent back, and erase what it guarded."""
    _set(session, queries.consent_of(session, app_id, user_id), app_id, user_id, False, actor, now)


def write(session: Session, app_id: str, user_id: str, content: Content, actor: str, now: datetime) -> Profile:
    """Put content in the place of a user's profile. Raises: Conflict, without their consent; Invalid, for a secret."""
    for line in lines_of(content):
        refuse_secret(line, f"{line.partition(':')[0]}: it")
    if not agrees(session, app_id, user_id):
        raise Conflict(
            "This user has not agreed to having a profile. Ask them, then {operation}.",
            code="consent_missing",
            operation=Operation("changeConsent", {"appId": app_id, "userId": user_id, "consent": True}),
        )
    profile = queries.agreed_profile(session, app_id, user_id)
    if profile is None:
        profile = Profile(app_id=app_id, user_id=user_id, version=0, created_at=now)
        session.add(profile)
    profile.fields, profile.notes = content.fields, content.freeform_notes
    profile.version, profile.updated_at = profile.version + 1, now
    # They are of the former words.
    profile.vector = profile.vector_model = None
    session.flush()
    write_audit(session, app_id, user_id, AuditKind.WRITTEN, actor, now)
    return profile


def forget_profile(session: Session, app_id: str, user_id: str) -> dict[str, int]:
    """Remove a user's profile with its vector."""
    mine = (Profile.app_id == app_id, Profile.user_id == user_id)
    return {"profiles": rows_changed(session, delete(Profile).where(*mine))}


def forget_all(session: Session, app_id: str, user_id: str | None = None) -> dict[str, int]:
    """Remove all profiles and consents of an app, or one user's, and their audit."""
    return {
        store: rows_changed(session, delete(table).where(*queries.is_of(table, app_id, user_id)))
        for store, table in queries.STORES.items()
    }


def left_of_profile(session: Session, app_id: str, user_id: str) -> dict[str, int]:
    """Count what is left of a user's profile."""
    session.flush()
    return {"profiles": queries.count_rows(session, Profile, app_id, user_id)}


def left_of_app(session: Session, app_id: str, user_id: str | None = None) -> dict[str, int]:
    """Count, store by store, what is left of the profiles of an app, or of one of its users."""
    return {store: queries.count_rows(session, table, app_id, user_id) for store, table in queries.STORES.items()}


def _set(
    session: Session, consent: Consent | None, app_id: str, user_id: str, given: bool, actor: str, now: datetime
) -> Consent:
    if consent is None:
        consent = Consent(app_id=app_id, user_id=user_id)
        session.add(consent)
    consent.given, consent.changed_at, consent.changed_by = given, now, actor
    session.flush()
    write_audit(session, app_id, user_id, AuditKind.GRANTED if given else AuditKind.REVOKED, actor, now)
    return consent


def profiles_to_export(session: Session, app_id: str) -> Sequence[tuple[Profile, Consent]]:
    """Return an app's profiles, as far as their users agree, each with the consent it stands on."""
    return queries.agreed_profiles(session, app_id)


def import_profile(
    session: Session, app_id: str, user_id: str, content: Content, agreed_at: datetime, actor: str, now: datetime
) -> Profile | None:
    """Put a profile into a locked app; None where its user has one there, or withdrew consent."""
    present = queries.consent_of(session, app_id, user_id)
    if present is not None and not present.given:
        return None
    if queries.agreed_profile(session, app_id, user_id) is not None:
        return None
    consent = grant(session, app_id, user_id, actor, now)
    # They agreed where it was exported, and not today; a date ahead of our clock counts as now.
    if present is None:
        consent.changed_at = min(agreed_at, now)
    return write(session, app_id, user_id, content, actor, now)
