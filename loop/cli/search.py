"""``afterthought search`` and ``afterthought index``: finding old messages, and the indexes they are found by."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any

import typer
from rich.console import Group, RenderableType

from loop.cli.invocation import AppArgument, Invocation, YesOption, command, confirm, route
from loop.cli.output import Cell, Columns, Row, at, card, plain, table

group = typer.Typer(help="The indexes by which old messages are found.", no_args_is_help=True)
_Day = Annotated[datetime | None, typer.Option(formats=["%Y-%m-%d", "%Y-%m-%dT%H:%M:%S"], help="A day or a time, UTC.")]
_COLUMNS: Columns = {
    "score": lambda row: f"{row['score']:.2f}",
    "said (UTC)": at("createdAt"),
    "by": lambda row: row["name"] or row["role"],
    "conversation": "conversationId",
    "message": "messageId",
    "kind": "kind",
    "content": "content",
}


def add_search(program: typer.Typer) -> None:
    """Add ``search`` to the program."""
    command(program, "search")(search)


def search(
    call: Invocation,
    app: AppArgument,
    query: Annotated[str, typer.Argument(help="What to look for, in your own words.")],
    conversation: Annotated[str | None, typer.Option(help="Look in this conversation first.")] = None,
    user: Annotated[str | None, typer.Option(help="Only this user's conversations.")] = None,
    role: Annotated[list[str] | None, typer.Option(help="user or assistant; may be given more than once.")] = None,
    since: _Day = None,
    until: _Day = None,
    tag: Annotated[list[str] | None, typer.Option(help="A tag of the conversation.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=200, help="Most results.")] = 10,
    explain: Annotated[bool, typer.Option("--explain", help="Say how each score came about.")] = False,
) -> None:
    """Search what was said in an app, by words and meaning."""
    filters: dict[str, Any] = {"roles": role, "tags": tag, "since": _moment(since), "until": _moment(until)}
    asked = {"conversationId": conversation, "userId": user}
    body = {name: value for name, value in asked.items() if value is not None} | {
        "query": query,
        "limit": limit,
        "explain": explain,
        "filters": {name: value for name, value in filters.items() if value},
    }
    found = call.service.post(route("apps", app, "search"), body)
    call.output.show(found, lambda: _found(found, app, explain))


@command(group, "status")
def show_status(call: Invocation, app: AppArgument) -> None:
    """Show how complete an app's indexes are."""
    status = call.service.get(route("apps", app, "indexes"))
    call.output.show(status, lambda: _status(status))


@command(group, "backfill")
def backfill(call: Invocation, app: AppArgument) -> None:
    """Bring an app's messages into the indexes that are not there yet."""
    job = call.service.post(route("apps", app, "indexes", "backfill"), {})
    call.output.done(job, f"{job['jobId']} does it; afterthought index status {app} shows how far it is.")


@command(group, "rebuild")
def rebuild(call: Invocation, yes: YesOption = False) -> None:
    """Make the word index of the whole installation anew."""
    confirm("Until it is filled again, old words are not found. Make the word index anew?", yes)
    made = call.service.post(route("api", "memory", "rebuild"), {})
    call.output.done(made, f"It is empty now; jobs that bring the messages in again: {made['apps']}.")


@command(group, "figures")
def show_figures(
    call: Invocation,
    app: Annotated[str | None, typer.Option(help="Only this app.")] = None,
    hours: Annotated[float, typer.Option(min=0.1, help="Of so many hours.")] = 24,
) -> None:
    """Show how retrievals went."""
    figures = call.service.get(route("api", "memory", "metrics"), hours=hours, appId=app)
    call.output.show(figures, lambda: _figures(figures))


def _moment(day: datetime | None) -> str | None:
    return None if day is None else day.replace(tzinfo=UTC).isoformat()


def _found(found: dict[str, Any], app: str, explain: bool) -> RenderableType:
    columns: Columns = {**_COLUMNS, "why": _why} if explain else _COLUMNS
    shown: list[RenderableType] = [table(found["results"], columns, "Nothing was found.")]
    if found["degraded"]:
        shown.append(plain(f"Done without: {', '.join(found['degraded'])}."))
        shown.append(plain(f"What there is: afterthought index status {app}; what is wrong: afterthought doctor."))
    return Group(*shown)


def _why(row: Row) -> str:
    parts = sorted((row["explanation"] or {}).items(), key=lambda part: -abs(part[1]))
    return ", ".join(f"{name} {value:.2f}" for name, value in parts if value)


def _status(status: dict[str, Any]) -> RenderableType:
    words = status["words"] if status["wordIndexPresent"] else "the word index is missing: afterthought index rebuild"
    fields = {"messages": status["messages"], "words of": words, "vectors still to make": status["unembedded"]}
    if status["backfill"]:
        fields["back-fill"] = "{done} of {total}".format(**status["backfill"])
    sets = status["vectors"]
    columns: Columns = {"vectors by": "model", "state": "state", "vectors": "vectors", "filled": _progress}
    return Group(card(fields), table(sets, columns, "No vectors yet."))


def _progress(row: Row) -> str:
    return "" if row["progress"] is None else "{done} of {total}".format(**row["progress"])


def _figures(figures: dict[str, Any]) -> RenderableType:
    stages = [{"stage": name, **took} for name, took in figures["durations"].items()]
    columns: Columns = {
        "stage": "stage",
        "count": "count",
        **{f"{name} (ms)": _to_tenths(name) for name in ("mean", "p50", "p95", "p99")},
    }
    told = {
        "retrievals": figures["retrievals"],
        "found something": _share(figures["hitRate"]),
        "most alike": ", ".join(f"{one:.2f}" for one in figures["meanTopSimilarities"]) or "-",
        "token budget used": _share(figures["tokenBudgetUsed"]),
        "release gate": _gate(figures["gate"]),
    }
    return Group(card(told), table(stages, columns, "No retrievals yet."))


def _gate(gate: dict[str, Any]) -> str:
    wanting = [f"{name}: {way['why']}" for name, way in gate["ways"].items() if way["state"] != "passes"]
    if gate["summariesState"] != "passes":
        wanting.append("summaries: {summariesMade} made of {summariesAsked} asked for".format(**gate))
    return "\n".join([gate["state"].replace("_", " "), *wanting])


def _to_tenths(name: str) -> Cell:
    return lambda row: f"{row[name]:.1f}"


def _share(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.0f} %"
