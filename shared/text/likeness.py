"""Whether two short statements say the same, differ in something that matters, or oppose each other.

Vectors of "lives in Copenhagen" and "lives in London" lie close together; what tells them apart are words. Pure
functions of text, on the side of caution: two statements held apart are a nuisance, two merged ones a loss.
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

from shared.text.languages import empty_words, likely_language
from shared.text.lines import clean
from shared.text.words import word_set

_QUOTES = str.maketrans({"‘": "'", "’": "'", "‚": "'", "“": '"', "”": '"', "„": '"', "«": '"', "»": '"'})
_DASHES = str.maketrans(dict.fromkeys("‐‑‒–—−", "-"))
_ENDS = " .,;:!?…\"'`()[]-*•"
_SUBJECT = re.compile(r"(?:the )?user(?=[\s'])\s*")


def normal(statement: str) -> str:
    """Return a statement without what does not change its meaning: case, white space, ends, quotes, its subject.

    A statement that consists of such things only is its own cleaned text.
    """
    line = unicodedata.normalize("NFKC", clean(statement)).translate(_QUOTES).translate(_DASHES).casefold()
    bare = " ".join(line.split()).strip(_ENDS)
    predicate = _SUBJECT.sub("", bare, count=1) if _SUBJECT.match(bare) else bare
    return predicate.lstrip() or bare or line


_WORD = re.compile(r"[^\W_]+(?:[.'+#@-][^\W_]+)*[+#]*")
# Lists and endings of its own: what tells two statements apart (a negation, a tense, a preposition) is what the stop
# words and stems of shared.text.words leave out.
_LIGHT = word_set(
    "a an the this that these those is are am be been being has have had do does did of in on at to for with by as "
    "from into about and or it its his her their they them he she him users user's who which very really quite "
    "also just currently now presently still kind sort there than over s i we my our"
)
"""Words whose coming or going leaves a statement what it was."""
_KINDRED = {
    "like": "likes loves love enjoys enjoy adores adore fond liking loving enjoying",
    "dislike": "dislikes hates hate loathes loathe detests detest disliking hating despises avoids avoid",
    "live": "lives living resides reside residing",
    "work": "works working employed",
    "use": "uses using utilizes utilises",
    "want": "wants wishes wish desires",
    "prefer": "prefers preferring favors favours",
    "app": "apps application applications",
    "child": "children kid kids",
    "job": "occupation profession",
    "movie": "movies film films",
    "mother": "mom mum",
    "father": "dad",
    "phone": "telephone",
    "build": "builds building develops developing",
}
_ROOTS = {form: root for root, forms in _KINDRED.items() for form in [root, *forms.split()]}
_NEGATIONS = word_set(
    "not no never none nothing cannot without neither nor hardly refuses stopped quit former "
    # Of other languages; "ne" stands beside a second one.
    "nicht kein keine keinen keinem keiner nie niemals pas jamais non nunca não niet geen nooit inte aldrig "
    "не нет никогда nigdy değil bukan tidak không לא नहीं"
)
_DENIES = re.compile(r"ない|ません|なかっ|ではな|じゃな|않|없|아니|不|没|沒|لا |ليس|لست")
"""Negations that are part of a word, or of a script without spaces."""
_PAST = word_set("used was were had did formerly previously former anymore longer ex stopped quit will would")
_GRAMMAR = _LIGHT | _NEGATIONS | _PAST
_FIELD = re.compile(r"([^\W_][\w' -]*): ?(\w+)(?=\W*(?:[\",;.!?]|$))")
"""A field of a form with a word for an answer: "allergies: none"."""
_SIDES = word_set("with from about as")
"""Prepositions that say another thing wherever another stands: works with Google, works at Google."""
_PREPOSITIONS = _SIDES | word_set("of in on at to for by into over")
_ORDERING = word_set("to than over from before after rather instead until versus vs for by")
_NUMBERS = word_set(
    "one two three four five six seven eight nine ten eleven twelve twenty thirty forty fifty hundred thousand "
    "first second third january february march april may june july august september october november december "
    "monday tuesday wednesday thursday friday saturday sunday once twice"
)
_ENDINGS = ("ings", "ing", "ies", "ed", "es", "ly", "s")
_LEAST_STEM = 3
_ED = re.compile(rf".{{{_LEAST_STEM}}}ed$")


@dataclass(frozen=True)
class Gist:
    """What a statement says, taken apart. Only what is equal in every part may say the same."""

    names: tuple[str, ...]
    numbers: tuple[str, ...]
    content: frozenset[str]
    ordered: tuple[str, ...]
    """The content in order, where a word of the statement makes the order matter."""
    tense: frozenset[str]
    """What sets it in another time; of words that end in -ed, which may, the roots."""
    positive: bool
    prepositions: frozenset[str]


def gist(statement: str) -> Gist:
    """Take a statement apart."""
    spoken = [_plain(word) for word in _WORD.findall(_spelled_out(statement))]
    content = (word for word in spoken if not (word in _GRAMMAR or _is_number(word)))
    roots = [_root(word) for word in content]
    against = sum(word in _NEGATIONS for word in spoken) + roots.count("dislike") + bool(_DENIES.search(statement))
    kept = [("like" if word == "dislike" else word) for word in roots]
    # The capitalised words behind the first, in order.
    words = [match.group() for match in _WORD.finditer(statement)]
    subject = 2 if [word.casefold() for word in words[:2]] == ["the", "user"] else 1
    names = tuple(_plain(word).casefold() for word in words[subject:] if word[:1].isupper() and word != "I")
    return Gist(
        names=names,
        numbers=tuple(word for word in spoken if _is_number(word)),
        content=frozenset(kept),
        ordered=tuple(kept) if _ORDERING & set(spoken) else (),
        tense=_PAST & set(spoken) | {_root(word) for word in spoken if word not in _ROOTS and _ED.search(word)},
        positive=against % 2 == 0,
        prepositions=_PREPOSITIONS & set(spoken),
    )


def differ(one: str, other: str) -> bool:
    """Whether two statements differ in a name, a number, a negation, a tense, or any word that carries meaning."""
    left, right = gist(one), gist(other)
    # Order and prepositions need not be equal, only not contradict each other.
    bare = [replace(statement, ordered=(), prepositions=frozenset()) for statement in (left, right)]
    return bare[0] != bare[1] or _reordered(left, right) or _on_other_sides(left, right)


def are_opposed(left: Gist, right: Gist) -> bool:
    """Whether two statements, taken apart, oppose each other."""
    alike = (left.names, left.numbers, left.content) == (right.names, right.numbers, right.content)
    return (
        alike and bool(left.content or left.names) and left.positive != right.positive and not _reordered(left, right)
    )


def _reordered(left: Gist, right: Gist) -> bool:
    return bool(left.ordered and right.ordered) and left.ordered != right.ordered


def _on_other_sides(left: Gist, right: Gist) -> bool:
    """Whether each has a preposition the other lacks, and one of these is never just another word for the other."""
    here, there = left.prepositions - right.prepositions, right.prepositions - left.prepositions
    return bool(here and there and (here | there) & _SIDES)


def _plain(word: str) -> str:
    # The user as an object matters: the user likes the boss, the boss likes the user.
    return word if word == "user's" else word.removesuffix("'s")


def _is_number(word: str) -> bool:
    return word in _NUMBERS or any(character.isdigit() for character in word)


def _root(word: str) -> str:
    if word in _ROOTS:
        return _ROOTS[word]
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _LEAST_STEM:
            return word.removesuffix(ending)
    return word


_REACH = 3
"""Words of weight that a negation may be about."""
_CLAUSE_END = re.compile(r"[,;:.!?()，、；。！？،؛]|\s[-–—]\s")


def reverses(text: str, statement: str) -> bool:
    """Whether a text says of something that it is so where a statement denies it, or the other way.

    Seen by the words behind a negation: "eats pork" of "I don't eat pork", "to Madeira, not to Crete" of "not Madeira,
    we go to Crete". Languages that deny by an ending, and what is reworded, are not seen through.
    """
    grammar = _GRAMMAR | empty_words(likely_language(statement))
    text_denials, statement_denials = _denials(text, grammar), _denials(statement, grammar)
    asserted = _contents(text, grammar) - frozenset().union(*text_denials)
    is_asserted = any(denied and denied[0] in asserted for denied in statement_denials)
    reach = frozenset().union(*statement_denials)
    words = _contents(statement, grammar)
    # What is denied of something that was not even spoken of is another's to judge.
    is_denied = any(denied and denied[0] in words and not reach & set(denied) for denied in text_denials)
    return is_asserted or is_denied


def turns_round(text: str, statement: str) -> bool:
    """Whether a text says what a statement denies: in the place of what it denies itself, or without any denial.

    "To Madeira, not to Crete" of "to Crete, not to Madeira"; "can eat gluten" of "can't eat gluten"; "lives in Leeds"
    and "from York to Leeds" of "from Leeds to York". Sees less than ``reverses``, and may be asked of whole
    statements, of which a text tells a part in other words.
    """
    if _goes_back(text, statement):
        return True
    grammar = _GRAMMAR | empty_words(likely_language(statement))
    text_denials, statement_denials = _denials(text, grammar), _denials(statement, grammar)
    has, had = _contents(text, grammar), _contents(statement, grammar)
    if not text_denials:
        return any(len(denied) > 1 and has.issuperset(denied[:2]) for denied in statement_denials)
    asserted, was_asserted = has - frozenset().union(*text_denials), had - frozenset().union(*statement_denials)
    is_asserted = any(denied and denied[0] in asserted for denied in statement_denials)
    return is_asserted and any(denied and denied[0] in was_asserted for denied in text_denials)


_FROM = word_set("from von aus desde da dal dalla van uit från fra из od z")
_TO = word_set("to nach into hacia naar till til в do")
_AT = _TO | word_set("in at bei à")
_WAY = 5
"""Words between "from" and the "to" that belongs to it."""


def _goes_back(text: str, statement: str) -> bool:
    """Whether a text has somebody go to, or be, where a statement has them come from, or come from where they went."""
    words = [word.casefold() for word in _WORD.findall(text)]
    steps = {(before, word) for before, word in pairwise(words)}
    for left, reached in _ways(statement):
        if any((at, left) in steps for at in _AT) or any((since, reached) in steps for since in _FROM):
            return True
    return False


def _ways(statement: str) -> Iterator[tuple[str, str]]:
    """Yield what a statement goes from and to."""
    words = [word.casefold() for word in _WORD.findall(statement)]
    for at, word in enumerate(words[:-3]):
        for first, second in ((_FROM, _TO), (_TO, _FROM)):
            if word in first:
                behind = next((i for i in range(at + 2, min(at + _WAY + 1, len(words) - 1)) if words[i] in second), 0)
                ends = (words[at + 1], words[behind + 1]) if behind else ("", "")
                if ends[0] != ends[1] and not any(map(str.isdigit, ends)):
                    yield ends if first is _FROM else ends[::-1]


def _denials(text: str, grammar: frozenset[str]) -> list[tuple[str, ...]]:
    """Return for each negation the roots of the next few words of weight in its clause."""
    found = []
    for clause in _CLAUSE_END.split(_spelled_out(text)):
        words = [_plain(word) for word in _WORD.findall(clause)]
        for at, word in enumerate(words):
            if word in _NEGATIONS:
                behind = [_root(one) for one in words[at + 1 :] if one not in grammar]
                found.append(tuple(behind[:_REACH]))
    return found


def _contents(text: str, grammar: frozenset[str]) -> frozenset[str]:
    return frozenset(_root(one) for one in map(_plain, _WORD.findall(_spelled_out(text))) if one not in grammar)


_WITHOUT_APOSTROPHE = re.compile(r"\b(do|does|did|is|are|was|were|has|have|had|could|would|should|must|wo)nt\b")


def _spelled_out(text: str) -> str:
    plain = (
        re.sub(r"\bcan'?t\b|\bcannot\b", "can not", normal(text)).replace("n't", " not").replace("any more", "anymore")
    )
    plain = _WITHOUT_APOSTROPHE.sub(r"\1 not", plain)
    return _FIELD.sub(lambda field: f"{field[2]} {field[1]}" if field[2] in _NEGATIONS else field[0], plain)
