"""The words a text is found by: what the index keeps of it, and what is looked for of a question.

Pure functions of text. A word is kept as its stem; an identifier of code whole, and in its parts besides, so that it is
found by either; scripts that put no spaces between words in pairs of characters. How words are stored and counted is
left to the index, how much each of them says to the ranking.
"""

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from itertools import chain

import snowballstemmer

from shared.text.words import remembered

LONGEST = 40
"""Characters that are kept of a word: of the end of a hash or an address nobody asks."""
_MARKS = "\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u0900-\u0963\u0981-\u0dff\u0e31-\u0e4e"
"""Signs that belong to the letter before them, which ``\\w`` leaves out."""
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\U00020000-\U0003ffff"
_TOKEN = re.compile(rf"\d{{1,3}}(?:,\d{{3}})+\b|[\w{_MARKS}]+(?:[.'’][\w{_MARKS}]+)*")
_RUN = re.compile(rf"[{_UNSPACED}]+|[^{_UNSPACED}]+")
_IS_UNSPACED = re.compile(f"[{_UNSPACED}]")
_CONTRACTED = re.compile(r"(?:'(?:s|re|ve|ll|d|m)|n't)$")
_PART = re.compile(r"[^\W\d_]+|\d+")
_ACCENT = re.compile("[\u0300-\u036f]")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
# Chosen for stems, and so not the list of shared.text.words: with that one's "even" a question for an evening would
# lose its word, and with its "won" a question for who won.
_SAYING_NOTHING = """
    a about after again all also am an and any anything are as at be because been before being both but by can could did
    do does doing done each else ever every few for from get gets getting give gives go goes got had has have having he
    her here hers herself him himself his how i if in into is it its itself just let like make makes many may maybe me
    mention mentioned might mine more most much must my myself no nor not now of off on once one only or other our ours
    out over own please same say says said she should so some something such tell than that the their theirs them then
    there these they thing things this those through to too under until up us very was we were what when where which
    while who whom whose why will with would yes you your yours yourself talk talked remember anyone someone kind
"""


def words_of(text: str) -> tuple[str, ...]:
    """Return the words a text is found by, each once, in the order in which they first stand."""
    # Each once: most of a long text are tokens that stood there before.
    tokens = dict.fromkeys(_TOKEN.findall(text if text.isascii() else unicodedata.normalize("NFKC", text)))
    return tuple(dict.fromkeys(chain.from_iterable(map(_forms, tokens))))


def query_words(text: str) -> tuple[str, ...]:
    """Return the words to look for of a question: those that say something, or all of them where none does."""
    return tuple(word for word in words_of(text) if word not in _empty()) or words_of(text)


@remembered(most=65_536, longest=LONGEST)
def _forms(token: str) -> tuple[str, ...]:
    """Return what one token is kept as. Long ones, whole sentences of some scripts among them, are not remembered."""
    plain = _CONTRACTED.sub("", token.replace("’", "'").replace(",", ""))
    if plain.isascii() and plain.isalpha() and _HUMP.search(plain) is None:
        return tuple(_kept(_stem(plain.lower())))
    return tuple(dict.fromkeys(chain.from_iterable(map(_of_run, _RUN.findall(plain)))))


def _of_run(run: str) -> Iterator[str]:
    if _IS_UNSPACED.match(run):
        yield from (run[at : at + 2] for at in range(max(1, len(run) - 1)))
        return
    folded = run if run.isascii() else _ACCENT.sub("", unicodedata.normalize("NFKD", run))
    parts = [part for piece in _HUMP.split(folded) for part in _PART.findall(piece)]
    if len(parts) != 1:
        yield from _kept(folded.lower().strip("_.'").replace("'", ""))
    for part in parts:
        yield from _kept(_stem(part.lower()))


def _kept(word: str) -> Iterator[str]:
    """Yield a word cut to its longest, unless it is a single letter."""
    if len(word) > 1 or word.isdigit():
        yield word[:LONGEST]


def _stem(word: str) -> str:
    if not word.isascii() or not 2 < len(word) <= LONGEST:
        return word
    # Porter's, not the rougher stem of shared.text.words: stems stand in every index that was written.
    # One for each call: it keeps the word it works on, and searches run in several threads.
    return str(snowballstemmer.stemmer("porter").stemWord(word))


@lru_cache(maxsize=1)
def _empty() -> frozenset[str]:
    return frozenset(words_of(_SAYING_NOTHING))
