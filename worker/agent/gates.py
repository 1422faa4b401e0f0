"""The gate before what an agent wants stored, for each kind of text: who has to have said it, and what is known beside.

Used by the agents that ask a model, so that it is asked again, and by the pipelines, so that no agent passes it by.
"""

from collections.abc import Container, Iterable, Iterator, Sequence
from datetime import datetime
from itertools import pairwise

from shared.memories.compaction import CompactionCandidate, Decision
from shared.sessions.compress.run import Chunk
from shared.sessions.semantic.memories import SessionPrompt
from shared.text.classifier import ASKS, asks
from shared.text.gate import Gate, Verdict, unlooped, weighty_words
from shared.text.sentences import sentences
from shared.text.words import VAGUE
from worker.agent.dates import resolve
from worker.agent.prompt import prompt_rows
from worker.agent.protocol import SPOKEN_ROLES, ExtractionRequest, SummaryRequest, Transcript, TranscriptTurn

_ROLES = ("User", "Assistant")
"""How speakers without a name are called in what is stored."""


def spoken_gate(given: Transcript | SummaryRequest) -> Gate:
    """Return the gate of a memory or of a summary's points: users or assistants said it, names may be known before."""
    before = given.known if isinstance(given, Transcript) else (given.previous or "",)
    known = (given.app_name, *before, *_ROLES, *_dates(given.turns))
    return Gate(_spoken_texts(given.turns), known, prompt_rows())


def fact_gate(segment: ExtractionRequest, bearing: Container[str] | None = None, corrected: str = "") -> Gate:
    """Return the gate of facts, which users said, or agreed to when they were asked.

    ``bearing`` are the ids of the messages that have to say it, by themselves all; names go on from one to the next.
    ``corrected``: a known fact that stands but for its values, which were said.
    """
    turns = (*segment.before, *segment.turns)
    users = [turn for turn in turns if turn.role == "user"]
    spoken = [turn for turn in users if bearing is None or turn.message_id in bearing]
    known = (*_spoken_texts(users), *(fact.statement for fact in segment.known), *_dates(users))
    return Gate((*_spoken_texts(spoken), *_questions_before(turns, spoken), corrected), known, prompt_rows())


def judge_merged(
    decision: Decision, existing: Sequence[CompactionCandidate], new: CompactionCandidate
) -> Verdict | None:
    """Say why the memory that a compaction rewrites may not be stored; None where it may, or none is rewritten."""
    if decision.new_content is None:
        return None
    named = (decision.target_id, decision.absorbed_id)
    sources = [one for one in (*existing, new) if one.id in named]
    known = (*_ROLES, *(_near(one.updated_at) for one in sources))
    return Gate([one.content for one in sources], known, prompt_rows()).judge(unlooped(decision.new_content))


def finding_gate(prompts: Sequence[SessionPrompt]) -> Gate:
    """Return the gate of what is learnt from sessions, which people typed."""
    return Gate([prompt.text for prompt in prompts], (), prompt_rows())


def line_gate(chunk: Chunk) -> Gate:
    """Return the gate of a version's lines, which have to stand in the record."""
    texts = dict.fromkeys(text for piece in chunk.pieces for text in (piece.speaker, piece.text))
    return Gate(texts, None, prompt_rows())


def _spoken_texts(turns: Iterable[TranscriptTurn]) -> tuple[str, ...]:
    spoken = [turn for turn in turns if turn.role in SPOKEN_ROLES]
    return (*(turn.content for turn in spoken), *dict.fromkeys(turn.name for turn in spoken if turn.name))


def _dates(turns: Iterable[TranscriptTurn]) -> Iterator[str]:
    """Yield what was said with its relative times as dates, and the years about the one it was said in."""
    for turn in turns:
        yield resolve(turn.content, turn.created_at.date())
        yield _near(turn.created_at)


def _near(day: datetime) -> str:
    return f"{day.year - 1} {day.year} {day.year + 1}"


def _questions_before(turns: Sequence[TranscriptTurn], answers: Container[TranscriptTurn]) -> Iterator[str]:
    """Yield what an assistant asked before one of the answers, and said last where the answer takes that up."""
    for before, turn in pairwise(turns):
        if before.role == "assistant" and turn in answers:
            found, takes_up = sentences(before.content), _takes_up(turn.content)
            yield from (one for one in found if one.rstrip().endswith(ASKS) or (takes_up and one is found[-1]))


def _takes_up(answer: str) -> bool:
    """Whether an answer may agree with what was only said before it: it asks nothing, and is more than thanks."""
    words = weighty_words(answer)
    return not asks(answer) and not (words and VAGUE.issuperset(words))
