"""What a context promises over each database: the same as from memory, of the right user, and as much as can be had."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from pydantic import BaseModel

from ops.bench import composing
from shared.apps.models import App
from shared.base.choices import FactState
from shared.base.errors import Conflict, NotFound, Transient
from shared.base.subjects import NOBODY
from shared.context import queries
from shared.context.budgets import TokenCounting, TokenSource
from shared.context.context import ContextRequest, ConversationContext, open_context
from shared.context.fact_selection import in_order
from shared.context.recall import ContextLimits, RecallMaterial, compose
from shared.context.sources import RecallSources
from shared.context.window import Utterance, counted, length_of
from shared.conversations.chat_message import role_of, text_of
from shared.conversations.lifecycle import NewConversation, NewMessage, Role, say, start
from shared.conversations.queries import lock_conversation
from shared.energy.ledger import Booking
from shared.energy.rates import BELIEVED_FROM_CHARS, rate_of
from shared.facts.categories import Category
from shared.facts.models import Fact
from shared.llm.calls import CallOutcome, ModelCall, WorkKind
from shared.llm.chat import Question, Reply, call_of
from shared.llm.tokens import Rate
from shared.memories.models import Memory
from shared.telemetry.metrics import CompactionStage
from tests.support.house import House
from tests.support.minds import Thinking, call, respond
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
        say(session, conversation, new[:half], now)
        say(session, conversation, new[half:], now)
        return conversation.key


def opened(house: House, **wanted: object) -> ConversationContext:
    return open_context(house.database, "notes", replace(ContextRequest(1000), **wanted), house.metrics)  # type: ignore[arg-type]


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
            assert queries.everything_said(session, key) == said
            assert queries.tokens_said(session, key, counting.in_use, 10_000) == length_of(said, counting)
        window, reserve, now = (
            chance.choice([1, 300, 2000, 9000, 50_000]),
            chance.choice([0, 500]),
            chance.choice([None, "now"]),
        )
        stored = opened(
            house, conversation_id=f"c{seed}-{number}", context_window=window, reserve=reserve, now_said=now
        )
        everything = said + ([Utterance("user", now)] if now else [])
        whole = [counted(one, TokenCounting()) for one in everything]
        expected = compose(whole, RecallMaterial("Notes"), ContextLimits(1000, window, reserve), TokenCounting())
        assert stored.messages == tuple(one.said for one in expected.messages)
        assert (stored.stage, stored.trimmed, stored.cut) == (expected.stage, expected.trimmed, expected.cut)
        sent = opened(house, said=said, context_window=window, reserve=reserve, now_said=now)
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
        assert len(queries.what_stays(session, key)) <= 12


def test_system_messages_are_found_by_their_own_index(sqlite_url: str) -> None:
    house = House(sqlite_url)
    house.install()
    key = converse(house, "c1", [Utterance("user", "hello")])
    asked: list[tuple[str, Any]] = []
    with house.database.read() as session:
        sa.event.listen(session.connection(), "before_cursor_execute", lambda *call: asked.append((call[2], call[3])))
        queries.what_stays(session, key)
        [system] = [one for one in asked if "'system'" in one[0]]
        plan = session.connection().exec_driver_sql(f"EXPLAIN QUERY PLAN {system[0]}", system[1]).all()
    assert [row[3] for row in plan] == ["SEARCH messages USING INDEX ix_messages_system (conversation_key=?)"]
    house.database.dispose()


def test_the_bench_composes_what_it_says(tmp_path: Path) -> None:
    figures = composing.measure(tmp_path, messages=600, contexts=2)
    assert figures["stored_and_compacted"]["stage"] == figures["in_the_request_and_compacted"]["stage"] == "stage1"
    assert figures["stored_and_fitting"]["stage"] == "none"
    assert figures["stored_and_whole"]["messages_in_it"] == 600 + 3
    assert all(kind["facts_in_it"] and kind["memories_in_it"] for kind in figures.values() if isinstance(kind, dict))


def test_facts_of_the_conversations_user_are_recalled_and_of_nobody_else(house: House) -> None:
    house.install("other")
    mine, nobodys = learn(house, "Builds a boat", "ann"), learn(house, "Sails in May")
    learn(house, "Grows beans", "bob")
    learn(house, "Elsewhere", app_id="other")
    learn(house, "Gone", state=FactState.DELETED, slot=None)
    converse(house, "of ann", [], "ann")
    converse(house, "of nobody", [])
    assert opened(house, conversation_id="of ann").fact_ids == (mine,)
    assert opened(house, conversation_id="of ann", user_id="ann").fact_ids == (mine,)
    assert opened(house, user_id="carl").fact_ids == ()
    assert opened(house).fact_ids == opened(house, conversation_id="of nobody").fact_ids == (nobodys,)
    for conversation_id in ("of ann", "of nobody"):
        with pytest.raises(Conflict):
            opened(house, conversation_id=conversation_id, user_id="bob")
    with house.database.write() as session:
        session.execute(sa.update(App).values(shared_memory=True))
    assert set(opened(house, conversation_id="of ann").fact_ids) == {mine, nobodys}
    assert opened(house, user_id="carl").fact_ids == (nobodys,)
    assert opened(house).fact_ids == (nobodys,)


def test_identity_has_the_last_place_and_where_that_is_taken_it_is_lifted_by_the_last_thing_said(house: House) -> None:
    identity = learn(house, "Lives in Oslo", category=Category.IDENTITY)
    assert opened(house, now_said="Sort a list.").fact_ids == (identity,)
    project = learn(house, f"Builds a boat {'of oak ' * 260}")
    assert opened(house, now_said="Sort a list.").fact_ids == (project,)
    converse(house, "c1", [Utterance("user", ABOUT)])
    converse(house, "c2", [Utterance("user", ABOUT), Utterance("assistant", "Where do you live?")])
    assert opened(house, conversation_id="c1").fact_ids == (project, identity)
    assert opened(house, conversation_id="c2").fact_ids == (project,)
    assert opened(house, conversation_id="c2", now_said="Where am I?").fact_ids == (project, identity)
    assert opened(house, conversation_id="c1", now_said="Sort a list.").fact_ids == (project,)


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


def test_without_what_was_said_there_is_no_context(house: House) -> None:
    converse(house, "c1", [Utterance("user", "hello")])
    with pytest.raises(NotFound):
        opened(house, conversation_id="c2")
    with house.database.write() as session:
        session.execute(sa.text("ALTER TABLE messages RENAME TO lost"))
    with pytest.raises((Transient, sa.exc.DBAPIError)):
        opened(house, conversation_id="c1")


def test_contexts_are_counted_with_their_stage_and_how_full_they_are(house: House) -> None:
    learn(house, "Builds a boat")
    said = [Utterance("user", "x" * 400)] * 20
    opened(house, said=said, context_window=2000, reserve=0)
    opened(house, said=said)
    assert house.counted("context_stages_total", stage="stage1") == 1
    assert house.counted("context_stages_total", stage="none") == 1
    assert house.counted("contexts_total", injected="false") == 2, "facts are no memories"
    house.converse("notes", "c1", "Beans are sown in May")
    house.work_off()
    opened(house, said=said)
    assert [house.counted("contexts_total", injected=injected) for injected in ("true", "false")] == [1, 2]
    assert house.counted("context_used_ratio_count") == 1
    assert 0.3 < (house.counted("context_used_ratio_sum") or 0) < 0.5


class Nothing(BaseModel):
    """An answer that says nothing."""


def ask(house: House, text: str, tokens: int | None, kind: WorkKind = WorkKind.CREATE) -> None:
    """Book an answered call with a prompt as a worker would."""
    question = Question(kind, "", text, Nothing, 100)
    call = call_of(question, "ollama:m", Reply("{}", tokens, 5), CallOutcome.ANSWERED, 0.5)
    house.accountant.meter(Booking("notes", None, None))(call)


def test_lengths_are_reckoned_as_the_model_was_seen_to_count(house: House) -> None:
    prose = "Beans are sown in May. " * 100
    said = [Utterance("user", "x" * 400)]
    ask(house, prose, len(prose) // 2)
    few = opened(house, said=said, model="m")
    assert (few.total_tokens, few.token_source) == (100, TokenSource.ESTIMATED), "2,300 characters say too little"
    while len(prose) < BELIEVED_FROM_CHARS:
        prose += prose
    ask(house, prose, len(prose) // 2)
    for model in ("m", "ollama:m"):
        known = opened(house, said=said, model=model)
        assert (known.total_tokens, known.token_source) == (200, TokenSource.CALIBRATED)
    assert opened(house, said=said, model="another").token_source is TokenSource.ESTIMATED
    given = opened(house, said=[Utterance("user", "x" * 400, tokens=77)], model="m")
    assert (given.total_tokens, given.token_source) == (77, TokenSource.PROVIDER)


@pytest.mark.parametrize(
    ("tokens", "kind"),
    [(None, WorkKind.CREATE), (0, WorkKind.CREATE), (1999, WorkKind.CREATE), (3000, WorkKind.THINK)],
    ids=["none given", "all was cached", "fewer than there are words", "with tools"],
)
def test_figures_that_cannot_be_believed_leave_a_rate_as_it_was(
    house: House, tokens: int | None, kind: WorkKind
) -> None:
    prose = "word " * 2000
    ask(house, prose, 2600)
    with house.database.read() as session:
        before = rate_of(session, "m")
    ask(house, prose, tokens, kind)
    with house.database.read() as session:
        assert rate_of(session, "m") == before == Rate(10_000, 2600)


def test_a_call_without_characters_teaches_nothing(house: House) -> None:
    call = ModelCall(WorkKind.CREATE, "ollama:m", 800, 60, False, CallOutcome.ANSWERED, 0.5)
    house.accountant.meter(Booking("notes", None, None))(call)
    with house.database.read() as session:
        assert rate_of(session, "m") is None


def test_figures_of_a_provider_are_kept_with_the_message(house: House) -> None:
    converse(house, "c1", [Utterance("user", "x" * 400, tokens=7), Utterance("assistant", "x" * 400)])
    context = opened(house, conversation_id="c1")
    assert (context.total_tokens, context.token_source) == (107, TokenSource.ESTIMATED)


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


def test_facts_are_put_in_the_same_order_however_the_database_returns_them(house: House) -> None:
    for number in range(20):
        learn(house, f"Fact {number}", confidence=0.5 + number % 3 / 10, pin_slot=number if 1 <= number <= 3 else None)
    with house.database.read() as session:
        facts = list(queries.facts_to_recall(session, "notes", [NOBODY]))
    shuffled = facts[:]
    random.Random(1).shuffle(shuffled)
    assert in_order(shuffled, ABOUT) == in_order(facts, ABOUT)


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


def test_a_review_shows_conversations_of_one_user_at_a_time(house: House) -> None:
    learn(house, "Builds a boat", "ann")
    learn(house, "Grows beans", "ben")
    thinking = Thinking(house)
    for name, said in (("ann", "The boat leaks."), ("ben", "The beans are up."), (None, "The weather is fine.")):
        thinking.said(f"of-{name}", said, user_id=name)
        thinking.said(f"of-{name}", "I see.", role=Role.ASSISTANT)
    thinking.will(*[call("think", thoughts="All is well."), "Nothing needs to be done.", "Really."] * 3)
    shown = []
    while thinking.think() is not None:
        text = thinking.chat.exchanges[-1].lines[1].text
        shown.append({one for one in ("boat", "bean", "weather") if one in text.lower()})
    assert sorted(map(sorted, shown)) == [["bean"], ["boat"], ["weather"]]
