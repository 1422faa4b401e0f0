"""Messages in every shape over HTTP: whose words they are, what they answer, what is refused, how they travel."""

from __future__ import annotations

from typing import Any

from tests.support.api import Api

SECRET = "TOOLSECRET"
PNG = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
CALL = {"id": "call_1", "type": "function", "function": {"name": "look_up", "arguments": '{"what": "orders"}'}}
RESULT = {"type": "tool_result", "tool_use_id": "toolu_1", "content": [{"type": "text", "text": SECRET}]}
USE = {"type": "tool_use", "id": "toolu_1", "name": "look_up", "input": {"what": "orders"}}


def say(api: Api, conversation: str, *messages: dict[str, Any]) -> dict[str, Any]:
    """Add messages; return how the conversation stands then."""
    api.ask("POST", f"{conversation}/messages", 202, json={"messages": list(messages)})
    return dict(api.ask("GET", conversation))


def found(api: Api, path: str, query: str) -> list[str]:
    answer = api.ask("POST", f"{path}/search", json={"query": query, "limit": 10})
    return [one["content"] for one in answer["results"]]


def test_an_assistant_that_only_calls_a_tool_has_not_answered(api: Api) -> None:
    conversation = api.converse(api.install(), "c1", "Where is my parcel?")
    call = {"role": "assistant", "content": None, "tool_calls": [CALL]}
    result = {"role": "tool", "tool_call_id": "call_1", "content": "on its way"}
    waiting = [say(api, conversation, one)["unansweredSince"] for one in (call, result)]
    assert None not in waiting and len(set(waiting)) == 1
    assert say(api, conversation, {"role": "assistant", "content": "On its way."})["unansweredSince"] is None


def test_results_of_tools_that_a_user_brings_are_not_the_users_words(api: Api) -> None:
    path = api.install()
    conversation = api.converse(path, "c1")
    asked = {"role": "user", "content": "Look my heron up."}
    used = {"role": "assistant", "content": [{"type": "text", "text": "A moment."}, USE]}
    stands = say(api, conversation, asked, used, {"role": "user", "content": [RESULT]})
    assert stands["unansweredSince"] is None, "nobody waits: the assistant said something, and no user did since"
    parts = [{**RESULT, "tool_use_id": "toolu_2"}, {"type": "text", "text": "And an egret?"}]
    assert say(api, conversation, {"role": "user", "content": parts})["unansweredSince"] is not None
    assert found(api, path, SECRET) == []
    assert found(api, path, "egret")[0] == "And an egret?"
    assert not any(SECRET in one for one in found(api, path, "heron egret moment"))


def test_an_image_waits_for_an_answer_and_is_no_text(api: Api) -> None:
    path = api.install()
    conversation = api.converse(path, "c1")
    assert say(api, conversation, {"role": "user", "content": [PNG]})["unansweredSince"] is not None
    say(api, conversation, {"role": "user", "content": [{"type": "text", "text": "My boat."}, PNG]})
    assert found(api, path, "boat image_url base64") == ["My boat."]


def test_the_answer_to_an_addition_names_the_roles_that_were_sent(sqlite_api: Api) -> None:
    conversation = sqlite_api.converse(sqlite_api.install(), "c1")
    sent = [
        {"role": "developer", "content": "Be brief."},
        {"role": "user", "content": [RESULT], "messageId": "m-1"},
        {"role": "function", "name": "f", "content": "x", "tokens": 3, "createdAt": "2026-01-01T00:00:00Z"},
    ]
    stored = sqlite_api.ask("POST", f"{conversation}/messages", 202, json={"messages": sent})["messages"]
    assert [one["role"] for one in stored] == ["developer", "user", "function"]
    listed = sqlite_api.ask("GET", f"{conversation}/messages")["messages"]
    at = listed[0]["createdAt"]
    assert listed == [
        {**sent[0], "messageId": stored[0]["messageId"], "position": 0, "createdAt": at},
        {**sent[1], "position": 1, "createdAt": at},
        {**sent[2], "messageId": stored[2]["messageId"], "position": 2},
    ]


REFUSED = [
    ({"role": "king", "content": "x"}, "role", "Input should be"),
    ({"role": "user"}, "", "must be text or a list of parts"),
    ({"role": "user", "content": None}, "", "must be text or a list of parts"),
    ({"role": "tool", "content": None, "tool_call_id": "x"}, "", "must be text or a list of parts"),
    ({"role": "assistant"}, "", "neither content nor tool_calls"),
    ({"role": "user", "content": 5}, "content", "must be text, a list of parts, or null"),
    ({"role": "user", "content": {"type": "text"}}, "content", "must be text, a list of parts, or null"),
    ({"role": "user", "content": ["hello"]}, "content", "part 0 must be an object with a type"),
    ({"role": "user", "content": [{"type": "text"}]}, "content", "part 0 (text) must have text: text"),
    ({"role": "user", "content": [PNG, {"type": "text", "text": 5}]}, "content", "part 1 (text) must have text"),
    ({"role": "user", "content": [{"type": "tool_result"}]}, "content", "must have tool_use_id"),
    ({"role": "user", "content": [{**RESULT, "content": 5}]}, "content", "must be text or a list of parts"),
    ({"role": "assistant", "content": [{**USE, "input": "x"}]}, "content", "must have input: an object"),
    ({"role": "assistant", "tool_calls": [{"id": "a"}]}, "tool_calls", "call 0 must have function: an object"),
    ({"role": "assistant", "tool_calls": [{**CALL, "id": 5}]}, "tool_calls", "the id of call 0 must be text"),
    ({"role": "assistant", "tool_calls": [{"function": {"name": "f"}}]}, "tool_calls", "must have arguments: text"),
    ({"role": "assistant", "tool_calls": "f()"}, "tool_calls", "valid list"),
    ({"role": "assistant", "function_call": {}}, "function_call", "must have name"),
    ({"role": "user", "content": "x", "message_id": "m1"}, "", "message_id is no key of a message"),
    ({"role": "user", "content": "x", "name": "n" * 201}, "name", "at most 200 characters"),
    ({"role": "user", "content": [{"type": "a", "x": [[[[[[[[[[[[[[[[[[[[5]]]]]]]]]]]]]]]]]]]]}]}, "",
     "nested more than"),
    ({"role": "user", "content": [{"type": "a", "x": [0] * 10_000}]}, "", "more than 10000 values"),
]  # fmt: skip


def test_what_cannot_be_understood_is_refused_with_what_is_wrong(sqlite_api: Api) -> None:
    path = sqlite_api.install()
    conversation = sqlite_api.converse(path, "c1")
    for message, field, problem in REFUSED:
        for address, body, place in (
            (f"{conversation}/messages", message, ""),
            (f"{conversation}/messages", {"messages": [message]}, "messages.0"),
            (f"{path}/context", {"messages": [message]}, "messages.0"),
        ):
            [first, *_] = sqlite_api.refused(422, "POST", address, json=body)["details"]["fields"]
            assert first["field"] == (".".join(filter(None, (place, field))) or "body"), (message, first)
            assert problem in first["problem"] and len(first["problem"]) < 200
    assert sqlite_api.ask("GET", conversation)["messageCount"] == 0


def test_everything_in_a_message_counts_towards_its_longest(sqlite_api: Api) -> None:
    conversation = sqlite_api.converse(sqlite_api.install(), "c1")
    most = sqlite_api.loop.settings.max_message_chars
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * most}}
    called = {"name": "f", "arguments": "1" * most}
    for message in (
        {"role": "user", "content": [image]},
        {"role": "assistant", "content": None, "tool_calls": [{**CALL, "function": called}]},
        {"role": "user", "content": "x" * (most + 1)},
    ):
        error = sqlite_api.refused(413, "POST", f"{conversation}/messages", json=message)
        assert error["details"] == {"limit": most} and "everything in it counted" in error["message"]
    say(sqlite_api, conversation, {"role": "user", "content": "x" * most})


def test_messages_travel_in_an_archive_as_they_were_sent(api: Api) -> None:
    path = api.install()
    conversation = api.converse(path, "c1")
    sent = [
        {"role": "developer", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": "Look my heron up."}, PNG]},
        {"role": "assistant", "content": None, "tool_calls": [CALL, {**CALL, "id": "call_2"}]},
        {"role": "tool", "tool_call_id": "call_2", "content": SECRET},
        {"role": "tool", "tool_call_id": "call_1", "content": "a heron"},
        *({"role": "user", "content": f"And then {n}?"} for n in range(8)),
    ]
    say(api, conversation, *sent)
    archive = api.ask("GET", f"{path}/export")
    [archived] = archive["conversations"]
    assert [one["content"] for one in archived["messages"]][1:4] == ["Look my heron up.", "", SECRET]
    api.ask("POST", "/apps/other/import", json=archive)
    listed = [f"/apps/{app}/conversations/c1/messages" for app in ("chat", "other")]
    assert api.ask("GET", listed[0]) == api.ask("GET", listed[1])
    assert found(api, "/apps/other", "heron") == ["Look my heron up."]
    wanted = {"conversationId": "c1", "contextWindow": 200, "reserve": 0}
    here, there = (api.ask("POST", f"/apps/{app}/context", json=wanted) for app in ("chat", "other"))
    assert here["messages"] == there["messages"] and here["trimmed"] == there["trimmed"] > 0
    archived["messages"][3]["content"] = "Forged words."
    archived["messages"][3]["payload"]["tool_calls"] = 5
    assert "tool_calls" in api.refused(422, "POST", "/apps/third/import", json=archive)["message"]
    del archived["messages"][3]["payload"]["tool_calls"]
    api.ask("POST", "/apps/third/import", json=archive)
    assert found(api, "/apps/third", "forged") == []
    assert "Forged" not in api.send("GET", "/apps/third/export").text


def test_a_context_of_a_long_conversation_keeps_every_call_with_all_its_results(api: Api) -> None:
    path = api.install()
    conversation = api.converse(path, "c1", "What is in stock?")
    calls = [{**CALL, "id": f"call_{n}"} for n in range(3)]
    results = [{"role": "tool", "tool_call_id": f"call_{n}", "content": f"{n} herons"} for n in (2, 0)]
    say(api, conversation, {"role": "assistant", "content": None, "tool_calls": calls}, *results)
    for n in range(30):
        say(api, conversation, {"role": ("user", "assistant")[n % 2], "content": f"{n} " + "x" * 400})
    late = {"role": "tool", "tool_call_id": "call_1", "content": "1 heron, found late"}
    say(api, conversation, late)
    context = api.ask("POST", f"{path}/context", json={"conversationId": "c1", "contextWindow": 2000, "reserve": 0})
    assert context["trimmed"] == 25 and not context["cut"]
    names = [one.get("tool_call_id") for one in context["messages"]]
    assert [name for name in names if name] == ["call_2", "call_0", "call_1"]
    assert {"role": "assistant", "content": None, "tool_calls": calls} in context["messages"]


def test_a_message_that_is_cut_keeps_its_shape_and_the_answer_says_so(sqlite_api: Api) -> None:
    path = sqlite_api.install()
    long = {"role": "user", "content": [{"type": "text", "text": "x" * 9000}, PNG]}
    body = {"messages": [long], "contextWindow": 2048, "reserve": 0}
    context = sqlite_api.ask("POST", f"{path}/context", json=body)
    assert (context["cut"], context["totalTokens"], context["trimmed"]) == (True, 2048, 0)
    [cut] = context["messages"]
    assert [part["type"] for part in cut["content"]] == ["text", "image_url"]
    assert cut["content"][0]["text"].endswith("x […]")


def test_an_image_and_what_is_given_to_tools_count_towards_the_context(sqlite_api: Api) -> None:
    path = sqlite_api.install()
    given = {**CALL, "function": {"name": "f", "arguments": "1" * 400}}
    messages = [{"role": "user", "content": [PNG]}, {"role": "assistant", "content": None, "tool_calls": [given]}]
    conversation = sqlite_api.converse(path, "c1")
    say(sqlite_api, conversation, *messages)
    for wanted in ({"messages": messages}, {"conversationId": "c1"}):
        assert sqlite_api.ask("POST", f"{path}/context", json=wanted)["totalTokens"] == 1000 + 100


def test_the_last_messages_and_those_around_one_are_listed_without_the_rest(api: Api) -> None:
    path = f"{api.install()}/conversations"
    api.ask("POST", path, json={"conversationId": "long"})
    said = [{"role": "user", "content": f"Number {i}.", "messageId": f"m{i}"} for i in range(9)]
    api.ask("POST", f"{path}/long/messages", json={"messages": said})

    def listed(query: str) -> list[str]:
        return [one["messageId"] for one in api.ask("GET", f"{path}/long/messages?{query}")["messages"]]

    assert listed("before=9&limit=3") == ["m6", "m7", "m8"]
    assert listed("before=2&limit=3") == ["m0", "m1"]
    assert listed("around=m5&limit=4") == ["m3", "m4", "m5", "m6"]
    assert listed("around=m0&limit=4") == ["m0", "m1", "m2", "m3"]
    rest = api.ask("GET", f"{path}/long/messages?around=m5&limit=4")
    assert listed(f"cursor={rest['cursor']}") == ["m7", "m8"]
    assert "m77" in api.refused(404, "GET", f"{path}/long/messages?around=m77")["message"]
    api.refused(422, "GET", f"{path}/long/messages?before=0")
