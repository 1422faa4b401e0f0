"""OpenAI's own client, with nothing changed but its base URL: it gets memory, and what it gets else is the model's."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

import httpx
import openai
import pytest
from openai import OpenAI

from shared.context.render import RECALLED
from tests.support.model_server import Act
from tests.support.openai_server import OpenAiServer
from tests.support.providers import environment
from tests.support.services import System, run_service
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]
KEY = "sk-the-key-of-the-service"
PEANUTS = "My daughter Mia is allergic to peanuts, so no satay for us please."
WEATHER = {
    "type": "function",
    "function": {"name": "weather", "parameters": {"type": "object", "properties": {"place": {"type": "string"}}}},
}


@pytest.fixture(scope="module")
def model() -> Iterator[OpenAiServer]:
    with OpenAiServer(models=("tiny", "small")) as server:
        yield server


@pytest.fixture(scope="module")
def system(model: OpenAiServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[System]:
    """A loop whose model is at that server, and a worker without one, so that every call of the model is an app's."""
    folder = tmp_path_factory.mktemp("completions")
    models = {"AFTERTHOUGHT_MODEL": "openai:tiny", "AFTERTHOUGHT_SMALL_MODEL": "ollama:small", "OPENAI_API_KEY": KEY}
    env = {"AFTERTHOUGHT_TICK_SECONDS": "0.1"} | environment(model) | models
    with run_service(folder, env, loop=False) as running:
        for process in running.workers:
            process.env = {name: value for name, value in process.env.items() if not name.endswith("_MODEL")}
        for process in running.processes:
            process.start()
        running.wait_ready()
        yield running


@pytest.fixture
def admin(system: System) -> Iterator[httpx.Client]:
    with system.client() as client:
        yield client


class Program:
    def __init__(self, system: System, admin: httpx.Client, app_id: str) -> None:
        self.app_id, self._admin = app_id, admin
        admin.post("/apps", json={"appId": app_id, "name": app_id, "answeredBy": "app"}).raise_for_status()
        token = admin.post(f"/apps/{app_id}/tokens", json={"label": "program"}).json()["token"]
        self.client = OpenAI(api_key=token, base_url=f"{system.url}/v1", max_retries=0, timeout=30)

    def say(self, *messages: dict[str, Any], user: str = "ada", **more: Any) -> tuple[Any, str]:
        """Ask the model, not streamed; return its message and the conversation's id."""
        raw = self.client.chat.completions.with_raw_response.create(
            model=more.pop("model", "tiny"), messages=list(messages), user=user, **more
        )
        return raw.parse().choices[0].message, raw.headers["X-Conversation-Id"]

    def get(self, path: str, **query: Any) -> Any:
        return self._admin.get(f"/apps/{self.app_id}/{path}", params=query).raise_for_status().json()

    def stored(self, conversation: str) -> list[tuple[str, str | None]]:
        rows = self.get(f"conversations/{conversation}/messages")["messages"]
        return [(one["role"], one.get("content")) for one in rows]

    def remember(self, content: str) -> None:
        said = {"content": content, "userId": "ada"}
        self._admin.post(f"/apps/{self.app_id}/memories", json=said).raise_for_status()

    def end(self, conversation: str) -> None:
        before = len(self.get("memories")["memories"])
        self._admin.post(f"/apps/{self.app_id}/conversations/{conversation}/end").raise_for_status()
        wait_until(lambda: len(self.get("memories")["memories"]) > before, 60, "the memory")


@pytest.fixture
def program(system: System, admin: httpx.Client, request: pytest.FixtureRequest) -> Program:
    return Program(
        system, admin, re.sub(r"\W+", "-", request.node.name.removeprefix("test_"))[:60].strip("-").replace("_", "-")
    )


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def assistant(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


def test_today_is_that_of_where_the_user_lives(program: Program, admin: httpx.Client, model: OpenAiServer) -> None:
    # Of these two it is never the same day as UTC's in both.
    zones = {name: datetime.now(ZoneInfo(name)).date() for name in ("Pacific/Kiritimati", "Pacific/Pago_Pago")}
    utc = datetime.now(UTC).date()
    name = next(name for name, day in zones.items() if day != utc)
    admin.patch(f"/apps/{program.app_id}/users/ada", json={"timeZone": name}).raise_for_status()
    model.will(Act(answer="Congratulations!"))
    _, conversation = program.say(user("I started my new job today."))
    program.end(conversation)
    [memory] = program.get("memories")["memories"]
    now = datetime.now(ZoneInfo(name)).date()
    days = [f"{day.day} {day:%B %Y}" for day in (zones[name], now)]
    assert any(day in memory["content"] for day in days), memory
    assert memory["updatedOn"] in (zones[name].isoformat(), now.isoformat())


def test_what_was_said_in_one_chat_is_known_in_the_next(program: Program, model: OpenAiServer) -> None:
    model.will(Act(answer="Noted: no peanuts for Mia."))
    answer, first = program.say({"role": "system", "content": "You are a cook."}, user(PEANUTS))
    assert answer.content == "Noted: no peanuts for Mia."
    assert program.stored(first) == [("user", PEANUTS), ("assistant", "Noted: no peanuts for Mia.")]
    program.end(first)
    memory = program.get("memories")["memories"][0]["content"]

    model.will(Act(answer="Rice."))
    asked = [{"role": "system", "content": "You are a cook."}, user("What can I cook for Mia?")]
    _, second = program.say(*asked)

    assert second != first
    [prompt, head, *tail, question] = model.chats[-1]["messages"]
    assert [prompt, question] == asked
    assert head["role"] == "system" and memory in head["content"]
    assert all(one["role"] == "user" and RECALLED in one["content"] for one in tail)


def _told_of_peanuts(program: Program) -> str:
    """Tell of an allergy, and ask something that no memory keeps; return the conversation's id."""
    chat = [user(PEANUTS), assistant("Noted."), user("Which satay did Mia have at the fair, with peanuts in it?")]
    program.say(chat[0])
    return program.say(*chat)[1]


def test_a_prompt_begins_as_the_one_before_with_all_that_was_said_then(program: Program, model: OpenAiServer) -> None:
    model.will(*[Act(answer="Noted.")] * 2, *[Act(answer=f"Answer {nth}.") for nth in range(3)])
    told = _told_of_peanuts(program)
    before = len(model.chats) + 1
    program.end(told)
    wait_until(lambda: program.get("facts")["facts"], 60, "the fact")
    chat: list[dict[str, Any]] = [{"role": "developer", "content": "You are a cook."}]
    for nth, asked in enumerate(("What can I cook for Mia?", "Hello?", "Does my daughter like satay with peanuts?")):
        chat.append(user(asked))
        program.say(*chat)
        chat.append(assistant(f"Answer {nth}."))
    prompts = [list(asked["messages"]) for asked in model.chats[before - 1 :]]
    recalled = [[one for one in prompt if RECALLED in str(one["content"])] for prompt in prompts]
    assert [[one["role"] for one in found] for found in recalled] == [
        ["developer", "user"], ["developer"], ["developer", "user"]
    ]  # fmt: skip
    for nth, prompt in enumerate(prompts):
        # Developer message, head, exchanges; then the tail, and the question last.
        stable = 2 + 2 * nth
        assert prompt[:stable] == prompts[-1][:stable] and prompt[1] == recalled[0][0]
        assert prompt[stable:] == [*recalled[nth][1:], chat[1 + 2 * nth]]


@pytest.mark.parametrize(
    ("refusal", "stream"),
    [
        ("Conversation roles must alternate user/assistant/user/assistant/...", False),
        ("After the optional system message, conversation roles must alternate user and assistant", True),
        ("System message must be at the beginning.", False),
    ],
    ids=["gemma", "mistral, streamed", "qwen"],
)
def test_messages_of_one_role_are_joined_for_a_template(
    program: Program, model: OpenAiServer, refusal: str, stream: bool
) -> None:
    model.will(*[Act(answer="Noted.")] * 2)
    program.end(_told_of_peanuts(program))
    model.will(Act(status=500, error=refusal), Act(answer="Rice."))
    parts = [{"type": "text", "text": "What can I cook for Mia, with peanuts?"}]
    asked: list[Any] = [{"role": "system", "content": "You are a cook."}, {"role": "user", "content": parts}]
    if stream:
        chunks = program.client.chat.completions.create(model="tiny", messages=asked, user="ada", stream=True)
        answer = "".join(chunk.choices[0].delta.content or "" for chunk in chunks)
    else:
        answer = program.say(*asked)[0].content
    assert answer == "Rice."
    first, second = (one["messages"] for one in model.chats[-2:])
    assert [one["role"] for one in first] == ["system", "system", "user", "user"]
    [system, question] = second
    assert system == {"role": "system", "content": f"You are a cook.\n\n{first[1]['content']}"}
    assert question == {"role": "user", "content": [{"type": "text", "text": first[2]["content"]}, *parts]}


@pytest.mark.parametrize(
    "more",
    [
        {"prefix": True}, {"partial": True}, {"id": "m1"}, {"metadata": {"a": [1, None]}}, {"timestamp": 1.5},
        {"experimental_attachments": []}, {"unheard": None}, {"tokens": "many"}, {"messageId": "../x"},
    ],
    ids=lambda more: next(iter(more)),
)  # fmt: skip
def test_a_key_of_the_models_server_reaches_it(program: Program, model: OpenAiServer, more: dict[str, Any]) -> None:
    asked = [{"role": "system", "content": "Be brief."} | more, user(f"Say {more}.") | more, assistant("Sure:") | more]
    model.will(Act(answer="A"), Act(answer="B"))
    _, conversation = program.say(*asked)
    sent = model.chats[-1]["messages"]
    assert [one for one in sent if one in asked] == asked
    # A client that leaves them out the next time goes on with the same conversation.
    plain = [{"role": one["role"], "content": one["content"]} for one in asked]
    _, again = program.say(*plain, assistant("A"), user("x"))
    assert again == conversation
    assert [content for _, content in program.stored(conversation)] == [f"Say {more}.", "Sure:", "A", "x", "B"]


def test_half_an_emoji_of_the_model_is_passed_on_and_recorded(program: Program, model: OpenAiServer) -> None:
    model.will(Act(answer="cut \ud83d"))
    _, conversation = program.say(user("Draw."))
    assert program.stored(conversation) == [("user", "Draw."), ("assistant", "cut \ufffd")]


def test_a_stream_is_passed_on_as_it_comes_and_recorded(program: Program, model: OpenAiServer) -> None:
    model.script.go_on.clear()
    model.will(Act(answer="Boats are slow, and that is the point.", stall_after=2))
    stream = program.client.chat.completions.create(
        model="tiny", messages=[user("Why boats?")], user="ada", stream=True
    )
    conversation = stream.response.headers["X-Conversation-Id"]
    came = ""
    for chunk in stream:
        assert chunk.choices, "nobody asked for usage"
        came += chunk.choices[0].delta.content or ""
        if came:
            # The rest is only said once this much has come through.
            model.go_on()
    assert came == "Boats are slow, and that is the point."
    said = [("user", "Why boats?"), ("assistant", came)]
    wait_until(lambda: program.stored(conversation) == said, 10, "the answer's record")


def test_usage_is_streamed_to_who_asks_for_it_and_booked(program: Program, model: OpenAiServer) -> None:
    model.will(Act(answer="Yes.", said_tokens=7))
    stream = program.client.chat.completions.create(
        model="tiny", messages=[user("Is it?")], stream=True, stream_options={"include_usage": True}
    )
    usage = [chunk.usage for chunk in stream if chunk.usage]
    assert [one.completion_tokens for one in usage] == [7]
    assert wait_until(lambda: program.get("energy")["byKind"].get("chat"), 10, "the booking") > 0


def test_a_conversation_that_is_sent_again_and_longer_is_one(program: Program, model: OpenAiServer) -> None:
    model.will(Act(answer="Hi."), Act(answer="Blue."), Act(answer="Hi."))
    first = [user("Hello")]
    _, one = program.say(*first)
    second = [*first, assistant("Hi."), user("Which colour?")]
    _, same = program.say(*second)
    _, other = program.say(*first)
    assert same == one != other
    assert program.stored(one) == [
        ("user", "Hello"), ("assistant", "Hi."), ("user", "Which colour?"), ("assistant", "Blue.")
    ]  # fmt: skip


def test_a_named_conversation_goes_on_though_its_beginning_is_left_out(program: Program, model: OpenAiServer) -> None:
    named = {"X-Conversation-Id": "trip"}
    model.will(Act(answer="One."), Act(answer="Two."), Act(answer="Three."))
    program.say(user("First"), extra_headers=named)
    program.say(user("First"), assistant("One."), user("Second"), extra_headers=named)
    _, where = program.say(assistant("Two."), user("Third"), extra_headers=named)
    assert where == "trip"
    assert [text for _, text in program.stored("trip")] == ["First", "One.", "Second", "Two.", "Third", "Three."]


def test_a_conversation_of_another_user_is_refused(program: Program, model: OpenAiServer) -> None:
    named = {"X-Conversation-Id": "secret"}
    model.will(Act(answer="Yes."))
    program.say(user("The key is under the mat."), extra_headers=named, user="ada")
    asked = len(model.chats)
    with pytest.raises(openai.ConflictError, match="not of the user"):
        program.say(user("Where is the key?"), extra_headers=named, user="bob")
    assert len(model.chats) == asked


_QUOTED = "User: My daughter Mia is allergic to peanuts.\nAI: Noted."
HOUSEKEEPING: dict[str, list[dict[str, Any]]] = {
    "a title in five words": [user(f"Write a title of at most five words for this conversation.\n\n{_QUOTED}")],
    "tags of a history": [
        user(f"### Task:\nGenerate 1-3 broad tags.\n\n### Output:\nJSON\n\n<chat_history>\n{_QUOTED}\n</chat_history>")
    ],
    "a completion": [
        user("### Task:\nYou are an autocompletion system.\n<type>General</type>\n<text>Mia is allergic to</text>")
    ],
    "the task as instructions": [
        {"role": "system", "content": "You name things. Give a short title for the conversation."}, user(_QUOTED)
    ],
    "short instructions that are the task": [
        {"role": "system", "content": "You write short titles for chats. Reply with the title only."}, user(_QUOTED)
    ],
    "the task as instructions, for a first message": [
        {"role": "system", "content": "Generate a title for the following conversation. Max 6 words."},
        user("My daughter Mia is allergic to peanuts."),
    ],
    "a summary for itself": [
        user(f"Summarize the conversation so far in under 50 words, for use as context:\n\n{_QUOTED}")
    ],
    "German, behind it": [user(f"{_QUOTED}\n\nGib diesem Gespräch einen kurzen Titel.")],
}  # fmt: skip


@pytest.mark.parametrize("asked", HOUSEKEEPING.values(), ids=HOUSEKEEPING.keys())
def test_housekeeping_is_handed_on_alone(program: Program, model: OpenAiServer, asked: list[dict[str, Any]]) -> None:
    program.remember("Mia likes satay.")
    model.will(Act(answer="Peanut plans"))
    raw = program.client.chat.completions.with_raw_response.create(model="tiny", messages=asked, user="ada")  # type: ignore[arg-type]
    assert raw.parse().choices[0].message.content == "Peanut plans" and "X-Conversation-Id" not in raw.headers
    assert model.chats[-1]["messages"] == asked
    assert program.get("conversations")["conversations"] == []


@pytest.mark.parametrize(
    "asked",
    [
        "Generate a short title (max 5 words) for the conversation above. Reply only with the title.",
        "Suggest three follow-up questions for this chat. Return only a JSON array.",
        "Erstelle drei Schlagwörter für dieses Gespräch. Antworte nur mit JSON.",
    ],
)
def test_housekeeping_at_the_end_of_a_chat_leaves_no_trace_in_it(
    program: Program, model: OpenAiServer, asked: str
) -> None:
    model.will(Act(answer="Noted."), Act(answer="Peanut plans"), Act(answer="A recipe."), Act(answer="Mia's recipe."))
    chat = [user("Mia is allergic to peanuts.")]
    _, where = program.say(*chat)
    chat += [assistant("Noted."), user(asked)]
    raw = program.client.chat.completions.with_raw_response.create(model="tiny", messages=chat, user="ada")  # type: ignore[arg-type]
    assert "X-Conversation-Id" not in raw.headers and model.chats[-1]["messages"] == chat
    chat += [assistant("Peanut plans"), user("What can I cook?")]
    assert program.say(*chat)[1] == where
    # People say it too, and want nothing of a program.
    chat += [assistant("A recipe."), user("Give our talk a title.")]
    assert program.say(*chat)[1] == where
    assert [text for _, text in program.stored(where)] == [
        "Mia is allergic to peanuts.", "Noted.", "What can I cook?", "A recipe.", "Give our talk a title.",
        "Mia's recipe.",
    ]  # fmt: skip


def test_a_header_says_what_a_request_has_to_do_with_memory(program: Program, model: OpenAiServer) -> None:
    program.remember("Mia likes satay.")
    asked = [user("What does Mia like?")]
    model.will(Act(answer="Who is Mia?"), Act(answer="Satay."), Act(answer="Satay."))

    ask = program.client.chat.completions.with_raw_response.create
    off = ask(model="tiny", messages=asked, user="ada", extra_headers={"X-Memory": "off"})  # type: ignore[arg-type]
    assert "X-Conversation-Id" not in off.headers and model.chats[-1]["messages"] == asked
    assert program.get("conversations")["conversations"] == []

    _, read = program.say(*asked, extra_headers={"X-Memory": "read"})
    assert "Mia likes satay." in str(model.chats[-1]["messages"])
    assert program.get(f"conversations/{read}")["memory"] == "read"
    _, same = program.say(*asked, assistant("Satay."), user("And fish?"), extra_headers={"X-Memory": "on"})
    assert same == read and program.get(f"conversations/{read}")["memory"] == "on"

    with pytest.raises(openai.UnprocessableEntityError, match="X-Memory: 'no' is none of on, read, off"):
        program.say(*asked, extra_headers={"X-Memory": "no"})


@pytest.mark.parametrize("mode", ["read", "off"])
def test_what_goes_on_after_its_end_is_remembered_as_before(
    program: Program, admin: httpx.Client, model: OpenAiServer, mode: str
) -> None:
    model.will(Act(answer="Bees, then."), Act(answer="Two hives."), Act(answer="Clover."))
    said = [user("I keep bees behind the mill.")]
    _, first = program.say(*said, extra_headers={"X-Memory": "read"})
    path = f"/apps/{program.app_id}/conversations/{first}"
    admin.patch(path, json={"memory": mode, "timeZone": "Asia/Tokyo"}).raise_for_status()
    admin.post(f"{path}/end").raise_for_status()
    said += [assistant("Bees, then."), user("How many hives?")]
    _, second = program.say(*said)
    found = program.get(f"conversations/{second}")
    assert second != first and (found["memory"], found["timeZone"]) == (mode, "Asia/Tokyo")
    admin.post(f"/apps/{program.app_id}/conversations/{second}/end").raise_for_status()
    said += [assistant("Two hives."), user("Which flowers?")]
    _, third = program.say(*said, extra_headers={"X-Memory": "on"})
    assert third != second and program.get(f"conversations/{third}")["memory"] == "on"


@pytest.mark.parametrize("stream", [False, True])
def test_tools_are_passed_on_and_their_results_recorded(
    system: System, admin: httpx.Client, model: OpenAiServer, stream: bool
) -> None:
    program = Program(system, admin, f"tools-{stream}".lower())
    model.will(Act(tools=(("weather", {"place": "Oslo"}),)), Act(answer="It rains."))
    messages: list[Any] = [user("What is the weather in Oslo?")]
    if stream:
        with program.client.chat.completions.stream(model="tiny", messages=messages, tools=[WEATHER]) as events:
            called = events.get_final_completion().choices[0].message
    else:
        called = program.say(*messages, tools=[WEATHER])[0]
    assert called.tool_calls
    call = called.tool_calls[0]
    assert (call.function.name, call.function.arguments) == ("weather", '{"place": "Oslo"}')
    result = {"role": "tool", "tool_call_id": call.id, "content": "Rain, 7 degrees."}
    who = {} if stream else {"user": "ada"}
    raw = program.client.chat.completions.with_raw_response.create(
        model="tiny", messages=[*messages, called.model_dump(exclude_none=True), result], tools=[WEATHER], **who
    )
    assert raw.parse().choices[0].message.content == "It rains."
    assert model.chats[-1]["tools"] == [WEATHER]
    roles = [role for role, _ in program.stored(raw.headers["X-Conversation-Id"])]
    assert roles == ["user", "assistant", "tool", "assistant"]


def test_nothing_of_one_user_or_app_reaches_another(system: System, admin: httpx.Client, model: OpenAiServer) -> None:
    ours, theirs = Program(system, admin, "ours"), Program(system, admin, "theirs")
    canary = "My sister Quillon lives in the lighthouse at Skomvaer."
    model.will(Act(answer="How lovely."))
    _, told = ours.say(user(canary))
    ours.end(told)
    for program, who in ((ours, "bob"), (theirs, "ada"), (theirs, "bob")):
        model.will(Act(answer="I do not know."))
        program.say(user("Where does my sister Quillon live, in the lighthouse?"), user=who)
        sent = model.chats[-1]["messages"]
        assert "Skomvaer" not in str(sent), (program.app_id, who)
    model.will(Act(answer="At Skomvaer."))
    ours.say(user("Where does my sister Quillon live, in the lighthouse?"))
    assert "Skomvaer" in str(model.chats[-1]["messages"])


@pytest.mark.parametrize(
    ("away", "status"), [pytest.param(0, 503, id="breaks off"), pytest.param(503, 503, id="says so itself")]
)
def test_a_model_that_is_away_is_said_and_asking_again_says_nothing_twice(
    system: System, admin: httpx.Client, model: OpenAiServer, away: int, status: int
) -> None:
    program = Program(system, admin, f"away-{away}")
    model.script.away = away
    try:
        with pytest.raises(openai.InternalServerError) as refused:
            program.say(user("Are you there?"))
    finally:
        model.script.away = None
    assert refused.value.status_code == status
    model.will(Act(answer="I am."))
    _, conversation = program.say(user("Are you there?"))
    assert program.stored(conversation) == [("user", "Are you there?"), ("assistant", "I am.")]
    assert len(program.get("conversations")["conversations"]) == 1


def test_a_key_that_is_not_accepted_is_not_shown(program: Program, model: OpenAiServer) -> None:
    model.will(Act(status=401, error=f"Incorrect API key provided: {KEY}"))
    with pytest.raises(openai.InternalServerError) as refused:
        program.say(user("Hello?"))
    assert refused.value.status_code == 502
    assert KEY not in str(refused.value) and "key" in str(refused.value)
    assert f"Bearer {KEY}" in model.script.keys


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize(
    "act",
    [Act(status=status, error="No, {key}!") for status in (400, 500)]
    + [Act(answer="Once upon a time", error_after=1, error="No, {key}!")],
    ids=["400", "500", "in the stream"],
)
def test_a_key_that_is_repeated_is_hidden(
    program: Program, system: System, model: OpenAiServer, act: Act, stream: bool
) -> None:
    model.will(act)
    body = {"model": "tiny", "messages": [user("Hello?")], "user": "ada", "stream": stream}
    headers = {"Authorization": f"Bearer {program.client.api_key}"}
    url = f"{program.client.base_url}chat/completions"
    answer = httpx.post(url, json=body, headers=headers, trust_env=False, timeout=30)
    assert model.script.keys[-1] == f"Bearer {KEY}" and KEY not in answer.text
    assert ("No, Bearer [key]!" in answer.text) is (act.status != 200 or stream)
    assert all(KEY not in process.log for process in system.processes)


def test_what_the_model_refuses_is_passed_on_in_its_words(program: Program, model: OpenAiServer) -> None:
    model.will(Act(status=400, error="temperature is out of range"))
    with pytest.raises(openai.BadRequestError, match="temperature is out of range"):
        program.say(user("Hello?"), temperature=9)


def test_a_spent_budget_is_a_rate_limit(program: Program, admin: httpx.Client, model: OpenAiServer) -> None:
    admin.patch(f"/apps/{program.app_id}", json={"hourlyBudget": 0.001}).raise_for_status()
    asked = len(model.chats)
    with pytest.raises(openai.RateLimitError) as refused:
        program.say(user("Hello?"))
    assert refused.value.code == "insufficient_quota"
    assert len(model.chats) == asked


def test_the_models_there_are_are_listed_and_no_other_is_asked(program: Program, model: OpenAiServer) -> None:
    listed = {one.id: one.owned_by for one in program.client.models.list()}
    assert listed == {"tiny": "openai", "small": "ollama"}
    with pytest.raises(openai.NotFoundError, match="small, tiny"):
        program.say(user("Hello?"), model="huge")
    model.will(Act(answer="I am small."))
    answer, _ = program.say(user("Who are you?"), model="small")
    assert answer.content == "I am small."
    # The key is for OpenAI's address alone.
    assert model.script.keys[-1] is None and model.chats[-1]["model"] == "small"


def test_a_client_that_hangs_up_leaves_what_it_read(program: Program, model: OpenAiServer) -> None:
    model.script.go_on.clear()
    model.will(Act(answer="Once upon a time there was a very long story.", stall_after=3))
    stream = program.client.chat.completions.create(model="tiny", messages=[user("A story!")], user="ada", stream=True)
    conversation = stream.response.headers["X-Conversation-Id"]
    came = ""
    for chunk in stream:
        came += chunk.choices[0].delta.content or ""
        if len(came) >= 16:
            break
    stream.close()
    stored = wait_until(lambda: program.stored(conversation)[1:], 20, "the record of what came")
    model.go_on()
    assert stored[0][0] == "assistant" and str(stored[0][1]).startswith(came)
    assert "story." not in str(stored[0][1])
    assert program.get("energy")["byKind"]["chat"] > 0


def test_what_is_no_request_is_refused_in_the_one_shape(program: Program) -> None:
    headers = {"Authorization": f"Bearer {program.client.api_key}"}
    said = {"model": "tiny", "messages": [user("Hi")]}
    unknown = [{"role": "robot", "content": "Hi"}]
    huge = [said | {name: 10**30} for name in ("max_tokens", "max_completion_tokens")]
    odd: list[Any] = [
        {"messages": [user("Hi")]},
        {"model": "tiny"},
        *(said | {"messages": one} for one in ([], "Hi", unknown)),
    ]
    for body in (*odd, [], *huge):
        answer = httpx.post(f"{program.client.base_url}chat/completions", json=body, headers=headers, trust_env=False)
        assert answer.status_code == 422 and answer.json()["error"]["message"], body


def test_an_app_that_the_loop_answers_is_told_what_to_change(
    program: Program, admin: httpx.Client, model: OpenAiServer
) -> None:
    admin.patch(f"/apps/{program.app_id}", json={"answeredBy": "loop"}).raise_for_status()
    with pytest.raises(openai.ConflictError, match="answeredBy"):
        program.say(user("Hello?"))
    assert program.get("conversations")["conversations"] == []


def test_a_stranger_is_not_let_in(system: System) -> None:
    client = OpenAI(api_key="nobody", base_url=f"{system.url}/v1", max_retries=0)
    with pytest.raises(openai.AuthenticationError):
        client.chat.completions.create(model="tiny", messages=[{"role": "user", "content": "Hi"}])


def test_a_token_is_not_served_for_another_app_than_the_header_names(program: Program, model: OpenAiServer) -> None:
    assert program.say(user("Hello?"), extra_headers={"X-App-Id": program.app_id})
    with pytest.raises(openai.PermissionDeniedError, match=f"of app {program.app_id}, .* X-App-Id names another"):
        program.say(user("Hello again?"), extra_headers={"X-App-Id": "another"})
    assert len(program.get("conversations")["conversations"]) == 1


def test_a_loop_that_is_killed_in_the_middle_loses_nothing_that_is_sent_again(
    system: System, program: Program, model: OpenAiServer
) -> None:
    model.script.go_on.clear()
    model.will(Act(answer="It never arrives.", stall_after=1))
    stream = program.client.chat.completions.create(model="tiny", messages=[user("Well?")], user="ada", stream=True)
    conversation = stream.response.headers["X-Conversation-Id"]
    next(iter(stream))
    system.loop.kill()
    model.go_on()
    system.loop.start()
    wait_until(system.is_ready, 60, "the loop to be back")
    model.will(Act(answer="Well!"))
    _, again = program.say(user("Well?"))
    assert again == conversation
    assert program.stored(conversation) == [("user", "Well?"), ("assistant", "Well!")]
