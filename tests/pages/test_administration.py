"""What an admin does on the pages of administration, and what the interface says of it afterwards."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from afterthought_client import Afterthought, ApiError
from shared.conversations.answers import AnswerDraft, give
from shared.conversations.queries import get_conversation
from shared.db.engine import Database
from tests.support.browser import Window
from tests.support.services import System

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]
HOSTILE = "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script> \u202eאבג\u202c 👩‍🚀 "


def _fill(client: Afterthought, user: str = "ada") -> None:
    client.start_conversation(conversation_id=f"of-{user}", user_id=user)
    client.add_messages(f"of-{user}", [{"role": "user", "content": "I keep a quillwort."}])
    client.write_memory("Keeps a quillwort.", user_id=user)
    client.write_fact("Is allergic to peanuts.", user_id=user)


def _confirm(page: Page, title: str, word: str, button: str) -> None:
    dialog = page.get_by_role("dialog", name=title)
    agree = dialog.get_by_role("button", name=button)
    expect(agree).to_be_disabled()
    dialog.get_by_label("Confirmation").fill(word + "x")
    expect(agree).to_be_disabled()
    dialog.get_by_label("Confirmation").fill(word)
    agree.click()


def _receipt(page: Page, folder: Path) -> dict[str, object]:
    """Look at the receipt that is shown, and return the one that is downloaded."""
    dialog = page.get_by_role("dialog", name="Receipt")
    expect(dialog.get_by_role("region", name="What was erased and what is left, by store")).to_be_visible()
    with page.expect_download() as told:
        dialog.get_by_role("button", name="Download JSON").click()
    told.value.save_as(folder / "receipt.json")
    dialog.get_by_role("button", name="Close").click()
    receipt: dict[str, object] = json.loads((folder / "receipt.json").read_text("utf-8"))
    return receipt


def test_an_app_is_installed_and_changed(at: Window, client: Afterthought) -> None:
    page = at.open("/administration")
    page.get_by_label("Id, as in addresses").fill("my diary")
    page.get_by_role("button", name="Install").click()
    expect(page.get_by_text("Id: letters, digits and any of")).to_be_visible()
    page.get_by_label("Id, as in addresses").fill("diary")
    page.get_by_label("Name").fill("Diary")
    page.get_by_role("button", name="Install").click()
    page.get_by_role("dialog", name="diary is installed").get_by_role("button", name="Done").click()
    page.wait_for_url("**/administration/diary")
    page.get_by_label("Name").fill("My diary")
    page.get_by_label("Weight beside other apps").fill("7")
    page.get_by_label("Units in any hour").fill("-1")
    page.get_by_role("button", name="Save", exact=True).click()
    refused = page.get_by_text("Units in any hour: a number, 0 or more")
    expect(refused).to_be_visible()
    page.get_by_label("Units in any hour").fill("50")
    page.get_by_role("switch", name="A person approves each answer first").click()
    page.get_by_role("combobox", name="Who answers").click()
    page.get_by_role("option", name="Afterthought").click()
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text("Saved.")).to_be_visible()
    page.get_by_label("Weight of words").fill("0.9")
    page.get_by_role("button", name="Save settings").click()
    expect(page.get_by_text("Weight of vectors, Weight of words and Weight of identifiers must add up")).to_be_visible()
    page.reload()
    page.wait_for_function("window.did_handshake")
    # What was refused is kept, as anything that is being written.
    expect(page.get_by_label("Weight of words")).to_have_value("0.9")
    page.get_by_role("button", name="Discard").click()
    page.get_by_label("Tokens of retrieved messages").fill("2222")
    page.get_by_label("Tokens of retrieved messages").press("Tab")
    page.get_by_role("button", name="Save settings").click()
    expect(page.get_by_text("changed for this app")).to_have_count(1)
    assert client.show_app_tuning(app_id="diary").token_budget.value == 2222
    app = client.show_app(app_id="diary")
    assert (app.name, app.weight, app.hourly_budget, app.daily_budget) == ("My diary", 7, 50, None)
    assert (app.answered_by, app.approve_answers, app.shared_memory) == ("loop", True, False)
    page = at.open("/administration")
    expect(page.get_by_role("region", name="Apps by id").get_by_role("link", name="My diary")).to_be_visible()


def test_a_token_is_issued_shown_once_and_revoked(at: Window, client: Afterthought, system: System) -> None:
    at.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = at.open(f"/administration/{client.app}?view=tokens")
    expect(page.get_by_text("The app has no token.")).to_be_visible()
    page.get_by_label("What it is for").fill("phone")
    page.get_by_role("checkbox", name="May uninstall").click()
    page.get_by_role("button", name="Issue").click()
    dialog = page.get_by_role("dialog", name="New token")
    token = dialog.get_by_label("Token").input_value()
    dialog.get_by_role("button", name="Copy").click()
    expect(page.get_by_text("Copied.")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == token
    dialog.get_by_role("button", name="Done").click()
    expect(dialog).to_be_hidden()
    assert token not in page.content()
    with Afterthought(system.url, token, app=client.app) as own:
        assert (own.show_token().app_id, own.show_token().grants) == (client.app, ["uninstall"])
        page.get_by_role("button", name="Revoke phone").click()
        page.get_by_role("dialog").get_by_role("button", name="Revoke").click()
        expect(page.get_by_text("revoked just now")).to_be_visible()
        with pytest.raises(ApiError):
            own.show_token()


_COUNT_ROWS = """
window.most = 0;
new MutationObserver(() => { window.most = Math.max(window.most, document.querySelectorAll('tbody tr').length); })
  .observe(document.body, {childList: true, subtree: true});
"""


def test_a_users_own_token_is_issued(at: Window, client: Afterthought, system: System) -> None:
    page = at.open(f"/administration/{client.app}?view=tokens")
    page.get_by_label("A user's own").fill("ada")
    expect(page.get_by_role("checkbox", name="May uninstall")).to_be_disabled()
    page.get_by_role("button", name="Issue").click()
    token = page.get_by_role("dialog", name="New token").get_by_label("Token").input_value()
    with Afterthought(system.url, token, app=client.app) as own:
        assert own.show_token().user_id == "ada"
    page.get_by_role("dialog", name="New token").get_by_role("button", name="Done").click()
    expect(page.get_by_role("region", name="Tokens, the oldest first")).to_contain_text("ada")


def test_a_double_click_on_more_shows_the_next_page_once(at: Window, client: Afterthought) -> None:
    for number in range(26):
        client.issue_token(label=f"phone {number}")
    page = at.open(f"/administration/{client.app}?view=tokens")
    rows = page.get_by_role("region", name="Tokens, the oldest first").locator("tbody tr")
    expect(rows).to_have_count(25)
    page.evaluate(_COUNT_ROWS)
    # Nearer to each other than any person clicks: the first is not done when the second comes.
    page.get_by_role("button", name="More", exact=True).evaluate("button => { button.click(); button.click(); }")
    expect(rows).to_have_count(26)
    # What was clicked twice is over once this is shown, which waits for its turn.
    page.get_by_label("What it is for").fill("tablet")
    page.get_by_role("button", name="Issue").click()
    page.get_by_role("dialog", name="New token").get_by_role("button", name="Done").click()
    expect(rows).to_have_count(27)
    assert page.evaluate("window.most") == 27


def _pending(client: Afterthought, database: Database, name: str, content: str) -> str:
    client.start_conversation(conversation_id=name, user_id="ada")
    client.add_messages(name, [{"role": "user", "content": "What do I keep?"}])
    with database.write() as session:
        conversation = get_conversation(session, client.app or "", name)
        return str(give(session, conversation, AnswerDraft(content, 0, "m:m"), True, datetime.now(UTC)).answer_id)


def test_answers_are_approved_in_other_words_and_rejected(at: Window, client: Afterthought, database: Database) -> None:
    client.change_app(answered_by="loop", approve_answers=True)
    _pending(client, database, "monday", "You keep a quilwort.")
    page = at.open(f"/administration/{client.app}?view=answers")
    first = page.get_by_role("group", name="Answer in monday")
    expect(first).to_contain_text("What do I keep?")
    expect(first.get_by_label("Answer", exact=True)).to_have_value("You keep a quilwort.")
    first.get_by_label("Answer", exact=True).fill("You keep a quillwort.")
    # One that comes meanwhile is shown, and does not take away what was written.
    _pending(client, database, "tuesday", HOSTILE)
    second = page.get_by_role("group", name="Answer in tuesday")
    expect(second.get_by_label("Answer", exact=True)).to_have_value(HOSTILE)
    first.get_by_role("button", name="Approve and send").click()
    expect(first).to_have_count(0)
    assert [one["content"] for one in client.iter_messages("monday")][-1] == "You keep a quillwort."
    second.get_by_label("Why it is rejected").fill("Nonsense.")
    second.get_by_role("button", name="Reject").click()
    expect(page.get_by_text("No answer is here.")).to_be_visible()
    [rejected] = client.list_answers(state="rejected").answers
    assert (rejected.conversation_id, rejected.reason) == ("tuesday", "Nonsense.")
    page.get_by_role("button", name="Rejected").click()
    expect(page.get_by_text("Rejected by admin: Nonsense.")).to_be_visible()
    assert page.title() == "Administration - Afterthought"


def test_a_user_is_erased_after_typing_who(at: Window, client: Afterthought, tmp_path: Path) -> None:
    for user in ("ada", "bob"):
        _fill(client, user)
    page = at.open(f"/administration/{client.app}?view=users")
    page.get_by_role("button", name="Erase ada").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("1 conversation with 1 message")
    expect(dialog).to_contain_text("1 memory, with their history")
    dialog.get_by_role("button", name="Cancel").click()
    expect(dialog).to_be_hidden()
    assert len(client.list_users().users) == 2
    page.get_by_role("button", name="Erase ada").click()
    _confirm(page, "Erase everything of ada?", "ada", "Erase")
    receipt = _receipt(page, tmp_path)
    assert (receipt["scope"], receipt["userId"]) == ("user", "ada")
    expect(page.get_by_role("button", name="Erase ada")).to_have_count(0)
    assert [one.user_id for one in client.list_users().users] == ["bob"]
    assert client.list_memories(user_id="ada").memories == []


def test_memories_are_purged_and_all_data_erased(at: Window, client: Afterthought, tmp_path: Path) -> None:
    _fill(client)
    page = at.open(f"/administration/{client.app}?view=data")
    page.get_by_role("button", name="Purge the memories", exact=True).click()
    expect(page.get_by_role("dialog")).to_contain_text("1 memory, with the text of their history")
    _confirm(page, f"Purge the memories of {client.show_app().name}?", client.app or "", "Purge")
    expect(page.get_by_text("Still remembered: 1 fact, 1 message")).to_be_visible()
    assert _receipt(page, tmp_path)["scope"] == "memories"
    assert (client.list_memories().memories, len(client.list_facts().facts)) == ([], 1)
    page.get_by_role("button", name="Erase all data").click()
    expect(page.get_by_role("dialog")).to_contain_text("1 conversation with 1 message")
    _confirm(page, f"Erase all data of {client.show_app().name}?", client.app or "", "Erase")
    receipt = _receipt(page, tmp_path)
    assert receipt["receiptId"] == client.list_erasure_receipts().erasures[0].receipt_id
    assert (client.list_facts().facts, client.list_users().users) == ([], [])
    receipts = page.get_by_role("region", name="Receipts, newest first")
    expect(receipts.locator("tbody tr")).to_have_count(2)
    receipts.get_by_role("button", name="Show").first.click()
    assert _receipt(page, tmp_path) == receipt


@pytest.mark.parametrize("purge", [False, True], ids=["keeping", "purging"])
def test_an_app_is_uninstalled_and_comes_back(at: Window, client: Afterthought, purge: bool) -> None:
    _fill(client)
    page = at.open(f"/administration/{client.app}?view=data")
    name = "Uninstall, and purge the memories" if purge else "Uninstall, and keep what it remembers"
    page.get_by_role("button", name=name).click()
    _confirm(page, f"Uninstall {client.show_app().name}?", client.app or "", "Uninstall")
    expect(page.get_by_text(f"Memories kept: {0 if purge else 1}.")).to_be_visible()
    assert not client.show_app().installed
    page = at.open(f"/administration/{client.app}")
    page.get_by_role("button", name="Install it again").click()
    expect(page.get_by_role("button", name="Save", exact=True)).to_be_visible()
    assert client.show_app().installed
    assert len(client.list_memories().memories) == (0 if purge else 1)


def test_an_app_is_exported_and_imported_into_another(at: Window, client: Afterthought, tmp_path: Path) -> None:
    _fill(client)
    page = at.open(f"/administration/{client.app}?view=data")
    with page.expect_download() as told:
        page.get_by_role("button", name="Export").click()
    told.value.save_as(tmp_path / "app.json")
    client.install_app("other", "Other")
    page = at.open("/administration/other?view=data")
    page.locator("input[type=file]").set_input_files(tmp_path / "app.json")
    expect(page.get_by_text("Added 1 conversations, 1 messages, 1 memories, 1 facts")).to_be_visible()
    [memory] = client.list_memories(app_id="other").memories
    assert memory.content == "Keeps a quillwort."
    for wrong in ("[1]", "no JSON", '{"a":' * 500 + "1" + "}" * 500):
        (tmp_path / "wrong.json").write_text(wrong, "utf-8")
        page = at.open("/administration/other?view=data")
        page.locator("input[type=file]").set_input_files(tmp_path / "wrong.json")
        expect(page.get_by_text("The file is no exported app.")).to_be_visible()


def test_the_audit_tells_who_changed_what_and_shows_hostile_text_as_text(
    phone: Window, client: Afterthought, system: System
) -> None:
    named, unnamed = client.issue_token(label="Notebook"), client.issue_token()
    for token in (named, unnamed):
        with Afterthought(system.url, token.token or "", app=client.app) as own:
            own.write_memory(f"Told with {token.token_id}.", user_id="ada")
    client.write_memory(HOSTILE + "x" * 90, user_id="ada")
    client.write_fact("Is allergic to peanuts.", user_id=HOSTILE.strip())
    client.change_session_settings(ui={"defaultView": "keepits"})
    client.change_consent(True, user_id="ada", app_id=client.app or "")
    page = phone.open(f"/administration/{client.app}?view=audit")
    expect(page.get_by_role("region", name="Changes of memories, newest first")).to_contain_text("onerror=")
    expect(page.get_by_role("cell", name="token Notebook")).to_be_visible()
    expect(page.get_by_text(f"token {unnamed.token_id[:12]}…")).to_be_visible()
    page.get_by_role("button", name="Facts").click()
    facts = page.get_by_role("region", name="Changes of facts, newest first")
    expect(facts).to_contain_text("Is allergic to peanuts.")
    expect(facts).to_contain_text("admin")
    page.get_by_role("button", name="Profiles").click()
    expect(page.get_by_role("region", name="Changes of profiles, newest first")).to_contain_text("granted")
    page.get_by_role("button", name="Settings of sessions").click()
    expect(page.get_by_role("region", name="Changes of settings of sessions")).to_contain_text("keepits")
    page = phone.open(f"/administration/{client.app}?view=users")
    expect(page.get_by_role("region", name="Users by id")).to_contain_text("<script>")
    assert page.title() == "Administration - Afterthought"
