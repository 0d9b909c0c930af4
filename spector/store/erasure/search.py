"""A search of every byte of a store for what was erased from it."""

from __future__ import annotations

import contextlib
import itertools
import json
import re
import sqlite3
import unicodedata
from array import array
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spector.errors import CatalogCorruptError, InvalidInputError, StoreError, StoreNotFoundError
from spector.language.words import normalize_nfkc, normalize_unicode
from spector.layout import HEADER_BYTES, PARTITION_HEADER_BYTES, Flag, headers_of
from spector.process import managed
from spector.records import Residue, Verification
from spector.store.catalog import (
    APPLICATION_ID,
    BACKUP_NOTE,
    CATALOG_NAME,
    FULLTEXT_TOKENIZER,
    RELAXED_LOG,
    UNSYNCED,
    Catalog,
    Row,
    tags_json,
    to_json,
)
from spector.store.core import Store
from spector.store.erasure.catalog import DUE, STAGES
from spector.store.files import LOCK_NAME, Bytes, File, written_ranges
from spector.store.ops_log import is_ops_log
from spector.store.partitions import Segment, idx_of
from spector.store.payloads import KNOWLEDGE, PayloadTable, tables_in, words_of_row
from spector.store.sqlite import open_connection, varint
from spector.store.words import is_words

# Search for many byte strings in one pass over many gigabytes.
#
# A text of 100 KB has three thousand pieces of 32 bytes, which as objects would take forty times
# their size. So these are kept in sorted arrays, and only the few shorter pieces as objects.

PIECE_BYTES: Final = 32
#: shorter pieces are found everywhere
LEAST_BYTES: Final = 6
#: pieces taken of one value at most, evenly spaced: all of a mebibyte
_MOST_PIECES: Final = 1 << 15
#: offsets of the 4-byte words that are hashed: four of a whole piece, two of a shorter one
_LONG_STEPS: Final = (0, 9, 18, PIECE_BYTES - 4)
_SHORT_STEPS: Final = (0, LEAST_BYTES - 4)
#: odd multipliers, from the golden ratio and MurmurHash3; any others would do
_ODD: Final = tuple(map(np.uint32, (2_654_435_761, 0xCC9E2D51, 0x1B873593, 0xE6546B65 | 1)))
#: least and largest size of a table, in bits; the number of pieces decides: 32 MiB at most
_LEAST_HASH_BITS: Final = 16
_MOST_HASH_BITS: Final = 25
#: candidates that match nothing before the tables are rebuilt
_MOST_IN_VAIN: Final = 4096
#: candidates of one block that are compared at once
_PLACES_AT_ONCE: Final = 1 << 16
#: the owner of a piece that belongs to no memory
_NO_OWNER: Final = -1

#: a piece of 32 bytes; numpy compares such strings bytewise and pads shorter ones with zeros
_WHOLE: Final = f"S{PIECE_BYTES}"
_Whole = NDArray[np.bytes_]


class Pieces:
    """The pieces to search for, each with its kind and the memories that own it."""

    def __init__(self) -> None:
        self._names: list[str] = []
        #: pieces of 32 bytes, with kinds and owners, in the order in which they were added
        self._whole = bytearray()
        self._kinds, self._owners = array("B"), array("q")
        #: on demand: the same sorted without duplicates, and where the owners of each piece begin
        self._sorted: tuple[_Whole, NDArray[np.int64]] | None = None
        #: shorter piece -> kind, and -> owners: most have one
        self._other: dict[bytes, int] = {}
        self._owners_of_other: dict[bytes, int | list[int]] = {}

    def add(self, piece: bytes, kind: str, owner: int | None = None) -> None:
        """Add a piece; of one that is added again, the first kind and all owners count."""
        if kind not in self._names:
            self._names.append(kind)
        number = self._names.index(kind)
        if len(piece) == PIECE_BYTES:
            assert self._sorted is None, "pieces are added before they are looked for"
            self._whole += piece
            self._kinds.append(number)
            self._owners.append(_NO_OWNER if owner is None else owner)
            return
        self._other.setdefault(piece, number)
        if owner is not None and self._owners_of_other.setdefault(piece, owner) != owner:
            before = self._owners_of_other[piece]
            also = before if isinstance(before, list) else [before]
            self._owners_of_other[piece] = also
            also.append(owner)

    def __len__(self) -> int:
        return len(self._sort()[0]) + len(self._other)

    def kind(self, piece: bytes) -> str:
        if len(piece) != PIECE_BYTES:
            return self._names[self._other[piece]]
        rows, starts = self._sort()
        return self._names[self._kinds[int(starts[_index(rows, piece)])]]

    def owners(self, piece: bytes) -> list[int]:
        """The ids of the memories that own a piece."""
        if len(piece) != PIECE_BYTES:
            found = self._owners_of_other.get(piece, [])
            return found if isinstance(found, list) else [found]
        rows, starts = self._sort()
        n = _index(rows, piece)
        return [owner for owner in self._owners[starts[n] : starts[n + 1]] if owner != _NO_OWNER]

    def finder(self) -> Finder:
        return Finder(self._other, self._sort()[0])

    def _sort(self) -> tuple[_Whole, NDArray[np.int64]]:
        if self._sorted is None:
            rows = np.frombuffer(self._whole, _WHOLE)
            order = np.argsort(rows, kind="stable")
            rows = rows[order]
            self._whole = bytearray()
            self._kinds = array("B", np.frombuffer(self._kinds, np.uint8)[order].tobytes())
            self._owners = array("q", np.frombuffer(self._owners, np.int64)[order].tobytes())
            firsts = _firsts(rows)
            starts = np.append(firsts, len(rows))
            self._sorted = (rows if len(firsts) == len(rows) else rows[firsts], starts)
        return self._sorted


class Finder:
    """Finds pieces in blocks of bytes; a hash of their beginning rules out nearly every offset."""

    def __init__(self, pieces: Iterable[bytes], whole: _Whole | None = None) -> None:
        """
        Args:
            whole: (n,) more pieces, of 32 bytes, sorted and without duplicates.
        """
        if whole is None:
            pieces = set(pieces)
            rows = np.array([p for p in pieces if len(p) == PIECE_BYTES], dtype=_WHOLE)
            whole = np.sort(rows)
        self._whole = whole
        self._other = frozenset(piece for piece in pieces if len(piece) != PIECE_BYTES)
        #: pieces that are still searched for
        self._wanted = np.ones(len(whole), dtype=np.bool_)
        self._others_wanted = set(self._other)
        lengths = [len(piece) for piece in self._other]
        self.longest = max([*lengths, PIECE_BYTES] if len(whole) else lengths, default=0)
        self._left = self._count = len(whole) + len(self._other)
        self._build()

    def begin(self) -> None:
        """Search for all pieces again from now on."""
        if self._left < self._count:
            self._wanted[:] = True
            self._others_wanted = set(self._other)
            self._left = self._count
            self._build()

    def found(self, pieces: Collection[bytes]) -> None:
        """Stop searching for these pieces until ``begin``."""
        for piece in pieces:
            if len(piece) != PIECE_BYTES:
                self._left -= piece in self._others_wanted
                self._others_wanted.discard(piece)
            elif len(self._whole):
                n = _index(self._whole, piece)
                if self._wanted[n] and _bytes_of(self._whole[n : n + 1]).tobytes() == piece:
                    self._wanted[n] = False
                    self._left -= 1

    @property
    def done(self) -> bool:
        """True when no piece is searched for any more."""
        return not self._left

    def search(self, blocks: Iterable[tuple[int, bytes]]) -> Iterator[tuple[bytes, int]]:
        """(piece, offset) of every match of each piece until it is ``found``.

        Args:
            blocks: (offset, bytes) by ascending offset; where they overlap is searched twice.
        """
        for start, block in blocks:
            if self._is_worn:
                self._build()
            wanted = self._others_wanted
            for piece in self._shortest:
                at = block.find(piece) if piece in wanted else -1
                while at >= 0:
                    yield piece, start + at
                    at = block.find(piece, at + 1) if piece in wanted else -1
            words = _words(block if self._beginnings or self._table is not None else b"")
            for beginnings in self._beginnings:
                for at in beginnings.table.places(words).tolist():
                    for length in beginnings.lengths.get(block[at : at + beginnings.size], ()):
                        piece = block[at : at + length]
                        if piece in wanted:
                            yield piece, start + at
                        else:
                            self._in_vain += 1
            for piece, at in self._search_whole(block, words):
                yield piece, start + at

    def _search_whole(self, block: bytes, words: NDArray[np.uint32]) -> Iterator[tuple[bytes, int]]:
        if self._table is None or len(block) < PIECE_BYTES:
            return
        places = self._table.places(words)
        there = np.lib.stride_tricks.sliding_window_view(
            np.frombuffer(block, np.uint8), PIECE_BYTES
        )
        for first in range(0, len(places), _PLACES_AT_ONCE):
            some = places[first : first + _PLACES_AT_ONCE]
            rows = there[some].view(_WHOLE)[:, 0]
            which = np.minimum(np.searchsorted(self._whole, rows), len(self._whole) - 1)
            hit = self._wanted[which] & (self._whole[which] == rows)
            self._in_vain += len(some) - int(np.count_nonzero(hit))
            for at, n in zip(some[hit].tolist(), which[hit].tolist(), strict=True):
                if self._wanted[n]:
                    yield block[at : at + PIECE_BYTES], at
                else:
                    self._in_vain += 1

    @property
    def _is_worn(self) -> bool:
        """True when pieces that were found, and occur everywhere, slow the search for the rest."""
        left, built = self._left, self._built
        return 2 * left < built or (left < built and self._in_vain > max(built, _MOST_IN_VAIN))

    def _build(self) -> None:
        """Build the tables for the pieces that are still wanted."""
        self._built = self._left
        #: candidates that matched no piece that is still wanted
        self._in_vain = 0
        self._shortest = [piece for piece in self._others_wanted if len(piece) < LEAST_BYTES]
        short = [p for p in self._others_wanted if LEAST_BYTES <= len(p) < PIECE_BYTES]
        longer = [piece for piece in self._others_wanted if len(piece) > PIECE_BYTES]
        self._beginnings = [
            _Beginnings(pieces, steps)
            for pieces, steps in ((short, _SHORT_STEPS), (longer, _LONG_STEPS))
            if pieces
        ]
        all_wanted = bool(self._wanted.all())
        rows = self._whole if all_wanted else self._whole[self._wanted]
        self._table = _Table(_bytes_of(rows), _LONG_STEPS) if len(rows) else None


class _Table:
    """A hash table of how some pieces begin."""

    def __init__(self, beginnings: NDArray[np.uint8], steps: tuple[int, ...]) -> None:
        """
        Args:
            beginnings: (n, size) u8; the last four bytes are those of the last step.
        """
        self._steps = steps
        hashes = np.zeros(len(beginnings), dtype=np.uint32)
        for step, odd in zip(steps, _ODD, strict=False):
            words = np.ascontiguousarray(beginnings[:, step : step + 4]).view("<u4")[:, 0]
            hashes += words * odd
        self._hashes = np.unique(hashes)
        bits = (16 * len(self._hashes)).bit_length()
        bits = min(max(bits, _LEAST_HASH_BITS), _MOST_HASH_BITS)
        self._shift = np.uint32(32 - bits)
        #: the first bits of a hash rule out most offsets with one lookup
        self._there = np.zeros(1 << bits, dtype=np.bool_)
        self._there[self._hashes >> self._shift] = True

    def places(self, words: NDArray[np.uint32]) -> NDArray[np.intp]:
        """Offsets at which one of the pieces may begin."""
        count = max(len(words) - self._steps[-1], 0)
        hashes = np.zeros(count, dtype=np.uint32)
        for step, odd in zip(self._steps, _ODD, strict=False):
            hashes += words[step : step + count] * odd
        at = np.flatnonzero(self._there[hashes >> self._shift])
        hashes = hashes[at]
        which = np.minimum(np.searchsorted(self._hashes, hashes), len(self._hashes) - 1)
        found: NDArray[np.intp] = at[self._hashes[which] == hashes]
        return found


class _Beginnings:
    """Pieces of several lengths by their first bytes.

    A candidate takes one lookup for each length of the pieces that share its beginning; so a
    beginning that many share (``{"place": "``) costs no more than one.
    """

    def __init__(self, pieces: Collection[bytes], steps: tuple[int, ...]) -> None:
        self.size = steps[-1] + 4
        lengths: dict[bytes, set[int]] = {}
        for piece in pieces:
            lengths.setdefault(piece[: self.size], set()).add(len(piece))
        self.lengths = {begin: sorted(each) for begin, each in lengths.items()}
        joined = np.frombuffer(b"".join(lengths), np.uint8)
        self.table = _Table(joined.reshape(-1, self.size), steps)


def _bytes_of(rows: _Whole) -> NDArray[np.uint8]:
    """(n, 32) u8 view of (n,) pieces."""
    return np.frombuffer(np.ascontiguousarray(rows), np.uint8).reshape(-1, PIECE_BYTES)


def _firsts(rows: _Whole) -> NDArray[np.int64]:
    """(k,) where each run of equal pieces begins in sorted ones."""
    new = np.ones(len(rows), dtype=np.bool_)
    new[1:] = rows[1:] != rows[:-1]
    return np.flatnonzero(new).astype(np.int64, copy=False)


def _index(rows: _Whole, piece: bytes) -> int:
    """The position of a piece among sorted ones, if it is there."""
    return min(int(np.searchsorted(rows, np.array(piece, dtype=_WHOLE))), len(rows) - 1)


def _words(data: bytes) -> NDArray[np.uint32]:
    """(n - 3,) u32, the four bytes at each offset."""
    wide = np.frombuffer(data, np.uint8).astype(np.uint32)
    words = wide[:-3].copy()
    for n, shift in enumerate((8, 16, 24), 1):
        words |= wide[n : len(wide) - 3 + n] << np.uint32(shift)
    return words


def cut(data: bytes) -> Iterator[bytes]:
    """Cut a value into pieces, so that any 63 bytes of it contain a whole one."""
    if len(data) <= PIECE_BYTES:
        yield data
        return
    count = min(_MOST_PIECES, -(-len(data) // PIECE_BYTES))
    for n in range(count):
        start = n * (len(data) - PIECE_BYTES) // (count - 1)
        yield data[start : start + PIECE_BYTES]


# Words that the full-text index still has although no living memory contains them.
#
# FTS5 drops the words of deleted texts when it merges segments. Until then its pages have them
# stemmed, folded and prefix-compressed, so a byte search misses them, and the terms of every page are
# read (https://www.sqlite.org/fts5.html#internals and its source, ``fts5_index.c``: a leaf begins
# with two u16, the second of which is the offset of its list of terms).

#: bits of a page's key above its number: the height of the node and flags of other page kinds
_NOT_A_LEAF_SHIFT: Final = 31
_OTHER_KIND: Final = (1 << 6) - 1
_LEAST_SEGMENT: Final = 1 << 37
#: the byte before each term names its index: the main one or a prefix index
_MAIN: Final = b"0"
_TERMS_AT_ONCE: Final = 50_000


class WordCheck(NamedTuple):
    """How many words were searched for, and how many are left, as the index stems them."""

    wanted: int
    left: int


def words_left(catalog: Catalog, texts: Iterable[str]) -> WordCheck:
    """Count the words of some texts that the index has and no living memory contains.

    Raises:
        CatalogCorruptError: a page of the index is not what FTS5 writes.
    """
    with _words_of(texts) as words:
        # as hashes, because as objects they take several times the memory of the texts
        terms = words.execute("SELECT CAST(term AS BLOB) FROM words")
        wanted = np.sort(np.fromiter((hash(term) for (term,) in terms), np.int64))
        with catalog.reading() as db, _vocabulary(db):
            there = _with_hashes(_terms(db, catalog.path), wanted) if len(wanted) else set()
            left = [term for term in there if not _has(db, "temp.said", term)]
        # two words may share a hash, so each is looked up once more
        return WordCheck(len(wanted), sum(_has(words, "words", term) for term in left))


def _with_hashes(terms: Iterator[bytes], wanted: NDArray[np.int64]) -> set[bytes]:
    """The terms that have one of these sorted hashes."""
    found: set[bytes] = set()
    while some := list(itertools.islice(terms, _TERMS_AT_ONCE)):
        hashes = np.fromiter(map(hash, some), np.int64, len(some))
        which = np.minimum(np.searchsorted(wanted, hashes), len(wanted) - 1)
        found.update(some[n] for n in np.flatnonzero(wanted[which] == hashes).tolist())
    return found


def living_terms(catalog: Catalog) -> Iterator[list[bytes]]:
    """The words of living memories as the index writes them, many at once.

    They are in lower case, stemmed ("allergi" for "allergy") and folded by the index's own rules.
    """
    with catalog.reading() as db, _vocabulary(db):
        terms = db.execute("SELECT CAST(term AS BLOB) FROM temp.said")
        while found := terms.fetchmany(_TERMS_AT_ONCE):
            yield [term for (term,) in found]


@managed
def _vocabulary(db: sqlite3.Connection) -> Iterator[None]:
    """The terms of texts that have not been deleted, in a table ``temp.said``."""
    db.execute("CREATE VIRTUAL TABLE temp.said USING fts5vocab(main, fulltext, row)")
    try:
        yield
    finally:
        db.execute("DROP TABLE temp.said")


@managed
def _words_of(texts: Iterable[str]) -> Iterator[sqlite3.Connection]:
    """The terms that SQLite makes of texts, in a table ``words``."""
    with open_connection(":memory:") as db:
        db.execute(
            "CREATE VIRTUAL TABLE said USING fts5(text, content='', detail=none,"
            f" tokenize='{FULLTEXT_TOKENIZER}')"
        )
        db.execute("CREATE VIRTUAL TABLE words USING fts5vocab(said, row)")
        db.executemany("INSERT INTO said(text) VALUES (?)", ((each,) for each in texts))
        yield db


def _has(db: sqlite3.Connection, table: str, term: bytes) -> bool:
    found = db.execute(f"SELECT 1 FROM {table} WHERE term = CAST(? AS TEXT)", (term,))
    return found.fetchone() is not None


def _terms(db: sqlite3.Connection, path: str) -> Iterator[bytes]:
    """Every term of every leaf page, deleted or not; inner pages have prefixes only."""
    sql = "SELECT id, block FROM fulltext_data WHERE id >= ?"
    for key, block in db.execute(sql, (_LEAST_SEGMENT,)):
        if key >> _NOT_A_LEAF_SHIFT & _OTHER_KIND:
            continue
        try:
            yield from _terms_of_leaf(block)
        except (IndexError, TypeError, ValueError) as error:
            raise CatalogCorruptError(
                f"{path}: page {key} of the full-text index is damaged",
                hint="run: spector check PATH --repair DEST, which makes the index anew",
            ) from error


def _terms_of_leaf(block: bytes) -> Iterator[bytes]:
    end = int.from_bytes(block[2:4], "big")
    if not 4 <= end <= len(block):
        raise ValueError("no leaf")
    at, place, term = end, 0, b""
    while at < len(block):
        step, at = varint(block, at)
        first, place = not place, place + step
        kept, start = (0, place) if first else varint(block, place)
        length, start = varint(block, start)
        if kept > len(term) or start + length > end:
            raise ValueError("a term that is longer than its page")
        term = term[:kept] + block[start : start + length]
        if term[:1] == _MAIN:
            yield term[1:]


# What living memories and rows of knowledge hold, as bytes, in short stretches.

#: memories and bytes that one read of the catalog takes at most; one memory is always read whole
_AT_ONCE: Final = 2000
_BYTES_AT_ONCE: Final = 8 << 20

#: in column order, because the values of a row are adjacent and a piece may span several; as bytes,
#: because a damaged value may not be text
_CONTENT: Final = ("text", "tags", "metadata", "content.role", "content.source", "parents")
_RECORD: Final = ("session_id", "agent_id", "user_id")
#: columns that hold JSON, and the characters that JSON escapes
JSON_COLUMNS: Final = frozenset({"tags", "metadata", "parents", "json", "note"})
#: stands for the memory of a row that belongs to none, like a registered relation
NO_MEMORY: Final = -1


def _as_blobs(names: Iterable[str]) -> str:
    return ", ".join(f"CAST({name} AS BLOB)" for name in names)


_MEMORIES: Final = (
    f"SELECT record.id, record.id, {_as_blobs((*_CONTENT, *_RECORD))}"
    " FROM record JOIN content ON content.id = record.id"
)


class Stretch(NamedTuple):
    """Some rows of one kind."""

    #: names of the values
    names: tuple[str, ...]
    #: (memory, values)
    rows: list[tuple[int, list[bytes]]]
    #: values before this one are adjacent in the file, and so are the others
    cut: int


def living_stretches(store: Store) -> Iterator[Stretch]:
    """Every living memory by ascending id, then every row of knowledge."""
    for rows in _rows(store, _MEMORIES, ("record.id",)):
        yield Stretch((*_CONTENT, *_RECORD), rows, len(_CONTENT))
    with store.catalog.reading() as db:
        tables = tables_in(db)
    for table in tables:
        names = tuple(each.name for each in table.columns if each.kind in (str, bytes))
        # numbers of sleep belong to no memory
        owner = f"{table.name}.{table.owners[0]}" if table.owners else str(NO_MEMORY)
        # an item is of no memory itself, and counts as its first mention's; only tables of
        # knowledge may name one
        of_item = (
            f" (SELECT min(b) FROM link WHERE a = {owner})," if table.group == KNOWLEDGE else ""
        )
        sql = (
            f"SELECT coalesce((SELECT id FROM record WHERE id = {owner}),{of_item} {NO_MEMORY}),"
            f" {', '.join(table.key)}, {_as_blobs(names)} FROM {table.name}"
        )
        for rows in _rows(store, sql, table.key):
            yield Stretch(names, rows, len(names))


def _rows(store: Store, sql: str, key: tuple[str, ...]) -> Iterator[list[tuple[int, list[bytes]]]]:
    """(memory, values) of rows by their key, whose columns stand between these two."""
    keys, count = ", ".join(key), len(key)
    after: tuple[Any, ...] | None = None
    while True:
        where = "" if after is None else f" WHERE ({keys}) > ({', '.join('?' * count)})"
        rows: list[tuple[int, list[bytes]]] = []
        room, last = _BYTES_AT_ONCE, after
        with (
            store.catalog.reading() as db,
            contextlib.closing(
                db.execute(f"{sql}{where} ORDER BY {keys} LIMIT {_AT_ONCE}", after or ())
            ) as found,
        ):
            for memory, *values in found:
                after = tuple(values[:count])
                rows.append((memory, [value or b"" for value in values[count:]]))
                room -= sum(map(len, rows[-1][1]))
                if room <= 0:
                    break
        if not rows or after is None:
            return
        # a damaged key leads nowhere, or back, which check reports
        if last is not None and (after == last or (count == 1 and after < last)):
            return
        yield rows


# Attribute bytes that a search found to living memories, or to the store itself.
#
# Text that a living memory shares is no residue; for needles that the caller named, the ids of the
# memories that contain them are reported. One pass serves any number of needles. It reads in short
# stretches, so it blocks no writer and keeps no log from being emptied.

#: a search takes about ten times as much memory as it searches at once
_SEARCHED_AT_ONCE: Final = 1 << 20

#: the characters that JSON escapes
_WRITTEN: Final = re.compile(rb'["\\\x00-\x1f]')
_ITSELF: Final = (
    ("sqlite_master", ("type", "name", "tbl_name", "sql")),
    ("meta", ("key", "value")),
    ("segment", ("path",)),
)
#: what the store writes temporarily
_PASSING: Final = (
    *(f"{DUE}{stage}".encode() for stage in STAGES),
    *(key.encode() for key in (UNSYNCED, RELAXED_LOG, BACKUP_NOTE)),
)
#: more than the lock file has: the writer's process id and its durable mark
_LOCK_BYTES: Final = 256
#: the first bytes of the catalog, and the application id further on in its first page
_MAGIC: Final = (b"SQLite format 3\0", APPLICATION_ID.to_bytes(4, "big"))


class LivingMentions:
    """Which pieces stores legitimately contain, and which memories contain a given needle."""

    def __init__(self, pieces: Set[bytes], exactly: Set[bytes], given: Collection[bytes]) -> None:
        """
        Args:
            pieces: found in files of the store. These hold adjacent values, folded and stemmed
                words, and the store's own description, all of which account for a piece.
            exactly: found in other files, where only one exact value accounts for a piece.
            given: what the caller named.
        """
        self._sought = pieces
        self._sought_exactly = exactly
        self._given = given
        #: memories that contain a needle of the caller's, ignoring case and accents
        self.ids: set[int] = set()
        #: pieces that a living memory or the store's own description contains
        self.pieces: set[bytes] = set()
        #: pieces that one value of a living memory contains exactly
        self.exactly: set[bytes] = set()

    def look(self, store: Store) -> None:
        """Read everything that a store contains legitimately."""
        rest, strict = self._sought - self.pieces, Finder(self._sought_exactly - self.exactly)
        if not (rest or self._given) and strict.done:
            return
        exact, plain, named = Finder(rest), _FoldedPieces(rest), _GivenNeedles(self._given)
        plain.drop(_found(exact, _store_values(store), self.pieces))
        for stretch in living_stretches(store):
            rows = stretch.rows
            values = _Values()
            for record_id, row in rows:
                values.add(record_id, b"".join(row[: stretch.cut]))
                values.add(record_id, b"".join(row[stretch.cut :]))
                for leaf in _json_texts(row):  # an index has tags unescaped
                    values.add(record_id, leaf.encode("utf-8", "replace"))
                for text in _escaped_texts(stretch, row):  # an export has texts as JSON
                    values.add(record_id, text)
            plain.drop(_found(exact, values, self.pieces))
            if not strict.done:
                _found(strict, _exact_values(stretch), self.exactly)
            named.look(named.bytes, values)
            if plain.wanted or not named.texts.done:
                values = _Values()
                for record_id, row in rows:
                    values.add(record_id, _folded_row(row))
                found = plain.look(values)
                exact.found(found)
                self.pieces |= found
                named.look(named.texts, values)
            if exact.done and strict.done and named.done:
                break
        self.ids |= named.ids - {NO_MEMORY}
        if left := rest - self.pieces:  # the full text has words in lower case and stemmed
            exact = Finder(left)
            for terms in living_terms(store.catalog):
                values = _Values()
                for term in terms:
                    values.add(0, term)
                _found(exact, values, self.pieces)


def _found(finder: Finder, values: _Values, into: set[bytes]) -> set[bytes]:
    """Pieces that some value contains and that had not been found before."""
    new: set[bytes] = set()
    for piece, _ in values.search(finder):
        new.add(piece)
        finder.found((piece,))
    into |= new
    return new


class _Values:
    """Many values joined for one search, each with its owner; no match spans two values."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._ids: list[int] = []
        #: where each value begins, and where the last one ends
        self._starts = [0]

    def add(self, record_id: int, value: bytes) -> None:
        if value:
            self._parts.append(value)
            self._ids.append(record_id)
            self._starts.append(self._starts[-1] + len(value))

    def search(self, finder: Finder) -> Iterator[tuple[bytes, int]]:
        """(piece, id of the owner) for every match."""
        joined, size = b"".join(self._parts), _SEARCHED_AT_ONCE + finder.longest
        blocks = ((at, joined[at : at + size]) for at in range(0, len(joined), _SEARCHED_AT_ONCE))
        for piece, at in finder.search(blocks):
            n = bisect_right(self._starts, at)
            if at + len(piece) <= self._starts[n]:
                yield piece, self._ids[n - 1]


class _FoldedPieces:
    """Pieces in lower case without accents, as files of words have them.

    A lower-case piece may therefore come from a memory that writes it differently.
    """

    def __init__(self, pieces: Iterable[bytes]) -> None:
        #: folded piece -> the pieces it stands for
        self.wanted: dict[bytes, set[bytes]] = {}
        for piece in pieces:
            text = _text_of(piece)
            if text is None or text != text.lower():
                continue
            plain = fold_text(text).encode()
            if len(plain) >= LEAST_BYTES or plain == piece:  # very short ones occur everywhere
                self.wanted.setdefault(plain, set()).add(piece)
        self._plain_of = {piece: plain for plain, of in self.wanted.items() for piece in of}
        self._finder = Finder(self.wanted)

    def drop(self, pieces: Iterable[bytes]) -> None:
        """Search no longer for pieces that are accounted for."""
        for piece in pieces:
            plain = self._plain_of.get(piece)
            if plain in self.wanted:
                self.wanted[plain].discard(piece)
                if not self.wanted[plain]:
                    del self.wanted[plain]
                    self._finder.found((plain,))

    def look(self, values: _Values) -> set[bytes]:
        """Pieces whose folded form is in some value; the values are folded, too."""
        found: set[bytes] = set()
        for plain, _ in values.search(self._finder):
            found |= self.wanted.pop(plain)
            self._finder.found((plain,))
        return found


class _GivenNeedles:
    """Which memories contain what the caller named: all of them, because a receipt counts them."""

    def __init__(self, given: Collection[bytes]) -> None:
        texts = {fold_text(text).encode() for each in given if (text := _text_of(each)) is not None}
        self.texts = Finder(texts - {b""})
        self.bytes = Finder(each for each in given if _text_of(each) is None)
        self.ids: set[int] = set()

    @property
    def done(self) -> bool:
        return self.texts.done and self.bytes.done

    def look(self, finder: Finder, values: _Values) -> None:
        """Look for the bytes or, in folded values, for the texts."""
        if not finder.done:
            self.ids.update(record_id for _, record_id in values.search(finder))


def _store_values(store: Store) -> _Values:
    """What the store writes about itself."""
    values = _Values()
    with store.catalog.reading() as db:
        for table, names in _ITSELF:
            for row in db.execute(f"SELECT {_as_blobs(names)} FROM {table}"):
                values.add(0, b"".join(filter(None, row)))
    for value in (*_MAGIC, *_PASSING):
        values.add(0, value)
    if store.files.durable:
        with (
            contextlib.suppress(StoreError),
            contextlib.closing(store.files.open(LOCK_NAME, writable=False)) as file,
        ):
            values.add(0, file.read_at(0, _LOCK_BYTES))
    return values


def _exact_values(stretch: Stretch) -> _Values:
    """Each value by itself, as it is and as JSON escapes it: another program may write both."""
    values = _Values()
    for record_id, row in stretch.rows:
        for name, value in zip(stretch.names, row, strict=True):
            if name != "parents":  # ids are not its own content
                values.add(record_id, value)
        for leaf in _json_texts(row):
            values.add(record_id, leaf.encode("utf-8", "replace"))
        for text in _escaped_texts(stretch, row):
            values.add(record_id, text)
    return values


def _folded_row(row: list[bytes]) -> bytes:
    """The texts of a memory, folded; of JSON also the unescaped texts."""
    texts = [value.decode("utf-8", "replace") for value in row if value]
    texts += _json_texts(row)
    return fold_text("\0".join(texts)).encode("utf-8", "replace")


def _json_texts(row: list[bytes]) -> list[str]:
    """Texts within a memory's JSON that JSON escapes."""
    texts: list[str] = []
    for value in row:
        if b"\\" in value and value[:1] in (b"[", b"{"):
            with contextlib.suppress(ValueError, RecursionError):
                texts += leaf_texts(json.loads(value.decode("utf-8", "replace")))
    return texts


def _escaped_texts(stretch: Stretch, row: list[bytes]) -> Iterator[bytes]:
    """Texts and labels of a memory as JSON escapes them, where it does."""
    for name, value in zip(stretch.names, row, strict=True):
        if name not in JSON_COLUMNS and _WRITTEN.search(value):
            yield escape_json(value.decode("utf-8", "replace")).encode("utf-8", "replace")


def escape_json(text: str) -> str:
    """A text as the JSON of the catalog and of exports has it."""
    return json.dumps(text, ensure_ascii=False)[1:-1]


def _text_of(data: bytes) -> str | None:
    try:
        return data.decode()
    except UnicodeDecodeError:  # a vector, or a text cut within a letter
        return None


def fold_text(text: str) -> str:
    """A text in lower case without accents, for comparing what people take for the same."""
    if text.isascii():
        return text.lower()
    folded = normalize_nfkc(text).casefold().replace("ı", "i")
    return normalize_unicode("NFD", folded).translate(_UNMARKED)


#: Japanese marks that form another letter and are no accents
_VOICED: Final = "\u3099\u309a"


class _Unmarked(dict[int, int | None]):
    """Table for ``str.translate`` that drops combining marks."""

    def __missing__(self, code: int) -> int | None:
        letter = chr(code)
        stays = letter in _VOICED or not unicodedata.combining(letter)
        self[code] = value = code if stays else None
        return value


_UNMARKED: Final = _Unmarked()


def leaf_texts(value: Any) -> Iterator[str]:
    """Every string and number in metadata, including keys."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield json.dumps(value)
    elif isinstance(value, Mapping):
        for key, each in value.items():
            yield key
            yield from leaf_texts(each)
    elif isinstance(value, Iterable):
        for each in value:
            yield from leaf_texts(each)


#: a needle that the caller names may be shorter, and so be found by chance: four given bytes occur
#: once in 4 GiB of random ones
LEAST_GIVEN_BYTES: Final = 4
_BLOCK_BYTES: Final = 1 << 20
#: a day or several, as notes name them
_IS_DAY: Final = re.compile(r"\d{4}-\d\d-\d\d(?:/\d{4}-\d\d-\d\d)?")
#: SQLite's lock table has page numbers and no content. Nothing else may open it, because closing it
#: would drop SQLite's own locks
_LOCK_TABLE: Final = f"{CATALOG_NAME}-shm"


@dataclass(slots=True)
class Needles:
    """What to search for, cut into pieces."""

    pieces: Pieces = field(default_factory=Pieces)
    #: texts whose words must not be left in the full-text index
    texts: list[str] = field(default_factory=list)
    #: needles that the caller named, uncut
    given: list[bytes] = field(default_factory=list)
    ids: list[int] = field(default_factory=list)
    too_short: int = 0

    def add_given(self, given: str | bytes) -> None:
        """Add a needle of the caller's: as it is, as JSON escapes it, in both normal forms.

        Raises:
            InvalidInputError: it is so short or so uniform that it would be found everywhere.
        """
        try:
            data = given.encode() if isinstance(given, str) else given
        except UnicodeEncodeError as error:
            raise InvalidInputError(
                f"verify has a text that is not valid Unicode: {error.reason} at {error.start}",
                hint="remove the lone surrogate",
            ) from None
        forms = [data]
        with contextlib.suppress(UnicodeDecodeError):
            text = data.decode()
            forms += [normalize_unicode(form, text).encode() for form in ("NFC", "NFD")]
        least = min(len(form.strip()) for form in forms)
        if least < LEAST_GIVEN_BYTES or len(set(data)) < 2:
            what = f"only {least}" if least < LEAST_GIVEN_BYTES else "only the same"
            raise InvalidInputError(
                f"verify has a text of {what} bytes, which occurs everywhere",
                hint=f"pass at least {LEAST_GIVEN_BYTES} bytes that are not all the same: a full "
                "name instead of a short one",
            )
        self.given.append(data)
        if len(forms) > 1:  # a text
            self.texts.append(data.decode())
            forms += [escape_json(form.decode()).encode() for form in forms]
        for form in dict.fromkeys(forms):
            self._take("given", form)

    def add(self, kind: str, data: bytes, owner: int | None = None) -> None:
        """Add bytes that must not be found."""
        if len(data) < LEAST_BYTES or len(set(data)) < 2:
            self.too_short += bool(data)
            return
        self._take(kind, data, owner)

    def _take(self, kind: str, data: bytes, owner: int | None = None) -> None:
        for piece in cut(data):
            if len(set(piece)) < 2:
                continue
            self.pieces.add(piece, kind, owner)

    def add_knowledge(self, rows: Iterable[tuple[PayloadTable, Mapping[str, Any]]]) -> None:
        """Add the words of rows of knowledge: payloads, facts, names, entities, notes of edges."""
        known = frozenset(self.ids)
        for table, row in rows:
            owner = next((row[each] for each in table.owners if row[each] in known), None)
            for value in row.values():
                if type(value) is bytes:
                    self.add("attachment", value, owner)
            for word in words_of_row(table, row):
                if _IS_DAY.fullmatch(word):  # of a note; any line of a log may have it
                    self.too_short += 1
                    continue
                for form in dict.fromkeys((word, escape_json(word))):
                    self.add("knowledge", form.encode(), owner)

    def add_memory(self, row: Row, image: Bytes | None, dim: int) -> None:
        """Add all that a memory contains: text, metadata, tags, labels, vector.

        Args:
            image: (stride,) u8, the record as the partition has it, even a damaged one.
        """
        self.ids.append(row.id)
        self.texts.append(row.text)
        values = [("text", row.text)]
        values += (("metadata", leaf) for leaf in leaf_texts(row.metadata))
        values += (("tags", tag) for tag in row.tags)
        labels = (row.session_id, row.agent_id, row.user_id, row.role, row.source)
        values += (("label", label) for label in labels if label)
        values += [(kind, escape_json(value)) for kind, value in values]  # as exports have them
        values.append(("metadata", row.metadata_json or to_json(row.metadata) or ""))
        values.append(("tags", tags_json(row.tags) or ""))
        for kind, value in dict.fromkeys(values):
            self.add(kind, value.encode(), row.id)
        if image is not None:
            self.add("vector", image[HEADER_BYTES : HEADER_BYTES + dim].tobytes(), row.id)


class _Hit(NamedTuple):
    piece: bytes
    where: str
    offset: int
    #: in a file of the store, which writes the content of memories in several forms
    ours: bool


def verify(store: Store, needles: Needles, others: Iterable[Store] = ()) -> Verification:
    """Search every file of a store. Changes nothing and blocks no one for long.

    What cannot be read is reported, not raised: the erasure is done, and its receipt is due.

    Args:
        others: stores in memory; their bytes are searched, and their memories may share content.
    """
    wanted = needles.pieces.finder()
    own = _own_names(store)
    files = total = 0
    hits: list[_Hit] = []
    alive: set[bytes] = set()
    failed: list[str] = []
    for each, name in _files(store, others):
        shown = name if each is store else f"memory of this process, {name}"
        with _noting_failures(failed, shown), _open_file(each, name) as file:
            lives = _LivingSlots(each, name)
            for piece, offset in wanted.search(_blocks(file, wanted.longest)):
                # a living record may legitimately have the same vector; a dead one may not
                if lives.at(offset):
                    alive.add(piece)
                else:
                    wanted.found((piece,))  # one place of it in this file is enough
                    hits.append(_Hit(piece, shown, offset, ours=each is not store))
            files += 1
            total += file.size()
        wanted.begin()
    words = WordCheck(0, 0)
    with _noting_failures(failed, CATALOG_NAME):
        words = words_left(store.catalog, needles.texts)
    own |= _own_names(store)  # with what commits have made since, and what they have removed
    hits = [hit._replace(ours=hit.ours or _is_own(hit.where, own)) for hit in hits]
    mentions = LivingMentions(
        {hit.piece for hit in hits if hit.ours},
        {hit.piece for hit in hits if not hit.ours},
        needles.given,
    )
    for each in (store, *others):
        with _noting_failures(failed, CATALOG_NAME):
            mentions.look(each)
    # the catalog and its log have living records that are on their way to a partition
    alive |= _vectors_of_the_living(
        (store, *others),
        {
            hit.piece
            for hit in hits
            if _is_log(hit.where) and needles.pieces.kind(hit.piece) == "vector"
        },
    )
    left = [
        hit
        for hit in hits
        if hit.piece not in (mentions.pieces if hit.ours else mentions.exactly)
        and not (hit.piece in alive and _is_log(hit.where))
    ]
    residue = [
        Residue(where=_shown(hit.where), offset=hit.offset, kind=needles.pieces.kind(hit.piece))
        for hit in left
    ]
    residue += [Residue(where=f"{CATALOG_NAME}, full text", kind="word")] * words.left
    left_of = {owner for hit in left for owner in needles.pieces.owners(hit.piece)}
    return Verification(
        needles=len(needles.pieces),
        words=words.wanted,
        too_short=needles.too_short,
        shared=len(alive | mentions.pieces | mentions.exactly),
        living=tuple(sorted(mentions.ids)),
        files=files,
        bytes=total,
        residue=tuple(residue),
        unsearched=tuple(dict.fromkeys(failed)),
        # a word does not tell which memory it came from
        left_of=tuple(sorted(needles.ids if words.left else left_of)),
    )


def foreign_files(store: Store) -> tuple[str, ...]:
    """Names of files in the directory that the store did not make."""
    if not store.files.durable:
        return ()
    with store.lock:
        own = _own_names(store)
        return tuple(_shown(name) for name in sorted(_listed(store)) if not _is_own(name, own))


def _own_names(store: Store) -> set[str]:
    """Names of the store's files, except word files; a store in memory owns all of its files."""
    if not store.files.durable:
        return {*_listed(store), CATALOG_NAME}
    with store.lock:
        named = {segment.row.path for segment in store.segments.values()}
        own = {LOCK_NAME, CATALOG_NAME, _LOCK_TABLE, f"{CATALOG_NAME}-wal"}
        return named | {idx_of(path) for path in named} | own


def _is_own(name: str, own: set[str]) -> bool:
    return name in own or is_words(name) or is_ops_log(name)


def _listed(store: Store) -> list[str]:
    return [*store.files.listing(), *store.files.closed_folders()]


def _files(store: Store, others: Iterable[Store]) -> Iterator[tuple[Store, str]]:
    """Every file of every store, including the catalog of a store in memory, which is no file."""
    for each in (store, *others):
        names = _listed(each)
        if each.catalog.in_memory:
            names.append(CATALOG_NAME)
        yield from ((each, name) for name in names if name != _LOCK_TABLE)


def _shown(name: str) -> str:
    """A file's name, or a message with one, printable whatever bytes the name has."""
    return name.encode("utf-8", "backslashreplace").decode()


@contextlib.contextmanager
def _noting_failures(failed: list[str], name: str) -> Iterator[None]:
    """Collect what cannot be read; a file that is gone by now is skipped."""
    try:
        yield
    except StoreNotFoundError:
        pass
    except StoreError as error:
        failed.append(_shown(f"{name}: {error.message}"))


@managed
def _open_file(store: Store, name: str) -> Iterator[File]:
    """Open a file of the store for reading; the catalog through its shared descriptor."""
    if name == CATALOG_NAME:
        yield store.catalog.raw_file(store.files)
        return
    with contextlib.closing(store.files.open(name, writable=False)) as file:
        yield file


def _blocks(file: File, overlap: int) -> Iterator[tuple[int, bytes]]:
    """(offset, bytes) of a file; each block begins with the end of the one before."""
    for low, end in written_ranges(file):
        # holes are not searched, but a match may begin or end in one
        at, tail = low, bytes(min(low, overlap))
        while at < end and (data := file.read_at(at, min(_BLOCK_BYTES, end - at))):
            block = tail + data
            yield at - len(tail), block
            at += len(data)
            tail = block[-overlap:] if overlap else b""
        if tail and at < file.size():
            yield at - len(tail), tail + bytes(overlap)


def _is_log(name: str) -> bool:
    return name in (CATALOG_NAME, f"{CATALOG_NAME}-wal")


def _vectors_of_the_living(stores: Iterable[Store], pieces: set[bytes]) -> set[bytes]:
    """The pieces that some living record contains."""
    finder, found = Finder(pieces), set[bytes]()
    for store in stores if pieces else ():
        with store.lock:
            held = list(store.segments.values())
        for segment in held:
            with store.lock:
                records = segment.records()
            step = max(_BLOCK_BYTES // store.stride, 1)
            for first in range(0, len(records), step):
                some = records[first : first + step]
                flags = headers_of(some)["flags"]
                for piece, at in finder.search([(0, some.tobytes())]):
                    if not int(flags[at // store.stride]) & Flag.TOMBSTONE:
                        found.add(piece)
                        finder.found((piece,))
                if finder.done:
                    return found
    return found


class _LivingSlots:
    """Which offsets of a partition file are inside living records."""

    def __init__(self, store: Store, name: str) -> None:
        self._stride = store.stride
        with store.lock:  # another thread's commit may add one meanwhile
            held = (each for each in store.segments.values() if each.row.path == name)
            self._segment: Segment | None = next(held, None)
        self._flags: NDArray[np.uint16] | None = None

    def at(self, offset: int) -> bool:
        """True for an offset inside a living record."""
        if self._segment is None or offset < PARTITION_HEADER_BYTES:
            return False
        slot = (offset - PARTITION_HEADER_BYTES) // self._stride
        # it may have been written a moment ago: look again
        return self._alive(slot) or self._alive(slot, anew=True)

    def _alive(self, slot: int, *, anew: bool = False) -> bool:
        assert self._segment is not None
        if anew or self._flags is None:
            self._flags = headers_of(self._segment.shown())["flags"].copy()
        flags = self._flags
        return slot < len(flags) and not int(flags[slot]) & Flag.TOMBSTONE
