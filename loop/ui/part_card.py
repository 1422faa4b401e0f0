"""A part of a composition that is being built: a session, as which version it goes in, and with how many tokens."""

from __future__ import annotations

from collections.abc import Callable

from nicegui import ui

from afterthought_client import models
from loop.ui.compression_form import CompressionForm
from loop.ui.session_view import day, made_how, short
from loop.ui.tables import heading

AUTOMATIC, ORIGINAL = "auto", "original"
_DRAG = (
    "(e) => { e.dataTransfer.setData('text/plain', ''); "
    "e.dataTransfer.setDragImage(e.target.closest('.part'), 0, 0); emit(); }"
)
_WAYS = {"original": "The original", "version": "Version {}", "join": "Version {}, which is being made",
         "compress": "A new version"}  # fmt: skip


class PartCard:
    """A session's card. Where it stands among the others is for the composition to say."""

    def __init__(self, session: models.SessionDetail, versions: list[models.VersionAnswer]) -> None:
        self.session = session
        self._versions = versions
        self._form: CompressionForm | None = None

    def build(
        self,
        changed: Callable[[], None],
        move: Callable[[PartCard, int], object],
        remove: Callable[[PartCard], object],
        dragged: Callable[[PartCard], object],
        dropped: Callable[[PartCard], object],
    ) -> None:
        """Build the card."""
        session = self.session
        self._changed = changed
        with ui.column().classes("card part gap-2").props("role=listitem") as self.card:
            with ui.row().classes("w-full items-center no-wrap gap-1"):
                handle = ui.icon("drag_indicator", size="sm").props("draggable=true aria-hidden=true")
                handle.classes("cursor-move muted").on("dragstart", lambda: dragged(self), js_handler=_DRAG)
                self._title = heading("", 3).classes("min-w-0").style("overflow-wrap: anywhere")
                ui.space()
                self.up = _button("Move up", "arrow_upward", lambda: move(self, -1), session.session_id)
                self.down = _button("Move down", "arrow_downward", lambda: move(self, 1), session.session_id)
                _button("Remove", "close", lambda: remove(self), session.session_id)
            ui.label(
                f"{day(session.last_timestamp)} · original {session.original_tokens:,} tokens, "
                f"{session.original_messages:,} messages"
            ).classes("muted text-sm")
            with ui.element("div").classes("fields"):
                self._version = ui.select(self._options(), value=AUTOMATIC, label="Version", on_change=changed)
                self._tokens = ui.number("Allocation (tokens)", min=0, step=100, on_change=self._change_tokens)
                for field in (self._version, self._tokens):
                    field.props("outlined dense options-dense debounce=200")
            self._recompress = ui.checkbox("Recompress from original", on_change=self._switch)
            self._place = ui.column().classes("w-full")
            self._told = ui.label().classes("text-sm said")
        self.card.on("dragover", js_handler="(e) => e.preventDefault()")
        self.card.on("drop", lambda: dropped(self), js_handler="(e) => { e.preventDefault(); emit(); }")

    def stand(self, number: int, count: int) -> None:
        """Say where it stands, from 1."""
        self._title.set_text(f"{number}. {self.session.session_id}")
        self.up.set_enabled(number > 1)
        self.down.set_enabled(number < count)

    def allow_allocation(self, is_allowed: bool) -> None:
        """Have its tokens given by hand, or by the strategy."""
        self._tokens.set_enabled(is_allowed)

    def choose(self, request: models.ComponentRequest) -> None:
        """Choose what was chosen before; how it is recompressed has to be said anew."""
        if request.version_id in self._options():
            self._version.set_value(request.version_id)
        self._tokens.set_value(request.allocation)

    @property
    def tokens(self) -> int:
        """How many tokens it is to get."""
        return int(self._tokens.value or 0)

    def request(self, *, with_tokens: bool) -> models.ComponentRequest:
        """Return it as it is asked for. Raises: ValueError where a number is missing."""
        form = self._form
        return models.ComponentRequest(
            session_id=self.session.session_id,
            version_id=AUTOMATIC if form else self._version.value,
            allocation=self.tokens if with_tokens else None,
            recompress_settings=form.settings() if form else None,
        )

    def foresee(self, item: models.ForeseenItem) -> None:
        """Show what it would be."""
        way = _WAYS[item.way].format(item.version_id)
        stale = " It covers less than the session holds by now." if item.stale else ""
        why = f": {item.reason}" if item.reason else ""
        self._tell(f"{way}, {item.allocation:,} tokens{why}.{stale}", item.allocation)

    def show_composed(self, name: str, item: models.ComponentItem | None) -> None:
        """Show as what it went into a composition."""
        if item is None:
            return
        is_original, is_made = item.version_id == ORIGINAL, item.version_state == "working"
        way = _WAYS["original" if is_original else "join" if is_made else "version"].format(item.version_id)
        self._tell(f"Composed as part of {name}. {way}, {item.allocation:,} tokens.", item.allocation)

    def forget(self) -> None:
        """Take back what was foreseen, once what it rests on has changed."""
        self._tell("", None)

    def _tell(self, text: str, tokens: int | None) -> None:
        self._told.set_text(text)
        if not self._tokens.enabled:
            self._tokens.set_value(tokens)

    def _change_tokens(self) -> None:
        # What the strategy gives out is shown here, and is no change of what is asked for.
        if self._tokens.enabled:
            self._changed()

    def _switch(self) -> None:
        self._place.clear()
        self._form = None
        self._version.set_enabled(not self._recompress.value)
        if self._recompress.value:
            with self._place:
                self._form = CompressionForm(self._changed)
        self._changed()

    def _options(self) -> dict[str, str]:
        original = f"Original - {short(self.session.original_tokens)} tokens"
        made = {
            one.version_id: f"{one.version_id} {made_how(one)} - {short(one.output_tokens)} tokens"
            for one in self._versions
        }
        return {AUTOMATIC: "Best that fits", ORIGINAL: original} | made


def _button(name: str, icon: str, act: Callable[[], object], of: str) -> ui.button:
    button = ui.button(icon=icon, on_click=act).props("flat round dense")
    button.props["aria-label"] = f"{name}: {of}"
    return button.tooltip(name)
