"""Which language a text is in, and the words of grammar that say nothing in it.

English has lists of its own in ``shared.text.words``; the stop words of the others come from stopwords-iso. Told by the
stop words, Japanese and Chinese by their characters; what is told by neither counts as English.
"""

import re
from collections import Counter
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import stopwordsiso

from shared.text.words import EMPTY, NUMERALS, WORD, remembered, word_set, word_tuple

ENGLISH = "en"
GERMAN = "de"
INFLECTED = word_set("pl cs ru uk tr fi hu ro el")
"""In which names have cases: "Marzena", "Marzeny"."""
TOLD_APART = word_tuple("en de fr es it pt nl sv da no fi pl cs hu ro tr ru uk el")
"""Those written with spaces; more would be taken for one another."""
JAPANESE, CHINESE = "ja", "zh"
KNOWN = frozenset((*TOLD_APART, JAPANESE, CHINESE))
"""All that a text can be in."""
_KANA, _HAN = re.compile(r"[぀-ヿ]"), re.compile(r"[㐀-鿿]")
_LEAST_SHARE = 0.3
"""Of a text's words, so many are its language's stop words; measured, real chats have 0.4 to 0.6."""
_LIKELY_SHARE = 0.1
"""Turkish and Finnish hang much of their grammar on other words."""
_OF_SELF = word_set(
    "i me my mine myself we us our ours ourselves ich mich mir mein meine meinen meinem meiner wir uns unser unsere"
    " unseren je j m moi mon mes nous notre nos yo mi mis mí nosotros nuestro nuestra tengo estoy vivo trabajo quiero"
    " prefiero necesito voy io mio mia miei mie noi ci nostro nostra sono lavoro voglio preferisco meu minha meus"
    " minhas nós nosso nossa sou tenho moro trabalho quero ik mij mijn wij ons onze"
)
"""With which speakers mean themselves, and which are no words of another of these languages."""


@cache
def empty_words(language: str) -> frozenset[str]:
    """Return the words of grammar of a language, in lower case."""
    return EMPTY if language == ENGLISH else frozenset(stopwordsiso.stopwords(language)) if language else frozenset()


def speaks_of_self(text: str) -> bool:
    """Whether words stand in a text with which speakers mean themselves."""
    return not _OF_SELF.isdisjoint(re.findall(r"[^\W_]+", text.casefold()))


@remembered(most=4096, longest=1_000)
def language_of(text: str) -> str:
    """Return the language of a text as its two letters; English for one too short to tell."""
    return _most_like(text, _LEAST_SHARE)


@remembered(most=1024, longest=10_000)
def likely_language(text: str) -> str:
    """Return the language that a text is most like: in which its numbers are written, and its names have cases."""
    return _most_like(text, _LIKELY_SHARE)


def _most_like(text: str, least_share: float) -> str:
    if len(_KANA.findall(text)) * 10 > len(text):
        return JAPANESE
    if len(_HAN.findall(text)) * 5 > len(text):
        return CHINESE
    words = [part for word in WORD.findall(text.lower()) for part in word.replace("’", "'").split("'")]
    # Each word is looked up once for each language, however often it stands there.
    times = Counter(words)
    counted = {one: sum(times[word] for word in empty_words(one).intersection(times)) for one in TOLD_APART}
    best = max(counted, key=counted.__getitem__)
    return best if counted[best] >= max(3, least_share * len(words)) else ENGLISH


@cache
def numerals(language: str) -> Mapping[str, int]:
    """Return the number words of a language: to 31, the tens, a hundred and a thousand. Generated with num2words."""
    if language == ENGLISH:
        return {word: number for number, word in enumerate(NUMERALS)}
    lines = (Path(__file__).parent / "numerals.txt").read_text(encoding="utf-8").splitlines()
    words = next((words for name, _, words in (line.partition("\t") for line in lines) if name == language), "")
    pairs = (pair.partition("=") for pair in words.split("|") if pair)
    return {word: int(number) for number, _, word in pairs}
