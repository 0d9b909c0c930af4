"""Mechanism: CRC-32C of headers and records, in every backend.

Damage: a wrong table would still round-trip, until another build reads the store.
Guard: published vectors, and all backends against one another at every length and alignment.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from spector.errors import KernelUnavailableError
from spector.kernel.checksum import crc32c, crc32c_rows
from spector.kernel.contract.scanner import Kernel
from spector.kernel.dispatch import KERNEL_NAMES, get_kernel, kernel_info, load_kernel
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
        from spector.kernel.native import set_caps

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


# -- Mechanism: C, else Numba, else NumPy; one environment variable pins the choice ----------------
#
# Damage: a silent fallback makes a slow deployment look like a bug; an eager import costs a
# second. Guard: each pin is honoured or refused with the reason, and nothing unused is imported.


@pytest.mark.parametrize("name", KERNEL_NAMES)
def test_a_pin_is_honoured(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    kernel_or_skip(name)
    monkeypatch.setenv("SPECTOR_KERNEL", name)
    assert get_kernel().name == name
    info = kernel_info()
    assert info["name"] == name
    assert info["why"] == "pinned by SPECTOR_KERNEL"
    assert info["isa"]


def test_an_unknown_pin_is_refused_with_the_choices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPECTOR_KERNEL", "cuda")
    with pytest.raises(KernelUnavailableError, match="native, numba, reference"):
        get_kernel()


def run(code: str, *given: str, **env: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code, *given],
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        timeout=250,
        check=True,
    )
    return done.stdout.strip()


def test_without_the_extension_numba_serves_and_says_why() -> None:
    kernel_or_skip("numba")
    code = (
        "import sys; sys.modules['spector._native'] = None\n"
        "from spector.kernel.dispatch import get_kernel, kernel_info\n"
        "print(get_kernel().name, kernel_info()['why'])"
    )
    assert run(code, SPECTOR_KERNEL="").startswith("numba the native kernel cannot load")


def test_a_numba_without_what_the_kernel_builds_on_is_passed_over(tmp_path: Path) -> None:
    """Mechanism: an option that Numba does not know raises at the first call, not at the import."""
    kernel_or_skip("numba")
    code = (
        "import sys, numba; sys.modules['spector._native'] = None\n"
        "compile_ = numba.njit\n"
        "def njit(*args, **options):\n"
        "    if '_nrt' in options: options['_gone'] = options.pop('_nrt')\n"
        "    return compile_(*args, **options)\n"
        "numba.njit = njit\n"
        "from spector.kernel.dispatch import get_kernel, kernel_info\n"
        "print(get_kernel().name, kernel_info()['why'])"
    )
    out = run(code, SPECTOR_KERNEL="", NUMBA_CACHE_DIR=str(tmp_path))
    assert out.startswith("reference ")
    assert "the numba kernel cannot load" in out


def test_without_both_the_reference_serves_with_one_warning(tmp_path: Path) -> None:
    code = (
        "import sys, warnings; sys.modules['spector._native'] = sys.modules['numba'] = None\n"
        "import spector\n"
        "with warnings.catch_warnings(record=True) as said:\n"
        "    warnings.simplefilter('always')\n"
        "    for name in 'ab':\n"
        "        with spector.open(f'{sys.argv[1]}/{name}', embedder=None, dim=2) as memory:\n"
        "            memory.remember('tea', vector=[1, 0])\n"
        "            assert memory.recall(vector=[1, 0])[0].text == 'tea'\n"
        "from spector.kernel import kernel_info\n"
        "print(kernel_info()['name'], *(each.message for each in said), sep='|')"
    )
    name, *said = run(code, str(tmp_path), SPECTOR_KERNEL="").split("|")
    assert name == "reference"
    assert len(said) == 1
    assert 'pip install "spector-memory[numba]" compiles one' in said[0]


def test_a_pinned_numba_that_is_missing_names_its_extra() -> None:
    code = (
        "import sys; sys.modules['numba'] = None\n"
        "from spector.kernel.dispatch import get_kernel\n"
        "try: get_kernel()\n"
        "except ImportError as error: print(type(error).__name__, error)"
    )
    out = run(code, SPECTOR_KERNEL="numba")
    assert out.startswith("KernelUnavailableError the numba kernel cannot load")
    assert 'pip install "spector-memory[numba]"' in out


def test_a_pinned_kernel_that_cannot_load_raises_the_reason() -> None:
    code = (
        "import sys; sys.modules['spector._native'] = None\n"
        "from spector.kernel.dispatch import get_kernel\n"
        "try: get_kernel()\n"
        "except ImportError as error: print(type(error).__name__, error)"
    )
    out = run(code, SPECTOR_KERNEL="native")
    assert out.startswith("KernelUnavailableError the native kernel cannot load")
    assert "unset SPECTOR_KERNEL" in out


def test_numba_is_not_imported_unless_it_serves() -> None:
    kernel_or_skip("native")
    code = (
        "import sys\n"
        "import spector.kernel, spector.kernel.checksum, spector.kernel.contract.query\n"
        "from spector.kernel.dispatch import get_kernel\n"
        "get_kernel()\n"
        "print('numba' in sys.modules)"
    )
    assert run(code, SPECTOR_KERNEL="") == "False"


def test_numba_serves_where_its_cache_cannot_be_written() -> None:
    kernel_or_skip("numba")
    code = (
        "import numba, numpy as np\n"
        "compile_ = numba.njit\n"
        "def njit(*args, cache=False, **options):\n"
        "    if cache: raise RuntimeError('cannot cache function: no locator available')\n"
        "    return compile_(*args, **options)\n"
        "numba.njit = njit\n"
        "from spector.kernel.dispatch import load_kernel\n"
        "out = np.zeros(1, np.uint32)\n"
        "load_kernel('numba').crc32c_rows(np.zeros((1, 64), np.uint8), out, 0)\n"
        "print(hex(out[0]))"
    )
    reference = load_kernel("reference")
    assert int(run(code), 16) == reference.crc32c(bytes(36))
