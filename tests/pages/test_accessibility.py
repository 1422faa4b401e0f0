"""axe-core finds nothing serious on any page, wide and light, narrow and dark; and no page scrolls
sideways; each has one first heading."""

from __future__ import annotations

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser

from afterthought_client import Afterthought
from tests.support.browser import window
from tests.support.recorded import marked_transcript, register
from tests.support.services import System

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]
PATHS = (
    "/", "/chat/{app}?conversation=monday", "/memory/{app}", "/sessions/{app}", "/composer/{app}",
    "/composer/{app}?session=jan,feb,mar,apr", "/operations",
    "/operations?view=jobs", "/operations?view=doctor", "/administration", "/administration/{app}",
    "/administration/{app}?view=users",
)  # fmt: skip


LONG = pytest.mark.long


@pytest.mark.parametrize(
    ("width", "dark"),
    [(1440, False), (390, True), pytest.param(1440, True, marks=LONG), pytest.param(390, False, marks=LONG)],
)
def test_axe_finds_nothing_serious(
    browser: Browser, system: System, client: Afterthought, width: int, dark: bool
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
    found: dict[str, list[str]] = {}
    with window(browser, system.url, width=width, height=900, dark=dark) as opened:
        pages = {"/login": opened.page}
        opened.page.goto(f"{system.url}/login")
        opened.page.get_by_label("Token").wait_for()
        found["/login"] = _serious(Axe().run(opened.page))
        opened.log_in(system.admin_token)
        for path in PATHS:
            pages[path] = opened.open(path.format(app=client.app))
            opened.page.wait_for_load_state("networkidle")
            found[path] = _serious(Axe().run(opened.page))
            if opened.page.get_by_role("heading", level=1).count() != 1:
                found[path].append("no heading of its own, or several")
            if opened.page.evaluate("document.documentElement.scrollWidth > window.innerWidth"):
                found[path].append("scrolls sideways")
    assert {path: told for path, told in found.items() if told} == {}


def _serious(results: object) -> list[str]:
    violations = results.response["violations"]  # type: ignore[attr-defined]
    return [
        f"{one['id']}: {node['html'][:200]}"
        for one in violations
        if one["impact"] in ("serious", "critical")
        for node in one["nodes"][:3]
    ]
