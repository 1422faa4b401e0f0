"""While the model's server is away, over each database: what needs it waits, visibly and for nothing, and goes on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest
from sqlalchemy import func, select

from loop.regulator import Regulator
from loop.steps.relay_jobs import kinds_in_need
from loop.steps.upkeep import ProbeProvider, Upkeep
from shared.base.errors import ProviderAway
from shared.contracts.jobs import JobKind
from shared.energy import ledger
from shared.energy.models import Spending
from shared.jobs import dispatch
from shared.jobs.dispatch import NewJob, enqueue
from shared.jobs.models import Deferral, Job, JobState
from shared.llm.providers import ModelProbe, make_chat
from tests.support.embedding import ScriptedEmbedder
from tests.support.house import House
from tests.support.minds import WINDOW
from tests.support.model_server import Act, ModelServer
from tests.support.ollama_answers import asked as question_of
from tests.support.providers import CHATS, SERVERS
from tests.support.relaying import Relay
from tests.support.settings import default_settings, served_at
from worker.agent.memory_model import ModelAgent

AWAY = ProviderAway("Ollama cannot be reached at http://127.0.0.1:11434. Is it running?")
NEED_SERVER = kinds_in_need(default_settings(model="ollama:tiny"))


class Outage:
    """Relay, worker, upkeep and probe of an installation whose server a test takes away and brings back."""

    def __init__(self, house: House, in_flight: int = 32) -> None:
        self.house = house
        settings = default_settings(energy_refill_per_second=1000.0, in_flight_jobs=in_flight)
        self.relay = Relay(house, Regulator(house.database, house.clock, settings), need_server=NEED_SERVER)
        self.is_there = True
        self.looks = 0
        self.upkeep = Upkeep(house.database, house.clock, house.settings, house.metrics)
        self.probe = ProbeProvider(house.database, house.clock, self._look)
        house.scripted.while_thinking = self._refuse

    def _look(self) -> bool:
        assert not self.house.database.is_held_here, "a transaction is open while the server is asked"
        self.looks += 1
        return self.is_there

    def _refuse(self) -> None:
        if not self.is_there:
            raise AWAY

    def tick(self) -> None:
        """Do once what the loop's tick does, and what workers do with what it sends, as often as energy runs out."""
        self.upkeep.run()
        self.probe.run()
        self.relay.run_all()
        while any(job.deferral == Deferral.ENERGY for job in self.house.jobs(state=JobState.DEFERRED)):
            self.house.clock.advance(1)
            self.relay.run_all()


@pytest.fixture
def outage(house: House) -> Outage:
    return Outage(house)


def test_what_comes_meanwhile_waits_too_without_being_begun_and_all_go_on_in_order(
    house: House, outage: Outage
) -> None:
    house.converse("notes", "c0", "text 0")
    outage.is_there = False
    outage.tick()
    house.install("other")
    for number in range(1, 5):
        house.converse("notes" if number % 2 else "other", f"c{number}", f"text {number}")
    outage.tick()
    assert {(job.state, job.deferral) for job in house.jobs()} == {(JobState.DEFERRED, Deferral.PROVIDER)}
    assert len(house.scripted.seen) == 0 and sum(job.fence for job in house.jobs()) == 3, "only the first was sent"
    outage.is_there = True
    outage.tick()
    assert {job.state for job in house.jobs()} == {JobState.DONE}
    mine = [seen.turns[0].content for seen in house.scripted.seen]
    assert [text for text in mine if text in ("text 0", "text 1", "text 3")] == ["text 0", "text 1", "text 3"]


def test_what_needs_no_model_goes_on_though_it_stands_behind_what_does(house: House, outage: Outage) -> None:
    house.settings = house.settings.model_copy(update={"facts": True})
    house.converse("notes", "c1", "I keep bees.")
    outage.is_there = False
    outage.tick()
    house.converse("notes", "c2", "I keep goats.")
    with house.database.write() as session:
        enqueue(session, NewJob(JobKind.INDEX_MESSAGES, "notes", "index", priority=9), house.clock.now())
    outage.tick()
    ended = {JobState.DONE, JobState.NOTHING}
    assert {job.state for job in house.jobs(kind=JobKind.INDEX_MESSAGES)} <= ended
    facts = house.jobs(kind=JobKind.EXTRACT_FACTS)
    assert len(facts) == 2 and {job.state for job in facts} <= ended
    assert {job.state for job in house.jobs(kind=JobKind.CREATE_MEMORY)} == {JobState.DEFERRED}


def test_the_server_is_looked_for_only_while_something_waits_for_it(house: House, outage: Outage) -> None:
    outage.tick()
    house.converse("notes", "c1", "text")
    outage.tick()
    assert outage.looks == 0
    outage.is_there = False
    for number in range(20):
        house.converse("notes", f"d{number}", "text")
    outage.tick()
    outage.tick()
    assert outage.looks == 1, "one look for all of them"


def test_no_memory_goes_because_the_server_went_between_draft_and_compaction(house: House, outage: Outage) -> None:
    for number in range(10):
        house.converse("notes", f"c{number}", f"memory {number}")
    outage.tick()
    before = house.contents()
    house.scripted.decides = [AWAY]
    house.converse("notes", "late", "memory 10")
    house.clock.advance(1)
    outage.relay.run_all()
    assert house.contents() == before and house.jobs()[0].deferral == Deferral.PROVIDER
    outage.tick()
    assert house.jobs()[0].state == JobState.DONE and "memory 10" in house.contents()


def test_vectors_wait_for_a_server_that_embeds(house: House) -> None:
    embedder = ScriptedEmbedder(house)
    house.embedder = embedder
    house.converse("notes", "c1", "I keep bees.")
    house.work_off()
    embedder.fails = [AWAY]
    assert house.ask_for_vectors()
    relay = Relay(house, Regulator(house.database, house.clock, default_settings()))
    relay.run_all()
    job = house.jobs()[0]
    assert (job.kind, job.deferral, job.attempts) == (JobKind.EMBED_MESSAGES, Deferral.PROVIDER, 0)
    assert not house.ask_for_vectors(), "it is not asked for a second time"
    assert ProbeProvider(house.database, house.clock, lambda: True).run()
    relay.run_all()
    assert house.jobs()[0].state == JobState.DONE


def test_more_jobs_than_are_resumed_at_a_time_all_go_on(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dispatch, "DEFER_LIMIT", 3)
    outage = Outage(house)
    for number in range(8):
        house.install(f"app{number}")
        house.converse(f"app{number}", "c1", "text")
    outage.is_there = False
    outage.tick()
    assert {job.deferral for job in house.jobs()} == {Deferral.PROVIDER}
    outage.is_there = True
    outage.tick()
    assert {job.state for job in house.jobs()} == {JobState.DONE}


@pytest.mark.parametrize(
    ("settings", "kinds"),
    [
        ({}, set()),
        ({"model": "ollama:tiny"}, {"create_memory", "summarise", "learn_from_sessions"}),
        ({"model": "ollama:tiny:1b"}, {"create_memory"}),
        ({"model": "ollama:tiny", "model_size": "small"}, {"create_memory"}),
        ({"model": "ollama:tiny:1b", "model_size": "large"}, {"create_memory", "summarise", "learn_from_sessions"}),
        ({"embedding": "ollama:embedder"}, {"embed_messages"}),
        ({"embedding": "ngrams"}, set()),
    ],
    ids=["nothing", "a model", "a small model", "said to be small", "said to be large", "an embedder", "letters"],
)
def test_only_kinds_that_a_server_is_needed_for_wait_for_it(settings: dict[str, str], kinds: set[str]) -> None:
    assert kinds_in_need(default_settings(**settings)) == kinds


@pytest.fixture(params=CHATS)
def provider(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def with_model(sqlite_url: str, provider: str) -> Iterator[tuple[House, ModelServer]]:
    """An installation whose memories a model writes, over the wire, and its server, which a proxy stands before."""
    with SERVERS[provider]() as server:
        chat = make_chat(f"{provider}:tiny", served_at(server.url, WINDOW))
        house = House(sqlite_url, ModelAgent(chat, chat.name, WINDOW, 60.0))
        house.install()
        yield house, server
        chat.close()
        house.database.dispose()


@pytest.mark.parametrize("away", [503, 0], ids=["a proxy says so", "the connection breaks"])
def test_a_job_waits_for_a_server_of_any_protocol_until_a_look_at_it_finds_it_back(
    with_model: tuple[House, ModelServer], provider: str, away: int
) -> None:
    house, server = with_model
    outage = Outage(house)
    outage.probe.is_there = ModelProbe(served_at(server.url, WINDOW, model=f"{provider}:tiny"))
    server.script.away = away
    house.converse("notes", "c1", "I keep bees.")
    for _ in range(3):
        outage.tick()
        [job] = house.jobs()
        assert (job.state, job.deferral, job.attempts) == (JobState.DEFERRED, Deferral.PROVIDER, 0)
        house.clock.advance(600)
    assert _paid(house) == (0, 0, 0)
    server.script.away = None
    outage.tick()
    assert [(job.state, job.attempts) for job in house.jobs()] == [(JobState.DONE, 1)]
    assert house.contents() == ["I keep bees."]


def test_a_model_that_the_server_does_not_have_is_waited_for_until_a_person_mends_it(
    with_model: tuple[House, ModelServer], provider: str
) -> None:
    house, server = with_model
    outage = Outage(house)
    outage.probe.is_there = ModelProbe(served_at(server.url, WINDOW, model=f"{provider}:tiny"))
    models, server.script.models = server.script.models, ["other:latest"]
    for number in range(3):
        house.converse("notes", f"c{number}", f"I keep bees of kind {number}.")
        # Tried once more where the server's list is not sure to be whole, and not again for a while.
        outage.tick()
    asked = len(server.chats)
    for _ in range(house.settings.job_max_attempts + 1):
        house.clock.advance(3600)
        outage.tick()
    assert len(server.chats) == asked
    what = "Run: ollama pull tiny" if provider == "ollama" else "has no model tiny"
    for job in house.jobs():
        assert (job.state, job.deferral, job.attempts) == (JobState.DEFERRED, Deferral.PROVIDER, 0)
        assert what in (job.reason or ""), "also of those that were not sent"
    assert _paid(house)[1:] == (0, 0), "what was refused costs nothing"
    server.script.models = models
    outage.tick()
    assert {(job.state, job.attempts) for job in house.jobs()} == {(JobState.DONE, 1)}
    assert house.counted("memories_created_total", agent="model") == 3


@pytest.mark.parametrize(
    ("act", "reason"),
    [
        pytest.param(Act(status=429), "status 429", id="429"),
        pytest.param(Act(status=500), "status 500", id="500"),
        pytest.param(Act(answer="and so on " * 4, close_after=1), "broke off", id="breaks"),
    ],
)
def test_a_server_that_fails_is_asked_again_later_and_a_dead_letter_says_what_it_did(
    with_model: tuple[House, ModelServer], act: Act, reason: str
) -> None:
    house, server = with_model
    house.converse("notes", "c1", "I keep bees.")
    server.will(act, act)
    outage = Outage(house)
    outage.tick()
    [job] = house.jobs()
    assert (job.state, job.attempts) == (JobState.RETRYING, 1) and reason in (job.reason or "")
    server.will(*[act] * 2 * house.settings.job_max_attempts)
    for _ in range(house.settings.job_max_attempts):
        house.clock.advance(600)
        outage.tick()
    [job] = house.jobs()
    assert job.state == JobState.DEAD and reason in (job.reason or "")


@pytest.mark.long
@pytest.mark.parametrize("jobs", [24, 200])
def test_jobs_outlast_thirty_minutes_without_a_server_and_cost_nothing_meanwhile(
    with_model: tuple[House, ModelServer], jobs: int
) -> None:
    house, server = with_model
    outage = Outage(house)
    for number in range(8):
        house.install(f"app{number}")
    for number in range(10):
        house.converse(f"app{number % 8}", f"c{number}", f"I keep bees of kind {number}.")
    outage.tick()
    paid = _paid(house)
    server.script.away, outage.is_there = 503, False
    for number in range(10, 10 + jobs):
        house.converse(f"app{number % 8}", f"c{number}", f"I keep bees of kind {number}.")
    asked = len(server.chats)
    for _ in range(360):
        outage.tick()
        house.clock.advance(5)
    waiting = [job for job in _all_jobs(house) if job.state == JobState.DEFERRED]
    assert len(waiting) == jobs and {job.attempts for job in waiting} == {0}
    assert _paid(house) == paid
    assert outage.looks == 359 and len(server.chats) - asked <= 64, "few found out, and nobody else asked"
    server.script.away, outage.is_there = None, True
    outage.tick()
    assert Counter(job.state for job in _all_jobs(house)) == {JobState.DONE: 10 + jobs}
    said = [question_of(body) for body in server.asked[asked:] if "memory" in str(body["format"])]
    assert all(sum(f"of kind {number}." in text for text in said) >= 1 for number in range(10, 10 + jobs))
    assert house.counted("memories_created_total", agent="model") == 10 + jobs, "none twice"


def _paid(house: House) -> tuple[int, int, int]:
    with house.database.read() as session:
        rows = session.scalar(select(func.count()).select_from(Spending)) or 0
        total = session.scalar(select(func.sum(Spending.micro))) or 0
        return rows, int(total), sum(ledger.reserved(session, house.clock.now()))


def _all_jobs(house: House) -> list[Job]:
    with house.database.read() as session:
        return list(session.scalars(select(Job).order_by(Job.seq)))
