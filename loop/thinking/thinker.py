"""Thinks about one focus at a time, in a thread of its own, so that no tick waits for a model.

Nothing of a turn is kept but what its tools wrote and what its calls cost; a turn that was killed is simply held again.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from sqlalchemy.orm import Session

from loop.thinking.situation import (
    Chooser,
    ConversationView,
    Energy,
    Focus,
    Situation,
    look,
    model_for,
    subjects_to_review,
)
from loop.thinking.tools import BY_NAME, UNKNOWN
from loop.thinking.turn import ThinkingTurn, ToolExecutor, ToolResult
from shared.apps.queries import get_app, lock_app
from shared.base.clock import Clock
from shared.base.errors import AfterthoughtError, LeadershipLost, NotFound, OverBudget
from shared.base.settings import Settings
from shared.context.context import note_recalled
from shared.context.queries import app_recalled_for
from shared.context.render import join_blocks
from shared.context.select import HeadBudgets, HeadSelector, order_for, select_tail
from shared.context.sources import CurrentTurn, RecallSources
from shared.context.window import Utterance, staying
from shared.conversations import queries
from shared.conversations.answers import postpone, refresh_all
from shared.conversations.lifecycle import Role
from shared.conversations.models import AnswerState
from shared.db.base import Transactions
from shared.energy.accounting import Accountant
from shared.energy.ledger import LedgerAccount
from shared.llm.calls import UpperBoundCounting, most_tokens
from shared.llm.chat import ToolCall
from shared.llm.providers import ModelSize
from shared.llm.tools import ToolChat
from shared.telemetry.logging import get_logger
from shared.telemetry.metrics import FocusKind, Metrics, TurnOutcome

_FIRST_WAIT = timedelta(seconds=5)
_LONGEST_WAIT = timedelta(minutes=10)
_MOST_SELECTED = 20
_LETTING_GO_SECONDS = 1.0
MEMORY_SHARE = 4
EARLIER_SHARE = 8
"""Memories and facts take at most this fraction (a quarter) of the window, what else is recalled half as much."""
LEAST_WINDOW_TO_REACH = 8192
"""Tokens; a smaller one is needed for the conversation itself."""
ACTOR = "loop"
"""Asks for a user's profile, in its audit."""


class LetGo(AfterthoughtError):
    """The process ends, so a turn that is still under way may write nothing any more."""

    code = "let_go"


class Thinker:
    """Holds one turn at a time."""

    def __init__(
        self,
        transactions: Transactions,
        clock: Clock,
        settings: Settings,
        make_chat: Callable[[str], ToolChat],
        accountant: Accountant,
        level: Callable[[Session], int],
        metrics: Metrics,
        reach: RecallSources,
        on_free: Callable[[], None] = lambda: None,
    ) -> None:
        """``make_chat`` builds the chat of a model's setting: called in the thinking thread, once for each model.

        ``level`` reads the energy in micro-units; ``on_free`` is called when a turn is over.

        ``reach`` looks up what is recalled.
        """
        self._transactions = _UntilLetGo(transactions)
        self._clock = clock
        self._settings = settings
        self._make_chat = make_chat
        self._accountant = accountant
        self._level = level
        self._metrics = metrics
        self._on_free = on_free
        self._reach = reach
        self._chats: dict[str, ToolChat] = {}
        self._sizes: dict[str, ModelSize] = {}
        self._without_tools: set[str] = set()
        """Models whose server takes no tools for them: they are not offered any again."""
        self._selected: deque[Focus] = deque(maxlen=_MOST_SELECTED)
        self._draining = threading.Event()
        self._busy = threading.Event()
        self._thread: threading.Thread | None = None
        self._log = get_logger()

    @property
    def is_free(self) -> bool:
        return not self._draining.is_set() and not self._busy.is_set()

    def next_selected(self) -> Focus | None:
        return self._selected.popleft() if self._selected else None

    def begin(self, focus: Focus) -> None:
        """Hold a turn about the focus, in a thread of its own."""
        # Before the thread begins: the next tick must not begin another turn.
        self._busy.set()
        # A daemon: a model that does not answer must not keep a process from ending that has let go of it.
        self._thread = threading.Thread(target=self._run, args=(focus,), name="thinking", daemon=True)
        self._thread.start()

    def drain(self, seconds: float) -> bool:
        """Begin nothing more; finish the turn under way within so many seconds or let go of it. False: let go."""
        self._draining.set()
        thread = self._thread
        if thread is not None:
            thread.join(seconds)
        if thread is not None and thread.is_alive():
            self._transactions.let_go(_LETTING_GO_SECONDS)
            self._log.info("turn_let_go")
            return False
        # Only where the thread has ended: it would ask a chat that is closed.
        for chat in self._chats.values():
            chat.close()
        return True

    def _run(self, focus: Focus) -> None:
        try:
            with suppress(LetGo, LeadershipLost):
                self.think(focus)
        # The top of a thread: an error nobody foresaw is logged whole, and the next turn may go well.
        except Exception:  # noqa: BLE001
            self._log.exception("turn_broke", focus=focus.kind, app_id=focus.app_id)
            self._metrics.thinking_turns.labels(focus.kind, TurnOutcome.FAILED).inc()
        finally:
            # Before the tick is woken, which would find a turn still under way.
            self._busy.clear()
            self._on_free()

    def think(self, focus: Focus) -> TurnOutcome | None:
        """Hold a turn about the focus; None when there is nothing left to think about."""
        situation = self._look(focus)
        if situation is None:
            self._reviewed(focus)
            self._refresh_waiting(focus)
            return None
        self._reviewed(focus)
        started = time.monotonic()
        outcome, until = TurnOutcome.FAILED, None
        turn: ThinkingTurn | None = None
        try:
            turn = self._prepare(situation)
            outcome = turn.run(situation, secrets.token_hex(4))
        except OverBudget as error:
            outcome, until = TurnOutcome.OVER_BUDGET, error.until
        # Errors of ours as well, so before them: nobody has to look into these.
        except (LetGo, LeadershipLost):
            raise
        except AfterthoughtError as error:
            self._log.warning("turn_failed", app_id=focus.app_id, code=error.code, error=error.message)
        finally:
            # Also after an error of ours that nobody foresaw: the conversation must not be thought about at once again.
            self._put_off(situation, outcome, until)
            if turn is not None and not turn.has_tools:
                self._without_tools.add(turn.chat.name)
        if outcome is TurnOutcome.STALE:
            self._refresh_waiting(focus)
        for conversation_id in turn.selected if turn is not None else ():
            selected = Focus(FocusKind.SELECTED, focus.app_id, conversation_id)
            if selected not in self._selected:
                self._selected.append(selected)
        self._reviewed(focus)
        self._report(situation, outcome, turn, time.monotonic() - started)
        return outcome

    def _look(self, focus: Focus) -> Situation | None:
        with self._transactions.read() as session:
            energy = Energy(self._level(session), self._settings.energy_refill_per_second)
            if focus.kind is FocusKind.REVIEW and focus.subject is None:
                # Each subject's conversations have a turn of their own; those of the others come next.
                subjects = subjects_to_review(session, focus.app_id, energy)
                focus, *others = [replace(focus, subject=subject) for subject in subjects] or [focus]
                self._selected.extend(one for one in others if one not in self._selected)
            situation = look(session, focus, energy, self._clock.now())
        # Recalled after the erasures were counted, so that nothing erased since then can be in what may be answered.
        return None if situation is None else replace(situation, recalled=self._recall(situation))

    def _recall(self, situation: Situation) -> str:
        """Return what is recalled of the app and the user; a source that fails is left out."""
        window = self._settings.model_context_tokens
        tokens = min(self._settings.context_token_budget, window // MEMORY_SHARE)
        app_id, reach = situation.focus.app_id, self._reach
        missing, scale = list[str](), UpperBoundCounting()
        focused = None if window < LEAST_WINDOW_TO_REACH else situation.focused
        with self._transactions.read() as session:
            material = reach.material(session, app_id, situation.app_name, situation.recalled_for, missing)
            tuned = reach.tuned_budget(app_recalled_for(session, app_id).overrides)
            has_answered = (
                focused is not None
                and not focused.is_alone
                and reach.has_answered(session, app_id, focused.user_id, missing)
            )
        material = replace(material, facts=order_for(material.facts, situation.said_now))
        if focused is not None and has_answered:
            material = replace(material, profile=reach.profile(app_id, focused.user_id, ACTOR, missing))
        head = HeadSelector(material, scale).head(HeadBudgets(tokens, tokens // 2, tokens))
        note_recalled(self._metrics, app_id, situation.focus.conversation_id, head.memory_ids)
        if focused is None:
            return head.text
        others, search = reach.tail(_current_turn(situation, focused, window), missing)
        tail = select_tail(head.text, others, min(tuned, window // EARLIER_SHARE), scale)
        reach.record(search, tail, head)
        return join_blocks([head.text, tail.text])

    def _prepare(self, situation: Situation) -> ThinkingTurn:
        settings = self._settings
        assert settings.model is not None, "the loop thinks with a model only"
        model = model_for(situation.energy.micro, settings.model, settings.small_model)
        if model not in self._chats:
            self._chats[model], self._sizes[model] = self._make_chat(model), ModelSize(model, settings)
        chat = self._chats[model]
        tool_executor = ToolExecutor(self._transactions, self._clock, situation, chat.name, settings)
        focused = situation.focused
        account = LedgerAccount(situation.focus.app_id, None, None if focused is None else focused.key)
        meter = self._accountant.meter(account)
        has_tools, is_small = chat.name not in self._without_tools, self._sizes[model].is_small()
        return ThinkingTurn(
            chat, tool_executor, meter, settings, self._has_energy, self._on_result, has_tools, is_small
        )

    def _has_energy(self) -> bool:
        with self._transactions.read() as session:
            return self._level(session) > 0

    def _put_off(self, situation: Situation, outcome: TurnOutcome, until: datetime | None) -> None:
        """Leave a conversation alone for a while when a turn about its unanswered message brought nothing."""
        fruitless = (TurnOutcome.NOTHING, TurnOutcome.FAILED, TurnOutcome.OVER_BUDGET)
        seen = situation.focused
        if seen is None or situation.focus.kind is not FocusKind.UNANSWERED or outcome not in fruitless:
            return
        now = self._clock.now()
        # The exponent is bounded, as a timedelta has an end.
        until = until or now + min(_LONGEST_WAIT, _FIRST_WAIT * 2 ** min(seen.attempts, 20))
        with self._transactions.write() as session, suppress(NotFound):
            app = lock_app(session, situation.focus.app_id)
            if outcome is TurnOutcome.OVER_BUDGET and app.updated_at > situation.now:
                until = now  # Its budget may be another one by now.
            conversation = queries.lock_conversation(session, situation.focus.app_id, seen.conversation_id)
            # Who said something meanwhile waits for an answer to that.
            if conversation.ended_at is None and conversation.message_count == seen.message_count:
                postpone(conversation, until, failed=True)

    def _refresh_waiting(self, focus: Focus) -> None:
        """Put right since when a conversation waits, in case it was said while its app was being changed."""
        if focus.conversation_id is None:
            return
        with self._transactions.write() as session, suppress(NotFound):
            conversation = queries.lock_conversation(session, focus.app_id, focus.conversation_id)
            refresh_all(session, [conversation], self._clock.now())

    def _reviewed(self, focus: Focus) -> None:
        """Note when an app was reviewed; once more afterwards, so that what the loop did itself is nothing new."""
        if focus.kind is FocusKind.UNANSWERED:
            return
        with self._transactions.write() as session:
            get_app(session, focus.app_id).reviewed_at = self._clock.now()

    def _on_result(self, call: ToolCall, result: ToolResult) -> None:
        self._metrics.tool_calls.labels(call.name if call.name in BY_NAME else UNKNOWN, result.outcome).inc()
        if result.result is TurnOutcome.ANSWERED:
            self._metrics.answers.labels(AnswerState.SENT).inc()
        elif result.result is TurnOutcome.DRAFTED:
            self._metrics.answers.labels(AnswerState.PENDING).inc()
        if result.answered_after is not None:
            self._metrics.answer_delay.observe(result.answered_after.total_seconds())

    def _report(self, situation: Situation, outcome: TurnOutcome, turn: ThinkingTurn | None, seconds: float) -> None:
        focus = situation.focus
        self._metrics.thinking_turns.labels(focus.kind, outcome).inc()
        self._log.info(
            "turn_ended",
            focus=focus.kind,
            app_id=focus.app_id,
            conversation_id=focus.conversation_id,
            outcome=outcome,
            model_calls=turn.calls if turn is not None else 0,
            seconds=round(seconds, 3),
        )


def _current_turn(situation: Situation, focused: ConversationView, window: int) -> CurrentTurn:
    """Return what is said in the conversation in focus, and what of it is shown anyway."""
    is_whole = sum(most_tokens(one.content) for one in focused.messages) <= window // MEMORY_SHARE
    is_whole = is_whole and focused.message_count <= len(focused.messages)
    messages = [Utterance(one.role, one.content, payload=one.payload) for one in focused.messages]
    return CurrentTurn(
        app_id=situation.focus.app_id,
        user_id=focused.user_id,
        conversation_id=focused.conversation_id,
        conversation_key=focused.key,
        text=next((one.content for one in reversed(messages) if one.role == Role.USER), None),
        shown=frozenset(messages[i].content.strip() for i in staying(messages, focused.message_count)),
        is_whole=is_whole,
    )


@dataclass
class ChooseAndThink:
    """The tick step that begins turns; it never waits for one. Without a focus no model is called."""

    chooser: Chooser
    thinker: Thinker
    name = "think"
    every_seconds = 0.0

    def run(self) -> bool:
        """Begin a turn about the next focus, if there is one and none is under way."""
        if self.thinker.is_free:
            focus = self.chooser.choose(self.thinker.next_selected)
            if focus is not None:
                self.thinker.begin(focus)
        return False


class _UntilLetGo(Transactions):
    """Transactions that write nothing once the process has let go of the turn they belong to."""

    def __init__(self, inner: Transactions) -> None:
        self._inner = inner
        self._writing = threading.Lock()
        self._gone = False

    def read(self) -> AbstractContextManager[Session]:
        return self._inner.read()

    @contextmanager
    def write(self) -> Iterator[Session]:
        # One at a time, so that whoever lets go can wait for the one under way.
        with self._writing:
            if self._gone:
                raise LetGo("The loop ends; what was thought is dropped and will be thought again.")
            with self._inner.write() as session:
                yield session

    def scrub(self, patience_seconds: float = 0.0, /) -> None:
        self._inner.scrub(patience_seconds)

    def let_go(self, patience_seconds: float) -> None:
        """Refuse every later write; wait so long for the present one."""
        taken = self._writing.acquire(timeout=patience_seconds)
        # Also where a write hangs for longer: it is the last one then.
        self._gone = True
        if taken:
            self._writing.release()
