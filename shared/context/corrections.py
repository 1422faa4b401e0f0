"""Puts the newest word on a thing before what it corrects, so that what holds has its place before what held.

Pure rules over what was found for one message. That two things are about the same is taken from what they were found
for, and from words they share; that one corrects the other from when it was said, and from how.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from shared.search.candidates import SearchHit
from shared.search.models import conversation_of, position_of
from shared.search.words import query_words

_USER = "user"
_SOON = 6
"""Messages after another in which a "no, …" is about that one."""
_ALIKE = 0.7
"""Two that are so like the question (a cosine) are taken to speak of the same."""
_RELATED = 0.35
"""Of which it is enough where one says that something is new."""
_BEST = 10
"""So many of the best are looked at for what is new of them; further down likeness says too little."""
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


@dataclass(frozen=True)
class _Statement:
    """What a user said, as far as it is asked whether it corrects something."""

    hit: SearchHit
    place: int
    at: datetime
    alike: float
    """Its cosine with what is said now."""
    words: frozenset[str]
    objects: bool
    renews: bool

    def objects_to(self, other: _Statement) -> bool:
        """Whether it says soon after another that this is not so."""
        near = 0 < position_of(self.place) - position_of(other.place) <= _SOON
        return self.objects and near and conversation_of(self.place) == conversation_of(other.place)

    def renews_what(self, other: _Statement) -> bool:
        """Whether it says that something is new of what another was about."""
        return self.renews and (self.is_like(other, _RELATED) or not self.words.isdisjoint(other.words))

    def is_like(self, other: _Statement, least: float = _ALIKE) -> bool:
        """Whether both are so like what is said now that they are taken to be about the same."""
        return min(self.alike, other.alike) >= least


def beside_corrections(hits: Sequence[SearchHit], least: float) -> list[SearchHit]:
    """Return the hits of at least so high a score in their order, each behind the newest that corrects it."""
    users = {_place(hit): _statement(hit) for hit in hits if hit.ranked.candidate.role == _USER}
    ordered: dict[tuple[int, int], SearchHit] = {}
    for nth, hit in enumerate(hits):
        if hit.ranked.score < least:
            break
        said = users.get(_place(hit))
        if said is not None:
            later = [one for one in users.values() if (one.at, one.place) > (said.at, said.place)]
            newest = _newest(one for one in later if one.objects_to(said))
            if nth < _BEST:
                newest = newest or _newest(one for one in later if one.renews_what(said))
                newest = newest or _newest(one for one in later if one.is_like(said))
            if newest is not None:
                # Before it: where there is room for one of them, it is the one that holds.
                ordered.setdefault(_place(newest.hit), newest.hit)
        ordered.setdefault(_place(hit), hit)
    return list(ordered.values())


def _newest(statements: Iterable[_Statement]) -> _Statement | None:
    return max(statements, key=lambda one: (one.at, one.place), default=None)


def _statement(hit: SearchHit) -> _Statement:
    one = hit.ranked.candidate
    return _Statement(
        hit=hit,
        place=one.place,
        at=one.created_at,
        alike=one.dense or 0.0,
        words=frozenset(query_words(one.content)),
        objects=_OBJECTS.match(one.content) is not None,
        renews=_RENEWS.search(one.content) is not None,
    )


def _place(hit: SearchHit) -> tuple[int, int]:
    return hit.ranked.candidate.place, hit.ranked.candidate.part
