"""Opens the stores of one memory: the one on disk, and the one of its volatile tiers."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable

from spector.arguments import OpenArguments
from spector.config import Config
from spector.errors import InvalidInputError, SpectorError
from spector.kernel import get_kernel
from spector.process import CycleTurn
from spector.store.core import Store
from spector.store.files import LOCK_NAME
from spector.store.opening import OpenedStore, Stamp, open_disk, open_memory
from spector.tiers import TierRouter

__all__ = ["abandon", "cycle_turn", "open_stores"]


def open_stores(
    where: str, router: TierRouter, config: Config, stamp: Stamp, how: OpenArguments
) -> list[OpenedStore]:
    """The store on disk first, then the volatile one; both share one lock."""
    tiers, kernel = [tier.files for tier in router], get_kernel()
    if where == ":memory:":
        if how.mode == "r":
            raise InvalidInputError(
                '":memory:" cannot be opened with mode="r"', hint="there would be nothing to read"
            )
        opened = [open_memory(stamp, tiers, config, kernel)]
    else:
        opened = [
            open_disk(
                where,
                stamp,
                tiers,
                config,
                kernel,
                mode=how.mode,
                durability=how.durability,
                wait_s=how.wait_s,
                shared=how.shared,
            )
        ]
    try:
        if where != ":memory:":
            volatile = open_memory(Stamp(opened[0].store.dim, None, None), tiers, config, kernel)
            volatile.store.share_lock(opened[0].store)
            opened.append(volatile)
        for tier in router:
            tier.attach(opened[-1 if tier.volatile else 0].store, config)
    except BaseException:
        abandon(opened)
        raise
    return opened


def cycle_turn(store: Store) -> CycleTurn:
    """What one cycle of sleep has at a time."""
    wait_s = store.shared_for_s
    return CycleTurn(None if wait_s is None else f"{store.where}/{LOCK_NAME}", wait_s or 0.0)


def abandon(opened: Iterable[OpenedStore]) -> None:
    """Close what was opened, without an error that would hide the first one."""
    for each in opened:
        with contextlib.suppress(SpectorError):
            each.close()
