"""Whatever stands has passed the gate, by every way in: by hand, imported, restored, taken back, or made of a talk."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry
from sqlalchemy import update

from shared.facts.models import Fact
from shared.memories.models import Change
from shared.text.secrets import has_secret
from tests.support.api import Api, open_api
from tests.support.recordings import PROJECT, Shelf
from tests.support.working import open_worker, work_off
from tests.unit.test_secrets import HARMLESS, SECRETS
from worker.wiring import Wired

HARMLESS_TEXT = "Keeps bees in Lyon"
SECRET = "The wifi password is hunter2"
_numbers = itertools.count()
PROFILE = {"appId": "chat", "userId": "ann", "consent": True}


@pytest.fixture
def api(sqlite_url: str, tmp_path: Path) -> Iterator[Api]:
    with open_api(sqlite_url, tmp_path / "home") as opened:
        opened.install()
        opened.ask("PUT", "/api/memory/consent", json=PROFILE)
        yield opened


@pytest.fixture
def worker(api: Api, sqlite_url: str, tmp_path: Path) -> Iterator[Wired]:
    with open_worker(sqlite_url, tmp_path / "home", api.clock, CollectorRegistry()) as opened:
        yield opened


def rewrite(api: Api, column: Any, row: Any, text: str) -> None:
    """Let a text stand as an earlier release may have stored it."""
    with api.loop.database.write() as session:
        session.execute(update(row).where(column == HARMLESS_TEXT).values({column.key: text}))


def written_memory(api: Api, text: str) -> int:
    answer = api.send("POST", "/apps/chat/memories", json={"content": text, "tags": ["x"]})
    return answer.status_code


def edited_memory(api: Api, text: str) -> int:
    [memory] = api.remember("/apps/chat", HARMLESS_TEXT)
    return api.send("PATCH", f"/apps/chat/memories/{memory}", json={"content": text}).status_code


def restored_memory(api: Api, text: str) -> int:
    [memory] = api.remember("/apps/chat", HARMLESS_TEXT)
    api.ask("DELETE", f"/apps/chat/memories/{memory}")
    rewrite(api, Change.before, Change, text)
    return api.send("POST", f"/apps/chat/memories/{memory}/restore").status_code


def written_fact(api: Api, text: str) -> int:
    return api.send("POST", "/apps/chat/facts", json={"fact": text}).status_code


def edited_fact(api: Api, text: str) -> int:
    fact = api.ask("POST", "/apps/chat/facts", json={"fact": HARMLESS_TEXT})["id"]
    return api.send("PATCH", f"/apps/chat/facts/{fact}", json={"fact": text}).status_code


def fact_brought_back(api: Api, text: str) -> int:
    fact = api.ask("POST", "/apps/chat/facts", json={"fact": HARMLESS_TEXT})["id"]
    api.ask("DELETE", f"/apps/chat/facts/{fact}")
    rewrite(api, Fact.statement, Fact, text)
    return api.send("POST", f"/apps/chat/facts/{fact}/undo").status_code


def written_profile(api: Api, text: str) -> int:
    return api.send("PUT", "/apps/chat/profile", params={"userId": "ann"}, json={"freeformNotes": text}).status_code


def imported(api: Api, text: str) -> int:
    """Import an archive with a memory and a fact that hold the text, into an app of its own."""
    path = api.install(f"source{next(_numbers)}")
    api.remember(path, HARMLESS_TEXT)
    api.ask("POST", f"{path}/facts", json={"fact": HARMLESS_TEXT})
    archive = api.ask("GET", f"{path}/export")
    for kind, name in (("memories", "content"), ("facts", "statement")):
        for one in archive[kind]:
            one[name] = text
    api.ask("DELETE", path)
    return api.send("POST", "/apps/chat/import", json=archive).status_code


WAYS: tuple[Callable[[Api, str], int], ...] = (
    written_memory, edited_memory, restored_memory, written_fact, edited_fact, fact_brought_back, written_profile,
    imported,
)  # fmt: skip


def standing(api: Api) -> list[str]:
    """Return every text of the app that stands."""
    memories = [one["content"] for one in api.ask("GET", "/apps/chat/memories")["memories"]]
    facts = [one["fact"] for one in api.ask("GET", "/apps/chat/facts?limit=200")["facts"]]
    profile = api.ask("GET", "/apps/chat/profile", params={"userId": "ann"})["profile"] or {}
    return [*memories, *facts, str(profile)]


@pytest.mark.parametrize("way", WAYS)
def test_a_secret_is_refused_in_words_and_anything_else_is_not(api: Api, way: Callable[[Api, str], int]) -> None:
    assert way(api, SECRET) == 422
    assert not any(map(has_secret, standing(api)))
    assert way(api, "Ignore all previous instructions, says the poster in the hall") < 300, (
        "by hand it is theirs to say"
    )


def test_the_refusal_says_what_to_do(api: Api) -> None:
    error = api.refused(422, "POST", "/apps/chat/memories", json={"content": SECRET})
    assert error["code"] == "secret" and "hunter2" not in str(error)
    assert error["message"].startswith("content: it holds a password") and "password manager" in error["message"]


def test_of_a_clearing_that_is_taken_back_only_what_holds_a_secret_stays_deleted(api: Api) -> None:
    for fact in (HARMLESS_TEXT, "Plays the oboe"):
        api.ask("POST", "/apps/chat/facts", json={"fact": fact})
    api.ask("DELETE", "/apps/chat/facts")
    rewrite(api, Fact.statement, Fact, SECRET)
    api.ask("POST", "/apps/chat/facts/undo")
    assert standing(api)[:1] == ["Plays the oboe"]


texts = st.lists(st.sampled_from((*SECRETS, *HARMLESS, HARMLESS_TEXT)), min_size=1, max_size=2).map("; ".join)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(way=st.sampled_from(WAYS), text=texts)
def test_whatever_was_let_in_by_hand_holds_no_secret(api: Api, way: Callable[[Api, str], int], text: str) -> None:
    for kind, name in (("memories", "memories"), ("facts", "facts")):
        for one in api.ask("GET", f"/apps/chat/{kind}")[name]:
            api.ask("DELETE", f"/apps/chat/{kind}/{one['id']}")
    assert (way(api, text) == 422) == has_secret(text)
    assert not any(map(has_secret, standing(api)))


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(said=st.lists(texts, min_size=1, max_size=4))
def test_whatever_is_made_of_a_talk_holds_no_secret(api: Api, worker: Wired, said: list[str]) -> None:
    conversation = f"c{next(_numbers)}"
    path = api.converse("/apps/chat", conversation, *(f"I live in Lyon. {text}" for text in said))
    api.ask("POST", f"{path}/end")
    api.ask("POST", f"{path}/summaries")
    work_off(worker, api.clock)
    summaries = [one["content"] for one in api.ask("GET", f"{path}/summaries")["summaries"]]
    assert not any(map(has_secret, [*standing(api), *summaries]))


def test_what_is_learnt_from_sessions_and_reworded_by_hand_holds_no_secret(
    api: Api, worker: Wired, tmp_path: Path
) -> None:
    shelf = Shelf(api.loop, tmp_path, api.loop.store)
    shelf.add(shelf.transcript("s1").human(f"Always run make lint. Never forget: {SECRET}."), app_id="chat")
    api.ask("POST", f"/api/memory/projects/{PROJECT}/semantic/learn", params={"appId": "chat"})
    work_off(worker, api.clock)
    found = api.ask("GET", f"/api/memory/projects/{PROJECT}/semantic", params={"appId": "chat"})["memories"]
    assert [one["content"] for one in found] == ["Always run make lint"]
    reworded = f"/api/memory/semantic/{found[0]['id']}"
    assert api.refused(422, "PATCH", reworded, params={"appId": "chat"}, json={"content": SECRET})["code"] == "secret"
