"""One step of a run in its own process; the last line printed is its JSON report.

``python -m bench.rivals.child STEP --folder WORK [--name CONTENDER] [--records N] ...``
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from bench.measure import settle
from bench.rivals import metrics, workload
from bench.rivals.contenders import Contender, Entry, UnsupportedError, entry_named
from bench.rivals.workload import PROFILES, SHARES, K, Share, Workload, truth_name

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


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parse(arguments)
    folder = Path(options.folder)
    steps: dict[str, Callable[[], dict[str, Any]]] = {
        "prepare": lambda: workload.prepare(folder, options.records),
        "formula": lambda: _formula(folder),
        "truth": lambda: workload.find_truth(workload.load(folder)),
        "build": lambda: build(workload.load(folder), entry_named(options.name)),
        "query": lambda: query(workload.load(folder), entry_named(options.name), options),
        "query2": lambda: query2(workload.load(folder), entry_named(options.name), options),
        "pair": lambda: _pair(workload.load(folder), options),
    }
    try:
        report = steps[options.step]()
    except (ImportError, UnsupportedError) as error:
        report = {"reason": f"{type(error).__name__}: {error}".splitlines()[0][:300]}
    print(json.dumps(report))
    # engines with threads of their own have been seen to hang in their destructors
    sys.stdout.flush()
    os._exit(0)


def build(work: Workload, entry: Entry) -> dict[str, Any]:
    """Store everything; both cores, as all engines use what they find when they build."""
    contender = entry.make()
    contender.imports()
    place = store_folder(work, entry)
    begin = time.perf_counter()
    extra = contender.build(work, place)
    taken = time.perf_counter() - begin
    return {
        "build_s": taken,
        "bytes_per_record": allocated_bytes(place) / work.records,
        **(extra or {}),
    }


def query(work: Workload, entry: Entry, options: argparse.Namespace) -> dict[str, Any]:
    """Open, then all filters and, for rivals, the truncation trap; one thread."""
    contender, report = _opened(work, entry, threads=1)
    report["filters"] = {}
    truth = work.truth()
    for share in SHARES:
        report["filters"][share.label] = _or_reason(
            lambda share=share: _filtered(contender, entry, work, share, truth, options)
        )
    if entry.efforts:
        report["efforts"] = _efforts(contender, entry, work, truth, options)
    if entry.neighbours:
        report["trap"] = {
            str(times): _or_reason(
                lambda times=times: _trap(contender, work, times * K, truth, options)
            )
            for times in FETCHES
        }
    if entry.ranking != "cosine":
        report["direct"] = {
            title: _direct(contender, work, name, only, truth, options)
            for title, (name, only) in TRAPS.items()
        }
    return report


def query2(work: Workload, entry: Entry, options: argparse.Namespace) -> dict[str, Any]:
    """Two cores: one caller whose engine may use two threads, then two callers with one each."""
    contender, report = _opened(work, entry, threads=2)
    report["one_caller"], report["two_callers"] = {}, {}
    for share in (SHARES[0], SHARES[2]):
        report["one_caller"][share.label] = _or_reason(
            lambda share=share: metrics.times_ms(
                _timed(_asks(contender, work, share, K), options.cell_s)[0]
            )
        )
    contender.close()
    contender, _ = _opened(work, entry, threads=1)
    for share in (SHARES[0], SHARES[2]):
        report["two_callers"][share.label] = _or_reason(
            lambda share=share: _throughput(contender, work, share, options.cell_s)
        )
    return report


def store_folder(work: Workload, entry: Entry) -> Path:
    return work.folder / "stores" / entry.store


def allocated_bytes(folder: Path) -> int:
    """Blocks and not lengths: files may be preallocated, and holes cost nothing."""
    return sum(
        os.stat(os.path.join(directory, name)).st_blocks * 512
        for directory, _, names in os.walk(folder)
        for name in names
    )


def _opened(work: Workload, entry: Entry, threads: int) -> tuple[Contender, dict[str, Any]]:
    contender = entry.make()
    contender.imports()
    begin = time.perf_counter()
    contender.open(work, store_folder(work, entry), threads)
    opened = time.perf_counter()
    contender.ask(work.cues[-1], K, SHARES[0])()
    first = time.perf_counter()
    return contender, {"open_s": opened - begin, "first_answer_s": first - opened}


def _asks(contender: Contender, work: Workload, share: Share, k: int) -> list[Any]:
    return [contender.ask(cue, k, share) for cue in work.cues]


def _filtered(
    contender: Contender,
    entry: Entry,
    work: Workload,
    share: Share,
    truth: dict[str, Any],
    options: argparse.Namespace,
) -> dict[str, Any]:
    seconds, answers = _timed(_asks(contender, work, share, K), options.cell_s)
    found = [contender.rows(answer, share)[:K] for answer in answers]
    right = truth[truth_name(entry.ranking, share)]
    return {**metrics.times_ms(seconds), "recall": metrics.mean_recall(found, right)}


def _efforts(
    contender: Any,
    entry: Entry,
    work: Workload,
    truth: dict[str, Any],
    options: argparse.Namespace,
) -> dict[str, Any]:
    """The same without a filter at other efforts; afterwards it is as it was."""
    usual, told = contender.effort, {}
    try:
        for effort in entry.efforts:
            contender.effort = effort
            told[str(effort)] = _or_reason(
                lambda: _filtered(contender, entry, work, SHARES[0], truth, options)
            )
    finally:
        contender.effort = usual
    return told


def _trap(
    contender: Contender,
    work: Workload,
    fetched: int,
    truth: dict[str, Any],
    options: argparse.Namespace,
) -> dict[str, Any]:
    """How much of the fused top k is among the re-ranked nearest ``fetched``."""
    share = SHARES[0]
    asks = _asks(contender, work, share, fetched)
    seconds, answers = _timed(asks, options.cell_s, fewest=_FEWEST_TRAPPED)
    neighbours = [contender.rows(answer, share)[:fetched] for answer in answers]
    out: dict[str, Any] = {"fetch_p50_ms": metrics.times_ms(seconds)["p50_ms"]}
    out["cues"] = len(neighbours)
    for title, (name, only) in TRAPS.items():
        formula, kept = work.formulas()[name], work.kept(only)
        best = []
        for n, found in enumerate(neighbours):
            rows = [row for row in found if kept is None or kept[row]]
            sims = work.vectors[np.asarray(rows, np.int64)] @ work.cues[n]
            best.append(metrics.reranked(rows, sims, formula, K))
        out[title] = metrics.mean_recall(best, truth[truth_name(name, only)])
    return out


def _direct(
    contender: Any,
    work: Workload,
    profile: str,
    share: Share,
    truth: dict[str, Any],
    options: argparse.Namespace,
) -> dict[str, Any]:
    """The fused top k from an engine that ranks by it: one call, nothing fetched beforehand."""
    contender.profile = profile
    asks = _asks(contender, work, share, K)
    seconds, answers = _timed(asks, options.cell_s, fewest=_FEWEST_TRAPPED)
    found = [contender.rows(answer, share)[:K] for answer in answers]
    right = truth[truth_name(profile, share)]
    return {**metrics.times_ms(seconds), "recall": metrics.mean_recall(found, right)}


def _timed(
    asks: Sequence[Callable[[], Any]], budget_s: float, fewest: int = _FEWEST
) -> tuple[list[float], list[Any]]:
    """Seconds of calls that cycle over the cues, and the answers of the first lap.

    Every cue once when the budget allows, ``fewest`` calls at the least, two laps at the most:
    answers do not change, so more laps would only repeat the same cases.
    """
    for ask in asks[-_WARM_UP:]:
        ask()
    settle()
    seconds: list[float] = []
    answers: list[Any] = []
    ends = time.perf_counter() + budget_s
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
    return seconds, answers


def _throughput(
    contender: Contender, work: Workload, share: Share, budget_s: float
) -> dict[str, Any]:
    """Answers a second of one caller, then of two callers at once."""
    asks = _asks(contender, work, share, K)
    rates = {}
    for callers in (1, 2):
        done = [0] * callers
        stop = threading.Event()
        ready = threading.Barrier(callers + 1)

        def run(
            caller: int,
            done: list[int] = done,
            stop: threading.Event = stop,
            ready: threading.Barrier = ready,
        ) -> None:
            asks[caller]()
            ready.wait()
            n = caller * len(asks) // 2
            while not stop.is_set():
                asks[n % len(asks)]()
                n += 1
                done[caller] += 1

        threads = [threading.Thread(target=run, args=(n,), daemon=True) for n in range(callers)]
        for thread in threads:
            thread.start()
        ready.wait()
        begin = time.perf_counter()
        time.sleep(budget_s)
        stop.set()
        for thread in threads:
            thread.join()
        # calls that were under way when time was up count, and so does their time
        rates[callers] = sum(done) / (time.perf_counter() - begin)
    return {"one_per_s": rates[1], "two_per_s": rates[2], "speed_up": rates[2] / rates[1]}


def _or_reason(measure: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """The figures, or why there are none: an engine that fails one case may do the others."""
    try:
        return measure()
    except UnsupportedError as error:
        return {"reason": str(error)}
    except Exception as error:  # any engine's own error is a result here
        return {"reason": f"{type(error).__name__}: {error}".splitlines()[0][:200]}


def _formula(folder: Path) -> dict[str, Any]:
    from bench.rivals.contenders.spector_store import write_formula

    work = workload.load(folder)
    return write_formula(work, store_folder(work, entry_named("spector")))


def _pair(work: Workload, options: argparse.Namespace) -> dict[str, Any]:
    from bench.rivals.pair import pair

    return pair(work, options.cell_s, profiles=PROFILES)


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.rivals.child")
    parser.add_argument(
        "step", choices=["prepare", "formula", "truth", "build", "query", "query2", "pair"]
    )
    parser.add_argument("--folder", required=True)
    parser.add_argument("--name", default="")
    parser.add_argument("--records", type=int, default=0)
    parser.add_argument("--cell-s", type=float, default=2.0, dest="cell_s")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
