"""What may stand in a memory, a fact, a summary or a proposal: one judgement of a text, whoever wrote it.

What an agent wants stored, a model's or the rules', has to have been said, by whom it is ascribed to: at least half of
its words of weight, and each name and number. It holds no secret, no order that was planted for whoever reads along,
nothing of the prompt, and says something. What a person writes is theirs to say: only secrets are refused there.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import cache, reduce

from shared.base.errors import Invalid
from shared.text.languages import ENGLISH, GERMAN, INFLECTED, empty_words, language_of, likely_language, numerals
from shared.text.secrets import has_secret
from shared.text.sentences import planted
from shared.text.words import EMPTY, MONTHS, VAGUE, WEEKDAYS, WORD, content_stems, lower, stem, undated, unfounded


class Refusal(StrEnum):
    """Why a text is not stored."""

    SECRET = "secret"
    PLANTED = "planted"
    """An order to whoever reads along, that came in with the conversation or is worded as one."""
    ECHO = "echo"
    """Words of the prompt that nobody said."""
    UNSAID = "unsaid"
    EMPTY = "empty"
    MALFORMED = "malformed"
    """Not of the form that was asked for, or too long."""
    RECALLED = "recalled"
    """What was recalled into the conversation, and is no news."""


@dataclass(frozen=True)
class Verdict:
    """Why a text is refused, and how a model is told so."""

    why: Refusal
    words: str


_ABOUT_TALK = frozenset(
    WORD.findall(
        "user users assistant conversation conversations chat chats dialogue message messages memory memories statement"
        " statements summary none nothing null nil empty unknown undefined unspecified na nan true false yes ok okay"
        " said says mentioned discussed talked spoke relevant worth keeping remember remembering remembered anything"
        " information info details"
    )
)
"""Words about a conversation, which say nothing of what was said in it, and count neither for a text nor against it."""
_DATE_WORDS = frozenset(word.lower() for word in (*MONTHS, *(month[:3] for month in MONTHS), *WEEKDAYS))
_ECHO_WORDS = 4
"""So many words of the prompt in a row are no chance."""
_SAID_SHARE = 0.5
_PLANTED_SHARE = 0.6
"""Of a text's words, so many in an order that was planted make it that order's."""
_PREFIX = 5
"""Letters in which two forms of one long word agree."""
_PIECE = 4
"""Letters of a word that stand within another: "Wagen" in "Umzugswagen"."""
_THOUSAND = 1000
_LEAST_NAME, _MOST_ENDING = 3, 4
"""Letters that two cases of a name have in common, and how many may follow them."""
_YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")
"""A day may be worked out, and the year it was said in; another year has to be said."""
_UNSPACED = re.compile(r"[぀-ヿ㐀-鿿가-힯฀-๿຀-໿က-႟ក-៿]+")
"""Scripts that part no words by spaces, or hang small words on them."""
_DAY_OR_TIME = re.compile(r"\d+\s?[年月日号時时分년월일시]")
_HIRAGANA = re.compile(r"[぀-ゟ]+")
"""Grammar of Japanese."""
_SPEAKER = re.compile(r"(?:(?<=\A)|(?<=[;.\n] )|(?<=\n))(?:User|Assistant): ")
_STATEMENT = re.compile(r"(?<=[.;!?])\s+|(?<=[。！？；])|\n+")
_CLAUSE = re.compile(rf"{_STATEMENT.pattern}|(?<=,)\s+(?:(?:and|but|so)\s+)?")
_LOOP_WORDS = 4
"""A clause of fewer words comes again without a loop: "no, no"."""
_STAMMER = re.compile(r"(?<!\w)(\w[^\n]{0,80}?)(?:[\s,;.!?-]+\1(?!\w)){2,}", re.IGNORECASE)
"""The same words three times in a row."""
Echoes = frozenset[tuple[str, ...]]
"""Rows of words of a prompt."""


class Gate:
    """Judges what an agent wants stored, against what was said."""

    def __init__(self, spoken: Iterable[str], known: Iterable[str] | None = None, prompt: Echoes = frozenset()) -> None:
        """``spoken`` is what those said to whom texts are ascribed, and their names.

        Each name and number has to be said, or ``known`` before; without that, they are judged elsewhere.

        ``prompt`` is what a model is told, as ``echoes`` gives it.
        """
        texts = [line for text in spoken for line in text.splitlines()]
        self._orders = [content_stems(order) for text in texts for order in planted(text)]
        # Without orders that were planted: what only they say was said by nobody.
        lines = (reduce(lambda line, order: line.replace(order, " "), planted(text), text) for text in texts)
        self._spoken = lower("\n".join(lines))
        self._prompt = prompt
        self._words = words = frozenset(WORD.findall(_UNSPACED.sub(" ", self._spoken)))
        self._prefixes = frozenset(word[:length] for word in words for length in (_PREFIX, max(_PIECE, len(word) - 1)))
        source = "\n".join([self._spoken, *(known or ())])
        self._language = ENGLISH if known is None else likely_language(source)
        # Of more than one word: "veintiún años", "treinta y uno".
        counted = numerals(self._language).items()
        numbers = [str(number) for word, number in counted if (word in self._spoken if " " in word else word in words)]
        thousand = next((word[:_LEAST_NAME] for word, number in counted if number == _THOUSAND), "\n")
        numbers += [f"{number}000" for word, number in counted if f"{word} {thousand}" in self._spoken]
        self._source = None if known is None else "\n".join([source, *numbers])
        self._stems = frozenset((*(stem(_bare(word)) for word in words), *numbers))

    def judge(self, text: str) -> Verdict | None:
        """Say why a text may not be stored; None where it may."""
        # First, because what is found wrong below is quoted.
        if has_secret(text):
            return Verdict(Refusal.SECRET, "holds a password, a key, or the number of an account or card")
        words = content_stems(text)
        is_order = words and any(len(words & order) >= _PLANTED_SHARE * len(words) for order in self._orders)
        is_planted = bool(is_order or planted(_SPEAKER.sub("", text)))
        if is_planted:
            return Verdict(Refusal.PLANTED, "repeats an order that was planted in the conversation")
        # A row that was said is no echo, though the prompt has it too.
        rows = [row for row in _rows(text) if row in self._prompt]
        is_echo = bool(rows) and not set(rows) <= frozenset(_rows(self._spoken))
        if is_echo:
            return Verdict(Refusal.ECHO, "repeats the instructions, and not what was said")
        if not weighty_words(text):
            return Verdict(Refusal.EMPTY, "says nothing")
        if made_up := self.invented(text):
            return Verdict(Refusal.UNSAID, f"says {', '.join(made_up[:3])}, which nobody said")
        return None if self.holds(text) else Verdict(Refusal.UNSAID, "says in other words what nobody said in these")

    def complaint(self, texts: Iterable[str]) -> str | None:
        """Say why the first of a list may not be stored, where none of it may."""
        verdicts = [self.judge(unlooped(text)) for text in texts]
        return verdicts[0].words if verdicts and verdicts[0] and all(verdicts) else None

    def invented(self, text: str) -> list[str]:
        """Return the names, numbers and years of a text that neither were said nor are known."""
        if self._source is None:
            return []
        names = unfounded(text, self._source)
        if self._language == GERMAN:
            # All nouns are written as names are: "Monaten" where "Monate" was said is none.
            names = [name for name in names if not (name.isalpha() and self._is_said(lower(name)))]
        elif self._language in INFLECTED:
            names = [name for name in names if not (name.isalpha() and self._has_case_of(lower(name)))]
        return names + [year for year in _YEAR.findall(text) if year not in self._source]

    def _has_case_of(self, name: str) -> bool:
        """Whether a word was said or is known that differs from a name only in its end."""
        begins = name[: max(_LEAST_NAME, len(name) - 2)]
        others = WORD.findall(self._source or "")
        return any(word.startswith(begins) and len(word) - len(begins) <= _MOST_ENDING for word in others)

    def touches(self, text: str) -> bool:
        """Whether any word of weight of a text was said."""
        return any(map(self._is_said, weighty_words(text, self._language)))

    def holds(self, text: str) -> bool:
        """Whether at least half of the words of weight of a text were said."""
        return self.share_of(text) >= _SAID_SHARE

    def share_of(self, text: str) -> float:
        """Return of how many of the words of weight of a text it is true that they were said, 0..1; 1 of none."""
        words = weighty_words(text, self._language)
        return sum(map(self._is_said, words)) / len(words) if words else 1.0

    def says_all(self, text: str) -> bool:
        """Whether every word of weight, name and number of a text was said."""
        return self.share_of(text) == 1.0 and not self.invented(text)

    def _is_said(self, word: str) -> bool:
        if _UNSPACED.fullmatch(word):
            return word in self._spoken
        if word in self._words or stem(word) in self._stems or word.removesuffix("s") in self._words:
            return True
        if len(word) >= _PREFIX and {word[:_PREFIX], word[:-1]} & self._prefixes:
            return True
        # Within another word, as "Wagen" is in "Umzugswagen".
        if word.isascii():
            return len(word) >= _PIECE and word.isalpha() and word in self._spoken
        return any(word[at : at + _PIECE] in self._spoken for at in range(max(1, len(word) - _PIECE + 1)))


def echoes(texts: Iterable[str]) -> Echoes:
    """Return the rows of words by which what a model is told is known again."""
    return frozenset(row for text in texts for row in _rows(text))


def unlooped(text: str) -> str:
    """Return a text up to where a statement of it comes again, or two clauses, and what it stammers once."""
    text = _STAMMER.sub(r"\1", text)
    again = [at for at, _ in _repeated(text, _STATEMENT)][:1]
    # One clause may well be said of two things: "Mondays, only after nine o'clock, Thursdays, only after nine o'clock".
    clauses = [at for at, words in _repeated(text, _CLAUSE) if words >= _LOOP_WORDS]
    again += clauses[:1] if len(clauses) > 1 else []
    return text[: min(again)].rstrip(" ;,") if again else text


def _repeated(text: str, cuts: re.Pattern[str]) -> Iterator[tuple[int, int]]:
    """Yield where a part of a text begins that stands in it before, and of how many words it is."""
    seen: set[tuple[str, ...]] = set()
    start = 0
    for end in (*(cut.end() for cut in cuts.finditer(text)), len(text)):
        words = tuple(WORD.findall(text[start:end].lower()))
        if words and words in seen:
            yield start, len(words)
        seen.add(words)
        start = end


def weighty_words(text: str, language: str = ENGLISH) -> list[str]:
    """Return the words of a text that say something, each once, without days and times, which may be worked out.

    Of scripts without spaces every two characters that follow each other. ``language`` is that of the talk it is of: a
    fact of five words is too short to tell it by.
    """
    plain = lower(undated(_DAY_OR_TIME.sub(" ", text)))
    grammar = _weightless(language_of(text), language)
    spaced = (_bare(word) for word in WORD.findall(_UNSPACED.sub(" ", plain)))
    pairs = (run[at : at + 2] for run in _UNSPACED.findall(plain) for at in range(max(1, len(run) - 1)))
    found = [word for word in spaced if word not in grammar]
    found += [pair for pair in pairs if not (len(pair) == 2 and _HIRAGANA.fullmatch(pair))]
    # "Needs" and "likes" are how a thing is told, and weigh only where nothing else does; so do forms of Japanese.
    heavy = [word for word in found if word not in VAGUE and not _HIRAGANA.search(word)]
    if not heavy and language != ENGLISH:
        return weighty_words(text)
    return list(dict.fromkeys(heavy or found))


@cache
def _weightless(*languages: str) -> frozenset[str]:
    # The words of grammar of a language are several hundred, and every text is asked about many times.
    return frozenset().union(EMPTY, _ABOUT_TALK, _DATE_WORDS, *map(empty_words, languages))


def refuse_secret(text: str, what: str) -> None:
    """Let nobody store a secret by hand. Raises: Invalid, which begins with ``what`` holds it."""
    if has_secret(text):
        raise Invalid(
            f"{what} holds a password, a key, or the number of an account or card. Memory keeps none, as it is shown "
            "to models: leave it out, and keep it in a password manager.",
            code="secret",
        )


def _rows(text: str) -> Iterator[tuple[str, ...]]:
    words = WORD.findall(lower(text))
    return (tuple(words[at : at + _ECHO_WORDS]) for at in range(len(words) - _ECHO_WORDS + 1))


def _bare(word: str) -> str:
    """Return a word without what hangs on it: "Asta's", "20th"."""
    return re.sub(r"(?<=\d)(?:st|nd|rd|th)$", "", re.split(r"['’]", word, maxsplit=1)[0])
