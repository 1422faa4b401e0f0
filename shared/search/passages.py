"""Passages: the parts of a message that are found and handed out by themselves.

Fenced code stays whole, prose is cut where it costs least: between paragraphs, else sentences, else words. What is
small is joined to its neighbour, so that a passage says something by itself. Source: seed 002, "Chunking".
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from shared.llm.calls import LAST_RESORT, estimate_tokens
from shared.search.models import PassageKind

MOST_TOKENS = 500
"""Of a passage of prose. Source: seed 002."""
MOST_CODE_TOKENS = 2000
"""Of a passage of code; a longer fence is cut between lines, because no budget would ever hold it."""
MOST_FENCES = 100
"""Of one message; what follows is cut as prose, or a message could have more passages than a search can weigh."""
_LONGEST_LANGUAGE = 40
_CHARS_PER_TOKEN = LAST_RESORT.chars_in(1)
_FENCE = re.compile(r"^[ \t]*(?P<marks>`{3,}|~{3,})[ \t]*(?P<about>[^\n]*)$", re.MULTILINE)
_LANGUAGE = re.compile(r"[\w+#-]+(?:\.[\w+#-]+)*")
_PARAGRAPH_END = re.compile(r"\n[^\S\n]*\n\s*")
_LINE_END = re.compile(r"\n+")
_SENTENCE_END = re.compile(r"(?<=[.!?…])[\"'”’»)\]]*\s+|(?<=[。！？])|\n+")
_WORD_END = re.compile(r"\s+")
_PROSE_CUTS = (_PARAGRAPH_END, _SENTENCE_END, _WORD_END)
_CODE_CUTS = (_PARAGRAPH_END, _LINE_END)


@dataclass(frozen=True)
class Span:
    """A passage; ``start`` and ``length`` are characters of the message."""

    kind: PassageKind
    language: str | None
    start: int
    length: int
    tokens: int

    def of(self, content: str) -> str:
        return content[self.start : self.start + self.length]


@dataclass(frozen=True)
class _Block:
    """A stretch of one kind, before it is cut to size."""

    kind: PassageKind
    language: str | None
    start: int
    end: int


def passages_of(content: str) -> tuple[Span, ...]:
    """Return the passages of a message; none where it is one passage of prose as a whole."""
    chunks = chunks_of(content)
    if len(chunks) == 1 and chunks[0].kind is PassageKind.PROSE:
        return ()
    return chunks


def may_have_passages(content: str) -> bool:
    """Whether a message may be more than one passage of prose; what tells for certain takes longer."""
    return len(content) > LAST_RESORT.chars_in(MOST_TOKENS) or "```" in content or "~~~" in content


def chunks_of(content: str) -> tuple[Span, ...]:
    """Return what a message consists of, in order and without overlap; white space belongs to none of it."""
    return tuple(span for block in _blocks(content) for span in _spans(content, block))


def _blocks(content: str) -> Iterator[_Block]:
    """Yield prose and fences in turn, so many at most; a fence that is never closed goes to the end."""
    at = 0
    for _ in range(MOST_FENCES):
        if (opening := _opening(content, at)) is None:
            break
        yield _Block(PassageKind.PROSE, None, at, opening.start())
        at = _end_of_fence(content, opening)
        found = _LANGUAGE.search(opening["about"])
        language = found[0].lower()[:_LONGEST_LANGUAGE] if found else None
        yield _Block(PassageKind.CODE, language, opening.start(), at)
    yield _Block(PassageKind.PROSE, None, at, len(content))


def _opening(content: str, at: int) -> re.Match[str] | None:
    for found in _FENCE.finditer(content, at):
        # A back-tick after back-ticks: code within a line, not the beginning of a fence.
        if found["marks"][0] == "~" or "`" not in found["about"]:
            return found
    return None


def _end_of_fence(content: str, opening: re.Match[str]) -> int:
    mark, length = opening["marks"][0], len(opening["marks"])
    for found in _FENCE.finditer(content, opening.end()):
        if found["marks"][0] == mark and len(found["marks"]) >= length and not found["about"].strip():
            return found.end()
    return len(content)


def _spans(content: str, block: _Block) -> Iterator[Span]:
    code = block.kind is PassageKind.CODE
    cuts, most = (_CODE_CUTS, MOST_CODE_TOKENS) if code else (_PROSE_CUTS, MOST_TOKENS)
    for start, end in _joined(content, _pieces(content, block.start, block.end, most, cuts), most):
        text = content[start:end]
        yield Span(block.kind, block.language, start, end - start, estimate_tokens(text))


def _pieces(
    content: str, start: int, end: int, most: int, cuts: tuple[re.Pattern[str], ...]
) -> Iterator[tuple[int, int]]:
    """Yield stretches that fit, cut by the first of ``cuts``, and by the next ones where that is not enough."""
    text = content[start:end]
    if not text.strip():
        return
    start, end = end - len(text.lstrip()), start + len(text.rstrip())
    if _fits(content, start, end, most):
        yield start, end
        return
    if not cuts:
        # No sign to cut at: by length alone, and each part once more for the white space at its ends.
        for at in range(start, end, most * _CHARS_PER_TOKEN):
            yield from _pieces(content, at, min(at + most * _CHARS_PER_TOKEN, end), most, cuts)
        return
    at = start
    for cut in cuts[0].finditer(content, start, end):
        yield from _pieces(content, at, cut.end(), most, cuts[1:])
        at = cut.end()
    yield from _pieces(content, at, end, most, cuts[1:])


def _joined(content: str, pieces: Iterator[tuple[int, int]], most: int) -> Iterator[tuple[int, int]]:
    """Join neighbours as long as they fit together."""
    held: tuple[int, int] | None = None
    for start, end in pieces:
        if held is not None and _fits(content, held[0], end, most):
            held = held[0], end
            continue
        if held is not None:
            yield held
        held = start, end
    if held is not None:
        yield held


def _fits(content: str, start: int, end: int, most: int) -> bool:
    return estimate_tokens(content[start:end]) <= most
