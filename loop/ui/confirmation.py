"""Asks before something goes for good: what exactly goes, a word to type, and afterwards the receipt.

Says what was just done, and offers to take it back.

How long that is possible the service knows: an offer that is over, or a page that is closed, changes nothing there.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from nicegui import ui

from afterthought_client import models
from loop.ui.frame import press_once
from loop.ui.tables import FLAT, NO_LABELS, OUTLINED, TokenLabels, action, actor_name, number, show_table
from loop.ui.times import minute


async def confirmed(
    title: str,
    goes: Sequence[str],
    word: str = "",
    *,
    button: str = "Erase",
    cancel: str = "Cancel",
    more: str = "",
    act: Callable[[], Awaitable[None]] | None = None,
) -> bool:
    """Say what goes, and return whether the visitor typed the word (where there is one) and agreed.

    ``act`` is done before it closes: where it is refused, it can be tried again.
    """
    # Of the page, not of the row it is about: that may be shown anew meanwhile.
    with ui.context.client.content, ui.dialog() as dialog, ui.card().classes("w-full max-w-lg gap-3"):
        ui.label(title).classes("text-lg font-semibold").props("role=heading aria-level=2")
        with ui.element("ul").classes("list-disc pl-5"):
            for one in goes:
                with ui.element("li"):
                    ui.label(one).classes("said").props("dir=auto")
        if more:
            ui.label(more)
        typed = None
        if word:
            ui.label(f"Type {word} to confirm.").classes("said")
            typed = ui.input("Confirmation").props("outlined dense autofocus autocomplete=off").classes("w-full")
        with ui.row().classes("w-full justify-end"):
            refuse = action(cancel, lambda: dialog.submit(False), FLAT)

            async def agreed() -> None:
                is_meant = typed is None or typed.value == word
                if is_meant and act is not None:
                    await act()
                dialog.submit(is_meant)

            agree = press_once(ui.button(button).props("unelevated no-caps color=red-8"), agreed)
        if typed is None:
            refuse.props("autofocus")
        else:
            agree.disable()
            typed.on_value_change(lambda event: agree.set_enabled(event.value == word))
    dialog.props["aria-label"] = title
    is_agreed = await dialog
    # It is gone already where the page was left meanwhile.
    if not dialog.is_deleted:
        dialog.delete()
    return bool(is_agreed)


def show_receipt(receipt: models.Receipt, note: str | None = None, labels: TokenLabels = NO_LABELS) -> None:
    """Show what was erased and what is left, until it is closed."""
    with ui.context.client.content, ui.dialog(value=True) as dialog, ui.card().classes("w-full max-w-xl gap-3"):
        ui.label("Receipt").classes("text-lg font-semibold").props("role=heading aria-level=2")
        whose = f", user {receipt.user_id}" if receipt.user_id else ""
        ui.label(f"Erased: {receipt.scope} of app {receipt.app_id}{whose}").classes("said")
        who = actor_name(receipt.actor, labels)
        ui.label(f"{minute(receipt.at)} by {who}, number {receipt.receipt_id}").classes("muted text-sm said").tooltip(
            receipt.actor
        )
        stores = {**receipt.erased, **receipt.left}
        rows = [
            [store, number(receipt.erased.get(store)), number(receipt.left[store]) if store in receipt.left else "–"]
            for store in stores
        ]
        show_table("What was erased and what is left, by store", ["Store", "Erased", "Left"], rows)
        if note:
            ui.label(note).classes("said")
        with ui.row().classes("w-full justify-end"):
            action("Download JSON", lambda: download(receipt), OUTLINED, icon="download")
            action("Close", dialog.close, FLAT).props("autofocus")
    dialog.props["aria-label"] = "Receipt"


def download(receipt: models.Receipt) -> None:
    """Hand a receipt to the browser as a file."""
    text = receipt.model_dump_json(by_alias=True, indent=2)
    ui.download.content(text, f"receipt-{receipt.receipt_id}.json", "application/json")


UNDO_SECONDS = 4
Undo = Callable[[], Awaitable[None]]


class UndoBar:
    """One bar, for one offer at a time."""

    def __init__(self) -> None:
        self._timer: ui.timer | None = None
        self._left = 0
        self._bar = ui.element("div").classes("undo-bar w-full").props("role=status")

    def offer(self, done: str, undo: Undo, seconds: int = UNDO_SECONDS, *, counts: bool = False) -> None:
        """Offer for so many seconds to take back what was done; with ``counts`` the seconds that are left are shown."""
        self.withdraw()

        async def take_back() -> None:
            # As the page, as the button this comes from goes.
            with self._bar.client:
                self.withdraw()
                await undo()

        with self._bar, ui.column().classes("w-full gap-1 rounded bg-zinc-800 text-white px-3 py-2"):
            with ui.row().classes("w-full items-center no-wrap"):
                ui.label(done).classes("grow")
                button = ui.button("Undo", on_click=take_back).props("flat dense no-caps color=cyan-3")
                shown = ui.label(f"{seconds} s").classes("tabular-nums") if counts else None
            bar = ui.linear_progress(1.0, show_value=False, size="3px").props("color=cyan-3 aria-hidden=true")
            bar.set_visibility(counts)
            # What was deleted may have been where the keyboard was.
            ui.run_javascript(f"getHtmlElement({button.id})?.focus()")
            self._left = seconds

            def count_down() -> None:
                self._left -= 1
                if self._left <= 0:
                    self.withdraw()
                elif shown is not None:
                    shown.set_text(f"{self._left} s")
                    bar.set_value(self._left / seconds)

            self._timer = ui.timer(1.0, count_down, immediate=False)

    def withdraw(self) -> None:
        """Offer nothing any more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._bar.clear()
