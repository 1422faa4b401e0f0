"""What vectors promise, over both databases: each message comes to have them once, and no erased one keeps any."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace

import pytest
import sqlalchemy as sa
from sqlalchemy import select
from sqlalchemy.orm import Session

from loop.regulator import Regulator
from shared.base.errors import Configuration, LeaseLost, Transient
from shared.energy.budget import to_micro
from shared.erasure.erasing import erase_app, erase_conversation
from shared.jobs.control import abandon_all, replay
from shared.jobs.models import JobState
from shared.jobs.ownership import Claim
from shared.jobs.queries import get_job
from shared.llm.embedding import normalised
from shared.search.index import FillProgress, VectorSetStatus, index_status
from shared.search.models import MessageVector, SetState, Unembedded, conversation_of
from shared.search.passages import passages_of
from shared.search.search_queries import look_at
from shared.search.vectors import VectorMatrices, live_sets, unpack
from tests.contracts.test_index_promises import CODE, fill, messages, tell
from tests.support.embedding import ScriptedEmbedder, change_model
from tests.support.house import PRICES, House
from tests.support.relaying import Relay
from tests.support.settings import default_settings
from worker.pipelines.embed_messages import EmbedMessages

pytestmark = pytest.mark.both_databases


@pytest.fixture
def embedder(house: House) -> ScriptedEmbedder:
    embedder = ScriptedEmbedder(house)
    house.embedder = embedder
    return embedder


def sets(house: House, app_id: str = "notes") -> dict[str, VectorSetStatus]:
    with house.database.read() as session:
        return {one.model: one for one in index_status(session, app_id).sets}


def check_vectors(house: House, *models: str, app_id: str = "notes") -> None:
    """Assert that each set has one vector for each message and passage that stands, of its own words, and no other."""
    said = messages(house, app_id)
    wanted: dict[tuple[int, int], str] = {}
    for one in said:
        doc_id = one.conversation_key << 20 | one.position
        texts = [one.content, *[span.of(one.content) for span in passages_of(one.content)]]
        wanted |= {(doc_id, part): text for part, text in enumerate(texts)}
    with house.database.read() as session:
        assert session.scalars(select(Unembedded.doc_id).where(Unembedded.app_id == app_id)).all() == []
        assert {one.model for one in live_sets(session, app_id)} == set(models)
        for one in live_sets(session, app_id):
            rows = session.scalars(select(MessageVector).where(MessageVector.set_key == one.key)).all()
            kept = {(row.doc_id, row.part): row.vector for row in rows}
            assert len(kept) == len(rows)
            assert kept.keys() == wanted.keys()
            teller = ScriptedEmbedder(house, one.model, dimensions=one.dimensions)
            for key, vector in kept.items():
                expected = normalised(teller.vector_of(wanted[key])[None])[0]
                assert float(unpack(vector) @ expected) > 0.99


def no_vectors_of(house: House, conversation_key: int) -> bool:
    with house.database.read() as session:
        doc_ids = [*session.scalars(select(MessageVector.doc_id)), *session.scalars(select(Unembedded.doc_id))]
    return all(conversation_of(doc_id) != conversation_key for doc_id in doc_ids)


def tell_of_twenty(house: House) -> None:
    """Say something twenty times over, and have it embedded."""
    tell(house, "notes", "c1", *[f"heron {n}" for n in range(20)])
    house.embed()


def test_what_is_said_comes_to_have_vectors_as_a_whole_and_in_passages(
    house: House, embedder: ScriptedEmbedder
) -> None:
    tell(house, "notes", "c1", "a heron", CODE)
    assert house.embed() == [JobState.DONE]
    check_vectors(house, "ollama:first")
    assert house.counted("messages_embedded_total") == 2
    assert not house.ask_for_vectors(), "nothing is left to do"


def test_many_messages_are_embedded_in_batches_the_newest_conversation_first(
    house: House, embedder: ScriptedEmbedder
) -> None:
    tell(house, "notes", "c1", *[f"heron {n}" for n in range(20)])
    tell(house, "notes", "c2", "a swan")
    assert house.embed() == [JobState.DONE]
    check_vectors(house, "ollama:first")
    assert embedder.seen[0] == "a swan"


def hurry(house: House, embedder: ScriptedEmbedder) -> None:
    """Carry out what is due with a clock on which each look takes fifteen seconds."""
    ticks = itertools.count(0, 15)
    parts = (house.database, house.clock, embedder, house.accountant, house.metrics, 8)
    hasty = EmbedMessages(*parts, elapsed=lambda: float(next(ticks)))
    assert [hasty(claim) for claim in house.claims()] == [JobState.DONE]


def test_other_apps_think_while_one_app_has_much_to_embed(house: House, embedder: ScriptedEmbedder) -> None:
    house.install("other")
    # Eight units a batch: all of it costs twice what there is.
    house.accountant = replace(house.accountant, settings=PRICES.model_copy(update={"embedding_price_factor": 10}))
    tell(house, "notes", "c1", *[f"heron {n}" for n in range(200)])
    relay = Relay(house, Regulator(house.database, house.clock, default_settings()))
    house.ask_for_vectors()
    relay.run_all()
    house.converse("other", "o1", "I moved to Lisbon")
    relay.run_all()
    assert house.contents("other") == ["I moved to Lisbon"]
    seconds = 0
    while house.ask_for_vectors() or house.jobs(state="pending") or house.jobs(state="deferred"):
        house.clock.advance(1)
        relay.run_all()
        with house.database.read() as session:
            assert relay.regulator.level(session) > to_micro(20 - 8), "a job draws a batch at most"
        seconds += 1
        assert seconds < 300, "and it comes to an end"
    check_vectors(house, "ollama:first")


@pytest.mark.parametrize("way", ["said", "filled in"])
def test_a_message_too_long_for_one_job_is_embedded_in_parts_by_several(
    house: House, embedder: ScriptedEmbedder, way: str
) -> None:
    long = "\n\n".join(f"Paragraph {n} of the heron. " + f"It flew over lake {n}. " * 80 for n in range(30))
    parts = 1 + len(passages_of(long))
    assert parts > 3 * 8
    tell(house, "notes", "c1", long, "a swan")
    if way == "filled in":
        house.embed()
        embedder.name = "ollama:second"
    embedder.seen.clear()
    jobs = 0
    while house.ask_for_vectors():
        before = len(embedder.seen)
        hurry(house, embedder)
        assert len(embedder.seen) - before <= 3 * 8, "no job goes far beyond its time"
        jobs += 1
    assert jobs > 1 and len(embedder.seen) == parts + 1, "and nothing is embedded twice"
    check_vectors(house, embedder.name)


def test_while_the_embedder_is_away_messages_are_kept_and_catch_up_once_it_is_back(
    house: House, embedder: ScriptedEmbedder
) -> None:
    embedder.fails = [Transient("away")] * 2
    tell(house, "notes", "c1", "a heron")
    house.ask_for_vectors()
    for _ in range(2):
        (claim,) = house.claims()
        with pytest.raises(Transient):
            house.pipeline_of(claim.kind)(claim)
        house.clock.advance(400)
        tell(house, "notes", "c1", "said meanwhile")
        cancel_jobs(house)
        assert house.ask_for_vectors()
    assert house.work_off() == [JobState.DONE]
    check_vectors(house, "ollama:first")


def test_a_dead_job_can_be_replayed_although_it_is_of_no_conversation(house: House, embedder: ScriptedEmbedder) -> None:
    tell(house, "notes", "c1", "a heron")
    house.ask_for_vectors()
    (job,) = house.jobs(kind="embed_messages")
    with house.database.write() as session:
        dead = get_job(session, job.job_id)
        dead.state, dead.finished_at = JobState.DEAD, house.clock.now()
        session.flush()
        replay(session, job.job_id, 0, house.clock.now())
    assert house.work_off() == [JobState.DONE]
    check_vectors(house, "ollama:first")


def test_apps_that_rest_do_not_keep_others_from_their_turn(
    house: House, embedder: ScriptedEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("loop.steps.due_jobs._LIMIT", 1)
    for app_id in ("app1", "app2", "app3"):
        house.install(app_id)
        tell(house, app_id, "c1", "a heron")
    step = house.vector_step()
    assert step.run()
    (first,) = house.jobs(kind="embed_messages")
    with house.database.write() as session:
        dead = get_job(session, first.job_id)
        dead.state, dead.attempts, dead.finished_at = JobState.DEAD, 5, house.clock.now()
    for _ in range(6):
        step.run()
    assert {job.app_id for job in house.jobs(kind="embed_messages")} == {"app1", "app2", "app3"}
    house.clock.advance(299)
    assert not any(step.run() for _ in range(4)), "what failed for good is not tried again in haste"
    house.clock.advance(1)
    assert any(step.run() for _ in range(4))


ERASURES: list[Callable[[Session, House], object]] = [
    lambda session, house: erase_conversation(session, "notes", "c1", "test", house.clock.now()),
    lambda session, house: erase_app(session, "notes", "test", house.clock.now()),
]


@pytest.mark.parametrize("erase", ERASURES, ids=["conversation", "app"])
def test_what_is_erased_while_it_is_embedded_leaves_no_vector(
    house: House, embedder: ScriptedEmbedder, erase: Callable[[Session, House], object]
) -> None:
    tell(house, "notes", "c1", "a heron")
    (gone,) = {one.conversation_key for one in messages(house, "notes")}

    def erase_now() -> None:
        embedder.while_embedding = lambda: None
        with house.database.write() as session:
            erase(session, house)
        tell(house, "notes", "c2", "said after")

    embedder.while_embedding = erase_now
    house.ask_for_vectors()
    (claim,) = house.claims()
    attempt(house, claim)
    assert no_vectors_of(house, gone)
    house.clock.advance(1)
    house.embed()
    assert no_vectors_of(house, gone)
    check_vectors(house, "ollama:first")


def attempt(house: House, claim: Claim) -> JobState | None:
    """Carry a job out that may have been cancelled meanwhile."""
    try:
        return house.pipeline_of(claim.kind)(claim)
    except LeaseLost:
        return None


def test_another_model_takes_over_once_it_has_seen_everything(house: House, embedder: ScriptedEmbedder) -> None:
    tell(house, "notes", "c1", *[f"heron {n}" for n in range(20)], CODE)
    house.embed()
    second = change_model(house, "ollama:second", embedder, dimensions=96)
    seen: list[tuple[SetState, SetState, FillProgress | None]] = []

    def look() -> None:
        now = sets(house)
        seen.append((now["ollama:first"].state, now["ollama:second"].state, now["ollama:second"].fill))
        check_serving(house, "ollama:first", 21)

    second.while_embedding = look
    assert house.embed() == [JobState.DONE]
    assert {one[:2] for one in seen} == {(SetState.SERVING, SetState.FILLING)}
    assert [fill.done for _, _, fill in seen if fill] == [0, 8, 16]
    assert {fill.total for _, _, fill in seen if fill} == {21}
    check_vectors(house, "ollama:second")
    assert list(sets(house)) == ["ollama:second"], "the former model's vectors are gone"
    assert house.counted("messages_filled_in_total", index="vectors") == 21


def check_serving(house: House, model: str, messages_at_least: int) -> None:
    """Assert that searches are served by a model, without a gap."""
    with house.database.read() as session:
        matrix = VectorMatrices(10**7).of(session, "notes", look_at(session, "notes").vectors)
    assert matrix is not None
    assert matrix.model == model
    assert len(set(matrix.doc_ids.tolist())) >= messages_at_least


def test_what_is_said_during_a_change_is_embedded_by_both_models(house: House, embedder: ScriptedEmbedder) -> None:
    tell_of_twenty(house)
    second = change_model(house, "ollama:second", embedder)

    def say_more() -> None:
        second.while_embedding = lambda: None
        tell(house, "notes", "c1", "said meanwhile")

    second.while_embedding = say_more
    house.embed()
    assert "said meanwhile" in embedder.seen
    check_vectors(house, "ollama:second")


@pytest.mark.parametrize("away", [False, True], ids=["gone", "away"])
def test_the_new_model_takes_over_although_the_former_cannot_be_had(
    house: House, embedder: ScriptedEmbedder, away: bool
) -> None:
    tell_of_twenty(house)
    embedder.fails = [Transient("away")] * 100
    second = change_model(house, "ollama:second", *([embedder] if away else []))
    second.while_embedding = lambda: tell(house, "notes", "c1", "more") if len(second.seen) < 9 else None
    house.embed()
    check_vectors(house, "ollama:second")
    assert (house.counted("embedding_failures_total") or 0) == (1 if away else 0)


def interrupted(house: House, embedder: ScriptedEmbedder, after: int) -> None:
    """Have the model in force fail for good after so many texts."""

    def fail() -> None:
        if len(embedder.seen) > after:
            raise Transient("away")

    embedder.while_embedding = fail
    house.ask_for_vectors()
    for claim in house.claims():
        with pytest.raises(Transient):
            house.pipeline_of(claim.kind)(claim)
    embedder.while_embedding = lambda: None


def cancel_jobs(house: House) -> None:
    """Have nothing under way, as after a person cancelled what was."""
    with house.database.write() as session:
        abandon_all(session, "notes", "test", house.clock.now())


def test_a_fill_that_was_interrupted_goes_on_where_it_was(house: House, embedder: ScriptedEmbedder) -> None:
    tell_of_twenty(house)
    second = change_model(house, "ollama:second", embedder)
    interrupted(house, second, after=8)
    assert sets(house)["ollama:second"].fill == FillProgress(8, 20)
    cancel_jobs(house)
    second.seen.clear()
    house.embed()
    assert len(second.seen) == 12, "what was done is not done again"
    check_vectors(house, "ollama:second")


def test_going_back_to_the_former_model_keeps_it_serving_and_completes_it(
    house: House, embedder: ScriptedEmbedder
) -> None:
    tell_of_twenty(house)
    second = change_model(house, "ollama:second")
    interrupted(house, second, after=8)
    cancel_jobs(house)
    tell(house, "notes", "c1", "said while the former was away")
    interrupted(house, second, after=9)
    cancel_jobs(house)
    house.embedder, house.former_embedders = embedder, {}
    house.embed()
    check_vectors(house, "ollama:first")
    assert list(sets(house)) == ["ollama:first"]


def test_what_is_erased_during_a_fill_is_in_neither_set(house: House, embedder: ScriptedEmbedder) -> None:
    tell(house, "notes", "c1", *[f"heron {n}" for n in range(20)])
    tell(house, "notes", "c2", "a swan")
    house.embed()
    second = change_model(house, "ollama:second", embedder)
    gone = messages(house, "notes")[0].conversation_key

    def erase() -> None:
        second.while_embedding = lambda: None
        house.erase()

    second.while_embedding = erase
    house.embed()
    assert no_vectors_of(house, gone)
    check_vectors(house, "ollama:second")


def test_a_model_whose_vectors_change_their_length_is_refused_by_name(house: House, embedder: ScriptedEmbedder) -> None:
    tell(house, "notes", "c1", "a heron")
    house.embed()
    embedder.dimensions = 32
    tell(house, "notes", "c1", "a swan")
    house.ask_for_vectors()
    (claim,) = house.claims()
    with pytest.raises(Configuration, match="32 dimensions instead of 64"):
        house.pipeline_of(claim.kind)(claim)


def test_a_back_fill_asks_for_the_vectors_that_are_lacking_and_no_others(
    house: House, embedder: ScriptedEmbedder
) -> None:
    tell(house, "notes", "c1", "a heron", "a swan", CODE)
    house.embed()
    with house.database.write() as session:
        first = session.scalars(select(MessageVector.key).order_by(MessageVector.doc_id).limit(1)).one()
        session.execute(sa.delete(MessageVector).where(MessageVector.key == first))
        session.execute(sa.delete(MessageVector).where(MessageVector.part == 1))
    embedder.seen.clear()
    fill(house)
    house.work_off()
    house.embed()
    assert sorted({text for text in embedder.seen if len(text) < 10}) == ["a heron"]
    check_vectors(house, "ollama:first")
