"""Which power cuts of a trace are worth building: at which moments, and what each leaves."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import numpy as np

from tests.crash.disk import KEEP, ZEROS, Fate, Item
from tests.crash.trace import MARK, Call

__all__ = ["newest", "points", "sampled", "subsets"]

#: with at most so many pending changes, every subset is built
EXHAUSTIVE = 8
_BLOCKS = (512, 4096)

def points(calls: Sequence[Call]) -> list[int]:
    """Numbers of calls after which a cut is worth building: before each sync, when most is
    pending, and after each mark and each sync, when something was just promised."""
    found = {0, len(calls)}
    for n, call in enumerate(calls):
        if call.kind == "sync":
            found |= {n, n + 1}
        elif call.kind in (MARK, "unlink", "rename"):
            found.add(n + 1)
    return sorted(found)


def sampled(items: Sequence[Item], rng: np.random.Generator) -> Iterator[dict[Item, Fate]]:
    """Fates of pending changes: all lost, all kept, every subset of the few newest; then samples.
    """
    yield {}
    yield dict.fromkeys(items, KEEP)
    if not items:
        return
    yield from subsets(items, rng)
    ways = (_until, _one_else, _by_file, _newest, _any, _any)
    while True:
        yield ways[rng.integers(len(ways))](items, rng)


def newest(items: Sequence[Item]) -> list[Item]:
    """What has been pending for the fewest syncs, as long as it is few: at most EXHAUSTIVE.

    All that is pending, if that is few. What no sync reaches for long, as derived files, would
    otherwise make everything many.
    """
    epochs = sorted({item.epoch for item in items}, reverse=True)
    few: list[Item] = []
    for epoch in epochs:
        more = [item for item in items if item.epoch == epoch]
        if len(few) + len(more) > EXHAUSTIVE:
            break
        few = more + few
    return few


def subsets(items: Sequence[Item], rng: np.random.Generator) -> Iterator[dict[Item, Fate]]:
    """Every subset of the newest, and each torn in every way; what is older lost, and kept."""
    few = newest(items)
    olds: list[Fate] = [None, KEEP] if len(few) < len(items) else [None]
    choices = list(itertools.product(olds, itertools.product((None, KEEP), repeat=len(few))))
    for number in rng.permutation(len(choices)).tolist() if few else ():
        old, fates = choices[number]
        yield {**dict.fromkeys(items, old), **dict(zip(few, fates, strict=True))}
    for item, base, how in itertools.product(few, (None, KEEP), range(4)):
        yield {**dict.fromkeys(items, base), item: _part(item, rng, how)}


def _until(items: Sequence[Item], rng: np.random.Generator) -> dict[Item, Fate]:
    """In order: all before one are kept, it is torn, all after it are lost."""
    at = int(rng.integers(len(items)))
    return {**dict.fromkeys(items[:at], KEEP), items[at]: _part(items[at], rng)}


def _one_else(items: Sequence[Item], rng: np.random.Generator) -> dict[Item, Fate]:
    """One has another fate than all others."""
    at, base = int(rng.integers(len(items))), (None, KEEP)[rng.integers(2)]
    other: Fate = KEEP if base is None else (None, _part(items[at], rng))[rng.integers(2)]
    return {**dict.fromkeys(items, base), items[at]: other}


def _by_file(items: Sequence[Item], rng: np.random.Generator) -> dict[Item, Fate]:
    """What belongs to one file, or is a name, is kept or lost together."""
    luck: dict[int, Fate] = {}
    return {i: luck.setdefault(id(i.node), (None, KEEP)[rng.integers(2)]) for i in items}


def _newest(items: Sequence[Item], rng: np.random.Generator) -> dict[Item, Fate]:
    """Any subset of the newest few; what has been pending for longer is kept or lost as one."""
    few = items[-EXHAUSTIVE:]
    old: Fate = (None, KEEP)[rng.integers(2)]
    return {
        **dict.fromkeys(items, old), **{i: (None, KEEP)[rng.integers(2)] for i in few}
    }


def _any(items: Sequence[Item], rng: np.random.Generator) -> dict[Item, Fate]:
    """Each by itself; some are torn."""
    keep, tear = rng.choice((0.15, 0.5, 0.85)), rng.choice((0.0, 0.1, 0.4))
    return {
        item: _part(item, rng) if rng.random() < tear else KEEP if rng.random() < keep else None
        for item in items
    }


def _part(item: Item, rng: np.random.Generator, how: int | None = None) -> Fate:
    """Some blocks of a write (the first, the last, any), or its size alone; else kept."""
    if item.kind != "write":
        return KEEP
    how = int(rng.integers(4)) if how is None else how
    if how == 3:
        return ZEROS
    block = _BLOCKS[rng.integers(2)]
    edges = [*range(item.offset // block * block + block, item.end, block)]
    if not edges:
        return KEEP if how else None
    cuts = list(itertools.pairwise((item.offset, *edges, item.end)))
    at = int(rng.integers(1, len(cuts)))
    if how == 0:
        return tuple(cuts[:at])
    if how == 1:
        return tuple(cuts[at:])
    return tuple(cut for cut in cuts if rng.random() < 0.5) or None
