"""Which language a text is in, and the words of grammar that say nothing in it.

English has lists of its own in ``shared.text.words``; the stop words of the others come from stopwords-iso. Told by the
stop words, Japanese and Chinese by their characters; what is told by neither counts as English.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import cache

import stopwordsiso

from shared.text.remembering import remembered
from shared.text.words import EMPTY, SPEAKING_OF_SELF, WORD, word_set, word_tuple

ENGLISH = "en"
GERMAN = "de"
_TOLD_APART = word_tuple("de fr es it pt nl sv da no fi pl cs hu ro tr ru uk el")
"""Those written with spaces; more would be taken for one another."""
_KANA, _HAN = re.compile(r"[぀-ヿ]"), re.compile(r"[㐀-鿿]")
_LEAST_SHARE = 0.3
"""Of a text's words, so many are its language's stop words; measured, real chats have 0.4 to 0.6."""
_SELF = {
    "de": "ich mich mir mein meine meinen meinem meiner wir uns unser unsere unseren",
    "fr": "je j m moi mon ma mes nous notre nos on",
    "es": "yo me mi mis mí nos nosotros nuestro nuestra soy tengo estoy vivo trabajo quiero prefiero necesito voy",
    "it": "io mi mio mia miei mie noi ci nostro nostra sono ho lavoro vivo voglio preferisco",
    "pt": "eu me meu minha meus minhas nós nosso nossa sou tenho estou moro trabalho quero prefiro",
    "nl": "ik mij me mijn wij we ons onze",
}


@cache
def empty_words(language: str) -> frozenset[str]:
    """Return the words of grammar of a language, in lower case."""
    return EMPTY if language == ENGLISH else frozenset(stopwordsiso.stopwords(language)) if language else frozenset()


@cache
def words_of_self(language: str) -> frozenset[str]:
    """Return the words with which speakers mean themselves."""
    return SPEAKING_OF_SELF if language in (ENGLISH, "") else word_set(_SELF.get(language, ""))


@remembered(most=4096, longest=1_000)
def language_of(text: str) -> str:
    """Return the language of a text as its two letters; English for one too short to tell."""
    if len(_KANA.findall(text)) * 10 > len(text):
        return "ja"
    if len(_HAN.findall(text)) * 5 > len(text):
        return "zh"
    words = [part for word in WORD.findall(text.lower()) for part in word.replace("’", "'").split("'")]
    # Each word is looked up once for each language, however often it stands there.
    times = Counter(words)
    counted = {
        code: sum(times[word] for word in empty_words(code).intersection(times)) for code in (ENGLISH, *_TOLD_APART)
    }
    best = max(counted, key=lambda code: (counted[code], code == ENGLISH))
    return best if counted[best] >= max(3, _LEAST_SHARE * len(words)) else ENGLISH
