"""Following a job about recorded sessions until it has ended, with a bar that shows how far it has come."""

from __future__ import annotations

import time
from typing import Any

from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from loop.cli.invocation import Invocation, route
from loop.cli.output import progress_terminal
from shared.errors import Conflict

_POLL_SECONDS = 0.3
_FINISHED = {"done", "nothing", "dead", "cancelled"}


def follow(call: Invocation, app: str, job_id: str, what: str) -> dict[str, Any]:
    """Wait for a job and return it. Raises: Conflict where it ended without its result."""
    bars = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    terminal = progress_terminal()
    with Progress(*bars, console=terminal, disable=not terminal.is_terminal, transient=True) as progress:
        bar = progress.add_task(what, total=None)
        while (job := _look(call, app, job_id))["state"] not in _FINISHED:
            how_far = job["progress"]
            waits = f" ({job['reason']})" if job.get("reason") else ""
            progress.update(bar, completed=how_far["done"], total=how_far["total"] or None, description=what + waits)
            time.sleep(_POLL_SECONDS)
    if job["state"] not in ("done", "nothing"):
        raise Conflict(f"{what}: job {job_id} is {job['state']}: {job.get('reason') or 'no reason was given'}")
    return job


def _look(call: Invocation, app: str, job_id: str) -> dict[str, Any]:
    found: dict[str, Any] = call.patient_service.get(route("api", "memory", "jobs", job_id), appId=app)
    return found
