"""Energy, jobs, health, metrics and the description of the interface."""

from __future__ import annotations

from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from loop.api.routes import jobs as jobs_routes
from loop.embedded_redis import EmbeddedRedis
from loop.gauges import CATALOGUE
from shared.broker import announce_worker, send
from shared.contracts.jobs import MEMORY_PRIORITY, JobKind, JobMessage, Queue, task_name
from shared.jobs import dispatch
from shared.jobs.models import Deferral, JobState
from shared.jobs.queries import get_job
from shared.llm.calls import EXTRACTIVE
from tests.support.api import Api, open_api


def test_the_energy_is_shown_as_it_stands(api: Api) -> None:
    assert api.ask("GET", "/energy") == {
        "level": 100.0, "percentage": 100.0, "status": "high", "replenishPerSecond": 1.0, "gatePercent": 20.0,
        "reserved": 0.0, "deferredJobs": 0, "memoryShare": None, "secondsUntilOpen": 0.0,
    }  # fmt: skip
    api.install()
    api.spend("chat", 85)
    api.loop.leadership.keep()
    api.loop.regulator.settle()
    drawn = api.ask("GET", "/energy")
    assert (drawn["level"], drawn["status"], drawn["secondsUntilOpen"], drawn["memoryShare"]) == (15, "low", 5, 1)


@pytest.mark.parametrize("hours", [1, 24])
def test_the_energy_of_the_last_hours_is_shown_by_kind_and_app(api: Api, hours: int) -> None:
    api.install()
    api.install("email")
    api.spend("chat", 70)
    api.clock.advance(30)
    api.spend("email", 60)
    api.clock.advance(3600)
    api.spend("chat", 5)
    shown = api.ask("GET", "/energy/history", params={"hours": hours})["hours"]
    assert [one["hour"] for one in shown[-2:]] == ["2026-03-01T12:00:00Z", "2026-03-01T13:00:00Z"][-hours:]
    assert len(shown) == hours
    assert (shown[-1]["calls"], shown[-1]["spent"], shown[-1]["byApp"]) == (1, 5, {"chat": 5})
    # What the built-in agent did was no call of a model.
    api.spend("chat", 0, model=EXTRACTIVE)
    [last] = api.ask("GET", "/energy/history", params={"hours": 1})["hours"]
    assert (last["calls"], last["modelCalls"]) == (2, 1)
    assert shown[-1]["lowestLevel"] == 95
    if hours > 1:
        assert (shown[-2]["calls"], shown[-2]["byKind"]) == (2, {"create_memory": 130})
        assert (shown[-2]["byApp"], shown[-2]["lowestLevel"]) == ({"chat": 70, "email": 60}, -30)
        assert (shown[0]["calls"], shown[0]["spent"], shown[0]["lowestLevel"]) == (0, 0, 100)
    api.refused(403, "GET", "/energy/history", token=api.token("chat"))


def test_what_the_doctor_finds_is_shown_to_an_admin_alone(api: Api) -> None:
    found = {one["what"]: one for one in api.ask("GET", "/doctor")["findings"]}
    assert {"python", "home", "disk", "database", "model", "energy"} <= set(found)
    assert (found["python"]["health"], found["python"]["mend"]) == ("ok", None)
    assert all(one["mend"] for one in found.values() if one["health"] != "ok")
    api.install()
    api.refused(403, "GET", "/doctor", token=api.token("chat"))


def test_an_apps_spending_is_shown_by_window_and_kind(api: Api) -> None:
    path = api.install()
    for units, later in ((10.5, 30 * 60), (5.2, 70), (3.1, 0)):
        api.spend("chat", units)
        api.clock.advance(later)
    shown = api.ask("GET", f"{path}/energy")
    assert (shown["total"], shown["last24h"], shown["last1h"], shown["last1min"]) == (18.8, 18.8, 18.8, 3.1)
    assert shown["byKind"] == {"create_memory": 18.8}
    assert (shown["hourlyBudget"], shown["dailyBudget"]) == (None, None)


def _job(api: Api, app: str = "chat") -> str:
    conversation = api.converse(f"/apps/{app}", "c1", "Hello.")
    return str(api.ask("POST", f"{conversation}/end")["jobs"][0]["jobId"])


def test_jobs_are_listed_by_app_state_and_kind(api: Api) -> None:
    ids = []
    for app in ("chat", "email"):
        conversation = api.converse(api.install(app), "c1", "Hello.")
        ids += [job["jobId"] for job in api.ask("POST", f"{conversation}/end")["jobs"]]

    def listed(**params: str) -> list[str]:
        return [job["jobId"] for job in api.ask("GET", "/jobs", params=params)["jobs"]]

    assert len(ids) == 4 and listed() == ids[::-1], "the newest first"
    assert (listed(appId="chat"), listed(state="pending"), listed(state="dead")) == (ids[1::-1], ids[::-1], [])
    assert listed(kind="create_memory", appId="email") == [ids[2]]
    first = api.ask("GET", "/jobs", params={"limit": 3})
    assert listed(cursor=first["cursor"]) == [ids[0]]


def test_a_deferred_job_says_why_and_since_when(api: Api) -> None:
    api.install()
    job = _job(api)
    with api.loop.database.write() as session:
        dispatch.defer(session, Deferral.ENERGY, "energy: 12.0 % is not above 20 %", api.clock.now())
    shown = api.ask("GET", f"/jobs/{job}")
    assert (shown["state"], shown["reason"]) == ("deferred", "energy: 12.0 % is not above 20 %")
    assert (shown["deferredSince"], shown["dueAt"]) == ("2026-03-01T12:00:00Z", "2026-03-01T12:00:00Z")
    assert api.ask("GET", "/energy")["deferredJobs"] == 2, "facts too"


def test_a_job_can_be_cancelled_and_replayed(api: Api) -> None:
    api.install()
    job = _job(api)
    cancelled = api.ask("POST", f"/jobs/{job}/cancel")
    assert (cancelled["state"], cancelled["reason"]) == ("cancelled", "cancelled by admin")
    assert api.ask("POST", f"/jobs/{job}/cancel") == cancelled
    assert api.loop.metrics.jobs_finished.labels("create_memory", "cancelled")._value.get() == 1
    replayed = api.ask("POST", f"/jobs/{job}/replay")
    assert (replayed["state"], replayed["attempts"], replayed["reason"]) == ("pending", 0, None)
    api.refused(409, "POST", f"/jobs/{job}/replay")


def test_a_job_from_before_a_purge_cannot_be_replayed(api: Api) -> None:
    path = api.install()
    job = _job(api)
    api.ask("DELETE", f"{path}/memories")
    assert "purged" in api.refused(409, "POST", f"/jobs/{job}/replay")["message"]


def _kill(api: Api, job: str, reason: str) -> None:
    with api.loop.database.write() as session:
        row = get_job(session, job)
        row.state, row.reason, row.finished_at = JobState.DEAD, reason, api.clock.now()


@pytest.fixture
def graves(api: Api) -> dict[str, str]:
    """Two dead jobs of each of two apps, one of a message that never became a job, and one that was cancelled."""
    reasons = ("transient: Ollama did not answer in time. (attempt 5 of 5)", "configuration: no model. 100% sure")
    jobs = {}
    for app in ("chat", "email"):
        conversation = api.converse(api.install(app), "c1", "Hello.")
        for reason, job in zip(reasons, api.ask("POST", f"{conversation}/end")["jobs"], strict=True):
            _kill(api, job["jobId"], reason)
            jobs[f"{app} {job['kind']}"] = job["jobId"]
    with api.loop.database.write() as session:
        jobs["intake"] = dispatch.dead_letter(session, JobKind.END_CONVERSATION, "malformed", api.clock.now()).job_id
    conversation = api.converse("/apps/chat", "c2", "Hello.")
    for job in api.ask("POST", f"{conversation}/end")["jobs"]:
        api.ask("POST", f"/jobs/{job['jobId']}/cancel")
    return jobs


def _alive(api: Api, graves: dict[str, str]) -> set[str]:
    return {name for name, job in graves.items() if api.ask("GET", f"/jobs/{job}")["state"] == "pending"}


@pytest.mark.parametrize(
    ("wanted", "replayed"),
    [
        ({"appId": "chat"}, {"chat create_memory", "chat extract_facts"}),
        ({"kind": "create_memory"}, {"chat create_memory", "email create_memory"}),
        ({"reason": "DID NOT answer"}, {"chat create_memory", "email create_memory"}),
        ({"reason": "100% sure"}, {"chat extract_facts", "email extract_facts"}),
        ({"reason": "_% %"}, set()),
        ({"appId": "email", "kind": "extract_facts", "reason": "model"}, {"email extract_facts"}),
        ({"appId": "email", "kind": "summarise"}, set()),
        ({}, {"chat create_memory", "chat extract_facts", "email create_memory", "email extract_facts"}),
    ],
    ids=["app", "kind", "reason", "per cent", "no pattern", "each of them", "nothing", "all"],
)
def test_dead_letters_are_counted_and_then_replayed_by_app_kind_reason_or_all(
    api: Api, graves: dict[str, str], wanted: dict[str, str], replayed: set[str]
) -> None:
    counted = api.ask("POST", "/jobs/replay", json={**wanted, "dryRun": True})
    unfit = 0 if wanted else 1
    listed = {one["jobId"] for one in api.ask("GET", "/jobs", params={**wanted, "state": "dead"})["jobs"]}
    # With what never was anybody's.
    assert {graves[name] for name in replayed} <= listed and len(listed) == len(replayed) + unfit
    assert (counted["left"], counted["replayed"], counted["cursor"]) == (len(replayed) + unfit, 0, None)
    assert sum(counted["matching"].values()) == counted["left"] and _alive(api, graves) == set()
    answer = api.ask("POST", "/jobs/replay", json=wanted)
    assert (answer["replayed"], answer["refused"], answer["left"]) == (len(replayed), unfit, 0)
    assert _alive(api, graves) == replayed
    assert {api.ask("GET", f"/jobs/{graves[name]}")["attempts"] for name in replayed} <= {0}


def test_dead_letters_are_replayed_in_rounds_and_each_round_once_for_a_key(
    api: Api, graves: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs_routes, "_REPLAYED_AT_ONCE", 3)
    key = {"Idempotency-Key": "round-1"}
    first = api.ask("POST", "/jobs/replay", json={}, headers=key)
    assert (first["replayed"], first["refused"], first["left"]) == (3, 0, 2) and first["cursor"]
    assert api.ask("POST", "/jobs/replay", json={}, headers=key) == first and len(_alive(api, graves)) == 3
    second = api.ask("POST", "/jobs/replay", json={"cursor": first["cursor"]})
    assert (second["replayed"], second["refused"], second["left"], second["cursor"]) == (1, 1, 0, None)
    assert second["matching"] == {"end_conversation": 1, "extract_facts": 1}
    api.refused(409, "POST", f"/jobs/{graves['intake']}/replay")


def test_dead_letters_from_before_a_purge_stay_dead(api: Api, graves: dict[str, str]) -> None:
    api.ask("DELETE", "/apps/chat/memories")
    answer = api.ask("POST", "/jobs/replay", json={"appId": "chat"})
    assert (answer["replayed"], answer["refused"], answer["left"]) == (0, 2, 0)


def test_liveness_asks_nothing_of_anything(sqlite_api: Api) -> None:
    answer = sqlite_api.client.get("/health/live")
    assert (answer.status_code, answer.json()) == (200, {"status": "live"})


def test_readiness_names_each_dependency_and_what_is_wrong(
    database_url: str, tmp_path: Path, own_redis: EmbeddedRedis
) -> None:
    with open_api(database_url, tmp_path / "home", own_redis.url, model="ollama:m", ollama_host="127.0.0.1:1") as api:
        early = api.client.get("/health/ready")
        assert (early.status_code, early.json()["dependencies"]["ticker"]["ok"]) == (503, False)
        api.loop.ticker.tick()
        ready = api.client.get("/health/ready")
        found = ready.json()["dependencies"]
        assert (ready.status_code, ready.json()["agent"]) == (200, "ollama:m")
        assert {name: one["ok"] for name, one in found.items()} == {
            "database": True, "redis": True, "ticker": True, "worker": False, "ollama": False, "regulator": True,
        }  # fmt: skip
        announce_worker(api.loop.redis, "worker@here", api.clock.now().timestamp())
        assert "worker@here" in api.client.get("/health/ready").json()["dependencies"]["worker"]["detail"]
        api.clock.advance(60)
        assert api.client.get("/health/ready").json()["dependencies"]["worker"]["ok"] is False
        own_redis.stop()
        without = api.client.get("/health/ready")
        assert (without.status_code, without.json()["dependencies"]["redis"]["ok"]) == (503, False)
        own_redis.start()
        assert api.client.get("/health/ready").status_code == 200
        api.loop.draining.set()
        assert api.client.get("/health/ready").json()["ready"] is False


def _samples(api: Api) -> dict[tuple[str, tuple[str, ...]], float]:
    answer = api.send("GET", "/metrics")
    assert answer.status_code == 200 and answer.headers["content-type"].startswith("text/plain")
    families = text_string_to_metric_families(answer.text)
    return {(s.name, tuple(s.labels.values())): s.value for family in families for s in family.samples}


def test_a_scrape_shows_what_stands_in_the_database(api: Api) -> None:
    path = api.install()
    api.install("email")
    api.remember(path, "Likes tea.", "Likes jazz.")
    _job(api)
    api.clock.advance(90)
    found = _samples(api)
    assert found["afterthought_memories", ()] == 2
    assert (found["afterthought_apps", ()], found["afterthought_apps_with_memories", ()]) == (2, 1)
    assert found["afterthought_memory_utilisation_ratio", ()] == 0.5
    assert found["afterthought_jobs", ("create_memory", "pending")] == 1
    assert found["afterthought_oldest_waiting_job_seconds", ("create_memory",)] == 90
    assert found["afterthought_conversations", ("ended",)] == 1
    assert found["afterthought_energy_level_units", ()] == 100


def test_every_series_stands_at_zero_before_anything_happened(sqlite_api: Api) -> None:
    found = _samples(sqlite_api)
    for kind in JobKind:
        for state in JobState:
            assert found["afterthought_jobs", (kind.value, state.value)] == 0
    assert found["afterthought_energy_memory_share_ratio", ()] == 0
    absent = {f"afterthought_{gauge.name}" for gauge in CATALOGUE} - {name for name, _ in found}
    # Without Redis two are not known, and there is no app yet.
    of_apps = {name for name in absent if name.startswith("afterthought_app_")}
    assert absent - of_apps == {"afterthought_queue_depth", "afterthought_workers"} and len(of_apps) == 6


def test_a_scrape_works_without_redis_and_says_that_it_is_down(
    sqlite_url: str, tmp_path: Path, own_redis: EmbeddedRedis
) -> None:
    with open_api(sqlite_url, tmp_path / "home", own_redis.url) as api:
        for priority in (0, MEMORY_PRIORITY, 9):
            message = JobMessage(job_id="job_1", fence=1)
            send(api.loop.celery, task_name(JobKind.CREATE_MEMORY), Queue.MEMORY, message, priority)
        found = _samples(api)
        assert found["afterthought_redis_up", ()] == 1
        assert found["afterthought_queue_depth", ("memory",)] == 3
        assert found["afterthought_queue_depth", ("intake",)] == 0
        own_redis.stop()
        assert _samples(api)["afterthought_redis_up", ()] == 0


def test_requests_are_counted_by_template_and_never_by_what_a_stranger_asks_for(sqlite_api: Api) -> None:
    path = sqlite_api.install()
    for address in (path, "/apps/none", "/made-up-1", "/made-up-2"):
        sqlite_api.send("GET", address)
    sqlite_api.send("BREW", path)
    # Refused before they reach their route: by the guard, and for their body.
    sqlite_api.send("GET", path, headers={"Authorization": "Bearer nobodys"})
    sqlite_api.send("POST", f"{path}/conversations", content=b"{", headers={"Content-Type": "application/json"})
    families = list(sqlite_api.loop.metrics.http_requests.collect())
    counted = {tuple(s.labels.values()): s.value for s in families[0].samples if s.name.endswith("_total")}
    assert counted["/apps/{appId}", "GET", "2xx"] == 1
    assert counted["/apps/{appId}", "GET", "4xx"] == 2
    assert counted["/apps/{appId}/conversations", "POST", "4xx"] == 1
    assert counted["unmatched", "GET", "4xx"] == 2
    assert {route for route, _, _ in counted} <= {"/apps", "/apps/{appId}", "/apps/{appId}/conversations", "unmatched"}
    assert ("/apps/{appId}", "other", "4xx") in counted
    [timed] = [
        sample.value
        for family in sqlite_api.loop.metrics.http_duration.collect()
        for sample in family.samples
        if sample.name.endswith("_count") and sample.labels["route"] == "/apps/{appId}"
    ]
    assert timed == 4


_READING = {
    "composeContext", "searchMessages", "searchSessions", "searchProject", "suggestSessions", "previewDecay",
    "previewComposition",
}  # fmt: skip
"""Asked for with a body, and written nowhere."""


def test_the_description_is_complete_enough_to_generate_a_client(sqlite_api: Api) -> None:
    schema = sqlite_api.client.get("/openapi.json").json()
    assert schema["security"] == [{"bearer": []}]
    parts = schema["components"]["schemas"]
    assert "HTTPValidationError" not in parts
    assert parts["AddMessage"]["properties"]["content"]["maxLength"] == 200_000
    assert parts["AddMessages"]["properties"]["messages"]["maxItems"] == 1000
    for item in schema["paths"].values():
        for method, one in item.items():
            if method in {"post", "patch", "delete"} and one["operationId"] not in _READING:
                names = [parameter["name"] for parameter in one.get("parameters", ())]
                assert "Idempotency-Key" in [name.title() for name in names], one["operationId"]


def test_ending_a_conversation_wakes_the_ticker(sqlite_api: Api) -> None:
    sqlite_api.install()
    news = sqlite_api.loop.ticker._news
    assert not news.is_set()
    _job(sqlite_api)
    assert news.is_set()
