"""Make the weights of ``shared.text.classifier`` out of ops/training.

Run: python -m ops.train                 writes shared/text/classifier.npz, about three minutes of a core
     python -m ops.train --validate      leaves out a writer, then a language, at a time, and prints as JSON how well
                                         what is left tells the statements that were left out

Needs scikit-learn (the extra ``train``), which the service does not, and the built-in embedding model.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shared.llm.minilm import MiniLmEmbedder
from shared.text.classifier import (
    ASKS,
    OUTPUTS,
    PLACES,
    WEIGHTS,
    StatementType,
    pieces_of,
    places_of,
    shares_of,
    traits_of,
    whole_of,
)
from worker.agent.persons import in_third_person

DATA = Path(__file__).with_name("training")
_STATEMENT = re.compile(r"([k-])([f-])([A-Z]) (.*)")
_STRENGTH = 8.0
"""Inverse of the regularisation; 4 is within two thousandths."""
_STEPS = 127


@dataclass(frozen=True)
class Labelled:
    """A statement with what its writer says it is."""

    writer: int
    talk: int
    language: str
    text: str
    asked: bool
    in_fiction: bool
    keep: bool
    fact: bool
    sort: StatementType


def labelled(folder: Path = DATA) -> list[Labelled]:
    """Read every statement of a folder. Raises: ValueError naming the line that is none."""
    found: list[Labelled] = []
    for path in sorted(folder.glob("writer-*.txt")):
        writer = int(path.stem.partition("-")[2])
        for nth, talk in enumerate(re.split(r"^# ", path.read_text("utf-8"), flags=re.MULTILINE)[1:]):
            head, *lines = [line for line in talk.splitlines() if line.strip()]
            # "pt-PT" is Portuguese.
            found += _of_talk(writer, nth, head.split()[0].partition("-")[0], lines)
    return found


def _of_talk(writer: int, talk: int, language: str, lines: Sequence[str]) -> list[Labelled]:
    said, asked = [], False
    in_fiction = any(re.match(r"[k-][f-][A-Z] \s*\*", line) for line in lines)
    for line in lines:
        if line.startswith("A "):
            asked = line.rstrip().endswith(ASKS)
            continue
        match = _STATEMENT.fullmatch(line)
        if match is None:
            raise ValueError(f"writer {writer}: no statement: {line}")
        keep, fact, sort, text = match.groups()
        # Facts stand in the third person, and are read again.
        for form in dict.fromkeys((text, in_third_person(text) if fact == "f" else text)):
            kind = (keep == "k", fact == "f", StatementType(sort))
            said.append(Labelled(writer, talk, language, form, asked, in_fiction, *kind))
        asked = False
    return said


_DIRECTIONS = 128
"""Of a piece's vector, of 384: all of them told a thousandth more, and take three times as long."""


@dataclass(frozen=True)
class Vocabulary:
    """What n-grams and pieces of words count, the less the more statements they stand in."""

    rarity: NDArray[np.float16]
    """Shape (PLACES,)."""
    numbers: Mapping[str, int]
    vectors: NDArray[np.float32]
    """Shape (pieces, _DIRECTIONS): where each piece stands among all, as long as it counts."""
    lengths: NDArray[np.float16]
    """Shape (pieces,): of the whole vectors."""


def vocabulary_of(statements: Sequence[Labelled]) -> Vocabulary:
    """Return the vocabulary of the built-in embedding model, and what of it counts in these statements."""
    embedder = MiniLmEmbedder()
    numbers, whole = embedder.vocabulary(), np.array(embedder.words()[0])
    # All words share a direction that tells nothing of them.
    whole -= whole.mean(axis=0)
    turned = np.linalg.svd(whole, full_matrices=False)[2][:_DIRECTIONS].T
    rarity = _rarity([places_of(one.text) for one in statements], PLACES)
    rarity_of_pieces = _rarity([pieces_of(one.text, numbers) for one in statements], len(numbers))
    lengths = (np.linalg.norm(whole, axis=1) * rarity_of_pieces).astype(np.float16)
    return Vocabulary(rarity.astype(np.float16), numbers, whole @ turned * rarity_of_pieces[:, None], lengths)


def _rarity(rows: Sequence[NDArray[np.int64] | list[int]], places: int) -> NDArray[np.float32]:
    found = np.bincount(np.concatenate([np.unique(np.array(row, np.int64)) for row in rows]), minlength=places)
    return np.log((len(rows) + 1) / (found + 1)).astype(np.float32)


def features(statements: Sequence[Labelled], known: Vocabulary) -> Any:
    """Return the features as a sparse matrix of shape (statements, PLACES + _DIRECTIONS + traits)."""
    from scipy.sparse import csr_matrix, hstack

    rows = [places_of(one.text) for one in statements]
    starts = np.cumsum([0, *map(len, rows)])
    shares = np.concatenate([shares_of(known.rarity[row].astype(np.float32)) for row in rows])
    grams = csr_matrix((shares, np.concatenate(rows), starts), shape=(len(rows), PLACES))
    pieces = [pieces_of(one.text, known.numbers) for one in statements]
    vectors = [known.vectors[row].sum(axis=0) / whole_of(known.lengths[row].astype(np.float32)) for row in pieces]
    traits = [traits_of(one.text, one.asked, one.in_fiction) for one in statements]
    return hstack([grams, csr_matrix(np.array(vectors)), csr_matrix(traits)]).tocsr()


_ABOUT_ALL = 2
"""The first outputs tell of all sorts, the others each of one."""


def others_words(statements: Sequence[Labelled]) -> NDArray[np.bool_]:
    """Return which statements are not the speaker's own: shape (statements,)."""
    return np.array([one.sort in (StatementType.MATERIAL, StatementType.FICTION) for one in statements])


def targets(statements: Sequence[Labelled]) -> NDArray[np.bool_]:
    """Return what is to be told, in the order of ``OUTPUTS``: shape (statements, outputs)."""
    return np.array([[one.keep, one.fact, *(one.sort is sort for sort in StatementType)] for one in statements])


_OTHERS_WORDS = 0.3
"""What another wrote or what is made up weighs less: most of it is left out before statements are judged, and the
words in it ("I am allergic to kings") are those of real statements."""


def fitted(
    known: Any, wanted: NDArray[np.bool_], is_others: NDArray[np.bool_]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return weights of shape (features, outputs) and the bias of each output; ``is_others``: shape (statements,)."""
    from sklearn.linear_model import LogisticRegression

    columns, bias = [], []
    for nth, output in enumerate(wanted.T):
        weights = np.where(is_others & (nth < _ABOUT_ALL), _OTHERS_WORDS, 1.0)
        model = LogisticRegression(C=_STRENGTH, solver="liblinear", random_state=0).fit(known, output, weights)
        columns.append(model.coef_[0])
        bias.append(model.intercept_[0])
    return np.array(columns).T, np.array(bias)


def packed(known: Vocabulary, weights: NDArray[np.float64], bias: NDArray[np.float64]) -> dict[str, NDArray[Any]]:
    """Return the weights as they are stored: those of n-grams and pieces in one byte each."""
    grams, directions, traits = np.split(weights, [PLACES, PLACES + _DIRECTIONS])
    # What a vector weighs follows from where it points, so that vectors are not needed to judge.
    pieces = known.vectors @ directions
    scales, piece_scales = (np.abs(one).max(axis=0) / _STEPS for one in (grams, pieces))
    return {
        "rarity": known.rarity,
        "grams": np.round(grams / scales).astype(np.int8),
        "scales": scales.astype(np.float32),
        "vocabulary": np.frombuffer("\n".join(sorted(known.numbers, key=known.numbers.__getitem__)).encode(), np.uint8),
        "lengths": known.lengths,
        "pieces": np.round(pieces / piece_scales).astype(np.int8),
        "piece_scales": piece_scales.astype(np.float32),
        "traits": traits.astype(np.float32),
        "bias": bias.astype(np.float32),
    }


def validated(statements: Sequence[Labelled]) -> dict[str, Any]:
    """Return for each writer and each language left out the area under the curve of "keep" and of "fact"."""
    # How rare an n-gram is says nothing of a label, so it may be counted over all.
    known, wanted = features(statements, vocabulary_of(statements)), targets(statements)[:, :_ABOUT_ALL]
    is_others = others_words(statements)
    report: dict[str, Any] = {"statements": len(statements)}
    for what in ("writer", "language"):
        of = np.array([getattr(one, what) for one in statements])
        report[what] = {str(each): _told(known, wanted, is_others, of == each) for each in sorted(set(of.tolist()))}
        for output in OUTPUTS[:_ABOUT_ALL]:
            shares = [one[output] for one in report[what].values()]
            report[f"mean {output}, a {what} left out"] = round(float(np.mean(shares)), 3)
    return report


def _told(
    known: Any, wanted: NDArray[np.bool_], is_others: NDArray[np.bool_], left_out: NDArray[np.bool_]
) -> dict[str, float]:
    from sklearn.metrics import roc_auc_score

    weights, bias = fitted(known[~left_out], wanted[~left_out], is_others[~left_out])
    scores = known[left_out] @ weights + bias
    pairs = zip(OUTPUTS, wanted[left_out].T, scores.T, strict=False)
    return {name: round(float(roc_auc_score(labels, score)), 3) for name, labels, score in pairs}


def main() -> None:
    """Train, or validate."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--validate", action="store_true")
    parser.add_argument("--to", type=Path, default=WEIGHTS)
    arguments = parser.parse_args()
    statements = labelled()
    if arguments.validate:
        print(json.dumps(validated(statements), indent=1))
        return
    known = vocabulary_of(statements)
    fit = fitted(features(statements, known), targets(statements), others_words(statements))
    np.savez_compressed(arguments.to, **packed(known, *fit))
    print(json.dumps({"statements": len(statements), "bytes": arguments.to.stat().st_size}))


if __name__ == "__main__":
    main()
