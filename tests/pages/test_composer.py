"""Contexts built by hand on their page: arranged, given tokens, foreseen, composed, handed out and composed again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from afterthought_client import Afterthought
from tests.support.browser import Window
from tests.support.recorded import MARKED, PROJECT, compress, marked_transcript, odd_transcript, register
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]


def _composer(at: Window, client: Afterthought, *sessions: str) -> Page:
    page = at.open(f"/composer/{client.app}?project={PROJECT}&session={','.join(sessions)}")
    if sessions:
        expect(_parts(page)).to_have_count(len(sessions))
    return page


def _parts(page: Page) -> Locator:
    return page.get_by_role("list", name="Parts").get_by_role("listitem")


def _order(page: Page, *sessions: str) -> None:
    expect(_parts(page)).to_contain_text([f"{name} · " for name in sessions])
    expect(_parts(page).get_by_role("heading")).to_contain_text([f"{n}. " for n in range(1, len(sessions) + 1)])


def _three(client: Afterthought) -> None:
    for month, name in enumerate(("jan", "feb", "mar"), 1):
        register(client, name, marked_transcript(month))


def _choose(page: Page, within: Locator, label: str, option: str) -> None:
    within.get_by_role("combobox", name=label).click()
    page.get_by_role("option", name=option).click()


def test_parts_are_arranged_by_buttons_and_keys_and_by_dragging(at: Window, client: Afterthought) -> None:
    _three(client)
    page = _composer(at, client, "jan", "feb", "mar")
    _order(page, "jan", "feb", "mar")
    page.get_by_role("button", name="Move later: jan").click()
    _order(page, "feb", "jan", "mar")
    later = page.get_by_role("button", name="Move later: jan")
    expect(later).to_be_focused()
    page.keyboard.press("Enter")
    _order(page, "feb", "mar", "jan")
    expect(later).to_be_disabled()
    expect(page.get_by_role("button", name="Move earlier: jan")).to_be_focused()
    jan, feb = (page.locator(".part", has_text=f"{name} · 15") for name in ("jan", "feb"))
    jan.locator(".handle").drag_to(feb)
    _order(page, "jan", "feb", "mar")
    page.get_by_role("button", name="Remove: feb").click()
    _order(page, "jan", "mar")


def test_cards_point_where_they_go_and_are_as_tall_as_what_is_in_them(
    at: Window, phone: Window, client: Afterthought
) -> None:
    _three(client)
    on_phone = _composer(phone, client, "jan", "feb")
    later = on_phone.get_by_role("button", name="Move later: jan").locator(".q-icon")
    # There they stand one below the other: an arrow to the right, turned by a quarter.
    assert later.evaluate("icon => getComputedStyle(icon).transform") == "matrix(0, 1, -1, 0, 0, 0)"
    page = _composer(at, client, "jan", "feb")
    later = page.get_by_role("button", name="Move later: jan").locator(".q-icon")
    assert later.evaluate("icon => getComputedStyle(icon).transform") == "none"
    heights = "all => all.map((card) => card.offsetHeight)"
    low, _ = page.locator(".part").evaluate_all(heights)
    _parts(page).first.get_by_role("checkbox", name="Recompress from original").click()
    expect(_parts(page).first.get_by_label("Ratio (to 1)")).to_be_visible()
    tall, other = page.locator(".part").evaluate_all(heights)
    assert tall > low + 100 > other


def test_a_context_is_foreseen_composed_and_handed_out(at: Window, client: Afterthought, tmp_path: Path) -> None:
    register(client, "odd", odd_transcript())
    register(client)
    page = _composer(at, client)
    page.get_by_role("combobox", name="Session to add").fill("odd")
    page.get_by_role("option", name="odd").click()
    page.get_by_role("button", name="Add session").click()
    expect(page.get_by_role("button", name="Remove: odd")).to_be_visible()
    page.get_by_label("What you work on").fill("cache keyed by path")
    wait_until(lambda: client.suggest_sessions(PROJECT, text="cache keyed by path").suggestions, 60, "the index")
    page.get_by_role("button", name="Suggest sessions").click()
    page.get_by_role("button", name="Add abc123").click()
    expect(page.get_by_role("button", name="Remove: abc123")).to_be_visible()
    page.get_by_label("Name", exact=True).fill("feature-x")
    page.get_by_label("Token budget").fill("4000")
    budget = page.get_by_role("status", name="Budget")
    expect(budget).to_contain_text("The budget is 2% of the context window of 200,000.")
    page.get_by_label("Context window").fill("8000")
    expect(budget).to_contain_text("50% of the context window")
    # What each would take, before anything is composed.
    for tokens in (4000, 3000):
        page.get_by_label("Token budget").fill(str(tokens))
        foreseen = client.preview_composition(PROJECT, [{"sessionId": "odd"}, {"sessionId": "abc123"}], tokens)
        expect(budget).to_contain_text(f"Total: {foreseen.allocated:,} / {tokens:,} tokens.")
        costs = [one.allocation for one in foreseen.components]
        expect(_parts(page)).to_contain_text([f"{one:,} tokens" for one in costs])
        taken = f"odd {costs[0]:,}, abc123 {costs[1]:,}"
        expect(page.get_by_role("img", name=f"What each part takes, in tokens: {taken}")).to_be_visible()
        shares = page.locator(".budget > div").evaluate_all("all => all.map((one) => one.style.width)")
        assert shares == [f"{100 * one / tokens:.2f}%".replace(".00", "").replace("0%", "%") for one in costs]
    expect(budget).to_contain_text("1 new version would be made.")
    page.get_by_label("Token budget").fill("100")
    expect(budget).to_contain_text("The budget is too small")
    assert client.list_compositions(PROJECT).compositions == []
    page.get_by_label("Token budget").fill("4000")
    expect(budget).to_contain_text("/ 4,000 tokens.")
    page.get_by_role("button", name="Compose", exact=True).click()
    expect(_parts(page).first).to_contain_text("Composed as part of feature-x.")
    history = page.get_by_role("list", name="History")
    expect(history).to_contain_text("feature-x")
    expect(history.get_by_text("ready", exact=True)).to_be_visible()
    [made] = client.list_compositions(PROJECT).compositions
    assert [one.session_id for one in made.components] == ["odd", "abc123"]
    for name, form in (("Markdown", "md"), ("JSONL", "jsonl")):
        with page.expect_download() as started:
            history.get_by_role("button", name=f"{name} feature-x").click()
        started.value.save_as(tmp_path / f"x.{form}")
        assert started.value.suggested_filename == f"feature-x.{form}"
    expect(history).to_contain_text("Handed out 2 times")
    assert (tmp_path / "x.md").read_text() == client.show_composition_text(made.composition_id, "markdown")
    assert [json.loads(line) for line in (tmp_path / "x.jsonl").read_text().splitlines()]
    history.get_by_role("button", name="Read feature-x").click()
    read = page.get_by_role("dialog", name="feature-x")
    expect(read).to_contain_text(MARKED)
    # As what it is written in, not as it is written.
    expect(read.locator("strong", has_text="User").first).to_be_visible()
    expect(read).not_to_contain_text("**User")


def test_tokens_are_given_by_hand_a_version_is_named_and_another_made(at: Window, client: Afterthought) -> None:
    register(client, "odd", odd_transcript())
    register(client)
    version = compress(client, "odd", 20)
    page = _composer(at, client, "odd", "abc123")
    _choose(page, page.locator("body"), "Allocation", "By hand")
    first, second = _parts(page).first, _parts(page).nth(1)
    _choose(page, first, "Version", f"{version} uniform 20:1 aggressive")
    first.get_by_label("Allocation (tokens)").fill("3000")
    second.get_by_label("Allocation (tokens)").fill("2000")
    page.get_by_label("Token budget").fill("4000")
    budget = page.get_by_role("status", name="Budget")
    expect(budget).to_contain_text("Total: 5,000 / 4,000 tokens. That is more than the budget, by 1,000.")
    expect(page.locator(".budget > .limit")).to_be_visible()
    second.get_by_label("Allocation (tokens)").fill("900")
    expect(budget).to_contain_text("Total: 3,900 / 4,000 tokens.")
    expect(page.locator(".budget > .limit")).to_have_count(0)
    second.get_by_role("checkbox", name="Recompress from original").click()
    second.get_by_label("Ratio (to 1)").fill("3")
    # What is chosen on a card goes with it.
    page.get_by_role("button", name="Move earlier: abc123").click()
    _order(page, "abc123", "odd")
    page.get_by_label("Name", exact=True).fill("by-hand")
    page.get_by_role("button", name="Compose", exact=True).click()
    expect(page.get_by_role("list", name="History").get_by_text("ready", exact=True)).to_be_visible()
    [made] = client.list_compositions(PROJECT).compositions
    assert [(one.session_id, one.allocation) for one in made.components] == [("abc123", 900), ("odd", 3000)]
    assert made.components[1].version_id == version
    assert client.list_versions("abc123").versions[0].settings["compactionRatio"] == 3


def test_what_is_missing_or_refused_is_told(at: Window, client: Afterthought) -> None:
    register(client)
    page = _composer(at, client)
    page.get_by_role("button", name="Compose", exact=True).click()
    expect(page.get_by_text("Add a session first.")).to_be_visible()
    page = _composer(at, client, "abc123")
    page.get_by_role("button", name="Compose", exact=True).click()
    expect(page.get_by_text("Give the composition a name.")).to_be_visible()
    page.get_by_label("Name", exact=True).fill("not so/good")
    page.get_by_role("button", name="Compose", exact=True).click()
    expect(page.get_by_text("Name: letters, digits and any of . _ -")).to_be_visible()
    assert client.list_compositions(PROJECT).compositions == []


def test_a_composition_is_taken_over_composed_again_noted_as_used_and_removed(at: Window, client: Afterthought) -> None:
    _three(client)
    parts = [{"sessionId": "mar"}, {"sessionId": "jan", "versionId": "original"}]
    made = client.make_composition(PROJECT, parts, 3000, "former", strategy="proportional").composition
    wait_until(lambda: client.show_composition(made.composition_id).state == "ready", 60, "the composition")
    page = _composer(at, client)
    history = page.get_by_role("list", name="History")
    history.get_by_role("button", name="Take over former").click()
    _order(page, "mar", "jan")
    expect(page.get_by_label("Token budget")).to_have_value("3000")
    expect(page.get_by_role("combobox", name="Allocation")).to_have_value("By length")
    history.get_by_role("button", name="Used in… former").click()
    dialog = page.get_by_role("dialog", name="Who began with former?")
    dialog.get_by_label("Session's id").fill("5b1f")
    dialog.get_by_role("button", name="Note it").click()
    expect(history).to_contain_text("used in sessions: 5b1f")
    history.get_by_role("button", name="Compose again former").click()
    # The same request over the same versions has the same id.
    wait_until(
        lambda: (
            [(one.state, one.created_at > made.created_at) for one in client.list_compositions(PROJECT).compositions]
            == [("ready", True)]
        ),
        60,
        "the second composition",
    )
    expect(history.get_by_text("ready", exact=True)).to_be_visible()
    history.get_by_role("button", name="Remove former").click()
    page.get_by_role("dialog", name="Remove former?").get_by_role("button", name="Remove").click()
    expect(history).to_contain_text("Nothing was composed yet.")
    assert client.list_compositions(PROJECT).compositions == []
