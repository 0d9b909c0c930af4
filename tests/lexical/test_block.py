"""Mechanism: files of lexical blocks are read in place, by code that trusts what it was told.

Damage: a file that came from elsewhere reads or writes outside its memory; words of an erased
memory stay in a file that is written without it.
Guard: whatever the bytes, a file is refused or safe to ask, also with right checksums over wrong
bytes; what is left without some rows is compared with a block of the others.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from spector.kernel.checksum import crc32c
from spector.kernel.contract.lexical import (
    Postings,
    PostingsTable,
    QueryTerms,
)
from spector.kernel.contract.scanner import Kernel
from spector.kernel.dispatch import load_kernel
from spector.lexical.block import (
    COLUMNS,
    LEXICAL_DTYPE,
    LEXICAL_HEADER_BYTES,
    StoredBlock,
    drop_rows,
    pack_block,
    read_block,
)
from tests.kernel.blocks import kernel_or_skip
from tests.lexical.worlds import Row, block_of, mangled, random_rows, vocabulary
from tests.proof import seed

UUID = bytes(range(16))
ANALYSIS = 2**63 + 11
REFERENCE = load_kernel("reference")
MUTATIONS = 3_000
SECTIONS = ("hash", "dir", "start", "row", "count")


@pytest.fixture(params=["native", "reference"])
def kernel(request: pytest.FixtureRequest) -> Kernel:
    return kernel_or_skip(request.param)


def world(number: int, rows: int = 90, words: int = 70) -> tuple[StoredBlock, list[Row]]:
    rng = np.random.default_rng(seed(number))
    made = random_rows(rng, vocabulary(rng, words), rows, 9)
    return block_of(made, rng.permutation(10 * rows)[:rows].tolist()), made


def image_of(block: StoredBlock) -> NDArray[np.uint8]:
    return np.frombuffer(bytes(pack_block(block, uuid=UUID, analysis=ANALYSIS)), np.uint8)


def read(image: NDArray[np.uint8], kernel: Kernel) -> tuple[StoredBlock | None, str]:
    return read_block(image, kernel, uuid=UUID, analysis=ANALYSIS)


def resealed(image: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """The bytes with right checksums, whatever they are."""
    header = image[:LEXICAL_HEADER_BYTES].view(LEXICAL_DTYPE)
    header["body_crc"] = crc32c(image[LEXICAL_HEADER_BYTES:])
    header["header_crc"] = crc32c(image[: LEXICAL_HEADER_BYTES - 4])
    return image


def assert_same(got: StoredBlock, want: StoredBlock) -> None:
    for name in SECTIONS:
        assert np.array_equal(getattr(got, name), getattr(want, name)), name
    for name, kind in COLUMNS:
        assert np.array_equal(got.columns[name], want.columns[name]), name
        assert got.columns[name].dtype == np.dtype(kind)


def ask(block: StoredBlock, kernel: Kernel) -> None:
    """Every call, for words that the block has and one that it lacks."""
    table = PostingsTable(
        [
            Postings(
                block.hash,
                block.dir,
                block.start,
                block.row,
                block.count,
                np.minimum(block.columns["size"], 255).astype(np.uint8),
                block.columns["id"].view(np.uint64),
            )
        ]
    )
    hashes = np.unique(np.append(block.hash[::3], np.uint64(1)))
    words = QueryTerms.make(hashes, np.ones(len(hashes)), mean_length=3)
    positions, _ = kernel.lexical_find(table, words.hash)
    assert len(kernel.lexical_best(table, words, positions, 7)) <= 7
    assert len(kernel.lexical_all(table, words, positions)) == table.n_rows
    kernel.lexical_having(table, words.hash, positions, 5)
    kernel.lexical_counts(table, words.hash, positions, np.arange(block.rows))


def test_a_file_gives_back_the_block(kernel: Kernel) -> None:
    block, _ = world(1)
    found, problem = read(image_of(block), kernel)
    assert found is not None
    assert not problem
    assert_same(found, block)
    ask(found, kernel)


def test_every_changed_byte_of_a_file_is_noticed(kernel: Kernel) -> None:
    image = image_of(world(2, rows=12, words=9)[0])
    for at in range(len(image)):
        changed = image.copy()
        changed[at] ^= 1
        assert read(changed, kernel)[0] is None, at
    for length in (0, 1, 63, 127, 128, len(image) - 1):
        assert read(image[:length].copy(), kernel)[0] is None
    assert read(np.append(image, np.zeros(64, np.uint8)), kernel)[0] is None
    assert read_block(image, kernel, uuid=bytes(16), analysis=ANALYSIS)[0] is None
    assert read_block(image, kernel, uuid=UUID, analysis=ANALYSIS + 1)[0] is None


def test_wrong_bytes_under_right_checksums_do_no_harm(kernel: Kernel) -> None:
    rng = np.random.default_rng(seed(3))
    image = image_of(world(3, rows=40, words=25)[0])
    refused = 0
    for number in range(MUTATIONS if kernel.name == "native" else MUTATIONS // 10):
        changed = mangled(rng, image)
        found, problem = read(resealed(changed), kernel)
        assert problem == read(changed, REFERENCE)[1], f"seed {seed(3)}, mutation {number}"
        if found is None:
            refused += 1
        else:
            ask(found, kernel)
    assert refused


def test_rows_that_go_take_their_words_with_them(kernel: Kernel) -> None:
    block, rows = world(7)
    keep = np.arange(90) % 3 > 0
    left = drop_rows(block, keep)
    wanted = block_of(
        [row if kept else {} for row, kept in zip(rows, keep, strict=True)],
        block.columns["id"].tolist(),
    )
    for name in SECTIONS:
        assert np.array_equal(getattr(left, name), getattr(wanted, name)), name
    for name, _ in COLUMNS:
        assert np.array_equal(left.columns[name][keep], block.columns[name][keep])
        assert not left.columns[name][~keep].any()
    gone = {word for row, kept in zip(rows, keep, strict=True) if not kept for word in row}
    gone -= {word for row, kept in zip(rows, keep, strict=True) if kept for word in row}
    assert gone
    image = image_of(left)
    assert not [word for word in gone if word.to_bytes(8, "little") in image.tobytes()]
    assert read(image, kernel)[0] is not None
    assert drop_rows(block, np.ones(90, bool)) is block
    none_left = read(image_of(drop_rows(block, np.zeros(90, bool))), kernel)[0]
    assert none_left is not None
    ask(none_left, kernel)
