"""The context a conversation starts with, over HTTP."""

from __future__ import annotations

from shared.context.block import RECALLED
from tests.support.api import Api


def test_a_context_holds_the_memories_and_then_what_was_said(api: Api) -> None:
    path = api.install()
    older, newer = api.remember(path, "Likes tea.", "Lives in Lisbon.")
    said = [{"role": "user", "content": "Hi."}, {"role": "assistant", "content": "Hello."}]
    context = api.ask("POST", f"{path}/context", json={"messages": said, "message": "What do I like?"})
    lines = context["systemPrompt"].splitlines()
    assert lines[0] == "(memories for app: Chat)"
    assert [line for line in lines if line[:1].isdigit()] == [
        f"1. [Created: 2026-03-01] {RECALLED} Lives in Lisbon.",
        f"2. [Created: 2026-03-01] {RECALLED} Likes tea.",
    ]
    assert [m["role"] for m in context["messages"]] == ["system", "user", "assistant", "user"]
    assert context["messages"][0]["content"] == context["systemPrompt"]
    assert context["included"] == {"memories": [newer, older], "facts": [], "summary": None, "retrieved": []}
    assert context["totalTokens"] == context["memoryTokens"] + 1 + 2 + 4
    assert (context["stage"], context["missing"], context["trimmed"], context["percentUsed"]) == ("none", [], 0, None)


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
