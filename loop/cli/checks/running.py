"""The running service: whether the loop answers and is ready, who works its queue, and whether jobs are dead."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Any

import httpx

from loop.cli.checks.finding import Finding, fail, ok, warn
from loop.cli.invocation import Invocation
from loop.embedded_redis import is_free
from shared.errors import AfterthoughtError
from shared.settings import Settings

_TIMEOUT_SECONDS = 5.0
_SKEW_SECONDS = 5.0
_START = "Start it with ./ops/up (or `afterthought up`)."


def check_service(call: Invocation, now: datetime) -> list[Finding]:
    """Look whether the loop answers, what it says about itself, and whether jobs came to nothing."""
    try:
        response = httpx.get(f"{call.url}/health/ready", timeout=_TIMEOUT_SECONDS, trust_env=False)
        said = response.json()
    except AfterthoughtError as error:
        return [fail("service", "its address is not known", error.message)]
    except httpx.HTTPError:
        return [_nobody_there(call)]
    except ValueError:
        said = None
    if not isinstance(said, dict) or not isinstance(said.get("dependencies"), dict):
        mend = "Stop it, or set AFTERTHOUGHT_PORT to another port."
        return [fail("service", f"something else answers at {call.url}", mend)]
    return [*_readiness(call.url, said), *_skew(response, now), *_worker(said), *_dead_jobs(call)]


def _nobody_there(call: Invocation) -> Finding:
    settings = call.settings
    if settings.port and not _is_free(settings):
        mend = "Stop what holds the port, or set AFTERTHOUGHT_PORT to another one, or to 0 for any free one."
        return fail("service", f"port {settings.port} on {settings.host} is taken by what does not speak HTTP", mend)
    return fail("service", f"nothing answers at {call.url}", _START)


def _is_free(settings: Settings) -> bool:
    try:
        return is_free(settings.host, settings.port)
    except OSError:
        return True


def _readiness(url: str, said: dict[str, Any]) -> Iterator[Finding]:
    if said.get("ready"):
        yield ok("service", f"ready at {url}, version {said.get('version')}")
    else:
        yield fail("service", f"answers at {url} but is not ready", "The lines below say what it needs.")
    for name, one in said["dependencies"].items():
        if not one.get("ok"):
            state = fail if one.get("needed") else warn
            yield state(f"service: {name}", "the service cannot use it", str(one.get("detail")))


def _skew(response: httpx.Response, now: datetime) -> Iterator[Finding]:
    if "date" in response.headers:
        seconds = abs((parsedate_to_datetime(response.headers["date"]) - now).total_seconds())
        if seconds > _SKEW_SECONDS:
            mend = "Set both clocks by NTP; dates in memories are the service's."
            yield warn("clock", f"this machine and the service differ by {seconds:.0f} s", mend)


def _worker(said: dict[str, Any]) -> Iterator[Finding]:
    worker = said["dependencies"].get("worker", {})
    if worker.get("ok"):
        yield ok("worker", str(worker.get("detail")))


def _dead_jobs(call: Invocation) -> Iterator[Finding]:
    try:
        dead = list(call.service.listing("/jobs", "jobs", 1, state="dead"))
    except AfterthoughtError as error:
        yield warn("jobs", "they could not be looked at", error.message)
        return
    if dead:
        yield warn("jobs", f"the latest dead one: {dead[0].get('reason')}", "See: afterthought jobs list --state dead")
