"""One turn: a model is shown a situation and uses tools until one of them ends the turn, or its rounds are used up.

A small model, and one without tools, is asked once, for an object that names the tool; so is one whose calls were
refused twice, and one that has used its rounds for nothing while somebody waits.

A call is checked against what the model was shown, and carried out in one short transaction. A model thinks for a
long time; what it decides is carried out only when the conversation is still as it was shown.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from sqlalchemy.orm import Session

from loop.thinking import tools
from loop.thinking.prompt import Window, open_exchange, open_question
from loop.thinking.situation import ConversationView, Situation
from shared.apps.models import AnsweredBy, App
from shared.apps.queries import count_erasures, lock_app
from shared.base.clock import Clock
from shared.base.errors import NotFound
from shared.base.settings import Settings
from shared.conversations import answers, lifecycle, queries
from shared.conversations.answers import AnswerDraft, Duplicate, Stale, postpone
from shared.conversations.models import AnswerState, Conversation
from shared.db.base import Transactions
from shared.energy.budget import seconds_until_open
from shared.llm.calls import Meter
from shared.llm.chat import Question, ToolCall, Unusable, answer_with_repair
from shared.llm.tools import Exchange, ExchangeLine, NoTools, Speaker, ToolChat, call_in_prose, tool_name
from shared.search.tuning import tuning_of
from shared.telemetry.metrics import FocusKind, ToolOutcome, TurnOutcome

NEVER_THERE = timedelta(minutes=10)
"""How long a conversation that awaits energy is left alone when energy never comes back by itself."""


@dataclass(frozen=True)
class ToolResult:
    """The outcome of a tool call, the text the model is told, and the outcome of the turn, if the call decides it."""

    outcome: ToolOutcome
    text: str
    result: TurnOutcome | None = None
    selected: str | None = None
    answered_after: timedelta | None = None
    """How long the person had waited."""
    over: bool = False
    """Whether the turn ends with it."""

    @property
    def is_refused(self) -> bool:
        """Whether the call was not carried out."""
        return self.outcome not in (ToolOutcome.CARRIED_OUT, ToolOutcome.IN_PROSE)


MOST_UNUSABLE_ROUNDS = 2
"""A model is told once what was wrong with its round; small ones do the same again however often they are told."""
# Seen of a model of 1.5 billion parameters that was told so.
_OUR_COMPLAINT = re.compile(r"\W*(?:this|your|the) answer cannot be used", re.IGNORECASE)
_USE_TOOLS = "What you write outside of a tool reaches nobody; nothing was sent. Use a tool now, for example respond."


@dataclass
class ThinkingTurn:
    """A turn under way; ``may_go_on`` is asked before each call of the model but the first."""

    chat: ToolChat
    tool_executor: ToolExecutor
    meter: Meter
    settings: Settings
    may_go_on: Callable[[], bool]
    on_tool_call: Callable[[ToolCall, ToolResult], None]
    """Is told of every tool call."""
    has_tools: bool = True
    """Whether the model has tools, as far as is known."""
    is_small: bool = False
    """Small models choose no better with tools and read three times as much. Source: docs/guides/choose-a-model.md."""
    calls: int = 0
    """Calls of the model; the repairs of one count with it."""
    result: TurnOutcome = TurnOutcome.NOTHING
    selected: list[str] = field(default_factory=list)
    _unusable_rounds: int = 0
    _was_refused: bool = False
    """Whether a call of the last round was."""

    def run(self, situation: Situation, mark: str) -> TurnOutcome:
        """Carry out the turn; ``mark`` is one nobody can foresee. Raises: what the chat and the executor raise."""
        window = Window(self.settings.model_context_tokens)
        if self.has_tools and not self.is_small:
            try:
                self._use_tools(open_exchange(situation, window, mark))
            except NoTools:
                self.has_tools = False
        # Where nobody waits, a model that wrote only text or thoughts may have meant that there is nothing to do.
        failed = self._was_refused or situation.focus.kind is FocusKind.UNANSWERED
        if self.is_small or not self.has_tools or (failed and self.result is TurnOutcome.NOTHING and self.may_go_on()):
            self._choose(open_question(situation, window, mark), mark)
        return self.result

    def _choose(self, question: Question[tools.Choice] | None, mark: str) -> None:
        """Have a model choose by an object of a shape, and carry out what it chose. Raises: ModelOutput."""
        if question is None:
            return

        def first(choice: tools.Choice) -> str | None:
            return f"its text is longer than {choice.characters} characters" if choice.is_cut else last(choice)

        def last(choice: tools.Choice) -> str | None:
            try:
                tools.read_arguments(tools.BY_NAME[choice.call.name], choice.call)
            except tools.UnusableArguments as unusable:
                return str(unusable)
            return "it repeats marks of the prompt" if mark in choice.call.arguments.get("text", "") else None

        self.calls += 1
        seconds = self.settings.model_timeout_seconds
        choice = answer_with_repair(self.chat, question, seconds, self.meter, first, last)
        for call, result in self.tool_executor.do([choice.call]):
            self._record(call, result)

    def _use_tools(self, exchange: Exchange | None) -> None:
        if exchange is None:
            return
        for number in range(self.settings.thinking_rounds):
            fits = exchange.most_tokens + exchange.max_completion_tokens <= self.settings.model_context_tokens
            if number and not (self.may_go_on() and fits):
                break
            lines = self._round(exchange)
            if not lines:
                break
            exchange = exchange.going_on(*lines)

    def _round(self, exchange: Exchange) -> tuple[ExchangeLine, ...]:
        """Ask once and carry out what is asked for; return what was said, or nothing when the model is asked no more.

        Only the first unusable round of a turn is told to the model.
        """
        self.calls += 1
        self._was_refused = False
        try:
            reply = self.chat.reply(exchange, self.settings.model_timeout_seconds, self.meter)
        except Unusable as unusable:
            return self._ask_for_tools("", f"Your answer cannot be used: {unusable.complaint}. {_USE_TOOLS}")
        written = None if reply.calls else call_in_prose(reply.text, exchange.tools)
        if not reply.calls and written is None:
            return self._ask_for_tools(reply.text, _USE_TOOLS)
        # What stands beside the call that ends the turn is carried out too: answering and ending go together. Answers
        # come first, wherever they stand: nothing can be said in what has ended.
        calls = sorted(reply.calls, key=lambda call: call.name != tool_name(tools.Respond))
        lines, results = [ExchangeLine(Speaker.MODEL, reply.text, tuple(calls))], list[ToolResult]()
        for call, result in self.tool_executor.do(calls if written is None else [written]):
            if written is not None and not result.is_refused:
                result = replace(result, outcome=ToolOutcome.IN_PROSE)
            results.append(self._record(call, result))
            speaker = Speaker.TOOL if written is None else Speaker.USER
            lines.append(ExchangeLine(speaker, result.text, call_id=call.call_id))
        self._was_refused = any(result.is_refused for result in results)
        self._unusable_rounds += self._was_refused
        is_over = any(result.over for result in results)
        return () if is_over or self._unusable_rounds >= MOST_UNUSABLE_ROUNDS else tuple(lines)

    def _record(self, call: ToolCall, result: ToolResult) -> ToolResult:
        self.on_tool_call(call, result)
        if result.selected is not None:
            self.selected.append(result.selected)
        # The first call that counts says what the turn came to; one that was dropped says so only when none does.
        if result.result is not None and self.result in (TurnOutcome.NOTHING, TurnOutcome.STALE):
            self.result = result.result
        return result

    def _ask_for_tools(self, written: str, complaint: str) -> tuple[ExchangeLine, ...]:
        """Ask for tools, unless that is no use; a model that has done something may end so."""
        if self.result is not TurnOutcome.NOTHING:
            return ()
        self._unusable_rounds += 1
        if self._unusable_rounds >= MOST_UNUSABLE_ROUNDS:
            return ()
        return (ExchangeLine(Speaker.MODEL, written or "(nothing)"), ExchangeLine(Speaker.USER, complaint))


class _Refused(Exception):
    """A call that is not carried out; ``result`` says why."""

    def __init__(self, outcome: ToolOutcome, text: str) -> None:
        super().__init__(text)
        self.result = ToolResult(outcome, f"Error: {text}")


class ToolExecutor:
    """Carries out the calls of one turn."""

    def __init__(
        self, transactions: Transactions, clock: Clock, situation: Situation, model: str, settings: Settings
    ) -> None:
        self._transactions = transactions
        self._clock = clock
        self._situation = situation
        self._model = model
        self._settings = settings
        self._positions = {one.conversation_id: one.position for one in situation.conversations}
        self._answered: set[str] = set()
        self._owes_answer = False
        """Whether an answer was meant and refused."""
        self._usable = {tool_name(tool): tool for tool in tools.usable_tools(situation)}
        self._tools: dict[type[tools.Arguments], Callable[..., ToolResult]] = {
            tools.Respond: self._respond,
            tools.EndConversationCall: self._end,
            tools.SelectConversation: self._select,
            tools.SnoozeConversationCall: self._snooze,
            tools.Think: lambda _: ToolResult(ToolOutcome.CARRIED_OUT, "Go on."),
            tools.AwaitEnergy: self._await,
        }

    def do(self, calls: Sequence[ToolCall]) -> Iterator[tuple[ToolCall, ToolResult]]:
        """Carry out the calls of one reply, or say why not; each when it is asked for.

        Raises: Transient, LeadershipLost.
        """
        # Whoever waits is owed it in the rounds that follow as well; elsewhere another answer may not be wanted.
        self._owes_answer &= self._situation.focus.kind is FocusKind.UNANSWERED
        for call in calls:
            result = self._do(call)
            if call.name == tool_name(tools.Respond):
                is_pointless = result.outcome in (ToolOutcome.DUPLICATE, ToolOutcome.STALE)
                self._owes_answer = result.is_refused and not is_pointless
            yield call, result

    def _do(self, call: ToolCall) -> ToolResult:
        tool = self._usable.get(call.name)
        if tool is None:
            return ToolResult(
                ToolOutcome.UNKNOWN_TOOL, f"Error: there is no such tool; there are {', '.join(self._usable)}."
            )
        try:
            return self._tools[tool](tools.read_arguments(tool, call))
        except tools.UnusableArguments as unusable:
            return ToolResult(ToolOutcome.INVALID, f"Error: {unusable}. Use the tool again, correctly.")
        except _Refused as refused:
            return refused.result
        except Duplicate as error:
            return self._dropped(ToolOutcome.DUPLICATE, error.message)
        except Stale as error:
            return self._dropped(ToolOutcome.STALE, error.message)

    def _dropped(self, outcome: ToolOutcome, text: str) -> ToolResult:
        # In a review others may still be well; what is in focus has to be looked at anew.
        over = self._situation.focused is not None
        return ToolResult(outcome, f"Error: {text}", TurnOutcome.STALE, over=over)

    def _respond(self, call: tools.Respond) -> ToolResult:
        if len(call.text) > self._settings.max_message_chars:
            raise _Refused(ToolOutcome.INVALID, f"text may have at most {self._settings.max_message_chars} characters.")
        if _OUR_COMPLAINT.match(call.text):
            raise _Refused(ToolOutcome.INVALID, "text repeats what you were told, and answers nobody.")
        seen = self._shown(call.conversation_id)
        if seen.conversation_id in self._answered:
            raise Duplicate("You have answered in it already; this one is dropped.")
        now = self._clock.now()
        with self._transactions.write() as session:
            app, conversation = self._unchanged(session, seen, now)
            waited = conversation.unanswered_since
            thought = AnswerDraft(call.text, self._positions[seen.conversation_id], self._model)
            settings, tuning = self._settings, tuning_of(self._settings)
            answer = answers.give(session, conversation, thought, app.approves_answers, now, settings, tuning)
        self._answered.add(seen.conversation_id)
        over = self._is_focused(seen)
        if answer.state == AnswerState.PENDING:
            return ToolResult(ToolOutcome.CARRIED_OUT, "It waits for approval.", TurnOutcome.DRAFTED, over=over)
        # Its own answer is the last message now, by which the model's next calls are checked.
        self._positions[seen.conversation_id] += 1
        waiting = None if waited is None else max(timedelta(0), now - waited)
        return ToolResult(
            ToolOutcome.CARRIED_OUT, "It is sent.", TurnOutcome.ANSWERED, answered_after=waiting, over=over
        )

    def _end(self, call: tools.EndConversationCall) -> ToolResult:
        seen = self._leavable(call.conversation_id)
        now = self._clock.now()
        with self._transactions.write() as session:
            app, conversation = self._unchanged(session, seen, now)
            answers.check_unchanged(session, conversation, self._positions[seen.conversation_id])
            reason = call.reason or "the loop took it for over"
            settings = self._settings
            lifecycle.end(session, conversation, app.purge_epoch, reason, now, settings.job_max_attempts, settings)
        return ToolResult(ToolOutcome.CARRIED_OUT, "It is ended.", TurnOutcome.ENDED, over=self._is_focused(seen))

    def _snooze(self, call: tools.SnoozeConversationCall) -> ToolResult:
        seen = self._leavable(call.conversation_id)
        now = self._clock.now()
        with self._transactions.write() as session:
            _, conversation = self._unchanged(session, seen, now)
            answers.check_unchanged(session, conversation, self._positions[seen.conversation_id])
            lifecycle.snooze(session, conversation, call.minutes, now)
        return ToolResult(ToolOutcome.CARRIED_OUT, "It is snoozed.", TurnOutcome.SNOOZED, over=self._is_focused(seen))

    def _select(self, call: tools.SelectConversation) -> ToolResult:
        selected = self._shown(call.conversation_id).conversation_id
        return ToolResult(ToolOutcome.CARRIED_OUT, "It comes next.", TurnOutcome.SELECTED, selected=selected, over=True)

    def _await(self, call: tools.AwaitEnergy) -> ToolResult:
        focused, energy = self._leavable(None), self._situation.energy
        if call.percentage <= energy.percentage:
            # It would come back at once and be thought about again.
            raise _Refused(ToolOutcome.INVALID, f"there is more than {call.percentage:g} % of energy already.")
        now = self._clock.now()
        with self._transactions.write() as session:
            _, conversation = self._unchanged(session, focused, now)
            answers.check_unchanged(session, conversation, self._positions[focused.conversation_id])
            seconds = seconds_until_open(energy.micro, call.percentage, energy.refill_per_second)
            postpone(conversation, now + (NEVER_THERE if seconds is None else timedelta(seconds=seconds)), failed=False)
        return ToolResult(ToolOutcome.CARRIED_OUT, "Until then.", TurnOutcome.AWAITING, over=True)

    def _shown(self, conversation_id: str | None) -> ConversationView:
        """Return the conversation a call is about, of those the model was shown."""
        focused = self._situation.focused
        if conversation_id is None:
            if focused is None:
                raise _Refused(ToolOutcome.INVALID, "none is in focus; name one by its conversationId.")
            return focused
        seen = self._situation.seen(conversation_id)
        if seen is None:
            # Only for the words of the refusal: what was not shown is refused whatever it is.
            with self._transactions.read() as session:
                found = queries.find_conversation(session, self._situation.focus.app_id, conversation_id)
                if found is None:
                    raise _Refused(
                        ToolOutcome.UNKNOWN_CONVERSATION, "this app has no such conversation; use an id as it is shown."
                    )
                if found.ended_at is not None:
                    raise _Refused(ToolOutcome.ENDED, "it has ended; nothing can be done in it any more.")
                if found.snoozed_until is not None and found.snoozed_until > self._clock.now():
                    raise _Refused(ToolOutcome.INVALID, "it is snoozed and comes back by itself.")
            raise _Refused(ToolOutcome.INVALID, "you were not shown it; nothing can be done in it now.")
        if seen.ended:
            raise _Refused(ToolOutcome.ENDED, "it has ended; nothing can be done in it any more.")
        return seen

    def _leavable(self, conversation_id: str | None) -> ConversationView:
        """Return the conversation a call would leave alone, unless an answer was refused that belongs before it."""
        seen = self._shown(conversation_id)
        if self._owes_answer and seen.conversation_id not in self._answered:
            raise _Refused(ToolOutcome.INVALID, "your answer was refused and nobody has read it; send it first.")
        return seen

    def _unchanged(self, session: Session, seen: ConversationView, now: datetime) -> tuple[App, Conversation]:
        """Return app and conversation, locked, as long as the loop still has a say. Raises: Stale."""
        app_id = self._situation.focus.app_id
        try:
            # The app before the conversation, in the order of all who lock both.
            app = lock_app(session, app_id)
            conversation = queries.lock_conversation(session, app_id, seen.conversation_id)
        except NotFound:
            raise Stale("It was erased meanwhile; this is dropped.") from None
        snoozed = conversation.snoozed_until is not None and conversation.snoozed_until > now
        if app.uninstalled_at is not None or app.answered_by != AnsweredBy.LOOP or snoozed:
            raise Stale("It is not yours to answer any more; this is dropped.")
        if count_erasures(session, app_id) != self._situation.erasures:
            raise Stale("Something you had in mind was erased meanwhile; this is dropped.")
        return app, conversation

    def _is_focused(self, seen: ConversationView) -> bool:
        return self._situation.focused is seen
