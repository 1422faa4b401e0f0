"""The smallest input of public reports about days near midnight, against a running service and its worker.

It lies beside the checkout; where it is not, the tests of the same behaviour in ``tests/integration`` stand alone.
"""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from tests.support.services import CHECKOUT, System
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]
CASES = CHECKOUT.parent / "shared" / "data" / "cases" / "cases.jsonl"


def _case(name: str) -> dict[str, Any]:
    if not CASES.exists():
        pytest.skip("the cases are not beside this checkout")
    found = [one for one in map(json.loads, CASES.read_text().splitlines()) if one["id"] == name]
    return found[0] if found else pytest.skip(f"there is no case {name}")


def _told(client: httpx.Client, user: str) -> list[str]:
    facts = client.get("/apps/days/facts", params={"userId": user}).json()["facts"]
    memories = client.get("/apps/days/memories", params={"userId": user}).json()["memories"]
    return [*(one["fact"] for one in facts), *(one["content"] for one in memories)]


def test_what_was_said_near_midnight_is_kept_with_the_day_of_who_said_it(system: System) -> None:
    case = _case("public-10")
    with system.client() as client:
        client.post("/apps", json={"appId": "days", "name": "Days", "answeredBy": "app"}).raise_for_status()
        ended = []
        for nth, said in enumerate(case["input"]):
            opened = client.post("/apps/days/conversations", json={"userId": f"u{nth}"}).raise_for_status().json()
            path = f"/apps/days/conversations/{opened['conversationId']}"
            client.post(f"{path}/messages", json={"role": "user", **said}).raise_for_status()
            client.post(f"{path}/end").raise_for_status()
            ended.append(path)

        def is_over() -> bool:
            jobs = [job for path in ended for job in client.get(path).json()["jobs"]]
            return all(job["state"] in ("done", "nothing") for job in jobs)

        wait_until(is_over, 120, "what was said to be thought over")
        told = {expected: _told(client, f"u{nth}") for nth, expected in enumerate(case["expected"])}
    assert len(told) == len(case["input"])
    assert all(texts and all(expected in text for text in texts) for expected, texts in told.items()), told
