"""``afterthought sessions``: compressing sessions into versions, and reading, removing and ageing these."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import typer
from rich.console import Group, RenderableType

from loop.cli.invocation import AppArgument, Invocation, NoWaitOption, YesOption, command, confirm
from loop.cli.jobs import follow
from loop.cli.output import Columns, at, card, plain, rounded, table
from loop.cli.routes import given, memory_route
from loop.cli.sessions import DryRunOption, NeededProject, SessionArgument, group, short
from shared.base.choices import AgeingSchedule, Aggressiveness, DecayLevel, KeepitMode, TierPreset
from shared.base.errors import Invalid

VersionArgument = Annotated[str, typer.Argument(metavar="VERSION", help="The version's id, as v001.")]
ContentOption = Annotated[
    Literal["markdown", "jsonl"] | None, typer.Option("--content", help="Print what it says, in this form.")
]
_MOST_TIER_PARTS = 3
_NO_NAMES = {"kept": 0, "found": 0}
_COLUMNS: Columns = {
    "version": "versionId",
    "made (UTC)": at("createdAt"),
    "how": lambda row: _how(row["settings"]),
    "from": lambda row: row["sourceVersion"] or "original",
    "tokens": "outputTokens",
    "messages": "outputMessages",
    "ratio": rounded("compressionRatio", 1),
    "marked": lambda row: _marked(row["keepitStats"]),
    "by": "agent",
    "uses": "uses",
    "last used": at("lastUsed"),
    "used in": "usedIn",
}
_CARD: Columns = {
    "version": "versionId",
    "made": lambda row: _how(row["settings"]),
    "from": lambda row: row["sourceVersion"] or "original",
    "tokens": lambda row: f"{row['inputTokens']} before, {row['outputTokens']} after",
    "ratio": lambda row: f"{row['compressionRatio']:.1f} (asked: {row['statistics'].get('askedRatio', 0):.1f})",
    "why not as asked": "statistics.note",
    "messages": lambda row: f"{row['statistics'].get('messagesBefore')} before, {row['outputMessages']} after",
    "marked parts": lambda row: _marked(row["keepitStats"]),
    "left out": lambda row: row["why"].removeprefix("Left out: "),
    "names kept": lambda row: "{kept} of {found}".format(**_NO_NAMES | row["statistics"].get("identifiers", {})),
    "by": "agent",
    "seconds": "statistics.seconds",
    "file": "file",
    "used in": "usedIn",
}
_JOB_COLUMNS: Columns = {
    "job": "jobId",
    "kind": "kind",
    "session": "sessionId",
    "version": "versionId",
    "composition": "compositionId",
    "state": "state",
    "parts": lambda row: "{done}/{total}".format(**row["progress"]) if row["progress"]["total"] else "",
    "asked (UTC)": at("createdAt"),
    "finished": at("finishedAt"),
    "why": "reason",
}
_MARKER_COLUMNS: Columns = {
    "marker": "markerId",
    "weight": rounded("weight"),
    "fate": lambda row: "survives" if row["survives"] else "is summarised",
}
_SURVIVED_COLUMNS: Columns = {
    "version": "version", "marker": "markerId", "weight": rounded("weight"), "content": "content",
}  # fmt: skip
_DIFFERENCE_COLUMNS: Columns = {
    "version": "isIn", "who": "speaker", "kind": "kind", "text": lambda row: short(row["text"]),
}  # fmt: skip
_AGED_COLUMNS: Columns = {
    "session": "sessionId",
    "version": "versionId",
    "tokens": "tokens",
    "made (UTC)": at("createdAt"),
    "last used": at("lastUsed"),
    "used in": "usedIn",
    "why": "reason",
}
_WANTED_COLUMNS: Columns = {"session": "sessionId", "preset": "preset", "why": "reason"}


@command(group, "compress", "Versions")
def compress_session(
    call: Invocation,
    app: AppArgument,
    session: SessionArgument,
    ratio: Annotated[int | None, typer.Option(min=2, max=100, help="One ratio for all of it, as 10 for 10:1.")] = None,
    preset: Annotated[str | None, typer.Option(help="Tiers by name: gentle, standard or aggressive.")] = None,
    tiers: Annotated[str | None, typer.Option(help="Tiers of your own, as 50:20:aggressive,100:5:minimal.")] = None,
    level: Annotated[str | None, typer.Option(help="With --ratio: minimal (or light), moderate or aggressive.")] = None,
    keepit: Annotated[KeepitMode | None, typer.Option(help="What becomes of marked parts.")] = None,
    distance: Annotated[int, typer.Option(min=1, max=1000, help="How many sessions ago it was; 1 is the latest.")] = 1,
    skip: Annotated[int, typer.Option(min=0, help="Messages at the beginning to leave out.")] = 0,
    model: Annotated[str | None, typer.Option(help="Who compresses: extractive, or the model of the settings.")] = None,
    source: Annotated[str | None, typer.Option("--from", help="A version to make it from, as v001.")] = None,
    dry_run: DryRunOption = False,
    no_wait: NoWaitOption = False,
) -> None:
    """Compress a session into a new version."""
    body = _compression(ratio, level, preset, tiers) | {"sessionDistance": distance, "skipFirstMessages": skip}
    body |= given({"keepitMode": keepit, "model": model, "sourceVersion": source, "dryRun": dry_run or None})
    path = memory_route("sessions", session, "versions")
    asked = call.service.post(path, body, appId=app)
    if dry_run:
        call.show(asked["foreseen"], _foreseen)
    elif no_wait or call.as_json:
        call.done(asked, f"Version {asked['versionId']} is being made by job {asked['job']['jobId']}.")
    else:
        follow(call, app, asked["job"]["jobId"], f"compressing {session}")
        show_version(call, app, session, asked["versionId"])


@command(group, "versions", "Versions", limit=50)
def list_versions(call: Invocation, app: AppArgument, session: SessionArgument) -> None:
    """List the versions of a session, newest first."""
    path, nothing = memory_route("sessions", session, "versions"), f"Session {session} has no versions yet."
    call.show_listing(path, "versions", _COLUMNS, nothing, appId=app)


@command(group, "version", "Versions")
def show_version(
    call: Invocation,
    app: AppArgument,
    session: SessionArgument,
    version: VersionArgument,
    content: ContentOption = None,
) -> None:
    """Show a version, or print what it says."""
    path = memory_route("sessions", session, "versions", version)
    if content is not None:
        print_document(call, path, app, content)
    else:
        call.show(call.service.get(path, appId=app), lambda shown: card(shown["version"], _CARD))


@command(group, "compare", "Versions")
def compare_versions(
    call: Invocation,
    app: AppArgument,
    session: SessionArgument,
    version: VersionArgument,
    other: Annotated[str, typer.Argument(metavar="OTHER", help="The version to compare it with.")],
    differences: Annotated[int, typer.Option(min=1, max=200, help="Most texts to show.")] = 20,
) -> None:
    """Compare two versions: settings, sizes, marked parts, and what stands in one of them only."""
    path = memory_route("sessions", session, "versions", version, "comparison")
    call.show(call.service.get(path, appId=app, limit=differences, **{"with": other}), _compared)


@command(group, "delete-version", "Versions")
def remove_version(
    call: Invocation, app: AppArgument, session: SessionArgument, version: VersionArgument, yes: YesOption = False
) -> None:
    """Remove a version that nothing uses; the session and its other versions stay."""
    confirm(f"Remove version {version} of session {session}?", yes)
    gone = call.service.delete(memory_route("sessions", session, "versions", version), appId=app)
    call.done(gone, f"Version {version} is removed; its id is not given again.")


@command(group, "jobs", "Versions", limit=50)
def list_session_jobs(call: Invocation, app: AppArgument) -> None:
    """List an app's jobs about sessions with how far they have come, newest first."""
    call.show_listing(memory_route("jobs"), "jobs", _JOB_COLUMNS, f"{app} has no such jobs.", appId=app)


@command(group, "prune", "Versions")
def prune_versions(
    call: Invocation,
    app: AppArgument,
    project: NeededProject,
    unused: Annotated[bool, typer.Option("--unused", help="Those that were never used.")] = False,
    superseded: Annotated[
        bool, typer.Option("--superseded", help="Those a newer one with the same settings replaces.")
    ] = False,
    older_than: Annotated[int | None, typer.Option(min=0, help="Those neither made nor used for so many days.")] = None,
    version: Annotated[list[str] | None, typer.Option(help="SESSION=v002: this one, instead of rules.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would go.")] = False,
    yes: YesOption = False,
) -> None:
    """Remove versions nobody needs: what meets all the rules given, or those named. What is in use stays."""
    rules = {"unused": unused or None, "superseded": superseded or None, "olderThanDays": older_than}
    body = given(rules | {"versions": [_named_version(one) for one in version] if version else None})
    path = memory_route("projects", project, "prune")
    pruned = call.service.post(path, body | {"dryRun": True}, appId=app)
    if not dry_run and pruned["removed"]:
        confirm(f"Remove {len(pruned['removed'])} versions of {pruned['tokens']} tokens?", yes)
        pruned = call.service.post(path, body | {"dryRun": False}, appId=app)
    call.show(pruned, _pruned)


@command(group, "ageing", "Versions")
def age_versions(
    call: Invocation,
    app: AppArgument,
    project: NeededProject,
    keep: Annotated[
        str | None, typer.Option(help="all, or so many of a session as 5, or those of days as 30d.")
    ] = None,
    decay: Annotated[
        bool | None, typer.Option("--decay/--no-decay", help="Whether old sessions are compressed further.")
    ] = None,
    schedule: Annotated[AgeingSchedule | None, typer.Option(help="How often.")] = None,
    create_after: Annotated[int | None, typer.Option(min=0, help="Days until a session gets a version.")] = None,
    create_preset: Annotated[TierPreset | None, typer.Option(help="Of that version.")] = None,
    aggressive_after: Annotated[int | None, typer.Option(min=0, help="Days until it gets an aggressive one.")] = None,
    aggressive_preset: Annotated[TierPreset | None, typer.Option(help="Of that version.")] = None,
    prune_after: Annotated[int | None, typer.Option(min=0, help="Days until the others go.")] = None,
    plan: Annotated[bool, typer.Option("--plan", help="Show now what the rules would do.")] = False,
    run: Annotated[bool, typer.Option("--run", help="Do it now; changed rules must be shown first.")] = False,
) -> None:
    """Show or change the rules by which a project's versions age, and follow them now."""
    path = memory_route("projects", project, "ageing")
    shown = call.service.get(path, appId=app)
    change: dict[str, Any] = {} if keep is None else {"retention": _retention(keep)}
    decays = given({"enabled": decay, "schedule": schedule})
    rules = given({
        "createAfterDays": create_after, "createPreset": create_preset, "aggressiveAfterDays": aggressive_after,
        "aggressivePreset": aggressive_preset, "pruneIntermediateAfterDays": prune_after,
    })  # fmt: skip
    if decays or rules:
        # The rules are put as a whole: what is not given stays as it stands, and a preset that is the app's stays that.
        standing = dict(shown["autoDecay"]["rules"])
        if "createPreset" not in shown["ownRules"].get("autoDecay", {}).get("rules", {}):
            del standing["createPreset"]
        change["autoDecay"] = shown["autoDecay"] | decays | {"rules": standing | rules}
    if change:
        shown = call.service.put(path, change, appId=app)
    if plan or run:
        call.show(call.service.post(f"{path}/run", {"dryRun": not run}, appId=app), _plan)
    else:
        call.show(shown, _rules)


def print_document(call: Invocation, path: str, app: str, form: str) -> None:
    """Print a version or a composition, byte for byte."""
    for piece in call.service.pieces(path, appId=app, format=form):
        typer.echo(piece, nl=False)


def _compression(ratio: int | None, level: str | None, preset: str | None, tiers: str | None) -> dict[str, Any]:
    if sum(one is not None for one in (ratio, preset, tiers)) > 1:
        raise Invalid("Give one of --ratio, --preset and --tiers.")
    if ratio is not None:
        # What decay calls light is minimal where something is compressed.
        level = Aggressiveness.MINIMAL if level == DecayLevel.LIGHT else level
        return {"mode": "uniform", "compactionRatio": ratio} | given({"aggressiveness": level})
    if tiers is not None:
        return {"mode": "tiered", "customTiers": [_tier(one) for one in tiers.split(",")]}
    return {"mode": "tiered"} | given({"tierPreset": preset})


def _tier(written: str) -> dict[str, Any]:
    parts = written.strip().split(":")
    if len(parts) != _MOST_TIER_PARTS or not (parts[0].isdecimal() and parts[1].isdecimal()):
        raise Invalid(f"--tiers: {written!r} is no tier; write END%:RATIO:LEVEL, as 50:20:aggressive.")
    return {"endPercent": int(parts[0]), "compactionRatio": int(parts[1]), "aggressiveness": parts[2]}


def _named_version(written: str) -> dict[str, str]:
    session, _, version = written.partition("=")
    if not session or not version:
        raise Invalid(f"--version: write SESSION=v002, not {written!r}.")
    return {"sessionId": session, "versionId": version}


def _retention(keep: str) -> dict[str, Any]:
    if keep == "all":
        return {"keep": "all"}
    if keep.isdecimal():
        return {"keep": "newest", "count": int(keep)}
    if keep.endswith("d") and keep[:-1].isdecimal():
        return {"keep": "days", "days": int(keep[:-1])}
    raise Invalid(f"--keep: {keep!r} is none of all, a number as 5, or days as 30d.")


def _how(settings: dict[str, Any]) -> str:
    if settings["mode"] == "uniform":
        return f"{settings['compactionRatio']}:1 {settings['aggressiveness']}"
    return str(settings["tierPreset"])


def _marked(stats: dict[str, Any] | None) -> str:
    if not stats or not stats["preserved"] + stats["summarized"]:
        return ""
    return f"{stats['preserved']} kept, {stats['summarized']} summarised"


def _foreseen(foreseen: dict[str, Any]) -> RenderableType:
    fields = card({
        "tokens": f"{foreseen['inputTokens']} before, about {foreseen['outputTokens']} after",
        "messages": f"{foreseen['inputMessages']} before, about {foreseen['outputMessages']} after",
        "ratio": f"{foreseen['compressionRatio']:.1f}",
        "marked parts": _marked(foreseen),
        "survives from": [f"{one:.2f}" for one in foreseen["thresholds"]],
        "why not as asked": foreseen["note"],
        "estimated from": "a sample, since it is long" if foreseen["isSampled"] else None,
    })  # fmt: skip
    marked = foreseen["markers"]
    return Group(fields, plain(""), table(marked, _MARKER_COLUMNS)) if marked else fields


def _compared(seen: dict[str, Any]) -> RenderableType:
    sides = ("version", "other")
    first, second = (seen[side]["versionId"] for side in sides)
    figures: list[dict[str, Any]] = [
        {"of": name, first: seen["version"][name], second: seen["other"][name]}
        for name in ("outputTokens", "outputMessages", "compressionRatio")
    ]
    figures += [{"of": name, first: pair["version"], second: pair["other"]} for name, pair in seen["settings"].items()]
    only = {first: seen["onlyInVersion"], second: seen["onlyInOther"]}
    figures.append({"of": "pieces only here"} | {side: one["blocks"] for side, one in only.items()})
    marked = [one | {"version": side} for side, found in only.items() for one in found["markers"]]
    return Group(
        table(figures, {"": "of", first: first, second: second}), plain(f"{seen['sameBlocks']} pieces are the same."),
        plain("Marked parts that survived in one only:"), table(marked, _SURVIVED_COLUMNS, "none"),
        plain("Texts that stand in one only:"), table(seen["differences"], _DIFFERENCE_COLUMNS, "none"),
        *([plain("There are more: --differences.")] if seen["cursor"] else []),
    )  # fmt: skip


def _pruned(done: dict[str, Any]) -> RenderableType:
    verb = "would be removed" if done["dryRun"] else "removed"
    summary = plain(f"{len(done['removed'])} versions of {done['tokens']} tokens {verb}.")
    return Group(table(done["removed"], _AGED_COLUMNS, "Nothing to remove."), summary, *map(plain, done["warnings"]))


def _plan(done: dict[str, Any]) -> RenderableType:
    plan = done["plan"]
    verb = "would be" if done["dryRun"] else "are"
    return Group(
        plain(f"Versions that {verb} asked for:"), table(plan["compress"], _WANTED_COLUMNS, "none"),
        plain(f"Versions that {verb} removed:"), table(plan["remove"], _AGED_COLUMNS, "none"),
        plain("Versions that stay, though the rules name them:"), table(plan["keep"], _AGED_COLUMNS, "none"),
    )  # fmt: skip


def _rules(shown: dict[str, Any]) -> RenderableType:
    retention, decay = shown["retention"], shown["autoDecay"]
    rules, last = decay["rules"], shown["lastPlan"]
    fields = card({
        "keeps": f"{retention['keep']} {retention['count'] or retention['days'] or ''}".strip(),
        "decays": decay["schedule"] if decay["enabled"] else "no",
        "a version": f"{rules['createPreset']}, after {rules['createAfterDays']} days",
        "an aggressive one": f"{rules['aggressivePreset']}, after {rules['aggressiveAfterDays']} days",
        "that one alone": f"after {rules['pruneIntermediateAfterDays']} days",
        "shown": shown["shown"],
        "last run (UTC)": at("lastRun")(shown),
    })  # fmt: skip
    return fields if last is None else Group(fields, plain(""), _plan(last))
