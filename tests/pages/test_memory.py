"""The page of memories: where they come from, what happened to them, and every way to change them."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import BrowserContext, Locator, expect

from afterthought_client import Afterthought
from tests.support.browser import Window, window
from tests.support.services import System
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]


def test_memories_say_where_they_come_from_and_how_many_places_are_taken(at: Window, client: Afterthought) -> None:
    client.start_conversation(conversation_id="monday")
    client.add_messages("monday", [{"messageId": "m1", "role": "user", "content": "I am allergic to latex."}])
    client.end_conversation("monday")
    wait_until(lambda: client.list_memories().memories, 30, "the memory")
    page = at.open(f"/memory/{client.app}")
    card = _list(at).get_by_role("listitem")
    expect(card).to_contain_text("latex")
    expect(page.get_by_text("1 of 10")).to_be_visible()
    expect(card).to_contain_text("by the built-in agent")
    link = card.get_by_role("link", name="From 1 message")
    expect(link).to_have_attribute("href", f"/chat/{client.app}?conversation=monday&message=m1")
    link.click()
    expect(page).to_have_url(re.compile("/chat/.*conversation=monday"))


def test_a_memory_is_edited_and_each_version_can_be_brought_back(at: Window, client: Afterthought) -> None:
    written = client.write_memory("Lives in Oslo.", tags=["home"])
    page = at.open(f"/memory/{client.app}")
    card = _list(at).get_by_role("listitem")
    card.get_by_role("button", name="Edit").click()
    text = card.get_by_label("Memory")
    expect(text).to_be_focused()
    text.fill("Nothing")
    text.press("Escape")
    expect(card).to_contain_text("Lives in Oslo.")
    assert client.show_memory(written.id).version == 1
    card.get_by_role("button", name="Edit").click()
    text.fill("Lives in Bergen.")
    tags = card.get_by_label("Tags")
    tags.fill("norway")
    tags.press("Enter")
    card.get_by_label("Importance").fill("6")
    card.get_by_role("button", name="Save").click()
    expect(card).to_contain_text("Lives in Bergen.")
    changed = client.show_memory(written.id)
    assert (changed.content, changed.tags, changed.importance) == ("Lives in Bergen.", ["home", "norway"], 6)
    card.get_by_role("button", name="History").click()
    expect(card.get_by_text("Edited", exact=True)).to_be_visible()
    expect(card.get_by_text("by admin").first).to_be_visible()
    expect(card.get_by_text("Lives in Oslo.").first).to_be_visible()
    card.get_by_role("button", name="Bring this back").click()
    expect(card.get_by_text("Restored", exact=True)).to_be_visible()
    expect(page.get_by_text("version 3")).to_be_visible()
    assert client.show_memory(written.id).content == "Lives in Oslo."


def test_a_memory_is_pinned_deleted_and_taken_back(at: Window, client: Afterthought) -> None:
    written = client.write_memory("Lives in Oslo.")
    page = at.open(f"/memory/{client.app}")
    card = _list(at).get_by_role("listitem")
    card.get_by_role("button", name="Pin").click()
    expect(card.get_by_role("button", name="Unpin")).to_be_visible()
    assert client.show_memory(written.id).pinned
    card.get_by_role("button", name="Delete").click()
    expect(card).to_have_count(0)
    assert client.list_memories().memories == []
    page.get_by_role("button", name="Undo").click()
    expect(card).to_contain_text("Lives in Oslo.")
    assert [one.id for one in client.list_memories().memories] == [written.id]


def test_writing_at_the_cap_says_what_went_and_it_can_be_restored(at: Window, client: Afterthought) -> None:
    for number in range(10):
        client.write_memory(f"Knows harbour number {number}.", importance=1 if number == 3 else 6)
    page = at.open(f"/memory/{client.app}")
    expect(page.get_by_text("10 of 10")).to_be_visible()
    page.get_by_role("button", name="Write a memory").click()
    page.get_by_label("Memory", exact=True).fill("Sails to Bergen.")
    page.get_by_role("button", name="Save", exact=True).click()
    notice = page.get_by_role("status").filter(has_text="All places were taken")
    expect(notice).to_contain_text("“Knows harbour number 3.” mattered least, and went")
    assert "Sails to Bergen." in [one.content for one in client.list_memories().memories]
    notice.get_by_role("button", name="Close").click()
    expect(notice).to_have_count(0)
    page.get_by_text("Removed memories").click()
    removed = page.get_by_role("list", name="Removed memories")
    expect(removed.get_by_role("listitem")).to_contain_text("Knows harbour number 3.")
    removed.get_by_role("button", name="Restore").click()
    expect(_list(at)).to_contain_text("Knows harbour number 3.")
    expect(notice).to_be_visible()
    listed = [one.content for one in client.list_memories().memories]
    assert "Knows harbour number 3." in listed and len(listed) == 10


def test_summaries_of_recent_conversations_are_shown(at: Window, client: Afterthought) -> None:
    client.start_conversation(conversation_id="monday")
    said = [("user", f"We decided to paint boat {n} blue.") for n in range(3)] + [("assistant", "Blue it is.")]
    client.add_messages("monday", [{"role": role, "content": content} for role, content in said])
    client.make_summary("monday")
    page = at.open(f"/memory/{client.app}")
    summaries = page.get_by_role("list", name="Summaries")
    expect(summaries.get_by_role("listitem")).to_contain_text("blue")
    link = summaries.get_by_role("link", name="Conversation")
    expect(link).to_have_attribute("href", f"/chat/{client.app}?conversation=monday")


def test_consent_is_given_a_profile_written_and_taken_back_knowing_what_goes(at: Window, client: Afterthought) -> None:
    client.write_fact("Likes tea", user_id="ann")
    page = at.open(f"/memory/{client.app}")
    expect(page.get_by_text("A profile is one user's")).to_be_visible()
    page.get_by_role("combobox", name="Whose memory").click()
    page.get_by_role("option", name="ann").click()
    consent = page.get_by_role("switch", name="Agrees to having a profile")
    consent.click()
    languages = page.get_by_label("Languages")
    languages.fill("Rust")
    languages.press("Enter")
    page.get_by_label("Notes").fill("Short answers.")
    page.get_by_role("button", name="Save the profile").click()
    expect(page.get_by_text("The profile is saved.")).to_be_visible()
    kept = client.show_profile(user_id="ann").profile
    assert kept is not None and kept.freeform_notes == "Short answers."
    assert kept.preferences.preferred_languages == ["Rust"]
    client.write_profile(preferences={"preferredLanguages": ["Rust"]}, freeform_notes="Long answers.", user_id="ann")
    expect(page.get_by_label("Notes")).to_have_value("Long answers.")
    consent.click()
    dialog = page.get_by_role("dialog", name="Take consent back")
    expect(dialog).to_contain_text("notes of 13 characters")
    expect(dialog).to_contain_text("1 language")
    dialog.get_by_role("button", name="Keep").click()
    expect(consent).to_be_checked()
    assert client.show_consent(user_id="ann").consent
    consent.click()
    dialog.get_by_role("button", name="Take back and erase").click()
    expect(page.get_by_role("status").filter(has_text="Erased:")).to_contain_text("Nothing is left.")
    expect(consent).not_to_be_checked()
    assert client.show_profile(user_id="ann").profile is None and not client.show_consent(user_id="ann").consent


def test_who_may_only_read_sees_no_way_to_change(
    guest: BrowserContext, system: System, client: Afterthought, read_token: str
) -> None:
    client.write_memory("Lives in Oslo.")
    client.write_fact("Lives in Norway")
    with window(guest, system.url) as opened:
        opened.enter(read_token)
        page = opened.open(f"/memory/{client.app}")
        expect(_list(opened)).to_contain_text("Lives in Oslo.")
        for name in ("Edit", "Pin", "Delete", "Write a memory"):
            expect(page.get_by_role("button", name=name)).to_have_count(0)
        expect(page.get_by_role("switch")).to_be_disabled()
        page.get_by_role("button", name="1 fact").click()
        sheet = page.get_by_role("dialog", name="Memory")
        expect(sheet).to_contain_text("Lives in Norway")
        expect(sheet.get_by_role("button")).to_have_count(1)
        expect(sheet.get_by_role("textbox")).to_have_count(0)


def test_a_page_left_open_goes_to_the_way_in_when_its_token_is_revoked(
    guest: BrowserContext, system: System, client: Afterthought
) -> None:
    issued = client.issue_token(label="page")
    with window(guest, system.url) as opened:
        opened.enter(issued.token)
        page = opened.open(f"/memory/{client.app}")
        client.write_memory("Lives in Oslo.")
        expect(_list(opened)).to_contain_text("Lives in Oslo.")
        client.revoke_token(issued.token_id)
        expect(page.get_by_text("your token is not accepted any more")).to_be_visible()


def _list(at: Window) -> Locator:
    return at.page.get_by_role("list", name="Memories", exact=True)


def test_what_another_client_changes_shows_by_itself(at: Window, client: Afterthought) -> None:
    page = at.open(f"/memory/{client.app}")
    expect(page.get_by_text("No memories yet.").first).to_be_visible()
    written = client.write_memory("Lives in Oslo.")
    expect(_list(at)).to_contain_text("Lives in Oslo.")
    client.edit_memory(written.id, content="Lives in Bergen.")
    expect(_list(at)).to_contain_text("Lives in Bergen.")
    client.delete_memory(written.id)
    expect(_list(at).get_by_role("listitem")).to_have_count(0)
