"""Facts of a small installation: learned as the pipeline would, by hand, deleted, cleared, and read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from sqlalchemy.orm import Session

from shared.apps.models import Erasure
from shared.apps.queries import lock_app
from shared.base.audit import Cause
from shared.base.choices import Category, FactState
from shared.base.subjects import subject_of
from shared.conversations.lifecycle import NewConversation, NewMessage, Role, append_messages, start
from shared.conversations.queries import lock_conversation
from shared.erasure.erasing import clear_facts, erase_conversation, settle_clear
from shared.facts import editing, queries
from shared.facts.mentions import FactLearning, FoundStatement, StatementOrigin, learn
from shared.facts.models import Fact, FactChange
from tests.support.house import House

AGENT = "ollama:scripted"
SAME = 0.8


class Notebook:
    """Learns facts into an app as the pipeline would, and reads them."""

    def __init__(self, house: House, app_id: str = "notes") -> None:
        self.house = house
        self.app_id = app_id
        self._keys: dict[str, int] = {}

    def key(self, conversation_id: str, user_id: str | None = None) -> int:
        if conversation_id not in self._keys:
            with self.house.database.write() as session:
                new = NewConversation(conversation_id, user_id=user_id)
                self._keys[conversation_id] = start(session, self.app_id, new, self.house.clock.now()).key
        return self._keys[conversation_id]

    def learn(self, conversation_id: str, *found: FoundStatement, user_id: str | None = None) -> FactLearning:
        key = self.key(conversation_id, user_id)
        heard = StatementOrigin(key, conversation_id, user_id or "", self.house.clock.now(), AGENT)
        with self.house.database.write() as session:
            lock_app(session, self.app_id)
            return learn(session, self.app_id, heard, found, self.cause(), SAME)

    @contextmanager
    def locked(self) -> Iterator[Session]:
        with self.house.database.write() as session:
            lock_app(session, self.app_id)
            yield session

    def write(self, statement: str, pinned: bool = False, user_id: str | None = None) -> Fact:
        with self.locked() as session:
            subject = subject_of(self.app_id, user_id)
            return editing.write(session, subject, statement, self.hand(), pinned=pinned)[0]

    def pin(self, fact_id: int) -> None:
        with self.locked() as session:
            editing.pin(session, queries.get_standing(session, self.app_id, fact_id), self.hand())

    def delete(self, fact_id: int, seconds: float = 60) -> None:
        with self.locked() as session:
            editing.delete(session, queries.get_standing(session, self.app_id, fact_id), self.hand(), seconds)

    def undo(self, fact_id: int) -> None:
        with self.locked() as session:
            editing.undo(session, self.app_id, fact_id, self.hand())

    def clear(self, seconds: float = 8, user_id: str | None = None) -> Erasure | None:
        with self.house.database.write() as session:
            return clear_facts(session, self.app_id, self.hand(), seconds, user_id)[1]

    def undo_clear(self, user_id: str | None = None) -> int:
        with self.locked() as session:
            return editing.undo_clear(session, self.app_id, self.hand(), user_id)

    def settle(self, user_id: str | None = None) -> Erasure | None:
        with self.house.database.write() as session:
            return settle_clear(session, self.app_id, self.house.clock.now(), user_id)

    def erase(self, conversation_id: str) -> Erasure:
        self._keys.pop(conversation_id, None)
        with self.house.database.write() as session:
            return erase_conversation(session, self.app_id, conversation_id, "admin", self.house.clock.now())

    def say(self, conversation_id: str, *contents: str) -> None:
        self.key(conversation_id)
        with self.house.database.write() as session:
            conversation = lock_conversation(session, self.app_id, conversation_id)
            first = conversation.message_count
            said = [NewMessage(Role.USER, text, f"m{first + i}") for i, text in enumerate(contents)]
            append_messages(session, conversation, said, self.house.clock.now())

    def hand(self) -> Cause:
        return Cause("admin", "by hand", self.house.clock.now())

    def cause(self) -> Cause:
        return Cause(AGENT, "said in the conversation", self.house.clock.now(), "job_1")

    def facts(self) -> Sequence[Fact]:
        with self.house.database.read() as session:
            return queries.list_facts(session, self.app_id, queries.FactFilter(), 10_000, 0)

    def statements(self) -> list[str]:
        return sorted(fact.statement for fact in self.facts())

    def known(self) -> set[str]:
        return set(self._keys)

    def fact(self, fact_id: int) -> Fact:
        with self.house.database.read() as session:
            return queries.get_fact(session, self.app_id, fact_id)

    def fact_saying(self, words: str) -> Fact:
        return next(fact for fact in self.facts() if words in fact.statement)

    def in_state(self, state: FactState) -> list[str]:
        with self.house.database.read() as session:
            return sorted(fact.statement for fact in queries.facts_in(session, self.app_id, (state,)))

    def history(self, fact_id: int) -> Sequence[FactChange]:
        with self.house.database.read() as session:
            return queries.history_of(session, fact_id)

    def kinds(self, fact_id: int) -> list[str]:
        with self.house.database.read() as session:
            return [change.kind for change in queries.history_of(session, fact_id)]


def found(
    text: str, *message_ids: str, updates: int | None = None, category: Category = Category.IDENTITY
) -> FoundStatement:
    return FoundStatement(text, category, message_ids or ("m1",), updates)
