"""The files beside a catalog, read by bytes: its log frame by frame, and journals that would harm it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from spector.errors import CatalogCorruptError
from spector.store.files import OPEN_FLAGS, File, open_descriptor, written_end

_HEAD: Final = 32
_FRAME_HEAD: Final = 24
#: with bit 0 set checksums are over big-endian words, otherwise over little-endian ones
_MAGIC: Final = 0x377F0682
_FRAME: Final = np.dtype(
    [("page", ">u4"), ("size_after", ">u4"), ("salts", ">u8"), ("sums", ">u4", (2,))]
)
_FRAMES_AT_ONCE: Final = 24
#: after this many frames of an earlier log in a row, no frame of this log follows
_SILENCE: Final = 256
#: reads of a log that a writer may be changing
_LOOKS: Final = 5
_Words = NDArray[np.uint32]


@dataclass(frozen=True, slots=True)
class Broken:
    """A log that was whole, and of which SQLite shows only a part now."""

    #: byte of the first frame that is not shown, or 0 for the head of the log
    offset: int
    #: commits that are proved to lie behind it
    commits: int


#: heads, (n,) of the type ``_FRAME``; and (n,) whether the checksum of each continues that of the
#: frame before it, or of the log's head
Frames = tuple[NDArray[np.void], NDArray[np.bool_]]


def salts_of(file: File) -> str:
    """The salts that distinguish a log from earlier ones in its file; "" without a head."""
    head = file.read_at(0, _HEAD)
    return head[16:24].hex() if len(head) == _HEAD else ""


def broken_at(
    file: File, page_bytes: int, database: Callable[[], File] | None = None
) -> Broken | None:
    """Where a log is damaged, if the frames behind that place prove it.

    A log starts over once all of it is in the database, and a kill may tear the head that is
    written then. So a damaged head in front of frames that are all in ``database`` proves nothing.

    A writer may be active, so damage counts only when two reads find it at the same place. A frame
    that was being written when it was read is whole before a second commit follows it.
    """
    before: tuple[bytes, Broken | None] | None = None
    for _ in range(_LOOKS):
        head = file.read_at(0, _HEAD)
        found = _look(file, head, page_bytes, database)
        if file.read_at(0, _HEAD) != head:  # it started over meanwhile
            continue
        if found is None:
            return None
        if (
            before is not None
            and before[0] == head
            and before[1] is not None
            and before[1].offset == found.offset
        ):
            return found
        before = head, found
    return None


def _look(
    file: File, head: bytes, page_bytes: int, database: Callable[[], File] | None
) -> Broken | None:
    sound, byte_order, salts = read_head(head)
    frames = read_frames(file, head, page_bytes, byte_order, salts if sound else None)
    heads, linked = frames
    if not len(heads):
        return None
    fit = heads["page"] != 0
    if sound:
        fit &= heads["salts"] == salts
        whole = fit & linked
    else:  # to SQLite the log is empty
        whole = np.zeros(len(heads), dtype=np.bool_)
    shown = len(heads) if whole.all() else int(np.argmin(whole))
    follows = np.zeros(len(heads), dtype=np.bool_)
    follows[1:] = linked[1:] & fit[1:] & fit[:-1] & (heads["salts"][1:] == heads["salts"][:-1])
    follows[: shown + 1] = False
    if not sound and database is not None:
        copied = _copied(file, frames, page_bytes, database())
        if copied:  # frames of an earlier log have other salts
            follows &= heads["salts"] == heads["salts"][0]
            follows[:copied] = False
    commits = _most_in_a_row(follows[shown:], _ends(heads)[shown:])
    if commits < 2:
        return None
    offset = _HEAD + shown * (_FRAME_HEAD + page_bytes) if sound else 0
    return Broken(offset, commits)


def _copied(file: File, frames: Frames, page_bytes: int, database: File) -> int:
    """How many frames a log without a head begins with, if the database has all their pages."""
    heads, linked = frames
    row = linked & (heads["salts"] == heads["salts"][0])
    row[0] = True  # it follows the head, which is gone
    count = len(row) if row.all() else int(np.argmin(row))
    ends = np.flatnonzero(heads["size_after"][:count])
    if not len(ends):
        return 0
    pages = int(heads["size_after"][ends[-1]])
    newest = {int(page): n for n, page in enumerate(heads["page"][: ends[-1] + 1])}
    for page, n in newest.items():
        if not 0 < page <= pages:
            continue
        ours = file.read_at(_HEAD + n * (_FRAME_HEAD + page_bytes) + _FRAME_HEAD, page_bytes)
        if ours != database.read_at((page - 1) * page_bytes, page_bytes):
            return 0
    return count


def _ends(heads: NDArray[np.void]) -> NDArray[np.bool_]:
    """(n,) which frames end a transaction.

    Where a write may damage its neighbours in the sector, SQLite fills the sector with repetitions
    of the last frame; these end no further transaction.
    """
    ends: NDArray[np.bool_] = heads["size_after"] != 0
    again = (heads["page"][1:] == heads["page"][:-1]) & (
        heads["size_after"][1:] == heads["size_after"][:-1]
    )
    found: NDArray[np.bool_] = ends & np.concatenate((ends[:1], ~again))
    return found


def _most_in_a_row(follows: NDArray[np.bool_], commits: NDArray[np.bool_]) -> int:
    """The most commits in an unbroken row of frames, each of which follows the one before it.

    The first frame of a row follows none, so its head is not proved.

    Args:
        follows: (n,). commits: (n,) whether the frame says that it ends a transaction.
    """
    row = np.cumsum(~follows)  # the number of the row that each frame is in
    counts = np.bincount(row[follows & commits]) if len(row) else np.zeros(0, dtype=np.intp)
    return int(counts.max()) if len(counts) else 0


def read_head(head: bytes) -> tuple[bool, str, int]:
    """Whether a log's head is sound, the byte order of its checksums, and its salts."""
    own = "little" if sys.byteorder == "little" else "big"
    if len(head) < _HEAD:
        return False, own, 0
    magic = int.from_bytes(head[:4], "big")
    if magic & ~1 != _MAGIC:
        return False, own, 0
    order = "big" if magic & 1 else "little"
    summed = np.frombuffer(head[:24], dtype=np.uint8)[None, :]
    sums = _added(summed, order, _weights(3)[0])
    stored = np.frombuffer(head[24:32], dtype=">u4")
    sound = bool((sums[0] == stored).all())
    return sound, order if sound else own, int.from_bytes(head[16:24], "big")


def read_frames(file: File, head: bytes, page_bytes: int, order: str, salts: int | None) -> Frames:
    """Read the log, and compute every checksum from the one that is stored before it.

    A file that once held a longer log is read as far as there are frames with these ``salts``.
    """
    size = _FRAME_HEAD + page_bytes
    # SQLite writes one frame behind the other: the log ends at the first unwritten place
    count = max(0, written_end(file) - _HEAD) // size
    heads = np.zeros(count, dtype=_FRAME)
    added = np.zeros((count, 2), dtype=np.uint32)
    silent = 0
    for first in range(0, count, _FRAMES_AT_ONCE):
        raw = file.read_at(_HEAD + first * size, min(_FRAMES_AT_ONCE, count - first) * size)
        some = len(raw) // size  # the log may have been cut meanwhile
        block = np.frombuffer(raw[: some * size], dtype=np.uint8).reshape(some, size)
        here = slice(first, first + some)
        heads[here] = block[:, :_FRAME_HEAD].copy().view(_FRAME)[:, 0]
        added[here] = _added(block, order, _frame_weights(page_bytes))
        ours = salts is None or bool((heads["salts"][here] == salts).any())
        silent = 0 if ours else silent + some
        if silent >= _SILENCE or not some:
            count = first + some
            break
    heads, added = heads[:count], added[:count]
    before = np.zeros((count, 2), dtype=np.uint32)
    if count:
        before[0] = np.frombuffer(head[24:32], dtype=">u4") if len(head) == _HEAD else 0
        before[1:] = heads["sums"][:-1]
    power = _weights((8 + page_bytes) // 8)[1]
    return heads, (before @ power + added == heads["sums"]).all(axis=1)


def _added(data: NDArray[np.uint8], order: str, weights: _Words) -> _Words:
    """(n, 2) u32: what each row of ``data``, (n, 4 * words) u8, adds to SQLite's two sums."""
    words = data.view("<u4" if order == "little" else ">u4").astype(np.uint32, copy=False)
    found: _Words = np.einsum("ij,kj->ik", words, weights)
    return found


@lru_cache(maxsize=4)
def _frame_weights(page_bytes: int) -> _Words:
    """(2, words) u32 for a whole frame, of whose head only the first two words are summed."""
    summed = _weights((8 + page_bytes) // 8)[0]
    return np.insert(summed, [2] * 4, 0, axis=1)


@lru_cache(maxsize=4)
def _weights(pairs: int) -> tuple[_Words, _Words]:
    """SQLite's checksum of ``2 * pairs`` words as a product, all modulo 2**32.

    Each pair (a, b) takes the sums (s, t) to s' = s + a + t and t' = t + b + s'. That is linear:
    the sums after all pairs are ``weights @ words + before @ power``.

    Returns:
        (2, 2 * pairs) u32 weights and the (2, 2) u32 power.
    """
    weights = np.zeros((2, 2 * pairs), dtype=np.uint32)
    one, other = (1, 1), (0, 1)  # what the last a and the last b do to (s', t')
    low = (1 << 32) - 1
    for n in range(pairs - 1, -1, -1):
        weights[:, 2 * n], weights[:, 2 * n + 1] = one, other
        one, other = (((s + t) & low, (s + 2 * t) & low) for s, t in (one, other))
    power = np.array([[1, 0], [0, 1]], dtype=np.uint64)
    step = np.array([[1, 1], [1, 2]], dtype=np.uint64)
    for _ in range(pairs):
        power = power @ step & np.uint64(low)
    return weights, power.astype(np.uint32)


# Refuse files beside a catalog that would damage it once SQLite opens it.
#
# SQLite rolls a database back with any journal that it finds beside it. A catalog is in write-ahead
# mode from its first page on, so it has a journal of its own only while that page is written: a
# process that was killed then leaves a catalog without content and a journal that says so. Every
# other journal came from outside and would put pages of another moment into a complete catalog.
#
# Beside a database without a single page SQLite deletes the log, even when it only reads. So a
# catalog that was truncated to nothing would lose the commits in its log.

_JOURNAL_MAGIC: Final = bytes.fromhex("d9d505f920a163d7")
#: the largest page that SQLite has
_MOST_PAGE_BYTES: Final = 1 << 16
#: up to the number of pages that the database had before, at byte 16, and their size, at byte 24
_HEAD_BYTES: Final = 28


def varint(data: bytes, at: int) -> tuple[int, int]:
    """(value, end) of a varint in a page: seven bits a byte, eight in the ninth.

    Raises:
        IndexError: it is cut off.
    """
    value = 0
    for n in range(8):
        byte = data[at + n]
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, at + n + 1
    return value << 8 | data[at + 8], at + 9


def has_journal(path: str) -> bool:
    """Whether SQLite would roll the catalog at ``path`` back when it opens it for writing."""
    return bool(_start(f"{path}-journal", 1).strip(b"\0"))


def refuse_harm(path: str) -> None:
    """Raise when SQLite would lose something by opening the catalog at ``path``, even to read it.

    Nothing is changed. The remains of a creation that was killed look alike but hold nothing to
    lose, and pass.

    Raises:
        CatalogCorruptError: a journal beside it is not that of its own creation, or it is empty
            and its log has commits.
    """
    if not _size(path, absent=-1) and _size(f"{path}-wal") and _has_partitions(path):
        raise CatalogCorruptError(
            f"{path} is empty; what is left of it is in {path}-wal, which SQLite would delete",
            hint="salvage what there is: spector check PATH --repair DEST; or restore a backup",
        )
    # a journal that is empty or begins with a zero byte is ignored, so this costs one lstat
    if not has_journal(path) or _is_of_creation(path):
        return
    raise CatalogCorruptError(
        f"{path}-journal is not of this catalog's creation, and SQLite would roll the catalog back"
        " with it",
        hint="move it out of the directory and keep it, then run: spector check PATH; if another"
        " program was changing the catalog, restore a backup, or salvage what there is: spector"
        " check PATH --repair DEST",
    )


def _is_of_creation(path: str) -> bool:
    """Whether the catalog has no content yet that a rollback could remove.

    The catalog itself is not opened: closing it would drop SQLite's locks.
    """
    head = _start(f"{path}-journal", _HEAD_BYTES)
    most = _MOST_PAGE_BYTES
    if len(head) == _HEAD_BYTES and head.startswith(_JOURNAL_MAGIC):
        if any(head[16:20]):  # the database had pages before
            return False
        most = min(most, int.from_bytes(head[24:28], "big"))
    if _size(path) > most:
        return False
    # commits may still be in the log alone; partitions are created before the commit
    return not _size(f"{path}-wal") or not _has_partitions(path)


def _has_partitions(path: str) -> bool:
    folders = os.walk(os.path.dirname(path))
    return any(name.endswith(".mem") for _, _, names in folders for name in names)


def _start(path: str, count: int) -> bytes:
    """The first bytes of a regular file; none if it is not there or cannot be read."""
    try:
        if not os.lstat(path).st_size:
            return b""
        held = open_descriptor(path, OPEN_FLAGS | os.O_RDONLY)
    except OSError:
        return b""
    try:
        return os.pread(held.fileno(), count, 0)
    except OSError:
        return b""
    finally:
        held.close()


def _size(path: str, *, absent: int = 0) -> int:
    try:
        return os.lstat(path).st_size
    except OSError:
        return absent
