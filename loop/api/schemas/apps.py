"""Apps and their tokens."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from pydantic import Field

from loop.api.schemas.wire import Answer, AppId, Body, Flag, Units
from shared.apps.models import AnsweredBy, App, Token
from shared.contracts.values import JsonObject
from shared.energy.budget import to_units

Name = Annotated[str, Field(min_length=1, max_length=200, examples=["Chat"])]
Weight = Annotated[int, Field(strict=True, ge=1, le=100, description="The app's share of the work beside other apps'.")]
_ANSWERED_BY = "Who answers its conversations: the loop, when a model is set, or the app itself."
_SHARED = "Whether what names no user (memories, facts, old messages) is recalled for every user of the app."
_APPROVE = "Whether a person approves each answer of the loop's before it is sent."


class InstallApp(Body):
    """Installs an app."""

    app_id: AppId
    name: Name
    config: JsonObject = Field(default_factory=dict)
    answered_by: AnsweredBy | None = Field(None, description=_ANSWERED_BY)
    approve_answers: Flag | None = Field(None, description=_APPROVE)
    weight: Weight | None = None
    shared_memory: Flag | None = Field(None, description=_SHARED)


class ChangeApp(Body):
    """Changes an app; what is left out stays. A budget of null is none."""

    name: Name | None = None
    config: JsonObject | None = None
    hourly_budget: Units | None = None
    daily_budget: Units | None = None
    answered_by: AnsweredBy | None = Field(None, description=_ANSWERED_BY)
    approve_answers: Flag | None = Field(None, description=_APPROVE)
    weight: Weight | None = None
    shared_memory: Flag | None = Field(None, description=_SHARED)

    def sets(self, field: str) -> bool:
        """Whether the client sent this field, be it null."""
        return field in self.model_fields_set


class AppAnswer(Answer):
    """An app."""

    app_id: str
    name: str
    config: dict[str, Any]
    installed: bool
    answered_by: AnsweredBy = Field(description=_ANSWERED_BY)
    approve_answers: bool = Field(description=_APPROVE)
    weight: int = Field(description="The app's share of the work beside other apps'.")
    shared_memory: bool = Field(description=_SHARED)
    hourly_budget: float | None = Field(description="Units an app may spend in any 60 minutes.")
    daily_budget: float | None = Field(description="Units an app may spend in any 24 hours.")
    created_at: datetime
    updated_at: datetime
    uninstalled_at: datetime | None

    @classmethod
    def of(cls, app: App) -> AppAnswer:
        """Return an app as it goes over the wire."""
        return cls(**_fields(app))


class AppDetails(AppAnswer):
    """An app and how much it holds."""

    memories: int
    open_conversations: int
    ended_conversations: int

    @classmethod
    def counted(cls, app: App, memories: int, conversations: tuple[int, int]) -> AppDetails:
        """Return an app with its counts; ``conversations`` is (open, ended)."""
        is_open, ended = conversations
        return cls(**_fields(app), memories=memories, open_conversations=is_open, ended_conversations=ended)


def _fields(app: App) -> dict[str, object]:
    return {
        "app_id": app.app_id,
        "name": app.name,
        "config": app.config,
        "installed": app.uninstalled_at is None,
        "answered_by": AnsweredBy(app.answered_by),
        "approve_answers": app.approves_answers,
        "weight": app.weight,
        "shared_memory": app.shared_memory,
        "hourly_budget": units_or_none(app.hourly_budget_micro),
        "daily_budget": units_or_none(app.daily_budget_micro),
        "created_at": app.created_at,
        "updated_at": app.updated_at,
        "uninstalled_at": app.uninstalled_at,
    }


def units_or_none(micro: int | None) -> float | None:
    """Return a budget in units."""
    return None if micro is None else to_units(micro)


class AppList(Answer):
    """Apps by id."""

    apps: list[AppAnswer]
    cursor: str | None


class IssueToken(Body):
    """Asks for a token."""

    label: Annotated[str, Field(max_length=200)] = ""


class TokenAnswer(Answer):
    """A token, without the token itself."""

    token_id: str
    app_id: str
    label: str
    created_at: datetime
    revoked_at: datetime | None

    @classmethod
    def of(cls, token: Token) -> TokenAnswer:
        """Return a token as it goes over the wire."""
        return cls(
            token_id=token.token_id,
            app_id=token.app_id or "",
            label=token.label,
            created_at=token.created_at,
            revoked_at=token.revoked_at,
        )


class IssuedToken(TokenAnswer):
    """A new token; its text is shown this once and kept nowhere."""

    token: str | None = Field(description="The token; null when this answer is a repetition under an Idempotency-Key.")


class TokenList(Answer):
    """An app's tokens, oldest first."""

    tokens: list[TokenAnswer]
    cursor: str | None
