"""Extraction over each database: what was seen and what is known agree, nothing is skipped, nothing doubled."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from datetime import timedelta

import pytest

from loop.steps.due_jobs import EnqueueExtraction
from shared.apps.queries import get_app, lock_app
from shared.base.audit import Cause
from shared.base.choices import Category
from shared.base.errors import Transient
from shared.contracts.jobs import JobKind
from shared.conversations.lifecycle import NewConversation, NewMessage, Role, append_messages, end, start
from shared.conversations.models import Conversation
from shared.conversations.queries import get_conversation, lock_conversation
from shared.erasure.erasing import clear_facts, settle_clear
from shared.facts.editing import undo_clear
from shared.facts.models import FactMention
from shared.jobs.models import JobState
from shared.jobs.ownership import Claim
from tests.support.embedding import Away
from tests.support.house import House
from worker.agent.protocol import Extraction, Statement
from worker.pipelines.extract_facts import ExtractFacts, UnreadMessages

APP = "notes"


@pytest.fixture(autouse=True)
def extracting(house: House) -> None:
    house.settings = house.settings.model_copy(update={"facts": True})


def open_conversation(house: House, conversation_id: str = "c1", user_id: str | None = None) -> None:
    with house.database.write() as session:
        start(session, APP, NewConversation(conversation_id, user_id), house.clock.now())


def speak(house: House, *said: str, conversation_id: str = "c1", roles: Sequence[Role] = ()) -> None:
    """Say something, user and assistant in turn unless ``roles`` are given."""
    house.clock.advance(1)
    with house.database.write() as session:
        conversation = lock_conversation(session, APP, conversation_id)
        before = conversation.message_count
        by_turns = [(Role.USER, Role.ASSISTANT)[place % 2] for place in range(before, before + len(said))]
        messages = [
            NewMessage(role, text, f"{conversation_id}-m{before + place}")
            for place, (role, text) in enumerate(zip(roles or by_turns, said, strict=True))
        ]
        append_messages(session, conversation, messages, house.clock.now(), fact_settings=house.settings)


def finish(house: House, conversation_id: str = "c1") -> None:
    with house.database.write() as session:
        conversation = lock_conversation(session, APP, conversation_id)
        end(
            session,
            conversation,
            get_app(session, APP).purge_epoch,
            None,
            house.clock.now(),
            fact_settings=house.settings,
        )


def tick(house: House) -> bool:
    return EnqueueExtraction(house.database, house.clock, 5).run()


def conversation_of(house: House, conversation_id: str = "c1") -> Conversation:
    with house.database.read() as session:
        return get_conversation(session, APP, conversation_id)


def extractions(house: House) -> list[str]:
    return [job.state for job in reversed(house.jobs(kind=JobKind.EXTRACT_FACTS))]


def statements(house: House) -> list[str]:
    return sorted(fact.statement for fact in house.facts())


FIVE = ("Lives in Lyon", "Nice.", "Plays the oboe", "Lovely.", "Builds kites")


def ask_about_five(house: House) -> None:
    open_conversation(house)
    speak(house, *FIVE)
    house.clock.advance(5)
    tick(house)


def test_after_five_messages_facts_are_asked_for_once_the_debounce_is_over(house: House) -> None:
    open_conversation(house)
    speak(house, *FIVE[:4])
    assert not tick(house)
    speak(house, FIVE[4])
    assert not tick(house)
    house.clock.advance(house.settings.facts_debounce_seconds)
    assert tick(house) and not tick(house)
    house.work_off()
    assert statements(house) == ["Builds kites", "Lives in Lyon", "Plays the oboe"]
    assert conversation_of(house).facts_seen == 5


def test_a_conversation_that_never_pauses_is_due_all_the_same(house: House) -> None:
    open_conversation(house)
    for place in range(10):
        speak(house, f"Statement number {place}")
    assert tick(house)
    house.work_off()
    assert conversation_of(house).facts_seen == 10


def test_what_is_said_while_a_job_is_open_is_read_by_that_job_or_by_the_next(house: House) -> None:
    ask_about_five(house)
    speak(house, "I see.", "Owns a boat", "Good.", "Speaks Welsh", "Fine.")
    house.fact_agent.while_thinking = lambda: interrupt(house)
    house.clock.advance(5)
    tick(house)
    house.work_off()
    assert extractions(house) == ["done"]
    assert conversation_of(house).facts_seen == 10
    house.clock.advance(5)
    assert tick(house)
    house.work_off()
    assert conversation_of(house).facts_seen == 15
    assert sorted(Counter(statements(house)).values()) == [1] * 8


def interrupt(house: House) -> None:
    house.fact_agent.while_thinking = lambda: None
    speak(house, "Grows tomatoes", "Yes.", "Fears spiders", "Oh.", "Collects stamps")


def test_a_conversation_that_falls_silent_is_read_after_a_while(house: House) -> None:
    open_conversation(house)
    speak(house, "Lives in Lyon", "Nice.")
    house.clock.advance(house.settings.facts_flush_minutes * 60 - 1)
    assert not tick(house)
    house.clock.advance(1)
    assert tick(house)
    house.work_off()
    assert statements(house) == ["Lives in Lyon"]


ALONE = [
    pytest.param(["Lives in Lyon"], [Role.USER], id="one user message"),
    pytest.param(["Be kind", "Lives in Lyon"], [Role.SYSTEM, Role.USER], id="a system prompt and one user message"),
    pytest.param(["Lives in Lyon", "42"], [Role.USER, Role.TOOL], id="one user message and a tool's output"),
]


@pytest.mark.parametrize(("said", "roles"), ALONE)
def test_a_user_message_alone_is_read_when_its_conversation_ends_and_not_before(
    house: House, said: list[str], roles: list[Role]
) -> None:
    open_conversation(house)
    speak(house, *said, roles=roles)
    house.clock.advance(3600)
    tick(house)
    assert extractions(house) == []
    finish(house)
    house.work_off()
    assert (extractions(house), statements(house)) == (["done"], ["Lives in Lyon"])
    assert conversation_of(house).facts_seen == len(said)


@pytest.mark.parametrize(
    ("said", "roles"),
    [
        pytest.param(["Hello"], [Role.ASSISTANT], id="one assistant message"),
        pytest.param(["Hello", "Still there?"], [Role.ASSISTANT, Role.ASSISTANT], id="the assistant alone"),
        pytest.param(["Be kind", "Be brief"], [Role.SYSTEM, Role.SYSTEM], id="system prompts alone"),
    ],
)
def test_where_no_user_said_anything_nobody_is_asked(house: House, said: list[str], roles: list[Role]) -> None:
    open_conversation(house)
    speak(house, *said, roles=roles)
    house.clock.advance(3600)
    tick(house)
    finish(house)
    assert extractions(house) == []


def test_what_systems_and_tools_said_and_what_was_recalled_is_not_shown_as_said(house: House) -> None:
    open_conversation(house)
    recalled = "1. [Created: 2026-01-01] [recalled, not an instruction] Lives in Quokkaville"
    speak(house, "Owns a zebra", "Hm.", roles=[Role.SYSTEM, Role.TOOL])
    speak(house, f"{recalled}\nPlays the oboe", "Fine.", roles=[Role.USER, Role.ASSISTANT])
    finish(house)
    house.work_off()
    assert statements(house) == ["Plays the oboe"]
    assert [turn.role for turn in house.fact_agent.seen[0].turns] == ["user", "assistant"]
    assert conversation_of(house).facts_seen == 4


def test_the_end_of_a_conversation_asks_for_what_is_left(house: House) -> None:
    ask_about_five(house)
    house.work_off()
    speak(house, "Fine.", "Speaks Welsh")
    finish(house)
    house.work_off()
    assert "Speaks Welsh" in statements(house)
    later = house.fact_agent.seen[-1]
    assert [turn.content for turn in later.turns] == ["Fine.", "Speaks Welsh"]
    assert [turn.content for turn in later.before] == list(FIVE[1:])
    assert {fact.statement for fact in later.known} == {"Lives in Lyon", "Plays the oboe", "Builds kites"}


def test_each_fact_knows_its_messages_and_its_conversation(house: House) -> None:
    house.converse(APP, "c1", "Lives in Lyon", "Nice.")
    house.work_off()
    [fact] = house.facts()
    with house.database.read() as session:
        [source] = session.query(FactMention).filter_by(fact_id=fact.fact_id).all()
    assert (source.conversation_id, source.message_ids) == ("c1", ["c1-m0"])


def test_what_the_agent_could_not_read_at_once_is_read_next_and_counts_as_seen_only_then(house: House) -> None:
    house.fact_agent.reads = 2
    open_conversation(house)
    speak(house, "Lives in Lyon", "Nice.", "Plays the oboe", "Lovely.", "Builds kites")
    finish(house)
    seen: list[int] = []
    house.fact_agent.while_thinking = lambda: seen.append(conversation_of(house).facts_seen)
    house.work_off()
    assert seen == [0, 2, 4]
    assert statements(house) == ["Builds kites", "Lives in Lyon", "Plays the oboe"]
    assert extractions(house) == ["done"] * 3


def test_more_messages_than_a_job_looks_at_are_all_read(house: House) -> None:
    open_conversation(house)
    # The user, of whose words facts are made, speaks now and then: how much is learnt is not the point.
    roles = [Role.USER if place % 15 == 0 else Role.ASSISTANT for place in range(450)]
    speak(house, *(f"Statement number {place}" for place in range(450)), roles=roles)
    finish(house)
    house.work_off()
    assert conversation_of(house).facts_seen == 450
    assert sum(len(one.turns) for one in house.fact_agent.seen) == 450


def test_a_failed_extraction_moves_nothing_and_is_made_good_by_the_next(house: House) -> None:
    house.fact_agent.says = [Transient("away")]
    ask_about_five(house)
    house.deliver()
    assert extractions(house) == ["retrying"]
    assert (conversation_of(house).facts_seen, statements(house)) == (0, [])
    house.clock.advance(600)
    house.work_off()
    assert (conversation_of(house).facts_seen, len(statements(house))) == (5, 3)


def test_what_a_dead_job_left_unread_is_read_when_more_is_said(house: House) -> None:
    house.fact_agent.says = [Transient("away") for _ in range(5)]
    ask_about_five(house)
    for _ in range(5):
        house.deliver()
        house.clock.advance(600)
    assert extractions(house) == ["dead"]
    speak(house, "Fine.")
    house.clock.advance(5)
    assert tick(house)
    house.work_off()
    assert (conversation_of(house).facts_seen, len(statements(house))) == (6, 3)


@pytest.mark.parametrize(
    "forget", [House.purge, House.erase_app, House.erase], ids=["purge", "all data", "the conversation"]
)
def test_forgetting_beats_an_extraction_in_flight(house: House, forget: Callable[[House], object]) -> None:
    house.converse(APP, "c1", "Lives in Quokkaville", "Nice.")
    house.fact_agent.while_thinking = lambda: forget(house)
    house.deliver()
    house.deliver()
    assert statements(house) == []
    assert extractions(house) == ["cancelled"] or forget is House.erase


def test_a_purge_does_not_keep_an_open_conversation_from_being_read_later(house: House) -> None:
    ask_about_five(house)
    house.purge()
    house.clock.advance(5)
    assert tick(house)
    house.work_off()
    assert len(statements(house)) == 3


def test_without_the_embedder_facts_are_kept_and_get_their_vectors_later(house: House) -> None:
    house.embedder = embedder = Away()
    house.converse(APP, "c1", "Lives in Lyon", "Nice.")
    house.work_off()
    assert [fact.vector for fact in house.facts()] == [None]
    assert house.counted("embedding_failures_total") == 1
    embedder.is_back = True
    house.converse(APP, "c2", "Plays the oboe", "Lovely.")
    house.work_off()
    assert [fact.vector_model for fact in house.facts()] == ["ollama:away"] * 2


def test_facts_of_one_user_are_unknown_to_another(house: House) -> None:
    for user in ("ann", "bob"):
        open_conversation(house, f"c-{user}", user)
        speak(house, f"Lives with {user}", "Nice.", conversation_id=f"c-{user}")
        finish(house, f"c-{user}")
        house.work_off()
    assert [one.known for one in house.fact_agent.seen] == [(), ()]
    assert sorted((fact.user_id, fact.statement) for fact in house.facts()) == [
        ("ann", "Lives with ann"),
        ("bob", "Lives with bob"),
    ]


def test_what_became_of_statements_is_counted(house: House) -> None:
    texts = [f"Owns item number {number}" for number in range(125)]
    found = (Statement(text, Category.PROJECT, ("c1-m0",)) for text in texts)
    house.fact_agent.says = [Extraction(tuple(found), 2)]
    for conversation_id, said in (
        ("c1", "I own many items, each with a number: " + "; ".join(texts)),
        ("c2", texts[-1]),
    ):
        house.converse(APP, conversation_id, said, "Nice.")
        house.work_off()
    assert house.counted("facts_learned_total", agent="model") == 125
    assert house.counted("facts_removed_total", reason="evicted") == 5
    assert house.counted("fact_merges_total", by="text") == 1
    assert house.counted("fact_conflicts_total") == 0


def test_an_old_chat_that_is_brought_in_is_heard_on_that_day(house: House) -> None:
    open_conversation(house)
    long_ago = house.clock.now() - timedelta(days=1000)
    with house.database.write() as session:
        conversation = lock_conversation(session, APP, "c1")
        said = [NewMessage(Role.USER, "Lives in Lyon", created_at=long_ago), NewMessage(Role.ASSISTANT, "Nice.")]
        append_messages(session, conversation, said, house.clock.now(), fact_settings=house.settings)
    finish(house)
    house.work_off()
    [fact] = house.facts()
    assert fact.last_seen > house.clock.now() - timedelta(days=1)


def test_the_lag_is_measured_from_the_message(house: House) -> None:
    open_conversation(house)
    speak(house, *FIVE)
    house.clock.advance(30)
    tick(house)
    house.work_off()
    assert house.counted("extraction_lag_seconds_count") == 3
    assert house.counted("extraction_lag_seconds_sum") == pytest.approx(90, abs=5)


def test_a_clock_set_back_does_not_leave_a_conversation_unread(house: House) -> None:
    house.clock.advance(timedelta(days=400).total_seconds())
    open_conversation(house)
    speak(house, *FIVE)
    house.clock.advance(-timedelta(days=400).total_seconds())
    assert tick(house)
    house.work_off()
    assert conversation_of(house).facts_seen == 5


def clear(house: House, seconds: float) -> None:
    with house.database.write() as session:
        clear_facts(session, APP, Cause("admin", "cleared", house.clock.now()), seconds)


def test_an_extraction_waits_for_a_clear_that_is_open_without_using_up_its_attempts(house: House) -> None:
    ask_about_five(house)
    for _ in range(6):
        clear(house, 60)
        house.deliver()
        assert extractions(house) == ["retrying"] and house.jobs()[0].attempts == 0
        house.clock.advance(59)
        house.deliver()
        assert extractions(house) == ["retrying"]
        with house.database.write() as session:
            lock_app(session, APP)
            undo_clear(session, APP, Cause("admin", "taken back", house.clock.now()))
        house.clock.advance(1)
    house.deliver()
    assert extractions(house) == ["done"]
    assert statements(house) == ["Builds kites", "Lives in Lyon", "Plays the oboe"]


class Interrupted(ExtractFacts):
    """Does something between what it reads and what it writes."""

    meanwhile: Callable[[], object]

    def _read(self, claim: Claim) -> UnreadMessages | None:
        seen = super()._read(claim)
        self.meanwhile()
        return seen


def test_what_is_said_while_a_job_finds_nothing_new_is_asked_for_after_it(house: House) -> None:
    ask_about_five(house)
    clear(house, 1)
    house.clock.advance(1)
    with house.database.write() as session:
        assert settle_clear(session, APP, house.clock.now()) is not None
    pipeline = Interrupted(
        house.database, house.clock, house.fact_agent, house.embedder, house.accountant, house.metrics, house.settings
    )

    def go_on() -> None:
        speak(house, *FIVE)
        house.clock.advance(2)
        tick(house)

    pipeline.meanwhile = go_on
    (claim,) = house.claims()
    assert pipeline(claim) is JobState.NOTHING
    house.clock.advance(2)
    assert tick(house)
    house.work_off()
    assert conversation_of(house).facts_seen == 10
    assert statements(house) == ["Lovely.", "Nice."]


def test_without_a_pace_nothing_is_asked_for(house: House) -> None:
    house.settings = house.settings.model_copy(update={"facts": False})
    open_conversation(house)
    speak(house, *FIVE)
    finish(house)
    house.clock.advance(3600)
    assert not tick(house)
    assert house.work_off() == [JobState.DONE]
