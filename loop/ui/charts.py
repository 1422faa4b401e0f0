"""Charts of figures over hours or days, each with its figures as a table for who does not see it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import cycle
from typing import Any

from nicegui import ui

from loop.ui.tables import amount, show_table

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


def show_chart(
    title: str,
    steps: Sequence[str],
    series: Mapping[str, Sequence[float]],
    opened: set[str],
    *,
    as_lines: bool = False,
    unit: str = "",
    most: float | None = None,
) -> None:
    """Show series of numbers, one number a step, as stacked bars or as lines; ``most``: that there can be.

    ``opened`` holds the titles of those whose table is looked at, over the times that they are shown anew.
    """
    ui.add_css(_STYLE)
    told = {name: values for name, values in series.items() if any(values)}
    with ui.column().classes("card gap-1 min-w-0"):
        ui.label(title).classes("font-medium").props("role=heading aria-level=3")
        if not told:
            ui.label("Nothing in this time.").classes("muted text-sm")
            return
        chart = ui.echart(_options(steps, told, as_lines, most), renderer="svg").classes("chart").props("role=img")
        chart.props["aria-label"] = f"{title}: " + "; ".join(
            f"{name} {_in_short(values, as_lines, unit)}" for name, values in told.items()
        )
        _show_legend(told)
        table = ui.expansion("As a table", value=title in opened).props("dense").classes("w-full text-sm")
        table.on_value_change(lambda event: (opened.add if event.value else opened.discard)(title))
        with table:
            rows = [[step, *(amount(values[index]) for values in told.values())] for index, step in enumerate(steps)]
            show_table(title, ["When", *told], rows)


def _in_short(values: Sequence[float], as_lines: bool, unit: str) -> str:
    if as_lines:
        return f"from {amount(min(values))} to {amount(max(values))}{unit}"
    return f"{amount(sum(values))}{unit} in all"


def _show_legend(names: Iterable[str]) -> None:
    """Show which colour is whose. That of the chart itself cuts names."""
    with ui.row().classes("gap-x-4 gap-y-1 text-xs"):
        for name, colour in zip(names, cycle(_COLOURS), strict=False):
            with ui.row().classes("items-center gap-1 no-wrap min-w-0"):
                ui.element("span").classes("shrink-0 w-3 h-3 rounded-sm").style(f"background: {colour}")
                ui.label(name).classes("said").props("dir=auto")


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
