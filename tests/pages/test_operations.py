"""What operators do on their page: watch, run again, cancel, and change settings."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from afterthought_client import Afterthought
from loop.ui.wording import words_of
from shared.contracts.jobs import JobKind
from shared.db.engine import Database
from shared.jobs.dispatch import dead_letter
from shared.jobs.models import JobState
from shared.jobs.queries import get_job
from tests.support.browser import Window, window
from tests.support.services import System
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]
HOSTILE = "<img src=x onerror=\"document.title='owned'\"> \u202eאבג\u202c 👩‍🚀 "


def _wait_for_state(client: Afterthought, job_id: str, *states: str) -> None:
    seen: list[str] = []

    def is_so() -> bool:
        job = client.show_job(job_id)
        seen[:] = [f"{job.state}: {job.reason}"]
        return job.state in states

    try:
        wait_until(is_so, 60, f"a job that is {' or '.join(states)}")
    except AssertionError as error:
        raise AssertionError(f"{error}; it is {seen}") from None


def _held_job(client: Afterthought, name: str = "monday") -> str:
    client.change_app(hourly_budget=0.0001)
    client.start_conversation(conversation_id=name, user_id="ada")
    client.add_messages(name, [{"role": "user", "content": "I moved to Lisbon in May."}])
    [job] = [one for one in client.end_conversation(name).jobs if one.kind == "create_memory"]
    _wait_for_state(client, job.job_id, "deferred")
    return str(job.job_id)


def _choose(page: Page, label: str, option: str) -> None:
    page.get_by_role("combobox", name=label, exact=True).click()
    page.get_by_role("option", name=option, exact=True).click()


def test_what_is_now_is_shown_and_follows_the_work(at: Window, client: Afterthought) -> None:
    page = at.open("/operations")
    expect(page.get_by_role("link", name=re.compile("^Energy"))).to_contain_text("memory work starts above 20 %")
    expect(page.get_by_role("link", name="Workers 1")).to_contain_text("Listening: worker-1")
    needs = page.get_by_role("region", name="Each dependency and what to do about it")
    expect(needs).to_contain_text("Redis answers.")
    client.start_conversation(conversation_id="monday", user_id="ada")
    client.add_messages("monday", [{"role": "user", "content": "I moved to Lisbon in May."}])
    client.end_conversation("monday")
    chart = page.get_by_role("img", name="Spent by app")
    expect(chart).to_have_attribute("aria-label", re.compile(re.escape(client.app or "-")))
    page.get_by_role("button", name="As a table").nth(1).click()
    spent = page.get_by_role("region", name="Spent by kind of work")
    expect(spent).to_contain_text("Write a memory")
    # No model is there: what was written was written by rules, and thought by nobody.
    expect(page.get_by_role("link", name=re.compile("^Thoughts this hour 0 calls of models"))).to_contain_text(
        re.compile("; [1-9][0-9]* more by the built-in agent")
    )
    expect(page.locator("main, .q-page")).not_to_contain_text("create_memory")
    # The line below which no memory work starts, on an axis from zero; and each kind has its own colour, though others
    # that come before it in the palette are not there.
    level = page.get_by_role("img", name="Lowest energy by hour")
    expect(level.locator("text", has_text="memory work above 20 %")).to_be_visible()
    figures = level.locator("text").filter(has_text=re.compile(r"^-?\d+$")).all_text_contents()
    assert sorted(map(int, figures)) == [0, 20, 40, 60, 80, 100]
    colours = page.get_by_role("link", name="Extract facts").locator("xpath=preceding-sibling::span")
    expect(colours).to_have_css("background-color", "rgb(21, 128, 61)")


def test_each_figure_leads_to_its_jobs(at: Window, client: Afterthought) -> None:
    job = _held_job(client)
    page = at.open("/operations")
    work = page.get_by_role("region", name="Jobs that are not finished, by kind")
    row = work.get_by_role("row", name=re.compile("^Write a memory"))
    row.get_by_role("link").click()
    page.wait_for_url("**/operations?view=jobs&state=deferred&kind=create_memory")
    expect(page.get_by_role("region", name="Jobs, newest first")).to_contain_text(client.app or "-")
    page = at.open("/operations")
    page.get_by_role("link", name="Deferred").click()
    page.wait_for_url("**/operations?view=jobs&state=deferred")
    client.cancel_job(job)
    for one in client.iter_jobs():
        if one.state == "deferred":
            client.cancel_job(one.job_id)
    page = at.open("/operations")
    expect(page.get_by_role("link", name=re.compile("^Energy"))).to_be_visible()
    expect(work.get_by_role("row", name=re.compile(r"^(Call a webhook|Compose a context)"))).to_have_count(0)


def test_a_job_is_cancelled_and_run_again(at: Window, client: Afterthought) -> None:
    job = _held_job(client)
    page = at.open("/operations?view=jobs")
    _choose(page, "App", (client.app or "").capitalize())
    _choose(page, "Kind", "Write a memory")
    table = page.get_by_role("region", name="Jobs, newest first")
    expect(table).to_contain_text("budget:")
    expect(table).not_to_contain_text("Extract facts")
    page.get_by_role("button", name=f"Cancel: Write a memory {job}").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text(f"Write a memory of {client.app}, deferred")
    dialog.get_by_role("button", name="No, let them go on").click()
    assert client.show_job(job).state == "deferred"
    page.get_by_role("button", name=f"Cancel: Write a memory {job}").click()
    page.get_by_role("dialog").get_by_role("button", name="Yes, cancel 1 job").click()
    expect(table).to_contain_text("cancelled by admin")
    assert client.show_job(job).state == "cancelled"
    client.change_app(hourly_budget=None)
    page.get_by_role("button", name=f"Run again: Write a memory {job}").click()
    _wait_for_state(client, job, "done")
    expect(table).to_contain_text("done")


def test_a_job_is_a_place_with_what_it_cost_and_leads_to_its_conversation(at: Window, client: Afterthought) -> None:
    client.start_conversation(conversation_id="monday", user_id="ada")
    client.add_messages("monday", [{"role": "user", "content": "I moved to Lisbon in May."}])
    [job] = [one for one in client.end_conversation("monday").jobs if one.kind == "create_memory"]
    _wait_for_state(client, job.job_id, "done")
    [call, *_] = client.show_job(job.job_id).calls
    page = at.open(f"/operations?view=jobs&kind=create_memory&app={client.app}")
    page.get_by_role("link", name="Write a memory").click()
    dialog = page.get_by_role("dialog", name="Write a memory")
    for found in ("Attempts", "1 of ", "monday", job.job_id):
        expect(dialog).to_contain_text(found)
    row = dialog.get_by_role("region", name="Calls of the job").locator("tbody tr").first
    for found in ("the built-in agent", "answered", f"about {call.prompt_tokens:,}"):
        expect(row).to_contain_text(found)
    page.reload()
    expect(dialog.get_by_role("link", name="Its conversation")).to_be_visible()
    dialog.get_by_role("button", name="Close").click()
    expect(page).not_to_have_url(re.compile("job="))
    page.get_by_role("link", name="Write a memory").click()
    talk = f"/chat/{client.app}?conversation=monday"
    expect(dialog.get_by_role("link", name="Its conversation")).to_have_attribute("href", talk)


def test_several_jobs_are_cancelled_at_once(at: Window, client: Afterthought) -> None:
    jobs = [_held_job(client, name) for name in ("monday", "tuesday")]
    wait_until(lambda: all(one.state == "deferred" for one in client.iter_jobs()), 60, "all of the work to be held")
    page = at.open(f"/operations?view=jobs&app={client.app}")
    rows = page.get_by_role("region", name="Jobs, newest first").locator("tbody tr")
    page.get_by_role("checkbox", name="Choose all").click()
    # None is added while some are chosen.
    expect(page.get_by_text(re.compile(r"^\d+ chosen"))).to_be_visible()
    expect(page.get_by_text(f"{rows.count()} chosen")).to_be_visible()
    page.get_by_role("checkbox", name="Choose all").click()
    expect(page.get_by_text("None chosen")).to_be_visible()
    for job in jobs:
        page.get_by_role("checkbox", name=f"Choose Write a memory {job}").click()
    expect(page.get_by_text("2 chosen")).to_be_visible()
    page.get_by_role("button", name="Cancel", exact=True).click()
    dialog = page.get_by_role("dialog", name="Cancel 2 jobs?")
    dialog.get_by_role("button", name="Yes, cancel 2 jobs").click()
    expect(page.get_by_text("None chosen")).to_be_visible()
    expect(rows.get_by_text("cancelled", exact=True)).to_have_count(2)
    assert {client.show_job(job).state for job in jobs} == {"cancelled"}
    for job in jobs:
        page.get_by_role("checkbox", name=f"Choose Write a memory {job}").click()
    expect(page.get_by_text("2 chosen")).to_be_visible()
    client.change_app(hourly_budget=None)
    page.get_by_role("button", name="Run again", exact=True).click()
    for job in jobs:
        _wait_for_state(client, job, "done", "nothing")


def test_jobs_are_shown_a_page_at_a_time(at: Window, client: Afterthought) -> None:
    for number in range(14):
        client.start_conversation(conversation_id=f"c{number}", user_id="ada")
        client.add_messages(f"c{number}", [{"role": "user", "content": f"Number {number} is my number."}])
        client.end_conversation(f"c{number}")
    ended = {"done", "nothing"}
    wait_until(lambda: all(one.state in ended for one in client.iter_jobs()), 60, "the work to be done")
    count = len(list(client.iter_jobs()))
    assert count > 25
    page = at.open("/operations?view=jobs")
    _choose(page, "App", (client.app or "").capitalize())
    rows = page.get_by_role("region", name="Jobs, newest first").locator("tbody tr")
    expect(rows).to_have_count(25)
    page.get_by_role("button", name="Older").click()
    expect(rows).to_have_count(min(25, count - 25))
    page.get_by_role("button", name="Newer").click()
    expect(rows).to_have_count(25)


def test_dead_letters_are_counted_and_run_again_and_their_reasons_are_text(
    at: Window, client: Afterthought, database: Database
) -> None:
    job, other = _held_job(client), _held_job(client, "tuesday")
    for one, reason in ((job, HOSTILE + "x" * 2000), (other, "another reason")):
        client.cancel_job(one)
        with database.write() as session:
            row = get_job(session, one)
            row.state, row.reason, row.finished_at = JobState.DEAD, reason, datetime.now(UTC)
    client.change_app(hourly_budget=None)
    page = at.open("/operations?view=dead")
    _choose(page, "App", (client.app or "").capitalize())
    expect(page.get_by_text("2 dead letters match")).to_be_visible()
    expect(page.get_by_role("region", name="The latest dead letters")).to_contain_text("onerror=")
    page.get_by_label("Part of the reason").fill("ONERROR")
    expect(page.get_by_text("1 dead letter match")).to_be_visible()
    latest = page.get_by_role("region", name="The latest dead letters")
    expect(latest).not_to_contain_text("another reason")
    # Also one that is not among the newest: it is looked for by the service.
    with database.write() as session:
        for _ in range(30):
            dead_letter(session, JobKind.END_CONVERSATION, "another reason", datetime.now(UTC), client.app)
    page.reload()
    expect(latest).to_contain_text("onerror=")
    expect(latest.locator("tbody tr")).to_have_count(1)
    assert client.show_job(job).state == "dead", "counting changes nothing"
    page.get_by_role("button", name="Run them again").click()
    page.get_by_role("dialog").get_by_role("button", name="Run again").click()
    expect(page.get_by_text("1 run again, 0 cannot be.")).to_be_visible()
    _wait_for_state(client, job, "done")
    assert client.show_job(other).state == "dead"
    assert page.title() == "Operations - Afterthought"


def test_compactions_and_retrievals_are_shown(at: Window, client: Afterthought) -> None:
    for number in range(12):
        client.write_memory(f"Keeps plant number {number} in the garden of house {number}.", user_id="ada")
    client.start_conversation(conversation_id="monday", user_id="ada")
    client.add_messages("monday", [{"role": "user", "content": "I keep a quillwort."}])
    client.compose_context(message="What do I keep?", user_id="ada")
    made = sum(sum(day.outcomes.values()) for day in client.list_compactions(days=14).days)
    assert made
    page = at.open("/operations?view=memory")
    table = page.get_by_role("region", name="Compactions by app and outcome")
    while page.get_by_role("button", name="More apps").is_visible():
        before = table.locator("tbody tr").count()
        page.get_by_role("button", name="More apps").click()
        expect(table.locator("tbody tr")).not_to_have_count(before)
    name = client.show_app().name
    row = [int(cell) for cell in table.get_by_role("row").filter(has_text=name).locator("td").all_inner_texts()[1:]]
    assert sum(row) == made
    figures = page.get_by_role("region", name="Figures of retrieval")
    expect(figures).to_contain_text("Retrievals")
    _choose(page, "App of the retrievals", name)
    expect(figures.get_by_role("row", name="Retrievals 1")).to_be_visible()


def test_settings_are_changed_and_taken_back(at: Window, client: Afterthought) -> None:
    before = client.show_tuning().token_budget.value
    page = at.open("/operations?view=settings")
    page.get_by_label("Tokens of retrieved messages").fill("2222")
    page.get_by_label("Tokens of retrieved messages").press("Tab")
    page.get_by_role("switch", name="Hand long messages out in passages").click()
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("changed for all apps")).to_have_count(2)
    changed = client.show_tuning()
    assert (changed.token_budget.value, changed.token_budget.source, changed.hybrid.source) == (
        2222, "everywhere", "setting",
    )  # fmt: skip
    page.get_by_role("button", name="Take all changes back").click()
    expect(page.get_by_text("changed for all apps")).to_have_count(0)
    assert client.show_tuning().token_budget.value == before
    page.get_by_role("button", name="Look at the tables").click()
    expect(page.get_by_role("region", name="Tables, the largest first")).to_contain_text("energy_ledger")


def test_a_reader_sees_everything_and_can_change_nothing(
    guest: BrowserContext, system: System, client: Afterthought, read_token: str
) -> None:
    job = _held_job(client)
    with window(guest, system.url) as reading:
        reading.enter(read_token)
        page = reading.open("/operations")
        expect(page.get_by_role("region", name="Jobs that are not finished, by kind")).to_be_visible()
        page = reading.open("/operations?view=jobs")
        expect(page.get_by_role("region", name="Jobs, newest first")).to_contain_text(client.app or "-")
        expect(page.get_by_role("button", name=f"Cancel: Write a memory {job}")).to_have_count(0)
        expect(page.get_by_role("button", name="Run again")).to_be_hidden()
        page = reading.open("/operations?view=dead")
        expect(page.get_by_text("The latest", exact=True)).to_be_visible()
        page = reading.open("/operations?view=settings")
        expect(page.get_by_role("button", name="Save")).to_be_disabled()
        page.get_by_role("button", name="Look at the tables").click()
        expect(page.get_by_role("region", name="Tables, the largest first")).to_be_visible()
        page = reading.open("/operations?view=doctor")
        findings = page.get_by_role("region", name="Findings, the worst first")
        expect(findings.get_by_role("row", name=re.compile("^python"))).to_contain_text("well")
        page.get_by_role("button", name="Look again").click()
        expect(findings.get_by_role("row", name=re.compile("^database"))).to_contain_text("well")
        page = reading.open("/administration")
        expect(page.get_by_text("Only the admin's token opens this page.")).to_be_visible()


def test_every_kind_of_job_can_be_chosen(at: Window) -> None:
    page = at.open("/operations?view=dead")
    page.get_by_role("combobox", name="Kind", exact=True).click()
    offered = page.get_by_role("option").all_inner_texts()
    assert {words_of(kind) for kind in JobKind} <= set(offered)
