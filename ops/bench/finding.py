"""Print as JSON how well what answers a question is found: rivals and this project's ranking, side by side.

LoCoMo: questions of categories 1 to 4, and with the adversarial fifth; MADial: the memories a dialogue calls for; code:
identifiers in recorded coding sessions. Over values, without a database. Weights are as they are shipped; how they
were found, and how they do on dialogues they were not found on, is in decision 15. Run: python -m ops.bench.finding
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from statistics import mean
from typing import Annotated, Any

import sqlalchemy as sa

from ops.bench import corpora
from ops.bench.finding_ways import Index, Way, by_fts, by_recipe, by_vectors, indexed
from ops.bench.harness import run, say
from ops.bench.made_up import make_finder
from ops.bench.population import serving_set
from shared.apps.queries import install
from shared.base.setting_groups import ModelSettings
from shared.context.select import Filler, Item
from shared.conversations.lifecycle import NewConversation, NewMessage, Role, append_messages, start
from shared.db.engine import Database
from shared.db.schema import migrate
from shared.llm.calls import LAST_RESORT
from shared.llm.minilm import WordVectors, is_installed
from shared.llm.providers import make_embedder
from shared.search.models import MessageVector, conversation_of, doc_id_of, position_of
from shared.search.query import without_names
from shared.search.ranking import RankedCandidate, WeightedRecipe
from shared.search.vectors import pack
from shared.search.view import SearchRequest

BUDGET = 1000
_ADVERSARIAL = 5
_LIMIT = 40
_APP = "bench"
_DISCOUNTED = 5
WAYS: dict[str, Callable[[Index], Way]] = {
    "bm25": by_fts,
    "dense": by_vectors,
    "seed": lambda index: by_recipe(index, WeightedRecipe()),
    "ours": by_recipe,
    "ours_without_word_vectors": lambda index: by_recipe(index, likeness=False),
    "ours_without_model": lambda index: by_recipe(index, vectors=False),
}
Result = tuple[corpora.FindingQuestion, dict[str, float]]


def measure(
    folder: Path,
    data: corpora.DataFolder = corpora.DEFAULT_DATA,
    service: Annotated[bool, "also through a database and the finder, as it serves"] = False,
    captions: Annotated[bool, "what was found in pictures counts as said"] = False,
    cache: Path = corpora.CACHE,
) -> dict[str, Any]:
    """Return all figures, per cent."""
    if (reason := corpora.missing(data, corpora.LABELLED)) is not None:
        return {"skipped": reason}
    embedder = make_embedder(None, ModelSettings(), 0)
    likeness = WordVectors() if is_installed() else None
    ways = WAYS | ({"service": partial(by_service, folder=folder)} if service else {})

    def index(corpus: corpora.Corpus) -> Index:
        say(f"indexing {corpus.name}")
        return indexed(corpus, embedder, likeness, cache)

    dialogues = [index(one) for one in corpora.labelled_locomo(data, captions=captions)]
    return {
        "embedder": embedder.name,
        "locomo": {name: _locomo([_results(one, way) for one in dialogues]) for name, way in ways.items()},
        "captions": captions,
        "madial": _recall_at_5(index(corpora.madial(data)), ("dense", "bm25", "seed", "ours", "ours_without_model")),
        "code": _recall_at_5(index(corpora.code_talk(data)), ("dense", "bm25", "seed", "ours")),
    }


class At:
    """A clock that shows when the questions are asked."""

    def __init__(self, now: datetime) -> None:
        self._now = now

    def now(self) -> datetime:
        return self._now


def by_service(index: Index, folder: Path) -> Way:
    """Put a corpus into a database as one app, with its indexes, and search it there as the service does."""
    url = f"sqlite:///{folder / f'{index.corpus.name}.db'}"
    migrate(url)
    database = Database(url)
    nameless = {without_names(text, index.corpus.names): vector for text, vector in index.nameless.items()}
    # A question's vector with or without names, as it is asked for.
    vector_of = (index.plain | nameless).__getitem__
    at = _fill(database, index)
    finder = make_finder(database, vector_of, clock=At(index.corpus.now), likeness=index.likeness)

    def find(asked: corpora.FindingQuestion) -> list[RankedCandidate]:
        ranked = (hit.ranked for hit in finder.find(_APP, SearchRequest(asked.text, _LIMIT)).hits)
        return [
            one._replace(candidate=one.candidate._replace(doc_id=at[one.candidate.doc_id]))
            for one in ranked
            if not one.candidate.part
        ]

    return find


def _fill(database: Database, index: Index) -> dict[int, int]:
    """Say everything; return where in the corpus each place of the database is."""
    places: dict[int, int] = {}
    began = datetime(2020, 1, 1, tzinfo=UTC)
    with database.write() as session:
        install(session, _APP, "Bench", {}, began)
        session.add(vectors := serving_set(_APP, index.vectors.shape[1]))
        session.flush()
        numbered = enumerate(index.corpus.messages)
        for name, group in itertools.groupby(numbered, key=lambda one: conversation_of(one[1].doc_id)):
            conversation, said = start(session, _APP, NewConversation(f"c{name}"), began), list(group)
            messages = [
                NewMessage(Role(one.role), one.content or " ", name=one.name, created_at=one.created_at)
                for _, one in said
            ]
            append_messages(session, conversation, messages, said[0][1].created_at)
            at = {doc_id_of(conversation.key, position_of(one.doc_id)) or 0: one.doc_id for _, one in said}
            rows = [
                {"set_key": vectors.key, "doc_id": doc_id, "part": 0, "vector": pack(index.vectors[nth])}
                for doc_id, (nth, _) in zip(at, said, strict=True)
            ]
            session.execute(sa.insert(MessageVector), rows)
            places |= at
    return places


def _results(index: Index, way: Callable[[Index], Way]) -> list[Result]:
    find = way(index)
    numbers = {one.doc_id: nth for nth, one in enumerate(index.corpus.messages)}
    return [(asked, measures(find(asked), asked.relevant, numbers)) for asked in index.corpus.questions]


def measures(ranked: Sequence[RankedCandidate], relevant: frozenset[int], numbers: dict[int, int]) -> dict[str, float]:
    """Return how well ``relevant`` was found; ``numbers`` of messages by place."""
    found = [numbers[one.candidate.doc_id] for one in ranked]
    at = [nth for nth, number in enumerate(found) if number in relevant]
    gain = sum(1 / math.log2(nth + 2) for nth in at if nth < _DISCOUNTED)
    most = sum(1 / math.log2(nth + 2) for nth in range(min(_DISCOUNTED, len(relevant))))
    in_budget = Filler[int](LAST_RESORT.chars_in(BUDGET))
    in_budget.fill(map(_item, ranked))
    recalls = {f"recall@{k}": sum(nth < k for nth in at) / len(relevant) for k in (5, 10, 20)}
    return {
        **recalls,
        "ndcg@5": gain / most,
        "mrr": 1 / (at[0] + 1) if at else 0.0,
        "in_budget": float(relevant <= {numbers[doc_id] for doc_id in in_budget.taken}),
    }


def _item(ranked: RankedCandidate) -> Item[int]:
    """Return a message with the characters it takes in a context."""
    one = ranked.candidate
    day = f"{one.created_at:%Y-%m-%d}\n"
    return Item(one.doc_id, len(f"> {one.name or one.role}: {one.content}\n"), day, len(day))


def _locomo(results: list[list[Result]]) -> dict[str, Any]:
    every = [one for dialogue in results for one in dialogue]
    usual = [one for one in every if one[0].category != _ADVERSARIAL]
    return {
        "categories_1_to_4": _means(usual),
        "all_five": _means(every),
        "adversarial": _means([one for one in every if one[0].category == _ADVERSARIAL]),
        "several_turns": _means([one for one in usual if len(one[0].relevant) > 1]),
        "recall@10_by_category": {
            kind: _per_cent(one[1]["recall@10"] for one in usual if one[0].category == kind) for kind in (1, 2, 3, 4)
        },
        "recall@10_by_dialogue": [
            _per_cent(one[1]["recall@10"] for one in dialogue if one[0].category != _ADVERSARIAL)
            for dialogue in results
        ],
    }


def _recall_at_5(index: Index, names: Sequence[str]) -> dict[str, Any]:
    results = {name: _results(index, WAYS[name]) for name in names}
    return {
        "questions": len(index.corpus.questions),
        "messages": len(index.corpus.messages),
        **{name: _per_cent(one[1]["recall@5"] for one in found) for name, found in results.items()},
    }


def _means(results: Sequence[Result]) -> dict[str, Any]:
    names = results[0][1]
    return {"questions": len(results), **{name: _per_cent(one[1][name] for one in results) for name in names}}


def _per_cent(values: Iterable[float]) -> float:
    return round(100 * mean(values), 1)


if __name__ == "__main__":
    run(measure)
