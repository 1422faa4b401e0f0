"""Answers over HTTP: who answers an app's conversations, what waits, and what people decide about drafts."""

from __future__ import annotations

from datetime import timedelta

import pytest

from shared.apps.queries import get_app
from shared.conversations import answers, queries
from shared.conversations.answers import AnswerDraft, postpone
from tests.support.api import Api, metric_of


def draft(api: Api, text: str = "Hello there.", conversation_id: str = "c1", approves: bool = True) -> str:
    """Think out an answer as the loop would; return its id."""
    with api.loop.database.write() as session:
        conversation = queries.lock_conversation(session, "chat", conversation_id)
        thought = AnswerDraft(text, conversation.message_count - 1, "ollama:m")
        return answers.give(session, conversation, thought, approves, api.clock.now()).answer_id


def waits_for_loop(api: Api, conversation_id: str = "c1") -> bool:
    with api.loop.database.read() as session:
        return queries.get_conversation(session, "chat", conversation_id).focus_since is not None


def texts(api: Api, conversation: str) -> list[str]:
    return [one["content"] for one in api.ask("GET", f"{conversation}/messages")["messages"]]


def test_an_app_is_installed_with_its_ways(api: Api) -> None:
    plain = api.ask("POST", "/apps", json={"appId": "plain", "name": "Plain"})
    assert (plain["answeredBy"], plain["approveAnswers"], plain["weight"]) == ("loop", False, 1)
    wanted = {"appId": "chat", "name": "Chat", "answeredBy": "app", "approveAnswers": True, "weight": 7}
    made = api.ask("POST", "/apps", 201, json=wanted)
    assert (made["answeredBy"], made["approveAnswers"], made["weight"]) == ("app", True, 7)
    changed = api.ask("PATCH", "/apps/chat", json={"approveAnswers": False, "weight": 100})
    assert (changed["answeredBy"], changed["approveAnswers"], changed["weight"]) == ("app", False, 100)


def test_the_apps_are_found_of_which_answers_wait_for_approval(api: Api) -> None:
    api.install("aside")
    path = api.install()
    api.converse(path, "c1", "Hi.")
    waiting = {"approving": True, "counted": True}
    assert api.ask("GET", "/apps", params=waiting)["apps"] == []
    answer = draft(api)
    [app] = api.ask("GET", "/apps", params=waiting)["apps"]
    assert (app["appId"], app["holds"]["pendingAnswers"]) == ("chat", 1)
    api.ask("POST", f"{path}/answers/{answer}/approve")
    assert api.ask("GET", "/apps", params=waiting)["apps"] == []


def test_a_conversation_says_since_when_it_waits_and_the_list_can_be_narrowed_to_those(api: Api) -> None:
    path = api.install()
    waiting = api.converse(path, "c1", "Hello?")
    api.converse(path, "c2")
    shown = api.ask("GET", waiting)
    assert shown["unansweredSince"] == "2026-03-01T12:00:00Z"
    assert (shown["wokenAt"], shown["pendingAnswerId"]) == (None, None)
    for flag, expected in (("true", "c1"), ("false", "c2")):
        found = api.ask("GET", f"{path}/conversations?unanswered={flag}")["conversations"]
        assert [one["conversationId"] for one in found] == [expected]
    api.ask("POST", f"{waiting}/messages", json={"role": "assistant", "content": "Yes."})
    assert api.ask("GET", waiting)["unansweredSince"] is None


def test_who_answers_decides_at_once_what_the_loop_thinks_about(api: Api) -> None:
    path = api.install()
    api.converse(path, "c1", "Hello?")
    assert waits_for_loop(api)
    api.ask("PATCH", path, json={"answeredBy": "app"})
    assert not waits_for_loop(api)
    api.converse(path, "c2", "Hello?")
    assert not waits_for_loop(api, "c2")
    api.ask("PATCH", path, json={"answeredBy": "loop"})
    assert waits_for_loop(api) and waits_for_loop(api, "c2")


@pytest.mark.parametrize("answered_by", ["loop", "app"])
def test_a_changed_budget_brings_back_at_once_what_was_put_off_for_it(api: Api, answered_by: str) -> None:
    path = api.install()
    api.converse(path, "c1", "Hello?")
    with api.loop.database.write() as session:
        conversation = queries.lock_conversation(session, "chat", "c1")
        postpone(conversation, api.clock.now() + timedelta(days=1), failed=True)
    api.ask("PATCH", path, json={"answeredBy": answered_by})
    assert not waits_for_loop(api)
    api.ask("PATCH", path, json={"dailyBudget": 500})
    assert waits_for_loop(api) == (answered_by == "loop")


def test_an_uninstalled_app_is_left_alone_and_thought_about_when_it_is_back(api: Api) -> None:
    path = api.install()
    api.converse(path, "c1", "Hello?")
    api.ask("DELETE", path)
    assert not waits_for_loop(api)
    api.install()
    assert waits_for_loop(api)


def test_a_snoozed_ended_or_drafted_conversation_does_not_wait_when_its_app_changes(api: Api) -> None:
    path = api.install()
    for name in ("snoozed", "ended", "drafted"):
        api.converse(path, name, "Hello?")
    api.ask("POST", f"{path}/conversations/snoozed/snooze", json={"minutes": 5})
    api.ask("POST", f"{path}/conversations/ended/end")
    draft(api, conversation_id="drafted")
    api.ask("PATCH", path, json={"answeredBy": "loop"})
    assert [waits_for_loop(api, name) for name in ("snoozed", "ended", "drafted")] == [False] * 3


def test_a_draft_is_listed_shown_and_sent_once(api: Api) -> None:
    path = api.install()
    conversation = api.converse(path, "c1", "Hello?")
    answer_id = draft(api)
    shown = api.ask("GET", conversation)
    assert (shown["pendingAnswerId"], shown["unansweredSince"] is not None) == (answer_id, True)
    [listed] = api.ask("GET", f"{path}/answers?state=pending")["answers"]
    assert (listed["answerId"], listed["content"], listed["answersPosition"]) == (answer_id, "Hello there.", 0)
    api.clock.advance(60)
    sent, again = (api.ask("POST", f"{path}/answers/{answer_id}/approve") for _ in range(2))
    assert sent == again
    assert (sent["state"], sent["content"], sent["messageId"]) == ("sent", None, answer_id)
    assert sent["decidedBy"] == "admin"
    assert texts(api, conversation) == ["Hello?", "Hello there."]
    assert api.ask("GET", conversation)["unansweredSince"] is None
    assert api.ask("GET", f"{path}/answers?state=pending")["answers"] == []
    assert api.loop.metrics.answers.labels("sent")._value.get() == 1


def test_a_rejected_answer_is_gone_and_the_loop_thinks_again(api: Api) -> None:
    path = api.install()
    conversation = api.converse(path, "c1", "Hello?")
    answer_id = draft(api)
    assert not waits_for_loop(api)
    first, again = (
        api.ask("POST", f"{path}/answers/{answer_id}/reject", json={"reason": "too short"}) for _ in range(2)
    )
    assert first == again
    assert (first["state"], first["reason"], first["content"]) == ("rejected", "too short", None)
    assert waits_for_loop(api) and texts(api, conversation) == ["Hello?"]
    refused = api.refused(409, "POST", f"{path}/answers/{answer_id}/approve")
    assert refused["code"] == "answer_rejected"


@pytest.mark.parametrize("why", ["said", "ended"])
@pytest.mark.parametrize("decision", ["approve", "reject"])
def test_a_superseded_answer_can_no_longer_be_decided(api: Api, why: str, decision: str) -> None:
    path = api.install()
    conversation = api.converse(path, "c1", "Hello?")
    answer_id = draft(api)
    if why == "said":
        api.ask("POST", f"{conversation}/messages", json={"role": "user", "content": "Never mind."})
    else:
        api.ask("POST", f"{conversation}/end")
    refused = api.refused(409, "POST", f"{path}/answers/{answer_id}/{decision}")
    assert refused["code"] == "answer_superseded" and "state=pending" in refused["message"]
    assert "Hello there." not in texts(api, conversation)


def test_an_answer_that_was_sent_at_once_cannot_be_decided(api: Api) -> None:
    path = api.install()
    api.converse(path, "c1", "Hello?")
    answer_id = draft(api, approves=False)
    for decision in ("approve", "reject"):
        assert api.refused(409, "POST", f"{path}/answers/{answer_id}/{decision}")["code"] == "answer_sent"


def test_answers_are_listed_newest_first_in_pages(api: Api) -> None:
    path = api.install()
    for number in range(3):
        api.converse(path, f"c{number}", "Hello?")
        draft(api, conversation_id=f"c{number}")
    page = api.ask("GET", f"{path}/answers?limit=2")
    rest = api.ask("GET", f"{path}/answers?limit=2&cursor={page['cursor']}")
    assert [one["conversationId"] for one in page["answers"] + rest["answers"]] == ["c2", "c1", "c0"]
    assert rest["cursor"] is None


def test_an_answer_longer_than_a_message_may_be_is_refused(api: Api) -> None:
    path = api.install()
    api.converse(path, "c1", "Hello?")
    long = "x" * (api.loop.settings.max_message_chars + 1)
    api.refused(413, "POST", f"{path}/answers/{draft(api)}/approve", json={"content": long})


def test_what_waits_and_the_budgets_of_conversations_are_measured(api: Api) -> None:
    path = api.install()
    api.converse(path, "c1", "Hello?")
    for name, budget, spent in (("w", 10, 1), ("d", 10, 10), ("e", 10, 11), ("ended", 10, 1)):
        api.ask("POST", f"{path}/conversations", json={"conversationId": name, "energyBudget": budget})
        api.spend("chat", spent, name)
    api.ask("POST", f"{path}/conversations/ended/end")
    api.clock.advance(90)
    assert metric_of(api, "afterthought_unanswered_conversations") == 1
    assert metric_of(api, "afterthought_oldest_unanswered_seconds") == 90
    standing = ("within", "depleted", "exceeded")
    counted = [metric_of(api, "afterthought_conversation_budgets", status=status) for status in standing]
    assert counted == [1, 1, 1]


def test_an_approval_needs_the_app_to_be_installed(api: Api) -> None:
    path = api.install()
    api.converse(path, "c1", "Hello?")
    answer_id = draft(api)
    api.ask("DELETE", path)
    assert api.refused(409, "POST", f"{path}/answers/{answer_id}/approve")["code"] == "app_uninstalled"
    with api.loop.database.read() as session:
        assert get_app(session, "chat").uninstalled_at is not None
