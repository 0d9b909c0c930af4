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

from bench.measure import settle
from bench.rivals import metrics
from bench.rivals.contenders import entry_named
from bench.rivals.contenders.spector_store import SpectorStore
from bench.rivals.workload import SHARES, K, Share, Workload, truth_name

YARDSTICK: Final = "faiss-sq8"
_FEWEST: Final = 7


def pair(work: Workload, budget_s: float, profiles: tuple[str, ...]) -> dict[str, Any]:
    """Per filter: times of every way to ask spector, and the yardstick's time over each."""
    yardstick = entry_named(YARDSTICK).make()
    yardstick.imports()
    yardstick.open(work, work.folder / "stores" / YARDSTICK, 1)
    store = work.folder / "stores" / "spector"
    profile = profiles[0]
    ways = {
        "default": SpectorStore(profile, k_gated=K),
        "as recall asks": SpectorStore(profile),
        "bitmap": SpectorStore(profile, "bitmap"),
        "confidence 3": SpectorStore(profile, k_gated=K, confidence=3.0),
        "exact": SpectorStore(profile, exact=True, k_gated=K),
        "straight": SpectorStore(profile, exact=True, k_gated=K, straight=True),
        "cosine only": SpectorStore("similarity", k_gated=K),
    }
    for way in ways.values():
        way.imports()
        way.open(work, store, 1)
    truth = work.truth()
    found = {}
    for share in SHARES:
        right = truth[truth_name(profile, share)]
        found[share.label] = _share(work, yardstick, ways, share, budget_s, right)
    return {"yardstick": YARDSTICK, "profile": profile, "k": K, "filters": found}


def _share(
    work: Workload,
    yardstick: Any,
    ways: dict[str, SpectorStore],
    share: Share,
    budget_s: float,
    right: Any,
) -> dict[str, Any]:
    skipped = () if share.column else ("as recall asks", "bitmap")
    asked = {name: way for name, way in ways.items() if name not in skipped}
    contenders = {YARDSTICK: yardstick, **asked}
    asks = {
        name: [contender.ask(cue, K, share) for cue in work.cues]
        for name, contender in contenders.items()
    }
    seconds, cpu, answers = _in_turns(asks, budget_s * len(asks))
    rows = {
        name: [contenders[name].rows(answer, share)[:K] for answer in answers[name]]
        for name in asked
    }
    out: dict[str, Any] = {
        name: {
            **metrics.times_ms(seconds[name]),
            "cpu_p50_ms": metrics.times_ms(cpu[name])["p50_ms"],
        }
        for name in asks
    }
    for name in asked:
        out[name] |= metrics.paired_ratio(seconds[YARDSTICK], seconds[name])
        # neighbours on the machine cannot make these two look better than they are
        out[name]["ratio_best"] = out[YARDSTICK]["best_ms"] / out[name]["best_ms"]
        out[name]["ratio_cpu"] = out[YARDSTICK]["cpu_p50_ms"] / out[name]["cpu_p50_ms"]
        if name != "cosine only":
            out[name]["recall"] = metrics.mean_recall(rows[name], right)
            # what the promise is about: the estimate against the same scores without it
            out[name]["recall_of_exact"] = metrics.mean_recall(rows[name], _padded(rows["exact"]))
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


def _padded(rows: list[list[int]]) -> Any:
    import numpy as np

    out = np.full((len(rows), K), metrics.NOBODY, np.int64)
    for n, row in enumerate(rows):
        out[n, : len(row)] = row
    return out
