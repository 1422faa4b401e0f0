"""No question, filter, id or cursor of one app ever brings a message of another."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shared.conversations.lifecycle import NewMessage, Role
from shared.conversations.queries import get_conversation
from shared.errors import Conflict, NotFound
from shared.search.candidates import HitKind, MessageFilters
from shared.search.models import doc_id_of
from shared.search.search import SearchRequest
from shared.search.search_queries import keys_of, messages_at, names_at, passages_at
from tests.support.house import House
from tests.support.searching import Library

pytestmark = pytest.mark.both_databases

APPS = ("notes", "email")
_WORDS = ("paint", "yacht", "dog", "blue", "total_price", "parseJson", "Ann", "2023", "the", "é", "我们")
_SAID = st.lists(st.sampled_from(_WORDS), min_size=1, max_size=5).map(" ".join)
_IDS = ("c0", "c1", "c2", "unknown")
_FILTERS = st.builds(
    MessageFilters,
    roles=st.frozensets(st.sampled_from(("user", "assistant")), max_size=2),
    names=st.frozensets(st.sampled_from(("Ann", "Ben")), max_size=1),
    conversation_ids=st.frozensets(st.sampled_from(_IDS), max_size=2),
    kinds=st.frozensets(st.sampled_from(HitKind), max_size=2),
)


@given(
    told=st.lists(st.tuples(st.sampled_from(APPS), st.sampled_from(_IDS[:3]), _SAID), min_size=1, max_size=12),
    text=_SAID,
    filters=_FILTERS,
    conversation_id=st.none() | st.sampled_from(_IDS),
    user_id=st.none() | st.sampled_from(("ann", "ben")),
)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_search_of_an_app_brings_a_message_of_another(
    house: House,
    told: list[tuple[str, str, str]],
    text: str,
    filters: MessageFilters,
    conversation_id: str | None,
    user_id: str | None,
) -> None:
    library = Library(house, pets=("dog",), boats=("yacht",))
    apps = [_fresh(house, name) for name in APPS]
    for name, conversation, said in told:
        library.tell(conversation, f"{name}: {said}", app_id=apps[APPS.index(name)])
    house.embed()
    for name, app_id in zip(APPS, apps, strict=True):
        wanted = SearchRequest(text, 20, conversation_id, user_id=user_id, filters=filters)
        try:
            hits = library.finder.find(app_id, wanted).hits
        except NotFound:
            assert conversation_id not in {one[1] for one in told if one[0] == name}
            continue
        except Conflict:
            assert conversation_id is not None and user_id is not None, "these conversations name nobody"
            continue
        assert all(hit.content.startswith(f"{name}: ") for hit in hits)


def _fresh(house: House, name: str) -> str:
    """Install an app of its own for each example; what former ones said stays beside it."""
    app_id = f"{name}-{house.clock.advance(1).timestamp():.0f}"
    house.install(app_id)
    return app_id


def test_whatever_places_an_index_names_only_messages_of_the_app_are_read(house: House) -> None:
    library = Library(house)
    house.install("email")
    said = NewMessage(Role.USER, "Before.\n\n```\ncode()\n```\n\nAfter.", "m-0", name="Ann")
    library.tell("c0", said, app_id="email")
    with house.database.read() as session:
        key = get_conversation(session, "email", "c0").key
        doc_id = doc_id_of(key, 0)
        assert doc_id is not None
        assert (
            list(messages_at(session, "email", [doc_id])) == list(passages_at(session, "email", [doc_id])) == [doc_id]
        )
        assert names_at(session, "email", [doc_id]) == {"Ann"}
        assert messages_at(session, "notes", [doc_id]) == passages_at(session, "notes", [doc_id]) == {}
        assert names_at(session, "notes", [doc_id]) == set()
        assert list(keys_of(session, "email", ["c0"])) == [key]
        assert list(keys_of(session, "notes", ["c0"])) == []
