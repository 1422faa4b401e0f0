"""What was said before, left out of what comes after: whole sentences, whatever their case and signs."""

import re

from shared.text.words import any_words

LEFT_OUT = "[…]"
"""Stands where something was left out that was said before."""
_BETWEEN_SENTENCES = re.compile(r"((?<=[.!?…;:])\s+|(?<=[。！？])|\s*\n\s*)")
_LEAST_REPEATED = 20
"""Characters; what is shorter may be said again: it costs little, and a sentence may need it."""


class PriorText:
    """What was said before, to leave it out of what comes after."""

    def __init__(self, *texts: str) -> None:
        self._words = f" {' '.join(map(_words_in, texts))} "

    def add(self, text: str) -> None:
        """Note that a text is said."""
        self._words += f"{_words_in(text)} "

    def left_of(self, text: str) -> str:
        """Return a text without the sentences that were said before, marked; empty where nothing much is left."""
        pieces = _BETWEEN_SENTENCES.split(text)
        gists = [_words_in(piece) for piece in pieces[::2]]
        is_known = [len(words) >= _LEAST_REPEATED and f" {words} " in self._words for words in gists]
        if not any(is_known):
            return text
        if sum(len(piece) for piece, known in zip(pieces[::2], is_known, strict=True) if not known) < _LEAST_REPEATED:
            return ""
        left = ""
        for nth, known in enumerate(is_known):
            # One mark for those in a row that are left out.
            if not (known and left.endswith(LEFT_OUT)):
                left += (pieces[2 * nth - 1] or " " if nth else "") + (LEFT_OUT if known else pieces[2 * nth])
        return left.strip()


def _words_in(text: str) -> str:
    return " ".join(any_words(text.casefold()))
