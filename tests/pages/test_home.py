"""The first page: what needs somebody, the apps with what they hold, and how an app begins."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from afterthought_client import Afterthought
from shared.conversations.answers import AnswerDraft, give
from shared.conversations.queries import get_conversation
from shared.db.engine import Database
from shared.jobs.models import JobState
from shared.jobs.queries import get_job
from tests.support.browser import Window, window
from tests.support.services import EmbeddedRedis, System, start_system
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]


def _needs(page: Page, what: str) -> object:
    return page.get_by_role("group", name="Needs you").get_by_role("link", name=what)


def test_an_empty_installation_says_what_to_do_first_and_sees_the_first_call(
    browser: Browser, sqlite_url: str, own_redis: EmbeddedRedis, tmp_path: Path
) -> None:
    with (
        start_system(tmp_path, sqlite_url, own_redis.url, workers=0) as system,
        window(browser, system.url) as own,
    ):
        own.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        own.enter(system.admin_token)
        page = own.open("/")
        expect(_needs(page, "No worker is there")).to_have_attribute("href", "/operations")
        expect(page.get_by_role("heading", name="Begin with an app")).to_be_visible()
        for app_id, language in (("diary", "curl"), ("coach", "Python")):
            page = own.open("/" if app_id == "diary" else "/administration")
            page.get_by_label("Id, as in addresses").fill(app_id)
            page.get_by_role("button", name="Install").click()
            dialog = page.get_by_role("dialog", name=f"{app_id} is installed")
            token = dialog.get_by_label("Token").input_value()
            dialog.get_by_role("tab", name=language).click()
            dialog.get_by_role("region", name=language).wait_for()
            expect(dialog.get_by_role("status")).to_have_text("Waiting for the first call…")
            dialog.get_by_role("button", name=f"Copy the {language} call").click()
            expect(page.get_by_text("Copied.")).to_be_visible()
            call = page.evaluate("navigator.clipboard.readText()")
            assert token in call and system.url in call
            program = ["sh", "-c", call] if language == "curl" else [sys.executable, "-c", call]
            done = subprocess.run(program, check=True, capture_output=True, text=True, timeout=60)
            assert "Lives in Lisbon." in done.stdout
            expect(dialog.get_by_role("status")).to_contain_text("The first call was seen.")
            expect(dialog.get_by_role("link")).to_have_attribute("href", f"/memory/{app_id}?user=ada")
            dialog.get_by_role("button", name="Done").click()
            page.wait_for_url(f"**/administration/{app_id}")
            assert token not in page.content()
        page = own.open("/")
        expect(page.get_by_role("link", name="coach")).to_contain_text("1 user")
        expect(page.get_by_role("heading", name="Begin with an app")).to_have_count(0)


def test_apps_are_shown_with_what_they_hold_and_lead_to_it(at: Window, client: Afterthought) -> None:
    for user in ("ada", "bob"):
        client.start_conversation(conversation_id=f"of-{user}", user_id=user)
        client.write_memory("Keeps a quillwort.", user_id=user)
    client.start_conversation(conversation_id="again", user_id="ada")
    page = at.open("/")
    app = page.get_by_role("group", name="Apps", exact=True).get_by_role("link").filter(has_text=client.app or "-")
    while not app.count():
        page.get_by_role("button", name="More apps").click()
        page.wait_for_load_state("networkidle")
    for figure in ("2 users", "3 conversations", "2 memories", "active just now"):
        expect(app).to_contain_text(figure)
    expect(app).to_have_attribute("href", f"/memory/{client.app}")


def test_an_app_that_was_brought_in_is_not_called_unused(at: Window, client: Afterthought) -> None:
    client.write_memory("Keeps a quillwort.", user_id="ada")
    page = at.open("/")
    app = page.get_by_role("group", name="Apps", exact=True).get_by_role("link").filter(has_text=client.app or "-")
    while not app.count():
        page.get_by_role("button", name="More apps").click()
        page.wait_for_load_state("networkidle")
    expect(app).to_contain_text("1 memory")
    expect(app).to_contain_text("not active here yet")


def test_what_needs_somebody_leads_to_where_it_is_dealt_with_and_goes_with_it(
    at: Window, client: Afterthought, database: Database, guest: BrowserContext, system: System, read_token: str
) -> None:
    client.change_app(answered_by="loop", approve_answers=True, hourly_budget=0.0001)
    client.start_conversation(conversation_id="monday", user_id="ada")
    client.add_messages("monday", [{"role": "user", "content": "I moved to Lisbon in May."}])
    page = at.open("/")
    name = client.show_app().name
    to_approve = f"1 answer of {name} to approve"
    expect(_needs(page, to_approve)).to_have_count(0)
    with database.write() as session:
        conversation = get_conversation(session, client.app or "", "monday")
        answer = give(session, conversation, AnswerDraft("Since May.", 0, "m:m"), True, datetime.now(UTC))
        answer_id = answer.answer_id
    expect(_needs(page, to_approve)).to_have_attribute("href", f"/administration/{client.app}?view=answers")
    with window(guest, system.url) as reading:
        # Who can approve nothing is not asked to.
        reading.enter(read_token)
        expect(reading.open("/").get_by_role("group", name="Apps", exact=True)).to_be_visible()
        expect(_needs(reading.page, to_approve)).to_have_count(0)
    client.approve_answer(answer_id)
    expect(_needs(page, to_approve)).to_have_count(0)

    [job] = [one for one in client.end_conversation("monday").jobs if one.kind == "create_memory"]
    wait_until(lambda: client.show_job(job.job_id).state == "deferred", 60, "a job that is held")
    client.cancel_job(job.job_id)
    with database.write() as session:
        row = get_job(session, job.job_id)
        row.state, row.reason, row.finished_at = JobState.DEAD, "it cannot be reached", datetime.now(UTC)
    page = at.open("/")
    dead = page.get_by_role("group", name="Needs you").get_by_role("link", name="dead letter")
    dead.click()
    page.wait_for_url("**/operations?view=dead")
