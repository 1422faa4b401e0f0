"""The built-in Memory Sub-Agent: no model, no network, the same answer every time.

It keeps the statements that matter most in their speakers' words, under the name of who said them, and compacts by what
would be lost: a memory that another one wholly says goes, else the two are merged whose union loses least. Nothing is
forgotten only because it is old. Reasons count and name memories without quoting them, so that they may outlive a
purge. Source: decisions, "Memories".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from shared.llm.calls import EXTRACTIVE, Meter, Prospect, WorkKind, metered
from shared.llm.tokens import estimate_tokens
from shared.memories.compaction import NEW, Action, CompactionCandidate, Decision, is_clearly_least, refusal
from shared.text.lines import shorten
from shared.text.words import EMPTY, MONTHS, VAGUE, WEEKDAYS, WORD, stem
from worker.agent.classifier import StatementSort
from worker.agent.dates import written
from worker.agent.pieces import MemoryPiece, choose, new_share, read, render, total, words_of
from worker.agent.protocol import SPOKEN_ROLES, MemoryAgent, MemoryDraft, NothingToRemember, Transcript, TranscriptTurn
from worker.agent.statements import KEPT, SpokenStatement, is_user, read_statements, speaker_name

_MACHINE_NAME = re.compile(r"assistant|\bai\b|bot\b|gpt|llama|claude|gemini|mistral|qwen", re.IGNORECASE)
_SOLID = 0.6
"""From this probability a statement is worth a memory by itself."""
_VITAL = (StatementSort.HARM, StatementSort.WISH)
_UNCUT = 120
"""Characters up to which what harms if it is forgotten is kept whole: "tell every clinic" is half of an allergy."""
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
            lambda: _draft(transcript, limit),
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


def _draft(transcript: Transcript, limit: int) -> MemoryDraft | NothingToRemember:
    spoken = [turn for turn in transcript.turns if turn.role in SPOKEN_ROLES and turn.content.strip()]
    if not spoken:
        return NothingToRemember("nobody said anything in this conversation")
    all_named = all(turn.name for turn in spoken)

    def is_person(turn: TranscriptTurn) -> bool:
        # So is an assistant with a human name that talks to a named user.
        is_human = all_named and turn.name != transcript.app_name and not _MACHINE_NAME.search(turn.name or "")
        return is_user(turn) or is_human

    said = [one for one in read_statements(spoken, speaks=is_person) if one.judged.keep >= KEPT]
    if not any(one.judged.keep >= _SOLID for one in said):
        return NothingToRemember("only greetings, thanks or questions, nothing that was stated, decided or done")
    # What a present memory already says in full is not remembered a second time.
    remembered = [words_of(memory) for memory in transcript.known]
    fresh = [one for one in said if all(new_share(one.text, words) for words in remembered)]
    if not fresh:
        return NothingToRemember("everything said in it is already remembered")
    pieces = [piece for one in fresh for piece in _pieces(one)]
    chosen = choose(pieces, limit) or [_shortened(max(pieces, key=lambda piece: piece.worth), limit)]
    sources = tuple(dict.fromkeys(piece.source for piece in sorted(chosen, key=lambda piece: piece.position)))
    kept = {piece.position for piece in chosen}
    importance = max(one.judged.importance for one in fresh if one.position in kept)
    return MemoryDraft(render(chosen), importance, _tags(chosen), sources)


def _pieces(one: SpokenStatement) -> Iterator[MemoryPiece]:
    """Yield a statement whole, then in the parts that may stand for it, none worth more than the whole."""
    judged = one.judged
    whole = MemoryPiece(one.text, speaker_name(one.turn), judged.worth, judged.sort, one.turn.message_id, one.position)
    yield whole
    if judged.sort is not StatementSort.HARM or len(one.text) > _UNCUT:
        for text, part in one.parts():
            if part.keep >= KEPT:
                yield replace(whole, text=text, worth=min(part.worth, whole.worth))


def _shortened(piece: MemoryPiece, limit: int) -> MemoryPiece:
    """Return a piece that is longer than a whole memory may be, cut."""
    return replace(piece, text=shorten(piece.text, max(1, limit - len(piece.speaker) - 2)))


def _tags(chosen: Sequence[MemoryPiece]) -> tuple[str, ...]:
    """Return words of what matters most, in lower case, the longest first and each in one form only."""
    found: dict[str, str] = {}
    for piece in sorted(chosen, key=lambda one: -one.worth):
        for word in sorted(set(WORD.findall(piece.text.lower())), key=lambda word: (-len(word), word)):
            if word.isalpha() and len(word) > 2 and word not in _NO_TAGS:
                found.setdefault(stem(word), word)
    return tuple(found.values())[:_MOST_TAGS]


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

    @property
    def mixed(self) -> bool:
        """Whether only one of the two says something vital."""
        return len({any(piece.sort in _VITAL for piece in one.pieces) for one in (self.target, self.absorbed)}) > 1

    @property
    def takes_in(self) -> bool:
        """Whether something of each of the two is kept."""
        own = len(self.target.pieces)
        return len({piece.position < own for piece in self.kept}) == len(
            [1 for one in (self.target, self.absorbed) if one.pieces]
        )


def decide_compaction(existing: Sequence[CompactionCandidate], new: CompactionCandidate, limit: int) -> Decision:
    """Choose how the memories become one fewer; the decision always passes ``refusal``."""
    every = [_understand(memory) for memory in (*existing, new)]
    loose = [one for one in every if not one.memory.pinned or one.memory.id == NEW]
    if len(loose) == 1:
        return Decision(Action.DELETE, NEW, "every present memory is pinned, so the new one gives way")
    redundant = _drop_redundant(loose, every)
    if redundant is not None:
        return redundant
    may_go = [one for one in loose if one.memory.id != NEW or is_clearly_least(new, existing)]
    goes, loss = min(((one, _loss(one, every)) for one in may_go), key=lambda found: (found[1], _age(found[0])))
    merge, merge_loss = _merge(loose, every, limit)
    if merge is not None and merge_loss <= loss and refusal(merge, existing, new, limit) is None:
        return merge
    return Decision(Action.DELETE, goes.memory.id, f"{_called(goes)} says least that no other memory says")


def _understand(memory: CompactionCandidate) -> _Read:
    factor = 0.75 + memory.importance / 20
    pieces = tuple(replace(piece, worth=piece.worth * factor) for piece in read(memory.content))
    return _Read(memory, pieces, words_of(memory.content))


def _drop_redundant(loose: Sequence[_Read], every: Sequence[_Read]) -> Decision | None:
    """Delete a memory all of whose words another one says, if there is one."""
    for one in loose:
        for other in every:
            if one is not other and one.says <= other.says:
                reason = f"{_called(one)} says nothing that {_called(other)} does not say"
                return Decision(Action.DELETE, one.memory.id, reason)
    return None


def _loss(one: _Read, every: Sequence[_Read]) -> float:
    """Return what is lost when a memory goes, beyond what the others say."""
    return total(one.pieces, frozenset().union(*(other.says for other in every if other is not one)))


def _merge(loose: Sequence[_Read], every: Sequence[_Read], limit: int) -> tuple[Decision | None, float]:
    """Return the merge that loses least and what it loses, of those that keep something of both."""
    unions = [_unite(a, b, every, limit) for a, b in combinations(sorted(loose, key=_age), 2)]
    best = min(
        (union for union in unions if union.takes_in),
        # Of what loses the same, what is vital is not crowded by what is not.
        key=lambda union: (union.loss, union.mixed, _age(union.target), _age(union.absorbed)),
        default=None,
    )
    if best is None:
        return None, 0.0
    content = render(best.kept)
    before = len(best.target.pieces) + len(best.absorbed.pieces)
    let_go = before - len(best.kept)
    rest = f"the {let_go} that matter least are let go" if let_go else "nothing is lost"
    names = f"{_called(best.target)} takes in {_called(best.absorbed)}"
    reason = f"{names}, the pair that loses least: of {before} statements {len(best.kept)} are kept and {rest}"
    return Decision(Action.EDIT, best.target.memory.id, reason, content, best.absorbed.memory.id), best.loss


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
