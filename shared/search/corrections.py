"""What was said last of a thing, before what it corrects: among what a search found, of what users said.

A correction is known by how it begins ("no, …") and follows soon, by a word that says that something is new, or by
being as like the question as what it corrects. What each rule brings was measured: decision 20.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property

from shared.search.models import conversation_of
from shared.search.ranking import SearchHit
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
    r"|引っ越|変わ|変更|今は|今では|もう|現在|搬|改|现在|現在|이사|바뀌|이제"
)
"""Of text in small letters: to ignore case takes three times as long, and a context looks at forty messages."""


def behind_corrections(hits: Sequence[SearchHit], least: float) -> list[SearchHit]:
    """Return the hits of at least so high a score in their order, each behind the newest that corrects it."""
    # The newest first, so that the first that corrects is the newest that does.
    users = sorted((_Statement(hit) for hit in hits if hit.role == _USER), key=lambda one: one.at, reverse=True)
    positions = {one.hit.key: nth for nth, one in enumerate(users)}
    ordered: dict[tuple[int, int], SearchHit] = {}
    for nth, hit in enumerate(hits):
        if hit.ranked.score < least:
            break
        position = positions.get(hit.key)
        if position is not None:
            one = users[position]
            # A passage of the same message is no later than another.
            later = [other for other in users[:position] if other.at > one.at]
            rules = (one.is_objected_to_by, one.is_renewed_by, one.is_like) if nth < _BEST else (one.is_objected_to_by,)
            correction = next((other.hit for rule in rules for other in later if rule(other)), None)
            if correction is not None:
                # Before it: where there is room for one of them, it is the one that holds.
                ordered.setdefault(correction.key, correction)
        ordered.setdefault(hit.key, hit)
    return list(ordered.values())


class _Statement:
    """What a user said, as far as it matters whether it corrects something."""

    def __init__(self, hit: SearchHit) -> None:
        candidate = hit.ranked.candidate
        self.hit = hit
        self.at = (candidate.created_at, candidate.doc_id)
        self.likeness = candidate.dense or 0.0  # its cosine with the question

    @cached_property
    def words(self) -> frozenset[str]:
        return frozenset(query_words(self.hit.ranked.candidate.content))

    @cached_property
    def is_objection(self) -> bool:
        return _OBJECTS.match(self.hit.ranked.candidate.content) is not None

    @cached_property
    def is_news(self) -> bool:
        """Whether it has a word that says that something is new."""
        return _RENEWS.search(self.hit.ranked.candidate.content.lower()) is not None

    def is_objected_to_by(self, later: _Statement) -> bool:
        """Whether another says soon after it that this is not so."""
        # Found out once for each, and of few: each is held against each.
        if not later.is_objection:
            return False
        doc_id, next_doc_id = self.hit.doc_id, later.hit.doc_id
        return 0 < next_doc_id - doc_id <= _SOON and conversation_of(doc_id) == conversation_of(next_doc_id)

    def is_renewed_by(self, later: _Statement) -> bool:
        """Whether another says that something is new of what this was about."""
        return later.is_news and (self.is_like(later, _RELATED) or not self.words.isdisjoint(later.words))

    def is_like(self, later: _Statement, least: float = _ALIKE) -> bool:
        """Whether both are so like the question that they are taken to be about the same."""
        return min(self.likeness, later.likeness) >= least
