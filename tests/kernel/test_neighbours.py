"""Mechanism: what stands around rows, in C and NumPy: words, vectors, chains.

Damage: the same cue would find other memories on another machine; a row would get words of another
session; a walk along a chain of rows would stop at one that died, or never end.
Guard: random worlds asked of every backend give the same bits, which are those of loops written
down here in plain Python.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from spector.errors import InvalidInputError
from spector.kernel.contract.scanner import Kernel, Part, PartTable, TermSpread
from spector.kernel.dispatch import load_kernel
from spector.layout import HEADER_BYTES, RECORD_DTYPE
from tests.kernel.blocks import kernel_or_skip
from tests.proof import seed

REFERENCE = load_kernel("reference")


@pytest.fixture(params=["native", "reference"])
def kernel(request: pytest.FixtureRequest) -> Kernel:
    return kernel_or_skip(request.param)


def surroundings(rng: np.random.Generator, rows: int, ranked: int, reach: int) -> TermSpread:
    target = rng.integers(0, rows + 2, (rows, reach)).astype(np.uint32)
    target[target >= rows] = rows
    share = rng.random(rows).astype(np.float32)
    return TermSpread(share, target, rng.random(reach), ranked)


def in_plain_words(
    around: TermSpread,
    counts: NDArray[np.uint8],
    extra: NDArray[np.uint8] | None,
    weight: NDArray[np.float32],
    room: NDArray[np.float32],
) -> NDArray[np.float32]:
    out = np.zeros(around.ranked, np.float32)
    for t in range(len(weight)):
        sums = [0.0] * around.ranked
        for row in range(len(around.share)):
            given = float(counts[t, row]) * float(around.share[row])
            for j, to in enumerate(around.target[row].tolist()):
                if to < around.ranked:
                    sums[to] += given * float(around.factor[j])
        for row in range(around.ranked):
            own = sums[row] + float(counts[t, row])
            own += 0.0 if extra is None else float(extra[t, row])
            often = np.float32(own)
            out[row] += weight[t] * (often / (often + room[row]))
    return out


def test_words_around_have_the_same_bits_everywhere(kernel: Kernel) -> None:
    rng = np.random.default_rng(seed(11))
    for rows, ranked, reach, words in (
        (0, 0, 8, 2),
        (1, 1, 0, 1),
        (7, 7, 8, 3),
        (40, 13, 8, 4),
        (131, 130, 3, 0),
        (300, 77, 8, 5),
    ):
        around = surroundings(rng, rows, ranked, reach)
        counts = np.where(rng.random((words, rows)) < 0.2, rng.integers(1, 256, (words, rows)), 0)
        counts = counts.astype(np.uint8)
        weight = rng.random(words).astype(np.float32) * 9
        room = rng.random(ranked).astype(np.float32) + np.float32(0.01)
        some = (rng.random((words, ranked)) < 0.1).astype(np.uint8)
        for extra in (None, some):
            found = kernel.blended_bm25(around, counts, extra, weight, room)
            told = in_plain_words(around, counts, extra, weight, room)
            assert found.tobytes() == told.tobytes(), f"seed {seed(11)}, {rows} rows, {kernel.name}"


def records(rng: np.random.Generator, count: int, dim: int) -> NDArray[np.uint8]:
    out = np.zeros((count, HEADER_BYTES + -(-dim // 64) * 64), np.uint8)
    out[:, HEADER_BYTES : HEADER_BYTES + dim] = rng.integers(0, 256, (count, dim), np.uint8)
    header = out[:, :HEADER_BYTES].copy().view(RECORD_DTYPE)
    header["scale"] = rng.random((count, 1)).astype(np.float32) / 127
    damaged = rng.random(count) < 0.1
    header["scale"][damaged, 0] = rng.choice([np.nan, np.inf, -1.0, 1e30], int(damaged.sum()))
    out[:, :HEADER_BYTES] = header.view(np.uint8).reshape(count, HEADER_BYTES)
    return out


def mixed_length(
    table: PartTable, places: list[tuple[int, int]], own: int, sides: list[int], share: float
) -> float:
    def vector(n: int) -> NDArray[np.float64]:
        record = table.parts[places[n][0]].data[places[n][1]]
        scale = float(record[:HEADER_BYTES].copy().view(RECORD_DTYPE)["scale"][0])
        scale = scale if 0 <= scale <= 1 else 0.0
        return record[HEADER_BYTES:].view(np.int8).astype(np.float64) * scale

    return float(np.linalg.norm(vector(own) + share * sum(vector(each) for each in sides)))


def test_lengths_of_mixed_vectors_have_the_same_bits_everywhere(kernel: Kernel) -> None:
    rng = np.random.default_rng(seed(12))
    for dim in (3, 64, 384, 770):
        table = PartTable([Part(records(rng, n, dim), n) for n in (40, 3, 90)])
        places = [(p, s) for p, part in enumerate(table.parts) for s in range(part.count)]
        places = [places[n] for n in rng.permutation(len(places))[:100].tolist()]
        part, slot = np.array(places, np.uint32).T
        at = rng.integers(0, 100, 60).astype(np.uint32)
        beside = rng.integers(0, 160, (2, 60)).astype(np.uint32)
        for share in (0.3, 0.0, 1.5):
            asked = (table, part.copy(), slot.copy(), at, *beside, share)
            found = kernel.blended_norms(*asked)
            assert found.tobytes() == REFERENCE.blended_norms(*asked).tobytes(), kernel.name
            for n, own in enumerate(at.tolist()):
                sides = [side for side in beside[:, n].tolist() if side < 100]
                want = mixed_length(table, places, own, sides, share) if sides else 1.0
                assert found[n] == pytest.approx(max(want, 1e-9), rel=1e-5, abs=1e-6)


def walked(links: list[int], alive: list[bool], row: int, steps: int) -> list[int]:
    out: list[int] = []
    while len(out) < steps:
        row = links[row] if row >= 0 else -1
        row = row if row < len(links) else -1
        if row < 0 or alive[row]:
            out.append(row)
    return out


def test_chains_are_walked_alike_everywhere_past_what_is_dead(kernel: Kernel) -> None:
    rng = np.random.default_rng(seed(13))
    for count, share in ((1, 1.0), (50, 1.0), (200, 0.6), (200, 0.1)):
        before, after = np.full(count, -1, np.int32), np.full(count, -1, np.int32)
        for chain in np.array_split(rng.permutation(count), max(1, count // 12)):
            before[chain[1:]], after[chain[:-1]] = chain[:-1], chain[1:]
        after[rng.random(count) < 0.1] = count + 3  # linked to since the view was made
        alive = rng.random(count) < share
        rows = rng.integers(-1, count, 40)
        for living in (None, alive):
            found = kernel.walk_chains(before, after, living, rows, 4)
            states = (np.ones(count, bool) if living is None else alive).tolist()
            wanted = [
                walked(before.tolist(), states, row, 4) + walked(after.tolist(), states, row, 4)
                for row in rows.tolist()
            ]
            assert found.tolist() == wanted, f"seed {seed(13)}, {kernel.name}"


def test_what_does_not_fit_is_refused(kernel: Kernel) -> None:
    around = surroundings(np.random.default_rng(2), 5, 3, 2)
    counts, weight = np.zeros((2, 5), np.uint8), np.ones(2, np.float32)
    room = np.ones(3, np.float32)
    wrong_words: list[tuple[Any, ...]] = [
        (counts[:, :4], None, weight, room),
        (counts[:1], None, weight, room),
        (counts.astype(np.int64), None, weight, room),
        (counts, counts, weight, room),
        (counts, None, weight, room[:2]),
        (counts, None, weight.astype(np.float64), room),
    ]
    for words in wrong_words:
        with pytest.raises(InvalidInputError):
            kernel.blended_bm25(around, *words)
    with pytest.raises(InvalidInputError):
        TermSpread(around.share, around.target[:4], around.factor, 3)
    with pytest.raises(InvalidInputError):
        TermSpread(around.share, around.target, around.factor, 6)
    table = PartTable([Part(records(np.random.default_rng(1), 3, 64), 3)])
    one, nine = np.zeros(1, np.uint32), np.full(1, 9, np.uint32)
    wrong_places: list[tuple[Any, ...]] = [
        (nine, one, one, one, one),
        (one, nine, one, one, one),
        (one, one, nine, one, one),
        (one, one, one, one[:0], one),
        *(
            (one, one, at, one, one)
            for at in (
                np.array([-1]),
                np.array([-1], np.int32),
                np.zeros(1),
                np.zeros((1, 1), np.uint32),
            )
        ),
        (one, one, one, np.array([-1]), one),
        (one, one, one, one, np.array([-1])),
    ]
    for places in wrong_places:
        with pytest.raises(InvalidInputError):
            kernel.blended_norms(table, *places, 0.3)
    links = np.full(4, -1, np.int32)
    for rows in ([-2], [4]):
        with pytest.raises(InvalidInputError):
            kernel.walk_chains(links, links, None, np.array(rows), 2)
    with pytest.raises(InvalidInputError):
        kernel.walk_chains(links, links[:3], None, np.array([0]), 2)
