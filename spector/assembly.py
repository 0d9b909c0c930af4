"""Opening a memory: from a path and options to stores, tiers and a :class:`Memory`."""

from __future__ import annotations

import contextlib
import os
import warnings
from collections.abc import Iterable
from typing import Literal

from spector.clock import Clock, SystemClock
from spector.config import Config
from spector.errors import InvalidInputError, SpectorError
from spector.kernel import usable_cores
from spector.kernel.contract import ScoringProfile, get_profile
from spector.layout import MAX_DIM
from spector.memory import Memory
from spector.messages import checks_arguments, items_of, shown
from spector.process import entry
from spector.providers import Embedder, ImportanceScorer, resolve
from spector.store.backup import is_nameable, without_tilde
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
    if not isinstance(mode, str) or mode not in ("rw", "r"):
        raise InvalidInputError(f"mode is {shown(mode)}", hint="pass 'rw' or 'r'")
    if not isinstance(durability, str) or durability not in ("strict", "relaxed"):
        raise InvalidInputError(
            f"durability is {shown(durability)}", hint="pass 'strict' or 'relaxed'"
        )
    if dim is not None and (
        not isinstance(dim, int) or isinstance(dim, bool) or not 1 <= dim <= MAX_DIM
    ):
        raise InvalidInputError(
            f"dim is {shown(dim)}", hint=f"pass the length of your vectors, 1..{MAX_DIM}"
        )
    if threads is not None and (
        not isinstance(threads, int) or isinstance(threads, bool) or threads < 1
    ):
        raise InvalidInputError(
            f"threads is {shown(threads)}",
            hint="pass 1 or more, or None for as many as there are cores",
        )
    ranking = get_profile(profile)
    config = Config() if config is None else config
    if not isinstance(config, Config):
        raise InvalidInputError(
            f"config is a {type(config).__name__}", hint="write it like config=Config(max_tags=8)"
        )
    if clock is not None and not isinstance(clock, Clock):
        raise InvalidInputError(
            f"clock is a {type(clock).__name__}", hint="pass an object with now_ms()"
        )
    if not isinstance(path, (str, os.PathLike)):
        raise InvalidInputError(
            f"path is a {type(path).__name__}", hint='pass a directory, or ":memory:" for none'
        )
    found = resolve(
        embedder, cache_entries=config.cache_entries, cache_ttl_s=config.cache_ttl_s
    )
    if found is not None and dim is not None and dim != found.dim:
        raise InvalidInputError(
            f"dim={dim}, but {found.model_id} makes vectors of {found.dim}", hint="leave dim out"
        )
    router = TierRouter([*default_tiers(), *items_of(extra_tiers, "extra_tiers")])
    where = os.fspath(path) if is_nameable(path) else None
    if not isinstance(where, str):
        raise InvalidInputError(
            f"path is {shown(path)}", hint='pass a directory, or ":memory:" for none'
        )
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
    tiers = [tier.files for tier in router]
    if where == ":memory:":
        if mode == "r":
            raise InvalidInputError(
                '":memory:" cannot be opened with mode="r"', hint="there would be nothing to read"
            )
        opened = [open_memory(stamp, tiers, config)]
    else:
        opened = [open_disk(where, stamp, tiers, config, mode=mode, durability=durability)]
    try:
        if where != ":memory:":
            volatile = open_memory(Stamp(opened[0].store.dim, None, None), tiers, config)
            volatile.store.lock = opened[0].store.lock
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
