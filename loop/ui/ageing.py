"""How a project's versions go: the rules by which they age, tried and followed, and versions pruned by hand."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from nicegui import ui

from afterthought_client import models
from loop.ui.frame import PageView, in_turn
from loop.ui.session_view import dialog, foot, whole_number
from loop.ui.tables import OUTLINED, PRIMARY, action, counted, heading, note
from loop.ui.times import minute
from loop.ui.visitors import notify_success

TIER_PRESETS = {"gentle": "Gentle", "standard": "Standard", "aggressive": "Aggressive"}
_KEPT = {"all": "All", "newest": "The newest of a session", "days": "Those of the last days"}
_SCHEDULES = {"daily": "Daily", "weekly": "Weekly", "on-access": "When a session is used"}
_OFF = "Ageing is off for this project: every version is kept, and none is made shorter with age."
_SHOWN = 50
Changed = Callable[[], Awaitable[None]]


class ProjectRules:
    """A dialog with what holds for new versions of a project, and how versions age."""

    def __init__(self, view: PageView, project_id: str, changed: Changed) -> None:
        self._view = view
        self._project_id = project_id
        self._changed = changed

    async def open(self) -> None:
        """Open the dialog with what is in force."""
        client = self._view.client
        project = await client.show_project(self._project_id)
        ageing = await client.show_ageing(self._project_id)
        with dialog(f"Rules of {project.display_name}"):
            heading("New versions", 3)
            with ui.element("div").classes("fields"):
                settings = project.settings
                self._preset = ui.select(TIER_PRESETS, value=settings.default_compression_preset, label="Preset")
                self._decays = ui.switch("Marked parts decay", value=settings.keepit_decay_enabled)
                self._registers = ui.switch(
                    "Take new sessions of its folder in", value=settings.auto_register_new_sessions
                )
            heading("Ageing", 3)
            with ui.element("div").classes("fields"):
                self._build_ageing(ageing)
            self._build_foot(ageing)

    def _build_ageing(self, ageing: models.AgeingAnswer) -> None:
        retention, decay = ageing.retention, ageing.auto_decay
        rules = decay.rules
        self._kept = ui.select(_KEPT, value=retention.keep, label="Versions kept")
        self._count = ui.number("How many, or days", value=retention.count or retention.days, min=1, step=1)
        self._count.bind_visibility_from(self._kept, "value", lambda kept: kept != "all")
        self._enabled = ui.switch("Compress further with age", value=decay.enabled)
        self._schedule = ui.select(_SCHEDULES, value=decay.schedule, label="How often")
        self._days = {
            "createAfterDays": ui.number("Days to a first version", value=rules.create_after_days),
            "aggressiveAfterDays": ui.number("Days to a shorter version", value=rules.aggressive_after_days),
            "pruneIntermediateAfterDays": ui.number("Days until others go", value=rules.prune_intermediate_after_days),
        }
        self._presets = {
            "createPreset": ui.select(TIER_PRESETS, value=rules.create_preset, label="First version"),
            "aggressivePreset": ui.select(TIER_PRESETS, value=rules.aggressive_preset, label="Shorter version"),
        }
        for field in (self._preset, self._kept, self._count, self._schedule, *self._days.values(),
                      *self._presets.values()):  # fmt: skip
            field.props("outlined dense options-dense")

    def _build_foot(self, ageing: models.AgeingAnswer) -> None:
        note("Nothing that a composition uses ever goes, nor a session's only version.")
        self._plan = ui.column().classes("card gap-1").props("role=status aria-label=Plan")
        self._is_off = _is_off(ageing)
        with self._plan:
            if self._is_off:
                ui.label(_OFF).classes("font-medium text-sm")
            elif ageing.last_plan is None:
                note("These rules did nothing yet.")
            else:
                did = "Foreseen" if ageing.last_plan.dry_run else "Done"
                _show_plan(ageing.last_plan.plan, f"{did} {minute(ageing.last_plan.at)} by {ageing.last_plan.by}")
        if not self._view.may_write:
            return
        with ui.row().classes("w-full justify-end gap-2"):
            action("See what they would do", lambda: self._run(is_dry=True), OUTLINED)
            self._follow = action("Follow them now", lambda: self._run(is_dry=False), OUTLINED)
            self._follow.set_enabled(ageing.shown)
            action("Save rules", self._save, PRIMARY)

    async def _save(self) -> None:
        client = self._view.client
        kept = self._kept.value
        of_kept = {"newest": "count", "days": "days"}
        retention = {"keep": kept} | ({of_kept[kept]: whole_number(self._count, 1)} if kept in of_kept else {})
        rules = {name: whole_number(field, 0) for name, field in self._days.items()}
        rules_with_presets = rules | {name: field.value for name, field in self._presets.items()}
        decay = {"enabled": self._enabled.value, "schedule": self._schedule.value, "rules": rules_with_presets}
        settings = {
            "defaultCompressionPreset": self._preset.value,
            "keepitDecayEnabled": self._decays.value,
            "autoRegisterNewSessions": self._registers.value,
        }
        await client.change_project(self._project_id, settings=settings)
        saved = await client.change_ageing(self._project_id, retention=retention, auto_decay=decay)
        self._is_off = _is_off(saved)
        self._follow.set_enabled(saved.shown)
        notify_success("Rules saved.")

    async def _run(self, *, is_dry: bool) -> None:
        done = await self._view.client.run_ageing(self._project_id, dry_run=is_dry)
        self._plan.clear()
        with self._plan:
            if self._is_off:
                ui.label(_OFF).classes("font-medium text-sm")
            else:
                _show_plan(done.plan, "They would do" if is_dry else "Done")
        self._follow.set_enabled(True)
        if not is_dry:
            await self._changed()


def _is_off(ageing: models.AgeingAnswer) -> bool:
    return not ageing.auto_decay.enabled and ageing.retention.keep == "all"


def _show_plan(plan: dict[str, Any], when: str) -> None:
    counts = plan["counts"]
    summary = f"{counts['compress']:,} to compress, {counts['remove']:,} to remove, {counts['keep']:,} kept"
    ui.label(f"{when}: {summary}.").classes("font-medium text-sm")
    for name, verb in (("compress", "Compress"), ("remove", "Remove"), ("keep", "Keep")):
        for one in plan[name][:_SHOWN]:
            what = one.get("versionId") or one["preset"]
            ui.label(f"{verb} {one['sessionId']} {what}: {one['reason']}").classes("said text-sm")


class Pruning:
    """A dialog that suggests versions nobody needs, by rules, and removes them."""

    def __init__(self, view: PageView, project_id: str, changed: Changed) -> None:
        self._view = view
        self._project_id = project_id
        self._changed = changed

    async def open(self) -> None:
        """Open the dialog with what is superseded."""
        with dialog("Prune versions") as self._dialog:
            ui.label("Versions that meet all of these:").classes("text-sm")
            self._superseded = ui.checkbox("A newer one was made with the same settings", value=True)
            self._unused = ui.checkbox("Never used")
            self._days = ui.number("Neither made nor used for days (empty: any age)", min=0, step=1)
            self._days.props("outlined dense debounce=300").classes("w-full")
            for field in (self._superseded, self._unused, self._days):
                field.on_value_change(self._look)
            self._found = ui.column().classes("card gap-1").props("role=status aria-label='Versions to prune'")
            self._remove = foot(self._dialog, "Remove them", self._prune, is_danger=True)
            self._remove.set_enabled(False)
        await self._look()

    def _rules(self) -> dict[str, Any]:
        """Return what is chosen. Raises: FormError where a number is out of bounds."""
        days = {} if self._days.value is None else {"older_than_days": whole_number(self._days, 0)}
        return {"superseded": bool(self._superseded.value), "unused": bool(self._unused.value), **days}

    @in_turn
    async def _look(self) -> None:
        found: models.Pruned | None = None
        async with self._view.show_errors():
            rules = self._rules()
            if rules["superseded"] or rules["unused"] or "older_than_days" in rules:
                found = await self._view.client.prune_versions(self._project_id, **rules, dry_run=True)
            # What goes is what was shown, also while the next look waits for its answer.
            self._shown = rules
        self._remove.set_enabled(bool(found and found.removed) and self._view.may_write)
        self._found.clear()
        with self._found:
            if found is None:
                note("Choose a rule.")
                return
            summary = f"{counted(len(found.removed), 'version')} would go, {found.tokens:,} tokens."
            ui.label(summary).classes("font-medium text-sm")
            for verb, decisions in (("Remove", found.removed), ("Keep", found.kept)):
                for one in decisions[:_SHOWN]:
                    ui.label(f"{verb} {one.session_id} {one.version_id}: {one.reason}").classes("said text-sm")
            for warning in found.warnings:
                ui.label(warning).classes("said refusal text-sm")

    async def _prune(self) -> None:
        done = await self._view.client.prune_versions(self._project_id, **self._shown, dry_run=False)
        notify_success(f"Removed {counted(len(done.removed), 'version')}.")
        await self._changed()
        self._dialog.close()
