"""What holds for a project: how its versions age and go, what its sessions taught, and what it may use of others."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal
from urllib.parse import urlencode

from nicegui import ui

from afterthought_client import models
from loop.ui.forms import CHOICES, Form, FoundSelect, UndoBar, confirmed, dialog, whole_number
from loop.ui.frame import PageView, in_turn
from loop.ui.state import PageState
from loop.ui.tables import FLAT, OUTLINED, PRIMARY, PagedCards, action, badge, heading, note, rows_of, said
from loop.ui.visitors import FormError, notify_success
from loop.ui.wording import author_of, counted, minute, session_name

TIER_PRESETS = {"gentle": "Gentle", "standard": "Standard", "aggressive": "Aggressive"}
_KEPT = {"all": "All", "newest": "The newest of a session", "days": "Those of the last days"}
_SCHEDULES = {"daily": "Daily", "weekly": "Weekly", "on-access": "When a session is used"}
_OFF = "Ageing is off for this project: every version is kept, and none is made shorter with age."
_SHOWN = 50
Changed = Callable[[], Awaitable[None]]


@dataclass
class _ProjectDialog:
    """A dialog about a project; ``changed`` is called once its versions have."""

    view: PageView
    project_id: str
    changed: Changed


class ProjectRules(_ProjectDialog):
    """A dialog with what holds for new versions of a project, and how versions age."""

    async def open(self) -> None:
        """Open the dialog with what is in force."""
        client = self.view.client
        project = await client.show_project(self.project_id)
        ageing = await client.show_ageing(self.project_id)
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
        if not self.view.may_write:
            return
        with ui.row().classes("w-full justify-end gap-2"):
            action("See what they would do", lambda: self._run(is_dry=True), OUTLINED)
            self._follow = action("Follow them now", lambda: self._run(is_dry=False), OUTLINED)
            self._follow.set_enabled(ageing.shown)
            action("Save rules", self._save, PRIMARY)

    async def _save(self) -> None:
        client = self.view.client
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
        await client.change_project(self.project_id, settings=settings)
        saved = await client.change_ageing(self.project_id, retention=retention, auto_decay=decay)
        self._is_off = _is_off(saved)
        self._follow.set_enabled(saved.shown)
        notify_success("Rules saved.")

    async def _run(self, *, is_dry: bool) -> None:
        done = await self.view.client.run_ageing(self.project_id, dry_run=is_dry)
        self._plan.clear()
        with self._plan:
            if self._is_off:
                ui.label(_OFF).classes("font-medium text-sm")
            else:
                _show_plan(done.plan, "They would do" if is_dry else "Done")
        self._follow.set_enabled(True)
        if not is_dry:
            await self.changed()


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


class Pruning(_ProjectDialog):
    """A dialog that suggests versions nobody needs, by rules, and removes them."""

    async def open(self) -> None:
        """Open the dialog with what is superseded."""
        with dialog("Prune versions") as shown:
            ui.label("Versions that meet all of these:").classes("text-sm")
            self._superseded = ui.checkbox("A newer one was made with the same settings", value=True)
            self._unused = ui.checkbox("Never used")
            self._days = ui.number("Neither made nor used for days (empty: any age)", min=0, step=1)
            self._days.props("debounce=300").classes("w-full")
            for field in (self._superseded, self._unused, self._days):
                field.on_value_change(self._look)
            self._found = ui.column().classes("card gap-1").props("role=status aria-label='Versions to prune'")
            form = Form(self.view, "prune", {}, self._prune, button="Remove them", within=shown, is_danger=True)
            self._remove = form.button
            self._remove.set_enabled(False)
        await self._look()

    def _rules(self) -> dict[str, Any]:
        """Return what is chosen. Raises: FormError where a number is out of bounds."""
        days = {} if self._days.value is None else {"older_than_days": whole_number(self._days, 0)}
        return {"superseded": bool(self._superseded.value), "unused": bool(self._unused.value), **days}

    @in_turn
    async def _look(self) -> None:
        found: models.Pruned | None = None
        async with self.view.show_errors():
            rules = self._rules()
            if rules["superseded"] or rules["unused"] or "older_than_days" in rules:
                found = await self.view.client.prune_versions(self.project_id, **rules, dry_run=True)
            # What goes is what was shown, also while the next look waits for its answer.
            self._shown = rules
        self._remove.set_enabled(bool(found and found.removed) and self.view.may_write)
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
        done = await self.view.client.prune_versions(self.project_id, **self._shown, dry_run=False)
        notify_success(f"Removed {counted(len(done.removed), 'version')}.")
        await self.changed()


Verdict = Literal["proposed", "confirmed", "rejected"]
_VERDICTS = {"": "All", "proposed": "Proposed", "confirmed": "Confirmed", "rejected": "Rejected"}
_VERDICT_COLOURS = {"proposed": "grey-8", "confirmed": "green-9", "rejected": "red-9"}
_CARDS = 20
_NOTHING_LEARNT = "Nothing was learnt yet: choose Look for more, once there are sessions. It takes what several say."
_NOTHING_LINKED = "No links yet. Link a session of another project below to find, be suggested and compose it here."


class Learned:
    """A dialog with the semantic memories of a project: what its sessions taught, and what people say to it."""

    def __init__(self, view: PageView) -> None:
        self._view = view
        self._cards: PagedCards[models.SemanticItem] | None = None

    async def open(self, project_id: str) -> None:
        """Open the dialog with the newest."""
        self._project_id = project_id
        with dialog("What its sessions taught"):
            note("What several sessions have in common, or one laid down. What is rejected is not proposed again.")
            with ui.row().classes("w-full items-center gap-2"):
                self._verdict = ui.select(_VERDICTS, value="", label="Shown", on_change=self.refresh).classes("w-40")
                self._progress = note("").props("role=status aria-label=Progress").classes("grow")
                if self._view.may_write:
                    action("Look for more", self._learn, OUTLINED, icon="school")
            self._undo = UndoBar()
            self._cards = PagedCards("Semantic memories", self._fetch, self._card, empty=_NOTHING_LEARNT)
        await self.refresh()

    async def refresh(self) -> None:
        """Show them as they are now, while the dialog is open."""
        if self._cards is not None and not self._cards.container.is_deleted:
            await self._cards.refresh()

    async def _fetch(self, cursor: str | None) -> tuple[list[models.SemanticItem], str | None]:
        page = await self._view.client.list_semantic_memories(
            self._project_id, verdict=self._verdict.value or None, limit=_CARDS, cursor=cursor
        )
        self._progress.set_text(f"Learnt from {page.sessions_learnt:,} of {counted(page.sessions, 'session')}.")
        return page.memories, page.cursor

    async def _learn(self) -> None:
        await self._view.client.learn_from_project(self._project_id)
        notify_success("The sessions are being read. What they teach is shown here.")

    def _card(self, one: models.SemanticItem) -> None:
        with ui.column().classes("card gap-1").props("role=listitem"):
            with ui.row().classes("items-center gap-2"):
                badge(one.type)
                badge(one.verdict, _VERDICT_COLOURS[one.verdict])
                note(f"{one.confidence:.0%} certain · {minute(one.extracted_at)} by {author_of(one.agent)}")
            said(one.content)
            with ui.expansion(counted(len(one.sources), "source")).props("dense").classes("w-full folded"):
                for source in one.sources:
                    address = PageState(project=self._project_id).address(f"/sessions/{self._view.app_id}")
                    ui.link(source.session_id, f"{address}&{urlencode({'session': source.session_id})}")
                    note(source.excerpt).classes("said").props("dir=auto")
            if self._view.may_write:
                with ui.row().classes("gap-1"):
                    verdicts: dict[Verdict, str] = {"confirmed": "Confirm", "rejected": "Reject"}
                    for verdict, name in verdicts.items():
                        if one.verdict != verdict:
                            action(name, partial(self._judge, one, verdict), FLAT, of=one.content)
                    action("Reword", partial(self._reword, one), FLAT, of=one.content)
                    action("Remove", partial(self._remove, one), FLAT, of=one.content)

    async def _judge(self, one: models.SemanticItem, verdict: Verdict) -> None:
        await self._view.client.judge_semantic_memory(one.id, verdict=verdict)
        await self.refresh()

        async def take_back() -> None:
            await self._view.client.judge_semantic_memory(one.id, verdict=one.verdict)
            await self.refresh()

        self._undo.offer(f"{verdict.capitalize()}.", take_back)

    def _reword(self, one: models.SemanticItem) -> None:
        async def save(content: str) -> None:
            await self._view.client.judge_semantic_memory(one.id, content=content or "")
            await self.refresh()

        with dialog("Put it in other words") as shown:
            text = ui.textarea("What is known", value=one.content).props("autofocus").classes("w-full")
            labels = {"content": ("What is known", "write something, not too long.")}
            Form(self._view, f"learned/{one.id}", {"content": text}, save, labels=labels, within=shown)

    async def _remove(self, one: models.SemanticItem) -> None:
        async def remove() -> None:
            await self._view.client.remove_semantic_memory(one.id)
            await self.refresh()

        goes = [one.content]
        more = "Found again, it is proposed again. Reject it to keep it away."
        await confirmed("Remove what was learnt?", goes, button="Remove", more=more, act=remove)


class ProjectLinks:
    """A dialog with the sessions of other projects that a project may use."""

    def __init__(self, view: PageView, project_id: str) -> None:
        self._view, self._project_id = view, project_id

    async def open(self) -> None:
        """Open the dialog with the links there are, and what can be linked."""
        client, may_write = self._view.client, self._view.may_write
        with dialog("Sessions of other projects"):
            self._undo = UndoBar()
            fetch = rows_of(client.list_links, "links", limit=_CARDS, project_id=self._project_id)
            self._cards = PagedCards[models.LinkItem]("Links", fetch, self._card, empty=_NOTHING_LINKED)
            if may_write:
                heading("Link a session", 3)
                self._source = FoundSelect(
                    "Other project", self._find_projects, client.show_project, on_change=self._choose
                )
                self._session = FoundSelect("Session to link", self._find_sessions, client.show_session)
                self._reason = ui.input("Reason", placeholder="Shared library")
                for field in (self._source, self._session, self._reason):
                    field.classes("w-full")
                labels = {"reason": ("Reason", "say in a few words what the session is for here.")}
                fields = {"reason": self._reason}
                Form(self._view, "link", fields, self._link, button="Link", icon="add_link", labels=labels)
        await self._cards.refresh()
        if may_write:
            await self._source.load()

    async def _find_projects(self, text: str | None) -> dict[str, str]:
        page = await self._view.client.list_projects(limit=CHOICES, search=text)
        return {one.project_id: one.display_name for one in page.projects if one.project_id != self._project_id}

    async def _find_sessions(self, text: str | None) -> dict[str, str]:
        if not self._source.value:
            return {}
        page = await self._view.client.list_sessions(project_id=self._source.value, search=text, limit=CHOICES)
        return {one.session_id: session_name(one.session_id, one.metadata) for one in page.sessions}

    async def _choose(self) -> None:
        async with self._view.show_errors():
            await self._session.load()

    async def _link(self, reason: str) -> None:
        if not self._session.value:
            raise FormError("Choose a session of another project first.", self._session)
        await self._make(self._source.value, self._session.value, reason or "")
        self._reason.set_value("")

    async def _make(self, project_id: str, session_id: str, reason: str) -> None:
        await self._view.client.make_link(self._project_id, project_id, session_id, reason)
        await self._cards.refresh()

    def _card(self, one: models.LinkItem) -> None:
        with ui.row().classes("card items-center no-wrap gap-2").props("role=listitem"):
            with ui.column().classes("gap-0 grow min-w-0"):
                said(f"{one.source_session} of {one.source_project}")
                note(one.reason).classes("said").props("dir=auto")
                note(f"linked {minute(one.linked_at)}")
            if self._view.may_write:
                action("Remove", partial(self._remove, one), FLAT, of=one.source_session)

    async def _remove(self, one: models.LinkItem) -> None:
        await self._view.client.remove_link(one.link_id)
        await self._cards.refresh()
        self._undo.offer("The link is gone.", partial(self._make, one.source_project, one.source_session, one.reason))
