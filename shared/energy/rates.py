"""How many tokens a model makes of so many characters, learnt from what its provider counts.

What was sent lately counts most: at most ``HORIZON_CHARS`` are remembered, and the older ones fade in proportion.
Counts that leave out what a server had cached, or that a short prompt's frame makes too high, are not learnt from.
"""

from sqlalchemy.orm import Session

from shared.db.inserting import insert_if_absent
from shared.energy.ledger import token_rate
from shared.energy.models import TokenRate
from shared.llm.calls import CallOutcome, ModelCall, Rate, WorkKind

HORIZON_CHARS = 200_000
"""About fifty prompts."""
BELIEVED_FROM_CHARS = 4_000
"""A rate learnt from fewer characters says more about those few prompts than about the model."""
_SHORTEST_PROMPT = 400
"""In a shorter one what the chat template adds weighs too much."""
# Fewer tokens no text makes: the server left out what it had cached (decision 14).
_MOST_CHARS_PER_TOKEN = 8
_MOST_TOKENS_PER_CHAR = 2
"""Scripts beyond the common plane take up to three, but no prompt of ours is written in them throughout."""


def learn(session: Session, call: ModelCall) -> None:
    """Note the length of a call's prompt, if its figures can be believed."""
    if not is_measured(call):
        return
    insert_if_absent(session, TokenRate, model=call.model, chars=0, tokens=0, calls=0)
    # Locked, because the rate is read and written back.
    known = session.get_one(TokenRate, call.model, with_for_update=True, populate_existing=True)
    known.chars, known.tokens = faded(known.chars, known.tokens, call.chars, call.prompt_tokens)
    known.calls += 1


def rate_of(session: Session, model: str) -> Rate | None:
    """Return a model's rate, named as ``ollama:NAME`` or ``NAME``; None before enough is known of it."""
    known = token_rate(session, model)
    return None if known is None or known.chars < BELIEVED_FROM_CHARS else Rate(known.chars, known.tokens)


def is_measured(call: ModelCall) -> bool:
    """Whether a call says how many tokens its model makes of a text.

    A prompt that may hold tools does not: models write their descriptions into it each in a way of its own.
    """
    may_hold_tools = call.kind in (WorkKind.THINK, WorkKind.CHAT)
    answered = call.outcome is CallOutcome.ANSWERED and not call.estimated and not may_hold_tools
    long_enough = call.chars >= _SHORTEST_PROMPT
    plausible = (
        call.chars
        <= _MOST_CHARS_PER_TOKEN * call.prompt_tokens
        <= (_MOST_CHARS_PER_TOKEN * _MOST_TOKENS_PER_CHAR * call.chars)
    )
    return answered and long_enough and plausible


def faded(chars: int, tokens: int, new_chars: int, new_tokens: int) -> tuple[int, int]:
    """Return what is remembered after a prompt of so many characters and tokens."""
    if new_chars >= HORIZON_CHARS:
        return HORIZON_CHARS, _part(new_tokens, HORIZON_CHARS, new_chars)
    kept = min(chars, HORIZON_CHARS - new_chars)
    return kept + new_chars, _part(tokens, kept, chars) + new_tokens


def _part(of: int, share: int, whole: int) -> int:
    """Return a share of a whole number, rounded to the nearest."""
    return (2 * of * share + whole) // (2 * whole) if whole else 0
