"""Mechanism: BM25 over blocks by word and tails by row, in C and NumPy.

Damage: the same cue would find other memories on another machine, or after rows had moved from the
tail into a block.
Guard: random worlds asked of every backend give the same bits, which are those of a sum written
down here in plain Python.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from spector.errors import InvalidInputError
from spector.kernel.contract.lexical import (
    LENGTHS,
    PostingsTable,
    QueryTerms,
    length_codes,
)
from spector.kernel.contract.scanner import Kernel
from spector.kernel.dispatch import load_kernel
from tests.kernel.blocks import kernel_or_skip
from tests.lexical.worlds import Row, invert, random_rows, tail_of, vocabulary
from tests.proof import seed

REFERENCE = load_kernel("reference")


def table_of(rows: Sequence[Row], ids: Sequence[int], cuts: Sequence[int]) -> PostingsTable:
    """The rows cut into parts, all blocks but the last, which is a tail."""
    edges = [0, *cuts, len(rows)]
    tails = [tail_of(rows[a:b], ids[a:b]) for a, b in pairwise(edges)]
    return PostingsTable([invert(tail) for tail in tails[:-1]], tails[-1:])


def words_for(rng: np.random.Generator, known: NDArray[np.uint64], most: int = 12) -> QueryTerms:
    """Words of a cue: some known, some not, a weight of 0 among them now and then."""
    chosen = (len(known) * rng.random(int(rng.integers(1, most))) ** 3).astype(int)
    strange = rng.integers(0, 2**64, 2, np.uint64)
    hashes = np.unique(np.concatenate((known[chosen], strange)))
    idf = rng.random(len(hashes)).astype(np.float32) * 9
    idf[rng.random(len(idf)) < 0.05] = 0
    return QueryTerms.make(hashes, idf, mean_length=float(rng.uniform(1, 60)))


def score_in_words(row: Row, words: QueryTerms) -> np.float32:
    """BM25 of one row, as the contract has it."""
    length = LENGTHS[length_codes(np.array([sum(row.values())]))[0]]
    code = int(np.flatnonzero(length == LENGTHS)[0])
    score = np.float32(0)
    for word, weight in zip(words.hash.tolist(), words.weight, strict=True):
        if word in row:
            often = np.float32(row[word])
            score += weight * often / (often + words.norm[code])
    return score


@pytest.fixture(params=["native", "reference"])
def kernel(request: pytest.FixtureRequest) -> Kernel:
    return kernel_or_skip(request.param)


def test_every_backend_gives_the_same_bits(kernel: Kernel) -> None:
    rng = np.random.default_rng(seed(5))
    for world in range(12):
        known = vocabulary(rng, int(rng.choice([3, 40, 900])))
        count = int(rng.choice([1, 70, 400, 1500]))
        rows = random_rows(rng, known, count, int(rng.choice([1, 4, 30])))
        ids = rng.permutation(count * 3)[:count].tolist()
        cuts = sorted(rng.integers(0, count + 1, int(rng.integers(0, 4))).tolist())
        table = table_of(rows, ids, cuts)
        for cue in range(12):
            words = words_for(rng, known)
            context = f"seed {seed(5)}, world {world}, cue {cue}"
            positions, df = kernel.lexical_find(table, words.hash)
            wanted, wanted_df = REFERENCE.lexical_find(table, words.hash)
            assert np.array_equal(positions, wanted), context
            assert np.array_equal(df, wanted_df), context
            admitted = rng.random(table.n_rows) < rng.choice([0.02, 0.5, 1])
            for allow in (None, table.allow_of(admitted)):
                assert np.array_equal(
                    kernel.lexical_find(table, words.hash, allow)[1],
                    REFERENCE.lexical_find(table, words.hash, allow)[1],
                ), context
                for k in (0, 1, 10, 5000):
                    mine = kernel.lexical_best(table, words, positions, k, allow)
                    theirs = REFERENCE.lexical_best(table, words, positions, k, allow)
                    assert mine.tobytes() == theirs.tobytes(), context
                limit = int(rng.choice([0, 1, 10_000]))
                some = words.hash[:: int(rng.integers(1, 4))]
                at, _ = kernel.lexical_find(table, some)
                have = kernel.lexical_having(table, some, at, limit, allow)
                assert np.array_equal(
                    have, REFERENCE.lexical_having(table, some, at, limit, allow)
                ), context
            everything = kernel.lexical_all(table, words, positions)
            assert (
                everything.tobytes() == REFERENCE.lexical_all(table, words, positions).tobytes()
            ), context
            asked = existing(rng, table)
            mine_counts = kernel.lexical_counts(table, words.hash, positions, asked)
            wanted_counts = REFERENCE.lexical_counts(table, words.hash, positions, asked)
            for got, want in zip(mine_counts, wanted_counts, strict=True):
                assert np.array_equal(got, want), context


def existing(rng: np.random.Generator, table: PostingsTable) -> NDArray[np.uint32]:
    """Some numbers of rows, ascending."""
    chosen = rng.random(table.n_rows) < rng.choice([0.01, 0.5, 1])
    return np.flatnonzero(chosen).astype(np.uint32)


def test_the_reference_is_bm25_in_plain_words() -> None:
    rng = np.random.default_rng(seed(6))
    known = vocabulary(rng, 60)
    rows = random_rows(rng, known, 300, 12)
    table = table_of(rows, list(range(300)), [100, 220])
    numbers = np.arange(300)
    for _ in range(20):
        words = words_for(rng, known)
        positions, df = REFERENCE.lexical_find(table, words.hash)
        assert df.tolist() == [sum(word in row for row in rows) for word in words.hash.tolist()]
        some = rng.random(300) < 0.5
        _, fewer = REFERENCE.lexical_find(table, words.hash, table.allow_of(some))
        left = [row for row, kept in zip(rows, some, strict=True) if kept]
        assert fewer.tolist() == [sum(word in r for r in left) for word in words.hash.tolist()]
        scores = REFERENCE.lexical_all(table, words, positions)
        plain = np.array([score_in_words(row, words) for row in rows], np.float32)
        assert scores.tobytes() == plain.tobytes()
        counts, lengths = REFERENCE.lexical_counts(table, words.hash, positions, numbers)
        assert counts.T.tolist() == [[row.get(w, 0) for w in words.hash.tolist()] for row in rows]
        assert np.array_equal(lengths, length_codes(np.array([sum(row.values()) for row in rows])))
        best = REFERENCE.lexical_best(table, words, positions, 300)
        order = [i for i in np.lexsort((np.arange(300), -plain)).tolist() if plain[i] > 0]
        assert best["id"].tolist() == order


def test_a_row_scores_the_same_in_a_tail_and_in_a_block(kernel: Kernel) -> None:
    rng = np.random.default_rng(seed(7))
    known = vocabulary(rng, 500)
    rows, ids = random_rows(rng, known, 900, 20), list(range(900))
    settled, fresh = table_of(rows, ids, [900]), table_of(rows, ids, [])
    for _ in range(10):
        words = words_for(rng, known)
        scores = [
            kernel.lexical_all(table, words, kernel.lexical_find(table, words.hash)[0])
            for table in (settled, fresh)
        ]
        assert scores[0].tobytes() == scores[1].tobytes()


def test_ties_are_broken_by_id_and_not_by_place(kernel: Kernel) -> None:
    rows: list[Row] = [{5: 1} for _ in range(200)]
    ids = list(range(200, 0, -1))
    table = table_of(rows, ids, [70, 140])
    words = QueryTerms.make(np.array([5], np.uint64), np.ones(1), mean_length=1)
    positions, _ = kernel.lexical_find(table, words.hash)
    best = kernel.lexical_best(table, words, positions, 10)
    assert best["id"].tolist() == list(range(1, 11))
    assert table.ids(best["row"]).tolist() == list(range(1, 11))


def test_arguments_that_would_read_elsewhere_are_refused(kernel: Kernel) -> None:
    table = table_of([{1: 1}, {2: 1}, {3: 1}], [1, 2, 3], [2])
    words = QueryTerms.make(np.array([1, 2], np.uint64), np.ones(2), mean_length=1)
    positions, _ = kernel.lexical_find(table, words.hash)
    wrongs: list[Any] = [
        np.full_like(positions, 2),
        positions[:, :1],
        positions.astype(np.int64),
        np.full_like(positions, -2),
    ]
    for wrong in wrongs:
        with pytest.raises(InvalidInputError):
            kernel.lexical_best(table, words, wrong, 5)
    with pytest.raises(InvalidInputError):
        kernel.lexical_best(table, words, positions, 5, np.zeros(1, np.uint64))
    for rows in ([3], [0, 0], [1, 0], [128], [-1]):
        with pytest.raises(InvalidInputError):
            kernel.lexical_counts(table, words.hash, positions, np.array(rows))
    with pytest.raises(InvalidInputError):
        kernel.lexical_find(table, np.array([2, 1], np.uint64))
    for idf in ([1, np.nan], [1, -1], [1, np.inf]):
        with pytest.raises(InvalidInputError):
            QueryTerms.make(words.hash, np.array(idf), mean_length=1)
