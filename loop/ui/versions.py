"""Versions of a session: made, with what would come of it shown first, read beside the original, compared, managed."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from nicegui import background_tasks, ui
from nicegui.events import ValueChangeEventArguments

from afterthought_client import ApiError, models
from loop.ui.forms import Form, confirmed, dialog, whole_number
from loop.ui.frame import PageView
from loop.ui.originals import OriginalReader
from loop.ui.project import TIER_PRESETS
from loop.ui.tables import (
    FLAT,
    PagedCards,
    action,
    badge,
    danger,
    figures,
    fill,
    heading,
    icon_button,
    long_text,
    note,
    rendered_text,
    said,
)
from loop.ui.visitors import FormError, notify_success
from loop.ui.wording import counted, day, made_how, size, words_of

_VERSIONS = 100
_DIFFERENCES = 20
_READ_CHARACTERS = 20_000
# Scrolls the other pane along. What a version says stands word for word in the original and in the same order: so a
# part of the one is found by how it begins in the other. A pane that stands where it was just moved to tells of that
# move and moves nothing, or each would move the other for ever; who points where says nothing, because keys, a finger
# and a search in the page scroll as well. Parts that were rendered anew since are looked for again.
_FOLLOW = """({target: pane}) => {
  const panes = [...pane.parentElement.querySelectorAll(':scope > .pane')], side = panes.indexOf(pane);
  if (side < 0 || Math.abs(pane.scrollTop - pane.movedTo) < 2) return;
  const words = (part) => part.textContent.replace(/\\s+/g, ' ').trim();
  const parts = [...panes[0].querySelectorAll('p, li, pre, h4')];
  const originals = [...panes[1].querySelectorAll('.message :is(.said, p, li, pre, h4)')];
  const shown = pane.textContent.length + panes[1 - side].textContent.length;
  if (pane.parentElement.shown !== shown || !pane.parentElement.pairs.flat().every((part) => part.isConnected)) {
    const texts = originals.map(words), pairs = [];
    let from = 0;
    for (const part of parts) {
      const begin = words(part).replace(/^[^:]{1,60}: /, '').replace('[…]', '').trim().slice(0, 40);
      const at = begin.length < 8 ? -1 : texts.findIndex((text, place) => place >= from && text.includes(begin));
      if (at >= 0) { from = at; pairs.push([part, originals[at]]); }
    }
    Object.assign(pane.parentElement, {shown, pairs});
  }
  // A dialog that is still opening is drawn smaller than what scrolling counts in.
  const drawn = pane.getBoundingClientRect().height / pane.offsetHeight || 1;
  // What is read stands further down the further it was scrolled: so the end of the one meets that of the other.
  const line = (of) => of.getBoundingClientRect().top + of.clientHeight * share * drawn, other = panes[1 - side];
  const share = pane.scrollTop / Math.max(1, pane.scrollHeight - pane.clientHeight);
  const edge = (pair, of) => pair[of].getBoundingClientRect(), {pairs} = pane.parentElement;
  const pair = pairs.find((one) => edge(one, side).bottom > line(pane)) ?? pairs.at(-1);
  if (!pair) return;
  other.scrollTop += (edge(pair, 1 - side).top - line(other) - (edge(pair, side).top - line(pane))) / drawn;
  other.movedTo = other.scrollTop;
}"""


async def read_version(view: PageView, session_id: str, version: models.VersionAnswer) -> None:
    """Open a version beside its original, each of whose messages says how much of it is in the version."""
    name = version.version_id
    found = await view.client.read_version(session_id, name)
    with dialog(f"{session_id}, {name}", is_wide=True):
        told = [
            ("Tokens", f"{found.version.input_tokens:,} before, {found.version.output_tokens:,} after"),
            ("Ratio", f"{found.version.compression_ratio:.1f} to 1"),
            ("Made", f"{day(found.version.created_at)} by {found.version.agent or 'nobody yet'}"),
        ]
        if found.version.keepit_stats:
            kept = found.version.keepit_stats
            told.append(("Keepits", f"{kept.preserved} preserved, {kept.summarized} summarised"))
        if found.version.why:
            told.append(("Dropped", found.version.why))
        figures(told)
        with ui.element("div").classes("side-by-side panes"):
            with _pane(f"{name}: {made_how(version)}"), ui.column().classes("card w-full") as read:
                read.props("role=document aria-label=Version")
                rendered_text(found.content, _READ_CHARACTERS)
            with _pane("Original"):
                await OriginalReader(view, session_id, version_id=name).build()


def _pane(title: str) -> ui.column:
    pane = ui.column().classes("pane gap-2").on("scroll", js_handler=_FOLLOW).props("tabindex=0 role=region")
    pane.props["aria-label"] = title
    with pane:
        heading(title, 3)
    return pane


class Comparison:
    """Two versions of a session compared."""

    def __init__(self, view: PageView, session_id: str, versions: list[models.VersionAnswer]) -> None:
        self._view, self._session_id = view, session_id
        self._names = {one.version_id: f"{one.version_id} {made_how(one)}" for one in versions}

    async def open(self) -> None:
        """Open the comparison, of the two newest first."""
        newest, second = list(self._names)[:2]
        with dialog(f"Compare versions of {self._session_id}", is_wide=True):
            with ui.row().classes("gap-2 w-full"):
                self._one = ui.select(self._names, value=second, label="Version", on_change=self._compare)
                self._other = ui.select(self._names, value=newest, label="With", on_change=self._compare)
                for field in (self._one, self._other):
                    field.classes("min-w-[14rem]")
            self._content = ui.column().classes("w-full gap-3")
            heading("Texts that differ", 3)
            self._differences = PagedCards[models.TextDifference](
                "Texts that differ", self._fetch, _show_difference, empty="None.", more="More differences"
            )
        await self._compare()

    async def _compare(self) -> None:
        self._content.clear()
        await self._differences.refresh(anew=True)

    async def _fetch(self, cursor: str | None) -> tuple[list[models.TextDifference], str | None]:
        found = await self._view.client.compare_versions(
            self._session_id, self._one.value, self._other.value, limit=_DIFFERENCES, cursor=cursor
        )
        if cursor is None:
            self._content.clear()
            with self._content:
                _show_comparison(found)
        return found.differences, found.cursor


def _show_comparison(found: models.VersionComparison) -> None:
    pairs = [("Pieces in both", f"{found.same_blocks:,}")]
    for one in (found.version, found.other):
        lengths = f"{one.output_tokens:,} tokens, {one.output_messages:,} messages"
        pairs.append((one.version_id, f"{lengths}, {one.compression_ratio:.1f} to 1"))
    figures(pairs + [(words_of(name), f"{one.version} / {one.other}") for name, one in found.settings.items()])
    with ui.element("div").classes("side-by-side"):
        for version, only in ((found.version, found.only_in_version), (found.other, found.only_in_other)):
            with ui.column().classes("card gap-1 min-w-0"):
                heading(f"Only in {version.version_id}", 3)
                if not only.blocks and not only.markers:
                    ui.label("Nothing.").classes("muted")
                for kind, count in only.blocks.items():
                    ui.label(f"{count:,} × {kind}").classes("text-sm")
                for marker in only.markers:
                    said(f"keepit {marker.weight:.2f}: {marker.content[:300]}").classes("text-sm")


def _show_difference(one: models.TextDifference) -> None:
    with ui.column().classes("card gap-1").props("role=listitem"):
        ui.label(f"only in {one.is_in}, or elsewhere there · {one.speaker}").classes("muted text-xs")
        long_text(one.text)


class VersionManager:
    """A dialog that removes versions. What a composition uses is refused by the service, in its own words."""

    def __init__(self, view: PageView, session: models.SessionDetail, changed: Callable[[], Awaitable[None]]) -> None:
        self._view, self._session, self._changed = view, session, changed
        self._chosen: dict[str, models.VersionAnswer] = {}

    async def open(self) -> None:
        """Open the dialog."""
        session = self._session
        with dialog(f"Manage compressions of {session.session_id}") as shown:
            ui.label(f"Original: {session.original_tokens:,} tokens, {size(session.size_bytes)}")
            self._refusals = ui.column().classes("w-full gap-1").props("role=alert")
            self._list = ui.column().classes("w-full gap-2").props("role=list aria-label=Compressions")
            self._status = ui.label().props("role=status")
            with ui.row().classes("w-full justify-end gap-2"):
                action("Cancel", shown.close, FLAT)
                self._delete = danger("Delete selected", self._remove)
        await self._fill()

    async def _fill(self) -> None:
        listed = await self._view.client.list_versions(self._session.session_id, limit=_VERSIONS)
        self._chosen.clear()
        self._count()
        fill(self._list, listed.versions, self._entry, "No compressions yet.")

    def _entry(self, version: models.VersionAnswer) -> None:
        def choose(event: ValueChangeEventArguments[bool | None]) -> None:
            if event.value:
                self._chosen[version.version_id] = version
            else:
                self._chosen.pop(version.version_id, None)
            self._count()

        with ui.column().classes("card gap-1").props("role=listitem"):
            ui.checkbox(_described(version), on_change=choose).set_enabled(self._view.may_write)
            used = day(version.last_used) if version.last_used else "never"
            note(f"Created {day(version.created_at)} · last used {used}")
            if version.used_in:
                with ui.row().classes("items-center gap-1"):
                    ui.icon("warning", size="xs").props("aria-hidden=true")
                    ui.label(f"In use by {', '.join(version.used_in)}").classes("said text-sm")
            else:
                note("Used in 0 compositions")

    def _count(self) -> None:
        tokens = sum(one.output_tokens for one in self._chosen.values())
        in_use = sum(bool(one.used_in) for one in self._chosen.values())
        warning = f" {in_use} of them in use: the service refuses to remove what a composition uses." if in_use else ""
        self._status.set_text(f"Selected: {counted(len(self._chosen), 'version')} ({tokens:,} tokens).{warning}")
        self._delete.set_enabled(bool(self._chosen) and self._view.may_write)

    async def _remove(self) -> None:
        chosen = list(self._chosen.values())
        title = f"Delete {counted(len(chosen), 'version')} for good?"
        if not await confirmed(title, [_described(one) for one in chosen], button="Delete"):
            return
        self._refusals.clear()
        removed = 0
        async with self._view.show_errors():
            for version in chosen:
                removed += await self._remove_one(version)
            await self._changed()
        if removed:
            notify_success(f"Removed {removed} of {len(chosen)}.")
        await self._fill()

    async def _remove_one(self, version: models.VersionAnswer) -> bool:
        """Remove a version, or show the words it is refused with. Raises: ApiError for any other reason."""
        try:
            await self._view.client.remove_version(self._session.session_id, version.version_id)
        except ApiError as error:
            if error.code != "version_in_use":
                raise
            with self._refusals:
                ui.label(f"{version.version_id}: {error.message}").classes("said refusal")
            return False
        return True


def _described(version: models.VersionAnswer) -> str:
    return f"{version.version_id} {made_how(version)} ({version.output_tokens:,} tokens)"


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
            distance = "Session distance (1 = recent, 10 = old)"
            self._distance = ui.number(distance, value=1, min=1, step=1, on_change=changed)
            self._skip = ui.number("Messages to skip at the beginning", value=0, min=0, step=1, on_change=changed)
            self.fields: dict[str, ui.select | ui.number] = {
                "mode": self._mode, "ratio": self._ratio, "level": self._level, "tiers": self._tiers,
                "keepits": self._keepits, "distance": self._distance, "skip": self._skip,
            }  # fmt: skip
            for field in self.fields.values():
                field.props("debounce=200")
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
                field.props("debounce=200").classes("grow basis-[8rem]")
            tier = (row, *fields)

            def remove() -> None:
                self._tiers.remove(tier)
                row.delete()
                self._changed()

            icon_button("close", f"Remove tier {number}", remove)
        self._tiers.append(tier)


class VersionRequest:
    """A dialog that asks for a version, with what would come of it shown as it changes."""

    def __init__(self, view: PageView, session: models.SessionDetail, made: Callable[[], Awaitable[None]]) -> None:
        self._view, self._session, self._made = view, session, made
        self._request_number = 0
        self._texts: dict[str, str] = {}

    async def open(self) -> None:
        """Build the dialog and foresee what its first settings come to."""
        session = self._session
        listed = await self._view.client.list_versions(session.session_id, limit=_SAMPLE)
        markers = await self._view.client.list_keepits(session.session_id, limit=_MARKERS)
        self._texts = {one.marker_id: one.content for one in markers.keepits}
        sources = {"": "Original"} | {one.version_id: f"{one.version_id} {made_how(one)}" for one in listed.versions}
        with dialog(f"Create compression of {session.session_id}") as shown:
            ui.label(f"Original: {session.original_tokens:,} tokens, {session.original_messages:,} messages")
            self._client = ui.context.client
            self._source = ui.select(sources, value="", label="Made from", on_change=self._request_preview)
            self._source.classes("w-full")
            # Its first change comes while it is built.
            self._form: CompressionForm | None = None
            self._form = CompressionForm(self._request_preview)
            heading("Preview", 3)
            self._preview = ui.column().classes("card gap-1").props("role=status aria-label=Preview")
            Form(self._view, "version", {}, self._create, button="Create compression", within=shown)
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
        kept = f"Keepits: {foreseen.preserved} will be preserved, {foreseen.summarized} summarised"
        ui.label(kept).classes("font-medium")
        if least and foreseen.markers:
            note(f"What weighs {least} or more survives")
        for marker in foreseen.markers[:_SAMPLE]:
            with ui.row().classes("w-full no-wrap gap-2 items-start"):
                badge("survives" if marker.survives else "summarised", "green-9" if marker.survives else "grey-8")
                ui.label(f"{marker.weight:.2f}").classes("text-sm")
                said(self._texts.get(marker.marker_id, marker.marker_id)[:200]).classes("text-sm")
        if len(foreseen.markers) > _SAMPLE:
            note(f"and {len(foreseen.markers) - _SAMPLE} more")

    async def _create(self) -> None:
        assert self._form is not None
        made = await self._request(self._form.settings(), dry_run=False)
        notify_success(f"{made.version_id} is being made.")
        await self._made()

    async def _request(self, settings: models.CompressionSettings, *, dry_run: bool) -> models.VersionMade:
        return await self._view.client.make_version(
            self._session.session_id,
            **settings.model_dump(exclude_unset=True),
            source_version=self._source.value or None,
            dry_run=dry_run,
        )
