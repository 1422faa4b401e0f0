"""One app's load is kept from the others: what is too much is refused, and who waits and leaves takes no turn."""

from __future__ import annotations

import contextlib
import json
import socket
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families
from sqlalchemy import text

from shared.db.engine import Database
from tests.support.services import System, start_redis, start_system
from tests.support.transcripts import lines, user
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.integration, pytest.mark.timeout(180)]
REQUESTS, COSTLY = 12, 2
ENV = {
    "AFTERTHOUGHT_APP_REQUESTS": str(REQUESTS),
    "AFTERTHOUGHT_APP_COSTLY_REQUESTS": str(COSTLY),
    "AFTERTHOUGHT_APP_WAIT_SECONDS": "3",
    "AFTERTHOUGHT_LOG_FORMAT": "json",
}


@pytest.fixture
def system(tmp_path: Path, sqlite_url: str) -> Iterator[System]:
    redis = start_redis(tmp_path / "redis")
    try:
        with start_system(tmp_path, sqlite_url, redis.url, env=ENV) as system:
            system.wait_ready()
            yield system
    finally:
        redis.stop()


@contextlib.contextmanager
def nothing_is_written(url: str) -> Iterator[None]:
    """Keep the one place there is to write, which requests then wait for in their threads."""
    database = Database(url)
    with database.write() as session:
        session.execute(text("SELECT 1"))
        yield
    database.dispose()


def install(system: System, *apps: str) -> list[str]:
    """Install apps; return a token of each."""
    with system.client() as client:
        for app in apps:
            client.post("/apps", json={"appId": app, "name": app}).raise_for_status()
        return [client.post(f"/apps/{app}/tokens").raise_for_status().json()["token"] for app in apps]


def refused(system: System) -> dict[str, float]:
    with system.client() as client:
        families = text_string_to_metric_families(client.get("/metrics").text)
    return {
        sample.labels["why"]: sample.value
        for family in families
        for sample in family.samples
        if sample.name == "afterthought_http_refused_total"
    }


def send(system: System, token: str, path: str, seconds: float = 60, **body: object) -> str:
    """Send one request; return its status, or that its client left."""
    headers = {"Authorization": f"Bearer {token}"} | (
        {"Content-Type": "application/x-ndjson"} if "data" in body else {}
    )
    timeout = httpx.Timeout(60, read=seconds)
    try:
        with httpx.Client(base_url=system.url, headers=headers, timeout=timeout, trust_env=False) as client:
            answer = client.post(path, content=body.get("data"), json=body.get("json"))  # type: ignore[arg-type]
    except httpx.ReadTimeout:
        return "left"
    if answer.status_code == 429:
        assert answer.headers["retry-after"] and answer.json()["error"]["code"] == "too_many"
    return str(answer.status_code)


def test_more_than_its_share_in_flight_is_refused_and_another_app_is_served(system: System, sqlite_url: str) -> None:
    greedy, quiet = install(system, "greedy", "quiet")
    asked = 3 * REQUESTS
    with ThreadPoolExecutor(asked) as pool, nothing_is_written(sqlite_url):
        body = {"content": "Likes tea."}
        sent = [pool.submit(send, system, greedy, "/apps/greedy/memories", json=body) for _ in range(asked)]
        wait_until(lambda: sum(one.done() for one in sent) == asked - REQUESTS, 30, "what is too much to be refused")
        with httpx.Client(base_url=system.url, headers={"Authorization": f"Bearer {quiet}"}, trust_env=False) as client:
            assert [client.get("/apps/quiet/conversations").status_code for _ in range(20)] == [200] * 20
        assert not [one for one in sent if one.done() and one.result() != "429"]
    answers = Counter(one.result() for one in sent)
    assert answers["429"] == asked - REQUESTS and sum(answers.values()) == asked
    assert refused(system)["in_flight"] == asked - REQUESTS
    told = [json.loads(line) for line in system.loop.log.splitlines() if '"app_refused"' in line]
    assert [one["app_id"] for one in told] == ["greedy"], "who it was is told, and not with each request"
    assert send(system, greedy, "/apps/greedy/search", json={"query": "tea"}) == "200", "and then it is served again"


def test_a_users_token_that_sends_its_bodies_slowly_leaves_the_app_its_share(system: System) -> None:
    [token] = install(system, "greedy")
    with system.client() as client:
        made = client.post("/apps/greedy/tokens", json={"userId": "ada"}).raise_for_status().json()
    head = (
        "POST /apps/greedy/search HTTP/1.1\r\nHost: here\r\nContent-Type: application/json\r\n"
        f"Authorization: Bearer {made['token']}\r\nContent-Length: 900\r\n\r\n{{"
    )
    place = urlsplit(system.url)
    with contextlib.ExitStack() as slow:
        for _ in range(3 * REQUESTS):
            connection = slow.enter_context(socket.create_connection((place.hostname, place.port), 30))
            connection.sendall(head.encode())
        wait_until(lambda: refused(system)["in_flight"] == 3 * REQUESTS - REQUESTS // 4, 30, "most to be refused")
        assert send(system, made["token"], "/apps/greedy/search", json={"query": "tea"}) == "429"
        assert send(system, token, "/apps/greedy/search", json={"query": "tea"}) == "200"
    search = ("/apps/greedy/search", 60)
    wait_until(lambda: send(system, made["token"], *search, json={"query": "tea"}) == "200", 30, "it to be served")


def test_costly_requests_wait_for_a_turn_and_who_leaves_meanwhile_takes_none(system: System, sqlite_url: str) -> None:
    greedy, quiet = install(system, "greedy", "quiet")
    path = "/api/memory/projects/-home-me-app/sessions"
    transcript, search, query = lines(user("Hello.", "1")), "/apps/greedy/search", {"query": "tea"}
    with ThreadPoolExecutor(20) as pool, nothing_is_written(sqlite_url):
        at_work = [pool.submit(send, system, greedy, f"{path}/w{n}", data=transcript) for n in range(COSTLY)]
        wait_until(lambda: send(system, greedy, search, 0.5, json=query) == "left", 30, "two to be at work")
        wait_until(lambda: refused(system)["left"] >= 1, 30, "it to be noticed that one left")
        before = refused(system)["left"]
        leave = [pool.submit(send, system, greedy, search, 0.5, json=query) for _ in range(4)]
        stay = [pool.submit(send, system, greedy, search, json=query) for _ in range(3)]
        assert send(system, quiet, "/apps/quiet/search", json={"query": "tea"}) == "200", "another app's need not wait"
        assert Counter(one.result() for one in leave) == {"left": 4}
        assert Counter(one.result() for one in stay) == {"429": 3}
        wait_until(lambda: refused(system) == {"in_flight": 0, "turn": 3, "left": before + 4}, 30, "all to be counted")
        assert not any(one.done() for one in at_work)
    assert [one.result() for one in at_work] == ["201"] * COSTLY
    assert send(system, greedy, "/apps/greedy/search", json={"query": "tea"}) == "200"
