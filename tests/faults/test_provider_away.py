"""The model's server really stopped and started again, loop and worker killed in between: no job is lost, none dead.

The settings would make a dead letter of every job within a second, if attempts without a server counted.
"""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.providers import CHATS, SERVERS, environment
from tests.support.services import EmbeddedRedis, start_system
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]
IMPATIENT = {
    "AFTERTHOUGHT_THINKING": "false",
    "AFTERTHOUGHT_RETRY_BASE_SECONDS": "0.1",
    "AFTERTHOUGHT_RETRY_MAX_SECONDS": "0.2",
    "AFTERTHOUGHT_JOB_MAX_ATTEMPTS": "2",
    "AFTERTHOUGHT_TICK_SECONDS": "0.1",
    "AFTERTHOUGHT_ENERGY_REFILL_PER_SECOND": "1000",
    "AFTERTHOUGHT_QUEUED_SECONDS": "3",
    "AFTERTHOUGHT_LOG_FORMAT": "json",
}
PER_APP = 8
"""Fewer than an app's memories may be, so that each conversation keeps its own."""


def jobs(client: httpx.Client, **wanted: str) -> list[dict[str, Any]]:
    """Return every job there is, page by page."""
    found: list[dict[str, Any]] = []
    cursor = None
    while True:
        page = client.get("/jobs", params={"limit": 200, **wanted, **({"cursor": cursor} if cursor else {})}).json()
        found += page["jobs"]
        cursor = page["cursor"]
        if cursor is None:
            return found


def converse(client: httpx.Client, number: int) -> None:
    base, name = f"/apps/app{number // PER_APP}/conversations", f"c{number}"
    if number % PER_APP == 0:
        app = f"app{number // PER_APP}"
        client.post("/apps", json={"appId": app, "name": app, "answeredBy": "app"}).raise_for_status()
    client.post(base, json={"conversationId": name}).raise_for_status()
    said = {"messages": [{"role": "user", "content": f"I adopted a greyhound named Pixel{number}x."}]}
    client.post(f"{base}/{name}/messages", json=said).raise_for_status()
    client.post(f"{base}/{name}/end").raise_for_status()


def gauge(client: httpx.Client) -> float:
    series = 'afterthought_deferred_jobs{cause="provider_away"}'
    lines = client.get("/metrics").text.splitlines()
    return float(next(line for line in lines if line.startswith(series)).split()[-1])


@pytest.mark.parametrize(
    ("provider", "conversations"),
    [
        ("ollama", 12),
        *(pytest.param(name, 100 if name == "ollama" else 12, marks=pytest.mark.long) for name in CHATS),
    ],
)
def test_no_job_is_dead_or_done_twice_after_an_outage_in_which_loop_and_worker_are_killed(
    provider: str, conversations: int, sqlite_url: str, tmp_path: Path, own_redis: EmbeddedRedis
) -> None:
    began = time.monotonic()
    # Anthropic's API has no embeddings.
    embedding = "ngrams" if provider == "anthropic" else f"{provider}:embedder"
    with SERVERS[provider]() as server:
        port = int(server.url.rpartition(":")[2])
        env = IMPATIENT | environment(server)
        env |= {"AFTERTHOUGHT_MODEL": f"{provider}:tiny", "AFTERTHOUGHT_EMBEDDING": embedding}
        with start_system(tmp_path, sqlite_url, own_redis.url, env=env) as system, system.client() as client:
            before = conversations // 3
            for number in range(before):
                converse(client, number)
            # In the middle of its work, whatever that is at this moment.
            wait_until(lambda: jobs(client, state="done"), 60, "a first job to be done")
            server.__exit__()
            for number in range(before, conversations):
                converse(client, number)

            def all_wait() -> bool:
                states = Counter((job["state"], job["deferral"]) for job in jobs(client))
                return set(states) <= {("done", None), ("nothing", None), ("deferred", "provider_away")}

            wait_until(all_wait, 60, "every job to wait for the server")
            # Read together until they agree: the loop may ask for more meanwhile, which comes to wait as well.
            wait_until(
                lambda: gauge(client) == len(jobs(client, state="deferred")), 60, "the gauge to say how many wait"
            )
            waiting = jobs(client, state="deferred")
            assert len(waiting) >= conversations - before
            facts = jobs(client, kind="extract_facts")
            assert len(facts) == conversations and {job["state"] for job in facts} <= {"done", "nothing"}
            assert {job["attempts"] for job in waiting} == {0}
            for process in system.processes:
                system.kill(process)
            for process in system.processes:
                process.start()
            system.wait_ready()
            wait_until(all_wait, 60, "every job to wait still")
            with SERVERS[provider](port=port):
                back = time.monotonic()
                wait_until(lambda: not jobs(client, state="deferred"), 60, "every job to be resumed")

                def all_ended() -> bool:
                    # One listing of all states: asked state by state, a job that moves on between two questions is
                    # in neither. Twice: a job that ends while the pages are turned may have left one on the first.
                    states = {job["state"] for _ in range(2) for job in jobs(client)}
                    return states <= {"done", "nothing", "dead", "cancelled"}

                wait_until(all_ended, 400, "every job to end")
            ended = jobs(client)
            memories = [
                memory["content"]
                for app in range(-(-conversations // PER_APP))
                for memory in client.get(f"/apps/app{app}/memories").json()["memories"]
            ]
    assert {job["state"] for job in ended} <= {"done", "nothing"}
    made = Counter(job["state"] for job in ended if job["kind"] == "create_memory")
    assert made == {"done": conversations}
    assert len(memories) == conversations
    assert all(sum(f"Pixel{number}x" in one for one in memories) == 1 for number in range(conversations))
    print(f"{len(ended)} jobs, {len(waiting)} waited; {time.monotonic() - back:.1f} s from the server's return to the")
    print(f"last end, {time.monotonic() - began:.1f} s in all")
