"""What a context promises: the same as from memory, of the right user, within its room, and as much as can be had."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from math import ceil
from typing import Any

import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from shared.apps.queries import lock_app
from shared.base.choices import Category, FactState
from shared.base.errors import Transient
from shared.context import queries
from shared.context.context import ContextRequest, ConversationContext, open_context
from shared.context.render import SUMMARY
from shared.context.select import ContextLimits, HeadSelector, RecallMaterial
from shared.context.sources import MOST_CHARS, RecallSources
from shared.context.window import Utterance, compact, counted, length_of
from shared.conversations.chat_message import role_of, text_of
from shared.conversations.lifecycle import NewConversation, NewMessage, Role, append_messages, start
from shared.conversations.queries import get_conversation, lock_conversation
from shared.energy.ledger import LedgerAccount
from shared.energy.rates import BELIEVED_FROM_CHARS
from shared.facts.models import Fact
from shared.llm.calls import CallOutcome, Rate, TokenCounting, TokenSource, WorkKind
from shared.llm.chat import Question, Reply, call_of
from shared.memories.models import Memory
from shared.profiles import consent
from shared.profiles.models import Content
from shared.profiles.queries import audit_of
from shared.search.search import BegunEmbedding, MessageSearch
from shared.search.view import Search, SearchRequest
from shared.summaries.models import Summary
from shared.telemetry.metrics import CompactionStage
from tests.support.house import House
from tests.support.minds import Thinking, respond
from tests.support.searching import Library

ABOUT = "What do you know about me?"


def learn(house: House, statement: str, user_id: str | None = None, **more: object) -> int:
    """Insert a fact as it stands once learnt; return its id."""
    now = house.clock.now()
    with house.database.write() as session:
        taken = session.scalar(sa.select(sa.func.count()).select_from(Fact)) or 0
        values: dict[str, object] = {
            "app_id": "notes", "user_id": user_id or "", "state": FactState.STANDING, "slot": taken + 1,
            "statement": statement, "said_key": f"{taken}", "category": Category.PROJECT, "confidence": 0.75,
            "agent": "extractive", "first_seen": now, "last_seen": now, "said_at": now, "updated_at": now,
        }  # fmt: skip
        fact = Fact(**values | more)
        session.add(fact)
        session.flush()
        return fact.fact_id


def converse(house: House, conversation_id: str, said: Sequence[Utterance], user_id: str | None = None) -> int:
    """Store a conversation; return its key."""
    now = house.clock.now()
    with house.database.write() as session:
        start(session, "notes", NewConversation(conversation_id, user_id), now)
        conversation = lock_conversation(session, "notes", conversation_id)
        new = [NewMessage(Role(s.role), s.content, tokens=s.tokens, payload=s.payload) for s in said]
        half = len(new) // 2
        append_messages(session, conversation, new[:half], now)
        append_messages(session, conversation, new[half:], now)
        return conversation.key


def opened(house: House, **wanted: object) -> ConversationContext:
    reach = RecallSources(house.database, None, house.clock, house.metrics)
    return open_context(reach, "notes", replace(ContextRequest(1000), **wanted), "admin")  # type: ignore[arg-type]


def made_up(chance: random.Random) -> list[Utterance]:
    """Return a conversation of any roles and lengths, some of its lengths counted by a provider."""
    letters = chance.choice(["uatttus", "ua", "uat", "uuuu", "attttt", "sua", "tu"])
    names, tools = {"u": "user", "a": "assistant", "t": "tool", "s": "system"}, chance.choice([0, 0.2, 0.7])
    return [
        using_tools(chance, f"x{place}")
        if chance.random() < tools
        else Utterance(
            names[chance.choice(letters)],
            "ä" * chance.choice([0, 1, 5, 40, 400, 3000]) + str(place),
            tokens=chance.choice([None, None, 3, 700]),
        )
        for place in range(chance.randint(0, 60))
    ]


def using_tools(chance: random.Random, text: str) -> Utterance:
    """Return a message that calls tools or brings results of some, or holds an image, in one shape or another."""
    ids = [chance.choice("abcd") for _ in range(chance.randint(1, 2))]
    calls = [
        {"id": one, "type": "function", "function": {"name": "f", "arguments": f'{{"at": "{text}"}}'}} for one in ids
    ]
    uses = [{"type": "tool_use", "id": one, "name": "f", "input": {"at": text}} for one in ids]
    results = [{"type": "tool_result", "tool_use_id": one, "content": text * 50} for one in ids]
    words = {"type": "text", "text": text}
    payload: dict[str, Any] = chance.choice(
        [
            {"role": "assistant", "content": None, "tool_calls": calls},
            {"role": "tool", "content": text, "tool_call_id": ids[0]},
            {"role": "assistant", "content": [words, *uses]},
            {"role": "user", "content": results},
            {"role": "user", "content": [*results, words]},
            {"role": "user", "content": [words, {"type": "image_url", "image_url": {"url": "https://host/a.png"}}]},
        ]
    )
    return Utterance(role_of(payload), text_of(payload), payload=payload)


@pytest.mark.parametrize("seed", range(4))
def test_a_stored_conversation_gives_the_context_it_would_give_if_it_came_whole(house: House, seed: int) -> None:
    chance = random.Random(seed)
    for number in range(12):
        said = made_up(chance)
        key = converse(house, f"c{seed}-{number}", said)
        rate = chance.choice([None, Rate(10, 7), Rate(190_001, 380_000)])
        counting = TokenCounting(rate)
        with house.database.read() as session:
            assert queries.all_messages(session, key) == said
            assert queries.tokens_stored(session, key, counting.in_use, 10_000) == length_of(said, counting)
        window, reserve, now = (
            chance.choice([1, 300, 2000, 9000, 50_000]),
            chance.choice([0, 500]),
            chance.choice([None, "now"]),
        )
        stored = opened(
            house, conversation_id=f"c{seed}-{number}", context_window=window, reserve=reserve, pending_message=now
        )
        everything = said + ([Utterance("user", now)] if now else [])
        whole = [counted(one, TokenCounting()) for one in everything]
        heads = HeadSelector(RecallMaterial("Notes"), TokenCounting())
        expected = compact(whole, heads, ContextLimits(1000, window, reserve))
        assert stored.messages == tuple(one.message for one in expected.messages)
        assert (stored.stage, stored.trimmed, stored.cut) == (expected.stage, expected.trimmed, expected.is_cut)
        sent = opened(house, messages=said, context_window=window, reserve=reserve, pending_message=now)
        assert sent == stored


def test_of_a_conversation_longer_than_any_probe_the_whole_length_counts(house: House) -> None:
    said = [Utterance("user" if n % 2 else "assistant", "") for n in range(600)]
    said[0] = Utterance("system", "x" * 40_000)
    converse(house, "c1", said)
    stored = opened(house, conversation_id="c1", context_window=8192)
    assert stored.stage is CompactionStage.REDUCED and stored.total_tokens <= 7192
    assert stored.trimmed == 600 - len(stored.messages) > 500


def test_only_what_stays_is_read_of_a_long_conversation(house: House) -> None:
    said = [Utterance(("user", "assistant", "tool")[n % 3], f"{n} " + "x" * 400) for n in range(300)]
    key = converse(house, "c1", said)
    with house.database.read() as session:
        assert len(queries.staying_messages(session, key)) <= 12


def test_system_messages_are_found_by_their_own_index(sqlite_url: str) -> None:
    house = House(sqlite_url)
    house.install()
    key = converse(house, "c1", [Utterance("user", "hello")])
    asked: list[tuple[str, Any]] = []
    with house.database.read() as session:
        sa.event.listen(session.connection(), "before_cursor_execute", lambda *call: asked.append((call[2], call[3])))
        queries.staying_messages(session, key)
        [system] = [one for one in asked if "'system'" in one[0]]
        plan = session.connection().exec_driver_sql(f"EXPLAIN QUERY PLAN {system[0]}", system[1]).all()
    assert [row[3] for row in plan] == ["SEARCH messages USING INDEX ix_messages_system (conversation_key=?)"]
    house.database.dispose()


def test_identity_has_the_last_place_and_where_that_is_taken_it_is_lifted_by_the_last_thing_said(house: House) -> None:
    identity = learn(house, "Lives in Oslo", category=Category.IDENTITY)
    assert opened(house, pending_message="Sort a list.").fact_ids == (identity,)
    project = learn(house, f"Builds a boat {'of oak ' * 260}")
    assert opened(house, pending_message="Sort a list.").fact_ids == (project,)
    converse(house, "c1", [Utterance("user", ABOUT)])
    converse(house, "c2", [Utterance("user", ABOUT), Utterance("assistant", "Where do you live?")])
    assert opened(house, conversation_id="c1").fact_ids == (project, identity)
    assert opened(house, conversation_id="c2").fact_ids == (project,)
    assert opened(house, conversation_id="c2", pending_message="Where am I?").fact_ids == (project, identity)
    assert opened(house, conversation_id="c1", pending_message="Sort a list.").fact_ids == (project,)


@pytest.mark.parametrize(("table", "part"), [(Fact.__tablename__, "facts"), (Memory.__tablename__, "memories")])
def test_a_part_that_cannot_be_had_is_named_and_the_rest_is_served(house: House, table: str, part: str) -> None:
    fact = learn(house, "Builds a boat")
    house.converse("notes", "c1", "Likes tea.")
    house.work_off()
    [memory] = house.memories()
    with house.database.write() as session:
        session.execute(sa.text(f"ALTER TABLE {table} RENAME TO lost"))
    context = opened(house, conversation_id="c1")
    assert context.missing == (part,)
    assert (context.memory_ids, context.fact_ids) == (((memory.memory_id,), ()) if part == "facts" else ((), (fact,)))
    assert [said.content for said in context.messages][1:] == ["Likes tea."]
    assert house.counted("context_parts_missing_total", part=part) == 1


def test_contexts_are_counted_with_their_stage_and_how_full_they_are(house: House) -> None:
    learn(house, "Builds a boat")
    said = [Utterance("user", "x" * 400)] * 20
    opened(house, messages=said, context_window=2000, reserve=0)
    opened(house, messages=said)
    assert house.counted("context_stages_total", stage="stage1") == 1
    assert house.counted("context_stages_total", stage="none") == 1
    assert house.counted("contexts_total", injected="false") == 2, "facts are no memories"
    house.converse("notes", "c1", "Beans are sown in May")
    house.work_off()
    opened(house, messages=said)
    assert [house.counted("contexts_total", injected=injected) for injected in ("true", "false")] == [1, 2]
    assert house.counted("context_used_ratio_count") == 1
    assert 0.3 < (house.counted("context_used_ratio_sum") or 0) < 0.5


class Nothing(BaseModel):
    """An answer that says nothing."""


def ask(house: House, text: str, tokens: int | None, kind: WorkKind = WorkKind.CREATE) -> None:
    """Book an answered call with a prompt as a worker would."""
    question = Question(kind, "", text, Nothing, 100)
    call = call_of(question, "ollama:m", Reply("{}", tokens, 5), CallOutcome.ANSWERED, 0.5)
    house.accountant.meter(LedgerAccount("notes", None, None))(call)


def test_lengths_are_reckoned_as_the_model_was_seen_to_count(house: House) -> None:
    prose = "Beans are sown in May. " * 100
    said = [Utterance("user", "x" * 400)]
    ask(house, prose, len(prose) // 2)
    few = opened(house, messages=said, model="m")
    assert (few.total_tokens, few.token_source) == (100, TokenSource.ESTIMATED), "2,300 characters say too little"
    while len(prose) < BELIEVED_FROM_CHARS:
        prose += prose
    ask(house, prose, len(prose) // 2)
    for model in ("m", "ollama:m"):
        known = opened(house, messages=said, model=model)
        assert (known.total_tokens, known.token_source) == (200, TokenSource.CALIBRATED)
    for tokens, kind in ((None, WorkKind.CREATE), (0, WorkKind.CREATE), (len(prose), WorkKind.THINK)):
        ask(house, prose, tokens, kind)
    assert opened(house, messages=said, model="m").total_tokens == 200, "figures that cannot be believed teach nothing"
    assert opened(house, messages=said, model="another").token_source is TokenSource.ESTIMATED
    given = opened(house, messages=[Utterance("user", "x" * 400, tokens=77)], model="m")
    assert (given.total_tokens, given.token_source) == (77, TokenSource.PROVIDER)


def test_the_loop_is_shown_the_facts_of_the_user_it_answers(house: House) -> None:
    learn(house, "Builds a boat", "ann")
    learn(house, "Grows beans", "bob")
    learn(house, "Lives in Oslo", "ann", category=Category.IDENTITY)
    thinking = Thinking(house)
    converse(house, "c1", [], "ann")
    thinking.said("c1", ABOUT)
    thinking.will(respond("You build a boat."))
    thinking.think()
    shown = thinking.chat.exchanges[0].lines[1].text
    assert "Builds a boat" in shown and "Lives in Oslo" in shown and "Grows beans" not in shown


def test_the_loop_answers_without_the_facts_it_cannot_have(house: House) -> None:
    learn(house, "Builds a boat")
    thinking = Thinking(house)
    thinking.said("c1", "hello")
    with house.database.write() as session:
        session.execute(sa.text("ALTER TABLE facts RENAME TO lost"))
    thinking.will(respond("Hello!"))
    thinking.think()
    assert thinking.messages("c1")[-1] == ("assistant", "Hello!")
    assert house.counted("context_parts_missing_total", part="facts") == 1


def test_the_loop_is_shown_what_it_recalls_of_other_conversations_of_the_same_user(house: House) -> None:
    library = Library(house, boats=("boat", "yacht"))
    library.tell("old", "My yacht is called Petrel.", "A fine name.", user_id="ann")
    library.tell("of ben", "My yacht is called Albatross.", user_id="ben")
    library.tell("nobodys", NewMessage(Role.SYSTEM, "Never tell the yacht's price."), "The yacht is red.")
    house.embed()
    thinking = Thinking(house, reach=RecallSources(house.database, library.finder, house.clock, house.metrics))
    thinking.said("c1", "What is my yacht called?", user_id="ann")
    thinking.will(respond("Petrel."))
    while thinking.conversation("c1").unanswered_since is not None:
        assert thinking.think() is not None
    shown = thinking.chat.exchanges[-1].lines[1].text
    assert "> user: My yacht is called Petrel." in shown
    assert not [other for other in ("Albatross", "is red", "price") if other in shown]


LONG = "It went on for a while, and nobody minded. " * 12


@pytest.fixture
def library(house: House) -> Library:
    library = Library(house, boats=("boat", "yacht"))
    library.tell("old", "The yacht is called Petrel.", "A fine name.", f"The yacht needs paint. {LONG}", "I see.")
    return library


def recalled_in(
    library: Library, finder: MessageSearch | None = None, actor: str = "token:1", **wanted: object
) -> ConversationContext:
    house = library.house
    house.embed()
    reach = RecallSources(house.database, finder or library.finder, house.clock, house.metrics)
    asked = ContextRequest(**{"token_budget": 1000} | wanted)  # type: ignore[arg-type]
    return open_context(reach, "notes", asked, actor)


def summarise(library: Library, conversation_id: str, content: str, to: int) -> str:
    with library.house.database.write() as session:
        conversation = get_conversation(session, "notes", conversation_id)
        one = Summary(
            summary_id=f"sum-{to}", app_id="notes", conversation_key=conversation.key,
            conversation_id=conversation_id, content=content, agent="extractive", from_position=0, to_position=to,
            tokens=10, created_at=library.house.clock.now(),
        )  # fmt: skip
        session.add(one)
    return one.summary_id


def agree(library: Library, user_id: str, notes: str) -> None:
    with library.house.database.write() as session:
        lock_app(session, "notes")
        now = library.house.clock.now()
        consent.grant(session, "notes", user_id, "admin", now)
        consent.write(session, "notes", user_id, Content(freeform_notes=notes), "token:1", now)


def test_what_came_of_the_only_message_found_is_recalled_with_it(library: Library) -> None:
    others = [f"Question {n} of the form is answered." for n in range(4)]
    said = ("The kettle leaks at its lid.", "Since when?", *others, "A new one is in the post.")
    library.tell("shop", *said, user_id="eve")
    library.tell("other", "Nothing to do with it.", "Indeed.", user_id="eve")
    opening = recalled_in(library, pending_message="What about the kettle?", user_id="eve")
    assert "> user: The kettle leaks at its lid." in opening.system_prompt
    assert "A new one is in the post." in opening.system_prompt
    assert "Nothing to do with it." not in opening.system_prompt


def test_what_is_shown_anyway_is_not_recalled_as_well(library: Library) -> None:
    library.tell("now", "My boat is red.", "A red boat.", "What colour is my boat?")
    opening = recalled_in(library, conversation_id="now")
    assert opening.system_prompt.count("My boat is red.") == 0
    assert [one.content for one in opening.messages].count("My boat is red.") == 1


def test_what_was_left_out_of_a_full_window_is_recalled(library: Library) -> None:
    library.tell("now", "Hello.", "Hello.", "My boat is red.", *[f"{LONG}{n}" for n in range(31)], "And my boat?")
    opening = recalled_in(library, conversation_id="now", context_window=2000, reserve=200)
    assert opening.trimmed
    assert "now-2" in opening.retrieved_ids
    assert opening.total_tokens < 0.8 * 2000


def test_a_summary_is_recalled_only_where_something_it_covers_is_left_out(library: Library) -> None:
    library.tell("now", "Hello.", "Hello.", *[f"{LONG}{n}" for n in range(30)], "And then?")
    summary = summarise(library, "now", "- Chose blue paint", 20)
    assert recalled_in(library, conversation_id="now").summary_id is None
    full = recalled_in(library, conversation_id="now", context_window=2000, reserve=200)
    assert full.summary_id == summary
    assert f"## {SUMMARY}" in full.system_prompt and "- Chose blue paint" in full.system_prompt


def test_a_summary_stays_with_its_conversation(library: Library) -> None:
    summarise(library, "old", "- Chose blue paint", 3)
    library.tell("now", "Which paint?")
    said = [Utterance("user", "Which paint?")]
    assert recalled_in(library, conversation_id="now", messages=said).summary_id is None
    assert "blue paint" not in recalled_in(library, conversation_id="now", messages=said).system_prompt


def test_who_never_heard_of_profiles_leaves_no_line_in_the_audit(library: Library) -> None:
    recalled_in(library, user_id="ben")
    with library.house.database.read() as session:
        assert audit_of(session, "notes", "ben", 10) == []


@given(budget=st.integers(0, 400), window=st.none() | st.integers(100, 3000), reserve=st.integers(0, 500))
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_context_never_passes_its_budget_or_its_window_by_a_token(
    library: Library, budget: int, window: int | None, reserve: int
) -> None:
    more = {} if window is None else {"context_window": window, "reserve": reserve}
    opening = recalled_in(library, pending_message="the yacht", token_budget=budget, is_capped=True, **more)
    assert opening.memory_tokens <= budget
    assert opening.memory_tokens == ceil(len(opening.system_prompt) / 4)
    if window is not None:
        assert opening.total_tokens <= max(window - reserve, min(ceil(len("the yacht") / 4), window))


def test_the_budget_of_earlier_messages_is_the_tuned_one(library: Library) -> None:
    with library.house.database.write() as session:
        session.execute(
            sa.text("INSERT INTO tuning_overrides VALUES ('notes', '{\"token_budget\": 100}', 'admin', :at)"),
            {"at": library.house.clock.now().replace(tzinfo=None)},
        )
    opening = recalled_in(library, pending_message="the yacht")
    assert 0 < opening.memory_tokens <= 100
    assert "old-2" not in opening.retrieved_ids


class _Away(MessageSearch):
    def find(self, app_id: str, request: SearchRequest, begun: BegunEmbedding | None = None) -> Search:
        raise Transient("away")


def test_a_search_that_fails_costs_the_retrieved_messages_alone(library: Library) -> None:
    agree(library, "ann", "Sails on Sundays.")
    finder = library.make_finder(library.house.tuning)
    finder.__class__ = _Away
    opening = recalled_in(library, finder, pending_message="the yacht", user_id="ann")
    assert opening.missing == ("retrieved",)
    assert opening.profile


def test_figures_say_whether_a_profile_and_a_summary_were_handed_out_beside_what_was_found(library: Library) -> None:
    agree(library, "ann", "Sails on Sundays.")
    recalled_in(library, pending_message="the yacht", user_id="ann")
    recalled_in(library, pending_message="the yacht", user_id="ben")
    summarise(library, "old", "- The yacht is Petrel", 1)
    said = [Utterance("user", "the yacht")]
    recalled_in(library, messages=said, conversation_id="old")
    noted = [(one.sources["profile"], one.sources["summaries"]) for one in library.recorder.take()[0]]
    assert noted == [(1, 0), (0, 0), (0, 1)]


def test_of_a_very_long_text_the_beginning_and_the_end_are_looked_for(library: Library) -> None:
    said = f"What is the yacht called? {'lorem ' * 30_000} Thanks, and hello."
    opening = recalled_in(library, pending_message=said)
    assert "old-0" in opening.retrieved_ids
    assert len(library.embedder.seen[-1]) <= MOST_CHARS + 1
