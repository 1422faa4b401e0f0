"""Hostile text of 100,000 characters is shown as text on every page that shows people's text."""

from __future__ import annotations

import re
from urllib.parse import quote

import pytest
from playwright.sync_api import Page, expect

from afterthought_client import Afterthought
from tests.support.browser import Window
from tests.support.recorded import PROJECT, compress
from tests.support.transcripts import assistant, lines, user

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]
SHORT = "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script> \u202eאבג\u202c 👩‍🚀"
"""Markup, script, a change of direction, and a character of several."""
MARKDOWN = "![seen](http://elsewhere.example/pixel.png) [go](javascript:document.title='owned')\n\n"
"""A picture that would tell elsewhere who reads it, and a link that runs; a window fails where either is asked for."""
LONG = f"{SHORT}\n\n{MARKDOWN}" + "x" * 50_000 + SHORT + " y" * 25_000


def test_hostile_text_is_text_on_every_page(phone: Window, client: Afterthought) -> None:
    _say_everywhere(client)
    app, project = client.app, quote(PROJECT)
    shown = {
        "/": SHORT,
        f"/chat/{app}?conversation=long": SHORT,
        f"/memory/{app}": SHORT,
        f"/sessions/{app}?project={project}&session=long": SHORT,
        f"/composer/{app}?project={project}&session=long": "long",
        "/operations": "Energy",
        "/operations?view=jobs": app,
        "/operations?view=memory": SHORT,
        "/operations?view=dead": "dead letter",
        "/operations?view=settings": "Tokens of retrieved messages",
        "/operations?view=doctor": "python",
        f"/administration/{app}?view=answers": "No answer is here.",
        f"/administration/{app}?view=data": "Export",
        f"/administration/{app}": "How it behaves",
        f"/administration/{app}?view=tokens": SHORT,
        f"/administration/{app}?view=users": SHORT,
        f"/administration/{app}?view=audit": "onerror=",
    }
    wrong: list[str] = []
    for path, text in shown.items():
        page = phone.open(path)
        if path in ("/", "/operations?view=memory"):
            _ask_for_all_apps(page)
        if path.startswith("/chat/"):
            shown_whole = page.get_by_role("button", name=f"Show all {len(LONG):,} characters")
            expect(shown_whole).to_have_count(2)
            shown_whole.first.click()
            expect(shown_whole).to_have_count(1)
        expect(page.locator("#main")).to_contain_text(text or "-")
        wrong += [f"{path} {what}" for what in _wrong(page)]
    page = phone.open(f"/sessions/{app}?project={project}&session=long")
    for name in ("View original", "Read v001"):
        page.get_by_role("button", name=name).click()
        expect(page.get_by_role("dialog").first).to_contain_text("onerror=")
        wrong += [f"{name} {what}" for what in _wrong(page)]
        page.get_by_role("dialog").first.get_by_role("button", name="Close").click()
        expect(page.get_by_role("dialog")).to_have_count(0)
    page = phone.open(f"/memory/{app}")
    page.get_by_role("button", name=re.compile(r"^\d+ facts?$")).click()
    expect(page.get_by_role("dialog", name="Memory")).to_contain_text("onerror=")
    wrong += [f"facts {what}" for what in _wrong(page)]
    assert wrong == []


def _ask_for_all_apps(page: Page) -> None:
    listed = page.get_by_role("region", name="Compactions by app").locator("tr")
    rows = listed.or_(page.get_by_role("group", name="Apps", exact=True).get_by_role("link"))
    more = page.get_by_text("More apps")
    expect(rows).not_to_have_count(0)
    while more.is_visible():
        shown = rows.count()
        more.click()
        expect(rows).not_to_have_count(shown)


def _say_everywhere(client: Afterthought) -> None:
    client.change_app(name=SHORT[:200])
    client.start_conversation(conversation_id="long", user_id=SHORT, metadata={"title": LONG})
    client.add_messages(
        "long", [{"role": "user", "content": LONG}, {"role": "assistant", "content": LONG, "name": "bot"}]
    )
    client.write_memory(SHORT + "x" * 100, user_id=SHORT, tags=["<b>"])
    client.write_fact(SHORT + "x" * 300, user_id=SHORT)
    client.write_fact(SHORT + "x" * 300)
    client.change_consent(True)
    client.write_profile(freeform_notes=SHORT + "n" * 9_000)
    client.issue_token(label=SHORT)
    client.open_project("/home/dev/ferry-desk", display_name=SHORT)
    transcript = lines(user(f"##keepit0.80## {LONG}", "u1"), assistant(LONG, "a1", "u1"))
    client.register_session(PROJECT, "long", content=transcript)
    compress(client, "long", 5)


def _wrong(page: Page) -> list[str]:
    return [
        name
        for name, found in {
            "ran": "owned" in page.title(),
            "became markup": page.locator("img[src=x], #main script, a[href^=javascript], .rendered img").count() > 0,
            "scrolls sideways": page.evaluate("document.documentElement.scrollWidth > window.innerWidth"),
        }.items()
        if found
    ]
