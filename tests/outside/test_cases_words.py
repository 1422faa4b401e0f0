"""The smallest chats that broke elsewhere and here, held with a running service: whose words are remembered."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from tests.support.services import CHECKOUT, System
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]
CASES = CHECKOUT.parent / "shared" / "data" / "cases" / "cases.jsonl"


def inputs_of(name: str) -> list[str]:
    if not CASES.exists():
        pytest.skip(f"needs {CASES}, beside the checkout")
    found = next(one for one in map(json.loads, CASES.read_text(encoding="utf-8").splitlines()) if one["id"] == name)
    return [found["input"]] if isinstance(found["input"], str) else list(found["input"])


def held(client: httpx.Client, name: str, text: str) -> dict[str, list[str]]:
    """Hold a chat of one message in an app of its own; return what was remembered of it."""
    client.post("/apps", json={"appId": name, "name": name}).raise_for_status()
    path = f"/apps/{name}/conversations"
    client.post(path, json={"conversationId": "c1", "userId": "ann"}).raise_for_status()
    said = [{"role": "user", "content": text}, {"role": "assistant", "content": "ok"}]
    client.post(f"{path}/c1/messages", json={"messages": said}).raise_for_status()
    client.post(f"{path}/c1/end").raise_for_status()

    def are_over() -> bool:
        jobs = client.get(f"{path}/c1").json()["jobs"]
        return bool(jobs) and all(job["state"] in ("done", "nothing", "dead") for job in jobs)

    wait_until(are_over, 60, "the jobs")
    listed: dict[str, Any] = {what: client.get(f"/apps/{name}/{what}").json()[what] for what in ("memories", "facts")}
    memories, facts = listed["memories"], listed["facts"]
    return {"memories": [one["content"] for one in memories], "facts": [one["fact"] for one in facts]}


@pytest.mark.parametrize("case", ["public-11", "public-12"])
def test_what_a_client_put_in_or_asks_for_itself_is_not_remembered(system: System, case: str) -> None:
    with system.client() as client:
        for nth, text in enumerate(inputs_of(case)):
            assert held(client, f"{case}-{nth}", text) == {"memories": [], "facts": []}, text


def test_a_single_statement_is_remembered_in_any_language(system: System) -> None:
    with system.client() as client:
        for nth, text in enumerate(inputs_of("public-13")):
            [memory] = held(client, f"public-13-{nth}", text)["memories"]
            assert text.rstrip(".।") in memory


GREETED = {
    "안녕하세요. 저는 서울에 살고 새우 알레르기가 있어요.": "안녕하세요",
    "שלום! אני גר בירושלים ואני אלרגי לדגים.": "שלום",
    "مرحبا، أنا أسكن في طنجة وعندي حساسية من السمك.": "مرحبا",
    "नमस्ते। मैं जयपुर में रहती हूँ और मुझे दूध से एलर्जी है।": "नमस्ते",
    "Merhaba!\nBursa'da yaşıyorum ve süte alerjim var.": "Merhaba",
}


def test_a_greeting_before_it_is_not_kept_and_alone_is_nothing(system: System) -> None:
    with system.client() as client:
        for nth, (text, greeting) in enumerate(GREETED.items()):
            [memory] = held(client, f"greeted-{nth}", text)["memories"]
            assert greeting not in memory and memory.endswith(text[-12:].rstrip(".।"))
            assert held(client, f"greeting-{nth}", greeting)["memories"] == []


def test_an_emoji_made_of_several_leaves_nothing_in_a_fact(system: System) -> None:
    with system.client() as client:
        [text] = inputs_of("public-16")
        assert held(client, "public-16", text)["facts"] == ["Lives in Lisbon"]
        told_so = ("I work at Acme 👩‍💻 as a nurse.", "I am allergic to nuts 🙅🏽‍♀️🥜", "I live in Rome 🏴‍☠️")
        for nth, told in enumerate(told_so):
            for fact in held(client, f"emoji-{nth}", told)["facts"]:
                assert fact.isascii() and "  " not in fact, fact
