"""Writes memories as JSON lines, each with what is known beside its words."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any, Final

from spector.errors import CatalogCorruptError
from spector.exchange.lines import ATTACHED, KNOWN
from spector.exchange.vectors import Vectors
from spector.knowledge import KnowledgeReader
from spector.knowledge.exchange import KnowledgeLines
from spector.process import managed
from spector.records import MemoryRecord
from spector.store.files import Bytes, write_lines
from spector.store.payloads import Connection, attachment_of, moment_of
from spector.tiers import TierRouter

__all__ = ["Export"]

Progress = Callable[[int, int | None], None]
#: memories whose knowledge is read in one moment
_CHUNK: Final = 256
_BATCH: Final = 512
#: bytes of attachments from which no more memories are read with them
_MOST_ATTACHED: Final = 16 << 20


class Export:
    """One export: its lines, in their order.

    Args:
        router: leads to the store that has knowledge, and to others.
        keeps: which of some memories the export has.
        is_whole: it has every memory.
        vectors: the model whose vectors it has; None leaves them out.
        damaged: collects the ids of memories whose knowledge is damaged; None raises.
    """

    def __init__(
        self,
        router: TierRouter,
        keeps: Callable[[Collection[int]], Collection[int]],
        *,
        is_whole: bool,
        vectors: Vectors | None,
        damaged: list[int] | None,
    ) -> None:
        self._router = router
        self._store = router.durable_store()
        self._vectors = vectors
        self._damaged = damaged
        self._knowledge = KnowledgeLines(keeps, is_whole=is_whole)

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
            for line, is_memory in self._lines(records):
                yield json.dumps(line, ensure_ascii=False)
                count += is_memory
                if progress is not None and is_memory and count % _BATCH == 0:
                    progress(count, total)

        write_lines(path, lines())
        if progress is not None:
            progress(count, total)
        return count

    def _lines(
        self, records: Iterable[tuple[MemoryRecord, Bytes]]
    ) -> Iterator[tuple[dict[str, Any], bool]]:
        """Lines, and whether each is a memory."""
        left = iter(records)
        while chunk := _next_of(left):
            first, keys = self._read(chunk)
            yield from ((line, False) for line in first)
            for record, image in chunk:
                if record.id in keys:
                    yield _by_itself({**self._line(record, image), **keys[record.id]}), True
        with self._reading() as (_, reader):
            last = list(self._knowledge.after(reader)) if reader.holds_any else []
        yield from ((line, False) for line in last)

    def _line(self, record: MemoryRecord, image: Bytes) -> dict[str, Any]:
        out = {name: value for name, value in record.to_dict().items() if name in KNOWN}
        if self._vectors is not None:
            out["vector"] = self._vectors.of(image)
            out["vector_model"] = self._vectors.fingerprint
        return out

    @managed
    def _reading(self) -> Iterator[tuple[Connection, KnowledgeReader]]:
        """What the store knows, in one moment."""
        catalog = self._store.catalog
        with moment_of(catalog) as db:
            yield db, KnowledgeReader(db, catalog.path)

    def _read(
        self, chunk: list[tuple[MemoryRecord, Bytes]]
    ) -> tuple[list[dict[str, Any]], dict[int, dict[str, Any]]]:
        """Lines that come first, and the keys of memories that are there still, in one moment."""
        elsewhere = [
            record.id for record, _ in chunk if self._router[record.tier].store is not self._store
        ]
        with self._reading() as (db, reader):
            living = reader.living([record.id for record, _ in chunk if record.id not in elsewhere])
            keys = self._keys(reader, sorted(living))
            if self._damaged is not None:
                # the walk has proved them; only the search by their keys is led astray
                hidden = [record.id for record, _ in chunk if record.id not in living]
                keys |= {each: {} for each in hidden if each not in elsewhere}
            for record, _ in chunk:
                if record.attachment_bytes is not None and record.id in keys:
                    self._attach(db, record, keys)
            first = self._knowledge.before(reader, keys)
        return first, keys | {each: {} for each in elsewhere}

    def _attach(
        self, db: Connection, record: MemoryRecord, keys: dict[int, dict[str, Any]]
    ) -> None:
        """Add what is attached to a memory to the keys of its line."""
        try:
            found = attachment_of(db, record.id, self._store.catalog.path)
        except CatalogCorruptError:
            if self._damaged is None:
                raise
            self._damaged.append(record.id)
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
            return self._knowledge.of_memories(reader, ids)
        except CatalogCorruptError:
            if self._damaged is None:
                raise
        out: dict[int, dict[str, Any]] = {}
        for each in ids:
            try:
                out |= self._knowledge.of_memories(reader, [each])
            except CatalogCorruptError:
                self._damaged.append(each)
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
