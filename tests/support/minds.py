"""Thinking inside the test process: a real database, a frozen clock, and a model that does what a script says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

from sqlalchemy import update
from sqlalchemy.orm import Session

from loop.regulator import Regulator
from loop.thinking.situation import Chooser, Focus
from loop.thinking.thinker import Thinker
from shared.apps.models import AnsweredBy, App
from shared.apps.queries import answered_by_loop
from shared.base.audit import Cause
from shared.base.subjects import Subject
from shared.context.sources import RecallSources
from shared.conversations import lifecycle, queries
from shared.conversations.answers import ASSISTANT, hide_all, show_all
from shared.conversations.lifecycle import NewConversation, NewMessage, Role
from shared.conversations.models import Answer, Conversation
from shared.db.base import Transactions
from shared.energy.accounting import Accountant
from shared.energy.budget import to_micro
from shared.energy.models import EnergyLevel
from shared.events.models import Event
from shared.llm.chat import ToolCall
from shared.memories.writing import NewMemory, insert_memory
from shared.telemetry.metrics import TurnOutcome
from tests.support.house import PRICES, House
from tests.support.scripted_chat import ScriptedToolChat, ToolStep
from tests.support.settings import default_settings

LARGE, SMALL = "ollama:large", "ollama:small"
WINDOW = 8192
MOST_CHARACTERS = 1000
_numbers = iter(range(1_000_000))


def call(name: str, **arguments: Any) -> ToolCall:
    return ToolCall(f"call-{next(_numbers)}", name, arguments)


def respond(text: str, **more: Any) -> ToolCall:
    return call("respond", text=text, **more)


@dataclass
class Thinking:
    house: House
    chat: ScriptedToolChat = field(default_factory=ScriptedToolChat)
    rounds: int = 5
    timeout_seconds: float = 5.0
    small: str | None = SMALL
    size: Literal["small", "large"] = "large"
    review_minutes: float = 30.0
    transactions: Transactions | None = None
    make_chat: Callable[[str], Any] | None = None
    made: list[str] = field(default_factory=list)
    reach: RecallSources | None = None

    def __post_init__(self) -> None:
        house, database = self.house, self.transactions or self.house.database
        self.regulator = Regulator(database, house.clock, default_settings())
        accountant = Accountant(house.database, house.clock, PRICES, house.metrics, 60.0)
        settings = default_settings(
            model=LARGE,
            small_model=self.small,
            model_size=self.size,
            model_context_tokens=WINDOW,
            thinking_rounds=self.rounds,
            model_timeout_seconds=self.timeout_seconds,
            review_minutes=self.review_minutes,
            max_message_chars=MOST_CHARACTERS,
            context_token_budget=1000,
            facts=False,
            summary_frequency=0,
        )
        level = self.regulator.level
        reach = self.reach or RecallSources(house.database, None, house.clock, house.metrics)
        self.thinker = Thinker(database, house.clock, settings, self._make, accountant, level, house.metrics, reach)
        self.chooser = Chooser(database, house.clock, settings, level, self._seconds)

    def _make(self, model: str) -> Any:
        self.made.append(model)
        return self.chat if self.make_chat is None else self.make_chat(model)

    def _seconds(self) -> float:
        return self.house.clock.now().timestamp()

    def will(self, *steps: ToolStep | Callable[[Any], ToolStep]) -> None:
        self.chat.steps.extend(steps)

    def said(
        self,
        conversation_id: str,
        *texts: str,
        app_id: str = "notes",
        role: Role = Role.USER,
        user_id: str | None = None,
    ) -> None:
        """Say something in a conversation, which is opened if need be; then two seconds pass."""
        now = self.house.clock.now()
        with self.house.database.write() as session:
            if queries.find_conversation(session, app_id, conversation_id) is None:
                lifecycle.start(session, app_id, NewConversation(conversation_id, user_id), now)
            conversation = queries.lock_conversation(session, app_id, conversation_id)
            messages = [NewMessage(role, text) for text in texts]
            by_loop = app_id in answered_by_loop(session, [app_id])
            lifecycle.append_messages(session, conversation, messages, now, by_loop=by_loop)
        self.house.clock.advance(2)

    def remember(self, app_id: str, content: str) -> None:
        with self.house.database.write() as session:
            cause = Cause("admin", "by hand", self.house.clock.now())
            insert_memory(session, Subject(app_id), NewMemory(content=content, agent="admin", epoch=0), cause, 10)

    def choose(self) -> Focus | None:
        return self.chooser.choose(self.thinker.next_selected)

    def think(self) -> TurnOutcome | None:
        """Choose a focus and hold the turn; None when there is nothing to think about."""
        focus = self.choose()
        return None if focus is None else self.thinker.think(focus)

    def set_level(self, units: float) -> None:
        self.regulator.settle()
        with self.house.database.write() as session:
            level = session.get(EnergyLevel, 1)
            if level is None:
                session.add(EnergyLevel(only_row=1, micro=to_micro(units), drawn_micro=0, at=self.house.clock.now()))
            else:
                level.micro, level.at = to_micro(units), self.house.clock.now()

    def change_app(self, app_id: str = "notes", **fields: Any) -> None:
        with self.house.database.write() as session:
            session.execute(update(App).where(App.app_id == app_id).values(**fields))
            shown = session.get_one(App, app_id).answered_by == AnsweredBy.LOOP
            (show_all if shown else hide_all)(session, app_id)

    def conversation(self, conversation_id: str, app_id: str = "notes") -> Conversation:
        with self.house.database.read() as session:
            return queries.get_conversation(session, app_id, conversation_id)

    def change(self, conversation_id: str, work: Callable[[Session, Conversation], object]) -> None:
        with self.house.database.write() as session:
            work(session, queries.lock_conversation(session, "notes", conversation_id))

    def messages(self, conversation_id: str, app_id: str = "notes") -> list[tuple[str, str]]:
        with self.house.database.read() as session:
            key = queries.get_conversation(session, app_id, conversation_id).key
            return [(one.role, one.content) for one in queries.messages_of(session, key)]

    def answers(self, conversation_id: str) -> list[str]:
        return [content for role, content in self.messages(conversation_id) if role == ASSISTANT]

    def drafts(self) -> list[Answer]:
        """Return every answer of the app, oldest first."""
        with self.house.database.read() as session:
            return list(reversed(queries.list_answers(session, "notes", None, 100)))

    def events(self) -> list[str]:
        with self.house.database.read() as session:
            return [event.kind for event in session.query(Event).order_by(Event.row)]

    @property
    def prompt(self) -> str:
        return "\n".join(line.text for line in self.chat.exchanges[-1].lines[:2])

    def counted(self, name: str, **labels: str) -> float:
        return self.house.counted(name, **labels) or 0.0


__all__ = ["LARGE", "SMALL", "WINDOW", "Thinking", "call", "respond"]
