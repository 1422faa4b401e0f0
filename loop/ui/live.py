"""Shows what others change: one stream of events for each page, and what of it is to be shown anew."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection
from time import monotonic

from nicegui import background_tasks, ui

from loop.ui.frame import PageView
from loop.ui.visitors import ENDED, way_in

Refresh = Callable[[], Awaitable[None]]
_GAP = "gap"
_SETTLE_SECONDS = 0.15
"""Several changes at once are shown once."""
_SHARE, _MOST_SECONDS = 0.1, 1.0
"""Of the time, what all open pages together may take to show changes; and what one showing counts for at the most."""
_free_at = 0.0
"""When the next page may show changes: their requests are carried out by the process that answers everybody else's."""


class PageEvents:
    """One page's stream of events: an app's, or (without one) those of all with the energy.

    It ends with the page, and when its visitor has logged out.
    """

    def __init__(self, view: PageView) -> None:
        self._view = view
        self._client = ui.context.client
        self._listeners: list[tuple[frozenset[str], Refresh]] = []
        self._happened: set[str] = set()
        self._news = asyncio.Event()
        self._cost = 0.0
        tasks = [background_tasks.create(one, name="events of a page") for one in (self._listen(), self._show())]
        self._client.on_delete(lambda: [task.cancel() for task in tasks])

    def on(self, kinds: Collection[str], refresh: Refresh) -> None:
        """Have something shown anew after events of these kinds."""
        self._listeners.append((frozenset(kinds), refresh))

    async def _listen(self) -> None:
        with self._client:
            try:
                async with self._view.errors_told():
                    client = self._view.client
                    async for event in client.follow_app() if self._view.app_id else client.follow_all():
                        # Of a gap nobody knows what was in it.
                        if event.kind == _GAP or any(event.kind in kinds for kinds, _ in self._listeners):
                            self._happened.add(event.kind)
                            self._news.set()
            except RuntimeError:
                # Raised by a client that was closed, as it is when its visitor logs out in another tab.
                if self._view.visitors.current() is self._view.visitor:
                    raise
            # Also where another call of this page was the first to find the token revoked.
            if self._view.visitors.current() is not self._view.visitor:
                ui.navigate.to(way_in(ENDED))

    async def _show(self) -> None:
        while True:
            await self._news.wait()
            await asyncio.sleep(_SETTLE_SECONDS)
            await _wait_for_a_turn(self._cost)
            self._news.clear()
            happened, self._happened = self._happened, set()
            began = monotonic()
            with self._client:
                if self._view.visitors.current() is not self._view.visitor:
                    ui.navigate.to(way_in(ENDED))
                    return
                for kinds, refresh in self._listeners:
                    if happened & kinds or _GAP in happened:
                        async with self._view.errors_told():
                            await refresh()
            self._cost = min(monotonic() - began, _MOST_SECONDS)


async def _wait_for_a_turn(cost: float) -> None:
    """Wait until showing something anew, which takes so many seconds, leaves the interface most of its time."""
    global _free_at
    start = max(monotonic(), _free_at)
    _free_at = start + cost / _SHARE
    await asyncio.sleep(start - monotonic())


def live(view: PageView) -> PageEvents:
    """Return the stream of the page that is being built; there is one of each app."""
    held = ui.context.client.storage
    key = f"live of {view.app_id}"
    if key not in held:
        held[key] = PageEvents(view)
    found: PageEvents = held[key]
    return found
