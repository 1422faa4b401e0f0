"""Candidates of one search within a scope: taken from what words and vectors bring first, read, filtered and ranked.

Where filters turn many away, or many say the same, more are taken, up to a bound. Long messages give way to their
passages once it is known that they are among the best. What is said again is one result that says how often.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np
from sqlalchemy.orm import Session

from shared.indexing.models import PassageKind
from shared.indexing.words import words_of
from shared.retrieval import search
from shared.retrieval.filters import Filters, HitKind
from shared.retrieval.questions import Question
from shared.retrieval.ranking import LEAST_LIKENESS, Candidate, Ranked, Recipe, is_beside, is_found, rank
from shared.retrieval.repeats import gist, places_of
from shared.retrieval.scope import Scope
from shared.retrieval.search import MessageRow, PassageRow
from shared.retrieval.view import Sources, View

FIRST = 40
"""So many of the best by words, by the words around and by vectors are read at first."""
_READ = 120
"""So many messages are read and ranked where few are wanted and none is turned away."""
ROUNDS = 4
_MORE = 5
"""Each further round reads so many times more."""
_LEAST = 40
"""So many candidates are wanted at least: ranking weighs them against each other."""
_OPENED = 40
"""So many of the best messages are opened into their passages."""
_LIKELIEST = 8
"""Passages of one message that are ranked."""
_PER_MESSAGE = 2
"""Passages of one message among the results."""
_COUNTED = 1_000
"""Messages are looked through to count how often something was said; beyond that it counts where its words stand."""


@dataclass(frozen=True)
class Asked:
    """What is wanted of them."""

    app_id: str
    question: Question
    recipe: Recipe
    filters: Filters
    limit: int
    in_passages: bool


@dataclass(frozen=True)
class Hit:
    """A result; ``ranked.candidate.content`` may be cut, ``content`` is not."""

    ranked: Ranked
    is_found: bool
    """Whether it is one by itself, and not only by what stands next to it."""
    message_id: str
    conversation_id: str
    user_id: str | None
    """Whose conversation it is."""
    content: str
    kind: HitKind
    language: str | None
    times: int
    """How often the same was said by the same speaker; this is the time that fits best."""
    last_at: datetime
    """When last."""

    @property
    def says(self) -> Saying:
        """What it has in common with others that say the same."""
        return _saying(self.ranked.candidate)

    @property
    def by_words(self) -> bool:
        """Whether a word of the question stands in it."""
        return (self.ranked.candidate.turn or 0) > 0

    @property
    def by_vector(self) -> bool:
        """Whether its vector is like the question's."""
        return (self.ranked.candidate.dense or 0) >= LEAST_LIKENESS


Saying = tuple[str, str | None, int, str]
"""By whom, whether it is a part of something, and what."""


def gather(session: Session, sources: Sources, asked: Asked, scope: Scope) -> list[Hit]:
    """Return what is found within a scope, the best first."""
    view = View(session, sources, scope)
    rows = _rows(session, view, asked, scope)
    if not rows:
        return []
    messages = [_of_message(rows[place], view) for place in sorted(rows)]
    ranked = _ranked(asked, messages, sources)
    passages = _opened(session, view, asked, ranked, rows) if asked.in_passages else {}
    if passages:
        ranked = _ranked(asked, _instead(messages, passages), sources)
    languages = {(one.place, one.part): one.language for parts in passages.values() for one, _ in parts}
    return _hits(session, asked, ranked, rows, languages, scope)


def merged(hits: Iterable[Hit]) -> list[Hit]:
    """Return hits in their order, one for those of several scopes that say the same."""
    found: dict[Saying, Hit] = {}
    for hit in hits:
        former = found.get(hit.says)
        found[hit.says] = (
            hit
            if former is None
            else replace(former, times=former.times + hit.times, last_at=max(former.last_at, hit.last_at))
        )
    return list(found.values())


def _ranked(asked: Asked, candidates: Sequence[Candidate], sources: Sources) -> list[Ranked]:
    """Rank candidates against each other, and leave out what is no result at all."""
    ranked = rank(asked.question, candidates, asked.recipe, sources.worth, sources.likeness)
    return [one for one in ranked if is_found(asked.question, one.candidate) or is_beside(one.candidate)]


def _rows(session: Session, view: View, asked: Asked, scope: Scope) -> dict[int, MessageRow]:
    """Read the best messages that pass the filters; what is found is looked at in ``view``."""
    passing: dict[int, MessageRow] = {}
    seen: set[int] = set()
    wanted = max(_LEAST, 2 * asked.limit)
    for nth in range(ROUNDS):
        best = view.best(max(FIRST, asked.limit) * _MORE**nth)
        if not asked.filters.looks_at_messages:
            best = view.likeliest(best, max(_READ, 6 * asked.limit) * _MORE**nth)
        new = [place for place in best.tolist() if place not in seen]
        if not new:
            break
        seen.update(new)
        passing |= _passing(session, asked, search.messages_at(session, asked.app_id, new))
        said = len({gist(row.content) for row in passing.values()})
        if said >= wanted or (said == len(passing) and not asked.filters.looks_at_messages):
            break
    view.look(np.array(sorted(passing), np.int64))
    return passing


def _passing(session: Session, asked: Asked, rows: dict[int, MessageRow]) -> dict[int, MessageRow]:
    filters = asked.filters
    conversations = {row.conversation_id for row in rows.values()} if filters.tags else set()
    tags = search.tags_of(session, conversations, asked.app_id) if conversations else {}
    passing = {place: row for place, row in rows.items() if filters.passes(row, tags)}
    return _of_kinds(session, asked, passing) if filters.kinds and passing else passing


def _of_kinds(session: Session, asked: Asked, rows: dict[int, MessageRow]) -> dict[int, MessageRow]:
    """Leave out messages that are of no wanted kind, and have no passage that is."""
    passages = search.passages_at(session, asked.app_id, list(rows)) if asked.in_passages else {}
    kinds = {place: {HitKind(one.kind) for one in found} for place, found in passages.items()}
    whole = {HitKind.MESSAGE}
    return {place: row for place, row in rows.items() if any(map(asked.filters.allows, kinds.get(place, whole)))}


def _of_message(row: MessageRow, view: View) -> Candidate:
    return Candidate(
        place=row.place,
        part=0,
        role=row.role,
        name=row.name,
        content=row.content,
        created_at=row.created_at,
        dense=view.best_cosine(row.place),
        around=view.around(row.place),
        turn=view.turn(row.place),
        window=view.window(row.place),
    )


_Passages = dict[int, list[tuple[PassageRow, Candidate]]]


def _opened(
    session: Session, view: View, asked: Asked, ranked: Sequence[Ranked], rows: dict[int, MessageRow]
) -> _Passages:
    """Return the passages of the best messages that have any."""
    places = [one.candidate.place for one in ranked[: max(_OPENED, 2 * asked.limit)]]
    found = search.passages_at(session, asked.app_id, places)
    words = set(asked.question.words)
    return {
        place: _likeliest([(one, _of_passage(one, rows[place], view, words)) for one in parts], asked)
        for place, parts in found.items()
    }


def _likeliest(parts: list[tuple[PassageRow, Candidate]], asked: Asked) -> list[tuple[PassageRow, Candidate]]:
    """Return the passages that say most of the question, then those most like it; a few of a message are enough."""
    if len(parts) <= _LIKELIEST:
        return parts
    allowed = [one for one in parts if asked.filters.allows(_kind(one[1]))] or parts
    return sorted(allowed, key=lambda one: (one[1].turn or 0.0, one[1].dense or 0.0), reverse=True)[:_LIKELIEST]


def _of_passage(passage: PassageRow, row: MessageRow, view: View, words: set[str]) -> Candidate:
    whole = _of_message(row, view)
    here = words.intersection(words_of(passage.content))
    cosine = view.cosine(passage.place, passage.part)
    return replace(
        whole,
        part=passage.part,
        content=passage.content,
        kind=PassageKind(passage.kind),
        dense=whole.dense if cosine is None else cosine,
        turn=None if whole.turn is None else sum(view.worth.get(word, 0.0) for word in here),
    )


def _instead(messages: Sequence[Candidate], passages: _Passages) -> list[Candidate]:
    """Return the candidates with passages in place of the messages they are parts of."""
    kept = [one for one in messages if one.place not in passages]
    return kept + [candidate for parts in passages.values() for _, candidate in parts]


def _hits(
    session: Session,
    asked: Asked,
    ranked: Sequence[Ranked],
    rows: dict[int, MessageRow],
    languages: dict[tuple[int, int], str | None],
    scope: Scope,
) -> list[Hit]:
    chosen = _at_most(ranked, asked)
    messages = [rows[one.candidate.place] for one, *_ in chosen if not one.candidate.part]
    cut = [row.key for row in messages if row.chars > search.MOST_CHARS]
    whole = search.whole_contents(session, cut) if cut else {}
    return [
        Hit(
            ranked=one,
            is_found=is_found(asked.question, one.candidate),
            message_id=rows[one.candidate.place].message_id,
            conversation_id=rows[one.candidate.place].conversation_id,
            user_id=rows[one.candidate.place].user_id,
            content=_content(one, rows[one.candidate.place], whole),
            kind=_kind(one.candidate),
            language=languages.get((one.candidate.place, one.candidate.part)),
            times=times,
            last_at=last_at,
        )
        for one, times, last_at in (_counted(session, asked, said, scope) for said in chosen)
    ]


def _at_most(ranked: Iterable[Ranked], asked: Asked) -> list[list[Ranked]]:
    """Return so many of the best as are wanted, few of one message, each with those that say the same."""
    times: dict[int, int] = {}
    chosen: dict[Saying, list[Ranked]] = {}
    for one in ranked:
        place, says = one.candidate.place, _saying(one.candidate)
        if says in chosen:
            chosen[says].append(one)
            continue
        is_wanted = asked.filters.allows(_kind(one.candidate)) and times.get(place, 0) < _PER_MESSAGE
        if is_wanted and len(chosen) < asked.limit:
            times[place] = times.get(place, 0) + 1
            chosen[says] = [one]
    return list(chosen.values())


def _saying(candidate: Candidate) -> Saying:
    return candidate.role, candidate.name, min(candidate.part, 1), gist(candidate.content)


def _counted(session: Session, asked: Asked, said: Sequence[Ranked], scope: Scope) -> tuple[Ranked, int, datetime]:
    """Return the first of those that say the same, how often that was said, and when last.

    Not all of them may have been read; where their words stand says where the others are.
    """
    [first, *others] = said
    times, last_at = len(said), max(one.candidate.created_at for one in said)
    if others and not first.candidate.part:
        places = places_of(session, asked.app_id, first.candidate.content, scope)
        rows = search.messages_at(session, asked.app_id, places[-_COUNTED:].tolist()).values()
        same = [row for row in rows if asked.filters.passes(row, {}) and _says(row) == _saying(first.candidate)]
        times = max(times, len(same), len(places) if len(places) > _COUNTED else 0)
        last_at = max([last_at, *(row.created_at for row in same)])
    return first, times, last_at


def _says(row: MessageRow) -> Saying:
    return row.role, row.name, 0, gist(row.content)


def _kind(candidate: Candidate) -> HitKind:
    return HitKind.MESSAGE if candidate.kind is None else HitKind(candidate.kind.value)


def _content(one: Ranked, row: MessageRow, whole: dict[int, str]) -> str:
    return one.candidate.content if one.candidate.part else whole.get(row.key, row.content)
