"""The address says what is looked at: a click writes it, and a reload, Back and another tab read it."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect
from prometheus_client.parser import text_string_to_metric_families

from afterthought_client import Afterthought
from tests.support.browser import Window
from tests.support.recorded import PROJECT, marked_transcript, register
from tests.support.services import System
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]
OTHER = "-home-dev-web-shop"


def _talk(client: Afterthought, name: str, user: str, text: str) -> None:
    client.start_conversation(conversation_id=name, user_id=user)
    client.add_messages(name, [{"role": "user", "content": text}])


def _choose_user(page: Page, user: str) -> None:
    page.get_by_role("combobox", name="Whose memory").click()
    with page.expect_navigation():
        page.get_by_role("option", name=user, exact=True).click()
    page.wait_for_function("window.did_handshake")


def test_nothing_of_a_user_is_left_once_another_is_chosen(at: Window, client: Afterthought) -> None:
    _talk(client, "anns-boat", "ann", "My boat is named Heron.")
    _talk(client, "bens-bike", "ben", "My bike is red.")
    client.write_fact("Likes tea", user_id="ann")
    page = at.open(f"/chat/{client.app}?user=ann&conversation=anns-boat")
    expect(page.get_by_text("My boat is named Heron.")).to_be_visible()
    page.get_by_role("textbox", name="Message").fill("Ann's own words.")
    _choose_user(page, "ben")
    expect(page).to_have_url(f"{at.url}/chat/{client.app}?user=ben")
    expect(page.get_by_text("bens-bike")).to_be_visible()
    for ann in ("Heron", "anns-boat", "Ann's own words."):
        assert ann not in page.content()
    page.get_by_role("button", name="New conversation").click()
    expect(page.get_by_role("textbox", name="Message")).to_have_value("")
    page.get_by_role("textbox", name="Message").fill("Ben's words.")
    page.get_by_role("button", name="Send").click()
    expect(page.get_by_role("log")).to_contain_text("Ben's words.")
    assert {one.user_id for one in client.list_conversations().conversations} == {"ann", "ben"}
    assert client.list_conversations(user_id="ann").conversations[0].message_count == 1
    # Nor does an address show a conversation under the name of somebody else.
    page = at.open(f"/chat/{client.app}?user=ben&conversation=anns-boat")
    expect(page.get_by_text("This conversation is ann's")).to_be_visible()
    assert "Heron" not in page.content()


def test_the_chosen_user_is_the_tabs_own_and_goes_along(at: Window, client: Afterthought) -> None:
    client.write_fact("Likes tea", user_id="ann")
    client.write_fact("Likes rain", user_id="ben")
    page = at.open(f"/memory/{client.app}")
    other = page.context.new_page()
    other.goto(f"{at.url}/memory/{client.app}?user=ann")
    _choose_user(page, "ben")
    other.reload()
    expect(other.get_by_role("combobox", name="Whose memory")).to_have_value("ann")
    other.close()
    page.get_by_role("link", name="Chat").click()
    expect(page).to_have_url(f"{at.url}/chat/{client.app}?user=ben")
    expect(page.get_by_role("link", name="Chat")).to_have_attribute("aria-current", "page")
    page.get_by_role("link", name="Sessions").click()
    page.get_by_role("link", name="Memory", exact=True).click()
    expect(page.get_by_role("combobox", name="Whose memory")).to_have_value("ben")
    page.go_back()
    page.go_back()
    expect(page).to_have_url(f"{at.url}/chat/{client.app}?user=ben")


def test_back_and_forward_go_through_the_conversations(at: Window, client: Afterthought) -> None:
    _talk(client, "first", "ann", "My boat is named Heron.")
    _talk(client, "second", "ann", "My bike is red.")
    page = at.open(f"/chat/{client.app}?user=ann")
    talks = page.get_by_role("list", name="Conversations").get_by_role("listitem")
    talks.filter(has_text="first").click()
    expect(page.get_by_role("log")).to_contain_text("Heron")
    talks.filter(has_text="second").click()
    expect(page.get_by_role("log")).to_contain_text("red")
    expect(talks.filter(has_text="second")).to_have_attribute("aria-current", "true")
    expect(page.locator("[role=listitem][aria-current]")).to_have_count(1)
    expect(page).to_have_url(f"{at.url}/chat/{client.app}?user=ann&conversation=second")
    page.go_back()
    expect(page.get_by_role("log")).to_contain_text("Heron")
    expect(talks.filter(has_text="first")).to_have_attribute("aria-current", "true")
    page.go_forward()
    expect(page.get_by_role("log")).to_contain_text("red")
    page.reload()
    expect(page.get_by_role("log")).to_contain_text("red")


def test_a_project_and_its_session_are_in_the_address(at: Window, client: Afterthought) -> None:
    register(client, "anchor", marked_transcript())
    client.register_session(OTHER, "basket", content=marked_transcript(2))
    page = at.open(f"/sessions/{client.app}?project={PROJECT}")
    page.get_by_role("region", name="Sessions").get_by_role("button", name="anchor").click()
    details = page.get_by_role("region", name="Session details")
    expect(details).to_contain_text("anchor")
    expect(page).to_have_url(f"{at.url}/sessions/{client.app}?project={PROJECT}&session=anchor")
    entry = page.get_by_role("region", name="Sessions").get_by_role("button", name="anchor")
    expect(entry).to_have_attribute("aria-current", "true")
    page.get_by_role("combobox", name="Project").click()
    page.get_by_role("option", name="web-shop").click()
    expect(page).to_have_url(f"{at.url}/sessions/{client.app}?project={OTHER}")
    expect(page.get_by_role("link", name="Composer")).to_have_attribute(
        "href", f"/composer/{client.app}?project={OTHER}"
    )
    page.reload()
    expect(page.get_by_role("button", name="basket")).to_be_visible()
    page.go_back()
    expect(details).to_contain_text("anchor")
    expect(page.get_by_role("combobox", name="Project")).to_have_value("ferry-desk")


@pytest.mark.parametrize("first", ["sessions", "composer"])
def test_a_project_that_is_not_there_is_no_empty_one(at: Window, client: Afterthought, first: str) -> None:
    register(client)
    page = at.open(f"/{first}/{client.app}?project=nosuch")
    expect(page.get_by_text("There is no project nosuch.")).to_be_visible()
    expect(page.get_by_text("No projects yet")).to_have_count(0)
    page.get_by_role("combobox", name="Project").click()
    page.get_by_role("option", name="ferry-desk").click()
    expect(page).to_have_url(f"{at.url}/{first}/{client.app}?project={PROJECT}")


def test_anybody_is_found_by_typing_and_who_is_not_there_is_said(at: Window, client: Afterthought) -> None:
    for number in range(60):
        client.write_fact("Likes tea", user_id=f"u{number:03d}")
    page = at.open(f"/memory/{client.app}")
    chooser = page.get_by_role("combobox", name="Whose memory")
    chooser.fill("u05")
    expect(page.get_by_role("option")).to_have_text([f"u05{n}" for n in range(10)])
    with page.expect_navigation():
        page.get_by_role("option", name="u057").click()
    expect(page).to_have_url(f"{at.url}/memory/{client.app}?user=u057")
    expect(page.get_by_role("button", name=re.compile("^1 fact$"))).to_be_visible()
    chooser.fill("nosuchuser")
    expect(page.get_by_text("Nobody is called like this.")).to_be_visible()
    with page.expect_navigation():
        chooser.press("Enter")
    expect(page.get_by_text("There is no user nosuchuser")).to_be_visible()


_OFFERED = """() => {
  window.offered = [];
  const note = () => document.querySelectorAll("[role=option]").forEach((one) => offered.push(one.textContent));
  new MutationObserver(note).observe(document.body, { subtree: true, childList: true, characterData: true });
}"""


def test_what_is_found_is_never_shown_among_what_does_not_match(at: Window, client: Afterthought) -> None:
    # More than are offered without typing.
    for number in range(110):
        client.write_fact("Likes tea", user_id=f"u{number:03d}")
    page = at.open(f"/memory/{client.app}")
    page.evaluate(_OFFERED)
    page.get_by_role("combobox", name="Whose memory").fill("u00")
    # Found by the service. A click while others stood there would choose one of those.
    expect(page.get_by_role("option")).to_have_text([f"u00{n}" for n in range(10)])
    assert {one for one in page.evaluate("offered") if "u00" not in one} == set()


def test_nothing_is_looked_for_that_nobody_typed(at: Window, system: System, client: Afterthought) -> None:
    register(client)

    def listings() -> float:
        with system.client() as operator:
            families = text_string_to_metric_families(operator.get("/metrics").text)
        counted = {"route": "/api/memory/projects", "method": "GET", "status": "2xx"}
        return sum(
            one.value
            for each in families
            for one in each.samples
            if one.labels == counted and one.name.endswith("_total")
        )

    before = listings()
    page = at.open(f"/sessions/{client.app}?project={PROJECT}")
    expect(page.get_by_role("combobox", name="Project")).to_have_value("ferry-desk")
    page.get_by_role("combobox", name="Project").fill("nothing like it")
    expect(page.get_by_text("Nothing is called like this.")).to_be_visible()
    # Once as it was opened, and for what was typed: all that was asked before that is over by now.
    wait_until(lambda: listings() >= before + 2, 60, "the search")
    assert listings() == before + 2


def test_filters_of_jobs_and_kinds_of_changes_are_in_the_address(at: Window, client: Afterthought) -> None:
    client.write_fact("Likes tea", user_id="ann")
    page = at.open("/operations?view=jobs")
    page.get_by_role("combobox", name="State").click()
    page.get_by_role("option", name="dead letter").click()
    expect(page).to_have_url(f"{at.url}/operations?view=jobs&state=dead")
    page.reload()
    expect(page.get_by_role("combobox", name="State")).to_have_value("dead letter")
    page.go_back()
    expect(page.get_by_role("combobox", name="State")).to_have_value("all")
    page = at.open(f"/administration/{client.app}?view=audit")
    page.get_by_role("button", name="Facts").click()
    expect(page).to_have_url(f"{at.url}/administration/{client.app}?view=audit&of=facts")
    page.reload()
    expect(page.get_by_role("region", name="Changes of facts, newest first")).to_contain_text("Likes tea")
