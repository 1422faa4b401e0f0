"""What operators watch: the energy, the queues, who works, what the service depends on, and charts of the last day.

Beside them memory work: how room was made by app, and how retrievals went. Jobs and tuning are modules of their own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, get_args

from fastapi import Query
from nicegui import ui
from prometheus_client.parser import text_string_to_metric_families

from afterthought_client import models
from loop.ui import jobs
from loop.ui.administration import show_settings
from loop.ui.forms import apps_to_choose
from loop.ui.frame import Frame, PageView, live
from loop.ui.head import add_style
from loop.ui.home import count_dead, readiness
from loop.ui.jobs import OperationsState, jobs_at
from loop.ui.tables import (
    OUTLINED,
    SERIES_COLOURS,
    Row,
    Said,
    Tile,
    action,
    card,
    heading,
    more_button,
    note,
    show_table,
    show_views,
    tiles,
)
from loop.ui.wording import amount, author_of, counted, local, long_day, number, words_of

# Drawn as SVG, so that the page's own colours apply in light and in dark, also when that changes.
_CHART_STYLE = """
.chart { width: 100%; height: 14rem; } .chart svg text { fill: var(--muted) !important; stroke: none; }
.chart svg path[stroke='#ccc'] { stroke: var(--line); }
"""


class Chart:
    """Series of numbers, one number a step, as bars or as lines; shown anew in its place, so that no click is lost.

    ``most``: what there can be at the most. ``order``: the names there may be, each of which has its colour whatever
    others are shown; names beyond it get theirs as they come, and keep it.
    """

    def __init__(
        self,
        title: str,
        *,
        as_lines: bool = False,
        unit: str = "",
        most: float | None = None,
        order: Sequence[str] = (),
    ) -> None:
        self._title, self._as_lines, self._unit, self._most = title, as_lines, unit, most
        self._places = {name: place for place, name in enumerate(order)}
        add_style(_CHART_STYLE)
        with ui.column().classes("card gap-1 min-w-0"):
            ui.label(title).classes("font-medium").props("role=heading aria-level=3")
            self._none = note("Nothing in this time.")
            with ui.column().classes("w-full gap-1") as self._whole:
                self._chart = ui.echart({}, renderer="svg").classes("chart").props("role=img")
                self._legend = ui.row().classes("gap-x-4 gap-y-1 text-xs")
                with ui.expansion("As a table").props("dense").classes("w-full text-sm"):
                    self._table = ui.column().classes("w-full")

    def show(
        self,
        steps: Sequence[str],
        series: Mapping[str, Sequence[float]],
        *,
        threshold: tuple[float, str] | None = None,
        links: Mapping[str, str] | None = None,
    ) -> None:
        """Show these numbers, and a line at a number with what it means; ``links`` lead on from names."""
        not_empty = {name: values for name, values in series.items() if any(values)}
        self._none.set_visibility(not not_empty)
        self._whole.set_visibility(bool(not_empty))
        self._chart.options.clear()
        self._chart.options.update(self._options(steps, not_empty, threshold))
        self._chart.props["aria-label"] = f"{self._title}: " + "; ".join(
            f"{name} {self._in_short(values)}" for name, values in not_empty.items()
        )
        self._chart.update()
        self._legend.clear()
        with self._legend:
            # Show which colour is whose. That of the chart itself cuts names.
            for name in not_empty:
                with ui.row().classes("items-center gap-1 no-wrap min-w-0"):
                    ui.element("span").classes("shrink-0 w-3 h-3 rounded-sm").style(f"background: {self._colour(name)}")
                    address = (links or {}).get(name)
                    entry = ui.label(name) if address is None else ui.link(name, address).classes("text-inherit")
                    entry.classes("said").props("dir=auto")
        self._table.clear()
        with self._table:
            rows = [[step, *map(amount, values)] for step, *values in zip(steps, *not_empty.values(), strict=True)]
            show_table(self._title, ["When", *not_empty], rows)

    def _colour(self, name: str) -> str:
        return SERIES_COLOURS[self._places.setdefault(name, len(self._places)) % len(SERIES_COLOURS)]

    def _in_short(self, values: Sequence[float]) -> str:
        if self._as_lines:
            return f"from {amount(min(values))} to {amount(max(values))}{self._unit}"
        return f"{amount(sum(values))}{self._unit} in all"

    def _options(
        self, steps: Sequence[str], series: Mapping[str, Sequence[float]], threshold: tuple[float, str] | None
    ) -> dict[str, Any]:
        shape: dict[str, Any] = {"type": "line", "showSymbol": False} if self._as_lines else {**_BARS}
        if threshold is not None:
            level, meaning = threshold
            line = {"type": "dashed", "color": SERIES_COLOURS[3], "width": 1.5}
            shape["markLine"] = {
                "silent": True, "symbol": "none", "animation": False, "data": [{"yAxis": level}], "lineStyle": line,
                "label": {"formatter": meaning, "position": "insideStartTop"},
            }  # fmt: skip
        # From zero, so that heights compare; what is below it is told by the table and beside the cursor.
        scale = {"min": 0} | ({} if self._most is None else {"max": self._most, "interval": self._most / 5})
        return {
            "animation": False,
            "grid": {"left": 8, "right": 8, "top": 12, "bottom": 8, "containLabel": True},
            # Rich text, which holds no HTML: names may be anything.
            "tooltip": {"trigger": "axis", "renderMode": "richText"},
            "xAxis": {"type": "category", "data": list(steps), "axisLine": {"lineStyle": {"color": "#ccc"}}},
            "yAxis": {"type": "value", "splitLine": {"lineStyle": {"color": "#ccc"}}, "splitNumber": 3} | scale,
            "series": [
                shape | {"name": name, "data": list(values), "color": self._colour(name)}
                for name, values in series.items()
            ],
        }


_BARS = {"type": "bar", "stack": "all"}


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
            sums: Counter[str] = Counter()
            for day in (await view.client.list_compactions(days=_DAYS, app_id=app.app_id)).days:
                sums.update(day.outcomes)
                days.setdefault(long_day(day.day), Counter()).update(day.outcomes)
            rows.append([app.name, *(number(sums[key]) for key in _OUTCOMES)])
        found.clear()
        with found:
            series = {name: [float(day[key]) for day in days.values()] for key, name in _OUTCOMES.items()}
            Chart("By outcome and day, of these apps", order=[*_OUTCOMES.values()]).show(list(days), series)
            show_table("Compactions by app and outcome", ["App", *_OUTCOMES.values()], rows)

    with card(f"Compactions in {_DAYS} days"):
        found = ui.column().classes("w-full gap-3 min-w-0")
        more = more_button(show_more, "More apps")
    await show_more()


async def show_retrievals(view: PageView) -> None:
    """Show how retrievals went in a period, of one app or all: first the last day of all."""

    async def show() -> None:
        got = await view.client.show_retrieval_metrics(hours=hours.value, app_id=apps.value or None)
        found.clear()
        with found, ui.element("div").classes("grid gap-4 w-full grid-cols-1 lg:grid-cols-2"):
            show_table("Figures of retrieval", ["Figure", "Value"], _figures(got))
            if got.durations:
                stages = [
                    [
                        words_of(name),
                        number(one.count),
                        *(number(ms, 1) for ms in (one.mean, one.p50, one.p95, one.p99)),
                    ]
                    for name, one in got.durations.items()
                ]
                show_table("Latency by stage, milliseconds", ["Stage", "Count", "Mean", "p50", "p95", "p99"], stages)
            gate = [[words_of(name), words_of(way.state), way.why] for name, way in got.gate.ways.items()]
            show_table("Release gate", ["Way", "State", "Why"], gate)

    with card("Retrieval"):
        with ui.row().classes("gap-3"):
            hours = ui.select(_PERIODS, value=24, label="Period", on_change=show)
            hours.classes("w-48")
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
        ["Release gate", words_of(found.gate.state)],
        ["NDCG", "– (nothing here is labelled; python -m ops.bench.finding measures it on labelled questions)"],
    ]


def _counts(counts: dict[str, int]) -> str:
    return ", ".join(f"{words_of(name)} {number(count)}" for name, count in counts.items()) or "–"


_VIEWS = {
    "now": "Now",
    "jobs": "Jobs",
    "dead": "Dead letters",
    "memory": "Compactions and retrieval",
    "settings": "Settings and storage",
    "doctor": "Doctor",
}
_TILES = (
    "energy", "waiting", "workers", "dead", "deferred", "retrying", "running", "thoughts", "share",
)  # fmt: skip
"""In this order; those that are zero are left out."""
_WHILE = {"retrying": "failed before, with attempts left", "running": "at work now"}
_OPEN = ("pending", "queued", "running", "retrying", "deferred")
_WORK = get_args(models.JobCall.model_fields["kind"].annotation)
_LONG_SECONDS = 600.0
"""So long may work wait for its turn before that is a fault."""
_FULL = 100
"""The level of all energy there can be."""
_JOB_EVENTS = ("job.deferred", "job.finished", "conversation.ended")
_HEALTH = {"fail": ("broken", "red-9"), "warn": ("look at it", "deep-orange-10"), "ok": ("well", "green-9")}
_WORST_FIRST = list(_HEALTH)
_MISSING = {True: "missing", False: "cannot be used"}


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


class Now:
    """The energy, the work that waits, and what it needs."""

    def __init__(self, view: PageView) -> None:
        self._view = view
        self._shown: dict[str, Tile | None] = dict.fromkeys(_TILES)
        self._gate = 0.0
        self._hours: Sequence[models.HourAnswer] = ()
        heading("Now")
        self._tiles = tiles()
        zone = f"{local(datetime.now(UTC)):%Z}"
        with ui.element("div").classes("grid gap-4 w-full grid-cols-1 lg:grid-cols-3"):
            self._level = Chart(f"Lowest energy by hour ({zone})", as_lines=True, most=_FULL)
            self._by_kind = Chart("Spent by kind of work", unit=" units", order=[words_of(one) for one in _WORK])
            self._by_app = Chart("Spent by app", unit=" units")
        self._work = ui.column().classes("w-full gap-4")

    def _show(self, **tiles: Tile | None) -> None:
        self._shown |= tiles
        self._tiles.show((name, one, one.build) for name, one in self._shown.items() if one is not None)

    async def refresh_energy(self) -> None:
        """Show the level, and what it holds back."""
        found = await self._view.client.show_energy()
        self._gate = found.gate_percent
        opens = found.seconds_until_open
        starts = "" if opens == 0 else ", never" if opens is None else f", in {timedelta(seconds=round(opens))}"
        about = [f"{found.status}; memory work starts above {found.gate_percent:g} %{starts}"]
        about += [f"{amount(found.reserved)} set aside for calls under way"] if found.reserved else []
        about += [f"refills {found.replenish_per_second:g} a second"]
        energy = Tile("Energy", f"{number(found.level, 1)}", "; ".join(about), jobs_at("deferred"), bool(opens != 0))
        held = None
        if found.deferred_jobs:
            why = "wait for energy, a budget or a model"
            held = Tile("Deferred", number(found.deferred_jobs), why, jobs_at("deferred"))
        share = None
        if found.memory_share is not None:
            figure = number(100 * found.memory_share, 1, " %")
            share = Tile("Memory work", figure, "of what 24 hours cost", jobs_at(kind="create_memory"))
        self._show(energy=energy, deferred=held, share=share)

    async def refresh_history(self) -> None:
        """Show the last day hour by hour."""
        found = (await self._view.client.show_energy_history()).hours
        if found == self._hours:
            return
        self._hours = found
        last = found[-1]
        by_rules = last.calls - last.model_calls
        about = f"calls of models, {amount(last.spent)} units"
        about += f"; {counted(by_rules, 'more', 'more')} by the built-in agent" if by_rules else ""
        self._show(thoughts=Tile("Thoughts this hour", number(last.model_calls), about, jobs_at("done")))
        steps = [f"{local(one.hour):%H:%M}" for one in found]
        kinds = [kind for kind in _WORK if any(kind in one.by_kind for one in found)]
        apps = sorted({app_id for one in found for app_id in one.by_app})
        level = {"Lowest level": [one.lowest_level for one in found]}
        self._level.show(steps, level, threshold=(self._gate, f"memory work above {self._gate:g} %"))
        by_kind = {words_of(kind): [one.by_kind.get(kind, 0.0) for one in found] for kind in kinds}
        links = {words_of(one): jobs_at(kind=one) for one in kinds if one in jobs.KINDS}
        self._by_kind.show(steps, by_kind, links=links)
        by_app = {app_id: [one.by_app.get(app_id, 0.0) for one in found] for app_id in apps}
        self._by_app.show(steps, by_app, links={one: jobs_at(app=one) for one in apps})

    async def refresh_work(self) -> None:
        """Show the queues, who works, and what is needed for it."""
        ready = await readiness(self._view.client)
        figures = Figures(await self._view.client.show_metrics())
        dead = await count_dead(self._view.client)
        waiting = figures.sum("jobs", "pending") + figures.sum("jobs", "queued")
        ages = [figures.of("oldest_waiting_job_seconds", kind) or 0.0 for kind in jobs.KINDS]
        depth = sum(figures.of("queue_depth", queue) or 0.0 for queue in figures.labels("queue_depth"))
        about = f"the oldest for {_duration(max(ages))}" if max(ages) else "nothing waits for its turn"
        about += f"; {counted(int(depth), 'message')} no worker has taken" if depth else ""
        workers, heard = figures.of("workers"), ready.dependencies["worker"].detail
        shown: dict[str, Tile | None] = {
            "waiting": Tile("Waiting", number(waiting), about, jobs_at("pending"), max(ages) > _LONG_SECONDS),
            "workers": Tile("Workers", number(workers), heard, jobs_at("running"), not workers),
            "dead": Tile("Dead letters", dead, "failed for good", "/operations?view=dead", True) if dead else None,
        }
        for state, meaning in _WHILE.items():
            count = figures.sum("jobs", state)
            shown[state] = Tile(words_of(state).capitalize(), number(count), meaning, jobs_at(state)) if count else None
        self._show(**shown)
        self._work.clear()
        with self._work, ui.element("div").classes("grid gap-4 w-full grid-cols-1 lg:grid-cols-2"):
            _show_unfinished(figures)
            with _section("What the service needs"):
                state = f"{'Ready' if ready.ready else 'Not ready'}, release {ready.version}."
                ui.label(f"{state} Memories are written by {author_of(ready.agent)}.").classes("text-sm")
                rows = [
                    [words_of(name), "well" if one.ok else Said(_MISSING[one.needed], badge="red-9"), one.detail]
                    for name, one in ready.dependencies.items()
                ]
                show_table("Each dependency and what to do about it", ["What", "State", "Found"], rows)


def _duration(seconds: float) -> str:
    return str(timedelta(seconds=round(seconds)))


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

    def sum(self, name: str, last: str) -> float:
        """Return the sum of the figures of a name that have this as their last label."""
        return sum(value for (found, labels), value in self._found.items() if found == name and labels[-1:] == (last,))


def _show_unfinished(figures: Figures) -> None:
    """Show the kinds and states of work of which any is unfinished, each figure a link to its jobs."""
    with _section("Work that is not finished"):
        states = [state for state in _OPEN if figures.sum("jobs", state)]
        rows: list[Row] = []
        for kind in jobs.KINDS:
            counts = {state: figures.of("jobs", kind, state) or 0.0 for state in states}
            if any(counts.values()):
                age = figures.of("oldest_waiting_job_seconds", kind)
                cells = [
                    Said(number(count), address=jobs_at(state, kind)) if count else ""
                    for state, count in counts.items()
                ]
                rows.append([words_of(kind), *cells, _duration(age) if age else "–"])
        if rows:
            head = ["Kind", *(words_of(state).capitalize() for state in states), "Oldest waits"]
            show_table("Jobs that are not finished, by kind", head, rows)
        else:
            note("Nothing: all that was asked for is done.")


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
    return [one.what, Said(name, badge=colour), one.found, one.mend or "–"]


def _section(title: str) -> ui.column:
    with card(title):
        return ui.column().classes("w-full gap-2")


Build = Callable[[PageView], Awaitable[None]]
_BUILD: dict[str, Build] = {
    "now": show_now,
    "jobs": jobs.show_jobs,
    "dead": jobs.show_dead_letters,
    "memory": show_memory_work,
    "settings": show_settings,
    "doctor": show_doctor,
}
