"""LangChain and LangGraph with a running service behind them: threads, histories, retrievers and tools."""

from __future__ import annotations

import asyncio
import logging
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import pytest
from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    FunctionMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.prebuilt import ToolNode
from pydantic import Field
from typing_extensions import TypedDict

from afterthought_client import Afterthought, ConnectionFailed, RetryPolicy, Unauthenticated
from afterthought_langchain import AfterthoughtChatMessageHistory, AfterthoughtRetriever, ThreadMemory, memory_tools
from shared.context.render import RECALLED
from tests.support.breaking_proxy import BreakingProxy, breaking_proxy
from tests.support.model_server import Act
from tests.support.openai_server import OpenAiServer
from tests.support.services import CHECKOUT, System, free_port
from tests.support.waiting import wait_until
from tests.support.wheels import unpack_wheel

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]
MIA = "My daughter Mia is allergic to peanuts, so no satay for us please."
HASTY = RetryPolicy(retries=0)


class State(TypedDict):
    messages: Annotated[list[BaseMessage], add_messages]


class Model(BaseChatModel):
    """Answers from a list, and keeps what it was asked."""

    answers: list[BaseMessage] = Field(default_factory=list)
    asked: list[list[BaseMessage]] = Field(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "listed"

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        self.asked.append(list(messages))
        answer = self.answers.pop(0) if self.answers else AIMessage("Noted.")
        return ChatResult(generations=[ChatGeneration(message=answer)])


@pytest.fixture
def app(request: pytest.FixtureRequest) -> str:
    return re.sub(r"\W+", "-", request.node.name.removeprefix("test_")).replace("_", "-").strip("-")[:60]


@pytest.fixture
def token(system: System, app: str) -> str:
    with Afterthought(system.url, system.admin_token) as admin:
        admin.install_app(app, app, answered_by="app")
        return admin.issue_token(app_id=app).token


@pytest.fixture
def client(system: System, token: str, app: str) -> Iterator[Afterthought]:
    with Afterthought(system.url, token, app=app) as opened:
        yield opened


@pytest.fixture
def proxy(system: System) -> Iterator[BreakingProxy]:
    with breaking_proxy("127.0.0.1", int(system.url.rsplit(":", 1)[1])) as running:
        yield running


def graph_of(memory: ThreadMemory, model: Model) -> Any:
    """Return a graph of one node with its own checkpoints, as a program of LangGraph is."""
    graph = StateGraph(State)
    graph.add_node("model", memory.around(model))
    graph.add_edge(START, "model")
    graph.add_edge("model", END)
    return graph.compile(checkpointer=InMemorySaver())


def of(thread: str, user: str = "ada") -> RunnableConfig:
    return {"configurable": {"thread_id": thread, "user_id": user}}


def say(graph: Any, text: str, thread: str, user: str = "ada") -> AIMessage:
    answer: AIMessage = graph.invoke({"messages": [HumanMessage(text)]}, of(thread, user))["messages"][-1]
    return answer


def recorded(client: Afterthought, conversation: str) -> list[tuple[str, str]]:
    return [(one["role"], one["content"]) for one in client.iter_messages(conversation)]


def remembered(client: Afterthought, user: str = "ada") -> str:
    """Return the user's memory, once there is one; a job whose worker was killed is taken up when its lease is over."""
    wait_until(lambda: list(client.iter_memories(user_id=user)), 180, "the memory")
    return next(client.iter_memories(user_id=user)).content


def recalled(messages: list[BaseMessage]) -> str:
    return str(messages[0].content) if isinstance(messages[0], SystemMessage) else ""


def test_what_was_said_in_one_thread_is_known_in_the_next(client: Afterthought) -> None:
    model, memory = Model(), ThreadMemory(client)
    graph = graph_of(memory, model)
    say(graph, MIA, "monday")
    assert memory.end("monday", "ada") == "monday"
    assert "peanuts" in remembered(client)

    say(graph, "What can I cook for Mia?", "tuesday")

    assert "peanuts" in recalled(model.asked[-1])
    _head, *tail, question = model.asked[-1]
    assert question.content == "What can I cook for Mia?"
    assert all(isinstance(one, HumanMessage) and RECALLED in str(one.content) for one in tail)
    kept = graph.get_state(of("tuesday")).values["messages"]
    assert [one.content for one in kept] == ["What can I cook for Mia?", "Noted."], "what is recalled is of its turn"


def test_a_threads_prompt_begins_as_the_one_before_and_what_was_recalled_is_not_recorded(client: Afterthought) -> None:
    model, memory = Model(), ThreadMemory(client)
    for said in (MIA, "Which satay was it that Mia had at the fair, with peanuts in it?"):
        say(graph_of(memory, model), said, "monday")
    memory.end("monday", "ada")
    assert "peanuts" in remembered(client)
    wait_until(lambda: list(client.iter_facts(user_id="ada")), 60, "the fact")
    graph = graph_of(memory, model)
    # A graph's own system prompt stands in its state.
    graph.update_state(of("tuesday"), {"messages": [SystemMessage("You are a cook.")]})
    questions = ["What can I cook for Mia?", "Hello?", "Does my daughter Mia like satay with peanuts?"]
    for question in questions:
        say(graph, question, "tuesday")
    prompts = model.asked[-3:]
    heads = [prompt[1].content for prompt in prompts]
    assert [type(one) for one in prompts[0][:2]] == [SystemMessage, SystemMessage] and "peanuts" in str(heads[0])
    assert heads == heads[:1] * 3
    for nth, (prompt, question) in enumerate(zip(prompts, questions, strict=True)):
        stable = 2 + 2 * nth
        assert [one.content for one in prompt[:stable]] == [one.content for one in prompts[-1][:stable]]
        *tail, last = prompt[stable:]
        # On a busy machine a search may find only what the head says already, which is not said again.
        assert last.content == question and len(tail) <= (0 if question == "Hello?" else 1)
        assert all(isinstance(one, HumanMessage) and RECALLED in str(one.content) for one in tail)
    assert any(RECALLED in str(one.content) for prompt in prompts for one in prompt[2:])
    assert [role for role, _ in recorded(client, "tuesday")] == ["user", "assistant"] * 3
    assert not [content for _, content in recorded(client, "tuesday") if RECALLED in content]


def test_of_threads_whose_memory_is_off_nothing_is_known_in_the_next(client: Afterthought) -> None:
    client.write_fact(fact="Keeps a heron", user_id="ada")
    model, memory = Model(), ThreadMemory(client, memory="off")
    say(graph_of(memory, model), "My neighbour Zebulon breeds herons.", "quiet")
    assert "heron" not in recalled(model.asked[-1])
    assert client.show_conversation("quiet").memory == "off" and memory.end("quiet", "ada") == "quiet"
    say(graph_of(ThreadMemory(client), model), "Who breeds herons?", "loud")
    assert "Keeps a heron" in recalled(model.asked[-1]) and "Zebulon" not in recalled(model.asked[-1])


def test_what_is_said_in_a_thread_is_recorded_once(client: Afterthought) -> None:
    graph = graph_of(ThreadMemory(client), Model())
    for text in ("One.", "Two.", "Three."):
        say(graph, text, "counting")
    assert recorded(client, "counting") == [
        ("user", "One."), ("assistant", "Noted."), ("user", "Two."), ("assistant", "Noted."), ("user", "Three."),
        ("assistant", "Noted."),
    ]  # fmt: skip
    assert client.show_conversation("counting").end_after_minutes == 30


def test_a_thread_that_goes_on_after_its_end_is_a_conversation_of_its_own(client: Afterthought) -> None:
    model, memory = Model(), ThreadMemory(client)
    graph = graph_of(memory, model)
    for number, text in enumerate(("One.", "Two.", "Three."), 1):
        say(graph, text, "long")
        assert memory.end("long", "ada") == ("long" if number == 1 else f"long.{number}")
    assert memory.end("long", "ada") is None
    assert [one.content for one in model.asked[-1] if not isinstance(one, SystemMessage)][:2] == ["One.", "Noted."]
    assert recorded(client, "long") == [("user", "One."), ("assistant", "Noted.")]
    assert recorded(client, "long.2") == [("user", "Two."), ("assistant", "Noted.")]
    assert recorded(client, "long.3") == [("user", "Three."), ("assistant", "Noted.")]


def test_an_agent_with_tools_remembers_and_everything_it_did_is_recorded(client: Afterthought) -> None:
    call = {"name": "remember", "args": {"statement": "Ada is allergic to penicillin."}, "id": "call-1"}
    model = Model(answers=[AIMessage("", tool_calls=[call]), AIMessage("I will remember.")])
    agent = StateGraph(State)
    agent.add_node("model", lambda state, config: {"messages": [model.invoke(state["messages"], config)]})
    agent.add_node("tools", ToolNode(memory_tools(client)))
    agent.add_edge(START, "model")
    agent.add_conditional_edges("model", lambda state: "tools" if state["messages"][-1].tool_calls else END)
    agent.add_edge("tools", "model")
    outer = StateGraph(State)
    outer.add_node("agent", ThreadMemory(client).around(agent.compile()))
    outer.add_edge(START, "agent")
    outer.add_edge("agent", END)
    graph = outer.compile(checkpointer=InMemorySaver())

    assert say(graph, "No penicillin for me, remember that.", "clinic").content == "I will remember."

    assert [one.fact for one in client.iter_facts(user_id="ada")] == ["Ada is allergic to penicillin."]
    kept = graph.get_state(of("clinic")).values["messages"]
    assert [one.type for one in kept] == ["human", "ai", "tool", "ai"]
    stored = AfterthoughtChatMessageHistory(client, "clinic", "ada").messages
    assert [one.type for one in stored] == ["human", "ai", "tool", "ai"] and stored[1].tool_calls[0]["id"] == "call-1"  # type: ignore[attr-defined]
    say(graph, "Which antibiotic can I take?", "later")
    assert "penicillin" in recalled(model.asked[-1])


def test_a_chain_without_a_graph_and_with_asyncio(client: Afterthought) -> None:
    model = Model()
    chain = ThreadMemory(client).around(model)

    async def talk() -> list[BaseMessage]:
        first = await chain.ainvoke("I moved to Lisbon.", of("plain"))
        return [
            first,
            await chain.ainvoke([HumanMessage("I moved to Lisbon."), first, ("user", "Where?")], of("plain")),
        ]

    assert [one.content for one in asyncio.run(talk())] == ["Noted.", "Noted."]
    assert recorded(client, "plain") == [
        ("user", "I moved to Lisbon."), ("assistant", "Noted."), ("user", "Where?"), ("assistant", "Noted."),
    ]  # fmt: skip


def test_pieces_come_through_as_the_model_says_them(client: Afterthought) -> None:
    graph = graph_of(ThreadMemory(client), Model(answers=[AIMessage("Boats are slow.")]))
    given = {"messages": [HumanMessage("Why boats?")]}
    pieces = [piece for piece, _ in graph.stream(given, of("boats"), stream_mode="messages")]
    assert "".join(str(one.content) for one in pieces if one.type != "human") == "Boats are slow."
    assert recorded(client, "boats")[-1] == ("assistant", "Boats are slow.")


def test_an_agent_outlives_the_loss_of_the_service_and_says_so(
    client: Afterthought, proxy: BreakingProxy, token: str, caplog: pytest.LogCaptureFixture
) -> None:
    model = Model()
    with Afterthought(f"http://127.0.0.1:{free_port()}", token, app=client.app, retry=HASTY) as lost:
        memory = ThreadMemory(lost)
        graph = graph_of(memory, model)
        with caplog.at_level(logging.WARNING, "afterthought_langchain"):
            assert say(graph, MIA, "stormy").content == "Noted."
        assert "cannot be reached" in recalled(model.asked[-1]) and "cannot be reached" in caplog.text
        assert token not in caplog.text
        memory.client = client

        say(graph, "Is anybody there?", "stormy")

    assert recorded(client, "stormy") == [
        ("user", MIA), ("assistant", "Noted."), ("user", "Is anybody there?"), ("assistant", "Noted."),
    ]  # fmt: skip
    assert "cannot be reached" not in recalled(model.asked[-1])


def test_what_is_wrong_in_the_program_is_not_taken_for_a_loss(client: Afterthought, system: System) -> None:
    graph = graph_of(ThreadMemory(client), Model())
    with pytest.raises(ValueError, match="user_id is missing"):
        graph.invoke({"messages": [HumanMessage("Hello.")]}, {"configurable": {"thread_id": "nameless"}})
    say(graph, "Mine.", "own")
    with pytest.raises(ValueError, match="is not user bob's"):
        say(graph, "Yours?", "own", user="bob")
    assert recorded(client, "own") == [("user", "Mine."), ("assistant", "Noted.")]
    with Afterthought(system.url, "wrong", app=client.app) as stranger, pytest.raises(Unauthenticated):
        say(graph_of(ThreadMemory(stranger), Model()), "Hello.", "stranger")


def test_what_a_refused_call_said_is_not_recorded_as_the_next_users(client: Afterthought) -> None:
    graph = graph_of(ThreadMemory(client), Model())
    say(graph, "I keep bees.", "team")
    with pytest.raises(ValueError, match="is not user iris's"):
        say(graph, "I am allergic to bees, and live in Oslo.", "team", user="iris")
    with pytest.raises(ValueError, match="user_id is missing"):
        graph.invoke(
            {"messages": [HumanMessage("My passport expires in March.")]}, {"configurable": {"thread_id": "team"}}
        )
    say(graph, "What do I keep?", "team")
    assert recorded(client, "team") == [
        ("user", "I keep bees."), ("assistant", "Noted."), ("user", "What do I keep?"), ("assistant", "Noted."),
    ]  # fmt: skip


def test_what_another_said_while_the_service_was_away_is_not_recorded_as_the_users(
    client: Afterthought, token: str
) -> None:
    with Afterthought(f"http://127.0.0.1:{free_port()}", token, app=client.app, retry=HASTY) as lost:
        memory = ThreadMemory(client)
        graph = graph_of(memory, Model())
        say(graph, "I keep bees.", "team")
        memory.client = lost
        say(graph, "I am allergic to bees.", "team", user="iris")
        say(graph, "And I keep hens.", "team")
        memory.client = client
        say(graph, "What do I keep?", "team")
    assert [text for _, text in recorded(client, "team")] == [
        "I keep bees.", "Noted.", "And I keep hens.", "Noted.", "What do I keep?", "Noted.",
    ]  # fmt: skip


def test_a_turn_outlives_a_killed_loop_and_worker(system: System, client: Afterthought, token: str) -> None:
    with Afterthought(
        system.url, token, app=client.app, retry=RetryPolicy(retries=60, longest_wait_seconds=1.0)
    ) as patient:
        memory = ThreadMemory(patient)
        graph = graph_of(memory, Model())
        say(graph, MIA, "killed")
        for process in (system.loop, *system.workers):
            system.kill(process)
            process.start()
        say(graph, "And no cashews.", "killed")
        memory.end("killed", "ada")
        system.kill(system.workers[0])
        system.workers[0].start()
    assert [text for _, text in recorded(client, "killed")] == [MIA, "Noted.", "And no cashews.", "Noted."]
    assert "peanuts" in remembered(client)
    system.wait_ready()


MESSAGES: list[BaseMessage] = [
    SystemMessage("You are a cook."),
    HumanMessage("Hello.", name="ada", id="human-1"),
    HumanMessage(
        [{"type": "text", "text": "Look:"}, {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}]
    ),
    AIMessage(
        "",
        id="run/with+odd=letters",
        tool_calls=[{"name": "weather", "args": {"place": "Lisbon"}, "id": "call-1"}],
        usage_metadata={"input_tokens": 3, "output_tokens": 4, "total_tokens": 7},
        response_metadata={"model_name": "tiny", "finish_reason": "tool_calls"},
        additional_kwargs={"reasoning_content": "Hm."},
    ),
    ToolMessage("Sunny.", tool_call_id="call-1", name="weather", artifact={"celsius": 31}, status="success"),
    ToolMessage("Broken.", tool_call_id="call-2", status="error"),
    AIMessage([{"type": "thinking", "thinking": "Hm.", "signature": "abc"}, {"type": "text", "text": "It is sunny."}]),
    AIMessage("", invalid_tool_calls=[{"name": "weather", "args": "{", "id": "call-3", "error": "cut"}]),  # type: ignore[typeddict-item, unused-ignore]
    FunctionMessage("42", name="old"),
]


def test_every_kind_of_message_comes_back_as_it_was(client: Afterthought) -> None:
    history = AfterthoughtChatMessageHistory(client, "kinds", "ada")
    assert history.messages == []
    history.add_messages(MESSAGES)
    came = history.messages
    for sent, back in zip(MESSAGES, came, strict=True):
        assert type(back) is type(sent) and back.id
        assert back.model_dump() | {"id": sent.id or back.id} == sent.model_dump() | {"id": sent.id or back.id}
    assert [one.id for one in came][3] == "run/with+odd=letters"
    history.add_messages(came)
    assert len(history.messages) == len(MESSAGES), "what has an id is kept once"


def test_a_history_is_one_users_ends_and_is_erased(client: Afterthought) -> None:
    history = AfterthoughtChatMessageHistory(client, "diary", "ada")
    history.add_user_message("I moved to Lisbon in May and started to restore an old sailing boat.")
    history.add_ai_message("Lisbon suits you.")
    theirs = AfterthoughtChatMessageHistory(client, "diary", "bob")
    for touch in (lambda: theirs.messages, lambda: theirs.add_user_message("Mine?"), theirs.clear, theirs.end):
        with pytest.raises(ValueError, match="is not user bob's"):
            touch()
    history.end()
    assert "Lisbon" in remembered(client)
    history.clear()
    assert history.messages == [] and list(client.iter_memories(user_id="ada")) == []
    history.add_user_message("Again.")
    assert [one.content for one in history.messages] == ["Again."]


def test_messages_of_other_programs_are_read(client: Afterthought) -> None:
    client.start_conversation(conversation_id="mixed", user_id="ada")
    called = {"id": "t1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}
    client.add_messages(
        "mixed",
        [
            {"role": "developer", "content": "Be short."},
            {"role": "user", "content": [{"type": "text", "text": "Hi."}]},
            {"role": "assistant", "content": None, "tool_calls": [called]},
            {"role": "tool", "tool_call_id": "t1", "content": "1"},
            {"role": "tool", "tool_name": "f", "content": "2"},
            {"role": "assistant", "content": None, "refusal": "No."},
        ],
    )
    came = AfterthoughtChatMessageHistory(client, "mixed", "ada").messages
    assert [one.type for one in came] == ["system", "human", "ai", "tool", "tool", "ai"]
    assert came[2].tool_calls == [{"name": "f", "args": {"a": 1}, "id": "t1", "type": "tool_call"}]  # type: ignore[attr-defined]


def test_a_retriever_finds_facts_memories_and_messages_of_its_user_alone(client: Afterthought) -> None:
    for user, canary in (("ada", "heron"), ("bob", "osprey")):
        client.write_fact(f"The boat of {user} is named {canary}-fact.", user_id=user)
        client.write_memory(f"We talked about painting the hull in spring, in {canary}-memory blue.", user_id=user)
        history = AfterthoughtChatMessageHistory(client, f"{user}s", user)
        history.add_user_message(f"My boat is named {canary}-message.")
    retriever = AfterthoughtRetriever(client=client, user_id="ada")
    found = retriever.invoke("What is the name of my boat, and its colour?")
    assert {one.metadata["kind"] for one in found} == {"fact", "memory", "message"}
    assert all("heron" in one.page_content for one in found) and "osprey" not in str(found)
    assert len({one.id for one in found}) == len(found) == 3
    again = asyncio.run(retriever.ainvoke("What is the name of my boat, and its colour?"))
    # The message may have been embedded between the two, which changes what it scores.
    assert {one.id: one.page_content for one in again} == {one.id: one.page_content for one in found}


def test_tools_do_what_their_namesakes_of_mcp_do_and_for_one_user(client: Afterthought) -> None:
    mine = {one.name: one for one in memory_tools(client, "ada")}
    theirs = {one.name: one for one in memory_tools(client, "bob")}
    assert "config" not in str(mine["recall"].tool_call_schema.model_json_schema())  # type: ignore[union-attr]
    conversation = mine["conversation_start"].invoke({})
    said = [{"role": "user", "content": MIA}, {"role": "assistant", "content": "Noted."}]
    assert "Recorded 2" in mine["conversation_add"].invoke({"conversation_id": conversation, "messages": said})
    assert "peanuts" in mine["search_memory"].invoke({"query": "peanuts"})
    assert "is ended" in mine["conversation_end"].invoke({"conversation_id": conversation})
    assert "peanuts" in remembered(client)
    fact = mine["remember"].invoke({"statement": "Ada likes heron-canary tea."})
    memory_id = next(client.iter_memories(user_id="ada")).id
    fact_id = re.search(r'"id": (\d+)', fact).group(1)  # type: ignore[union-attr]
    assert "heron-canary" in mine["recall"].invoke({"message": "Which tea does Ada like?"})
    assert "heron-canary" in mine["list_facts"].invoke({}) and "peanuts" in mine["list_memories"].invoke({})

    for tool, given in (
        ("recall", {"message": "heron-canary peanuts tea Mia"}), ("search_memory", {"query": "peanuts heron-canary"}),
        ("list_facts", {}), ("list_memories", {}), ("recall", {"message": "x", "conversation_id": conversation}),
        ("conversation_add", {"conversation_id": conversation, "messages": said}),
        ("conversation_end", {"conversation_id": conversation}), ("forget", {"what": "fact", "id": fact_id}),
        ("forget", {"what": "memory", "id": str(memory_id)}), ("forget", {"what": "conversation", "id": conversation}),
        ("forget", {"what": "fact", "id": "x"}), ("forget", {"what": "everything"}),
    ):  # fmt: skip
        answer = theirs[tool].invoke(given)
        assert "heron" not in answer and "peanuts" not in answer
    assert theirs["forget"].invoke({"what": "fact", "id": fact_id}) == f"This user has no fact {fact_id}."
    assert "heron-canary" in mine["forget"].invoke({"what": "fact", "id": fact_id})
    assert "peanuts" in mine["forget"].invoke({"what": "memory", "id": str(memory_id)})
    assert "Erased" in mine["forget"].invoke({"what": "conversation", "id": conversation})
    assert "Erased" in mine["forget"].invoke({"what": "everything"})
    assert mine["forget"].invoke({"what": "everything", "id": "1"}) == (
        "Name the id of what to forget; only everything takes none."
    )
    assert list(client.iter_facts(user_id="ada")) == [] == list(client.iter_memories(user_id="ada"))


def test_tools_say_that_the_service_is_away_and_ask_for_their_user(client: Afterthought, token: str) -> None:
    with Afterthought(f"http://127.0.0.1:{free_port()}", token, app=client.app, retry=HASTY) as lost:
        [recall, *_] = memory_tools(lost)
        answer = recall.invoke({"message": "Hello."}, {"configurable": {"user_id": "ada"}})
        assert "try again in a moment" in answer and token not in answer
        with pytest.raises(ValueError, match="user_id is missing"):
            recall.invoke({"message": "Hello."})
        with pytest.raises(ConnectionFailed):
            _ = AfterthoughtChatMessageHistory(lost, "c", "ada").messages
        with pytest.raises(ConnectionFailed):
            AfterthoughtRetriever(client=lost, user_id="ada").invoke("Hello.")


def test_the_readmes_programs_run_on_the_wheels(
    system: System, client: Afterthought, token: str, tmp_path: Path
) -> None:
    unpack_wheel("clients/python", tmp_path)
    installed = unpack_wheel("clients/langchain", tmp_path)
    programs = re.findall(
        r"```python\n(.*?)```", (CHECKOUT / "clients/langchain/README.md").read_text("utf-8"), re.DOTALL
    )
    env = {"AFTERTHOUGHT_URL": system.url, "AFTERTHOUGHT_TOKEN": token, "OPENAI_API_KEY": "none", "PATH": ""}
    printed = []
    acts = [Act(answer="I will keep recipes free of nuts."), Act(answer="Rice.")]
    with OpenAiServer(*acts, models=("gpt-5-mini",)) as model:
        for program in programs:
            program = f"import sys\nsys.path.append({str(installed)!r})\n" + program.replace(
                '"diary"', repr(client.app)
            )
            # Isolated, so that the checkout itself is not found.
            ran = subprocess.run(
                [sys.executable, "-I", "-c", program],
                env=env | {"OPENAI_BASE_URL": f"{model.url}/v1"},
                cwd=tmp_path,
                capture_output=True,
                text=True,
                timeout=120,
            )
            assert ran.returncode == 0, ran.stderr
            printed.append(ran.stdout)
    first, memory, second = printed[0].splitlines()
    assert first == "I will keep recipes free of nuts." and second == "Rice."
    assert memory.startswith("Remembered: ") and "peanuts" in memory
    monday, friday = (one["messages"] for one in model.chats)
    assert [one["role"] for one in monday] == ["user"]
    assert [friday[0]["role"], friday[-1]["role"]] == ["system", "user"] and "peanuts" in friday[0]["content"]
    assert "message The boat is named Heron." in printed[1]
