"""Mechanism: one NaN compares false with everything, and so is at home on every side of a border.

Damage: a NaN that got in ranks first or hides what stands behind it, on one machine and not on
another. Guard: no position of a vector lets one in; what is forced into a file anyway ranks behind
every number, in the same order under every instruction set of every backend.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from spector.errors import InvalidVectorError
from spector.kernel.contract.profile import PROFILES
from spector.kernel.contract.quantization import normalize, quantize
from spector.kernel.contract.query import make_query
from spector.kernel.contract.scanner import Part
from tests.kernel.blocks import NOW_MS, headers_of, instruction_sets, kernels, make_rows
from tests.kernel.test_backends_agree import image
from tests.proof import Proof

#: more than one register of every kind, and an odd rest
DIM = 67
REFUSED = {"NaN": np.nan, "-NaN": -np.nan, "infinity": np.inf, "-infinity": -np.inf}
FLOATS = ("scale", "importance", "stability_days", "utility")
FORCED = (np.nan, np.inf, -np.inf, -0.0, 1e-45, -1e-45, 3e38, -3e38)


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64])
def test_no_position_of_a_vector_lets_it_in(name: str, kind: type, proof: Proof) -> None:
    refused = 0
    for at in range(DIM):
        row = np.ones(DIM, kind)
        row[at] = REFUSED[name]
        rows = np.ones((5, DIM), kind)
        rows[3] = row
        with pytest.raises(InvalidVectorError):
            normalize(rows)
        with pytest.raises(InvalidVectorError):
            make_query(now_ms=NOW_MS, vector=row)
        refused += 2
    proof("T21", refused=refused, let_in=0)


@pytest.mark.parametrize("odd", [-0.0, 1e-45, -1e-45, 1e-38], ids=str)
def test_what_is_next_to_nothing_counts_as_nothing(odd: float, proof: Proof) -> None:
    plain = np.ones((DIM, DIM), np.float32)
    np.fill_diagonal(plain, 0.0)
    strange = plain.copy()
    np.fill_diagonal(strange, odd)
    for a, b in zip(quantize(normalize(plain)), quantize(normalize(strange)), strict=True):
        assert a.tobytes() == b.tobytes()
    proof("T21", positions_of_minus_zero_and_denormals=DIM, changed=0)


@pytest.mark.parametrize("odd", [0.0, -0.0, 1e-45], ids=str)
def test_a_vector_of_next_to_nothing_has_no_direction(odd: float, proof: Proof) -> None:
    row = np.full(DIM, odd, np.float32)
    with pytest.raises(InvalidVectorError):
        normalize(row[None, :])
    with pytest.raises(InvalidVectorError):
        make_query(now_ms=NOW_MS, vector=row)
    proof("T21", refused=2, let_in=0)


def test_what_is_forced_into_a_file_ranks_behind_every_number_everywhere(proof: Proof) -> None:
    rng = np.random.default_rng(21)
    forced = list(itertools.product(FLOATS, FORCED))
    rows = make_rows(rng, len(forced) + 20, DIM)
    header = headers_of(rows)
    header["flags"] = 0
    header["id"] = rng.permutation(len(rows)) + 1
    for n, (name, value) in enumerate(forced):
        header[name][n] = value
    queries = [
        make_query(now_ms=NOW_MS, vector=v, profile=p)
        for p in PROFILES
        for v in (None, *rng.standard_normal((3, DIM)))
    ]
    scans = behind = 0
    for query in queries:
        images = []
        for kernel in kernels():
            for caps in instruction_sets() if kernel.name == "native" else [None]:
                if caps is not None:
                    from spector.kernel.native.scan import set_caps

                    set_caps(caps)
                result = kernel.scan([Part(rows, len(rows))], query, len(rows))
                assert not np.isnan(result.scores).any()
                assert (np.diff(result.scores[np.isfinite(result.scores)]) <= 0).all()
                last = np.isneginf(result.scores)
                assert last[np.argmax(last) :].all() or not last.any(), "a number behind no number"
                images.append((f"{kernel.name} {caps}", image(result)))
                scans += 1
                behind += int(last.sum())
        different = [name for name, found in images if found != images[0][1]]
        assert not different, different
    proof("T21", forced_values=len(forced), scans=scans, ranked_last=behind, orders_that_differ=0)
    assert behind, "nothing that was forced in reached a score"
