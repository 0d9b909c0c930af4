"""A search of every byte of a store for what was erased from it.

Needles are cut into pieces of 32 bytes, because SQLite spreads a long value over pages and a
remnant need not begin where the value began: any remnant of 63 contiguous bytes or more contains a
whole piece. A piece that living memories contain, too, is counted and not reported as residue; for
needles that the caller named, these memories are listed. In files that are not the store's, only an
exact value of a living memory accounts for a piece. The full-text index does not keep texts as they
are, so its words are read one by one (``words``).
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spector.errors import InvalidInputError, StoreError, StoreNotFoundError
from spector.language.words import normalize_unicode
from spector.layout import HEADER_BYTES, PARTITION_HEADER_BYTES, Flag, headers_of
from spector.process import managed
from spector.records import Residue, Verification
from spector.store.catalog import CATALOG_NAME, Row, tags_json, to_json
from spector.store.core import Store
from spector.store.erasure.living import LivingMentions, escape_json, leaf_texts
from spector.store.erasure.patterns import LEAST_BYTES, Finder, Pieces, cut
from spector.store.erasure.words import WordCheck, words_left
from spector.store.files import LOCK_NAME, Bytes, File, written_ranges
from spector.store.ops_log import is_ops_log
from spector.store.partitions import Segment, idx_of
from spector.store.payloads import PayloadTable, words_of_row
from spector.store.words import is_words

__all__ = ["Needles", "foreign_files", "verify"]

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
    file = store.files.open(name, writable=False)
    try:
        yield file
    finally:
        file.close()


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
