"""What the Memory Sub-Agent is given and what it proposes: for memories, facts, summaries and recorded sessions.

An agent only proposes. Whether a proposal is valid is decided by ``shared.memories.compaction``,
``shared.facts.fold``, ``shared.summaries.queries`` and ``shared.sessions.compress``, and what becomes of it by the
pipelines. An agent never sees a marked part of a session that survives word for word, and so cannot change it.

Every agent raises ``Transient`` when the model could not be reached or ran out of time, ``ModelOutput`` when it
answered unusably three times, and ``Configuration`` when it can never answer (model missing, window too small).
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from shared.base.choices import Category
from shared.llm.calls import Meter
from shared.llm.embedding import Embedder
from shared.memories.compaction import CompactionCandidate, Decision
from shared.sessions.compress.run import Chunk, CondensedChunk
from shared.sessions.semantic.memories import SemanticProposal, SessionPrompt
from shared.text.gate import Refusal

SPOKEN_ROLES = frozenset({"user", "assistant"})
"""Whose turns may be remembered; what systems and tools said never is."""


@dataclass(frozen=True)
class TranscriptTurn:
    """One message of an ended conversation."""

    message_id: str
    role: str
    """``user``, ``assistant``, ``system`` or ``tool``."""
    name: str | None
    content: str
    created_at: datetime
    """As the clock of the person showed it, so that its date is the day they mean by "today"."""


@dataclass(frozen=True)
class PresentFact:
    """A fact the app already has about the same user."""

    fact_id: int
    statement: str
    category: Category
    said_at: datetime
    """When it was last said."""


@dataclass(frozen=True)
class Statement:
    """One thing that was stated directly and unambiguously."""

    text: str
    """In the third person, one clean line."""
    category: Category
    message_ids: tuple[str, ...]
    """The user turns it was said in; at least one, all of the segment's new turns."""
    updates: int | None = None
    """The known fact it contradicts."""


@dataclass(frozen=True)
class Transcript:
    """An ended conversation as the agent sees it, oldest turn first."""

    app_name: str
    turns: tuple[TranscriptTurn, ...]
    held_at: datetime
    """As the clock of the person showed it."""
    known: tuple[str, ...] = ()
    """The app's present memories, so that a recalled memory is not remembered a second time."""
    facts: tuple[PresentFact, ...] = ()
    """The user's present facts."""


@dataclass(frozen=True)
class MemoryDraft:
    """A memory the agent proposes to keep."""

    content: str
    """One paragraph of at most the limit, whole words."""
    importance: int
    """0..10."""
    tags: tuple[str, ...] = ()
    message_ids: tuple[str, ...] = ()
    """The messages it was made from, a subset of the transcript's."""
    facts: tuple[Statement, ...] = ()
    """What was found beside it by who read the whole talk, and the rules do not find."""
    refused: Counter[Refusal] = field(default_factory=Counter)
    """What was found and could not be a fact."""


@dataclass(frozen=True)
class NothingToRemember:
    """The conversation was understood, and holds nothing worth a place."""

    reason: str
    facts: tuple[Statement, ...] = ()
    """As of a draft."""
    refused: Counter[Refusal] = field(default_factory=Counter)


class Agent(Protocol):
    """A part of the Memory Sub-Agent."""

    @property
    def name(self) -> str:
        """Recorded with what it makes: ``extractive`` or ``ollama:NAME``."""


class LeftToRules(Exception):
    """There is nothing that the model does better: ``agent`` does it, and nothing has failed."""

    def __init__(self, agent: Any) -> None:
        super().__init__("left to the rules")
        self.agent = agent


class MemoryAgent(Agent, Protocol):
    """The Memory Sub-Agent."""

    def create(self, transcript: Transcript, limit: int, meter: Meter) -> MemoryDraft | NothingToRemember:
        """Propose one memory of at most ``limit`` characters, or say that there is nothing."""

    def compact(
        self, existing: Sequence[CompactionCandidate], new: CompactionCandidate, limit: int, meter: Meter
    ) -> Decision:
        """Propose how ``existing`` plus ``new`` (id ``NEW``) become one fewer."""


@dataclass(frozen=True)
class ExtractionRequest:
    """What was said in a conversation since facts were last extracted of it."""

    app_name: str
    turns: tuple[TranscriptTurn, ...]
    """New turns in order, of users and assistants only, cleaned of what was recalled; user turns are the source."""
    before: tuple[TranscriptTurn, ...] = ()
    """The last turns before those, already seen: they explain what the new ones answer, and are no source."""
    known: tuple[PresentFact, ...] = ()


@dataclass(frozen=True)
class Extraction:
    """What was found, and how far was read."""

    statements: tuple[Statement, ...]
    turns_read: int
    """How many of the segment's turns, from the first, were read whole; at least one. The rest is read next time."""
    refused: Counter[Refusal] = field(default_factory=Counter)
    """Statements that were not fit to become facts."""


class FactAgent(Agent, Protocol):
    """The part of the Memory Sub-Agent that extracts facts."""

    def extract(self, segment: ExtractionRequest, meter: Meter) -> Extraction:
        """Propose what the users of a segment stated, each thing once, only what is of high confidence."""


@dataclass(frozen=True)
class SummaryRequest:
    """What was said in a conversation since it was last summarised."""

    app_name: str
    turns: tuple[TranscriptTurn, ...]
    """New turns in order, of users and assistants only, cleaned of what was recalled."""
    previous: str | None = None
    """The summary before, for what the new turns refer to; it stands beside the new one, and is not repeated."""


@dataclass(frozen=True)
class Digest:
    """What a span comes to, and how far was read."""

    points: tuple[str, ...]
    """The most important first within what they tell; none where nothing was said that is worth one."""
    turns_read: int
    """How many of the span's turns, from the first, were read whole; at least one. The rest is read next time."""


class SummaryAgent(Agent, Protocol):
    """The part of the Memory Sub-Agent that summarises."""

    def summarise(self, span: SummaryRequest, meter: Meter) -> Digest:
        """Say what a span with at least one turn comes to."""


class CompressionAgent(Agent, Protocol):
    """The part of the Memory Sub-Agent that condenses."""

    @property
    def chunk_tokens(self) -> int:
        """The most tokens it reads in one go; part of how a session is divided."""

    def condense(self, chunk: Chunk, meter: Meter) -> CondensedChunk:
        """Say what a chunk comes to, in no more characters than it has room for."""


@dataclass(frozen=True)
class SessionFindings:
    """What was found, and how far was read."""

    proposals: tuple[SemanticProposal, ...]
    prompts_read: int
    """How many of the prompts, from the first, were read whole; at least one. The rest is read next time."""


class LearningAgent(Agent, Protocol):
    """The part of the Memory Sub-Agent that learns from recorded sessions."""

    def learn(self, prompts: Sequence[SessionPrompt], meter: Meter) -> SessionFindings:
        """Find preferences, decisions and facts in at least one prompt."""


@dataclass(frozen=True)
class Agents:
    """The agents for memories, facts, summaries and recorded sessions, and the embedder."""

    memories: MemoryAgent
    facts: FactAgent
    summaries: SummaryAgent
    sessions: Mapping[str, CompressionAgent]
    """By name: a version says by whom it is to be made."""
    learning: LearningAgent
    embedder: Embedder


@dataclass(frozen=True)
class RulesBehind:
    """The agents that do what a model could not; none where such a job is to be a dead letter."""

    memories: MemoryAgent | None = None
    facts: FactAgent | None = None
    summaries: SummaryAgent | None = None
    sessions: CompressionAgent | None = None
    learning: LearningAgent | None = None
