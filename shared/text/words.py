"""English words by how much they say, months and weekdays, and rough stems.

Written by hand for conversations. Words of other languages are in no list and count in full, so that a conversation in
another language is still remembered, only less selectively.

Remembers what was found out about short texts; of long ones thousands would be kept in memory, whole.
"""

import re
from collections.abc import Callable
from functools import lru_cache, wraps
from pathlib import Path
from typing import TypeVar

Answer = TypeVar("Answer")


def remembered(most: int, longest: int) -> Callable[[Callable[[str], Answer]], Callable[[str], Answer]]:
    """Have a function of a text remember its last ``most`` answers, but for texts above ``longest`` characters."""

    def remembering(compute: Callable[[str], Answer]) -> Callable[[str], Answer]:
        known = lru_cache(maxsize=most)(compute)
        return wraps(known)(lambda text: known(text) if len(text) <= longest else compute(text))

    return remembering


_ANY_WORD = re.compile(r"\w+")
_ASCII_WORDS = bytes(code if chr(code).isalnum() or chr(code) == "_" else ord(" ") for code in range(128)).ljust(256)


def any_words(text: str) -> list[str]:
    r"""Return the words of a text, whatever they say, as ``\w+`` finds them."""
    # A context cuts thousands of sentences; of plain letters this takes a third of the time of the expression.
    if text.isascii():
        return text.encode().translate(_ASCII_WORDS).decode().split()
    return _ANY_WORD.findall(text)


def word_tuple(listed: str) -> tuple[str, ...]:
    """Return words that are listed in one text."""
    return tuple(listed.split())


def word_set(listed: str) -> frozenset[str]:
    """Return the set of words that are listed in one text."""
    return frozenset(listed.split())


EMPTY = word_set(
    """
    a about after again all also although am an and any are aren as at be because been before being but by can cannot
    could couldn did didn do does doesn doing don down during each either else even ever every for from further get gets
    getting got had hadn has hasn have haven having he her here hers herself him himself his how i if in into is isn it
    its itself just ll let lets may maybe me might mine more most much must my myself neither no nor not now of off oh
    on once one ones only onto or other others our ours ourselves out over own per perhaps re s same shall she should
    shouldn since so some such t than that the their theirs them themselves then there these they this those though
    through to too toward towards under until up upon us ve very via was wasn we well were weren what when where whether
    which while who whom whose why will with within without won would wouldn yet you your yours yourself yourselves d m
    im ive dont didnt cant
    """
)
"""Grammar: worth nothing."""

VAGUE = word_set(
    """
    absolutely actually agree ah alright always amazing anyway anything anyone apart appreciate around aw aww awesome
    away bad basically beautiful best better bet big bit bless bring bringing brings bro bunch bye came care caring
    check cheer cheering cheers chat chatting come comes coming completely congrats congratulations cool couple crazy
    cute dear definitely difference doubt dude easier easy enjoy especially everyone everything exactly excellent
    excited exciting experience experiences express fab fantastic far feel feeling feelings feels felt fine forward fun
    funny future gee give gives giving glad go goes going gonna good goodbye gosh gotta great grateful guess guy guys
    haha hang happen happened happening happy hard hear hearing heard heart hello help helped helpful helping helps hey
    hi honestly hope hopefully hoping hug huge important impressive incredible indeed inspire inspired inspiring
    interest interested interesting journey joy keep keeping keeps kid kidding kind kinda knew know knowing known knows
    laugh let life like likely literally little lol long look looked looking looks lot lots love loved lovely loves
    loving luck lucky make makes making mean meaningful means mention mentioned moment moments mum nah need needed needs
    never new nice ok okay omg part passion passionate people perfect pics pic picture place plan please positive
    possible pretty priceless probably proud push put quite ready real realize really remember reminder reminds
    rewarding right same saw say saying says see seeing seem seems seen sense share shared sharing show showed shows
    shown smile someone something sometimes soon sorry sort sound sounds special spread stay staying step still strong
    stuff stunning super support supportive sure sweet take takes taking talk talked talking tell telling tells thank
    thankful thanks thing things think thinking thought thoughts thrilled time times told took totally touch tough tried
    tries truly try trying ups use used useful usually via wanna want wanted wanting wants way ways welcome went
    whatever wild wish wishing woah wonderful wondering words world worries worth wow yay yeah yep yes yup hmm mmm
    advice recommend suggest suggestion suggestions recommendation recommendations question idea ideas chatted spoke
    spoken catch caught update updates friend companion ai problem blast yum yummy awww ugh agreed bummer nope method
    methods practical consider however finally thankfully afraid
    """
)
"""Praise, politeness and the small change of talk: worth little."""

MONTHS = word_tuple("January February March April May June July August September October November December")
NUMERALS = word_tuple(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen"
    " eighteen nineteen twenty"
)
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")

WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")

TERM = re.compile(r"\d+(?:[.,:/]\d+)+|[㐀-鿿]{1,2}|[゠-ヿ]+|[぀-ゟ]+|[^\W_㐀-鿿぀-ヿ]+(?:['’][^\W_]+)?")
"""A word or a number; of scripts without spaces, two characters of Chinese or a run of one Japanese alphabet."""


def content_stems(text: str) -> frozenset[str]:
    """Return the stems of the words of a text that say something; of ``Asta's`` that of ``Asta``."""
    words = (re.split(r"['’]", word, maxsplit=1)[0] for word in TERM.findall(lower(text)))
    # One letter of Hiragana is grammar: "は", "に".
    return frozenset(
        stem(word) for word in words if word not in EMPTY and not (len(word) == 1 and "ぁ" <= word <= "ゟ")
    )


_MONTHS_ELSEWHERE = (Path(__file__).parent / "months.txt").read_text(encoding="utf-8").split()
"""Of 18 languages, in the forms that stand in dates; generated of CLDR."""
_DATE = re.compile(
    rf"\b(?:\d{{1,2}}(?:\.|er|º)?(?: ?[–-] ?\d{{1,2}}\.?)? (?:de |d')?|(?:Anfang|Mitte|Ende) )?"
    rf"(?:{'|'.join(_MONTHS_ELSEWHERE)})\b(?:(?: de)? \d{{4}})?|"
    r"\b\d{1,2}-\d{1,2}-(?:19|20)\d\d\b|\b\d{1,2}\. ?[–-] ?\d{1,2}\.\d{1,2}\b|"
    rf"\b(?:\d{{1,2}}(?:st|nd|rd|th|\.)? )?(?:{'|'.join([*MONTHS, *(month[:3] for month in MONTHS)])})\b"
    r"(?: \d{1,2}\b)?(?:,? \d{4})?"
    r"|\b\d{4}-(?:0\d|1[0-2])(?:-[0-3]\d)?\b|\b\d{1,2}[./]\d{1,2}\b(?:[./](?:\d{4}|\d\d)\b)?|\b\d{1,2}/(?:19|20)\d\d\b"
    r"|(?<![A-Za-z\d])(?:19|20)\d\d(?!\d)|\b\d{1,2}[:.h]\d\d(?: ?[ap]m| Uhr)?\b|\b\d{1,2} ?(?:[ap]m|Uhr|h)\b"
    r"|\b(?:a las|às|alle) \d{1,2}\b"
)
"""Days and times, which are often said in words: "half past eight"."""


def undated(text: str) -> str:
    """Return a text without its days and times."""
    return _DATE.sub(" ", text)


def lower(text: str) -> str:
    """Return a text in lower case, in which the Turkish dotted I is an "i" and not one with a dot of its own."""
    return text.lower().replace("i̇", "i")


def unfounded(text: str, source: str) -> list[str]:
    """Return the numbers and names of a text that stand nowhere in its source; days and times may be worked out."""
    lowered = lower(source)
    known = {part for word in TERM.findall(lowered) for part in _spellings(word)}
    plain = undated(text)
    found = [match[0] for match in TERM.finditer(plain) if match[0][0].isdigit() or _is_name(plain, match)]
    # A short form or a part of a compound stands in its word: "Thu", and "Wagen" in "Umzugswagen".
    return [
        word
        for word in dict.fromkeys(found)
        if word not in WEEKDAYS
        and not _spellings(lower(word)) & known
        and not (len(word) > 2 and word.isalpha() and lower(word) in lowered)
    ]


def _spellings(word: str) -> set[str]:
    """Return a word's stem without an apostrophe's tail, and a number's digits, however they are written."""
    if word in NUMERALS:
        return {word, str(NUMERALS.index(word))}
    digits = "".join(character for character in word if character.isdigit())
    parts = re.split(r"[.,:/-]", word) if digits else []
    return {stem(re.split(r"['’]", word)[0]), *parts, *([digits, word] if digits else [])}


def _is_name(text: str, match: re.Match[str]) -> bool:
    # What begins a sentence or a part of one has a capital of its own.
    before = text[: match.start()].rstrip()[-1:]
    is_grammar = re.split(r"['’]", match[0].lower())[0] in EMPTY
    return match[0][0].isupper() and not is_grammar and before != "" and before not in '.!?:;"“('


@remembered(most=8192, longest=64)
def stem(word: str) -> str:
    """Return a rough stem, enough to see that ``painted`` and ``painting`` say the same."""
    for ending in ("ings", "ing", "ies", "ied", "ed", "es", "s", "ly"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            word = word[: -len(ending)]
            break
    # Of four letters the e alone: "takes" and "taking" are of "take", and both are "tak".
    return word.rstrip("eyi") if len(word) > 4 else word[:3] if word[3:] == "e" else word
