"""What the vectors in memory promise, over both databases: they are those of the database, within their bound."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from sqlalchemy import select
from sqlalchemy.orm import Session

from shared.conversations.queries import get_conversation
from shared.erasure.erasing import erase_app, erase_conversation
from shared.llm.embedding import normalised
from shared.search import vectors
from shared.search.index_queries import StoredVector
from shared.search.models import MessageVector, SetState, VectorBlock, VectorErasure, VectorSet, doc_ids_of
from shared.search.search_queries import look_at
from shared.search.vectors import GONE, VectorMatrices, VectorMatrix, clear_retired, exact, unpack
from shared.search.view import SearchRequest
from tests.contracts.test_index_promises import CODE, tell
from tests.support.embedding import ScriptedEmbedder, change_model
from tests.support.house import House
from tests.support.searching import Library


@pytest.fixture
def embedder(house: House) -> ScriptedEmbedder:
    embedder = ScriptedEmbedder(house)
    house.embedder = embedder
    return embedder


def look(house: House, matrices: VectorMatrices, app_id: str = "notes") -> VectorMatrix | None:
    with house.database.read() as session:
        return matrices.of(session, app_id, look_at(session, app_id).vectors)


def erase(house: House, *conversation_ids: str) -> None:
    for conversation_id in conversation_ids:
        with house.database.write() as session:
            erase_conversation(session, "notes", conversation_id, "test", house.clock.now())


def check_matrix(house: House, matrix: VectorMatrix | None, app_id: str = "notes") -> None:
    """Assert that a matrix is what the database holds."""
    with house.database.read() as session:
        serving = session.scalars(
            select(VectorSet).where(VectorSet.app_id == app_id, VectorSet.state == "serving")
        ).one()
        rows = session.scalars(select(MessageVector).where(MessageVector.set_key == serving.key)).all()
    assert matrix is not None
    kept = sorted((row.doc_id, row.part, row.key) for row in rows)
    read = list(zip(matrix.doc_ids.tolist(), matrix.parts.tolist(), matrix.keys.tolist(), strict=True))
    assert read == kept
    by_key = {row.key: unpack(row.vector) for row in rows}
    query = next(iter(by_key.values()))
    query = query / np.linalg.norm(query)
    estimated = matrix.likeness(matrix.distances(query))
    with house.database.read() as session:
        cosines = exact(session, matrix, np.arange(len(read)), query)
    assert np.allclose(cosines, [by_key[key] @ query for _, _, key in read], atol=1e-4)
    assert np.abs(estimated - cosines).max() < 0.7
    assert int(estimated.argmax()) == int(cosines.argmax())


@pytest.mark.both_databases
def test_a_matrix_follows_what_is_said_erased_and_changed(house: House, embedder: ScriptedEmbedder) -> None:
    matrices = VectorMatrices(10**7)
    assert look(house, matrices) is None
    tell(house, "notes", "c1", "a heron", CODE)
    tell(house, "notes", "c2", "a swan")
    house.embed()
    check_matrix(house, first := look(house, matrices))
    assert look(house, matrices) is first, "nothing is new"
    tell(house, "notes", "c1", "another heron", CODE)
    house.embed()
    check_matrix(house, look(house, matrices))
    erase(house, "c2")
    check_matrix(house, look(house, matrices))
    tell(house, "notes", "c3", "a third")
    house.embed()
    check_matrix(house, look(house, matrices))
    change_model(house, "ollama:second", embedder, dimensions=96)
    house.embed()
    check_matrix(house, after := look(house, matrices))
    assert after is not None
    assert (after.model, after.dimensions) == ("ollama:second", 96)
    with house.database.write() as session:
        erase_app(session, "notes", "test", house.clock.now())
    assert look(house, matrices) is None
    assert matrices.bytes == 0


def test_a_row_that_was_erased_after_a_matrix_was_read_is_like_nothing(
    house: House, embedder: ScriptedEmbedder
) -> None:
    tell(house, "notes", "c1", "a heron")
    tell(house, "notes", "c2", "a swan")
    house.embed()
    matrix = look(house, VectorMatrices(10**7))
    assert matrix is not None
    erase(house, "c1")
    query = normalised(embedder.vector_of("a swan")[None])[0]
    with house.database.read() as session:
        cosines = exact(session, matrix, np.array([1, 0, 1]), query)
    assert cosines[1] == GONE
    assert cosines[0] == cosines[2] > 0.99


def test_matrices_stay_within_their_memory_and_the_one_asked_for_last_stays(
    house: House, embedder: ScriptedEmbedder
) -> None:
    for app_id in ("app1", "app2", "app3"):
        house.install(app_id)
        tell(house, app_id, "c1", *[f"heron {n}" for n in range(10)])
    house.embed()
    one = look(house, VectorMatrices(10**7), "app1")
    assert one is not None
    matrices = VectorMatrices(2 * one.bytes)
    for app_id in ("app1", "app2", "app1", "app3"):
        check_matrix(house, look(house, matrices, app_id), app_id)
        assert matrices.bytes <= 2 * one.bytes
    kept = look(house, matrices, "app1")
    assert look(house, matrices, "app1") is kept, "app2 was asked for least lately"
    tiny = VectorMatrices(1)
    check_matrix(house, look(house, tiny, "app2"), "app2")
    check_matrix(house, look(house, tiny, "app3"), "app3")
    assert tiny.bytes == one.bytes, "one that is larger than the bound is kept alone"


def test_a_query_by_a_model_that_came_to_return_other_vectors_is_answered_by_words(house: House) -> None:
    library = Library(house)
    library.tell("boats", "The yacht needs paint.")
    house.embed()
    library.embedder = ScriptedEmbedder(house, library.embedder.name, dimensions=96)
    found = library.finder.find("notes", SearchRequest("paint"))
    assert ([hit.message_id for hit in found.hits], found.degraded, found.query) == (["boats-0"], ("embedding",), None)


class VectorReads:
    """Counts the vectors that are read for matrices: whole, and by their signs in blocks."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.whole = self.in_blocks = 0
        after, blocks = vectors.vectors_after, vectors.read_blocks

        def vectors_after(session: Session, set_key: int, last: int, limit: int) -> Sequence[StoredVector]:
            rows = after(session, set_key, last, limit)
            self.whole += len(rows)
            return rows

        def read_blocks(session: Session, serving: VectorSet) -> vectors.Signs:
            rows = blocks(session, serving)
            self.in_blocks += len(rows)
            return rows

        monkeypatch.setattr(vectors, "vectors_after", vectors_after)
        monkeypatch.setattr(vectors, "read_blocks", read_blocks)


def tell_many(house: House) -> int:
    """Have twelve conversations embedded in turns, so that a block has some of several; return how many vectors."""
    for turn in range(2):
        for number in range(12):
            tell(house, "notes", f"c{number}", f"heron {number} {turn}", f"swan {turn} {number}")
        house.embed()
    return 48


def test_a_large_set_is_read_from_blocks_and_the_rest_whole(
    house: House, embedder: ScriptedEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vectors, "PER_BLOCK", 10)
    count = tell_many(house)
    read = VectorReads(monkeypatch)
    check_matrix(house, look(house, VectorMatrices(10**7)))
    assert (read.in_blocks, read.whole) == (40, count - 40)


@pytest.mark.both_databases
def test_the_search_after_an_erasure_reads_no_vector_anew_and_holds_none_that_is_gone(
    house: House, embedder: ScriptedEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vectors, "PER_BLOCK", 10)
    tell_many(house)
    mine, of_another_process = VectorMatrices(10**7), VectorMatrices(10**7)
    look(house, mine)
    look(house, of_another_process)
    for number in (3, 11):
        with house.database.read() as session:
            gone = doc_ids_of(get_conversation(session, "notes", f"c{number}").key)
        erase(house, f"c{number}")
        read = VectorReads(monkeypatch)
        for matrices in (mine, of_another_process):
            check_matrix(house, look(house, matrices))
        assert (read.in_blocks, read.whole) == (0, 0)
        with house.database.read() as session:
            kept = vectors.read_blocks(session, session.scalars(select(VectorSet)).one())["doc_id"]
        assert not ((gone[0] <= kept) & (kept <= gone[1])).any(), "no bit of what is erased stays"
    check_matrix(house, look(house, VectorMatrices(10**7)))
    tell_many(house)
    read = VectorReads(monkeypatch)
    check_matrix(house, look(house, mine))
    assert (read.in_blocks, read.whole) == (0, 48)
    check_matrix(house, look(house, VectorMatrices(10**7)))


def test_who_missed_too_many_erasures_reads_everything_anew(
    house: House, embedder: ScriptedEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vectors, "MOST_ERASURES", 2)
    tell_many(house)
    matrices = VectorMatrices(10**7)
    look(house, matrices)
    for number in range(3):
        erase(house, f"c{number}")
    with house.database.read() as session:
        assert sorted(session.scalars(select(VectorErasure.number))) == [2, 3]
    read = VectorReads(monkeypatch)
    check_matrix(house, look(house, matrices))
    assert read.whole == 36
    with house.database.write() as session:
        erase_app(session, "notes", "test", house.clock.now())
    with house.database.read() as session:
        assert [*session.scalars(select(VectorErasure)), *session.scalars(select(VectorBlock))] == []


def test_a_set_that_is_taken_back_while_it_is_removed_has_no_signs_of_what_is_gone(
    house: House, embedder: ScriptedEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vectors, "PER_BLOCK", 10)
    tell_many(house)
    with house.database.write() as session:
        one = session.scalars(select(VectorSet)).one()
        one.state = SetState.RETIRED
        session.flush()
        clear_retired(session, "notes", limit=7)
        one.state = SetState.SERVING
    check_matrix(house, look(house, VectorMatrices(10**7)))
