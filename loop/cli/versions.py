"""``afterthought sessions``: making sessions shorter, composing contexts of several, and how versions age."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import typer
from rich.console import Group, RenderableType

from loop.cli.operations import follow
from loop.cli.output import card, columns, moment, plain, table
from loop.cli.sessions import SESSION, AppArgument, DryRunOption, NeededProject, SessionArgument, short
from loop.cli.table import APP, Answer, Command, Invocation, YesOption, confirm, given
from loop.cli.table import argument as arg
from loop.cli.table import option as opt
from shared.base.choices import AgeingSchedule, Aggressiveness, DecayLevel, KeepitMode, TierPreset
from shared.base.errors import Invalid

_VERSION = arg("version_id", "VERSION", "The version's id, as v001.")
ContentOption = Annotated[
    Literal["markdown", "jsonl"] | None, typer.Option("--content", help="Print what it says, in this form.")
]
NoWaitOption = Annotated[bool, typer.Option("--no-wait", help="Do not wait until it is there.")]
_MOST_TIER_PARTS = 3
_NO_NAMES = {"kept": 0, "found": 0}
_VERSIONS = columns(
    "version versionId | made (UTC) @createdAt | how how | from from | tokens outputTokens | messages outputMessages"
    " | ratio compressionRatio:.1f | marked * | by agent | uses | last used @lastUsed | used in usedIn",
    **{
        "how": lambda row: _how(row),
        "from": lambda row: row["sourceVersion"] or "original",
        "*": lambda row: _marked(row["keepitStats"]),
    },
)
_VERSION_CARD = columns(
    "version versionId | made how | from from | tokens tokens | ratio ratio | why not as asked statistics.note"
    " | messages messages | marked parts * | left out why | names kept names | by agent | seconds statistics.seconds"
    " | file | used in usedIn",
    **{
        "how": lambda row: _how(row),
        "from": lambda row: row["sourceVersion"] or "original",
        "tokens": lambda row: f"{row['inputTokens']} before, {row['outputTokens']} after",
        "ratio": lambda row: f"{row['compressionRatio']:.1f} (asked: {row['statistics'].get('askedRatio', 0):.1f})",
        "messages": lambda row: f"{row['statistics'].get('messagesBefore')} before, {row['outputMessages']} after",
        "*": lambda row: _marked(row["keepitStats"]),
        "why": lambda row: row["why"].removeprefix("Left out: "),
        "names": lambda row: "{kept} of {found}".format(**_NO_NAMES | row["statistics"].get("identifiers", {})),
    },
)
_JOBS = columns(
    "job jobId | kind | session sessionId | version versionId | composition compositionId | state | parts *"
    " | asked (UTC) @createdAt | finished @finishedAt | why reason",
    **{"*": lambda row: "{done}/{total}".format(**row["progress"]) if row["progress"]["total"] else ""},
)
_MARKERS = columns(
    "marker markerId | weight weight:.2f | fate *",
    **{"*": lambda row: "survives" if row["survives"] else "is summarised"},
)
_SURVIVED = columns("version | marker markerId | weight weight:.2f | content")
_DIFFERENCES = columns("version isIn | who speaker | kind | text *", **{"*": lambda row: short(row["text"])})
_AGED = columns(
    "session sessionId | version versionId | tokens | made (UTC) @createdAt | last used @lastUsed | used in usedIn"
    " | why reason"
)
_PROPOSED = columns("session sessionId | preset | why reason")


def compress_session(
    call: Invocation,
    app_id: AppArgument,
    session_id: SessionArgument,
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
    way = _compression(ratio, level, preset, tiers)
    more = given(keepit_mode=keepit, model=model, source_version=source, dry_run=dry_run or None)
    requested = call.invoke(
        call.client.make_version, session_id, session_distance=distance, skip_first_messages=skip, app_id=app_id, **way,
        **more,
    )  # fmt: skip
    if dry_run:
        call.show(requested["foreseen"], _foreseen)
    elif no_wait or call.as_json:
        call.done(requested, f"Version {requested['versionId']} is being made by job {requested['job']['jobId']}.")
    else:
        follow(call, app_id, requested["job"]["jobId"], f"compressing {session_id}")
        show_version(call, app_id, session_id, requested["versionId"])


def age_versions(
    call: Invocation,
    app_id: AppArgument,
    project_id: NeededProject,
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
    shown = call.invoke(call.client.show_ageing, project_id, app_id=app_id)
    change: dict[str, Any] = {} if keep is None else {"retention": _retention(keep)}
    decays = given(enabled=decay, schedule=schedule)
    rules = given(
        createAfterDays=create_after, createPreset=create_preset, aggressiveAfterDays=aggressive_after,
        aggressivePreset=aggressive_preset, pruneIntermediateAfterDays=prune_after,
    )  # fmt: skip
    if decays or rules:
        # The rules are put as a whole: what is not given stays as it stands, and a preset that is the app's stays that.
        standing = dict(shown["autoDecay"]["rules"])
        if "createPreset" not in shown["ownRules"].get("autoDecay", {}).get("rules", {}):
            del standing["createPreset"]
        change["auto_decay"] = shown["autoDecay"] | decays | {"rules": standing | rules}
    if change:
        shown = call.invoke(call.client.change_ageing, project_id, app_id=app_id, **change)
    if plan or run:
        call.show(call.invoke(call.client.run_ageing, project_id, dry_run=not run, app_id=app_id), _plan)
    else:
        call.show(shown, _rules)


def prune_versions(
    call: Invocation,
    app_id: AppArgument,
    project_id: NeededProject,
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
    rules = given(
        unused=unused or None, superseded=superseded or None, older_than_days=older_than,
        versions=[_named_version(one) for one in version] if version else None, app_id=app_id,
    )  # fmt: skip
    pruned = call.invoke(call.client.prune_versions, project_id, dry_run=True, **rules)
    if not dry_run and pruned["removed"]:
        confirm(f"Remove {len(pruned['removed'])} versions of {pruned['tokens']} tokens?", yes)
        pruned = call.invoke(call.client.prune_versions, project_id, dry_run=False, **rules)
    call.show(pruned, _pruned)


def show_version(
    call: Invocation,
    app_id: AppArgument,
    session_id: SessionArgument,
    version_id: Annotated[str, _VERSION.info],
    content: ContentOption = None,
) -> None:
    """Show a version, or print what it says."""
    if content is not None:
        print_document(call.invoke(call.client.read_version_text, session_id, version_id, content, app_id=app_id))
    else:
        found = call.invoke(call.client.read_version, session_id, version_id, app_id=app_id)
        call.show(found, lambda shown: card(shown["version"], _VERSION_CARD))


def print_document(text: str) -> None:
    typer.echo(text, nl=False)


def _compression(ratio: int | None, level: str | None, preset: str | None, tiers: str | None) -> dict[str, Any]:
    if sum(one is not None for one in (ratio, preset, tiers)) > 1:
        raise Invalid("Give one of --ratio, --preset and --tiers.")
    if ratio is not None:
        # What decay calls light is minimal where something is compressed.
        level = Aggressiveness.MINIMAL if level == DecayLevel.LIGHT else level
        return {"mode": "uniform", "compaction_ratio": ratio} | given(aggressiveness=level)
    if tiers is not None:
        return {"mode": "tiered", "custom_tiers": [_tier(one) for one in tiers.split(",")]}
    return {"mode": "tiered"} | given(tier_preset=preset)


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


def _how(row: Answer) -> str:
    settings = row["settings"]
    skipped = row["statistics"].get("skippedMessages") or settings.get("skipFirstMessages")
    skips = f", skips the first {skipped}" if skipped else ""
    if settings["mode"] == "uniform":
        return f"{settings['compactionRatio']}:1 {settings['aggressiveness']}{skips}"
    return f"{settings['tierPreset']}{skips}"


def _marked(stats: dict[str, Any] | None) -> str:
    if not stats or not stats["preserved"] + stats["summarized"]:
        return ""
    return f"{stats['preserved']} kept, {stats['summarized']} summarised"


def _foreseen(foreseen: Answer) -> RenderableType:
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
    return Group(fields, plain(""), table(marked, _MARKERS)) if marked else fields


def _compared(seen: Answer) -> RenderableType:
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
        plain("Marked parts that survived in one only:"), table(marked, _SURVIVED, "none"),
        plain("Texts that stand in one only:"), table(seen["differences"], _DIFFERENCES, "none"),
        *([plain("There are more: --differences.")] if seen["cursor"] else []),
    )  # fmt: skip


def _pruned(done: Answer) -> RenderableType:
    verb = "would be removed" if done["dryRun"] else "removed"
    summary = plain(f"{len(done['removed'])} versions of {done['tokens']} tokens {verb}.")
    return Group(table(done["removed"], _AGED, "Nothing to remove."), summary, *map(plain, done["warnings"]))


def _plan(done: Answer) -> RenderableType:
    plan = done["plan"]
    verb = "would be" if done["dryRun"] else "are"
    return Group(
        plain(f"Versions that {verb} asked for:"), table(plan["compress"], _PROPOSED, "none"),
        plain(f"Versions that {verb} removed:"), table(plan["remove"], _AGED, "none"),
        plain("Versions that stay, though the rules name them:"), table(plan["keep"], _AGED, "none"),
    )  # fmt: skip


def _rules(shown: Answer) -> RenderableType:
    retention, decay = shown["retention"], shown["autoDecay"]
    rules, last = decay["rules"], shown["lastPlan"]
    fields = card({
        "keeps": f"{retention['keep']} {retention['count'] or retention['days'] or ''}".strip(),
        "decays": decay["schedule"] if decay["enabled"] else "no",
        "a version": f"{rules['createPreset']}, after {rules['createAfterDays']} days",
        "an aggressive one": f"{rules['aggressivePreset']}, after {rules['aggressiveAfterDays']} days",
        "that one alone": f"after {rules['pruneIntermediateAfterDays']} days",
        "shown": shown["shown"],
        "last run (UTC)": moment(shown["lastRun"]),
    })  # fmt: skip
    return fields if last is None else Group(fields, plain(""), _plan(last))


COMMANDS = (
    Command(name="sessions compress", operation="make_version", part="Versions", run=compress_session),
    Command(
        name="sessions versions", operation="list_versions", part="Versions", limit=50, arguments=(APP, SESSION),
        help="List the versions of a session, newest first.", nothing="Session {session_id} has no versions yet.",
        columns=_VERSIONS,
    ),
    Command(name="sessions version", operation="read_version", part="Versions", run=show_version),
    Command(
        name="sessions compare", operation="compare_versions", part="Versions", view=_compared,
        help="Compare two versions: settings, sizes, marked parts, and what stands in one of them only.",
        arguments=(APP, SESSION, _VERSION, arg("with_", "OTHER", "The version to compare it with."),
                   opt("limit", "Most texts to show.", "--differences", kind=int, default=20, min=1, max=200)),
    ),
    Command(
        name="sessions delete-version", operation="remove_version", part="Versions", arguments=(APP, SESSION, _VERSION),
        help="Remove a version that nothing uses; the session and its other versions stay.",
        question="Remove version {version_id} of session {session_id}?",
        done="Version {version_id} is removed; its id is not given again.",
    ),
    Command(
        name="sessions jobs", operation="list_session_jobs", part="Versions", limit=50, arguments=(APP,),
        help="List an app's jobs about sessions with how far they have come, newest first.", columns=_JOBS,
        nothing="{app_id} has no such jobs.",
    ),
    Command(name="sessions prune", operation="prune_versions", part="Versions", run=prune_versions),
    Command(name="sessions ageing", operation="change_ageing", part="Versions", run=age_versions,
            also={"show_ageing": "", "run_ageing": "--plan"}),
)  # fmt: skip
