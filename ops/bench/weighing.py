"""Print as JSON how NDCG@5 depends on the weights α, β and γ of the seed's formula, over a grid of them.

LoCoMo's dev dialogues and talk about code, where they are at hand; otherwise a few made-up messages, which show that
the weights have effect and decide nothing. Source: seed 002, "Tuning Strategy". Run: python -m ops.bench.weighing
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import mean
from typing import Annotated, Any

from ops.bench import corpora
from ops.bench.finding import measures
from ops.bench.finding_ways import Index, indexed, prepared
from ops.bench.harness import run, say
from shared.base.setting_groups import ModelSettings
from shared.llm.embedding import Embedder
from shared.llm.providers import make_embedder
from shared.search.models import doc_id_of
from shared.search.ranking import WeightedRecipe, rank

STEPS = 5
"""Of each weight from 0 to 1."""
_TALK = (
    "The harbour opens at six in the morning.",
    "Call `parse_json(payload)` before anything else.",
    "My sister plays the cello in Odense.",
    "handleError logs what parse_json could not read.",
    "Errors, errors everywhere; please help with the errors.",
    "The cello lesson is on Thursdays at the harbour.",
)
_QUESTIONS = (
    ("When does the harbour open?", {0}),
    ("Need help with parse_json errors", {1, 3}),
    ("Who plays an instrument?", {2}),
    ("What does handleError do?", {3}),
    ("When is the cello lesson?", {5}),
)


def measure(
    data: corpora.DataFolder = corpora.DEFAULT_DATA,
    steps: Annotated[int, "of each weight from 0 to 1"] = STEPS,
    cache: Path = corpora.CACHE,
) -> dict[str, Any]:
    """Weigh what is at hand."""
    every = [made_up()]
    if corpora.missing(data, corpora.LABELLED) is None:
        every += [*corpora.labelled_locomo(data), corpora.code_talk(data)]
    return weigh(every, make_embedder(None, ModelSettings(), 0), cache, steps)


def made_up() -> corpora.Corpus:
    """Return a few messages, each a conversation of its own, and what is asked about them."""
    begun = datetime(2026, 1, 1, tzinfo=UTC)
    said = [
        corpora.CorpusMessage(doc_id_of(nth + 1, 0) or 0, "user", None, text, begun + nth * timedelta(days=1))
        for nth, text in enumerate(_TALK)
    ]
    return corpora.Corpus(
        "made_up", tuple(said), tuple(corpora.FindingQuestion(text, 0, frozenset(at)) for text, at in _QUESTIONS)
    )


def weigh(every: Sequence[corpora.Corpus], embedder: Embedder, cache: Path, steps: int = STEPS) -> dict[str, Any]:
    """Return NDCG@5 of each corpus by weights, per cent, and the weights that do best on each."""
    grid: dict[str, dict[str, float]] = {}
    for corpus in every:
        say(f"weighing {corpus.name}")
        grid[corpus.name] = _by_weights(indexed(corpus, embedder, None, cache), steps)
    return {
        "embedder": embedder.name,
        "questions": {one.name: len(one.questions) for one in every},
        "ndcg@5": grid,
        "best": {name: max(found, key=lambda weights: found[weights]) for name, found in grid.items()},
        "shipped": _named(WeightedRecipe()),
    }


def _by_weights(index: Index, steps: int) -> dict[str, float]:
    numbers = {one.doc_id: nth for nth, one in enumerate(index.corpus.messages)}
    asked = [(one, *prepared(index, one, index.plain[one.text])) for one in index.corpus.questions]
    return {
        _named(weights): round(
            100
            * mean(
                measures(rank(question, candidates, weights, worth), one.relevant, numbers)["ndcg@5"]
                for one, question, candidates, worth in asked
            ),
            1,
        )
        for weights in _weights(steps)
    }


def _weights(steps: int) -> Iterator[WeightedRecipe]:
    yield WeightedRecipe()
    for alpha in range(steps + 1):
        for beta in range(steps + 1 - alpha):
            yield WeightedRecipe(alpha / steps, beta / steps, (steps - alpha - beta) / steps)


def _named(weights: WeightedRecipe) -> str:
    return f"{weights.alpha:.2f} {weights.beta:.2f} {weights.gamma:.2f}"


if __name__ == "__main__":
    run(measure)
