"""What keeps the stores of one memory in order: checks, figures, backups, erasure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from spector.arguments import (
    parse_callback,
    parse_directory,
    parse_integer,
    parse_limit,
    parse_namespace,
    parse_number,
    parse_truth,
)
from spector.clock import Clock, iso_of_ms
from spector.config import Config
from spector.errors import InvalidInputError
from spector.kernel import kernel_info
from spector.messages import items_of
from spector.records import (
    BackupReport,
    CheckReport,
    CompactionReport,
    ForgetReport,
    NamespaceSummary,
    Purged,
    UserSummary,
    labels_of,
)
from spector.store.catalog import DERIVED_SQL, Scope, SqlFilter
from spector.store.core import Store
from spector.store.payloads import KeyRange, expired_by_tier
from spector.tiers import TierRouter
from spector.upkeep.counting import namespaces_of, receipt_within, tiers_of, users_of

if TYPE_CHECKING:
    from spector.store.erasure import Needles


_SUMMED: Final = "partitions records tombstones bytes elapsed_ms unlisted".split()
_DERIVED: Final = SqlFilter(DERIVED_SQL, ())

#: called with (done, in total)
Progress = Callable[[int, int], None]
#: empties a cache of what memories say; returns what a receipt says of it, if anything
Empty = Callable[[], Purged | None]


@dataclass(eq=False)
class Keeper:
    """Upkeep of the stores of one memory.

    Args:
        caches: called whenever something was erased from the files.
        expire: forgets what has expired, before anything is erased; returns how many.
    """

    router: TierRouter
    config: Config
    clock: Clock
    caches: Sequence[Empty]
    expire: Callable[[], int]

    # -- erasure ------------------------------------------------------------------------------

    def compact(
        self,
        threshold: Any,
        *,
        dry_run: bool,
        verify: Iterable[str | bytes],
        progress: Progress | None,
        scope: Scope,
    ) -> CompactionReport:
        """Rebuild partitions and erase what is due; see ``Memory.compact``."""
        parse_callback(progress, "progress")
        share = parse_number(threshold, "threshold", 0.0, 1.0)
        needles = _needles_given(verify)
        if dry_run and needles is not None:
            raise InvalidInputError(
                "verify searches for what a compaction has erased, and a dry run erases nothing",
                hint="leave one of the two out",
            )
        expired = sum(self._expired().values()) if dry_run else self.expire()
        report = self._erase(share, dry_run=dry_run, progress=progress, needles=needles)
        report = replace(report, expired=expired)
        if report.receipt is None:
            return report
        receipt = receipt_within(report.receipt, scope, (), self.router.stores())
        return replace(report, receipt=receipt)

    def erase_forgotten(
        self, report: ForgetReport, needles: Needles | None, scope: Scope
    ) -> ForgetReport:
        """Erase what was forgotten from every file; the report with a receipt of its scope."""
        receipt = self._erase(0.0, needles=needles, always=True).receipt
        assert receipt is not None, "always"
        kept = sorted({*receipt.derived, *report.without_source, *report.lost_source})
        receipt = replace(receipt, derived_erased=report.derived, derived=tuple(kept))
        receipt = receipt_within(receipt, scope, report.ids, self.router.stores())
        return replace(report, receipt=replace(receipt, protected=report.protected))

    def _erase(self, threshold: float, **more: Any) -> CompactionReport:
        from spector.upkeep.compaction import compact_all

        return self.empty_caches(
            compact_all(
                self.router,
                config=self.config,
                threshold=threshold,
                now_ms=self.clock.now_ms(),
                **more,
            )
        )

    def empty_caches(self, report: CompactionReport) -> CompactionReport:
        """After an erasure: caches forget, too, and the receipt says so."""
        if report.receipt is None:
            return report
        emptied = tuple(done for each in self.caches if (done := each()) is not None)
        receipt = replace(report.receipt, purged=(*report.receipt.purged, *emptied))
        return replace(report, receipt=receipt)

    # -- state --------------------------------------------------------------------------------

    def checkpoint(self) -> None:
        """Make the partitions durable and empty the journal."""
        for store in self.router.stores():
            store.checkpoint()

    def check(self, progress: Progress | None, limit: int | None) -> CheckReport:
        """One report on all stores."""
        from spector.store.integrity import StoreCheck

        limit = parse_limit(limit)
        parse_callback(progress, "progress")
        durable = self.router.durable_store()
        tiers = {tier.code: tier.files for tier in self.router}
        reports = []
        for store in self.router.stores():
            with store.still():
                if not store.files.durable:
                    store.checkpoint()  # it has no journal to look up which slots are due to go
                check = StoreCheck(store.files, store.catalog, tiers, store.kernel)
                shows = progress if store is durable else None
                reports.append(check.settled(shows, limit=limit))
        return CheckReport(
            problems=tuple(p for r in reports for p in r.problems),
            notes=tuple(n for r in reports for n in r.notes),
            **{name: sum(getattr(r, name) for r in reports) for name in _SUMMED},
        )

    def backup(self, dest: Any, *, force: Any, progress: Progress | None) -> BackupReport:
        """Copy the durable store; see ``Memory.backup``."""
        from spector.store.backup import copy_store

        return copy_store(
            self.router.durable_store(),
            parse_directory(dest, "dest"),
            taken_ms=self.clock.now_ms(),
            force=parse_truth(force, "force"),
            progress=parse_callback(progress, "progress"),
        )

    # -- figures ------------------------------------------------------------------------------

    def __len__(self) -> int:
        return self.stored() - sum(self._derived().values())

    def stored(self) -> int:
        """How many memories there are, with what is derived from others."""
        live = sum(p.live for store in self.router.stores() for p in store.view().partitions)
        return live - sum(self._expired().values())

    def _expired(self) -> dict[int, int]:
        """Code of a tier -> memories that have expired and are still in its partitions."""
        catalog = self.router.durable_store().catalog
        if not catalog.ends.are_there():
            return {}
        with catalog.reading() as db:
            return expired_by_tier(db, catalog.ends)

    def _derived(self) -> dict[int, int]:
        """Code of a tier -> memories that repeat others."""
        return tiers_of([(each, _DERIVED) for each in self.router.stores()], trusted_s=None)

    def users(self, trusted_s: float, sorts: frozenset[str] | None) -> list[UserSummary]:
        """Every user that a memory is of, by id."""
        return users_of(self.router.stores(), sorts, trusted_s=trusted_s)

    def namespaces(
        self, scope: Scope, prefix: Any, depth: Any, after: Any, limit: Any
    ) -> list[NamespaceSummary]:
        """Every namespace that memories have keys of; see ``Memory.namespaces``."""
        return namespaces_of(
            self.router.durable_store(),
            KeyRange(parse_namespace(prefix), below=True),
            scope,
            depth=None if depth is None else parse_integer(depth, "depth", 1),
            after=None if after is None else labels_of(parse_namespace(after)),
            limit=None if limit is None else parse_integer(limit, "limit", 1),
        )

    def stats(self, about: Mapping[str, Any], counters: Mapping[str, Any]) -> dict[str, Any]:
        """What all stores hold and what is due for erasure; ``about`` and ``counters`` as given."""
        tiers: dict[str, dict[str, int]] = {
            tier.name: {"records": 0, "tombstones": 0, "partitions": 0} for tier in self.router
        }
        for store in self.router.stores():
            for partition in store.view().partitions:
                entry = tiers[self.router.by_code(partition.tier).name]
                entry["records"] += partition.live
                entry["tombstones"] += partition.slots - partition.live
                entry["partitions"] += 1
        derived = self._derived()
        for code, count in (*self._expired().items(), *derived.items()):
            tiers[self.router.by_code(code).name]["records"] -= count
        durable = self.router.durable_store()
        sizes = durable.files.sizes() if durable.files.durable else {}
        from spector.store.erasure import due_of

        due = due_of(durable)
        return {
            **about,
            "model": durable.meta.get("model_id") or None,
            "records": sum(each["records"] for each in tiers.values()),
            "derived": sum(derived.values()),
            "tiers": tiers,
            "bytes": {
                "partitions": sum(s for n, s in sizes.items() if n.endswith(".mem")),
                "indexes": sum(s for n, s in sizes.items() if n.endswith((".idx", ".lex"))),
                "catalog": sum(s for n, s in sizes.items() if n.startswith("catalog.db")),
                "total": sum(sizes.values()),
            },
            "kernel": kernel_info(),
            **counters,
            "erasure": {
                "pending": len(due.ids),
                "due": None if due.due_ms is None else iso_of_ms(due.due_ms),
            },
        }

    def stats_within(
        self,
        about: Mapping[str, Any],
        scope: Mapping[str, str],
        conditions: Iterable[tuple[Store, SqlFilter]],
        trusted_s: float | None,
    ) -> dict[str, Any]:
        """How many memories of a scope there are, by tier; what belongs to all is left out."""
        found = tiers_of(conditions, trusted_s=trusted_s)
        return {
            **about,
            "model": self.router.durable_store().meta.get("model_id") or None,
            "scope": dict(scope),
            "records": sum(found.values()),
            "tiers": {tier.name: {"records": found.get(tier.code, 0)} for tier in self.router},
            "kernel": kernel_info(),
        }


def _needles_given(verify: Any) -> Needles | None:
    """What a caller wants searched for; None for nothing."""
    if isinstance(verify, (str, bytes, bool)) or not isinstance(verify, Iterable):
        raise InvalidInputError(
            f"verify must be a list of texts, got {type(verify).__name__}",
            hint='write it like verify=["Maya Lindqvist"]',
        )
    from spector.store.erasure import Needles

    needles, given = Needles(), list(items_of(verify, "verify"))
    for each in given:
        if not isinstance(each, (str, bytes)):
            raise InvalidInputError(
                f"verify must hold texts or bytes, got {type(each).__name__}",
                hint='write it like verify=["Maya Lindqvist"]',
            )
        if not each:
            raise InvalidInputError("verify holds an empty text", hint="pass what to search for")
        needles.add_given(each)
    return needles if given else None
