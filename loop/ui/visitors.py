"""Who has logged in: a token for each browser, in memory alone; gone on demand, when idle, and with the process."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from time import monotonic

from nicegui import app, ui

from afterthought_client import ApiError, AsyncAfterthought

_IDLE_SECONDS = 12 * 3600.0
_UNAUTHENTICATED = 401


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
        self._known: dict[str, Visitor] = {}

    async def log_in(self, token: str) -> Visitor:
        """Remember this browser's token. Raises: ApiError where the service knows no such token, ValueError."""
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

    async def tell(self, error: Exception) -> None:
        """Show an error of the service's; who is not known any more goes to the way in."""
        if isinstance(error, ApiError) and error.status == _UNAUTHENTICATED and self.current() is not None:
            await self.log_out()
            ui.navigate.to("/login")
            return
        message = error.message if isinstance(error, ApiError) else str(error)
        ui.notify(message, type="negative", multi_line=True, close_button="Close", timeout=10_000)


def _browser() -> str:
    name: str = app.storage.browser["id"]
    return name
