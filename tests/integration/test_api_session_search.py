"""Sessions and their versions are found by what they are about, as they are now, and never by another app."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from sqlalchemy import func, select, update

from shared.base.errors import NotFound
from shared.sessions.models import RecordedSession, SessionPassage, SessionWord
from shared.sessions.search.index import index_session
from tests.support.compressing import long_talk
from tests.support.recordings import Transcript
from tests.support.sessions import PROJECT, Sessions

pytestmark = pytest.mark.both_databases
OTHER = "-home-me-boats"
FILE = "/home/me/kites/up.py"


def add(sessions: Sessions, transcript: Transcript, project_id: str = PROJECT, app_id: str = "chat") -> None:
    sessions.shelf.add(transcript, project_id, app_id)


def fill(sessions: Sessions) -> None:
    """Register a session of each of two projects, and make them findable."""
    kites = sessions.shelf.transcript("kites").human("Make the uploader retry. ##keepit0.90## Five times at most.")
    add(sessions, kites.tool("Edit", "ok", file_path=FILE).assistant("Done."))
    add(sessions, sessions.shelf.transcript("boats", "/home/me/boats").human("Paint the boat blue."), OTHER)
    sessions.index()


def search(sessions: Sessions, project: str = "", **body: Any) -> list[Any]:
    path = f"/projects/{project}/search" if project else "/sessions/search"
    return list(sessions.ask("POST", path, body=body)["results"])


def ids(found: list[Any]) -> list[str]:
    return [one["sessionId"] for one in found]


def count(sessions: Sessions, model: type) -> int:
    with sessions.house.database.read() as session:
        return session.scalar(select(func.count()).select_from(model)) or 0


def test_what_was_found_comes_with_its_place_and_why_once_it_is_indexed(sessions: Sessions) -> None:
    fill(sessions)
    add(sessions, sessions.shelf.transcript("late").human("An uploader timeout."))
    (found,) = search(sessions, text="uploader retries")
    assert (found["sessionId"], found["projectId"], found["versionId"]) == ("kites", PROJECT, None)
    snippet = found["snippet"]
    assert {snippet["text"][a:b] for a, b in snippet["marks"]} == {"uploader", "retry"}
    assert (snippet["kind"], snippet["messageUuid"]) == ("human", "kites-0")
    assert 0 < found["score"] < 2 and not found["isLinked"]


def test_what_was_added_since_is_found_and_nothing_twice(sessions: Sessions) -> None:
    transcript = sessions.shelf.transcript("one").human("Make the uploader retry.")
    add(sessions, transcript)
    sessions.index()
    sessions.shelf.sync(transcript.human("Now the downloader."), "chat")
    assert search(sessions, text="downloader") == []
    sessions.index()
    assert ids(search(sessions, text="downloader")) == ["one"] and count(sessions, SessionPassage) == 2


def test_a_session_that_grew_while_it_was_read_is_read_again(sessions: Sessions) -> None:
    transcript = sessions.shelf.transcript("one").human("Make the uploader retry.")
    add(sessions, transcript)
    with sessions.house.database.write() as session:
        session.execute(update(RecordedSession).values(indexed_bytes=-1))
    sessions.index()
    sessions.shelf.sync(transcript.human("Now the downloader."), "chat")
    for is_whole in (False, True):
        with sessions.house.database.read() as session:
            recorded = session.scalars(select(RecordedSession)).one()
            assert (recorded.indexed_bytes == recorded.size_bytes) is is_whole
        sessions.index()


def test_unregistering_takes_away_all_it_was_found_by_and_what_cannot_be_read_stops_no_other(
    sessions: Sessions,
) -> None:
    fill(sessions)
    assert count(sessions, SessionWord) > 0
    for project, name in ((PROJECT, "kites"), (OTHER, "boats")):
        sessions.ask("DELETE", f"/projects/{project}/sessions/{name}")
    assert (count(sessions, SessionPassage), count(sessions, SessionWord)) == (0, 0)
    with pytest.raises(NotFound):
        index_session(sessions.house.database, sessions.store, "chat", "kites")
    for name in ("one", "two"):
        add(sessions, sessions.shelf.transcript(name).human("Paint the kite blue."))
    sessions.copy_of("one").unlink()
    sessions.index()
    assert ids(search(sessions, text="kite")) == ["two"]


def test_every_condition_that_is_given_must_hold(sessions: Sessions) -> None:
    shelf = sessions.shelf
    add(sessions, shelf.transcript("one").human("Fix the retry.").tool("Edit", "ok", file_path=FILE))
    sessions.api.clock.advance(timedelta(days=3).total_seconds())
    marked = "Fix the retry.\n##keepit0.20## Retries stop after five.\n\nGo on."
    add(sessions, shelf.transcript("two").human(marked).tool("Read", "x", file_path="/home/me/kites/down.py"))
    sessions.index()
    [marker] = sessions.keepits("two")
    sessions.ask("PUT", f"/sessions/two/keepits/{marker['markerId']}", body={"weight": 0.8})
    then = (sessions.api.clock.now() - timedelta(days=1)).isoformat()
    cases: list[tuple[dict[str, Any], list[str]]] = [
        ({"text": "retry"}, ["two", "one"]), ({"text": "retry", "files": ["up.py"]}, ["one"]),
        ({"text": "retry", "dateRange": {"start": then}}, ["two"]),
        ({"text": "retry", "dateRange": {"end": then}}, ["one"]),
        ({"text": "retry", "keepitWeight": {"min": 0.75}}, ["two"]), ({"keepitWeight": {"max": 0.5}}, []),
        ({"text": "retry", "keepitWeight": {"min": 0.81}}, []), ({"text": "retry", "kinds": ["version"]}, []),
        ({"files": ["kites/up.py", "kites/down.py"]}, ["two", "one"]), ({"text": "nobody said this"}, []),
    ]  # fmt: skip
    assert [ids(search(sessions, **wanted)) for wanted, _ in cases] == [expected for _, expected in cases]


def test_pages_follow_each_other_without_a_gap(sessions: Sessions) -> None:
    for number in range(5):
        add(sessions, sessions.shelf.transcript(f"s{number}").human(f"Kite number {number}."))
    sessions.index()
    for wanted in ({"text": "kite"}, {"dateRange": {}}):
        pages, cursor = list[list[str]](), None
        while cursor or not pages:
            more = {"cursor": cursor} if cursor else {}
            page = sessions.ask("POST", "/sessions/search", body=wanted | {"limit": 2} | more)
            pages, cursor = [*pages, ids(page["results"])], page["cursor"]
        assert [len(page) for page in pages] == [2, 2, 1]
        assert sorted(one for page in pages for one in page) == [f"s{number}" for number in range(5)]


def test_a_session_is_found_from_a_project_it_is_linked_to_until_it_is_unlinked(sessions: Sessions) -> None:
    fill(sessions)
    path, asked = f"/projects/{OTHER}/links", {"sourceProject": PROJECT, "sourceSession": "kites", "reason": "the same"}
    assert search(sessions, OTHER, text="uploader") == []
    made = sessions.ask("POST", path, 201, asked)
    assert sessions.get(path)["links"] == [made]
    (found,) = search(sessions, OTHER, text="uploader")
    assert found["isLinked"] and found["projectId"] == PROJECT
    for wrong, status, code in (
        ({}, 409, "already_linked"), ({"sourceSession": "nobody"}, 404, "not_found"),
        ({"sourceSession": "boats"}, 409, "not_its_session"),
        ({"sourceProject": OTHER, "sourceSession": "boats"}, 409, "own"),
    ):  # fmt: skip
        assert sessions.refused(status, "POST", path, asked | wrong)["code"] == code
    sessions.ask("DELETE", f"/links/{made['linkId']}")
    assert sessions.get(path)["links"] == [] and search(sessions, OTHER, text="uploader") == []
    sessions.refused(404, "DELETE", f"/links/{made['linkId']}")


def test_suggestions_fit_the_budget_and_say_why(sessions: Sessions) -> None:
    fill(sessions)
    situation = {"workingDir": "/home/me/kites", "files": [FILE, "un%named"], "text": "retry", "tokenBudget": 400}
    answer = sessions.ask("POST", f"/projects/{PROJECT}/suggest", body=situation)
    (one,) = answer["suggestions"]
    assert (one["sessionId"], one["versionId"], one["matchedFiles"]) == ("kites", "original", [FILE])
    assert one["component"]["sessionId"] == "kites" and set(one["parts"]) >= {"files", "text"}
    assert answer["suggestedTokens"] == one["suggestedTokens"] <= 400
    assert abs(sum(one["parts"].values()) - one["relevanceScore"]) < 1e-5


_WORDS = ("kite", "boat", "up.py", "parse_config", "blue", "the", "é", "我们")
_SAID = st.lists(st.sampled_from(_WORDS), min_size=1, max_size=5).map(" ".join)


@given(told=st.lists(st.tuples(st.sampled_from(("chat", "email")), _SAID), min_size=1, max_size=4), text=_SAID)
@settings(
    max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture],
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
)  # fmt: skip
def test_no_search_of_an_app_brings_a_session_of_another(
    sessions: Sessions, told: list[tuple[str, str]], text: str
) -> None:
    before = count(sessions, RecordedSession)
    for number, (app_id, said) in enumerate(told, before):
        add(sessions, sessions.shelf.transcript(f"{app_id}-{number}").human(said), app_id=app_id)
    sessions.index()
    for app_id in {app for app, _ in told}:
        for wanted in ({"text": text}, {"files": ["up.py"]}, {"keepitWeight": {"min": 0}}, {"dateRange": {}}):
            found = sessions.ask("POST", "/sessions/search", body=wanted | {"limit": 100}, appId=app_id)["results"]
            assert all(one.startswith(f"{app_id}-") for one in ids(found)), wanted


def test_a_session_is_found_once_unless_its_versions_are_asked_for(sessions: Sessions) -> None:
    add(sessions, long_talk(sessions.shelf.transcript("one"), 5))
    for ratio in (2, 3):
        sessions.compress("one", mode="uniform", compactionRatio=ratio)
    sessions.index()
    assert ids(search(sessions, text="parse_wind_4")) == ["one"]
    found = search(sessions, text="parse_wind_4", kinds=["original", "version"])
    assert sorted(str(one["versionId"]) for one in found) == ["None", "v001", "v002"]
