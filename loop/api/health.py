"""Looks at each dependency by name, and says what is wrong and how to mend it.

A missing worker is named but does not make the loop unready: apps are served, and jobs wait without harm until one is
back. Their age is a metric with an alert.
"""

from __future__ import annotations

from pydantic import Field

from loop.api.schema import ResponseModel
from loop.leadership import LeaderState
from loop.ticker import LATE_SECONDS
from loop.wiring import Loop
from shared.base.errors import Transient
from shared.base.installation import release
from shared.broker import BROKER_ERRORS
from shared.energy.breaker import ModelPause, find_pause
from shared.llm.calls import EXTRACTIVE
from shared.llm.providers import server_status, split_model


class Live(ResponseModel):
    """The process answers."""

    status: str = "live"


class Dependency(ResponseModel):
    """Whether one thing the loop needs is there."""

    ok: bool
    needed: bool = Field(description="Whether readiness depends on it.")
    detail: str = Field(description="What was found, and what to do where it is not well.")


class Ready(ResponseModel):
    """Whether the loop can serve, and why not."""

    ready: bool
    version: str
    agent: str = Field(description="Who writes memories: extractive, or the model.")
    dependencies: dict[str, Dependency]


def look(loop: Loop) -> Ready:
    seconds = max(LATE_SECONDS, 10 * loop.settings.tick_seconds)
    ticker = (
        Dependency(ok=False, needed=True, detail=f"No tick has finished for {seconds:g} s; see the loop's log.")
        if loop.ticker.is_late(seconds)
        else Dependency(ok=True, needed=True, detail="The loop ticks.")
    )
    found = {"database": _database(loop), "redis": _redis(loop), "ticker": ticker, "worker": _worker(loop)}
    if loop.leadership.fence is not None:
        detail = "This loop regulates."
    elif loop.leadership.standing is LeaderState.STANDBY:
        detail = f"Another loop ({loop.leadership.holder}) regulates; this one is on standby."
    else:
        detail = "No loop is known to regulate yet."
    found["regulator"] = Dependency(ok=True, needed=False, detail=detail)
    if loop.draining.is_set():
        found["loop"] = Dependency(ok=False, needed=True, detail="It was asked to stop and finishes what it began.")
    model, pause, has_rules = loop.settings.model, None, loop.settings.on_bad_output == "rules"
    if model is not None:
        pause = _pause(loop, model)
        status = server_status(model, loop.settings)
        detail = status.remedy or f"{status.found} has {status.model}."
        if pause is not None:
            detail += (
                f" It {pause.describe(loop.clock.now(), has_rules=has_rules)}. `afterthought doctor` says what to do."
            )
        # Not needed for readiness, as with a worker: jobs wait without harm until it is back.
        found[split_model(model)[0]] = Dependency(ok=status.ready and pause is None, needed=False, detail=detail)
    return Ready(
        ready=all(one.ok for one in found.values() if one.needed),
        version=release(),
        agent=EXTRACTIVE if model is None or (pause is not None and has_rules) else model,
        dependencies=found,
    )


def _database(loop: Loop) -> Dependency:
    kind = "SQLite" if loop.database.is_sqlite else "PostgreSQL"
    try:
        loop.database.look()
    except Transient as error:
        return Dependency(ok=False, needed=True, detail=f"{kind}: {error.message}")
    return Dependency(ok=True, needed=True, detail=f"{kind} answers and takes writes.")


def _redis(loop: Loop) -> Dependency:
    try:
        loop.redis.ping()
    except BROKER_ERRORS as error:
        detail = f"Redis does not answer ({type(error).__name__}); jobs wait until it does. Check REDIS_URL."
        return Dependency(ok=False, needed=True, detail=detail)
    return Dependency(ok=True, needed=True, detail="Redis answers.")


def _worker(loop: Loop) -> Dependency:
    try:
        names = loop.workers()
    except BROKER_ERRORS:
        return Dependency(ok=False, needed=False, detail="Workers cannot be asked for while Redis does not answer.")
    if not names:
        detail = "No worker was heard lately; jobs wait. Start one: afterthought worker"
        return Dependency(ok=False, needed=False, detail=detail)
    return Dependency(ok=True, needed=False, detail=f"Listening: {', '.join(names)}.")


def _pause(loop: Loop, model: str) -> ModelPause | None:
    try:
        with loop.database.read() as session:
            return find_pause(session, model)
    except Transient:
        return None  # What is wrong with the database is said of the database.
