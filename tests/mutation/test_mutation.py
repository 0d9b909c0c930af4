"""The tests bite: a fault made on purpose, in the store or a parser, fails one of them.

Mechanism: one change at a time to a copy of the product, at a place drawn from a number: a
comparison, a condition, a number off by one, a call or a sync left out, two calls swapped, an error
not raised. Damage: a suite that runs a line and would not notice if it were wrong. Survivors are
listed by file and line: each is a missing test, or a change that nobody could notice.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.crash.harness import scratch
from tests.mutation.hunt import REPO, TESTS, Hunt, Tally
from tests.mutation.mutator import KINDS, mutants_of, sample, source_of
from tests.proof import Proof, seed

_COUNT = 30
#: not all that is noticed by the whole suite is by a few quick tests (see T30.md); the first
#: sample, of 59, had 46 %. Less than this is a collapse.
_FLOOR_PERCENT = 33.0
#: noticed for certain: module, kind, line
_KNOWN = (
    ("spector/exchange.py", "removed call", "batch.append(entry)"),
    ("spector/store/transaction.py", "removed call",
     "store.segments[segment_id].write_records(slot, image)"),
)  # fmt: skip


@pytest.mark.timeout(1200)
def test_mutants_that_break_what_everybody_uses_are_noticed(proof: Proof) -> None:
    chosen = [
        mutant for path, kind, line in _KNOWN for mutant in mutants_of(REPO, path)
        if (mutant.kind, mutant.text) == (kind, line)
    ]  # fmt: skip
    assert len(chosen) == len(_KNOWN), "those lines have changed: choose others"
    quickest = {mutant.path: TESTS[mutant.path][:1] for mutant in chosen}
    with scratch() as folder, Hunt(Path(folder), quickest) as hunt:
        tally = hunt.hunt(chosen)
    _told(tally, proof)
    assert not tally.unfit, tally.unfit
    assert tally.killed == [str(mutant) for mutant in chosen]


@pytest.mark.slow
@pytest.mark.longest
@pytest.mark.timeout(6000)
def test_most_sampled_mutants_are_noticed(proof: Proof) -> None:
    start = seed(30)
    with scratch() as folder, Hunt(Path(folder)) as hunt:
        tally = hunt.sampled(_COUNT, start)
    _told(tally, proof)
    proof(
        "T30", percent_noticed=tally.percent, seeds=str(start),
        survivors="; ".join(tally.survived) or "none",
    )  # fmt: skip
    print(f"SPECTOR_SEED={start}", *tally.killed, *tally.stuck, sep="\n")
    assert not tally.unfit, tally.unfit
    assert tally.percent >= _FLOOR_PERCENT, "\n".join(["survivors:", *tally.survived])


def _told(tally: Tally, proof: Proof) -> None:
    proof(
        "T30", mutants=len(tally.killed) + len(tally.stuck) + len(tally.survived),
        killed=len(tally.killed), stuck=len(tally.stuck), survived=len(tally.survived),
    )  # fmt: skip


def test_a_mutant_is_its_module_with_one_change() -> None:
    """Every kind occurs, every module has some, and none of those sampled is the module itself."""
    assert all(mutants_of(REPO, path) for path in TESTS)
    chosen = sample(REPO, TESTS, 2 * len(KINDS), seed(30))
    assert chosen == sample(REPO, TESTS, 2 * len(KINDS), seed(30))
    assert {mutant.kind for mutant in chosen} == set(KINDS)
    for mutant in chosen:
        whole = ast.unparse(ast.parse((REPO / mutant.path).read_text())) + "\n"
        assert source_of(REPO, mutant) != whole, mutant
        compile(source_of(REPO, mutant), mutant.path, "exec")


def test_every_module_of_the_store_is_hunted_in() -> None:
    modules = {str(path.relative_to(REPO)) for path in REPO.glob("spector/store/*.py")}
    without_code = {"__init__.py", "damage.py", "findings.py"}
    assert modules - set(TESTS) <= {f"spector/store/{name}" for name in without_code}
    for tests in TESTS.values():
        assert all((REPO / test.partition("::")[0]).is_file() for test in tests)
