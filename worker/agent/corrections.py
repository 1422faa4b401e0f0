"""What a later statement puts right in an earlier one: a value ("75, not 57"), or how a word is spelt ("Leipzig").

Whether a statement corrects anything is the classifier's to say; here stands only what differs. Days that were worked
out of "yesterday" are no values.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from itertools import pairwise, product

from shared.text.classifier import judge
from shared.text.languages import GERMAN, TOLD_APART, empty_words, language_of
from shared.text.words import EMPTY, MONTHS, VAGUE, WEEKDAYS, stem, word_set

_VALUE = re.compile(r"(?<![A-Za-z0-9_-])\d+(?:[.,:]\d+)*(?:[a-z]{1,2}(?![^\W\d_]))?")
_WRITTEN = re.compile(rf"\b(?:(?:\d{{1,2}} )?(?:{'|'.join(MONTHS)}) )?(?:19|20)\d\d\b")
_BEHIND = re.compile(r"\.?\s*([\u3040-\u9fff\uac00-\ud7a3]|[^\W\d_]+|[%€$£])")
_BEFORE = re.compile(r"([^\W\d_]+)\s*\Z")
_BETWEEN_VALUES = re.compile(r"\D{0,24}[^\W\d_]\D{0,24}|,\s+")
"""What stands between the two values of a correction: words or a comma, so that "57-75" is none."""
_TOKEN = re.compile(r"[\u3400-\u9fff々]+|[\u30a0-\u30ff]+|(?<![\w-])[^\W\d_\u3040-\u9fff]+(?:['’][^\W_]+)?(?![\w-])")
"""A word, or in Japanese a run of one script."""
_BETWEEN = re.compile(r"[^.!?。\d]{1,16}")
"""What stands between a word that is taken back and the right one: a comma, or small words."""
_NOT_BEFORE = re.compile(
    r"(?:\b(?:not?|nicht|kein\w*|pas|non|não|niet|geen|nie|не|ne|inte|không phải|bukan|לא)\b|n['’]t|ليس|不是)([^,]*)\Z",
    re.IGNORECASE,
)
_NOT_BEHIND = re.compile(r"\S{0,2}\s*(?:değil|ではな|じゃな|नहीं|아니)")
"""Of two words, which is the wrong one; whether anything is corrected at all is the classifier's to say."""
_NAME = re.compile(r"(?<=[\w,:;] )[A-ZÀ-ÞĀ-ŽΑ-ΫА-Я]\w+|\b\w+[A-Z]\w*")
_SPELT = re.compile(r"[^\W_]+(?:[-'’][^\W_]+)*")
"""A word, or the number of an order."""
_PARTS = re.compile(r"\s*(?:,(?!\d)|(?<!\d),|[，、،;；]|\.{2,}|…|\s[-–—]+\s)\s*")
_NUMBER = re.compile(r"[A-Za-z]*\d(?:[A-Za-z\d:.,]*[A-Za-z\d])?")
"""What has a digit, with what hangs on it: "8h45", "C4"."""
_LONGEST_REPAIR = 40
_LONGEST_MARKER = 3
_REPAIRS = 0.25
"""From this share of "change" on a clause takes back the one before it."""
SURELY = 0.5
"""The same of a statement by itself, where nothing else tells."""
LASTS = 0.5
"""From this probability of "fact" on it tells something by itself that lasts."""
_OF_A_THING = word_set(
    "the a an my our your his her its their der die das mein meine unser unsere le la les mon ma mes notre el los las"
    " mi mis nuestro nuestra il lo mio mia o meu minha de het mijn"
)
"""What stands behind is a thing: "the electricity went up to 90" is no rent."""
_DAYS = {word.lower() for word in (*MONTHS, *WEEKDAYS)}
_LEAST_RESPELT = 5
_SAME_WORD = 0.8


@dataclass(frozen=True)
class _Value:
    text: str
    start: int
    units: frozenset[str]
    """The words beside it that say of what it is, and on which side: "3 rooms", "python 3.12"."""


def put_right(text: str, later: str, is_sure: bool = False, is_near: bool = False, is_next: bool = False) -> str:
    """Return a text as a later one puts it right; as it is where that is not told.

    ``is_sure``: whether that is surely a correction; ``is_near``: whether it may be of words too, which mean another
    thing elsewhere; ``is_next``: it was said next.
    """
    ways = [with_values_of, *[with_only_of] * is_next] if _is_of_same(text, later, is_sure) else []
    ways += [with_word_of, with_spelling_of, with_single_word_of] * is_near
    put = (right for way in ways if (right := way(text, later)) != text)
    return next((right for right in put if _has_all_numbers(right, text, later)), text)


def _has_all_numbers(right: str, text: str, later: str) -> bool:
    """Whether a text that was put right has each number of the later one that the former had not.

    Half of "7:35, gate C4" put into "6:50, gate B12" is what nobody said: then both stand.
    """
    return all(number in right or number in text for number in _NUMBER.findall(_WRITTEN.sub(" ", later)))


def repaired(sentence: str) -> str:
    """Return a sentence without what its speaker took back within it: "am 13., ach Quatsch, am 31."."""
    parts = _PARTS.split(sentence)
    # From the end: of several repairs only the last is heeded.
    for at in range(len(parts) - 2, 0, -1):
        before, marker, behind = parts[at - 1 : at + 2]
        is_marker = len(marker.split()) <= _LONGEST_MARKER and not _VALUE.search(marker)
        # Few clauses have values to exchange, and asking the classifier takes longer.
        if (
            is_marker
            and (right := _spliced(before, behind)) != before
            and (is_repair(f"{marker}, {behind}") or is_repair(marker, SURELY))
        ):
            return ", ".join([*parts[: at - 1], right, *parts[at + 2 :]])
    return sentence


def _spliced(before: str, behind: str) -> str:
    """Return a clause up to the value that the one behind it gives anew, and that one from there on."""
    here, there = list(_values(before)), list(_values(behind))
    alike = [one for one in here if there and one.units & there[0].units] or here
    if not there or len(alike) != 1:
        return before
    wrong, right = alike[0], there[0]
    rest = behind[right.start :].rstrip(" .!。")
    return _replaced(before, wrong, rest) if rest == right.text else before[: wrong.start] + rest


def is_repair(clause: str, least: float = _REPAIRS) -> bool:
    """Whether a clause takes back what stands before it, and tells nothing by itself that lasts."""
    judged = judge(clause[: _LONGEST_REPAIR + 1])
    is_short = len(clause) <= _LONGEST_REPAIR
    return is_short and judged.change >= least and judged.fact < LASTS


def opens_with_repair(text: str) -> bool:
    """Whether a text begins by taking back what was said before it: "no, dos, desayuno y cena"."""
    parts = _PARTS.split(text)
    return any(is_repair(", ".join(parts[:count]), SURELY) for count in (1, 2))


def _is_of_same(text: str, later: str, is_sure: bool) -> bool:
    """Whether a later statement speaks of the same: it names the wrong value too, or next to nothing that is new.

    "Ibuprofen 400 mg" puts nothing right in "metformin 500 mg", though both are milligrams; "python 3.13" and "python
    3.12" are of the same.
    """
    values = [{value.text for value in _values(each)} for each in (text, later)]
    units = set.intersection(*({unit for value in _values(each) for unit in value.units} for each in (text, later)))
    # The word before the value is the same: "room 3". Days and months stand before any value.
    if set.intersection(*values) or any(unit[0] == "<" and unit[1:] not in _DAYS for unit in units):
        return True
    names_of_values = _DAYS | VAGUE | {unit.strip("<>") for unit in units}
    here, there = ({_folded(word[0]) for word in _words_of(each)} - names_of_values for each in (text, later))
    new = there - here
    names_another = any(_folded(word[0]) in new and _lead_of(later, word) in _OF_A_THING for word in _words_of(later))
    return not new or (len(new) == 1 and not names_another and bool(is_sure or here & there))


def with_values_of(text: str, later: str) -> str:
    """Return a text with the values that a later one gives of the same units; else with the one that it corrects."""
    spoken = _WRITTEN.sub(" ", later)
    # A value that stands in both is told again, and corrects nothing.
    right, put, given = text, set[str](), {value.text for value in _values(text)}
    for value in (one for one in _values(spoken) if one.text not in given):
        # "From 14 to 19" corrects "from 12 to 17": of several that fit, the one with most of the words beside it.
        rest = [one for one in _values(right) if one.text not in put]
        most = max((len(one.units & value.units) for one in rest), default=0)
        wrong = [one for one in rest if len(one.units & value.units) == most]
        if most and len(wrong) == 1:
            right = _replaced(right, wrong[0], value.text)
            put.add(value.text)
    return right if right != text else _with_other(text, spoken)


def with_only_of(text: str, later: str) -> str:
    """Return a text with the only value, or name, of a later one in the place of its only one of the same shape."""
    about = {word[0] for word in _words_of(later) if _folded(word[0]) not in VAGUE}
    # In German all nouns are written as names are.
    are_names = len(about) == 1 and language_of(f"{text} {later}") != GERMAN
    for kind in (_VALUE, _NAME) if are_names else (_VALUE,):
        here, there = (set(kind.findall(_WRITTEN.sub(" ", each))) for each in (text, later))
        alike = [one for one in here if len(there) == 1 and _shape(one) in map(_shape, there)]
        if len(alike) == 1 and not there & here and (kind is _VALUE or there == about):
            return text.replace(alike[0], *there)
    return text


def with_word_of(text: str, later: str) -> str:
    """Return a text with the word that a later one gives for one that it denies: "not oak, ash".

    Of the new words near it, it is that behind the same small word, else that which is likeliest to be worth anything
    alone: not the "sorry".
    """
    here, there = _words_of(text), _words_of(later)
    known = {_folded(word[0]): word for word in reversed(here)}
    pairs = [
        (_lead_of(later, right) == _lead_of(later, wrong), judge(right[0]).keep, right[0], known[_folded(wrong[0])])
        for wrong, right in product(there, there)
        if _folded(wrong[0]) in known and _folded(right[0]) not in known
        if _is_denied(later, wrong) and not _is_denied(later, right) and _is_beside(later, wrong, right)
    ]
    if not pairs:
        return text
    *_, right, wrong = max(pairs, key=lambda pair: pair[:2])
    if wrong[0][0].islower() and right[1:].islower():
        right = right.lower()
    # Only the word itself is exchanged; what hangs on it ("oak's") stays.
    return text[: wrong.start()] + right + text[wrong.start() + len(_folded(wrong[0])) :]


def _lead_of(text: str, word: re.Match[str]) -> str:
    """Return the small word before a word."""
    return "".join(text[: word.start()].casefold().split()[-1:])


def _words_of(text: str) -> list[re.Match[str]]:
    return [word for word in _TOKEN.finditer(text) if _folded(word[0]) not in grammar()]


def _is_denied(text: str, word: re.Match[str]) -> bool:
    before = _NOT_BEFORE.search(text[: word.start()])
    return bool((before and not _words_of(before[1])) or _NOT_BEHIND.match(text, word.end()))


def _is_beside(text: str, one: re.Match[str], other: re.Match[str]) -> bool:
    between = text[min(one.end(), other.end()) : max(one.start(), other.start())]
    return _BETWEEN.fullmatch(between) is not None and not _words_of(between)


@cache
def grammar() -> frozenset[str]:
    """Return the words of grammar of every language: what is none in any may be put right."""
    return EMPTY.union(*map(empty_words, TOLD_APART))


def _folded(word: str) -> str:
    return re.split("['’]", word.casefold())[0]


def _shape(value: str) -> str:
    return re.sub(r"\d+", "0", value) if value[0].isdigit() else ""


def with_spelling_of(text: str, later: str) -> str:
    """Return a text with a word as a later one spells it, where they differ by a letter or two within it."""
    here, there = _long_words_of(text), _long_words_of(later)
    for folded, word in there.items():
        for close in get_close_matches(folded, here, 1, _SAME_WORD):
            is_bent = close.startswith(folded) or folded.startswith(close) or stem(close) == stem(folded)
            if folded not in here and close[0] == folded[0] and not is_bent:
                return text.replace(here[close], word)
    return text


_SPELLS = re.compile(
    r"\b(?:mis)?spel(?:t|led|ling)\b|\b(?:[A-Z][ .-]){3,}[A-Z]\b|\bschreibt sich\b|\bgeschrieben\b"
    r"|\bs['’](?:écrit|ecrit)\b|\bse escribe\b|\bsi scrive\b|\bescreve-se\b|\bpisze się\b|\bspel je\b",
    re.IGNORECASE,
)
_WRITTEN_AS_NAME = re.compile(r"\b[^\W\d_a-zà-ÿ][^\W\d_]{3,}")
_NOT_ANOTHER = re.compile(r"\w,? (?:and )?not \w", re.IGNORECASE)
_SAME_NAME = 0.6
"""Names that are spelt aloud are more apart than those that are only typed wrongly: "Zielak", "Zielarz"."""


def may_spell_name(text: str) -> bool:
    """Whether a statement may say how a name is spelt: few do, and each is held against all that were said before."""
    return bool((_SPELLS.search(text) or _NOT_ANOTHER.search(text)) and _WRITTEN_AS_NAME.search(text))


def with_name_as_spelt(text: str, later: str) -> str:
    """Return a text with a name as a later one spells it: "Nowag, I misspelt it", "it's Petersson, not Petersen"."""
    here, there = (
        {_folded(name): name for name in _WRITTEN_AS_NAME.findall(each) if _folded(name) not in grammar()}
        for each in (text, later)
    )
    for folded, name in there.items():
        for close in get_close_matches(folded, here, 1, _SAME_NAME):
            is_told = _SPELLS.search(later) or re.search(
                rf"\b{name},? (?:and )?not {here[close]}\b", later, re.IGNORECASE
            )
            if is_told and folded not in here and close[0] == folded[0]:
                return re.sub(rf"\b{here[close]}\b", name, text)
    return text


_CORRECTING = word_set(
    "sorry wait oops meant mean actually rather make correction typo hang hold moment quatsch halt meine pardon perdón"
    " perdona digo voulais dire scusa scusate desculpa"
)
"""Stands beside the right word, and is none itself."""
_KINDS = (
    frozenset(map(str.casefold, WEEKDAYS)),
    frozenset(map(str.casefold, MONTHS)),
    word_set("one two three four five six seven eight nine ten eleven twelve"),
)
_NAMED = re.compile(
    r"(?P<before>.*\b(?:(?:nick|sur)?name|colou?r|favou?rite)\b.* (?:is|was) )(?P<word>[^\W\d_]+)\W*", re.DOTALL
)
"""Where the last word is all that is told: "my favourite colour is green", and not "my son is ill"."""


def with_single_word_of(text: str, later: str) -> str:
    """Return a text with the one word that a later one is: "no wait, Tuesday", "sorry, blue, I meant blue".

    In the place of the one word of its kind, or of a name.
    """
    found = {_folded(word[0]): word[0] for word in _words_of(later) if _folded(word[0]) not in _CORRECTING}
    if len(found) != 1 or _VALUE.search(later):
        return text
    [(folded, right)] = found.items()
    here = {_folded(word[0]): word for word in _words_of(text)}
    if folded in here:
        return text
    kind = next((kind for kind in _KINDS if folded in kind), frozenset[str]())
    alike = [here[one] for one in here.keys() & kind]
    if len(alike) == 1:
        return text[: alike[0].start()] + right + text[alike[0].end() :]
    named = None if kind else _NAMED.fullmatch(text)
    is_alike = named is not None and named["word"][0].isupper() == right[0].isupper()
    return named["before"] + right if named is not None and is_alike else text


def _long_words_of(text: str) -> dict[str, str]:
    words = {_folded(word): word for word in _SPELT.findall(text) if len(word) >= _LEAST_RESPELT}
    return {folded: word for folded, word in words.items() if folded not in grammar()}


def differ_in_values_only(one: str, other: str) -> bool:
    """Whether two texts are the same but for their values, or for one name."""
    words, others = one.split(), other.split()
    unlike = [pair for pair in zip(words, others, strict=False) if pair[0] != pair[1]]
    is_one_name = len(words) == len(others) and len(unlike) == 1 and all(word[0].isupper() for word in unlike[0])
    return is_one_name or _VALUE.sub("0", one) == _VALUE.sub("0", other)


def _with_other(text: str, correction: str) -> str:
    """Put the value a text does not have in the place of the one it has, of two that a correction names together."""
    found = list(_VALUE.finditer(correction))
    for one, other in pairwise(found):
        if not _BETWEEN_VALUES.fullmatch(correction[one.end() : other.start()]):
            continue
        here = {value.text: value for value in _values(text)}
        for wrong, right in ((one, other), (other, one)):
            if wrong[0] in here and right[0] not in here and _is_denied(correction, wrong):
                return _replaced(text, here[wrong[0]], right[0])
    return text


def _values(text: str) -> Iterator[_Value]:
    for found in _VALUE.finditer(text):
        behind, before = _BEHIND.match(text, found.end()), _BEFORE.search(text, 0, found.start())
        units = [f"{behind[1]}>"] if behind else []
        # "May" is a small word too.
        units += [f"<{before[1]}"] if before and (before[1] in MONTHS or before[1].lower() not in EMPTY) else []
        yield _Value(found[0], found.start(), frozenset(map(str.casefold, units)))


def _replaced(text: str, wrong: _Value, right: str) -> str:
    return text[: wrong.start] + right + text[wrong.start + len(wrong.text) :]
