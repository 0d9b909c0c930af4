"""Stores what an import brings: memories with their payloads and ties in one commit, or nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from spector.errors import ImportFormatError, InvalidInputError
from spector.knowledge import Changes, KnowledgeReader, layer_of
from spector.knowledge.exchange import Arrival, Arrivals, Knowledge, MetError, Place
from spector.records import MemoryRecord, is_user_said
from spector.store.core import Transaction
from spector.store.payloads import Connection, entry_at, is_marked, make_tables
from spector.write.context import WriteContext
from spector.write.drafts import Draft, path_of_draft
from spector.write.knowledge.rows import apply_changes
from spector.write.writer import Writer

__all__ = ["ArrivalWriter", "Incoming"]


@dataclass(frozen=True, slots=True)
class Incoming:
    """A line of an import: its memory, and what it says beside it."""

    draft: Draft
    knowledge: Knowledge | None
    #: its id and its user in the file
    given_id: int | None
    given_scope: str


class ArrivalWriter:
    """Commits batches of an import. Callers check that the store is open and writable."""

    def __init__(self, parts: WriteContext, writer: Writer) -> None:
        self._parts = parts
        self._writer = writer

    def draft(self, fields: dict[str, Any]) -> Draft:
        """The draft of a memory that was one already: its aliases name it, whatever its role."""
        return self._writer.draft(fields, {}, names_aliases=True)

    def store(
        self, arrivals: Arrivals, lines: Sequence[Incoming], *, brings_back: bool = True
    ) -> list[MemoryRecord]:
        """Store a batch; a memory that the store has already stands for its line.

        Args:
            arrivals: what the lines before have become; it learns what these become.
            brings_back: also store what was forgotten by its key.
        """
        lines = self._wanted(lines, brings_back=brings_back)
        if not lines:
            return []
        if not arrivals.expects(
            [each.given_id for each in lines], any(each.knowledge is not None for each in lines)
        ):
            records = self._writer.store([each.draft for each in lines])
            for each, record in zip(lines, records, strict=True):
                arrivals.note(each.given_id, self._place(each, record.id))
            return records
        while True:
            known = self._known(arrivals, lines)
            try:
                return self._store(arrivals, lines, known)
            except MetError:
                continue  # another writer stored it between the two looks

    def _wanted(self, lines: Sequence[Incoming], *, brings_back: bool) -> Sequence[Incoming]:
        """Those lines that are stored; one whose key the store has stands for that memory."""
        keyed = [each for each in lines if each.draft.key is not None]
        if not keyed:
            return lines
        for each in keyed:
            each.draft.known = "keep"
        store = self._parts.router.durable_store()
        with store.catalog.reading() as db:
            gone = (
                []
                if brings_back
                else [
                    each
                    for each in keyed
                    if is_marked(db, path_of_draft(each.draft))
                    and self._entry(db, each.draft) is None
                ]
            )
        return [each for each in lines if each not in gone] if gone else lines

    def _entry(self, db: Connection, draft: Draft) -> dict[str, Any] | None:
        """The entry of a draft's key, unless its memory has expired."""
        entry = entry_at(db, path_of_draft(draft))
        ends = self._parts.router.durable_store().catalog.ends
        expired = entry is not None and ends.has_expired(entry, self._parts.clock.now_ms())
        return None if expired else entry

    def _known(self, arrivals: Arrivals, lines: Sequence[Incoming]) -> dict[int, int]:
        """Number of a line -> the memory of the store that is what it says."""
        store = self._parts.router.durable_store()
        with store.catalog.reading() as db:
            keyed = {
                n: entry["id"]
                for n, each in enumerate(lines)
                if each.draft.key is not None and (entry := self._entry(db, each.draft)) is not None
            }
            return keyed | arrivals.known(
                KnowledgeReader(db, store.catalog.path),
                [
                    (
                        each.knowledge if self._is_lasting(each) else None,
                        each.given_id,
                        each.draft.user_id or "",
                    )
                    for each in lines
                ],
            )

    def _store(
        self, arrivals: Arrivals, lines: Sequence[Incoming], known: Mapping[int, int]
    ) -> list[MemoryRecord]:
        fresh = [n for n in range(len(lines)) if n not in known]
        kept: dict[int, MemoryRecord] = {
            n: self._parts.finder.get(memory) for n, memory in known.items()
        }

        store = self._parts.router.durable_store()
        ours = [n for n in fresh if self._parts.router[lines[n].draft.tier].store is store]

        def then(tx: Transaction, ids: list[int]) -> None:
            """Add the knowledge of the batch to the commit of its memories."""
            places = dict(zip(ours, ids, strict=True)) | dict(known)
            arrived = [
                Arrival(
                    lines[n].knowledge,
                    lines[n].given_id,
                    self._place(lines[n], places[n], is_known=n in known),
                )
                for n in sorted(places)
            ]
            reader, apply = self._in(tx)
            arrivals.plan(reader, arrived, apply, self._parts.clock.now_ms())

        records = self._writer.store([lines[n].draft for n in fresh], then) if fresh else []
        if not ours:
            with store.transaction() as tx:
                then(tx, [])
        for n, record in zip(fresh, records, strict=True):
            kept[n] = record
            if not self._is_lasting(lines[n]):
                arrivals.note(lines[n].given_id, self._place(lines[n], record.id))
        self._tell(lines, [(n, kept[n]) for n in fresh])
        return [kept[n] for n in range(len(lines))]

    def _tell(self, lines: Sequence[Incoming], stored: Sequence[tuple[int, MemoryRecord]]) -> None:
        """Call the callbacks of the layers that got memories."""
        for n, record in stored:
            knowledge = lines[n].knowledge
            layer = layer_of(knowledge.sorts if knowledge is not None else ())
            if layer is not None and self._is_lasting(lines[n]):
                self._parts.callbacks.note_stored(layer, [record])

    def store_items(
        self, arrivals: Arrivals, lines: Sequence[tuple[str, Mapping[str, object]]]
    ) -> None:
        """Apply lines that are no memories, in one commit.

        Args:
            lines: where each stands, and what it says.

        Raises:
            ImportFormatError: A line contradicts what the store has.
        """
        with self._parts.router.durable_store().transaction() as tx:
            reader, apply = self._in(tx)
            for where, line in lines:
                try:
                    arrivals.plan_item(reader, line, apply)
                except InvalidInputError as error:
                    raise ImportFormatError(f"{where}: {error.message}", hint=error.hint) from error

    def _in(self, tx: Transaction) -> tuple[KnowledgeReader, Callable[[Changes], Sequence[int]]]:
        """What a transaction knows so far, and what adds changes to it."""
        make_tables(tx.connection)
        path = self._parts.router.durable_store().catalog.path

        def apply(changes: Changes) -> Sequence[int]:
            now_ms = self._parts.clock.now_ms()
            items = self._writer.claim_ids(tx, changes.items, now_ms) if changes.items else []
            apply_changes(tx, changes, {}, items)
            return items

        return KnowledgeReader(tx.connection, path), apply

    def _is_lasting(self, line: Incoming) -> bool:
        return not self._parts.router[line.draft.tier].volatile

    def _place(self, line: Incoming, memory: int, *, is_known: bool = False) -> Place:
        return Place(
            memory,
            line.draft.user_id or "",
            line.given_scope,
            is_user_said=is_user_said(line.draft.role),
            is_known=is_known,
            is_lasting=self._is_lasting(line),
        )
