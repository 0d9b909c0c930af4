"""Counts of memories by tier and user, and receipts limited to a scope."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from spector.clock import from_ms
from spector.errors import CatalogCorruptError
from spector.layout import MUTABLE_OFFSET, Flag, TierCode
from spector.records import ErasureReceipt, NamespaceSummary, UserSummary, labels_of
from spector.store.catalog import (
    Scope,
    SqlFilter,
    Way,
    count_by_namespace,
    count_by_tier,
    count_by_user,
    count_by_ways,
    members,
    outermost_users,
    recovery_hint,
)
from spector.store.core import Store
from spector.store.integrity import refuse_disagreement
from spector.store.payloads import KeyRange


def count_of(
    conditions: Iterable[tuple[Store, SqlFilter]],
    ways: Sequence[Way],
    *,
    trusted_s: float | None,
    said: bool,
) -> int:
    """Count the memories of stores that satisfy a condition and have some tags and labels.

    Args:
        trusted_s: as in ``walk``.
        said: without those that repeat others.
    """
    total = 0
    for store, condition in conditions:
        _prove(store, trusted_s)
        total += count_by_ways(store.catalog, ways, condition, said=said)
    return total


def tiers_of(
    conditions: Iterable[tuple[Store, SqlFilter]], *, trusted_s: float | None
) -> Counter[int]:
    """The same by the code of the tier."""
    found: Counter[int] = Counter()
    for store, condition in conditions:
        _prove(store, trusted_s)
        found.update(dict(count_by_tier(store.catalog, condition)))
    return found


@dataclass(frozen=True, slots=True)
class FlagCounts:
    """How many living memories have a flag."""

    #: memories of the episodic tier, and those of them that are CONSOLIDATED
    episodes: int = 0
    consolidated: int = 0
    #: DORMANT ones of every tier
    dormant: int = 0


def count_flags(stores: Iterable[Store]) -> FlagCounts:
    """Counts by flag, read from the partitions."""
    episodes = consolidated = dormant = 0
    for store in stores:
        store.ensure_usable()
        for partition in store.view().partitions:
            # they begin the mutable half of a record
            flags = partition.data[: partition.slots, MUTABLE_OFFSET : MUTABLE_OFFSET + 2].copy()
            found = flags.view("<u2")[:, 0]
            found = found[found & int(Flag.TOMBSTONE) == 0]
            dormant += int(np.count_nonzero(found & int(Flag.DORMANT)))
            if partition.tier == TierCode.EPISODIC:
                episodes += len(found)
                consolidated += int(np.count_nonzero(found & int(Flag.CONSOLIDATED)))
    return FlagCounts(episodes, consolidated, dormant)


def users_of(
    stores: Iterable[Store], sorts: frozenset[str] | None = None, *, trusted_s: float | None
) -> list[UserSummary]:
    """Every user who has memories, by id; counts what was said and stored, or what is of sorts."""
    found: dict[str, tuple[int, int, int]] = {}
    for store in stores:
        _prove(store, trusted_s)
        for user, count, first, last in count_by_user(store.catalog, sorts):
            if type(user) is not str or type(first) is not int or type(last) is not int:
                raise CatalogCorruptError(
                    f"{store.catalog.path}: the user or a time of a memory is damaged",
                    hint=recovery_hint(None),
                )
            before = found.get(user, (0, first, last))
            found[user] = (before[0] + count, min(before[1], first), max(before[2], last))
    return [
        UserSummary(id=user, count=count, first=from_ms(first), last=from_ms(last))
        for user, (count, first, last) in sorted(found.items())
    ]


def namespaces_of(
    store: Store,
    keys: KeyRange,
    scope: Scope,
    *,
    depth: int | None,
    after: tuple[str, ...] | None,
    limit: int | None,
) -> list[NamespaceSummary]:
    """The namespaces of a range, cut to ``depth`` labels, in their order; with their counts."""
    _prove(store, None)
    found: Counter[tuple[str, ...]] = Counter()
    for namespace, count in count_by_namespace(store.catalog, keys, scope):
        found[labels_of(namespace)[:depth]] += count
    ordered = [each for each in sorted(found) if after is None or each > after]
    return [NamespaceSummary(each, found[each]) for each in ordered[:limit]]


def has_one_user(stores: Iterable[Store]) -> bool:
    """Whether all memories that are of a user are of the same one; the first and last of an index."""
    found: set[object] = set()
    for store in stores:
        _prove(store, None)
        found |= outermost_users(store.catalog)
    return len(found) <= 1


def _prove(store: Store, trusted_s: float | None) -> None:
    store.ensure_usable()
    store.view()  # a reader follows the writer here
    if trusted_s is not None:
        refuse_disagreement(store.catalog, trusted_s=trusted_s)


def receipt_within(
    receipt: ErasureReceipt, scope: Scope, mine: Sequence[int], stores: Sequence[Store]
) -> ErasureReceipt:
    """A receipt that names no memory outside a scope.

    Args:
        mine: ids that the call itself forgot; the store has no scope of earlier ones any more.
    """
    if scope.is_open:
        return receipt
    own = set(mine)
    found = receipt.verification
    living = {*receipt.replaced, *receipt.derived, *(found.living if found else ())}
    inside: set[int] = set()
    for store in stores:
        inside |= members(store.catalog, living, scope, inside=True)

    def of_scope(ids: Sequence[int]) -> tuple[int, ...]:
        return tuple(each for each in ids if each in inside)

    if found is not None:
        found = replace(
            found,
            living=of_scope(found.living),
            left_of=tuple(each for each in found.left_of if each in own),
        )
    derived = of_scope(receipt.derived)
    return replace(
        receipt,
        ids=tuple(each for each in receipt.ids if each in own),
        not_yet=tuple(each for each in receipt.not_yet if each in own),
        replaced=of_scope(receipt.replaced),
        derived=derived,
        derived_elsewhere=len(receipt.derived) - len(derived),
        verification=found,
    )
