"""The context a conversation starts with, over HTTP."""

from __future__ import annotations

from shared.context.rendering import RECALLED
from tests.support.api import Api


def test_a_context_holds_the_memories_and_then_what_was_said(api: Api) -> None:
    path = api.install()
    older, newer = api.remember(path, "Likes tea.", "Lives in Lisbon.")
    said = [{"role": "user", "content": "Hi."}, {"role": "assistant", "content": "Hello."}]
    context = api.ask("POST", f"{path}/context", json={"messages": said, "message": "What do I like?"})
    lines = context["systemPrompt"].splitlines()
    assert (lines[0], lines[2]) == ("(memories for app: Chat)", RECALLED)
    assert [line for line in lines if line[:1].isdigit()] == [
        "1. [Created: 2026-03-01] Lives in Lisbon.",
        "2. [Created: 2026-03-01] Likes tea.",
    ]
    assert [m["role"] for m in context["messages"]] == ["system", "user", "assistant", "user"]
    assert context["messages"][0]["content"] == context["systemPrompt"]
    assert context["included"] == {
        "memories": [newer, older],
        "facts": [],
        "summary": None,
        "profile": False,
        "retrieved": [],
    }
    assert context["totalTokens"] == context["memoryTokens"] + 1 + 2 + 4
    assert (context["stage"], context["missing"], context["trimmed"], context["percentUsed"]) == ("none", [], 0, None)
    assert (context["cut"], context["tokenSource"]) == (False, "estimated")


def test_a_stored_conversation_is_taken_where_no_messages_are_sent(api: Api) -> None:
    path = api.install()
    api.converse(path, "c1", "Stored.")
    stored = api.ask("POST", f"{path}/context", json={"conversationId": "c1", "message": "Now."})
    assert [m["content"] for m in stored["messages"]] == ["Stored.", "Now."]
    sent = api.ask("POST", f"{path}/context", json={"conversationId": "c1", "messages": []})
    assert sent["messages"] == []
    api.refused(404, "POST", f"{path}/context", json={"conversationId": "none"})


def test_memories_never_take_more_than_their_budget_nor_than_the_window_leaves(sqlite_api: Api) -> None:
    path = sqlite_api.install()
    ids = sqlite_api.remember(path, *(f"Memory {i} " + "x" * 150 for i in range(8)))
    fitting = sqlite_api.ask("POST", f"{path}/context", json={"tokenBudget": 200})
    assert 0 < fitting["memoryTokens"] <= 200
    assert fitting["included"]["memories"] == ids[::-1][: len(fitting["included"]["memories"])]
    body = {"message": "y" * 400, "contextWindow": 300, "reserve": 50}
    tight = sqlite_api.ask("POST", f"{path}/context", json=body)
    assert tight["totalTokens"] <= 250 and tight["percentUsed"] == round(100 * tight["totalTokens"] / 300, 2)
    full = sqlite_api.ask("POST", f"{path}/context", json=body | {"reserve": 300})
    assert (full["systemPrompt"], full["included"]["memories"]) == ("", [])


def test_contexts_are_counted_by_whether_memories_were_in_them(sqlite_api: Api) -> None:
    path = sqlite_api.install()
    sqlite_api.ask("POST", f"{path}/context")
    sqlite_api.remember(path, "Likes tea.")
    sqlite_api.ask("POST", f"{path}/context")
    counted = sqlite_api.loop.metrics.contexts
    assert [counted.labels(injected)._value.get() for injected in ("true", "false")] == [1, 1]


def test_a_conversation_is_compacted_to_the_window_with_a_reserve_for_the_answer(sqlite_api: Api) -> None:
    path = sqlite_api.install()
    said = [{"role": ("user", "assistant")[n % 2], "content": f"{n:04d}" + "x" * 396} for n in range(100)]
    body = {"messages": said, "message": "And now?", "contextWindow": 2048}
    context = sqlite_api.ask("POST", f"{path}/context", json=body)
    assert (context["stage"], context["trimmed"], context["cut"]) == ("stage1", 93, False)
    kept = [m["content"][:4] for m in context["messages"]]
    assert kept == ["0000", "0001", "0095", "0096", "0097", "0098", "0099", "And "]
    assert context["totalTokens"] == 702 <= 2048 - 1000
    assert context["percentUsed"] == round(100 * 702 / 2048, 2)
    long = sqlite_api.ask("POST", f"{path}/context", json={"message": "x" * 9000, "contextWindow": 2048})
    assert (long["stage"], long["cut"], long["totalTokens"]) == ("stage2", True, 1048)


def test_figures_of_a_provider_are_taken_from_the_request_and_from_what_is_stored(sqlite_api: Api) -> None:
    path = sqlite_api.install()
    sent = [{"role": "user", "content": "x" * 400, "tokens": 7}]
    assert sqlite_api.ask("POST", f"{path}/context", json={"messages": sent})["totalTokens"] == 7
    conversation = sqlite_api.converse(path, "c1")
    sqlite_api.ask("POST", f"{conversation}/messages", json=sent[0])
    stored = sqlite_api.ask("POST", f"{path}/context", json={"conversationId": "c1"})
    assert (stored["totalTokens"], stored["tokenSource"]) == (7, "provider")
    assert [m["tokens"] for m in sqlite_api.ask("GET", f"{conversation}/messages")["messages"]] == [7]
    for tokens in (-1, 1.5, "7", 10**9):
        body = {"messages": [{"role": "user", "content": "x", "tokens": tokens}]}
        sqlite_api.refused(422, "POST", f"{path}/context", json=body)
        sqlite_api.refused(422, "POST", f"{conversation}/messages", json=body["messages"][0])


def test_a_window_of_nothing_is_refused(sqlite_api: Api) -> None:
    path = sqlite_api.install()
    for window in (0, -1, "8192", 10**9):
        sqlite_api.refused(422, "POST", f"{path}/context", json={"contextWindow": window})


def test_a_token_budget_holds_for_everything_that_is_recalled(sqlite_api: Api) -> None:
    path = sqlite_api.install()
    sqlite_api.remember(path, *(f"Memory {i} " + "x" * 150 for i in range(8)))
    body = {"contextWindow": 100_000}
    assert 150 < sqlite_api.ask("POST", f"{path}/context", json=body)["memoryTokens"] <= 500
    assert sqlite_api.ask("POST", f"{path}/context", json=body | {"tokenBudget": 120})["memoryTokens"] <= 120


def test_the_context_of_an_app_or_a_conversation_that_is_not_there_is_not_found(sqlite_api: Api) -> None:
    sqlite_api.refused(404, "POST", "/apps/nobody/context")
    path = sqlite_api.install()
    sqlite_api.refused(404, "POST", f"{path}/context", json={"conversationId": "none", "messages": []})
