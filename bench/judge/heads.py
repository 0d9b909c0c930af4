"""Train the heads that say what a message is worth; writes ``spector/language/observing/data``.

    python -m bench.judge.heads [--check]

Content is learnt from the messages of the hands and from the statements of their pairs, which have
content and are as short as what has none; each length counts as much with content as without.
Folds leave hands out. ``--check`` only prints the figures. Deterministic: no seed, NumPy only.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from bench.judge.hands import TURKISH, asked_to_check, auc, digest_of, keep, rows_of
from spector.language.observing.head import (
    HEADS,
    HEADS_VERSION,
    MessageHead,
    features_of,
    importance_of,
)
from spector.providers import MiniLMEmbedder

F32 = NDArray[np.float32]
Mask = NDArray[np.bool_]

FOLDS: Final = 5
#: steps of Nesterov's method, and the penalty of squared weights
STEPS, PENALTY = 200, 100.0
#: share of messages with content that is above each threshold in folds
KEPT, SURE = 0.99, 0.92
#: the same of what is meant, though half of it looks as if it were not; how much other statements count
MEANT, OTHERS = 0.94, 0.05
LIMITS: Final = ("drops_at", "doubts_at", "states_at", "fingerprint")
#: words below which lengths are counted apart, words of the longest statement of a pair, and how
#: much one text may count; a Turkish one counts the more, the fewer they are
LENGTHS, LONGEST, MOST = (3, 5, 7, 10, 14), 9, 6.0


@dataclass(frozen=True, slots=True)
class Texts:
    """Texts of hands, in rows: who wrote them, whether they have content, how much they matter."""

    texts: list[str]
    hands: NDArray[np.str_]
    content: Mask
    #: 0, 1, 2; -1 for what has none
    importance: NDArray[np.int64]
    #: whether it states what it says, and whether it was written to tell that; both
    meant: Mask
    told: Mask

    @property
    def messages(self) -> Mask:
        return self.importance >= 0

    @property
    def turkish(self) -> Mask:
        return np.isin(self.hands, TURKISH)

    def bins(self) -> NDArray[np.int64]:
        return np.digitize([len(each.split()) for each in self.texts], LENGTHS)


def digest() -> str:
    """SHA-256 of the data."""
    return digest_of([rows_of(kind) for kind in ("messages", "pairs", "meant")])


def read() -> Texts:
    rows: dict[str, tuple[str, bool, int, bool, bool]] = {}
    messages = rows_of("messages")
    for hand, told in rows_of("meant").items():
        for row in told:
            rows[row["text"]] = (hand, True, -1, row["meant"], True)
    for hand, pairs in rows_of("pairs").items():
        for row in messages.get(hand, ()):
            meant = bool(row["facts"])
            rows[row["text"]] = (hand, row["content"], row["importance"], meant, False)
        for text in (row[part] for row in pairs for part in ("old", "new")):
            if text and len(text.split()) <= LONGEST:
                rows.setdefault(text, (hand, True, -1, True, False))
    return Texts(list(rows), *map(np.array, zip(*rows.values(), strict=True)))


def weights_of(found: Texts, seen: Mask) -> F32:
    """(n, 3) how much a text counts for content, for importance and for being meant, among those
    that are seen."""
    out = np.zeros((len(found.texts), 3), np.float32)
    bins = found.bins()
    pairs = seen & ~found.told
    for length in range(len(LENGTHS) + 1):
        for has in (True, False):
            own = pairs & (bins == length) & (found.content == has)
            everything = int((pairs & (bins == length)).sum())
            out[own, 0] = min(MOST, 0.5 * everything / max(1, int(own.sum())))
    out[:, 1] = seen & found.content & found.messages
    out[:, 2] = seen * (found.told + OTHERS * (found.meant & ~found.told))
    out[found.turkish] *= min(MOST, max(1.0, float((~found.turkish).sum() / found.turkish.sum())))
    return out


def fitted(features: F32, targets: F32, weights: F32) -> tuple[F32, F32]:
    """Weights (d, 3) and bias (3,): what is meant is seen in texts of its own."""
    parts = [fit(features, targets[:, own], weights[:, own]) for own in (slice(2), slice(2, 3))]
    return np.hstack([w for w, _ in parts]), np.concatenate([b for _, b in parts])


def fit(features: F32, targets: F32, weights: F32) -> tuple[F32, F32]:
    """Weights (d, k) and bias (k,) of k logistic regressions, for features as they are."""
    seen = weights.any(axis=1)
    features, targets, weights = features[seen], targets[seen], weights[seen]
    mean, scale = features.mean(axis=0), features.std(axis=0) + np.float32(1e-2)
    x, most = (features - mean) / scale, weights.max(axis=1)
    u = np.ones(x.shape[1], np.float32)
    size = np.float32(1)
    for _ in range(20):
        u = x.T @ (most * (x @ u))
        size = np.linalg.norm(u)
        u /= size
    rate, penalty = 1 / (0.25 * (size + most.sum()) + PENALTY), np.float32(PENALTY)
    w = z = np.zeros((x.shape[1], targets.shape[1]), np.float32)
    b = c = np.zeros(targets.shape[1], np.float32)
    t = 1.0
    for _ in range(STEPS):
        error = weights * (1 / (1 + np.exp(-(x @ z + c))) - targets)
        new_w = z - np.float32(rate) * (x.T @ error + penalty * z)
        new_b = c - np.float32(rate) * error.sum(axis=0)
        before, t = t, (1 + (1 + 4 * t * t) ** 0.5) / 2
        on = np.float32((before - 1) / t)
        z, c = new_w + on * (new_w - w), new_b + on * (new_b - b)
        w, b = new_w, new_b
    w = w / scale[:, None]
    return w, b - mean @ w


def targets_of(found: Texts) -> F32:
    return np.column_stack([found.content, found.importance > 1, found.meant]).astype(np.float32)


def folds(hands: NDArray[np.str_]) -> Iterator[Mask]:
    """Which texts are left out, in each fold; Turkish hands are spread over the folds."""
    names = sorted(set(hands.tolist()), key=lambda each: (each not in TURKISH, each))
    for n in range(FOLDS):
        yield np.isin(hands, names[n::FOLDS])


def unseen(found: Texts, features: F32) -> F32:
    """(n, 3) probabilities of each text, by heads that did not see its hand."""
    targets = targets_of(found)
    out = np.zeros_like(targets)
    for left in folds(found.hands):
        w, b = fitted(features, targets, weights_of(found, ~left))
        out[left] = 1 / (1 + np.exp(-(features[left] @ w + b)))
    return out


def threshold(shares: F32, content: Mask, kept: float) -> float:
    """The highest one above which this share of what has content is."""
    return float(np.quantile(shares[content], 1 - kept))


def lines(name: str, found: Texts, p: F32) -> Iterator[str]:
    """Rows of the table: messages of each language, and short texts of all."""
    bins = found.bins()
    drops, doubts, states = thresholds(found, p)
    for title, own in (
        ("messages, English", found.messages & ~found.turkish),
        ("messages, Turkish", found.messages & found.turkish),
        ("up to 4 words", ~found.told & (bins < 2)),
        ("5 and 6 words", ~found.told & (bins == 2)),
        ("7 to 9 words", ~found.told & (bins == 3)),
    ):
        shares, content, level = p[own, 0], found.content[own], found.importance[own]
        cells = [f"{name}, {title}", str(own.sum()), f"{auc(shares, content):.3f}"]
        for limit in (drops, doubts):
            above = shares >= limit
            cells += [f"{above[content].mean():.3f}", f"{above[~content].mean():.3f}"]
        score = importance_of(shares, p[own, 1])
        for pick in (level != 1, level > 0, level >= 0):
            pick &= level >= 0
            cells.append(f"{auc(score[pick], level[pick] > 1):.3f}")
        yield "| " + " | ".join(cells) + " |"
    for hand in sorted(set(found.hands[found.told].tolist())):
        own = found.told & (found.hands == hand)
        shares, meant = p[own, 2], found.meant[own]
        yield (
            f"{name}, meant, {hand}: AUC {auc(shares, meant):.3f}, states something of"
            f" {(shares >= states)[meant].mean():.3f} that is meant,"
            f" {(shares >= states)[~meant].mean():.3f} that is not"
        )


def thresholds(found: Texts, p: F32) -> tuple[float, float, float]:
    """Below which a message may be left out, is in doubt, and states nothing."""
    pairs = found.content & ~found.told
    drops, doubts = (threshold(p[:, 0], pairs, each) for each in (KEPT, SURE))
    return drops, doubts, threshold(p[found.told, 2], found.meant[found.told], MEANT)


def train(found: Texts, features: F32, p: F32, fingerprint: str) -> MessageHead:
    """The head of all hands, its thresholds from folds over hands."""
    w, b = fitted(features, targets_of(found), weights_of(found, np.ones(len(p), np.bool_)))
    limits = (round(each, 4) for each in thresholds(found, p))
    return MessageHead(w.astype(np.float32), b.astype(np.float32), *limits, fingerprint)


def main(arguments: Sequence[str] | None = None) -> None:
    is_check = asked_to_check(__doc__ or "", arguments)
    found, embedder = read(), MiniLMEmbedder()
    alone = np.array([features_of(each) for each in found.texts])
    beside = np.hstack([embedder.embed(found.texts), alone])
    print(
        "| hands left out | texts | content: AUC | kept | junk | sure | junk | importance: 2:0 "
        "| 2:1 | 2:01 |\n|---|" + "--:|" * 9
    )
    heads = {}
    for name, features in (("alone", alone), ("beside", beside)):
        p = unseen(found, features)
        print("\n".join(lines(name, found, p)), flush=True)
        heads[name] = train(found, features, p, embedder.fingerprint if name == "beside" else "")
    if is_check:
        return
    limits = {name: {each: getattr(head, each) for each in LIMITS} for name, head in heads.items()}
    about = {"version": HEADS_VERSION, "sha256": digest(), **limits}
    arrays = {
        f"{name}_{part}": getattr(head, part)
        for name, head in heads.items()
        for part in ("weights", "bias")
    }
    keep(HEADS, about, arrays)


if __name__ == "__main__":
    main()
