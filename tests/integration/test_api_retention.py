"""What goes with age: it goes in bites, every total stays what it was, and nothing is done twice for want of a job."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import func, select

from loop.regulator import Regulator
from loop.steps.upkeep import BATCH, ForgetOld
from shared.base.settings import Settings
from shared.energy.models import DaySpending, Spending
from shared.jobs.dispatch import dead_letter
from shared.jobs.models import Job, JobState
from tests.support.api import Api

DAY = 24 * 3600


def forget(api: Api, **settings: Any) -> None:
    chosen = api.loop.settings.model_copy(update=settings)
    assert not ForgetOld(api.loop.database, api.clock, chosen, api.loop.metrics).run()


def settle(api: Api) -> None:
    Regulator(api.loop.database, api.clock, api.loop.settings).settle()


def count(api: Api, table: type) -> int:
    with api.loop.database.read() as session:
        return session.scalar(select(func.count()).select_from(table)) or 0


def forgotten(api: Api, rows: str) -> float:
    return float(api.loop.metrics.rows_forgotten.labels(rows)._value.get())


def test_energy_adds_up_to_the_same_after_old_calls_became_sums(api: Api) -> None:
    path = api.install()
    talk = api.converse(path, "c1", "hello")
    other = api.converse(path, "c2", "hello")
    for units in (3.0, 4.0):
        api.spend("chat", units, "c1")
        api.spend("chat", 1.5)
        api.clock.advance(3600)
    settle(api)
    api.clock.advance(60 * DAY)
    api.spend("chat", 2.0, "c1")
    api.spend("chat", 5.0, "c2")
    settle(api)
    api.clock.advance(3000)

    def shown() -> tuple[Any, ...]:
        energy = api.ask("GET", f"{path}/energy")
        level = api.ask("GET", "/energy")
        return energy, level, *(api.ask("GET", one)["energySpent"] for one in (talk, other))

    before = shown()
    assert (before[0]["total"], before[0]["last24h"], before[2:]) == (17.0, 7.0, (9.0, 5.0))
    assert count(api, Spending) == 6
    forget(api)
    assert (count(api, Spending), count(api, DaySpending)) == (2, 1)
    assert shown() == before
    forget(api)
    assert shown() == before
    assert forgotten(api, "energy_ledger") == 4
    api.clock.advance(61 * DAY)
    forget(api)
    later = shown()
    assert (later[0]["total"], later[0]["last24h"], later[0]["byKind"], later[2:]) == (
        17.0, 0.0, before[0]["byKind"], before[2:],
    )  # fmt: skip


def test_what_was_not_drawn_from_the_level_yet_is_not_folded(api: Api) -> None:
    api.install()
    api.spend("chat", 3.0)
    api.clock.advance(70 * DAY)
    forget(api)
    assert (count(api, Spending), count(api, DaySpending)) == (1, 0)
    settle(api)
    forget(api)
    assert (count(api, Spending), count(api, DaySpending)) == (0, 1)


def test_a_finished_job_goes_and_its_conversation_still_ends_once(api: Api) -> None:
    path = api.install()
    talk = api.converse(path, "c1", "I moved to Oslo")
    [job, *others] = api.ask("POST", f"{talk}/end")["jobs"]
    for one in (job, *others):
        api.ask("POST", f"/jobs/{one['jobId']}/cancel")
    api.clock.advance(29 * DAY)
    forget(api)
    assert api.ask("GET", f"/jobs/{job['jobId']}")["state"] == "cancelled"
    api.clock.advance(2 * DAY)
    forget(api)
    api.refused(404, "GET", f"/jobs/{job['jobId']}")
    assert api.ask("POST", f"{talk}/end")["jobs"] == []
    assert api.ask("GET", "/jobs")["jobs"] == []
    assert api.ask("GET", talk)["state"] == "ended"
    assert forgotten(api, "jobs") == 1 + len(others)


def test_an_unfinished_job_never_goes_and_a_dead_letter_after_half_a_year(api: Api) -> None:
    path = api.install()
    [waiting, *_] = api.ask("POST", f"{api.converse(path, 'c1', 'I moved to Oslo')}/end")["jobs"]
    with api.loop.database.write() as session:
        dead = dead_letter(session, "create_memory", "it was cut short", api.clock.now(), "chat").job_id
    for days, is_there in ((179, True), (2, False)):
        api.clock.advance(days * DAY)
        forget(api)
        assert api.send("GET", f"/jobs/{dead}").is_success == is_there
    assert api.ask("GET", f"/jobs/{waiting['jobId']}")["state"] == "pending"


def test_zero_days_mean_for_ever(sqlite_api: Api) -> None:
    sqlite_api.install()
    with sqlite_api.loop.database.write() as session:
        dead = dead_letter(session, "create_memory", "it was cut short", sqlite_api.clock.now(), "chat").job_id
    sqlite_api.clock.advance(5_000 * DAY)
    forget(sqlite_api, dead_letter_days=0.0)
    assert sqlite_api.ask("GET", f"/jobs/{dead}")["state"] == "dead"


def test_ever_so_many_old_rows_go_in_bites(sqlite_api: Api) -> None:
    sqlite_api.install()
    at = sqlite_api.clock.now()
    with sqlite_api.loop.database.write() as session:
        session.add_all(
            Job(job_id=f"j{n}", kind="create_memory", app_id="chat", state=JobState.DONE, created_at=at, due_at=at,
                finished_at=at)
            for n in range(10 * BATCH + 7)
        )  # fmt: skip
    sqlite_api.clock.advance(40 * DAY)
    forget(sqlite_api)
    assert count(sqlite_api, Job) == 7
    forget(sqlite_api)
    assert count(sqlite_api, Job) == 0


def test_the_text_of_a_memory_long_gone_goes_and_that_of_one_that_stands_stays(api: Api) -> None:
    path = api.install()
    stays, goes = api.remember(path, "Plays the oboe", "Lives in Oslo")
    api.ask("PATCH", f"{path}/memories/{stays}", json={"content": "Plays the cello"})
    api.send("DELETE", f"{path}/memories/{goes}")
    api.clock.advance(364 * DAY)
    forget(api)
    assert "Lives in Oslo" in str(api.ask("GET", f"{path}/memories/{goes}/history"))
    api.clock.advance(2 * DAY)
    forget(api)
    assert "Lives in Oslo" not in str(api.ask("GET", f"{path}/memories/{goes}/history"))
    refused = api.refused(409, "POST", f"{path}/memories/{goes}/restore")
    assert "no longer kept" in refused["message"]
    assert "Plays the oboe" in str(api.ask("GET", f"{path}/memories/{stays}/history"))
    api.ask("POST", f"{path}/memories/{stays}/restore")
    assert api.contents(path) == ["Plays the oboe"]


def test_keys_of_repeated_requests_go_with_their_hours(api: Api) -> None:
    headers = {"Idempotency-Key": "one"}
    api.ask("POST", "/apps", json={"appId": "chat", "name": "Chat"}, headers=headers)
    api.clock.advance(timedelta(hours=23).total_seconds())
    forget(api)
    api.ask("POST", "/apps", json={"appId": "chat", "name": "Chat"}, headers=headers)
    api.clock.advance(timedelta(hours=2).total_seconds())
    forget(api)
    api.refused(409, "POST", "/apps", json={"appId": "chat", "name": "Chat"}, headers=headers)


def test_what_the_tables_take_is_shown_to_the_admin_alone(api: Api) -> None:
    path = api.install()
    api.converse(path, "c1", *[f"hello {n}" for n in range(20)])
    with api.loop.database.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.exec_driver_sql("ANALYZE")
    storage = api.ask("GET", "/storage")
    sizes = {one["table"]: one for one in storage["tables"]}
    assert (sizes["messages"]["rows"], sizes["energy_days"]["rows"]) == (20, 0)
    assert 4096 <= sizes["messages"]["sizeBytes"] < storage["sizeBytes"]
    assert sizes["messages"]["oldest"] is not None
    assert sizes["message_words"]["rows"] is None and sizes["message_words"]["sizeBytes"] > 0
    api.refused(403, "GET", "/storage", token=api.token())


@pytest.mark.parametrize(("days", "is_allowed"), [(0, True), (1, False), (2, True)])
def test_the_ledger_is_kept_longer_than_it_is_looked_back_on(days: float, is_allowed: bool) -> None:
    try:
        assert Settings(ledger_days=days, _env_file=None).ledger_days == days  # type: ignore[call-arg]
    except ValueError as error:
        assert not is_allowed and "2 or more" in str(error)
    else:
        assert is_allowed
