"""An app's webhooks over HTTP and from the command line: whose they are, what they show, and what is refused."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from loop.steps.publish_events import PublishEvents
from tests.support.api import ADMIN, Api, open_api
from tests.support.command_line import run, served

URL = "http://127.0.0.1:9/hook"
SECRET = "whsec_" + base64.b64encode(b"s" * 32).decode()


@pytest.fixture
def api(api_url: str, tmp_path: Path) -> Iterator[Api]:
    with open_api(api_url, tmp_path / "home", webhook_internal_hosts="127.0.0.1") as api:
        api.install("chat")
        api.install("email")
        yield api


def add(api: Api, **more: object) -> dict[str, object]:
    return dict(api.ask("POST", "/apps/chat/webhooks", 201, json={"url": URL} | more))


def test_a_webhook_shows_its_secret_once(api: Api) -> None:
    added = add(api, kinds=["memory.created", "memory.created"])
    secret = str(added.pop("secret"))
    assert secret.startswith("whsec_") and len(base64.b64decode(secret.removeprefix("whsec_"))) == 32
    assert added["kinds"] == ["memory.created"] and added["enabled"] is True and added["outcome"] is None
    assert api.ask("GET", f"/apps/chat/webhooks/{added['webhookId']}") == added
    assert api.ask("GET", "/apps/chat/webhooks") == {"webhooks": [added], "cursor": None}
    assert secret not in json.dumps(api.ask("GET", "/apps/chat/export"))


def test_a_secret_of_the_apps_own_is_taken(api: Api) -> None:
    assert add(api, secret=SECRET)["secret"] == SECRET
    for bad in ("mine", "", "whsec_", "whsec_c2hvcnQ=", "c2VjcmV0" * 5, "whsec_!!!", "whsec_" + "A" * 400):
        error = api.refused(422, "POST", "/apps/chat/webhooks", json={"url": URL, "secret": bad})
        assert "secret: " in error["message"], bad


def test_adding_one_again_under_the_same_key_adds_none_and_tells_no_secret(api: Api) -> None:
    key = {"headers": {"Idempotency-Key": "k1"}}
    first = api.ask("POST", "/apps/chat/webhooks", json={"url": URL}, **key)
    again = api.ask("POST", "/apps/chat/webhooks", json={"url": URL}, **key)
    assert again == first | {"secret": None}
    assert len(api.ask("GET", "/apps/chat/webhooks")["webhooks"]) == 1


def test_an_app_has_at_most_ten(api: Api) -> None:
    for _ in range(10):
        add(api)
    assert "delete one first" in api.refused(409, "POST", "/apps/chat/webhooks", json={"url": URL})["message"]


FORBIDDEN = (
    "http://169.254.169.254/latest/meta-data", "http://10.0.0.1/", "http://[::1]/", "http://127.0.0.2/",
    "ftp://127.0.0.1/", "http://user:pw@127.0.0.1/", "not a url", "http://[::ffff:10.0.0.1]/",
)  # fmt: skip


def test_an_address_that_may_not_be_called_is_refused_at_once(api: Api) -> None:
    webhook = add(api)["webhookId"]
    for url in FORBIDDEN:
        assert "url: " in api.refused(422, "POST", "/apps/chat/webhooks", json={"url": url})["message"]
        api.refused(422, "PATCH", f"/apps/chat/webhooks/{webhook}", json={"url": url})


def test_a_webhook_can_be_changed_disabled_enabled_and_removed(api: Api) -> None:
    path = f"/apps/chat/webhooks/{add(api)['webhookId']}"
    changed = api.ask("PATCH", path, json={"url": "http://127.0.0.1:10/", "kinds": ["answer.sent"]})
    assert (changed["url"], changed["kinds"], changed["enabled"]) == ("http://127.0.0.1:10/", ["answer.sent"], True)
    disabled = api.ask("PATCH", path, json={"enabled": False})
    assert (disabled["enabled"], disabled["disabledWhy"]) == (False, "by admin") and disabled["disabledAt"]
    assert "enable it first" in api.refused(409, "POST", f"{path}/test")["message"]
    assert api.ask("PATCH", path, json={"enabled": True})["disabledAt"] is None
    api.ask("DELETE", path)
    for method in ("GET", "DELETE"):
        api.refused(404, method, path)


def test_trying_one_is_a_job_that_names_it(api: Api) -> None:
    webhook = add(api)["webhookId"]
    job = api.ask("POST", f"/apps/chat/webhooks/{webhook}/test", 202)
    assert (job["kind"], job["state"], job["maxAttempts"]) == ("deliver_webhook", "pending", 1)
    assert api.ask("GET", f"/jobs/{job['jobId']}")["appId"] == "chat"


def test_listeners_from_the_command_line(api: Api, capsys: pytest.CaptureFixture[str]) -> None:
    api.loop.leadership.keep()
    publish = next(s for s in api.loop.ticker._steps if isinstance(s, PublishEvents))
    with served(api.client.app) as url:
        there = ("--url", url, "--token", ADMIN)
        added = run(capsys, "webhooks", "add", "chat", URL, "--kind", "memory.created", "--json", *there).json
        assert added["secret"].startswith("whsec_")
        [row] = run(capsys, "webhooks", "list", "chat", *there).rows()
        assert row[:3] == [added["webhookId"], URL, "memory.created"]
        tried = run(capsys, "webhooks", "test", "chat", added["webhookId"], "--json", *there).json
        assert tried["kind"] == "deliver_webhook"
        run(capsys, "webhooks", "remove", "chat", added["webhookId"], *there)
        assert "No webhooks." in run(capsys, "webhooks", "list", "chat", *there).out
        api.remember("/apps/chat", "Likes tea.", "Likes coffee.")
        while publish.run():
            pass
        listed = run(capsys, "events", "list", "chat", "--json", *there).json
        assert [event["content"] for event in listed] == ["Likes tea.", "Likes coffee."]
        assert run(capsys, "events", "list", "chat", *there).rows()[0][2:] == [
            "memory.created", "1", "change: created", "Likes tea.",
        ]  # fmt: skip
        followed = run(capsys, "events", "follow", "chat", "--after", "1", "--count", "1", "--json", *there)
        assert followed.json["content"] == "Likes coffee."
        assert "Likes tea." in run(capsys, "events", "follow", "chat", "--after", "0", "--count", "1", *there).out
        refused = run(capsys, "events", "follow", "nobody", *there, status=1)
        assert "There is no app nobody" in refused.err
        api.loop.hub.close()
        left = run(capsys, "events", "follow", "chat", "--after", "2", *there, status=1)
        assert "The stream ended" in left.err and "--after 2" in left.err
    gone = run(capsys, "events", "follow", "chat", *there, status=1)
    assert "Nothing answers" in gone.err


def test_a_host_that_has_no_address_is_the_callers_to_mend(api: Api) -> None:
    body = {"url": "https://hooks.nowhere.invalid/in"}
    webhook = add(api)["webhookId"]
    for method, path in (("POST", "/apps/chat/webhooks"), ("PATCH", f"/apps/chat/webhooks/{webhook}")):
        error = api.refused(422, method, path, json=body)
        assert error["code"] == "unresolvable_host" and "hooks.nowhere.invalid" in error["message"]
