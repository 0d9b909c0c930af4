"""Mechanism: one file says which blocks make up an index and where their rows are.

Damage: numbers from a file that came from elsewhere are used to look things up.
Guard: whatever the bytes, the file is refused or everything in it counts what it should count.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from spector.kernel.checksum import crc32c
from spector.lexical.files import (
    EXTENT_DTYPE,
    FIELD_DTYPE,
    NAMED_DTYPE,
    ROWS_DTYPE,
    SavedRows,
    pack_rows,
    read_rows,
)
from tests.lexical.worlds import mangled
from tests.proof import seed

UUID = bytes(range(16))
ANALYSIS = 2**63 + 5
MUTATIONS = 3_000


def some_rows() -> SavedRows:
    named = np.zeros(2, NAMED_DTYPE)
    named["number"], named["rows"], named["body_crc"] = [4, 9], [5, 3], [11, 12]
    extents = np.zeros(2, EXTENT_DTYPE)
    extents["segment_id"], extents["slots"], extents["live"] = [1, 6], [5, 4], [4, 3]
    fields = np.zeros(3, FIELD_DTYPE)
    fields["speaker"], fields["day"], fields["turkish"] = [0, 1, 2], [0, -7, 20_000], [0, 0, 1]
    return SavedRows(
        named,
        extents,
        fields,
        ("", "Ann", "Çağla \udcff"),
        np.array([1, 1, 1, 1, 6, 6, 6, 99], np.int32),
        np.array([0, 1, 2, 4, 0, 1, 3, 50], np.int32),
        np.array([1, 1, 1, 1, 1, 1, 1, 0], bool),
        True,
    )


def image_of(saved: SavedRows) -> NDArray[np.uint8]:
    return np.frombuffer(bytes(pack_rows(saved, uuid=UUID, analysis=ANALYSIS)), np.uint8)


def read(image: NDArray[np.uint8]) -> tuple[SavedRows | None, str]:
    return read_rows(image, uuid=UUID, analysis=ANALYSIS)


def is_sound(saved: SavedRows) -> bool:
    return bool(
        saved.named["rows"].sum() == len(saved.alive) == len(saved.segment) == len(saved.slot)
        and all(speaker < len(saved.speakers) for speaker in saved.fields["speaker"].tolist())
        and set(saved.segment[saved.alive].tolist()) <= set(saved.extents["segment_id"].tolist())
        and all(
            slot < saved.extents["slots"][saved.extents["segment_id"] == segment][0]
            for slot, segment in zip(
                saved.slot[saved.alive].tolist(), saved.segment[saved.alive].tolist(), strict=True
            )
        )
        and len(set(saved.named["number"].tolist())) == len(saved.named)
    )


def test_a_file_gives_back_what_was_saved() -> None:
    saved = some_rows()
    found, problem = read(image_of(saved))
    assert not problem
    for name in ("named", "extents", "fields", "segment", "slot", "alive"):
        assert np.array_equal(getattr(found, name), getattr(saved, name)), name
    assert (found.speakers, found.turkish) == (saved.speakers, True)


def test_every_changed_byte_is_noticed() -> None:
    image = image_of(some_rows())
    for at in range(len(image)):
        changed = image.copy()
        changed[at] ^= 1
        assert read(changed)[0] is None, at
    for length in (0, 1, 127, 128, len(image) - 1):
        assert read(image[:length].copy())[0] is None
    assert read_rows(image, uuid=bytes(16), analysis=ANALYSIS)[0] is None
    assert read_rows(image, uuid=UUID, analysis=1)[0] is None


def test_wrong_bytes_under_right_checksums_count_nothing_else() -> None:
    rng = np.random.default_rng(seed(4))
    image = image_of(some_rows())
    refused = 0
    for number in range(MUTATIONS):
        changed = mangled(rng, image)
        header = changed[: ROWS_DTYPE.itemsize].view(ROWS_DTYPE)
        header["body_crc"] = crc32c(changed[ROWS_DTYPE.itemsize :])
        header["header_crc"] = crc32c(changed[: ROWS_DTYPE.itemsize - 4])
        found, _ = read(changed)
        refused += found is None
        assert found is None or is_sound(found), f"seed {seed(4)}, mutation {number}"
    assert refused
