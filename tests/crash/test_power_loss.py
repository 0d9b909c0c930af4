"""What is left after a power cut is the store as it was promised (T3), in the right order (T4).

A failure names the workload, the seed, the moment and what was lost, kept and torn; SPECTOR_SEED
repeats or varies the choices.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.crash.fates import KINDS
from tests.crash.shim import in_shimmed_process
from tests.proof import Proof, seed

pytestmark = pytest.mark.crash

#: of each: workload, states in the quick sample, states and seeds of a full run
PLAN = {
    "life": (5, 750, 3),
    "life_relaxed": (3, 600, 3),
    "mixed": (3, 800, 4),
    "mixed_relaxed": (0, 650, 4),
    "bulk": (2, 400, 2),
    "reembed": (2, 500, 2),
    "backup": (2, 700, 3),
    "erase": (3, 400, 1),
    "erase_relaxed": (0, 400, 1),
    "gather": (0, 300, 1),
    "know": (2, 500, 2),
    "know_relaxed": (0, 300, 1),
    "observe": (0, 400, 1),
    "observe_relaxed": (0, 300, 1),
    "merge": (1, 300, 1),
    "keyed": (0, 500, 2),
    "keyed_relaxed": (0, 300, 1),
    "shared": (1, 500, 2),
    "night": (0, 400, 1),
}
#: processes that are killed before the power goes: of each kills and states, as above
KILLED = {
    "life": (1, 8, 16, 600),
    "mixed": (1, 5, 16, 600),
    "mixed_relaxed": (0, 0, 16, 600),
    "reembed": (0, 0, 10, 250),
    "backup": (0, 0, 10, 250),
    "know": (0, 0, 12, 400),
}
#: openings after a power cut, in which it goes again: of each how many and states, as above
RECOVERIES = {
    "life": (0, 0, 16, 400),
    "life_relaxed": (1, 15, 24, 600),
    "mixed_relaxed": (0, 0, 24, 600),
    "mixed": (0, 0, 12, 300),
    "know": (0, 0, 12, 300),
}
#: a full run of one workload takes a minute; a busy machine may be much slower
PATIENCE_S = 3000.0


def _count(results: list[dict[str, Any]], proof: Proof, seeds: str) -> None:
    """Write down what was done, then insist that nothing was wrong and enough was done."""

    def total(name: str) -> int:
        return sum(result.get(name, 0) for result in results)

    wrong = [line for result in results for line in result["wrong"]]
    violations = [line for result in results for line in result["violations"]]
    proof(
        "T3",
        states=total("states"),
        images_built=total("built"),
        cuts=total("cuts"),
        recorded_calls=total("calls"),
        exhausted_cuts=total("exhausted"),
        **{f"states_{kind}": total(f"states_{kind}") for kind in KINDS},
        recoveries_cut=total("recoveries"),
        rewrites_in_recoveries=total("mended"),
        unopenable_or_lost=len(wrong),
        seeds=seeds,
    )
    if searched := total("searched"):
        left = sum("that were erased" in line for line in wrong)
        proof("erasure", disks_after_power_cuts_searched=searched, hits=left)
    proof(
        "T4",
        commits_audited=total("commits"),
        claims_checked=total("claims"),
        partition_writes=total("writes"),
        unlinks=total("unlinks"),
        renames=total("renames"),
        violations=len(violations),
    )
    assert not wrong, "\n\n".join([f"SPECTOR_SEED={seeds}", *wrong])
    assert not violations, "\n".join([f"SPECTOR_SEED={seeds}", *violations])
    assert total("visible") > len(results), "the cuts of a workload left one and the same store"
    assert all(result["commits"] > 1 for result in results), "the audit saw no commits"


def test_sampled_power_cuts(proof: Proof) -> None:
    first = seed(1)
    plan: list[dict[str, Any]] = [
        {"workload": name, "states": states, "seed": first}
        for name, (states, _, _) in PLAN.items()
        if states
    ]
    plan += [
        {"workload": name, "kills": kills, "states": states, "seed": first}
        for name, (kills, states, _, _) in KILLED.items()
        if kills
    ]
    plan += [
        {"workload": name, "recoveries": recoveries, "states": states, "seed": first}
        for name, (recoveries, states, _, _) in RECOVERIES.items()
        if recoveries
    ]
    results = in_shimmed_process("tests.crash.replay:sample", plan=plan, timeout_s=PATIENCE_S)
    assert sum(result["states"] for result in results) > 40
    _count(results, proof, str(first))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("states", "mutants"),
    [
        (500, ["skipped_sync", "wrong_order", "missing_directory_sync"]),
        (3000, ["unsynced_backup", "missing_folder_sync", "early_unlink", "relaxed_log"]),
    ],
)
def test_deliberate_faults_are_caught(states: int, mutants: list[str], proof: Proof) -> None:
    found = in_shimmed_process(
        "tests.crash.replay:hunt", mutants=mutants, states=states, timeout_s=PATIENCE_S
    )
    caught = {name: one["states"] for name, one in found.items() if one["states"] >= 0}
    proof(
        "T3",
        mutants=len(mutants),
        mutants_caught=len(caught),
        states_until_caught=", ".join(f"{name} {count}" for name, count in caught.items()),
    )
    ordered = [name for name in mutants if found[name]["violations"]]
    proof("T4", mutants=len(mutants), mutants_caught=len(ordered))
    assert sorted(caught) == sorted(mutants), "the replay is blind to a deliberate fault"
    assert ordered == mutants, "the audit is blind to a deliberate fault"


def _run(proof: Proof, at: int, least: int, **what: Any) -> dict[str, Any]:
    result = in_shimmed_process("tests.crash.replay:run", seed=at, timeout_s=PATIENCE_S, **what)
    assert result.get("states", 0) > least or result["wrong"]
    _count([result], proof, str(at))
    return result


@pytest.mark.slow
@pytest.mark.parametrize(
    ("workload", "number"),
    [(name, n) for name, (_, _, seeds) in PLAN.items() for n in range(seeds)],
)
def test_power_cuts(workload: str, number: int, proof: Proof) -> None:
    states = PLAN[workload][1]
    _run(proof, seed(0) + number, states // 2, workload=workload, states=states)


@pytest.mark.slow
@pytest.mark.parametrize("workload", KILLED)
def test_power_cuts_after_a_kill(workload: str, proof: Proof) -> None:
    """What a killed process had not synced is in the cache, and is lost with the power."""
    _, _, kills, states = KILLED[workload]
    _run(proof, seed(0), states // 2, workload=workload, kills=kills, states=states)


@pytest.mark.slow
@pytest.mark.parametrize("workload", RECOVERIES)
def test_power_cuts_and_kills_in_the_recovery_from_a_power_cut(workload: str, proof: Proof) -> None:
    """What an opening finds is what it shows, however often it is cut short."""
    _, _, recoveries, states = RECOVERIES[workload]
    found = _run(
        proof, seed(0) + 50, states // 2, workload=workload, recoveries=recoveries, states=states
    )
    assert found["mended"] or found["wrong"] or "relaxed" not in workload, "nothing to reconcile"


@pytest.mark.slow
def test_every_subset_of_what_is_pending_in_a_short_life(proof: Proof) -> None:
    found = _run(proof, seed(0), -1, workload="short", exhaustive=True)
    assert found["exhausted"] > 20
