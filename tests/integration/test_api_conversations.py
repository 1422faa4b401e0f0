"""Conversations over HTTP."""

from __future__ import annotations

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


def test_an_ended_conversation_takes_no_message_and_no_snooze_and_ends_once(api: Api) -> None:
    conversation = api.converse(api.install(), "c1", "Hello.")
    first, again = (api.ask("POST", f"{conversation}/end") for _ in range(2))
    assert first == again and [job["kind"] for job in first["jobs"]] == ["create_memory", "extract_facts"]
    said = {"role": "user", "content": "More."}
    assert api.refused(409, "POST", f"{conversation}/messages", json=said)["code"] == "conversation_ended"
    api.refused(409, "POST", f"{conversation}/snooze", json={"minutes": 5})


def test_the_same_message_id_twice_is_one_message(api: Api) -> None:
    conversation = api.converse(api.install(), "c1")
    said = {"role": "user", "content": "Hello.", "messageId": "m1", "createdAt": "2026-02-03T04:05:06+02:00"}
    first, again = (api.ask("POST", f"{conversation}/messages", json=said) for _ in range(2))
    assert first == again and first["messages"][0]["createdAt"] == "2026-02-03T02:05:06Z"
    assert api.ask("GET", conversation)["messageCount"] == 1


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


STANDS: list[tuple[float | None, tuple[float, ...], str | None, float | None]] = [
    (None, (30,), None, None), (0, (), "depleted", 0), (100, (30, 20), "within", 50), (50, (50,), "depleted", 0),
    (25.5, (30,), "exceeded", -4.5), (1_000_000, (), "within", 1_000_000),
]  # fmt: skip


def test_a_conversation_shows_where_it_stands_against_its_budget(api: Api) -> None:
    path = f"{api.install()}/conversations"
    for number, (budget, parts, status, remaining) in enumerate(STANDS):
        one = f"c{number}"
        opened = api.ask("POST", path, 201, json={"conversationId": one, "energyBudget": budget})
        assert opened["energyBudget"] == budget
        for part in parts:
            api.spend("chat", part, one)
        shown = api.ask("GET", f"{path}/{one}")
        assert (shown["energySpent"], shown["energyBudget"]) == (sum(parts), budget)
        assert (shown["budgetStatus"], shown["energyRemaining"]) == (status, remaining)


def test_what_a_conversation_cannot_be_opened_with_is_refused_and_named(sqlite_api: Api) -> None:
    path = f"{sqlite_api.install()}/conversations"
    wrong = {"energyBudget": [-10, "invalid", "5", True, 1e300, [1]], "endAfterMinutes": [0, 10_081, "30", 1.5]}
    for name, values in wrong.items():
        for value in values:
            error = sqlite_api.refused(422, "POST", path, json={name: value})
            assert error["details"]["fields"][0]["field"] == name and name in error["message"], value


def test_an_unknown_conversation_is_not_found(sqlite_api: Api) -> None:
    path = f"{sqlite_api.install()}/conversations/none"
    for rest, body in (("/messages", {"role": "user", "content": "x"}), ("/snooze", {"minutes": 1}), ("/end", {}),
                       ("/extract", None)):  # fmt: skip
        sqlite_api.refused(404, "POST", f"{path}{rest}", json=body)
    for rest in ("", "/messages"):
        for one in (path, "/apps/none/conversations/none"):
            sqlite_api.refused(404, "GET", f"{one}{rest}")


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
