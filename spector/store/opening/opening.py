"""Opening a store: create it, or bring it to its last commit, or follow it as a reader."""

from __future__ import annotations

import contextlib
import uuid as uuid_module
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial

from spector.config import Config
from spector.errors import (
    CatalogCorruptError,
    ModelMismatchError,
    PartitionCorruptError,
    SpectorError,
    StoreError,
    StoreNotFoundError,
    StoreReadOnlyError,
)
from spector.layout import FORMAT_VERSION
from spector.process import Resource, completed, drop, take
from spector.store.catalog import CATALOG_NAME, Catalog, SegmentRow, schema
from spector.store.core import Store, TierFiles
from spector.store.files import LOCK_NAME, DiskFiles, MemoryFiles, WriterLock, last_word
from spector.store.integrity import (
    Replay,
    is_replaced,
    look_at,
    reconcile,
    refuse_disagreement,
    refuse_lost,
    refuse_lost_schema,
    require_entry,
    stem_of,
)
from spector.store.opening.non_stores import has_partitions, holds_only, no_store_at
from spector.store.opening.reader import ReadStore
from spector.store.partitions import Segment, idx_of, is_idx, later_than_catalog
from spector.store.rewriting import next_step
from spector.store.sqlite import has_journal, translated_sql
from spector.store.words import drop_unused_words, remove_words

__all__ = ["OpenedStore", "Stamp", "open_disk", "open_memory", "reading_catalog",
           "remove_leftovers"]

#: all that a creation may leave which a kill or a power cut ended before the catalog was there
_UNBORN = {LOCK_NAME, *(f"{CATALOG_NAME}{end}" for end in ("-journal", "-wal", "-shm"))}


@dataclass(frozen=True, slots=True)
class Stamp:
    """What a store is made for; written once, compared at every open. None means "whatever"."""

    dim: int | None
    model_id: str | None
    fingerprint: str | None


@dataclass(slots=True, eq=False)
class OpenedStore(Resource):
    """A store and, for the writer, the lock that belongs to it; a context manager."""

    store: Store
    lock: WriterLock | None
    created: bool

    def close(self) -> None:
        """Close the store and give up the lock, which closing must not keep by going wrong.

        After an interrupt it is to be called again; what has been done by then is passed over.
        """
        completed(self._close)

    def __enter__(self) -> Store:
        take(self)
        return self.store

    def __exit__(self, *exc: object) -> None:
        self.close()
        drop(self)

    def abandon(self, error: BaseException | None) -> None:
        self.close()

    def _close(self) -> None:
        try:
            self.store.close()
        finally:
            if self.lock is not None and self.store.is_shut:
                completed(self.lock.release)


def open_memory(stamp: Stamp, tiers: Iterable[TierFiles], config: Config) -> OpenedStore:
    """A store that lives in memory and vanishes with it."""
    catalog = Catalog(":memory:", mode="rw", durability="relaxed")
    meta = _new_meta(stamp)
    catalog.create(meta)
    store = Store(
        MemoryFiles(), catalog, meta=meta, tiers={t.code: t for t in tiers}, config=config,
        writable=True,
    )
    store.publish()
    return OpenedStore(store, None, created=True)


def open_disk(
    root: str, stamp: Stamp, tiers: Iterable[TierFiles], config: Config, *,
    mode: str, durability: str, held: WriterLock | None = None,
) -> OpenedStore:
    """Open, create or follow the store in the directory ``root``.

    Args:
        held: the lock of that directory, of a caller who has it already and keeps it.

    Raises:
        StoreNotFoundError: ``mode="r"`` and there is none.
        StoreLockedError: another writer has it.
        ModelMismatchError, FormatVersionError, CatalogCorruptError, PartitionCorruptError
    """
    files = DiskFiles(root)
    by_code = {tier.code: tier for tier in tiers}
    if mode == "r":
        return OpenedStore(_open_reader(files, stamp, by_code, config), None, created=False)
    present = files.exists(CATALOG_NAME)
    if (
        not present and not files.is_empty() and not holds_only(files.root, _UNBORN)
        and files.is_free(CATALOG_NAME)  # else another one is creating it just now
    ):
        raise no_store(files, "pass an empty or new directory, or the directory of a store")
    if present and not files.writable():
        raise StoreReadOnlyError(
            f"{files.root} cannot be written", hint='open it with mode="r", or fix the permissions'
        )
    if not present:
        _new_meta(stamp)  # a stamp without a dimension is refused before anything is created
        files.make_root()
    lock = held or WriterLock(files.root)
    made: list[Catalog | Store] = []
    try:
        store, created = _open_writer(files, stamp, by_code, config, durability, lock, made)
        return OpenedStore(store, lock, created=created)
    except BaseException:
        _give_up(made)
        if held is None:
            lock.release()
        raise


def _give_up(made: Iterable[Catalog | Store]) -> None:
    """Close what an opening that failed, or was interrupted, has opened so far."""
    for each in made:
        if isinstance(each, Store):
            each.partitions.close_files()
    for each in made:
        if isinstance(each, Catalog):
            each.close()


def no_store(files: DiskFiles, hint: str = "check the path") -> StoreNotFoundError:
    """The error for a directory without a catalog, which may be a store that has lost it, or a
    folder in which stores are.
    """
    return no_store_at(files.root, hint)


def _open_writer(
    files: DiskFiles, stamp: Stamp, tiers: Mapping[int, TierFiles], config: Config,
    durability: str, lock: WriterLock, made: list[Catalog | Store],
) -> tuple[Store, bool]:
    """The store, and whether it is new. What has to be closed is in ``made`` as soon as it is open.
    """
    files.tighten()
    files.make_private(CATALOG_NAME)
    catalog = Catalog(f"{files.root}/{CATALOG_NAME}", mode="rw", durability=durability)
    try:
        made.append(catalog)
        catalog.refuse_unlocked = lock.refuse_removed
        created = catalog.is_new()
        if created and has_partitions(files.root):
            raise _emptied(catalog)
        if created:
            refuse_lost_schema(files, catalog)
            catalog.create(_new_meta(stamp))
            files.sync_dir(CATALOG_NAME)
        store = _recovered(files, catalog, stamp, tiers, config, lock, made)
        while (step := next_step(store.format_version)) is not None:
            step.run(store)
            store.partitions.close_files()
            before, store = store, _recovered(files, catalog, stamp, tiers, config, lock, made)
            assert store.format_version == before.format_version + 1, step.what
        with translated_sql(catalog.path):
            if schema.BACKUP_NOTE in store.meta:  # what is written from now on is in no other place
                catalog.set_meta({schema.BACKUP_NOTE: None})
            if catalog.relaxed and schema.UNSYNCED not in store.meta:
                catalog.set_meta({schema.UNSYNCED: "1"})
            elif schema.UNSYNCED in store.meta and not catalog.relaxed:
                store.end_unsynced()
            catalog.relax()
        store.record_durable(store.head.change_seq)
    except BaseException as error:
        # What came from the disk must not be synced again, and a damaged store stays as it is:
        # SQLite would delete the log, and with it what can be salvaged from behind the damage.
        damaged = isinstance(error, (CatalogCorruptError, PartitionCorruptError))
        catalog.close(failed=damaged or error.__cause__ is not None)
        raise
    return store, created


def _recovered(
    files: DiskFiles, catalog: Catalog, stamp: Stamp, tiers: Mapping[int, TierFiles],
    config: Config, lock: WriterLock, made: list[Catalog | Store],
) -> Store:
    """A store for writing at its last commit, in whatever format it has."""
    meta = catalog.validate()
    _compare(stamp, meta, files.root)
    store = Store(files, catalog, meta=meta, tiers=tiers, config=config, writable=True)
    made.append(store)
    with translated_sql(catalog.path):
        refuse_lost(files, catalog, meta, lock.word)
    store.record_durable = partial(lock.record_durable, store.uuid)
    if _has_log(files):
        # A killed process may have written a commit and not synced it. We see it, and so will the
        # partitions: a power cut must not take it back from under them.
        store.sync_log()
        files.sync_dir(CATALOG_NAME)
        # SQLite cannot tell whether a log is of this catalog: another may have been copied here
        with translated_sql(catalog.path):
            refuse_disagreement(catalog, opening=True)
    with translated_sql(catalog.path):
        _replay(store)
        if schema.UNSYNCED in meta:
            reconcile(store)
            with contextlib.suppress(SpectorError):  # they may know commits that are lost
                remove_words(store)
        store.adopt_partitions(verify=True)
        remove_leftovers(store, all_unnamed=schema.UNSYNCED in meta)
        store.partitions.resume_retired_slots()
        store.checkpoint()
    return store


def _has_log(files: DiskFiles) -> bool:
    """True when the catalog was not closed properly, or is open elsewhere."""
    log = f"{CATALOG_NAME}-wal"
    return files.exists(log) and files.size_of(log) > 0


def _open_reader(
    files: DiskFiles, stamp: Stamp, tiers: Mapping[int, TierFiles], config: Config
) -> Store:
    if not files.exists(CATALOG_NAME):
        empty = files.is_empty() or holds_only(files.root, _UNBORN)
        create = 'open it once with mode="rw" to create it, or ' if empty else ""
        raise no_store(files, f"{create}check the path")
    word = last_word(files.root)
    catalog = _complete_catalog(files)
    made: list[Catalog | Store] = [catalog]
    try:
        meta = catalog.validate()
        _compare(stamp, meta, files.root)
        store = ReadStore(files, catalog, meta=meta, tiers=tiers, config=config, writable=False)
        made.append(store)
        with translated_sql(catalog.path):
            store.view()
            refuse_lost(files, catalog, meta, word)
            _refuse_lost_commits(store)
    except BaseException:
        _give_up(made)
        raise
    return store


def _refuse_lost_commits(store: Store) -> None:
    """A commit is visible before its partition's header says so, so a second look must suffice.

    It does for what the first one has met. What the second meets for the first time may be ahead
    of it again, if somebody goes on writing.

    Raises:
        PartitionCorruptError: it does not: the catalog is an old copy, or its log is damaged.
    """
    ahead = [segment for segment in store.segments.values() if segment.was_met_later()]
    if schema.UNSYNCED in store.meta or not ahead:
        return
    store.view()
    for segment in ahead:
        if store.segments.get(segment.row.id) is segment and segment.was_met_later():
            raise later_than_catalog(segment.where)


def reading_catalog(files: DiskFiles) -> Catalog:
    """The catalog of a store for reading, from media that cannot be written too."""
    path = f"{files.root}/{CATALOG_NAME}"
    try:
        catalog = Catalog(path, mode="r", durability="relaxed")
        try:
            catalog.is_new()
        except BaseException:
            catalog.close()
            raise
    except StoreError as error:
        # its creator died in a transaction that only a writer may roll back
        if isinstance(error, StoreReadOnlyError) and has_journal(path):
            raise _incomplete(files) from error
        if files.writable() or _has_log(files):
            raise
        catalog = Catalog(path, mode="r", durability="relaxed", immutable=True)
    return catalog


def _complete_catalog(files: DiskFiles) -> Catalog:
    catalog = reading_catalog(files)
    try:
        if catalog.is_new():  # its creator died, or is about to commit the schema
            refuse_lost_schema(files, catalog)
            if has_partitions(files.root):
                raise _emptied(catalog)
            raise _incomplete(files)
    except BaseException:
        catalog.close()
        raise
    return catalog


def _emptied(catalog: Catalog) -> CatalogCorruptError:
    return CatalogCorruptError(
        f"{catalog.path} is empty, but there are partitions beside it",
        hint="restore a backup, or salvage what there is: spector check PATH --repair DEST",
    )


def _incomplete(files: DiskFiles) -> StoreNotFoundError:
    return StoreNotFoundError(
        f"the store at {files.root} has not been created completely",
        hint='open it with mode="rw" to finish that',
    )


def _new_meta(stamp: Stamp) -> dict[str, str]:
    if stamp.dim is None:
        raise ModelMismatchError(
            "a new store needs to know how long its vectors are",
            hint="pass dim=, or an embedder",
        )
    return {
        "format_version": str(FORMAT_VERSION),
        "uuid": uuid_module.uuid4().hex,
        "dim": str(stamp.dim),
        "model_id": stamp.model_id or "",
        "fingerprint": stamp.fingerprint or "",
    }


def _compare(stamp: Stamp, meta: Mapping[str, str], root: str) -> None:
    hint = f"open it with what it was made with, or convert it: spector reembed {root}"
    try:
        dim, _ = int(meta["dim"]), bytes.fromhex(meta["uuid"])
    except (KeyError, ValueError):
        raise CatalogCorruptError(
            f"{root}: the catalog does not say what store it is",
            hint="restore a backup, or salvage what there is: spector check PATH --repair DEST",
        ) from None
    if stamp.fingerprint and meta["fingerprint"] and stamp.fingerprint != meta["fingerprint"]:
        raise ModelMismatchError(
            f"{root} holds vectors of {meta['model_id']} ({meta['fingerprint']}), not of "
            f"{stamp.model_id} ({stamp.fingerprint})",
            hint=hint,
        )
    if stamp.fingerprint and not meta["fingerprint"]:
        raise ModelMismatchError(
            f"{root} holds vectors that were given by its users, not made by {stamp.model_id}",
            hint=f"open it with embedder=None, or convert it: spector reembed {root}",
        )
    if stamp.dim is not None and stamp.dim != dim:
        raise ModelMismatchError(
            f"{root} holds vectors of {dim} dimensions, not {stamp.dim}", hint=hint
        )


def _replay(store: Store) -> None:
    """Copy what was committed but perhaps not made durable into the partitions. Idempotent."""
    with store.catalog.latest() as db:
        if not db.execute("SELECT EXISTS (SELECT 1 FROM journal)").fetchone()[0]:
            return
        rows = {row.id: row for row in store.catalog.segments()}
        replays: dict[int, Replay] = {}
        for entry in db.execute("SELECT segment_id, kind, slot, image FROM journal ORDER BY seq"):
            segment_id, kind, slot, image = require_entry(entry, store.catalog.path)
            if segment_id not in replays:
                segment = _to_replay(store, rows, segment_id)
                replays[segment_id] = Replay(segment, store.stride, store.uuid)
            # JOURNAL_RETIRE waits until no scan beside us needs the slot; the header does not
            replays[segment_id].write(db, kind, slot, image)
    _warn_of_damage(store, replays)
    for segment_id, segment in store.segments.items():
        segment.write_header(rows[segment_id])
        segment.sync()
        segment.close()
    store.segments.clear()
    with store.catalog.writing() as connection:
        connection.execute("DELETE FROM journal WHERE kind <> ?", (schema.JOURNAL_RETIRE,))


def _warn_of_damage(store: Store, replays: Mapping[int, Replay]) -> None:
    for segment_id, replay in replays.items():
        if replay.kept:
            warnings.warn(
                f"{store.segments[segment_id].where}: the catalog's copies of slots "
                f"{', '.join(map(str, replay.kept[:20]))} were damaged; the records there stay as "
                "they were; run: spector check PATH",
                UserWarning, stacklevel=2,
            )  # fmt: skip


def _to_replay(store: Store, rows: Mapping[int, SegmentRow], segment_id: int) -> Segment:
    """Open the partition that the journal names."""
    if segment_id not in rows:
        raise CatalogCorruptError(
            f"the journal names partition {segment_id}, which the catalog does not know",
            hint="restore a backup, or salvage what there is: spector check PATH --repair DEST",
        )
    segment = store.partitions.handle_of(rows[segment_id])
    segment.open(verify=False, sized=False)
    segment.refuse_other(later=schema.UNSYNCED not in store.meta)
    store.segments[segment_id] = segment
    return segment


def remove_leftovers(store: Store, *, all_unnamed: bool) -> None:
    """Delete partition files that a crash left behind, and only those.

    Such a file is either the other generation of a partition (a compaction or a change of model
    died before its flip, or after it and before the unlink), a partition that was dropped and not
    unlinked, or one without a single record whose row was never committed; after a crash in relaxed
    mode also ``all_unnamed`` ones, whose commits are lost. Anything else is left for
    ``spector check``. Scan indexes of partitions that are not there and files of words that
    nothing uses go, too. What a commit has replaced stays while a recall beside us may be about to
    open it.
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
            stray = look_at(store.files, name, store.uuid)
            if not stray.is_uncommitted(store.files, stems, all_unnamed=all_unnamed):
                continue
            if is_replaced(name, rows):
                store.partitions.retired_files.add(name)
                continue
            doomed.append(name)
    for name in doomed:
        # Records whose commits were taken back must be gone before the note of that is: left
        # behind, they would look like commits that were lost. Of the rest, nothing comes.
        with contextlib.nullcontext() if all_unnamed else contextlib.suppress(SpectorError):
            store.files.remove(name)
            store.files.sync_dir(name)
    with contextlib.suppress(SpectorError):
        store.partitions.remove_retired_files()
