"""One turn: a model is shown a situation and uses tools until one of them ends the turn, or its rounds are used up."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from loop.thinking.hands import Deed, Hands
from loop.thinking.tools import TOOLS
from shared.llm.calls import Meter
from shared.llm.chat import Reply, ToolCall, Unusable
from shared.llm.tools import Exchange, ExchangeLine, Speaker, ToolChat, call_in_prose
from shared.settings import Settings
from shared.telemetry.metrics import ToolOutcome, TurnOutcome

_USE_TOOLS = "What you write outside of a tool reaches nobody; nothing was sent. Use a tool now, for example respond."


@dataclass
class Turn:
    """A turn under way; ``may_go_on`` is asked before each call of the model but the first."""

    chat: ToolChat
    hands: Hands
    meter: Meter
    settings: Settings
    may_go_on: Callable[[], bool]
    told: Callable[[ToolCall, Deed], None]
    """Is told of every tool call."""
    calls: int = 0
    result: TurnOutcome = TurnOutcome.NOTHING
    selected: list[str] = field(default_factory=list)
    _asked_for_tools: bool = False

    def run(self, exchange: Exchange) -> TurnOutcome:
        """Carry out the turn. Raises: what the chat and the hands raise, except ``Unusable``."""
        for number in range(self.settings.thinking_rounds):
            if number and not (self.may_go_on() and self._fits(exchange)):
                break
            lines = self._round(exchange)
            if not lines:
                break
            exchange = exchange.going_on(*lines)
        return self.result

    def _fits(self, exchange: Exchange) -> bool:
        return exchange.most_tokens + exchange.max_completion_tokens <= self.settings.model_context_tokens

    def _round(self, exchange: Exchange) -> tuple[ExchangeLine, ...]:
        """Ask once and carry out what is asked for; return what was said, or nothing when the turn is over."""
        self.calls += 1
        try:
            reply = self.chat.reply(exchange, self.settings.thinking_timeout_seconds, self.meter)
        except Unusable as unusable:
            return self._ask_for_tools("", f"Your answer cannot be used: {unusable.complaint}. {_USE_TOOLS}")
        if reply.calls:
            return self._carry_out(reply)
        written = call_in_prose(reply.text, TOOLS)
        if written is not None:
            return self._carry_out_written(reply, written)
        return self._ask_for_tools(reply.text, _USE_TOOLS)

    def _carry_out(self, reply: Reply) -> tuple[ExchangeLine, ...]:
        lines, over = [ExchangeLine(Speaker.MODEL, reply.text, reply.calls)], False
        # What stands beside the call that ends the turn is carried out too: answering and ending go together.
        for call in reply.calls:
            deed = self._note(call, self.hands.do(call))
            over = over or deed.over
            lines.append(ExchangeLine(Speaker.TOOL, deed.said, call_id=call.call_id))
        return () if over else tuple(lines)

    def _carry_out_written(self, reply: Reply, call: ToolCall) -> tuple[ExchangeLine, ...]:
        deed = self.hands.do(call)
        if deed.outcome is ToolOutcome.CARRIED_OUT:
            deed = Deed(ToolOutcome.IN_PROSE, deed.said, deed.result, deed.selected, deed.answered_after, deed.over)
        self._note(call, deed)
        return () if deed.over else (ExchangeLine(Speaker.MODEL, reply.text), ExchangeLine(Speaker.USER, deed.said))

    def _note(self, call: ToolCall, deed: Deed) -> Deed:
        self.told(call, deed)
        if deed.selected is not None:
            self.selected.append(deed.selected)
        # The first deed that counts says what the turn came to; one that was dropped says so only when none does.
        if deed.result is not None and self.result in (TurnOutcome.NOTHING, TurnOutcome.STALE):
            self.result = deed.result
        return deed

    def _ask_for_tools(self, written: str, complaint: str) -> tuple[ExchangeLine, ...]:
        """Ask for tools once in a turn; a model that has done something may end so."""
        if self._asked_for_tools or self.result is not TurnOutcome.NOTHING:
            return ()
        self._asked_for_tools = True
        return (ExchangeLine(Speaker.MODEL, written or "(nothing)"), ExchangeLine(Speaker.USER, complaint))
