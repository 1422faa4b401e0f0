"""Searching, suggesting and linking recorded sessions over HTTP."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from loop.steps.sessions import IndexSessions
from tests.support.api import Api
from tests.support.recordings import PROJECT, Shelf

MEMORY = "/api/memory"
OTHER = "-home-me-boats"


@pytest.fixture
def shelf(api: Api, tmp_path: Path) -> Shelf:
    api.install("chat")
    api.install("email")
    return Shelf(api.loop, tmp_path, api.loop.store)


def fill(api: Api, shelf: Shelf) -> None:
    """Register a session of each of two projects of chat, and make them findable."""
    kites = shelf.transcript("kites").human("Make the uploader retry. ##keepit0.90## Five times at most.")
    shelf.add(kites.tool("Edit", "ok", file_path="/home/me/kites/up.py").assistant("Done."), app_id="chat")
    shelf.add(shelf.transcript("boats", "/home/me/boats").human("Paint the boat blue."), OTHER, "chat")
    step = IndexSessions(api.loop.database, api.loop.store)
    while step.run():
        pass


def search(api: Api, body: dict[str, Any], path: str = f"{MEMORY}/sessions/search", app_id: str = "chat") -> Any:
    return api.ask("POST", f"{path}?appId={app_id}", json=body)


def test_what_was_found_comes_with_its_place_and_why(api: Api, shelf: Shelf) -> None:
    fill(api, shelf)
    (found,) = search(api, {"text": "uploader retries"})["results"]
    assert (found["sessionId"], found["projectId"], found["versionId"]) == ("kites", PROJECT, None)
    snippet = found["snippet"]
    assert {snippet["text"][a:b] for a, b in snippet["marks"]} == {"uploader", "retry"}
    assert (snippet["kind"], snippet["messageUuid"]) == ("human", "kites-0")
    assert 0 < found["score"] < 2 and not found["isLinked"]


def test_each_condition_narrows_and_pages_go_on(api: Api, shelf: Shelf) -> None:
    fill(api, shelf)
    assert len(search(api, {"dateRange": {"start": "2020-01-01T00:00:00Z"}})["results"]) == 2
    assert [one["sessionId"] for one in search(api, {"files": ["up.py"]})["results"]] == ["kites"]
    assert [one["sessionId"] for one in search(api, {"keepitWeight": {"min": 0.5}})["results"]] == ["kites"]
    assert search(api, {"text": "retry"}, f"{MEMORY}/projects/{OTHER}/search")["results"] == []
    first = search(api, {"dateRange": {}, "limit": 1})
    second = search(api, {"dateRange": {}, "limit": 1, "cursor": first["cursor"]})
    assert {first["results"][0]["sessionId"], second["results"][0]["sessionId"]} == {"kites", "boats"}
    assert second["cursor"] is None


@pytest.mark.parametrize(
    "body",
    [{}, {"limit": 3}, {"text": ""}, {"files": []}, {"text": "x", "limit": 0}, {"text": "x", "more": 1},
     {"keepitWeight": {"min": 2}}, {"text": "x", "cursor": "nonsense"}, {"text": "x", "kinds": ["other"]}],
    ids=str,
)  # fmt: skip
def test_a_search_without_a_condition_or_with_a_wrong_one_is_refused(
    api: Api, shelf: Shelf, body: dict[str, Any]
) -> None:
    api.refused(422, "POST", f"{MEMORY}/sessions/search?appId=chat", json=body)


def test_an_admin_names_the_app_and_an_app_s_token_needs_not(api: Api, shelf: Shelf) -> None:
    fill(api, shelf)
    assert api.refused(422, "POST", f"{MEMORY}/sessions/search", json={"text": "retry"})["code"] == "app_missing"
    api.refused(404, "POST", f"{MEMORY}/sessions/search?appId=nobody", json={"text": "retry"})
    own = api.ask("POST", f"{MEMORY}/sessions/search", token=api.token("chat"), json={"text": "retry"})
    assert len(own["results"]) == 1
    other = api.token("email")
    assert api.ask("POST", f"{MEMORY}/sessions/search", token=other, json={"text": "retry"})["results"] == []
    api.refused(403, "POST", f"{MEMORY}/sessions/search?appId=chat", token=other, json={"text": "retry"})
    api.refused(404, "POST", f"{MEMORY}/projects/{PROJECT}/search", token=other, json={"text": "retry"})


def test_suggestions_fit_the_budget_and_say_why(api: Api, shelf: Shelf) -> None:
    fill(api, shelf)
    asked = {"workingDir": "/home/me/kites", "files": ["/home/me/kites/up.py"], "text": "retry", "tokenBudget": 400}
    answer = api.ask("POST", f"{MEMORY}/projects/{PROJECT}/suggest?appId=chat", json=asked)
    (one,) = answer["suggestions"]
    assert (one["sessionId"], one["versionId"], one["matchedFiles"]) == ("kites", "original", ["/home/me/kites/up.py"])
    assert one["component"]["sessionId"] == "kites"
    assert answer["suggestedTokens"] == one["suggestedTokens"] <= 400
    assert abs(sum(one["parts"].values()) - one["relevanceScore"]) < 1e-5


def test_links_are_made_listed_used_and_taken_away(api: Api, shelf: Shelf) -> None:
    fill(api, shelf)
    path = f"{MEMORY}/projects/{OTHER}/links?appId=chat"
    asked = {"sourceProject": PROJECT, "sourceSession": "kites", "reason": "the same uploader"}
    made = api.ask("POST", path, 201, json=asked)
    assert api.ask("GET", path)["links"] == [made]
    assert api.refused(409, "POST", path, json=asked)["code"] == "already_linked"
    (found,) = search(api, {"text": "uploader"}, f"{MEMORY}/projects/{OTHER}/search")["results"]
    assert found["isLinked"]
    api.refused(404, "DELETE", f"{MEMORY}/links/{made['linkId']}?appId=email")
    api.ask("DELETE", f"{MEMORY}/links/{made['linkId']}?appId=chat")
    assert api.ask("GET", path)["links"] == []
    api.refused(404, "DELETE", f"{MEMORY}/links/{made['linkId']}?appId=chat")
    api.refused(404, "POST", path, json=asked | {"sourceSession": "nobody"})
