"""Conversations on their page: read, continued, ended, and remembered from."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect

from afterthought_client import Afterthought
from tests.support.browser import Window, window
from tests.support.services import System
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]


def _begin(client: Afterthought, name: str, *said: str, user: str | None = "ada") -> None:
    client.start_conversation(conversation_id=name, user_id=user)
    client.add_messages(name, [{"role": ("user", "assistant")[i % 2], "content": text} for i, text in enumerate(said)])


def _log(page: Page) -> list[str]:
    return page.get_by_role("log").locator(".said").all_inner_texts()


def test_a_conversation_is_read_continued_and_ended(at: Window, client: Afterthought) -> None:
    client.write_fact("Is allergic to peanuts.", user_id="ada", pinned=True)
    _begin(client, "monday", "I moved to Lisbon in May.", "Noted.")
    page = at.open(f"/chat/{client.app}")
    page.get_by_role("listitem").filter(has_text="monday").click()
    expect(page.get_by_text("I moved to Lisbon in May.")).to_be_visible()
    page.get_by_role("textbox", name="Message").fill("What can I cook for my guests tonight?")
    page.get_by_role("textbox", name="Message").press("Enter")
    expect(page.get_by_role("log")).to_contain_text("What can I cook")
    beside = page.get_by_role("complementary", name="What was recalled")
    expect(beside).to_contain_text("Is allergic to peanuts.")
    expect(beside).to_contain_text("Pinned, and so always there")
    page.get_by_role("button", name="End", exact=True).click()
    expect(page.get_by_text("Ended. What was said here")).to_be_visible()
    assert client.show_conversation("monday").state == "ended"
    assert [one["content"] for one in client.iter_messages("monday")][-1] == "What can I cook for my guests tonight?"
    wait_until(lambda: client.list_memories(user_id="ada").memories, 60, "the memory")


def test_a_conversation_is_begun(at: Window, client: Afterthought) -> None:
    page = at.open(f"/chat/{client.app}")
    expect(page.get_by_text("No conversations yet.")).to_be_visible()
    page.get_by_role("button", name="New conversation").dblclick()
    expect(page.get_by_text("Afterthought does not answer in this app")).to_be_visible()
    expect(page.get_by_text("What would you like to be remembered?")).to_be_visible()
    expect(page).to_have_url(re.compile(r"\?conversation=conv_"))
    page.get_by_role("textbox", name="Message").fill("Hello there.")
    page.reload()
    expect(page.get_by_role("textbox", name="Message")).to_have_value("Hello there.")
    page.get_by_role("button", name="Send").click()
    expect(page.get_by_role("log")).to_contain_text("Hello there.")
    expect(page.get_by_role("list", name="Conversations")).to_contain_text("1 message")
    [begun] = client.list_conversations().conversations
    assert begun.message_count == 1
    page.go_back()
    expect(page).to_have_url(re.compile(f"/chat/{client.app}$"))
    expect(page.get_by_role("textbox", name="Message")).to_have_count(0)


def test_a_person_with_a_token_of_their_own_sees_what_is_theirs(
    guest: BrowserContext, system: System, client: Afterthought
) -> None:
    _begin(client, "bobs", "I keep bees.", user="bob")
    client.write_fact("Keeps bees.", user_id="bob")
    _begin(client, "anns", "I moved to Lisbon in May.", user="ann")
    client.write_fact("Is allergic to peanuts.", user_id="ann")
    own = client.issue_token(user_id="ann").token or ""
    with window(guest, system.url) as anns:
        anns.enter(own)
        # Whatever an address says.
        page = anns.open(f"/memory/{client.app}?user=bob")
        pages = page.get_by_role("navigation", name="Pages")
        expect(pages.get_by_role("link")).to_have_text([re.compile("Chat$"), re.compile("Memory$")])
        expect(page.get_by_role("combobox", name="Whose memory")).to_have_count(0)
        page.get_by_role("button", name="1 fact").click()
        expect(page.get_by_text("Is allergic to peanuts.")).to_be_visible()
        expect(page.get_by_text("Keeps bees.")).to_have_count(0)
        page = anns.open(f"/chat/{client.app}?conversation=bobs")
        expect(page.get_by_text("ann has nothing of this name here.")).to_be_visible()
        expect(page.get_by_text("I keep bees.")).to_have_count(0)
        page.get_by_role("button", name="New conversation").click()
        page.get_by_role("textbox", name="Message").fill("I would like a bicycle.")
        page.get_by_role("button", name="Send").click()
        expect(page.get_by_role("log")).to_contain_text("I would like a bicycle.")
        wait_until(lambda: len(client.list_conversations(user_id="ann").conversations) == 2, 20, "it to be hers")
        page = anns.open(f"/sessions/{client.app}")
        expect(page.get_by_text("This token is ann's own")).to_be_visible()


def test_leaving_the_chooser_by_tab_chooses_nothing_else(at: Window, client: Afterthought) -> None:
    _begin(client, "monday", "I moved to Lisbon in May.")
    page = at.open(f"/chat/{client.app}")
    chooser = page.get_by_role("combobox", name="Whose memory")
    with page.expect_navigation():
        chooser.click()
        page.get_by_role("option", name="ada").click()
    page.wait_for_function("window.did_handshake")
    page.evaluate("window.stays = true")
    chooser.focus()
    page.keyboard.press("Tab")
    page.get_by_role("button", name="New conversation").click()
    expect(page.get_by_role("textbox", name="Message")).to_be_visible()
    assert page.evaluate("window.stays")
    assert {one.user_id for one in client.list_conversations().conversations} == {"ada"}


def test_a_long_conversation_shows_its_end_first_and_asks_for_no_more(at: Window, client: Afterthought) -> None:
    client.start_conversation(conversation_id="long", user_id="ada")
    client.add_messages("long", [{"role": "user", "content": f"Number {i}.", "messageId": f"m{i}"} for i in range(130)])
    page = at.open(f"/chat/{client.app}?conversation=long")
    expect(page.get_by_text("Number 129.")).to_be_visible()
    assert _log(page) == [f"Number {i}." for i in range(80, 130)]
    # The pane scrolls, and not the page, at whose end the box to write in stays.
    expect(page.get_by_text("Number 129.")).to_be_in_viewport()
    expect(page.get_by_role("textbox", name="Message")).to_be_in_viewport()
    page.get_by_role("button", name="Earlier messages").click()
    expect(page.get_by_text("Number 30.")).to_be_attached()
    assert _log(page) == [f"Number {i}." for i in range(30, 130)]
    # Where one was reading, which is the beginning of what was shown before.
    expect(page.get_by_text("Number 80.")).to_be_in_viewport()
    expect(page.get_by_role("textbox", name="Message")).to_be_in_viewport()
    assert page.evaluate("document.documentElement.scrollHeight <= window.innerHeight")
    page = at.open(f"/chat/{client.app}?conversation=long&message=m60")
    expect(page.locator(".sought")).to_contain_text("Number 60.")


def test_what_is_selected_is_remembered_of_the_conversations_user(at: Window, client: Afterthought) -> None:
    _begin(client, "boat", "My boat is named Heron.", "A fine name.")
    page = at.open(f"/chat/{client.app}?conversation=boat")
    text = page.get_by_text("My boat is named Heron.")
    text.click(click_count=3)
    offer = page.get_by_role("button", name="Remember")
    expect(offer).to_be_visible()
    chosen, button = text.bounding_box(), offer.bounding_box()
    assert chosen is not None and button is not None
    assert abs(button["x"] - chosen["x"]) < 20
    assert 0 < button["y"] - (chosen["y"] + chosen["height"]) < 20
    offer.click()
    expect(page.get_by_text("Remembered as")).to_be_visible()
    [fact] = client.list_facts(user_id="ada").facts
    assert "Heron" in fact.fact


def test_the_sheet_of_memory_opens_over_the_conversation(at: Window, client: Afterthought) -> None:
    _begin(client, "boat", "My boat is named Heron.")
    client.write_fact("Is allergic to peanuts.", user_id="ada")
    page = at.open(f"/chat/{client.app}?conversation=boat")
    page.get_by_role("button", name="1 fact").click()
    sheet = page.get_by_role("dialog", name="Memory")
    expect(sheet.get_by_text("Is allergic to peanuts.")).to_be_visible()
    page.keyboard.press("Escape")
    expect(sheet).not_to_be_visible()
    page.keyboard.press("Control+Shift+M")
    expect(sheet.get_by_text("Is allergic to peanuts.")).to_be_visible()
    expect(page.get_by_role("log")).to_be_visible()


def test_what_is_sent_is_there_at_once_and_only_once(at: Window, client: Afterthought) -> None:
    _begin(client, "monday", "I moved to Lisbon in May.")
    page = at.open(f"/chat/{client.app}?conversation=monday")
    box = page.get_by_role("textbox", name="Message")
    # Longer than a search takes: what can be recalled does not decide whether it is sent.
    box.fill("What can I cook tonight? " * 300)
    box.press("Enter")
    box.press("Enter")
    expect(page.get_by_role("log")).to_contain_text("What can I cook tonight?")
    expect(page.get_by_role("complementary", name="What was recalled")).to_contain_text("Recalled for this message")
    expect(box).to_have_value("")
    assert len(list(client.iter_messages("monday"))) == 2
    expect(page.get_by_role("log").locator(".bubble")).to_have_count(2)


def test_what_cannot_be_sent_is_in_the_box_again(at: Window, client: Afterthought) -> None:
    _begin(client, "monday", "I moved to Lisbon in May.")
    page = at.open(f"/chat/{client.app}?conversation=monday")
    box, log = page.get_by_role("textbox", name="Message"), page.get_by_role("log").locator(".bubble")
    box.fill("a" * 250_000)
    page.get_by_role("button", name="Send").click()
    expect(page.get_by_role("alert").filter(has_text="Not sent:")).to_contain_text("That is too long.")
    expect(box).to_have_value("a" * 250_000)
    expect(log).to_have_count(1)
    box.fill("Shorter.")
    page.get_by_role("button", name="Send").click()
    expect(log).to_have_count(2)
    expect(page.get_by_role("alert").filter(has_text="Not sent:")).to_have_count(0)


def test_a_conversation_says_whether_it_is_remembered_and_is_summarised_when_asked(
    at: Window, client: Afterthought
) -> None:
    _begin(client, "monday", "I moved to Lisbon in May.", "Noted.")
    page = at.open(f"/chat/{client.app}?conversation=monday")
    page.get_by_role("button", name="Summarise now").click()
    wait_until(lambda: client.list_summaries("monday").summaries, 60, "the summary")
    page.get_by_role("button", name="Summarise now").click()
    expect(page.get_by_text("Nothing was said in conversation monday since")).to_be_visible()
    page.get_by_role("combobox", name="Memory", exact=True).click()
    page.get_by_role("option", name="No memory").click()
    wait_until(lambda: client.show_conversation("monday").memory == "off", 60, "the switch")
    client.end_conversation("monday")
    state = page.get_by_role("note").filter(has_text="ended")
    expect(state).to_be_visible()
    assert _contrast(state) >= 4.5


def test_days_and_times_are_those_of_the_browser(browser: Browser, system: System, client: Afterthought) -> None:
    client.start_conversation(conversation_id="late", user_id="ada")
    for hour, text in ((14, "Good evening."), (15, "Good night."), (16, "Good morning.")):
        said = {"role": "user", "content": text, "createdAt": f"2026-02-05T{hour}:30:00Z"}
        client.add_messages("late", [said])
    context = browser.new_context(timezone_id="Asia/Tokyo")
    with window(context, system.url) as own:
        own.log_in(system.admin_token)
        page = own.open(f"/chat/{client.app}?conversation=late")
        log = page.get_by_role("log")
        expect(log).to_contain_text("Good morning.")
        expect(log).to_have_text(re.compile("5 Feb 2026.*23:30.*Good evening.*6 Feb 2026.*00:30.*01:30", re.DOTALL))
        log.get_by_text("00:30").hover()
        expect(page.get_by_role("tooltip")).to_have_text("6 Feb 2026, 00:30 JST")
    context.close()


def test_where_nobody_answers_a_chat_is_a_notebook_and_says_so(at: Window, client: Afterthought) -> None:
    client.change_app(answered_by="loop")
    _begin(client, "monday", "I moved to Lisbon in May.")
    page = at.open(f"/chat/{client.app}?conversation=monday")
    expect(page.get_by_text("Nobody answers, as no model is set. It is a notebook")).to_be_visible()


def _contrast(shown: Locator) -> float:
    """Return by how much a text stands out from what it stands on, as the rules of accessibility count it."""
    colours = shown.evaluate("""element => {
      let on = element;
      while (getComputedStyle(on).backgroundColor === 'rgba(0, 0, 0, 0)') on = on.parentElement;
      return [getComputedStyle(element).color, getComputedStyle(on).backgroundColor];
    }""")
    lightness = [_luminance(*(int(one) for one in re.findall(r"[0-9]+", colour)[:3])) for colour in colours]
    return (max(lightness) + 0.05) / (min(lightness) + 0.05)


def _luminance(*colour: int) -> float:
    parts = [one / 3294.6 if one <= 10 else ((one / 255 + 0.055) / 1.055) ** 2.4 for one in colour]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]
