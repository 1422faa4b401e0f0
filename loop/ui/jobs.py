"""Jobs for operators: by state, kind and app, each with what it cost; run again or cancelled, one or several.

The dead letters, counted before they are run again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from nicegui import ui
from nicegui.events import GenericEventArguments

from afterthought_client import models
from afterthought_client.calls import OMIT
from loop.ui.forms import apps_to_choose, confirmed, dialog
from loop.ui.frame import PageView, chat_address, in_turn, live, press_once
from loop.ui.state import PageState
from loop.ui.tables import (
    FLAT,
    OUTLINED,
    PRIMARY,
    Row,
    Said,
    action,
    figures,
    heading,
    listing,
    note,
    show_table,
    time_cell,
)
from loop.ui.visitors import notify_success
from loop.ui.wording import ago, amount, author_of, clock, counted, minute, number, words_of

_LISTED = 25
_LEFT_OUT = {"App", "Attempts", "Asked for"}
"""On phones."""
_STATES = get_args(models.JobAnswer.model_fields["state"].annotation)
# Those of this release; the answer may name another's.
KINDS = get_args(get_args(models.JobAnswer.model_fields["kind"].annotation)[0])
_ENDED, _REPLAYABLE = {"done", "nothing", "dead", "cancelled"}, {"dead", "cancelled"}
_JOB_EVENTS = ("job.deferred", "job.finished")
Job = models.JobAnswer | models.JobDetails
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
    job: str = ""
    """The job that is open."""


def jobs_at(state: str = "", kind: str = "", app: str = "", job: str = "") -> str:
    """Return the address of the jobs of a state, a kind and an app, and of one that is open."""
    return OperationsState(view="jobs", state=state, kind=kind, app=app, job=job).address("/operations")


async def show_jobs(view: PageView) -> None:
    """Show jobs as the address says, and go on showing them."""
    state = view.address.of(OperationsState)
    jobs = JobTable(view, state)
    await jobs.build()
    await jobs.refresh()
    live(view).on(_JOB_EVENTS, jobs.refresh_first)
    if state.job:
        async with view.show_errors():
            await jobs.open(state.job)


_WORK = """
<q-td :props="props" style="min-width: 9rem">
  <a class="link" :href="props.row.address" @click.prevent="$parent.$emit('open', props.row.id)">
    {{ props.value }}</a>
  <div class="muted said" dir="auto">{{ props.row.why }}</div>
</q-td>"""
_STATE = """
<q-td :props="props"><q-badge outline role="note" :class="{ danger: props.row.dead }">
  {{ props.value }}</q-badge></q-td>"""
_DO = """
<q-td :props="props"><q-btn v-if="props.row.doing" flat round dense size="sm" :icon="props.row.icon"
  :aria-label="props.row.doing" @click="$parent.$emit('do', props.row.id)" /></q-td>"""


class JobTable:
    """A page of jobs, and which of them are chosen."""

    def __init__(self, view: PageView, state: OperationsState) -> None:
        self._view = view
        self._filters = {"state": state.state, "kind": state.kind, "app_id": state.app}
        # Where each page up to this one begins.
        self._cursors: list[str | None] = [None, state.after] if state.after else [None]
        self._after: str | None = None
        self._jobs: dict[str, models.JobAnswer] = {}

    async def build(self) -> None:
        """Build the filters, the table's place and what can be done with what is chosen."""
        with ui.row().classes("items-center gap-3 w-full"):
            for name, label, options in (("state", "State", _STATES), ("kind", "Kind", KINDS)):
                chooser = in_words(label, options, self._filters[name])
                chooser.on_value_change(lambda event, name=name: self._filter(name, event.value))
            apps = apps_to_choose(self._view, "App", _ALL, lambda: self._filter("app_id", apps.value or ""))
            await apps.load(self._filters["app_id"])
        with ui.row().classes("items-center gap-2 w-full") as actions:
            self._count = note("None chosen").props("aria-live=polite")
            self._replay = action("Run again", self._replay_chosen, OUTLINED, icon="replay")
            self._cancel = action("Cancel", self._cancel_chosen, OUTLINED, icon="cancel")
        actions.set_visibility(self._view.may_write)
        head = ["Work", "App", "State", "Attempts", "Asked for", ""]
        self._table = listing("Jobs, newest first", head, "No jobs like this.", key="id", hidden_on_phones=_LEFT_OUT)
        self._table.selection = "multiple" if self._view.may_write else None
        self._table.on_select(self._show_chosen)
        for name, template in (("Work", _WORK), ("State", _STATE), ("do", _DO)):
            self._table.add_slot(f"body-cell-{name}", template)
        self._table.on("open", lambda event: self.open(event.args))
        self._table.on("do", self._do)
        with ui.row().classes("gap-2"):
            self._newer = press_once(action("Newer", lambda: None, FLAT, icon="chevron_left"), self._go_back)
            self._older = press_once(action("Older", lambda: None, FLAT, icon="chevron_right"), self._go_on)

    @in_turn
    async def refresh(self) -> None:
        """Show the page as it is now."""
        filters: dict[str, Any] = {name: value for name, value in self._filters.items() if value}
        page = await self._view.client.list_jobs(limit=_LISTED, cursor=self._cursors[-1], **filters)
        self._after = page.cursor
        self._jobs = {one.job_id: one for one in page.jobs}
        # What is no longer shown cannot be seen to be chosen, and is not.
        chosen = {row["id"] for row in self._table.selected}
        self._table.rows = [self._row(one) for one in page.jobs]
        self._table.selected = [row for row in self._table.rows if row["id"] in chosen]
        self._newer.set_enabled(len(self._cursors) > 1)
        self._older.set_enabled(page.cursor is not None)
        self._show_chosen()

    async def refresh_first(self) -> None:
        """Show what others changed, where the newest are looked at and nothing is being chosen."""
        if len(self._cursors) == 1 and not self._table.selected:
            await self.refresh()

    def _row(self, one: models.JobAnswer) -> dict[str, Any]:
        name, doing, icon = f"{words_of(one.kind)} {one.job_id}", "", ""
        if self._view.may_write and one.state in _REPLAYABLE:
            doing, icon = f"Run again: {name}", "replay"
        elif self._view.may_write and one.state not in _ENDED:
            doing, icon = f"Cancel: {name}", "cancel"
        acts = {"id": one.job_id, "name": name, "address": jobs_at(job=one.job_id), "doing": doing, "icon": icon}
        return acts | {
            "Work": words_of(one.kind),
            "why": _why(one),
            "App": one.app_id or "–",
            "State": words_of(one.state),
            "dead": one.state == "dead",
            "Attempts": f"{one.attempts} of {one.max_attempts}",
            "Asked for": ago(one.created_at),
        }

    def _show_chosen(self) -> None:
        states = [one.state for one in self._chosen()]
        self._count.set_text(f"{len(states)} chosen" if states else "None chosen")
        self._replay.set_enabled(any(one in _REPLAYABLE for one in states))
        self._cancel.set_enabled(any(one not in _ENDED for one in states))

    def _chosen(self) -> list[Job]:
        return [self._jobs[row["id"]] for row in self._table.selected if row["id"] in self._jobs]

    async def _filter(self, name: str, value: str) -> None:
        value = "" if value == _ALL else value
        if value == self._filters[name]:
            return
        self._filters[name], self._cursors = value, [None]
        state, kind, app = self._filters.values()
        self._view.address.show(state=state, kind=kind, app=app, after="")
        self._table.selected = []
        await self.refresh()

    async def _go_on(self) -> None:
        self._cursors.append(self._after)
        await self._go_to_last()

    async def _go_back(self) -> None:
        self._cursors.pop()
        await self._go_to_last()

    async def _go_to_last(self) -> None:
        self._view.address.show(after=self._cursors[-1] or "")
        await self.refresh()

    async def _do(self, event: GenericEventArguments) -> None:
        await self._end(self._jobs[event.args])

    async def _end(self, job: Job) -> None:
        await (self._each("replay", [job]) if job.state in _REPLAYABLE else self._confirm_cancel([job]))

    async def _replay_chosen(self) -> None:
        await self._each("replay", [one for one in self._chosen() if one.state in _REPLAYABLE])

    async def _cancel_chosen(self) -> None:
        await self._confirm_cancel([one for one in self._chosen() if one.state not in _ENDED])

    async def _confirm_cancel(self, jobs: Sequence[Job]) -> None:
        goes = [f"{words_of(one.kind)} of {one.app_id or 'no app'}, {words_of(one.state)}" for one in jobs]
        count = counted(len(jobs), "job")
        if await confirmed(f"Cancel {count}?", goes, button=f"Yes, cancel {count}", cancel="No, let them go on"):
            await self._each("cancel", jobs)

    async def _each(self, what: Literal["replay", "cancel"], jobs: Sequence[Job]) -> None:
        call = self._view.client.replay_job if what == "replay" else self._view.client.cancel_job
        # Not in a dialog, which may be closed meanwhile.
        with self._table:
            for one in jobs:
                async with self._view.show_errors():
                    await call(one.job_id)
            self._table.selected = []
            await self.refresh()

    async def open(self, job_id: str) -> None:
        """Show a job, what came of it and what it cost, in a dialog that is a place of its own."""
        one = await self._view.client.show_job(job_id)
        self._view.address.show(job=job_id)
        with dialog(words_of(one.kind)) as shown:
            # Not once it is hidden, when it is gone.
            shown.on_value_change(lambda: self._view.address.show(is_new=False, job=job_id if shown.value else ""))
            figures(_details(one))
            with ui.row().classes("gap-4"):
                if one.app_id and one.conversation_id:
                    ui.link("Its conversation", chat_address(one.app_id, conversation=one.conversation_id))
                if one.app_id:
                    ui.link("More of this kind and app", jobs_at(kind=one.kind, app=one.app_id))
            heading("Calls", 3)
            if one.calls:
                prompts, answers = (sum(getattr(call, n) for call in one.calls) for n in _TOKENS)
                units = amount(sum(call.units for call in one.calls))
                note(f"{counted(len(one.calls), 'call')}: {prompts:,} tokens read, {answers:,} written, {units} units")
                head = ["When", "For", "Model", "Outcome", "Prompt tokens", "Answer tokens", "Units"]
                show_table("Calls of the job, the oldest first", head, map(_call, one.calls))
            else:
                note("None is known: it made none yet, or they are too old to be kept one by one.")
            if self._view.may_write and one.state not in _ENDED - _REPLAYABLE:

                async def act() -> None:
                    shown.close()
                    await self._end(one)

                name = "Run it again" if one.state in _REPLAYABLE else "Cancel it"
                action(name, act, OUTLINED).classes("self-end")


_TOKENS = ("prompt_tokens", "completion_tokens")


def _why(one: Job) -> str:
    expected = "" if one.expected_at is None else f" (expected at {clock(one.expected_at)})"
    return f"{one.reason or ''}{expected}".strip()


def _details(one: models.JobDetails) -> list[tuple[str, str]]:
    times = (("Asked for", one.created_at), ("Began", one.started_at), ("Ended", one.finished_at))
    found = [
        ("State", words_of(one.state)),
        ("Why", _why(one)),
        ("Waits for", words_of(one.deferral) if one.deferral else ""),
        ("Attempts", f"{one.attempts} of {one.max_attempts}"),
        ("App", one.app_id or ""),
        ("Conversation", one.conversation_id or ""),
        *((name, minute(at) if at is not None else "") for name, at in times),
        ("Trace", one.trace_id or ""),
        ("Number", one.job_id),
    ]
    return [(name, value) for name, value in found if value]


def _call(one: models.JobCall) -> list[str]:
    about = "about " if one.estimated else ""
    prompt, answer = (f"{about}{number(getattr(one, name))}" for name in _TOKENS)
    tried = [author_of(one.model), words_of(one.outcome)]
    return [clock(one.at), words_of(one.kind), *tried, prompt, answer, amount(one.units)]


def in_words(label: str, options: Iterable[str], chosen: str) -> ui.select:
    """Show a chooser of kinds or states, of which none may be chosen."""
    known = {_ALL: _ALL} | {one: words_of(one) for one in options}
    chooser = ui.select(known, value=chosen if chosen in known else _ALL, label=label)
    return chooser.classes("w-40")


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
    shown: object = None

    async def build(self) -> None:
        """Build the filters and the place of what is found."""
        with ui.row().classes("items-center gap-3 w-full"):
            self.kind = in_words("Kind", KINDS, self.state.kind)
            self.app = apps_to_choose(self.view, "App", _ALL, self._filter)
            self.reason = ui.input("Part of the reason", value=self.state.reason)
            self.reason.props("debounce=300").classes("w-56")
        self.found = ui.column().classes("card w-full gap-2 min-w-0")
        await self.app.load(self.state.app)
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

    @in_turn
    async def count(self) -> None:
        """Count without changing anything; a reader's token may not even ask that, and sees those that are listed."""
        matching: dict[str, int] | None = None
        chosen = self._job_filter()
        if self.view.may_write:
            matching = (await self.view.client.replay_jobs(dry_run=True, **chosen)).matching
        given = {name: None if value is OMIT else value for name, value in chosen.items()}
        latest = (await self.view.client.list_jobs(state="dead", limit=_LISTED, **given)).jobs
        # A button that is made anew loses a click that is on its way.
        if self.shown == (matching, latest, chosen):
            return
        self.shown = (matching, latest, chosen)
        self.found.clear()
        with self.found:
            if matching is not None:
                count = sum(matching.values())
                heading(f"{counted(count, 'dead letter')} match")
                if count:
                    counts = [[words_of(kind), number(many)] for kind, many in matching.items()]
                    show_table("Dead letters that match, by kind", ["Kind", "Dead letters"], counts)
                again = action("Run them again", lambda: self._replay(count, chosen), PRIMARY, icon="replay")
                again.set_enabled(count > 0)
            heading("The latest")
            if not latest:
                ui.label("None.").classes("muted")
            else:
                show_table("The latest dead letters", ["Kind", "App", "Why", "Died"], map(_letter, latest))

    async def _replay(self, count: int, chosen: Mapping[str, Any]) -> None:
        # What was counted, whatever is chosen by now.
        goes = ["They get fresh attempts, and spend energy as new work does."]
        if not await confirmed(f"Run {counted(count, 'dead letter')} again?", goes, button="Run again"):
            return
        with self.found:
            replayed, refused, cursor = 0, 0, None
            while True:
                round_ = await self.view.client.replay_jobs(cursor=cursor or OMIT, **chosen)
                replayed, refused, cursor = replayed + round_.replayed, refused + round_.refused, round_.cursor
                if cursor is None:
                    break
            notify_success(f"{replayed:,} run again, {refused:,} cannot be.")
            await self.count()


def _letter(one: models.JobAnswer) -> Row:
    kind, died = Said(words_of(one.kind), address=jobs_at(job=one.job_id)), time_cell(one.finished_at or one.created_at)
    return [kind, one.app_id or "–", one.reason or "–", died]
