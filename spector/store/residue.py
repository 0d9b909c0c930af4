"""A search of every byte of a store for what was erased from it.

What is searched for is cut into pieces, because SQLite spreads a long value over pages and a
remnant need not begin where the value began: whatever is left of 63 bytes or more in one place
holds a whole piece of 32. A piece that living memories hold as well proves nothing, and is counted
instead of reported; of what the caller named, they are listed. The full text does not keep texts as
they are, so its words are read one by one (``word_residue``).
"""

from __future__ import annotations

import contextlib
import json
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from spector.errors import InvalidInputError, StoreError, StoreNotFoundError
from spector.layout import HEADER_BYTES, PARTITION_HEADER_BYTES, RECORD_DTYPE, Flag
from spector.receipt import Residue, Verification
from spector.store.catalog import CATALOG_NAME, Row
from spector.store.files import Bytes, File
from spector.store.idx import idx_of
from spector.store.rows import tags_json, to_json
from spector.store.segment import Segment
from spector.store.store import Store
from spector.store.word_files import is_words
from spector.store.word_residue import WordCheck, in_living_words, words_left
from spector.unicode import compatible, normalize

__all__ = ["Needles", "strange_files", "verify"]

PIECE_BYTES: Final = 32
#: shorter pieces are found everywhere
LEAST_BYTES: Final = 6
#: what somebody asks for by name may be a little shorter, and be found by chance: four given bytes
#: stand once in 4 GiB of random ones
LEAST_GIVEN_BYTES: Final = 4
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
    #: texts whose words must not be found in the full text either
    texts: list[str] = field(default_factory=list)
    #: what the caller named, whole
    given: list[bytes] = field(default_factory=list)
    too_short: int = 0

    def add_given(self, given: str | bytes) -> None:
        """Something that a caller asks for: as it is, as JSON has it, in either normal form.

        Raises:
            InvalidInputError: it is so short, or so monotonous, that it would be found everywhere.
        """
        try:
            data = given.encode() if isinstance(given, str) else given
        except UnicodeEncodeError as error:
            raise InvalidInputError(
                f"verify holds a text that is no Unicode: {error.reason} at {error.start}",
                hint="leave half a surrogate pair out",
            ) from None
        if len(data.strip()) < LEAST_GIVEN_BYTES or len(set(data)) < 2:
            few = len(data.strip()) < LEAST_GIVEN_BYTES
            what = f"only {len(data.strip())}" if few else "only the same"
            raise InvalidInputError(
                f"verify holds a text of {what} bytes, which are found everywhere",
                hint=f"give at least {LEAST_GIVEN_BYTES} bytes that are not all the same: a full "
                "name instead of a short one",
            )
        self.given.append(data)
        self._take("given", data)
        with contextlib.suppress(UnicodeDecodeError):
            text = data.decode()
            self.texts.append(text)
            for each in (text, normalize("NFC", text), normalize("NFD", text)):
                self._take("given", each.encode())
                self._take("given", _escaped(each).encode())

    def add(self, kind: str, data: bytes) -> None:
        """Something whose bytes must not be found."""
        if len(data) < LEAST_BYTES or len(set(data)) < 2:
            self.too_short += bool(data)
            return
        self._take(kind, data)

    def _take(self, kind: str, data: bytes) -> None:
        for piece in _cut(data):
            if len(set(piece)) > 1:
                self.pieces.setdefault(piece, kind)

    def add_memory(self, row: Row, image: Bytes | None, dim: int) -> None:
        """Everything that a memory says: text, metadata, tags, labels, vector."""
        self.add("text", row.text.encode())
        self.texts.append(row.text)
        self.add("metadata", (row.metadata_json or to_json(row.metadata) or "").encode())
        for leaf in _leaves(row.metadata):
            self.add("metadata", leaf.encode())
            self.add("metadata", _escaped(leaf).encode())
        self.add("tags", (tags_json(row.tags) or "").encode())
        for tag in row.tags:
            self.add("tags", tag.encode())
        labels = (row.session_id, row.agent_id, row.user_id, row.role, row.source)
        for label in filter(None, labels):
            self.add("label", label.encode())
        if image is not None:
            self.add("vector", image[HEADER_BYTES : HEADER_BYTES + dim].tobytes())


def verify(store: Store, needles: Needles, others: Iterable[Store] = ()) -> Verification:
    """Search every file of a store. Nothing is changed, and nobody waits for long.

    What cannot be read is told and not raised: the erasure is done, and its receipt is due.

    Args:
        others: stores whose memories may say the same; their bytes are not searched.
    """
    wanted = _Wanted(list(needles.pieces))
    files = total = 0
    hits: list[tuple[bytes, str, int]] = []
    alive: set[bytes] = set()
    failed: list[str] = []
    for name in [*store.files.listing(), *store.files.closed_folders(), *_in_memory(store)]:
        if name == _LOCK_TABLE:
            continue
        with _telling(failed, name), _opened(store, name) as file:
            segment = _segment_at(store, name)
            for piece, offset in wanted.search(_blocks(file, wanted.longest)):
                # a living record has the same numbers in its own right; a dead one has not
                if segment is not None and _in_live_slot(store, segment, offset):
                    alive.add(piece)
                else:
                    wanted.found(piece)
                    hits.append((piece, name, offset))
            files += 1
            total += file.size()
        wanted.begin()
    words = WordCheck(0, 0)
    with _telling(failed, CATALOG_NAME):
        words = words_left(store.catalog, needles.texts)
    said = _Said()
    for each in (store, *others):
        with _telling(failed, CATALOG_NAME):
            said.look(each, {piece for piece, *_ in hits}, needles.given)
    residue = [
        Residue(where=_shown(name), offset=offset, kind=needles.pieces[piece])
        for piece, name, offset in hits if piece not in said.pieces
    ]
    residue += [Residue(where=f"{CATALOG_NAME}, full text", kind="word")] * words.left
    return Verification(
        needles=len(needles.pieces), words=words.wanted, too_short=needles.too_short,
        shared=len(alive | {piece for piece, *_ in hits if piece in said.pieces}),
        living=tuple(sorted(said.ids)[:_MOST_SAYERS]), files=files, bytes=total,
        residue=tuple(residue), unsearched=tuple(dict.fromkeys(failed)),
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
            _shown(name)
            for name in sorted([*store.files.listing(), *store.files.closed_folders()])
            if name not in known and not is_words(name)
        )


class _Wanted:
    """Finds many pieces in one pass: a hash of six bytes rules nearly every offset out.

    Pieces below six bytes, of which there are few, are looked for one by one.
    """

    def __init__(self, pieces: list[bytes]) -> None:
        self._by_prefix: dict[bytes, list[bytes]] = {}
        self._tables = np.zeros((2, 1 << _HASH_BITS), dtype=bool)
        self._short = [piece for piece in pieces if len(piece) < LEAST_BYTES]
        self._found: set[bytes] = set()
        for piece in pieces:
            if len(piece) < LEAST_BYTES:
                continue
            self._by_prefix.setdefault(piece[:LEAST_BYTES], []).append(piece)
            words = _hashes(np.frombuffer(piece[:LEAST_BYTES], np.uint8))
            self._tables[0, words[0]] = self._tables[1, words[2]] = True
        self.longest = max(map(len, pieces), default=0)

    def begin(self) -> None:
        """From now on in another file."""
        self._found.clear()

    def found(self, piece: bytes) -> None:
        """One place of this piece in this file is enough."""
        self._found.add(piece)

    def search(self, blocks: Iterator[tuple[int, bytes]]) -> Iterator[tuple[bytes, int]]:
        """(piece, offset) of every place of each piece that is there, until it is found."""
        found = self._found
        for start, block in blocks:
            for piece in self._short:
                at = -1 if piece in found else block.find(piece)
                while at >= 0:
                    yield piece, start + at
                    at = -1 if piece in found else block.find(piece, at + 1)
            if not self._by_prefix or len(block) < LEAST_BYTES:
                continue
            words = _hashes(np.frombuffer(block, np.uint8))
            places = np.flatnonzero(self._tables[0, words[:-2]] & self._tables[1, words[2:]])
            for at in places.tolist():
                for piece in self._by_prefix.get(block[at : at + LEAST_BYTES], ()):
                    if piece not in found and block.startswith(piece, at):
                        yield piece, start + at


def _hashes(data: Bytes) -> NDArray[np.uint16]:
    """(n - 3,) u16: a hash of the four bytes from each offset on."""
    wide = data.astype(np.uint32)
    words = wide[:-3] | wide[1:-2] << 8 | wide[2:-1] << 16 | wide[3:] << 24
    found: NDArray[np.uint16] = ((words * np.uint32(2_654_435_761)) >> 16).astype(np.uint16)
    return found


def _cut(data: bytes) -> Iterator[bytes]:
    if len(data) <= PIECE_BYTES:
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


def _in_memory(store: Store) -> tuple[str, ...]:
    """The catalog of a store in memory, which is no file."""
    return (CATALOG_NAME,) if store.catalog.in_memory else ()


def _shown(name: str) -> str:
    """A file's name, or a message with one, for people, whatever bytes somebody has put into it."""
    return name.encode("utf-8", "backslashreplace").decode()


@contextlib.contextmanager
def _telling(failed: list[str], name: str) -> Iterator[None]:
    """Write down what cannot be read; a file that is gone by now has nothing to say."""
    try:
        yield
    except StoreNotFoundError:
        pass
    except StoreError as error:
        failed.append(_shown(f"{name}: {error.message}"))


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


#: where a piece stands that need not be gone: what living memories say, and the store itself
_SAID: Final = (
    ("content JOIN record ON record.id = content.id",
     ("text || coalesce(tags, '') || coalesce(metadata, '') || coalesce(content.role, '') ||"
      " coalesce(content.source, '') || coalesce(parents, '')",)),
    # a row's values lie one behind the other, and so may make up a piece
    ("record", ("coalesce(session_id, '') || coalesce(agent_id, '') || coalesce(user_id, '')",)),
    ("sqlite_master", ("sql", "name", "tbl_name")),
    ("meta", ("value", "key")),
    ("segment", ("path",)),
    ("(SELECT 'SQLite format 3' AS magic)", ("magic",)),
)  # fmt: skip
_TEXTS: Final = """
SELECT record.id, text, tags, metadata, role, source, session_id, agent_id, user_id
  FROM content JOIN record ON record.id = content.id"""
_MOST_SAYERS: Final = 20


class _Said:
    """What living memories say of what was looked for."""

    def __init__(self) -> None:
        #: who says what the caller named, in letters of either case and with any accents
        self.ids: set[int] = set()
        #: what a living memory says, or the store in its own description
        self.pieces: set[bytes] = set()

    def look(self, store: Store, pieces: Set[bytes], given: Collection[bytes]) -> None:
        """Look through everything that a store says."""
        with store.catalog.reading() as db:
            self.pieces |= {
                piece for piece in pieces for table, names in _SAID
                if db.execute(_holding(table, names), {"piece": piece}).fetchone()
            }
            left = {text: each for each in pieces - self.pieces if (text := _text_of(each))}
            self.pieces |= {left[text] for text in in_living_words(db, left)}
            # other files of words have them without accents and in small letters, too, so a piece
            # like that may be a word of a memory that writes it in another way
            rest = pieces - self.pieces  # for what is accounted for nobody reads all texts again
            plain = [(text, piece) for piece in rest if (text := _plain(piece)) is not None]
            names = {_bare(text) for each in given if (text := _text_of(each)) is not None}
            if plain or names:
                for record_id, *values in db.execute(_TEXTS):
                    says = _bare("\0".join(_leaves([_parsed(value) for value in values])))
                    self.pieces |= {piece for text, piece in plain if text in says}
                    if any(name in says for name in names):
                        self.ids.add(record_id)
            for each in given:
                if _text_of(each) is None:
                    sql = _holding("content", ("text", "tags", "metadata"), what="id")
                    self.ids |= {found for (found,) in db.execute(sql, {"piece": each})}


def _holding(table: str, names: Iterable[str], what: str = "1") -> str:
    either = " OR ".join(f"instr(CAST({name} AS BLOB), :piece)" for name in names)
    return f"SELECT {what} FROM {table} WHERE {either} LIMIT {_MOST_SAYERS}"


def _text_of(data: bytes) -> str | None:
    try:
        return data.decode()
    except UnicodeDecodeError:  # a vector, or a text cut within a letter
        return None


def _plain(data: bytes) -> str | None:
    """Without accents, what is in small letters: as the full text may have it, with or without."""
    text = _text_of(data)
    return _bare(text) if text is not None and text == text.lower() else None


def _bare(text: str) -> str:
    """In small letters without accents, so that people mean the same by what is the same."""
    if text.isascii():
        return text.lower()
    apart = normalize("NFD", compatible(text).casefold().replace("ı", "i"))
    return "".join(each for each in apart if each in _VOICED or not unicodedata.combining(each))


#: Japanese marks that make another letter, not an accent
_VOICED: Final = "\u3099\u309a"


def _parsed(value: Any) -> Any:
    """What the catalog has as JSON, and as it is there; any other text only as it is."""
    if isinstance(value, str) and value[:1] in ("[", "{"):
        with contextlib.suppress(ValueError, RecursionError):
            return [value, json.loads(value)]
    return value if isinstance(value, str) else ()


def _escaped(text: str) -> str:
    """A text as it stands in the catalog's JSON."""
    return json.dumps(text, ensure_ascii=False)[1:-1]


def _segment_at(store: Store, name: str) -> Segment | None:
    with store.lock:  # or another thread's commit adds one while they are looked through
        return next((each for each in store.segments.values() if each.row.path == name), None)


def _in_live_slot(store: Store, segment: Segment, offset: int) -> bool:
    """True for a place inside a living record."""
    if offset < PARTITION_HEADER_BYTES:
        return False
    slot = (offset - PARTITION_HEADER_BYTES) // store.stride
    records = segment.shown()
    if slot >= len(records):
        return False
    header = records[slot, :HEADER_BYTES].copy().view(RECORD_DTYPE)[0]
    return not int(header["flags"]) & Flag.TOMBSTONE
