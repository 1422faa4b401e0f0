"""The built-in Memory Sub-Agent: no model, no network, the same answer every time.

It keeps the statements that matter most in their speakers' words, under the name of who said them, and compacts by what
would be lost: a memory that another one wholly says goes, else the two are merged whose union loses least. Nothing is
forgotten only because it is old. Reasons count and name memories without quoting them, so that they may outlive a
purge. Source: decisions, "Memories".
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product
from typing import TypeVar

from shared.llm.calls import EXTRACTIVE, CallEstimate, Meter, WorkKind, estimate_tokens, metered
from shared.memories.compaction import NEW, Action, CompactionCandidate, Decision, is_clearly_least, refusal
from shared.text.classifier import StatementType
from shared.text.lines import shorten
from shared.text.words import EMPTY, MONTHS, VAGUE, WEEKDAYS, WORD, stem
from worker.agent.dates import written
from worker.agent.pieces import MemoryPiece, choose, new_share, read, render, total, words_of
from worker.agent.protocol import SPOKEN_ROLES, MemoryAgent, MemoryDraft, NothingToRemember, Transcript, TranscriptTurn
from worker.agent.statements import KEPT, SpokenStatement, is_user, read_statements, speaker_name

_T = TypeVar("_T", bound=MemoryDraft | NothingToRemember | Decision)
_MACHINE_NAME = re.compile(r"assistant|\bai\b|bot\b|gpt|llama|claude|gemini|mistral|qwen", re.IGNORECASE)
_SOLID = 0.65
"""From this probability of "keep" or of "fact" a statement is worth a memory by itself."""
_FEW, _SOLID_AMONG_MANY = 3, 0.85
"""Of more statements than so many one looks worth keeping by chance: then it takes more."""
_PROTECTED = (StatementType.HARM, StatementType.WISH)
_UNCUT = 75
"""Characters up to which what harms if it is forgotten is kept whole: "tell every clinic" is half of an allergy."""
_BEHIND = 0.8
"""What a clause counts without the one that it began with: often it hangs."""
_MOST_TAGS = 5
_REASON_TOKENS = 100
_NO_TAGS = EMPTY | VAGUE | {word.lower() for word in (*MONTHS, *WEEKDAYS)}


class ExtractiveAgent(MemoryAgent):
    """A memory agent that picks what to keep instead of writing it."""

    name = EXTRACTIVE

    def create(self, transcript: Transcript, limit: int, meter: Meter) -> MemoryDraft | NothingToRemember:
        read = [turn.content for turn in transcript.turns]
        return _metered(meter, WorkKind.CREATE, read, limit, lambda: choose_memory(transcript, limit))

    def compact(
        self, existing: Sequence[CompactionCandidate], new: CompactionCandidate, limit: int, meter: Meter
    ) -> Decision:
        read = [memory.content for memory in (*existing, new)]
        return _metered(meter, WorkKind.COMPACT, read, limit, lambda: decide_compaction(existing, new, limit))


def _metered(meter: Meter, kind: WorkKind, read: Sequence[str], limit: int, work: Callable[[], _T]) -> _T:
    def tokens_of(made: _T) -> int:
        if isinstance(made, MemoryDraft):
            return estimate_tokens(made.content)
        return estimate_tokens(((made.new_content or "") if isinstance(made, Decision) else "") + made.reason)

    most = estimate_tokens(" " * limit) + _REASON_TOKENS
    estimate = CallEstimate(kind, EXTRACTIVE, sum(map(estimate_tokens, read)), most)
    return metered(meter, estimate, work, tokens_of, estimate_tokens("".join(read)))


def choose_memory(transcript: Transcript, limit: int) -> MemoryDraft | NothingToRemember:
    """Return the statements worth most as one memory."""
    fresh = fresh_statements(transcript)
    if isinstance(fresh, NothingToRemember):
        return fresh
    pieces = pieces_of(fresh)
    chosen = choose(pieces, limit)
    if not chosen:
        best = max(pieces, key=lambda piece: piece.worth)
        # Two for the colon and the space behind the speaker.
        chosen = [replace(best, text=shorten(best.text, max(1, limit - len(best.speaker) - 2)))]
    return drafted(fresh, chosen)


def fresh_statements(transcript: Transcript) -> list[SpokenStatement] | NothingToRemember:
    """Return what was said that is worth a place and no present memory says."""
    spoken = [turn for turn in transcript.turns if turn.role in SPOKEN_ROLES and turn.content.strip()]
    if not spoken:
        return NothingToRemember("nobody said anything in this conversation")
    all_named = all(turn.name for turn in spoken)

    def is_person(turn: TranscriptTurn) -> bool:
        # So is an assistant with a human name that talks to a named user.
        is_machine = turn.name == transcript.app_name or _MACHINE_NAME.search(turn.name or "")
        return is_user(turn) or (all_named and not is_machine)

    said = read_statements(spoken, speaks=is_person)
    solid = [one for one in said if one.judged.keep >= KEPT]
    least = _SOLID if len(said) <= _FEW else _SOLID_AMONG_MANY
    if not any(
        max(one.judged.keep, one.judged.fact) >= least or one.judged.is_sure_harm or one.is_plain for one in solid
    ):
        return NothingToRemember("only greetings, thanks or questions, nothing that was stated, decided or done")
    # What a present memory already says in full is not remembered a second time.
    remembered = [words_of(memory) for memory in transcript.known]
    statements = [words_of(text) for memory in transcript.known for text in memory.split("; ")]

    def is_denied(words: frozenset[str]) -> bool:
        return any(words - {"not"} <= those and ("not" in words) != ("not" in those) for those in statements)

    # Unless another one says that it is not so: then it is so again.
    fresh = [
        one for one in solid if all(new_share(one.text, words) for words in remembered) or is_denied(words_of(one.text))
    ]
    return fresh or NothingToRemember("everything said in it is already remembered")


def pieces_of(statements: Iterable[SpokenStatement]) -> list[MemoryPiece]:
    """Return the statements as pieces of a memory, each before the parts that may stand for it."""
    return [piece for one in statements for piece in _pieces(one)]


def drafted(fresh: Sequence[SpokenStatement], chosen: Sequence[MemoryPiece]) -> MemoryDraft:
    """Return the memory of the pieces that were chosen, at least one, which stand for some of the statements."""
    sources = tuple(dict.fromkeys(piece.source for piece in sorted(chosen, key=lambda piece: piece.position)))
    kept = {piece.position for piece in chosen}
    importance = max(one.judged.importance for one in fresh if one.position in kept)
    return MemoryDraft(render(chosen), importance, tags_of(chosen), sources)


def _pieces(one: SpokenStatement) -> Iterator[MemoryPiece]:
    """Yield a statement whole, then in the parts that may stand for it, none worth more than the whole."""
    judged = one.judged
    whole = MemoryPiece(one.text, speaker_name(one.turn), judged.worth, judged.sort, one.turn.message_id, one.position)
    yield whole
    if judged.sort is not StatementType.HARM or len(one.text) > _UNCUT:
        for text, part in one.parts():
            if part.keep >= KEPT:
                share = 1.0 if one.text.startswith(text) else _BEHIND
                yield replace(whole, text=text, worth=share * min(part.worth, whole.worth))


def tags_of(chosen: Sequence[MemoryPiece]) -> tuple[str, ...]:
    """Return words of what matters most, in lower case, the longest first and each in one form only."""
    found: dict[str, str] = {}
    for piece in sorted(chosen, key=lambda one: -one.worth):
        for word in sorted(set(WORD.findall(piece.text.lower())), key=lambda word: (-len(word), word)):
            if word.isalpha() and len(word) > 2 and word not in _NO_TAGS:
                found.setdefault(stem(word), word)
    return tuple(found.values())[:_MOST_TAGS]


@dataclass(frozen=True)
class _ParsedMemory:
    """A memory with its pieces and everything it says."""

    memory: CompactionCandidate
    pieces: tuple[MemoryPiece, ...]
    stems: frozenset[str]


def decide_compaction(existing: Sequence[CompactionCandidate], new: CompactionCandidate, limit: int) -> Decision:
    """Choose how the memories become one fewer; the decision always passes ``refusal``."""
    every = [_understand(memory) for memory in (*existing, new)]
    loose = [one for one in every if not one.memory.pinned or one.memory.id == NEW]
    if len(loose) == 1:
        return Decision(Action.DELETE, NEW, "every present memory is pinned, so the new one gives way")
    for one, other in product(loose, every):
        if one is not other and one.stems <= other.stems:
            reason = f"{_called(one)} says nothing that {_called(other)} does not say"
            return Decision(Action.DELETE, one.memory.id, reason)
    # Oldest first and the new one last: the older of two is rewritten, and never the new one.
    loose.sort(key=lambda one: (one.memory.id == NEW, one.memory.updated_at.timestamp(), one.memory.id))
    losses = [(one, total(one.pieces, _words_elsewhere([one], every))) for one in loose]
    may_go = [one for one in losses if one[0].memory.id != NEW or is_clearly_least(new, existing)]
    goes, loss = min(may_go, key=lambda one: one[1])
    # Of what loses the same, what is vital is not crowded by what is not.
    merge = min(_merges(loose, every, limit), key=lambda one: one[:2], default=None)
    if merge is not None and merge[0] <= loss and refusal(merge[2], existing, new, limit) is None:
        return merge[2]
    return Decision(Action.DELETE, goes.memory.id, f"{_called(goes)} says least that no other memory says")


def _understand(memory: CompactionCandidate) -> _ParsedMemory:
    # From 0.75 to 1.25: importance moves what a memory is worth by a quarter either way.
    factor = 0.75 + memory.importance / 20
    pieces = tuple(replace(piece, worth=piece.worth * factor) for piece in read(memory.content))
    return _ParsedMemory(memory, pieces, words_of(memory.content))


def _words_elsewhere(some: Sequence[_ParsedMemory], every: Sequence[_ParsedMemory]) -> frozenset[str]:
    return frozenset().union(*(one.stems for one in every if one not in some))


def _merges(
    loose: Sequence[_ParsedMemory], every: Sequence[_ParsedMemory], limit: int
) -> Iterator[tuple[float, bool, Decision]]:
    """Yield the merges that keep something of both: what each loses, and whether only one of the two is vital."""
    for pair in combinations(loose, 2):
        target, absorbed = pair
        elsewhere = _words_elsewhere(pair, every)
        both = [replace(piece, position=i) for i, piece in enumerate((*target.pieces, *absorbed.pieces))]
        kept = choose(both, limit, elsewhere)
        # A merge in which nothing of one is left is no merge.
        if len({piece.position < len(target.pieces) for piece in kept}) < sum(bool(one.pieces) for one in pair):
            continue
        dropped = len(both) - len(kept)
        rest = f"the {dropped} that matter least are let go" if dropped else "nothing is lost"
        names = f"{_called(target)} takes in {_called(absorbed)}"
        reason = f"{names}, the pair that loses least: of {len(both)} statements {len(kept)} are kept and {rest}"
        is_mixed = len({any(piece.sort in _PROTECTED for piece in one.pieces) for one in pair}) > 1
        decision = Decision(Action.EDIT, target.memory.id, reason, render(kept), absorbed.memory.id)
        yield total(both, elsewhere) - total(kept, elsewhere), is_mixed, decision


def _called(one: _ParsedMemory) -> str:
    day = written(one.memory.updated_at.date())
    return f"the new memory ({day})" if one.memory.id == NEW else f"memory {one.memory.id} ({day})"
