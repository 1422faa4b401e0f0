"""Charts of figures over hours or days, each with its figures as a table for who does not see it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import Any

from nicegui import ui

from loop.ui.tables import amount, note, show_table

_COLOURS = (
    "#0891b2",
    "#7c3aed",
    "#15803d",
    "#c2410c",
    "#be185d",
    "#a16207",
    "#4f46e5",
    "#0f766e",
    "#64748b",
    "#b91c1c",
)
# Drawn as SVG, so that the page's own colours apply in light and in dark, also when that changes.
_STYLE = """
.chart { width: 100%; height: 14rem; } .chart svg text { fill: var(--muted) !important; }
.chart svg path[stroke='#ccc'] { stroke: var(--line); }
"""


class Chart:
    """Series of numbers, one number a step, as bars or as lines; shown anew in its place, so that no click is lost.

    ``most``: what there can be at the most.
    """

    def __init__(self, title: str, *, as_lines: bool = False, unit: str = "", most: float | None = None) -> None:
        self._title, self._as_lines, self._unit, self._most = title, as_lines, unit, most
        ui.add_css(_STYLE)
        with ui.column().classes("card gap-1 min-w-0"):
            ui.label(title).classes("font-medium").props("role=heading aria-level=3")
            self._none = note("Nothing in this time.")
            with ui.column().classes("w-full gap-1") as self._whole:
                self._chart = (
                    ui.echart(_options((), {}, as_lines, most), renderer="svg").classes("chart").props("role=img")
                )
                self._legend = ui.row().classes("gap-x-4 gap-y-1 text-xs")
                with ui.expansion("As a table").props("dense").classes("w-full text-sm"):
                    self._table = ui.column().classes("w-full")

    def show(self, steps: Sequence[str], series: Mapping[str, Sequence[float]]) -> None:
        """Show these numbers."""
        not_empty = {name: values for name, values in series.items() if any(values)}
        self._none.set_visibility(not not_empty)
        self._whole.set_visibility(bool(not_empty))
        self._chart.options.clear()
        self._chart.options.update(_options(steps, not_empty, self._as_lines, self._most))
        self._chart.props["aria-label"] = f"{self._title}: " + "; ".join(
            f"{name} {_in_short(values, self._as_lines, self._unit)}" for name, values in not_empty.items()
        )
        self._chart.update()
        self._legend.clear()
        with self._legend:
            # Show which colour is whose. That of the chart itself cuts names.
            for name, colour in zip(not_empty, cycle(_COLOURS), strict=False):
                with ui.row().classes("items-center gap-1 no-wrap min-w-0"):
                    ui.element("span").classes("shrink-0 w-3 h-3 rounded-sm").style(f"background: {colour}")
                    ui.label(name).classes("said").props("dir=auto")
        self._table.clear()
        with self._table:
            rows = [
                [step, *(amount(values[index]) for values in not_empty.values())] for index, step in enumerate(steps)
            ]
            show_table(self._title, ["When", *not_empty], rows)


def _in_short(values: Sequence[float], as_lines: bool, unit: str) -> str:
    if as_lines:
        return f"from {amount(min(values))} to {amount(max(values))}{unit}"
    return f"{amount(sum(values))}{unit} in all"


def _options(
    steps: Sequence[str], series: Mapping[str, Sequence[float]], as_lines: bool, most: float | None
) -> dict[str, Any]:
    shape: dict[str, Any] = {"type": "line", "showSymbol": False} if as_lines else {"type": "bar", "stack": "all"}
    scale = {} if most is None else {"max": most, "interval": most / 4}
    return {
        "animation": False,
        "color": list(_COLOURS),
        "grid": {"left": 8, "right": 8, "top": 12, "bottom": 8, "containLabel": True},
        # Rich text, which holds no HTML: names may be anything.
        "tooltip": {"trigger": "axis", "renderMode": "richText"},
        "xAxis": {"type": "category", "data": list(steps), "axisLine": {"lineStyle": {"color": "#ccc"}}},
        "yAxis": {"type": "value", "splitLine": {"lineStyle": {"color": "#ccc"}}, "splitNumber": 3} | scale,
        "series": [shape | {"name": name, "data": list(values)} for name, values in series.items()],
    }
