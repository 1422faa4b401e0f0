"""What a small model is asked: to shorten statements that the rules chose, each by itself.

Below some billions of parameters a model chooses badly and words well. So the classifier chooses; the model makes each
statement shorter, and a line stands only for the statement of which it says nothing else and enough. The memory holds
what it would hold without a model, and in the room that is won what comes next.
"""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Annotated

from pydantic import Field

from shared.text.classifier import StatementType, judge
from shared.text.gate import Gate, weighty_words
from shared.text.languages import ENGLISH, language_of
from shared.text.likeness import gist, reverses
from worker.agent.pieces import MemoryPiece, choose, render, words_of
from worker.agent.prompt import Answer, Prompt, at_most, bounded, ended, longest
from worker.agent.protocol import TranscriptTurn
from worker.agent.statements import NOT_TO_BE_LOST, clauses_of, is_user

SHORTEN = Prompt(
    system="""\
You shorten lines that a person said, for a notebook. Write each line as a short phrase that a stranger understands, in the person's own words and language. Keep names, numbers, dates, who it is about, and words like "not", "never", "no longer", "only", "until". Drop filler. Add no word, join no lines.""",
    user="$lines",
    examples=(
        (
            "- I get migraines from red wine, so please never ever put it into a recipe for me\n- and my coach Ines, "
            "who is from Bath, wants me to do four sessions a week until the regatta on 12 May\n- the blue boat is the "
            "one we take because the other one leaks",
            json.dumps(
                {
                    "short": [
                        "migraines from red wine, never put it into a recipe",
                        "coach Ines wants four sessions a week until the regatta on 12 May",
                        "we take the blue boat, the other one leaks",
                    ]
                }
            ),
        ),
        (
            "- so it is not port 8080 any more but 9090, the proxy needed the other one\n- I'd really like it if you "
            "answered without code comments from now on",
            json.dumps({"short": ["not port 8080 any more but 9090", "answer without code comments from now on"]}),
        ),
    ),
)
_OFFERED_CHARS = 600
"""What is offered: three times what there is room for. Measured: more is not better worded, only slower."""
_WORTH_SHORTENING = 30
"""Characters from which a line can be shortened by enough."""
_MOST_LINES = 12
SHORT_CHARS = 80
_JOINT = 2
"""Characters between two statements."""
_YEAR = re.compile(r"(?:19|20)\d\d")
_LEAST_SHARE, _LEAST_VITAL_SHARE = 0.34, 0.5
"""Of a statement's words of weight, so many have to stand in what stands for it."""


class ShortLines(Answer):
    """Lines, each shortened, in their order."""

    short: list[Annotated[str, Field(json_schema_extra=longest(SHORT_CHARS))]]


def shortening(count: int) -> type[ShortLines]:
    """Return the shape of an answer of exactly so many lines."""
    return bounded(ShortLines, short=at_most(count, count))


def lines_to_shorten(pieces: Sequence[MemoryPiece], limit: int) -> list[MemoryPiece]:
    """Return what a model is offered: the statements that matter most; none where all there is has room as it stands."""
    offered = choose(pieces, _OFFERED_CHARS)
    long = [piece for piece in offered if len(piece.text) >= _WORTH_SHORTENING]
    return long[:_MOST_LINES] if len(render(offered)) > limit else []


def shortened(lines: Sequence[str], offered: Sequence[MemoryPiece]) -> Iterator[MemoryPiece]:
    """Yield the lines that may stand for what was offered, each as the piece it stands for."""
    for at, line in enumerate(lines):
        text = ended(line, is_cut=len(line) >= SHORT_CHARS).strip(" .;,-")
        # A model that leaves out a line puts the next in its place.
        own = [*offered[at : at + 1], *offered]
        piece = next((piece for piece in own if _may_stand_for(text, piece)), None)
        if piece is not None:
            yield replace(piece, text=text)


def extended(
    chosen: Sequence[MemoryPiece], pieces: Sequence[MemoryPiece], shorter: Sequence[MemoryPiece], limit: int
) -> list[MemoryPiece]:
    """Return what the rules have chosen of ``pieces``, some of it shorter, and what then has room beside it.

    So nothing goes that would be kept without a model. What has room as it was said in the end stands so.
    """
    kept = [_shortest(own, shorter) for own in chosen]
    covered = frozenset().union(*(words_of(piece.text) for piece in kept))
    own = {piece.position for piece in chosen}
    budget = limit - len(render(kept)) - _JOINT
    more = choose([piece for piece in (*pieces, *shorter) if piece.position not in own], max(0, budget), covered)
    # The joint was only estimated: what is too long loses its last choice.
    while more and len(render([*kept, *more])) > limit:
        more.pop()
    for at, piece in enumerate(chosen):
        if len(render(whole := [*kept[:at], piece, *kept[at + 1 :], *more])) <= limit:
            kept = whole[: len(kept)]
    return [*kept, *more]


def _shortest(own: MemoryPiece, shorter: Iterable[MemoryPiece]) -> MemoryPiece:
    """Return the shortest that may stand for a piece as it was chosen, which may be a part of what was offered."""
    others = (
        one
        for one in shorter
        if one.position == own.position and Gate([one.text]).holds(own.text) and _keeps_vital(one.text, own.text)
    )
    return min((own, *others), key=lambda one: len(one.text))


def _may_stand_for(text: str, piece: MemoryPiece) -> bool:
    """Whether a text says nothing that a statement does not, denies what it denies, and holds enough of it."""
    words, statement = weighty_words(text), piece.text
    if not words or len(text) >= len(statement) or not Gate([statement], ()).says_all(text):
        return False
    # A clause may be left out whole; of those that are told, names and numbers may not.
    kept_clauses = ", ".join(clause for clause in clauses_of(statement) if Gate([clause]).touches(text))
    is_vital = piece.sort in (StatementType.HARM, StatementType.WISH, StatementType.CHANGE)
    gate = Gate([text], ())
    # The year of a day may go, which the memory has too.
    lost = [name for name in gate.invented(statement if is_vital else kept_clauses) if not _YEAR.fullmatch(name)]
    return (
        gist(text).positive == gist(kept_clauses).positive
        and not reverses(text, statement)
        and _keeps_order(words, statement)
        and _keeps_vital(text, statement)
        and not lost
        and gate.share_of(statement) >= (_LEAST_VITAL_SHARE if is_vital else _LEAST_SHARE)
    )


def _keeps_vital(text: str, statement: str) -> bool:
    """Whether a text holds each clause that must not be lost by itself: "she must never get aspirin"."""
    gate = Gate([text])
    vital = (clause for clause in clauses_of(statement) if judge(clause).importance >= NOT_TO_BE_LOST)
    return all(gate.share_of(clause) >= _LEAST_VITAL_SHARE for clause in vital)


def _keeps_order(words: Sequence[str], statement: str) -> bool:
    """Whether words come as a statement has them: what only drops words puts nobody in another's place."""
    lower = statement.lower()
    at = [lower.index(word) for word in words if word in lower]
    return at == sorted(at)


def speak_one_of(languages: frozenset[str], turns: Iterable[TranscriptTurn]) -> bool:
    """Whether users speak one of the languages."""
    text = " ".join(turn.content for turn in turns if is_user(turn))
    spoken = language_of(text)
    letters = [character for character in text if character.isalpha()]
    # What is in none of the languages that are told apart counts as English, and is none where it is not written so.
    is_latin = sum(character.isascii() for character in letters) >= _ASCII_SHARE * len(letters)
    return spoken in languages and (spoken != ENGLISH or is_latin)


_ASCII_SHARE = 0.97
