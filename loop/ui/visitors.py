"""Who has logged in: each browser has a login, which the service keeps for as long as the token is accepted.

What is told of an action: that it succeeded, which ends what was told of failures before, or why it did not.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from secrets import token_urlsafe
from time import monotonic
from typing import Any
from urllib.parse import urlencode

from nicegui import ui
from nicegui.elements.mixins.validation_element import ValidationElement

from afterthought_client import ApiError, AsyncAfterthought
from loop.ui.state import present_address
from loop.ui.wording import Labels, message_of

_UNACCEPTABLE = 422
_ERRORS = "errors told"
_ERROR_SECONDS = 10.0


class FormError(Exception):
    """What somebody gave a page is missing or out of bounds; the message says what to give, and stands at a field."""

    def __init__(self, message: str, field: ValidationElement[Any] | None = None) -> None:
        super().__init__(message)
        self.field = field


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


COOKIE = "afterthought_login"
_IDLE_SECONDS = 12 * 3600.0
_TICKET_SECONDS, _MOST_TICKETS = 60.0, 1000
_LOGIN = re.compile(r"[A-Za-z0-9_-]{20,100}")
"""What else a browser sends is no login, and not to be sent on: it may be no header at all."""
_UNAUTHENTICATED, _NOT_FOUND = 401, 404
_WAY_IN = "/login"
ENDED = "ended"
"""Why somebody is at the way in again: the login, or the token that it stands for, is not accepted any more."""


@dataclass
class Visitor:
    """A browser whose login opens something."""

    client: AsyncAfterthought
    name: str
    """Of the token: admin, reader, or token: and its id."""
    app_id: str | None
    """The only app the token opens; None: all of them, an admin's."""
    user_id: str | None
    """Whose own the token is: they see what is theirs."""
    may_write: bool
    dark: bool | None = None
    """None: as the browser has it."""
    seen_at: float = field(default_factory=monotonic)

    @property
    def is_admin(self) -> bool:
        """Whether the token opens every app."""
        return self.app_id is None


class Visitors:
    """Visitors by their logins, of which each browser has its own in a cookie.

    The service keeps what a login stands for; what is known of it here is lost at no cost.
    """

    def __init__(self, client: Callable[[str], AsyncAfterthought]) -> None:
        self._client = client
        self._known: dict[str, Visitor] = {}
        self._tickets: dict[str, tuple[float, str, datetime]] = {}

    async def log_in(self, token: str) -> tuple[Visitor, str]:
        """Make a login of a token; the second value is a ticket that hands it to the browser, once.

        Raises: ApiError where the service knows no such token, InvalidArgument.
        """
        client = self._client(token)
        try:
            made = await client.make_login()
        finally:
            await client.close()
        assert made.login is not None
        visitor = await self.recognise(made.login)
        assert visitor is not None
        # A page has no answer of its own in which it could set a cookie that scripts cannot read.
        ticket = token_urlsafe(32)
        self._tickets[ticket] = (monotonic(), made.login, made.ends_at)
        if len(self._tickets) > _MOST_TICKETS:
            del self._tickets[next(iter(self._tickets))]
        return visitor, ticket

    def redeem(self, ticket: str) -> tuple[str, datetime] | None:
        """Return the login that a ticket is for, and when it ends."""
        # The oldest come first; they lie here where a browser was closed while somebody logged in.
        for old in [one for one, (at, _, _) in self._tickets.items() if monotonic() - at > _TICKET_SECONDS]:
            del self._tickets[old]
        found = self._tickets.pop(ticket, None)
        return found and found[1:]

    async def recognise(self, login: str | None) -> Visitor | None:
        """Return whose login it is; None where it is accepted no more, or never was."""
        if not login:
            return None
        visitor = self._known.get(login)
        if visitor is None:
            client = self._client(login)
            try:
                opened = await client.show_token()
            except ApiError as error:
                await client.close()
                if error.status != _UNAUTHENTICATED:
                    raise
                return None
            # Two pages may ask at once, and both must see the same visitor.
            found = Visitor(client, opened.name, opened.app_id, opened.user_id, opened.rights == "all")
            visitor = self._known.setdefault(login, found)
            if visitor.client is not client:
                await client.close()
        visitor.seen_at = monotonic()
        longest = monotonic() - _IDLE_SECONDS
        for idle in [one for one, known in self._known.items() if known.seen_at < longest]:
            del self._known[idle]
        return visitor

    async def log_out(self, login: str | None) -> None:
        """End a login; its pages can do nothing from now on, nor can anybody with a copy of it.

        Its client is not closed: in pages that go on asking that would raise what is no refusal of the service's.
        """
        visitor = await self.recognise(login)
        if visitor is None:
            return
        self._known.pop(login or "", None)
        try:
            await visitor.client.end_login()
        except ApiError as error:
            # It has ended with its token, or is the token itself, which somebody put there.
            if error.status not in (_UNAUTHENTICATED, _NOT_FOUND):
                raise

    async def has_ended(self, error: Exception) -> bool:
        """Whether the service knows the visitor's token no more; then the page goes to the way in."""
        is_refused = isinstance(error, ApiError) and error.status == _UNAUTHENTICATED
        # There, what is not known is what somebody just gave.
        if not is_refused or ui.context.client.request.url.path == _WAY_IN:
            return False
        self._known.pop(present_login() or "", None)
        ui.navigate.to(login_url(ENDED))
        return True

    async def show_error(self, error: Exception) -> None:
        """Show an error of the service's; who is not known any more goes to the way in."""
        if not await self.has_ended(error):
            notify_error(message_of(error))


def present_login() -> str | None:
    """Return the login of the browser that shows the page that is being built or used."""
    return login_in(ui.context.client.request.cookies)


def login_in(cookies: Mapping[str, str]) -> str | None:
    """Return the login among a browser's cookies; None for what can be none."""
    login = cookies.get(COOKIE, "")
    return login if _LOGIN.fullmatch(login) else None


def login_url(why: str = "") -> str:
    """Return the address to log in at, which leads back to the page that is being built or used."""
    page = present_address()
    given = ({"next": page} if page != "/" else {}) | ({"why": why} if why else {})
    return f"{_WAY_IN}?{urlencode(given)}" if given else _WAY_IN


def way_back(page: str) -> str | None:
    """Return the page to go back to after logging in; None where it is no page of ours."""
    # Browsers pass over tabs and line breaks in an address: "/<tab>/elsewhere" is another host.
    is_ours = page.isprintable() and page.startswith("/") and not page.startswith(("//", "/\\", _WAY_IN))
    return page if is_ours else None
