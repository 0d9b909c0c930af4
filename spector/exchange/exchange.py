"""Export to and import from JSON lines: one memory a line, keys as in ``remember``."""

from __future__ import annotations

import base64
import json
import sys
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import tzinfo
from functools import partial
from itertools import islice
from typing import Any, Final

from spector.arguments import (
    parse_callback,
    parse_choice,
    parse_integer,
    parse_path,
    parse_switch,
    parse_truth,
)
from spector.clock import zone_named
from spector.config import Config
from spector.errors import CatalogCorruptError, InvalidInputError, SpectorError
from spector.exchange.lines import ATTACHED, KNOWN, Batch, Change, Source, Vectors, draft_of
from spector.knowledge import ITEM_KEY, Arrivals, KnowledgeLines, KnowledgeReader
from spector.process import managed
from spector.records import MemoryRecord
from spector.search import Listing
from spector.store.files import Bytes, write_lines
from spector.store.payloads import Connection, attachment_of, moment_of
from spector.tiers import TierRouter
from spector.write import ArrivalWriter, Incoming

Progress = Callable[[int, int | None], None]

_BATCH: Final = 512
#: warnings of one file at most
_MOST_NOTES = 100
#: memories that are looked up at once
_CHUNK: Final = 256


class Exchange:
    """Writes the memories of a selection to a file, and reads them from one.

    Args:
        root: the directory of the store; None for one in memory.
    """

    def __init__(
        self,
        listing: Listing,
        arrivals: ArrivalWriter,
        router: TierRouter,
        vectors: Vectors,
        root: str | None,
        config: Config,
    ) -> None:
        self._listing = listing
        self._arrivals = arrivals
        self._router = router
        self._vectors = vectors
        self._root = root
        self._most = min(_BATCH, config.batch_records)

    def export(
        self,
        target: Any,
        given: Mapping[str, Any],
        *,
        vectors: Any,
        overwrite: Any,
        skip_damaged: Any,
        progress: Progress | None,
        count: Callable[[], int],
    ) -> int:
        """Write a selection to ``target``, which appears whole or not at all; see `Memory.export`.

        Args:
            count: how many memories there are, with what is derived, for the progress.
        """
        chosen = self._listing.select(given, "export")
        has_vectors = None if vectors is None else parse_truth(vectors, "vectors")
        damaged: list[int] | None = [] if parse_truth(skip_damaged, "skip_damaged") else None
        place = self._place(target, overwrite)
        written = self._export(
            # nothing leads out of the selection, nor to what was forgotten or has expired
            partial(self._listing.among, chosen),
            is_whole=chosen.is_everything,
            vectors=has_vectors,
            damaged=damaged,
        ).write(
            place,
            self._listing.records(chosen, damaged, proven=True),
            total=count() if chosen.is_everything else None,
            progress=parse_callback(progress, "progress"),
        )
        if damaged:
            warnings.warn(
                f"damaged memories were left out: {', '.join(map(str, sorted({*damaged})))}",
                RuntimeWarning,
                stacklevel=5,  # past the verb and the checks of its arguments
            )
        return written

    def save(
        self,
        target: Any,
        is_part: Callable[[Collection[int]], Collection[int]],
        *,
        overwrite: Any,
    ) -> int:
        """Write a part of the memories to ``target``; returns how many.

        Args:
            is_part: which of some lasting memories belong to it.
        """
        place = self._place(target, overwrite)
        everything = self._listing.records(self._listing.select({}, "export"), proven=True)
        export = self._export(is_part, is_whole=False, vectors=None, damaged=None)
        return export.write(
            place, _parted(everything, is_part, self._is_lasting), progress=None, total=None
        )

    def _place(self, target: Any, overwrite: Any) -> str:
        from spector.store.backup import file_beside

        return file_beside(target, self._root, overwrite=parse_switch(overwrite, "overwrite"))

    def _is_lasting(self, record: MemoryRecord) -> bool:
        return not self._router[record.tier].volatile

    def _export(
        self,
        keeps: Callable[[Collection[int]], Collection[int]],
        *,
        is_whole: bool,
        vectors: bool | None,
        damaged: list[int] | None,
    ) -> Export:
        """An export; with vectors by default where nothing here can make them again."""
        with_vectors = not self._vectors.can_embed if vectors is None else vectors
        return Export(
            router=self._router,
            knowledge=KnowledgeLines(keeps, is_whole=is_whole),
            vectors=self._vectors if with_vectors else None,
            damaged=damaged,
        )

    def import_(
        self,
        source: Any,
        change: Change | None = None,
        limit: Any = None,
        progress: Progress | None = None,
        timezone: Any = None,
        if_forgotten: Any = "skip",
        *,
        accepts: Callable[[frozenset[str]], bool] | None = None,
        scopes_from_message: Any = False,
    ) -> list[MemoryRecord]:
        """Store every line of ``source``, with the strength, use and flags in it; see `Memory`.

        These are part of the append: a quarantined memory is so from its commit on, and a memory
        with a payload is never without it.

        Args:
            if_forgotten: "store" brings back what was forgotten by its key.
            accepts: whether memories with payloads of these sorts are stored; None for all.
            timezone: of times that name no zone; None refuses them.
        """
        brings_back = parse_choice(if_forgotten, "if_forgotten", "skip", "store") == "store"
        parse_callback(progress, "progress")
        takes_owners = parse_switch(scopes_from_message, "scopes_from_message")
        notes: list[str] = []
        lines, zone = self.check_lines(
            source,
            change=change,
            limit=limit,
            accepts=accepts,
            timezone=timezone,
            takes_owners=takes_owners,
            notes=notes,
        )
        for note in notes[:_MOST_NOTES]:
            warnings.warn(f"{lines.path}: {note}", RuntimeWarning, stacklevel=5)
        out: list[MemoryRecord] = []
        arrivals, path = Arrivals(), lines.path
        for batch in lines.batches([]):  # said above
            with _placed(path, batch):
                if batch.items:
                    items = [(f"{path} line {number}", line) for number, line in batch.items]
                    self._arrivals.store_items(arrivals, items)
                incoming = [
                    Incoming(
                        draft_of(line, path, self._arrivals.draft, arrivals.id_of, zone),
                        line.knowledge,
                        line.entry.get("id"),
                        line.entry.get("user_id") or "",
                    )
                    for line in batch.memories
                ]
                out += self._arrivals.store(arrivals, incoming, brings_back=brings_back)
            if progress is not None and batch.memories:
                progress(len(out), None)
        return out

    def check_lines(
        self,
        source: Any,
        *,
        change: Change | None = None,
        limit: Any = None,
        accepts: Callable[[frozenset[str]], bool] | None = None,
        timezone: Any = None,
        takes_owners: bool = False,
        notes: list[str] | None = None,
    ) -> tuple[Source, tzinfo | None]:
        """Read every line as `import_` does, and store none; the lines and the zone of their times.

        Args:
            notes: gets what is left out of the file, and why.

        Raises:
            InvalidInputError: an argument, or a line, is wrong.
        """
        path = parse_path(source, "source")
        if limit is not None:
            limit = parse_integer(limit, "limit", 0, sys.maxsize, "None reads all")
        if change is not None and not callable(change):
            raise InvalidInputError(
                f"change is a {type(change).__name__}",
                hint="pass a function from a line's dictionary to the one to import",
            )
        zone = None if timezone is None else zone_named(timezone)
        lines = Source(path, self._vectors, self._most, limit, change, accepts, takes_owners)
        for batch in lines.batches([] if notes is None else notes):
            with _placed(path, batch):
                for line in batch.memories:
                    draft_of(line, path, self._arrivals.draft, lambda given: given, zone)
        return lines, zone


@contextmanager
def _placed(path: str, batch: Batch) -> Iterator[None]:
    """Say of an error in which lines of a file it is."""
    try:
        yield
    except SpectorError as error:
        first, last = batch.numbers
        error.add_note(f"{path}: in lines {first} to {last}")
        raise


def _parted(
    records: Iterable[tuple[MemoryRecord, Bytes]],
    is_part: Callable[[Collection[int]], Collection[int]],
    is_lasting: Callable[[MemoryRecord], bool],
) -> Iterator[tuple[MemoryRecord, Bytes]]:
    """Those of the records that are lasting and part of something."""
    left = iter(records)
    while chunk := list(islice(left, _CHUNK)):
        ours = is_part([record.id for record, _ in chunk if is_lasting(record)])
        yield from (each for each in chunk if each[0].id in ours)


# Writes memories as JSON lines, each with what is known beside its words.

#: bytes of attachments from which no more memories are read with them
_MOST_ATTACHED: Final = 16 << 20


@dataclass(kw_only=True)
class Export:
    """One export: its lines, in their order."""

    #: leads to the store that has knowledge, and to others
    router: TierRouter
    knowledge: KnowledgeLines
    #: the model whose vectors it has; None leaves them out
    vectors: Vectors | None
    #: collects the ids of memories whose knowledge is damaged; None raises
    damaged: list[int] | None

    def __post_init__(self) -> None:
        self.store = self.router.durable_store()

    def write(
        self,
        path: str,
        records: Iterable[tuple[MemoryRecord, Bytes]],
        *,
        progress: Progress | None,
        total: int | None,
    ) -> int:
        """Write records to ``path``; returns the count."""
        count = 0

        def lines() -> Iterator[str]:
            nonlocal count
            for line in self._lines(records):
                is_memory = ITEM_KEY not in line
                yield json.dumps(line, ensure_ascii=False)
                count += is_memory
                if progress is not None and is_memory and count % _BATCH == 0:
                    progress(count, total)

        write_lines(path, lines())
        if progress is not None:
            progress(count, total)
        return count

    def _lines(self, records: Iterable[tuple[MemoryRecord, Bytes]]) -> Iterator[dict[str, Any]]:
        left = iter(records)
        while chunk := _next_of(left):
            first, keys = self._read(chunk)
            yield from first
            for record, image in chunk:
                if record.id in keys:
                    yield _by_itself({**self._line(record, image), **keys[record.id]})
        with self._reading() as (_, reader):
            last = list(self.knowledge.after(reader)) if reader.holds_any else []
        yield from last

    def _line(self, record: MemoryRecord, image: Bytes) -> dict[str, Any]:
        out = {name: value for name, value in record.to_dict().items() if name in KNOWN}
        if self.vectors is not None:
            out["vector"] = self.vectors.of(image)
            out["vector_model"] = self.vectors.fingerprint
        return out

    @managed
    def _reading(self) -> Iterator[tuple[Connection, KnowledgeReader]]:
        """What the store knows, in one moment."""
        catalog = self.store.catalog
        with moment_of(catalog) as db:
            yield db, KnowledgeReader(db, catalog.path)

    def _read(
        self, chunk: list[tuple[MemoryRecord, Bytes]]
    ) -> tuple[list[dict[str, Any]], dict[int, dict[str, Any]]]:
        """Lines that come first, and the keys of memories that are there still, in one moment."""
        elsewhere = [
            record.id for record, _ in chunk if self.router[record.tier].store is not self.store
        ]
        with self._reading() as (db, reader):
            living = reader.living([record.id for record, _ in chunk if record.id not in elsewhere])
            keys = self._keys(reader, sorted(living))
            if self.damaged is not None:
                # the walk has proved them; only the search by their keys is led astray
                hidden = [record.id for record, _ in chunk if record.id not in living]
                keys |= {each: {} for each in hidden if each not in elsewhere}
            for record, _ in chunk:
                if record.attachment_bytes is not None and record.id in keys:
                    self._attach(db, record, keys)
            first = self.knowledge.before(reader, keys)
        return first, keys | {each: {} for each in elsewhere}

    def _attach(
        self, db: Connection, record: MemoryRecord, keys: dict[int, dict[str, Any]]
    ) -> None:
        """Add what is attached to a memory to the keys of its line."""
        try:
            found = attachment_of(db, record.id, self.store.catalog.path)
        except CatalogCorruptError:
            if self.damaged is None:
                raise
            self.damaged.append(record.id)
            del keys[record.id]
            return
        if found is not None and found.form == "json":
            keys[record.id] = {**keys[record.id], "attachment": found.value}
        elif found is not None:
            text = base64.b64encode(found.data).decode()
            keys[record.id] = {**keys[record.id], ATTACHED: text}

    def _keys(self, reader: KnowledgeReader, ids: list[int]) -> dict[int, dict[str, Any]]:
        """Keys of memories by id, without those whose knowledge is damaged."""
        if not reader.holds_any:
            return {each: {} for each in ids}
        try:
            return self.knowledge.of_memories(reader, ids)
        except CatalogCorruptError:
            if self.damaged is None:
                raise
        out: dict[int, dict[str, Any]] = {}
        for each in ids:
            try:
                out |= self.knowledge.of_memories(reader, [each])
            except CatalogCorruptError:
                self.damaged.append(each)
        return out


def _by_itself(line: dict[str, Any]) -> dict[str, Any]:
    """A line; a fact whose sources are not in the export repeats nothing where it arrives."""
    if "fact" in line.get("payload", ()) and not line.get("sources"):
        line["flags"] = [each for each in line["flags"] if each != "auxiliary"]
    return line


def _next_of(records: Iterator[tuple[MemoryRecord, Bytes]]) -> list[tuple[MemoryRecord, Bytes]]:
    """The next memories, with no more attachments than there is room for."""
    out: list[tuple[MemoryRecord, Bytes]] = []
    weight = 0
    for each in records:
        out.append(each)
        weight += each[0].attachment_bytes or 0
        if len(out) == _CHUNK or weight > _MOST_ATTACHED:
            break
    return out
