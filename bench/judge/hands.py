"""Pairs of messages by hands, and whether a relation shows in lengths and shared words alone.

A hand is one writer with one persona; README.md is the data card.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from bench.data import json_lines
from spector.records import RELATIONS

__all__ = [
    "RELATIONS",
    "TURKISH",
    "asked_to_check",
    "auc",
    "balanced",
    "counts_of",
    "digest_of",
    "fitted",
    "halves",
    "keep",
    "overlap_auc",
    "pairs_of",
    "replaces",
    "rows_of",
]

_FOLDER: Final = Path(__file__).parent / "data"
TURKISH: Final = ("aylin", "burak", "deniz", "nazli", "selim")
#: function words: shared ones say less of a pair than shared content words
_FUNCTION_WORDS: Final = frozenset(
    "a an the i you he she it we they me him her us them my your his its our their is are was were "
    "be been am do does did have has had will would can could to of in on at for from with by and "
    "or but not no so that this there as if".split()
)
_RIDGE: Final = 10.0


def pairs_of() -> dict[str, list[dict[str, Any]]]:
    """Hand -> its pairs in the order of the file, each with ``id``; never those put aside."""
    found = rows_of("pairs")
    for hand, rows in found.items():
        for n, row in enumerate(rows):
            row["id"] = f"{hand}:{n}"
    return found


def rows_of(kind: str) -> dict[str, list[dict[str, Any]]]:
    """Hand -> its ``pairs``, ``messages`` or ``meant``, in order; hands by name."""
    found: dict[str, list[dict[str, Any]]] = {}
    for row in json_lines(_FOLDER / f"{kind}.jsonl"):
        found.setdefault(row["hand"], []).append(row)
    return dict(sorted(found.items()))


def digest_of(data: Any) -> str:
    """SHA-256 of what a head has learnt from."""
    return hashlib.sha256(json.dumps(data, ensure_ascii=False).encode()).hexdigest()


def keep(path: Path, about: Mapping[str, Any], weights: Mapping[str, NDArray[Any]]) -> None:
    """Write a head: its weights, and what is said of them as JSON."""
    text = np.frombuffer(json.dumps(about, sort_keys=True).encode(), np.uint8)
    path.parent.mkdir(exist_ok=True)
    np.savez_compressed(path, allow_pickle=False, about=text, **weights)
    print(f"{path.name}: {path.stat().st_size} bytes")


def halves(weights: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[np.float16]]:
    return {name: each.astype(np.float16) for name, each in weights.items()}


def asked_to_check(doc: str, arguments: Sequence[str] | None = None) -> bool:
    """Whether a program is asked for its figures only; ``doc``: its docstring."""
    parser = argparse.ArgumentParser(description=doc.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="print the figures, write nothing")
    return bool(parser.parse_args(arguments).check)


def balanced() -> dict[str, list[dict[str, Any]]]:
    """Hands of which no relation shows in lengths and shared words: their rows have ``subject``."""
    return {hand: rows for hand, rows in pairs_of().items() if "subject" in rows[0]}


def replaces(row: Mapping[str, Any]) -> bool:
    """Whether the newer message makes the older one untrue."""
    return row["relation"] in ("changes", "ends")


def auc(scores: NDArray[Any], positive: NDArray[np.bool_]) -> float:
    """The share of (positive, negative) rows in the right order; a tie counts half."""
    ordered = np.sort(scores)
    ranks = (np.searchsorted(ordered, scores) + np.searchsorted(ordered, scores, "right") + 1) / 2
    n = int(positive.sum())
    return float((ranks[positive].sum() - n * (n + 1) / 2) / (n * (len(positive) - n)))


def overlap_auc(hands: Sequence[Sequence[Mapping[str, Any]]]) -> float:
    """AUC of "changes or ends" by a classifier that sees lengths and overlap alone.

    Ridge logistic regression on 13 counts and their squares, fitted on all hands but
    one and measured on that one; the scores of all hands together.
    """
    counts = [np.array([counts_of(row["old"], row["new"]) for row in hand]) for hand in hands]
    labels = [np.array([replaces(row) for row in hand]) for hand in hands]
    scores = []
    for n, own in enumerate(counts):
        others = np.concatenate([each for k, each in enumerate(counts) if k != n])
        mean, spread = others.mean(0), others.std(0) + 1e-9
        weights = fitted(
            _powers((others - mean) / spread),
            np.concatenate([each for k, each in enumerate(labels) if k != n]),
        )
        scores.append(_powers((own - mean) / spread) @ weights)
    return auc(np.concatenate(scores), np.concatenate(labels))


def counts_of(old: str, new: str) -> list[float]:
    """Lengths of two texts, and what they share: 13 counts."""
    first, second = (re.findall(r"\w+", text.lower()) for text in (old, new))
    a, b = set(first), set(second)
    c, d = a - _FUNCTION_WORDS, b - _FUNCTION_WORDS
    e, f = ({text.lower()[i : i + 4] for i in range(len(text) - 3)} for text in (old, new))
    return [
        len(first), len(second), len(second) - len(first), np.log1p(len(old)), np.log1p(len(new)),
        len(a & b), len(a & b) / max(1, len(a | b)), len(a & b) / max(1, len(a)),
        len(a & b) / max(1, len(b)), len(c & d), len(c & d) / max(1, len(c | d)),
        len(e & f) / max(1, len(e | f)), len(e & f) / max(1, len(f)),
    ]  # fmt: skip


def _powers(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """(n, d) -> (n, 1 + 2 d): a constant, the columns and their squares."""
    return np.column_stack([np.ones(len(x)), x, x * x])


def fitted(
    x: NDArray[np.float64],
    positive: NDArray[np.bool_],
    ridge: float | NDArray[np.float64] = _RIDGE,
    rounds: int = 8,
) -> NDArray[np.float64]:
    """Weights of a ridge logistic regression, by Newton's method: the same on every machine."""
    weights = np.zeros(x.shape[1])
    for _ in range(rounds):
        p = 1 / (1 + np.exp(-np.clip(x @ weights, -30, 30)))
        # einsum, for the threads of a matrix product cost more than these sums
        slope = np.einsum("ij,i", x, p - positive) + ridge * weights
        bend = np.einsum("ij,i,ik", x, p * (1 - p), x) + ridge * np.eye(len(weights))
        weights -= np.linalg.solve(bend, slope)
    return weights
