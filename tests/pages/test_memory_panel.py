"""The sheet of facts: seen, mended, pinned, managed, written, deleted, cleared and taken back, as the API then says."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, expect

from afterthought_client import Afterthought
from afterthought_client.models import FactAnswer
from tests.support.browser import Window, window
from tests.support.services import System

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]


def test_the_pill_counts_and_opens_the_sheet_over_the_page(at: Window, client: Afterthought) -> None:
    _write(client, "Lives in Copenhagen", "Is building a boat")
    page = at.open(f"/memory/{client.app}")
    pill = page.get_by_role("button", name="2 facts")
    pill.click()
    expect(_sheet(page)).to_be_visible()
    expect(page.locator(".q-dialog__backdrop")).to_be_visible()
    page.keyboard.press("Escape")
    expect(_sheet(page)).to_be_hidden()
    expect(pill).to_be_focused()
    page.keyboard.press("ControlOrMeta+Shift+M")
    expect(_sheet(page)).to_be_visible()
    page.keyboard.press("ControlOrMeta+Shift+M")
    expect(_sheet(page)).to_be_hidden()
    pill.click()
    expect(_sheet(page)).to_be_visible()
    page.mouse.click(100, 500)
    expect(_sheet(page)).to_be_hidden()


def test_facts_are_cards_by_category_with_their_confidence(at: Window, client: Afterthought) -> None:
    _write(client, "Is building a boat", category="project")
    _write(client, "Prefers tea", category="preference")
    sheet = _open(at, client)
    project = sheet.get_by_role("list", name="project")
    expect(project.get_by_role("listitem")).to_contain_text("Is building a boat")
    expect(project.get_by_role("meter")).to_have_attribute("aria-label", "Confidence 60 percent")
    expect(project.get_by_role("listitem")).to_have_css("border-left-color", "rgb(8, 145, 178)")
    expect(sheet.get_by_text("60")).to_have_count(0)
    sheet.get_by_role("tab", name="Preference").click()
    expect(_card(sheet, "Prefers tea")).to_be_visible()
    expect(_card(sheet, "Is building a boat")).to_have_count(0)


def test_a_click_mends_a_fact_in_place(at: Window, client: Afterthought) -> None:
    [fact] = _write(client, "Lives in Copenhagn")
    sheet = _open(at, client)
    sheet.get_by_role("button", name="Lives in Copenhagn").click()
    text = sheet.get_by_label("Fact", exact=True)
    expect(text).to_be_focused()
    text.fill("Lives nowhere")
    text.press("Escape")
    expect(sheet).to_be_visible()
    button = sheet.get_by_role("button", name="Lives in Copenhagn")
    expect(button).to_be_focused()
    button.press("Enter")
    text.fill("Lives in Copenhagen")
    text.press("Enter")
    expect(_card(sheet, "Lives in Copenhagen")).to_have_class(re.compile("saved-"))
    assert client.show_fact(fact.id).fact == "Lives in Copenhagen"


def test_a_double_click_changes_words_and_category(at: Window, client: Afterthought) -> None:
    [fact] = _write(client, "Likes boats", category="preference")
    sheet = _open(at, client)
    sheet.get_by_role("button", name="Likes boats").dblclick()
    card = sheet.get_by_role("listitem")
    card.get_by_role("combobox", name="Category").click()
    at.page.get_by_role("option", name="Project").click()
    card.get_by_label("Fact", exact=True).fill("Is building a boat")
    card.get_by_role("button", name="Save").click()
    expect(sheet.get_by_role("list", name="project").get_by_role("listitem")).to_contain_text("Is building a boat")
    expect(sheet.get_by_role("list", name="preference").get_by_role("listitem")).to_have_count(0)
    changed = client.show_fact(fact.id)
    assert (changed.fact, changed.category) == ("Is building a boat", "project")


def test_an_eleventh_pin_is_refused_in_the_services_words(at: Window, client: Afterthought) -> None:
    facts = _write(client, *[f"Owns boat number {number}" for number in range(11)])
    for fact in facts[:9]:
        client.pin_fact(fact.id)
    sheet = _open(at, client)
    tenth, eleventh = (_card(sheet, f"Owns boat number {number}") for number in (9, 10))
    pin = tenth.get_by_role("button", name="Pin", exact=True)
    expect(pin).to_have_css("opacity", "0")
    tenth.hover()
    expect(pin).to_have_css("opacity", "1")
    pin.click()
    expect(tenth.get_by_role("button", name="Unpin")).to_be_visible()
    expect(tenth).to_have_class(re.compile("pinned"))
    assert client.show_fact(facts[9].id).pinned
    eleventh.get_by_role("button", name="Pin", exact=True).focus()
    at.page.keyboard.press("Enter")
    expect(at.page.get_by_text("10 pinned facts, which is the most")).to_be_visible()
    tenth.get_by_role("button", name="Unpin").click()
    expect(tenth.get_by_role("button", name="Pin", exact=True)).to_be_attached()
    assert not client.show_fact(facts[9].id).pinned


def test_a_deletion_is_taken_back_from_the_bar_which_goes_after_four_seconds(at: Window, client: Afterthought) -> None:
    [fact] = _write(client, "Lives in Copenhagen")
    sheet = _open(at, client)
    _delete(sheet, "Lives in Copenhagen")
    assert client.show_fact(fact.id).state == "deleted"
    sheet.get_by_role("button", name="Undo").click()
    expect(_card(sheet, "Lives in Copenhagen")).to_be_visible()
    assert client.show_fact(fact.id).state == "standing"
    _delete(sheet, "Lives in Copenhagen")
    expect(sheet.get_by_text("Memory deleted")).to_be_visible()
    expect(sheet.get_by_text("Memory deleted")).to_be_hidden()
    sheet.get_by_text("Deleted", exact=True).click()
    sheet.get_by_role("button", name="Restore: Lives in Copenhagen").click()
    expect(_card(sheet, "Lives in Copenhagen")).to_be_visible()
    expect(sheet.get_by_text("Deleted", exact=True)).to_be_hidden()
    assert client.show_fact(fact.id).state == "standing"


def test_clearing_says_how_many_and_can_be_taken_back_for_eight_seconds(at: Window, client: Afterthought) -> None:
    _write(client, "Lives in Copenhagen", "Is building a boat")
    sheet = _open(at, client)
    sheet.get_by_role("button", name="Clear all memory").click()
    expect(sheet.get_by_text("This will remove all 2 facts")).to_be_visible()
    sheet.get_by_role("button", name="Cancel").click()
    expect(_card(sheet, "Is building a boat")).to_be_visible()
    _clear(sheet)
    expect(sheet.get_by_text("No memories yet. I'll learn as we talk.")).to_be_visible()
    expect(sheet.get_by_role("status").filter(has_text="Memory cleared")).to_contain_text(re.compile(r"\d s"))
    assert client.list_facts().total == 0
    # Whoever closes the page and comes back may still take it back.
    sheet = _open(at, client)
    sheet.get_by_role("status").filter(has_text="Memory cleared").get_by_role("button", name="Undo").click()
    expect(_card(sheet, "Is building a boat")).to_be_visible()
    assert client.list_facts().total == 2


def test_many_are_chosen_moved_deleted_and_taken_back(at: Window, client: Afterthought) -> None:
    facts = _write(client, "Likes boats", "Likes tea", "Likes rain", category="preference")
    client.pin_fact(facts[0].id)
    sheet = _open(at, client)
    sheet.get_by_role("button", name="Manage").click()
    expect(sheet.get_by_role("img", name="Pinned")).to_have_count(1)
    bar = sheet.get_by_role("toolbar", name="Chosen memories")
    expect(bar.get_by_role("button", name="Delete")).to_be_disabled()
    sheet.get_by_role("checkbox", name="Choose: Likes boats").click()
    sheet.get_by_role("button", name="Likes tea").click()
    expect(bar).to_contain_text("2 chosen")
    bar.get_by_role("button", name="Move to").click()
    at.page.locator(".q-menu").get_by_text("Identity").click()
    expect(sheet.get_by_role("list", name="identity").get_by_role("listitem")).to_have_count(2)
    assert [client.show_fact(fact.id).category for fact in facts] == ["identity", "identity", "preference"]
    bar.get_by_role("button", name="Choose all").click()
    expect(bar).to_contain_text("3 chosen")
    bar.get_by_role("button", name="Delete").click()
    expect(sheet.get_by_text("3 memories deleted")).to_be_visible()
    assert client.list_facts().total == 0
    sheet.get_by_role("button", name="Undo").click()
    expect(sheet.get_by_role("listitem")).to_have_count(3)
    assert client.list_facts().total == 3


def test_something_is_remembered_with_a_category_or_without(at: Window, client: Afterthought) -> None:
    sheet = _open(at, client)
    expect(sheet.get_by_text("No memories yet. I'll learn as we talk.")).to_be_visible()
    text = sheet.get_by_label("Remember something")
    text.press("Enter")
    # Beside the field, and not on the page that the sheet covers.
    expect(sheet.get_by_role("alert")).to_have_text("Write something first.")
    text.fill("My name is Ann. " * 40)
    text.press("Enter")
    expect(sheet.get_by_role("alert")).to_have_text("Memory: write something, at most 500 characters.")
    text.fill("My name is Ann")
    text.press("Enter")
    expect(_card(sheet, "My name is Ann")).to_be_visible()
    expect(text).to_have_value("")
    sheet.get_by_role("combobox", name="Category").click()
    at.page.get_by_role("option", name="Project").click()
    text.fill("Blue is for sails")
    sheet.get_by_role("button", name="Remember", exact=True).click()
    expect(sheet.get_by_role("list", name="project").get_by_role("listitem")).to_contain_text("Blue is for sails")
    facts = {one.fact: one for one in client.list_facts().facts}
    assert facts["Blue is for sails"].category == "project" and facts["My name is Ann"].by_hand
    expect(at.page.get_by_text("2 facts", exact=True)).to_be_attached()


def test_what_another_client_changes_shows_by_itself(at: Window, client: Afterthought) -> None:
    [fact] = _write(client, "Lives in Copenhagen")
    sheet = _open(at, client)
    sheet.get_by_role("button", name="Lives in Copenhagen").click()
    writing = sheet.get_by_label("Fact", exact=True)
    writing.fill("Lives in Copen")
    client.write_fact("Is building a boat")
    expect(_card(sheet, "Is building a boat")).to_be_visible()
    expect(at.page.get_by_text("2 facts", exact=True)).to_be_attached()
    expect(writing).to_have_value("Lives in Copen")
    client.delete_fact(fact.id)
    expect(sheet.get_by_role("listitem")).to_have_count(1)


def test_no_more_is_asked_than_is_shown(at: Window, client: Afterthought) -> None:
    _write(client, *[f"Owns boat number {number}" for number in range(60)])
    sheet = _open(at, client)
    expect(sheet.get_by_role("listitem")).to_have_count(50)
    expect(sheet.get_by_text("50 of 60 are shown")).to_be_visible()
    sheet.get_by_role("button", name="More").click()
    expect(sheet.get_by_role("listitem")).to_have_count(60)
    expect(sheet.get_by_role("button", name="More")).to_be_hidden()


def test_whose_memory_is_chosen(at: Window, client: Afterthought) -> None:
    client.write_fact("Likes tea", user_id="ann")
    client.write_fact("Likes rain", user_id="bob")
    sheet = _open(at, client)
    expect(sheet.get_by_role("listitem")).to_have_count(2)
    expect(_card(sheet, "Likes tea")).to_contain_text("ann")
    expect(sheet.get_by_text("Choose whose memory it is to write into it.")).to_be_visible()
    at.page.keyboard.press("Escape")
    at.page.get_by_role("combobox", name="Whose memory").click()
    at.page.get_by_role("option", name="ann").click()
    at.page.get_by_role("button", name="1 fact").click()
    expect(sheet.get_by_role("listitem")).to_have_count(1)
    expect(_card(sheet, "Likes tea")).to_be_visible()
    _clear(sheet)
    expect(sheet.get_by_text("Memory cleared")).to_be_visible()
    assert [one.fact for one in client.list_facts().facts] == ["Likes rain"]


def _write(client: Afterthought, *texts: str, category: str | None = None) -> list[FactAnswer]:
    return [client.show_fact(client.write_fact(text, category=category).id) for text in texts]  # type: ignore[arg-type]


def _open(at: Window, client: Afterthought) -> Locator:
    page = at.open(f"/memory/{client.app}")
    page.get_by_role("button", name=re.compile(r"^\d+ facts?$")).click()
    sheet = _sheet(page)
    expect(sheet).to_be_visible()
    return sheet


def _sheet(page: Page) -> Locator:
    return page.get_by_role("dialog", name="Memory")


def _card(sheet: Locator, text: str) -> Locator:
    return sheet.get_by_role("listitem").filter(has_text=re.compile(re.escape(text) + r"(?!\d)"))


def _delete(sheet: Locator, text: str) -> None:
    card = _card(sheet, text)
    card.hover()
    card.get_by_role("button", name="Delete").click()
    expect(card).to_have_count(0)


def _clear(sheet: Locator) -> None:
    sheet.get_by_role("button", name="Clear all memory").click()
    sheet.get_by_role("button", name="Clear", exact=True).click()


def test_a_page_closed_while_undo_is_offered_changes_nothing(
    guest: BrowserContext, system: System, client: Afterthought
) -> None:
    [fact] = _write(client, "Lives in Copenhagen")
    with window(guest, system.url) as opened:
        opened.enter(system.admin_token)
        _delete(_open(opened, client), "Lives in Copenhagen")
    assert client.show_fact(fact.id).state == "deleted"
    assert client.undo_deleting_fact(fact.id).fact.state == "standing"
    with window(guest, system.url) as opened:
        opened.enter(system.admin_token)
        sheet = _open(opened, client)
        _clear(sheet)
        expect(sheet.get_by_text("No memories yet.")).to_be_visible()
        assert client.list_facts().total == 0
        sheet = _open(opened, client)
        sheet.get_by_role("status").filter(has_text="Memory cleared").get_by_role("button", name="Undo").click()
        expect(_card(sheet, "Lives in Copenhagen")).to_be_visible()
    assert client.list_facts().total == 1
