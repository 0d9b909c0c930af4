"""spector and faiss SQ8 flat in turns, cue by cue, in one process on one core.

Neighbours on a machine change from second to second; what both met in the same round divides out.
Each way of asking spector also finds the caches as faiss left them, which is harder on the smaller
one than running alone is, and closer to how an agent asks; never as another way left them that has
just read the same records for the same cue.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from bench.measure import settle
from bench.rivals import metrics
from bench.rivals.registry import entry_named
from bench.rivals.spector_store import SpectorStore
from bench.rivals.workload import PROFILES, SHARES, K, Share, Workload, truth_name

YARDSTICK: Final = "faiss-sq8"
_FEWEST: Final = 7


def pair(work: Workload, budget_s: float) -> dict[str, Any]:
    """Per filter: times of every way to ask spector, and the yardstick's time over each."""
    profile = PROFILES[0]
    ways: dict[str, Any] = {
        YARDSTICK: entry_named(YARDSTICK).make(),
        "default": SpectorStore(profile, k_gated=K),
        "as recall asks": SpectorStore(profile),
        "bitmap": SpectorStore(profile, "bitmap"),
        "exact": SpectorStore(profile, exact=True, k_gated=K),
        "cosine only": SpectorStore("similarity", k_gated=K),
    }
    for name, way in ways.items():
        way.imports()
        way.open(work, work.store(YARDSTICK if name == YARDSTICK else "spector"))
    found = {share.label: _share(work, ways, share, budget_s) for share in SHARES}
    return {"yardstick": YARDSTICK, "profile": profile, "k": K, "filters": found}


def _share(work: Workload, ways: dict[str, Any], share: Share, budget_s: float) -> dict[str, Any]:
    skipped = () if share.column else ("as recall asks", "bitmap")
    asks = {
        name: [way.ask(cue, K, share) for cue in work.cues]
        for name, way in ways.items()
        if name not in skipped
    }
    seconds, cpu, answers = _in_turns(asks, budget_s * len(asks))
    right = work.truth()[truth_name(PROFILES[0], share)]
    rows = {name: [ways[name].rows(each, share)[:K] for each in answers[name]] for name in asks}
    exact = np.full((len(rows["exact"]), K), metrics.NOBODY, np.int64)
    for n, row in enumerate(rows["exact"]):
        exact[n, : len(row)] = row
    out: dict[str, Any] = {
        name: {
            **metrics.times_ms(seconds[name]),
            "cpu_p50_ms": metrics.times_ms(cpu[name])["p50_ms"],
        }
        for name in asks
    }
    for name in out:
        if name == YARDSTICK:
            continue
        out[name] |= metrics.paired_ratio(seconds[YARDSTICK], seconds[name])
        # neighbours on the machine cannot make these two look better than they are
        out[name]["ratio_best"] = out[YARDSTICK]["best_ms"] / out[name]["best_ms"]
        out[name]["ratio_cpu"] = out[YARDSTICK]["cpu_p50_ms"] / out[name]["cpu_p50_ms"]
        if name != "cosine only":
            out[name]["recall"] = metrics.mean_recall(rows[name], right)
            # what the promise is about: the estimate against the same scores without it
            out[name]["recall_of_exact"] = metrics.mean_recall(rows[name], exact)
    return out


def _in_turns(
    asks: dict[str, list[Callable[[], Any]]], budget_s: float
) -> tuple[dict[str, list[float]], dict[str, list[float]], dict[str, list[Any]]]:
    """Rounds in which everyone answers the same cue; who begins changes from round to round.

    The first of ``asks`` is asked before each of the others, and counts once a round.

    Returns wall time and processor time in seconds, and the answers.
    """
    names = list(asks)
    cues = len(asks[names[0]])
    for name in names:
        for ask in asks[name][-2:]:
            ask()
    settle()
    seconds: dict[str, list[float]] = {name: [] for name in names}
    cpu: dict[str, list[float]] = {name: [] for name in names}
    answers: dict[str, list[Any]] = {name: [] for name in names}
    ends = time.perf_counter() + budget_s
    for n in range(cues):
        before = ""
        for name in names[n % len(names) :] + names[: n % len(names)]:
            if name != names[0] != before:
                asks[names[0]][n]()
            before = name
            ask = asks[name][n]
            cpu_begin = time.process_time()
            begin = time.perf_counter()
            answer = ask()
            seconds[name].append(time.perf_counter() - begin)
            cpu[name].append(time.process_time() - cpu_begin)
            answers[name].append(answer)
        if time.perf_counter() > ends and n + 1 >= _FEWEST:
            break
    return seconds, cpu, answers
