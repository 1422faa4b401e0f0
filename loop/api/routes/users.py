"""The users of an app: who there is, and forgetting one of them."""

from __future__ import annotations

from datetime import datetime

from fastapi import APIRouter, Response
from pydantic import Field
from sqlalchemy.orm import Session

from loop.api import cursors, erasures
from loop.api.dependencies import AppInPath, CursorInQuery, LimitInQuery, Reads, UserInPath, Writes
from loop.api.erasures import Erased
from loop.api.schema import NamedUser, ResponseModel
from loop.api.writes import WriteResult
from shared.apps.queries import get_app
from shared.erasure.erasing import erase_user
from shared.erasure.queries import list_users as users_of
from shared.subjects import Subject

router = APIRouter(prefix="/apps/{appId}/users", tags=["Users"])
_USERS = "users"


class UserAnswer(ResponseModel):
    """A user of an app, and how much there is of them."""

    user_id: NamedUser = Field(description="How the app calls them; null stands for what names nobody.")
    conversations: int
    messages: int
    memories: int
    facts: int
    has_profile: bool
    last_active_at: datetime | None = Field(description="When something happened last in a conversation of theirs.")


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


@router.delete("/{userId}/data", response_model=Erased, summary="Erase everything of a user")
def erase_user_data(ctx: Writes, app_id: AppInPath, user_id: UserInPath) -> Response:
    """Erase everything an app ever held of one user, in every store, and stop what is being thought about them."""

    def work(session: Session) -> WriteResult:
        erasure = erase_user(session, Subject(app_id, user_id), ctx.caller.name, ctx.now())
        return erasures.erased(ctx, session, erasure)

    return ctx.write(work)
