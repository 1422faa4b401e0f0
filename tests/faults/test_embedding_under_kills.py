"""Workers really killed while they make vectors: each message has them once in the end, and no erased one has any."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from sqlalchemy import select

from shared.conversations.models import Message
from shared.llm.embedding import NgramEmbedder
from shared.llm.minilm import MiniLmEmbedder, is_installed
from shared.search.models import MessageVector, Unembedded, VectorSet, conversation_of, doc_id_of
from tests.faults.fleet import Fleet
from tests.support.faultpoints import Point, ToolResult
from tests.support.waiting import wait_until

SAID = ("I saw a heron.", "It stood by the gate.", "My sister plays the oboe.", "We fly kites.", "Rex barks.")
KILLS = [
    (Point.BEFORE_EMBEDDING, ToolResult.KILL),
    (Point.AFTER_EMBEDDING, ToolResult.KILL_WITH_PARENT),
    (Point.BETWEEN_BATCHES, ToolResult.KILL),
    (Point.AFTER_VECTORS, ToolResult.KILL),
]
pytestmark = [pytest.mark.integration, pytest.mark.timeout(240), pytest.mark.usefixtures("whole")]


def doc_ids(fleet: Fleet, app_id: str) -> list[int | None]:
    with fleet.database.read() as session:
        said = session.execute(select(Message.conversation_key, Message.position).where(Message.app_id == app_id))
        return sorted(doc_id_of(key, position) for key, position in said)


def vectors(fleet: Fleet, app_id: str) -> dict[str, list[int]]:
    """Return the places that have a vector, by the state and model of their set."""
    with fleet.database.read() as session:
        sets = session.scalars(select(VectorSet).where(VectorSet.app_id == app_id)).all()
        rows = {
            f"{one.state} {one.model}": select(MessageVector.doc_id).where(MessageVector.set_key == one.key)
            for one in sets
        }
        return {name: sorted(session.scalars(query)) for name, query in rows.items()}


def is_whole(fleet: Fleet, app_id: str, model: str | None = None) -> bool:
    """Whether each message has one vector in the one set there is, and none waits for any."""
    fleet.revive()
    with fleet.database.read() as session:
        waits = session.scalars(select(Unembedded.doc_id).where(Unembedded.app_id == app_id)).first()
    kept = vectors(fleet, app_id)
    wanted = f"serving {model}" if model else next(iter(kept), "")
    return waits is None and kept == {wanted: doc_ids(fleet, app_id)}


@pytest.mark.parametrize(("point", "result"), KILLS, ids=[point for point, _ in KILLS])
def test_a_worker_killed_while_it_makes_vectors_leaves_none_out_and_makes_none_twice(
    fleet: Fleet, point: Point, result: ToolResult
) -> None:
    app_id = fleet.new_app()
    fleet.points.arm(point, result)
    fleet.converse(app_id, *SAID)
    wait_until(lambda: fleet.points.was_reached(point), 60, f"{point} to be reached")
    wait_until(lambda: is_whole(fleet, app_id), 90, "every message to have its vectors")
    fleet.settle(app_id)
    assert len(doc_ids(fleet, app_id)) == len(SAID)
    assert is_whole(fleet, app_id), vectors(fleet, app_id)


@pytest.mark.parametrize("point", [Point.AFTER_EMBEDDING, Point.BETWEEN_BATCHES])
@pytest.mark.parametrize(
    "whole_app", [pytest.param(False, id="conversation", marks=pytest.mark.long), pytest.param(True, id="app")]
)
def test_erasing_beats_the_making_of_vectors_at_any_step(fleet: Fleet, point: Point, whole_app: bool) -> None:
    app_id = fleet.new_app()
    fleet.points.arm(point, ToolResult.HOLD)
    gone = fleet.converse(app_id, *SAID)
    wait_until(lambda: fleet.points.was_reached(point), 60, f"{point} to be reached")
    erased = {conversation_of(doc_id or 0) for doc_id in doc_ids(fleet, app_id)}
    path = "data" if whole_app else f"conversations/{gone}"
    receipt = fleet.ask("DELETE", f"/apps/{app_id}/{path}")["receipt"]
    assert {receipt["left"][name] for name in ("words", "passages", "vectors")} == {0}, receipt
    fleet.points.let_go(point)
    fleet.converse(app_id, "We met again.", "And again.")
    wait_until(lambda: is_whole(fleet, app_id), 90, "what was said after to have its vectors")
    fleet.settle(app_id)
    with fleet.database.read() as session:
        kept = [*session.scalars(select(MessageVector.doc_id)), *session.scalars(select(Unembedded.doc_id))]
    assert not erased & {conversation_of(doc_id) for doc_id in kept}
    assert len(doc_ids(fleet, app_id)) == 2


@pytest.fixture
def other_model(fleet: Fleet) -> Iterator[None]:
    """Have letters compared from now on instead of the built-in model, until the test is over."""
    before = [dict(process.env) for process in fleet.system.processes]
    restart(fleet, [{**env, "AFTERTHOUGHT_EMBEDDING": "ngrams"} for env in before])
    yield
    fleet.points.disarm()
    restart(fleet, before)


def restart(fleet: Fleet, environments: list[dict[str, str]]) -> None:
    for process, env in zip(fleet.system.processes, environments, strict=True):
        process.stop()
        process.env = env
    fleet.make_whole()


@pytest.mark.long
@pytest.mark.skipif(not is_installed(), reason="there is one embedding model only on this machine")
def test_a_worker_killed_in_a_change_of_model_finishes_it_without_a_gap(
    fleet: Fleet, request: pytest.FixtureRequest
) -> None:
    app_id = fleet.new_app()
    fleet.converse(app_id, *SAID)
    wait_until(lambda: is_whole(fleet, app_id, MiniLmEmbedder.name), 90, "the vectors of the first model")
    for point in (Point.AFTER_EMBEDDING, Point.BETWEEN_BATCHES, Point.AFTER_VECTORS):
        fleet.points.arm(point, ToolResult.KILL)
    request.getfixturevalue("other_model")
    said = doc_ids(fleet, app_id)
    served: list[bool] = []

    def has_changed() -> bool:
        kept = vectors(fleet, app_id)
        served.append(any(state.startswith("serving") and doc_ids == said for state, doc_ids in kept.items()))
        return is_whole(fleet, app_id, NgramEmbedder.name)

    wait_until(has_changed, 90, "the other model to have taken over")
    assert all(served), "a set with every message serves at any moment"
    assert all(map(fleet.points.was_reached, (Point.AFTER_EMBEDDING, Point.BETWEEN_BATCHES, Point.AFTER_VECTORS)))
