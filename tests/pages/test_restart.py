"""What is being written outlasts a network that is away, a page that is loaded anew, and a restart of the service."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect

from afterthought_client import Afterthought
from tests.support.browser import Window, visitor, window
from tests.support.recorded import PROJECT, marked_transcript, register
from tests.support.services import System, run_service
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]


@pytest.fixture
def own_system(tmp_path_factory: pytest.TempPathFactory, browser: Browser) -> Iterator[System]:
    """A service to restart under its pages, which no other test looks at."""
    with run_service(tmp_path_factory.mktemp("restarted"), workers=0) as running:
        yield running


def _notes(page: Page) -> Locator:
    return page.get_by_label("Notes")


def _connection_lost(page: Page) -> Locator:
    return page.locator("#popup[aria-hidden=false]")


def test_a_network_that_is_away_takes_nothing_of_what_is_written(at: Window, client: Afterthought) -> None:
    client.change_consent(True, user_id="ann")
    page = at.open(f"/memory/{client.app}?user=ann")
    _notes(page).fill("Short answers.")
    page.evaluate("window.stays = true")
    page.context.set_offline(True)
    expect(_connection_lost(page)).to_have_count(1)
    _notes(page).fill("Short answers, please.")
    page.context.set_offline(False)
    expect(_connection_lost(page)).to_have_count(0)
    page.get_by_role("button", name="Save the profile").click()
    expect(page.get_by_text("The profile is saved.")).to_be_visible()
    profile = client.show_profile(user_id="ann").profile
    assert profile is not None and profile.freeform_notes == "Short answers, please."
    assert page.evaluate("window.stays")


def test_a_page_is_let_go_with_its_tab(at: Window, system: System, client: Afterthought) -> None:
    page = at.page.context.new_page()

    def streams() -> float:
        with system.client() as operator:
            found = operator.get("/metrics").text
        return float(found.split("\nafterthought_streams_open ")[1].split("\n")[0])

    at.page.goto("about:blank")
    # The pages of the tests before this one are let go too.
    wait_until(lambda: streams() == 0, 60, "the end of every stream")
    page.goto(f"{at.url}/memory/{client.app}")
    # One that is left before cannot say so, and is let go within a minute or so.
    page.wait_for_function("window.did_handshake")
    wait_until(lambda: streams() == 1, 60, "the page's stream of events")
    page.close()
    # Long before what is kept for a browser that is only away.
    wait_until(lambda: streams() == 0, 60, "the end of that stream")


def test_a_restart_of_the_service_takes_nothing_of_what_is_written(browser: Browser, own_system: System) -> None:
    system = own_system
    with Afterthought(system.url, system.admin_token, app="notes") as client:
        client.install_app("notes", "Notes", answered_by="app")
        register(client, "abc123", marked_transcript())
        client.register_session(PROJECT, "odd", content=marked_transcript(2))
        client.change_consent(True, user_id="ann")
        client.write_memory("Plays the oboe.", user_id="ann")
        client.start_conversation(conversation_id="monday", user_id="ann")
    with visitor(browser) as ann, window(ann, system.url) as first:
        first.enter(system.admin_token)
        memory, chat, composer, marker = first.page, ann.new_page(), ann.new_page(), ann.new_page()
        first.open("/memory/notes?user=ann")
        memory.get_by_role("button", name="Edit").click()
        memory.get_by_label("Memory", exact=True).fill("Plays the oboe, and badly.")
        _notes(memory).fill("Short answers.")
        for page, address in (
            (chat, "/chat/notes?user=ann&conversation=monday"),
            (composer, f"/composer/notes?project={PROJECT}&session=abc123,odd"),
            (marker, f"/sessions/notes?project={PROJECT}&session=abc123"),
        ):
            page.goto(system.url + address)
            page.wait_for_function("window.did_handshake")
        chat.get_by_role("textbox", name="Message").fill("What I wanted to")
        composer.bring_to_front()
        composer.get_by_role("button", name="Move earlier: odd").click()
        composer.get_by_label("Name", exact=True).fill("feature-x")
        composer.get_by_label("Token budget").fill("4000")
        composer.get_by_role("combobox", name="Allocation").click()
        composer.get_by_role("option", name="By hand").click()
        for box, tokens in (("first", "900"), ("last", "100")):
            getattr(composer.get_by_label("Allocation (tokens)"), box).fill(tokens)
        composer.get_by_role("checkbox", name="Recompress from original").last.click()
        composer.get_by_label("Ratio (to 1)").fill("3")
        expect(composer.get_by_role("status", name="Budget")).to_contain_text("Total: 1,000 / 4,000 tokens.")
        marker.bring_to_front()
        marker.get_by_role("button", name="Edit").first.click()
        marker.get_by_role("button", name="Hint 0.10").click()
        expect(marker.get_by_role("dialog")).to_contain_text("keepit 0.10 Hint")
        pages = (memory, chat, composer, marker)
        for page in pages:
            page.evaluate("window.stays = true")
        system.loop.stop()
        for page in pages:
            expect(_connection_lost(page)).to_have_count(1)
        chat.get_by_role("textbox", name="Message").press_sequentially(" say while it was away.")
        system.restart(system.loop)
        for page in pages:
            page.wait_for_function("!window.stays && window.did_handshake")
        expect(memory.get_by_label("Memory", exact=True)).to_have_value("Plays the oboe, and badly.")
        expect(_notes(memory)).to_have_value("Short answers.")
        box = chat.get_by_role("textbox", name="Message")
        expect(box).to_have_value("What I wanted to say while it was away.")
        parts = composer.get_by_role("list", name="Parts").get_by_role("listitem")
        expect(parts).to_contain_text(["odd · ", "abc123 · "])
        expect(composer.get_by_label("Name", exact=True)).to_have_value("feature-x")
        expect(composer.get_by_label("Token budget")).to_have_value("4000")
        expect(composer.get_by_role("combobox", name="Allocation")).to_have_value("By hand")
        expect(composer.get_by_label("Allocation (tokens)").first).to_have_value("900")
        expect(composer.get_by_label("Ratio (to 1)")).to_have_value("3")
        expect(marker.get_by_role("dialog", name="Keepit marker")).to_contain_text("keepit 0.10 Hint")
        # What is saved or sent is kept no more, and what is given up neither.
        chat.get_by_role("button", name="Send").click()
        expect(chat.get_by_role("log")).to_contain_text("while it was away.")
        memory.get_by_role("button", name="Save", exact=True).click()
        expect(memory.get_by_label("Memory", exact=True)).to_have_count(0)
        memory.get_by_role("button", name="Discard").click()
        expect(_notes(memory)).to_have_value("")
        marker.get_by_role("dialog").get_by_role("button", name="Cancel").click()
        expect(marker.get_by_role("dialog")).to_have_count(0)
        for page in (memory, chat, marker):
            page.wait_for_function("!drafts.names('draft:').length")


def test_what_somebody_was_writing_is_not_the_next_ones(
    guest: BrowserContext, system: System, client: Afterthought
) -> None:
    client.change_consent(True, user_id="ann")
    issued = client.issue_token(label="page")
    with window(guest, system.url) as own:
        own.enter(issued.token or "")
        page = own.open(f"/memory/{client.app}?user=ann")
        _notes(page).fill("For my eyes.")
        client.revoke_token(issued.token_id)
        # The page goes to the login by itself: a visit from here would race it, and be aborted by it.
        expect(page.get_by_text("your token is not accepted any more")).to_be_visible()
        page.get_by_label("Token").fill(system.admin_token)
        page.get_by_role("button", name="Log in").click()
        expect(_notes(page)).to_have_value("")
        assert "For my eyes." not in page.evaluate("JSON.stringify(sessionStorage)")
