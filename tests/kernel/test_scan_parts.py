"""Mechanism: partitions reach the compiled kernels as addresses.

Damage: a wrong shape, count or lifetime becomes a read outside the map.
Guard: every table, list and argument is checked in Python before any address is passed.
"""

from __future__ import annotations

import gc
import itertools
import mmap
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import mmh3
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spector.errors import (
    DimensionMismatchError,
    InvalidFilterError,
    InvalidInputError,
    InvalidScopeError,
    InvalidVectorError,
)
from spector.kernel.contract.profile import PROFILES
from spector.kernel.contract.quantization import (
    BLOOM_HASHES,
    normalize,
    quantize,
    scope_tag,
    tag_mask,
    tags_mask,
)
from spector.kernel.contract.query import make_query
from spector.kernel.contract.scanner import AllowList, Part, PartTable
from spector.kernel.dispatch import get_kernel
from tests.cases import Cases
from tests.kernel.blocks import (
    NOW_MS,
    headers_of,
    instruction_sets,
    kernel_or_skip,
    kernels,
    make_rows,
)
from tests.kernel.test_backends_agree import image

cases = Cases(__file__)

QUERY = make_query(now_ms=NOW_MS, vector=np.ones(10))


def rows(count: int = 5, dim: int = 10) -> np.ndarray[Any, Any]:
    made = make_rows(np.random.default_rng(1), count, dim)
    headers_of(made)["flags"] = 0
    return made


def misaligned() -> np.ndarray[Any, Any]:
    return np.zeros(129, np.uint8)[1:].reshape(1, 128)


@pytest.mark.parametrize(
    ("part", "message"),
    [
        (Part(rows(), 6), "count 6 of 5 rows"),
        (Part(rows(), -1), "count -1"),
        (Part(rows()[::2], 2), "contiguous"),
        (Part(rows().view(np.int8), 2), "uint8"),  # type: ignore[arg-type]
        (Part(rows()[0], 2), "uint8, contiguous"),
        (Part(np.zeros((2, 100), np.uint8), 2), "stride 100"),
        (Part(np.zeros((2, 0), np.uint8), 2), "stride 0"),
        (Part(misaligned(), 1), "aligned"),
        (Part(rows(70), 65, np.ones(1, np.uint64)), "too few words"),
        (Part(rows(), 5, np.ones(1, np.int64)), "allow"),  # type: ignore[arg-type]
    ],
)
def test_a_malformed_part_is_refused(part: Part, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        PartTable([part])


def test_parts_of_two_strides_are_refused() -> None:
    with pytest.raises(InvalidInputError, match="stride 192 where the table has 128"):
        PartTable([Part(rows(), 5), Part(rows(dim=100), 5)])


@pytest.mark.parametrize("name", ["native", "numba", "reference"])
def test_misuse_of_a_scan_is_refused(name: str) -> None:
    kernel = kernel_or_skip(name)
    table = kernel.prepare([Part(rows(), 5), Part(rows(), 3)])
    other = AllowList.from_records(kernel.prepare([Part(rows(), 5)]), [0], [1])
    with pytest.raises(InvalidInputError, match="k must be at least 0"):
        kernel.scan(table, QUERY, -1)
    with pytest.raises(DimensionMismatchError, match="vector has 128 bytes"):
        kernel.scan(table, make_query(now_ms=0, vector=np.ones(65)), 1)
    with pytest.raises(InvalidInputError, match="another table"):
        kernel.scan(table, QUERY, 1, allow=other)
    with pytest.raises(InvalidInputError, match=r"outside 0\.\.1"):
        kernel.scan(table, QUERY, 1, select=[0, 2])
    for parts, slots, message in (
        ([0, 2], [0, 0], "outside"),
        ([0, -1], [0, 0], "outside"),
        ([0, 1], [0, 3], "beyond"),
        ([0, 1], [0, -1], "beyond"),
        ([0, 1], [0], "2 parts but 1 slots"),
    ):
        with pytest.raises(InvalidInputError, match=message):
            kernel.score(table, QUERY, parts, slots)
    for out in (np.zeros(1, np.float32), np.zeros(2), np.zeros(4, np.float32)[::2]):
        with pytest.raises(InvalidInputError, match="similarity must be"):
            kernel.score(table, QUERY, [0, 1], [0, 0], similarity=out)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["native", "numba", "reference"])
def test_read_only_maps_are_scanned_and_kept_alive(name: str, tmp_path: Path) -> None:
    kernel = kernel_or_skip(name)
    data = rows(64)
    (tmp_path / "x.mem").write_bytes(bytes(64) + data.tobytes())
    with (tmp_path / "x.mem").open("rb") as file:
        view = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
    records = np.frombuffer(view, np.uint8)[64:].reshape(64, -1)
    table = kernel.prepare([Part(records, 64)])
    del view, records
    gc.collect()
    want = kernel.scan([Part(data, 64)], QUERY, 10)
    assert kernel.scan(table, QUERY, 10).ids.tolist() == want.ids.tolist()


@cases("arguments")
def test_query_arguments_out_of_range_are_refused(arguments: dict[str, Any]) -> None:
    with pytest.raises(InvalidFilterError, match=next(iter(arguments))):
        make_query(**{"now_ms": 0, **arguments})


@pytest.mark.parametrize("vector", [[0.0, 0.0], [np.nan, 1.0], [[1.0, 2.0]], 3.0, []])
def test_a_cue_that_is_no_direction_is_refused(vector: Any) -> None:
    with pytest.raises(InvalidVectorError):
        make_query(now_ms=0, vector=vector)


def test_a_query_outlives_its_arguments_and_the_table_cache() -> None:
    from spector.kernel.contract.query import _prepared

    query = make_query(now_ms=NOW_MS, vector=np.ones(10), any_masks=(m for m in [0]))
    table = PartTable([Part(rows(), 5)])
    want = get_kernel().scan(table, query, 5).scores
    _prepared.cache_clear()
    gc.collect()
    np.zeros(1_000_000)
    assert (get_kernel().scan(table, query, 5).scores == want).all()


# -- Mechanism: tags as four bits each of a 64-bit Bloom filter ------------------------------------
#
# Damage: a false negative hides a memory from the user who tagged it. Guard: containment holds for
# every subset of a record's tags, whatever the tags are.


TAGS = st.text(max_size=40)


@settings(max_examples=300, deadline=None)
@given(st.sets(TAGS, max_size=30), st.randoms(use_true_random=False))
def test_no_false_negative(tags: set[str], random: object) -> None:
    mask = tags_mask(tags)
    some = sorted(tags)[:: random.randint(1, 3)]  # type: ignore[attr-defined]
    assert mask & tags_mask(some) == tags_mask(some)


@given(TAGS)
@settings(max_examples=300, deadline=None)
def test_a_tag_has_exactly_four_bits_in_64(tag: str) -> None:
    assert tag_mask(tag).bit_count() == BLOOM_HASHES
    assert 0 <= tag_mask(tag) < 1 << 64


def test_bits_are_those_of_the_format_page() -> None:
    """Independent of the module's own arithmetic: the bits on disk must never change."""
    number = int.from_bytes(mmh3.mmh3_x64_128_digest(b"coffee", 0), "little")
    bits = f"{number:0128b}"[::-1]
    slices = [int(bits[at : at + 6][::-1], 2) for at in range(0, 126, 6)]
    want = list(dict.fromkeys(slices))[:4]
    assert tag_mask("coffee") == sum(1 << bit for bit in want)
    assert tag_mask("coffee") == 0x0001_0020_0210_0000


def test_scope_tags_differ_by_kind_and_from_every_user_tag() -> None:
    scopes = {scope_tag("user", "ann"), scope_tag("agent", "ann"), scope_tag("session", "ann")}
    assert len(scopes) == 3
    assert all(tag.startswith("\0") for tag in scopes)
    assert scope_tag("user", "a\0agent") != scope_tag("agent", "a")


def test_unknown_scope_is_refused() -> None:
    with pytest.raises(InvalidScopeError, match="no scope 'team'"):
        scope_tag("team", "ann")  # type: ignore[arg-type]


# -- Mechanism: where few records survive phases 1 to 4, these look at headers only ----------------
#
# Damage: reading the vectors of dropped records would cost the bandwidth that the gates save.
# Guard: a record whose vector lies in an unreadable page is dropped without a crash; and the same
# record, not dropped, does crash, so the page really is unreadable.


SCRIPT = """
import ctypes, mmap, sys
import numpy as np
from spector.kernel.contract.scanner import Part
from spector.kernel.dispatch import load_kernel
from spector.kernel.contract.query import make_query
from spector.layout import RECORD_DTYPE

page = mmap.PAGESIZE
memory = mmap.mmap(-1, 2 * page)
rows = np.frombuffer(memory, np.uint8)[page - 64 :].reshape(1, page + 64)
rows[:, :64].view(RECORD_DTYPE)["flags"] = int(sys.argv[2])
libc = ctypes.CDLL(None, use_errno=True)
address = ctypes.c_void_p(rows.ctypes.data + 64)
assert libc.mprotect(address, ctypes.c_size_t(page), 0) == 0
query = make_query(now_ms=0, vector=np.ones(page))
result = load_kernel(sys.argv[1]).scan([Part(rows, 1)], query, 1)
print(result.drops.tolist())
"""


def run(kernel: str, flags: int) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", SCRIPT, kernel, str(flags)],
        capture_output=True,
        text=True,
        timeout=250,
        check=False,
    )


@pytest.mark.skipif(sys.platform == "win32", reason="needs mprotect")
@pytest.mark.parametrize("name", ["native", "numba", "reference"])
def test_the_vector_of_a_dropped_record_is_not_read(name: str) -> None:
    kernel_or_skip(name)
    dropped = run(name, 1)
    assert dropped.stdout.strip() == "[1, 0, 0, 0, 0, 0, 0]", dropped.stderr
    assert run(name, 0).returncode in (-signal.SIGSEGV, -signal.SIGBUS)


# -- Mechanism: one NaN compares false with everything, and so is at home on every side of a
#    border
#
# Damage: a NaN that got in ranks first or hides what stands behind it, on one machine and not on
# another. Guard: no position of a vector lets one in; what is forced into a file anyway ranks
# behind every number, in the same order under every instruction set of every backend.


#: more than one register of every kind, and an odd rest
DIM = 67
REFUSED = {"NaN": np.nan, "-NaN": -np.nan, "infinity": np.inf, "-infinity": -np.inf}
FLOATS = ("scale", "importance", "stability_days", "utility")
FORCED = (np.nan, np.inf, -np.inf, -0.0, 1e-45, -1e-45, 3e38, -3e38)


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64])
def test_no_position_of_a_vector_lets_it_in(name: str, kind: type) -> None:
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


@pytest.mark.parametrize("odd", [-0.0, 1e-45, -1e-45, 1e-38], ids=str)
def test_what_is_next_to_nothing_counts_as_nothing(odd: float) -> None:
    plain = np.ones((DIM, DIM), np.float32)
    np.fill_diagonal(plain, 0.0)
    strange = plain.copy()
    np.fill_diagonal(strange, odd)
    for a, b in zip(quantize(normalize(plain)), quantize(normalize(strange)), strict=True):
        assert a.tobytes() == b.tobytes()


@pytest.mark.parametrize("odd", [0.0, -0.0, 1e-45], ids=str)
def test_a_vector_of_next_to_nothing_has_no_direction(odd: float) -> None:
    row = np.full(DIM, odd, np.float32)
    with pytest.raises(InvalidVectorError):
        normalize(row[None, :])
    with pytest.raises(InvalidVectorError):
        make_query(now_ms=NOW_MS, vector=row)


def test_what_is_forced_into_a_file_ranks_behind_every_number_everywhere() -> None:
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
                    from spector.kernel.native import set_caps

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
    assert behind, "nothing that was forced in reached a score"
