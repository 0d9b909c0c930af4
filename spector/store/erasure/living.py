"""Attribute bytes that a search found to living memories, or to the store itself.

A search after an erasure may hit text that a living memory legitimately shares. Such hits are no
residue; for needles that the caller named, the ids of the memories that contain them are reported.
One pass serves any number of needles. It reads in short stretches, so it blocks no writer and keeps
no log from being emptied.
"""

from __future__ import annotations

import contextlib
import json
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Set
from typing import Any, Final

from spector.errors import StoreError
from spector.language.words import normalize_nfkc, normalize_unicode
from spector.store.catalog import APPLICATION_ID, BACKUP_NOTE, RELAXED_LOG, UNSYNCED
from spector.store.core import Store
from spector.store.erasure.catalog import DUE, STAGES
from spector.store.erasure.living_rows import JSON_COLUMNS, NO_MEMORY, Stretch, living_stretches
from spector.store.erasure.patterns import LEAST_BYTES, Finder
from spector.store.erasure.words import living_terms
from spector.store.files import LOCK_NAME

__all__ = ["LivingMentions", "escape_json", "leaf_texts"]

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
            named.look_at_bytes(values)
            if plain.wanted or named.texts_wanted:
                values = _Values()
                for record_id, row in rows:
                    values.add(record_id, _folded_row(row))
                found = plain.look(values)
                exact.found(found)
                self.pieces |= found
                named.look_at_text(values)
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
        self._texts = Finder(texts - {b""})
        self._bytes = Finder(each for each in given if _text_of(each) is None)
        self.ids: set[int] = set()

    @property
    def texts_wanted(self) -> bool:
        return not self._texts.done

    @property
    def done(self) -> bool:
        return self._texts.done and self._bytes.done

    def look_at_bytes(self, values: _Values) -> None:
        self._look(self._bytes, values)

    def look_at_text(self, values: _Values) -> None:
        self._look(self._texts, values)

    def _look(self, finder: Finder, values: _Values) -> None:
        if not finder.done:
            self.ids.update(record_id for _, record_id in values.search(finder))


def _store_values(store: Store) -> _Values:
    """What the store writes about itself."""
    values = _Values()
    with store.catalog.reading() as db:
        for table, names in _ITSELF:
            columns = ", ".join(f"CAST({name} AS BLOB)" for name in names)
            for row in db.execute(f"SELECT {columns} FROM {table}"):
                values.add(0, b"".join(filter(None, row)))
    for value in (*_MAGIC, *_PASSING):
        values.add(0, value)
    if store.files.durable:
        with contextlib.suppress(StoreError):
            file = store.files.open(LOCK_NAME, writable=False)
            try:
                values.add(0, file.read_at(0, _LOCK_BYTES))
            finally:
                file.close()
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
