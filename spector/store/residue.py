"""A search of every byte of a store for what was erased from it.

What is searched for is cut into pieces, because SQLite spreads a long value over pages and a
remnant need not begin where the value began: whatever is left of 63 bytes or more in one place
holds a whole piece of 32. A piece that living memories hold as well proves nothing, and is counted
instead of reported.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from spector.layout import HEADER_BYTES, PARTITION_HEADER_BYTES, RECORD_DTYPE, Flag
from spector.receipt import Residue, Verification
from spector.store.catalog import CATALOG_NAME, Row
from spector.store.files import Bytes, File
from spector.store.idx import idx_of
from spector.store.rows import tags_json, to_json
from spector.store.store import Store
from spector.store.word_files import is_words

__all__ = ["Needles", "strange_files", "verify"]

PIECE_BYTES: Final = 32
#: shorter pieces are found everywhere
LEAST_BYTES: Final = 6
#: of a value of megabytes so many pieces are taken, evenly
MOST_PIECES: Final = 512
_BLOCK_BYTES: Final = 1 << 20
_HASH_BITS: Final = 16
#: SQLite's lock table: numbers of pages and no content. It must not be opened by anybody else,
#: because closing it would drop SQLite's own locks
_LOCK_TABLE: Final = f"{CATALOG_NAME}-shm"


@dataclass(slots=True)
class Needles:
    """Pieces to search for, each with the kind of thing that it is a piece of."""

    pieces: dict[bytes, str] = field(default_factory=dict)
    too_short: int = 0

    def add(self, kind: str, data: bytes) -> None:
        """Something whose bytes must not be found."""
        if len(data) < LEAST_BYTES or len(set(data)) < 2:
            self.too_short += bool(data)
            return
        for piece in _cut(data):
            if len(set(piece)) > 1:
                self.pieces.setdefault(piece, kind)

    def add_memory(self, row: Row, image: Bytes | None, dim: int) -> None:
        """Everything that a memory says: text, metadata, tags, labels, vector."""
        self.add("text", row.text.encode())
        self.add("metadata", (row.metadata_json or to_json(row.metadata) or "").encode())
        for leaf in _leaves(row.metadata):
            self.add("metadata", leaf.encode())
            self.add("metadata", json.dumps(leaf, ensure_ascii=False)[1:-1].encode())
        self.add("tags", (tags_json(row.tags) or "").encode())
        for tag in row.tags:
            self.add("tags", tag.encode())
        labels = (row.session_id, row.agent_id, row.user_id, row.role, row.source)
        for label in filter(None, labels):
            self.add("label", label.encode())
        if image is not None:
            self.add("vector", image[HEADER_BYTES : HEADER_BYTES + dim].tobytes())


def verify(store: Store, needles: Needles) -> Verification:
    """Search every file of a durable store. Nothing is changed, and nobody waits for long."""
    wanted = _Wanted(list(needles.pieces))
    files = total = 0
    hits: list[tuple[bytes, str, int]] = []
    for name in store.files.listing():
        if name == _LOCK_TABLE or not store.files.exists(name):
            continue
        with _opened(store, name) as file:
            files += 1
            for piece, offset in wanted.search(_blocks(file, wanted.longest)):
                hits.append((piece, name, offset))
            total += file.size()
    shared = {piece for piece in {hit[0] for hit in hits} if _is_alive(store, piece)}
    residue = [
        Residue(where=name, offset=offset, kind=needles.pieces[piece])
        for piece, name, offset in hits
        if piece not in shared and not _in_live_slot(store, name, offset)
    ]
    return Verification(
        needles=len(needles.pieces), too_short=needles.too_short, shared=len(shared), files=files,
        bytes=total, residue=tuple(residue),
    )


def strange_files(store: Store) -> tuple[str, ...]:
    """Names of files in the directory that the store did not make."""
    if not store.files.durable:
        return ()
    with store.lock:
        named = {segment.row.path for segment in store.segments.values()}
        own = {"LOCK", CATALOG_NAME, _LOCK_TABLE, f"{CATALOG_NAME}-wal"}
        known = named | {idx_of(path) for path in named} | own
        return tuple(
            name for name in store.files.listing()
            if name not in known and not is_words(name)
        )


class _Wanted:
    """Finds many pieces in one pass: a hash of six bytes rules nearly every offset out."""

    def __init__(self, pieces: list[bytes]) -> None:
        self._by_prefix: dict[bytes, list[bytes]] = {}
        self._tables = np.zeros((2, 1 << _HASH_BITS), dtype=bool)
        for piece in pieces:
            self._by_prefix.setdefault(piece[:LEAST_BYTES], []).append(piece)
            words = _hashes(np.frombuffer(piece[:LEAST_BYTES], np.uint8))
            self._tables[0, words[0]] = self._tables[1, words[2]] = True
        self.longest = max(map(len, pieces), default=0)

    def search(self, blocks: Iterator[tuple[int, bytes]]) -> Iterator[tuple[bytes, int]]:
        """(piece, offset) of the first place of each piece that is there."""
        found: set[bytes] = set()
        for start, block in blocks:
            if not self._by_prefix or len(block) < LEAST_BYTES:
                continue
            words = _hashes(np.frombuffer(block, np.uint8))
            places = np.flatnonzero(self._tables[0, words[:-2]] & self._tables[1, words[2:]])
            for at in places.tolist():
                for piece in self._by_prefix.get(block[at : at + LEAST_BYTES], ()):
                    if piece not in found and block.startswith(piece, at):
                        found.add(piece)
                        yield piece, start + at


def _hashes(data: Bytes) -> NDArray[np.uint16]:
    """(n - 3,) u16: a hash of the four bytes from each offset on."""
    wide = data.astype(np.uint32)
    words = wide[:-3] | wide[1:-2] << 8 | wide[2:-1] << 16 | wide[3:] << 24
    found: NDArray[np.uint16] = ((words * np.uint32(2_654_435_761)) >> 16).astype(np.uint16)
    return found


def _cut(data: bytes) -> Iterator[bytes]:
    if len(data) <= 2 * PIECE_BYTES:
        yield data
        return
    count = min(MOST_PIECES, -(-len(data) // PIECE_BYTES))
    for n in range(count):
        start = n * (len(data) - PIECE_BYTES) // (count - 1)
        yield data[start : start + PIECE_BYTES]


def _leaves(value: Any) -> Iterator[str]:
    """Every string in metadata, keys included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, each in value.items():
            yield key
            yield from _leaves(each)
    elif isinstance(value, Iterable):
        for each in value:
            yield from _leaves(each)


@contextlib.contextmanager
def _opened(store: Store, name: str) -> Iterator[File]:
    """A file of the store to read; the catalog's through a descriptor that outlives us."""
    if name == CATALOG_NAME:
        yield store.catalog.raw_file(store.files)
        return
    file = store.files.open(name, writable=False)
    try:
        yield file
    finally:
        file.close()


def _blocks(file: File, overlap: int) -> Iterator[tuple[int, bytes]]:
    """(offset, bytes) of a file, each block with the end of the one before it."""
    at, tail = 0, b""
    while data := file.read_at(at, _BLOCK_BYTES):
        block = tail + data
        yield at - len(tail), block
        at += len(data)
        tail = block[-overlap:] if overlap else b""


def _is_alive(store: Store, piece: bytes) -> bool:
    """True when a living memory, or the schema, says the same; letters of ASCII in either case."""
    columns = {
        "content": ("text", "tags", "metadata", "role", "source"),
        "record": ("session_id", "agent_id", "user_id"),
        "sqlite_master": ("sql",),
        "meta": ("value",),
    }
    try:
        text = piece.decode().lower()
    except UnicodeDecodeError:  # a vector, or a text cut within a letter
        text = ""
    with store.catalog.reading() as db:
        for table, names in columns.items():
            either = " OR ".join(
                f"instr(CAST({name} AS BLOB), :raw) OR (:text <> '' AND"
                f" instr(lower({name}), :text))" for name in names
            )
            sql = f"SELECT EXISTS (SELECT 1 FROM {table} WHERE {either})"
            if db.execute(sql, {"raw": piece, "text": text}).fetchone()[0]:
                return True
    return False


def _in_live_slot(store: Store, name: str, offset: int) -> bool:
    """True for a place inside a living record: it has the same numbers in its own right."""
    for segment in store.segments.values():
        if segment.row.path == name and offset >= PARTITION_HEADER_BYTES:
            slot = (offset - PARTITION_HEADER_BYTES) // store.stride
            records = segment.records()
            if slot >= len(records):
                return False
            header = records[slot, :HEADER_BYTES].copy().view(RECORD_DTYPE)[0]
            return not int(header["flags"]) & Flag.TOMBSTONE
    return False
