"""One step of a run in its own process; the last line printed is its JSON report.

``python -m bench.rivals.child VERB FOLDER NAME RECORDS CELL_S``
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np

from bench.measure import settle
from bench.rivals import metrics, workload
from bench.rivals.contender import Entry, UnsupportedError
from bench.rivals.pair import pair
from bench.rivals.registry import entry_named
from bench.rivals.spector_store import write_formula
from bench.rivals.workload import SHARES, K, Share, Workload, truth_name

#: how many neighbours a rival fetches before it ranks them again, as multiples of k
FETCHES: Final = (1, 10, 100)
#: the questions of the trap: the fused ranking of a profile, all records or those of a tag
TRAPS: Final = {
    "balanced": ("balanced", SHARES[0]),
    "importance": ("importance", SHARES[0]),
    "balanced, tag of 1 %": ("balanced", SHARES[2]),
}
_FEWEST: Final = 5
#: a share of ten of fewer cues than this would be mostly chance
_FEWEST_TRAPPED: Final = 20
_WARM_UP: Final = 3


def main(verb: str, folder: str, name: str, records: str, cell_s: str) -> None:
    where = Path(folder)
    steps: dict[str, Callable[[], dict[str, Any]]] = {
        "prepare": lambda: workload.prepare(where, int(records)),
        "truth": lambda: truth(workload.load(where)),
        "build": lambda: build(workload.load(where), entry_named(name)),
        "query": lambda: Asked(workload.load(where), entry_named(name), float(cell_s)).report(),
        "pair": lambda: pair(workload.load(where), float(cell_s)),
    }
    try:
        report = steps[verb]()
    except (ImportError, UnsupportedError) as error:
        report = {"reason": f"{type(error).__name__}: {error}".splitlines()[0][:300]}
    print(json.dumps(report))
    # engines with threads of their own have been seen to hang in their destructors
    sys.stdout.flush()
    os._exit(0)


def truth(work: Workload) -> dict[str, Any]:
    write_formula(work, work.store("spector"))
    return workload.find_truth(work)


def build(work: Workload, entry: Entry) -> dict[str, Any]:
    """Store everything; both cores, as all engines use what they find when they build."""
    contender, place = entry.make(), work.store(entry.store)
    contender.imports()
    place.mkdir(parents=True)
    begin = time.perf_counter()
    extra = contender.build(work, place)
    taken = time.perf_counter() - begin
    # blocks and not lengths: files may be preallocated, and holes cost nothing
    size = sum(each.stat().st_blocks * 512 for each in place.rglob("*") if each.is_file())
    return {"build_s": taken, "bytes_per_record": size / work.records, **(extra or {})}


class Asked:
    """A contender that is open, and everything it is asked with one thread."""

    def __init__(self, work: Workload, entry: Entry, cell_s: float) -> None:
        self.work, self.entry, self.cell_s, self.truth = work, entry, cell_s, work.truth()
        self.contender: Any = entry.make()
        self.contender.imports()
        begin = time.perf_counter()
        self.contender.open(work, work.store(entry.store))
        opened = time.perf_counter()
        self.contender.ask(work.cues[-1], K, SHARES[0])()
        self.opening = {"open_s": opened - begin, "first_answer_s": time.perf_counter() - opened}

    def report(self) -> dict[str, Any]:
        """All filters; efforts, where there are any; the truncation trap, or the fused ranking."""
        ranking = self.entry.ranking
        out: dict[str, Any] = {
            **self.opening,
            "filters": {
                share.label: _or_reason(self.ranked, ranking, share, _FEWEST) for share in SHARES
            },
        }
        if self.entry.efforts:
            out["efforts"] = {str(each): self._at(each) for each in self.entry.efforts}
        if ranking == "cosine":
            out["trap"] = {str(times): _or_reason(self.trap, times * K) for times in FETCHES}
        else:
            out["direct"] = {}
            for title, (profile, only) in TRAPS.items():
                self.contender.profile = profile
                out["direct"][title] = self.ranked(profile, only, _FEWEST_TRAPPED)
        return out

    def ranked(self, ranking: str, share: Share, fewest: int) -> dict[str, Any]:
        """Times of the top k by a ranking, and how much of the true ones they have."""
        seconds, found = self._timed(share, K, fewest)
        right = self.truth[truth_name(ranking, share)]
        return {**metrics.times_ms(seconds), "recall": metrics.mean_recall(found, right)}

    def _at(self, effort: int) -> dict[str, Any]:
        usual, self.contender.effort = self.contender.effort, effort
        try:
            return _or_reason(self.ranked, "cosine", SHARES[0], _FEWEST)
        finally:
            self.contender.effort = usual

    def trap(self, fetched: int) -> dict[str, Any]:
        """How much of the fused top k is among the re-ranked nearest ``fetched``."""
        work = self.work
        seconds, neighbours = self._timed(SHARES[0], fetched, _FEWEST_TRAPPED)
        out: dict[str, Any] = {
            "fetch_p50_ms": metrics.times_ms(seconds)["p50_ms"],
            "cues": len(neighbours),
        }
        for title, (name, only) in TRAPS.items():
            formula, kept = work.formulas()[name], work.kept(only)
            best = []
            for n, found in enumerate(neighbours):
                rows = [row for row in found if kept is None or kept[row]]
                sims = work.vectors[np.asarray(rows, np.int64)] @ work.cues[n]
                best.append(metrics.reranked(rows, sims, formula, K))
            out[title] = metrics.mean_recall(best, self.truth[truth_name(name, only)])
        return out

    def _timed(self, share: Share, k: int, fewest: int) -> tuple[list[float], list[list[int]]]:
        """Seconds of calls that cycle over the cues, and the rows that the first lap found.

        Every cue once when the budget allows, ``fewest`` calls at the least, two laps at the most:
        answers do not change, so more laps would only repeat the same cases.
        """
        asks = [self.contender.ask(cue, k, share) for cue in self.work.cues]
        for ask in asks[-_WARM_UP:]:
            ask()
        settle()
        seconds: list[float] = []
        answers: list[Any] = []
        ends = time.perf_counter() + self.cell_s
        while len(seconds) < 2 * len(asks):
            ask = asks[len(seconds) % len(asks)]
            begin = time.perf_counter()
            answer = ask()
            now = time.perf_counter()
            seconds.append(now - begin)
            if len(answers) < len(asks):
                answers.append(answer)
            if now > ends and len(seconds) >= fewest:
                break
        return seconds, [self.contender.rows(answer, share)[:k] for answer in answers]


def _or_reason(measure: Callable[..., dict[str, Any]], *arguments: Any) -> dict[str, Any]:
    """The figures, or why there are none: an engine that fails one case may do the others."""
    try:
        return measure(*arguments)
    except UnsupportedError as error:
        return {"reason": str(error)}
    except Exception as error:  # any engine's own error is a result here
        return {"reason": f"{type(error).__name__}: {error}".splitlines()[0][:200]}


if __name__ == "__main__":
    main(*sys.argv[1:])
