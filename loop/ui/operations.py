"""What operators watch: the energy, the queues, who works, and what the service depends on. Beside them memory work:
how room was made by app, and how retrievals went. Jobs and tuning are modules of their own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Annotated

from fastapi import Query
from nicegui import ui
from prometheus_client.parser import text_string_to_metric_families

from afterthought_client import models
from loop.ui import jobs, tuning
from loop.ui.charts import Chart
from loop.ui.choosers import apps_to_choose
from loop.ui.frame import Frame, PageView, live, press_once
from loop.ui.home import readiness
from loop.ui.jobs import OperationsState
from loop.ui.tables import (
    OUTLINED,
    Row,
    action,
    amount,
    badge,
    card,
    note,
    number,
    show_table,
    show_views,
)

_APPS = 10
_DAYS = 14
_OUTCOMES = {
    "deleted": "Deleted", "merged": "Merged", "oldest_went": "Oldest went", "least_went": "Least valuable went",
    "new_gave_way": "New gave way",
}  # fmt: skip
_PERIODS = {1: "The last hour", 24: "The last day", 168: "The last week", 720: "The last 30 days"}


async def show_memory_work(view: PageView) -> None:
    """Show compactions by outcome and app, and the figures of retrieval."""
    await show_compactions(view)
    await show_retrievals(view)


async def show_compactions(view: PageView) -> None:
    """Show how room was made in the last days: in the first apps, and in the next ones when they are asked for."""
    rows: list[Row] = []
    days: dict[str, Counter[str]] = {}
    cursor: str | None = None

    async def show_more() -> None:
        nonlocal cursor
        page = await view.client.list_apps(limit=_APPS, cursor=cursor)
        cursor = page.cursor
        more.set_visibility(cursor is not None)
        for app in page.apps:
            counted: Counter[str] = Counter()
            for day in (await view.client.list_compactions(days=_DAYS, app_id=app.app_id)).days:
                counted.update(day.outcomes)
                days.setdefault(f"{day.day:%d %b}", Counter()).update(day.outcomes)
            rows.append([app.name, *(number(counted[key]) for key in _OUTCOMES)])
        found.clear()
        with found:
            series = {name: [float(day[key]) for day in days.values()] for key, name in _OUTCOMES.items()}
            Chart("By outcome and day, of these apps").show(list(days), series)
            show_table("Compactions by app and outcome", ["App", *_OUTCOMES.values()], rows)

    with card(f"Compactions in {_DAYS} days"):
        found = ui.column().classes("w-full gap-3 min-w-0")
        more = press_once(ui.button("More apps").props("flat dense no-caps"), show_more)
    await show_more()


async def show_retrievals(view: PageView) -> None:
    """Show how retrievals went in a period, of one app or all: first the last day of all."""

    async def show() -> None:
        got = await view.client.show_retrieval_metrics(hours=hours.value, app_id=apps.select.value or None)
        found.clear()
        with found, ui.element("div").classes("grid gap-4 w-full grid-cols-1 lg:grid-cols-2"):
            show_table("Figures of retrieval", ["Figure", "Value"], _figures(got))
            rows = [
                [stage, number(one.count), *(number(ms, 1) for ms in (one.mean, one.p50, one.p95, one.p99))]
                for stage, one in got.durations.items()
            ]
            show_table("Latency by stage, milliseconds", ["Stage", "Count", "Mean", "p50", "p95", "p99"], rows)
            gate = [[name, way.state.replace("_", " "), way.why] for name, way in got.gate.ways.items()]
            show_table("Release gate", ["Way", "State", "Why"], gate)

    with card("Retrieval"):
        with ui.row().classes("gap-3"):
            hours = ui.select(_PERIODS, value=24, label="Period", on_change=show)
            hours.props("outlined dense").classes("w-48")
            apps = apps_to_choose(view, "App of the retrievals", "All apps", show)
        found = ui.column().classes("w-full gap-3 min-w-0")
    await apps.load()
    await show()


def _figures(found: models.RetrievalMetrics) -> list[list[str]]:
    hit = None if found.hit_rate is None else 100 * found.hit_rate
    used = None if found.token_budget_used is None else 100 * found.token_budget_used
    cosines = " · ".join(number(one, 3) for one in found.mean_top_similarities) or "–"
    return [
        ["Retrievals", number(found.retrievals)],
        ["Found something", number(hit, 1, " %")],
        ["Mean similarity of the best three", cosines],
        ["Mean score of the best", number(found.mean_top_score, 3)],
        ["Token budget used", number(used, 1, " %")],
        ["Found by", _counts(found.sources)],
        ["Went without", _counts(found.degraded)],
        ["Release gate", found.gate.state.replace("_", " ")],
        ["NDCG", "– (nothing here is labelled; python -m ops.bench.finding measures it on labelled questions)"],
    ]


def _counts(counts: dict[str, int]) -> str:
    return ", ".join(f"{name} {number(count)}" for name, count in counts.items()) or "–"


_VIEWS = {
    "now": "Now",
    "jobs": "Jobs",
    "dead": "Dead letters",
    "memory": "Compactions and retrieval",
    "settings": "Settings and storage",
    "doctor": "Doctor",
}
_FULL = 100
"""The level of all energy there can be."""
_JOB_EVENTS = ("job.deferred", "job.finished", "conversation.ended")
_HEALTH = {"fail": ("broken", "red-9"), "warn": ("look at it", "deep-orange-10"), "ok": ("well", "green-9")}
_WORST_FIRST = list(_HEALTH)
_STATUS = {"high": "green-9", "medium": "cyan-9", "low": "deep-orange-10", "urgent": "red-9"}


def register(frame: Frame) -> None:
    """Register the page."""

    @frame.page("/operations", "Operations")
    async def show(page: PageView, state: Annotated[OperationsState, Query()]) -> None:
        if not page.visitor.is_admin:
            ui.label("Only the admin's token and a reader's open this page.").classes("muted")
            return
        view = state.view if state.view in _VIEWS else "now"
        show_views("/operations", _VIEWS, view)
        await _BUILD[view](page)


async def show_now(view: PageView) -> None:
    """Show how things stand, and go on showing it."""
    now = Now(view)
    for refresh in (now.refresh_energy, now.refresh_work, now.refresh_history):
        async with view.show_errors():
            await refresh()
    follow = live(view)
    follow.on({"energy"}, now.refresh_energy)
    follow.on(_JOB_EVENTS, now.refresh_work)
    follow.on({"job.finished"}, now.refresh_history)


@dataclass
class Now:
    """The energy, the work that waits, and what it needs."""

    view: PageView
    energy: ui.column = field(default_factory=lambda: _section("Energy"))
    history: tuple[Chart, ...] = field(default_factory=lambda: _charts())
    shown: Sequence[models.HourAnswer] = ()
    work: ui.column = field(default_factory=lambda: ui.column().classes("w-full gap-4"))

    async def refresh_energy(self) -> None:
        """Show the level, and what it holds back."""
        found = await self.view.client.show_energy()
        self.energy.clear()
        with self.energy:
            with ui.row().classes("items-baseline gap-3"):
                ui.label(number(found.level, 1)).classes("text-3xl font-semibold").props("data-testid=level")
                ui.badge(found.status).props(f"color={_STATUS[found.status]}")
                note(f"refills {found.replenish_per_second:g} a second")
            bar = ui.linear_progress(max(0.0, found.percentage / 100), show_value=False, size="8px")
            bar.props["aria-label"] = f"Energy: {found.percentage:.0f} %"
            opens = found.seconds_until_open
            opening = "never" if opens is None else "now" if opens == 0 else f"in {timedelta(seconds=round(opens))}"
            share = None if found.memory_share is None else 100 * found.memory_share
            rows = [
                ["Memory work starts above", f"{found.gate_percent:g} %, {opening}"],
                ["Set aside for calls under way", amount(found.reserved)],
                ["Deferred jobs", number(found.deferred_jobs)],
                ["Share of memory work in 24 hours", number(share, 1, " %")],
            ]
            show_table("What the energy holds back", ["What", "Figure"], rows)

    async def refresh_history(self) -> None:
        """Show the last day hour by hour."""
        found = (await self.view.client.show_energy_history()).hours
        if found == self.shown:
            return
        self.shown = found
        steps = [f"{one.hour:%H}:00" for one in found]
        kinds = sorted({kind for one in found for kind in one.by_kind})
        apps = sorted({app_id for one in found for app_id in one.by_app})
        level, spent_by_kind, spent_by_app = self.history
        level.show(steps, {"Lowest level": [one.lowest_level for one in found]})
        spent_by_kind.show(steps, {kind: [one.by_kind.get(kind, 0.0) for one in found] for kind in kinds})
        spent_by_app.show(steps, {app_id: [one.by_app.get(app_id, 0.0) for one in found] for app_id in apps})

    async def refresh_work(self) -> None:
        """Show the queues, who works, and what is needed for it."""
        ready = await readiness(self.view.client)
        figures = Figures(await self.view.client.show_metrics())
        self.work.clear()
        with self.work, ui.element("div").classes("grid gap-4 w-full grid-cols-1 lg:grid-cols-2"):
            _show_waiting(figures)
            with _section("What the service needs"):
                state = "Ready" if ready.ready else "Not ready"
                ui.label(f"{state}, release {ready.version}. Memories are written by: {ready.agent}").classes("text-sm")
                rows = [
                    [name, "well" if one.ok else "missing" if one.needed else "not there", one.detail]
                    for name, one in ready.dependencies.items()
                ]
                show_table("Each dependency and what to do about it", ["What", "State", "Found"], rows)


def _charts() -> tuple[Chart, ...]:
    with ui.element("div").classes("grid gap-4 w-full grid-cols-1 lg:grid-cols-3"):
        return (
            Chart("Lowest level by hour (UTC)", as_lines=True, most=_FULL),
            Chart("Spent by kind of work", unit=" units"),
            Chart("Spent by app", unit=" units"),
        )


class Figures:
    """What Prometheus would read, by name and labels."""

    def __init__(self, text: str) -> None:
        self._found = {
            (sample.name.removeprefix("afterthought_"), tuple(sample.labels.values())): float(sample.value)
            for family in text_string_to_metric_families(text)
            for sample in family.samples
        }

    def of(self, name: str, *labels: str) -> float | None:
        """Return one figure; None where it is not known."""
        return self._found.get((name, labels))

    def labels(self, name: str) -> list[str]:
        """Return the first labels under which a figure is known."""
        return sorted({labels[0] for found, labels in self._found if found == name and labels})


def _show_waiting(figures: Figures) -> None:
    with _section("Work that waits"):
        rows = []
        for kind in figures.labels("oldest_waiting_job_seconds"):
            counts = {state: figures.of("jobs", kind, state) for state in ("queued", "running", "retrying", "deferred")}
            waiting = sum(figures.of("jobs", kind, state) or 0 for state in ("pending", "queued"))
            age = figures.of("oldest_waiting_job_seconds", kind) or 0
            duration = "–" if age == 0 else str(timedelta(seconds=round(age)))
            rows.append(
                [kind, number(waiting), number(counts["running"]), number(counts["retrying"]),
                 number(counts["deferred"]), duration]
            )  # fmt: skip
        head = ["Kind", "Waiting", "Running", "Retrying", "Deferred", "Oldest waits"]
        show_table("Jobs that are not finished, by kind", head, rows)
        depths = [[queue, number(figures.of("queue_depth", queue))] for queue in figures.labels("queue_depth")]
        show_table("Messages that no worker has taken, by queue", ["Queue", "Messages"], depths)
        ui.label(f"Workers heard of lately: {number(figures.of('workers'))}").classes("text-sm")


async def show_doctor(view: PageView) -> None:
    """Show what the doctor finds, the worst first, and look again when that is asked for."""
    with _section("What the doctor finds"):
        content = ui.column().classes("w-full gap-2")

        async def look() -> None:
            found = (await view.client.show_findings()).findings
            content.clear()
            with content:
                rows = [_finding(one) for one in sorted(found, key=lambda one: _WORST_FIRST.index(one.health))]
                show_table("Findings, the worst first", ["What", "State", "Found", "What to do"], rows)

        action("Look again", look, OUTLINED, icon="refresh")
    await look()


def _finding(one: models.DoctorFinding) -> Row:
    name, colour = _HEALTH[one.health]
    return [one.what, lambda: badge(name, colour), one.found, one.mend or "–"]


def _section(title: str) -> ui.column:
    with card(title):
        return ui.column().classes("w-full gap-2")


Build = Callable[[PageView], Awaitable[None]]
_BUILD: dict[str, Build] = {
    "now": show_now,
    "jobs": jobs.show_jobs,
    "dead": jobs.show_dead_letters,
    "memory": show_memory_work,
    "settings": tuning.show_settings,
    "doctor": show_doctor,
}
