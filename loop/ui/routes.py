"""Registers every page; the way in."""

from __future__ import annotations

import json
from urllib.parse import quote

import httpx
from fastapi.exception_handlers import http_exception_handler
from nicegui import Client, app, ui
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from afterthought_client import AsyncAfterthought
from loop.ui import administration, chat, composer, home, memory, operations, sessions
from loop.ui.frame import Frame, PageView, bare, show_errors
from loop.ui.tables import PRIMARY, action, note
from loop.ui.transport import InProcess, is_same_site
from loop.ui.visitors import COOKIE, ENDED, Visitor, Visitors, login_in, present_login, way_back

_INSIDE = "http://afterthought"


def register(interface: InProcess) -> None:
    """Register the pages, as clients of an interface."""

    def client(token: str) -> AsyncAfterthought:
        return AsyncAfterthought(_INSIDE, token, transport=interface, timeout=httpx.Timeout(90.0))

    visitors = Visitors(client)
    frame = Frame(visitors)
    _login_page(frame)

    @frame.page("/", "Apps")
    async def apps(view: PageView) -> None:
        if not view.visitor.is_admin:
            ui.navigate.to(f"/memory/{view.visitor.app_id}")
            return
        await home.show_home(view)

    for name in ("chat", "memory", "sessions", "composer"):
        _page_without_app(frame, name)
    app.add_exception_handler(404, _not_found)
    app.on_page_exception(_failed)
    for module in (administration, chat, composer, memory, operations, sessions):
        module.register(frame)


def _page_without_app(frame: Frame, name: str) -> None:
    """Serve what an address without an app may mean: the page of the only app there is, or else all apps."""

    @frame.page(f"/{name}", name.capitalize())
    async def of_only_app(view: PageView) -> None:
        app_id = view.visitor.app_id
        if app_id is None:
            apps = (await view.client.list_apps(limit=2)).apps
            app_id = apps[0].app_id if len(apps) == 1 else None
        ui.navigate.to("/" if app_id is None else f"/{name}/{quote(app_id, safe='')}")


async def _not_found(request: Request, error: Exception) -> Response:
    """Answer what has the address of a page and is none. In the place of the library's own, which has no way back."""
    if request.url.path.startswith("/_nicegui") and isinstance(error, HTTPException):
        return await http_exception_handler(request, error)
    client = Client(ui.page("", title="No such page - Afterthought"), request=request)
    with client:
        _say_instead("There is no such page", "Its address may be mistyped, or what it showed is gone.")
    return client.build_response(request, 404)


def _failed() -> None:
    """Answer in the place of a page that could not be built; the library's own shows the error's words to anybody."""
    _say_instead("Something went wrong here", "The service's log says what. Try again.")


def _say_instead(title: str, why: str) -> None:
    with ui.column().classes("w-full max-w-md mx-auto mt-16 gap-4 p-4"), bare(title):
        ui.label(why).classes("muted")
        ui.link("Go to the apps", "/")


def _login_page(frame: Frame) -> None:
    visitors = frame.visitors

    @ui.page("/login", title="Log in - Afterthought")
    async def log_in(next: str = "", why: str = "") -> Response | None:
        present = await visitors.recognise(present_login())
        if present is not None:
            return RedirectResponse(_way_on(present, next))
        show_errors(visitors)
        with ui.column().classes("w-full max-w-md mx-auto mt-16 gap-4 p-4"), bare("Afterthought"):
            if why == ENDED:
                ui.label("You were logged out: your token is not accepted any more.").props("role=alert")
            ui.label("Log in with the admin token, an app's, or your own.").classes("muted")
            if next:
                note("It leads back to where you were.")
            token = ui.input("Token", password=True, password_toggle_button=True).classes("w-full")
            token.props("autocomplete=off autofocus outlined")

            async def enter() -> None:
                visitor, ticket = await visitors.log_in(token.value or "")
                ui.run_javascript(f"logIn({json.dumps(ticket)}, {json.dumps(_way_on(visitor, next))})")

            token.on("keydown.enter", enter)
            action("Log in", enter, PRIMARY).classes("w-full")
            note("The token is not kept. This browser stays logged in until you log out, or for a week.")
        return None

    @app.post("/login/{ticket}")
    async def take_login(request: Request, ticket: str) -> Response:
        origin = request.headers.get("origin", "")
        # From elsewhere somebody would be logged in as whoever sends them here.
        if not is_same_site(origin, request.headers.get("host"), request.headers.get("x-forwarded-host")):
            return Response(status_code=403)
        if (redeemed := visitors.redeem(ticket)) is None:
            return Response(status_code=404)
        await visitors.log_out(login_in(request.cookies))
        answer = Response(status_code=204)
        secure = origin.startswith("https:")
        login, ends_at = redeemed
        answer.set_cookie(COOKIE, login, expires=ends_at, httponly=True, samesite="strict", secure=secure)
        return answer

    @app.delete("/login")
    async def drop_login(request: Request) -> Response:
        await visitors.log_out(login_in(request.cookies))
        answer = Response(status_code=204)
        answer.delete_cookie(COOKIE)
        return answer


def _way_on(visitor: Visitor, page: str) -> str:
    return way_back(page) or ("/" if visitor.is_admin else f"/memory/{visitor.app_id}")
