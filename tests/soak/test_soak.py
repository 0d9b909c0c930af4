"""A store that lives for a while neither grows, nor slows down, nor says what is not so."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.crash.harness import in_fresh_process
from tests.proof import Proof
from tests.proof import seed as seed_or
from tests.soak.board import Board, Times, timed
from tests.soak.measure import Process, drift, slope
from tests.soak.run import NOISE_MIB, SLOWER, Sample, _growth, _slowing

#: the rest of what a soak reports goes to the row of long runs
_BESIDE_A_WRITER = ("violations", "reader_seconds", "looks")


def _soak(seconds: float, proof: Proof, **more: Any) -> dict[str, Any]:
    found: dict[str, Any] = in_fresh_process(
        "tests.soak.run:soak", seconds=seconds, seed=seed_or(1), timeout_s=seconds + 400, **more
    )
    wrong = found.pop("wrong")
    texts = {
        k: str(v)
        for k, v in found.items()
        if "_ms" in k or "_to_" in k or "max" in k or "per_hour" in k
    }
    counts = {k: v for k, v in found.items() if k not in texts and not k.endswith("recalls")}
    proof("T31", **counts, **texts)
    p99 = {
        f"p99_ms_{who}_writer": str(found[f"{way}_p99_ms"])
        for who, way in (("with", "beside"), ("without", "alone"))
    }
    proof("T13", **{name: found.get(name, 0) for name in _BESIDE_A_WRITER}, **p99)
    assert wrong == [], f"SPECTOR_SEED={seed_or(1)}"
    assert found["violations"] == 0
    return found


def test_a_soak_of_seconds_finds_nothing_wrong(proof: Proof) -> None:
    found = _soak(5, proof, memories=500)
    assert found["changes"] >= 50
    assert found["looks"] >= 50
    assert 60 * found["minutes"] >= 4.5, "the page counts these"


@pytest.mark.slow
@pytest.mark.longest
@pytest.mark.timeout(0)
def test_a_soak_finds_neither_growth_nor_violations(proof: Proof, tmp_path: Path) -> None:
    minutes = float(os.environ.get("SPECTOR_SOAK_MINUTES", "30"))
    table = os.environ.get("SPECTOR_SOAK_CSV", str(tmp_path / "soak.csv"))
    found = _soak(60 * minutes, proof, table=table, nice=10)
    assert found["daemon_cycles"] > 0
    assert len(Path(table).read_text().splitlines()) > 20


# -- the judge itself ---------------------------------------------------------------------------

MIB = 1 << 20
#: the second half of a soak of half an hour
SECONDS = np.arange(900, 1800, 7.5)


def _heap(seed: int) -> NDArray[np.float64]:
    """Bytes of a heap that does not grow: it wanders, and neighbours are alike."""
    rng, at, out = np.random.default_rng(seed), 0.0, []
    for _ in SECONDS:
        at = 0.8 * at + 0.06 * rng.standard_normal()
        out.append(40 + at + 2 * (rng.random() < 0.03))
    return np.array(out) * MIB


@pytest.mark.parametrize("seed", range(4))
def test_a_heap_that_wanders_is_no_leak(seed: int) -> None:
    assert not slope(SECONDS, _heap(seed)).grows(NOISE_MIB * MIB)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("leak", [3.0, 5.0])
def test_a_leak_is_told_with_an_interval_that_leaves_nought_out(seed: int, leak: float) -> None:
    found = slope(SECONDS, _heap(seed) + leak * MIB * SECONDS / 3600)
    assert found.grows(0)
    assert found.low <= found.per_hour <= found.high
    assert abs(found.per_hour - leak * MIB) < 2 * MIB
    assert found.grows(NOISE_MIB * MIB) == (leak > NOISE_MIB)


def test_a_cache_that_has_filled_is_no_leak() -> None:
    filled = np.minimum(SECONDS - 900, 150) / 150 * MIB
    assert not slope(SECONDS, _heap(1) + filled).grows(NOISE_MIB * MIB)


def test_a_few_samples_prove_no_growth() -> None:
    assert not slope([0, 1], [0, 1e12]).grows(1)
    assert not slope([1] * 20, range(20)).grows(1)


@pytest.mark.parametrize("leak", [0, 40])
def test_a_soak_fails_by_own_memory_and_not_by_mapped_files(leak: int) -> None:
    """Mechanism: what was resident was noted and judged against nothing."""
    samples = []
    for seconds, own in zip(SECONDS, _heap(3), strict=True):
        grown = Process(
            rss=int(own + 900 * MIB * seconds / 3600),
            own=int(own + leak * MIB * seconds / 3600),
            descriptors=11,
            maps=370,
        )
        still = Process(rss=int(own), own=int(own), descriptors=11, maps=370)
        samples.append(Sample(seconds, still, [still, grown], {"total": 1 << 20}, 1, 1, 1))
    out: dict[str, Any] = {}
    wrong = _growth(samples, samples, out)
    assert [line.split(" by ")[0] for line in wrong] == ["own of the reader 1 grows"] * bool(leak)
    assert out["reader_own_per_hour"].count(" to ") == 1


# -- the judge of how long things take -----------------------------------------------------------

#: the time beside the writer, in samples, and what is done between two of them
_BESIDE, _DONE = 216, 400


def _took(
    seed: int, growth: Callable[[float], float], done: int = _DONE
) -> list[NDArray[np.int64]]:
    """Counts after each sample of work that takes a millisecond, times ``growth`` of its age.

    The machine is shared: for a fifth of the time, minutes in a row, a neighbour makes all of it
    twice as long, and a hundredth of it is slow anyhow.
    """
    rng, times, out = np.random.default_rng(seed), Times(np.zeros(512, np.int64)), []
    busy = rng.random(_BESIDE // 9) < 0.2
    for n in range(_BESIDE):
        each = 1e-3 * rng.lognormal(0, 0.4, done) * growth((n + 0.5) / _BESIDE)
        each *= 1 + busy[n // 9 % len(busy)]
        each[rng.random(done) < 0.015] *= 30
        for seconds in each:
            times.add(float(seconds))
        out.append(times.seen())
    return out


def _judged(wall: list[NDArray[np.int64]], work: list[NDArray[np.int64]]) -> tuple[set[str], Any]:
    """What is said to grow of a soak whose recalls and changes took so long."""
    still = Process(rss=0, own=0, descriptors=0, maps=0)
    steady = [
        Sample(
            7.5 * n,
            still,
            [],
            {},
            1,
            1,
            1,
            {
                "change": wall[n],
                "recall": wall[n],
                "change_work": work[n],
                "recall_work": work[n],
            },
        )
        for n in range(int(0.1 * _BESIDE), _BESIDE)
    ]
    out: dict[str, Any] = {}
    wrong = _slowing(steady, out)
    return {line.split(" grows")[0] for line in wrong}, out


@pytest.mark.parametrize("seed", range(3))
def test_work_that_takes_as_long_as_ever_beside_neighbours_is_not_slowing_down(seed: int) -> None:
    counts = _took(seed, lambda age: 1.0)
    wrong, out = _judged(counts, counts)
    assert wrong == set()
    assert len(out) == 2 * len(SLOWER)
    assert all(text.startswith("x ") and "fails above" in text for text in out.values())


@pytest.mark.parametrize("seed", range(3))
def test_work_that_takes_longer_the_more_was_ever_written_is_told(seed: int) -> None:
    grows = _took(seed, lambda age: 0.05 + age)
    assert _judged(grows, grows)[0] >= {"change_work_p50", "recall_work_p50", "change_p50"}
    found = drift(grows[21:], 0.5)
    assert found is not None
    assert 2.5 < found.times < 4.5


@pytest.mark.parametrize(("times", "told"), [(1.25, set()), (2.0, {"work"}), (6.0, {"work", ""})])
def test_what_is_computed_may_grow_by_less_than_what_is_waited_for(
    times: float, told: set[str]
) -> None:
    grows = _took(1, lambda age: 1 + (times - 1) * (age > 0.6))
    wrong, _ = _judged(grows, grows)
    assert {"work" if "work" in name else "" for name in wrong} == told


def test_a_tail_that_grows_while_the_median_stands_is_told() -> None:
    """Pauses that come to be ten times as long, for two in a hundred."""
    rng, times, counts = np.random.default_rng(5), Times(np.zeros(512, np.int64)), []
    for n in range(_BESIDE):
        pause = 0.02 if n < _BESIDE / 2 else 0.2
        for slow in rng.random(_DONE) < 0.02:
            times.add(pause if slow else 1e-3)
        counts.append(times.seen())
    wrong, _ = _judged(counts, _took(2, lambda age: 1.0))
    assert wrong == {"change_p99", "recall_p99"}


def test_a_few_recalls_prove_nothing_and_are_said_to() -> None:
    few = _took(1, lambda age: 1.0, done=3)
    assert drift(few, 0.5) is None
    wrong, _ = _judged(few, few)
    assert len(wrong) == 2 * len(SLOWER)
    assert all(line.startswith("too little was counted") for line in wrong)


def test_a_soak_times_every_change_and_every_recall() -> None:
    """Mechanism: a judge that is given nothing finds nothing."""
    board = Board(2)
    changes = board.changes, board.changes_own, board.changes_work
    with timed(*changes), timed(board.beside[1], board.beside_own[1], board.beside_work[1]):
        time.sleep(0.02)
    seen = board.times()
    assert {name: int(counts.sum()) for name, counts in seen.items()} == dict.fromkeys(seen, 1)
    for who in ("change", "recall"):
        assert Times.quantile(seen[who], 0.5) >= 0.019
        assert Times.quantile(seen[f"{who}_work"], 0.5) < 0.015
    for each in (board.changes, board.beside[1]):
        assert Times.quantile(each.seen(), 0.5) >= 0.019


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/thread-self/schedstat").exists(), reason="no schedstat")
def test_time_in_the_queue_for_a_core_is_not_the_programs_own() -> None:
    """Mechanism: in a soak beside other tests, recalls took 3.4 times as long at the end."""
    wall, own, work = (Times(np.zeros(512, np.int64)) for _ in range(3))
    core = min(os.sched_getaffinity(0))
    spinners = [
        subprocess.Popen(
            [
                sys.executable,
                "-c",
                f"import os\nos.sched_setaffinity(0, {{{core}}})\n"
                "print(flush=True)\nwhile True: pass",
            ],
            stdout=subprocess.PIPE,
        )
        for _ in range(3)
    ]
    before = os.sched_getaffinity(0)
    try:
        for each in spinners:
            assert each.stdout is not None
            each.stdout.readline()
        os.sched_setaffinity(0, {core})
        with timed(wall, own, work):
            ends = time.thread_time() + 0.3
            while time.thread_time() < ends:
                pass
    finally:
        os.sched_setaffinity(0, before)
        for each in spinners:
            each.kill()
            each.communicate()
    assert Times.quantile(wall.seen(), 0.5) > 2 * Times.quantile(own.seen(), 0.5)
    assert Times.quantile(own.seen(), 0.5) < 1.5 * Times.quantile(work.seen(), 0.5)
