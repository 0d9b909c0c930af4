"""Train the head that finds names in English; writes ``language/entities/data/heads.npz``.

    python -m bench.cognition.train_entities WNUT17_DIR [--check]

WNUT17 (Derczynski et al. 2017) is CC BY 4.0: NOTICE names it. ``--check`` trains on the training
part alone and prints precision, recall and F1 on the development part; without it both parts
train the weights that ship. Deterministic: one seed, one thread, NumPy only.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spector.language.entities.head import EntityHead, word_features
from spector.providers import MiniLMEmbedder

F32 = NDArray[np.float32]
Sentence = tuple[list[str], list[str]]

#: types of the data -> ours
TYPES = {
    "person": "person",
    "location": "place",
    "corporation": "org",
    "group": "group",
    "product": "product",
    "creative-work": "work",
}
LABELS = ("O", *(f"{edge}-{each}" for each in TYPES.values() for edge in "BI"))
OUT = Path(__file__).parents[2] / "spector/language/entities/data/heads.npz"
SEEDS = (1, 2, 3)  # one network each; what ships is their mean, as one wider network
HIDDEN, EPOCHS, RATE, DECAY, DROPOUT, BATCH, BIAS = 64, 10, 1e-3, 3e-3, 0.5, 256, 1.4


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    files = [args.folder / "wnut17train.conll", args.folder / "emerging.dev.conll"]
    parts = [read_conll(each) for each in files]
    embedder = MiniLMEmbedder()
    vectors = [vectors_of(embedder, part) for part in parts]
    if args.check:
        head = train(parts[0], vectors[0], embedder.fingerprint)
        for bias in (1.0, BIAS, 1.8, 2.2):
            for typed in (True, False):
                found = scores(replace(head, bias=bias), parts[1], vectors[1], typed=typed)
                print(bias, "typed" if typed else "untyped", found)
        return
    head = train(parts[0] + parts[1], vectors[0] + vectors[1], embedder.fingerprint)
    digest = hashlib.sha256(b"".join(each.read_bytes() for each in files)).hexdigest()
    write(head, {"data": "WNUT17 train and dev", "licence": "CC BY 4.0", "sha256": digest})


def read_conll(path: Path) -> list[Sentence]:
    """Sentences of words and labels, types in our names."""
    out: list[Sentence] = [([], [])]
    for line in path.read_text(encoding="utf-8").splitlines():
        word, _, label = line.strip().partition("\t")
        if word:
            edge, _, kind = label.partition("-")
            out[-1][0].append(word)
            out[-1][1].append(f"{edge}-{TYPES[kind]}" if kind else "O")
        elif out[-1][0]:
            out.append(([], []))
    return [each for each in out if each[0]]


def vectors_of(embedder: MiniLMEmbedder, sentences: Sequence[Sentence]) -> list[F32]:
    return [embedder.word_vectors(words) for words, _ in sentences]


def train(sentences: Sequence[Sentence], vectors: Sequence[F32], fingerprint: str) -> EntityHead:
    """The mean of a few networks: their hidden layers side by side."""
    x = np.vstack([word_features(s[0], v) for s, v in zip(sentences, vectors, strict=True)])
    y = np.array([LABELS.index(label) for _, labels in sentences for label in labels])
    mean, scale = x.mean(axis=0), x.std(axis=0) + 1e-2
    x = (x - mean) / scale
    nets = [network(x, y, np.random.default_rng(each)) for each in SEEDS]
    weights = {
        "mean": mean,
        "scale": scale,
        "w1": np.hstack([each[0] for each in nets]),
        "b1": np.hstack([each[1] for each in nets]),
        "w2": np.vstack([each[2] for each in nets]) / len(nets),
        "b2": np.sum([each[3] for each in nets], axis=0) / len(nets),
        "transitions": transitions(sentences),
    }
    return EntityHead(LABELS, weights, BIAS, fingerprint)


def network(x: F32, y: NDArray[Any], chance: np.random.Generator) -> list[F32]:
    """Two dense layers by Adam (Kingma and Ba 2015), with dropout and a cosine rate."""
    w = [
        chance.normal(0, (2 / x.shape[1]) ** 0.5, (x.shape[1], HIDDEN)),
        np.zeros(HIDDEN),
        chance.normal(0, HIDDEN**-0.5, (HIDDEN, len(LABELS))),
        np.zeros(len(LABELS)),
    ]
    w = [each.astype(np.float32) for each in w]
    first, second = [np.zeros_like(each) for each in w], [np.zeros_like(each) for each in w]
    steps, step = EPOCHS * len(x) / BATCH, 0
    for _ in range(EPOCHS):
        order = chance.permutation(len(x))
        for at in range(0, len(x), BATCH):
            step += 1
            rate = RATE * 0.5 * (1 + np.cos(np.pi * min(1.0, step / steps)))
            batch = order[at : at + BATCH]
            for n, slope in enumerate(slopes(x[batch], y[batch], w, chance)):
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


def transitions(sentences: Sequence[Sentence]) -> F32:
    """(labels, labels): half the log-ratio of a label behind another to the label anywhere."""
    counts = np.full((len(LABELS),) * 2, 0.5)
    for _, labels in sentences:
        for one, other in itertools.pairwise(labels):
            counts[LABELS.index(one), LABELS.index(other)] += 1
    behind = np.log(counts / counts.sum(axis=1, keepdims=True))
    table = 0.5 * (behind - np.log(counts.sum(axis=0) / counts.sum()))
    for one, label in enumerate(LABELS):
        for other, inner in enumerate(LABELS):
            if inner[0] == "I" and label[2:] != inner[2:]:
                table[one, other] = -1e9
    return table.astype(np.float32)


def scores(
    head: EntityHead, sentences: Sequence[Sentence], vectors: Sequence[F32], *, typed: bool
) -> dict[str, float]:
    """Precision, recall and F1 of exact spans."""
    from spector.language.entities.head import _spans

    found = wanted = right = 0
    for (words, labels), each in zip(sentences, vectors, strict=True):
        gold = {s if typed else s[:2] for s in _spans(labels)}
        guess = {s[:3] if typed else s[:2] for s in head.spans(words, each)}
        found, wanted, right = found + len(guess), wanted + len(gold), right + len(gold & guess)
    precision, recall = right / max(1, found), right / max(1, wanted)
    f1 = 2 * precision * recall / max(1e-9, precision + recall)
    return {"precision": precision, "recall": recall, "f1": f1}


def write(head: EntityHead, about: dict[str, Any]) -> None:
    about |= {"labels": head.labels, "bias": head.bias, "fingerprint": head.fingerprint}
    about["seeds"] = SEEDS
    stored = {name: np.maximum(w, -6e4).astype(np.float16) for name, w in head.weights.items()}
    OUT.parent.mkdir(exist_ok=True)
    np.savez_compressed(OUT, about=np.frombuffer(json.dumps(about).encode(), np.uint8), **stored)
    print(OUT, OUT.stat().st_size, "bytes")


if __name__ == "__main__":
    main()
