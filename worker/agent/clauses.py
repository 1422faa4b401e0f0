"""What was said, cut into clauses, and clauses as a telegram would say them.

``I've been really enjoying the jazz classes`` becomes ``enjoying jazz classes``. Negations and everything that carries
meaning stay. What a clause is worth is left to ``pieces``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from shared.text.sentences import sentences
from shared.text.words import COMMON, EMPTY, MONTHS, VAGUE, WEEKDAYS, word_set

_CLAUSE = re.compile(
    r"\s+[-–—]+\s+|\s*[;—]\s*"
    r"|,?\s+(?=(?:but|which|because(?! of)|since|although|though)\s)"
    # "So" joins clauses only where it begins one: not in "were so kind".
    r"|,\s+(?=so\s)|\s+(?=so\s+(?:i|i['’]\w+|we|we['’]\w+|it|it['’]s|he|she|they|they['’]\w+|you|that)\s)"
    r"|,?\s+(?=and\s+(?:i|i['’]\w+|we|we['’]\w+|it|it['’]s|he|she|they|they['’]\w+|my|that|that['’]s|now|then|you)\s)"
    r"|,\s+(?=(?:i|i['’]\w+|we|we['’]\w+|it|it['’]s|he|she|they|you)\s)",
    re.IGNORECASE,
)


_OPENING = re.compile(
    r"^(?:(?:oh|ah|aww?|oof|wow|whoa|woah|woo|mm+|hey|hi|hello|yeah|yep|yes|yup|no|nah|well|so|and|but|or|because"
    r"|'?cause|plus|also|anyway|ok|okay|sure|right|great|cool|thanks|thank you|congrats|haha|lol|gee|man|btw|by the way"
    r"|actually|honestly|basically|recently|unfortunately|fortunately|luckily|absolutely|definitely|totally|of course"
    r"|for example|you know|i mean|i think|i guess|i believe|i feel like|in fact|the fact is|then|though|which|since"
    r"|although|as for me|guess what|please remember(?: that)?|remember(?: that)?|just so you know|fyi"
    r"|(?:since )?we last (?:spoke|talked|chatted)|i wanted to (?:tell|let) you(?: know)?(?: that)?)\b"
    r"(?!['’])[,!:]?\s*)+",
    re.IGNORECASE,
)
_SUBJECT = re.compile(
    r"^(?:i['’]m|i am|(?:i|we)(?:['’]ve| have) been(?= \w+ing\b)|i['’]ve|we['’]ve|i['’]ll|i['’]d|i was|we['’]re|it['’]s"
    r"|it is|it was|that['’]s|there['’]s|there is|there are|here['’]s|i|we)\s+(?!['’])",
    re.IGNORECASE,
)
_KEPT_OF_SUBJECT = {"i'll": "will ", "i'd": "would ", "i was": "was "}
_PHRASE = re.compile(
    r"\b(?:kind of|sort of|a (?:little )?bit(?: of)?|a lot(?: of)?|lots of|as well|you know|in order(?= to)"
    r"|at the moment|right now|these days|of course|for sure|and (?:stuff|so on|everything)"
    r"|(?:have|has|had) been(?= \w+ing\b)|for me|to me|with me|for us)\b",
    re.IGNORECASE,
)
_FILLERS = word_set(
    """
    a an the really very just so quite actually totally definitely super pretty absolutely truly simply basically
    honestly literally certainly some too also already still even is are am was were that's it's there's being
    lately currently recently
    """
)
_TIDY = re.compile(r"\s+(?=[,.;:!?])|^[\s,.;:!?–—-]+|[\s,.;:!–—-]+$")
_AND = re.compile(r",?\s+and\s+", re.IGNORECASE)
_SPOKEN_TO = re.compile(r",\s*(?:my\s+)?(\w+(?: companion)?)\s*[.!]*$")
_ADDRESSED = re.compile(r"^(?:[\w']+\s+){0,2}?(\w+(?: companion)?)[,!.]\s*")
_ADDRESSES = frozenset(["friend", "buddy", "dude", "man", "guys", "everyone", "ai companion", "companion"])


_DAY = rf"(?:\w+ before )?(?:(?:{'|'.join(WEEKDAYS)}) )?\d{{1,2}} (?:{'|'.join(MONTHS)}) \d{{4}}"
_LEADING_DATE = re.compile(rf"^(?:on )?({_DAY}),?\s+(.+)$")
_IN_BRACKETS = re.compile(r"\[([^\[\]]*)\]")
_LOWERED = EMPTY | VAGUE | COMMON


@dataclass(frozen=True)
class Clause:
    """A part of a sentence that can stand alone."""

    text: str
    asks: bool
    """The sentence it belongs to is a question."""


def clauses(content: str) -> list[Clause]:
    """Cut a message into clauses, in the order they were said."""
    found = []
    for sentence in sentences(content):
        asks = sentence.rstrip("\"'”’) ").endswith(("?", "？"))
        found += [Clause(part.strip(" ,"), asks) for part in _CLAUSE.split(sentence) if part and part.strip(" ,.!?")]
    return found


def plain(text: str, names: frozenset[str] = frozenset()) -> str:
    """Return the clause without greeting and address, otherwise as it was said.

    ``names`` are the speakers', left out where they are merely addressed.
    """
    text = _tidy(_OPENING.sub("", _without_address(_without_directions(text), names)))
    return _LEADING_DATE.sub(r"\2 \1", _tidy(_OPENING.sub("", _without_address(text, names))))


def telegram(text: str) -> str:
    """Return a plain clause as a telegram."""
    text = _SUBJECT.sub(lambda match: _KEPT_OF_SUBJECT.get(match[0].strip().lower().replace("’", "'"), ""), text)
    words = [word for word in _PHRASE.sub("", text).split() if word.strip(",.!").lower() not in _FILLERS]
    return _lower_opening(_AND.sub(" & ", _tidy(" ".join(words))))


def _without_directions(text: str) -> str:
    """Leave out ``[shares a photo]``, and keep ``[1]``."""
    return _IN_BRACKETS.sub(lambda match: "" if " " in match[1] else match[0], text)


def _without_address(text: str, names: frozenset[str]) -> str:
    found = _SPOKEN_TO.search(text)
    if found and _is_name(found[1], names):
        text = text[: found.start()]
    found = _ADDRESSED.match(text)
    return text[found.end() :] if found and _is_name(found[1], names) else text


def _is_name(word: str, names: frozenset[str]) -> bool:
    """Say whether a word is a speaker's name or a short form of one."""
    return word.lower() in _ADDRESSES or (len(word) > 1 and any(name.startswith(word) for name in names))


def _lower_opening(text: str) -> str:
    first = text.split(" ", 1)[0]
    ordinary = first.lower() in _LOWERED or first.endswith(("ing", "ed"))
    return text[:1].lower() + text[1:] if ordinary and first not in MONTHS and first != "I" else text


def _tidy(text: str) -> str:
    return " ".join(_TIDY.sub("", text.replace(";", ",")).split())
