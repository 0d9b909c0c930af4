"""The tests bite: a fault made on purpose, where it could damage a store, fails one of them.

Mechanism: one change at a time to a copy of the product, at a place drawn from a number: a
comparison, a condition, a number off by one, a call or a sync left out, two calls swapped, an error
not raised. Damage: a suite that runs a line and would not notice if it were wrong. Survivors are
listed by file and line: those that tests/proofs/T30.md explains, and those that nobody has.
"""

from __future__ import annotations

import ast
import subprocess
from pathlib import Path

import pytest

from tests.crash.harness import scratch
from tests.mutation.hunt import REPO, TESTS, Hunt, Tally
from tests.mutation.mutator import KINDS, Mutant, mutants_of, sample, source_of
from tests.mutation.triage import VERDICTS, equivalents, sorted_out, triage
from tests.proof import Proof, seed
from tests.proofs.digests import digest_of_sources

_COUNT = 60
#: 42 of 60; T30.md says what a few quick tests cannot notice
_FLOOR_PERCENT = 70.0
_TABLE = REPO / "tests/proofs/T30.md"
#: noticed for certain: module, kind, line
_KNOWN = (
    ("spector/exchange/lines.py", "removed call", "batch.add(line)"),
    ("spector/store/core/transaction.py", "removed call",
     "partitions.by_id[segment_id].write_records(slot, image)"),
)  # fmt: skip


@pytest.mark.slow
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
    assert tally.killed == chosen


@pytest.mark.slow
@pytest.mark.longest
@pytest.mark.timeout(9000)
def test_most_sampled_mutants_are_noticed(proof: Proof) -> None:
    """Of other places for each commit, so that many runs look everywhere; SPECTOR_SEED repeats."""
    start = seed(_of_commit())
    with scratch() as folder, Hunt(Path(folder)) as hunt:
        tally = hunt.sampled(_COUNT, start)
    explained, unexplained = sorted_out(tally.survived, triage())
    _told(tally, proof)
    left_out = len(equivalents(REPO, TESTS, triage()))
    proof(
        "T30", places=sum(len(mutants_of(REPO, path)) for path in TESTS) - left_out,
        equivalent_not_drawn=left_out,
        percent_noticed=tally.percent, floor_percent=_FLOOR_PERCENT, seeds=str(start),
        survivors_explained="; ".join(explained) or "none",
        survivors_unexplained="; ".join(unexplained) or "none",
    )  # fmt: skip
    print(f"SPECTOR_SEED={start}", *tally.killed, *tally.stuck, sep="\n")
    assert not tally.unfit, tally.unfit
    assert tally.percent >= _FLOOR_PERCENT, "\n".join(["survivors:", *explained, *unexplained])


def _of_commit() -> int:
    """The first eight hex digits of the commit as a number; without git, of the sources."""
    command = ["git", "rev-parse", "HEAD"]
    try:
        done = subprocess.run(command, cwd=REPO, capture_output=True, text=True).stdout
    except OSError:
        done = ""
    return int((done.strip() or digest_of_sources())[:8], 16)


def _told(tally: Tally, proof: Proof) -> None:
    proof(
        "T30", mutants=len(tally.killed) + len(tally.stuck) + len(tally.survived),
        killed=len(tally.killed), stuck=len(tally.stuck), survived=len(tally.survived),
    )  # fmt: skip


@pytest.mark.slow
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


def test_every_module_that_writes_is_hunted_in() -> None:
    modules = {
        str(path.relative_to(REPO)) for folder in ("store", "write", "sleep", "upkeep")
        for path in REPO.glob(f"spector/{folder}/**/*.py") if path.name != "__init__.py"
    }
    without_places = {path for path in modules - set(TESTS) if not mutants_of(REPO, path)}
    assert modules - set(TESTS) == without_places
    for tests in TESTS.values():
        assert all((REPO / test.partition("::")[0]).is_file() for test in tests)


# -- what is known of survivors -------------------------------------------------------------------


def test_every_line_of_the_triage_is_of_one_mutant_that_there_is() -> None:
    """A line of source that has changed must be looked at again."""
    known = triage()
    assert known
    assert len({(each.path, each.kind, each.nth, each.text) for each in known}) == len(known)
    rows = [line for line in _TABLE.read_text().splitlines() if line.startswith("| `")]
    assert len(rows) == len(known), "not all lines of the table are understood"
    for each in known:
        assert each.verdict in VERDICTS, each
        found = [mutant for mutant in mutants_of(REPO, each.path) if each.is_of(mutant)]
        assert len(found) == 1, f"not there any more, or several: {each}"


def test_everything_but_what_is_explained_as_equivalent_can_be_drawn() -> None:
    """What only takes longer, or needs a slow proof, can be noticed: it counts as a survivor."""
    everything = {mutant for path in TESTS for mutant in mutants_of(REPO, path)}
    known = triage()
    left_out = equivalents(REPO, TESTS, known)
    drawn = sample(REPO, TESTS, len(everything), seed(30), left_out)
    assert len(drawn) == len(set(drawn))
    assert set(drawn) == everything - left_out
    assert len(left_out) == sum(
        each.verdict == "equivalent" and each.path in TESTS for each in known
    )
    assert {each.verdict for each in known for m in left_out if each.is_of(m)} == {"equivalent"}
    assert all(any(each.is_of(mutant) for mutant in drawn) for each in known
               if each.verdict == "speed only")  # fmt: skip


def test_a_survivor_is_explained_only_by_a_line_that_says_why(tmp_path: Path) -> None:
    page = tmp_path / "T30.md"
    page.write_text(
        "| module | change | line | why |\n|---|---|---|---|\n"
        "| `store/a.py` | off by one (2) | `x = a[1 : 2 \\| 3]` | equivalent: never read |\n"
        "| `store/a.py` | removed call | `f()` | test missing |\n"
    )
    lines = triage(page)
    assert [(each.nth, each.text) for each in lines] == [(2, "x = a[1 : 2 | 3]"), (1, "f()")]

    def survivor(kind: str, text: str, nth: int = 1) -> Mutant:
        return Mutant("spector/store/a.py", 0, 7, kind, text, nth)

    survivors = [
        survivor("off by one", "x = a[1 : 2 | 3]"), survivor("off by one", "x = a[1 : 2 | 3]", 2),
        survivor("removed call", "f()"),
    ]  # fmt: skip
    explained, unexplained = sorted_out(survivors, lines)
    assert explained == [f"{survivors[1]} [equivalent]"]
    assert unexplained == [str(survivors[0]), str(survivors[2])]
