"""Where the time of a recall goes: the functions of each stage, timed from outside.

Each wrapped call costs a microsecond or two, which its caller is charged with; so the sum is more
than a recall takes by itself, and the table is for proportions.
"""

from __future__ import annotations

import functools
import importlib
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from bench.results import round_to

__all__ = ["stage_table", "stages_of"]

_Spent = dict[str, float]


#: name of a stage -> the functions that it is, as module:owner.name
_STAGES: dict[str, tuple[str, ...]] = {
    "arguments, and everything between the rest": ("spector:Memory.recall",),
    "the snapshot, entered and left; the answer": ("spector.search.searcher:Searcher.recall",),
    "the query": ("spector.search.view.plan:query_of",),
    "time that the cue names": ("spector.recall.recaller:read_cue",),
    "cue into terms, looked up": ("spector.search.evidence.words:LexicalChannel.query",),
    "scan": ("spector.kernel.threads:ParallelKernel.scan",),
    "best by words": ("spector.lexical.view:WordView.best",),
    "candidates and those around them": (
        "spector.search.candidates:features_of",
        "spector.search.candidates:all_features",
    ),
    "scores and cosines": ("kernel:score",),
    "lengths of mixed vectors": ("kernel:blended_norms",),
    "words counted": (
        "spector.lexical.view:WordView.counts",
        "spector.lexical.view:WordView.field_lines",
    ),
    "words weighed with those around": ("kernel:blended_bm25",),
    "evidence added up": ("spector.search.evidence.fusion:Fuser.ranked",),
    "the best sorted": ("spector.search.view.ordering:Ranked._sort",),
    "hits confirmed": ("spector.search.view.confirm:Confirmer.first",),
    "- their rows": ("spector.search.view.confirm:_rows",),
    "names that nobody has": ("spector.search.evidence.signals:names_unknown",),
}


def _places() -> dict[str, tuple[tuple[Any, str], ...]]:
    """Name of a stage -> (owner, name) of its functions that this version has."""
    found = {stage: tuple(filter(None, map(_place, names))) for stage, names in _STAGES.items()}
    return {stage: places for stage, places in found.items() if places}


def _place(dotted: str) -> tuple[Any, str] | None:
    from spector.kernel.dispatch import get_kernel

    module, _, path = dotted.partition(":")
    *owners, name = path.split(".")
    try:
        owner: Any = type(get_kernel()) if module == "kernel" else importlib.import_module(module)
        for each in owners:
            owner = getattr(owner, each)
    except (ModuleNotFoundError, AttributeError):
        return None
    return (owner, name) if hasattr(owner, name) else None


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
        for stage, places in _places().items()
        for owner, name in places
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
