"""How much of the loop one app may have at once, so that its load is not felt by the others.

Every request of an app counts while it is in flight, and one too many is refused (429). A user's own token may have a
quarter of them, so that one user is not the whole app. Searching, recalling, taking in files and reading them cost the
most: of those an app has a few done at a time, and some more that wait for their turn a while. Who waits and leaves is
dropped, without a thread having been taken, and a search whose client leaves is given up. Requests that name no app are
the admin's own, and the installation's probes: they are not bounded.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from time import monotonic

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from loop.api.errors import TOO_MANY, answer_error
from loop.api.policy import Trait, policy_of
from shared.apps.queries import Caller
from shared.base.errors import AfterthoughtError, Limit
from shared.base.process import Client, working_for
from shared.base.setting_groups import HttpSettings
from shared.telemetry.logging import get_logger
from shared.telemetry.metrics import Metrics, Refusal

_USERS_PART = 4
_Holder = tuple[str, str | None]
"""An app, or one of its users."""


_TOLD_AGAIN_SECONDS = 60.0


@dataclass
class _Refusals:
    """Counts what an app is refused, and has the log name the app, once a minute: the metric names none."""

    metrics: Metrics
    told: dict[str, float] = field(default_factory=dict)

    def note(self, app_id: str, why: Refusal, error: AfterthoughtError) -> None:
        self.metrics.http_refused.labels(why).inc()
        if monotonic() - self.told.get(app_id, float("-inf")) >= _TOLD_AGAIN_SECONDS:
            self.told[app_id] = monotonic()
            get_logger().warning("app_refused", app_id=app_id, why=error.message)


class Admission:
    """ASGI middleware within the guard: refuses what is too much, before a body is read."""

    def __init__(self, app: ASGIApp, settings: HttpSettings, metrics: Metrics) -> None:
        self._app = app
        self._settings = settings
        self._refusals = _Refusals(metrics)
        self._in_flight: Counter[_Holder] = Counter()
        self._listening: Counter[_Holder] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        app_id = _app_of(scope) if scope["type"] == "http" else None
        if app_id is None:
            await self._app(scope, receive, send)
            return
        counted, most = self._in_flight, self._settings.app_requests
        if Trait.WAITS in policy_of(scope).traits:
            counted, most = self._listening, self._settings.app_streams
        bounds: dict[_Holder, int] = {(app_id, None): most}
        caller: Caller | None = scope["state"].get("caller")
        if caller is not None and caller.user_id is not None:
            bounds[app_id, caller.user_id] = max(1, most // _USERS_PART)
        for (_, user_id), bound in bounds.items():
            if counted[app_id, user_id] >= bound:
                who = "This app" if user_id is None else "This user"
                error = _too_many(f"{bound} requests are in flight already", who)
                self._refusals.note(app_id, Refusal.IN_FLIGHT, error)
                await answer_error(error, scope)(scope, receive, send)
                return
        # Nothing is awaited since the look, so on the one event loop nobody comes in between.
        counted.update(bounds.keys())
        try:
            await self._app(scope, receive, send)
        finally:
            for key in bounds:
                counted[key] -= 1
                if not counted[key]:
                    del counted[key]


class ConcurrencyLimit:
    """ASGI middleware within the body gate: has costly requests of an app done a few at a time."""

    def __init__(self, app: ASGIApp, settings: HttpSettings, metrics: Metrics) -> None:
        self._app = app
        self._settings = settings
        self._metrics = metrics
        self._refusals = _Refusals(metrics)
        self._turns: dict[str, asyncio.Semaphore] = {}
        self._users: Counter[str] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_costly = scope["type"] == "http" and Trait.COSTLY in policy_of(scope).traits
        app_id = _app_of(scope) if is_costly else None
        if app_id is None:
            await self._app(scope, receive, send)
            return
        buffered = _BufferedReceive(receive)
        try:
            async with self._turn(app_id, buffered) as is_there:
                if is_there:
                    client = Client()
                    watching = asyncio.ensure_future(buffered.note_leaving(client))
                    try:
                        with working_for(client):
                            await self._app(scope, buffered.receive, send)
                    finally:
                        watching.cancel()
                        if client.was_given_up:
                            self._metrics.http_refused.labels(Refusal.LEFT).inc()
        except AfterthoughtError as error:
            self._refusals.note(app_id, Refusal.TURN, error)
            await answer_error(error, scope)(scope, receive, send)

    @asynccontextmanager
    async def _turn(self, app_id: str, buffered: _BufferedReceive) -> AsyncIterator[bool]:
        """Wait for a turn; whether the client is still there then. Raises: Limit."""
        most = self._settings.app_costly_requests
        turns = self._turns.setdefault(app_id, asyncio.Semaphore(most))
        self._users[app_id] += 1
        try:
            # Where one is free it is had at once; only who has to wait is watched for leaving.
            is_there = not turns.locked()
            if is_there:
                await turns.acquire()
            else:
                is_there = await self._wait(turns, buffered)
            try:
                yield is_there
            finally:
                if is_there:
                    turns.release()
        finally:
            self._users[app_id] -= 1
            if not self._users[app_id]:
                # With the last one, or apps that are gone would leave theirs behind.
                del self._users[app_id], self._turns[app_id]

    async def _wait(self, turns: asyncio.Semaphore, buffered: _BufferedReceive) -> bool:
        """Wait for a turn until the client leaves; whether it was had. Raises: Limit, after too long."""
        turn, leaving = asyncio.ensure_future(turns.acquire()), asyncio.ensure_future(buffered.leaving())
        is_used = False
        try:
            await asyncio.wait(
                (turn, leaving), timeout=self._settings.app_wait_seconds, return_when=asyncio.FIRST_COMPLETED
            )
            if turn.done() and not leaving.done():
                is_used = True
                return True
            if leaving.done():
                self._metrics.http_refused.labels(Refusal.LEFT).inc()
                return False
            raise _too_many(f"{self._settings.app_costly_requests} such requests are at work, and others wait")
        finally:
            for one in (turn, leaving):
                one.cancel()
            # Waited for, as one that still listens would take a message from the route.
            await asyncio.gather(turn, leaving, return_exceptions=True)
            # Had after all, at the moment at which nobody waited for it any more.
            if not is_used and not turn.cancelled():
                turns.release()


class _BufferedReceive:
    """What a client sends: its body is kept for the route while it is listened whether the client leaves."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._kept: list[Message] = []
        self._has_left = False
        self._is_whole = asyncio.Event()

    async def leaving(self) -> None:
        """Return once the client has left; never for one that sends a file, which is not read before its turn."""
        while not self._has_left:
            if self._kept and self._kept[-1].get("more_body"):
                await asyncio.Event().wait()
            message = await self._receive()
            self._has_left = message["type"] == "http.disconnect"
            self._kept.append(message)

    async def note_leaving(self, client: Client) -> None:
        """Note whether the client leaves once the route has its body: until then the route listens itself."""
        await self._is_whole.wait()
        message = await self._receive()
        client.has_left = message["type"] == "http.disconnect"

    async def receive(self) -> Message:
        message = self._kept.pop(0) if self._kept else await self._receive()
        if not message.get("more_body"):
            self._is_whole.set()
        return message


def _app_of(scope: Scope) -> str | None:
    caller: Caller | None = scope["state"].get("caller")
    return caller.app_id if caller is not None and caller.app_id else policy_of(scope).app_named(scope)


def _too_many(why: str, who: str = "This app") -> Limit:
    return Limit(f"{who} asks for too much at once: {why}. Try again after Retry-After.", code=TOO_MANY)
