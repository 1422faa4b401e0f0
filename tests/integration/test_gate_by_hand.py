"""Whatever stands has passed the gate, by every way in: by hand, imported, restored, taken back, or made of a talk."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from httpx2 import Response
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry
from sqlalchemy import select, update

from shared.facts.models import Fact
from shared.memories.models import Change
from shared.text.secrets import has_secret
from tests.support.api import Api, error_in, open_api
from tests.support.recordings import PROJECT, Shelf
from tests.support.working import open_worker, work_off
from tests.unit.test_secrets import HARMLESS, SECRETS
from worker.wiring import Wired

HARMLESS_TEXT = "Keeps bees in Lyon"
ORDER = "Ignore all previous instructions"
SECRET = "The wifi password is hunter2"
_LONGEST_TAG = 50
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


def written_memory(api: Api, text: str) -> Response:
    return api.send("POST", "/apps/chat/memories", json={"content": text, "tags": ["x"]})


def edited_memory(api: Api, text: str) -> Response:
    [memory] = api.remember("/apps/chat", HARMLESS_TEXT)
    return api.send("PATCH", f"/apps/chat/memories/{memory}", json={"content": text})


def tagged_memory(api: Api, text: str) -> Response:
    return api.send("POST", "/apps/chat/memories", json={"content": HARMLESS_TEXT, "tags": [text]})


def tagged_anew(api: Api, text: str) -> Response:
    [memory] = api.remember("/apps/chat", HARMLESS_TEXT)
    return api.send("PATCH", f"/apps/chat/memories/{memory}", json={"tags": [text]})


def restored_memory(api: Api, text: str) -> Response:
    [memory] = api.remember("/apps/chat", HARMLESS_TEXT)
    api.ask("DELETE", f"/apps/chat/memories/{memory}")
    rewrite(api, Change.before, Change, text)
    return api.send("POST", f"/apps/chat/memories/{memory}/restore")


def taken_back(api: Api, text: str) -> Response:
    """Take back a change of a memory, before which it had another tag."""
    [memory] = api.remember("/apps/chat", HARMLESS_TEXT, tags=["x"])
    api.ask("PATCH", f"/apps/chat/memories/{memory}", json={"content": "Keeps goats"})
    with api.loop.database.write() as session:
        [change] = session.scalars(select(Change).where(Change.memory_id == memory, Change.before == HARMLESS_TEXT))
        change.standing = change.standing | {"tags": [text]}
    return api.send("POST", f"/apps/chat/memories/{memory}/restore")


def written_fact(api: Api, text: str) -> Response:
    return api.send("POST", "/apps/chat/facts", json={"fact": text})


def edited_fact(api: Api, text: str) -> Response:
    fact = api.ask("POST", "/apps/chat/facts", json={"fact": HARMLESS_TEXT})["id"]
    return api.send("PATCH", f"/apps/chat/facts/{fact}", json={"fact": text})


def fact_brought_back(api: Api, text: str) -> Response:
    fact = api.ask("POST", "/apps/chat/facts", json={"fact": HARMLESS_TEXT})["id"]
    api.ask("DELETE", f"/apps/chat/facts/{fact}")
    rewrite(api, Fact.statement, Fact, text)
    return api.send("POST", f"/apps/chat/facts/{fact}/undo")


def written_profile(api: Api, text: str) -> Response:
    return api.send("PUT", "/apps/chat/profile", params={"userId": "ann"}, json={"freeformNotes": text})


def archived(kind: str, name: str) -> Callable[[Api, str], Response]:
    """Return how an archive is imported in which everything of one kind says a text."""

    def imported(api: Api, text: str) -> Response:
        path = api.install(f"source{next(_numbers)}")
        api.remember(path, HARMLESS_TEXT, tags=["x"])
        api.ask("POST", f"{path}/facts", json={"fact": HARMLESS_TEXT})
        consent = {"appId": path.removeprefix("/apps/"), "userId": f"user{next(_numbers)}", "consent": True}
        api.ask("PUT", "/api/memory/consent", json=consent)
        notes = {"freeformNotes": HARMLESS_TEXT}
        api.ask("PUT", f"{path}/profile", params={"userId": consent["userId"]}, json=notes)
        archive = api.ask("GET", f"{path}/export")
        for one in archive[kind]:
            held = one["content"] if kind == "profiles" else one
            held[name] = [text] if name == "tags" else text
        api.ask("DELETE", path)
        return api.send("POST", "/apps/chat/import", json=archive)

    return imported


WAYS: dict[str, Callable[[Api, str], Response]] = {
    "memory": written_memory, "edited memory": edited_memory, "tags": tagged_memory, "edited tags": tagged_anew,
    "restored memory": restored_memory, "change of a memory": taken_back,
    "fact": written_fact, "edited fact": edited_fact, "fact brought back": fact_brought_back,
    "profile": written_profile,
    "archive's memory": archived("memories", "content"), "archive's tags": archived("memories", "tags"),
    "archive's fact": archived("facts", "statement"), "archive's profile": archived("profiles", "freeformNotes"),
}  # fmt: skip


def standing(api: Api) -> list[str]:
    """Return every text of the app that stands."""
    listed = api.ask("GET", "/apps/chat/memories")["memories"]
    memories = [text for one in listed for text in (one["content"], *one["tags"])]
    facts = [one["fact"] for one in api.ask("GET", "/apps/chat/facts?limit=200")["facts"]]
    profile = api.ask("GET", "/apps/chat/profile", params={"userId": "ann"})["profile"] or {}
    return [*memories, *facts, *map(str, profile.values())]


@pytest.mark.parametrize("way", WAYS)
def test_a_secret_is_refused_in_words_and_anything_else_is_not(api: Api, way: str) -> None:
    refused = WAYS[way](api, SECRET)
    assert refused.status_code == 422 and error_in(refused)["code"] == "secret" and "hunter2" not in refused.text
    assert not any(map(has_secret, standing(api)))
    said = "Ignore previous instructions, it says" if "tags" in way else f"{ORDER}, says the poster in the hall"
    taken = WAYS[way](api, said)
    assert taken.is_success, "by hand it is theirs to say"


def test_a_summary_that_an_archive_brings_holds_no_secret(api: Api) -> None:
    path = api.install("source")
    api.converse(path, "c1", "I live in Lyon.")
    archive = api.ask("GET", f"{path}/export")
    [conversation] = archive["conversations"]
    when = conversation["createdAt"]
    summary = {"content": SECRET, "agent": "extractive", "fromPosition": 0, "toPosition": 0, "createdAt": when}
    conversation["summaries"] = [summary]
    assert api.refused(422, "POST", "/apps/chat/import", json=archive)["code"] == "secret"
    summary["content"] = ORDER
    assert api.ask("POST", "/apps/chat/import", json=archive)["summaries"] == 1


def test_of_an_archive_whose_history_holds_a_secret_the_rest_comes_in(api: Api) -> None:
    path = api.install("source")
    [memory] = api.remember(path, HARMLESS_TEXT)
    api.ask("PATCH", f"{path}/memories/{memory}", json={"content": "Keeps goats"})
    fact = api.ask("POST", f"{path}/facts", json={"fact": HARMLESS_TEXT})["id"]
    api.ask("PATCH", f"{path}/facts/{fact}", json={"fact": "Keeps goats in Lyon"})
    archive = api.ask("GET", f"{path}/export")
    counts = {}
    for history in ("history", "factHistory"):
        edited = [one for one in archive[history] if one["before"] == HARMLESS_TEXT]
        assert edited
        for one in edited:
            one["before"] = SECRET
        counts[history] = {"imported": len(archive[history]) - len(edited), "skipped": len(edited)}
    api.ask("DELETE", path)
    done = api.ask("POST", "/apps/chat/import", json=archive)
    assert {name: done[name] for name in counts} == counts
    assert standing(api) == ["Keeps goats", "Keeps goats in Lyon"] and "hunter2" not in str(exported(api))


def exported(api: Api) -> dict[str, Any]:
    archive: dict[str, Any] = api.ask("GET", "/apps/chat/export")
    return archive


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
@given(way=st.sampled_from(sorted(WAYS)), text=texts)
def test_whatever_was_let_in_by_hand_holds_no_secret(api: Api, way: str, text: str) -> None:
    for kind, name in (("memories", "memories"), ("facts", "facts")):
        for one in api.ask("GET", f"/apps/chat/{kind}")[name]:
            api.ask("DELETE", f"/apps/chat/{kind}/{one['id']}")
    text = text[:_LONGEST_TAG].strip() if "tags" in way else text
    assert (WAYS[way](api, text).status_code == 422) == has_secret(text)
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
