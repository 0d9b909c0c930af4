"""Opening a store to read: beside a writer, or from a medium that cannot be written to."""

from __future__ import annotations

from typing import TypeVar

from spector.errors import StoreError, StoreNotFoundError, StoreReadOnlyError
from spector.store.catalog import CATALOG_NAME, Catalog, schema
from spector.store.core import Store
from spector.store.files import DiskFiles, DurableMark, read_durable_mark
from spector.store.integrity import refuse_lost, refuse_lost_schema
from spector.store.opening.attempt import UNBORN, Attempt, emptied, has_log
from spector.store.opening.non_stores import has_partitions, holds_only, no_store_at
from spector.store.opening.reader import ReadStore
from spector.store.partitions import later_than_catalog
from spector.store.sqlite import has_journal, typed_sql_errors

__all__ = ["followed", "open_reader", "reading_catalog"]

Follower = TypeVar("Follower", bound=ReadStore)


def open_reader(attempt: Attempt) -> Store:
    """A store that follows the commits of its writer.

    Raises:
        StoreNotFoundError: there is none, or its creation has not ended.
    """
    files = attempt.files
    if not files.exists(CATALOG_NAME):
        empty = files.is_empty() or holds_only(files.root, UNBORN)
        create = 'open it once with mode="rw" to create it, or ' if empty else ""
        raise no_store_at(files.root, f"{create}check the path")
    mark = read_durable_mark(files.root)
    catalog = _complete_catalog(files)
    attempt.made.append(catalog)
    try:
        return followed(attempt, ReadStore, catalog, mark)
    except BaseException:
        attempt.give_up()
        raise


def followed(
    attempt: Attempt,
    kind: type[Follower],
    catalog: Catalog,
    mark: DurableMark | None,
    *,
    writable: bool = False,
) -> Follower:
    """A store that follows the commits of others, at the newest one.

    Args:
        mark: what was durable before the catalog was opened.
    """
    meta = catalog.validate()
    store = attempt.make_store(kind, catalog, meta, writable=writable)
    with typed_sql_errors(catalog.path):
        store.view()
        refuse_lost(attempt.files, catalog, meta, mark)
        _refuse_lost_commits(store)
    return store


def _refuse_lost_commits(store: Store) -> None:
    """Raise when partitions are of later commits than the catalog.

    A commit is visible in the catalog before its partition's header has it, so a second look must
    agree with the headers of the first. Partitions that appear only in the second look may be ahead
    of it again beside a busy writer.

    Raises:
        PartitionCorruptError: the catalog is an old copy, or its log is damaged.
    """
    ahead = [segment for segment in store.segments.values() if segment.was_met_later()]
    if schema.UNSYNCED in store.meta or not ahead:
        return
    store.view()
    for segment in ahead:
        if store.segments.get(segment.row.id) is segment and segment.was_met_later():
            raise later_than_catalog(segment.where)


def reading_catalog(files: DiskFiles) -> Catalog:
    """The catalog of a store for reading, even from read-only media."""
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
        if files.writable() or has_log(files):
            raise
        catalog = Catalog(path, mode="r", durability="relaxed", immutable=True)
    return catalog


def _complete_catalog(files: DiskFiles) -> Catalog:
    catalog = reading_catalog(files)
    try:
        if catalog.is_new():  # its creator died, or is about to commit the schema
            refuse_lost_schema(files, catalog)
            if has_partitions(files.root):
                raise emptied(catalog)
            raise _incomplete(files)
    except BaseException:
        catalog.close()
        raise
    return catalog


def _incomplete(files: DiskFiles) -> StoreNotFoundError:
    return StoreNotFoundError(
        f"the store at {files.root} has not been created completely",
        hint='open it with mode="rw" to finish that',
    )
