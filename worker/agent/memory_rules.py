"""The built-in Memory Sub-Agent: no model, no network, the same answer every time.

It keeps the clauses that say most per character in telegraphic wording, under the name of who said them, and compacts
by what would be lost: a memory that another one wholly says goes, else the two are merged whose union loses least.
Nothing is forgotten only because it is old. Reasons count and name memories without quoting them, so that they may
outlive a purge. Source: decisions, "Memories".
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from shared.llm.calls import EXTRACTIVE, Meter, Prospect, WorkKind, metered
from shared.llm.tokens import estimate_tokens
from shared.memories.compaction import NEW, Action, CompactionCandidate, Decision
from shared.text.lines import shorten
from shared.text.words import EMPTY, MONTHS, VAGUE, WEEKDAYS, WORD, stem
from worker.agent.clauses import PhraseTable, clauses, plain, resolve, telegram, written
from worker.agent.pieces import (
    WEIGHTS,
    MemoryPiece,
    choose,
    fuller,
    read,
    render,
    speaker_name,
    total,
    voice,
    word_values,
)
from worker.agent.protocol import SPOKEN_ROLES, MemoryAgent, MemoryDraft, NothingToRemember, Transcript, TranscriptTurn

_OUTCOME = PhraseTable(
    {
        "The hall is booked.": r"scheduled|rescheduled|booked|reserved|ordered|cancel+ed|confirmed|paid|signed up",
        "The list was renamed.": r"created|added|removed|deleted|updated|changed|moved|renamed|sent|saved|published"
        r"|submitted|filed",
        "The server was restarted.": r"fixed|resolved|solved|installed|deployed|merged|migrated|restarted|enabled"
        r"|disabled|configured|completed|finished|set up|turned (?:on|off)",
        "We agreed on Friday.": r"decided|agreed|chose|chosen",
    }
)
_OFFER = re.compile(
    r"\b(?:can|could|would|should|may|might|if|let me|shall|please|once|when|never|unable|sorry)\b|n['’]t\b",
    re.IGNORECASE,
)
_MACHINE_NAME = re.compile(r"assistant|\bai\b|bot\b|gpt|llama|claude|gemini|mistral|qwen", re.IGNORECASE)
_MOST_TAGS = 5
_REASON_TOKENS = 100
_NO_TAGS = EMPTY | VAGUE | {word.lower() for word in (*MONTHS, *WEEKDAYS)}


class ExtractiveAgent(MemoryAgent):
    """A memory agent that picks what to keep instead of writing it."""

    @property
    def name(self) -> str:
        return EXTRACTIVE

    def create(self, transcript: Transcript, limit: int, meter: Meter) -> MemoryDraft | NothingToRemember:
        read = [turn.content for turn in transcript.turns]
        prospect = _prospect(WorkKind.CREATE, read, limit)
        return metered(
            meter,
            prospect,
            lambda: self._draft(transcript, limit),
            lambda result: estimate_tokens(result.content if isinstance(result, MemoryDraft) else result.reason),
            estimate_tokens("".join(read)),
        )

    def compact(
        self, existing: Sequence[CompactionCandidate], new: CompactionCandidate, limit: int, meter: Meter
    ) -> Decision:
        read = [memory.content for memory in (*existing, new)]
        prospect = _prospect(WorkKind.COMPACT, read, limit)
        return metered(
            meter,
            prospect,
            lambda: decide_compaction(existing, new, limit),
            lambda decision: estimate_tokens((decision.new_content or "") + decision.reason),
            estimate_tokens("".join(read)),
        )

    def _draft(self, transcript: Transcript, limit: int) -> MemoryDraft | NothingToRemember:
        spoken = [turn for turn in transcript.turns if turn.role in SPOKEN_ROLES and turn.content.strip()]
        if not spoken:
            return NothingToRemember("nobody said anything in this conversation")
        pieces = _pieces(spoken, transcript.app_name)
        worthy = [piece for piece in pieces if self._value(piece) >= WEIGHTS.least]
        if not worthy:
            return NothingToRemember("only greetings, thanks or questions, nothing that was stated, decided or done")
        # What a present memory already says in full is not remembered a second time.
        remembered = [word_values(memory).keys() for memory in transcript.known]
        fresh = [one for one in worthy if not any(word_values(one.text).keys() <= said for said in remembered)]
        if not fresh:
            return NothingToRemember("everything said in it is already remembered")
        return self._written(fresh, limit)

    def _value(self, piece: MemoryPiece) -> float:
        """Return what a piece says by itself; a bare date says nothing."""
        words = word_values(piece.text)
        return min(piece.factor, 1.0) * sum(worth for root, worth in words.items() if " " not in root)

    def _written(self, fresh: Sequence[MemoryPiece], limit: int) -> MemoryDraft:
        better = [piece for piece in fresh if self._value(piece) >= WEIGHTS.enough] or fresh
        chosen = choose(better, limit)
        if len(chosen) == len(better):
            chosen = choose(fresh, limit)
        if not chosen:
            # A single piece is longer than a whole memory may be.
            best = max(better, key=self._value)
            chosen = [replace(best, text=shorten(best.text, limit - len(best.speaker) - 2), full="")]
        content = render(fuller(chosen, limit))
        strongest = max(piece.factor * sum(word_values(piece.text).values()) for piece in chosen)
        sources = tuple(dict.fromkeys(piece.source for piece in sorted(chosen, key=lambda piece: piece.position)))
        return MemoryDraft(content, min(10, 3 + round(strongest / 1.5)), _tags(chosen), sources)


def _pieces(turns: Sequence[TranscriptTurn], app_name: str) -> list[MemoryPiece]:
    names = frozenset(turn.name for turn in turns if turn.name)
    all_named = all(turn.name for turn in turns)
    pieces: list[MemoryPiece] = []
    for turn in turns:
        # Users are persons, and so is an assistant with a human name that talks to a named user.
        human = all_named and turn.name not in (None, app_name) and not _MACHINE_NAME.search(turn.name or "")
        person = turn.role == "user" or human
        for clause in clauses(turn.content):
            factor = voice(clause.text, clause.asks) if person else 0.0
            # A machine's statement counts only when it says that a thing was done or decided.
            if not person and _OUTCOME.is_in(clause.text) and not clause.asks and not _OFFER.search(clause.text):
                factor = 0.7
            if factor <= 0:
                continue
            full = plain(resolve(clause.text, turn.created_at.date()), names)
            text = telegram(full)
            if text:
                mark = "?" if clause.asks else ""
                speaker = speaker_name(turn) or ("User" if person else "Assistant")
                pieces.append(MemoryPiece(text + mark, speaker, factor, full + mark, turn.message_id, len(pieces)))
    return pieces


def _tags(chosen: Sequence[MemoryPiece]) -> tuple[str, ...]:
    """Return the words that say most, in lower case, the weightiest first and each in one form only."""
    worth: dict[str, tuple[float, str]] = {}
    for spelling in (match[0] for piece in chosen for match in WORD.finditer(piece.text)):
        word = spelling.lower()
        if word.isalpha() and len(word) > 2 and word not in _NO_TAGS:
            worth.setdefault(stem(word), (max(word_values(f", {spelling}").values(), default=0.0), word))
    return tuple(word for _, word in sorted(worth.values(), key=lambda one: -one[0])[:_MOST_TAGS])


def _prospect(kind: WorkKind, read: Sequence[str], limit: int) -> Prospect:
    return Prospect(kind, EXTRACTIVE, sum(map(estimate_tokens, read)), estimate_tokens(" " * limit) + _REASON_TOKENS)


@dataclass(frozen=True)
class _Read:
    """A memory with its pieces and everything it says."""

    memory: CompactionCandidate
    pieces: tuple[MemoryPiece, ...]
    says: frozenset[str]


@dataclass(frozen=True)
class _Union:
    """Two memories, the pieces that stay when they become one, and the value that is lost by it."""

    target: _Read
    absorbed: _Read
    kept: tuple[MemoryPiece, ...]
    loss: float


def decide_compaction(existing: Sequence[CompactionCandidate], new: CompactionCandidate, limit: int) -> Decision:
    """Choose how the memories become one fewer; the decision always passes ``refusal``."""
    every = [_understand(memory) for memory in (*existing, new)]
    loose = [one for one in every if not one.memory.pinned or one.memory.id == NEW]
    if len(loose) == 1:
        return Decision(Action.DELETE, NEW, "every present memory is pinned, so the new one gives way")
    return _drop_redundant(loose, every) or _merge(loose, every, limit)


def _understand(memory: CompactionCandidate) -> _Read:
    factor = 0.75 + memory.importance / 20
    pieces = tuple(
        replace(piece, factor=factor, text=telegram(piece.text) or piece.text, full=piece.text)
        for piece in read(memory.content)
    )
    return _Read(memory, pieces, frozenset(word_values(memory.content)))


def _drop_redundant(loose: Sequence[_Read], every: Sequence[_Read]) -> Decision | None:
    """Delete a memory all of whose words another one says, if there is one."""
    for one in loose:
        for other in every:
            if one is not other and one.says <= other.says:
                reason = f"{_called(one)} says nothing that {_called(other)} does not say"
                return Decision(Action.DELETE, one.memory.id, reason)
    return None


def _merge(loose: Sequence[_Read], every: Sequence[_Read], limit: int) -> Decision:
    unions = [_unite(a, b, every, limit) for a, b in combinations(sorted(loose, key=_age), 2)]
    best = min(unions, key=lambda union: (union.loss, _age(union.target), _age(union.absorbed)))
    content = render(fuller(best.kept, limit)) or shorten(best.target.memory.content, limit)
    before = len(best.target.pieces) + len(best.absorbed.pieces)
    let_go = before - len(best.kept)
    rest = f"the {let_go} that say least are let go" if let_go else "nothing is lost"
    names = f"{_called(best.target)} takes in {_called(best.absorbed)}"
    reason = f"{names}, the pair that loses least: of {before} statements {len(best.kept)} are kept and {rest}"
    return Decision(Action.EDIT, best.target.memory.id, reason, content, best.absorbed.memory.id)


def _age(one: _Read) -> tuple[bool, float, int]:
    """Sort oldest first and the new one last: the older of two is rewritten, and never the new one."""
    return one.memory.id == NEW, one.memory.updated_at.timestamp(), one.memory.id


def _unite(target: _Read, absorbed: _Read, every: Sequence[_Read], limit: int) -> _Union:
    elsewhere = (one.says for one in every if one is not target and one is not absorbed)
    said: frozenset[str] = frozenset().union(*elsewhere)
    both = [replace(piece, position=i) for i, piece in enumerate((*target.pieces, *absorbed.pieces))]
    kept = tuple(choose(both, limit, said))
    return _Union(target, absorbed, kept, total(both, said) - total(kept, said))


def _called(one: _Read) -> str:
    day = written(one.memory.updated_at.date())
    return f"the new memory ({day})" if one.memory.id == NEW else f"memory {one.memory.id} ({day})"
