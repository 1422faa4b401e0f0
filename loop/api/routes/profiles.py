"""Profiles of an app's users, the consent they stand on, and the audit of what became of them."""

from __future__ import annotations

from datetime import datetime
from functools import partial
from typing import Annotated, Literal

import orjson
from fastapi import APIRouter, Depends, Query, Request, Response
from pydantic import Field
from sqlalchemy.orm import Session

from loop.api import erasures
from loop.api.dependencies import AppInPath, PageOf50, Reads, Writes, as_write
from loop.api.erasures import Erased, Receipt
from loop.api.errors import opens_only
from loop.api.policy import OF_APP, OF_APP_IN_QUERY, OF_TOKEN, Whose, policy, under
from loop.api.schema import APP_ID_PATTERN, AppId, Flag, RequestModel, ResponseModel
from loop.api.writes import WriteResult
from shared.apps.models import Scope
from shared.apps.queries import get_app, get_installed_app, lock_app
from shared.contracts.values import UserId, UserOrNobody
from shared.erasure.erasing import erase_profile, withdraw_consent
from shared.profiles import consent
from shared.profiles.gate import agrees, profile_of
from shared.profiles.models import AuditKind, Consent, Content, Context, Preferences, content_of
from shared.profiles.queries import audit_of, consent_of

ProfileOwner = Annotated[
    UserId | Literal[""], Field(description="A user of the app; empty for an app that names none.")
]


class ProfileItem(Content):
    """What a user agreed to have kept."""

    version: int
    created_at: datetime
    updated_at: datetime


class ProfileAnswer(ResponseModel):
    """A user's profile, if they agree to having one."""

    app_id: str
    user_id: str
    consent: bool
    profile: ProfileItem | None = Field(description="null without consent, and before anything was written.")


class WriteProfile(RequestModel):
    """What a profile is to say; it takes the place of all that it said."""

    preferences: Preferences = Preferences()
    context: Context = Context()
    freeform_notes: str = Field("", max_length=10_000)

    @property
    def content(self) -> Content:
        return Content(preferences=self.preferences, context=self.context, freeform_notes=self.freeform_notes)


class ChangeConsent(RequestModel):
    """Whether a user agrees to having a profile."""

    app_id: AppId
    user_id: ProfileOwner = ""
    consent: Flag


class ConsentAnswer(ResponseModel):
    """Whether a user agrees to having a profile."""

    app_id: str
    user_id: str
    consent: bool
    changed_at: datetime | None = Field(None, description="null where the user never said.")
    changed_by: str | None = None
    receipt: Receipt | None = Field(None, description="What was erased when the consent was taken back.")
    note: str | None = Field(None, description="What is left to do, where something is.")

    @classmethod
    def of(cls, app_id: str, user_id: str, consent: Consent | None) -> ConsentAnswer:
        if consent is None:
            return cls(app_id=app_id, user_id=user_id, consent=False)
        at, by = consent.changed_at, consent.changed_by
        return cls(app_id=app_id, user_id=user_id, consent=consent.given, changed_at=at, changed_by=by)


class AuditLine(ResponseModel):
    """Something that happened at the gate; it holds no text of a profile."""

    user_id: str
    kind: AuditKind
    actor: str
    count: int = Field(description="How often; the same use by the same caller within an hour is one line.")
    at: datetime
    last_at: datetime


class AuditList(ResponseModel):
    """Lines of the audit, newest first."""

    audit: list[AuditLine]
    cursor: str | None


router = APIRouter(tags=["Profiles"], route_class=under(OF_APP))
_OF_USER = "A user of the app; leave it out for an app that names none."
UserInQuery = Annotated[UserOrNobody, Query(alias="userId", description=_OF_USER)]


async def _only_their_own(request: Request) -> None:
    """Let an app's token through for its own app alone. The guard leaves it to us: the app is not in the path."""
    caller = request.state.caller
    if caller.scope is Scope.ADMIN:
        return
    # The request keeps its body, so that the route can read it once more.
    named = request.query_params.get("appId") if request.method == "GET" else _named(await request.body())
    if caller.app_id is None or named != caller.app_id:
        raise opens_only(caller.app_id)


def _named(body: bytes) -> object:
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError:
        return None
    return value.get("appId") if isinstance(value, dict) else None


@router.get("/api/memory/consent", summary="Show a consent", dependencies=[Depends(_only_their_own)])
@policy(OF_APP_IN_QUERY, whose=Whose.IN_QUERY)
def show_consent(
    ctx: Reads, app_id: Annotated[str, Query(alias="appId", pattern=APP_ID_PATTERN)], user_id: UserInQuery = ""
) -> ConsentAnswer:
    """Show whether a user agrees to having a profile."""
    with ctx.read() as session:
        get_app(session, app_id)
        return ConsentAnswer.of(app_id, user_id, consent_of(session, app_id, user_id))


@router.put(
    "/api/memory/consent",
    response_model=ConsentAnswer,
    summary="Give or take back a consent",
    dependencies=[Depends(_only_their_own)],
)
@policy(OF_TOKEN, whose=Whose.BY_ROUTE)
def change_consent(ctx: Writes, body: ChangeConsent) -> Response:
    """Say whether a user agrees to having a profile. Taking consent back erases the profile at once."""
    app_id, user_id = body.app_id, ctx.user_meant(body.user_id) or ""

    def give(session: Session) -> WriteResult:
        lock_app(session, app_id)
        get_installed_app(session, app_id)
        given = consent.grant(session, app_id, user_id, ctx.caller.name, ctx.now())
        return WriteResult(ConsentAnswer.of(app_id, user_id, given), about=app_id)

    def take_back(session: Session) -> WriteResult:
        erasure = withdraw_consent(session, app_id, user_id, ctx.caller.name, ctx.now())
        consent = ConsentAnswer.of(app_id, user_id, consent_of(session, app_id, user_id))
        if erasure is None:
            return WriteResult(consent, about=app_id)
        erasures.open_receipt(session, erasure)

        def completed() -> ConsentAnswer:
            done = erasures.complete(ctx, erasure)
            return consent.model_copy(update={"receipt": Receipt.model_validate(done), "note": erasures.note_on(done)})

        return WriteResult(consent.model_copy(update={"receipt": Receipt.model_validate(erasure)}), then=completed)

    return ctx.write(give if body.consent else take_back)


@router.get("/apps/{appId}/profile", summary="Show a profile")
@policy(OF_APP, whose=Whose.IN_QUERY)
def show_profile(ctx: Reads, app_id: AppInPath, user_id: UserInQuery = "") -> ProfileAnswer:
    """Show a user's profile; without their consent there is none."""
    with ctx.read() as session:
        get_app(session, app_id)
        return _shown(session, app_id, user_id)


@router.put("/apps/{appId}/profile", response_model=ProfileAnswer, summary="Write a profile")
@policy(OF_APP, whose=Whose.IN_QUERY)
@as_write
def write_profile(
    ctx: Writes, session: Session, app_id: AppInPath, body: WriteProfile, user_id: UserInQuery = ""
) -> WriteResult:
    """Write a user's profile in the place of what it said. Without their consent that is refused."""
    lock_app(session, app_id)
    get_installed_app(session, app_id)
    consent.write(session, app_id, user_id, body.content, ctx.caller.name, ctx.now())
    return WriteResult(_shown(session, app_id, user_id), about=app_id)


@router.delete("/apps/{appId}/profile", response_model=Erased, operation_id="eraseProfile", summary="Erase a profile")
@policy(OF_APP, whose=Whose.IN_QUERY)
@as_write
def erase_one_profile(ctx: Writes, session: Session, app_id: AppInPath, user_id: UserInQuery = "") -> WriteResult:
    """Erase a user's profile; their consent stays as it is."""
    return erasures.erased(ctx, session, erase_profile(session, app_id, user_id, ctx.caller.name, ctx.now()))


@router.get("/apps/{appId}/profile/audit", summary="Show what became of profiles")
@policy(OF_APP, whose=Whose.IN_QUERY)
def list_profile_changes(
    ctx: Reads,
    page: PageOf50,
    app_id: AppInPath,
    user_id: Annotated[UserOrNobody | None, Query(alias="userId", description="Only of this user.")] = None,
) -> AuditList:
    """List who agreed, wrote, used, was refused and erased, newest first."""
    with ctx.read() as session:
        get_app(session, app_id)
        rows, following = page.numbered("profile-audit", partial(audit_of, session, app_id, user_id))
        return AuditList(audit=[AuditLine.model_validate(one) for one in rows], cursor=following)


def _shown(session: Session, app_id: str, user_id: str) -> ProfileAnswer:
    profile, item = profile_of(session, app_id, user_id), None
    if profile is not None:
        made = {name: getattr(profile, name) for name in ("version", "created_at", "updated_at")}
        item = ProfileItem.model_validate(dict(content_of(profile.fields, profile.notes)) | made)
    has_agreed = agrees(session, app_id, user_id)
    return ProfileAnswer(app_id=app_id, user_id=user_id, consent=has_agreed, profile=item)
