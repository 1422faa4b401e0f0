"""Pure rules of facts: what says the same or contradicts, which of them go, and what a statement is about."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.base.choices import Category
from shared.facts.fold import find_same, fold
from shared.facts.models import Fact, FactMention, category_of, contradict, said_key
from shared.facts.retention import PRUNE_TO, by_score, evicted, expires_at, score
from shared.llm.embedding import to_bytes
from shared.telemetry.metrics import MergedBy
from shared.text.likeness import are_opposed, differ, gist, normal

NOW = datetime(2026, 3, 1, tzinfo=UTC)
SAME = 0.9


def vector(angle: float) -> bytes:
    """A unit vector at an angle, so that the cosine of two is the cosine of their difference."""
    return to_bytes(np.array([np.cos(angle), np.sin(angle)], dtype=np.float32))


def known(fact_id: int, text: str, angle: float | None = 0.0, model: str = "m") -> Fact:
    return Fact(
        fact_id=fact_id, statement=text, vector=None if angle is None else vector(angle), vector_model=angle and model
    )


def same(
    text: str, facts: list[Fact], angle: float | None = 0.0, model: str = "m", least: float = SAME
) -> tuple[int, MergedBy] | None:
    found = find_same(text, None if angle is None else vector(angle), model, facts, least)
    return None if found is None else (found[0].fact_id, found[1])


def mentions(*texts: str, updates: dict[int, int] | None = None) -> list[FactMention]:
    """One mention an hour, each in a message of its own; what says the same in the same words has one meaning."""
    meaning_of: dict[str, int] = {}
    return [
        FactMention(
            mention_id=number,
            meaning=meaning_of.setdefault(normal(text), number),
            updates=(updates or {}).get(number),
            conversation_key=1,
            conversation_id="c1",
            message_ids=[f"m{number}"],
            statement=text,
            heard_at=NOW,
            said_at=NOW + timedelta(hours=number),
        )
        for number, text in enumerate(texts, 1)
    ]


def folded(*texts: str, updates: dict[int, int] | None = None) -> list[tuple[str, str | None]]:
    """Return each fact in the order in which they began, and what replaced it."""
    runs = fold(mentions(*texts, updates=updates))
    return [(run.worded.words, None if run.replaced_by is None else run.replaced_by.worded.words) for run in runs]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("User lives in Copenhagen", "the user lives in copenhagen."), ("  User  likes\ttea ", "likes tea"),
        ("User’s name is Anna", "the user's name is Anna"), ("User likes “jazz”!", 'user likes "jazz'),
        ("User is a self‑taught cook", "is a self-taught cook"), ("User likes ｊａｚｚ", "User likes jazz"),
    ],
    ids=["case-and-subject", "white-space", "apostrophe", "quotes", "dash", "full-width"],
)  # fmt: skip
def test_what_does_not_change_the_meaning_is_not_seen(one: str, other: str) -> None:
    assert normal(one) == normal(other)
    assert said_key("u1", one) == said_key("u1", other) != said_key("u2", other)


@pytest.mark.parametrize("text", ["User", "...", "the user", "ユーザー", "userland is fun", "users vote"])
def test_a_statement_always_keeps_something(text: str) -> None:
    assert normal(text)


def test_the_subject_goes_only_where_it_is_a_word_of_its_own() -> None:
    assert (normal("userland is fun"), normal("Users vote")) == ("userland is fun", "users vote")


def test_what_is_said_of_nobody_and_of_a_user_is_two() -> None:
    assert said_key("", "likes tea") != said_key("u", "likes tea")


APART = [
    ("User lives in Copenhagen", "User lives in London"), ("User is 34 years old", "User is 35 years old"),
    ("User has two children", "User has three children"), ("User was born on 15 March", "User was born on 16 March"),
    ("User likes coffee", "User does not like coffee"), ("User likes coffee", "User hates coffee"),
    ("User no longer smokes", "User smokes"), ("User doesn't eat meat", "User eats meat"),
    ("User used to live in Rome", "User lives in Rome"),
    ("User prefers tea to coffee", "User prefers coffee to tea"),
    ("User moved from Paris to London", "User moved from London to Paris"),
    ("User's wife is a nurse", "User is a nurse"),
    ("User likes coffee without sugar", "User likes coffee with sugar"),
    ("User works with Python", "User works with Rust"),
    ("User is allergic to peanuts", "User is allergic to shellfish"),
    ("User's brother is called Tom", "User's brother is called Tim"),
    ("User has a meeting on Monday", "User has a meeting on Tuesday"),
    ("User works with Google", "User works at Google"), ("User flies to Rome", "User flies from Rome"),
    ("User reads to the child", "User reads with the child"), ("User worked at Lego", "User works at Lego"),
    ("User played the piano", "User plays the piano"), ("User had a dog", "User has a dog"),
    ("User is a singer", "User is singing"), ("User likes her boss", "Her boss likes the user"),
]  # fmt: skip


@pytest.mark.parametrize(("one", "other"), APART, ids=[f"{a} / {b}" for a, b in APART])
def test_statements_that_differ_in_a_word_that_matters_stay_apart(one: str, other: str) -> None:
    assert differ(one, other) and differ(other, one)
    assert same(one, [known(1, other)]) is None


ALIKE = [
    ("User likes jazz", "The user really enjoys jazz."),
    ("User prefers morning meetings", "User prefers meetings in the morning"),
    ("User is building a web app", "User builds a web application"),
    ("User does not like cats", "User dislikes cats"),
    ("User currently works at Acme", "User is employed at Acme"),
]


@pytest.mark.parametrize(("one", "other"), ALIKE, ids=[a for a, _ in ALIKE])
def test_the_same_in_other_words_is_a_repeat_when_the_vectors_say_so_too(one: str, other: str) -> None:
    facts = [known(1, "User plays chess", 2.0), known(2, other, 0.1)]
    assert same(one, facts) == (2, MergedBy.EMBEDDING)
    assert same(one, [known(2, other, 1.0)]) is None
    assert same(one, [known(2, other, None)]) is None


def test_vectors_of_two_models_are_not_compared() -> None:
    assert same("User likes jazz", [known(1, "User enjoys jazz", model="b")], model="a") is None


def test_of_several_that_mean_the_same_the_closest_is_heard_again() -> None:
    facts = [known(1, "User enjoys jazz", 0.3), known(2, "User loves jazz", 0.1), known(3, "User adores jazz", 0.2)]
    assert same("User likes jazz", facts) == (2, MergedBy.EMBEDDING)


def test_exactly_the_same_meaning_is_enough() -> None:
    angle = float(np.arccos(0.9))
    facts = [known(1, "User enjoys jazz", angle)]
    cosine = float(np.frombuffer(vector(0.0), "<f4") @ np.frombuffer(vector(angle), "<f4"))
    assert same("User likes jazz", facts, least=cosine) == (1, MergedBy.EMBEDDING)
    assert same("User likes jazz", facts, least=cosine + 1e-3) is None


def test_the_same_words_are_a_repeat_without_any_vector() -> None:
    facts = [known(1, "User plays chess", None), known(2, "user likes JAZZ.", None)]
    assert same("User likes jazz", facts, None) == (2, MergedBy.TEXT)


def test_what_is_named_is_replaced_and_nothing_else() -> None:
    texts = ("User has a dog", "User has moved out", "User plays chess", "User has found a flat")
    assert folded(*texts, updates={4: 2}) == [
        (texts[0], None), (texts[1], texts[3]), (texts[2], None), (texts[3], None)
    ]  # fmt: skip


@pytest.mark.parametrize("updates", [99, 1], ids=["a-stranger", "itself"])
def test_naming_nothing_that_stands_replaces_nothing(updates: int) -> None:
    texts = ("User has a dog", "user has a dog.")
    assert folded(*texts, updates={2: updates}) == [("User has a dog", None)]


def test_what_replaces_one_fact_and_repeats_another_does_both() -> None:
    texts = ("User has a flat", "User rents a barn", "user rents a barn")
    runs = fold(mentions(*texts, updates={3: 1}))
    assert [(len(run.mentions), run.by_rule) for run in runs] == [(1, False), (2, True)]
    assert runs[0].replaced_by is runs[1]


def test_what_is_said_again_after_its_contradiction_is_a_fact_of_its_own() -> None:
    madrid, berlin = "User lives in Madrid", "User lives in Berlin"
    assert folded(madrid, berlin, madrid) == [(madrid, berlin), (berlin, madrid), (madrid, None)]
    dog, gone = "User has a dog", "User gave it away"
    assert folded(dog, gone, dog, updates={2: 1}) == [(dog, gone), (gone, dog), (dog, None)]


@given(st.permutations(range(9)))
def test_mentions_are_folded_in_the_order_in_which_they_were_made(order: list[int]) -> None:
    texts = ["User lives in Oslo", "User likes jazz", "User lives in Rome", "user likes jazz.", "User has a dog"]
    made = mentions(*texts, "User does not like jazz", "User lives in Oslo", "User likes jazz", "User works at Lego")

    def look(read: list[FactMention]) -> list[tuple[list[int], int | None]]:
        return [
            ([one.mention_id for one in run.mentions], run.replaced_by and run.replaced_by.mentions[0].mention_id)
            for run in fold(read)
        ]

    assert look([made[place] for place in order]) == look(made)


CONTRADICTIONS = [
    ("User is based in Copenhagen", "User is based in London"),
    ("User lives in New York", "The user now lives in San Francisco."),
    ("User works at Acme", "User works for Globex Corp"),
    ("User works as a nurse", "User is working as a teacher"),
    ("User's name is Anna", "User is called Maria"),
    ("User is 34 years old", "User is 35"),
    ("User's email is a@example.org", "User's email address is b@example.org"),
]


@pytest.mark.parametrize(("old", "new"), CONTRADICTIONS, ids=[new for _, new in CONTRADICTIONS])
def test_a_second_value_of_what_there_is_one_of_replaces_the_first(old: str, new: str) -> None:
    assert contradict(old, new) and contradict(new, old)
    assert folded("User plays chess", old, new) == [("User plays chess", None), (old, new), (new, None)]


HARMLESS = [
    ("User lives in London", "User lives in North London"), ("User lives in London", "User lives in a flat"),
    ("User lives in London", "User is based in Paris"), ("User's wife lives in London", "User lives in Paris"),
    ("User's son is 4 years old", "User is 35 years old"), ("User works at Acme", "User works as a nurse"),
    ("User works at Acme", "User works at home on Fridays"),
    ("User works as a nurse", "User works as a cook on Sundays"),
    ("User's name is Anna", "User's dog's name is Rex"), ("User used to live in Rome", "User lives in Paris"),
    ("User speaks Spanish", "User speaks German"), ("User likes jazz", "User likes rock"),
]  # fmt: skip


@pytest.mark.parametrize(("one", "other"), HARMLESS, ids=[f"{a} / {b}" for a, b in HARMLESS])
def test_what_can_both_be_so_is_two_facts(one: str, other: str) -> None:
    assert not contradict(one, other) and not contradict(other, one)
    assert folded(other, one) == [(other, None), (one, None)]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("User likes coffee", "User does not like coffee"), ("User hates coffee", "User loves coffee"),
        ("User eats meat", "User never eats meat"), ("User likes kids", "User detests children"),
        ("User loves Anna", "User does not like Anna"), ("User hates coffee", "User does not hate coffee"),
        ("User enjoys movies", "User does not love films"), ("User likes it", "User hates it"),
    ],
    ids=["not", "hates", "never", "other-words", "a-name", "twice-against", "no-word-shared", "nothing-else-said"],
)  # fmt: skip
def test_the_same_said_with_the_opposite_sign_replaces_it(one: str, other: str) -> None:
    assert are_opposed(gist(one), gist(other)) and are_opposed(gist(other), gist(one))
    assert folded(one, other) == [(one, other), (other, None)] and folded(other, one) == [(other, one), (one, None)]


def test_the_opposite_of_something_else_replaces_nothing() -> None:
    assert not are_opposed(gist("User likes coffee in the evening"), gist("User does not like coffee"))
    assert not are_opposed(gist("User does not like tea"), gist("User likes coffee"))
    assert not are_opposed(gist("User does it"), gist("User does not do it"))


def test_of_what_there_is_one_of_every_other_value_is_replaced() -> None:
    made = mentions("User works at Lego", "User works at Novo", "User works at Acme")
    made[1].message_ids = made[0].message_ids
    lego, novo, acme = fold(made)
    assert (lego.replaced_by, novo.replaced_by, acme.replaced_by) == (acme, acme, None)


PROJECT, PREFERENCE, IDENTITY = Category.PROJECT, Category.PREFERENCE, Category.IDENTITY


def fact(category: Category, days: float, confidence: float = 0.75, fact_id: int = 1, pinned: bool = False) -> Fact:
    seen = NOW - timedelta(days=days)
    return Fact(
        fact_id=fact_id, category=category, confidence=confidence, last_seen=seen, pin_slot=1 if pinned else None
    )


@pytest.mark.parametrize(
    ("held", "expected"),
    [
        (fact(PROJECT, 30, 0.6), 40), (fact(PREFERENCE, 30, 0.9), 10), (fact(IDENTITY, 30, 0.75), 20),
        (fact(PROJECT, 0), 0), (fact(PROJECT, 1, 0.0), 80), (fact(PROJECT, -5), 0),
    ],
    ids=["project", "preference", "identity", "of-today", "no-confidence", "from-the-future"],
)  # fmt: skip
def test_a_score_is_age_by_weight_over_confidence(held: Fact, expected: float) -> None:
    assert score(held, NOW) == pytest.approx(expected)


@pytest.mark.parametrize(("category", "days"), [(PROJECT, 60), (PREFERENCE, 180), (IDENTITY, 365)])
def test_a_fact_stands_until_its_time_has_passed(category: Category, days: int) -> None:
    assert expires_at(fact(category, days)) == NOW


def test_equal_scores_go_by_age_then_by_number() -> None:
    same = [fact(PROJECT, 0, fact_id=3), fact(PROJECT, -2, fact_id=1), fact(PROJECT, 0, fact_id=2)]
    assert [one.fact_id for one in by_score(same, NOW)] == [2, 3, 1]


def test_pinned_facts_count_and_stay() -> None:
    facts = [fact(PROJECT, 50, fact_id=i, pinned=i <= 10) for i in range(1, 131)]
    gone = {one.fact_id for one in evicted(facts, NOW)}
    assert len(gone) == 10 and not gone & set(range(1, 11))


@given(
    st.lists(st.tuples(st.sampled_from(Category), st.floats(-10, 900), st.floats(0, 1)), min_size=1, max_size=150),
    st.integers(0, 10),
    st.integers(0, 30),
)
def test_what_goes_always_scores_at_least_as_high_as_what_stays(
    drawn: list[tuple[Category, float, float]], pins: int, more: int
) -> None:
    facts = [fact(c, days, sure, i, i < pins) for i, (c, days, sure) in enumerate(drawn)]
    gone = {one.fact_id for one in evicted(facts, NOW, more)}
    stays = [score(one, NOW) for one in facts if one.fact_id not in gone and one.pin_slot is None]
    assert all(score(one, NOW) >= max(stays, default=0) for one in facts if one.fact_id in gone)
    assert len(gone) == min(max(len(facts) + more - PRUNE_TO, 0), max(len(facts) - pins, 0))


PROJECTS = [
    "User is building a local-first chat app", "Has a deadline on Friday", "Plans to move to Berlin next year",
    "Is writing a thesis on soil bacteria", "My goal is to run a marathon", "Wants to launch the shop by June",
    "Needs to renew the passport", "Is renovating the kitchen", "Is preparing for a job interview",
    "Saving up for a cargo bike", "The release is due on 3 May", "Is migrating the billing system to PostgreSQL",
    "Bis Freitag muss der Antrag raus", "La fecha de entrega es el 9 de mayo",
]  # fmt: skip
PREFERENCES = [
    "Prefers direct answers without preamble", "User likes jazz", "I love hiking", "Hates small talk",
    "Always answer in Danish", "Favourite colour is green", "Never wants emojis", "Enjoys cooking for family",
    "Would rather meet in the afternoon", "Tabs, not spaces", "Can't stand loud restaurants",
    "User likes walking at night", "Réponds toujours en français", "コーヒーより紅茶が好きです",
]  # fmt: skip
IDENTITIES = [
    "User's name is Anna", "My name is Anna", "Lives in Copenhagen", "I live in New York", "User is 34 years old",
    "Has two children", "I am allergic to peanuts", "Is a software developer", "I'm a nurse", "Works at Acme",
    "Is married to Tom", "Birthday is on 15 March", "Grew up in Lagos", "Speaks Spanish and English",
    "Studied at MIT", "Was diagnosed with asthma", "My sister is called Mia", "Solo developer based in Copenhagen",
    "Has a dog named Rex", "I am a vegetarian", "Ich wohne in Kassel", "Моя сестра живёт в Самаре",
]  # fmt: skip
CASES = [
    *((one, Category.PROJECT) for one in PROJECTS),
    *((one, Category.PREFERENCE) for one in PREFERENCES),
    *((one, Category.IDENTITY) for one in IDENTITIES),
]


@pytest.mark.parametrize(("statement", "category"), CASES, ids=[one for one, _ in CASES])
def test_a_statement_is_sorted_by_its_words(statement: str, category: Category) -> None:
    assert category_of(statement) is category


@pytest.mark.parametrize("statement", ["", "42", "…"])
def test_what_says_nothing_known_is_a_preference(statement: str) -> None:
    assert category_of(statement) is Category.PREFERENCE
