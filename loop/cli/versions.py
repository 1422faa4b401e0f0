"""``afterthought sessions``: compressing sessions into versions, reading and removing these."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

import typer
from rich.console import Group, RenderableType

from loop.cli.events import follow
from loop.cli.invocation import AllOption, AppArgument, Invocation, LimitOption, YesOption, command, confirm
from loop.cli.output import Columns, at, card, plain, table
from loop.cli.sessions import SessionArgument, group, memory
from shared.errors import Invalid

VersionArgument = Annotated[str, typer.Argument(metavar="VERSION", help="The version's id, as v001.")]
_MOST_TIER_PARTS = 3
_VERSION_COLUMNS: Columns = {
    "version": "versionId",
    "made (UTC)": at("createdAt"),
    "how": lambda row: _how(row["settings"]),
    "from": lambda row: row["sourceVersion"] or "original",
    "tokens": "outputTokens",
    "messages": "outputMessages",
    "ratio": lambda row: f"{row['compressionRatio']:.1f}",
    "marked": lambda row: _marked(row["keepitStats"]),
    "by": "agent",
    "uses": "uses",
    "last used": at("lastUsed"),
}
_JOB_COLUMNS: Columns = {
    "job": "jobId",
    "kind": "kind",
    "session": "sessionId",
    "version": "versionId",
    "composition": "compositionId",
    "state": "state",
    "parts": lambda row: f"{row['progress']['done']}/{row['progress']['total']}" if row["progress"]["total"] else "",
    "asked (UTC)": at("createdAt"),
    "finished": at("finishedAt"),
    "why": "reason",
}
_MARKER_COLUMNS: Columns = {
    "marker": "markerId",
    "weight": lambda row: f"{row['weight']:.2f}",
    "fate": lambda row: "survives" if row["survives"] else "is summarised",
}

_LEVELS = {"light": "minimal"}
"""What decay calls otherwise than compressions do."""


class Keepit(StrEnum):
    """What becomes of marked parts."""

    DECAY = "decay"
    PRESERVE_ALL = "preserve-all"
    IGNORE = "ignore"


class Shape(StrEnum):
    """How a version is printed."""

    MARKDOWN = "markdown"
    JSONL = "jsonl"


@command(group, "compress", "Versions")
def compress_session(
    call: Invocation,
    app: AppArgument,
    session: SessionArgument,
    ratio: Annotated[int | None, typer.Option(min=2, max=100, help="One ratio for all of it, as 10 for 10:1.")] = None,
    preset: Annotated[str | None, typer.Option(help="Tiers by name: gentle, standard or aggressive.")] = None,
    tiers: Annotated[str | None, typer.Option(help="Tiers of your own, as 50:20:aggressive,100:5:minimal.")] = None,
    level: Annotated[str | None, typer.Option(help="With --ratio: minimal (or light), moderate or aggressive.")] = None,
    keepit: Annotated[Keepit | None, typer.Option(help="What becomes of marked parts.")] = None,
    distance: Annotated[int, typer.Option(min=1, max=1000, help="How many sessions ago it was; 1 is the latest.")] = 1,
    skip: Annotated[int, typer.Option(min=0, help="Messages at the beginning to leave out.")] = 0,
    model: Annotated[str | None, typer.Option(help="Who compresses: extractive, or the model of the settings.")] = None,
    source: Annotated[str | None, typer.Option("--from", help="A version to make it from, as v001.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would come of it.")] = False,
    no_wait: Annotated[bool, typer.Option("--no-wait", help="Do not wait until it is there.")] = False,
) -> None:
    """Compress a session into a new version."""
    body = _settings(ratio, level, preset, tiers) | {"sessionDistance": distance, "skipFirstMessages": skip}
    more = {"keepitMode": keepit, "model": model, "sourceVersion": source, "dryRun": dry_run or None}
    body |= {name: value for name, value in more.items() if value is not None}
    path = memory("sessions", session, "versions")
    asked = call.service.post(path, body, appId=app)
    if dry_run:
        call.output.show(asked["foreseen"], lambda: _foreseen(asked["foreseen"]))
    elif no_wait or call.output.as_json:
        call.output.done(asked, f"Version {asked['versionId']} is being made by job {asked['job']['jobId']}.")
    else:
        follow(call, app, asked["job"]["jobId"], f"compressing {session}")
        made = call.service.get(memory("sessions", session, "versions", asked["versionId"]), appId=app)["version"]
        call.output.show(made, lambda: _card(made))


@command(group, "versions", "Versions")
def list_versions(
    call: Invocation, app: AppArgument, session: SessionArgument, limit: LimitOption = 50, all_: AllOption = False
) -> None:
    """List the versions of a session, newest first."""
    path = memory("sessions", session, "versions")
    found = list(call.service.listing(path, "versions", None if all_ else limit, appId=app))
    call.output.show(found, lambda: table(found, _VERSION_COLUMNS, f"Session {session} has no versions yet."))


@command(group, "version", "Versions")
def show_version(
    call: Invocation,
    app: AppArgument,
    session: SessionArgument,
    version: VersionArgument,
    content: Annotated[Shape | None, typer.Option("--content", help="Print what it says, in this form.")] = None,
) -> None:
    """Show a version, or print what it says."""
    path = memory("sessions", session, "versions", version)
    if content is not None:
        for piece in call.service.pieces(path, appId=app, format=content.value):
            typer.echo(piece, nl=False)
        return
    shown = call.service.get(path, appId=app)
    call.output.show(shown, lambda: _card(shown["version"]))


@command(group, "delete-version", "Versions")
def remove_version(
    call: Invocation, app: AppArgument, session: SessionArgument, version: VersionArgument, yes: YesOption = False
) -> None:
    """Remove a version that nothing uses; the session and its other versions stay."""
    confirm(f"Remove version {version} of session {session}?", yes)
    gone = call.service.delete(memory("sessions", session, "versions", version), appId=app)
    call.output.done(gone, f"Version {version} is removed; its id is not given again.")


@command(group, "jobs", "Versions")
def list_jobs(call: Invocation, app: AppArgument, limit: LimitOption = 50, all_: AllOption = False) -> None:
    """List an app's jobs about sessions with how far they have come, newest first."""
    found = list(call.service.listing(memory("jobs"), "jobs", None if all_ else limit, appId=app))
    call.output.show(found, lambda: table(found, _JOB_COLUMNS, f"{app} has no such jobs."))


def _settings(ratio: int | None, level: str | None, preset: str | None, tiers: str | None) -> dict[str, Any]:
    if sum(one is not None for one in (ratio, preset, tiers)) > 1:
        raise Invalid("Give one of --ratio, --preset and --tiers.")
    if ratio is not None:
        return {"mode": "uniform", "compactionRatio": ratio} | (
            {} if level is None else {"aggressiveness": _LEVELS.get(level, level)}
        )
    if tiers is not None:
        return {"mode": "tiered", "customTiers": [_tier(one) for one in tiers.split(",")]}
    return {"mode": "tiered"} | ({} if preset is None else {"tierPreset": preset})


def _tier(written: str) -> dict[str, Any]:
    parts = written.strip().split(":")
    if len(parts) != _MOST_TIER_PARTS or not (parts[0].isdecimal() and parts[1].isdecimal()):
        raise Invalid(f"--tiers: {written!r} is no tier; write END%:RATIO:LEVEL, as 50:20:aggressive.")
    return {"endPercent": int(parts[0]), "compactionRatio": int(parts[1]), "aggressiveness": parts[2]}


def _how(settings: dict[str, Any]) -> str:
    if settings["mode"] == "uniform":
        return f"{settings['compactionRatio']}:1 {settings['aggressiveness']}"
    return str(settings["tierPreset"])


def _marked(stats: dict[str, Any] | None) -> str:
    if not stats or not stats["preserved"] + stats["summarized"]:
        return ""
    return f"{stats['preserved']} kept, {stats['summarized']} summarised"


def _card(version: dict[str, Any]) -> RenderableType:
    told = version["statistics"]
    names = told.get("identifiers", {})
    return card({
        "version": version["versionId"],
        "made": _how(version["settings"]),
        "from": version["sourceVersion"] or "original",
        "tokens": f"{version['inputTokens']} before, {version['outputTokens']} after",
        "ratio": f"{version['compressionRatio']:.1f} (asked: {told.get('askedRatio', 0):.1f})",
        "why not as asked": told.get("note"),
        "messages": f"{told.get('messagesBefore')} before, {version['outputMessages']} after",
        "marked parts": _marked(version["keepitStats"]),
        "names kept": f"{names.get('kept', 0)} of {names.get('found', 0)}",
        "by": version["agent"],
        "seconds": told.get("seconds"),
        "file": version["file"],
    })  # fmt: skip


def _foreseen(foreseen: dict[str, Any]) -> RenderableType:
    fields = card({
        "tokens": f"{foreseen['inputTokens']} before, about {foreseen['outputTokens']} after",
        "messages": foreseen["outputMessages"],
        "ratio": f"{foreseen['compressionRatio']:.1f}",
        "why not as asked": foreseen["note"],
    })  # fmt: skip
    marked = foreseen["markers"]
    return Group(fields, plain(""), table(marked, _MARKER_COLUMNS)) if marked else fields
