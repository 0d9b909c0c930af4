"""Opening a memory: from a path and options to stores, tiers and a :class:`Memory`."""

from __future__ import annotations

import contextlib
import os
import warnings
from collections.abc import Iterable
from typing import Literal

from spector.arguments import (
    parse_choice,
    parse_clock,
    parse_config,
    parse_dim,
    parse_place,
    parse_threads,
    without_tilde,
)
from spector.clock import Clock, SystemClock
from spector.config import Config
from spector.errors import InvalidInputError, SpectorError
from spector.kernel import get_kernel, usable_cores
from spector.kernel.contract import ScoringProfile, get_profile
from spector.memory import Memory
from spector.messages import checks_arguments, items_of
from spector.process import entry
from spector.providers import Embedder, ImportanceScorer, resolve
from spector.store.opening import OpenedStore, Stamp, open_disk, open_memory
from spector.tiers import TierRouter, TierStore, default_tiers

__all__ = ["open_memory_at"]


@checks_arguments("spector.open")
@entry
def open_memory_at(
    path: str | os.PathLike[str],
    *,
    embedder: str | Embedder | None = "default",
    dim: int | None = None,
    durability: Literal["strict", "relaxed"] = "strict",
    mode: Literal["rw", "r"] = "rw",
    clock: Clock | None = None,
    config: Config | None = None,
    profile: str | ScoringProfile = "balanced",
    importance: ImportanceScorer | None = None,
    extra_tiers: Iterable[TierStore] = (),
    threads: int | None = None,
) -> Memory:
    """Open the memory in the directory ``path``, creating it if there is none.

    Args:
        path: a directory, or ":memory:" for a memory that vanishes with the process. ``~`` is the
            home directory, here and in every other path.
        embedder: "default" (all-MiniLM-L6-v2, offline), "openai", "openai:MODEL", an object with
            the :class:`spector.Embedder` protocol, or None when you pass vectors yourself.
        dim: length of your vectors; only needed for a new store with ``embedder=None``.
        durability: "strict" (default): what was acknowledged survives a power cut. "relaxed": a
            power cut may lose the newest suffix, never tear; a killed process loses nothing.
        mode: "rw" (one process at a time) or "r" (any number, beside a writer or alone).
        clock: where time comes from; the system's if None.
        config: limits and capacities. profile: how recall ranks by default.
        importance: judges texts that are remembered without an importance.
        extra_tiers: tiers of yours, in addition to the four.
        threads: how many one recall over many partitions may use; the usable cores if None, 1 for
            the caller's own only. Exact answers are the same, and others but for what estimates
            may miss (``Config.recall_confidence``). An application that recalls from threads of its
            own gets no more of them than there are cores.

    Raises:
        StoreLockedError: another process is writing, or this one. StoreNotFoundError,
        ModelMismatchError, FormatVersionError, PartitionCorruptError, CatalogCorruptError.
    """
    mode = parse_choice(mode, "mode", "rw", "r")
    durability = parse_choice(durability, "durability", "strict", "relaxed")
    dim, threads = parse_dim(dim), parse_threads(threads)
    ranking, config, clock = get_profile(profile), parse_config(config), parse_clock(clock)
    where = parse_place(path)
    found = resolve(
        embedder, cache_entries=config.cache_entries, cache_ttl_s=config.cache_ttl_s
    )
    if found is not None and dim is not None and dim != found.dim:
        raise InvalidInputError(
            f"dim={dim}, but {found.model_id} makes vectors of {found.dim}", hint="leave dim out"
        )
    router = TierRouter([*default_tiers(), *items_of(extra_tiers, "extra_tiers")])
    where = _at_home(where)
    opened = _open_stores(
        where, router, config,
        Stamp(
            dim if found is None else found.dim,
            None if found is None else found.model_id,
            None if found is None else found.fingerprint,
        ),
        mode=mode, durability=durability,
    )
    try:
        return Memory(
            router, opened, path=where, embedder=found, importance=importance,
            clock=clock or SystemClock(), config=config, profile=ranking,
            durability=durability, mode=mode, threads=threads or usable_cores(),
        )
    except BaseException:
        _abandon(opened)
        raise


def _at_home(path: str) -> str:
    """The path with ``~`` as the home; once it was an ordinary name."""
    found = without_tilde(path, "path")
    if found != path and os.path.exists(os.path.join(path, "catalog.db")):
        warnings.warn(
            f"{path} is in the home directory; a store of an earlier version is at ./{path}",
            UserWarning, stacklevel=4,
        )  # fmt: skip
    return found


def _open_stores(
    where: str, router: TierRouter, config: Config, stamp: Stamp, *, mode: str, durability: str
) -> list[OpenedStore]:
    """The store on disk first, then the volatile one; both share one lock."""
    tiers, kernel = [tier.files for tier in router], get_kernel()
    if where == ":memory:":
        if mode == "r":
            raise InvalidInputError(
                '":memory:" cannot be opened with mode="r"', hint="there would be nothing to read"
            )
        opened = [open_memory(stamp, tiers, config, kernel)]
    else:
        opened = [open_disk(where, stamp, tiers, config, kernel, mode=mode, durability=durability)]
    try:
        if where != ":memory:":
            volatile = open_memory(
                Stamp(opened[0].store.dim, None, None), tiers, config, kernel
            )
            volatile.store.share_lock(opened[0].store)
            opened.append(volatile)
        for tier in router:
            tier.attach(opened[-1 if tier.volatile else 0].store, config)
    except BaseException:
        _abandon(opened)
        raise
    return opened


def _abandon(opened: Iterable[OpenedStore]) -> None:
    """Close what was opened; what went wrong before is what matters."""
    for each in opened:
        with contextlib.suppress(SpectorError):
            each.close()
