"""What is said again: texts that say the same, how often something was said, and what of a text was said before.

Texts say the same where their words are the same, whatever the case and the signs between them.
"""

from __future__ import annotations

import re
from functools import reduce

import numpy as np
from sqlalchemy.orm import Session

from shared.indexing.word_index import look, postings_in
from shared.indexing.words import words_of
from shared.retrieval.scope import Places, Scope

LEFT_OUT = "[…]"
"""Stands where something was left out that was said before."""
_LONGEST = 400
"""Characters; a longer text says the same only where it is the same."""
_COMMON = 20_000
"""A word that stands in more messages of an app than this does not say where a text stands."""
_WORD = re.compile(r"\w+")
_BETWEEN = re.compile(r"((?<=[.!?…;:])\s+|(?<=[。！？])|\s*\n\s*)")
_LEAST_CHARS = 20
"""What is shorter may be said again: it costs little, and a sentence may need it."""


def gist(text: str) -> str:
    """Return what texts that say the same have in common."""
    if len(text) > _LONGEST:
        return text
    return " ".join(_WORD.findall(text.casefold())) or text.strip()


def places_of(session: Session, app_id: str, text: str, scope: Scope) -> Places:
    """Return where all words of a text stand in one message, within a scope; none where its words do not tell."""
    found = postings_in(look(session, app_id), words_of(text), _COMMON)
    known = [places for places in found.values() if places is not None]
    places = reduce(np.intersect1d, known) if known else np.zeros(0, np.int64)
    return places[scope.holds(places)]


class Said:
    """What was said before, to leave it out of what comes after."""

    def __init__(self, *texts: str) -> None:
        self._gists = f" {' '.join(' '.join(_WORD.findall(text.casefold())) for text in texts)} "

    def add(self, text: str) -> None:
        """Note that a text is said."""
        self._gists += f"{' '.join(_WORD.findall(text.casefold()))} "

    def left_of(self, text: str) -> str:
        """Return a text without the sentences that were said before, marked; empty where nothing much is left."""
        pieces = _BETWEEN.split(text)
        again = [self._was_said(piece) for piece in pieces[::2]]
        if not any(again):
            return text
        kept = [piece for piece, known in zip(pieces[::2], again, strict=True) if not known]
        if len("".join(kept)) < _LEAST_CHARS:
            return ""
        return _joined(pieces, again)

    def _was_said(self, piece: str) -> bool:
        words = " ".join(_WORD.findall(piece.casefold()))
        return len(words) >= _LEAST_CHARS and f" {words} " in self._gists


def _joined(pieces: list[str], again: list[bool]) -> str:
    """Return the pieces and what stands between them, one mark for those in a row that are left out."""
    text = ""
    for nth, known in enumerate(again):
        if known and text.endswith(LEFT_OUT):
            continue
        text += (pieces[2 * nth - 1] or " " if nth else "") + (LEFT_OUT if known else pieces[2 * nth])
    return text.strip()
