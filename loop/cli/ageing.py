"""``afterthought sessions``: removing versions nobody needs, and the rules by which they age."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

import typer
from rich.console import Group, RenderableType

from loop.cli.invocation import AppArgument, Invocation, YesOption, command, confirm
from loop.cli.output import Columns, at, card, moment, plain, table
from loop.cli.sessions import NeededProject, group, memory
from shared.errors import Invalid

_VERSION_COLUMNS: Columns = {
    "session": "sessionId",
    "version": "versionId",
    "tokens": "tokens",
    "made (UTC)": at("createdAt"),
    "last used": at("lastUsed"),
    "used in": "usedIn",
    "why": "reason",
}
_MAKE_COLUMNS: Columns = {"session": "sessionId", "preset": "preset", "why": "reason"}


class Preset(StrEnum):
    """Tiers by name."""

    GENTLE = "gentle"
    STANDARD = "standard"
    AGGRESSIVE = "aggressive"


class Schedule(StrEnum):
    """How often versions are aged."""

    DAILY = "daily"
    WEEKLY = "weekly"
    ON_ACCESS = "on-access"


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
    body: dict[str, Any] = {"versions": [_named(one) for one in version]} if version else {}
    body |= {name: True for name, wanted in (("unused", unused), ("superseded", superseded)) if wanted}
    body |= {} if older_than is None else {"olderThanDays": older_than}
    path = memory("projects", project, "prune")
    seen = call.service.post(path, body | {"dryRun": True}, appId=app)
    if dry_run or not seen["removed"]:
        call.output.show(seen, lambda: _pruned(seen))
        return
    confirm(f"Remove {len(seen['removed'])} versions of {seen['tokens']} tokens?", yes)
    done = call.service.post(path, body | {"dryRun": False}, appId=app)
    call.output.show(done, lambda: _pruned(done))


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
    schedule: Annotated[Schedule | None, typer.Option(help="How often.")] = None,
    create_after: Annotated[int | None, typer.Option(min=0, help="Days until a session gets a version.")] = None,
    create_preset: Annotated[Preset | None, typer.Option(help="Of that version.")] = None,
    aggressive_after: Annotated[int | None, typer.Option(min=0, help="Days until it gets an aggressive one.")] = None,
    aggressive_preset: Annotated[Preset | None, typer.Option(help="Of that version.")] = None,
    prune_after: Annotated[int | None, typer.Option(min=0, help="Days until the others go.")] = None,
    plan: Annotated[bool, typer.Option("--plan", help="Show now what the rules would do.")] = False,
    run: Annotated[bool, typer.Option("--run", help="Do it now; changed rules must be shown first.")] = False,
) -> None:
    """Show or change the rules by which a project's versions age, and follow them now."""
    path = memory("projects", project, "ageing")
    shown = call.service.get(path, appId=app)
    rules = {
        "createAfterDays": create_after, "createPreset": create_preset, "aggressiveAfterDays": aggressive_after,
        "aggressivePreset": aggressive_preset, "pruneIntermediateAfterDays": prune_after,
    }  # fmt: skip
    change = _change(shown, keep, {"enabled": decay, "schedule": schedule}, rules)
    if change:
        shown = call.service.put(path, change, appId=app)
    if plan or run:
        done = call.service.post(f"{path}/run", {"dryRun": not run}, appId=app)
        call.output.show(done, lambda: _plan(done))
        return
    call.output.show(shown, lambda: _rules(shown))


def _change(shown: dict[str, Any], keep: str | None, given: dict[str, Any], rules: dict[str, Any]) -> dict[str, Any]:
    """Return what is to be changed: what is given over what stands."""
    given = {name: value for name, value in given.items() if value is not None}
    rules = {name: value for name, value in rules.items() if value is not None}
    change: dict[str, Any] = {} if keep is None else {"retention": _retention(keep)}
    if given or rules:
        change["autoDecay"] = shown["autoDecay"] | given | {"rules": shown["autoDecay"]["rules"] | rules}
    return change


def _retention(keep: str) -> dict[str, Any]:
    if keep == "all":
        return {"keep": "all"}
    if keep.isdecimal():
        return {"keep": "newest", "count": int(keep)}
    if keep.endswith("d") and keep[:-1].isdecimal():
        return {"keep": "days", "days": int(keep[:-1])}
    raise Invalid(f"--keep: {keep!r} is none of all, a number as 5, or days as 30d.")


def _named(written: str) -> dict[str, str]:
    session, _, version = written.partition("=")
    if not session or not version:
        raise Invalid(f"--version: write SESSION=v002, not {written!r}.")
    return {"sessionId": session, "versionId": version}


def _pruned(done: dict[str, Any]) -> RenderableType:
    verb = "would be removed" if done["dryRun"] else "removed"
    shown = [plain(f"{len(done['removed'])} versions of {done['tokens']} tokens {verb}.")]
    return Group(table(done["removed"], _VERSION_COLUMNS, "Nothing to remove."), *shown, *map(plain, done["warnings"]))


def _plan(done: dict[str, Any]) -> RenderableType:
    plan = done["plan"]
    verb = "would be" if done["dryRun"] else "are"
    return Group(
        plain(f"Versions that {verb} asked for:"), table(plan["compress"], _MAKE_COLUMNS, "none"),
        plain(f"Versions that {verb} removed:"), table(plan["remove"], _VERSION_COLUMNS, "none"),
        plain("Versions that stay, though the rules name them:"), table(plan["keep"], _VERSION_COLUMNS, "none"),
    )  # fmt: skip


def _rules(shown: dict[str, Any]) -> RenderableType:
    retention, decay = shown["retention"], shown["autoDecay"]
    rules, last = decay["rules"], shown["lastPlan"]
    fields = card({
        "keeps": f"{retention['keep']} {retention['count'] or retention['days'] or ''}".strip(),
        "decays": f"{decay['schedule']}" if decay["enabled"] else "no",
        "a version": f"{rules['createPreset']}, after {rules['createAfterDays']} days",
        "an aggressive one": f"{rules['aggressivePreset']}, after {rules['aggressiveAfterDays']} days",
        "that one alone": f"after {rules['pruneIntermediateAfterDays']} days",
        "shown": shown["shown"],
        "last run (UTC)": moment(shown["lastRun"]) or None,
    })  # fmt: skip
    return fields if last is None else Group(fields, plain(""), _plan(last))
