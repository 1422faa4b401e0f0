"""axe-core finds nothing serious on any page and in what opens over it, wide and light, narrow and dark.

No page scrolls sideways; each has one first heading.
"""

from __future__ import annotations

from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import BrowserContext, Page, expect

from afterthought_client import Afterthought
from tests.support.browser import window
from tests.support.recorded import PROJECT, compress, marked_transcript, register
from tests.support.services import System
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]
PAGES = {
    "/": (),
    "/chat/{app}?conversation=monday": ("the facts",),
    "/memory/{app}?user=ada": ("the facts", "Edit", "History", "Write a memory"),
    "/sessions/{app}?session=jan": (
        "Upload", "Learned", "Create compression", "View original", "Edit", "Read v001", "Manage compressions",
        "Remove", "Project", "Project/Rules", "Project/Links", "Project/Prune versions", "Project/Open a project",
        "Project/Import",
    ),
    "/composer/{app}": (),
    "/composer/{app}?session=jan,feb,mar,apr": ("Read spring", "Used in… spring"),
    "/operations": (),
    "/operations?view=jobs": ("Shorten a session",),
    "/operations?view=doctor": (),
    "/administration": ("Install", "Install"),
    "/administration/{app}": (),
    "/administration/{app}?view=tokens": ("Issue", "Revoke phone"),
    "/administration/{app}?view=users": ("Erase ada",),
    "/administration/{app}?view=data": ("Purge the memories", "Show"),
}  # fmt: skip
"""Every page, with what opens over it, or in it: by a button, or by a menu and what is chosen there."""
_IN_PAGE = ("Edit", "History", "Write a memory", "Install")
"""What opens no dialog, but on the page of the sessions."""
# Axe takes for what is behind a dialog's text the shade and the head of the page, which lie below it by their z-index.
_BEHIND = """.q-dialog__backdrop { background: none !important; }
body:has(.q-dialog) .q-layout { visibility: hidden; }"""
LONG = pytest.mark.long


@pytest.mark.parametrize(
    ("width", "dark"),
    [(1440, False), (390, True), pytest.param(1440, True, marks=LONG), pytest.param(390, False, marks=LONG)],
)
def test_axe_finds_nothing_serious(
    guest: BrowserContext, system: System, client: Afterthought, width: int, dark: bool
) -> None:
    client.start_conversation(conversation_id="monday", user_id="ada")
    client.add_messages("monday", [{"role": "user", "content": "I moved to Lisbon."}])
    client.start_conversation(conversation_id="sunday", user_id="ada")
    client.add_messages("sunday", [{"role": "user", "content": "I keep a quillwort."}])
    client.end_conversation("sunday")
    client.write_memory("Moved to Lisbon in May.", user_id="ada")
    client.write_fact("Is allergic to peanuts.", user_id="ada", pinned=True)
    for month, name in enumerate(("jan", "feb", "mar", "apr"), 1):
        register(client, name, marked_transcript(month))
    client.write_fact("Keeps a quillwort.", user_id="bob")
    client.erase_user_data("bob")
    client.issue_token(label="phone")
    compress(client, "jan")
    made = client.make_composition(PROJECT, [{"sessionId": "jan"}], 3000, "spring").composition
    wait_until(lambda: client.show_composition(made.composition_id).state == "ready", 60, "the composition")
    found: dict[str, list[str]] = {}
    with window(guest, system.url, width=width, height=900, dark=dark) as opened:
        opened.page.goto(f"{system.url}/login")
        opened.page.get_by_label("Token").wait_for()
        found["/login"] = _serious(Axe().run(opened.page))
        opened.enter(system.admin_token)
        for path, buttons in PAGES.items():
            opened.open(path.format(app=client.app))
            # Without the bar that tells for a moment that something is loaded, which is the library's and has no name.
            found[path] = _serious(Axe().run(opened.page, context={"exclude": [[".q-loading-bar"]]}))
            if opened.page.get_by_role("heading", level=1).count() != 1:
                found[path].append("no heading of its own, or several")
            if opened.page.evaluate("document.documentElement.scrollWidth > window.innerWidth"):
                found[path].append("scrolls sideways")
            opened.page.add_style_tag(content=_BEHIND)
            # Every other one narrow and dark, the rest wide and light; long runs turn that round.
            for button in buttons[int(dark) :: 2]:
                _press(opened.page, button)
                found[f"{path} {button}"] = _serious(Axe().run(opened.page, context=_top(opened.page)))
                _close(opened.page)
    assert {path: told for path, told in found.items() if told} == {}


def _press(page: Page, names: str) -> None:
    """Press a button, or one of a menu, and wait until what opens has come to rest."""
    first, _, chosen = names.partition("/")
    if first == "the facts":
        page.locator("[aria-haspopup=dialog]").click()
    else:
        page.get_by_role("link" if first == "Shorten a session" else "button", name=first, exact=True).first.click()
    if chosen:
        page.get_by_role("menuitem", name=chosen, exact=True).click()
    if first not in _IN_PAGE or "/sessions/" in page.url:
        page.locator(".q-dialog [role=heading], .q-menu [role=menuitem]").first.wait_for()
    page.wait_for_function("!document.querySelector('[class*=q-transition--][class*=-active]')")
    # What still fades in is pale, and only for now; what turns for ever is not waited for.
    ends = "one => one.effect.getComputedTiming().endTime !== Infinity && one.playState === 'running'"
    page.wait_for_function(f"!document.getAnimations().some({ends})")


def _top(page: Page) -> dict[str, Any]:
    """Return what is to be judged: what lies over the page, as what is behind it is no one's to read meanwhile."""
    over = next((one for one in (".q-menu", ".q-dialog") if page.locator(one).count()), "#main")
    return {"include": [[over]]}


def _close(page: Page) -> None:
    for over in (".q-menu", ".q-dialog"):
        if page.locator(over).count():
            done = page.get_by_role("dialog").get_by_role("button", name="Done")
            done.click() if done.count() else page.keyboard.press("Escape")
            expect(page.locator(over)).to_have_count(0)


def _serious(results: object) -> list[str]:
    violations = results.response["violations"]  # type: ignore[attr-defined]
    return [
        f"{one['id']}: {node['html'][:200]}"
        for one in violations
        if one["impact"] in ("serious", "critical")
        for node in one["nodes"][:3]
    ]
