"""Marked parts of messages, ``##keepit0.80##`` and what follows it, and which of them survive a compression.

A part ends at the next marker, at a blank line, or at the end of the message. Code between fences is not cut open: what
begins after the marker runs on behind the fence, and a marker within a fence marks to the fence's end. So a part may
hold another marker's, inside its code; each is a part of its own.

``text[content_start:end]`` is what must survive byte for byte: white space around it belongs to the text between the
parts, but for the indentation of a part that begins on the line below its marker.
Source: seed 004, "Keepit Detection and Extraction", "Weight Decay Calculation"; decisions, "Sessions".
"""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from hashlib import sha256

from shared.base.choices import Aggressiveness
from shared.sessions.blocks import Block, BlockKind, speaker_of
from shared.sessions.compress.settings import KeepitDecay
from shared.sessions.models import CONTEXT_CHARACTERS, CONTEXT_GAP

PINNED = 100
"""Hundredths; the heaviest. It survives whatever is asked for."""

WEIGHT_PRESETS = {"PINNED": PINNED, "CRITICAL": 90, "IMPORTANT": 75, "NOTABLE": 50, "MINOR": 25, "HINT": 10}
"""Hundredths, by name."""

_PER_HUNDREDTH = 10


def threshold(aggressiveness: Aggressiveness, ratio: int, distance: int, decay: KeepitDecay | None = None) -> Fraction:
    """Return the least weight that survives, in thousandths and exact; it may lie above 1000.

    A ratio of 30 at the farthest distance adds 0.30, at half of it 0.15.
    """
    decay = decay or KeepitDecay()
    farthest = decay.max_session_distance
    # In whole numbers: binary floats decide 13 of 134 cases at the boundary wrongly.
    added = Fraction(ratio * _PER_HUNDREDTH * min(distance, farthest), farthest)
    return decay.compression_base.thousandths(aggressiveness) + added


def survives(
    weight: int, aggressiveness: Aggressiveness, ratio: int, distance: int, decay: KeepitDecay | None = None
) -> bool:
    """Return whether a part that weighs so many hundredths is kept word for word."""
    pinned = PINNED if decay is None else decay.pinned
    return weight >= pinned or weight * _PER_HUNDREDTH >= threshold(aggressiveness, ratio, distance, decay)


_SHOWN_CHARACTERS = 40
_TAG = re.compile(
    r"##keepit(?:(?P<weight>-?[0-9]{1,9}\.[0-9]{2})##|(?P<odd>[^#\n]{0,20})(?P<closed>##)?)", re.IGNORECASE
)
_WEIGHT = re.compile(r"\s*[-+]?\d[\d.,]*\s*")
_BLANK_LINE = re.compile(r"\n[ \t\r\f\v]*(?=\n)")
_FENCE = re.compile(
    r"^[ \t>]*(?:(?:[-*+]|[0-9]{1,3}[.)])[ \t]*)?(?:##keepit-?[0-9.]{1,14}##[ \t]*)*"
    r"(?P<marks>`{3,}|~{3,})(?P<rest>[^\n]*)$",
    re.IGNORECASE | re.MULTILINE,
)
_CODE_IN_LINE = re.compile(r"`[^`\n]*`")
_REST_OF_LINE = re.compile(r"[ \t\r]*\n")
_MARKED_KINDS = (BlockKind.HUMAN, BlockKind.ASSISTANT)
_OF_TOOLS = {BlockKind.TOOL_USE: "what a tool was given", BlockKind.TOOL_RESULT: "what a tool gave back"}


@dataclass(frozen=True)
class FoundMarker:
    """A marker and the part it marks, as characters of the text it was found in."""

    weight: int
    """Hundredths, 0..100."""
    content: str
    start: int
    """Where the marker itself begins."""
    content_start: int
    end: int
    context: str
    """What stands around the part."""


@dataclass(frozen=True)
class MarkerProblem:
    """Something that looks like a marker and is not taken for one, or not as it is written."""

    written: str
    reason: str
    start: int


@dataclass(frozen=True)
class PlacedMarker:
    """A marker of a session's, under an id that stays the same when the session is read again."""

    marker_id: str
    message_uuid: str
    said_at: datetime | None
    found: FoundMarker


@dataclass(frozen=True)
class _Fence:
    start: int
    """Of its marks."""
    close: int
    """Where its last line begins; the end of the text where nothing closes it."""


class _Fences:
    """The blocks of code of a text."""

    def __init__(self, text: str) -> None:
        self._fences = _fences(text)
        self._starts = [fence.start for fence in self._fences]

    def at(self, position: int) -> _Fence | None:
        """Return the one around a place."""
        index = bisect_left(self._starts, position) - 1
        return self._fences[index] if index >= 0 and position < self._fences[index].close else None


class _Limits:
    """Knows where the parts of a text's markers end at the latest."""

    def __init__(self, text: str, tags: list[re.Match[str]], fences: _Fences) -> None:
        self._length = len(text)
        self._fences = fences
        self._tags = [tag.start() for tag in tags if tag["weight"] or tag["closed"]]
        blank = (match.start() for match in _BLANK_LINE.finditer(text))
        self._outside = sorted(one for one in (*self._tags, *blank) if fences.at(one) is None)

    def limit(self, tag: re.Match[str]) -> int:
        """Return where at the latest a marker's part ends."""
        around = self._fences.at(tag.start())
        if around is None:
            return self._next(self._outside, tag.end())
        return min(self._next(self._tags, tag.end()), around.close)

    def _next(self, positions: list[int], after: int) -> int:
        index = bisect_left(positions, after)
        return positions[index] if index < len(positions) else self._length


class MarkerNames:
    """Gives a session's markers their ids. Feed it the session's blocks in order, from the first one on."""

    def __init__(self, session_id: str) -> None:
        self._session_id = session_id
        self._seen: Counter[str] = Counter()

    def of(self, block: Block) -> tuple[tuple[PlacedMarker, ...], tuple[MarkerProblem, ...]]:
        """Return the markers of a block: of people's and the assistant's own words; of other words what is wrong."""
        found, problems = find_markers(block.text)
        if block.kind in _OF_TOOLS:
            return (), tuple(misplaced(one, _OF_TOOLS[block.kind]) for one in found)
        if block.kind not in _MARKED_KINDS or block.is_sidechain:
            return (), (*problems, *(misplaced(one, speaker_of(block)) for one in found))
        return tuple(self._identified(block, one) for one in found), problems

    def _identified(self, block: Block, found: FoundMarker) -> PlacedMarker:
        number = self._seen[block.uuid]
        # Counted over the whole session: two records may have one uuid (decision 33).
        self._seen[block.uuid] += 1
        named = f"{self._session_id}\0{block.uuid}\0{number}"
        return PlacedMarker(f"k{sha256(named.encode()).hexdigest()[:20]}", block.uuid, block.at, found)


def misplaced(marker: FoundMarker, where: str) -> MarkerProblem:
    """Return what is wrong with a marker in words that neither a person nor the assistant stands for."""
    reason = f"it stands in: {where}; what a person or the assistant said can be marked"
    return MarkerProblem(f"##keepit{marker.weight / 100:.2f}##", reason, marker.start)


def find_markers(text: str) -> tuple[tuple[FoundMarker, ...], tuple[MarkerProblem, ...]]:
    """Return the markers of a text, in order, and what is wrong with those that are not well written."""
    if not (written := list(_TAG.finditer(text))):
        return (), ()
    fences = _Fences(text)
    spoken_of = _spoken_of(text, written, fences)
    tags = [tag for tag in written if tag.start() not in spoken_of]
    budget = _Limits(text, tags, fences)
    found: list[FoundMarker] = []
    problems = [
        MarkerProblem(
            tag[0][:_SHOWN_CHARACTERS], "it stands in code within a line, so it is only spoken of", tag.start()
        )
        for tag in written
        if tag.start() in spoken_of
    ]
    for tag in tags:
        marker = _found_marker(text, tag, budget.limit(tag)) if tag["weight"] else None
        found += [marker] if marker is not None else []
        problems += _problems(tag, marker)
    return tuple(found), tuple(problems)


def without_idle_marks(text: str) -> str:
    """Return a text without what is written like a mark; what is only spoken of stays, and so does code."""
    if not (written := list(_TAG.finditer(text))):
        return text
    fences = _Fences(text)
    spoken_of, shown, end = _spoken_of(text, written, fences), "", 0
    for tag in written:
        has_weight = tag["weight"] or (tag["closed"] and _WEIGHT.fullmatch(tag["odd"]))
        if has_weight and tag.start() not in spoken_of and fences.at(tag.start()) is None:
            shown, end = shown + text[end : tag.start()], tag.end() + text.startswith(" ", tag.end())
    return shown + text[end:]


def _spoken_of(text: str, tags: list[re.Match[str]], fences: _Fences) -> set[int]:
    """Return where markers begin that stand between backticks within a line, as somebody writes who explains them."""
    codes = [one.span() for one in _CODE_IN_LINE.finditer(text)]
    starts = [start for start, _ in codes]
    stops = [one.start() for one in re.finditer(r"[`\n]", text)]
    found = set()
    for tag in tags:
        index, behind = bisect_left(starts, tag.start()) - 1, bisect_left(stops, tag.end())
        is_within = index >= 0 and tag.start() < codes[index][1]
        if is_within and behind < len(stops) and text[stops[behind]] == "`" and fences.at(tag.start()) is None:
            found.add(tag.start())
    return found


def _found_marker(text: str, tag: re.Match[str], limit: int) -> FoundMarker | None:
    below = _REST_OF_LINE.match(text, tag.end(), limit)
    start = below.end() if below else tag.end()
    while not below and start < limit and text[start] in " \t\r":
        start += 1
    end = start + len(text[start:limit].rstrip())
    if end <= start:
        return None
    before = text[max(0, tag.start() - CONTEXT_CHARACTERS) : tag.start()]
    context = f"{before}{CONTEXT_GAP}{text[end : end + CONTEXT_CHARACTERS]}"
    return FoundMarker(max(0, min(_written(tag), PINNED)), text[start:end], tag.start(), start, end, context)


def _fences(text: str) -> list[_Fence]:
    fences: list[_Fence] = []
    opened: re.Match[str] | None = None
    for line in _FENCE.finditer(text):
        if opened is None:
            # Backticks in what follows make it code within a line.
            opened = None if line["marks"][0] in line["rest"] and line["marks"][0] == "`" else line
        elif line["marks"].startswith(opened["marks"]) and not line["rest"].strip():
            fences.append(_Fence(opened.start("marks"), line.start()))
            opened = None
    return fences if opened is None else [*fences, _Fence(opened.start("marks"), len(text))]


def _problems(tag: re.Match[str], marker: FoundMarker | None) -> Iterator[MarkerProblem]:
    written = tag[0][:_SHOWN_CHARACTERS]
    if not tag["weight"]:
        what = "the weight must be written as in ##keepit0.80##: one digit, a point, two digits"
        yield MarkerProblem(written, what, tag.start())
    elif marker is None:
        yield MarkerProblem(written, "nothing follows it that could be kept", tag.start())
    elif marker.weight != _written(tag):
        yield MarkerProblem(written, f"weights go from 0.00 to 1.00; taken as {marker.weight / 100:.2f}", tag.start())


def _written(tag: re.Match[str]) -> int:
    return int(tag["weight"].replace(".", ""))
