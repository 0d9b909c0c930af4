"""Words that the full-text index still has although no living memory contains them.

FTS5 marks deletions and drops the words when it merges segments. Until then its pages have them
stemmed, folded and prefix-compressed, so a byte search for the text misses them. This module reads
the terms of every page as FTS5 writes them (https://www.sqlite.org/fts5.html#internals and its
source, ``fts5_index.c``: a leaf begins with two u16, the second of which is the offset of its list
of terms) and compares them with the words of erased texts. FTS5 itself tells which of these a
living memory contains.
"""

from __future__ import annotations

import itertools
import sqlite3
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spector.errors import CatalogCorruptError
from spector.process import managed
from spector.store.catalog import FULLTEXT_TOKENIZER, Catalog
from spector.store.sqlite import open_connection

__all__ = ["WordCheck", "living_terms", "words_left"]

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
        with catalog.reading() as db:
            there = _with_hashes(_terms(db, catalog.path), wanted) if len(wanted) else set()
            left = there.difference(_living(db, there))
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
    with catalog.reading() as db:
        db.execute("CREATE VIRTUAL TABLE temp.said USING fts5vocab(main, fulltext, row)")
        try:
            terms = db.execute("SELECT CAST(term AS BLOB) FROM temp.said")
            while found := terms.fetchmany(_TERMS_AT_ONCE):
                yield [term for (term,) in found]
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


def _living(db: sqlite3.Connection, terms: Iterable[bytes]) -> Iterator[bytes]:
    """The terms that some text contains which has not been deleted."""
    db.execute("CREATE VIRTUAL TABLE temp.said USING fts5vocab(main, fulltext, row)")
    try:
        yield from (term for term in terms if _has(db, "temp.said", term))
    finally:
        db.execute("DROP TABLE temp.said")


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
        step, at = _varint(block, at)
        first, place = not place, place + step
        kept, start = (0, place) if first else _varint(block, place)
        length, start = _varint(block, start)
        if kept > len(term) or start + length > end:
            raise ValueError("a term that is longer than its page")
        term = term[:kept] + block[start : start + length]
        if term[:1] == _MAIN:
            yield term[1:]


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """(value, end) of a SQLite varint: seven bits a byte, eight in the ninth."""
    value = 0
    for n in range(8):
        byte = data[at + n]
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, at + n + 1
    return value << 8 | data[at + 8], at + 9
