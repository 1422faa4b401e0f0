"""The built-in agent on recorded sessions: no model, no network, the same answer every time.

It keeps the pieces that tell most for their length, as they were said. It learns what people laid down outright: how
they want things done, what was decided, how the project is; not questions, guesses, and what only concerns the moment.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from shared.llm.calls import EXTRACTIVE, Meter, Prospect, WorkKind, metered
from shared.llm.tokens import LAST_RESORT, estimate_tokens
from shared.sessions.blocks import fill_budget
from shared.sessions.compress.assembly import Chunk, CondensedChunk
from shared.sessions.compress.plan import BlockPiece
from shared.sessions.models import SemanticKind
from shared.sessions.semantic import SemanticProposal, SessionPrompt
from shared.sessions.text import names_in
from shared.text.lines import clean
from worker.agent.clauses import PhraseTable, clauses
from worker.agent.protocol import CompressionAgent, LearningAgent, SessionFindings

_CHUNK_TOKENS = 40_000
_JOINING = 6
"""Characters a piece takes beside its text, about."""


class ExtractiveCompressionAgent(CompressionAgent):
    """Condenses by leaving out."""

    @property
    def name(self) -> str:
        return EXTRACTIVE

    @property
    def chunk_tokens(self) -> int:
        return _CHUNK_TOKENS

    def condense(self, chunk: Chunk, meter: Meter) -> CondensedChunk:
        prompt = sum(estimate_tokens(piece.text) for piece in chunk.pieces)
        kept = metered(
            meter,
            Prospect(WorkKind.COMPRESS, EXTRACTIVE, prompt, LAST_RESORT.tokens_in(chunk.budget)),
            lambda: {
                piece.number
                for piece in fill_budget(_best_first(chunk), lambda piece: len(piece.text) + _JOINING, chunk.budget)
                if piece.number is not None
            },
            lambda kept: sum(estimate_tokens(piece.text) for piece in chunk.pieces if piece.number in kept),
        )
        return CondensedChunk(tuple(sorted(kept)))


def _best_first(chunk: Chunk) -> Iterator[BlockPiece]:
    """Yield the pieces that can be kept by worth, in two rounds: first those that name something new."""
    known, second = set[str](), list[BlockPiece]()
    own = (piece for piece in chunk.pieces if piece.number is not None)
    for piece in sorted(own, key=lambda piece: (-piece.worth, piece.number or 0)):
        names = names_in(piece.text).keys()
        if names and names <= known:
            second.append(piece)
        else:
            known |= names
            yield piece
    yield from second


_LONGEST = 200
_FEWEST_WORDS = 3
_WISHED = PhraseTable(
    {
        "Please always run the linter": r"always|never|do not|don['’]t|avoid|prefer|stick to",
        "Only commit what passes": r"only (?:use|run|write|commit)",
        "Make sure to write a test": r"make sure (?:to|that|you)|be sure to|remember to|from now on",
        "In this repo names must be plain": r"in this (?:project|repo)\b.*\b(?:always|never|must)",
        "I prefer small commits": r"(?:i|we) (?:always |never |really )?(?:prefer|want|like|expect|don['’]t want|hate"
        r"|dislike)\b(?! to (?:make sure|be sure|know|see|understand|check)\b)",
        "You must keep the order": r"you (?:must|should always|should never|may not)",
        "Use ruff instead of black": r"use (?:only )?[\w`.@/-]+(?: [\w`.@/-]+)?,? (?:not|instead of|rather than"
        r"|and not)\b",
    },
    opening=r"^(?:please |and |also |but )*",
    closing="",
)
_DECIDED = PhraseTable(
    {
        "We've decided on SQLite": r"(?:we|i)(?:['’]ve| have)? (?:decided|agreed|settled|chose|went)\b",
        "Let's go with SQLite": r"let['’]s (?:use|go with|switch to|keep|drop)",
        "We'll switch to SQLite": r"(?:we|i)(?:['’]ll| will|['’]re going to) (?:use|go with|switch to|keep|move to"
        r"|drop)",
        "We moved from Redis": r"(?:we|i) (?:switched|moved|migrated) (?:from|to)\b",
        "The decision is SQLite": r"(?:the )?decision is",
    },
    closing="",
)
_IS_SO = PhraseTable(
    {
        "Our api needs a token": r"(?:the|this|our) (?:project|repo(?:sitory)?|app(?:lication)?|service|code ?base"
        r"|api|database|db|front ?end|back ?end|server|client|tests?|build|ci|docs|package|library|tool|cli)\b"
        r"[\w\s`'’-]{0,40}?\b(?:is|are|uses?|has|have|runs?|lives?|needs?|depends? on|requires?|follows?|supports?"
        r"|must)\b",
        "We deploy with Docker": r"we (?:use|run|deploy|test|store|keep|ship)\b",
    },
    closing="",
)
_PASSING = PhraseTable(
    {
        "It does not build now": r"now|right now|currently|today|yesterday|tomorrow|this time|for now|again",
        "The build fails": r"broken|fails?|failing|failed|crash\w*|error|wrong|missing|slow|stuck|weird|strange",
        "Maybe it is the cache": r"seems?|looks?|maybe|perhaps|probably|might|could|would|i think|i guess|not sure",
        "Can you look at it": r"if you (?:can|want|like)|why|what|how|can you|could you",
    }
)
_STARTS_WITH_JOINER = re.compile(r"^(?:and|also|but|so|then|because|which)\s+", re.IGNORECASE)


class ExtractiveLearningAgent(LearningAgent):
    """Learns with the words that were said."""

    @property
    def name(self) -> str:
        return EXTRACTIVE

    def learn(self, prompts: Sequence[SessionPrompt], meter: Meter) -> SessionFindings:
        read = sum(estimate_tokens(prompt.text) for prompt in prompts)
        proposals = metered(
            meter,
            Prospect(WorkKind.LEARN, EXTRACTIVE, read, read),
            lambda: tuple(found for prompt in prompts for found in _found(prompt)),
            lambda proposals: sum(estimate_tokens(one.content) for one in proposals),
        )
        return SessionFindings(proposals, len(prompts))


def _found(prompt: SessionPrompt) -> Iterator[SemanticProposal]:
    for clause in clauses(prompt.text):
        text = clean(_STARTS_WITH_JOINER.sub("", clause.text)).rstrip(".!")
        kind = None if clause.asks else _kind(text)
        if kind is not None:
            yield SemanticProposal(kind, text[:1].upper() + text[1:], prompt.uuid, clause.text)


def _kind(text: str) -> SemanticKind | None:
    if not len(text.split()) >= _FEWEST_WORDS or len(text) > _LONGEST:
        return None
    if _WISHED.is_in(text):
        return SemanticKind.PREFERENCE
    if _PASSING.is_in(text):
        return None
    if _DECIDED.is_in(text):
        return SemanticKind.DECISION
    return SemanticKind.FACT if _IS_SO.is_in(text) else None
