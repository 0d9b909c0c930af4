"""Where the time of a recall goes: the functions of each stage, timed from outside.

Each wrapped call costs a microsecond or two, which its caller is charged with; so the sum is more
than a recall takes by itself, and the table is for proportions.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

import spector
from bench.results import round_to

__all__ = ["stage_table", "stages_of"]

_Spent = dict[str, float]


def _places() -> dict[str, tuple[tuple[Any, str], ...]]:
    """Name of a stage -> the functions that it is."""
    from spector.kernel.choose import get_kernel
    from spector.kernel.parallel import ParallelKernel
    from spector.lexical.view import WordView
    from spector.read import hits, lexical, noticed, ranked, recall, weigh
    from spector.read.fuse import Fuser

    kernel = type(get_kernel())
    return {
        "arguments, and everything between the rest": ((spector.Memory, "recall"),),
        "the snapshot, entered and left; the answer": ((recall.Reader, "recall"),),
        "the query": ((recall, "query_of"),),
        "time that the cue names": ((recall, "_named_time"),),
        "cue into terms, looked up": ((lexical.LexicalChannel, "asked"),),
        "scan": ((ParallelKernel, "scan"),),
        "best by words": ((WordView, "best"),),
        "candidates and those around them": ((weigh, "ground_of"), (weigh, "whole_ground")),
        "scores and cosines": ((ParallelKernel, "score"),),
        "lengths of mixed vectors": ((kernel, "mixed_norms"),),
        "words counted": ((WordView, "counts"), (WordView, "field_lines")),
        "words weighed with those around": ((kernel, "words_around"),),
        "evidence added up": ((Fuser, "ranked"),),
        "the best sorted": ((ranked.Ranked, "_sort"),),
        "hits confirmed": ((hits.Confirmer, "first"),),
        "- their rows": ((hits.Confirmer, "_rows"),),
        "names that nobody has": ((noticed, "knows_names"),),
    }


@contextmanager
def _timed(spent: _Spent) -> Iterator[None]:
    """Charge each stage with the microseconds that are its own, while this is entered."""
    inner: list[float] = []

    def charged(stage: str, call: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(call)
        def timed(*arguments: Any, **options: Any) -> Any:
            inner.append(0.0)
            begin = time.perf_counter()
            try:
                return call(*arguments, **options)
            finally:
                took = time.perf_counter() - begin
                spent[stage] = spent.get(stage, 0.0) + (took - inner.pop()) * 1e6
                if inner:
                    inner[-1] += took

        return timed

    before = [
        (owner, name, getattr(owner, name), name in vars(owner), stage)
        for stage, places in _places().items() for owner, name in places
    ]
    try:
        for owner, name, call, _, stage in before:
            setattr(owner, name, charged(stage, call))
        yield
    finally:
        for owner, name, call, own, _ in before:
            if own:
                setattr(owner, name, call)
            else:
                delattr(owner, name)


def stages_of(calls: list[Callable[[], object]], repeats: int = 3) -> dict[str, float]:
    """Microseconds of each stage, the median over some recalls of the least of each."""
    least: list[_Spent] = [{} for _ in calls]
    spent: _Spent = {}
    with _timed(spent):
        for _ in range(repeats):
            for known, call in zip(least, calls, strict=True):
                spent.clear()
                call()
                for stage, took in spent.items():
                    known[stage] = min(took, known.get(stage, took))
    out = {}
    for stage in _places():
        found = [each.get(stage, 0.0) for each in least]
        if any(found):
            out[stage] = round_to(float(np.median(found)), 4)
    return out


def stage_table(stages: dict[str, float]) -> list[str]:
    """As lines of Markdown."""
    return ["| stage | us p50 |", "|---|---|"] + [
        f"| {stage} | {took:.0f} |" for stage, took in stages.items()
    ]
