"""Puts the newest word on a thing beside what it corrects, so that a context never holds the older one alone.

Pure rules over what was found for one message. That two things are about the same is taken from what they were found
for, and from words they share; that one corrects the other from when it was said, and from how.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime

from shared.indexing.places import conversation_of, position_of
from shared.indexing.words import query_words
from shared.retrieval.gathering import Hit

_USER = "user"
_SOON = 6
"""Messages after another in which a "no, …" is about that one."""
_ALIKE = 0.5
"""Two that are so like the question (a cosine) are taken to speak of the same."""
_RELATED = 0.3
"""Of which it is enough where one says that something is new."""
_OBJECTS = re.compile(
    r"\W*(?:no|nope|nah|actually|sorry|wait|correction|scratch that|i (?:meant?|said)|typo|oops|rather|my mistake"
    r"|nein|nee|doch|eigentlich|moment|korrektur|ich meinte?|falsch|quatsch"
    r"|non|en fait|pardon|je voulais dire|finalement|plut[oô]t"
    r"|en realidad|perd[oó]n|mejor dicho|quise decir|anzi|in realt[aà]|na verdade|ali[aá]s)\b"
    r"|\W*(?:いや|違|やっぱり|訂正|不是|不对|不對|其实|其實|更正|아니)",
    re.IGNORECASE,
)
_RENEWS = re.compile(
    r"\b(?:moved|moving|chang(?:ed|es?|ing)|switch(?:ed|ing)?|no longer|not any ?more|any ?more|instead|from now on|now"
    r"|new|these days|used to|replaced?|cancell?ed|postponed|rescheduled|corrected|update[ds]?|meanwhile|actually"
    r"|umgezogen|zieht um|ziehe um|ge[aä]ndert|jetzt|inzwischen|nicht mehr|stattdessen|ab (?:jetzt|sofort)|neue[rsnm]?"
    r"|verschoben|gewechselt"
    r"|d[eé]m[eé]nag\w+|chang[eé]\w*|maintenant|d[eé]sormais|plut[oô]t|nouve\w+|à la place|ne \w+ plus"
    r"|me mud[eé]|cambi\w+|ahora|ya no|en vez|nuev[oa]s?|adesso|trasferit\w+|non più|agora|mudei|não \w+ mais)\b"
    r"|引っ越|変わ|変更|今は|今では|もう|現在|搬|改|现在|現在|이사|바뀌|이제",
    re.IGNORECASE,
)


def beside_corrections(hits: Sequence[Hit], least: float) -> list[Hit]:
    """Return the hits of at least so high a score in their order, each with the newest that corrects it next to it."""
    users = [hit for hit in hits if hit.ranked.candidate.role == _USER]
    renewing = {_place(hit): set(query_words(hit.content)) for hit in users if _RENEWS.search(hit.content)}
    ordered: dict[tuple[int, int], Hit] = {}
    for hit in hits:
        if hit.ranked.score < least:
            break
        ordered.setdefault(_place(hit), hit)
        if hit.ranked.candidate.role == _USER:
            words = set(query_words(hit.content)) if renewing else set()
            later = [one for one in users if _said_at(one) > _said_at(hit) and _corrects(one, hit, renewing, words)]
            newest = max(later, key=_said_at, default=hit)
            ordered.setdefault(_place(newest), newest)
    return list(ordered.values())


def _corrects(later: Hit, hit: Hit, renewing: Mapping[tuple[int, int], set[str]], words: set[str]) -> bool:
    """Whether what a user said later of the same thing holds instead of it."""
    one, other = later.ranked.candidate, hit.ranked.candidate
    if _follows(one.place, other.place) and _OBJECTS.match(later.content):
        return True
    alike = min(one.dense or 0.0, other.dense or 0.0)
    news = renewing.get(_place(later))
    return alike >= _ALIKE or (news is not None and (alike >= _RELATED or not news.isdisjoint(words)))


def _follows(place: int, other: int) -> bool:
    near = 0 < position_of(place) - position_of(other) <= _SOON
    return near and conversation_of(place) == conversation_of(other)


def _place(hit: Hit) -> tuple[int, int]:
    return hit.ranked.candidate.place, hit.ranked.candidate.part


def _said_at(hit: Hit) -> tuple[datetime, int]:
    return hit.ranked.candidate.created_at, hit.ranked.candidate.place
