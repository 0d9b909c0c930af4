"""Opening a store to write: create it, or recover its last commit after a crash.

The catalog's journal is replayed into the partitions, partitions that are ahead of a relaxed
writer's catalog are rolled back, and files that a crash left behind are removed.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Mapping
from functools import partial

from spector.errors import CatalogCorruptError, PartitionCorruptError, SpectorError
from spector.store.catalog import (
    CATALOG_NAME,
    Catalog,
    SegmentRow,
    clear_journal,
    read_journal,
    schema,
)
from spector.store.core import Store
from spector.store.files import SALVAGE, WriterLock
from spector.store.integrity import (
    Replay,
    is_replaced,
    read_stray,
    reconcile,
    refuse_disagreement,
    refuse_lost,
    refuse_lost_schema,
    require_entry,
    stem_of,
)
from spector.store.opening.opening import Attempt, emptied, has_log, has_partitions
from spector.store.partitions import Segment, idx_of, is_idx
from spector.store.rewriting import next_step
from spector.store.sqlite import typed_sql_errors
from spector.store.words import drop_unused_words, remove_words


def open_writer(attempt: Attempt, durability: str, lock: WriterLock) -> Store:
    """The store at its last commit; a new one where there is none.

    What has to be closed is in ``attempt.made`` as soon as it is open.
    """
    files = attempt.files
    files.tighten()
    files.make_private(CATALOG_NAME)
    catalog = Catalog(f"{files.root}/{CATALOG_NAME}", mode="rw", durability=durability)
    try:
        attempt.made.append(catalog)
        catalog.refuse_unlocked = lock.refuse_removed
        if catalog.is_new():
            if has_partitions(files.root):
                raise emptied(catalog)
            refuse_lost_schema(files, catalog)
            catalog.create(attempt.stamp.new_meta())
            files.sync_dir(CATALOG_NAME)
        store = _recovered(attempt, catalog, lock)
        while (step := next_step(store.format_version)) is not None:
            step.run(store)
            store.partitions.close_files()
            before, store = store, _recovered(attempt, catalog, lock)
            assert store.format_version == before.format_version + 1, "a step that leads nowhere"
        with typed_sql_errors(catalog.path):
            if schema.BACKUP_NOTE in store.meta:  # what is written from now on is in no other place
                catalog.set_meta({schema.BACKUP_NOTE: None})
            if catalog.relaxed and schema.UNSYNCED not in store.meta:
                catalog.set_meta({schema.UNSYNCED: "1"})
            elif schema.UNSYNCED in store.meta and not catalog.relaxed:
                store.end_unsynced()
            catalog.relax()
        store.record_durable(store.head.change_seq)
    except BaseException as error:
        # After an error of the disk nothing must be synced again, and a damaged store stays as it
        # is: SQLite would delete the log, and with it the commits after the damage.
        damaged = isinstance(error, (CatalogCorruptError, PartitionCorruptError))
        catalog.close(failed=damaged or error.__cause__ is not None)
        raise
    return store


def _recovered(attempt: Attempt, catalog: Catalog, lock: WriterLock) -> Store:
    """A store for writing at its last commit, in whatever format it has."""
    files, meta = attempt.files, catalog.validate()
    store = attempt.make_store(Store, catalog, meta, writable=True)
    with typed_sql_errors(catalog.path):
        refuse_lost(files, catalog, meta, lock.mark)
    store.record_durable = partial(lock.record_durable, store.uuid)
    if has_log(files):
        # A killed process may have written a commit without syncing it. The partitions will get it,
        # so a power cut must not undo it in the log.
        store.sync_log()
        files.sync_dir(CATALOG_NAME)
        # SQLite cannot tell whether a log belongs to this catalog: another one may have been copied
        with typed_sql_errors(catalog.path):
            refuse_disagreement(catalog, opening=True)
    with typed_sql_errors(catalog.path):
        _replay(store)
        if schema.UNSYNCED in meta:
            reconcile(store)
            with contextlib.suppress(SpectorError):  # they may have words of lost commits
                remove_words(store)
        store.partitions.adopt(verify=True)
        store.publish()
        remove_leftovers(store, all_unnamed=schema.UNSYNCED in meta)
        store.partitions.resume_retired_slots()
        store.checkpoint()
    return store


def _replay(store: Store) -> None:
    """Copy the journal into the partitions: it is committed, but perhaps not there. Idempotent."""
    with store.catalog.latest() as db:
        rows = {row.id: row for row in store.catalog.segments()}
        replays: dict[int, Replay] = {}
        for entry in read_journal(db):
            segment_id, kind, slot, image = require_entry(entry, store.catalog.path)
            if segment_id not in replays:
                segment = _to_replay(store, rows, segment_id)
                replays[segment_id] = Replay(segment, store.stride, store.uuid)
            # JOURNAL_RETIRE waits until no scan needs the slot; the header does not
            replays[segment_id].write(db, kind, slot, image)
    if not replays:
        return
    _warn_of_damage(store, replays)
    for segment_id, segment in store.segments.items():
        segment.write_header(rows[segment_id])
        segment.sync()
        segment.close()
    store.segments.clear()
    with store.catalog.writing() as db:
        clear_journal(db, keep_retired=True)


def _warn_of_damage(store: Store, replays: Mapping[int, Replay]) -> None:
    for segment_id, replay in replays.items():
        if replay.kept:
            warnings.warn(
                f"{store.segments[segment_id].where}: the catalog's copies of slots "
                f"{', '.join(map(str, replay.kept[:20]))} were damaged; the records there stay as "
                "they were; run: spector check PATH",
                UserWarning,
                stacklevel=2,
            )


def _to_replay(store: Store, rows: Mapping[int, SegmentRow], segment_id: int) -> Segment:
    """Open the partition that the journal names."""
    if segment_id not in rows:
        raise CatalogCorruptError(
            f"the journal names partition {segment_id}, which is not in the catalog", hint=SALVAGE
        )
    segment = store.partitions.handle_of(rows[segment_id])
    segment.open(verify=False, sized=False)
    segment.refuse_other(later=schema.UNSYNCED not in store.meta)
    store.segments[segment_id] = segment
    return segment


def remove_leftovers(store: Store, *, all_unnamed: bool) -> None:
    """Delete partition files that a crash left behind, and only those.

    Such a file is another generation of a partition (a compaction or a change of model died before
    its switch, or between switch and unlink), a dropped partition that was not unlinked, or one
    without records whose row was never committed; after a crash in relaxed mode also
    ``all_unnamed`` ones, whose commits are lost. ``spector check`` reports any other. Scan indexes
    without a partition and unused word files are removed, too. Replaced files stay while a recall
    of another process may be about to open them.
    """
    named = {segment.row.path for segment in store.segments.values()}
    derived = {idx_of(path) for path in named}
    strange = []
    listing = store.files.listing()
    for name in listing:
        if name.endswith(".mem") and name not in named:
            strange.append(name)
        elif name not in derived and is_idx(store.files, name):
            with contextlib.suppress(SpectorError):
                store.files.remove(name)
    drop_unused_words(store, listing)
    if not strange:
        return
    rows = [*(each.row for each in store.segments.values()), *store.partitions.dropped.values()]
    stems = {stem_of(row.path) for row in rows}
    waiting = set(store.partitions.retired_files)
    doomed = []
    for name in strange:
        if name in waiting:
            continue
        with contextlib.suppress(SpectorError):
            stray = read_stray(store.files, name, store.uuid)
            if not stray.is_uncommitted(store.files, stems, all_unnamed=all_unnamed):
                continue
            if is_replaced(name, rows):
                store.partitions.retired_files.add(name)
                continue
            doomed.append(name)
    for name in doomed:
        # Records of undone commits must be removed before the note of the relaxed writer: later
        # they would look like lost commits. For other files the order does not matter.
        with contextlib.nullcontext() if all_unnamed else contextlib.suppress(SpectorError):
            store.files.remove(name)
            store.files.sync_dir(name)
    with contextlib.suppress(SpectorError):
        store.partitions.remove_retired_files()
