"""Which earlier messages are handed out only together, and what of other conversations is not handed out at all.

An assistant's line stands beside the user's that it answers or that answers it, or is left out: "Pad thai with peanuts"
misleads without "I have a peanut allergy". Sentences with a secret stay in the conversation they were said in.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from shared.context.rendering import LEFT_OUT
from shared.search.candidates import SearchHit
from shared.search.models import conversation_of
from shared.search.small_talk import is_small_talk
from shared.text.lines import shorten
from shared.text.material import without_material
from shared.text.sentences import without_secrets

_ASSISTANT, _USER = "assistant", "user"
_ASKS = ("?", "？")
_MOST_CHARS = 300
"""Of a user's line that is only handed out for the assistant's beside it."""


@dataclass(frozen=True)
class PairedHits:
    """Hits, and for an assistant's, by its place, the user's lines that it does not stand without."""

    hits: tuple[SearchHit, ...]
    companions: Mapping[int, tuple[SearchHit, ...]]


def beside(hits: Iterable[SearchHit]) -> list[int]:
    """Return the places before and after each of the assistant's lines."""
    places = {place_of(hit) + step for hit in hits if _role(hit) == _ASSISTANT for step in (-1, 1)}
    return sorted(places)


def paired(
    hits: Sequence[SearchHit],
    neighbours: Iterable[SearchHit],
    shown: Collection[str],
    conversation_id: str | None,
    whole: Mapping[int, str] | None = None,
) -> PairedHits:
    """Return what may be handed out.

    ``neighbours``: what was said at the places beside; ``whole``: the messages of passages, by place.
    """
    whole = whole or {}
    found: dict[int, list[SearchHit]] = {}
    for hit in hits:
        found.setdefault(place_of(hit), []).append(hit)
    around = {place_of(one): one for one in neighbours}
    companions: dict[int, tuple[SearchHit, ...]] = {}
    staying = []
    for hit in hits:
        told = _told(hit, conversation_id, whole)
        needed = _needed(hit, found, around, shown) if _role(hit) == _ASSISTANT else []
        told_beside = [_told(one, conversation_id, whole) for one in needed]
        if told is not None and None not in told_beside:
            staying.append(told)
            companions[place_of(hit)] = tuple(one for one in told_beside if one is not None)
    return PairedHits(tuple(staying), companions)


def place_of(hit: SearchHit) -> int:
    """Return where a hit was said."""
    return hit.ranked.candidate.doc_id


def _needed(
    hit: SearchHit, found: Mapping[int, list[SearchHit]], around: Mapping[int, SearchHit], shown: Collection[str]
) -> list[SearchHit]:
    place = place_of(hit)
    partner = place + 1 if hit.content.rstrip().endswith(_ASKS) else place - 1
    needed: list[SearchHit] = []
    for beside_it in (place - 1, place + 1):
        if beside_it in found:
            needed += found[beside_it]
        elif beside_it == partner and beside_it in around:
            one = around[beside_it]
            needed.append(replace(one, content=shorten(one.content, _MOST_CHARS)))
    return [
        one
        for one in needed
        if _role(one) == _USER
        and conversation_of(place_of(one)) == conversation_of(place)
        and one.content.strip() not in shown
        and not is_small_talk(one.content)
    ]


def passages_of_users(hits: Iterable[SearchHit], conversation_id: str | None) -> list[int]:
    """Return the places of other conversations of which only a part of what a user said was found."""
    mine = (hit for hit in hits if _role(hit) == _USER and hit.ranked.candidate.part)
    return sorted({place_of(hit) for hit in mine if hit.conversation_id != conversation_id})


def _told(hit: SearchHit, conversation_id: str | None, whole: Mapping[int, str]) -> SearchHit | None:
    """Return a hit of another conversation without secrets and without what its user only handed over.

    None where nothing is left.
    """
    if hit.conversation_id == conversation_id:
        return hit
    content = hit.content
    if _role(hit) == _USER:
        own = without_material(whole.get(place_of(hit), content))
        # Where a passage begins or ends says nothing of what stands around it, so its lines are looked for.
        lines = (line for line in content.splitlines() if line.strip() and line.strip() in own)
        content = "\n".join(lines) if hit.ranked.candidate.part else own
    content = without_secrets(content, LEFT_OUT)
    return replace(hit, content=content) if content else None


def _role(hit: SearchHit) -> str:
    return hit.ranked.candidate.role
