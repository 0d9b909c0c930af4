"""What is left after a power cut is the store as it was promised (T3), in the right order (T4).

A failure names the workload, the seed, the moment and what was lost, kept and torn; SPECTOR_SEED
repeats or varies the choices.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.crash.shim import in_shimmed_process
from tests.proof import Proof, seed

pytestmark = pytest.mark.crash

#: of each: workload, states in the quick sample, states and seeds of a full run
PLAN = {
    "life": (45, 850, 3), "relaxed": (40, 850, 3), "mixed": (35, 950, 4),
    "mixed_relaxed": (35, 950, 4), "bulk": (12, 400, 2), "reembed": (20, 500, 2),
    "migrate": (15, 300, 2), "upgrade": (15, 300, 2), "backup": (30, 700, 3),
}
#: processes that are killed before the power goes: of each kills and states, as above
KILLED = {
    "life": (2, 25, 24, 800), "mixed": (1, 15, 24, 700), "mixed_relaxed": (1, 15, 16, 700),
    "reembed": (0, 0, 12, 300), "backup": (0, 0, 12, 300),
}
#: a full run of one workload takes a minute; a busy machine may be much slower
PATIENCE_S = 3000.0
QUICK_MUTANTS = ("skipped_sync", "wrong_order", "missing_directory_sync", "unsynced_backup")
OTHER_MUTANTS = ("missing_folder_sync", "early_unlink", "relaxed_log")


def _count(results: list[dict[str, Any]], proof: Proof, seeds: str) -> None:
    """Write down what was done, then insist that nothing was wrong and enough was done."""
    def total(name: str) -> int:
        return sum(result[name] for result in results)

    wrong = [line for result in results for line in result["wrong"]]
    violations = [line for result in results for line in result["violations"]]
    proof(
        "T3", states=total("states"), images_built=total("built"), cuts=total("points"),
        recorded_calls=total("calls"), exhausted_cuts=total("exhausted"),
        unopenable_or_lost=len(wrong), seeds=seeds,
    )
    proof(
        "T4", commits_audited=total("commits"), claims_checked=total("claims"),
        partition_writes=total("writes"), unlinks=total("unlinks"), renames=total("renames"),
        violations=len(violations),
    )
    assert not wrong, "\n\n".join([f"SPECTOR_SEED={seeds}", *wrong])
    assert not violations, "\n".join([f"SPECTOR_SEED={seeds}", *violations])
    assert total("visible") > len(results), "the cuts of a workload left one and the same store"
    assert all(result["commits"] > 3 for result in results), "the audit saw no commits"


def test_sampled_power_cuts(proof: Proof) -> None:
    first = seed(1)
    plan: list[dict[str, Any]] = [
        {"workload": name, "states": states, "seed": first}
        for name, (states, _, _) in PLAN.items()
    ]
    plan += [
        {"workload": name, "kills": kills, "states": states, "seed": first}
        for name, (kills, states, _, _) in KILLED.items() if kills
    ]
    results = in_shimmed_process("tests.crash.replay:sample", plan=plan, timeout_s=PATIENCE_S)
    assert sum(result["states"] for result in results) > 200
    _count(results, proof, str(first))


def _found(mutants: tuple[str, ...], states: int, proof: Proof) -> None:
    found = in_shimmed_process(
        "tests.crash.replay:hunt", mutants=mutants, states=states, timeout_s=PATIENCE_S
    )
    caught = {name: one["states"] for name, one in found.items() if one["states"] >= 0}
    proof(
        "T3", mutants=len(mutants), mutants_caught=len(caught),
        states_until_caught=", ".join(f"{name} {count}" for name, count in caught.items()),
    )
    ordered = [name for name in mutants if found[name]["violations"]]
    proof("T4", mutants=len(mutants), mutants_caught=len(ordered))
    assert sorted(caught) == sorted(mutants), "the replay is blind to a deliberate fault"
    assert ordered == list(mutants), "the audit is blind to a deliberate fault"


def test_deliberate_faults_are_caught(proof: Proof) -> None:
    _found(QUICK_MUTANTS, 150, proof)


@pytest.mark.slow
def test_more_deliberate_faults_are_caught(proof: Proof) -> None:
    _found(OTHER_MUTANTS, 1500, proof)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("workload", "number"),
    [(name, n) for name, (_, _, seeds) in PLAN.items() for n in range(seeds)],
)
def test_power_cuts(workload: str, number: int, proof: Proof) -> None:
    states, at = PLAN[workload][1], seed(0) + number
    result = in_shimmed_process(
        "tests.crash.replay:run", workload=workload, seed=at, states=states,
        timeout_s=PATIENCE_S,
    )
    assert result["states"] > states // 2 or result["wrong"]
    _count([result], proof, str(at))


@pytest.mark.slow
@pytest.mark.parametrize("workload", KILLED)
def test_power_cuts_after_a_kill(workload: str, proof: Proof) -> None:
    """What a killed process had not synced is in the cache, and is lost with the power."""
    _, _, kills, states = KILLED[workload]
    at = seed(0)
    result = in_shimmed_process(
        "tests.crash.replay:run", workload=workload, seed=at, kills=kills, states=states,
        timeout_s=PATIENCE_S,
    )
    assert result["states"] > states // 2 or result["wrong"]
    _count([result], proof, str(at))


@pytest.mark.slow
def test_every_subset_of_what_is_pending_in_a_short_life(proof: Proof) -> None:
    at = seed(0)
    result = in_shimmed_process(
        "tests.crash.replay:run", workload="short", seed=at, exhaustive=True,
        timeout_s=PATIENCE_S,
    )
    assert result["exhausted"] > 20
    _count([result], proof, str(at))
