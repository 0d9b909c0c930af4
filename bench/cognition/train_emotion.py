"""Train the head that reads the feeling of English texts; writes its ``heads.npz``.

    python -m bench.cognition.train_emotion GOEMOTIONS_DIR [--check]

GoEmotions (Demszky et al. 2020) is Apache-2.0: NOTICE names it. ``--check`` trains on the training
part alone and prints the figures of the development part; without it both parts train the weights
that ship. Thresholds come from folds of what is trained on. Deterministic: one seed, NumPy only.
"""

from __future__ import annotations

import argparse
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.judge.hands import auc, halves, keep
from spector.language.emotion.detection import (
    BUCKETS,
    LABELS,
    EmotionHead,
    dense_features,
    hashed_features,
)
from spector.providers import MiniLMEmbedder

F32 = NDArray[np.float32]

OUT = Path(__file__).parents[2] / "spector/language/emotion/data/heads.npz"
#: steps, rate and decay of each of the two models
SPARSE = (30, 0.3, 3e-5)
DENSE = (250, 0.03, 3e-3)
FOLDS = 3
#: of texts that have a piece in this bucket: rarer ones are left out
LEAST = 2
_SMOOTH = 5


@dataclass(frozen=True, slots=True)
class Texts:
    """Texts ready to train on: vectors (n, d), counts (n, c), pieces in rows, labels (n, 7)."""

    vectors: F32
    counts: F32
    buckets: NDArray[np.int64]
    values: F32
    ends: NDArray[np.int64]
    labels: F32

    def __getitem__(self, rows: NDArray[np.int64]) -> Texts:
        taken = [np.arange(self.ends[each], self.ends[each + 1]) for each in rows]
        flat = np.concatenate(taken)
        ends = np.concatenate([[0], np.cumsum([len(each) for each in taken])])
        return Texts(
            self.vectors[rows],
            self.counts[rows],
            self.buckets[flat],
            self.values[flat],
            ends,
            self.labels[rows],
        )

    def __len__(self) -> int:
        return len(self.labels)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    files = [args.folder / name for name in ("train12k.tsv", "dev.tsv")]
    embedder = MiniLMEmbedder()
    parts = [read(each) for each in files]
    if args.check:
        train_on, dev = (ready(each, embedder) for each in parts)
        print(figures(train(train_on, embedder.fingerprint), dev))
        return
    both = ([*parts[0][0], *parts[1][0]], np.vstack([parts[0][1], parts[1][1]]))
    head = train(ready(both, embedder), embedder.fingerprint)
    digest = hashlib.sha256(b"".join(each.read_bytes() for each in files)).hexdigest()
    about = {
        "data": "GoEmotions, Ekman labels, 17,426 texts",
        "licence": "Apache-2.0",
        "sha256": digest,
        "labels": LABELS,
        "fingerprint": head.fingerprint,
    }
    keep(OUT, about, halves(head.weights))


def read(path: Path) -> tuple[list[str], F32]:
    """Texts and their labels (n, 7)."""
    texts, labels = [], []
    for line in path.read_text(encoding="utf-8").split("\n"):
        if line.count("\t") == 2:
            text, given, _ = line.split("\t")
            texts.append(text)
            row = np.zeros(len(LABELS), np.float32)
            row[[int(each) for each in given.split(",")]] = 1
            labels.append(row)
    return texts, np.array(labels)


def ready(part: tuple[Sequence[str], F32], embedder: MiniLMEmbedder) -> Texts:
    texts, labels = part
    pieces = [hashed_features(each) for each in texts]
    return Texts(
        embedder.embed(list(texts)),
        np.array([dense_features(each) for each in texts]),
        np.concatenate([each[0] for each in pieces]),
        np.concatenate([1.0 + np.log(each[1]) for each in pieces]).astype(np.float32),
        np.concatenate([[0], np.cumsum([len(each[0]) for each in pieces])]),
        labels,
    )


def train(texts: Texts, fingerprint: str) -> EmotionHead:
    """The head of these texts, its thresholds from folds."""
    fold = np.random.default_rng(1).integers(0, FOLDS, len(texts))
    odds = np.zeros_like(texts.labels)
    for each in range(FOLDS):
        weights = fit(texts[np.flatnonzero(fold != each)])
        rows = np.flatnonzero(fold == each)
        odds[rows] = log_odds(weights, texts[rows])
    weights = fit(texts)
    weights["thresholds"] = thresholds(odds, texts.labels)
    return EmotionHead(weights, fingerprint)


def fit(texts: Texts) -> dict[str, F32]:
    mean, scale = texts.vectors.mean(axis=0), texts.vectors.std(axis=0) + 1e-2
    dense = np.hstack([(texts.vectors - mean) / scale, texts.counts])
    seen = np.bincount(texts.buckets, minlength=BUCKETS)
    idf = np.where(seen >= LEAST, np.log(len(texts) / (1 + seen)) + 1, 0).astype(np.float32)
    values = _even(texts, idf)
    rows = np.repeat(np.arange(len(texts)), np.diff(texts.ends))
    start = np.log(texts.labels.mean(axis=0) / (1 - texts.labels.mean(axis=0)))

    def of_pieces(w: F32) -> F32:
        return np.add.reduceat(w[texts.buckets] * values[:, None], texts.ends[:-1], axis=0)

    def slope_of_pieces(error: F32) -> F32:
        return np.stack(
            [
                np.bincount(texts.buckets, values * error[rows, k], BUCKETS)
                for k in range(error.shape[1])
            ],
            axis=1,
        ).astype(np.float32)

    one = _descend(
        (dense.shape[1], len(LABELS)),
        lambda w: dense @ w,
        lambda e: dense.T @ e,
        texts.labels,
        start,
        DENSE,
    )
    two = _descend((BUCKETS, len(LABELS)), of_pieces, slope_of_pieces, texts.labels, start, SPARSE)
    return {
        "mean": mean,
        "scale": scale,
        "dense": one[0],
        "hashed": two[0],
        "idf": idf,
        "bias": 0.5 * (one[1] + two[1]),
    }


def _descend(
    shape: tuple[int, int],
    forward: Any,
    backward: Any,
    labels: F32,
    start: F32,
    plan: tuple[int, float, float],
) -> tuple[F32, F32]:
    """Logistic regression of each label by Adam (Kingma and Ba 2015) over all texts at once."""
    steps, rate, decay = plan
    w, bias = np.zeros(shape, np.float32), start.astype(np.float32)
    first, second = np.zeros_like(w), np.zeros_like(w)
    for step in range(1, steps + 1):
        error = 1 / (1 + np.exp(-np.clip(forward(w) + bias, -30, 30))) - labels
        slope = backward(error) / len(labels) + decay * w
        first = 0.9 * first + 0.1 * slope
        second = 0.99 * second + 0.01 * slope * slope
        move = first / (1 - 0.9**step) / (np.sqrt(second / (1 - 0.99**step)) + 1e-6)
        w -= (rate * 0.5 * (1 + np.cos(np.pi * step / steps)) * move).astype(np.float32)
        bias -= (0.5 * error.mean(axis=0)).astype(np.float32)
    return w, bias


def _even(texts: Texts, idf: F32) -> F32:
    """Values of the pieces, weighted, each text of length 1."""
    values = texts.values * idf[texts.buckets]
    size = np.sqrt(np.add.reduceat(values * values, texts.ends[:-1])) + 1e-6
    return (values / np.repeat(size, np.diff(texts.ends))).astype(np.float32)


def log_odds(weights: dict[str, F32], texts: Texts) -> F32:
    """(n, 7), what :meth:`EmotionHead.log_odds` gives for each text."""
    even = (texts.vectors - weights["mean"]) / weights["scale"]
    total = np.hstack([even, texts.counts]) @ weights["dense"]
    values = _even(texts, weights["idf"])
    pieces = weights["hashed"][texts.buckets] * values[:, None]
    total += np.add.reduceat(pieces, texts.ends[:-1], axis=0)
    return np.asarray(0.5 * total + weights["bias"], np.float32)


def thresholds(odds: F32, labels: F32) -> F32:
    """For each label the log-odds that give the best F1, smoothed over their neighbours."""
    out = []
    for k in range(labels.shape[1]):
        cuts = np.quantile(odds[:, k], np.linspace(0.3, 0.998, 200))
        is_given = odds[:, k][None] >= cuts[:, None]
        right = (is_given * labels[:, k]).sum(axis=1)
        f1 = 2 * right / np.maximum(1, is_given.sum(axis=1) + labels[:, k].sum())
        out.append(cuts[np.convolve(f1, np.ones(_SMOOTH) / _SMOOTH, "same").argmax()])
    return np.array(out, np.float32)


def figures(head: EmotionHead, texts: Texts) -> dict[str, float]:
    """Macro-F1 of the seven labels, and what valence tells of texts with one label."""
    odds = log_odds(dict(head.weights), texts)
    given, wanted = odds >= head.weights["thresholds"], texts.labels > 0
    right = (given & wanted).sum(axis=0)
    f1 = 2 * right / np.maximum(1, given.sum(axis=0) + wanted.sum(axis=0))
    single = (wanted.sum(axis=1) == 1) & ~wanted[:, 4] & ~wanted[:, 6]
    p = 1 / (1 + np.exp(-odds[single]))
    valence = p[:, 3] - p[:, [0, 1, 2, 5]].sum(axis=1)
    good = wanted[single, 3]
    return {
        "macro_f1": float(f1.mean()),
        "auc": auc(valence, good),
        "accuracy": float(((valence > 0) == good).mean()),
        **{name: float(each) for name, each in zip(LABELS, f1, strict=True)},
    }


if __name__ == "__main__":
    main()
