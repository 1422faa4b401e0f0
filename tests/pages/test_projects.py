"""What a project's sessions taught and what it may use of others, in their dialogs on the page of the sessions."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, expect

from afterthought_client import Afterthought
from tests.support.browser import Window, window
from tests.support.recorded import PROJECT, marked_transcript, register
from tests.support.services import System
from tests.support.transcripts import lines, user

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]
OTHER = "-home-dev-web-shop"
RULE = "Always run make lint before a commit"
HOSTILE = "<img src=x onerror=\"document.title='taken'\"> {{7*7}} **Always** lint"


def _open(at: Window, client: Afterthought, button: str, dialog: str) -> tuple[Page, Locator]:
    page = at.open(f"/sessions/{client.app}?project={PROJECT}")
    if button == "Links":
        page.get_by_role("button", name="Project", exact=True).click()
        page.get_by_role("menuitem", name=button, exact=True).click()
    else:
        page.get_by_role("button", name=button, exact=True).click()
    shown = page.get_by_role("dialog", name=dialog)
    expect(shown).to_be_visible()
    return page, shown


def _say(client: Afterthought, name: str, text: str) -> None:
    at = f"2026-01-1{len(name)}T10:00:00Z"
    client.register_session(PROJECT, name, content=lines(user(text, f"{name}-1", timestamp=at)))


def test_what_sessions_taught_is_looked_for_judged_reworded_and_removed(at: Window, client: Afterthought) -> None:
    _say(client, "one", f"{RULE}.")
    page, dialog = _open(at, client, "Learned", "What its sessions taught")
    expect(dialog).to_contain_text("Nothing was learnt yet: choose Look for more")
    _say(client, "two-b", f"Fix the header. {RULE}.")
    dialog.get_by_role("button", name="Look for more").click()
    known = dialog.get_by_role("list", name="Semantic memories")
    # Shown as soon as the worker has found it.
    expect(known).to_contain_text(RULE)
    expect(known).to_contain_text("proposed")
    expect(dialog.get_by_role("status", name="Progress")).to_have_text("Learnt from 2 of 2 sessions.")
    [found] = client.list_semantic_memories(PROJECT).memories
    known.get_by_role("button", name="2 sources").click()
    expect(known.get_by_role("link", name="two-b")).to_have_attribute("href", re.compile(r"project=.*&session=two-b$"))
    known.get_by_role("button", name=f"Confirm {RULE}").click()
    expect(known).to_contain_text("confirmed")
    assert client.show_semantic_memory(found.id).verdict == "confirmed"
    dialog.get_by_role("button", name="Undo").click()
    expect(known).to_contain_text("proposed")
    assert client.show_semantic_memory(found.id).verdict == "proposed"
    known.get_by_role("button", name="Reword").click()
    reword = page.get_by_role("dialog", name="Put it in other words")
    reword.get_by_label("What is known").fill(HOSTILE)
    reword.get_by_role("button", name="Save").click()
    expect(known.get_by_text(HOSTILE, exact=True)).to_be_visible()
    assert "taken" not in page.title()
    known.get_by_role("button", name="Reject").click()
    expect(known).to_contain_text("rejected")
    dialog.get_by_role("combobox", name="Shown").click()
    page.get_by_role("option", name="Proposed").click()
    expect(known.get_by_text(HOSTILE, exact=True)).to_have_count(0)
    dialog.get_by_role("combobox", name="Shown").click()
    page.get_by_role("option", name="Rejected").click()
    known.get_by_role("button", name="Remove").click()
    sure = page.get_by_role("dialog", name="Remove what was learnt?")
    expect(sure).to_contain_text("Found again, it is proposed again.")
    sure.get_by_role("button", name="Remove").click()
    expect(known.get_by_text(HOSTILE, exact=True)).to_have_count(0)
    assert client.list_semantic_memories(PROJECT).memories == []


def test_a_session_of_another_project_is_linked_and_the_link_taken_away_and_back(
    at: Window, client: Afterthought
) -> None:
    register(client)
    client.register_session(OTHER, "basket", content=marked_transcript(2))
    page, dialog = _open(at, client, "Links", "Sessions of other projects")
    links = dialog.get_by_role("list", name="Links")
    expect(links).to_contain_text("No links yet. Link a session of another project below")
    dialog.get_by_role("button", name="Link", exact=True).click()
    expect(page.get_by_text("Reason: say in a few words what the session is for here.")).to_be_visible()
    dialog.get_by_label("Reason").fill(HOSTILE)
    dialog.get_by_role("button", name="Link", exact=True).click()
    expect(links).to_contain_text(f"basket of {OTHER}")
    expect(links.get_by_text(HOSTILE, exact=True)).to_be_visible()
    assert "taken" not in page.title()
    links.get_by_role("button", name="Remove basket").click()
    expect(links).to_contain_text("No links yet.")
    assert client.list_links(PROJECT).links == []
    dialog.get_by_role("button", name="Undo").click()
    expect(links).to_contain_text(f"basket of {OTHER}")
    [link] = client.list_links(PROJECT).links
    assert (link.source_project, link.source_session, link.reason) == (OTHER, "basket", HOSTILE)
    # What is linked can be composed.
    client.preview_composition(PROJECT, [{"sessionId": "basket"}], 4000)


def test_a_reader_sees_links_and_what_was_learnt_and_changes_neither(
    guest: BrowserContext, system: System, client: Afterthought, read_token: str
) -> None:
    for name in ("one", "two-b"):
        _say(client, name, f"{RULE}, said {name}.")
    client.register_session(OTHER, "basket", content=marked_transcript(2))
    client.make_link(PROJECT, OTHER, "basket", "Shared checkout")
    with window(guest, system.url) as opened:
        opened.enter(read_token)
        _, dialog = _open(opened, client, "Links", "Sessions of other projects")
        expect(dialog.get_by_role("list", name="Links")).to_contain_text("Shared checkout")
        for name in ("Link", "Remove basket"):
            expect(dialog.get_by_role("button", name=name, exact=True)).to_have_count(0)
        _, dialog = _open(opened, client, "Learned", "What its sessions taught")
        expect(dialog.get_by_role("status", name="Progress")).to_contain_text("of 2 sessions.")
        expect(dialog.get_by_role("button", name="Look for more")).to_have_count(0)
