"""Who has logged in: a token for each browser, in memory alone; gone on demand, when idle, and with the process.

What is told of an action: that it succeeded, which ends what was told of failures before, or why it did not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import monotonic
from urllib.parse import urlencode

from nicegui import app, ui

from afterthought_client import ApiError, AsyncAfterthought
from loop.ui.wording import Labels, message_of

_UNACCEPTABLE = 422
_ERRORS = "errors told"
_ERROR_SECONDS = 10.0


class FormError(Exception):
    """What somebody gave a page is missing or out of bounds; the message says what to give."""


def notify_success(message: str) -> None:
    """Tell that something was done."""
    notifications: list[ui.notification] = ui.context.client.storage.pop(_ERRORS, [])
    for one in notifications:
        if not one.is_deleted:
            one.dismiss()
    ui.notify(message, type="positive")


def notify_error(message: str) -> None:
    """Tell what did not succeed, until it is closed, something succeeds, or some seconds are over."""
    # The library's own button to close is blue, which on red nobody can read.
    close = {"label": "Close", "color": "white"}
    notification = ui.notification(message, type="negative", multi_line=True, timeout=_ERROR_SECONDS, actions=[close])
    ui.context.client.storage.setdefault(_ERRORS, []).append(notification)


@contextmanager
def in_words_of(labels: Labels) -> Iterator[None]:
    """Have what the service does not accept told in a page's own words. Raises: FormError."""
    try:
        yield
    except ApiError as error:
        if error.status != _UNACCEPTABLE:
            raise
        raise FormError(message_of(error, labels)) from error


_IDLE_SECONDS = 12 * 3600.0
_UNAUTHENTICATED = 401
ENDED = "ended"
"""Why somebody is at the way in again: the token that was used is not accepted any more."""


@dataclass
class Visitor:
    """A browser whose token opens something."""

    client: AsyncAfterthought
    app_id: str | None
    """The only app the token opens; None: all of them, an admin's."""
    may_write: bool
    user_of: dict[str, str | None] = field(default_factory=dict)
    """Whose memory is looked at, by app; None: everybody's."""
    dark: bool | None = None
    """None: as the browser has it."""
    seen_at: float = field(default_factory=monotonic)

    @property
    def is_admin(self) -> bool:
        """Whether the token opens every app."""
        return self.app_id is None


class Visitors:
    """Visitors by their browser. Its cookie is signed, not readable by scripts, and not sent from other sites."""

    def __init__(self, client: Callable[[str], AsyncAfterthought]) -> None:
        self._client = client
        # None of one whose token is not accepted any more.
        self._known: dict[str, Visitor | None] = {}

    async def log_in(self, token: str) -> Visitor:
        """Remember this browser's token. Raises: ApiError where the service knows no such token, InvalidArgument."""
        client = self._client(token)
        try:
            opened = await client.show_token()
        except ApiError:
            await client.close()
            raise
        await self.log_out()
        visitor = Visitor(client, opened.app_id, opened.rights == "all")
        self._known[_browser()] = visitor
        return visitor

    def current(self) -> Visitor | None:
        """Return who looks at the page that is being built or used."""
        visitor = self._known.get(_browser())
        if visitor is None or monotonic() - visitor.seen_at > _IDLE_SECONDS:
            return None
        visitor.seen_at = monotonic()
        return visitor

    async def log_out(self) -> None:
        """Forget this browser's token; its pages can do nothing from now on."""
        visitor = self._known.pop(_browser(), None)
        if visitor is not None:
            await visitor.client.close()

    async def has_ended(self, error: Exception) -> bool:
        """Whether the service knows the visitor's token no more; then the page goes to the way in."""
        if not isinstance(error, ApiError) or error.status != _UNAUTHENTICATED or self.current() is None:
            return False
        await self.log_out()
        self._known[_browser()] = None
        ui.navigate.to(login_url(ENDED))
        return True

    def login_url(self) -> str:
        """Return the address to log in at, for a page that is asked for by somebody not known."""
        # Another page of this browser may have been the first to find out, and nobody looks at it any more.
        return login_url(ENDED if _browser() in self._known and self._known[_browser()] is None else "")

    async def show_error(self, error: Exception) -> None:
        """Show an error of the service's; who is not known any more goes to the way in."""
        if not await self.has_ended(error):
            notify_error(message_of(error))


def login_url(why: str = "") -> str:
    """Return the address to log in at, which leads back to the page that is being built or used."""
    request_url = ui.context.client.request.url
    page = request_url.path + (f"?{request_url.query}" if request_url.query else "")
    given = ({"next": page} if page != "/" else {}) | ({"why": why} if why else {})
    return f"/login?{urlencode(given)}" if given else "/login"


def way_back(page: str) -> str | None:
    """Return the page to go back to after logging in; None where it is no page of ours."""
    is_ours = page.startswith("/") and not page.startswith(("//", "/\\", "/login"))
    return page if is_ours else None


def _browser() -> str:
    name: str = app.storage.browser["id"]
    return name
