"""The built-in agent on recorded sessions: no model, no network, the same answer every time.

It keeps the pieces that tell most for their length, as they were said. It learns what people laid down for good: wishes
for the future and decisions; what they wish or state in passing only once it was said again.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

from shared.llm.calls import EXTRACTIVE, LAST_RESORT, CallEstimate, Meter, WorkKind, estimate_tokens, metered
from shared.sessions.blocks import fill_budget
from shared.sessions.compress.plan import BlockPiece
from shared.sessions.compress.run import Chunk, CondensedChunk
from shared.sessions.models import SemanticKind
from shared.sessions.semantic.memories import SemanticProposal, SessionPrompt
from shared.sessions.text import names_in
from shared.text.classifier import StatementType, asks, judge
from shared.text.lines import clean
from shared.text.sentences import sentences
from shared.text.words import content_stems
from worker.agent.protocol import CompressionAgent, LearningAgent, SessionFindings

_JOINING = 6
"""Characters a piece takes beside its text, about."""


class ExtractiveCompressionAgent(CompressionAgent):
    """Condenses by leaving out."""

    name = EXTRACTIVE
    chunk_tokens = 40_000

    def condense(self, chunk: Chunk, meter: Meter) -> CondensedChunk:
        estimate = CallEstimate(
            WorkKind.COMPRESS, EXTRACTIVE, _tokens(chunk.pieces), LAST_RESORT.tokens_in(chunk.budget)
        )
        kept = fill_budget(_best_first(chunk), lambda piece: len(piece.text) + _JOINING, chunk.budget)
        # Chosen only now (``kept`` is lazy), so that the time it takes is the work's.
        pieces = metered(meter, estimate, lambda: list(kept), _tokens)
        return CondensedChunk(tuple(sorted(piece.number for piece in pieces if piece.number is not None)))


def _tokens(texts: Iterable[BlockPiece | SessionPrompt]) -> int:
    return sum(estimate_tokens(one.text) for one in texts)


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
_MOST_SENTENCES = 40
"""A prompt of more is taken for a text that was pasted."""
_WRAPPED = re.compile(r"(?<=[\w,;])[ \t]*\n[ \t]*(?=[a-zà-ÿ])")
"""Where a line was broken by hand within a sentence."""
_POINTS = re.compile(
    r"\b(?:it|them|they|those|these|this)\b(?!\s+(?:repo\w*|project|code ?base|app\w*|folder|branch))"
    r"|\b(?:do|like|use|want|change|touch) that\b",
    re.IGNORECASE,
)
"""What points at something said before, which then is told with it."""
_STARTS_WITH_JOINER = re.compile(r"^(?:(?:and|also|but|so|then|because|which|ok(?:ay)?)\b,?\s+)+", re.IGNORECASE)
_CONDITION = re.compile(r"(?:and |but |please )?(?:if|when|whenever|before|after|unless) ", re.IGNORECASE)
_NEXT_TASK = re.compile(r"(?:ok(?:ay)?\W+)?(?:now|next|then|and now)\b[^.!?]*:", re.IGNORECASE)
"""How somebody begins who asks for one thing and says how that is to be."""
_LABELLED = re.compile(r"\W*(?:user|assistant|system|human|ai|claude)\b[^:.!?]{0,20}:", re.IGNORECASE)
_DISOWNED = re.compile(
    r"\b(?:(?:is|was)(?: not|n['’]t) (?:from |by )?(?:me|mine)|i did(?: not|n['’]t) (?:write|say) (?:that|this|it)"
    r"|ignore (?:it|that|this|them)|(?:ist|war|kommt) nicht von mir|ignorier\w* (?:das|es))\b",
    re.IGNORECASE,
)
"""What takes back what stands before it, which somebody else had written."""
_KEPT = 0.4
_FOR_GOOD = {
    StatementType.WISH: (SemanticKind.PREFERENCE, 0.35, 0.0),
    StatementType.DECISION: (SemanticKind.DECISION, 0.65, 0.1),
}
"""The least share of the sort, and the least probability of "durable", of what is laid down for good."""
_LEAST_SHARE = 0.3
_IS_SO = 0.5
_LEAST_SAID = 2
"""Words of weight of a statement that is understood without what was said before it."""


def stated(sentence: str) -> tuple[SemanticKind | None, bool]:
    """Return what a sentence states, and whether it lays that down for good."""
    judged = judge(sentence)
    if asks(sentence) or _NEXT_TASK.match(sentence) or judged.keep < _KEPT:
        return None, False
    sort = max(_FOR_GOOD, key=lambda each: judged.sorts[each])
    share, (kind, least, durable) = judged.sorts[sort], _FOR_GOOD[sort]
    if share < _LEAST_SHARE or share < judged.sorts[StatementType.IDENTITY]:
        return (SemanticKind.FACT if judged.fact >= _IS_SO else None), False
    return kind, share >= least and judged.fact >= durable


class ExtractiveLearningAgent(LearningAgent):
    """Learns with the words that were said."""

    name = EXTRACTIVE

    def learn(self, prompts: Sequence[SessionPrompt], meter: Meter) -> SessionFindings:
        estimate = CallEstimate(WorkKind.LEARN, EXTRACTIVE, _tokens(prompts), _tokens(prompts))
        found = (one for prompt in prompts for one in _found(prompt))
        findings = metered(
            meter,
            estimate,
            lambda: tuple(found),
            lambda findings: sum(estimate_tokens(one.content) for one in findings),
        )
        return SessionFindings(findings, len(prompts))


def own_sentences(text: str) -> list[str]:
    """Return the sentences of a prompt, lines that were broken by hand joined; none of a pasted text."""
    found = sentences(_WRAPPED.sub(" ", text))
    return found if len(found) <= _MOST_SENTENCES else []


def _found(prompt: SessionPrompt) -> Iterator[SemanticProposal]:
    before = ""
    own = own_sentences(prompt.text)
    disowned = max((nth for nth, sentence in enumerate(own) if _DISOWNED.search(sentence)), default=-1)
    for sentence in own[disowned + 1 :]:
        if _LABELLED.match(sentence):
            continue
        points = _POINTS.search(sentence) and not _CONDITION.match(sentence)
        content = clean(f"{before} {sentence}" if points else _STARTS_WITH_JOINER.sub("", sentence)).rstrip(".!")
        kind, is_standing = stated(content)
        stands_alone = len(content_stems(content)) >= _LEAST_SAID * (2 if _POINTS.search(content) else 1)
        is_understood = stands_alone and (before or not points)
        before = sentence
        if kind is not None and is_understood and len(content) <= _LONGEST:
            yield SemanticProposal(kind, content[:1].upper() + content[1:], prompt.uuid, sentence, is_standing)
