"""Jobs for operators: by state, kind and app, run again or cancelled, one or several; and the dead letters."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, get_args

from nicegui import ui

from afterthought_client import models
from afterthought_client.calls import OMIT
from loop.ui.choosers import apps_to_choose
from loop.ui.confirmation import confirmed
from loop.ui.frame import PageView, in_turn, live
from loop.ui.state import PageState
from loop.ui.tables import badge, counted, heading, note, number, show_table
from loop.ui.times import clock, show_time
from loop.ui.visitors import notify_success

_LISTED = 25
_STATES = get_args(models.JobAnswer.model_fields["state"].annotation)
KINDS = get_args(models.JobAnswer.model_fields["kind"].annotation)
_ENDED, _REPLAYABLE = {"done", "nothing", "dead", "cancelled"}, {"dead", "cancelled"}
_JOB_EVENTS = ("job.deferred", "job.finished")
_ALL = "all"


class OperationsState(PageState):
    """What the address says: which view, and of jobs and dead letters which ones; empty: all."""

    view: str = "now"
    state: str = ""
    kind: str = ""
    app: str = ""
    reason: str = ""
    after: str = ""
    """Where the page of jobs begins."""


def jobs_at(state: str = "", kind: str = "", app: str = "") -> str:
    """Return the address of the jobs of a state, a kind and an app."""
    return OperationsState(view="jobs", state=state, kind=kind, app=app).address("/operations")


async def show_jobs(view: PageView) -> None:
    """Show jobs as the address says, and go on showing them."""
    state = view.address.of(OperationsState)
    jobs = JobTable(view, {"state": state.state, "kind": state.kind, "app_id": state.app})
    if state.after:
        jobs.cursors.append(state.after)
    await jobs.build()
    await jobs.refresh()
    live(view).on(_JOB_EVENTS, jobs.refresh_first)


@dataclass
class JobTable:
    """A page of jobs, and which of them are chosen."""

    view: PageView
    filters: dict[str, str]
    cursors: list[str | None] = field(default_factory=lambda: [None])
    """Where each page up to this one begins."""
    shown: dict[str, models.JobAnswer] = field(default_factory=dict)
    chosen: set[str] = field(default_factory=set)
    boxes: dict[str, ui.checkbox] = field(default_factory=dict)

    async def build(self) -> None:
        """Build the filters, the table's place and what can be done with what is chosen."""
        with ui.row().classes("items-center gap-3 w-full"):
            for name, label, options in (("state", "State", _STATES), ("kind", "Kind", KINDS)):
                chooser = ui.select([_ALL, *options], value=one_of(options, self.filters[name]), label=label)
                chooser.props("outlined dense").classes("w-44")
                chooser.on_value_change(lambda event, name=name: self._filter(name, event.value))
            apps = apps_to_choose(self.view, "App", _ALL, lambda: self._filter("app_id", apps.select.value or ""))
            await apps.load(self.filters["app_id"])
        with ui.row().classes("items-center gap-2 w-full") as actions:
            self.count = note("None chosen").props("aria-live=polite")
            self.replay = ui.button("Run again", icon="replay", on_click=self._replay_chosen)
            self.cancel = ui.button("Cancel", icon="cancel", on_click=self._cancel_chosen)
            for button in (self.replay, self.cancel):
                button.props("outline no-caps dense").classes("px-3")
        actions.set_visibility(self.view.may_write)
        with ui.column().classes("card w-full min-w-0") as self.found:
            head = ["", "Kind", "App", "State", "Why", "Attempts", "Asked for", ""]
            self.table = show_table("Jobs, newest first", head)
            self.none = ui.label("No jobs like this.").classes("muted")
        with ui.row().classes("gap-2"):
            self.newer = ui.button("Newer", icon="chevron_left", on_click=self._go_back).props("flat no-caps")
            self.older = ui.button("Older", icon="chevron_right", on_click=self._go_on).props("flat no-caps")

    @in_turn
    async def refresh(self) -> None:
        """Show the page as it is now."""
        filters: dict[str, Any] = {name: value for name, value in self.filters.items() if value}
        page = await self.view.client.list_jobs(limit=_LISTED, cursor=self.cursors[-1], **filters)
        self.after = page.cursor
        self.shown = {one.job_id: one for one in page.jobs}
        self.boxes = {job_id: box for job_id, box in self.boxes.items() if job_id in self.shown}
        # What is no longer shown cannot be seen to be chosen, and is not.
        self.chosen &= set(self.shown)
        self.newer.set_enabled(len(self.cursors) > 1)
        self.older.set_enabled(page.cursor is not None)
        self.none.set_visibility(not page.jobs)
        self.table.whole.set_visibility(bool(page.jobs))
        # A job without what changes at each look.
        self.table.keep((one.job_id, one.model_copy(update={"expected_at": None}), self._row(one)) for one in page.jobs)
        for job_id in self.shown:
            self.boxes[job_id].set_value(job_id in self.chosen)
        self._count()

    async def refresh_first(self) -> None:
        """Show what others changed, where the newest are looked at and nothing is being chosen."""
        if len(self.cursors) == 1 and not self.chosen:
            await self.refresh()

    def _row(self, one: models.JobAnswer) -> list[Any]:
        reason = one.reason or "–"
        if one.expected_at is not None:
            reason += f" (expected at {clock(one.expected_at)})"
        return [
            lambda: self._choice(one),
            one.kind,
            one.app_id or "–",
            lambda: badge(one.state, "negative" if one.state == "dead" else "primary").props("outline"),
            reason,
            f"{one.attempts} of {one.max_attempts}",
            lambda: show_time(one.created_at),
            lambda: self._actions(one),
        ]

    def _choice(self, one: models.JobAnswer) -> None:
        box = ui.checkbox(value=one.job_id in self.chosen, on_change=lambda event: self._choose(one, event.value))
        self.boxes[one.job_id] = box
        box.props(f"dense aria-label='Choose {one.kind} {one.job_id}'").set_visibility(self.view.may_write)

    def _actions(self, one: models.JobAnswer) -> None:
        if not self.view.may_write:
            return
        if one.state in _REPLAYABLE:
            button = ui.button(icon="replay", on_click=lambda: self._each("replay", [one]))
            button.props(f"flat round dense size=sm aria-label='Run {one.kind} {one.job_id} again'")
        elif one.state not in _ENDED:
            button = ui.button(icon="cancel", on_click=lambda: self._confirm_cancel([one]))
            button.props(f"flat round dense size=sm aria-label='Cancel {one.kind} {one.job_id}'")

    def _choose(self, one: models.JobAnswer, chosen: bool) -> None:
        (self.chosen.add if chosen else self.chosen.discard)(one.job_id)
        self._count()

    def _count(self) -> None:
        states = [self.shown[job_id].state for job_id in self.chosen]
        self.count.set_text(f"{len(states)} chosen" if states else "None chosen")
        self.replay.set_enabled(any(one in _REPLAYABLE for one in states))
        self.cancel.set_enabled(any(one not in _ENDED for one in states))

    async def _filter(self, name: str, value: str) -> None:
        value = "" if value == _ALL else value
        if value == self.filters[name]:
            return
        self.filters[name], self.cursors = value, [None]
        self.view.address.show(
            state=self.filters["state"], kind=self.filters["kind"], app=self.filters["app_id"], after=""
        )
        self.chosen.clear()
        await self.refresh()

    async def _go_on(self) -> None:
        self.cursors.append(self.after)
        self.view.address.show(after=self.after or "")
        await self.refresh()

    async def _go_back(self) -> None:
        self.cursors.pop()
        self.view.address.show(after=self.cursors[-1] or "")
        await self.refresh()

    async def _replay_chosen(self) -> None:
        chosen = [self.shown[one] for one in self.chosen]
        await self._each("replay", [one for one in chosen if one.state in _REPLAYABLE])

    async def _cancel_chosen(self) -> None:
        chosen = [self.shown[one] for one in self.chosen]
        await self._confirm_cancel([one for one in chosen if one.state not in _ENDED])

    async def _confirm_cancel(self, jobs: list[models.JobAnswer]) -> None:
        goes = [f"{one.kind} of {one.app_id or 'no app'}, {one.state}" for one in jobs]
        count = counted(len(jobs), "job")
        if await confirmed(f"Cancel {count}?", goes, button=f"Yes, cancel {count}", cancel="No, let them go on"):
            await self._each("cancel", jobs)

    async def _each(self, action: str, jobs: list[models.JobAnswer]) -> None:
        call = self.view.client.replay_job if action == "replay" else self.view.client.cancel_job
        # Not in the row, which is shown anew.
        with self.found:
            for one in jobs:
                async with self.view.show_errors():
                    await call(one.job_id)
            self.chosen.clear()
            await self.refresh()


async def show_dead_letters(view: PageView) -> None:
    """Show the dead letters that match, and run them again after they were counted."""
    dead = DeadLetters(view, view.address.of(OperationsState))
    await dead.build()
    await dead.count()
    live(view).on({"job.finished"}, dead.count)


@dataclass
class DeadLetters:
    """Which dead letters are meant, and how many there are."""

    view: PageView
    state: OperationsState

    async def build(self) -> None:
        """Build the filters and the place of what is found."""
        with ui.row().classes("items-center gap-3 w-full"):
            self.kind = ui.select([_ALL, *KINDS], value=one_of(KINDS, self.state.kind), label="Kind")
            self.kind.props("outlined dense").classes("w-44")
            apps = apps_to_choose(self.view, "App", _ALL, self._filter)
            self.app = apps.select
            self.reason = ui.input("Part of the reason", value=self.state.reason)
            self.reason.props("outlined dense debounce=300").classes("w-56")
        self.found = ui.column().classes("card w-full gap-2 min-w-0")
        await apps.load(self.state.app)
        for one in (self.kind, self.reason):
            one.on_value_change(self._filter)

    async def _filter(self) -> None:
        kind = "" if self.kind.value == _ALL else self.kind.value
        # No new place for each letter of a reason.
        self.view.address.show(is_new=False, kind=kind, app=self.app.value or "", reason=self.reason.value or "")
        await self.count()

    def _job_filter(self) -> dict[str, Any]:
        return {
            "kind": OMIT if self.kind.value == _ALL else self.kind.value,
            "app_id": self.app.value or None,
            "reason": (self.reason.value or "").strip() or OMIT,
        }

    async def count(self) -> None:
        """Count without changing anything; a reader's token may not even ask that, and sees those that are listed."""
        matching: dict[str, int] | None = None
        if self.view.may_write:
            matching = (await self.view.client.replay_jobs(dry_run=True, **self._job_filter())).matching
        kind, app_id = None if self.kind.value == _ALL else self.kind.value, self.app.value or None
        page = await self.view.client.list_jobs(state="dead", kind=kind, app_id=app_id, limit=_LISTED)
        reason = (self.reason.value or "").strip().casefold()
        latest = [one for one in page.jobs if reason in (one.reason or "").casefold()]
        self.found.clear()
        with self.found:
            if matching is not None:
                count = sum(matching.values())
                heading(f"{counted(count, 'dead letter')} match")
                if count:
                    rows = [[kind, number(many)] for kind, many in matching.items()]
                    show_table("Dead letters that match, by kind", ["Kind", "Dead letters"], rows)
                again = ui.button("Run them again", icon="replay", on_click=lambda: self._replay(count))
                again.props("unelevated no-caps color=cyan-9").set_enabled(count > 0)
            heading("The latest")
            if not latest:
                ui.label("None.").classes("muted")
            else:
                rows = [[one.kind, one.app_id or "–", one.reason or "–", _when(one)] for one in latest]
                show_table("The latest dead letters", ["Kind", "App", "Why", "Died"], rows)

    async def _replay(self, count: int) -> None:
        goes = ["They get fresh attempts, and spend energy as new work does."]
        if not await confirmed(f"Run {counted(count, 'dead letter')} again?", goes, button="Run again"):
            return
        with self.found:
            replayed, refused, cursor = 0, 0, None
            while True:
                round_ = await self.view.client.replay_jobs(cursor=cursor or OMIT, **self._job_filter())
                replayed, refused, cursor = replayed + round_.replayed, refused + round_.refused, round_.cursor
                if cursor is None:
                    break
            notify_success(f"{replayed:,} run again, {refused:,} cannot be.")
            await self.count()


def one_of(options: Iterable[str], chosen: str) -> str:
    """Return what an address chooses of some options; all of them where it is none."""
    return chosen if chosen in options else _ALL


def _when(one: models.JobAnswer) -> Any:
    return lambda: show_time(one.finished_at or one.created_at)
