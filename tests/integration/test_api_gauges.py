"""What a scrape shows of governing and thinking: who waits, for what, and since when."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from shared.conversations.answers import postpone
from shared.conversations.queries import lock_conversation
from shared.energy import ledger
from shared.energy.budget import to_micro
from shared.energy.ledger import LedgerAccount
from shared.jobs import dispatch
from shared.jobs.models import Deferral
from shared.jobs.tenant_queues import Throttle, throttle_app
from shared.llm.calls import CallEstimate, WorkKind
from shared.telemetry.metrics import CompactionOutcome
from tests.support.api import Api, metric_of, open_api

OLDEST = "afterthought_oldest_unanswered_seconds"


def ask_for_memory(api: Api, app_id: str) -> None:
    api.ask("POST", api.converse(api.install(app_id), "c1", "Hello.") + "/end")


def defer(api: Api, app_id: str, why: Deferral) -> None:
    with api.loop.database.write() as session:
        dispatch.defer(session, why, str(why), api.clock.now(), app_id=app_id)


def hold(api: Api, app_id: str, seconds: float) -> None:
    with api.loop.database.write() as session:
        until = api.clock.now() + timedelta(seconds=seconds)
        throttle_app(session, app_id, "thought", Throttle(until, "budget"), api.clock.now())


def test_deferred_jobs_are_told_apart_by_what_they_wait_for(api: Api) -> None:
    for app_id in ("poor", "idle", "held", "served"):
        ask_for_memory(api, app_id)
    defer(api, "poor", Deferral.ENERGY)
    api.clock.advance(60)
    defer(api, "idle", Deferral.ENERGY)
    defer(api, "held", Deferral.BUDGET)
    api.clock.advance(20)
    defer(api, "served", Deferral.PROVIDER)
    api.clock.advance(10)
    counted = [metric_of(api, "afterthought_deferred_jobs", cause=cause) for cause in Deferral]
    ages = [metric_of(api, "afterthought_oldest_deferred_job_seconds", cause=cause) for cause in Deferral]
    assert (counted, ages) == ([4, 2, 2], [90, 30, 10]), "of each app a memory and facts"


def test_only_jobs_that_wait_for_their_turn_alone_grow_old(api: Api) -> None:
    for app_id in ("deferred", "held"):
        ask_for_memory(api, app_id)
    defer(api, "deferred", Deferral.ENERGY)
    hold(api, "held", seconds=100)
    api.clock.advance(50)
    ask_for_memory(api, "waiting")
    api.clock.advance(10)
    assert metric_of(api, "afterthought_oldest_waiting_job_seconds", kind="create_memory") == 10
    api.clock.advance(50)
    assert metric_of(api, "afterthought_oldest_waiting_job_seconds", kind="create_memory") == 110


def test_apps_that_wait_and_apps_held_by_their_budget_are_counted(api: Api) -> None:
    for app_id in ("one", "two"):
        ask_for_memory(api, app_id)
    api.install("idle")
    hold(api, "one", seconds=60)
    hold(api, "idle", seconds=60)
    assert metric_of(api, "afterthought_apps_waiting", work_class="thought") == 2
    assert metric_of(api, "afterthought_apps_waiting", work_class="delivery") == 0
    assert metric_of(api, "afterthought_apps_held") == 1
    api.clock.advance(61)
    assert metric_of(api, "afterthought_apps_held") == 0


def test_what_is_set_aside_is_shown_until_it_runs_out(api: Api) -> None:
    estimate = CallEstimate(WorkKind.THINK, "ollama:m", 100, 100)
    with api.loop.database.write() as session:
        now = api.clock.now()
        ledger.reserve(
            session, estimate, LedgerAccount("chat", None, None), to_micro(7), now, now + timedelta(seconds=60)
        )
    assert metric_of(api, "afterthought_energy_reserved_units") == 7
    api.clock.advance(61)
    assert metric_of(api, "afterthought_energy_reserved_units") == 0


def test_what_an_app_uses_and_has_is_told_of_it_alone(api: Api) -> None:
    for app_id in ("busy", "idle"):
        api.install(app_id)
    api.spend("busy", 7)
    api.remember("/apps/busy", "Likes tea.", "Plays chess.")
    ask_for_memory(api, "asking")
    defer(api, "asking", Deferral.ENERGY)
    api.clock.advance(30)
    assert metric_of(api, "afterthought_app_energy_spent_units", app="busy", kind="create_memory") == 7
    assert [metric_of(api, "afterthought_app_memories", app=app) for app in ("busy", "idle")] == [2, 0]
    assert metric_of(api, "afterthought_app_jobs", app="asking", state="deferred") == 2
    ages = [metric_of(api, "afterthought_app_oldest_waiting_job_seconds", app=app) for app in ("asking", "busy")]
    assert ages == [30, 0]
    api.clock.advance(3600)
    assert metric_of(api, "afterthought_app_energy_spent_units", app="busy", kind="create_memory") == 0


def test_how_room_was_made_in_an_app_is_told_for_a_day(api: Api) -> None:
    path = api.install("full")
    api.remember(path, *[f"Number {number}." for number in range(12)])
    made = sum(_outcomes(api, "full").values())
    assert made == api.ask("GET", f"{path}/compactions")["compactions"] > 0
    api.clock.advance(25 * 3600)
    assert sum(_outcomes(api, "full").values()) == 0


def _outcomes(api: Api, app_id: str) -> dict[str, float]:
    names = dict.fromkeys(CompactionOutcome, "afterthought_app_compactions")
    return {outcome: metric_of(api, name, app=app_id, outcome=outcome) for outcome, name in names.items()}


@pytest.mark.parametrize("most", [0, 2], ids=["none", "two"])
def test_the_metrics_name_no_more_apps_than_is_set_and_the_busiest_of_them(
    sqlite_url: str, tmp_path: Path, most: int
) -> None:
    with open_api(sqlite_url, tmp_path / "home", metrics_apps=most) as api:
        for number, app_id in enumerate(("a", "b", "c", "d")):
            api.install(app_id)
            api.spend(app_id, number)
        api.ask("DELETE", "/apps/d")
        text = api.send("GET", "/metrics").text
        assert set(re.findall(r'app="([^"]+)"', text)) == ({"b", "c"} if most else set())


@pytest.mark.parametrize("is_put_off", [False, True], ids=["at once", "after a failed turn"])
@pytest.mark.parametrize("how", ["snoozed", "the app's to answer", "answered", "ended", "too old"])
def test_a_message_the_loop_is_not_to_answer_has_no_age(api: Api, how: str, is_put_off: bool) -> None:
    path = api.install()
    conversation = api.converse(path, "c1", "Hello?")
    if is_put_off:
        with api.loop.database.write() as session:
            postpone(lock_conversation(session, "chat", "c1"), api.clock.now() + timedelta(hours=1), failed=True)
    api.clock.advance(5)
    assert metric_of(api, OLDEST) == 5
    if how == "snoozed":
        api.ask("POST", f"{conversation}/snooze", json={"minutes": 5})
    elif how == "the app's to answer":
        api.ask("PATCH", path, json={"answeredBy": "app"})
    elif how == "answered":
        api.ask("POST", f"{conversation}/messages", json={"role": "assistant", "content": "Hello."})
    elif how == "ended":
        api.ask("POST", f"{conversation}/end")
    else:
        api.clock.advance(24 * 3600)
    assert metric_of(api, OLDEST) == 0


@pytest.mark.parametrize(
    ("settings", "thinks"),
    [({}, 0), ({"model": "ollama:m"}, 1), ({"model": "ollama:m", "thinking": False}, 0)],
    ids=["no model", "a model", "switched off"],
)
def test_a_scrape_says_whether_the_loop_answers(
    sqlite_url: str, tmp_path: Path, settings: dict[str, Any], thinks: int
) -> None:
    with open_api(sqlite_url, tmp_path / "home", **settings) as api:
        assert metric_of(api, "afterthought_thinking") == thinks
