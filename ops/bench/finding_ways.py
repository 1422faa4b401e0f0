"""Ways to find what answers a question in a corpus held in memory: rivals, and the ranking of this project.

Each returns the numbers of the messages, the best first, with what was measured of them where there is anything.
"""

from __future__ import annotations

import hashlib
import re
import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ops.bench.corpora import Corpus, FindingQuestion
from shared.llm.embedding import Embedder, Vectors
from shared.search.lexical import REACH, Posting, WordLikeness, rarity, word_table
from shared.search.query import SearchQuestion, read_question, without_names
from shared.search.ranking import SIGNALS, Candidate, RankedCandidate, Recipe, WeightedRecipe, rank
from shared.search.words import words_of
from tests.support.meters import Calls

FIRST = 40
"""So many of the best by words, by the words around and by vectors are ranked."""
_LISTED = 200
Way = Callable[[FindingQuestion], list[RankedCandidate]]


def embedded(texts: Sequence[str], embedder: Embedder, cache: Path) -> Vectors:
    """Return the vectors of texts, kept in ``cache`` from run to run."""
    key = hashlib.sha256("\0".join([embedder.name, *texts]).encode()).hexdigest()[:32]
    path = cache / f"{key}.npy"
    if not path.is_file():
        cache.mkdir(parents=True, exist_ok=True)
        order = sorted(range(len(texts)), key=lambda nth: len(texts[nth]))
        vectors = embedder.embed([texts[nth] for nth in order], Calls())
        unsorted = np.empty_like(vectors)
        unsorted[order] = vectors
        np.save(path, unsorted)
    kept: Vectors = np.load(path)
    return kept


@dataclass(frozen=True)
class Index:
    """A corpus with its words and vectors; questions are embedded as they are, and without names."""

    corpus: Corpus
    postings: dict[str, np.ndarray]
    vectors: Vectors
    plain: dict[str, np.ndarray]
    nameless: dict[str, np.ndarray]
    likeness: WordLikeness | None

    @property
    def doc_ids(self) -> np.ndarray:
        """The places of the messages, ascending."""
        return np.array([one.doc_id for one in self.corpus.messages], np.int64)


def indexed(corpus: Corpus, embedder: Embedder, likeness: WordLikeness | None, cache: Path) -> Index:
    """Index a corpus."""
    postings: dict[str, list[int]] = {}
    for one in corpus.messages:
        for word in words_of(one.content):
            postings.setdefault(word, []).append(one.doc_id)
    texts = [one.text for one in corpus.questions]
    nameless = [without_names(text, corpus.names) for text in texts]
    return Index(
        corpus=corpus,
        postings={word: np.array(doc_ids, np.int64) for word, doc_ids in postings.items()},
        vectors=embedded([one.content or " " for one in corpus.messages], embedder, cache),
        plain=dict(zip(texts, embedded(texts, embedder, cache), strict=True)),
        nameless=dict(zip(texts, embedded(nameless, embedder, cache), strict=True)),
        likeness=likeness,
    )


def by_fts(index: Index) -> Way:
    """Rank by SQLite's own BM25 over stems, all words of the question OR-ed."""
    database = sqlite3.connect(":memory:")
    database.execute("CREATE VIRTUAL TABLE said USING fts5(body, tokenize = 'porter unicode61')")
    bodies = [(nth, one.content) for nth, one in enumerate(index.corpus.messages)]
    database.executemany("INSERT INTO said (rowid, body) VALUES (?, ?)", bodies)

    def find(asked: FindingQuestion) -> list[RankedCandidate]:
        words = " OR ".join(f'"{word}"' for word in re.findall(r"\w+", asked.text))
        found = database.execute(
            "SELECT rowid, bm25(said) FROM said WHERE said MATCH ? ORDER BY bm25(said) LIMIT ?", (words, _LISTED)
        )
        return [RankedCandidate(_candidate(index, nth), -score, {}) for nth, score in found]

    return find


def by_vectors(index: Index) -> Way:
    """Rank by the cosine with the question as it is."""

    def find(asked: FindingQuestion) -> list[RankedCandidate]:
        cosines = index.vectors @ index.plain[asked.text]
        best = np.argsort(-cosines, kind="stable")[:_LISTED].tolist()
        return [RankedCandidate(_candidate(index, nth), float(cosines[nth]), {}) for nth in best]

    return find


def by_recipe(index: Index, recipe: Recipe = SIGNALS, *, vectors: bool = True, likeness: bool = True) -> Way:
    """Rank the best of words and vectors by a recipe, as a search does; the seed's is asked with names and all."""

    def find(asked: FindingQuestion) -> list[RankedCandidate]:
        query = (index.plain if isinstance(recipe, WeightedRecipe) else index.nameless)[asked.text]
        question, candidates, worth = prepared(index, asked, query if vectors else None)
        return rank(question, candidates, recipe, worth, index.likeness if vectors and likeness else None)

    return find


def prepared(
    index: Index, asked: FindingQuestion, query: np.ndarray | None
) -> tuple[SearchQuestion, list[Candidate], dict[str, float]]:
    """Return a question as it is read, the candidates for it, and what its words are worth; the same for any recipe."""
    question = read_question(asked.text, index.corpus.now)
    known = [Posting(word, index.postings[word]) for word in question.words if word in index.postings]
    worth = {one.word: rarity(len(index.postings[one.word]), len(index.corpus.messages)) for one in known}
    return question, _candidates(index, known, query), worth


def _candidates(index: Index, known: Sequence[Posting], query: np.ndarray | None) -> list[Candidate]:
    table = word_table(known, len(index.corpus.messages))
    cosines = None if query is None else index.vectors @ query
    found = table.best(FIRST)
    if cosines is not None:
        found = np.union1d(found, index.doc_ids[np.argsort(-cosines, kind="stable")[:FIRST]])
    found = found[np.isin(found, index.doc_ids)]
    scores = table.scores(found)
    return [
        _candidate(index, nth, cosines, turn, window)
        for nth, turn, window in zip(
            np.searchsorted(index.doc_ids, found).tolist(), scores.turn.tolist(), scores.window.tolist(), strict=True
        )
    ]


def _candidate(
    index: Index, nth: int, cosines: np.ndarray | None = None, turn: float | None = None, window: float | None = None
) -> Candidate:
    one = index.corpus.messages[nth]
    return Candidate(
        doc_id=one.doc_id,
        part=0,
        role=one.role,
        name=one.name,
        content=one.content,
        created_at=one.created_at,
        dense=None if cosines is None else float(cosines[nth]),
        around=None if cosines is None else _around(index, nth, cosines),
        turn=turn,
        window=window,
    )


def _around(index: Index, nth: int, cosines: np.ndarray) -> float:
    near = slice(max(0, nth - REACH), nth + REACH + 1)
    within = [
        cosine
        for one, cosine in zip(index.corpus.messages[near], cosines[near].tolist(), strict=True)
        if abs(one.doc_id - index.corpus.messages[nth].doc_id) <= REACH
    ]
    return sum(within) / len(within)
