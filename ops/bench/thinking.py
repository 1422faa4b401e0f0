"""What a model makes of ten situations, with tools and by the bounded form: ``python -m ops.bench.thinking``.

Both ways whatever the model's size, by which a service would take one. Each turn is held in the process, at a fresh
database with a clock that stands still, and a model at its server: ``--engine FILE.gguf`` starts one, ``--model
openai:NAME`` asks where OPENAI_BASE_URL or OLLAMA_HOST says.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

from sqlalchemy import select

from loop.thinking.situation import Focus
from ops.bench.engine import ENGINE_MODEL, EngineFile, EnginePython, ModelCost, PromptWatch, cost_of, open_model
from ops.bench.harness import run, say
from shared.base.settings import Settings
from shared.conversations.lifecycle import Role
from shared.db.schema import migrate
from shared.energy.models import Spending
from shared.llm.calls import Meter, WorkKind
from shared.llm.chat import AnswerT, Question, Reply
from shared.llm.providers import make_tool_chat
from shared.llm.tools import Exchange, NoTools, ToolChat
from shared.telemetry.metrics import FocusKind, TurnOutcome
from tests.support.house import House
from tests.support.minds import WINDOW, Thinking

USER, ASSISTANT = Role.USER, Role.ASSISTANT
_APP = "notes"
_SECONDS = 300.0
Said = tuple[Role, str]


@dataclass(frozen=True)
class Situation:
    """Conversations, what the turn is about, and what would be right."""

    name: str
    conversations: dict[str, tuple[Said, ...]]
    right: frozenset[TurnOutcome]
    kind: FocusKind = FocusKind.UNANSWERED
    about: str = "c"
    """The conversation in focus, or of a review the one that something has to be done with."""
    says: str = ""
    """What an answer has to match, whatever the case."""
    memory: str = ""
    energy: float = 90.0


_ANSWERED = frozenset({TurnOutcome.ANSWERED})
_LUNCH = ((USER, "Where can I have lunch near the station?"), (ASSISTANT, "The Blue Door is two streets away."))
_BYE = (*_LUNCH, (USER, "Great, that was all. Goodbye!"), (ASSISTANT, "Goodbye!"))
_PROMISE = ((USER, "When does the pool open?"), (ASSISTANT, "I do not know yet; I will look it up and tell you."))
_REVIEW = FocusKind.REVIEW
_ENDED, _SELECTED = frozenset({TurnOutcome.ENDED}), frozenset({TurnOutcome.SELECTED})
_ROOM = ((USER, "My room is number 14."), (ASSISTANT, "Noted."), (USER, "Which room did I say is mine?"))
_SUM = ((USER, "What is 6 times 7?"), (ASSISTANT, "6 times 7 is 41."))
SITUATIONS = (
    Situation("a question", {"c": ((USER, "What is the capital of Peru?"),)}, _ANSWERED, says="Lima"),
    Situation("a question about what was said before", {"c": _ROOM}, _ANSWERED, says="14"),
    Situation(
        "a question about what is remembered", {"c": ((USER, "What am I allergic to?"),)}, _ANSWERED,
        says="peanut", memory="The user is allergic to peanuts.",
    ),
    Situation("a question in German", {"c": ((USER, "Wie viele Tage hat eine Woche?"),)}, _ANSWERED, says="7|sieben"),
    Situation(
        "a question while energy is low", {"c": ((USER, "What colour do blue and yellow make?"),)},
        _ANSWERED | {TurnOutcome.AWAITING}, says="green", energy=15.0,
    ),
    Situation("a farewell", {"c": (*_LUNCH, (USER, "That was all. Goodbye!"))}, _ANSWERED | _ENDED),
    Situation("one of two conversations is over", {"c": _BYE, "d": _LUNCH}, _ENDED, _REVIEW),
    Situation(
        "one of two conversations waits for something promised", {"c": _PROMISE, "d": _LUNCH}, _SELECTED, _REVIEW
    ),
    Situation("nothing to be done", {"c": _LUNCH}, _SELECTED | {TurnOutcome.NOTHING, TurnOutcome.SNOOZED}, _REVIEW),
    Situation("a wrong answer that was selected", {"c": _SUM}, _ANSWERED, FocusKind.SELECTED, says="42"),
)  # fmt: skip


@dataclass(frozen=True)
class Turn:
    """What became of one situation."""

    outcome: TurnOutcome | None
    right: bool
    refused: int
    """Tool calls that were not carried out."""
    answer: str
    cost: ModelCost

    @property
    def figures(self) -> dict[str, Any]:
        """All of it as one table."""
        own = {"outcome": self.outcome, "right": self.right, "refused": self.refused, "answer": self.answer}
        return own | asdict(self.cost)


class WithoutTools(ToolChat):
    """A chat as a server that takes no tools has it."""

    def __init__(self, chat: ToolChat) -> None:
        self._chat = chat

    @property
    def name(self) -> str:
        return self._chat.name

    def answer(self, question: Question[AnswerT], seconds: float, meter: Meter) -> AnswerT:
        return self._chat.answer(question, seconds, meter)

    def reply(self, exchange: Exchange, seconds: float, meter: Meter) -> Reply:
        raise NoTools("The bench offers none.")

    def close(self) -> None:
        self._chat.close()


WAYS: dict[str, Callable[[ToolChat], ToolChat]] = {"with tools": lambda chat: chat, "by the bounded form": WithoutTools}


def measure(
    folder: Path,
    model: Annotated[str, "a model that answers, as AFTERTHOUGHT_MODEL names it"] = ENGINE_MODEL,
    engine: EngineFile = None,
    engine_python: EnginePython = sys.executable,
) -> dict[str, Any]:
    """Ask a model where the settings say its server is, or an engine that is started with a file."""
    settings = Settings()
    with open_model(model, settings.openai_base_url, engine, engine_python, WINDOW) as (prompts, address):
        chosen = {"openai_base_url": address, "model_context_tokens": WINDOW}
        with closing(make_tool_chat(model, settings.model_copy(update=chosen))) as chat:
            return think(folder, chat, prompts)


def think(folder: Path, chat: ToolChat, prompts: PromptWatch | None = None) -> dict[str, Any]:
    """Return of each way what it did and took, in all and situation by situation."""
    found = {}
    for number, (way, seen) in enumerate(WAYS.items()):
        say(way)
        turns = {
            one.name: _hold(f"sqlite:///{folder / f'{number}-{at}.db'}", one, seen(chat), prompts)
            for at, one in enumerate(SITUATIONS)
        }
        each = {name: turn.figures for name, turn in turns.items()}
        found[way] = {"in all": _in_all(list(turns.values())), "each": each}
    return found


def _hold(url: str, situation: Situation, chat: ToolChat, prompts: PromptWatch | None) -> Turn:
    """Hold one turn about a situation."""
    migrate(url)
    house = House(url)
    house.install(_APP)
    thinking = Thinking(house, make_chat=lambda _: chat, timeout_seconds=_SECONDS)
    try:
        # The one that matters was spoken in last, as in a review it comes first.
        for conversation_id, messages in reversed(situation.conversations.items()):
            for role, text in messages:
                thinking.said(conversation_id, text, role=role)
        if situation.memory:
            thinking.remember(_APP, situation.memory)
        thinking.set_level(situation.energy)
        begun = perf_counter()
        about = None if situation.kind is FocusKind.REVIEW else situation.about
        outcome = thinking.thinker.think(Focus(situation.kind, _APP, about))
        seconds = perf_counter() - begun
        with house.database.read() as session:
            rows = [row for row in session.scalars(select(Spending)) if row.kind == WorkKind.THINK]
        had = sum(role is ASSISTANT for role, _ in situation.conversations[situation.about])
        answer = " ".join(thinking.answers(situation.about)[had:])
        tools = (one for family in house.registry.collect() for one in family.samples)
        calls = [one for one in tools if one.name == "afterthought_tool_calls_total"]
        refused = sum(one.value for one in calls if one.labels["outcome"] not in ("carried_out", "in_prose"))
        cost = cost_of(rows, rows, seconds, None if prompts is None else prompts.take())
        return Turn(outcome, _is_right(situation, thinking, outcome, answer), round(refused), answer, cost)
    finally:
        house.database.dispose()


def _is_right(situation: Situation, thinking: Thinking, outcome: TurnOutcome | None, answer: str) -> bool:
    if outcome not in situation.right:
        return False
    match outcome:
        case TurnOutcome.ANSWERED:
            return re.search(situation.says, answer, re.IGNORECASE) is not None
        case TurnOutcome.ENDED:
            return thinking.conversation(situation.about).ended_at is not None
        case TurnOutcome.SELECTED:
            focus = thinking.thinker.next_selected()
            return focus is not None and focus.conversation_id == situation.about
    return True


def _in_all(turns: Sequence[Turn]) -> dict[str, Any]:
    """Return what the turns came to, and the sums of what they took."""
    costs = [asdict(one.cost) for one in turns]
    sums = {name: None if None in (of := [one[name] for one in costs]) else round(sum(of), 2) for name in costs[0]}
    return {
        "right": {"kept": sum(one.right for one in turns), "of": len(turns)},
        "outcomes": dict(Counter(str(one.outcome) for one in turns)),
        "answered": sum(one.outcome is TurnOutcome.ANSWERED for one in turns),
        "refused": sum(one.refused for one in turns),
        "most calls of a turn": max(one.cost.calls for one in turns),
        **sums,
    }


if __name__ == "__main__":
    run(measure)
