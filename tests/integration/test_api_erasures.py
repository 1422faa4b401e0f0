"""What was erased is nowhere: not in a table, not in the database's files, not in a remembered answer."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from loop.embedded_redis import EmbeddedRedis
from loop.steps.upkeep import FinishErasures
from shared.broker import make_celery
from shared.contracts.jobs import JobKind, Queue, task_name
from shared.db.base import Base
from tests.support.api import Api, open_api
from tests.support.canaries import files_holding, tables_holding
from tests.support.waiting import wait_until

CANARY = "zyzzogeton-6417"


def _fill(api: Api) -> str:
    path = api.install()
    api.converse(path, "c1", f"I keep a {CANARY}.")
    api.remember_conversation("chat", "c1", f"Keeps a {CANARY}.")
    [memory] = api.remember(path, f"By hand: {CANARY}.", tags=[CANARY])
    key = {"headers": {"Idempotency-Key": "k1"}}
    api.ask("PATCH", f"{path}/memories/{memory}", json={"content": f"Edited: {CANARY}."}, **key)
    api.ask("POST", f"{path}/conversations/c1/end", json={"reason": "over"})
    return path


def _files_with_canary(folder: Path) -> list[str]:
    return [path.name for path in files_holding(CANARY, folder)]


def test_purging_memories_counts_them_and_leaves_nothing_of_them(api: Api) -> None:
    path = _fill(api)
    answer = api.ask("DELETE", f"{path}/memories")
    assert (answer["success"], answer["deletedCount"], answer["note"]) == (True, 2, None)
    left = answer["receipt"]["left"]
    assert left["queuedText"] is None, "Redis is not there, so nothing may be claimed of it"
    assert all(left[store] == 0 for store in ("memories", "memoryHistory", "idempotencyKeys", "databaseLog"))
    assert answer["receipt"]["erased"]["unfinishedJobs"] == 2, "a memory and facts"
    assert api.contents(path) == []
    assert tables_holding(api.loop.database, CANARY) == ["messages"]
    jobs = api.ask("GET", "/jobs", params={"appId": "chat"})["jobs"]
    assert {job["kind"]: job["state"] for job in jobs} == {"create_memory": "cancelled", "extract_facts": "cancelled"}


def test_erasing_all_data_leaves_no_canary_in_any_table(api: Api) -> None:
    path = _fill(api)
    api.ask("PATCH", path, json={"config": {"greeting": CANARY}})
    answer = api.ask("DELETE", f"{path}/data")
    assert answer["deletedCount"] == 4
    left = answer["receipt"]["left"]
    assert {store for store, count in left.items() if count} == set()
    assert {"conversations", "messages"} <= left.keys()
    assert tables_holding(api.loop.database, CANARY) == []
    assert api.ask("GET", path)["memories"] == 0


def test_erasing_all_data_leaves_no_canary_in_the_files_of_the_database(sqlite_api: Api, tmp_path: Path) -> None:
    path = _fill(sqlite_api)
    assert _files_with_canary(tmp_path)
    sqlite_api.ask("DELETE", f"{path}/data")
    assert _files_with_canary(tmp_path) == []


def test_erasing_a_conversation_takes_what_was_derived_from_it_and_nothing_else(api: Api) -> None:
    path = api.install()
    key = {"headers": {"Idempotency-Key": "k1"}}
    api.ask("POST", f"{path}/conversations", json={"conversationId": "c1", "metadata": {"pet": CANARY}}, **key)
    said = {"role": "user", "content": f"I keep a {CANARY}.", "messageId": "m0"}
    api.ask("POST", f"{path}/conversations/c1/messages", json=said)
    api.converse(path, "c2", "I like tea.")
    api.remember_conversation("chat", "c1", f"Keeps a {CANARY}.")
    api.remember_conversation("chat", "c2", "Likes tea.")
    jobs = api.ask("POST", f"{path}/conversations/c1/end")["jobs"]
    answer = api.ask("DELETE", f"{path}/conversations/c1")
    assert answer["receipt"]["erased"]["memories"] == 1
    for job in jobs:
        assert api.ask("GET", f"/jobs/{job['jobId']}")["state"] == "cancelled"
        api.refused(409, "POST", f"/jobs/{job['jobId']}/replay")
    assert api.contents(path) == ["Likes tea."]
    api.refused(404, "GET", f"{path}/conversations/c1")
    assert tables_holding(api.loop.database, CANARY) == []


@pytest.mark.parametrize("seed", [*range(3), *(pytest.param(i, marks=pytest.mark.long) for i in range(3, 60))])
def test_pages_that_were_divided_between_apps_keep_nothing_of_the_erased_one(
    sqlite_api: Api, tmp_path: Path, seed: int
) -> None:
    """SQLite leaves copies of cells where it divides a page, and overwrites only the cells themselves."""
    chance = random.Random(seed)
    paths = [sqlite_api.install("erased"), sqlite_api.install("kept")]
    for i in range(60):
        path = chance.choice(paths)
        word = CANARY if path == paths[0] else "quillwort"
        text = " ".join(f"{word} {chance.random()}" for _ in range(chance.randint(1, 40)))
        if chance.random() < 0.5:
            sqlite_api.ask("POST", f"{path}/facts", json={"fact": f"{i} {text}"[:400]})
        else:
            sqlite_api.converse(path, f"c{i}", *[text] * chance.randint(1, 4))
    assert _files_with_canary(tmp_path)
    receipt = sqlite_api.ask("DELETE", f"{paths[0]}/data")["receipt"]
    assert receipt["left"]["databaseLog"] == 0 and _files_with_canary(tmp_path) == []


def test_a_large_database_is_written_anew_by_the_loop_and_the_receipt_waits_for_it(
    sqlite_api: Api, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("loop.api.erasures._MOST_BYTES", 4096)
    path = sqlite_api.install()
    sqlite_api.converse(path, "c1", f"I keep a {CANARY}.")
    erased = sqlite_api.ask("DELETE", f"{path}/data")
    assert erased["receipt"]["left"]["databaseLog"] == 1 and "loop does it within minutes" in erased["note"]
    assert not FinishErasures(sqlite_api.loop.database, sqlite_api.loop.store, sqlite_api.loop.redis).run()
    [receipt] = sqlite_api.ask("GET", f"{path}/erasures")["erasures"]
    assert receipt["left"]["databaseLog"] == 0 and _files_with_canary(tmp_path) == []


def test_erasing_one_memory_leaves_no_canary_in_the_files(sqlite_api: Api, tmp_path: Path) -> None:
    path = sqlite_api.install()
    body = {"content": f"Keeps a {CANARY}."}
    made = sqlite_api.ask("POST", f"{path}/memories", json=body, headers={"Idempotency-Key": "k1"})
    answer = sqlite_api.ask("DELETE", f"{path}/memories/{made['id']}", params={"erase": "true"})
    assert answer == {"success": True, "note": None}
    assert _files_with_canary(tmp_path) == []


def test_a_receipt_says_so_when_a_reader_keeps_the_log_from_being_emptied(
    sqlite_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shared.db.engine.BUSY_TIMEOUT_SECONDS", 0.05)
    with open_api(sqlite_url, tmp_path / "home") as api:
        path = _fill(api)
        with api.loop.database.read() as reader:
            _read_something(reader)
            answer = api.ask("DELETE", f"{path}/data")
        assert answer["receipt"]["left"]["databaseLog"] == 1 and "may still stand" in answer["note"]
        assert api.ask("GET", f"{path}/erasures")["erasures"] == [answer["receipt"]]
        metrics = api.loop.metrics
        assert metrics.erasures_incomplete.labels("data")._value.get() == 1
        again = api.ask("DELETE", f"{path}/data")
        assert (again["receipt"]["left"]["databaseLog"], again["note"]) == (0, None)
        assert metrics.erasures.labels("data")._value.get() == 2
        assert metrics.erasures_incomplete.labels("data")._value.get() == 1
        assert _files_with_canary(tmp_path) == []


def _read_something(session: Any) -> None:
    session.execute(select(Base.metadata.tables["apps"])).all()


def test_a_receipt_counts_words_of_the_app_that_wait_in_the_queues(
    sqlite_url: str, tmp_path: Path, own_redis: EmbeddedRedis
) -> None:
    with open_api(sqlite_url, tmp_path / "home", own_redis.url) as api:
        path = _fill(api)
        api.install("email")
        sender = make_celery(api.loop.settings)
        for app, reason in (("chat", CANARY), ("chat", None), ("email", "other words")):
            fields = {"appId": app, "conversationId": "c1"} | ({"reason": reason} if reason else {})
            sender.send_task(task_name(JobKind.END_CONVERSATION), kwargs=fields, queue=Queue.INTAKE.value, priority=3)
        sender.close()
        assert api.ask("DELETE", f"{path}/data")["receipt"]["left"]["queuedText"] == 1
        with own_redis.client() as client:
            client.flushall()
        FinishErasures(api.loop.database, api.loop.store, api.loop.redis).run()
        [receipt] = api.ask("GET", f"{path}/erasures")["erasures"]
        assert receipt["left"]["queuedText"] == 0
        wait_until(lambda: not files_holding(CANARY, tmp_path), 30, "Redis' own file to be written anew")
        assert api.ask("DELETE", f"{path}/data")["receipt"]["left"]["queuedText"] == 0


def test_an_erasure_that_a_reader_or_a_crash_cut_short_is_finished_later(
    sqlite_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shared.db.engine.BUSY_TIMEOUT_SECONDS", 0.05)
    with open_api(sqlite_url, tmp_path / "home") as api:
        path, step = _fill(api), FinishErasures(api.loop.database, api.loop.store, api.loop.redis)
        with api.loop.database.read() as reader:
            _read_something(reader)
            cut = api.ask("DELETE", f"{path}/data")
            step.run()
            assert api.ask("GET", f"{path}/erasures")["erasures"][0]["left"]["databaseLog"] == 1

        def is_finished() -> bool:
            step.run()
            return not api.ask("GET", f"{path}/erasures")["erasures"][0]["left"]["databaseLog"]

        # It waits for some time after an attempt, as nobody can write meanwhile.
        wait_until(is_finished, 30, "the loop to finish the erasure")
        [receipt] = api.ask("GET", f"{path}/erasures")["erasures"]
        assert receipt == cut["receipt"] | {"left": cut["receipt"]["left"] | {"databaseLog": 0}}
        assert _files_with_canary(tmp_path) == []
