"""Charts of figures over hours or days, each with its figures as a table for who does not see it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nicegui import ui

from loop.ui.tables import amount, note, show_table

COLOURS = (
    "#0891b2", "#7c3aed", "#15803d", "#c2410c", "#be185d", "#a16207", "#4f46e5", "#0f766e", "#64748b", "#b91c1c",
)  # fmt: skip
# Drawn as SVG, so that the page's own colours apply in light and in dark, also when that changes.
_STYLE = """
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
        ui.add_css(_STYLE)
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
            rows = [
                [step, *(amount(values[index]) for values in not_empty.values())] for index, step in enumerate(steps)
            ]
            show_table(self._title, ["When", *not_empty], rows)

    def _colour(self, name: str) -> str:
        return COLOURS[self._places.setdefault(name, len(self._places)) % len(COLOURS)]

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
            line = {"type": "dashed", "color": COLOURS[3], "width": 1.5}
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
