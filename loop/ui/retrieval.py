"""What operators see of memory work: how room was made by app, and how retrievals went."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from nicegui import ui

from afterthought_client import models
from loop.ui.charts import Chart
from loop.ui.frame import Frame
from loop.ui.tables import apps_to_choose, heading, number, show_table
from loop.ui.turns import press_once
from loop.ui.visitors import Visitor

_APPS = 10
_DAYS = 14
_OUTCOMES = {
    "deleted": "Deleted", "merged": "Merged", "oldest_went": "Oldest went", "least_went": "Least valuable went",
    "new_gave_way": "New gave way",
}  # fmt: skip
_PERIODS = {1: "The last hour", 24: "The last day", 168: "The last week", 720: "The last 30 days"}


async def show_memory_work(frame: Frame, visitor: Visitor) -> None:
    """Show compactions by outcome and app, and the figures of retrieval."""
    await Compactions(frame, visitor).build()
    await Retrievals(frame, visitor).build()


@dataclass
class Compactions:
    """How room was made in the last days, app by app."""

    frame: Frame
    visitor: Visitor
    cursor: str | None = None

    async def build(self) -> None:
        """Build the place of it, and show the first apps."""
        self.rows: list[tuple[str, Counter[str]]] = []
        self.days: dict[str, Counter[str]] = {}
        with ui.column().classes("card gap-2 min-w-0"):
            heading(f"Compactions in {_DAYS} days")
            self.found = ui.column().classes("w-full gap-3 min-w-0")
            self.more = press_once(ui.button("More apps").props("flat dense no-caps"), self._show_more)
        await self.show_more()

    async def _show_more(self) -> None:
        async with self.frame.errors_told():
            await self.show_more()

    async def show_more(self) -> None:
        """Add the next apps."""
        page = await self.visitor.client.list_apps(limit=_APPS, cursor=self.cursor)
        self.cursor = page.cursor
        self.more.set_visibility(page.cursor is not None)
        for app in page.apps:
            counted: Counter[str] = Counter()
            for day in (await self.visitor.client.list_compactions(days=_DAYS, app_id=app.app_id)).days:
                counted.update(day.outcomes)
                self.days.setdefault(f"{day.day:%d %b}", Counter()).update(day.outcomes)
            self.rows.append((app.name, counted))
        self.found.clear()
        with self.found:
            series = {name: [float(day[key]) for day in self.days.values()] for key, name in _OUTCOMES.items()}
            Chart("By outcome and day, of these apps").show(list(self.days), series)
            rows = [[name, *(number(counted[key]) for key in _OUTCOMES)] for name, counted in self.rows]
            show_table("Compactions by app and outcome", ["App", *_OUTCOMES.values()], rows)


@dataclass
class Retrievals:
    """How retrievals went in a period, of one app or all."""

    frame: Frame
    visitor: Visitor

    async def build(self) -> None:
        """Build the choices, and show the last day of all apps."""
        with ui.column().classes("card gap-2 min-w-0"):
            heading("Retrieval")
            with ui.row().classes("gap-3"):
                self.hours = ui.select(_PERIODS, value=24, label="Period", on_change=self._show)
                self.hours.props("outlined dense").classes("w-48")
                apps = apps_to_choose(self.frame, self.visitor, "App of the retrievals", "All apps", self._show)
                self.app = apps.select
            self.found = ui.column().classes("w-full gap-3 min-w-0")
        await apps.load()
        await self.show()

    async def _show(self) -> None:
        async with self.frame.errors_told():
            await self.show()

    async def show(self) -> None:
        """Show the figures."""
        found = await self.visitor.client.show_retrieval_metrics(hours=self.hours.value, app_id=self.app.value or None)
        self.found.clear()
        with self.found, ui.element("div").classes("grid gap-4 w-full grid-cols-1 lg:grid-cols-2"):
            show_table("Figures of retrieval", ["Figure", "Value"], _figures(found))
            rows = [
                [stage, number(one.count), *(number(ms, 1) for ms in (one.mean, one.p50, one.p95, one.p99))]
                for stage, one in found.durations.items()
            ]
            show_table("Latency by stage, milliseconds", ["Stage", "Count", "Mean", "p50", "p95", "p99"], rows)
            gate = [[name, way.state.replace("_", " "), way.why] for name, way in found.gate.ways.items()]
            show_table("Release gate", ["Way", "State", "Why"], gate)


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
