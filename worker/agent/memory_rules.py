"""The built-in Memory Sub-Agent: no model, no network, the same answer every time.

It keeps the clauses that say most per character in telegraphic wording, under the name of who said them, and compacts
by what would be lost: a memory that another one wholly says goes, else the two are merged whose union loses least.
Nothing is forgotten only because it is old. Reasons count and name memories without quoting them, so that they may
outlive a purge. Source: decisions, "Memories".
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, zip_longest

from shared.llm.calls import EXTRACTIVE, Meter, Prospect, WorkKind, metered
from shared.llm.tokens import estimate_tokens
from shared.memories.compaction import NEW, Action, CompactionCandidate, Decision, is_clearly_least, refusal
from shared.text.languages import ENGLISH, language_of
from shared.text.lines import shorten
from shared.text.phrases import PhraseTable
from shared.text.words import EMPTY, MONTHS, VAGUE, WEEKDAYS, WORD, stem
from worker.agent.classifier import StatementSort, judge
from worker.agent.clauses import Clause, beginnings, clauses, plain, resolve, telegram, written
from worker.agent.pieces import (
    WEIGHTS,
    MemoryPiece,
    choose,
    fuller,
    is_untold,
    read,
    render,
    speaker_name,
    total,
    voice,
    word_count,
    word_values,
)
from worker.agent.protocol import SPOKEN_ROLES, MemoryAgent, MemoryDraft, NothingToRemember, Transcript, TranscriptTurn
from worker.agent.salience import FACTORS, IMPORTANCE, PHRASES, Sort, sort_of

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
_CONFIRMED = re.compile(
    r"^\W*(?:noted|understood|done|changed|confirmed|found it|got it|set|updated|verstanden|notiert|erledigt"
    r"|geändert|c['’]est noté"
    r"|compris|entendido|anotado|hecho|わかりました|承知)\b",
    re.IGNORECASE,
)
"""How an assistant begins to say what it understood."""
_DENIED = re.compile(
    r"^\W*(?:no|nope|wrong|that['’]?s (?:not|wrong)|nein|falsch|non|faux)\b(?! (?:problem|worries|thanks))",
    re.IGNORECASE,
)
_OFFER = re.compile(
    r"\b(?:can|could|would|should|may|might|if|let me|shall|please|once|when|never|unable|sorry)\b|n['’]t\b",
    re.IGNORECASE,
)
_MACHINE_NAME = re.compile(r"assistant|\bai\b|bot\b|gpt|llama|claude|gemini|mistral|qwen", re.IGNORECASE)
_ECHO = 0.5
"""How much more a clause counts all of whose words the answer takes up."""
_VITAL = (Sort.HARM, Sort.LIMIT, Sort.WISH)
_SHORT_ANSWER = 40
_LEAST_SAID = 2
"""Words of a statement in a language of which nothing is known."""
_CALLED = re.compile(r"^\w[^\s,،、!！.]*[,،、]\s+(?=\S+\s+\S)")
_LONG = 120
_TEMPLATE_TIMES = 3
"""A message said so often is a template's, and no statement."""
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
        if not any(piece.solid for piece in worthy):
            return NothingToRemember("only greetings, thanks or questions, nothing that was stated, decided or done")
        # What a present memory already says in full is not remembered a second time.
        remembered = [word_values(memory).keys() for memory in transcript.known]
        fresh = [one for one in worthy if not any(word_values(one.text).keys() <= said for said in remembered)]
        if not fresh:
            return NothingToRemember("everything said in it is already remembered")
        return self._written(fresh, limit)

    def _value(self, piece: MemoryPiece) -> float:
        """Return what a piece says by itself; a bare date says nothing."""
        words = word_values(piece.text, piece.language)
        return min(piece.factor, 1.0) * sum(worth for root, worth in words.items() if " " not in root)

    def _written(self, fresh: Sequence[MemoryPiece], limit: int) -> MemoryDraft:
        better = [piece for piece in fresh if self._value(piece) >= WEIGHTS.enough] or fresh
        chosen = choose(better, limit)
        if {piece.position for piece in chosen} == {piece.position for piece in better}:
            chosen = choose(fresh, limit)
        if not chosen:
            # A single piece is longer than a whole memory may be.
            best = max(better, key=self._value)
            chosen = [replace(best, text=shorten(best.text, limit - len(best.speaker) - 2), wordings=())]
        content = render(fuller(chosen, limit))
        sources = tuple(dict.fromkeys(piece.source for piece in sorted(chosen, key=lambda piece: piece.position)))
        return MemoryDraft(content, max(IMPORTANCE[piece.sort] for piece in chosen), _tags(chosen), sources)


def _pieces(turns: Sequence[TranscriptTurn], app_name: str) -> list[MemoryPiece]:
    names = frozenset(turn.name for turn in turns if turn.name)
    all_named = all(turn.name for turn in turns)
    times = Counter(turn.content for turn in turns)
    language = language_of("\n".join(turn.content for turn in turns if turn.role == "user"))
    pieces: list[MemoryPiece] = []
    asked = ""
    for turn, answer in zip_longest(turns, turns[1:]):
        question, asked = asked, _asked_about(turn, language) if turn.role != "user" else ""
        if times[turn.content] >= _TEMPLATE_TIMES:
            continue
        # Users are persons, and so is an assistant with a human name that talks to a named user.
        human = all_named and turn.name not in (None, app_name) and not _MACHINE_NAME.search(turn.name or "")
        person = turn.role == "user" or human
        if not person and answer is not None and _DENIED.search(answer.content):
            continue
        confirmed = not person and _CONFIRMED.search(turn.content) is not None
        echoed = (
            frozenset(word_values(answer.content, language)) if answer and answer.role != turn.role else frozenset()
        )
        untold = person and is_untold(turn.content, language)
        for number, clause in enumerate(clauses(turn.content)):
            sort = sort_of(clause.text, clause.asks, language)
            text = clause.text
            if untold and not question:
                # A greeting, as in any language: "안녕하세요, ...", "Merhaba! ...".
                text = _CALLED.sub("", text)
                says = word_count(text) >= _LEAST_SAID or any(character.isdigit() for character in text)
                sort = sort if says else Sort.TALK
            if person and language not in PHRASES:
                sort = _told(clause)
            if sort is Sort.TALK:
                continue
            # A bare answer ("penicillin") is what was asked for.
            answers = question and number == 0 and sort is Sort.PLAIN and len(clause.text) <= _SHORT_ANSWER
            sort = Sort.HARM if answers else sort
            factor = voice(clause.text, sort, language) if person else 0.0
            # A machine's statement counts only when it says that a thing was done or decided.
            is_said = _OUTCOME.is_in(clause.text) or (confirmed and number <= 1)
            if not person and is_said and not clause.asks and not _OFFER.search(clause.text):
                factor = 0.7
            if factor <= 0:
                continue
            full = plain(resolve(text, turn.created_at.date()), names)
            full = f"{question}: {full}" if answers else full
            words = word_values(full, language)
            if person and words and not human:
                factor *= 1 + _ECHO * len(words.keys() & echoed) / len(words)
            mark = "?" if clause.asks else ""
            full = full.rstrip("?？ ") if clause.asks else full
            whole = MemoryPiece(
                text=(telegram(full) if language == ENGLISH else full) + mark,
                speaker=speaker_name(turn) or ("User" if person else "Assistant"),
                factor=factor,
                wordings=(full + mark,),
                source=turn.message_id,
                position=len(pieces),
                language=language,
                sort=sort,
            )
            # What harms if it is forgotten is not cut: "tell every clinic" is half of an allergy.
            cuttable = sort is not Sort.HARM or len(whole.text) > _LONG
            if whole.text.strip(mark):
                pieces += [whole, *(_beginnings(whole, full) if cuttable else ())]
    return pieces


_KEPT = 0.4
"""From this probability a clause is more than talk, in languages without phrases."""
_SORTS = {
    StatementSort.HARM: Sort.HARM,
    StatementSort.WISH: Sort.WISH,
    StatementSort.CHANGE: Sort.CHANGE,
    StatementSort.DECISION: Sort.DECISION,
    StatementSort.PLAN: Sort.DECISION,
    StatementSort.IDENTITY: Sort.EVENT,
    StatementSort.RELATIVE: Sort.EVENT,
}


def _told(clause: Clause) -> Sort:
    """Return what the classifier takes a clause for; talk where it is not worth keeping."""
    judged = judge(clause.text)
    return _SORTS.get(judged.sort, Sort.PLAIN) if judged.keep >= _KEPT else Sort.TALK


def _asked_about(turn: TranscriptTurn, language: str) -> str:
    """Return the word for a limit that an assistant asks about, such as "allergies"; empty where it asks none."""
    asks = [clause.asks for clause in clauses(turn.content)]
    table = PHRASES.get(language, {}).get(Sort.HARM)
    found = table.search(turn.content) if table is not None and asks and asks[-1] else None
    # A dose or a date that is asked about is no name for what is answered.
    return found[0].lower() if found and found[0].isalpha() else ""


def _beginnings(whole: MemoryPiece, full: str) -> Iterator[MemoryPiece]:
    """Yield the clause cut short where it can be, each cut marked."""
    for head in beginnings(full):
        text = telegram(head) if whole.language == ENGLISH else head
        if sum(word_values(head, whole.language).values()) >= WEIGHTS.enough:
            yield replace(whole, text=f"{text} …", wordings=(*whole.wordings, whole.text, f"{head} …"))


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
    language = language_of(memory.content)
    pieces = []
    for piece in read(memory.content):
        sort = sort_of(piece.text, piece.text.endswith("?"), language)
        short = telegram(piece.text) if language == ENGLISH else ""
        pieces.append(
            replace(
                piece,
                factor=factor * FACTORS[sort],
                text=short or piece.text,
                wordings=(piece.text,),
                language=language,
                sort=sort,
            )
        )
    return _Read(memory, tuple(pieces), frozenset(word_values(memory.content)))


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
    content = render(fuller(best.kept, limit))
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
