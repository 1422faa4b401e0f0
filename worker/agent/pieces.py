"""The pieces of a memory: who said what, what they are worth, and how they are written as one text and read back.

``Caroline: researching adoption agencies; single parent. Melanie: ran charity race`` is three pieces. A piece is worth
what its words are: rare words, names, numbers, dates and quoted titles count, grammar and praise do not; statements
about oneself count more. No statistics of a corpus are needed. Source: measured by ops/bench/keeping.py.
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import lru_cache

from shared.text.languages import ENGLISH, empty_words, words_of_self
from shared.text.lines import shorten
from shared.text.sentences import sentences
from shared.text.words import COMMON, EMPTY, MONTHS, SPEAKING_TO_YOU, TERM, VAGUE, WEEKDAYS, WORD, stem
from worker.agent.protocol import TranscriptTurn
from worker.agent.salience import BONUS, FACTORS, Sort

_KANA = re.compile(r"[぀-ゟ]+")
"""Japanese grammar is written in this alphabet."""
_QUOTED = re.compile(r"[\"“]([^\"”]{2,60})[\"”]")
_DATE = re.compile(rf"\b\d{{1,2}} (?:{'|'.join(MONTHS)}) \d{{4}}\b")
_DANGLING = re.compile(r"^(?:he|she|it|they|this|that|these|those|which)\b", re.IGNORECASE)
_NEGATION = re.compile(
    r"\b(?:not|no|never|without|anymore|nicht|kein\w*|nie|niemals|ohne|pas|jamais|sans|nunca|sin)\b|n['’]t\b|ない|ません",
    re.IGNORECASE,
)
"""Told apart, so that a denial is never taken for a repetition of what it denies."""
_THANKS = re.compile(r"\bthank(?:s|\b)|\bappreciate\b|\bnice to meet\b|\bglad to meet\b", re.IGNORECASE)
_DATE_WORDS = frozenset(word.lower() for word in (*MONTHS, *WEEKDAYS)) - {"may", "march"}


@dataclass(frozen=True)
class Weights:
    """What a kind of word or of sentence counts; chosen by leave-one-out over dialogues, kept round."""

    other: float = 1.0
    common: float = 0.6
    vague: float = 0.05
    name: float = 1.3
    number: float = 1.0
    date: float = 1.6
    """A whole date, or the name of a month or weekday."""
    quoted: float = 1.3
    """Factor on every word inside quotation marks."""
    about_self: float = 1.2
    about_you: float = 0.5
    question: float = 0.3
    """A question that tells of oneself; others count nothing."""
    thanks: float = 0.1
    dangling: float = 0.6
    """Begins with a pronoun whose meaning stays behind."""
    repeated: float = 0.15
    """What is left of a word that another kept clause already says."""
    least: float = 0.85
    """A piece that says less is no memory: it takes a rare word or two common ones."""
    enough: float = 1.8
    """A piece that says this much can stand among others; the lesser are for conversations with nothing better."""
    length_power: float = 0.8
    """Value is divided by length to this power: 1 is pure density, which favours fragments."""


WEIGHTS = Weights()


@lru_cache(maxsize=4096)
def word_values(text: str, language: str = ENGLISH) -> Mapping[str, float]:
    """Return the stems of a text with what each is worth."""
    found = {date.lower(): WEIGHTS.date for date in _DATE.findall(text)}
    text = _DATE.sub(" , ", text)
    quoted = {stem(word.lower()) for title in _QUOTED.findall(text) for word in WORD.findall(title)}
    if _NEGATION.search(text):
        found["not"] = WEIGHTS.vague
    for match in TERM.finditer(text):
        worth = _worth(match[0], match.start() == 0, language)
        root = stem(match[0].lower())
        if worth:
            found[root] = max(found.get(root, 0.0), worth * (WEIGHTS.quoted if root in quoted else 1.0))
    return found


@lru_cache(maxsize=8192)
def _worth(word: str, opens: bool, language: str) -> float:
    # "Anna's" is Anna, and "l'architecte" the architect.
    plain = max(re.split(r"['’]", word.lower()), key=len) if language != ENGLISH else re.split(r"['’]", word.lower())[0]
    if plain.isdigit() or any(c.isdigit() for c in plain):
        return WEIGHTS.number
    if plain in _DATE_WORDS or word in MONTHS:
        return WEIGHTS.date
    if plain in empty_words(language) or _KANA.fullmatch(plain):
        return 0.0
    if language == ENGLISH and plain in VAGUE:
        return WEIGHTS.vague
    # Every German noun has a capital.
    if word[:1].isupper() and not opens and language != "de":
        return WEIGHTS.name
    return WEIGHTS.common if plain in COMMON else WEIGHTS.other if len(plain) > 2 else WEIGHTS.common


def voice(text: str, sort: Sort, language: str = ENGLISH) -> float:
    """Return the factor for what a clause is and how it is said: of oneself, to the other."""
    spoken = {part for word in WORD.findall(text.lower()) for part in re.split(r"['’]", word)}
    to_you, of_self = bool(spoken & SPEAKING_TO_YOU), bool(spoken & words_of_self(language))
    if sort is Sort.QUESTION:
        return WEIGHTS.question if of_self and not to_you else 0.0
    factor = FACTORS[sort]
    if sort in (Sort.PLAIN, Sort.EVENT, Sort.REQUEST):
        factor *= WEIGHTS.about_you if to_you else WEIGHTS.about_self if of_self else 1.0
    factor *= WEIGHTS.thanks if _THANKS.search(text) else 1.0
    return factor * (WEIGHTS.dangling if _DANGLING.match(text) else 1.0)


def gain(words: Mapping[str, float], said: Set[str]) -> float:
    """Return what the words add to what is already said."""
    return sum(worth * (WEIGHTS.repeated if root in said else 1.0) for root, worth in words.items())


_LONGEST_NAME = 20
_LABEL = re.compile(r"(?:^|(?<=[.!?] ))([^\s:;]{1,30}(?: [^\s:;]{1,30}){0,2}): ")


@dataclass(frozen=True)
class MemoryPiece:
    """One statement of a memory."""

    text: str
    speaker: str = ""
    factor: float = 1.0
    """How much more or less than its words say it counts."""
    wordings: tuple[str, ...] = ()
    """The same in fuller words, for when there is room, the fullest first."""
    source: str = ""
    """The message it came from."""
    position: int = 0
    """Its position in what was said; of pieces that share one, the others are parts of the first."""
    language: str = ENGLISH
    sort: Sort = Sort.PLAIN

    @property
    def solid(self) -> bool:
        """Whether it is worth a memory by itself: no talk, no bare question or errand."""
        if self.sort not in (Sort.PLAIN, Sort.REQUEST, Sort.QUESTION):
            return True
        words = {root: worth for root, worth in word_values(self.text, self.language).items() if " " not in root}
        named = max(words.values(), default=0.0) > WEIGHTS.other or any(root[0].isdigit() for root in words)
        of_self = self.factor >= WEIGHTS.about_self or self.language in ("ja", "zh")
        if is_untold(self.text, self.language):
            # Whether it is of oneself cannot be told; greetings and thanks are a word or two.
            return self.sort is Sort.PLAIN and word_count(self.text) >= _STATEMENT
        return named or (self.sort is Sort.PLAIN and of_self and sum(words.values()) >= WEIGHTS.other)


_STATEMENT = 3
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]")
_LETTERS_OF_WORD = 4
"""Of scripts without spaces, about; measured on a few sentences."""


def word_count(text: str) -> int:
    """Return of how many words a text is, about; Chinese and Japanese are left to others."""
    return max(len(text.split()), len(_UNSPACED.findall(text)) // _LETTERS_OF_WORD)


def is_untold(text: str, language: str) -> bool:
    """Whether a text is in a language of whose words nothing is known here, be it taken for English for want of any."""
    if language != ENGLISH:
        return not words_of_self(language) and language not in ("ja", "zh")
    words = {word.lower() for word in WORD.findall(text)}
    is_foreign = any(not character.isascii() and character.isalpha() for character in text)
    return is_foreign and words.isdisjoint(EMPTY | VAGUE | COMMON)


def speaker_name(turn: TranscriptTurn) -> str:
    """Return the name under which what a turn says is kept; empty where it has none."""
    return shorten((turn.name or "").replace(":", " ").replace(";", " "), _LONGEST_NAME).strip(" .")


def render(pieces: Iterable[MemoryPiece]) -> str:
    """Write pieces as one text, in the order they were said, those of one speaker together."""
    said: dict[str, list[str]] = {}
    for piece in sorted(pieces, key=lambda piece: piece.position):
        said.setdefault(piece.speaker, []).append(piece.text)
    parts = [f"{speaker}: {'; '.join(texts)}" if speaker else "; ".join(texts) for speaker, texts in said.items()]
    return " ".join([*(part if part.endswith("?") else f"{part}." for part in parts[:-1]), *parts[-1:]])


def read(content: str) -> list[MemoryPiece]:
    """Read a memory back into its pieces."""
    before, *labelled = _LABEL.split(content)
    spoken = [("", before), *zip(labelled[::2], labelled[1::2], strict=True)]
    found = [
        (speaker, text)
        for speaker, part in spoken
        for sentence in sentences(part)
        for one in sentence.split("; ")
        if (text := one.strip(" ."))
    ]
    return [MemoryPiece(text, speaker, position=i) for i, (speaker, text) in enumerate(found)]


def choose(pieces: Sequence[MemoryPiece], limit: int, said: frozenset[str] = frozenset()) -> list[MemoryPiece]:
    """Choose the pieces that say most within ``limit`` characters, given what is said elsewhere.

    One after another by gain per length; a piece that no longer fits is passed over. What a piece adds only shrinks as
    others are chosen, so one that is still best when looked at again is the best of all.
    """
    chosen: list[MemoryPiece] = []
    positions: set[int] = set()
    covered = set(said)
    queue = [(-_rate(piece, covered), i) for i, piece in enumerate(pieces)]
    heapq.heapify(queue)
    while queue:
        _, i = heapq.heappop(queue)
        rate = _rate(pieces[i], covered)
        if queue and -rate > queue[0][0]:
            heapq.heappush(queue, (-rate, i))
        elif rate > 0 and pieces[i].position not in positions and len(render([*chosen, pieces[i]])) <= limit:
            chosen.append(pieces[i])
            positions.add(pieces[i].position)
            covered |= word_values(pieces[i].text, pieces[i].language).keys()
    return chosen


def _rate(piece: MemoryPiece, covered: set[str]) -> float:
    return _worth_of(piece, covered) / float((len(piece.text) + 2) ** WEIGHTS.length_power)


def _worth_of(piece: MemoryPiece, covered: set[str]) -> float:
    worth = piece.factor * gain(word_values(piece.text, piece.language), covered)
    return worth + BONUS.get(piece.sort, 0.0) if worth > 0 else worth


def total(pieces: Iterable[MemoryPiece], said: frozenset[str] = frozenset()) -> float:
    """Return what pieces say together, beyond what is said elsewhere."""
    covered = set(said)
    worth = 0.0
    for piece in pieces:
        words = word_values(piece.text, piece.language)
        worth += _worth_of(piece, covered)
        covered |= words.keys()
    return worth


def fuller(chosen: Sequence[MemoryPiece], limit: int) -> list[MemoryPiece]:
    """Give pieces back their fuller wording where there is room, the first chosen first."""
    texts = list(chosen)
    for i, piece in enumerate(chosen):
        for wording in piece.wordings:
            longer = [*texts[:i], replace(piece, text=wording), *texts[i + 1 :]]
            if len(wording) > len(piece.text) and len(render(longer)) <= limit:
                texts = longer
                break
    return texts
