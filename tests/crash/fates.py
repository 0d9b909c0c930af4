"""Which power cuts of a trace are worth building: at which moments, and what each leaves."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import numpy as np

from tests.crash.disk import KEEP, ZEROS, Fate, Item
from tests.crash.trace import MARK, Call

__all__ = ["KINDS", "kind_of", "newest", "points", "sampled", "subsets", "tears"]

#: with at most so many pending changes, every subset is built
EXHAUSTIVE = 8
_BLOCKS = (512, 4096)
#: what may have become of pending changes, each worse than those before it
KINDS = ("kept", "dropped", "reordered", "sizes", "torn")
_SILENT = {"open", "close", "share"}


def points(calls: Sequence[Call], *, every: bool = False) -> list[int]:
    """Numbers of calls after which a cut is worth building: before each sync, when most is
    pending, and after each mark and each sync, when something was just promised.

    ``every``: after each call that changes something as well, where a kill may come, too.
    """
    found = {0, len(calls)}
    for n, call in enumerate(calls):
        if call.kind == "sync":
            found |= {n, n + 1}
        elif call.kind in (MARK, "unlink", "rename") or (every and call.kind not in _SILENT):
            found.add(n + 1)
    return sorted(found)


def kind_of(items: Sequence[Item], fates: dict[Item, Fate]) -> str:
    """The worst that became of any: all kept; the last ones dropped; kept without what came
    before it; there in size only; torn."""
    found = [fates.get(item) for item in items]
    if any(isinstance(fate, tuple) for fate in found):
        return "torn"
    if ZEROS in found:
        return "sizes"
    if None not in found:
        return "kept"
    return "reordered" if KEEP in found[found.index(None) :] else "dropped"


def sampled(items: Sequence[Item], rng: np.random.Generator) -> Iterator[dict[Item, Fate]]:
    """Fates of pending changes, of every kind by turns in any order: all lost and all kept, subsets
    of the few newest, these torn, and what chance makes of all."""
    if not items:
        yield {}
        return
    kinds: list[Iterator[dict[Item, Fate]]] = [
        iter(({}, dict.fromkeys(items, KEEP))),
        subsets(items, rng),
        tears(items, rng),
        _chances(items, rng),
    ]
    while True:
        for n in rng.permutation(len(kinds)).tolist():
            if (fates := next(kinds[n], None)) is not None:
                yield fates


def _chances(items: Sequence[Item], rng: np.random.Generator) -> Iterator[dict[Item, Fate]]:
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
    """Every subset of the newest, in any order; what is older lost, and kept."""
    few = newest(items)
    olds: list[Fate] = [None, KEEP] if len(few) < len(items) else [None]
    choices = list(itertools.product(olds, itertools.product((None, KEEP), repeat=len(few))))
    for number in rng.permutation(len(choices)).tolist() if few else ():
        old, fates = choices[number]
        yield {**dict.fromkeys(items, old), **dict(zip(few, fates, strict=True))}


def tears(items: Sequence[Item], rng: np.random.Generator) -> Iterator[dict[Item, Fate]]:
    """Each write of the newest torn in every way, in any order; all else lost, all else kept, or
    all before it kept and all after it lost."""
    few = newest(items) or items[-EXHAUSTIVE:]
    choices = [
        (number, base, how)
        for number in range(len(items) - len(few), len(items))
        if items[number].kind == "write"
        for base in range(3)
        for how in range(4)
    ]
    for choice in rng.permutation(len(choices)).tolist():
        number, base, how = choices[choice]
        kept = items[: (0, len(items), number)[base]]
        yield {**dict.fromkeys(kept, KEEP), items[number]: _part(items[number], rng, how)}


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
    return {**dict.fromkeys(items, old), **{i: (None, KEEP)[rng.integers(2)] for i in few}}


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
