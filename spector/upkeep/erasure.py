"""Erasure from end to end: when it is due, what it covers, and the receipt."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Final

from spector.clock import iso_of_ms
from spector.errors import StoreError
from spector.messages import counted
from spector.records import ErasureReceipt, Purged, Verification
from spector.store.core import Store
from spector.store.erasure import (
    DueErasure,
    Needles,
    derived_from,
    due_of,
    foreign_files,
    ids_left_in,
    mark_erased,
    needs_purge,
    postpone,
    purge,
    verify,
    wipe_dead,
)
from spector.store.opening import remove_leftovers
from spector.store.ops_log import OPS_LOG_NAME, ids_in, scrub_ops_logs
from spector.store.words import FOLDER, remove_words
from spector.tiers import TierRouter
from spector.upkeep.counting import users_of

_CLOCK_SLACK_MS: Final = 3_600_000
#: files that an advice names at most
_MOST_NAMED: Final = 5
#: needles are never stored, because storing them would keep the erased text; to verify later, the
#: caller must pass the text again
_SEARCH_AGAIN: Final = (
    'search again for what you know of it: compact(verify=["TEXT"]) or '
    "spector compact PATH --verify TEXT"
)


def due_erasures(router: TierRouter) -> dict[Store, DueErasure]:
    """What an erasure that begins now has to erase, by store."""
    return {store: due_of(store) for store in router.stores() if needs_purge(store)}


def is_overdue(router: TierRouter, now_ms: int, after_s: float) -> bool:
    """True when something forgotten should be gone from the files by now.

    A time further away than ``after_s`` allows was set by a clock that has gone back since, or
    under a longer ``after_s``; waiting for it could take for ever, so it counts as overdue. A
    tolerance of an hour keeps small corrections of the clock from erasing early.
    """
    latest_ms = now_ms + 1000 * after_s + _CLOCK_SLACK_MS
    return any(
        due.due_ms is not None and not now_ms < due.due_ms <= latest_ms
        for due in due_erasures(router).values()
    )


def finish_erasure(
    router: TierRouter,
    due: Mapping[Store, DueErasure],
    *,
    now_ms: int,
    after_s: float,
    rewritten: Sequence[Mapping[str, Any]],
    failed: Sequence[Mapping[str, str]],
    needles: Needles | None,
    between: Callable[[], object] = int,
) -> ErasureReceipt:
    """Finish an erasure after partitions have been rewritten; returns the receipt.

    Cleans the catalogs and removes what a crash left behind. Content of a damaged partition is due
    again after ``after_s``, at least an hour; until then no sleep rewrites the rest for it.

    Args:
        due: what was due before the partitions were rewritten.
        rewritten, failed: of ``CompactionReport``.
        needles: what to search for; None searches for nothing.
        between: called between two pieces of work, without a lock.
    """
    stores = router.stores()
    durable = router.durable_store()
    lines, log_left = clean_ops_logs(router)
    purged = [*map(_purged_partition, rewritten), *lines]
    broken = {each["path"] for each in failed}
    pending = [f"{each['path']} could not be rewritten: {each['message']}" for each in failed]
    derived = derived_from(durable, _ids(due.values()))
    not_yet: set[int] = set()
    for store, what in due.items():
        between()
        done, left = purge(store, between)
        between()
        if not left and len(store.partitions.retired_files):
            left = "a reader held on to a partition that was replaced; close it and compact again"
        purged += done if store is durable else []
        wiped = _wipe(router, store)
        purged += wiped if store is durable else []
        between()
        gone, stays = _remove_words(store)
        purged += gone
        left = left or stays or (log_left if store is durable else "")
        stuck, waiting = _ids_left(router, store, what.ids, broken)
        if store.files.durable:
            with store.exclusive():
                remove_leftovers(store, all_unnamed=False)
        # the log, word files and replaced partitions may have content of any of them
        not_yet |= set(what.ids) if left else stuck | waiting
        if left:
            pending.append(left)
        if waiting:
            pending.append(
                f"{len(waiting)} forgotten records are left in partitions below the threshold; "
                "compact with threshold 0"
            )
        if not left and (what.ids or not (stuck or waiting)):
            mark_erased(store, set(what.ids) - stuck - waiting)
            after_ms = round(min(1000 * after_s, 1e18))
            postpone(store, stuck - waiting, now_ms + max(after_ms, _CLOCK_SLACK_MS))
    others = [store for store in stores if store is not durable]
    verification = None if needles is None else verify(durable, needles, others)
    if verification is not None and verification.residue:
        not_yet |= set(verification.left_of)
        pending += _advice(durable, verification)
    alive = {i for store, what in due.items() for i in store.catalog.fetch(what.ids)}
    every = _ids(due.values())
    erased = every - not_yet
    return ErasureReceipt(
        store=durable.files.root,
        time=iso_of_ms(now_ms),
        ids=tuple(sorted(erased - alive)),
        not_yet=tuple(sorted(every & not_yet)),
        replaced=tuple(sorted(erased & alive)),
        derived=derived,
        purged=tuple(purged),
        pending=tuple(pending),
        unknown_files=foreign_files(durable),
        verification=verification,
    )


def _advice(store: Store, found: Verification) -> list[str]:
    """What to do about residue: foreign files may be removed, the store's own never."""
    if due_of(store).ids:
        return ["memories were forgotten while this went on; compact again erases them"]
    places, strange = {each.where for each in found.residue}, set(foreign_files(store))
    told = "the search found forgotten content in "
    advice: list[str] = []
    if theirs := places & strange:
        shown = ", ".join(sorted(theirs)[:_MOST_NAMED])
        more = f" and {len(theirs) - _MOST_NAMED} more" if len(theirs) > _MOST_NAMED else ""
        advice.append(f"{told}{shown}{more}: remove these foreign files, and {_SEARCH_AGAIN}")
    if places - strange:
        advice.append(
            f"{told}the store's own files, which you must not remove: close its readers and "
            f"{_SEARCH_AGAIN}; if it is found again, run: spector check PATH"
        )
    return advice


def _wipe(router: TierRouter, store: Store) -> list[Purged]:
    """Blank dead records in partitions that are never rewritten, of tiers that reuse slots."""
    with store.exclusive():
        held = [
            (segment_id, segment.row.path)
            for segment_id, segment in store.segments.items()
            if segment.row.dead and not router.by_code(segment.row.tier).compactable
        ]
    what = "forgotten records blanked where they lie"
    return [
        Purged(where=path, what=what, bytes=blanked)
        for segment_id, path in held
        if (blanked := wipe_dead(store, segment_id))
    ]


def _remove_words(store: Store) -> tuple[list[Purged], str]:
    """Remove the word files, which have words of every text of the time when they were written."""
    try:
        with store.exclusive():
            removed = remove_words(store)
    except StoreError as error:
        return [], f"the index of words could not be removed: {error.message}"
    what = "removed; words of what is left are written when the store is closed"
    return [Purged(where=FOLDER, what=what, bytes=removed)] if removed else [], ""


def _purged_partition(row: Mapping[str, Any]) -> Purged:
    gone = counted(row["reclaimed"], "forgotten record")
    what = f"rewritten without {gone}" if row["kept"] else f"removed with its {gone}"
    return Purged(
        where=row["path"], what=f"{what}, its scan index removed", bytes=row["bytes_before"]
    )


def _ids(due: Collection[DueErasure]) -> set[int]:
    return {record_id for each in due for record_id in each.ids}


def _ids_left(
    router: TierRouter, store: Store, ids: Collection[int], broken: Collection[str]
) -> tuple[set[int], set[int]]:
    """(ids left in partitions that could not be rewritten, ids left in other partitions)."""
    stuck: set[int] = set()
    waiting: set[int] = set()
    with store.exclusive():
        for segment_id, segment in store.segments.items():
            if segment.row.dead and router.by_code(segment.row.tier).compactable:
                into = stuck if segment.row.path in broken else waiting
                into |= ids_left_in(store, segment_id, ids)
    return stuck, waiting


# Erasure in the operations log: no line names a memory, or a user, that is gone.


def clean_ops_logs(router: TierRouter) -> tuple[list[Purged], str]:
    """Rewrite the store's log without lines about what is gone; what was removed, what failed."""
    durable, stores = router.durable_store(), router.stores()
    if not durable.files.durable:
        return [], ""
    users: set[object] | None = None
    known: dict[int, bool] = {}

    def lives(record_id: int) -> bool:
        found = known.get(record_id)
        if found is None:
            found = any(store.catalog.fetch([record_id]) for store in stores)
            known[record_id] = found
        return found

    def keep(line: Mapping[str, Any]) -> bool:
        nonlocal users
        given = line.get("input")
        user = given.get("user_id") if isinstance(given, Mapping) else None
        if user is not None:
            if users is None:
                users = {each.id for each in users_of(stores, trusted_s=None)}
            if user not in users:
                return False
        return all(map(lives, ids_in(line)))

    try:
        lines, size = scrub_ops_logs(durable.files, keep)
    except StoreError as error:
        return [], f"the operations log could not be rewritten: {error.message}"
    what = f"{counted(lines, 'line')} removed"
    return [Purged(where=OPS_LOG_NAME, what=what, bytes=size)] if lines else [], ""
