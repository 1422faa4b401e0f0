"""What a version is to hold, decided before anything is written: tiers, their budgets, markers, and pieces with worth.

Pure functions of what was read and of complete settings. Prose falls into sentences, code into lines; worth is what a
piece tells for its length and by where it stands. Source: seed 004, "Weight Decay Calculation"; oracles, "Sessions".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum

from shared.llm.tokens import LAST_RESORT
from shared.sessions.blocks import BlockKind
from shared.sessions.compress.settings import CompressionSettings, KeepitMode, Tier
from shared.sessions.compress.sources import Said, SaidKind, messages_in
from shared.sessions.markers import PINNED, survives
from shared.sessions.text import names_in


@dataclass(frozen=True)
class MarkerDecision:
    """What becomes of a marked part."""

    marker_id: str
    weight: int
    survived: bool


@dataclass(frozen=True)
class CompressionPlan:
    """What is compressed, and into what."""

    settings: CompressionSettings
    gathered: tuple[Said, ...]
    """Without what is skipped, but for marked parts in it that survive."""
    tier_of: tuple[int, ...]
    """Of each of those."""
    kept: frozenset[int]
    """Places of the marked parts that survive."""
    fates: tuple[MarkerDecision, ...]
    input_tokens: int
    input_by_tier: tuple[int, ...]
    messages: int
    budgets: tuple[int, ...]
    """Tokens each tier may take."""
    last_request: frozenset[int]
    """Places of what a person asked for last."""

    @property
    def target_chars(self) -> int:
        """Characters the whole may take."""
        return LAST_RESORT.chars_in(max(1, sum(self.budgets)))

    @property
    def asked_ratio(self) -> float:
        """The ratio that all tiers together come to."""
        return self.input_tokens / max(1, sum(self.budgets))


def plan_compression(gathered: Sequence[Said], settings: CompressionSettings) -> CompressionPlan:
    """Decide on tiers, budgets and markers."""
    skipped, messages = settings.skip_first_messages, messages_in(gathered)
    tier_of = [_tier_of(said.message - skipped, messages - skipped, settings.tiers) for said in gathered]
    fates = {
        place: _decide_marker(said, settings, settings.tiers[tier_of[place]])
        for place, said in enumerate(gathered)
        if said.mark is not None
    }
    kept = {place for place, fate in fates.items() if fate.survived}
    chosen = [place for place, said in enumerate(gathered) if said.message >= skipped or place in kept]
    by_tier = _input_by_tier(gathered, tier_of, skipped, len(settings.tiers))
    again = {place: number for number, place in enumerate(chosen)}
    return CompressionPlan(
        settings=settings,
        gathered=tuple(gathered[place] for place in chosen),
        tier_of=tuple(tier_of[place] for place in chosen),
        kept=frozenset(again[place] for place in kept),
        fates=tuple(fates.values()),
        input_tokens=sum(by_tier),
        input_by_tier=tuple(by_tier),
        messages=max(0, messages - skipped),
        budgets=tuple(tokens // tier.compaction_ratio for tokens, tier in zip(by_tier, settings.tiers, strict=True)),
        last_request=_last_request([gathered[place] for place in chosen]),
    )


def _tier_of(message: int, messages: int, tiers: Sequence[Tier]) -> int:
    """Return the tier of a message by how much of the session is over with it."""
    over = 100 * (message + 1)
    return next((place for place, tier in enumerate(tiers) if over <= tier.end_percent * messages), len(tiers) - 1)


def _decide_marker(said: Said, settings: CompressionSettings, tier: Tier) -> MarkerDecision:
    assert said.mark is not None
    weight = said.mark.weight
    if settings.keepit_mode is KeepitMode.DECAY:
        survived = survives(weight, tier.aggressiveness, tier.compaction_ratio, settings.session_distance)
    else:
        survived = settings.keepit_mode is KeepitMode.PRESERVE_ALL or weight >= PINNED
    return MarkerDecision(said.mark.marker_id, weight, survived)


def _input_by_tier(gathered: Sequence[Said], tier_of: Sequence[int], skipped: int, tiers: int) -> list[int]:
    tokens = [0] * tiers
    for said, tier in zip(gathered, tier_of, strict=True):
        tokens[tier] += said.tokens if said.message >= skipped else 0
    return tokens


def _last_request(gathered: Sequence[Said]) -> frozenset[int]:
    asked = [said.message for said in gathered if said.kind is SaidKind.HUMAN]
    if not asked:
        return frozenset()
    return frozenset(
        place for place, said in enumerate(gathered) if said.kind is SaidKind.HUMAN and said.message == asked[-1]
    )


_LONGEST = 400
_FENCE = re.compile(r"^\s*(?:`{3,}|~{3,})\s*([^\s`]{0,20})")
_SENTENCE_END = re.compile(r"(?<=[^\d\s][.!?])\s+(?=[A-Z0-9\"'`(\[*À-Þ])|(?<=[。！？])")
_WORD_END = re.compile(r"\s")
_SAYS = re.compile(r"[^\W_]|[^\x00-\x7f]")
_ASIDE = re.compile(
    r"^\W*(?:now,? |next,? |first,? |ok(?:ay)?,? |great[,!.]* |perfect[,!.]* |good[,!.]* )?"
    r"(?:let me|let['’]s|i['’]ll|i will|i am going to|i['’]m going to|i need to|i should)\b"
    r"|^\W*(?:great|perfect|excellent|good|done|sure|certainly|of course|i see|you['’]re (?:absolutely )?right)\b"
    r"[^.]{0,30}[.!]*$",
    re.IGNORECASE,
)
_TELLS = re.compile(
    r"\b(?:because|root cause|caused by|due to|so that|fix(?:ed|es)?|decid\w+|instead of|rather than|switch\w*|chose"
    r"|must|never|always|important|problem|issue|bug|fail\w*|error|works?|passes|passed|todo|next step|remaining"
    r"|summary|changed|added|removed|renamed|replaced|created|updated|means|turns out|conclusion|however|but|only)\b",
    re.IGNORECASE,
)
_RULE = re.compile(
    r"\b(?:always|never|must(?:n['’]t)?|from now on|make sure|only ever|under no circumstances|prefer(?:s|red)?"
    r"|use \S+ (?:not|instead of|rather than)|\S+ instead of|stick (?:to|with)|avoid|ensure|important:)\b"
    r"|(?:^|[.,;:!(-]\s*|\b(?:please|so|and|but|you)\s+)(?:do not|don['’]t|stop)\s+\w",
    re.IGNORECASE,
)
_LONGEST_RULE = 300


class Rank(IntEnum):
    """What comes into a version before what, where there is room for both."""

    RULE = 0
    REQUEST = 1
    WORDS = 2
    REST = 3
    """Thinking, reminders and what the tool itself said."""
    ASIDE = 4
    """What only says that something follows ("Let me see."), and names nothing."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of what was said."""

    said: int
    """Its place in what was gathered."""
    text: str
    rank: Rank
    worth: float
    """Per character."""
    line: int
    """The line of its text it stands in."""
    fence: str | None = None
    """The language of the code block it stands in, which may be empty; None outside."""

    @property
    def cost(self) -> int:
        """Characters it takes, with what joins it to the next."""
        return len(self.text) + 1


_BASES = {
    SaidKind.HUMAN: 4.0, SaidKind.ASSISTANT: 1.0, SaidKind.SUMMARY: 0.9, SaidKind.DIGEST: 1.6, SaidKind.THINKING: 0.5,
    SaidKind.META: 0.2, SaidKind.SYSTEM: 0.15,
}  # fmt: skip
_RANKS = {SaidKind.THINKING: Rank.REST, SaidKind.META: Rank.REST, SaidKind.SYSTEM: Rank.REST}
_SIDECHAIN = 0.3
_CODE = 0.4
_REPEATED = 0.3
_OPENING = 3
"""Pieces at the beginning of a prompt, and as many at its end, that count whole; what is pasted lies between."""


def pieces_of(gathered: Sequence[Said]) -> list[Piece]:
    """Return the pieces of all that was said in words, in order; what was said before is worth less."""
    messages, last_of = messages_in(gathered), _concluding(gathered)
    found: list[Piece] = []
    seen = set[str]()
    for place, said in enumerate(gathered):
        if said.call is None:
            position = _position(said.message, messages) * (1.8 if place in last_of else 1.0)
            for item in _pieces_of_block(place, said, position):
                found.append(replace(item, worth=item.worth * _REPEATED) if item.text in seen else item)
                seen.add(item.text)
    return found


def _concluding(gathered: Sequence[Said]) -> frozenset[int]:
    """Return the places of the last words before a person speaks again, which say how it came out."""
    found, last = set[int](), None
    for place, said in enumerate(gathered):
        if said.kind is SaidKind.HUMAN and last is not None:
            found.add(last)
        last = place if said.kind is SaidKind.ASSISTANT and not said.is_sidechain else last
    return frozenset(found if last is None else {*found, last})


def _position(message: int, messages: int) -> float:
    if message * 10 < messages:
        return 1.3
    return 1.4 if (messages - message) * 7 <= messages else 1.0


def _pieces_of_block(place: int, said: Said, position: float) -> Iterator[Piece]:
    parts = list(_parts(said.text))
    base = _BASES[said.kind] * position * (_SIDECHAIN if said.is_sidechain else 1.0)
    base *= 1.0 if said.mark is None else 1.0 + said.mark.weight / 100
    for number, (text, line, fence) in enumerate(parts):
        middle = _OPENING <= number < len(parts) - _OPENING and said.kind is SaidKind.HUMAN
        worth = base * _cue(text, fence) * (0.35 if middle else 1.0)
        yield Piece(place, text, _rank(said, text, fence), worth, line, fence)


def _cue(text: str, fence: str | None) -> float:
    names = min(len(names_in(text)), 4)
    if fence is not None:
        return _CODE * (1 + 0.1 * names)
    told = 0.4 if _ASIDE.search(text) else 1.4 if _TELLS.search(text) else 1.0
    return told * (1 + 0.25 * names)


def _rank(said: Said, text: str, fence: str | None) -> Rank:
    if said.kind is SaidKind.HUMAN:
        return Rank.RULE if fence is None and is_rule(text) else Rank.REQUEST
    if said.digest is BlockKind.FAILURE:
        return Rank.REQUEST
    is_aside = fence is None and _ASIDE.search(text) is not None and not names_in(text)
    if is_aside:
        return Rank.ASIDE
    return _RANKS.get(said.kind, Rank.REST if said.is_sidechain else Rank.WORDS)


def is_rule(text: str) -> bool:
    """Whether a person's sentence tells how things are to be done from then on."""
    return len(text) <= _LONGEST_RULE and not text.rstrip().endswith("?") and _RULE.search(text) is not None


def _parts(text: str) -> Iterator[tuple[str, int, str | None]]:
    """Yield the pieces of a text: each with the line it stands in, and the language of its code block.

    What has neither letter nor digit tells nothing alone: brackets, rules and the like belong to what stands before.
    """
    found: list[tuple[str, int, str | None]] = []
    for piece in _split_text(text):
        said, line, fence = found[-1] if found else ("", 0, None)
        if _SAYS.search(piece[0]) or not found or fence != piece[2]:
            found.append(piece)
        else:
            found[-1] = (f"{said}{' ' if line == piece[1] else chr(10)}{piece[0]}", line, fence)
    telling = [one for one in found if _SAYS.search(one[0])]
    yield from telling or found


def _split_text(text: str) -> Iterator[tuple[str, int, str | None]]:
    fence: str | None = None
    for number, line in enumerate(text.splitlines()):
        mark = _FENCE.match(line)
        if mark is not None:
            fence = mark[1] if fence is None else None
        elif line.strip():
            pieces = [line.rstrip()] if fence is not None and len(line) <= _LONGEST else _sentences(line.strip())
            for piece in pieces:
                yield piece, number, fence


def _sentences(line: str) -> list[str]:
    return [piece for sentence in _SENTENCE_END.split(line) for piece in _chopped(sentence) if piece]


def _chopped(text: str) -> Iterator[str]:
    while len(text) > _LONGEST:
        ends = [match.start() for match in _WORD_END.finditer(text, _LONGEST // 2, _LONGEST)]
        end = ends[-1] if ends else _LONGEST
        yield text[:end].strip()
        text = text[end:].strip()
    yield text
