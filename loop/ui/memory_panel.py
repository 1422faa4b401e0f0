"""The sheet of what is remembered about somebody, over any page: a pill with how much it is, and the facts."""

from __future__ import annotations

from nicegui import ui

from loop.ui.fact_card import STYLE
from loop.ui.fact_cards import FactCards
from loop.ui.frame import PageView, live
from loop.ui.tables import counted, heading

FACT_EVENTS = frozenset({"fact.created", "fact.changed", "fact.removed", "memories.purged"})
_STYLE = """
.memory-sheet .q-dialog__inner { padding: 0; }
.memory-sheet .q-dialog__inner > div {
  height: 100vh; height: 100dvh; max-height: none; max-width: 100vw; border-radius: 0;
}
"""
_SHORTCUT = """<script>
document.addEventListener("keydown", (event) => {
  if ((event.ctrlKey || event.metaKey) && event.shiftKey && event.key.toLowerCase() === "m") {
    event.preventDefault();
    emitEvent("memory_panel");
  }
});
</script>"""


class MemoryPanel:
    """The sheet of one subject; at most one on a page. ``user_id``: None is everybody, empty is what names nobody."""

    def __init__(self, view: PageView, user_id: str | None) -> None:
        self._view = view
        self._user_id = user_id
        self._pills: list[ui.button] = []
        ui.add_css(STYLE + _STYLE)
        ui.add_body_html(_SHORTCUT)
        ui.on("memory_panel", self._toggle)
        with ui.dialog() as self._dialog:
            self._dialog.props("position=right aria-label=Memory").classes("memory-sheet")
            with ui.card().classes("w-[28rem] no-wrap gap-2 p-3"):
                with ui.row().classes("w-full items-center no-wrap"):
                    heading("Memory").classes("text-lg grow")
                    manage = ui.button("Manage", color=None).props("flat dense no-caps").classes("px-2")
                    close = ui.button(icon="close", on_click=self.close, color=None)
                    close.props("flat round dense aria-label='Close memory'")
                self._facts = FactCards(self._view, self._user_id, manage=manage, changed=self.count)
        live(view).on(FACT_EVENTS, self._refresh)

    def pill(self) -> ui.button:
        """Show how many facts there are, as a button that opens the sheet."""
        button = ui.button("– facts", icon="psychology", on_click=self.open, color=None)
        button.props("outline rounded no-caps dense aria-haspopup=dialog").classes("px-3")
        button.props["aria-keyshortcuts"] = "Control+Shift+M Meta+Shift+M"
        self._pills.append(button)
        self._dialog.on("hide", js_handler=f"() => getHtmlElement({button.id})?.focus()")

        # Once the page is there, which does not wait for the count.
        ui.timer(0, self.count, once=True)
        return button

    async def open(self) -> None:
        """Open the sheet over the page."""
        self._dialog.open()
        await self._facts.refresh()

    def close(self) -> None:
        """Close the sheet."""
        self._dialog.close()

    async def count(self) -> None:
        """Show on the pill how many facts there are now."""
        found = await self._view.client.list_facts(user_id=self._user_id, limit=1)
        for pill in self._pills:
            pill.set_text(counted(found.total, "fact"))

    async def _toggle(self) -> None:
        if self._dialog.value:
            self.close()
        else:
            await self.open()

    async def _refresh(self) -> None:
        await self.count()
        if self._dialog.value:
            await self._facts.refresh()
