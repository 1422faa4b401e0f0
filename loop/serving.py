"""Serves HTTP until asked to stop, and stops in order.

On the first signal readiness turns false while requests are still taken; what was begun is finished, live streams end,
leadership goes to another loop, and only then the listeners close. A second signal ends the process at once, and so
does the clock when something hangs.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import math
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Generator
from typing import Any

import uvicorn

from loop.api.app import build_api
from loop.ui.pages import Pages
from loop.wiring import Loop
from shared.telemetry.logging import get_logger

ECHO_SECONDS = 1.0
"""A signal so soon after another is the same wish: a terminal and a supervisor may both pass it on."""
STOPPING_SECONDS = 4.0
"""How much longer than ``drain_seconds`` a stop may take, whatever hangs."""
_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_DATE_SECONDS = 1.0


class Server(uvicorn.Server):
    """A server of one loop."""

    def __init__(self, config: uvicorn.Config, loop: Loop, pages: Pages | None = None) -> None:
        super().__init__(config)
        self._loop = loop
        self._pages = pages
        self._stop_requested = asyncio.Event()
        self._stop_requested_at = 0.0
        self._log = get_logger()

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        """Heed signals between two events, where nothing is half done; the caller is the main thread."""
        events = asyncio.get_running_loop()
        for number in _SIGNALS:
            events.add_signal_handler(number, self._heed, number)
        try:
            yield
        finally:
            for number in _SIGNALS:
                events.remove_signal_handler(number)

    async def main_loop(self) -> None:
        """Wait to be asked to stop, waking only to bring the date of the answers up to date."""
        # Always tick 0: only at every tenth does uvicorn bring the date up to date.
        while not await self.on_tick(0):
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._stop_requested.wait(), _DATE_SECONDS)
            if self._stop_requested.is_set():
                # Finish what was begun before the signal; what comes now is served too, but not waited for here.
                seconds = self._loop.settings.drain_seconds
                until = time.monotonic() + seconds
                # A page that is looked at is never finished.
                begun = set(self.server_state.tasks) - (self._pages.open if self._pages else set())
                # In a thread, as it waits, and the requests that were begun have to go on meanwhile.
                drained = asyncio.to_thread(self._loop.drain, seconds)
                finished = asyncio.wait(begun, timeout=seconds) if begun else asyncio.sleep(0)
                await asyncio.gather(drained, finished)
                # uvicorn waits for connections once more, and has what is left of the time.
                self.config.timeout_graceful_shutdown = max(1, math.ceil(until - time.monotonic()))
                return

    def _heed(self, number: int) -> None:
        if self._loop.draining.is_set():
            if time.monotonic() - self._stop_requested_at > ECHO_SECONDS:
                _end_now(128 + number)
            return
        self._stop_requested_at = time.monotonic()
        self._loop.draining.set()
        self._log.info("loop_stopping", drain_seconds=self._loop.settings.drain_seconds)
        last_resort = threading.Timer(self._loop.settings.drain_seconds + STOPPING_SECONDS, _give_up)
        last_resort.daemon = True
        last_resort.start()
        self._stop_requested.set()


def serve(loop: Loop, listener: socket.socket) -> None:
    """Serve a loop's HTTP interface on a socket until a signal says to stop."""
    # NiceGUI looks through all objects as it starts, for a server it would not find, and so holds on to tuples that
    # other threads are still filling: those threads end with a SystemError (python/cpython issue 59313).
    gc.get_objects = _no_objects
    address = listener.getsockname()
    get_logger().info("loop_started", host=address[0], port=address[1])
    interface = build_api(loop)
    pages = Pages(interface, loop.metrics) if loop.settings.serves_pages else None
    config = uvicorn.Config(
        pages or interface,
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=int(loop.settings.drain_seconds) or 1,
        timeout_keep_alive=30,
    )
    Server(config, loop, pages).run(sockets=[listener])


def _no_objects(generation: int | None = None) -> list[Any]:
    return []


def _give_up() -> None:
    # Everything that matters is in the database, and what holds the process up would hold it for longer still.
    get_logger().warning("loop_stopped_unfinished")
    _end_now(0)


def _end_now(status: int) -> None:
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)
