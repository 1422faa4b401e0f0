"""Print as JSON how well what answers a question is found: rivals and this project's ranking, side by side.

LoCoMo: questions of categories 1 to 4, and with the adversarial fifth; MADial: the memories a dialogue calls for; code:
identifiers in recorded coding sessions. Over values, without a database. Weights are as they are shipped; how they
were found, and how they do on dialogues they were not found on, is in decision 15. Run: python -m ops.bench.finding
"""

from __future__ import annotations

import argparse
import math
import tempfile
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from statistics import mean
from typing import Any

from ops.bench.corpora import DEFAULT_DATA
from ops.bench.figures import say, show
from ops.bench.finding_corpora import Corpus, FindingQuestion, code_talk, locomo, madial
from ops.bench.finding_service import by_service
from ops.bench.finding_ways import Index, Way, by_fts, by_recipe, by_vectors, indexed
from shared.base.setting_groups import ModelSettings
from shared.context.rendering import assemble
from shared.llm.embedding import Embedder
from shared.llm.minilm import WordVectors, is_installed
from shared.llm.providers import make_embedder
from shared.llm.tokens import estimate_tokens
from shared.search.lexical import WordLikeness
from shared.search.ranking import RankedCandidate, WeightedRecipe

BUDGET = 1000
_ADVERSARIAL = 5
_DISCOUNTED = 5
WAYS: dict[str, Callable[[Index], Way]] = {
    "bm25": by_fts,
    "dense": by_vectors,
    "seed": lambda index: by_recipe(index, WeightedRecipe()),
    "ours": by_recipe,
    "ours_without_word_vectors": lambda index: by_recipe(index, likeness=False),
    "ours_without_model": lambda index: by_recipe(index, vectors=False),
}
Result = tuple[FindingQuestion, dict[str, float]]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=DEFAULT_DATA, help="where the corpora are")
    parser.add_argument("--service", action="store_true", help="also through a database and the finder, as it serves")
    parser.add_argument("--captions", action="store_true", help="what was found in pictures counts as said")
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "afterthought-bench")
    given = parser.parse_args()
    if (reason := missing(given.data)) is not None:
        show({"skipped": reason})
        return
    embedder = make_embedder(None, ModelSettings(), 0)
    likeness = WordVectors() if is_installed() else None
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        served = Path(folder) if given.service else None
        show(measured(given.data, embedder, likeness, given.cache, served, captions=given.captions))


def missing(data: Path) -> str | None:
    """Say what is missing at ``data``, or return None."""
    wanted = ("chats/locomo_dev4.json", "chats/madial_dialogue_en.json", "chats/madial_memory_en.json", "sessions")
    absent = [name for name in wanted if not (data / name).exists()]
    return f"{', '.join(absent)} not found in {data}; give the corpora's directory with --data" if absent else None


def measured(
    data: Path,
    embedder: Embedder,
    likeness: WordLikeness | None,
    cache: Path,
    served: Path | None = None,
    *,
    captions: bool = False,
) -> dict[str, Any]:
    """Return all figures, per cent; ``served``: a folder for databases, where the service is measured too."""
    ways = WAYS | ({} if served is None else {"service": partial(by_service, folder=served)})

    def index(corpus: Corpus) -> Index:
        say(f"indexing {corpus.name}")
        return indexed(corpus, embedder, likeness, cache)

    dialogues = [index(one) for one in locomo(data, captions=captions)]
    return {
        "embedder": embedder.name,
        "locomo": {name: _locomo([_results(one, way) for one in dialogues]) for name, way in ways.items()},
        "captions": captions,
        "madial": _recall_at_5(index(madial(data)), ("dense", "bm25", "seed", "ours", "ours_without_model")),
        "code": _recall_at_5(index(code_talk(data)), ("dense", "bm25", "seed", "ours")),
    }


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
    packed = assemble(ranked, BUDGET, estimate_tokens)
    held = {numbers[one.candidate.doc_id] for one in packed.included}
    recalls = {f"recall@{k}": sum(nth < k for nth in at) / len(relevant) for k in (5, 10, 20)}
    return {
        **recalls,
        "ndcg@5": gain / most,
        "mrr": 1 / (at[0] + 1) if at else 0.0,
        "in_budget": float(relevant <= held),
    }


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
    main()
