"""What a search asks for: the question as it was read, with its words, identifiers, dates and names; and its vector.

Pure functions of values. English date words only; a date without a year means its last occurrence, and a relative one
("last week") counts from now. What each match is worth is left to the ranking. Source of identifiers: seed 002.
"""

from __future__ import annotations

import json
import re
import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from shared.base.errors import AfterthoughtError
from shared.llm.calls import Meter
from shared.llm.embedding import Embedder, from_bytes
from shared.search.words import query_words

Vector = NDArray[np.float32]

_WHEN = re.compile(
    r"\b(?:when|what (?:day|date|month|year|time)|which (?:day|date|month|year)|how long ago)\b", re.IGNORECASE
)
_CODE = re.compile(
    r"```|`[^`]+`|\b(?:functions?|methods?|code|coding|snippets?|regex|stack ?trace|exceptions?|compiles?|compiler"
    r"|scripts?|sql|api|endpoints?|refactor\w*|debug\w*|import)\b",
    re.IGNORECASE,
)
_CAPITALISED = re.compile(r"(?<![\w'’])[^\W\d_a-z][^\W\d_]+(?=['’]s\b|['’]|\b)")
_SPACES = re.compile(r"\s+")


@dataclass(frozen=True)
class SearchQuestion:
    """A question as it was read."""

    text: str
    words: tuple[str, ...]
    """What is looked for; see ``shared.search.words``."""
    identifiers: frozenset[str]
    time_spans: tuple[TimeSpan, ...]
    """When it asks about."""
    asks_when: bool
    about_code: bool
    names: tuple[str, ...]
    """Capitalised words, lower case: those of them that are people's are known by who speaks in the app."""


def read_question(text: str, now: datetime) -> SearchQuestion:
    """Read a question asked ``now``."""
    identifiers = identifiers_of(text)
    return SearchQuestion(
        text=text,
        words=query_words(text),
        identifiers=identifiers,
        time_spans=time_spans_of(text, now),
        asks_when=_WHEN.search(text) is not None,
        about_code=bool(identifiers) or _CODE.search(text) is not None,
        names=tuple(dict.fromkeys(name.lower() for name in _CAPITALISED.findall(text))),
    )


def without_names(text: str, names: Iterable[str]) -> str:
    """Return a question without the names of who speaks, for the vector that is made of it.

    A name draws the vector to every turn that says it, which is mostly the other speaker's greeting. What would leave
    nothing stays as it is.
    """
    # The longest first, or "Ann" would be cut out of "Ann-Marie".
    known = sorted({name for name in names if name.strip()}, key=len, reverse=True)
    if not known:
        return text
    pattern = rf"(?<!\w)(?:{'|'.join(map(re.escape, known))})(?:['’]s)?(?!\w)"
    rest = _SPACES.sub(" ", re.sub(pattern, " ", text, flags=re.IGNORECASE)).strip()
    return rest if re.search(r"\w", rest) else text


_DAY = timedelta(days=1)
_AFTER = timedelta(days=14)
"""How long after something happened it is still talked about as news."""
_BEFORE = timedelta(days=7)
"""How long before it happens it is spoken of as a plan."""
_MONTH_NAMES = re.findall(
    r"\w+", "january february march april may june july august september october november december"
)
_MONTHS = {name[:3]: number for number, name in enumerate(_MONTH_NAMES, 1)}
_MONTH = rf"(?P<month>{'|'.join(_MONTH_NAMES)}|sept|{'|'.join(_MONTHS)})"
_YEAR = r"(?:,?\s+(?:of\s+)?(?P<year>(?:19|20)\d\d))?"
_DATE = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_BY_DAY_FIRST = re.compile(rf"\b{_DATE}\s+(?:of\s+)?{_MONTH}\b\.?{_YEAR}\b")
_BY_MONTH_FIRST = re.compile(rf"\b{_MONTH}\b\.?\s+(?:the\s+)?{_DATE}\b(?!\d){_YEAR}")
_BY_MONTH = re.compile(
    rf"\b(?:in|of|during|since|until|by|around|early|late|mid|last|this|from)[\s-]+(?:the\s+)?{_MONTH}\b{_YEAR}"
    rf"|\b(?P<month2>{'|'.join(_MONTH_NAMES)}),?\s+(?P<year2>(?:19|20)\d\d)\b"
)
_BY_SEASON = re.compile(
    rf"\b(?:(?P<last>last)|this|in(?:\s+the)?|during(?:\s+the)?|the)\s+(?P<season>spring|summer|autumn|fall|winter)\b{_YEAR}"
)
_BY_YEAR = re.compile(r"\b(?:in|of|during|since|around|for)\s+(?P<year>(?:19|20)\d\d)\b")
_BY_ISO = re.compile(r"\b(?P<year>(?:19|20)\d\d)-(?P<month>\d\d)-(?P<day>\d\d)\b")
_AGO = re.compile(
    r"\b(?P<count>\d{1,3}|a|an|one|two|three|four|five|six|few)\s+(?P<unit>day|week|month|year)s?\s+ago\b"
)
_NEAR = re.compile(r"\b(?P<word>today|yesterday|(?:last|this|past)\s+(?:week|weekend|month|year))\b")
_SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}
_COUNTS = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "few": 3}
_UNIT_DAYS = {"day": 1, "week": 7, "weekend": 7, "month": 30, "year": 365}


@dataclass(frozen=True)
class TimeSpan:
    """Time from ``start`` until before ``end``, aware."""

    start: datetime
    end: datetime


def time_spans_of(text: str, now: datetime) -> tuple[TimeSpan, ...]:
    """Return when a text speaks of, each once; a date that does not exist is passed over.

    ``now`` is as the clock of who asks shows it: days begin and end by it.
    """
    found: list[TimeSpan] = []
    # Folded, and patterns in lower case: ignoring case would take letters for months that no table of them knows.
    rest = text.casefold()
    for pattern, read in _READERS:
        for match in pattern.finditer(rest):
            found.extend(read(match, now))
        # What was read as a day is not read as a month again.
        rest = pattern.sub(" ; ", rest)
    return tuple(dict.fromkeys(found))


def fit_to_time_spans(moment: datetime, time_spans: Sequence[TimeSpan]) -> float:
    """Return how well something said at ``moment`` fits, 0..1: 1 within a stretch, less the further away."""
    return max((_fit(moment, one) for one in time_spans), default=0.0)


def _fit(moment: datetime, stretch: TimeSpan) -> float:
    if moment >= stretch.end:
        return max(0.0, 1 - (moment - stretch.end) / _AFTER)
    return max(0.0, 1 - max(stretch.start - moment, timedelta()) / _BEFORE)


def _day(match: re.Match[str], now: datetime) -> Iterator[TimeSpan]:
    month, day = _month_number(match["month"]), int(match["day"])
    for year in _years(match["year"], month, day, now):
        try:
            start = datetime(year, month, day, tzinfo=now.tzinfo)
        except ValueError:
            continue
        yield TimeSpan(start, start + _DAY)


def _month(match: re.Match[str], now: datetime) -> Iterator[TimeSpan]:
    month = _month_number(match["month"] or match["month2"])
    for year in _years(match["year"] or match["year2"], month, 1, now):
        yield _months(year, month, 1, now.tzinfo)


def _season(match: re.Match[str], now: datetime) -> Iterator[TimeSpan]:
    month = _SEASONS[match["season"].lower()]
    for year in _years(match["year"], month, 1, now):
        yield _months(year, month, 3, now.tzinfo)


def _year(match: re.Match[str], now: datetime) -> Iterator[TimeSpan]:
    yield _months(int(match["year"]), 1, 12, now.tzinfo)


def _ago(match: re.Match[str], now: datetime) -> Iterator[TimeSpan]:
    count, days = match["count"].lower(), _UNIT_DAYS[match["unit"].lower()]
    middle = now - timedelta(days=days * (_COUNTS.get(count) or int(count)))
    # Nobody counts exactly: "two weeks ago" is half a week more or less.
    yield TimeSpan(middle - timedelta(days=days) / 2, middle + timedelta(days=days) / 2)


def _near(match: re.Match[str], now: datetime) -> Iterator[TimeSpan]:
    words = match["word"].lower().split()
    today = now.replace(hour=0, minute=0, second=0, microsecond=0)
    if len(words) == 1:
        yield TimeSpan(today, today + _DAY) if words == ["today"] else TimeSpan(today - _DAY, today)
        return
    length = timedelta(days=_UNIT_DAYS[words[1]])
    yield TimeSpan(now - 2 * length, now) if words[0] == "last" else TimeSpan(now - length, now + _DAY)


def _month_number(word: str) -> int:
    return int(word) if word.isdigit() else _MONTHS[word[:3].lower()]


def _years(written: str | None, month: int, day: int, now: datetime) -> tuple[int, ...]:
    """Return the year that is written, else that of the last such date before now."""
    if written:
        return (int(written),)
    return (now.year if (month, day) <= (now.month, now.day) else now.year - 1,)


def _months(year: int, month: int, count: int, zone: tzinfo | None) -> TimeSpan:
    last = month - 1 + count
    return TimeSpan(
        datetime(year, month, 1, tzinfo=zone), datetime(year + last // 12, last % 12 + 1, 1, tzinfo=zone)
    )  # fmt: skip


_READERS = (
    (_BY_ISO, _day),
    (_BY_DAY_FIRST, _day),
    (_BY_MONTH_FIRST, _day),
    (_BY_MONTH, _month),
    (_BY_SEASON, _season),
    (_BY_YEAR, _year),
    (_AGO, _ago),
    (_NEAR, _near),
)


_LONGEST_IDENTIFIER = 100
_SUFFIXES = (
    "py|pyi|js|jsx|ts|tsx|mjs|go|rs|rb|java|kt|swift|c|h|cc|cpp|hpp|cs|php|sh|sql|html|css|json|ya?ml|toml|md|ini|cfg"
)
_COMPOUND = re.compile(
    r"\b(?:[a-z][a-z0-9]*[A-Z]\w*|[A-Z][a-z0-9]+[A-Z][a-z]\w*|[A-Za-z][A-Za-z0-9]*_\w*[A-Za-z0-9]_*|_+[A-Za-z]\w*)"
)
_CALLED = re.compile(r"\b([A-Za-z_]\w+)\(")
# Begun once a run: from every hyphen of a long one, it would be read to its end as often as it has hyphens.
_FILE = re.compile(rf"(?<![\w-])-*(\w[\w-]*\.(?:{_SUFFIXES})\b)")
_DEFINED = re.compile(r"\b(?:def|class|function|func|fn|interface|struct|enum|trait|const|let|var)\s+([A-Za-z_]\w+)")
_QUOTED = re.compile(r"(?<!`)`([A-Za-z_][\w.:-]+)(?:\(\))?`(?!`)")
_FENCE = re.compile(r"^[ \t]*(?:`{3,}|~{3,})", re.MULTILINE)
_KEYWORDS = frozenset(
    {"and", "assert", "catch", "class", "def", "elif", "except", "fn", "for", "func", "function", "if", "in", "not"}
    | {"or", "print", "return", "switch", "while", "with"}
)


def identifiers_of(text: str) -> frozenset[str]:
    """Return the identifiers of a text, lower case."""
    found = {*_COMPOUND.findall(text), *_CALLED.findall(text), *_FILE.findall(text), *_QUOTED.findall(text)}
    if _FENCE.search(text) or "`" in text:
        found.update(_DEFINED.findall(text))
    return frozenset(name.lower() for name in found if len(name) <= _LONGEST_IDENTIFIER) - _KEYWORDS


@dataclass(frozen=True)
class QueryVector:
    """The vector of a query, of unit length, and the model it was made by."""

    model: str
    vector: NDArray[np.float32]

    def likeness(self, stored: bytes | None, model: str | None) -> float | None:
        """Return the cosine with a stored vector of unit length; None where there is none that can be compared."""
        if stored is None or model != self.model or len(stored) != self.vector.nbytes:
            return None
        return float(np.dot(from_bytes(stored), self.vector))


MOST_QUERIES = 1000
"""Vectors of queries that are remembered, some 1.5 MB."""


class QueryEmbedders:
    """Embeds queries, each once; an embedder is made when it is first needed. For any number of threads.

    What was embedded lately is remembered for the app that asked, under a keyed digest: its words are kept nowhere, and
    no other app can tell by the time an answer takes that they were asked.
    """

    def __init__(self, make: Callable[[str], Embedder | None]) -> None:
        self._make = make
        self._lock = threading.Lock()
        self._made: dict[str, Embedder | None] = {}
        self._secret = secrets.token_bytes(32)
        self._vectors: OrderedDict[bytes, Future[Vector]] = OrderedDict()

    def embed(self, app_id: str, model: str, text: str, meter: Meter) -> Vector | None:
        """Return the vector of a query; None where its model cannot be had. One that is remembered costs nothing.

        Raises: as ``Embedder.embed``, also where another thread was embedding the same.
        """
        embedder = self._of(model)
        if embedder is None:
            return None
        words = json.dumps([app_id, model, text]).encode()
        key = blake2b(words, key=self._secret, digest_size=16).digest()
        with self._lock:
            known = self._vectors.get(key)
            if known is None:
                mine = self._vectors[key] = Future()
                if len(self._vectors) > MOST_QUERIES:
                    self._vectors.popitem(last=False)
            else:
                self._vectors.move_to_end(key)
        if known is not None:
            # Outside the lock, or one slow query would hold up those of every app.
            return known.result()
        try:
            vector: Vector = embedder.embed([text], meter)[0]
            mine.set_result(vector)
        except AfterthoughtError as error:
            mine.set_exception(error)
            raise
        finally:
            # Does nothing to one that has its result; nobody waits for ever for one that has none.
            if mine.cancel() or mine.exception() is not None:
                with self._lock:
                    self._vectors.pop(key, None)
        return vector

    def _of(self, model: str) -> Embedder | None:
        with self._lock:
            # Made under the lock: two threads would each load the model.
            if model not in self._made:
                self._made[model] = self._make(model)
            return self._made[model]
