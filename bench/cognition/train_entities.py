"""Train the head that finds names in English; writes ``language/entities/data/heads.npz``.

    python -m bench.cognition.train_entities [--check]

It learns from the messages of the English hands (bench/judge/README.md). ``--check`` prints what
heads find in the messages of hands that they did not see. Deterministic: fixed seeds, NumPy only.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bench.judge.hands import TURKISH, asked_to_check, halves, keep, rows_of
from spector.language.entities import EntityHead, split_words
from spector.language.entities.head import Span, word_features
from spector.providers import MiniLMEmbedder

__all__ = ["read", "scores", "unseen"]

F16, F32 = NDArray[np.float16], NDArray[np.float32]

#: kinds of the data -> ours
KINDS = {
    "person": "person",
    "place": "place",
    "organization": "org",
    "product": "product",
    "animal": "animal",
    "event": "event",
    "work": "work",
}
OUT = Path(__file__).parents[2] / "spector/language/entities/data/heads.npz"
FOLDS = 5
SEEDS = (1, 2)  # one network each; what ships is their mean, as one wider network
HIDDEN, EPOCHS, RATE, DECAY, DROPOUT, BATCH = 64, 14, 1e-3, 3e-2, 0.5, 256


class Text(NamedTuple):
    """Words of a message, and its names: first word, the one behind the last, kind."""

    hand: str
    words: list[str]
    names: set[tuple[int, int, str]]


def main() -> None:
    is_check = asked_to_check(__doc__ or "")
    texts, embedder = read(), MiniLMEmbedder()
    vectors = embedder.word_vectors_of([each.words for each in texts])
    if is_check:
        found = unseen(texts, vectors)
        print("threshold: precision, recall; typed; in lower case")
        for least in (0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9):
            ways = ({}, {"typed": True}, {"low": True})
            pairs = (scores(texts, found, least, **way) for way in ways)
            print(f"{least:.2f}:", "; ".join(f"{p:.3f}, {r:.3f}" for p, r in pairs))
    else:
        head = train(texts, vectors, embedder.fingerprint)
        about = {"kinds": head.kinds, "fingerprint": head.fingerprint, "seeds": SEEDS}
        keep(OUT, about, halves(head.weights))


def read() -> list[Text]:
    """The messages of the English hands."""
    out = []
    for hand, rows in rows_of("messages").items():
        for row in rows if hand not in TURKISH else ():
            words = split_words(row["text"])
            starts = {each.start: n for n, each in enumerate(words)}
            ends = {each.end: n for n, each in enumerate(words, 1)}
            names: set[tuple[int, int, str]] = set()
            for name, kind in sorted(row["names"], key=lambda each: -len(each[0])):
                for place in re.finditer(re.escape(name), row["text"]):
                    start, end = starts.get(place.start(), -1), ends.get(place.end(), -1)
                    if 0 <= start < end and all(end <= a or b <= start for a, b, _ in names):
                        names.add((start, end, KINDS[kind]))
            out.append(Text(hand, [each.text for each in words], names))
    return out


def train(texts: Sequence[Text], vectors: Sequence[F32], fingerprint: str) -> EntityHead:
    """The mean of a few networks: their hidden layers side by side."""
    x = np.vstack([
        word_features(each.words, own).astype(np.float16)
        for each, own in zip(texts, vectors, strict=True) if each.words
    ])  # fmt: skip
    y = np.concatenate([labels_of(each) for each in texts])
    some = x[::7].astype(np.float32)
    mean, scale = some.mean(axis=0), np.maximum(some.std(axis=0), 0.1)
    nets = [network(x, y, mean, scale, np.random.default_rng(each)) for each in SEEDS]
    w1 = np.hstack([each[0] for each in nets]) / scale[:, None]
    weights = {
        "w1": w1,
        "b1": np.hstack([each[1] for each in nets]) - mean @ w1,
        "w2": np.vstack([each[2] for each in nets]) / len(nets),
        "b2": np.mean([each[3] for each in nets], axis=0),
    }
    return EntityHead(tuple(KINDS.values()), weights, fingerprint)


def labels_of(text: Text) -> NDArray[np.int64]:
    """Of each word: 0, or the odd number of a kind that begins, or the even one behind it."""
    out = np.zeros(len(text.words), np.int64)
    for start, end, kind in text.names:
        out[start:end] = 2 * [*KINDS.values()].index(kind) + 2
        out[start] -= 1
    return out


def network(
    x: F16, y: NDArray[Any], mean: F32, scale: F32, chance: np.random.Generator
) -> list[F32]:
    """Two dense layers by Adam (Kingma and Ba 2015), with dropout and a cosine rate."""
    sizes = (x.shape[1], HIDDEN), (HIDDEN, 2 * len(KINDS) + 1)
    w: list[F32] = []
    for size, spread in zip(sizes, ((2 / x.shape[1]) ** 0.5, HIDDEN**-0.5), strict=True):
        w += [chance.normal(0, spread, size).astype(np.float32), np.zeros(size[1], np.float32)]
    first, second = [np.zeros_like(each) for each in w], [np.zeros_like(each) for each in w]
    steps, step = EPOCHS * len(x) / BATCH, 0
    for _ in range(EPOCHS):
        order = chance.permutation(len(x))
        for at in range(0, len(x), BATCH):
            step += 1
            rate = RATE * 0.5 * (1 + np.cos(np.pi * min(1.0, step / steps)))
            batch = order[at : at + BATCH]
            rows = (x[batch].astype(np.float32) - mean) / scale
            for n, slope in enumerate(slopes(rows, y[batch], w, chance)):
                first[n] = 0.9 * first[n] + 0.1 * slope
                second[n] = 0.999 * second[n] + 0.001 * slope * slope
                move = first[n] / (1 - 0.9**step)
                move /= np.sqrt(second[n] / (1 - 0.999**step)) + 1e-8
                decay = DECAY * w[n] if w[n].ndim == 2 else 0.0
                w[n] -= (rate * (move + decay)).astype(np.float32)
    return w


def slopes(x: F32, y: NDArray[Any], w: list[F32], chance: np.random.Generator) -> list[F32]:
    """Gradients of the cross entropy of one batch, with dropout on inputs and hidden units."""
    x = x * (chance.random(x.shape, np.float32) > DROPOUT / 2) / (1 - DROPOUT / 2)
    hidden = np.maximum(x @ w[0] + w[1], 0)
    hidden = hidden * (chance.random(hidden.shape, np.float32) > DROPOUT) / (1 - DROPOUT)
    raw = hidden @ w[2] + w[3]
    p = np.exp(raw - raw.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    p[np.arange(len(y)), y] -= 1
    p /= len(y)
    back = (p @ w[2].T) * (hidden > 0)
    return [x.T @ back, back.sum(axis=0), hidden.T @ p, p.sum(axis=0)]


def unseen(texts: Sequence[Text], vectors: Sequence[F32]) -> list[list[Span]]:
    """Names in each text, by heads that did not see its hand."""
    hands = sorted({each.hand for each in texts})
    out: list[list[Span]] = [[] for _ in texts]
    for fold in range(FOLDS):
        left = [each.hand in hands[fold::FOLDS] for each in texts]
        seen = [n for n, is_left in enumerate(left) if not is_left]
        head = train([texts[n] for n in seen], [vectors[n] for n in seen], "")
        for n in np.flatnonzero(left).tolist():
            out[n] = head.spans(texts[n].words, vectors[n])
    return out


def scores(
    texts: Sequence[Text],
    found: Sequence[Sequence[Span]],
    least: float,
    *,
    typed: bool = False,
    low: bool = False,
) -> tuple[float, float]:
    """Precision and recall of exact spans that are more than ``least`` probable.

    Args:
        typed: whether the kind must be right. low: whether only names in lower case count.
    """
    given = wanted = right = 0
    for text, spans in zip(texts, found, strict=True):
        gold, guess = (
            {each if typed else each[:2] for each in names if not low or is_low(text, each)}
            for names in (text.names, {each[:3] for each in spans if each.probability > least})
        )
        given, wanted, right = given + len(guess), wanted + len(gold), right + len(gold & guess)
    return right / max(1, given), right / max(1, wanted)


def is_low(text: Text, span: tuple[int, int, str]) -> bool:
    return all(each == each.lower() for each in text.words[span[0] : span[1]])


if __name__ == "__main__":
    main()
