"""Texts taken apart into statements that are kept whole or not at all, and put together again with every gap shown.

A statement is a sentence, an item of a list, a short block of code or a line of a long one; what leads to a list or to
code stays with the first member of it. What is put together is made of slices of the text, so that between two gaps
it is the text itself. Source: decisions, "Recorded sessions".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from types import MappingProxyType

from shared.sessions.text import head_of

GAP = "[…]"
NOTHING: Mapping[int, int] = MappingProxyType({})
_FENCE = re.compile(r"^[ \t]*(?:>[ \t]*)*(`{3,}|~{3,})(.*)$")
_ITEM = re.compile(r"^[ \t]*(?:[-*+•][ \t]+|\d{1,3}[.)][ \t]+|#{1,6}[ \t]|\||>|<|(?:[-=_*]{3,})[ \t]*$)")
_TERMINAL = re.compile(r"[.!?:;…。！？]['\"”’)\]*_`]*\s*$")
_SENTENCE_END = re.compile(
    r"[.!?…]+['\"”’)\]*_`]*(?=\s+['\"“‘„«(\[*_`#@/–—-]*[A-Z0-9À-ÖØ-ÞĀ-ſΑ-ΩА-Я぀-鿿])|[。！？][」』）]*(?=\S)"
)
_ABBREVIATION = re.compile(
    r"(?:^|[\s(\[*_\"'“])(?:e\.g|i\.e|z\.B|d\.h|u\.a|etc|vs|cf|ca|approx|resp|bzw|usw|incl|No|Nr|Mr|Mrs|Ms|Dr|Prof|St"
    r"|Fig|Sec|Vol|rev|ver|inc|ltd|jr|sr|min|max|avg|est|al|art|pp|ggf|evtl|inkl|Abs|Abb|Tel|Str|[A-Za-z]|\d{1,2})\.$",
    re.IGNORECASE,
)
_LEADS_ON = re.compile(r"[:：]['\"”’)\]*_`]*\s*$")
_WHOLE_CODE = 6
"""Lines up to which a block of code is one statement."""
_LONGEST_QUOTATION = 600
_QUOTES = (("“", "”"), ("«", "»"), ("「", "」"), ("『", "』"))
_WRAPPED = 60
"""Characters from which on a line without an end is taken to go on in the next one."""
_SAYS = re.compile(r"[^\W_]|[^\x00-\x7f]")


@dataclass(frozen=True, slots=True)
class Fence:
    """A block of code: the line that opens it, and what closes it."""

    opening: str
    marks: str
    start: int


@dataclass(frozen=True, slots=True)
class StatementSpan:
    """A part of a text that is kept whole or not at all: ``text[start:end]``."""

    start: int
    end: int
    opened: Fence | None = None
    """The code it begins in."""
    open: Fence | None = None
    """The code it ends in."""


def statements_of(text: str) -> list[StatementSpan]:
    """Return the statements of a text, in order; what has neither letter nor digit belongs to the one before."""
    found: list[StatementSpan] = []
    for one in _with_whole_code(_spans(text)):
        last = found[-1] if found else None
        says = _SAYS.search(text, one.start, one.end) is not None
        leads = last is not None and last.open is None and _LEADS_ON.search(text[last.start : last.end])
        if last is not None and (leads or (not says and last.open == one.opened)):
            found[-1] = replace(last, end=one.end, open=one.open)
        elif last is not None and not _SAYS.search(text, last.start, last.end) and last.open == one.opened:
            found[-1] = replace(one, start=last.start, opened=last.opened)
        else:
            found.append(one)
    return found


def fences_at(text: str, places: Sequence[int]) -> list[Fence | None]:
    """Return the block of code that is open at each of some places of a text, None outside; ``places``: ascending."""
    found: list[Fence | None] = []
    fence, begin = None, 0
    for line in text.splitlines(keepends=True):
        while len(found) < len(places) and places[len(found)] < begin + len(line):
            found.append(_open_behind(fence, line[: places[len(found)] - begin], begin))
        fence, begin = _open_behind(fence, line, begin), begin + len(line)
    return found + [fence] * (len(places) - len(found))


def _open_behind(fence: Fence | None, line: str, begin: int) -> Fence | None:
    """Return the block of code that is open behind a line, given the one that is open before it."""
    mark = _FENCE.match(line)
    if mark is None or fence is not None:
        is_closed = mark is not None and fence is not None and mark[1].startswith(fence.marks) and not mark[2].strip()
        return None if is_closed else fence
    # Backticks in what follows make it code within a line.
    return None if mark[1][0] == "`" and "`" in mark[2] else Fence(line.rstrip(), mark[1], begin)


def excerpt_of(
    text: str, statements: Sequence[StatementSpan], chosen: Iterable[int], cuts: Mapping[int, int] = NOTHING
) -> str:
    """Return the chosen statements of a text, with a sign wherever something is missing.

    ``chosen``: their numbers, ascending; ``cuts``: of those that do not stand whole the most characters.
    """
    written: list[str] = []
    last, fence = -1, None
    for number in chosen:
        one = statements[number]
        if number == last + 1:
            before = text[statements[last].end : one.start] if last >= 0 else text[: one.start].lstrip("\n")
            written.append(before)
        else:
            is_new_line = one.opened is not None or "\n" in text[statements[number - 1].end : one.start]
            is_within = fence is not None and statements[last + 1].opened == fence
            written.append(_gap(fence, one.opened, is_new_line, is_within, is_first=last < 0))
        said = text[one.start : one.end]
        written.append(shortened(said, cuts.get(number, len(said))))
        last, fence = number, one.open
    if last < 0 or last in cuts:
        return "".join(written)
    if last == len(statements) - 1:
        return "".join(written) + text[statements[last].end :].rstrip()
    if fence is None:
        return "".join(written) + f" {GAP}"
    is_within = statements[last + 1].opened == fence
    return "".join(written) + (f"\n{GAP}\n{fence.marks}" if is_within else f"\n{fence.marks}\n{GAP}")


def shortened(text: str, most: int) -> str:
    """Return a text whole, or its beginning up to the end of a word with a sign that something is missing."""
    return text if len(text) <= most else f"{head_of(text, max(1, most - len(GAP) - 1))} {GAP}"


def _gap(fence: Fence | None, opened: Fence | None, is_new_line: bool, is_within: bool, is_first: bool) -> str:
    if opened is not None and opened == fence:
        return f"\n{GAP}\n"
    closing = ""
    if fence is not None:
        closing = f"\n{GAP}\n{fence.marks}\n" if is_within else f"\n{fence.marks}\n{GAP}\n"
    opening = f"{opened.opening}\n" if opened else ""
    if closing:
        return f"{closing}{opening}"
    lead = "" if is_first else "\n" if is_new_line or opened else " "
    return f"{lead}{GAP}{chr(10) if is_new_line or opened else ' '}{opening}"


def _spans(text: str) -> Iterator[StatementSpan]:
    """Yield sentences, items and lines of code with where they stand, before heads are joined to what they lead to."""
    fence: Fence | None = None
    start = end = -1
    position = 0
    for line in text.splitlines(keepends=True):
        begin, position = position, position + len(line)
        body = line.strip()
        before, fence = fence, _open_behind(fence, line, begin)
        if before is not None:
            if fence is not None and body:
                yield StatementSpan(begin, begin + len(line.rstrip()), fence, fence)
            continue
        is_apart = not body or _FENCE.match(line) or _ITEM.match(line)
        if start >= 0 and (is_apart or not _goes_on(text[start:end], line)):
            yield from _sentences(text, start, end)
            start = -1
        if fence is None and body:
            start = begin if start < 0 else start
            end = begin + len(line.rstrip())
    if start >= 0:
        yield from _sentences(text, start, end)


def _with_whole_code(spans: Iterable[StatementSpan]) -> Iterator[StatementSpan]:
    """Yield statements, those of a short block of code as one: half of its steps may do harm."""
    for fence, group in groupby(spans, lambda one: one.opened):
        lines = list(group)
        is_whole = fence is not None and len(lines) <= _WHOLE_CODE
        yield from [replace(lines[0], end=lines[-1].end)] if is_whole else lines


def _goes_on(before: str, line: str) -> bool:
    """Whether a line goes on with what the text before it left open."""
    if _TERMINAL.search(before):
        return False
    last = before.rsplit("\n", 1)[-1]
    return len(last) >= _WRAPPED or line.lstrip()[:1].islower() or last.rstrip().endswith(",")


def _is_open(said: str) -> bool:
    """Whether a quotation or code within the line is not closed yet."""
    return (
        said.count('"') % 2 == 1 or said.count("`") % 2 == 1 or any(said.count(a) > said.count(b) for a, b in _QUOTES)
    )


def _sentences(text: str, start: int, end: int) -> Iterator[StatementSpan]:
    begin = start
    for match in _SENTENCE_END.finditer(text, start, end):
        said = text[begin : match.end()]
        if _ABBREVIATION.search(said[-10:]) or (len(said) < _LONGEST_QUOTATION and _is_open(said)):
            continue
        yield StatementSpan(begin, match.end())
        begin = match.end()
        while begin < end and text[begin].isspace():
            begin += 1
    if begin < end:
        yield StatementSpan(begin, end)
