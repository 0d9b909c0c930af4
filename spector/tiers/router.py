"""The registry of tiers; no other module distinguishes tiers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from spector.errors import InvalidInputError, PartitionCorruptError, UnknownTierError
from spector.messages import said, shown
from spector.store.core import Store, View
from spector.store.partitions import Partition
from spector.tiers.base import TierStore
from spector.tiers.episodic import EpisodicTier
from spector.tiers.procedural import ProceduralTier
from spector.tiers.semantic import SemanticTier
from spector.tiers.working import WorkingTier

__all__ = ["TierRouter", "default_tiers"]

_PROTOCOL = (
    "name",
    "code",
    "volatile",
    "files",
    "max_batch",
    "compactable",
    "attach",
    "store",
    "place",
    "relocate",
    "may_hold",
    "finished",
)


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
