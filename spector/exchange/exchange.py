"""Export to and import from JSON lines: one memory a line, keys as in ``remember``."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import tzinfo
from functools import partial
from itertools import islice
from typing import Any

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
from spector.errors import InvalidInputError, SpectorError
from spector.exchange.drafts import draft_of
from spector.exchange.exporting import Export
from spector.exchange.lines import Batch, Change, batches
from spector.exchange.vectors import Vectors
from spector.knowledge.exchange import Arrivals
from spector.records import MemoryRecord
from spector.search import Listing
from spector.store.files import Bytes
from spector.tiers import TierRouter
from spector.write import ArrivalWriter, Incoming

__all__ = ["Exchange"]

Progress = Callable[[int, int | None], None]

_BATCH = 512
#: warnings of one file at most
_MOST_NOTES = 100
#: memories that are looked up at once
_CHUNK = 256


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
            self._router,
            keeps,
            is_whole=is_whole,
            damaged=damaged,
            vectors=self._vectors if with_vectors else None,
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
        path, limit = self.check_lines(
            source,
            change=change,
            limit=limit,
            accepts=accepts,
            timezone=timezone,
            takes_owners=takes_owners,
            notes=notes,
        )
        for note in notes[:_MOST_NOTES]:
            warnings.warn(f"{path}: {note}", RuntimeWarning, stacklevel=5)
        zone = None if timezone is None else zone_named(timezone)
        out: list[MemoryRecord] = []
        arrivals = Arrivals()
        read = batches(
            path,
            self._vectors,
            self._most,
            limit,
            change,
            accepts,
            takes_owners=takes_owners,
            notes=[],  # said above
        )
        for batch in read:
            with _placed(path, batch):
                out += self._store(path, batch, arrivals, zone, brings_back=brings_back)
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
    ) -> tuple[str, int | None]:
        """Read every line as `import_` does, and store none; the path and limit that are meant.

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
        read = batches(
            path,
            self._vectors,
            self._most,
            limit,
            change,
            accepts,
            takes_owners=takes_owners,
            notes=[] if notes is None else notes,
        )
        for batch in read:
            with _placed(path, batch):
                for line in batch.memories:
                    draft_of(line, path, self._arrivals.draft, lambda given: given, zone)
        return path, limit

    def _store(
        self,
        path: str,
        batch: Batch,
        arrivals: Arrivals,
        zone: tzinfo | None,
        *,
        brings_back: bool,
    ) -> list[MemoryRecord]:
        if batch.items:
            self._arrivals.store_items(
                arrivals, [(f"{path} line {number}", line) for number, line in batch.items]
            )
            return []
        return self._arrivals.store(
            arrivals,
            [
                Incoming(
                    draft_of(line, path, self._arrivals.draft, arrivals.id_of, zone),
                    line.knowledge,
                    line.entry.get("id"),
                    line.entry.get("user_id") or "",
                )
                for line in batch.memories
            ],
            brings_back=brings_back,
        )


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
