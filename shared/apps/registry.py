"""Installing, changing and uninstalling apps. Memories outlive an uninstalled app unless they are purged."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import update
from sqlalchemy.orm import Session

from shared.apps import queries
from shared.apps.models import AnsweredBy, App, Token, UserSettings
from shared.errors import Conflict


@dataclass(frozen=True)
class AppChange:
    """What to change; None leaves it."""

    name: str | None = None
    config: dict[str, Any] | None = None
    answered_by: AnsweredBy | None = None
    approves_answers: bool | None = None
    weight: int | None = None
    shared_memory: bool | None = None


def install(session: Session, app_id: str, name: str, config: dict[str, Any], now: datetime) -> App:
    """Install an app, or one that was uninstalled again, with what it remembered. Raises: Conflict."""
    # Without its key, as in ``lock_app``: who tells an event of the app may hold a conversation of it.
    app = session.get(App, app_id, with_for_update={"key_share": True})
    if app is None:
        app = App(app_id=app_id, name=name, config=config, purge_epoch=0, created_at=now, updated_at=now)
        session.add(app)
        session.flush()
        return app
    if app.uninstalled_at is None:
        raise Conflict(f"App {app_id} is already installed", code="already_installed", details={"appId": app_id})
    app.name, app.config, app.updated_at, app.uninstalled_at = name, config, now, None
    return app


def change(session: Session, app_id: str, wanted: AppChange, now: datetime) -> App:
    """Change an installed app. Raises: NotFound, Conflict."""
    queries.lock_app(session, app_id)
    app = queries.get_installed_app(session, app_id)
    for field, value in vars(wanted).items():
        if value is not None:
            setattr(app, field, value)
    app.updated_at = now
    return app


def set_time_zone(session: Session, app_id: str, user_id: str, time_zone: str | None) -> None:
    """Set where a user of a locked app lives; None takes it back."""
    present = session.get(UserSettings, (app_id, user_id))
    if present is not None and time_zone is None:
        session.delete(present)
    elif present is not None:
        present.time_zone = time_zone
    elif time_zone is not None:
        session.add(UserSettings(app_id=app_id, user_id=user_id, time_zone=time_zone))
    session.flush()


def uninstall(session: Session, app_id: str, now: datetime) -> App:
    """Uninstall an app and revoke its tokens; what it remembers stays. Raises: NotFound, Conflict."""
    app = queries.lock_app(session, app_id)
    queries.get_installed_app(session, app_id)
    app.uninstalled_at = app.updated_at = now
    session.execute(update(Token).where(Token.app_id == app_id, Token.revoked_at.is_(None)).values(revoked_at=now))
    return app
