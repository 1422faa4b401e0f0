"""``afterthought search``, ``index`` and ``tuning``: finding old messages, and how they are found."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cache
from inspect import Parameter, Signature
from typing import Annotated, Any

import typer
from rich.console import Group, RenderableType
from typer.core import TyperCommand
from typer.main import get_command

from loop.cli.invocation import AppArgument, Invocation, YesOption, command, confirm
from loop.cli.output import Columns, Row, at, card, plain, rounded, table
from loop.cli.routes import given, route
from shared.base.errors import Invalid

group = typer.Typer(help="The indexes by which old messages are found.", no_args_is_help=True)
tuning = typer.Typer(help="Show and change how retrieval and summaries work.", no_args_is_help=True)
DayOption = Annotated[
    datetime | None, typer.Option(formats=["%Y-%m-%d", "%Y-%m-%dT%H:%M:%S"], help="A day or a time, UTC.")
]
TunedAppOption = Annotated[str | None, typer.Option("--app", help="One app; else all of them.")]
_COLUMNS: Columns = {
    "score": rounded("score"),
    "said (UTC)": at("createdAt"),
    "by": lambda row: row["name"] or row["role"],
    "conversation": "conversationId",
    "message": "messageId",
    "kind": "kind",
    "content": "content",
}
_VECTOR_COLUMNS: Columns = {
    "vectors by": "model",
    "state": "state",
    "vectors": "vectors",
    "filled": lambda row: "" if row["progress"] is None else "{done} of {total}".format(**row["progress"]),
}
_STAGE_COLUMNS: Columns = {
    "stage": "stage",
    "count": "count",
    **{f"{name} (ms)": rounded(name, 1) for name in ("mean", "p50", "p95", "p99")},
}


def search(
    call: Invocation,
    app: AppArgument,
    query: Annotated[str, typer.Argument(help="What to look for, in your own words.")],
    conversation: Annotated[str | None, typer.Option(help="Look in this conversation first.")] = None,
    user: Annotated[str | None, typer.Option(help="Only this user's conversations.")] = None,
    role: Annotated[list[str] | None, typer.Option(help="user or assistant; may be given more than once.")] = None,
    since: DayOption = None,
    until: DayOption = None,
    tag: Annotated[list[str] | None, typer.Option(help="A tag of the conversation.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=200, help="Most results.")] = 10,
    explain: Annotated[bool, typer.Option("--explain", help="Say how each score came about.")] = False,
) -> None:
    """Search what was said in an app, by words and meaning."""
    days = {"since": since, "until": until}
    filters = given({name: day and day.replace(tzinfo=UTC).isoformat() for name, day in days.items()})
    filters |= {name: values for name, values in (("roles", role), ("tags", tag)) if values}
    body = {"query": query, "limit": limit, "explain": explain, "filters": filters}
    body |= given({"conversationId": conversation, "userId": user})
    columns: Columns = {**_COLUMNS, "why": _why} if explain else _COLUMNS

    def results(found: dict[str, Any]) -> RenderableType:
        parts = [table(found["results"], columns, "Nothing was found.")]
        if found["degraded"]:
            parts.append(plain(f"Done without: {', '.join(found['degraded'])}."))
            parts.append(plain(f"What there is: afterthought index status {app}; what is wrong: afterthought doctor."))
        return Group(*parts)

    call.show(call.service.post(route("apps", app, "search"), body), results)


@command(group, "status")
def show_status(call: Invocation, app: AppArgument) -> None:
    """Show how complete an app's indexes are."""
    call.show(call.service.get(route("apps", app, "indexes")), _status)


@command(group, "backfill")
def backfill(call: Invocation, app: AppArgument) -> None:
    """Bring an app's messages into the indexes that are not there yet."""
    job = call.service.post(route("apps", app, "indexes", "backfill"), {})
    call.done(job, f"{job['jobId']} does it; afterthought index status {app} shows how far it is.")


@command(group, "rebuild")
def rebuild(call: Invocation, yes: YesOption = False) -> None:
    """Make the word index of the whole installation anew."""
    confirm("Until it is filled again, old words are not found. Make the word index anew?", yes)
    rebuilt = call.service.post(route("api", "memory", "rebuild"), {})
    call.done(rebuilt, f"It is empty now; jobs that bring the messages in again: {rebuilt['apps']}.")


@command(group, "figures")
def show_figures(
    call: Invocation,
    app: Annotated[str | None, typer.Option(help="Only this app.")] = None,
    hours: Annotated[float, typer.Option(min=0.1, help="Of so many hours.")] = 24,
) -> None:
    """Show how retrievals went."""
    call.show(call.service.get(route("api", "memory", "metrics"), hours=hours, appId=app), _figures)


@command(tuning, "show")
def show_tuning(call: Invocation, app: TunedAppOption = None) -> None:
    """Show what is in force, and where each value comes from."""
    call.show(call.service.get(_tuning_route(app)), _values)


class TuningCommand(TyperCommand):
    """Takes an option for each value that can be tuned, and hands them on as the context's object.

    Which there are is found out when this command is called: every other one would start a tenth of a second later.
    """

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the options, after that of the app."""
        app, *shared = super().get_params(ctx)
        return [app, *_tuning_options(), *shared]

    def invoke(self, ctx: Any) -> Any:
        """Call the function."""
        # It was registered without these options, and would refuse them.
        ctx.obj = {option.name: ctx.params.pop(option.name) for option in _tuning_options()}
        return super().invoke(ctx)


@cache
def _tuning_options() -> list[Any]:
    from shared.base.search_settings import Tuning, meaning_of  # heavy, as said above

    def take(**_: Any) -> None: ...

    options = []
    for name, field in Tuning.model_fields.items():
        shown: Any = Annotated[field.annotation, typer.Option(help=f"{meaning_of(name)}.")]
        options.append(Parameter(name, Parameter.KEYWORD_ONLY, default=None, annotation=shown))
    take.__signature__ = Signature(options)  # type: ignore[attr-defined]
    parsed = typer.Typer(add_completion=False)
    parsed.command()(take)
    return get_command(parsed).params


@command(tuning, "set", cls=TuningCommand)
def set_tuning(call: Invocation, ctx: typer.Context, app: TunedAppOption = None) -> None:
    """Change what is given, at once and without a restart; numbers out of bounds are brought within them."""
    body = {_in_json(name): value for name, value in given(ctx.obj).items()}
    if not body:
        raise Invalid("Give at least one value to change; --help lists them.")
    call.show(call.service.patch(_tuning_route(app), body), _changed_values)


@command(tuning, "reset")
def reset_tuning(
    call: Invocation,
    app: TunedAppOption = None,
    names: Annotated[list[str] | None, typer.Argument(metavar="[NAME]...", help="Which, as shown; else all.")] = None,
) -> None:
    """Take changes back, so that what lies beneath is in force again."""
    from shared.base.search_settings import AppTuning, Tuning  # heavy, and not needed for --help of other commands

    every = [_in_json(name) for name in (Tuning if names or app is None else AppTuning).model_fields]
    if unknown := set(names or ()) - set(every):
        raise Invalid(f"{', '.join(sorted(unknown))}: no such value; there are {', '.join(every)}.")
    call.show(call.service.patch(_tuning_route(app), dict.fromkeys(names or every)), _values)


def _in_json(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(map(str.capitalize, others))


def _why(row: Row) -> str:
    parts = sorted((row["explanation"] or {}).items(), key=lambda part: -abs(part[1]))
    return ", ".join(f"{name} {value:.2f}" for name, value in parts if value)


def _status(status: dict[str, Any]) -> RenderableType:
    words = status["words"] if status["wordIndexPresent"] else "the word index is missing: afterthought index rebuild"
    fields = {"messages": status["messages"], "words of": words, "vectors still to make": status["unembedded"]}
    if status["backfill"]:
        fields["back-fill"] = "{done} of {total}".format(**status["backfill"])
    return Group(card(fields), table(status["vectors"], _VECTOR_COLUMNS, "No vectors yet."))


def _figures(figures: dict[str, Any]) -> RenderableType:
    gate = figures["gate"]
    wanting = [f"{name}: {way['why']}" for name, way in gate["ways"].items() if way["state"] != "passes"]
    if gate["summariesState"] != "passes":
        wanting.append("summaries: {summariesMade} made of {summariesAsked} asked for".format(**gate))
    fields = {
        "retrievals": figures["retrievals"],
        "found something": _share(figures["hitRate"]),
        "most alike": ", ".join(f"{one:.2f}" for one in figures["meanTopSimilarities"]) or "-",
        "token budget used": _share(figures["tokenBudgetUsed"]),
        "release gate": "\n".join([gate["state"].replace("_", " "), *wanting]),
    }
    stages = [{"stage": name, **took} for name, took in figures["durations"].items()]
    return Group(card(fields), table(stages, _STAGE_COLUMNS, "No retrievals yet."))


def _share(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.0f} %"


def _tuning_route(app: str | None) -> str:
    return route("api", "memory", "settings") if app is None else route("apps", app, "retrieval-settings")


def _values(found: dict[str, Any]) -> RenderableType:
    rows = [{"name": name, **value} for name, value in found.items() if isinstance(value, dict)]
    return table(rows, {"what": "name", "value": "value", "from": "source"})


def _changed_values(changed: dict[str, Any]) -> RenderableType:
    told = [plain(f"{name} was brought within its bounds.") for name in changed["clamped"]]
    told += [plain(changed["note"])] if changed["note"] else []
    return Group(_values(changed), *told)
