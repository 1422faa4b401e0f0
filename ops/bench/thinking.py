"""What a model makes of ten situations, with tools and by the bounded form: ``python -m ops.bench.thinking``.

Both ways whatever the model's size, by which a service would take one. Each turn is held in the process, at a fresh
database with a clock that stands still, and a model at its server: ``--engine FILE.gguf`` starts one, ``--model
openai:NAME`` asks where OPENAI_BASE_URL or OLLAMA_HOST says.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

from sqlalchemy import select

from loop.thinking.situation import Focus
from ops.bench.engine import ENGINE_MODEL, PromptWatch, serve_engine, watch_prompts
from ops.bench.figures import say, show
from shared.base.settings import Settings
from shared.conversations.lifecycle import Role
from shared.db.schema import migrate
from shared.energy.budget import to_units
from shared.energy.models import Spending
from shared.llm.calls import Meter, WorkKind
from shared.llm.chat import AnswerT, Question, Reply
from shared.llm.providers import make_tool_chat
from shared.llm.tools import Exchange, NoTools, ToolChat
from shared.llm.transport import is_loopback
from shared.telemetry.logging import configure_logging
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
SITUATIONS = (
    Situation("a question", {"c": ((USER, "What is the capital of Peru?"),)}, _ANSWERED, says="Lima"),
    Situation(
        "a question about what was said before",
        {"c": ((USER, "My room is number 14."), (ASSISTANT, "Noted."), (USER, "Which room did I say is mine?"))},
        _ANSWERED,
        says="14",
    ),
    Situation(
        "a question about what is remembered",
        {"c": ((USER, "What am I allergic to?"),)},
        _ANSWERED,
        says="peanut",
        memory="The user is allergic to peanuts.",
    ),
    Situation("a question in German", {"c": ((USER, "Wie viele Tage hat eine Woche?"),)}, _ANSWERED, says="7|sieben"),
    Situation(
        "a question while energy is low",
        {"c": ((USER, "What colour do blue and yellow make?"),)},
        _ANSWERED | {TurnOutcome.AWAITING},
        says="green",
        energy=15.0,
    ),
    Situation("a farewell", {"c": (*_LUNCH, (USER, "That was all. Goodbye!"))}, _ANSWERED | {TurnOutcome.ENDED}),
    Situation(
        "one of two conversations is over",
        {"c": _BYE, "d": _LUNCH},
        frozenset({TurnOutcome.ENDED}),
        FocusKind.REVIEW,
    ),
    Situation(
        "one of two conversations waits for something promised",
        {"c": _PROMISE, "d": _LUNCH},
        frozenset({TurnOutcome.SELECTED}),
        FocusKind.REVIEW,
    ),
    Situation(
        "nothing to be done",
        {"c": _LUNCH},
        frozenset({TurnOutcome.NOTHING, TurnOutcome.SELECTED, TurnOutcome.SNOOZED}),
        FocusKind.REVIEW,
    ),
    Situation(
        "a wrong answer that was selected",
        {"c": ((USER, "What is 6 times 7?"), (ASSISTANT, "6 times 7 is 41."))},
        _ANSWERED,
        FocusKind.SELECTED,
        says="42",
    ),
)


@dataclass(frozen=True)
class Turn:
    """What became of one situation; ``tokens_read_anew`` is None where no engine tells it."""

    outcome: TurnOutcome | None
    right: bool
    refused: int
    """Tool calls that were not carried out."""
    calls: int
    tokens_read: int
    tokens_read_anew: int | None
    tokens_written: int
    seconds: float
    energy_units: float
    answer: str


class WithoutTools(ToolChat):
    """A chat as a server that takes no tools has it."""

    def __init__(self, chat: ToolChat) -> None:
        self._chat = chat

    @property
    def name(self) -> str:
        return self._chat.name

    def ask(self, question: Question[AnswerT], seconds: float, meter: Meter) -> AnswerT:
        return self._chat.ask(question, seconds, meter)

    def reply(self, exchange: Exchange, seconds: float, meter: Meter) -> Reply:
        raise NoTools("The bench offers none.")

    def close(self) -> None:
        self._chat.close()


WAYS: dict[str, Callable[[ToolChat], ToolChat]] = {"with tools": lambda chat: chat, "by the bounded form": WithoutTools}


def measure(folder: Path, chat: ToolChat, prompts: PromptWatch | None = None) -> dict[str, Any]:
    """Return of each way what it did and took, in all and situation by situation."""
    found = {}
    for number, (way, seen) in enumerate(WAYS.items()):
        say(way)
        turns = {}
        for at, situation in enumerate(SITUATIONS):
            turns[situation.name] = hold(f"sqlite:///{folder / f'{number}-{at}.db'}", situation, seen(chat), prompts)
        found[way] = {"in all": figures(turns.values()), "each": {name: asdict(one) for name, one in turns.items()}}
    return found


def hold(url: str, situation: Situation, chat: ToolChat, prompts: PromptWatch | None) -> Turn:
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
        anew = 0 if prompts is None else prompts.read_anew
        begun = perf_counter()
        about = None if situation.kind is FocusKind.REVIEW else situation.about
        outcome = thinking.thinker.think(Focus(situation.kind, _APP, about))
        seconds = perf_counter() - begun
        with house.database.read() as session:
            rows = [row for row in session.scalars(select(Spending)) if row.kind == WorkKind.THINK]
        answers = thinking.answers(situation.about)
        had = sum(role is ASSISTANT for role, _ in situation.conversations[situation.about])
        after = None if prompts is None else prompts.read_anew
        return Turn(
            outcome=outcome,
            right=_is_right(situation, thinking, outcome, " ".join(answers[had:])),
            refused=round(_refused(house)),
            calls=len(rows),
            tokens_read=sum(row.prompt_tokens for row in rows),
            tokens_read_anew=None if after is None else after - (anew or 0),
            tokens_written=sum(row.completion_tokens for row in rows),
            seconds=round(seconds, 1),
            energy_units=round(to_units(sum(row.micro for row in rows)), 2),
            answer=" ".join(answers[had:]),
        )
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


def _refused(house: House) -> float:
    """Return how many tool calls were not carried out."""
    samples = (sample for family in house.registry.collect() for sample in family.samples)
    counted = (one for one in samples if one.name == "afterthought_tool_calls_total")
    return sum(one.value for one in counted if one.labels["outcome"] not in ("carried_out", "in_prose"))


def figures(turns: Iterable[Turn]) -> dict[str, Any]:
    """Return what the turns came to, and the sums of what they took."""
    every = list(turns)
    anew = [one.tokens_read_anew for one in every]
    return {
        "right": {"kept": sum(one.right for one in every), "of": len(every)},
        "outcomes": dict(Counter(str(one.outcome) for one in every)),
        "answered": sum(one.outcome is TurnOutcome.ANSWERED for one in every),
        "refused": sum(one.refused for one in every),
        "calls": sum(one.calls for one in every),
        "most calls of a turn": max(one.calls for one in every),
        "tokens_read": sum(one.tokens_read for one in every),
        "tokens_read_anew": None if None in anew else sum(one or 0 for one in anew),
        "tokens_written": sum(one.tokens_written for one in every),
        "seconds": round(sum(one.seconds for one in every), 1),
        "energy_units": round(sum(one.energy_units for one in every), 2),
    }


def main(arguments: list[str]) -> int:
    """Measure and print."""
    options = _options(arguments)
    configure_logging("error", "console", "bench")
    settings = Settings()
    with ExitStack() as stack:
        address = settings.openai_base_url
        if options.engine is not None:
            address = stack.enter_context(serve_engine(options.engine, options.engine_python, WINDOW))
        prompts = None
        # No provider's own address is changed: how it is asked goes by that.
        if options.model.startswith("openai:") and address is not None and is_loopback(address):
            prompts, address = stack.enter_context(watch_prompts(address))
        chosen = {"openai_base_url": address, "model_context_tokens": WINDOW}
        chat = stack.enter_context(closing(make_tool_chat(options.model, settings.model_copy(update=chosen))))
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="bench-"))
        show(measure(Path(folder), chat, prompts))
    return 0


def _options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default=ENGINE_MODEL, help="a model that answers, as AFTERTHOUGHT_MODEL names it")
    parser.add_argument("--engine", type=Path, help="a GGUF file to start xllamacpp with; it is asked as openai:engine")
    parser.add_argument("--engine-python", default=sys.executable, help="the interpreter that has xllamacpp")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
