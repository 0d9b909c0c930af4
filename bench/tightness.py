"""How tight blocks of records are before and after sleep, and what bounds gain from it.

    python -m bench.tightness [records] [records per partition]

Prints a table for the log; nothing here is part of the suite. 0 records: the turns themselves,
not tiled, as one partition.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bench.data import Corpus, load_corpus
from spector.kernel.contract.quantization import dequantize, quantize
from spector.kernel.ordering import cluster

CUES = 100
K = 10
SIZES = (512, 128, 32)
#: blocks from which a scan could take a first floor
PICKED = (8, 32)

F32 = NDArray[np.float32]


class Groups(NamedTuple):
    """Of all groups of one size: centroid, cosine and angles, and what the cues find in them."""

    largest_angle: list[float]
    usual_angle: list[float]
    distance: list[float]
    #: one (cues,) array a group
    cap_bound: list[F32]
    towards: list[F32]
    spread: list[float]
    best: list[F32]


def main(records: int, per_partition: int) -> None:
    corpus = load_corpus()
    cues = corpus.cues[:: len(corpus.cues) // CUES]
    worst = np.sort(best_of(p @ cues.T for p in partitions(corpus, records, per_partition)), 0)[-K]
    print(
        f"{corpus.source}; {records or len(corpus.base)} records; best {K} from "
        f"{np.median(worst):.3f}"
    )
    for name in ("time", "sleep"):
        groups = {size: Groups([], [], [], [], [], [], []) for size in SIZES}
        spent = 0.0
        for rows in partitions(corpus, records, per_partition):
            if name == "sleep":
                started = time.process_time()
                order = cluster(quantize(rows)[0]).order
                spent += time.process_time() - started
                rows = rows[order]
            for size in SIZES:
                measure(rows, cues, size, groups[size])
        for size in SIZES:
            show(name, size, groups[size], worst)
        if spent:
            print(
                f"finding the order: {spent * 1e7 / (records or len(corpus.base)):.0f} ms of "
                "processor time for 10,000 records"
            )


def partitions(corpus: Corpus, records: int, size: int) -> Iterator[F32]:
    """Unit vectors as they come back from their codes, a partition at a time."""
    if not records:
        yield dequantize(*quantize(corpus.base))
    for start in range(0, records, size):
        yield dequantize(*quantize(corpus.vectors(start, min(start + size, records))))


def best_of(similarities: Iterator[F32]) -> F32:
    """(K * parts, cues): the K best of each part."""
    return np.concatenate([np.partition(s, -K, axis=0)[-K:] for s in similarities])


def measure(rows: F32, cues: F32, size: int, out: Groups) -> None:
    for start in range(0, len(rows) - size + 1, size):
        group = rows[start : start + size]
        mean = group.mean(axis=0)
        centre = mean / np.linalg.norm(mean)
        angles = np.arccos(np.clip(group @ centre, -1, 1))
        from_cues = np.arccos(np.clip(cues @ centre, -1, 1))
        off = np.sqrt(((group - mean) ** 2).sum(axis=1))
        out.largest_angle.append(float(np.degrees(angles.max())))
        out.usual_angle.append(float(np.degrees(np.median(angles))))
        out.distance.append(float(off.mean()))
        out.cap_bound.append(np.cos(np.maximum(0, from_cues - angles.max())))
        out.towards.append(cues @ mean)
        out.spread.append(float(np.sqrt((off**2).mean() / rows.shape[1])))
        out.best.append(np.sort(group @ cues.T, axis=0)[-K:])


def show(name: str, size: int, found: Groups, worst: F32) -> None:
    largest, best = found.largest_angle, np.stack(found.best)
    hits = (best >= worst).sum(axis=1)  # (groups, cues): of the true best K, up to rounding
    towards = np.stack(found.towards)
    cap = (np.stack(found.cap_bound) < worst).mean()
    reach = (worst - towards) / np.array(found.spread)[:, None]
    needed = np.sort(np.repeat(reach.ravel(), hits.ravel()))
    limit = needed[int(np.ceil(0.995 * len(needed))) - 1]
    print(
        f"{name:5s} {size:3d}: largest angle {min(largest):.0f}/{np.median(largest):.0f}/"
        f"{max(largest):.0f}, median {np.median(found.usual_angle):.0f}, distance "
        f"{np.mean(found.distance):.3f}; without a hit {(hits == 0).mean():.2%}, skipped by a cap "
        f"{cap:.2%}, by {limit:.1f} spreads (finds 99.5 %) {(reach > limit).mean():.1%}"
    )
    if size != SIZES[0]:
        return
    rng = np.random.default_rng(0)
    for count in PICKED:
        if count > len(towards):
            continue
        random = rng.permuted(np.tile(np.arange(len(towards)), (len(worst), 1)), axis=1)
        for how, order in (("random", random), ("nearest", np.argsort(-towards, axis=0).T)):
            floors = [
                np.sort(best[chosen, :, cue], axis=None)[-K]
                for cue, chosen in enumerate(order[:, :count])
            ]
            print(f"      floor from {count} {how} blocks: {np.median(worst - floors):.3f} short")


if __name__ == "__main__":
    given = [int(word) for word in sys.argv[1:]]
    main(*(given + [1_000_000, 10_000][len(given) :]))
