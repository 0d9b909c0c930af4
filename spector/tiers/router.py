"""The registry of tiers, and a finder of one record among the stores of all."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from spector.arguments import parse_key, parse_namespace
from spector.clock import Clock
from spector.errors import (
    InvalidInputError,
    PartitionCorruptError,
    UnknownRecordError,
    UnknownTierError,
)
from spector.messages import said, shown
from spector.records import MemoryRecord
from spector.store.catalog import ANYBODY, Row, Scope, members, newer_than, verify_row
from spector.store.core import (
    Store,
    View,
    complete_records,
    current_image,
    header_of,
    is_of_one_moment,
    to_record,
)
from spector.store.erasure import awaits_erasure
from spector.store.partitions import Partition
from spector.store.payloads import KeyPath, attachment_of, entry_at
from spector.tiers.base import EpisodicTier, ProceduralTier, SemanticTier, TierStore
from spector.tiers.working import WorkingTier

#: what every tier has
_PROTOCOL = [
    *TierStore.__annotations__,
    *(name for name in vars(TierStore) if not name.startswith("_")),
]


def default_tiers() -> list[TierStore]:
    """The four built-in tiers."""
    return [WorkingTier(), EpisodicTier(), SemanticTier(), ProceduralTier()]


class TierRouter:
    """Tiers by name and by code."""

    def __init__(self, tiers: Iterable[TierStore] = ()) -> None:
        self._by_name: dict[str, TierStore] = {}
        self._by_code: dict[int, TierStore] = {}
        for tier in tiers:
            self.register(tier)

    def register(self, tier: TierStore) -> None:
        """Add a tier with a new name and code."""
        missing = [name for name in _PROTOCOL if not hasattr(type(tier), name)]
        missing = [name for name in missing if name not in getattr(tier, "__dict__", {})]
        if missing:
            raise InvalidInputError(
                f"{type(tier).__name__} does not implement spector.TierStore: missing "
                f"{', '.join(missing)}",
                hint="add them, or derive from spector.PartitionedTier",
            )
        if tier.name in self._by_name or tier.code in self._by_code:
            raise InvalidInputError(
                f"tier {tier.name!r} (code {tier.code}) is registered already",
                hint="choose a new name and a code from 16 to 255",
            )
        if not 0 <= tier.code <= 255 or not tier.name.isidentifier():
            raise InvalidInputError(
                f"tier {tier.name!r} (code {tier.code}): the name must be an identifier and the "
                "code must fit a byte"
            )
        self._by_name[tier.name] = tier
        self._by_code[tier.code] = tier

    def __iter__(self) -> Iterator[TierStore]:
        return iter(self._by_name.values())

    def __getitem__(self, name: str) -> TierStore:
        try:
            return self._by_name[name]
        except Exception:  # the name may be unhashable
            raise UnknownTierError(
                f"unknown tier {shown(name)}", hint=self._suggest(said(name))
            ) from None

    def by_code(self, code: int) -> TierStore:
        """The tier of a partition or a record.

        Raises:
            PartitionCorruptError: the code is unknown: the byte is damaged, or the store was made
                with a tier that is not registered now.
        """
        try:
            return self._by_code[code]
        except KeyError:
            raise PartitionCorruptError(
                f"a partition or a record names tier {code}, which this store does not have",
                hint="open it with the tier it was made with: extra_tiers=[...]; else run: "
                "spector check PATH",
            ) from None

    def select(self, names: str | Sequence[str] | None) -> list[TierStore]:
        """The tiers with these names; all tiers for None."""
        if names is None:
            return list(self)
        if isinstance(names, str):
            names = [names]
        return list(dict.fromkeys(self[name] for name in names))

    def stores(self, tiers: Iterable[TierStore] | None = None) -> list[Store]:
        """The distinct stores that keep the bytes of the tiers."""
        return list(dict.fromkeys(tier.store for tier in (tiers or self)))

    def durable_store(self) -> Store:
        """The store on disk, or the only one."""
        first: Store | None = None
        for tier in self._by_name.values():  # no generator: each recall comes here
            store = tier.store
            if store.files.durable:
                return store
            first = store if first is None else first
        assert first is not None, "there is a tier"
        return first

    def partitions(
        self, view: View, tiers: Iterable[TierStore], *, min_ms: int, max_ms: int
    ) -> list[Partition]:
        """Partitions of a view with a wanted tier, live records and matching days."""
        wanted = {tier.code: tier for tier in tiers}
        return [
            partition
            for partition in view.partitions
            if partition.live
            and partition.tier in wanted
            and wanted[partition.tier].may_hold(partition, min_ms, max_ms)
        ]

    def _suggest(self, name: str) -> str:
        from difflib import get_close_matches

        near = get_close_matches(name, self._by_name, n=1)
        listed = ", ".join(self._by_name)
        return f"did you mean {near[0]!r}? tiers: {listed}" if near else f"tiers: {listed}"


# Finds one record by its id among the stores of all tiers, inside a scope.

_Found = TypeVar("_Found")


@dataclass(eq=False)
class Finder:
    """Looks records up by id. Given a scope, a record outside of it counts as unknown."""

    router: TierRouter
    clock: Clock

    def __post_init__(self) -> None:
        for store in self.router.stores():
            store.catalog.tell_time(self.clock.now_ms)

    def get(self, record_id: int, scope: Scope = ANYBODY) -> MemoryRecord:
        """A live record as it is now, its bytes verified.

        Raises:
            UnknownRecordError: there is none. PartitionCorruptError: its bytes are damaged.
        """
        for store in self.router.stores():
            store.view()  # a reader follows the writer here
        while True:
            store, row = self.find(record_id, scope)
            found = current_image(store, row)
            # the row may have been replaced since it was found, and be of another scope by now
            if found is None or not scope.holds(found[0]):
                raise unknown(record_id)
            row, image = found
            header = header_of(image)
            tier = self.tier_name(int(header["tier"]))
            record = to_record(row, header, tier, newer_than(store.catalog, row))
            self.complete(store, [record])
            if is_of_one_moment(store.catalog, record, row):
                return record

    def complete(self, store: Store, records: list[MemoryRecord]) -> list[MemoryRecord]:
        """Fill in what records that were just made of rows of a store lack: details, the time."""
        complete_records(store.catalog, records, self.clock.now_ms())
        return records

    def named(self, target: Any, key: Any, namespace: Any, scope: Scope) -> Any:
        """What a caller names, or the id of the memory that has a key.

        Raises:
            UnknownRecordError: there is none in the scope.
        """
        if key is None:
            _refuse_namespace(namespace)
            return target
        return self.get_named(target, key, namespace, scope).id

    def get_named(self, target: Any, key: Any, namespace: Any, scope: Scope) -> MemoryRecord:
        """The record of an id, or the one that has a key; see `get_within`."""
        if key is None:
            _refuse_namespace(namespace)
            return self.get_within(target, scope)
        return self.get_by_key(key_path(target, key, namespace, scope), scope)

    def by_key(self, path: KeyPath) -> int:
        """The memory that has a key.

        Raises:
            UnknownRecordError: there is none; in the same words for one of another user.
        """
        store = self.router.durable_store()
        store.ensure_usable()
        store.view()  # a reader follows the writer here
        with store.catalog.reading() as db:
            entry = entry_at(db, path, store.catalog.path)
        if entry is None or store.catalog.ends.has_expired(entry, self.clock.now_ms()):
            raise unknown_key(path)
        return int(entry["id"])

    def get_by_key(self, path: KeyPath, scope: Scope) -> MemoryRecord:
        """The record that has a key, if it is of a scope; see `get_within`."""
        return self._at_key(path, lambda each: self.get_within(each, scope))

    def find_by_key(self, path: KeyPath, scope: Scope) -> int:
        """The id of the memory that has a key, if it is of a scope; its bytes are not read."""
        return self._at_key(path, lambda each: self.find(each, scope)[1].id)

    def has_key(self, path: KeyPath) -> bool:
        """Whether a memory has a key, of any session."""
        with contextlib.suppress(UnknownRecordError):
            return bool(self.by_key(path))
        return False

    def is_kept(self, path: KeyPath) -> bool:
        """Whether the files have a memory of a key, even one that has expired."""
        store = self.router.durable_store()
        store.view()
        with store.catalog.reading() as db:
            return entry_at(db, path, store.catalog.path) is not None

    def _at_key(self, path: KeyPath, look: Callable[[int], _Found]) -> _Found:
        while True:
            record_id = self.by_key(path)
            try:
                return look(record_id)
            except UnknownRecordError:
                if self.by_key(path) == record_id:  # of another session
                    raise unknown_key(path) from None
                # forgotten and stored anew between the two looks

    def get_within(self, record_id: int, scope: Scope) -> MemoryRecord:
        """The same, whose links name no living memory outside of the scope."""
        return self.within(self.get(record_id, scope), scope)

    def serve_attachments(self, memory: object) -> None:
        """Have records read attachments from the memory that returned them."""
        for store in self.router.stores():
            store.catalog.attachments.serve(memory)

    def attached_to(self, record: MemoryRecord) -> Any:
        """What is attached now to the memory of a record; None for nothing.

        Raises:
            UnknownRecordError: it is not there, or another user's by now.
        """
        for store in self.router.stores():
            store.view()  # a reader follows the writer here
        store, row = self.find(record.id)
        if row.user_id != record.user_id:
            raise unknown(record.id)
        with store.catalog.reading() as db:
            found = attachment_of(db, record.id, store.catalog.path)
        return None if found is None else found.value

    def history(self, record_id: int, scope: Scope) -> list[MemoryRecord]:
        """A record with all that it supersedes and that supersedes it, by ascending id."""
        found: dict[int, MemoryRecord] = {}
        ahead = [self.get_within(record_id, scope)]
        while ahead:
            record = ahead.pop()
            found[record.id] = record
            for each in (*record.supersedes, *record.superseded_by):
                if each not in found:
                    with contextlib.suppress(UnknownRecordError):  # it has been forgotten
                        ahead.append(self.get_within(each, scope))
        return [found[each] for each in sorted(found)]  # a link leads to a smaller id

    def locate(self, record_id: int, scope: Scope = ANYBODY) -> tuple[Store, Row, TierStore]:
        """The store, row and tier of a live record."""
        while True:
            store, row = self.find(record_id, scope)
            segment = store.segments.get(row.segment_id)
            if segment is not None:
                return store, row, self.router.by_code(segment.row.tier)
            with store.still():  # a compaction has just moved it; then the new place is known
                if row.segment_id not in store.segments and store.catalog.fetch([row.id]) == {
                    row.id: row
                }:
                    raise PartitionCorruptError(
                        f"memory {row.id} lies in partition {row.segment_id}, which does not exist",
                        hint="run: spector check PATH",
                    )

    def find(self, record_id: int, scope: Scope = ANYBODY) -> tuple[Store, Row]:
        """The store and row of a live record.

        Raises:
            UnknownRecordError: there is none in the scope. With a scope the text is the same for a
                record outside of it, a forgotten one and one that never was.
        """
        if isinstance(record_id, bool) or not isinstance(record_id, (int, np.integer)):
            raise InvalidInputError(
                f"a record id is an int, got {type(record_id).__name__}",
                hint="pass one id, hit or record; get, update and forget take key= as well",
            )
        if 0 <= record_id < 1 << 63:
            for store in self.router.stores():
                row = store.catalog.fetch([int(record_id)]).get(int(record_id))
                if row is not None and scope.holds(row):
                    return store, row
                if row is not None:
                    verify_row(row, store.catalog.path)  # a damaged row is not another's memory
        if scope.is_open and self.is_forgotten(record_id):
            raise UnknownRecordError(
                f"memory {record_id} has been forgotten",
                hint="what the files still hold of it is erased by forget(id, purge=True) or"
                " compact(): spector compact PATH",
            )
        self.refuse_hidden([int(record_id)])
        raise unknown(record_id)

    def refuse_hidden(self, ids: Sequence[int]) -> None:
        """Raise for an id that was not found only because the catalog is damaged.

        Raises:
            CatalogCorruptError: it is.
        """
        possible = [each for each in ids if 0 <= each < 1 << 63]
        for store in self.router.stores():
            store.catalog.refuse_hidden(possible)

    def is_forgotten(self, record_id: object) -> bool:
        """Whether a memory is in no answer any more, and its bytes wait for erasure."""
        if isinstance(record_id, bool) or not isinstance(record_id, (int, np.integer)):
            return False
        named = int(record_id)
        if not 0 <= named < 1 << 63:
            return False
        stores = self.router.stores()
        if any(store.catalog.fetch([named]) for store in stores) or not any(
            awaits_erasure(store, named) for store in stores
        ):
            return False
        self.refuse_hidden([named])  # the words that an update replaced await erasure, too
        return True

    def within(self, record: MemoryRecord, scope: Scope) -> MemoryRecord:
        """A record whose links name no living memory outside of the scope."""
        linked = {*record.parents, *record.supersedes, *record.superseded_by}
        if scope.is_open or not linked:
            return record
        outside: set[int] = set()
        for store in self.router.stores():
            outside |= members(store.catalog, linked, scope, inside=False)
        if not outside:
            return record

        def inside(ids: tuple[int, ...]) -> tuple[int, ...]:
            return tuple(each for each in ids if each not in outside)

        return replace(
            record,
            parents=inside(record.parents),
            supersedes=inside(record.supersedes),
            superseded_by=inside(record.superseded_by),
        )

    def tier_name(self, code: int) -> str:
        """The name of the tier that a record's header has as a code."""
        return self.router.by_code(code).name


def key_path(target: Any, key: Any, namespace: Any, scope: Scope) -> KeyPath:
    """The key that a caller names in place of a memory; its user and agent are the scope's.

    Raises:
        InvalidInputError: it is no key, or both were given.
    """
    if target is not None:
        raise InvalidInputError("a memory and a key were given", hint="pass one of the two")
    return KeyPath(
        parse_namespace(namespace), parse_key(key), scope.user_id or "", scope.agent_id or ""
    )


def _refuse_namespace(namespace: Any) -> None:
    """Refuse a namespace beside an id, which it would not restrict."""
    if not (namespace is None or (isinstance(namespace, tuple) and not namespace)):
        raise InvalidInputError(
            "a namespace was given without a key", hint="pass key= as well, or leave it out"
        )


def unknown_key(path: KeyPath) -> UnknownRecordError:
    """The error for a key that no memory of a user, agent and namespace has."""
    return UnknownRecordError(
        f"there is no memory with the key {shown(path.record_key)}",
        hint="a key is of one user_id, agent_id and namespace; its memory may have been forgotten",
    )


def unknown(record_id: int) -> UnknownRecordError:
    """The error for an id that no live record has."""
    return UnknownRecordError(
        f"there is no memory with id {said(record_id)}", hint="it may have been forgotten"
    )
