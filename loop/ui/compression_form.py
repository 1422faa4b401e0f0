"""How a version is to be made: the settings, what would come of them, and which marked parts would survive."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from nicegui import background_tasks, ui

from afterthought_client import models
from loop.ui.frame import PageView
from loop.ui.project import TIER_PRESETS
from loop.ui.session_view import dialog, foot, made_how, whole_number
from loop.ui.tables import FLAT, action, badge, heading, note
from loop.ui.visitors import FormError, notify_success

_MODES = {"uniform": "Uniform", "tiered": "Tiered"}
_TIER_LEVELS = {"minimal": "Minimal", "moderate": "Moderate", "aggressive": "Aggressive"}
_LEVELS = {"": "By the ratio"} | _TIER_LEVELS
_CUSTOM = "custom"
_FIRST_TIERS = ((50, 15, "moderate"), (100, 5, "minimal"))
_KEEPITS = {"decay": "Apply decay", "preserve-all": "Keep all", "ignore": "Only pinned"}
_SETTLE_SECONDS = 0.3
_MARKERS = 200
_SAMPLE = 50


class CompressionForm:
    """The settings of a version, in fields; ``changed`` is called when one of them changes."""

    def __init__(self, changed: Callable[[], None], *, ratio: int = 10) -> None:
        with ui.element("div").classes("fields"):
            self._mode = ui.select(_MODES, value="uniform", label="Mode", on_change=self._switch)
            self._ratio = ui.number("Ratio (to 1)", value=ratio, min=2, max=100, step=1, on_change=changed)
            self._level = ui.select(_LEVELS, value="", label="Aggressiveness", on_change=changed)
            self._tiers = ui.select(TIER_PRESETS | {_CUSTOM: "Tiers by hand"}, value="standard", label="Preset")
            self._keepits = ui.select(_KEEPITS, value="decay", label="Keepit handling", on_change=changed)
            self._distance = ui.number(
                "Session distance (1 = recent, 10 = old)", value=1, min=1, step=1, on_change=changed
            )
            self._skip = ui.number("Messages to skip at the beginning", value=0, min=0, step=1, on_change=changed)
            self.fields: dict[str, ui.select | ui.number] = {
                "mode": self._mode, "ratio": self._ratio, "level": self._level, "tiers": self._tiers,
                "keepits": self._keepits, "distance": self._distance, "skip": self._skip,
            }  # fmt: skip
            for field in self.fields.values():
                field.props("outlined dense options-dense debounce=200")
        self._changed = changed
        self._by_hand = TierList(changed)
        self._tiers.on_value_change(self._switch)
        self._switch()

    def settings(self) -> models.CompressionSettings:
        """Return the settings. Raises: FormError where a number is missing or out of bounds."""
        is_uniform = self._mode.value == "uniform"
        settings = {
            "mode": self._mode.value,
            "keepit_mode": self._keepits.value,
            "session_distance": whole_number(self._distance, 1),
            "skip_first_messages": whole_number(self._skip, 0),
        }
        if is_uniform:
            settings["compaction_ratio"] = whole_number(self._ratio, 2, 100)
            if self._level.value:
                settings["aggressiveness"] = self._level.value
        else:
            settings["tier_preset"] = self._tiers.value
            if self._tiers.value == _CUSTOM:
                settings["custom_tiers"] = self._by_hand.tiers()
        return models.CompressionSettings(**settings)

    def _switch(self) -> None:
        is_uniform = self._mode.value == "uniform"
        self._ratio.set_visibility(is_uniform)
        self._level.set_visibility(is_uniform)
        self._tiers.set_visibility(not is_uniform)
        self._by_hand.whole.set_visibility(not is_uniform and self._tiers.value == _CUSTOM)
        self._changed()


class TierList:
    """Parts of a session from its beginning to its end, each with where it ends and how it is compressed."""

    def __init__(self, changed: Callable[[], None]) -> None:
        self._changed = changed
        self._tiers: list[tuple[ui.row, ui.number, ui.number, ui.select]] = []
        with ui.column().classes("w-full gap-2") as self.whole:
            note("From the oldest part to the newest; the last one ends at 100 %.")
            self._list = ui.column().classes("w-full gap-2").props("role=list aria-label=Tiers")
            action("Add a tier", self._add_last, FLAT, icon="add")
        for end, ratio, level in _FIRST_TIERS:
            self._add(end, ratio, level)

    def tiers(self) -> list[models.Tier]:
        """Return them. Raises: FormError where a number is missing, out of bounds or out of order."""
        found = [
            models.Tier(end_percent=whole_number(end, 1, 100), compaction_ratio=whole_number(ratio, 2, 100),
                        aggressiveness=level.value)
            for _, end, ratio, level in self._tiers
        ]  # fmt: skip
        ends = [one.end_percent for one in found]
        if not ends or ends[-1] != 100 or ends != sorted(set(ends)):
            raise FormError("Tiers end one after the other, and the last at 100 %.")
        return found

    def _add_last(self) -> None:
        self._add(100, 2, "minimal")
        self._changed()

    def _add(self, end: int, ratio: int, level: str) -> None:
        number = len(self._tiers) + 1
        with self._list, ui.row().classes("w-full items-center gap-2").props("role=listitem") as row:
            fields = (
                ui.number(f"Tier {number} ends at %", value=end, min=1, max=100, step=1, on_change=self._changed),
                ui.number("Ratio of the tier", value=ratio, min=2, max=100, step=1, on_change=self._changed),
                ui.select(_TIER_LEVELS, value=level, label="Level", on_change=self._changed),
            )
            for field in fields:
                field.props("outlined dense options-dense debounce=200").classes("grow basis-[8rem]")
            tier = (row, *fields)

            def remove() -> None:
                self._tiers.remove(tier)
                row.delete()
                self._changed()

            gone = ui.button(icon="close", on_click=remove).props("flat round dense")
            gone.props["aria-label"] = f"Remove tier {number}"
        self._tiers.append(tier)


class VersionRequest:
    """A dialog that asks for a version, with what would come of it shown as it changes."""

    def __init__(self, view: PageView, session: models.SessionDetail, made: Callable[[], Awaitable[None]]) -> None:
        self._view = view
        self._session = session
        self._made = made
        self._request_number = 0
        self._texts: dict[str, str] = {}

    async def open(self) -> None:
        """Build the dialog and foresee what its first settings come to."""
        session = self._session
        listed = await self._view.client.list_versions(session.session_id, limit=_SAMPLE)
        markers = await self._view.client.list_keepits(session.session_id, limit=_MARKERS)
        self._texts = {one.marker_id: one.content for one in markers.keepits}
        sources = {"": "Original"} | {one.version_id: f"{one.version_id} {made_how(one)}" for one in listed.versions}
        with dialog(f"Create compression of {session.session_id}") as self._dialog:
            ui.label(f"Original: {session.original_tokens:,} tokens, {session.original_messages:,} messages")
            self._client = ui.context.client
            self._source = ui.select(sources, value="", label="Made from", on_change=self._request_preview)
            self._source.props("outlined dense options-dense").classes("w-full")
            # Its first change comes while it is built.
            self._form: CompressionForm | None = None
            self._form = CompressionForm(self._request_preview)
            heading("Preview", 3)
            self._preview = ui.column().classes("card gap-1").props("role=status aria-label=Preview")
            foot(self._dialog, "Create compression", self._create)
        await self._foresee(self._request_number)

    def _request_preview(self) -> None:
        if self._form is not None:
            self._request_number += 1
            background_tasks.create(self._foresee_settled(self._request_number), name="preview of a version")

    async def _foresee_settled(self, number: int) -> None:
        await asyncio.sleep(_SETTLE_SECONDS)
        if number == self._request_number:
            # A task of its own stands on no page, and has to be told on which it shows.
            with self._client:
                await self._foresee(number)

    async def _foresee(self, number: int) -> None:
        assert self._form is not None
        try:
            settings = self._form.settings()
        except FormError as error:
            self._preview.clear()
            with self._preview:
                ui.label(str(error))
            return
        async with self._view.show_errors():
            found = await self._request(settings, dry_run=True)
            # Answers of a large session may come after those to later questions.
            if number == self._request_number and found.foreseen is not None:
                self._preview.clear()
                with self._preview:
                    self._show(found.foreseen)

    def _show(self, foreseen: models.VersionForeseen) -> None:
        ui.label(f"Estimated output: about {foreseen.output_tokens:,} tokens")
        ui.label(f"Estimated messages: about {foreseen.output_messages:,}")
        ui.label(f"Compression ratio: about {foreseen.compression_ratio:.1f} to 1")
        if foreseen.is_sampled:
            note("Estimated from a sample: the session is long.")
        if foreseen.note:
            note(foreseen.note)
        least = " / ".join(f"{one:.2f}" for one in foreseen.thresholds)
        ui.label(f"Keepits: {foreseen.preserved} will be preserved, {foreseen.summarized} summarised").classes(
            "font-medium"
        )
        if least and foreseen.markers:
            note(f"What weighs {least} or more survives")
        for marker in foreseen.markers[:_SAMPLE]:
            with ui.row().classes("w-full no-wrap gap-2 items-start"):
                badge("survives" if marker.survives else "summarised", "green-9" if marker.survives else "grey-8")
                ui.label(f"{marker.weight:.2f}").classes("text-sm")
                ui.label(self._texts.get(marker.marker_id, marker.marker_id)[:200]).classes("said text-sm").props(
                    "dir=auto"
                )
        if len(foreseen.markers) > _SAMPLE:
            note(f"and {len(foreseen.markers) - _SAMPLE} more")

    async def _create(self) -> None:
        assert self._form is not None
        made = await self._request(self._form.settings(), dry_run=False)
        notify_success(f"{made.version_id} is being made.")
        await self._made()
        self._dialog.close()

    async def _request(self, settings: models.CompressionSettings, *, dry_run: bool) -> models.VersionMade:
        return await self._view.client.make_version(
            self._session.session_id,
            **settings.model_dump(exclude_unset=True),
            source_version=self._source.value or None,
            dry_run=dry_run,
        )
