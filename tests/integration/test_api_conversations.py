"""Conversations over HTTP."""

from __future__ import annotations

import pytest
from sqlalchemy import text

from loop.steps.due_jobs import EndSilent, WakeSnoozed
from tests.support.api import Api


def test_a_conversation_is_opened_filled_shown_and_ended(api: Api) -> None:
    path = api.install()
    wanted = {"conversationId": "c1", "userId": "ann", "metadata": {"from": "web"}}
    opened = api.ask("POST", f"{path}/conversations", 201, json=wanted)
    assert (opened["state"], opened["messageCount"], opened["metadata"]) == ("open", 0, {"from": "web"})
    one = api.ask("POST", f"{path}/conversations/c1/messages", 202, json={"role": "user", "content": "Hello."})
    more = [{"role": "assistant", "content": "Hi."}, {"role": "user", "content": "I like tea.", "name": "Ann"}]
    rest = api.ask("POST", f"{path}/conversations/c1/messages", 202, json={"messages": more})
    assert [m["position"] for m in one["messages"] + rest["messages"]] == [0, 1, 2]
    said = api.ask("GET", f"{path}/conversations/c1/messages")["messages"]
    assert [(m["role"], m["content"], m.get("name")) for m in said] == [
        ("user", "Hello.", None), ("assistant", "Hi.", None), ("user", "I like tea.", "Ann"),
    ]  # fmt: skip
    ended = api.ask("POST", f"{path}/conversations/c1/end", 202, json={"reason": "done"})
    pending = [("create_memory", "pending"), ("extract_facts", "pending")]
    assert [(job["kind"], job["state"]) for job in ended["jobs"]] == pending
    shown = api.ask("GET", f"{path}/conversations/c1")
    assert (shown["state"], shown["endReason"], shown["messageCount"]) == ("ended", "done", 3)
    assert shown["jobs"] == ended["jobs"]


def test_ending_a_conversation_again_answers_the_same_jobs(api: Api) -> None:
    conversation = api.converse(api.install(), "c1", "Hello.")
    first, again = (api.ask("POST", f"{conversation}/end") for _ in range(2))
    assert first == again and [job["kind"] for job in first["jobs"]] == ["create_memory", "extract_facts"]


def test_facts_are_extracted_when_somebody_asks(sqlite_api: Api) -> None:
    api = sqlite_api
    conversation = api.converse(api.install(), "c1", "I live in Lyon.")
    asked = api.ask("POST", f"{conversation}/extract", 202)
    assert (asked["conversationId"], asked["job"]["kind"], asked["job"]["state"]) == ("c1", "extract_facts", "pending")
    assert api.ask("POST", f"{conversation}/extract", 202)["job"]["jobId"] == asked["job"]["jobId"]
    api.ask("POST", f"/jobs/{asked['job']['jobId']}/cancel")
    again = api.ask("POST", f"{conversation}/extract", 202)["job"]
    assert again["jobId"] != asked["job"]["jobId"] and again["state"] == "pending"
    silent = api.converse("/apps/chat", "c2")
    assert api.refused(409, "POST", f"{silent}/extract")["code"] == "nothing_new"
    api.refused(404, "POST", "/apps/chat/conversations/c3/extract")


def test_an_ended_conversation_takes_no_message_and_no_snooze(api: Api) -> None:
    conversation = api.converse(api.install(), "c1", "Hello.")
    api.ask("POST", f"{conversation}/end")
    said = {"role": "user", "content": "More."}
    assert api.refused(409, "POST", f"{conversation}/messages", json=said)["code"] == "conversation_ended"
    api.refused(409, "POST", f"{conversation}/snooze", json={"minutes": 5})


def test_the_same_message_id_twice_is_one_message(api: Api) -> None:
    conversation = api.converse(api.install(), "c1")
    said = {"role": "user", "content": "Hello.", "messageId": "m1", "createdAt": "2026-02-03T04:05:06+02:00"}
    first, again = (api.ask("POST", f"{conversation}/messages", json=said) for _ in range(2))
    assert first == again
    assert first["messages"][0]["createdAt"] == "2026-02-03T02:05:06Z"
    assert api.ask("GET", conversation)["messageCount"] == 1


def test_a_conversation_id_is_given_where_none_is_chosen_and_cannot_be_taken_twice(api: Api) -> None:
    path = api.install()
    given = api.ask("POST", f"{path}/conversations")["conversationId"]
    assert given.startswith("conv_")
    taken = api.refused(409, "POST", f"{path}/conversations", json={"conversationId": given})
    assert taken["code"] == "conversation_exists"


def test_conversations_are_listed_newest_first_and_by_user_and_state(api: Api) -> None:
    path = api.install()
    for i, user in enumerate(["ann", "bob", "ann"]):
        api.ask("POST", f"{path}/conversations", json={"conversationId": f"c{i}", "userId": user})
    api.ask("POST", f"{path}/conversations/c0/end")

    def listed(**params: str) -> list[str]:
        found = api.ask("GET", f"{path}/conversations", params=params)["conversations"]
        return [one["conversationId"] for one in found]

    assert listed() == ["c2", "c1", "c0"]
    assert listed(userId="ann") == ["c2", "c0"]
    assert (listed(ended="true"), listed(ended="false")) == (["c0"], ["c2", "c1"])
    first = api.ask("GET", f"{path}/conversations", params={"limit": 2})
    assert listed(cursor=first["cursor"]) == ["c0"]


def test_messages_are_paged_in_order(api: Api) -> None:
    conversation = api.converse(api.install(), "c1", *(f"Message {i}." for i in range(5)))
    first = api.ask("GET", f"{conversation}/messages", params={"limit": 3})
    second = api.ask("GET", f"{conversation}/messages", params={"limit": 3, "cursor": first["cursor"]})
    assert [m["position"] for m in first["messages"] + second["messages"]] == [0, 1, 2, 3, 4]
    assert second["cursor"] is None


def test_a_snoozed_conversation_is_hidden_until_it_is_due(api: Api) -> None:
    conversation = api.converse(api.install(), "c1", "Hello.")
    assert api.ask("POST", f"{conversation}/snooze", json={"minutes": 1440})["state"] == "snoozed"
    api.clock.advance(1440 * 60 + 1)
    assert api.ask("GET", conversation)["state"] == "open"


def test_a_conversation_ends_by_itself_after_the_silence_it_was_opened_with(api: Api) -> None:
    conversations = f"{api.install()}/conversations"
    for name, more in (("c1", {"endAfterMinutes": 30}), ("c2", {}), ("c3", {"endAfterMinutes": 30})):
        api.ask("POST", conversations, json={"conversationId": name} | more)
    step = EndSilent(api.loop.database, api.clock, api.loop.settings)

    def states() -> list[str]:
        step.run()
        return [api.ask("GET", f"{conversations}/{name}")["state"] for name in ("c1", "c2", "c3")]

    api.clock.advance(20 * 60)
    api.ask("POST", f"{conversations}/c3/messages", json={"role": "user", "content": "Still here"})
    api.clock.advance(10 * 60 - 1)
    assert states() == ["open", "open", "open"]
    api.clock.advance(1)
    assert states() == ["ended", "open", "open"]
    api.clock.advance(20 * 60)
    assert states() == ["ended", "open", "ended"]
    ended = api.ask("GET", f"{conversations}/c3")
    assert ended["endReason"] == "nothing was said for 30 minutes"
    assert [job["kind"] for job in ended["jobs"]].count("create_memory") == 1
    assert not step.run()


def test_the_silence_of_a_snoozed_conversation_begins_when_it_is_back(api: Api) -> None:
    path = f"{api.install()}/conversations"
    api.ask("POST", path, json={"conversationId": "c1", "endAfterMinutes": 30})
    api.ask("POST", f"{path}/c1/snooze", json={"minutes": 60})
    step, wake = EndSilent(api.loop.database, api.clock, api.loop.settings), WakeSnoozed(api.loop.database, api.clock)
    for minutes, state in ((59, "snoozed"), (2, "open"), (28, "open"), (1, "ended")):
        api.clock.advance(minutes * 60)
        wake.run()
        step.run()
        assert api.ask("GET", f"{path}/c1")["state"] == state


def test_a_conversation_that_moves_to_another_app_still_ends_by_itself(sqlite_api: Api) -> None:
    path, other = sqlite_api.install(), sqlite_api.install("other")
    sqlite_api.ask("POST", f"{path}/conversations", json={"conversationId": "c1", "endAfterMinutes": 30})
    sqlite_api.ask("POST", f"{other}/import", json=sqlite_api.ask("GET", f"{path}/export"))
    sqlite_api.clock.advance(30 * 60)
    EndSilent(sqlite_api.loop.database, sqlite_api.clock, sqlite_api.loop.settings).run()
    assert sqlite_api.ask("GET", f"{other}/conversations/c1")["state"] == "ended"


@pytest.mark.parametrize("minutes", [0, 10_081, "30", 1.5])
def test_the_silence_that_ends_a_conversation_has_bounds(sqlite_api: Api, minutes: object) -> None:
    path = f"{sqlite_api.install()}/conversations"
    assert "endAfterMinutes" in sqlite_api.refused(422, "POST", path, json={"endAfterMinutes": minutes})["message"]


@pytest.mark.parametrize(
    ("budget", "spent", "status", "remaining"),
    [
        (None, 30, None, None),
        (0, 0, "depleted", 0),
        (100, 50, "within", 50),
        (50, 50, "depleted", 0),
        (25.5, 30, "exceeded", -4.5),
    ],
    ids=["none", "zero", "within", "used up", "exceeded"],
)
def test_a_conversation_shows_where_it_stands_against_its_budget(
    sqlite_api: Api, budget: float | None, spent: float, status: str | None, remaining: float | None
) -> None:
    path = sqlite_api.install()
    sqlite_api.ask("POST", f"{path}/conversations", json={"conversationId": "c1", "energyBudget": budget})
    sqlite_api.spend("chat", spent, "c1")
    shown = sqlite_api.ask("GET", f"{path}/conversations/c1")
    assert (shown["energySpent"], shown["energyBudget"]) == (spent, budget)
    assert (shown["budgetStatus"], shown["energyRemaining"]) == (status, remaining)


def test_what_is_spent_in_parts_is_taken_from_the_budget_of_its_conversation(sqlite_api: Api) -> None:
    path = sqlite_api.install()
    sqlite_api.ask("POST", f"{path}/conversations", json={"conversationId": "c1", "energyBudget": 100})
    for part in (30, 20):
        sqlite_api.spend("chat", part, "c1")
    assert sqlite_api.ask("GET", f"{path}/conversations/c1")["energyRemaining"] == 50


@pytest.mark.parametrize("budget", [50, 0, None, 25.5, 1_000_000], ids=str)
def test_the_budget_of_a_conversation_may_be(api: Api, budget: float | None) -> None:
    opened = api.ask("POST", f"{api.install()}/conversations", 201, json={"energyBudget": budget})
    assert opened["energyBudget"] == budget


@pytest.mark.parametrize("budget", [-10, "invalid", "5", True, 1e300, [1]], ids=str)
def test_the_budget_of_a_conversation_may_not_be(sqlite_api: Api, budget: object) -> None:
    path = sqlite_api.install()
    error = sqlite_api.refused(422, "POST", f"{path}/conversations", json={"energyBudget": budget})
    assert error["details"]["fields"][0]["field"] == "energyBudget"


@pytest.mark.parametrize("rest", ["", "/messages", "/end", "/snooze"])
def test_an_unknown_conversation_is_not_found(sqlite_api: Api, rest: str) -> None:
    path = sqlite_api.install()
    bodies = {"/messages": {"role": "user", "content": "x"}, "/snooze": {"minutes": 1}}
    if rest in bodies or rest == "/end":
        sqlite_api.refused(404, "POST", f"{path}/conversations/none{rest}", json=bodies.get(rest, {}))
    if rest in ("", "/messages"):
        sqlite_api.refused(404, "GET", f"{path}/conversations/none{rest}")
        sqlite_api.refused(404, "GET", f"/apps/none/conversations/none{rest}")


def test_messages_are_taken_without_a_word_index_and_counted(api: Api) -> None:
    conversation = api.converse(api.install(), "c1")
    with api.loop.database.write() as session:
        session.execute(text("DROP TABLE message_words"))
    assert without_words(api) == 0
    messages = [{"role": "user", "content": "Hello."}, {"role": "system", "content": "Be kind."}]
    api.ask("POST", f"{conversation}/messages", 202, json={"messages": messages})
    assert without_words(api) == 1


def without_words(api: Api) -> float:
    [counter] = api.loop.metrics.index_failures.collect()
    return sum(sample.value for sample in counter.samples if sample.name.endswith("_total"))
