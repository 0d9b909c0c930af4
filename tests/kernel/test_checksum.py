"""Mechanism: CRC-32C of headers and records, in every backend.

Damage: a wrong table would still round-trip, until another build reads the store.
Guard: published vectors, and all backends against one another at every length and alignment.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from spector.kernel.checksum import crc32c, crc32c_rows
from spector.kernel.contract.scanner import Kernel
from spector.kernel.reference.scan import ReferenceKernel
from tests.kernel.blocks import kernel_or_skip

#: RFC 3720, appendix B.4, and the customary check value
VECTORS = [
    (b"", 0x00000000),
    (b"123456789", 0xE3069283),
    (bytes(32), 0x8A9136AA),
    (b"\xff" * 32, 0x62A8AB43),
    (bytes(range(32)), 0x46DD794E),
    (bytes(reversed(range(32))), 0x113FDB5C),
]
UUID = bytes(range(100, 116))


@pytest.fixture(params=["native", "portable", "numba", "reference"])
def kernel(request: pytest.FixtureRequest) -> Iterator[Kernel]:
    name = request.param
    found = kernel_or_skip("native" if name == "portable" else name)
    if name == "portable":
        from spector.kernel.native.scan import set_caps

        set_caps(0)
        yield found
        set_caps()
    else:
        yield found


@pytest.mark.parametrize(("data", "want"), VECTORS)
def test_published_vectors(kernel: Kernel, data: bytes, want: int) -> None:
    assert kernel.crc32c(data) == want
    assert crc32c(data) == want


def test_every_length_and_alignment_agrees(kernel: Kernel) -> None:
    data = np.random.default_rng(0).integers(0, 256, 3000, np.uint8).tobytes()
    for start in range(9):
        for length in (*range(70), 1023, 1024, 1025, 2900):
            piece = data[start : start + length]
            assert kernel.crc32c(piece, 7) == ReferenceKernel().crc32c(piece, 7)


def test_pieces_chain(kernel: Kernel) -> None:
    assert kernel.crc32c(b"56789", kernel.crc32c(b"1234")) == 0xE3069283
    assert crc32c(b"56789", crc32c(b"1234")) == crc32c(b"56789", b"1234") == 0xE3069283


def test_records_are_summed_without_checksum_and_mutable_bytes(kernel: Kernel) -> None:
    rng = np.random.default_rng(1)
    for stride in (64, 128, 448, 1600):
        rows = rng.integers(0, 256, (9, stride), np.uint8)
        out = np.zeros(9, np.uint32)
        kernel.crc32c_rows(rows, out, kernel.crc32c(UUID))
        want = [kernel.crc32c(UUID + row[:36].tobytes() + row[64:].tobytes()) for row in rows]
        assert out.tolist() == want
        rows[:, 36:64] ^= 0xFF
        kernel.crc32c_rows(rows, out, kernel.crc32c(UUID))
        assert out.tolist() == want


def test_a_flipped_bit_or_another_store_changes_the_checksum() -> None:
    rows = np.random.default_rng(2).integers(0, 256, (1, 128), np.uint8)
    want = crc32c_rows(rows, seed=UUID)
    for byte in (*range(36), *range(64, 128)):
        rows[0, byte] ^= 1
        assert crc32c_rows(rows, seed=UUID)[0] != want[0]
        rows[0, byte] ^= 1
    assert crc32c_rows(rows, seed=b"x" * 16)[0] != want[0]
    assert crc32c_rows(rows)[0] != want[0]
