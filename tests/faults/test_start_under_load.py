"""What is asked while the loop still starts its pages is answered as ever."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.support.services import start_redis, start_system

pytestmark = [pytest.mark.integration, pytest.mark.timeout(120)]
SENTENCE = "Ba ke li mo nu ra. "
LONG = {"role": "user", "content": SENTENCE * (190_000 // len(SENTENCE))}


def test_messages_that_come_while_the_pages_are_loaded_are_stored(tmp_path: Path, sqlite_url: str) -> None:
    redis = start_redis(tmp_path / "redis")
    try:
        with start_system(tmp_path, sqlite_url, redis.url, workers=0) as system, system.client(timeout=60) as client:
            client.post("/apps", json={"appId": "app", "name": "app"}).raise_for_status()
            client.post("/apps/app/conversations", json={"conversationId": "c"}).raise_for_status()
            with ThreadPoolExecutor(1) as pool:
                # Answered once the pages are there.
                page = pool.submit(client.get, "/login")
                answers = []
                while not page.done():
                    answers.append(client.post("/apps/app/conversations/c/messages", json={"messages": [LONG] * 20}))
            assert page.result().status_code == 200
            assert answers, "the pages were there before anything was sent"
            assert {one.status_code for one in answers} == {202}, system.loop.log
    finally:
        redis.stop()
