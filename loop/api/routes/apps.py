"""Apps, their tokens and receipts.

The users of an app: who there is, what is set for one of them, and forgetting them.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Response
from pydantic import Field
from sqlalchemy.orm import Session

from loop.api import cursors, erasures
from loop.api.dependencies import AppInPath, PageOf50, Reads, SearchInQuery, UserInPath, Writes, as_write
from loop.api.erasures import Erased, Receipt, ReceiptList, Uninstalled
from loop.api.policy import OF_ADMIN, OF_APP, Whose, policy, under
from loop.api.schema import AppId, Flag, From, NamedUser, RequestModel, ResponseModel, Success, Units
from loop.api.writes import WriteResult
from shared.apps import queries
from shared.apps.models import AnsweredBy, App, Erasure, Grant, Token
from shared.apps.queries import AppChange, get_app, get_installed_app, lock_app, set_time_zone
from shared.base.errors import Invalid, NotFound
from shared.base.subjects import Subject
from shared.contracts.values import JsonObject, TimeZone, UserId
from shared.conversations.answers import hide_all, look_again, show_all
from shared.conversations.queries import count_conversations
from shared.energy.budget import to_micro, to_units
from shared.erasure.erasing import erase_user, purge_memories
from shared.erasure.queries import count_of_apps, count_of_user, has_pending_answers, is_user
from shared.erasure.queries import list_users as users_of
from shared.jobs.tenant_queues import release as lift_throttle
from shared.memories.queries import count_standing

Name = Annotated[str, Field(min_length=1, max_length=200, examples=["Chat"])]
Weight = Annotated[int, Field(strict=True, ge=1, le=100, description="The app's share of the work beside other apps'.")]
_CONFIG = (
    "The app's own notes: kept and returned, and read by nothing here. No key in it changes what the service does."
)
_ANSWERED_BY = "Who answers its conversations: the loop, when a model is set, or the app itself."
_LOOP_ANSWERS = "Whether the loop answers its conversations now: it is to, and there is a model that thinks."
_SHARED = "Whether what names no user (memories, facts, old messages) is recalled for every user of the app."
_GRANTS = "What it may do beside working with the app's data: tokens (issue and revoke them), uninstall, answers (who)."
_TIME_ZONE = "Whose days are meant where neither conversation, user nor message says, an IANA name; null: UTC's."
_APPROVE = "Whether a person approves each answer of the loop's before it is sent."


class InstallApp(RequestModel):
    """Installs an app."""

    app_id: AppId
    name: Name
    config: JsonObject = Field(default_factory=dict, description=_CONFIG)
    answered_by: AnsweredBy | None = Field(None, description=_ANSWERED_BY)
    approve_answers: Flag | None = Field(None, description=_APPROVE)
    weight: Weight | None = None
    shared_memory: Flag | None = Field(None, description=_SHARED)
    time_zone: TimeZone | None = Field(None, description=_TIME_ZONE)


class ChangeApp(RequestModel):
    """Changes an app; what is left out stays. A budget of null is none, a time zone of null UTC."""

    name: Name | None = None
    config: JsonObject | None = Field(None, description=_CONFIG)
    hourly_budget: Units | None = None
    daily_budget: Units | None = None
    answered_by: AnsweredBy | None = Field(None, description=_ANSWERED_BY)
    approve_answers: Flag | None = Field(None, description=_APPROVE)
    weight: Weight | None = None
    shared_memory: Flag | None = Field(None, description=_SHARED)
    time_zone: TimeZone | None = Field(None, description=_TIME_ZONE)

    def sets(self, field: str) -> bool:
        """Whether the client sent this field, be it null."""
        return field in self.model_fields_set


class AppAnswer(ResponseModel):
    """An app."""

    app_id: str
    name: str
    config: dict[str, Any] = Field(description=_CONFIG)
    installed: bool
    answered_by: AnsweredBy = Field(description=_ANSWERED_BY)
    approve_answers: Annotated[bool, From("approves_answers")] = Field(description=_APPROVE)
    weight: int = Field(description="The app's share of the work beside other apps'.")
    shared_memory: bool = Field(description=_SHARED)
    time_zone: str | None = Field(description=_TIME_ZONE)
    hourly_budget: float | None = Field(description="Units an app may spend in any 60 minutes.")
    daily_budget: float | None = Field(description="Units an app may spend in any 24 hours.")
    created_at: datetime
    updated_at: datetime
    uninstalled_at: datetime | None

    @classmethod
    def of(cls, app: App) -> AppAnswer:
        return cls.from_row(app, **_computed(app))


class AppDetails(AppAnswer):
    """An app and how much it holds."""

    memories: int
    open_conversations: int
    ended_conversations: int
    loop_answers: bool = Field(description=_LOOP_ANSWERS)

    @classmethod
    def counted(cls, app: App, memories: int, conversations: tuple[int, int], *, thinks: bool) -> AppDetails:
        """Return an app with its counts; ``conversations`` is (open, ended)."""
        is_open, ended = conversations
        counts = {"memories": memories, "open_conversations": is_open, "ended_conversations": ended}
        answers = app.answered_by == AnsweredBy.LOOP and app.uninstalled_at is None and thinks
        return cls.from_row(app, **_computed(app), **counts, loop_answers=answers)


_OF_THE_APP_ALONE: dict[str, object] = {"config": {}, "hourly_budget": None, "daily_budget": None}


def _computed(app: App) -> dict[str, object]:
    return {
        "installed": app.uninstalled_at is None,
        "hourly_budget": units_or_none(app.hourly_budget_micro),
        "daily_budget": units_or_none(app.daily_budget_micro),
    }


def units_or_none(micro: int | None) -> float | None:
    """Return a budget in units."""
    return None if micro is None else to_units(micro)


class AppHoldings(ResponseModel):
    """How much an app holds, and what of it waits for a person."""

    users: int = Field(description="Those that are named.")
    conversations: int
    memories: int
    pending_answers: int = Field(description="Answers of the loop's that a person is to approve.")
    last_active_at: datetime | None = Field(description="When something happened last in one of its conversations.")


class ListedApp(AppAnswer):
    """An app of a list."""

    holds: AppHoldings | None = Field(description="How much it holds; null where that was not asked for.")


class AppList(ResponseModel):
    """Apps by id."""

    apps: list[ListedApp]
    cursor: str | None


class IssueToken(RequestModel):
    """Asks for a token."""

    label: Annotated[str, Field(max_length=200)] = ""
    grants: Annotated[list[Grant], Field(max_length=len(Grant), description=_GRANTS)] = Field(default_factory=list)
    user_id: UserId | None = Field(
        None,
        description="Whose own it is to be: it opens what is this user's in the app and nothing else, and has no "
        "grants. It goes when everything of theirs is erased.",
    )


class TokenAnswer(ResponseModel):
    """A token, without the token itself."""

    token_id: str
    app_id: str
    label: str
    grants: list[Grant] = Field(description=_GRANTS)
    user_id: str | None = Field(description="Whose own it is; null: the app's.")
    parent_id: str | None = Field(description="The token that issued it, with which it is revoked; null: an admin did.")
    created_at: datetime
    revoked_at: datetime | None

    @classmethod
    def of(cls, token: Token) -> TokenAnswer:
        return cls.from_row(token, app_id=token.app_id or "")


class IssuedToken(TokenAnswer):
    """A new token; its text is shown this once and kept nowhere."""

    token: str | None = Field(description="The token; null when this answer is a repetition under an Idempotency-Key.")


class TokenList(ResponseModel):
    """An app's tokens, oldest first."""

    tokens: list[TokenAnswer]
    cursor: str | None


router = APIRouter(prefix="/apps", tags=["Apps"], route_class=under(OF_APP))
_APPS = "apps"


@router.post("", status_code=201, response_model=AppAnswer, summary="Install an app")
@policy(OF_ADMIN)
@as_write
def install_app(ctx: Writes, session: Session, body: InstallApp) -> WriteResult:
    """Install an app; one that was uninstalled comes back with what it remembered."""
    app = queries.install(session, body.app_id, body.name, body.config, ctx.now())
    queries.change(session, body.app_id, _behaviour(body), ctx.now())
    app.time_zone = body.time_zone or app.time_zone
    _attend(session, app)
    return WriteResult(AppAnswer.of(app), 201, about=app.app_id)


@router.get("", summary="List apps")
@policy(OF_ADMIN)
def list_apps(
    ctx: Reads,
    page: PageOf50,
    search: SearchInQuery = None,
    counted: Annotated[bool, Query(description="Count what each holds as well, which takes longer.")] = False,
    approving: Annotated[
        bool, Query(description="Only those of which an answer waits for a person's approval.")
    ] = False,
) -> AppList:
    """List apps by id, the uninstalled ones too."""
    after = cursors.decode_text(_APPS, page.cursor)
    only = [has_pending_answers()] if approving else []
    with ctx.read() as session:
        rows, more = page.cut(queries.list_apps(session, page.limit + 1, after, search, *only))
        holds = count_of_apps(session, [app.app_id for app in rows]) if counted else {}
        apps = [ListedApp.from_row(app, **_computed(app), holds=holds.get(app.app_id)) for app in rows]
        return AppList(apps=apps, cursor=cursors.encode(_APPS, rows[-1].app_id) if more else None)


@router.get("/{appId}", summary="Show an app")
@policy(OF_APP, whose=Whose.BY_ROUTE)
def show_app(ctx: Reads, app_id: AppInPath) -> AppDetails:
    """Show an app and how much it holds; by a user's own token how much of theirs, without config and budgets."""
    own = ctx.caller.user_id
    with ctx.read() as session:
        app, conversations = queries.get_app(session, app_id), count_conversations(session, app_id, own)
        memories, thinks = count_standing(session, app_id, own), ctx.loop.settings.thinks
        found = AppDetails.counted(app, memories, conversations, thinks=thinks)
    return found if own is None else found.model_copy(update=_OF_THE_APP_ALONE)


@router.patch("/{appId}", response_model=AppAnswer, summary="Change an app")
def change_app(ctx: Writes, app_id: AppInPath, body: ChangeApp) -> Response:
    """Change an app's name, config and who answers, or (with an admin token) its energy budgets and weight."""
    # Rights first, with no transaction open: what they refuse waits for no writer.
    if body.sets("hourly_budget") or body.sets("daily_budget") or body.weight is not None:
        ctx.require_admin("change an app's budgets or weight")
    if body.answered_by is not None or body.approve_answers is not None:
        ctx.require_grant(Grant.ANSWERS, "change who answers")

    def work(session: Session) -> WriteResult:
        changes = replace(_behaviour(body), name=body.name, config=body.config)
        app = queries.change(session, app_id, changes, ctx.now())
        # Set the budgets that were sent; whether there were any.
        if body.sets("hourly_budget"):
            app.hourly_budget_micro = None if body.hourly_budget is None else to_micro(body.hourly_budget)
        if body.sets("daily_budget"):
            app.daily_budget_micro = None if body.daily_budget is None else to_micro(body.daily_budget)
        has_new_budgets = body.sets("hourly_budget") or body.sets("daily_budget")
        if body.sets("time_zone"):
            app.time_zone = body.time_zone
        session.flush()
        if has_new_budgets:
            look_again(session, app_id)
        if has_new_budgets or body.answered_by is not None:
            _attend(session, app)
        if has_new_budgets:
            lift_throttle(session, app_id, ctx.now())
        return WriteResult(AppAnswer.of(app), about=app_id)

    return ctx.write(work)


def _behaviour(body: InstallApp | ChangeApp) -> AppChange:
    return AppChange(
        answered_by=body.answered_by,
        approves_answers=body.approve_answers,
        weight=body.weight,
        shared_memory=body.shared_memory,
    )


def _attend(session: Session, app: App) -> None:
    """Have an app's unanswered conversations thought about from now on, or not any more."""
    session.flush()
    if app.answered_by == AnsweredBy.LOOP:
        show_all(session, app.app_id)
    else:
        hide_all(session, app.app_id)


@router.delete("/{appId}", response_model=Uninstalled, summary="Uninstall an app")
def uninstall_app(
    ctx: Writes, app_id: AppInPath, purge: Annotated[bool, Query(alias="purgeMemories")] = False
) -> Response:
    """Uninstall an app and revoke its tokens. What it remembers stays unless a purge is asked for.

    An app's token needs the grant `uninstall`.
    """
    ctx.require_grant(Grant.UNINSTALL, "uninstall its app")

    def work(session: Session) -> WriteResult:
        queries.uninstall(session, app_id, ctx.now())
        hide_all(session, app_id)
        if purge:
            erasure = purge_memories(session, app_id, ctx.caller.name, ctx.now())
            erasures.open_receipt(session, erasure)
            kept = _without_memories(erasure)
            return WriteResult(kept, then=lambda: _without_memories(erasures.complete(ctx, erasure)))
        return WriteResult(Uninstalled(app_id=app_id, memories_kept=count_standing(session, app_id)))

    return ctx.write(work)


def _without_memories(erasure: Erasure) -> Uninstalled:
    return Uninstalled(
        app_id=erasure.app_id,
        memories_kept=0,
        deleted_count=erasure.erased["memories"],
        receipt=Receipt.model_validate(erasure),
        note=erasures.note_on(erasure),
    )


@router.post("/{appId}/tokens", status_code=201, response_model=IssuedToken, summary="Issue a token")
def issue_token(ctx: Writes, app_id: AppInPath, body: IssueToken | None = None) -> Response:
    """Make a token that opens this app alone, or what one of its users has in it. It is shown this once.

    An app's token needs the grant `tokens` for it, grants only what it was granted itself, and takes along what it
    issued when it is revoked.
    """
    ctx.require_grant(Grant.TOKENS, "issue tokens")
    request = body or IssueToken()
    if request.user_id is not None and request.grants:
        raise Invalid("grants: a user's own token has none; leave out grants, or userId.")

    def work(session: Session) -> WriteResult:
        whose = request.grants, request.user_id
        token, secret = queries.issue_token(session, app_id, request.label, ctx.now(), ctx.caller, *whose)
        shown = TokenAnswer.of(token).model_dump()
        return WriteResult(IssuedToken(**shown, token=secret), 201, about=app_id, kept=IssuedToken(**shown, token=None))

    return ctx.write(work)


@router.get("/{appId}/tokens", summary="List an app's tokens")
def list_tokens(ctx: Reads, page: PageOf50, app_id: AppInPath) -> TokenList:
    """List an app's tokens, the revoked ones too, without the tokens themselves."""
    with ctx.read() as session:
        queries.get_app(session, app_id)
        rows, following = page.part("tokens", queries.list_tokens(session, app_id))
        return TokenList(tokens=[TokenAnswer.of(token) for token in rows], cursor=following)


@router.delete("/{appId}/tokens/{tokenId}", response_model=Success, summary="Revoke a token")
def revoke_token(
    ctx: Writes, app_id: AppInPath, token_id: Annotated[str, Path(alias="tokenId", max_length=40)]
) -> Response:
    """Make a token, and all it issued, useless from now on. But for itself, an app's token needs the grant `tokens`."""
    if token_id != ctx.caller.token_id:
        ctx.require_grant(Grant.TOKENS, "revoke other tokens")

    def work(session: Session) -> WriteResult:
        queries.revoke_token(session, app_id, token_id, ctx.now())
        return WriteResult(Success(), about=app_id)

    return ctx.write(work)


@router.get("/{appId}/erasures", summary="List an app's erasure receipts")
def list_erasure_receipts(ctx: Reads, page: PageOf50, app_id: AppInPath) -> ReceiptList:
    """List what was purged and erased, newest first."""
    with ctx.read() as session:
        queries.get_app(session, app_id)
        rows, following = page.part("erasures", queries.list_erasures(session, app_id))
        return ReceiptList(erasures=[Receipt.model_validate(erasure) for erasure in rows], cursor=following)


users_router = APIRouter(prefix="/apps/{appId}/users", tags=["Users"], route_class=under(OF_APP))
_USERS = "users"


_TIME_ZONE_USERS = (
    "Whose days are meant by what they say, an IANA name; null: the days of what their messages came with."
)


class ChangeUser(RequestModel):
    """Changes what is set for a user; what is left out stays."""

    time_zone: TimeZone | None = Field(None, description=_TIME_ZONE_USERS)


class UserAnswer(ResponseModel):
    """A user of an app, and how much there is of them."""

    user_id: NamedUser = Field(description="How the app calls them; null stands for what names nobody.")
    conversations: int
    messages: int
    memories: int
    facts: int
    has_profile: bool
    last_active_at: datetime | None = Field(description="When something happened last in a conversation of theirs.")
    time_zone: str | None = Field(description=_TIME_ZONE_USERS)


class UserList(ResponseModel):
    """Users by id; what names nobody comes first."""

    users: list[UserAnswer]
    cursor: str | None


@users_router.get("", summary="List users")
def list_users(ctx: Reads, page: PageOf50, app_id: AppInPath, search: SearchInQuery = None) -> UserList:
    """List everybody an app holds something of, with how much."""
    after = cursors.decode_id(_USERS, page.cursor)
    with ctx.read() as session:
        get_app(session, app_id)
        rows, more = page.cut(users_of(session, app_id, page.limit + 1, after, search))
    return UserList(
        users=[UserAnswer.model_validate(one) for one in rows],
        cursor=cursors.encode_id(_USERS, rows[-1].user_id) if more else None,
    )


@users_router.get("/{userId}", summary="Show a user")
@policy(OF_APP, whose=Whose.IN_PATH)
def show_user(ctx: Reads, app_id: AppInPath, user_id: UserInPath) -> UserAnswer:
    """Show how much an app holds of a user; of one of whom it holds nothing there is nothing to show."""
    with ctx.read() as session:
        get_app(session, app_id)
        if not is_user(session, app_id, user_id):
            raise NotFound(f"App {app_id} holds nothing of a user {user_id}.")
        return UserAnswer.model_validate(count_of_user(session, app_id, user_id))


@users_router.patch("/{userId}", response_model=UserAnswer, summary="Change what is set for a user")
@policy(OF_APP, whose=Whose.IN_PATH)
@as_write
def change_user(ctx: Writes, session: Session, app_id: AppInPath, user_id: UserInPath, body: ChangeUser) -> WriteResult:
    """Set a user's time zone, or take it back with null. They need not have said anything yet."""
    # Locked: two that set something for the same user come one after the other.
    lock_app(session, app_id)
    get_installed_app(session, app_id)
    if "time_zone" in body.model_fields_set:
        set_time_zone(session, app_id, user_id, body.time_zone)
    return WriteResult(UserAnswer.model_validate(count_of_user(session, app_id, user_id)), about=app_id)


@users_router.delete("/{userId}/data", response_model=Erased, summary="Erase everything of a user")
@policy(OF_APP, whose=Whose.IN_PATH)
@as_write
def erase_user_data(ctx: Writes, session: Session, app_id: AppInPath, user_id: UserInPath) -> WriteResult:
    """Erase everything an app ever held of one user, in every store, and stop what is being thought about them."""
    erasure = erase_user(session, Subject(app_id, user_id), ctx.caller.name, ctx.now())
    return erasures.erased(ctx, session, erasure)
