"""The users of an app: who there is, what is set for one of them, and forgetting them."""

from __future__ import annotations

from datetime import datetime

from fastapi import APIRouter, Response
from pydantic import Field
from sqlalchemy.orm import Session

from loop.api import cursors, erasures
from loop.api.dependencies import AppInPath, CursorInQuery, LimitInQuery, Reads, UserInPath, Writes
from loop.api.erasures import Erased
from loop.api.policy import OF_APP, under
from loop.api.schema import NamedUser, RequestModel, ResponseModel
from loop.api.writes import WriteResult
from shared.apps.queries import get_app, get_installed_app, lock_app, set_time_zone
from shared.base.subjects import Subject
from shared.contracts.values import TimeZone
from shared.erasure.erasing import erase_user
from shared.erasure.queries import count_of_user
from shared.erasure.queries import list_users as users_of

router = APIRouter(prefix="/apps/{appId}/users", tags=["Users"], route_class=under(OF_APP))
_USERS = "users"


_TIME_ZONE = "Whose days are meant by what they say, an IANA name; null: the days of what their messages came with."


class ChangeUser(RequestModel):
    """Changes what is set for a user; what is left out stays."""

    time_zone: TimeZone | None = Field(None, description=_TIME_ZONE)


class UserAnswer(ResponseModel):
    """A user of an app, and how much there is of them."""

    user_id: NamedUser = Field(description="How the app calls them; null stands for what names nobody.")
    conversations: int
    messages: int
    memories: int
    facts: int
    has_profile: bool
    last_active_at: datetime | None = Field(description="When something happened last in a conversation of theirs.")
    time_zone: str | None = Field(description=_TIME_ZONE)


class UserList(ResponseModel):
    """Users by id; what names nobody comes first."""

    users: list[UserAnswer]
    cursor: str | None


@router.get("", summary="List users")
def list_users(ctx: Reads, app_id: AppInPath, limit: LimitInQuery = 50, cursor: CursorInQuery = None) -> UserList:
    """List everybody an app holds something of, with how much."""
    after = cursors.decode_id(_USERS, cursor)
    with ctx.read() as session:
        get_app(session, app_id)
        rows, more = cursors.page(users_of(session, app_id, limit + 1, after), limit)
    return UserList(
        users=[UserAnswer.model_validate(one) for one in rows],
        cursor=cursors.encode_id(_USERS, rows[-1].user_id) if more else None,
    )


@router.patch("/{userId}", response_model=UserAnswer, summary="Change what is set for a user")
def change_user(ctx: Writes, app_id: AppInPath, user_id: UserInPath, body: ChangeUser) -> Response:
    """Set a user's time zone, or take it back with null. They need not have said anything yet."""

    def work(session: Session) -> WriteResult:
        # Locked: two that set something for the same user come one after the other.
        lock_app(session, app_id)
        get_installed_app(session, app_id)
        if "time_zone" in body.model_fields_set:
            set_time_zone(session, app_id, user_id, body.time_zone)
        return WriteResult(UserAnswer.model_validate(count_of_user(session, app_id, user_id)), about=app_id)

    return ctx.write(work)


@router.delete("/{userId}/data", response_model=Erased, summary="Erase everything of a user")
def erase_user_data(ctx: Writes, app_id: AppInPath, user_id: UserInPath) -> Response:
    """Erase everything an app ever held of one user, in every store, and stop what is being thought about them."""

    def work(session: Session) -> WriteResult:
        erasure = erase_user(session, Subject(app_id, user_id), ctx.caller.name, ctx.now())
        return erasures.erased(ctx, session, erasure)

    return ctx.write(work)
