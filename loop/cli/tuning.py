"""``afterthought tuning``: how retrieval and summaries work, for all apps or for one; changed while it runs."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

import typer
from rich.console import Group, RenderableType

from loop.cli.invocation import Invocation, command, route
from loop.cli.output import plain, table
from shared.errors import Invalid

group = typer.Typer(help="Show and change how retrieval and summaries work.", no_args_is_help=True)
_App = Annotated[str | None, typer.Option("--app", help="One app; else all of them.")]
_EVERYTHING = (
    "hybrid", "chunking", "tokenBudget", "summaryFrequency", "formula", "alpha", "beta", "gamma", "metricsDays",
)  # fmt: skip
_ONLY_FOR_ALL = {"metricsDays"}


class Formula(StrEnum):
    """How results are ranked, as options take it."""

    SIGNALS = "signals"
    WEIGHTED = "weighted"


@command(group, "show")
def show_tuning(call: Invocation, app: _App = None) -> None:
    """Show what is in force, and where each value comes from."""
    found = call.service.get(_path(app))
    call.output.show(found, lambda: _table(found))


@command(group, "set")
def set_tuning(
    call: Invocation,
    app: _App = None,
    hybrid: Annotated[bool | None, typer.Option("--hybrid/--no-hybrid", help="Search words beside vectors.")] = None,
    chunking: Annotated[
        bool | None, typer.Option("--chunking/--no-chunking", help="Hand long messages out in passages.")
    ] = None,
    token_budget: Annotated[int | None, typer.Option(help="Most tokens of retrieved messages, 100 to 5000.")] = None,
    summary_frequency: Annotated[
        int | None, typer.Option(help="Messages of the assistant between summaries, 0 to 100; 0 is never.")
    ] = None,
    formula: Annotated[Formula | None, typer.Option(help="How results are ranked.")] = None,
    alpha: Annotated[float | None, typer.Option(help="Weight of the vectors; the three add up to 1.")] = None,
    beta: Annotated[float | None, typer.Option(help="Weight of the words.")] = None,
    gamma: Annotated[float | None, typer.Option(help="Weight of code identifiers.")] = None,
    metrics_days: Annotated[int | None, typer.Option(help="Days that figures are kept, 1 to 365.")] = None,
) -> None:
    """Change what is given, at once and without a restart; numbers out of bounds are brought within them."""
    given = (hybrid, chunking, token_budget, summary_frequency, formula, alpha, beta, gamma, metrics_days)
    body = {name: value for name, value in zip(_EVERYTHING, given, strict=True) if value is not None}
    if not body:
        raise Invalid("Give at least one value to change; --help lists them.")
    changed = call.service.patch(_path(app), body)
    call.output.show(changed, lambda: _with_clamped(changed))


@command(group, "reset")
def reset_tuning(
    call: Invocation,
    app: _App = None,
    names: Annotated[list[str] | None, typer.Argument(metavar="[NAME]...", help="Which, as shown; else all.")] = None,
) -> None:
    """Take changes back, so that what lies beneath is in force again."""
    if unknown := set(names or ()) - set(_EVERYTHING):
        raise Invalid(f"{', '.join(sorted(unknown))}: no such value; there are {', '.join(_EVERYTHING)}.")
    wanted = names or [name for name in _EVERYTHING if app is None or name not in _ONLY_FOR_ALL]
    changed = call.service.patch(_path(app), dict.fromkeys(wanted))
    call.output.show(changed, lambda: _table(changed))


def _path(app: str | None) -> str:
    return "/api/memory/settings" if app is None else route("apps", app, "retrieval-settings")


def _table(found: dict[str, Any]) -> RenderableType:
    rows = [{"name": name, **found[name]} for name in _EVERYTHING]
    return table(rows, {"what": "name", "value": "value", "from": "source"})


def _with_clamped(changed: dict[str, Any]) -> RenderableType:
    told = [plain(f"{name} was brought within its bounds.") for name in changed["clamped"]]
    told += [plain(changed["note"])] if changed["note"] else []
    return Group(_table(changed), *told)
