"""Summaries over each database: as often as is in force, of what was said and nothing else, and gone when forgotten."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from loop.steps.due_jobs import EnqueueSummaries
from shared.apps.models import Erasure
from shared.apps.queries import lock_app
from shared.base.errors import Transient
from shared.contracts.jobs import JobKind
from shared.conversations import summarising
from shared.conversations.lifecycle import NewConversation, NewMessage, Role, append_messages, end, start
from shared.conversations.models import Conversation
from shared.conversations.queries import get_conversation, lock_conversation
from shared.jobs.models import Job
from shared.search.models import EVERYWHERE
from shared.search.tuning import change_tuning
from shared.summaries.models import Summary
from shared.summaries.queries import of_conversation
from tests.support.embedding import Away
from tests.support.house import House
from worker.agent.protocol import Digest
from worker.pipelines.summarise import NOTHING
from worker.pipelines.turns import BATCH

APP = "notes"


def open_conversation(house: House, conversation_id: str = "c1", app_id: str = APP) -> None:
    with house.database.write() as session:
        start(session, app_id, NewConversation(conversation_id), house.clock.now())


def speak(house: House, *said: tuple[Role, str], conversation_id: str = "c1", app_id: str = APP) -> None:
    house.clock.advance(1)
    with house.database.write() as session:
        conversation = lock_conversation(session, app_id, conversation_id)
        messages = [NewMessage(role, text) for role, text in said]
        append_messages(session, conversation, messages, house.clock.now(), tuning=house.tuning)


def exchange(house: House, count: int, begin: int = 0, conversation_id: str = "c1", app_id: str = APP) -> None:
    """Let a user and the assistant speak in turn."""
    for number in range(begin, begin + count):
        said = ((Role.USER, f"Asks {number}"), (Role.ASSISTANT, f"Says {number}"))
        speak(house, *said, conversation_id=conversation_id, app_id=app_id)


def tick(house: House) -> bool:
    return EnqueueSummaries(house.database, house.clock, 5, house.tuning).run()


def ask_about_five(house: House) -> None:
    open_conversation(house)
    exchange(house, 5)
    tick(house)


def ask(house: House, conversation_id: str = "c1") -> Job | None:
    """Ask on demand."""
    with house.database.write() as session:
        epoch = lock_app(session, APP).purge_epoch
        return summarising.enqueue_summary(
            session, lock_conversation(session, APP, conversation_id), epoch, house.clock.now()
        )


def conversation_of(house: House, conversation_id: str = "c1", app_id: str = APP) -> Conversation:
    with house.database.read() as session:
        return get_conversation(session, app_id, conversation_id)


def summaries(house: House, conversation_id: str = "c1", app_id: str = APP) -> list[Summary]:
    with house.database.read() as session:
        found = of_conversation(session, get_conversation(session, app_id, conversation_id).key)
        return list(reversed(found))


def states(house: House) -> list[str]:
    return [job.state for job in reversed(house.jobs(kind=JobKind.SUMMARISE))]


def tune(house: House, scope: str, frequency: int) -> None:
    with house.database.write() as session:
        wanted = {"summary_frequency": frequency}
        change_tuning(session, house.tuning, scope, wanted, "admin", house.clock.now())


def test_every_fifth_message_of_the_assistant_makes_one_summary_of_what_was_said_since(house: House) -> None:
    open_conversation(house)
    for number in range(15):
        exchange(house, 1, number)
        assert tick(house) is ((number + 1) % 5 == 0), number
        house.work_off()
    spans = [(one.from_position, one.to_position) for one in summaries(house)]
    assert spans == [(0, 9), (10, 19), (20, 29)]
    assert [one.previous for one in house.summary_agent.seen] == [None, *(one.content for one in summaries(house)[:2])]
    assert summaries(house)[0].content.splitlines()[:2] == ["- Asks 0", "- Says 0"]
    assert house.counted("summaries_made_total", agent="model") == 3


def test_only_messages_of_the_assistant_count(house: House) -> None:
    open_conversation(house)
    speak(house, *[(role, f"{role} {n}") for n in range(9) for role in (Role.USER, Role.SYSTEM, Role.TOOL)])
    assert not tick(house)
    speak(house, *[(Role.ASSISTANT, f"says {n}") for n in range(4)])
    assert not tick(house)
    speak(house, (Role.ASSISTANT, "says it"))
    assert tick(house)


def test_a_frequency_of_zero_is_never_and_each_app_has_its_own(house: House) -> None:
    house.install("email")
    tune(house, EVERYWHERE, 0)
    tune(house, "email", 2)
    for app_id in (APP, "email"):
        open_conversation(house, app_id=app_id)
        exchange(house, 6, app_id=app_id)
        tick(house)
    house.work_off()
    assert (summaries(house), len(summaries(house, app_id="email"))) == ([], 1)


def test_a_changed_frequency_counts_from_the_next_message(house: House) -> None:
    open_conversation(house)
    exchange(house, 3)
    tune(house, APP, 2)
    assert not tick(house)
    exchange(house, 1, 3)
    assert tick(house)
    house.work_off()
    tune(house, APP, 4)
    exchange(house, 3, 4)
    assert not tick(house)
    exchange(house, 1, 7)
    assert tick(house)


def test_what_became_due_is_not_asked_for_once_it_was_switched_off(house: House) -> None:
    open_conversation(house)
    exchange(house, 5)
    tune(house, APP, 0)
    assert not tick(house) and states(house) == []
    tune(house, APP, 5)
    exchange(house, 1, 5)
    assert tick(house)


def test_one_job_is_open_at_a_time_and_reads_all_that_was_said_until_it_begins(house: House) -> None:
    ask_about_five(house)
    exchange(house, 5, 5)
    tick(house)
    assert ask(house) is None and states(house) == ["pending"]
    house.work_off()
    assert [(one.from_position, one.to_position) for one in summaries(house)] == [(0, 19)]
    assert not tick(house)


def test_what_is_said_while_the_agent_thinks_counts_towards_the_next(house: House) -> None:
    ask_about_five(house)
    house.summary_agent.while_thinking = lambda: interrupt(house, 5)
    house.work_off()
    assert conversation_of(house).summarised == 10
    assert tick(house)
    house.work_off()
    assert [(one.from_position, one.to_position) for one in summaries(house)] == [(0, 9), (10, 19)]


def interrupt(house: House, count: int) -> None:
    house.summary_agent.while_thinking = lambda: None
    exchange(house, count, 5)


def test_systems_and_tools_and_what_was_recalled_are_never_in_it(house: House) -> None:
    recalled = "1. [Created: 2026-01-01] [recalled, not an instruction] Keeps a quokka"
    open_conversation(house)
    speak(house, (Role.SYSTEM, "Be a zebra"), (Role.TOOL, "zebra: 42"))
    speak(house, (Role.USER, f"{recalled}\nPlays the oboe"), (Role.ASSISTANT, "Lovely"))
    ask(house)
    house.work_off()
    [one] = summaries(house)
    assert one.content == "- Plays the oboe\n- Lovely" and (one.from_position, one.to_position) == (0, 3)
    assert {turn.role for turn in house.summary_agent.seen[0].turns} == {"user", "assistant"}


def test_what_the_agent_could_not_read_at_once_is_read_next_and_counts_only_then(house: House) -> None:
    house.summary_agent.reads = 4
    ask_about_five(house)
    seen: list[int] = []
    house.summary_agent.while_thinking = lambda: seen.append(conversation_of(house).summarised)
    house.work_off()
    assert seen == [0, 4, 8]
    assert [(one.from_position, one.to_position) for one in summaries(house)] == [(0, 3), (4, 7), (8, 9)]


def test_more_messages_than_a_job_looks_at_are_all_read(house: House) -> None:
    open_conversation(house)
    speak(house, *[(Role.USER, f"Number {n}") for n in range(BATCH + 50)])
    ask(house)
    house.work_off()
    assert [one.to_position for one in summaries(house)] == [BATCH - 1, BATCH + 49]


def test_a_failed_summary_moves_nothing_and_a_dead_one_harms_nothing(house: House) -> None:
    house.summary_agent.says = [Transient("away")] * 5
    ask_about_five(house)
    house.deliver()
    assert (states(house), conversation_of(house).summarised, summaries(house)) == (["retrying"], 0, [])
    for _ in range(4):
        house.clock.advance(600)
        house.deliver()
    assert states(house) == ["dead"] and not tick(house)
    exchange(house, 1, 5)
    assert tick(house)
    house.work_off()
    assert [(one.from_position, one.to_position) for one in summaries(house)] == [(0, 11)]


def test_where_nothing_was_said_that_is_worth_one_it_moves_on(house: House) -> None:
    house.summary_agent.says = [Digest((), 10)]
    ask_about_five(house)
    house.work_off()
    [job] = house.jobs(kind=JobKind.SUMMARISE)
    assert (job.state, job.reason, conversation_of(house).summarised) == ("nothing", NOTHING, 10)
    assert ask(house) is None and not tick(house)


def test_an_ended_conversation_is_summarised_on_demand_only(house: House) -> None:
    open_conversation(house)
    exchange(house, 5)
    with house.database.write() as session:
        epoch = lock_app(session, APP).purge_epoch
        end(session, lock_conversation(session, APP, "c1"), epoch, None, house.clock.now())
    assert not tick(house) and states(house) == []
    assert ask(house) is not None
    house.work_off()
    assert len(summaries(house)) == 1


def kept(house: House) -> int:
    with house.database.read() as session:
        return session.query(Summary).count()


FORGET = pytest.mark.parametrize(
    "forget", [House.purge, House.erase_app, House.erase], ids=["purge", "all data", "the conversation"]
)


@FORGET
def test_forgetting_beats_a_summary_in_flight(house: House, forget: Callable[[House], object]) -> None:
    ask_about_five(house)
    house.summary_agent.while_thinking = lambda: forget(house)
    house.deliver()
    house.clock.advance(600)
    house.deliver()
    assert (kept(house), states(house)) == (0, ["cancelled"])


@FORGET
def test_forgetting_takes_summaries_with_it_and_none_comes_back_by_itself(
    house: House, forget: Callable[[House], Erasure]
) -> None:
    ask_about_five(house)
    house.work_off()
    assert kept(house) == 1
    receipt = forget(house)
    assert (receipt.erased["summaries"], receipt.left["summaries"]) == (1, 0)
    assert kept(house) == 0 and not tick(house)
    if forget is House.purge:
        assert conversation_of(house).summarised == 10 and ask(house) is None


def test_without_the_embedder_a_summary_is_kept_and_gets_its_vector_later(house: House) -> None:
    house.embedder = embedder = Away()
    ask_about_five(house)
    house.work_off()
    assert [one.vector for one in summaries(house)] == [None] and house.counted("embedding_failures_total") == 1
    embedder.is_back = True
    exchange(house, 5, 5)
    tick(house)
    house.work_off()
    vectors = [one.vector for one in summaries(house)]
    assert [one.vector_model for one in summaries(house)] == ["ollama:away"] * 2 and None not in vectors
    assert [np.frombuffer(one or b"", "<f4").argmax() for one in vectors] == [1, 0]
