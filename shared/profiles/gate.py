"""The only way to a profile for whoever composes contexts, searches or embeds: none without its user's consent.

Who granted, revoked, wrote, erased, used or was refused a profile is noted in the audit, without any text. Giving and
withdrawing consent, and writing a profile, are left to ``consent``.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import update
from sqlalchemy.orm import Session

from shared.apps.queries import hold_off_erasure
from shared.contracts.values import EventKind
from shared.db.engine import Database
from shared.events.recording import record
from shared.profiles import queries
from shared.profiles.models import ONLY_USER, AuditEntry, AuditKind, Profile, content_of, lines_of
from shared.profiles.queries import line_since
from shared.telemetry.metrics import Metrics

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
    consent = queries.consent_of(session, app_id, user_of(user_id))
    return consent is not None and consent.given


def has_answered(session: Session, app_id: str, user_id: str | None) -> bool:
    """Whether a user ever said that they agree, or that they do not any more."""
    return queries.has_consent(session, app_id, user_of(user_id))


def profile_of(session: Session, app_id: str, user_id: str | None) -> Profile | None:
    """Return a user's profile; None without one, and without their consent."""
    return queries.agreed_profile(session, app_id, user_of(user_id))


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
        # The profile is looked up by the consent as well: that may be withdrawn between these two.
        shown = GateDecision(agrees(session, app_id, user_id), profile_of(session, app_id, user_id))
    if shown.consent and shown.profile is None:
        return shown
    kind = AuditKind.USED if shown.profile is not None else AuditKind.WITHHELD
    with database.write() as session:
        # An erasure of the user either takes this line along, or has ended before it is written.
        hold_off_erasure(session, app_id, user_id)
        write_audit(session, app_id, user_of(user_id), kind, actor, now)
    metrics.profile_gate.labels(kind.value).inc()
    return shown


def profiles_to_embed(session: Session, app_id: str, model: str, limit: int) -> dict[ProfileVersion, str]:
    """Return the texts of an app's profiles that have no vector by a model."""
    found = queries.unembedded(session, app_id, model, limit)
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
        # Counted by the database, as two contexts may be composed at once.
        again = update(AuditEntry).where(AuditEntry.key == known)
        session.execute(again.values(count=AuditEntry.count + 1, last_at=now))
