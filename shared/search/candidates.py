"""Candidates of one search within a scope: taken from what words and vectors bring first, read, filtered and ranked.

Where filters turn many away, or many say the same, more are taken, up to a bound. Long messages give way to their
passages once it is known that they are among the best. What is said again is one result that says how often.
"""

import threading
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from datetime import datetime
from functools import reduce
from itertools import chain

import numpy as np
from numpy.typing import NDArray
from sqlalchemy.orm import Session

from shared.base.process import give_up_if_abandoned
from shared.search import search_queries
from shared.search.models import HitKind, PassageKind, conversation_of
from shared.search.passages import may_have_passages
from shared.search.ranking import Candidate, RankedCandidate, SearchHit, is_beside, is_found, rank, recipe_of
from shared.search.search_queries import MessageRow, PassageRow
from shared.search.spoken import SpokenText
from shared.search.view import MessageFilters, ScopedView, Search, SearchScope
from shared.search.word_index import open_index, postings_in
from shared.search.words import words_of

# More brought nothing, 25 cost 0.3 points (decision 15).
FIRST = 40
"""So many of the best by words, by the words around and by vectors are read at first."""
_READ = 120
"""So many messages are read and ranked where few are wanted and none is turned away."""
ROUNDS = 4
_MORE = 5
"""Each further round reads so many times more."""
_AT_ONCE = 1_000
"""Messages that are read before those that do not pass are let go."""
_PASSING_CHARS = 4_000_000
"""No further round begins once so much has passed: it is too much of the same."""
_LEAST = 40
"""So many candidates are wanted at least: ranking weighs them against each other."""
_OPENED = 40
"""So many of the best messages are opened into their passages."""
_OPENED_CHARS = 16_000_000
"""Beyond so many characters of all of them, no further message is opened."""
_WEIGHED = 640
"""Passages of all messages whose words are looked at; of more, each message's likeliest at a glance."""
_WEIGHING = threading.Lock()
"""Held by the one thread that weighs passages: it is all work of the interpreter, so two would be done no sooner, and
everybody else's requests would wait for both."""
_LIKELIEST = 8
"""Passages of one message that are ranked."""
_PER_MESSAGE = 2
"""Passages of one message among the results."""
_COUNTED = 1_000
"""Messages are looked through to count how often something was said; beyond that it counts where its words stand."""
_COMMON = 20_000
"""A word that stands in more messages of an app than this does not say where a text stands."""
_TELLING = 3
"""The longest words of a text nearly always say where it stands; what is found there is read and compared."""
Gist = tuple[str, str | None, int, int | None]
"""By whom, whether it is a part of something, and what."""


def what_followed(session: Session, app_id: str, hit: SearchHit, count: int) -> list[SearchHit]:
    """Return so many messages at most that users and assistants said right after a hit, in their order."""
    doc_id = hit.ranked.candidate.doc_id
    after = [one for one in range(doc_id + 1, doc_id + 1 + count) if conversation_of(one) == conversation_of(doc_id)]
    return said_at(session, app_id, after)


def said_at(session: Session, app_id: str, doc_ids: Sequence[int]) -> list[SearchHit]:
    """Return what users and assistants said at these places, in order, but for what is very long."""
    rows = search_queries.messages_at(session, app_id, doc_ids)
    return [
        SearchHit(
            ranked=RankedCandidate(
                Candidate(at, 0, row.role, row.name, row.content, row.created_at, None, None, None, None), 0.0
            ),
            is_found=False,
            message_id=row.message_id,
            conversation_id=row.conversation_id,
            user_id=row.user_id,
            content=row.content,
            kind=HitKind.MESSAGE,
            language=None,
            times=1,
            last_at=row.created_at,
        )
        for at, row in sorted(rows.items())
        if row.chars <= search_queries.MOST_CHARS
    ]


def whole_at(session: Session, app_id: str, doc_ids: Sequence[int]) -> dict[int, str]:
    """Return the whole of what users and assistants said at these places."""
    rows = search_queries.messages_at(session, app_id, doc_ids) if doc_ids else {}
    contents = search_queries.whole_contents(session, [row.key for row in rows.values()]) if rows else {}
    return {doc_id: contents[row.key] for doc_id, row in rows.items() if row.key in contents}


def find_candidates(session: Session, search: Search, scope: SearchScope, limit: int) -> list[SearchHit]:
    """Return what is found within a scope, the best first."""
    view = ScopedView(session, search, scope)
    read = _read(session, view, search, limit)
    if not read:
        return []
    messages = {row.doc_id: row for row, _ in read}
    # Messages, which come by doc id, with what the indexes know of them.
    known = view.look(np.array([row.doc_id for row, _ in read], np.int64))
    candidates = [
        Candidate(row.doc_id, 0, row.role, row.name, row.content, row.created_at, *of_row, None, said)
        for (row, said), of_row in zip(read, zip(*known, strict=True), strict=True)
    ]
    ranked = _ranked(search, candidates)
    long = _opened(ranked, limit, messages) if search.tuning.chunking else {}
    with _WEIGHING if long else nullcontext():
        passages = _passages(session, view, search, long, messages) if long else {}
        give_up_if_abandoned()
        if passages:
            # Passages take the place of their message, or it would stand among the results beside its own parts.
            whole = [one for one in candidates if one.doc_id not in passages]
            ranked = _ranked(search, whole + [one for parts in passages.values() for _, one in parts])
    languages = {(one.doc_id, one.part): one.language for parts in passages.values() for one, _ in parts}
    return _hits(session, search, ranked, messages, languages, scope, limit)


def merge_hits(hits: Iterable[SearchHit]) -> list[SearchHit]:
    """Return hits in their order, one for those of several scopes that say the same."""
    found: dict[Gist, SearchHit] = {}
    for hit in hits:
        key = _gist_of(hit.ranked.candidate)
        former = found.get(key)
        if former is not None:
            hit = former._replace(times=former.times + hit.times, last_at=max(former.last_at, hit.last_at))
        found[key] = hit
    return list(found.values())


def _ranked(search: Search, candidates: Sequence[Candidate]) -> list[RankedCandidate]:
    """Rank candidates against each other, and leave out what is no result at all."""
    ranked = rank(search.question, candidates, recipe_of(search.tuning), search.worth, search.likeness, search.spoken)
    return [one for one in ranked if is_found(search.question, one.candidate) or is_beside(one.candidate)]


def _read(session: Session, view: ScopedView, search: Search, limit: int) -> list[tuple[MessageRow, SpokenText]]:
    """Return the best messages that pass the filters, by doc id, each with what it says."""
    passing: dict[int, tuple[MessageRow, SpokenText]] = {}
    gists: set[int] = set()
    seen: set[int] = set()
    wanted, chars = max(_LEAST, 2 * limit), 0
    for nth in range(ROUNDS):
        best = view.best(max(FIRST, limit) * _MORE**nth)
        # With such filters none is spared the reading: the one that passes may be far down.
        if not search.request.filters.looks_at_messages:
            best = view.likeliest(best, max(_READ, 6 * limit) * _MORE**nth)
        new = [doc_id for doc_id in best.tolist() if doc_id not in seen]
        if not new:
            break
        seen.update(new)
        for at in range(0, len(new), _AT_ONCE):
            rows = search_queries.messages_at(session, search.app_id, new[at : at + _AT_ONCE])
            for doc_id, row in _passing(session, search, rows).items():
                said = search.spoken.read(row.content)
                passing[doc_id] = row, said
                chars += len(row.content)
                gists.add(said.gist)
        if (
            chars > _PASSING_CHARS
            or len(gists) >= wanted
            # Where nothing was said twice or turned away, a further round would bring only what ranks lower.
            or (len(gists) == len(passing) and not search.request.filters.looks_at_messages)
        ):
            break
    return [passing[doc_id] for doc_id in sorted(passing)]


def _passing(session: Session, search: Search, rows: dict[int, MessageRow]) -> dict[int, MessageRow]:
    filters = search.request.filters
    if not filters.looks_at_messages:
        return rows
    conversations = {row.conversation_id for row in rows.values()} if filters.tags else set()
    tags = search_queries.tags_of(session, conversations, search.app_id) if conversations else {}
    passing = {doc_id: row for doc_id, row in rows.items() if filters.passes(row, tags)}
    if not filters.kinds or not passing:
        return passing
    # A message that is of no wanted kind passes where a passage of it is.
    passages = search_queries.passages_at(session, search.app_id, list(passing)) if search.tuning.chunking else {}
    kinds = {doc_id: {HitKind(one.kind) for one in found} for doc_id, found in passages.items()}
    return {
        doc_id: row
        for doc_id, row in passing.items()
        if any(map(filters.allows, kinds.get(doc_id, (HitKind.MESSAGE,))))
    }


def _passages(
    session: Session, view: ScopedView, search: Search, long: Mapping[int, Candidate], rows: Mapping[int, MessageRow]
) -> dict[int, list[tuple[PassageRow, Candidate]]]:
    """Return the passages of the messages that are opened, a few of each: what says most of the question first."""
    words = set(search.question.words)

    def candidate(passage: PassageRow, content: str, whole: Candidate) -> Candidate:
        cosine = view.cosine(passage.doc_id, passage.part)
        here = words.intersection(words_of(content))
        return whole._replace(
            part=passage.part,
            content=content,
            said=search.spoken.read(content),
            kind=PassageKind(passage.kind),
            dense=whole.dense if cosine is None else cosine,
            turn=None if whole.turn is None else sum(view.worth.get(word, 0.0) for word in here),
        )

    # First behind the lock: who asked may have left while this waited for it.
    give_up_if_abandoned()
    found = search_queries.passages_at(session, search.app_id, list(long))
    # Cut here: the database would read a message from its beginning for each of its passages.
    contents = search_queries.whole_contents(session, [rows[doc_id].key for doc_id in found]) if found else {}
    share = max(_LIKELIEST, _WEIGHED // max(1, len(found)))
    opened = {}
    for doc_id, passages in found.items():
        give_up_if_abandoned()
        content = contents.get(rows[doc_id].key)
        if content is None:
            continue  # Erased since.
        if len(passages) > _LIKELIEST:
            passages = [one for one in passages if search.request.filters.allows(HitKind(one.kind))] or passages
        texts = [(one, content[one.start : one.start + one.length]) for one in passages]
        if len(texts) > share:
            texts = sorted(texts, key=lambda one: _glance(view, words, *one), reverse=True)[:share]
        parts = [(one, candidate(one, text, long[doc_id])) for one, text in texts]
        if len(parts) > _LIKELIEST:
            parts.sort(key=lambda one: (one[1].turn or 0.0, one[1].dense or 0.0), reverse=True)
        opened[doc_id] = parts[:_LIKELIEST]
    return opened


def _opened(ranked: Sequence[RankedCandidate], limit: int, rows: Mapping[int, MessageRow]) -> dict[int, Candidate]:
    """Return the best messages that may have passages, as far as there are characters to read for them."""
    opened, chars = {}, 0
    for one in ranked[: max(_OPENED, 2 * limit)]:
        doc_id = one.candidate.doc_id
        if may_have_passages(one.candidate.content) and chars < _OPENED_CHARS:
            opened[doc_id] = one.candidate
            chars += rows[doc_id].chars
    return opened


def _glance(view: ScopedView, words: Iterable[str], passage: PassageRow, text: str) -> tuple[float, float]:
    """Return what a passage seems to be worth by its letters, a tenth of the work of its words; then its cosine."""
    folded = text.lower()
    seen = sum(view.worth.get(word, 0.0) for word in words if word in folded)
    return seen, view.cosine(passage.doc_id, passage.part) or 0.0


def _hits(
    session: Session,
    search: Search,
    ranked: Sequence[RankedCandidate],
    rows: dict[int, MessageRow],
    languages: dict[tuple[int, int], str | None],
    scope: SearchScope,
    limit: int,
) -> list[SearchHit]:
    chosen = _chosen(ranked, search.request.filters, limit)
    messages = [rows[same[0].candidate.doc_id] for same in chosen if not same[0].candidate.part]
    cut = [row.key for row in messages if row.chars > search_queries.MOST_CHARS]
    whole = search_queries.whole_contents(session, cut) if cut else {}
    said_alike = _said_alike(session, search, [same[0].candidate for same in chosen if len(same) > 1], scope)
    hits = []
    for same in chosen:
        candidate = same[0].candidate
        row = rows[candidate.doc_id]
        times, last_at = said_alike.get((candidate.doc_id, candidate.part), (1, row.created_at))
        hits.append(
            SearchHit(
                ranked=same[0],
                is_found=is_found(search.question, candidate),
                message_id=row.message_id,
                conversation_id=row.conversation_id,
                user_id=row.user_id,
                content=candidate.content if candidate.part else whole.get(row.key, row.content),
                kind=_kind(candidate),
                language=languages.get((candidate.doc_id, candidate.part)),
                times=max(times, len(same)),
                last_at=max(last_at, *(one.candidate.created_at for one in same)),
            )
        )
    return hits


def _chosen(ranked: Iterable[RankedCandidate], filters: MessageFilters, limit: int) -> list[list[RankedCandidate]]:
    """Return so many of the best as are wanted, few of one message, each with those that say the same."""
    times: dict[int, int] = {}
    chosen: dict[Gist, list[RankedCandidate]] = {}
    for one in ranked:
        doc_id, key = one.candidate.doc_id, _gist_of(one.candidate)
        if key in chosen:
            chosen[key].append(one)
            continue
        is_wanted = filters.allows(_kind(one.candidate)) and times.get(doc_id, 0) < _PER_MESSAGE
        if is_wanted and len(chosen) < limit:
            times[doc_id] = times.get(doc_id, 0) + 1
            chosen[key] = [one]
    return list(chosen.values())


def _said_alike(
    session: Session, search: Search, repeated: Sequence[Candidate], scope: SearchScope
) -> dict[tuple[int, int], tuple[int, datetime]]:
    """Return how often messages that are known to be said more than once were said, and when last.

    Not all that say the same may have been read; where their words stand says where the others are.
    """
    repeated = [one for one in repeated if not one.part]
    if not repeated:
        return {}
    words = {one.doc_id: words_of(one.content) for one in repeated}
    longest = {doc_id: sorted(of_text, key=len)[-_TELLING:] for doc_id, of_text in words.items()}
    places = _places_saying(session, search.app_id, longest, scope)
    # Of a text whose longest words tell too little, all words are looked up, which costs a look at each.
    unclear = [one for one, found in places.items() if not 0 < len(found) <= _COUNTED and len(words[one]) > _TELLING]
    if unclear:
        places |= _places_saying(session, search.app_id, {one: words[one] for one in unclear}, scope)
    looked_at = np.unique(np.concatenate([doc_ids[-_COUNTED:] for doc_ids in places.values()])).tolist()
    rows = search_queries.messages_at(session, search.app_id, looked_at).values() if looked_at else ()
    said: dict[Gist, list[datetime]] = {}
    for row in rows:
        if search.request.filters.passes(row, {}):
            said.setdefault((row.role, row.name, 0, search.spoken.read(row.content).gist), []).append(row.created_at)
    alike = {one.doc_id: said.get(_gist_of(one), []) for one in repeated}
    return {
        (one.doc_id, 0): (
            max(len(alike[one.doc_id]), len(places[one.doc_id]) if len(places[one.doc_id]) > _COUNTED else 0),
            max([one.created_at, *alike[one.doc_id]]),
        )
        for one in repeated
    }


def _places_saying(
    session: Session, app_id: str, words: Mapping[int, Sequence[str]], scope: SearchScope
) -> dict[int, NDArray[np.int64]]:
    """Return for each list of words where all of them stand in one message; none where they do not tell."""
    found = postings_in(open_index(session, app_id), list(dict.fromkeys(chain.from_iterable(words.values()))), _COMMON)
    places = {}
    for doc_id, of_text in words.items():
        known = [doc_ids for word in of_text if (doc_ids := found.get(word)) is not None]
        together = reduce(np.intersect1d, known) if known else np.zeros(0, np.int64)
        places[doc_id] = together[scope.holds(together)]
    return places


def _gist_of(candidate: Candidate) -> Gist:
    said = candidate.said
    return candidate.role, candidate.name, min(candidate.part, 1), None if said is None else said.gist


def _kind(candidate: Candidate) -> HitKind:
    return HitKind.MESSAGE if candidate.kind is None else HitKind(candidate.kind.value)
