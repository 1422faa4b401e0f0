"""Sessions and their versions are found by what they are about, as they are now, and never by another app."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import func, select, update

from loop.steps.sessions import IndexSessions
from shared.base.errors import Conflict, NotFound
from shared.sessions.models import KeepitMarker, RecordedSession, SessionPassage, SessionWord
from shared.sessions.queries import get_project
from shared.sessions.registry.registration import unregister
from shared.sessions.search.index import index_session
from shared.sessions.search.queries import link_session, unlink_session
from shared.sessions.search.query import DateRange, SessionHit, SessionHitKind, SessionQuery, WeightRange, find_sessions
from shared.sessions.search.suggestions import WorkSituation, past_sessions
from tests.support.compressing import Press, long_talk, uniform
from tests.support.house import House
from tests.support.recordings import PROJECT, Shelf

pytestmark = pytest.mark.both_databases

OTHER = "-home-me-boats"


@pytest.fixture
def shelf(house: House, tmp_path: Path) -> Shelf:
    return Shelf(house, tmp_path)


def index(shelf: Shelf) -> None:
    step = IndexSessions(shelf.house.database, shelf.store)
    while step.run():
        pass


def search(
    shelf: Shelf, wanted: SessionQuery, project_id: str | None = None, app_id: str = "notes", offset: int = 0
) -> list[SessionHit]:
    with shelf.house.database.read() as session:
        project = None if project_id is None else get_project(session, app_id, project_id)
        return find_sessions(session, app_id, project, wanted, shelf.house.clock.now(), offset)[0]


def ids(hits: Iterable[SessionHit]) -> list[str]:
    return [one.facts.recorded.session_id for one in hits]


def count(shelf: Shelf, model: type) -> int:
    with shelf.house.database.read() as session:
        return session.scalar(select(func.count()).select_from(model)) or 0


def test_a_session_is_found_by_its_words_once_it_is_indexed(shelf: Shelf) -> None:
    shelf.add(shelf.transcript("one").human("Make the uploader retry after a timeout.").assistant("Done: upload.py."))
    shelf.add(shelf.transcript("two").human("Paint the kite blue."))
    assert search(shelf, SessionQuery(text="uploader timeout")) == []
    index(shelf)
    (hit,) = search(shelf, SessionQuery(text="uploader timeouts"))
    assert hit.facts.recorded.session_id == "one" and hit.number is None
    assert hit.snippet is not None and hit.passage is not None
    assert {hit.snippet.text[a:b] for a, b in hit.snippet.marks} == {"uploader", "timeout"}
    assert hit.passage.message_uuid == "one-0"


def test_what_was_added_since_is_found_and_nothing_twice(shelf: Shelf) -> None:
    transcript = shelf.transcript("one").human("Make the uploader retry.")
    shelf.add(transcript)
    index(shelf)
    transcript.human("Now the downloader.")
    shelf.sync(transcript)
    assert search(shelf, SessionQuery(text="downloader")) == []
    index(shelf)
    assert ids(search(shelf, SessionQuery(text="downloader"))) == ["one"]
    assert count(shelf, SessionPassage) == 2


def test_a_session_that_grew_while_it_was_read_is_read_again(shelf: Shelf) -> None:
    transcript = shelf.transcript("one").human("Make the uploader retry.")
    shelf.add(transcript)
    with shelf.house.database.write() as session:
        session.execute(update(RecordedSession).values(indexed_bytes=-1))
    index(shelf)
    transcript.human("Now the downloader.")
    shelf.sync(transcript)
    with shelf.house.database.read() as session:
        recorded = session.scalars(select(RecordedSession)).one()
        assert recorded.indexed_bytes < recorded.size_bytes
    index(shelf)
    with shelf.house.database.read() as session:
        recorded = session.scalars(select(RecordedSession)).one()
        assert recorded.indexed_bytes == recorded.size_bytes


def test_unregistering_takes_away_all_it_was_found_by(shelf: Shelf) -> None:
    shelf.add(shelf.transcript("one").human("Make the uploader retry."))
    index(shelf)
    assert count(shelf, SessionWord) > 0
    with shelf.house.database.write() as session:
        unregister(session, "notes", "one", shelf.cause("a test"))
    assert (count(shelf, SessionPassage), count(shelf, SessionWord)) == (0, 0)
    with pytest.raises(NotFound):
        index_session(shelf.house.database, shelf.store, "notes", "one")


def test_an_original_that_cannot_be_read_stops_no_other(shelf: Shelf) -> None:
    shelf.add(shelf.transcript("one").human("Make the uploader retry."))
    shelf.add(shelf.transcript("two").human("Paint the kite blue."))
    shelf.store.original("notes", PROJECT, "one").unlink()
    index(shelf)
    assert ids(search(shelf, SessionQuery(text="kite"))) == ["two"]


def test_every_condition_that_is_given_must_hold(shelf: Shelf) -> None:
    shelf.add(shelf.transcript("one").human("Fix the retry.").tool("Edit", "ok", file_path="/home/me/kites/up.py"))
    shelf.house.clock.advance(timedelta(days=3).total_seconds())
    marked = "Fix the retry.\n##keepit0.80## Retries stop after five.\n\nGo on."
    shelf.add(shelf.transcript("two").human(marked).tool("Read", "x", file_path="/home/me/kites/down.py"))
    index(shelf)
    then = shelf.house.clock.now() - timedelta(days=1)
    cases: list[tuple[SessionQuery, list[str]]] = [
        (SessionQuery(text="retry"), ["two", "one"]),
        (SessionQuery(text="retry", files=["up.py"]), ["one"]),
        (SessionQuery(text="retry", dateRange=DateRange(start=then)), ["two"]),
        (SessionQuery(text="retry", dateRange=DateRange(end=then)), ["one"]),
        (SessionQuery(text="retry", keepitWeight=WeightRange(min=0.75)), ["two"]),
        (SessionQuery(text="retry", keepitWeight=WeightRange(min=0.81)), []),
        (SessionQuery(text="retry", kinds=[SessionHitKind.VERSION]), []),
        (SessionQuery(files=["kites/up.py", "kites/down.py"]), ["two", "one"]),
        (SessionQuery(text="nobody said this"), []),
    ]
    assert [ids(search(shelf, wanted)) for wanted, _ in cases] == [expected for _, expected in cases]


def test_a_weight_that_was_overridden_is_the_one_that_counts(shelf: Shelf) -> None:
    shelf.add(shelf.transcript("one").human("##keepit0.20## Retries stop after five."))
    index(shelf)
    with shelf.house.database.write() as session:
        session.execute(update(KeepitMarker).values(override_weight=90))
    assert ids(search(shelf, SessionQuery(keepitWeight=WeightRange(min=0.85)))) == ["one"]
    assert ids(search(shelf, SessionQuery(keepitWeight=WeightRange(max=0.5)))) == []


def test_pages_follow_each_other_without_a_gap(shelf: Shelf) -> None:
    for number in range(5):
        shelf.add(shelf.transcript(f"s{number}").human(f"Kite number {number}."))
    index(shelf)
    for wanted in (SessionQuery(text="kite", limit=2), SessionQuery(dateRange=DateRange(), limit=2)):
        pages = [ids(search(shelf, wanted, offset=at)) for at in (0, 2, 4)]
        assert [len(page) for page in pages] == [2, 2, 1]
        assert sorted(one for page in pages for one in page) == [f"s{number}" for number in range(5)]


def test_a_linked_session_is_found_from_the_other_project_until_it_is_unlinked(shelf: Shelf) -> None:
    shelf.add(shelf.transcript("one").human("Paint the kite blue."))
    shelf.add(shelf.transcript("two").human("Sail."), OTHER)
    index(shelf)
    cause = shelf.cause("shared colours")
    assert search(shelf, SessionQuery(text="kite"), OTHER) == []
    with shelf.house.database.write() as session:
        made = link_session(session, "notes", OTHER, PROJECT, "one", "shared colours", cause)
    (hit,) = search(shelf, SessionQuery(text="kite"), OTHER)
    assert hit.facts.is_linked and hit.facts.project_id == PROJECT
    with shelf.house.database.write() as session, pytest.raises(Conflict) as again:
        link_session(session, "notes", OTHER, PROJECT, "one", "again", cause)
    assert again.value.code == "already_linked"
    with shelf.house.database.write() as session:
        unlink_session(session, "notes", made.link.link_id, cause)
    assert search(shelf, SessionQuery(text="kite"), OTHER) == []


@pytest.mark.parametrize(
    ("target", "source", "session_id", "code"),
    [(PROJECT, PROJECT, "one", "own"), (OTHER, OTHER, "one", "not_its_session")],
)
def test_a_link_that_says_nothing_or_something_wrong_is_refused(
    shelf: Shelf, target: str, source: str, session_id: str, code: str
) -> None:
    shelf.add(shelf.transcript("one").human("Paint the kite blue."))
    shelf.add(shelf.transcript("two").human("Sail."), OTHER)
    with shelf.house.database.write() as session, pytest.raises(Conflict) as refused:
        link_session(session, "notes", target, source, session_id, "why", shelf.cause("a test"))
    assert refused.value.code == code


def test_suggestions_know_files_versions_and_how_well_a_session_answers(shelf: Shelf) -> None:
    shelf.add(shelf.transcript("one").human("Fix the retry.").tool("Edit", "ok", file_path="/home/me/kites/up.py"))
    shelf.add(shelf.transcript("two").human("Paint the kite blue."))
    index(shelf)
    with shelf.house.database.read() as session:
        project = get_project(session, "notes", PROJECT)
        at = WorkSituation(text="a blue kite", files=["kites/up.py", "un%named"])
        pasts = past_sessions(session, "notes", project, at)
    assert {one.facts.recorded.session_id: (one.files, one.answers > 0.9) for one in pasts} == {
        "one": (("/home/me/kites/up.py",), False),
        "two": ((), True),
    }


_WORDS = ("kite", "boat", "up.py", "parse_config", "blue", "the", "é", "我们")
_SAID = st.lists(st.sampled_from(_WORDS), min_size=1, max_size=5).map(" ".join)


@given(told=st.lists(st.tuples(st.sampled_from(("ours", "theirs")), _SAID), min_size=1, max_size=4), text=_SAID)
@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_search_of_an_app_brings_a_session_of_another(shelf: Shelf, told: list[tuple[str, str]], text: str) -> None:
    for app_id in {app for app, _ in told}:
        try:
            shelf.house.install(app_id)
        except Conflict:
            continue
    before = count(shelf, RecordedSession)
    for number, (app_id, said) in enumerate(told, before):
        shelf.add(shelf.transcript(f"{app_id}-{number}").human(said), app_id=app_id)
    index(shelf)
    for app_id in {app for app, _ in told}:
        for wanted in (
            SessionQuery(text=text, limit=100),
            SessionQuery(files=["up.py"]),
            SessionQuery(keepitWeight=WeightRange()),
        ):
            assert all(one.startswith(f"{app_id}-") for one in ids(search(shelf, wanted, app_id=app_id)))


def test_a_session_is_found_once_unless_its_versions_are_asked_for(house: House, tmp_path: Path) -> None:
    press = Press(house, tmp_path)
    press.shelf.add(long_talk(press.shelf.transcript("one"), 5))
    for ratio in (2, 3):
        press.make("one", uniform(ratio))
    index(press.shelf)
    assert ids(search(press.shelf, SessionQuery(text="parse_wind_4"))) == ["one"]
    kinds = [SessionHitKind.ORIGINAL, SessionHitKind.VERSION]
    found = search(press.shelf, SessionQuery(text="parse_wind_4", kinds=kinds))
    assert {hit.number for hit in found} == {None, 1, 2} and len(found) == 3
