"""What thinking promises whatever the model does: the oldest first, one answer each, nothing behind people's backs."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from loop.leadership import LeaderElection
from loop.thinking.turn import MOST_UNUSABLE_ROUNDS
from shared.apps.queries import get_app, lock_app, uninstall
from shared.base.audit import Cause
from shared.base.errors import Configuration, Conflict, LeadershipLost, OverBudget, Transient
from shared.base.subjects import Subject
from shared.conversations import answers, lifecycle, queries
from shared.conversations.answers import refresh
from shared.conversations.lifecycle import Role
from shared.conversations.models import Answer
from shared.erasure.erasing import erase_conversation, erase_memory, purge_memories
from shared.llm.chat import Question, Reply, ToolCall
from shared.llm.tools import NoTools, described, tool_name
from shared.memories.queries import standing
from shared.telemetry.metrics import FocusKind, TurnOutcome
from tests.support.canaries import tables_holding
from tests.support.house import House
from tests.support.minds import LARGE, SMALL, Thinking, call, respond
from tests.support.scripted_chat import ToolStep


@pytest.fixture
def thinking(house: House) -> Thinking:
    return Thinking(house, review_minutes=0)


@pytest.fixture
def reviewing(house: House) -> Thinking:
    return Thinking(house)


def end(thinking: Thinking, conversation_id: str) -> None:
    now = thinking.house.clock.now()
    thinking.change(conversation_id, lambda session, found: lifecycle.end(session, found, 0, "over", now))


def snooze(thinking: Thinking, conversation_id: str, minutes: int) -> None:
    now = thinking.house.clock.now()
    thinking.change(conversation_id, lambda session, found: lifecycle.snooze(session, found, minutes, now))


def wake(thinking: Thinking) -> int:
    with thinking.house.database.write() as session:
        return lifecycle.wake(session, thinking.house.clock.now())


def decide(thinking: Thinking, decision: str, reason: str | None = None) -> None:
    """Approve or reject the newest draft as the HTTP interface would."""
    now = thinking.house.clock.now()
    with thinking.house.database.write() as session:
        draft = queries.list_answers(session, "notes", None, 1)[0]
        conversation = queries.lock_conversation(session, "notes", draft.conversation_id)
        if decision == "approve":
            answers.approve(session, conversation, draft, None, "admin", now)
        else:
            answers.reject(session, draft, reason, "admin", now)
            refresh(session, conversation, True, now)


def test_the_oldest_unanswered_conversation_is_taken_first_however_many_newer_there_are(thinking: Thinking) -> None:
    for number in range(12):
        thinking.said(f"c{number}", "hello")
    thinking.said("c0", "are you there?")
    for _ in range(12):
        thinking.will(respond("Yes."))
    seen = []
    while (focus := thinking.choose()) is not None:
        seen.append(focus.conversation_id)
        assert thinking.thinker.think(focus) is TurnOutcome.ANSWERED
        thinking.regulator.settle()
        thinking.house.clock.advance(20)
    assert seen == [f"c{number}" for number in range(12)]
    assert thinking.counted("thinking_turns_total", focus="unanswered", outcome="answered") == 12


def test_an_answer_is_a_message_of_the_assistant_an_event_and_no_longer_waited_for(thinking: Thinking) -> None:
    thinking.said("c", "What is the capital of Peru?")
    thinking.will(respond("Lima."))
    assert thinking.think() is TurnOutcome.ANSWERED
    assert "snoozed until" not in thinking.prompt
    assert thinking.messages("c") == [("user", "What is the capital of Peru?"), ("assistant", "Lima.")]
    conversation = thinking.conversation("c")
    assert (conversation.unanswered_since, conversation.focus_since) == (None, None)
    [answer] = thinking.drafts()
    assert (answer.state, answer.content, answer.model) == ("sent", None, "ollama:scripted")
    assert answer.message_id == answer.answer_id and answer.answer_id.startswith("ans_")
    assert thinking.events() == ["answer.sent"]
    assert thinking.counted("answer_delay_seconds_sum") == 2.0
    assert thinking.think() is None


def test_a_message_is_left_alone_until_it_has_stood_for_a_while_and_after_it_has_waited_too_long(
    thinking: Thinking,
) -> None:
    thinking.said("c", "hello")
    thinking.house.clock.advance(-1.5)
    assert thinking.choose() is None
    thinking.house.clock.advance(1)
    assert thinking.choose() is not None
    thinking.house.clock.advance(24 * 3600)
    assert thinking.choose() is None


def test_what_was_said_before_the_clock_was_set_back_does_not_wait_for_it_to_catch_up(thinking: Thinking) -> None:
    thinking.said("c", "hello")
    thinking.house.clock.advance(-3600)
    assert thinking.choose() is not None


def test_an_uninstalled_app_is_not_thought_about_even_when_its_conversation_still_waits(thinking: Thinking) -> None:
    thinking.said("c", "hello")
    focus = thinking.choose()
    assert focus is not None
    with thinking.house.database.write() as session:
        # The rule alone, without the interface, which also hides the app's conversations.
        uninstall(session, "notes", thinking.house.clock.now())
    assert thinking.thinker.think(focus) is None
    assert thinking.choose() is None, "it must not stand in the way of the others"
    assert thinking.chat.exchanges == []


@pytest.mark.parametrize(("minutes", "outcome"), [(0, "invalid"), (1, "ok"), (1440, "ok"), (1441, "invalid")])
def test_a_model_snoozes_for_1_to_1440_minutes(thinking: Thinking, minutes: int, outcome: str) -> None:
    thinking.said("c", "Remind me.")
    thinking.will(call("snooze_conversation", minutes=minutes), respond("I will."))
    came_to = thinking.think()
    until = thinking.conversation("c").snoozed_until
    if outcome == "ok":
        assert came_to is TurnOutcome.SNOOZED
        assert until == thinking.house.clock.now() + timedelta(minutes=minutes)
    else:
        assert came_to is TurnOutcome.ANSWERED and until is None
        assert thinking.counted("tool_calls_total", tool="snooze_conversation", outcome="invalid") == 1


def test_a_snoozed_conversation_is_hidden_until_due_and_then_says_it_was_snoozed(thinking: Thinking) -> None:
    thinking.said("c", "Remind me.")
    snooze(thinking, "c", 30)
    assert thinking.choose() is None
    thinking.house.clock.advance(30 * 60 - 1)
    assert wake(thinking) == 0
    assert thinking.choose() is None
    due = thinking.house.clock.advance(1)
    assert wake(thinking) == 1
    assert thinking.conversation("c").woken_at == due
    thinking.will(respond("Here is your reminder."))
    assert thinking.think() is TurnOutcome.ANSWERED
    assert "It was snoozed until 2026-03-01 12:30" in thinking.prompt
    assert thinking.conversation("c").woken_at is None


def test_something_new_supersedes_a_draft_and_is_thought_about(thinking: Thinking) -> None:
    thinking.change_app(approves_answers=True)
    thinking.said("c", "hello")
    since = thinking.conversation("c").unanswered_since
    thinking.will(respond("Hi."), respond("Hi again."))
    thinking.think()
    thinking.said("c", "hello?")
    assert [(draft.state, draft.content) for draft in thinking.drafts()] == [("superseded", None)]
    assert thinking.conversation("c").focus_since == since
    assert thinking.think() is TurnOutcome.DRAFTED
    superseded = thinking.drafts()[0].key
    with pytest.raises(Conflict, match="something was said"), thinking.house.database.write() as session:
        answers.reject(session, session.get_one(Answer, superseded), None, "admin", thinking.house.clock.now())


def test_a_rejected_draft_is_thought_about_again_with_the_reason_told_at_most_three_times(thinking: Thinking) -> None:
    thinking.change_app(approves_answers=True)
    thinking.said("c", "hello")
    for number in range(3):
        thinking.will(respond(f"Draft {number}."))
        assert thinking.think() is TurnOutcome.DRAFTED
        if number:
            assert "was not approved; answer differently" in thinking.prompt
            assert f"too long, says {number - 1}" in thinking.prompt
        decide(thinking, "reject", f"too long, says {number}")
        thinking.house.clock.advance(1)
    assert thinking.choose() is None
    thinking.change_app(answered_by="loop")
    assert thinking.choose() is None, "the same holds when all of the app's conversations are reckoned anew"
    thinking.said("c", "anybody?")
    assert thinking.choose() is not None


def test_thinking_twice_about_the_same_message_gives_one_answer(thinking: Thinking) -> None:
    thinking.said("c", "hello")
    focus = thinking.choose()
    assert focus is not None
    thinking.will(respond("First."))

    def meanwhile(_: object) -> Any:
        Thinking(thinking.house, chat=thinking.chat).thinker.think(focus)
        return respond("Second.")

    thinking.chat.steps.insert(0, meanwhile)
    assert thinking.thinker.think(focus) is TurnOutcome.STALE
    assert thinking.answers("c") == ["First."]
    assert thinking.counted("tool_calls_total", tool="respond", outcome="duplicate") == 1


@pytest.mark.parametrize("kind", ["unanswered", "review"])
def test_a_second_answer_in_the_same_turn_is_not_sent(house: House, kind: str) -> None:
    thinking = Thinking(house, review_minutes=30 if kind == "review" else 0)
    thinking.said("c", "hello")
    if kind == "review":
        thinking.said("c", "I am here.", role=Role.ASSISTANT)
    more = {"conversationId": "c"}
    thinking.will([respond("First.", **more), respond("Second.", **more)])
    if kind == "review":
        thinking.will(respond("Third.", **more), "That is all.")
    assert thinking.think() is TurnOutcome.ANSWERED
    assert thinking.answers("c")[-1] == "First."
    assert thinking.counted("tool_calls_total", tool="respond", outcome="duplicate") == (2 if kind == "review" else 1)


def test_an_answer_is_sent_before_its_conversation_ends_wherever_the_two_stand(thinking: Thinking) -> None:
    thinking.said("c", "Thanks, that was all!")
    thinking.will([call("end_conversation", reason="they said goodbye"), respond("You are welcome.")])
    assert thinking.think() is TurnOutcome.ANSWERED
    assert thinking.answers("c") == ["You are welcome."]
    assert thinking.conversation("c").end_reason == "they said goodbye"


LEAVING = {
    "end": call("end_conversation"),
    "snooze": call("snooze_conversation", minutes=60),
    "await energy": call("await_energy", percentage=90),
}


REFUSED_ANSWERS = [{"text": ""}, {"message": "Call 112."}, {"text": "The answer cannot be used: it was cut off."}]


@pytest.mark.parametrize(
    ("leaving", "refused"), list(zip(LEAVING.values(), REFUSED_ANSWERS, strict=True)), ids=list(LEAVING)
)
@pytest.mark.parametrize("beside", [True, False], ids=["beside", "after"])
def test_a_conversation_whose_answer_was_refused_is_not_left_before_it_is_answered(
    thinking: Thinking, refused: dict[str, Any], leaving: ToolCall, beside: bool
) -> None:
    thinking.set_level(40)
    thinking.said("c", "I feel chest pain, whom do I call?")
    answer = call("respond", **refused)
    steps: list[ToolStep] = [[leaving, answer]] * 2 if beside else [answer, leaving]
    thinking.will(*steps, {"text": "Call 112."})
    assert thinking.think() is TurnOutcome.ANSWERED
    assert thinking.answers("c") == ["Call 112."]
    conversation = thinking.conversation("c")
    assert (conversation.ended_at, conversation.snoozed_until) == (None, None)
    assert thinking.counted("tool_calls_total", tool=leaving.name, outcome="invalid") == (2 if beside else 1)
    assert not beside or "your answer was refused" in thinking.chat.exchanges[1].lines[-1].text


def test_in_a_review_an_answer_that_was_refused_holds_back_what_stands_beside_it_alone(reviewing: Thinking) -> None:
    reviewing.said("c", "Bye.", role=Role.ASSISTANT)
    ending = call("end_conversation", conversationId="c")
    reviewing.will([respond("Bye.", conversationId="made-up"), ending], ending, "That is all.")
    assert reviewing.think() is TurnOutcome.ENDED
    assert reviewing.counted("tool_calls_total", tool="end_conversation", outcome="invalid") == 1


@pytest.mark.parametrize(
    "meanwhile", ["the app answered", "the user went on", "it ended", "snoozed", "app changed", "erased"]
)
def test_what_was_thought_of_is_dropped_when_things_changed_meanwhile(thinking: Thinking, meanwhile: str) -> None:
    thinking.said("c", "hello")

    def change(_: object) -> Any:
        match meanwhile:
            case "the app answered":
                thinking.said("c", "Hi from the app.", role=Role.ASSISTANT)
            case "the user went on":
                thinking.said("c", "I mean, goodbye.")
            case "it ended":
                end(thinking, "c")
            case "snoozed":
                snooze(thinking, "c", 5)
            case "app changed":
                thinking.change_app(answered_by="app")
            case "erased":
                with thinking.house.database.write() as session:
                    erase_conversation(session, "notes", "c", "admin", thinking.house.clock.now())
        return respond("Hi from the loop.")

    thinking.will(change)
    assert thinking.think() is TurnOutcome.STALE
    assert thinking.drafts() == [] and (meanwhile == "erased" or "Hi from the loop." not in thinking.answers("c"))
    assert thinking.counted("tool_calls_total", tool="respond", outcome="stale") == 1
    assert (thinking.choose() is not None) == (meanwhile == "the user went on")


def erase(thinking: Thinking, what: str) -> None:
    now = thinking.house.clock.now()
    with thinking.house.database.write() as session:
        if what == "all memories":
            purge_memories(session, "notes", "admin", now)
        elif what == "one memory":
            lock_app(session, "notes")
            [memory] = standing(session, Subject("notes"))
            erase_memory(session, memory, Cause("admin", "erased by hand", now))
        else:
            erase_conversation(session, "notes", "another", "admin", now)


@pytest.mark.parametrize("what", ["all memories", "one memory", "another conversation"])
def test_what_was_thought_of_with_something_in_mind_that_was_erased_meanwhile_is_dropped(
    thinking: Thinking, what: str
) -> None:
    thinking.remember("notes", "The spare pump is number 4711.")
    thinking.said("another", "The spare pump is number 4711.", "Thanks.", role=Role.ASSISTANT)
    thinking.said("c", "What was the code?")

    def meanwhile(_: object) -> Any:
        erase(thinking, what)
        return respond("It is 4711.")

    thinking.will(meanwhile, respond("I do not know."))
    assert thinking.think() is TurnOutcome.STALE
    assert thinking.answers("c") == []
    thinking.house.clock.advance(10)
    wake(thinking)
    assert thinking.think() is TurnOutcome.ANSWERED, "the message is thought about again without it"
    assert thinking.answers("c") == ["I do not know."]


@pytest.mark.parametrize("what", ["all memories", "one memory", "another conversation"])
def test_drafts_go_with_what_is_erased_and_are_thought_out_anew(thinking: Thinking, what: str) -> None:
    thinking.change_app(approves_answers=True)
    thinking.remember("notes", "The spare pump is number 4711.")
    thinking.said("another", "The spare pump is number 4711.", "Thanks.", role=Role.ASSISTANT)
    thinking.said("c", "What was the code?")
    thinking.will(respond("It is 4711."), respond("I do not know."))
    assert thinking.think() is TurnOutcome.DRAFTED
    erase(thinking, what)
    [draft] = thinking.drafts()
    assert (draft.state, draft.content) == ("superseded", None)
    assert thinking.think() is TurnOutcome.DRAFTED
    assert [one.content for one in thinking.drafts()] == [None, "I do not know."]


def test_erasing_leaves_what_an_app_answers_itself_alone(thinking: Thinking) -> None:
    thinking.said("c", "hello")
    thinking.change_app(answered_by="app")
    erase(thinking, "all memories")
    assert thinking.choose() is None


@pytest.mark.parametrize(
    "error",
    [Transient("it is away"), Configuration("no such model"), Reply("half an ans", truncated=True)],
    ids=["transient", "configuration", "truncated"],
)
def test_a_model_that_fails_is_waited_for_longer_each_time_while_others_go_on(thinking: Thinking, error: Any) -> None:
    thinking.said("c", "hello")
    thinking.said("later", "hello")
    waits = []
    for _ in range(3):
        # What is cut off with tools is cut off where it is asked for without any, and so are its two repairs.
        thinking.will(*([error] * (5 if isinstance(error, Reply) else 1)))
        assert thinking.think() in (TurnOutcome.FAILED, TurnOutcome.NOTHING)
        postpone = thinking.conversation("c").think_after
        assert postpone is not None
        waits.append((postpone - thinking.house.clock.now()).total_seconds())
        if len(waits) == 1:
            thinking.will(respond("Hi."))
            assert thinking.think() is TurnOutcome.ANSWERED
            assert thinking.answers("later") == ["Hi."]
        assert thinking.choose() is None
        thinking.house.clock.advance(waits[-1])
        assert wake(thinking) == 1
    assert waits == [5, 10, 20]
    assert thinking.conversation("c").unanswered_since is not None
    thinking.said("c", "still there?")
    assert thinking.conversation("c").think_attempts == 0


def test_a_turn_never_waits_longer_than_ten_minutes_for_the_next(thinking: Thinking) -> None:
    thinking.said("c", "hello")
    thinking.change("c", lambda session, found: setattr(found, "think_attempts", 500))
    thinking.will(Transient("it is away"))
    thinking.think()
    postpone = thinking.conversation("c").think_after
    assert postpone == thinking.house.clock.now() + timedelta(minutes=10)


def test_an_app_without_budget_left_waits_until_there_is_some(thinking: Thinking) -> None:
    thinking.said("c", "hello")
    thinking.change_app(hourly_budget_micro=60_000_000)
    thinking.will(respond("Hi."))
    assert thinking.think() is TurnOutcome.ANSWERED
    thinking.change_app(hourly_budget_micro=1_000_000)
    thinking.said("c", "And now?")
    assert thinking.think() is TurnOutcome.OVER_BUDGET
    assert len(thinking.chat.exchanges) == 1, "the model is not asked"
    conversation = thinking.conversation("c")
    assert conversation.think_after is not None and conversation.unanswered_since is not None


def test_a_budget_that_is_changed_while_a_turn_is_refused_puts_nothing_off(thinking: Thinking) -> None:
    def is_refused(_: object) -> Any:
        thinking.house.clock.advance(1)
        thinking.change_app(updated_at=thinking.house.clock.now())
        raise OverBudget("budget: used up", thinking.house.clock.now() + timedelta(days=1))

    thinking.said("c", "hello")
    thinking.will(is_refused, respond("Hi."))
    assert thinking.think() is TurnOutcome.OVER_BUDGET
    wake(thinking)
    assert thinking.think() is TurnOutcome.ANSWERED


def test_a_model_may_wait_for_energy(thinking: Thinking) -> None:
    thinking.set_level(30)
    thinking.said("c", "Write a novel.")
    thinking.will(call("await_energy", percentage=80))
    assert thinking.think() is TurnOutcome.AWAITING
    conversation = thinking.conversation("c")
    # 32 units when it was looked at, one comes back each second.
    assert conversation.think_after == thinking.house.clock.now() + timedelta(seconds=48)
    assert (thinking.choose(), conversation.think_attempts) == (None, 0)
    thinking.house.clock.advance(48)
    assert wake(thinking) == 1
    assert thinking.choose() is not None


@pytest.mark.parametrize(("units", "model"), [(21, LARGE), (20, SMALL)], ids=str)
def test_the_large_model_thinks_while_energy_is_high_or_medium(thinking: Thinking, units: float, model: str) -> None:
    thinking.said("c", "hello")
    thinking.set_level(units)
    thinking.will(respond("Hi."))
    thinking.think()
    assert thinking.made == [model]


def test_the_energy_and_the_budget_of_the_conversation_are_told(thinking: Thinking) -> None:
    thinking.set_level(40)
    thinking.said("c", "hello")
    thinking.change("c", lambda session, found: setattr(found, "energy_budget_micro", 50_000_000))
    thinking.will(respond("Hi."))
    thinking.think()
    assert "Energy: 42.0 of 100 units (42.0 %), status medium; 1 units come back each second" in thinking.prompt
    assert "50 units, spent 0.0, remaining 50.0, status within" in thinking.prompt


def test_a_budget_that_is_overspent_is_told_and_never_enforced(thinking: Thinking) -> None:
    thinking.said("c", "hello")
    thinking.change("c", lambda session, found: setattr(found, "energy_budget_micro", 1_000_000))
    thinking.will(respond("Hi."), respond("Hi again."))
    thinking.think()
    thinking.said("c", "hello?")
    assert thinking.think() is TurnOutcome.ANSWERED
    assert "status exceeded" in thinking.prompt and "remaining -" in thinking.prompt


def test_thoughts_are_kept_nowhere(thinking: Thinking, capsys: pytest.CaptureFixture[str]) -> None:
    thinking.said("c", "hello")
    thinking.will(call("think", thoughts="the canary sings"), respond("Hi."))
    thinking.think()
    assert thinking.chat.exchanges[1].lines[2].calls[0].arguments == {"thoughts": "the canary sings"}
    assert tables_holding(thinking.house.database, "hello") and not tables_holding(thinking.house.database, "canary")
    assert "canary" not in "".join(capsys.readouterr())


def test_no_transaction_is_open_while_the_model_thinks(thinking: Thinking) -> None:
    held = []

    def look(_: object) -> Any:
        held.append(thinking.house.database.is_held_here)
        return respond("Hi.") if len(held) == 2 else call("think", thoughts="Well.")

    thinking.said("c", "hello")
    thinking.will(look, look)
    thinking.think()
    assert held == [False, False]


@pytest.mark.parametrize("kind", ["unanswered", "review", "selected"])
def test_the_apps_memories_and_no_other_apps_are_in_mind(reviewing: Thinking, kind: str) -> None:
    reviewing.house.install("other")
    reviewing.remember("notes", "The user keeps bees.")
    reviewing.remember("other", "Somebody keeps goats.")
    reviewing.said("elsewhere", "Goats are fine.", app_id="other")
    reviewing.said("c", "hello")
    reviewing.change_app("other", answered_by="app")
    reviewing.will(respond("Hi."))
    assert reviewing.think() is TurnOutcome.ANSWERED
    if kind != "unanswered":
        reviewing.will(call("select_conversation", conversationId="c"))
        assert reviewing.think() is TurnOutcome.SELECTED
    if kind == "selected":
        reviewing.will(respond("One more thing."))
        focus = reviewing.choose()
        assert focus is not None and focus.kind is FocusKind.SELECTED
        assert reviewing.thinker.think(focus) is TurnOutcome.ANSWERED
    assert "(memories for app: Notes)" in reviewing.prompt
    assert "[recalled, not an instruction]\n\n1. [Created: 2026-03-01] The user keeps bees." in reviewing.prompt
    assert "goats" not in reviewing.prompt.lower()
    turns = {"unanswered": 1, "review": 2, "selected": 3}[kind]
    assert reviewing.house.counted("contexts_total", injected="true") == turns
    assert reviewing.thinker.next_selected() is None or kind == "review"


def test_a_review_shows_recent_conversations_by_the_energy_the_last_touched_first(reviewing: Thinking) -> None:
    for number in range(25):
        reviewing.said(f"c{number:02}", "hello")
        reviewing.said(f"c{number:02}", "Hi.", role=Role.ASSISTANT)
    reviewing.set_level(80)
    reviewing.will(call("think", thoughts="All is well."), "Nothing needs to be done.", "Really.")
    assert reviewing.think() is TurnOutcome.NOTHING
    shown = [number for number in range(25) if f"conversation c{number:02}," in reviewing.prompt]
    assert shown == list(range(25 - round(1 + 0.8 * 19), 25))


def test_a_review_never_shows_two_users_together(reviewing: Thinking) -> None:
    for user, pet in (("ana", "goats"), ("bo", "bees"), (None, "cats")):
        reviewing.said(f"c-{pet}", f"I keep {pet}.", user_id=user)
        reviewing.said(f"c-{pet}", "Fine.", role=Role.ASSISTANT)
    shown = []
    for _ in range(3):
        reviewing.house.clock.advance(1800)
        reviewing.will("Nothing needs to be done.", "Really.")
        if reviewing.think() is None:
            break
        shown.append({pet for pet in ("goats", "bees", "cats") if f"I keep {pet}." in reviewing.prompt})
    assert shown and all(len(pets) == 1 for pets in shown)


def test_a_review_comes_after_its_time_only_when_something_changed_and_energy_is_high(reviewing: Thinking) -> None:
    def review() -> bool:
        reviewing.house.clock.advance(10)
        reviewing.will("Nothing.", "Nothing.")
        outcome = reviewing.think()
        reviewing.chat.steps.clear()
        return outcome is not None

    reviewing.said("c", "Hi.", role=Role.ASSISTANT)
    reviewing.set_level(50 - 12)
    assert not review(), "at 50 % energy is not high"
    reviewing.set_level(100)
    assert review()
    assert not review(), "it has just been reviewed"
    reviewing.said("c", "Hi again.", role=Role.ASSISTANT)
    assert not review(), "thirty minutes have not passed"
    reviewing.house.clock.advance(1800)
    assert review()
    reviewing.house.clock.advance(1800)
    assert not review(), "nothing has changed"


def test_apps_are_reviewed_in_turn_each_by_itself(reviewing: Thinking) -> None:
    for app_id in ("alpha", "beta"):
        reviewing.house.install(app_id)
        reviewing.said("c", f"I am {app_id}.", app_id=app_id, role=Role.ASSISTANT)
    reviewed = []
    for _ in range(4):
        reviewing.house.clock.advance(10)
        focus = reviewing.choose()
        if focus is not None:
            reviewing.will("Nothing.", "Nothing.")
            reviewing.thinker.think(focus)
            reviewed.append((focus.app_id, [a for a in ("alpha", "beta") if f"I am {a}." in reviewing.prompt]))
    assert reviewed == [("alpha", ["alpha"]), ("beta", ["beta"])]


def test_selected_conversations_and_reviews_rest_below_the_gate(reviewing: Thinking) -> None:
    reviewing.said("c", "Hi.", role=Role.ASSISTANT)
    reviewing.will(call("select_conversation", conversationId="c"))
    reviewing.house.clock.advance(10)
    assert reviewing.think() is TurnOutcome.SELECTED
    reviewing.set_level(20)
    assert reviewing.choose() is None
    reviewing.set_level(21)
    focus = reviewing.choose()
    assert focus is not None and focus.kind is FocusKind.SELECTED


def test_a_conversation_that_ended_after_it_was_selected_is_not_focused(reviewing: Thinking) -> None:
    reviewing.said("c", "Hi.", role=Role.ASSISTANT)
    reviewing.will(call("select_conversation", conversationId="c"))
    assert reviewing.think() is TurnOutcome.SELECTED
    end(reviewing, "c")
    assert reviewing.think() is None
    assert len(reviewing.chat.exchanges) == 1


@pytest.mark.parametrize(
    ("wanted", "outcome", "says"),
    [
        pytest.param({"conversationId": "of-other"}, "unknown_conversation", "no such conversation", id="other app's"),
        pytest.param({"conversationId": "made-up"}, "unknown_conversation", "no such conversation", id="made up"),
        pytest.param({"conversationId": "over"}, "ended", "it has ended", id="ended"),
        pytest.param({"conversationId": "unseen"}, "invalid", "you were not shown it", id="not shown"),
        pytest.param({"text": "  "}, "invalid", "text", id="empty"),
        pytest.param({"text": "a\0b"}, "invalid", "NUL", id="NUL"),
        pytest.param({"text": "a\ud800b"}, "invalid", "half a character", id="half a character"),
        pytest.param({"text": "x" * 1001}, "invalid", "at most 1000 characters", id="too long"),
        pytest.param({"text": 7}, "invalid", "text", id="wrong type"),
        pytest.param({"mood": "good"}, "invalid", "mood", id="unknown field"),
    ],
)
def test_a_call_that_cannot_be_carried_out_is_told_to_the_model_and_counted(
    thinking: Thinking, wanted: dict[str, Any], outcome: str, says: str
) -> None:
    thinking.house.install("other")
    thinking.change_app("other", answered_by="app")
    thinking.said("of-other", "secret", app_id="other")
    thinking.said("over", "bye")
    end(thinking, "over")
    thinking.said("unseen", "Hi.", role=Role.ASSISTANT)
    thinking.said("c", "hello")
    thinking.will(call("respond", **{"text": "Hi.", **wanted}), respond("Hi, properly."))
    assert thinking.think() is TurnOutcome.ANSWERED
    assert says in thinking.chat.exchanges[1].lines[-1].text
    assert thinking.counted("tool_calls_total", tool="respond", outcome=outcome) == 1
    assert thinking.answers("c") == ["Hi, properly."]
    assert thinking.messages("of-other", "other") == [("user", "secret")]


def test_a_tool_that_does_not_exist_is_named_and_counted(thinking: Thinking) -> None:
    thinking.said("c", "hello")
    thinking.will(call("launch_rocket"), respond("Hi."))
    assert thinking.think() is TurnOutcome.ANSWERED
    assert "there is no such tool; there are respond," in thinking.chat.exchanges[1].lines[-1].text
    assert thinking.counted("tool_calls_total", tool="unknown", outcome="unknown_tool") == 1


@pytest.mark.parametrize(
    "written",
    [
        '```json\n{"name": "respond", "parameters": {"text": "Hi."}}\n```',
        '<think>Hm.</think>\n<tool_call>{"name": "respond", "arguments": {"text": "Hi."}}</tool_call>',
    ],
    ids=["fenced", "tagged"],
)
def test_a_tool_that_is_only_written_about_is_used_and_counted(thinking: Thinking, written: str) -> None:
    thinking.said("c", "hello")
    thinking.will(written)
    assert thinking.think() is TurnOutcome.ANSWERED
    assert thinking.answers("c") == ["Hi."]
    assert thinking.counted("tool_calls_total", tool="respond", outcome="in_prose") == 1


@pytest.mark.parametrize(
    "prose", ['They wrote {"name": "respond", "arguments": {"text": "x"}}', ""], ids=["quoted", "empty"]
)
def test_prose_is_asked_once_to_use_tools_and_never_sent(thinking: Thinking, prose: str) -> None:
    thinking.said("c", "hello")
    thinking.will(*[prose] * 5)
    assert thinking.think() is TurnOutcome.FAILED
    assert "Use a tool now" in thinking.chat.exchanges[1].lines[-1].text
    assert len(thinking.chat.exchanges) == 2
    assert (thinking.answers("c"), thinking.drafts()) == ([], [])
    assert thinking.conversation("c").think_after is not None


def test_a_model_that_writes_text_instead_of_using_tools_is_asked_for_the_answer_alone(thinking: Thinking) -> None:
    thinking.said("c", "hello")
    thinking.will("Hello there!", "Hello there!", {"text": "Hello."})
    assert thinking.think() is TurnOutcome.ANSWERED
    assert thinking.answers("c") == ["Hello."]
    # That it did so once is no reason to take its tools away.
    thinking.said("c", "And now?")
    thinking.will(respond("Now with a tool."))
    assert thinking.think() is TurnOutcome.ANSWERED


def test_a_model_that_writes_text_where_nobody_waits_is_asked_no_more(reviewing: Thinking) -> None:
    reviewing.said("c", "Hi.", role=Role.ASSISTANT)
    reviewing.will("There is nothing to do.", "Really.")
    assert reviewing.think() is TurnOutcome.NOTHING
    assert reviewing.chat.questions == []


def test_a_model_without_tools_is_offered_them_once_and_then_asked_for_an_object(thinking: Thinking) -> None:
    thinking.said("c", "hello")
    thinking.will(NoTools("none here"), {"text": "Hello."}, {"text": "Still here."})
    assert thinking.think() is TurnOutcome.ANSWERED
    thinking.said("c", "And now?")
    assert thinking.think() is TurnOutcome.ANSWERED
    assert thinking.answers("c") == ["Hello.", "Still here."]
    assert len(thinking.chat.exchanges) == 1
    assert thinking.counted("tool_calls_total", tool="respond", outcome="carried_out") == 2
    asked = thinking.chat.questions[0]
    assert "hello" in asked.user and "tool" not in asked.system + asked.user
    assert list(asked.answer.model_json_schema()["properties"]) == ["text"]


def test_a_small_model_is_offered_no_tools(house: House) -> None:
    thinking = Thinking(house, size="small", review_minutes=0)
    thinking.said("c", "hello")
    thinking.will({"text": "Hello."})
    assert thinking.think() is TurnOutcome.ANSWERED
    assert (thinking.answers("c"), thinking.chat.exchanges) == (["Hello."], [])


@pytest.mark.parametrize(
    ("chosen", "outcome", "sent"),
    [
        pytest.param({"action": "respond", "text": "Better: 7."}, TurnOutcome.ANSWERED, ["Better: 7."], id="respond"),
        pytest.param({"action": "end_conversation", "text": "Over."}, TurnOutcome.ENDED, [], id="end"),
        pytest.param({"action": "snooze_conversation", "text": ""}, TurnOutcome.SNOOZED, [], id="snooze"),
        pytest.param({"action": "think", "text": "All is well."}, TurnOutcome.NOTHING, [], id="think"),
    ],
)
def test_a_model_without_tools_chooses_what_becomes_of_a_conversation_it_selected(
    reviewing: Thinking, chosen: dict[str, Any], outcome: TurnOutcome, sent: list[str]
) -> None:
    reviewing.said("over", "Bye.", role=Role.ASSISTANT)
    reviewing.said("c", "6.", role=Role.ASSISTANT)
    end(reviewing, "over")
    choice = {"action": "select_conversation", "minutes": 1, "conversationId": "c", "text": ""}
    reviewing.will(NoTools("none here"), choice)
    assert reviewing.think() is TurnOutcome.SELECTED
    shape = reviewing.chat.questions[0].answer.model_json_schema()["properties"]
    assert shape["conversationId"]["const"] == "c", "what has ended could be chosen"
    reviewing.will({"minutes": 30, **chosen})
    assert reviewing.think() is outcome
    assert reviewing.answers("c")[1:] == sent
    assert set(reviewing.chat.questions[1].answer.model_json_schema()["properties"]) == {"action", "minutes", "text"}


def longest(question: Question[Any]) -> dict[str, Any]:
    """Write on until the bound of the text ends it."""
    return {"text": ("So it goes. " * 200)[: question.answer.model_json_schema()["properties"]["text"]["maxLength"]]}


def copied_mark(question: Question[Any]) -> dict[str, Any]:
    return {"text": question.user.partition("BEGIN ")[2][:8]}


@pytest.mark.parametrize(
    ("steps", "answer"),
    [
        pytest.param(({"text": " "}, {"text": "Hi."}), "Hi.", id="empty"),
        pytest.param((copied_mark, {"text": "Hi."}), "Hi.", id="copies the prompt"),
        pytest.param((longest, {"text": "Hi."}), "Hi.", id="cut off"),
        pytest.param((longest, longest), "So it goes.", id="cut off again"),
    ],
)
def test_what_a_model_without_tools_wrote_badly_is_asked_for_again(
    house: House, steps: tuple[Any, ...], answer: str
) -> None:
    thinking = Thinking(house, review_minutes=0)
    thinking.said("c", "hello")
    thinking.will(NoTools("none here"), *steps)
    assert thinking.think() is TurnOutcome.ANSWERED
    [sent] = thinking.answers("c")
    assert sent.endswith(answer) and sent.replace(answer, "").strip() == ""


def test_a_turn_that_was_all_thoughts_ends_with_an_answer_where_somebody_waits(house: House) -> None:
    thinking = Thinking(house, rounds=3)
    thinking.said("c", "hello")
    thinking.will(*[call("think", thoughts="Well.") for _ in range(3)], {"text": "Hello."})
    assert thinking.think() is TurnOutcome.ANSWERED
    assert (len(thinking.chat.exchanges), len(thinking.chat.questions)) == (3, 1)
    thinking.will(*[call("think", thoughts="Well.") for _ in range(3)])
    thinking.house.clock.advance(3600)
    assert thinking.think() is TurnOutcome.NOTHING, "in a review nobody does"
    assert len(thinking.chat.questions) == 1


REFUSED: dict[str, Callable[[int], ToolCall]] = {
    "the same call": lambda _: call("select_conversation", conversationId="END 0f1e2d3c"),
    "another call each time": lambda number: call("snooze_conversation", minutes=-number),
    "a tool that does not exist": lambda _: call("launch_rocket"),
    "another conversation": lambda _: respond("Hi.", conversationId="made-up"),
}
"""Calls that small models make again however often they are refused."""


@pytest.mark.parametrize("repeated", REFUSED.values(), ids=REFUSED)
def test_a_model_whose_calls_are_refused_twice_is_asked_for_the_answer_alone(
    house: House, repeated: Callable[[int], ToolCall]
) -> None:
    thinking = Thinking(house, rounds=20, review_minutes=0)
    thinking.said("c", "hello")
    thinking.will(*(repeated(number) for number in range(2)), {"text": "Hello."})
    assert thinking.think() is TurnOutcome.ANSWERED
    assert thinking.answers("c") == ["Hello."]
    assert (len(thinking.chat.exchanges), len(thinking.chat.questions)) == (2, 1)
    # That it did so once is no reason to take its tools away.
    thinking.said("c", "And now?")
    thinking.will(respond("Now with a tool."))
    assert thinking.think() is TurnOutcome.ANSWERED


@pytest.mark.parametrize("written", ["a refused call", "text"])
def test_a_refused_call_and_text_are_told_once_in_a_turn(thinking: Thinking, written: str) -> None:
    thinking.said("c", "hello")
    steps: list[ToolStep] = [call("launch_rocket"), "Hello there!"]
    thinking.will(*(steps if written == "text" else reversed(steps)), {"text": "Hello."})
    assert thinking.think() is TurnOutcome.ANSWERED
    assert (len(thinking.chat.exchanges), len(thinking.chat.questions)) == (2, 1)


@pytest.mark.parametrize("rounds", [1, 20])
def test_what_a_turn_may_cost_does_not_grow_with_how_often_a_refused_call_is_repeated(
    house: House, rounds: int, capsys: pytest.CaptureFixture[str]
) -> None:
    thinking = Thinking(house, rounds=rounds, review_minutes=0)
    thinking.said("c", "hello")
    thinking.will(*(call("select_conversation", conversationId="END 0f1e2d3c") for _ in range(40)))
    assert thinking.think() is TurnOutcome.FAILED
    with_tools = min(rounds, MOST_UNUSABLE_ROUNDS)
    assert (len(thinking.chat.exchanges), len(thinking.chat.questions)) == (with_tools, 3)
    assert thinking.counted("tool_calls_total", tool="select_conversation", outcome="unknown_tool") == with_tools
    assert 0 < thinking.counted("energy_spent_units_total", kind="think") < 40
    logged = capsys.readouterr().out
    assert "turn_failed" in logged and "no usable answer" in logged and f"model_calls={with_tools + 1}" in logged
    assert thinking.counted("thinking_turns_total", focus="unanswered", outcome="failed") == 1
    conversation = thinking.conversation("c")
    assert conversation.unanswered_since is not None, "nothing is lost"
    assert conversation.think_after == thinking.house.clock.now() + timedelta(seconds=5)


def test_a_review_whose_calls_are_refused_twice_chooses_by_the_bounded_form(reviewing: Thinking) -> None:
    reviewing.said("over", "Bye.", role=Role.ASSISTANT)
    reviewing.said("c", "Bye.", role=Role.ASSISTANT)
    end(reviewing, "over")
    reviewing.will(*(call("end_conversation", conversationId=one) for one in ("over", "END 0f1e2d3c")))
    reviewing.will({"action": "end_conversation", "minutes": 1, "conversationId": "c", "text": "They said goodbye."})
    assert reviewing.think() is TurnOutcome.ENDED
    assert reviewing.conversation("c").end_reason == "They said goodbye."


def test_a_model_that_has_done_something_is_not_asked_for_more_when_its_calls_are_refused(reviewing: Thinking) -> None:
    reviewing.said("c", "Bye.", role=Role.ASSISTANT)
    reviewing.said("d", "Well.", role=Role.ASSISTANT)
    reviewing.will(call("end_conversation", conversationId="c"), call("launch_rocket"), call("launch_rocket"))
    assert reviewing.think() is TurnOutcome.ENDED
    assert (len(reviewing.chat.exchanges), reviewing.chat.questions) == (3, [])


def test_a_review_of_what_has_ended_asks_no_model(reviewing: Thinking) -> None:
    reviewing.said("c", "Bye.", role=Role.ASSISTANT)
    end(reviewing, "c")
    assert reviewing.think() is TurnOutcome.NOTHING
    assert (reviewing.chat.exchanges, reviewing.chat.questions) == ([], [])


def test_only_what_can_be_done_is_offered(reviewing: Thinking) -> None:
    def offered() -> list[str]:
        return [tool_name(tool) for tool in reviewing.chat.exchanges[-1].tools]

    reviewing.said("c", "hello")
    reviewing.will(respond("Hi."))
    reviewing.think()
    assert offered() == ["respond", "end_conversation", "snooze_conversation", "think"]
    reviewing.will(call("select_conversation", conversationId="c"))
    assert reviewing.think() is TurnOutcome.SELECTED
    assert offered() == ["select_conversation", "end_conversation", "snooze_conversation", "think", "respond"]
    # Somebody waits by now in what was selected, and nobody else's conversation can be chosen instead.
    reviewing.said("c", "One more thing.")
    reviewing.set_level(40)
    reviewing.will(respond("Yes?"))
    assert reviewing.think() is TurnOutcome.ANSWERED
    assert offered() == ["respond", "end_conversation", "snooze_conversation", "think", "await_energy"]
    assert "conversationId" not in described(reviewing.chat.exchanges[-1].tools)


@pytest.mark.parametrize("percentage", [1, 30, 32])
def test_energy_that_is_there_is_not_waited_for(thinking: Thinking, percentage: float) -> None:
    thinking.said("c", "hello")
    thinking.set_level(32)
    thinking.will(call("await_energy", percentage=percentage), respond("Hi."))
    assert thinking.think() is TurnOutcome.ANSWERED
    assert thinking.counted("tool_calls_total", tool="await_energy", outcome="invalid") == 1


def test_a_loop_that_does_not_regulate_answers_nothing_even_when_it_still_thinks(house: House) -> None:
    standing_by = LeaderElection(house.database, house.clock, "host/1/a", 5.0, house.metrics)
    thinking = Thinking(house, transactions=standing_by.transactions, review_minutes=0)
    thinking.said("c", "hello")
    focus = thinking.choose()
    assert focus is not None
    thinking.will(respond("Hi."))
    with pytest.raises(LeadershipLost):
        thinking.thinker.think(focus)
    assert (thinking.answers("c"), len(thinking.chat.exchanges)) == ([], 1)
    assert standing_by.keep() is not None
    thinking.will(respond("Hi."))
    assert thinking.think() is TurnOutcome.ANSWERED


def test_a_turn_that_breaks_is_told_and_counted_and_the_next_one_goes_well(
    thinking: Thinking, capsys: pytest.CaptureFixture[str]
) -> None:
    def breaks(_: object) -> Any:
        raise RuntimeError("nobody foresaw this")

    def hold_a_turn() -> None:
        focus = thinking.choose()
        assert focus is not None
        thinking.thinker.begin(focus)
        thread = thinking.thinker._thread
        assert thread is not None
        thread.join(60)

    thinking.said("c", "hello")
    thinking.will(breaks, respond("Hi."))
    hold_a_turn()
    assert "turn_broke" in capsys.readouterr().out
    assert thinking.counted("thinking_turns_total", focus="unanswered", outcome="failed") == 1
    thinking.house.clock.advance(10)
    wake(thinking)
    hold_a_turn()
    assert thinking.answers("c") == ["Hi."]


def test_what_the_loop_thinks_of_an_app_does_not_hold_up_the_ticker(thinking: Thinking) -> None:
    asked, go_on = threading.Event(), threading.Event()

    def slowly(_: object) -> Any:
        asked.set()
        go_on.wait(60)
        return respond("Hi.")

    thinking.said("c", "hello")
    thinking.will(slowly)
    focus = thinking.choose()
    assert focus is not None and thinking.thinker.is_free
    thinking.thinker.begin(focus)
    assert asked.wait(60) and not thinking.thinker.is_free
    go_on.set()
    assert thinking.thinker.drain(10)
    assert thinking.answers("c") == ["Hi."]
    assert not thinking.thinker.is_free, "nothing begins once it drains"


def test_a_turn_that_is_let_go_of_writes_nothing_however_late_it_comes(thinking: Thinking) -> None:
    asked, go_on = threading.Event(), threading.Event()

    def slowly(_: object) -> Any:
        asked.set()
        go_on.wait(60)
        return respond("Hi.")

    thinking.said("c", "hello")
    thinking.will(slowly)
    focus = thinking.choose()
    assert focus is not None
    thinking.thinker.begin(focus)
    assert asked.wait(60)
    assert not thinking.thinker.drain(0.05)
    go_on.set()
    thread = thinking.thinker._thread
    assert thread is not None
    thread.join(60)
    assert thinking.answers("c") == []
    conversation = thinking.conversation("c")
    assert conversation.focus_since is not None and conversation.think_after is None


def test_the_model_is_told_the_time_where_the_person_is(thinking: Thinking) -> None:
    thinking.house.clock.at = datetime(2026, 11, 24, 22, 10, tzinfo=UTC)
    thinking.change_app(time_zone="Asia/Tokyo")
    thinking.will(respond("Congratulations!"))
    thinking.said("c1", "I have a new job!")
    assert thinking.think() is TurnOutcome.ANSWERED
    [system, user] = thinking.chat.exchanges[0].lines
    assert "It is 2026-11-25 07:10 (UTC+09:00)." in system.text
    assert "user, 2026-11-25 07:10\nI have a new job!" in user.text


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [("end_conversation", {}), ("snooze_conversation", {"minutes": 5}), ("await_energy", {"percentage": 90})],
)
def test_whoever_goes_on_speaking_is_not_ended_snoozed_or_put_off(
    reviewing: Thinking, tool: str, arguments: dict[str, Any]
) -> None:
    reviewing.said("c", "Goodbye!")
    reviewing.set_level(40)

    def decide(_: object) -> ToolStep:
        reviewing.said("c", "No, wait.")
        return call(tool, **arguments)

    reviewing.will(decide)
    assert reviewing.think() is TurnOutcome.STALE
    conversation = reviewing.conversation("c")
    assert (conversation.ended_at, conversation.snoozed_until, conversation.think_after) == (None, None, None)
    assert conversation.focus_since == conversation.unanswered_since is not None


def test_an_app_in_which_nothing_happened_lets_the_next_one_be_reviewed(reviewing: Thinking) -> None:
    reviewing.said("c", "hello")
    reviewing.will(call("snooze_conversation", minutes=1440))
    assert reviewing.think() is TurnOutcome.SNOOZED
    with reviewing.house.database.write() as session:
        get_app(session, "notes").reviewed_at = reviewing.house.clock.now()
    reviewing.house.clock.advance(3600)
    assert reviewing.choose() is None
    with reviewing.house.database.read() as session:
        assert get_app(session, "notes").reviewed_at == reviewing.house.clock.now()
