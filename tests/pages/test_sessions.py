"""Recorded sessions on their page: found, taken in, read, made short, compared, weighed and removed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, expect

from afterthought_client import Afterthought
from tests.support.browser import Window, window
from tests.support.recorded import FOLDER, MARKED, PROJECT, compress, marked_transcript, odd_transcript, register
from tests.support.services import System
from tests.support.transcripts import REAL, assistant, lines, user
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]


def _browser(at: Window, client: Afterthought, session: str = "") -> Page:
    return at.open(f"/sessions/{client.app}" + (f"?project={PROJECT}&session={session}" if session else ""))


def _of_project(page: Page, name: str) -> None:
    page.get_by_role("button", name="Project", exact=True).click()
    page.get_by_role("menuitem", name=name, exact=True).click()


def _dialog(page: Page, name: str | re.Pattern[str]) -> Locator:
    found = page.get_by_role("dialog", name=name)
    expect(found).to_be_visible()
    return found


def test_sessions_of_a_folder_are_listed_by_month_and_added_to_memory(
    at: Window, client: Afterthought, tmp_path: Path
) -> None:
    (tmp_path / "jan.jsonl").write_bytes(marked_transcript(1))
    (tmp_path / "mar.jsonl").write_bytes(marked_transcript(3))
    client.open_project(FOLDER, source_folder=str(tmp_path))
    client.register_session(PROJECT, "mar", path=str(tmp_path / "mar.jsonl"))
    page = _browser(at, client)
    months = page.get_by_role("region", name="Sessions").get_by_role("heading")
    expect(months).to_have_text(["March 2026", "January 2026"])
    expect(page.get_by_role("button", name=re.compile("· mar$"))).to_contain_text("in memory")
    page.get_by_role("button", name=re.compile("· jan$")).click()
    dialog = _dialog(page, "Add session to memory")
    expect(dialog).to_contain_text("Detected keepit markers: 3")
    expect(dialog).to_contain_text("keepit 0.80: 1 important")
    expect(dialog).to_contain_text("15 Jan 2026, 10:00 – 10:05 UTC")
    assert [one.session_id for one in client.iter_sessions()] == ["mar"]
    dialog.get_by_role("button", name="Add to memory").click()
    expect(page.get_by_role("region", name="Session details")).to_contain_text("Keepit markers: 3")
    assert {one.session_id for one in client.iter_sessions()} == {"jan", "mar"}
    expect(page.get_by_role("note", name="Storage")).to_contain_text("Originals")


def test_a_long_list_shows_its_newest_sessions_first_and_asks_for_no_more(at: Window, client: Afterthought) -> None:
    client.open_project(FOLDER)
    for number in range(52):
        # Registered from the newest to the oldest.
        said = user(
            f"Work {number}.", "u1", timestamp=f"2026-0{1 if number > 25 else 2}-{28 - number % 26:02d}T10:00:00Z"
        )
        client.register_session(PROJECT, f"work-{number:02d}", content=lines(said))
    page = _browser(at, client)
    sessions = page.get_by_role("region", name="Sessions").get_by_role("button")
    expect(sessions).to_have_count(50)
    expect(sessions.first).to_contain_text("work-00")
    expect(sessions.last).to_contain_text("work-49")
    page.get_by_role("button", name="More sessions").click()
    expect(sessions).to_have_count(52)
    expect(page.get_by_role("region", name="Sessions").get_by_role("heading")).to_have_text(
        ["February 2026", "January 2026"]
    )


def test_a_project_is_opened_and_a_transcript_uploaded(at: Window, client: Afterthought, tmp_path: Path) -> None:
    page = _browser(at, client)
    expect(page.get_by_text("No projects yet.")).to_be_visible()
    page.get_by_role("button", name="Open a project").click()
    dialog = _dialog(page, "Open a project")
    dialog.get_by_label("Folder that was worked in").fill(FOLDER)
    dialog.get_by_role("button", name="Open project").click()
    expect(page.get_by_text("No sessions yet.")).to_be_visible()
    file = tmp_path / "sent.jsonl"
    file.write_bytes(marked_transcript())
    page.get_by_role("button", name="Upload").click()
    asked = _dialog(page, "Upload a transcript")
    refused = tmp_path / "letter.jsonl"
    refused.write_text("Dear all,\n")
    for given in (refused, file):
        with page.expect_file_chooser() as chooser:
            asked.get_by_role("button", name="Choose a file").press("Enter")
        chooser.value.set_files(given)
        if given is refused:
            expect(page.get_by_role("alert").filter(has_text="JSON")).to_be_visible()
            expect(asked).to_be_visible()
    expect(asked).to_have_count(0)
    dialog = _dialog(page, "Add session to memory")
    assert list(client.iter_sessions()) == []
    dialog.get_by_role("button", name="Add to memory").click()
    expect(page.get_by_role("region", name="Session details")).to_contain_text("sent")
    assert client.show_session("sent").markers == 3


def test_an_original_is_read_page_by_page_with_its_speakers_and_marked_parts(at: Window, client: Afterthought) -> None:
    register(client, "odd", odd_transcript())
    page = _browser(at, client, "odd")
    page.get_by_role("button", name="View original").click()
    log = _dialog(page, "Original of odd").get_by_role("log", name="Original")
    asked = client.read_original("odd", limit=20)
    expect(log.locator(".message")).to_have_count(20)
    for said in asked.messages:
        who = {"tool_use": f"Call of {said.tool}", "tool_result": f"Result of {said.tool}"}
        expect(log).to_contain_text(who.get(said.kind, said.speaker))
    page.get_by_role("button", name="More messages").click()
    expect(log.locator(".message")).to_have_count(40)
    call = log.locator(".message").filter(has_text=re.compile("Call of ")).first
    expect(call.locator(".said").first).to_be_hidden()
    call.locator(".folded [role=button]").click()
    expect(call.locator(".said").first).to_be_visible()
    register(client)
    page = _browser(at, client, "abc123")
    page.get_by_role("button", name="View original").click()
    log = _dialog(page, "Original of abc123").get_by_role("log", name="Original")
    for marker in client.list_keepits("abc123").keepits:
        expect(log.locator(".marked", has_text=marker.content[:30].split("\n")[0])).to_have_count(1)


def test_a_compression_is_foreseen_live_and_then_made(at: Window, client: Afterthought) -> None:
    register(client)
    page = _browser(at, client, "abc123")
    page.get_by_role("button", name="Create compression").first.click()
    dialog = _dialog(page, "Create compression of abc123")
    preview = dialog.get_by_role("status", name="Preview")
    expect(preview).to_contain_text("2 will be preserved, 1 summarised")
    dialog.get_by_label("Ratio (to 1)").fill("1")
    expect(preview).to_contain_text("give a number, from 2 to 100")
    dialog.get_by_label("Ratio (to 1)").fill("30")
    dialog.get_by_label("Session distance").fill("10")
    expect(preview).to_contain_text("What weighs 0.80 or more survives")
    foreseen = client.make_version(
        "abc123", mode="uniform", compaction_ratio=30, session_distance=10, dry_run=True
    ).foreseen
    assert foreseen is not None
    expect(preview).to_contain_text(f"about {foreseen.output_tokens:,} tokens")
    expect(preview).to_contain_text(MARKED)
    assert client.list_versions("abc123").versions == []
    dialog.get_by_role("button", name="Create compression").click()
    compressions = page.get_by_role("list", name="Compressions")
    expect(compressions).to_contain_text("uniform 30:1")
    expect(compressions.get_by_role("button", name="Read v001")).to_be_visible()
    assert client.list_versions("abc123").versions[0].settings["sessionDistance"] == 10
    expect(page.get_by_role("button", name=re.compile("· 1 version · abc123$"))).to_be_visible()


def test_a_version_is_made_by_tiers_that_were_written_by_hand(at: Window, client: Afterthought) -> None:
    register(client)
    page = _browser(at, client, "abc123")
    page.get_by_role("button", name="Create compression").first.click()
    dialog = _dialog(page, "Create compression of abc123")
    for label, option in (("Mode", "Tiered"), ("Preset", "Tiers by hand")):
        dialog.get_by_role("combobox", name=label).click()
        page.get_by_role("option", name=option).click()
    dialog.get_by_label("Tier 1 ends at %").fill("100")
    expect(dialog.get_by_role("status", name="Preview")).to_contain_text("Tiers end one after the other")
    dialog.get_by_role("button", name="Remove tier 2").click()
    dialog.get_by_label("Tier 1 ends at %").fill("40")
    dialog.get_by_role("button", name="Add a tier").click()
    expect(dialog.get_by_role("status", name="Preview")).to_contain_text("Estimated output")
    dialog.get_by_role("button", name="Create compression").click()
    expect(page.get_by_role("list", name="Compressions").get_by_role("button", name="Read v001")).to_be_visible()
    tiers = client.list_versions("abc123").versions[0].settings["customTiers"]
    assert [(one["endPercent"], one["compactionRatio"]) for one in tiers] == [(40, 15), (100, 2)]


def test_rules_of_ageing_are_tried_before_they_are_followed_and_versions_are_pruned(
    at: Window, client: Afterthought
) -> None:
    project = register(client)
    page = _browser(at, client, "abc123")
    _of_project(page, "Rules")
    dialog = _dialog(page, "Rules of ferry-desk")
    expect(dialog.get_by_role("status", name="Plan")).to_contain_text("Ageing is off for this project")
    dialog.get_by_role("button", name="See what they would do").click()
    expect(dialog.get_by_role("status", name="Plan")).to_contain_text("Ageing is off for this project")
    dialog.get_by_role("combobox", name="Versions kept").click()
    page.get_by_role("option", name="The newest of a session").click()
    dialog.get_by_label("How many, or days").fill("1")
    dialog.get_by_role("switch", name="Compress further with age").click()
    dialog.get_by_role("button", name="Save rules").click()
    expect(page.get_by_text("Rules saved.")).to_be_visible()
    held = client.show_ageing(project)
    assert (held.retention.keep, held.retention.count, held.auto_decay.enabled) == ("newest", 1, True)
    plan = dialog.get_by_role("status", name="Plan")
    follow = dialog.get_by_role("button", name="Follow them now")
    expect(follow).to_be_disabled()
    dialog.get_by_role("button", name="See what they would do").click()
    expect(plan).to_contain_text("They would do: 1 to compress")
    assert client.list_versions("abc123").versions == []
    follow.click()
    expect(plan).to_contain_text("Done: 1 to compress")
    dialog.get_by_role("button", name="Close").click()
    compressions = page.get_by_role("list", name="Compressions")
    expect(compressions.get_by_role("button", name="Read v001")).to_be_visible()
    client.change_ageing(project, retention=None, auto_decay=None)
    compress(client, ratio=5)
    _of_project(page, "Prune versions")
    dialog = _dialog(page, "Prune versions")
    found = dialog.get_by_role("status", name="Versions to prune")
    expect(found).to_contain_text("0 versions would go")
    dialog.get_by_role("checkbox", name="A newer one").click()
    expect(found).to_contain_text("Choose a rule.")
    dialog.get_by_role("checkbox", name="Never used").click()
    expect(found).to_contain_text("would go")
    older = dialog.get_by_label("Neither made nor used")
    older.fill("99999999")
    expect(page.get_by_text("Neither made nor used: a whole number of days")).to_be_visible()
    expect(dialog.get_by_role("button", name="Remove them")).to_be_disabled()
    older.fill("")
    expect(found).to_contain_text("would go")
    would = client.prune_versions(project, unused=True, dry_run=True)
    expect(found).to_contain_text(f"Remove abc123 {would.removed[0].version_id}")
    dialog.get_by_role("button", name="Remove them").click()
    expect(dialog).to_be_hidden()
    gone = {one.version_id for one in would.removed}
    assert gone.isdisjoint(one.version_id for one in client.list_versions("abc123").versions)


def test_a_version_and_its_original_are_rendered_and_scroll_together(at: Window, client: Afterthought) -> None:
    said = []
    for nth in range(8):
        before = f"a{nth - 1}" if nth else None
        answer = f"# Kind {nth}\n\n**Reading** files of kind {nth} takes most of it.\n\n"
        said.append(user(f"Make the cache of kind {nth} faster.", f"u{nth}", parentUuid=before))
        said.append(assistant(answer + f"What is said of kind {nth} is long. " * 40, f"a{nth}", f"u{nth}"))
    register(client, "kinds", lines(*said))
    version = compress(client, "kinds", 3)
    page = _browser(at, client, "kinds")
    page.get_by_role("button", name=f"Read {version}").click()
    dialog = _dialog(page, f"kinds, {version}")
    read, original = dialog.get_by_role("document", name="Version"), dialog.get_by_role("log", name="Original")
    expect(read.locator("strong", has_text="Reading").first).to_be_visible()
    expect(read).not_to_contain_text("**")
    # It is built after the version, and follows no scrolling that came before it.
    expect(original.get_by_role("heading", name="Kind 7")).to_be_attached()
    # The other one follows to what stands in both, however one is scrolled.
    to_the_top = "part => part.scrollIntoView({block: 'start'})"
    read.get_by_role("heading", name="Kind 7").evaluate(to_the_top)
    expect(original.get_by_role("heading", name="Kind 7")).to_be_in_viewport()
    original.get_by_role("heading", name="Kind 0").evaluate(to_the_top)
    expect(read.get_by_role("heading", name="Kind 0")).to_be_in_viewport()


def test_a_version_is_read_beside_its_original_with_what_was_dropped(at: Window, client: Afterthought) -> None:
    register(client, "odd", odd_transcript())
    version = compress(client, "odd", 20)
    page = _browser(at, client, "odd")
    page.get_by_role("button", name=f"Read {version}").click()
    dialog = _dialog(page, f"odd, {version}")
    expect(dialog.get_by_role("document", name="Version")).to_contain_text("Session odd")
    expect(dialog.get_by_text("Left out:").first).to_be_visible()
    original = dialog.get_by_role("log", name="Original")
    expect(original.locator(".dropped").first).to_contain_text("left out")
    kept = original.locator(".message:not(.dropped)")
    expect(kept.first).to_contain_text("in the version")
    # The first prompt stands in a version of this length, so it is among them.
    expect(kept.first).to_contain_text(client.read_original("odd", limit=1).messages[0].text[:60])
    told = {"whole": "in the version", "part": "in part", "none": "left out"}
    page_of_it = client.read_original("odd", limit=20, version_id=version).messages
    for nth, message in enumerate(page_of_it):
        expect(original.locator(".message").nth(nth)).to_contain_text(told[message.held or ""])
    results = [(nth, one) for nth, one in enumerate(page_of_it) if one.kind == "tool_result"]
    assert results and {one.held for _, one in results} >= {"none"}
    expect(original.locator(".message").nth(results[0][0])).to_contain_text(f"Result of {results[0][1].tool}")
    # Looking at a version on the page is no use of it.
    assert client.list_versions("odd").versions[0].last_used is None


def test_a_version_is_read_after_its_original_is_gone(at: Window, client: Afterthought, system: System) -> None:
    register(client)
    version = compress(client)
    # What reads it for the index would tell of an error where it is gone already.
    wait_until(lambda: client.search_sessions(text="public API").results, 60, "the index of sessions")
    [original] = [one for one in system.home.rglob("abc123.jsonl") if client.app in one.parts]
    original.unlink()
    page = _browser(at, client, "abc123")
    page.get_by_role("button", name=f"Read {version}").click()
    expect(page.get_by_text("The copy of session abc123 is not in the store any more")).to_be_visible()
    expect(_dialog(page, f"abc123, {version}").get_by_role("document", name="Version")).to_contain_text("public API")


def test_two_versions_are_compared(at: Window, client: Afterthought) -> None:
    register(client, "odd", odd_transcript())
    first, second = compress(client, "odd", 5), compress(client, "odd", 30)
    page = _browser(at, client, "odd")
    page.get_by_role("button", name="Compare versions").click()
    dialog = _dialog(page, "Compare versions of odd")
    found = client.compare_versions("odd", first, second, limit=20)
    expect(dialog.get_by_role("heading", name=f"Only in {first}")).to_be_visible()
    expect(dialog).to_contain_text("compaction ratio")
    items = dialog.get_by_role("list", name="Texts that differ").get_by_role("listitem")
    expect(items).to_have_count(len(found.differences))
    expect(items.first).to_contain_text(found.differences[0].text[:40].split("\n")[0])
    dialog.get_by_role("button", name="More differences").click()
    expect(items.nth(len(found.differences))).to_be_attached()


def test_a_version_in_use_is_refused_with_what_uses_it_and_another_is_removed(at: Window, client: Afterthought) -> None:
    project = register(client)
    used, unused = compress(client, ratio=5), compress(client, ratio=10)
    client.make_composition(project, [{"sessionId": "abc123", "versionId": used}], 2000, "start-here")
    wait_until(lambda: client.list_compositions(project).compositions[0].state == "ready", 60, "the composition")
    page = _browser(at, client, "abc123")
    page.get_by_role("button", name="Manage compressions").click()
    dialog = _dialog(page, "Manage compressions of abc123")
    expect(dialog).to_contain_text("In use by start-here")
    dialog.get_by_role("checkbox", name=re.compile(used)).click()
    dialog.get_by_role("checkbox", name=re.compile(unused)).click()
    expect(dialog).to_contain_text("Selected: 2 versions")
    expect(dialog).to_contain_text("1 of them in use")
    dialog.get_by_role("button", name="Delete selected").click()
    asked = _dialog(page, "Delete 2 versions for good?")
    expect(asked.get_by_role("listitem")).to_contain_text([used, unused])
    asked.get_by_role("button", name="Cancel").click()
    assert len(client.list_versions("abc123").versions) == 2
    dialog.get_by_role("button", name="Delete selected").click()
    _dialog(page, "Delete 2 versions for good?").get_by_role("button", name="Delete").click()
    refused = dialog.get_by_role("alert")
    expect(refused).to_contain_text(used)
    expect(refused).to_contain_text("start-here")
    expect(dialog.get_by_role("listitem")).to_have_count(1)
    assert [one.version_id for one in client.list_versions("abc123").versions] == [used]
    expect(page.get_by_role("note", name="Storage")).to_contain_text("1 version ")


def test_a_weight_is_put_over_the_written_one_and_the_original_stays(at: Window, client: Afterthought) -> None:
    register(client)
    before = client.show_session("abc123").sha256
    page = _browser(at, client, "abc123")
    markers = page.get_by_role("list", name="Keepit markers")
    markers.get_by_role("listitem").filter(has_text=MARKED).get_by_role("button", name="Edit").click()
    dialog = _dialog(page, "Keepit marker")
    expect(dialog).to_contain_text("Shall I hash only what changed?")
    row = dialog.get_by_role("row").filter(has=page.get_by_role("rowheader", name="10", exact=True))
    expect(row.get_by_role("cell")).to_have_text(["survives", "survives", "barely survives", "summarised"])
    dialog.get_by_role("slider", name="Weight").locator("[tabindex='0']").press("ArrowRight")
    expect(dialog).to_contain_text("keepit 0.81")
    dialog.get_by_role("button", name="Minor").click()
    expect(row.get_by_role("cell")).to_have_text(["survives", "summarised", "summarised", "summarised"])
    dialog.get_by_role("button", name="Save weight").click()
    expect(markers).to_contain_text("keepit 0.25 Minor, 0.80 is written")
    [weighed] = [one for one in client.list_keepits("abc123").keepits if one.content == MARKED]
    assert (weighed.weight, weighed.written_weight) == (0.25, 0.8)
    assert client.show_session("abc123").sha256 == before
    markers.get_by_role("listitem").filter(has_text=MARKED).get_by_role("button", name="Edit").click()
    _dialog(page, "Keepit marker").get_by_role("button", name="Take back").click()
    expect(markers).to_contain_text("keepit 0.80 Important")
    assert "keepit 0.25 Minor, 0.80" not in (markers.text_content() or "")


def test_a_project_is_exported_and_imported_under_another_id(at: Window, client: Afterthought, tmp_path: Path) -> None:
    register(client)
    page = _browser(at, client)
    with page.expect_download() as started:
        _of_project(page, "Export")
    file = tmp_path / "project.zip"
    started.value.save_as(file)
    _of_project(page, "Import")
    dialog = _dialog(page, "Import a project")
    dialog.locator("input[type=file]").set_input_files(file)
    expect(page.get_by_text("already; import under another name.")).to_be_visible()
    client.remove_project(PROJECT, force=True)
    dialog.get_by_label("Project's id").fill("-home-dev-moved")
    dialog.locator("input[type=file]").set_input_files(file)
    expect(page.get_by_text("Imported ferry-desk: 1 session")).to_be_visible()
    expect(page.get_by_role("button", name=re.compile("· abc123$"))).to_be_visible()
    [found] = client.iter_projects()
    assert (found.project_id, found.sessions) == ("-home-dev-moved", 1)


def test_a_session_is_found_by_what_was_said_and_read_from_there(at: Window, client: Afterthought) -> None:
    register(client)
    page = _browser(at, client)
    wait_until(lambda: client.search_sessions(text="hash only what changed").results, 60, "the index of sessions")
    page.get_by_label("Search sessions").fill("hash only what changed")
    page.get_by_label("Search sessions").press("Enter")
    expect(page.get_by_role("heading", name="Found for")).to_be_visible()
    page.get_by_role("button", name=re.compile("^abc123")).first.click()
    expect(_dialog(page, "Original of abc123")).to_contain_text("Shall I hash only what changed?")


def test_a_session_is_removed_after_a_question(at: Window, client: Afterthought) -> None:
    register(client)
    page = _browser(at, client, "abc123")
    page.get_by_role("button", name="Remove").click()
    dialog = _dialog(page, "Remove from memory?")
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    assert client.show_session("abc123").session_id == "abc123"
    page.get_by_role("button", name="Remove").click()
    _dialog(page, "Remove from memory?").get_by_role("button", name="Remove").click()
    expect(page.get_by_text("No sessions yet.")).to_be_visible()
    assert list(client.iter_sessions()) == []


def test_a_refused_removal_is_told_and_can_be_tried_again(at: Window, client: Afterthought) -> None:
    register(client)
    page = _browser(at, client, "abc123")
    page.get_by_role("button", name="Remove").click()
    dialog = _dialog(page, "Remove from memory?")
    expect(dialog.get_by_role("button", name="Cancel")).to_be_focused()
    client.unregister_session(PROJECT, "abc123")
    dialog.get_by_role("button", name="Remove").click()
    expect(page.get_by_role("alert").filter(has_text="abc123")).to_be_visible()
    expect(dialog).to_be_visible()
    dialog.get_by_role("button", name="Cancel").click()
    expect(dialog).to_be_hidden()


def test_an_apps_token_opens_its_sessions_and_names_no_folder_of_the_machine(
    guest: BrowserContext, system: System, client: Afterthought
) -> None:
    register(client)
    with window(guest, system.url) as opened:
        opened.enter(client.issue_token(label="page").token)
        page = _browser(opened, client, "abc123")
        expect(page.get_by_role("region", name="Session details")).to_contain_text("Keepit markers: 3")
        _of_project(page, "Open a project")
        expect(_dialog(page, "Open a project").get_by_label("Folder that was worked in")).to_be_visible()
        expect(page.get_by_label("Folder of its transcripts")).to_be_hidden()
        for path in ("sessions", "composer"):
            page = opened.open(f"/{path}/another-app")
            expect(page.get_by_text("This token opens only")).to_be_visible()


def test_a_reader_reads_a_session_that_was_really_recorded_and_changes_nothing(
    guest: BrowserContext, system: System, client: Afterthought, read_token: str
) -> None:
    recorded = REAL / "ccviewer_5c0375b4.jsonl"
    if not recorded.exists():
        pytest.skip("the recorded sessions are not here")
    register(client, "real", recorded.read_bytes())
    version = compress(client, "real", 10)
    with window(guest, system.url) as opened:
        opened.enter(read_token)
        page = _browser(opened, client, "real")
        page.get_by_role("button", name=f"Read {version}").click()
        reading = _dialog(page, f"real, {version}")
        expect(reading.get_by_role("log", name="Original").locator(".message")).to_have_count(20)
        reading.get_by_role("button", name="More messages").click()
        expect(reading.get_by_role("log", name="Original").locator(".message").nth(20)).to_be_attached()
        reading.get_by_role("button", name="Close").first.click()
        for name in ("Create compression", "Remove", "Sync", "Upload", "Open a project"):
            expect(page.get_by_role("button", name=name, exact=True)).to_have_count(0)
        page.get_by_role("button", name="Project", exact=True).click()
        expect(page.get_by_role("menuitem")).to_have_text(["Rules", "Links", "Export"])
        page.keyboard.press("Escape")
        _of_project(page, "Rules")
        expect(_dialog(page, "Rules of ferry-desk").get_by_role("button", name="Save rules")).to_have_count(0)
        page = opened.open(f"/composer/{client.app}?project={PROJECT}&session=real")
        expect(page.get_by_role("status", name="Budget")).to_contain_text("All versions are there.")
        expect(page.get_by_role("button", name="Compose", exact=True)).to_have_count(0)
