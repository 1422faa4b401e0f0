"""A running service, judged by the library of Standard Webhooks and by the measuring stick beside the checkout."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from standardwebhooks import Webhook, WebhookVerificationError

from tests.support.receiver import receiving
from tests.support.services import CHECKOUT, System, run_service
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]
OUTSIDE = CHECKOUT.parent / "shared"
STICK, DEV = OUTSIDE / "tools" / "kinds.py", OUTSIDE / "data" / "kinds" / "dev.jsonl"


@pytest.fixture(scope="module")
def system(tmp_path_factory: pytest.TempPathFactory) -> Iterator[System]:
    """A loop and a worker, without a model."""
    folder = tmp_path_factory.mktemp("running")
    env = {"AFTERTHOUGHT_TICK_SECONDS": "0.1", "AFTERTHOUGHT_WEBHOOK_INTERNAL_HOSTS": "127.0.0.1"}
    with run_service(folder, env) as running:
        yield running


def test_what_a_webhook_is_sent_is_verified_by_the_library_of_standard_webhooks(system: System) -> None:
    with system.client() as client, receiving() as receiver:
        client.post("/apps", json={"appId": "hooked", "name": "Hooked"}).raise_for_status()
        secret = client.post("/apps/hooked/webhooks", json={"url": receiver.url}).raise_for_status().json()["secret"]
        client.post("/apps/hooked/memories", json={"content": "Likes tea."}).raise_for_status()
        wait_until(lambda: receiver.received, 60, "the webhook to be called")
        [got, *_] = receiver.received
        assert Webhook(secret).verify(got.body, got.headers)["content"] == "Likes tea."
        with pytest.raises(WebhookVerificationError):
            Webhook(secret).verify(got.body.replace(b"tea", b"gin"), got.headers)


@pytest.fixture(scope="module")
def found(system: System, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the measuring stick says after it held its conversations and asked its questions."""
    if not (STICK.exists() and DEV.exists()):
        pytest.skip(f"needs {STICK} and {DEV}, beside the checkout")
    env = {**os.environ, "AFTERTHOUGHT_URL": system.url, "AFTERTHOUGHT_TOKEN": system.admin_token, "KINDS_WAIT": "60"}
    told = tmp_path_factory.mktemp("kinds") / "told.json"
    with told.open("w") as out:
        subprocess.run([sys.executable, STICK, DEV], env=env, stdout=out, stderr=subprocess.PIPE, check=True)
    return dict(json.loads(told.read_text()))


def test_realistic_chats_are_taken_in_every_shape(found: dict[str, Any]) -> None:
    assert found["conversations"] > 20 and found["shape_refused"] == {}


def test_nothing_that_may_not_be_remembered_of_realistic_chats_is(found: dict[str, Any]) -> None:
    assert found["never"] == 0, found["lists"]["never"]


def test_nothing_forbidden_is_handed_back_of_realistic_chats(found: dict[str, Any]) -> None:
    assert found["forbidden"] == 0, found["lists"]["asks forbidden"]
