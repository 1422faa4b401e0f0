"""What a statement is: worth keeping, a durable fact, and of which sort.

A linear model over character n-grams and over pieces of words, the same for every language: no list of words decides.
What a piece weighs follows from its place among all words, as an embedding model has it, so that "phlebotomist" is
understood by "nurse". ``python -m ops.train`` makes the weights out of ops/training, whose README is their card: who
wrote the data, how labels were decided, what they cannot do. About 0.2 ms a statement.
"""

from __future__ import annotations

import re
import unicodedata
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from shared.text.words import remembered

PLACES = 1 << 15
"""Rows of weights that n-grams are hashed to; four times as many told no more."""
LONGEST_GRAM = 4
_READ = 400
"""Characters of a statement that are looked at."""
_FULL_STOPS = " .。．।۔!！"
"""At the end of a statement they tell how somebody types, and nothing of what is said."""
_DOUBT = 3
"""Power of "keep" in what a statement is worth: of one to four the best in 89 labelled chats of two writers."""
_REAL, _OWN, _STATED = 2, 8, 4
"""From one half on, the share of fiction makes it doubtful that a statement is true of anybody; from seven eighths on,
that of material ("Ingredients: hazelnuts, sugar"), as people write tickets and lines of logs themselves; from three
quarters on, that of a question."""
WEIGHTS = Path(__file__).with_name("classifier.npz")


class StatementType(StrEnum):
    """What a statement is; the values are the letters of the training data."""

    HARM = "H"
    """What harms if it is forgotten: an allergy, an illness, a diet, a fear, a limit."""
    WISH = "W"
    """How somebody wants to be served from now on."""
    CHANGE = "C"
    """A correction, or what is no longer as it was."""
    PLAN = "P"
    DECISION = "D"
    """A decision, a result, the state of a project."""
    IDENTITY = "I"
    """A name, job, place, belongings."""
    RELATIVE = "R"
    """About another person or animal of theirs."""
    NEED = "N"
    """A request whose content matters later."""
    LIKE = "L"
    QUESTION = "Q"
    TALK = "T"
    MATERIAL = "M"
    """What another wrote."""
    FICTION = "F"


_WORTH = {
    StatementType.HARM: (3.0, 10),
    StatementType.WISH: (2.0, 8),
    StatementType.CHANGE: (1.6, 7),
    StatementType.DECISION: (1.5, 7),
    StatementType.PLAN: (1.4, 7),
    StatementType.RELATIVE: (1.3, 6),
    StatementType.IDENTITY: (1.2, 6),
    StatementType.NEED: (1.0, 5),
    StatementType.LIKE: (1.0, 5),
}
"""What a statement of a sort counts beside others, and its importance 0..10. Of the rest none is kept."""
_NEVER = frozenset((StatementType.QUESTION, StatementType.TALK, StatementType.MATERIAL, StatementType.FICTION))
OUTPUTS = ("keep", "fact", *StatementType)


@dataclass(frozen=True)
class Judgement:
    """What a statement is taken for; probabilities 0..1, those of the sorts sum to 1."""

    keep: float
    """That it is worth a place in the memory of its talk."""
    fact: float
    """That it is a durable fact about the speaker or theirs."""
    sorts: Mapping[StatementType, float]

    @property
    def sort(self) -> StatementType:
        """The likeliest sort of those that are kept; of the rest, where it is not to be kept."""
        fit = [one for one in StatementType if (one not in _NEVER) == (self.keep >= 0.5)]
        return max(fit, key=lambda one: self.sorts[one])

    @property
    def change(self) -> float:
        """That it corrects something, or says that it has changed."""
        return self.sorts[StatementType.CHANGE]

    def combined_with(self, other: Judgement) -> Judgement:
        """Return what two readings of one statement come to; what only one of them is sure of is doubtful."""
        sorts = {sort: (share + other.sorts[sort]) / 2 for sort, share in self.sorts.items()}
        return Judgement((self.keep * other.keep) ** 0.5, (self.fact * other.fact) ** 0.5, sorts)

    @property
    def is_sure_harm(self) -> bool:
        """Whether it is a harm beyond doubt."""
        return self.sorts[StatementType.HARM] >= SURE_HARM

    @property
    def worth(self) -> float:
        """What it counts in a memory beside other statements, 0..3; doubt makes it less."""
        shares = {sort: self.sorts[sort] for sort in _WORTH}
        return self.keep**_DOUBT * sum(share * _WORTH[sort][0] for sort, share in shares.items()) / sum(shares.values())

    @property
    def importance(self) -> int:
        """How much it matters to whoever comes back, 1..10."""
        return _WORTH[self.sort][1] if self.sort in _WORTH else 1


def places_of(text: str) -> NDArray[np.int64]:
    """Return the rows of a text's n-grams, each once: shape (n,), ascending."""
    # A space at both ends, so that n-grams tell where a statement begins and ends.
    line = f" {' '.join(text[:_READ].lower().split()).rstrip(_FULL_STOPS)} "
    grams = {line[at : at + length] for length in range(1, LONGEST_GRAM + 1) for at in range(len(line) - length + 1)}
    # Not Python's own hash, which is another one in each process.
    return np.unique([zlib.crc32(gram.encode("utf-8", "replace")) & (PLACES - 1) for gram in grams]).astype(np.int64)


def shares_of(rarity: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return what each n-gram of one text counts, of length 1 together: shape (n,)."""
    return rarity / (np.linalg.norm(rarity) or 1.0)


_WORD_OR_MARK = re.compile(r"[^\W_]+|[^\w\s]")
_LONGEST_PIECE = 18
INNER = "##"
"""Before a piece that goes on with a word, as vocabularies of WordPiece write it."""


def pieces_of(text: str, vocabulary: Mapping[str, int]) -> list[int]:
    """Return the numbers of the pieces a text is made of, the longest first at each place; what is none is left out."""
    # Without accents, as the vocabulary is.
    plain = "".join(
        one for one in unicodedata.normalize("NFKD", text[:_READ].lower()) if not unicodedata.combining(one)
    )
    found: list[int] = []
    for word in _WORD_OR_MARK.findall(plain):
        at = 0
        while at < len(word):
            ends = range(min(len(word), at + _LONGEST_PIECE), at, -1)
            known = ((vocabulary.get((INNER if at else "") + word[at:end]), end) for end in ends)
            number, at = next(((one, end) for one, end in known if one is not None), (None, at + 1))
            found += [] if number is None else [number]
    return found


def whole_of(lengths: NDArray[np.float32]) -> float:
    """Return what the pieces of a text count together, given what each does, so that long texts weigh no more."""
    # As if no two pointed the same way, so that it follows from their lengths alone.
    return float(np.linalg.norm(lengths)) or 1.0


_HARM = 0.15
"""From this share on a fact is told whatever is asked: a place taken for nothing costs less than a harm untold."""
SURE_HARM = 0.5
"""From this share on it is one beyond doubt."""
_OWNER = 2
"""Words before what a relative has: "her son is ..."."""


@remembered(most=8192, longest=200)
def states_harm(fact: str) -> bool:
    """Whether a fact states what harms if it is forgotten, of the user's or of another person's."""
    return judge(fact).sorts[StatementType.HARM] >= _HARM or _harm_of_another(fact).sorts[StatementType.HARM] >= _HARM


def with_harm_of_another(text: str, judged: Judgement) -> Judgement:
    """Return what a statement is taken for; a harm of another's, "her son is allergic to eggs", is a harm too."""
    of_another = _harm_of_another(text)
    is_harm = of_another.is_sure_harm and not judged.is_sure_harm
    return Judgement(judged.keep, judged.fact, of_another.sorts) if is_harm else judged


def _harm_of_another(text: str) -> Judgement:
    words = text.split()
    return judge(" ".join(words[_OWNER if len(words) > _OWNER + 1 else 0 :]))


ASKS = ("?", "？", "؟")


def asks(text: str) -> bool:
    """Whether a text ends as a question does, within quotation marks or brackets too."""
    return text.rstrip("\"'”’) ").endswith(ASKS)


_QUOTES = '"“„«「『'
_CODE = re.compile(r"[\t{}<>|=]")
_NAME = re.compile(r"(?<=.)\b[^\W\d_a-z]\w+")
_WORD = re.compile(r"\w+")


def traits_of(text: str, is_answer: bool, in_fiction: bool) -> NDArray[np.float32]:
    """Return the plain features of a statement, 0 or 1 each: shape (m,)."""
    line, words = text.strip(), _WORD.findall(text)
    # In the order of the stored weights.
    return np.array(
        [
            asks(line),
            any(mark in line[:-1] for mark in ASKS),
            any(map(str.isdigit, line)),
            len(words) <= 3,
            len(line) <= 15,
            len(line) > 100,
            is_answer,
            in_fiction,
            any(character > "\U0001f300" for character in line),
            line[:1] in ("*", "(", "["),
            line[:1] in tuple(_QUOTES),
            any(mark in line for mark in _QUOTES),
            _CODE.search(line) is not None,
            line[:1].isupper(),
            _NAME.search(line) is not None,
            line.isupper(),
        ],
        dtype=np.float32,
    )


@dataclass(frozen=True)
class _Model:
    grams: NDArray[np.int8]
    """Shape (PLACES, outputs)."""
    scales: NDArray[np.float32]
    """Shape (outputs,): what one step of ``grams`` weighs."""
    rarity: NDArray[np.float32]
    """Shape (PLACES,): what an n-gram counts; those that stand everywhere count little."""
    vocabulary: Mapping[str, int]
    pieces: NDArray[np.int8]
    """Shape (pieces, outputs)."""
    piece_scales: NDArray[np.float32]
    lengths: NDArray[np.float32]
    """Shape (pieces,): what a piece counts; that is the more, the rarer it is."""
    traits: NDArray[np.float32]
    """Shape (traits, outputs)."""
    bias: NDArray[np.float32]


@cache
def _model() -> _Model:
    with np.load(WEIGHTS, allow_pickle=False) as stored:
        words = stored["vocabulary"].tobytes().decode().split("\n")
        return _Model(
            rarity=stored["rarity"].astype(np.float32),
            lengths=stored["lengths"].astype(np.float32),
            vocabulary={word: number for number, word in enumerate(words)},
            **{name: stored[name] for name in ("grams", "scales", "pieces", "piece_scales", "traits", "bias")},
        )


def judge(text: str, is_answer: bool = False, in_fiction: bool = False) -> Judgement:
    """Return what a statement is taken for.

    ``is_answer``: it answers a question of the assistant's; ``in_fiction``: a story is told or played around it.
    """
    model, places = _model(), places_of(text)
    gram_scores = shares_of(model.rarity[places]) @ model.grams[places] * model.scales
    numbers = pieces_of(text, model.vocabulary)
    piece_scores = model.pieces[numbers].sum(axis=0) * model.piece_scales / whole_of(model.lengths[numbers])
    scores = gram_scores + piece_scores + traits_of(text, is_answer, in_fiction) @ model.traits + model.bias
    shares = np.exp(scores[2:] - scores[2:].max())
    shares /= shares.sum()
    sorts = dict(zip(StatementType, shares.tolist(), strict=True))
    # The words of what is made up are those of real statements; that it is made up is told by its sort.
    # "What should I drink 27 November 2026?" has a date in it, and asks all the same.
    asked, material = sorts[StatementType.QUESTION], sorts[StatementType.MATERIAL]
    real = min(1.0, _REAL * (1 - sorts[StatementType.FICTION]), _OWN * (1 - material), _STATED * (1 - asked))
    keep, fact = (real / (1 + np.exp(-scores[:2]))).tolist()
    return Judgement(keep, fact, sorts)
