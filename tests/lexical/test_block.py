"""Mechanism: files of lexical blocks are read in place, by code that trusts what it was told.

Damage: a file that came from elsewhere reads or writes outside its memory; an erased partition
leaves its words in a block; rows lose their words when blocks are packed.
Guard: whatever the bytes, a file is refused or safe to ask, also with right checksums over wrong
bytes; packing and taking out are compared with blocks made from the rows that should be left.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from spector.errors import InvalidInputError
from spector.kernel.base import Kernel
from spector.kernel.choose import load_kernel
from spector.kernel.crc import crc32c
from spector.kernel.postings import BLOCK_ROWS, PROBLEMS, PostingsTable, Words
from spector.lexical.block import (
    LEXICAL_DTYPE,
    LEXICAL_HEADER_BYTES,
    Block,
    forward_of,
    layout_of,
    merged,
    read_block,
    seal_block,
    without,
)
from tests.kernel.blocks import kernels
from tests.lexical.worlds import Row, block_of, random_rows, tail_of, vocabulary
from tests.proof import Proof, seed

UUID = bytes(range(16))
REFERENCE = load_kernel("reference")
MUTATIONS = 3_000


@pytest.fixture(params=[kernel.name for kernel in kernels()])
def kernel(request: pytest.FixtureRequest) -> Kernel:
    return load_kernel(request.param)


def world(number: int, rows: int = 90, words: int = 70) -> tuple[Block, list[Row]]:
    rng = np.random.default_rng(seed(number))
    made = random_rows(rng, vocabulary(rng, words), rows, 9)
    ids = rng.permutation(10 * rows)[:rows].tolist()
    cut = rows // 3
    return block_of(tail_of(made, ids), (4, cut), (7, cut), (9, rows - 2 * cut)), made


def image_of(block: Block) -> NDArray[np.uint8]:
    return np.frombuffer(bytes(seal_block(block, uuid=UUID, analysis=11)), np.uint8)


def resealed(image: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """The bytes with right checksums, whatever they are."""
    header = image[:LEXICAL_HEADER_BYTES].view(LEXICAL_DTYPE)
    header["body_crc"] = crc32c(image[LEXICAL_HEADER_BYTES:])
    header["header_crc"] = crc32c(image[: LEXICAL_HEADER_BYTES - 4])
    return image


def assert_same(got: Block, want: Block) -> None:
    for name in ("hash", "dir", "start", "row", "count", "length", "id"):
        assert np.array_equal(getattr(got.postings, name), getattr(want.postings, name)), name
    for name in ("before", "after", "runs"):
        assert np.array_equal(getattr(got, name), getattr(want, name)), name


def ask(block: Block, kernel: Kernel) -> None:
    """Every call, for words that the block has and one that it lacks."""
    table = PostingsTable([block.postings])
    hashes = np.unique(np.append(block.postings.hash[::3], np.uint64(1)))
    words = Words.make(hashes, np.ones(len(hashes)), mean_length=3)
    positions, _ = kernel.lexical_find(table, words.hash)
    assert len(kernel.lexical_best(table, words, positions, 7)) <= 7
    assert len(kernel.lexical_all(table, words, positions)) == table.n_rows
    kernel.lexical_having(table, words.hash, positions, 5)
    kernel.lexical_counts(table, words.hash, positions, np.arange(block.rows, dtype=np.uint32))
    forward_of(block.postings)


def test_a_file_gives_back_the_block(kernel: Kernel) -> None:
    block, _ = world(1)
    found = read_block(image_of(block), kernel, uuid=UUID)
    assert found.block is not None
    assert (found.analysis, found.problem) == (11, "")
    assert_same(found.block, block)
    assert found.block.words == block.words
    ask(found.block, kernel)


def test_a_block_without_a_word_has_a_file(kernel: Kernel) -> None:
    found = read_block(image_of(block_of(tail_of([{}], [3]))), kernel, uuid=UUID)
    assert found.block is not None
    ask(found.block, kernel)


def test_every_changed_byte_of_a_file_is_noticed(kernel: Kernel) -> None:
    image = image_of(world(2, rows=12, words=9)[0])
    for at in range(len(image)):
        changed = image.copy()
        changed[at] ^= 1
        assert read_block(changed, kernel, uuid=UUID).block is None, at
    for length in (0, 1, 63, 127, 128, len(image) - 1):
        assert read_block(image[:length].copy(), kernel, uuid=UUID).block is None
    longer = np.append(image, np.zeros(64, np.uint8))
    assert read_block(longer, kernel, uuid=UUID).block is None
    assert read_block(image, kernel, uuid=bytes(16)).block is None


def test_wrong_bytes_under_right_checksums_do_no_harm(kernel: Kernel, proof: Proof) -> None:
    rng = np.random.default_rng(seed(3))
    image = image_of(world(3, rows=40, words=25)[0])
    refused = 0
    for number in range(MUTATIONS if kernel.name == "native" else MUTATIONS // 10):
        changed = image.copy()
        for _ in range(int(rng.integers(1, 4))):
            at, width = int(rng.integers(0, len(image) - 8)), int(rng.choice([1, 2, 4, 8]))
            value = rng.choice([0, 1, 255, 2**16, 2**31, 2**63, int(rng.integers(0, 2**63))])
            raw = int(value).to_bytes(9, "little")[:width]
            changed[at : at + width] = np.frombuffer(raw, np.uint8)
        found = read_block(resealed(changed), kernel, uuid=UUID)
        wanted = read_block(changed, REFERENCE, uuid=UUID)
        assert found.problem == wanted.problem, f"seed {seed(3)}, mutation {number}"
        if found.block is None:
            refused += 1
        else:
            ask(found.block, kernel)
    proof("T27", lexical_files_mutated=number + 1, lexical_files_refused=refused)
    assert refused


@pytest.mark.parametrize(
    ("section", "at", "value", "problem"),
    [
        ("hash", 1, 0, PROBLEMS[1]),
        ("dir", 0, 1, PROBLEMS[2]),
        ("dir", -1, 2**32 - 1, PROBLEMS[2]),
        ("start", 1, 2**32 - 1, PROBLEMS[3]),
        ("start", -1, 2**31, PROBLEMS[3]),
        ("row", 0, 65_535, PROBLEMS[4]),
        ("count", 0, 0, PROBLEMS[4]),
        ("before", 0, 1, "neighbours"),
        ("after", -1, 1, "neighbours"),
    ],
)
def test_each_section_that_points_somewhere_is_checked(
    section: str, at: int, value: int, problem: str, kernel: Kernel
) -> None:
    block, _ = world(4)
    image = image_of(block).copy()
    postings = block.postings
    layout = layout_of(
        block.rows, 3, len(postings.hash), postings.dir_bits, len(postings.row)
    )
    part = getattr(block if section in ("before", "after") else postings, section)
    first = getattr(layout, "occurrences" if section == "count" else section)
    image[first : first + part.nbytes].view(part.dtype)[at] = value
    assert problem in read_block(resealed(image), kernel, uuid=UUID).problem


@pytest.mark.parametrize("field", ["rows", "runs", "terms", "dir_bits", "postings"])
def test_sizes_that_no_file_has_are_refused_before_anything_is_made(field: str) -> None:
    block, _ = world(5)
    for value in (0, 1, 2**16 + 1, 2**31, 2**32 - 1):
        image = image_of(block).copy()
        header = image[:LEXICAL_HEADER_BYTES].view(LEXICAL_DTYPE)
        if int(header[field][0]) != value:
            header[field] = value
            assert read_block(resealed(image), REFERENCE, uuid=UUID).block is None


def test_packing_blocks_keeps_every_row(kernel: Kernel) -> None:
    rng = np.random.default_rng(seed(6))
    rows = random_rows(rng, vocabulary(rng, 50), 100, 9)
    parts = [
        block_of(tail_of(rows[a:b], range(a, b)), (segment, b - a))
        for segment, (a, b) in enumerate([(0, 30), (30, 31), (31, 100)])
    ]
    packed = merged(parts)
    whole = block_of(tail_of(rows, range(100)), (0, 30), (1, 1), (2, 69))
    for name in ("hash", "dir", "start", "row", "count", "length", "id"):
        assert np.array_equal(getattr(packed.postings, name), getattr(whole.postings, name)), name
    assert np.array_equal(packed.runs, whole.runs)
    assert kernel.lexical_check(packed.postings) == 0
    big = block_of(tail_of([{}] * BLOCK_ROWS, range(BLOCK_ROWS)))
    with pytest.raises(InvalidInputError):
        merged([big, parts[0]])


def test_rows_that_go_take_their_words_with_them(kernel: Kernel) -> None:
    block, rows = world(7)
    left = without(block, {7})
    assert left is not None
    kept = [*range(30), *range(60, 90)]
    ids = block.postings.id[kept].tolist()
    wanted = block_of(tail_of([rows[i] for i in kept], ids), (4, 30), (9, 30))
    assert_same(left, wanted)
    gone = {word for i in range(30, 60) for word in rows[i]}
    gone -= {word for i in kept for word in rows[i]}
    assert gone
    image = bytes(seal_block(left, uuid=UUID, analysis=1))
    assert not [word for word in gone if word.to_bytes(8, "little") in image]
    assert without(block, {4, 7, 9}) is None
    same = without(block, {8})
    assert same is not None
    assert_same(same, block)


def test_a_session_closes_over_rows_that_go() -> None:
    rows: list[Row] = [{1: 1}] * 8
    block = block_of(tail_of(rows, range(8)), (1, 2), (2, 3), (3, 3))
    chain = np.array([0, 1, 1, 1, 1, 1, 1, 1], np.uint16)  # one session of all
    block = Block(block.postings, chain, chain[::-1].copy(), block.runs)
    left = without(block, {2})
    assert left is not None
    assert left.before.tolist() == [0, 1, 1, 1, 1]
    assert left.after.tolist() == [1, 1, 1, 1, 0]
    first = without(block, {1})
    assert first is not None
    assert first.before.tolist() == [0, 1, 1, 1, 1, 1]
