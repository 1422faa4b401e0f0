"""Messages as chat programs have them: judged by the types of ``openai`` and ``anthropic``, and by ``langchain_core``.

What is sent comes back as it was sent, from the listing and from any context, unless it was trimmed or cut, and then
the answer says so. A call of a tool and its results are never parted.

The two libraries are imported where they are used: it takes seconds, and every test process imports every test file.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from itertools import count
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage, convert_to_messages
from langchain_core.messages.utils import convert_to_openai_messages
from pydantic import TypeAdapter

from tests.support.api import Api
from tests.support.chance import examples

OURS = ("messageId", "position", "createdAt", "tokens")
_NUMBERS = count()
Sent = dict[str, Any]


@cache
def openai_types() -> TypeAdapter[Any]:
    from openai.types.chat import ChatCompletionMessageParam

    return TypeAdapter(ChatCompletionMessageParam)


@cache
def anthropic_types() -> TypeAdapter[Any]:
    from anthropic.types import MessageParam

    return TypeAdapter(MessageParam)


def judge(types: TypeAdapter[Any], messages: Iterable[Sent]) -> None:
    """Have types validate messages whole: what they call iterable is only validated when it is read."""
    for message in messages:
        _read(types.validate_python(message))


def _read(value: object) -> None:
    if isinstance(value, Mapping):
        value = value.values()
    if isinstance(value, Iterable) and not isinstance(value, str | bytes):
        for one in value:
            _read(one)


def hold(api: Api, messages: Sequence[Sent], user: str | None = None) -> str:
    """Hold a conversation, its messages sent in two parts; return its path."""
    conversation = f"/apps/chat/conversations/c{next(_NUMBERS)}"
    who = {} if user is None else {"userId": user}
    api.ask("POST", "/apps/chat/conversations", json={"conversationId": conversation.rpartition("/")[2], **who})
    half = len(messages) // 2
    for part in (messages[:half], messages[half:]):
        if part:
            api.ask("POST", f"{conversation}/messages", json={"messages": part})
    return conversation


def listed(api: Api, conversation: str) -> list[Sent]:
    found = api.ask("GET", f"{conversation}/messages", params={"limit": 200})["messages"]
    assert [one["position"] for one in found] == list(range(len(found)))
    return [{key: value for key, value in one.items() if key not in OURS} for one in found]


def context(api: Api, **wanted: Any) -> tuple[list[Sent], dict[str, Any]]:
    """Return what was said, as a context has it, and the whole answer."""
    answer = api.ask("POST", "/apps/chat/context", json=wanted)
    recalled = [answer["messages"][place] for place in answer["recalledAt"]]
    assert "\n\n".join(one["content"] for one in recalled) == answer["systemPrompt"]
    assert {one["role"] for one in recalled} <= {"system", "developer", "user"}
    said = [one for place, one in enumerate(answer["messages"]) if place not in answer["recalledAt"]]
    return said, answer


# Conversations as a chat with OpenAI's models leaves them.

TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=40)
LONG = st.builds(lambda text, times: text * times, TEXT, st.sampled_from([1, 1, 1, 20]))
NAMED = st.just({}) | st.fixed_dictionaries({"name": st.sampled_from(["ann", "Zoë", "李"])})
IMAGE = st.just({"type": "image_url", "image_url": {"url": "https://example.com/a.png", "detail": "low"}})
AUDIO = st.just({"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "wav"}})
FILE = st.just({"type": "file", "file": {"file_id": "file-1"}})
WORDS = st.builds(lambda text: {"type": "text", "text": text}, LONG)
REFUSED = st.builds(lambda text: {"type": "refusal", "refusal": text}, TEXT)


def said(role: str, content: st.SearchStrategy[Any], more: st.SearchStrategy[Sent] = NAMED) -> st.SearchStrategy[Any]:
    return st.builds(lambda content, more: [{"role": role, "content": content, **more}], content, more)


def parts(*kinds: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return LONG | st.lists(st.one_of(kinds), min_size=1, max_size=3)


@st.composite
def tools_called(draw: st.DrawFn) -> list[Sent]:
    """Return a message that calls tools, and the results in any order."""
    ids = [f"call_{next(_NUMBERS)}" for _ in range(draw(st.integers(1, 3)))]
    functions = st.fixed_dictionaries({"name": st.just("look"), "arguments": st.sampled_from(["{}", '{"é": "x"}'])})
    calls = [draw(_call(one, functions)) for one in ids]
    caller = {"role": "assistant", "content": draw(st.none() | LONG), "tool_calls": calls}
    content = parts(WORDS)
    return [
        caller,
        *({"role": "tool", "tool_call_id": one, "content": draw(content)} for one in draw(st.permutations(ids))),
    ]


def _call(call_id: str, functions: st.SearchStrategy[Sent]) -> st.SearchStrategy[Sent]:
    custom = st.builds(lambda given: {"id": call_id, "type": "custom", "custom": {"name": "run", "input": given}}, LONG)
    return custom | st.builds(lambda one: {"id": call_id, "type": "function", "function": one}, functions)


FUNCTION_CALLED = LONG.map(
    lambda text: [
        {"role": "assistant", "content": None, "function_call": {"name": "look", "arguments": '{"at": 1}'}},
        {"role": "function", "name": "look", "content": text},
    ]
)
ROUNDS = st.lists(
    st.one_of(
        said("user", parts(WORDS, IMAGE, AUDIO, FILE)),
        said("user", LONG),
        said("assistant", parts(WORDS, REFUSED)),
        said("assistant", LONG, st.sampled_from([{}, {"refusal": None}, {"audio": {"id": "audio_1"}}])),
        said("assistant", st.none(), st.builds(lambda text: {"refusal": text}, TEXT)),
        said("system", LONG | st.lists(WORDS, min_size=1, max_size=2)),
        said("developer", LONG),
        tools_called(),
        FUNCTION_CALLED,
    ),
    max_size=14,
).map(lambda rounds: [message for one in rounds for message in one])
WINDOWS = st.none() | st.integers(1, 300) | st.integers(300, 3000)


@settings(max_examples=examples(60), suppress_health_check=list(HealthCheck))
@given(ROUNDS, WINDOWS, st.sampled_from([None, "ann", "bob"]))
def test_whatever_openai_sends_comes_back_as_it_was_and_its_types_take_it(
    api: Api, messages: list[Sent], window: int | None, user: str | None
) -> None:
    judge(openai_types(), messages)
    check(api, openai_types(), messages, window, user)


def check(api: Api, types: TypeAdapter[Any], messages: list[Sent], window: int | None, user: str | None) -> None:
    conversation = hold(api, messages, user)
    assert listed(api, conversation) == messages
    bounds = {} if window is None else {"contextWindow": window, "reserve": 0}
    known = {"conversationId": conversation.rpartition("/")[2]}
    shown, answer = context(api, **known, **bounds)
    judge(types, shown)
    check_kept(messages, shown, answer, window)
    given_ones, given_answer = context(api, **known, messages=messages, **bounds)
    check_kept(messages, given_ones, given_answer, window)
    assert (given_ones, given_answer["trimmed"], given_answer["cut"]) == (shown, answer["trimmed"], answer["cut"])


def check_kept(messages: list[Sent], shown: list[Sent], answer: dict[str, Any], window: int | None) -> None:
    """Check that each message stands as it was sent, but where the answer says that it was left out or shortened."""
    assert answer["trimmed"] == len(messages) - len(shown)
    if window is None:
        assert shown == messages
        return
    assert answer["totalTokens"] <= window
    if not answer["cut"]:
        rest = iter(messages)
        assert all(any(one == other for other in rest) for one in shown)
    calls, results = _ids(messages, calls_in), _ids(messages, results_in)
    shown_calls, shown_results = _ids(shown, calls_in), _ids(shown, results_in)
    assert shown_results == [one for one in results if one in shown_calls], (
        "no result without its call, no call without"
    )
    assert shown_calls == [one for one in calls if one in shown_calls]
    assert shown[-1:] == messages[-1:] or answer["cut"]


def _ids(messages: list[Sent], read: Any) -> list[str]:
    return [one for message in messages for one in read(message)]


def calls_in(message: Sent) -> list[str]:
    parts = message["content"] if isinstance(message["content"], list) else []
    return [one["id"] for one in message.get("tool_calls", ())] + [p["id"] for p in parts if p["type"] == "tool_use"]


def results_in(message: Sent) -> list[str]:
    parts = message["content"] if isinstance(message["content"], list) else []
    named = [message["tool_call_id"]] if "tool_call_id" in message else []
    return named + [part["tool_use_id"] for part in parts if part["type"] == "tool_result"]


# Conversations as a chat with Anthropic's models leaves them.

SOURCE = {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}
PICTURE = st.just({"type": "image", "source": SOURCE})
DOCUMENT = st.builds(
    lambda text: {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": text}}, TEXT
)
THOUGHT = st.builds(lambda text: {"type": "thinking", "thinking": text, "signature": "sig"}, LONG)


@st.composite
def tools_used(draw: st.DrawFn) -> list[Sent]:
    """Return a message that uses tools, and the user's message with the results in any order, words perhaps beside."""
    ids = [f"toolu_{next(_NUMBERS)}" for _ in range(draw(st.integers(1, 3)))]
    uses = [{"type": "tool_use", "id": one, "name": "look", "input": {"at": draw(TEXT)}} for one in ids]
    content = draw(st.lists(THOUGHT, max_size=1)) + draw(st.lists(WORDS, max_size=1)) + uses
    inner = st.lists(WORDS | PICTURE, min_size=1, max_size=2) | LONG
    results = [
        {"type": "tool_result", "tool_use_id": one, "content": draw(inner)} for one in draw(st.permutations(ids))
    ]
    return [
        {"role": "assistant", "content": content},
        {"role": "user", "content": results + draw(st.lists(WORDS, max_size=1))},
    ]


ANTHROPIC_ROUNDS = st.lists(
    st.one_of(
        said("user", LONG | st.lists(WORDS | PICTURE | DOCUMENT, min_size=1, max_size=3), st.just({})),
        said("assistant", LONG | st.lists(WORDS | THOUGHT, min_size=1, max_size=2), st.just({})),
        tools_used(),
    ),
    max_size=14,
).map(lambda rounds: [message for one in rounds for message in one])


@settings(max_examples=examples(40), suppress_health_check=list(HealthCheck))
@given(ANTHROPIC_ROUNDS, WINDOWS)
def test_whatever_anthropic_sends_comes_back_as_it_was_and_its_types_take_it(
    api: Api, messages: list[Sent], window: int | None
) -> None:
    judge(anthropic_types(), messages)
    check(api, anthropic_types(), messages, window, None)


# Objects of their libraries, as programs hand them on.


LOOKED = {"id": "call_1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
CITED = {"type": "url_citation", "url_citation": {"start_index": 0, "end_index": 1, "title": "t", "url": "https://x"}}
HEARD = {"id": "audio_1", "data": "UklGRg==", "expires_at": 1, "transcript": "Good morning."}


@pytest.mark.parametrize(
    "answer",
    [
        {"content": "Hello."},
        {"tool_calls": [LOOKED]},
        {"content": "See there.", "annotations": [CITED]},
        {"refusal": "I cannot help with that."},
        {"audio": HEARD},
        {"function_call": {"name": "look", "arguments": "{}"}},
        {"content": "Four.", "reasoning_content": "Two and two."},
    ],
    ids=["text", "calls", "citations", "refusal", "audio", "function call", "reasoning"],
)
@pytest.mark.parametrize("unset", [True, False], ids=["what was set", "all keys, most of them null"])
def test_an_answer_of_openais_client_is_taken_as_it_is_dumped(api: Api, answer: dict[str, Any], unset: bool) -> None:
    from openai.types.chat import ChatCompletionMessage

    received = ChatCompletionMessage.model_validate({"role": "assistant", "content": None} | answer)
    dumped = received.model_dump(mode="json", exclude_unset=unset)
    conversation = hold(api, [{"role": "user", "content": "?"}, dumped])
    _, kept = listed(api, conversation)
    judge(openai_types(), [kept])
    assert kept.items() <= dumped.items()
    assert all(dumped[key] is None for key in dumped.keys() - kept.keys())
    shown, _ = context(api, messages=[dumped])
    assert shown == [kept]


def test_an_answer_of_anthropics_client_is_taken_whole_by_its_content_and_as_a_parameter(api: Api) -> None:
    from anthropic.types import Message, TextBlock, ThinkingBlock, ToolUseBlock, Usage

    blocks = [
        ThinkingBlock(type="thinking", thinking="Hm.", signature="s"),
        TextBlock(type="text", text="Let me look.", citations=None),
        ToolUseBlock(type="tool_use", id="toolu_1", name="look", input={"at": 1}),
    ]
    usage = Usage(input_tokens=1, output_tokens=2)
    answer = Message(
        id="msg_1", type="message", role="assistant", model="m", content=blocks, usage=usage, stop_reason="tool_use"
    )
    content = answer.model_dump(mode="json")["content"]
    as_param = {**answer.to_param(), "content": [block.model_dump(mode="json") for block in answer.content]}
    results = [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "rain"}]
    for sent in (answer.model_dump(mode="json"), {"role": answer.role, "content": content}, as_param):
        conversation = hold(api, [{"role": "user", "content": "?"}, sent, {"role": "user", "content": results}])
        kept = listed(api, conversation)[1:]
        assert kept == [{"role": "assistant", "content": content}, {"role": "user", "content": results}]
        judge(anthropic_types(), kept)


TOLD = [
    SystemMessage("Be brief."),
    HumanMessage([{"type": "text", "text": "What is this?"}, {"type": "image_url", "image_url": {"url": "https://x"}}]),
    AIMessage("", tool_calls=[{"name": "look", "args": {"at": 1}, "id": "call_1", "type": "tool_call"}]),
    ToolMessage("A heron.", tool_call_id="call_1"),
    AIMessage("A heron."),
    HumanMessage("Thanks.", name="ann"),
]


def test_langchains_messages_go_in_and_what_comes_out_are_langchains_messages(api: Api) -> None:
    sent = convert_to_openai_messages(TOLD)
    conversation = hold(api, sent)
    shown, answer = context(api, conversationId=conversation.rpartition("/")[2], message="And now?", contextWindow=4096)
    assert shown == [*sent, {"role": "user", "content": "And now?"}]
    back = convert_to_messages(answer["messages"])
    assert [type(one) for one in back[-len(TOLD) - 1 : -1]] == [type(one) for one in TOLD]
    call, result = back[-5], back[-4]
    assert isinstance(call, AIMessage) and isinstance(result, ToolMessage)
    assert call.tool_calls[0]["id"] == result.tool_call_id == "call_1"
