"""What else a context recalls, over both databases: within its room, said once, and never of somebody else."""

from __future__ import annotations

from datetime import timedelta
from math import ceil

import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shared.apps.queries import lock_app
from shared.base.errors import Transient
from shared.context.context import ContextRequest, ConversationContext, open_context
from shared.context.rendering import EARLIER, PROFILE, SUMMARY
from shared.context.sources import MOST_CHARS, RecallSources
from shared.context.window import Utterance
from shared.conversations.queries import get_conversation
from shared.erasure.erasing import withdraw_consent
from shared.profiles import consent
from shared.profiles.models import AuditKind, Content
from shared.profiles.queries import audit_of
from shared.search.models import Asker
from shared.search.search import Findings, MessageSearch, SearchRequest
from shared.summaries.models import Summary
from tests.support.house import House
from tests.support.searching import Library

LONG = "It went on for a while, and nobody minded. " * 12


@pytest.fixture
def library(house: House) -> Library:
    library = Library(house, boats=("boat", "yacht"))
    library.tell("old", "The yacht is called Petrel.", "A fine name.", f"The yacht needs paint. {LONG}", "I see.")
    return library


def compose(
    library: Library, finder: MessageSearch | None = None, actor: str = "token:1", **wanted: object
) -> ConversationContext:
    house = library.house
    house.embed()
    reach = RecallSources(house.database, finder or library.finder, house.clock, house.metrics)
    asked = ContextRequest(**{"token_budget": 1000} | wanted)  # type: ignore[arg-type]
    return open_context(house.database, "notes", asked, house.metrics, reach, actor)


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


def test_an_earlier_message_of_another_conversation_is_recalled(library: Library) -> None:
    opening = compose(library, now_said="What is the yacht called?")
    # Both speak of the yacht; the newer one comes first, for it might correct the other.
    assert opening.retrieved_ids[:2] == ("old-2", "old-0")
    assert f"## {EARLIER}" in opening.system_prompt
    assert "> user: The yacht is called Petrel." in opening.system_prompt
    assert opening.messages[0].content == opening.system_prompt
    assert opening.missing == ()


def test_what_came_of_the_only_message_found_is_recalled_with_it(library: Library) -> None:
    others = [f"Question {n} of the form is answered." for n in range(4)]
    said = ("The kettle leaks at its lid.", "Since when?", *others, "A new one is in the post.")
    library.tell("shop", *said, user_id="eve")
    library.tell("other", "Nothing to do with it.", "Indeed.", user_id="eve")
    opening = compose(library, now_said="What about the kettle?", user_id="eve")
    assert "> user: The kettle leaks at its lid." in opening.system_prompt
    assert "A new one is in the post." in opening.system_prompt
    assert "Nothing to do with it." not in opening.system_prompt


def test_what_is_shown_anyway_is_not_recalled_as_well(library: Library) -> None:
    library.tell("now", "My boat is red.", "A red boat.", "What colour is my boat?")
    opening = compose(library, conversation_id="now")
    assert opening.system_prompt.count("My boat is red.") == 0
    assert [one.content for one in opening.messages].count("My boat is red.") == 1


def test_what_was_left_out_of_a_full_window_is_recalled(library: Library) -> None:
    library.tell("now", "Hello.", "Hello.", "My boat is red.", *[f"{LONG}{n}" for n in range(31)], "And my boat?")
    opening = compose(library, conversation_id="now", context_window=2000, reserve=200)
    assert opening.trimmed
    assert "now-2" in opening.retrieved_ids
    assert opening.total_tokens < 0.8 * 2000


def test_nothing_is_recalled_without_anything_said(library: Library) -> None:
    assert compose(library).retrieved_ids == ()


def test_messages_of_another_user_are_not_recalled(library: Library) -> None:
    library.tell("ann", "My boat is green.", user_id="ann")
    library.tell("ben", "My boat is black.", user_id="ben")
    assert "ann-0" in compose(library, now_said="my boat", user_id="ann").retrieved_ids
    assert "ben-0" not in compose(library, now_said="my boat", user_id="ann").retrieved_ids
    nobody = compose(library, now_said="my boat").retrieved_ids
    assert not {"ann-0", "ben-0"} & set(nobody) and "old-0" in nobody


def test_a_summary_is_recalled_only_where_something_it_covers_is_left_out(library: Library) -> None:
    library.tell("now", "Hello.", "Hello.", *[f"{LONG}{n}" for n in range(30)], "And then?")
    summary = summarise(library, "now", "- Chose blue paint", 20)
    assert compose(library, conversation_id="now").summary_id is None
    full = compose(library, conversation_id="now", context_window=2000, reserve=200)
    assert full.summary_id == summary
    assert f"## {SUMMARY}" in full.system_prompt and "- Chose blue paint" in full.system_prompt


def test_a_summary_stays_with_its_conversation(library: Library) -> None:
    summarise(library, "old", "- Chose blue paint", 3)
    library.tell("now", "Which paint?")
    said = [Utterance("user", "Which paint?")]
    assert compose(library, conversation_id="now", said=said).summary_id is None
    assert "blue paint" not in compose(library, conversation_id="now", said=said).system_prompt


def test_a_profile_is_recalled_with_consent_and_the_audit_shows_it(library: Library) -> None:
    agree(library, "ann", "Sails on Sundays.")
    opening = compose(library, user_id="ann")
    assert opening.profile and f"## {PROFILE}" in opening.system_prompt and "Sails on Sundays." in opening.system_prompt
    with library.house.database.read() as session:
        kinds = [one.kind for one in audit_of(session, "notes", "ann", 10)]
    assert AuditKind.USED in kinds


def test_a_profile_withdrawn_is_withheld_and_the_audit_shows_it(library: Library) -> None:
    agree(library, "ann", "Sails on Sundays.")
    with library.house.database.write() as session:
        withdraw_consent(session, "notes", "ann", "admin", library.house.clock.now())
    opening = compose(library, user_id="ann")
    assert not opening.profile and "Sundays" not in opening.system_prompt
    with library.house.database.read() as session:
        assert audit_of(session, "notes", "ann", 10)[0].kind == AuditKind.WITHHELD
    assert library.house.counted("profile_gate_total", outcome="withheld") == 1


def test_who_never_heard_of_profiles_leaves_no_line_in_the_audit(library: Library) -> None:
    compose(library, user_id="ben")
    with library.house.database.read() as session:
        assert audit_of(session, "notes", "ben", 10) == []


@pytest.mark.parametrize("user_id", ["ben", None])
def test_a_profile_is_not_recalled_for_somebody_else(library: Library, user_id: str | None) -> None:
    agree(library, "ann", "Sails on Sundays.")
    opening = compose(library, user_id=user_id)
    assert not opening.profile and "Sundays" not in opening.system_prompt


@given(budget=st.integers(0, 400), window=st.none() | st.integers(100, 3000), reserve=st.integers(0, 500))
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_context_never_passes_its_budget_or_its_window_by_a_token(
    library: Library, budget: int, window: int | None, reserve: int
) -> None:
    more = {} if window is None else {"context_window": window, "reserve": reserve}
    opening = compose(library, now_said="the yacht", token_budget=budget, is_capped=True, **more)
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
    opening = compose(library, now_said="the yacht")
    assert 0 < opening.memory_tokens <= 100
    assert "old-2" not in opening.retrieved_ids


class _Away(MessageSearch):
    def find(self, app_id: str, wanted: SearchRequest) -> Findings:
        raise Transient("away")


def test_a_search_that_fails_costs_the_retrieved_messages_alone(library: Library) -> None:
    agree(library, "ann", "Sails on Sundays.")
    finder = library.make_finder(library.house.tuning)
    finder.__class__ = _Away
    opening = compose(library, finder, now_said="the yacht", user_id="ann")
    assert opening.missing == ("retrieved",)
    assert opening.profile


def test_a_retrieval_for_a_context_is_noted_with_what_it_used(library: Library) -> None:
    opening = compose(library, now_said="What is the yacht called?")
    [figures] = library.recorder.take()[0]
    assert figures.asker is Asker.CONTEXT
    assert figures.tokens_used == opening.memory_tokens
    assert figures.token_budget == 1000
    assert figures.at - library.house.clock.now() == timedelta()


def test_figures_say_whether_a_profile_and_a_summary_were_handed_out_beside_what_was_found(library: Library) -> None:
    agree(library, "ann", "Sails on Sundays.")
    compose(library, now_said="the yacht", user_id="ann")
    compose(library, now_said="the yacht", user_id="ben")
    summarise(library, "old", "- The yacht is Petrel", 1)
    said = [Utterance("user", "the yacht")]
    compose(library, said=said, conversation_id="old")
    noted = [(one.sources["profile"], one.sources["summaries"]) for one in library.recorder.take()[0]]
    assert noted == [(1, 0), (0, 0), (0, 1)]


def test_of_a_very_long_text_the_beginning_and_the_end_are_looked_for(library: Library) -> None:
    said = f"What is the yacht called? {'lorem ' * 30_000} Thanks, and hello."
    opening = compose(library, now_said=said)
    assert "old-0" in opening.retrieved_ids
    assert len(library.embedder.seen[-1]) <= MOST_CHARS + 1
