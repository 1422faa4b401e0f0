"""``afterthought energy``: the level of the installation, or what one app has spent."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.console import RenderableType

from loop.cli.invocation import Invocation, command, route
from loop.cli.output import card, moment


def add_to(program: typer.Typer) -> None:
    """Add the command."""
    command(program, "energy")(energy)


def energy(
    call: Invocation, app: Annotated[str | None, typer.Option("--app", help="One app's spending.")] = None
) -> None:
    """Show the energy level, or with --app what an app has spent."""
    found = call.service.get("/energy" if app is None else route("apps", app, "energy"))
    call.output.show(found, lambda: _level(found) if app is None else _spending(found))


def _level(found: dict[str, Any]) -> RenderableType:
    share, wait = found.get("memoryShare"), found.get("secondsUntilOpen")
    return card(
        {
            "level": f"{found['level']:.1f} ({found['status']})",
            "reserved": f"{found.get('reserved', 0):g}",
            "refill": f"{found['replenishPerSecond']:g} units per second",
            "memory work starts above": f"{found.get('gatePercent', 20):g} %",
            "deferred jobs": found["deferredJobs"],
            "memory work's share, 24 h": None if share is None else f"{share:.1%}",
            "memory work may start": "now" if wait == 0 else "never" if wait is None else f"in {wait:.0f} s",
        }
    )


def _spending(found: dict[str, Any]) -> RenderableType:
    return card(
        {
            "total": found["total"],
            "last 24 hours": found["last24h"],
            "last hour": found["last1h"],
            "last minute": found["last1min"],
            "by kind": found["byKind"] or None,
            "hourly budget": found["hourlyBudget"],
            "daily budget": found["dailyBudget"],
            "held until (UTC)": moment(found.get("heldUntil")) or None,
        }
    )
