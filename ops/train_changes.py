"""Make the weights of ``worker.agent.replacement`` out of ops/training.

Run: python -m ops.train_changes               writes worker/agent/replacement.npz, about a minute of a core
     python -m ops.train_changes --validate    leaves out a writer of pairs at a time, and prints as JSON how many of
                                               the changes left out are seen, and what else is taken for one

Needs scikit-learn (the extra ``train``), which the service does not.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ops.train import DATA, Labelled, labelled
from shared.text.classifier import StatementType
from worker.agent.persons import in_third_person
from worker.agent.replacement import PLACES, WEIGHTS, are_of_one_thing, cues_of, reading_of, relation_of

_STRENGTH = 3.0
"""Inverse of the regularisation."""
_RELATION = 0.15
"""What common features count beside words: they are few, and regularised alike."""
_APART = 10_000
"""Pairs of statements of one talk, at most."""
_STEPS = 127


@dataclass(frozen=True)
class Pair:
    """A known fact, what is said later, and whether the fact is over by it."""

    writer: int
    old: str
    new: str
    is_over: bool


def pairs(folder: Path = DATA) -> list[Pair]:
    """Read every labelled pair of a folder that names one thing. Raises: ValueError naming the line that is none."""
    found: list[Pair] = []
    for path in sorted(folder.glob("pairs-*.tsv")):
        for line in path.read_text("utf-8").splitlines():
            fields = line.split("\t")
            if len(fields) != 5 or fields[2] not in ("R", "K"):
                raise ValueError(f"{path.name}: no pair: {line}")
            # Facts stand in the third person.
            found.append(Pair(int(path.stem[6:]), in_third_person(fields[3]), fields[4], fields[2] == "R"))
    return [one for one in found if are_of_one_thing(one.old, one.new)]


def apart(folder: Path = DATA) -> list[Pair]:
    """Return facts beside what else was said of the same things in their talks, by which nearly all stand."""
    talks: dict[tuple[int, int], list[Labelled]] = {}
    for one in labelled(folder):
        talks.setdefault((one.writer, one.talk), []).append(one)
    found = dict[Pair, None]()
    for said in talks.values():
        for old, new in permutations(said, 2):
            if old.fact and new.sort is not StatementType.CHANGE:
                texts = in_third_person(old.text), new.text
                if in_third_person(new.text) != texts[0] and are_of_one_thing(*texts):
                    found[Pair(old.writer, *texts, is_over=False)] = None
    return random.Random(1).sample(list(found), min(_APART, len(found)))


def features(of: Sequence[Pair]) -> tuple[Any, NDArray[np.float64]]:
    """Return the cues as a sparse matrix of shape (pairs, PLACES), and the relations: shape (pairs, m)."""
    from scipy.sparse import csr_matrix

    read = [(reading_of(one.old), reading_of(one.new)) for one in of]
    rows = [cues_of(*both) for both in read]
    counts = np.concatenate([np.full(len(row), len(row) ** -0.5) for row in rows])
    starts = np.cumsum([0, *map(len, rows)])
    cues = csr_matrix((counts, np.concatenate(rows), starts), shape=(len(of), PLACES))
    return cues, np.array([relation_of(*both) for both in read], np.float64)


@dataclass(frozen=True)
class Fit:
    """Weights of cues, of relations, and the bias."""

    cues: NDArray[np.float64]
    relation: NDArray[np.float64]
    bias: float

    def log_odds(self, cues: Any, relations: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return how likely each fact is over: shape (pairs,)."""
        odds: NDArray[np.float64] = cues @ self.cues + relations @ self.relation + self.bias
        return odds


def fitted(cues: Any, relations: NDArray[np.float64], is_over: NDArray[np.bool_]) -> Fit:
    """Return the weights that tell these pairs best."""
    from scipy.sparse import csr_matrix, hstack
    from sklearn.linear_model import LogisticRegression

    mean, spread = relations.mean(axis=0), relations.std(axis=0) + 1e-6
    known = hstack([csr_matrix((relations - mean) / spread * _RELATION), cues]).tocsr()
    model = LogisticRegression(C=_STRENGTH, solver="liblinear", random_state=0).fit(known, is_over)
    relation = model.coef_[0][: len(mean)] / spread * _RELATION
    return Fit(model.coef_[0][len(mean) :], relation, float(model.intercept_[0] - mean @ relation))


def packed(fit: Fit) -> dict[str, NDArray[Any]]:
    """Return the weights as they are stored: those of cues in one byte each."""
    scale = np.abs(fit.cues).max() / _STEPS
    return {
        "cues": np.round(fit.cues / scale).astype(np.int8),
        "scale": np.float32(scale),
        "relation": fit.relation.astype(np.float32),
        "bias": np.float32(fit.bias),
    }


def validated() -> dict[str, Any]:
    """Return for each writer of pairs left out how many changes are seen, and how many of what is seen are changes."""
    told, others = pairs(), apart()
    is_test = np.array([one.writer % 3 == 0 for one in others])
    (cues, relations), beside = features([*told, *others]), len(told)
    is_over = np.array([one.is_over for one in [*told, *others]])
    report: dict[str, Any] = {"pairs": len(told), "beside": len(others)}
    for writer in sorted({one.writer for one in told}):
        left_out = np.array([one.writer == writer for one in told])
        known = np.concatenate([~left_out, ~is_test])
        fit = fitted(cues[known], relations[known], is_over[known])
        odds = fit.log_odds(cues, relations)
        own, apart_odds = odds[:beside][left_out], odds[beside:][is_test]
        truly = is_over[:beside][left_out]
        report[str(writer)] = {
            f"{least:.1f}": {
                "seen": round(float((own[truly] >= least).mean()), 3),
                "right": round(float(truly[own >= least].mean()), 3),
                "of 1,000 beside": round(float((apart_odds >= least).mean() * 1000), 2),
            }
            for least in (0.0, 0.5, 1.0, 1.5, 2.0)
        }
    return report


def main() -> None:
    """Train, or validate."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--validate", action="store_true")
    parser.add_argument("--to", type=Path, default=WEIGHTS)
    arguments = parser.parse_args()
    if arguments.validate:
        print(json.dumps(validated(), indent=1))
        return
    known = [*pairs(), *apart()]
    fit = fitted(*features(known), np.array([one.is_over for one in known]))
    np.savez_compressed(arguments.to, **packed(fit))
    print(json.dumps({"pairs": len(known), "bytes": arguments.to.stat().st_size}))


if __name__ == "__main__":
    main()
