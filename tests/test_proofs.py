"""The reliability page tells the truth about what ran.

Damage: a page that stays green over a skipped, failed or outdated proof is worse than none.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests import conftest
from tests import proof as proofs
from tests.fuzz.test_guided import RUNS
from tests.proofs import digests, page
from tests.proofs.rows import GROUPS, ROWS, Row, rooms_of

HERE = "tests/test_proofs.py::test_a_row_says_the_worst_of_its_tests"
ROW = Row("T1", "promise", "how", ("store",), {"kill_points": 10})


def _record(**changes: Any) -> dict[str, Any]:
    record = {
        "row": "T1",
        "test": HERE,
        "outcome": "passed",
        "counts": {"kill_points": 10},
        "seconds": 1.0,
        "reason": "",
        "slow": True,
        "commit": "abc",
        "rooms": "now",
        "at": "2026-01-01T00:00:00Z",
        "tests": "as they are",
    }
    return record | changes


def _found(records: list[dict[str, Any]], proofs: list[str] | None = None) -> page.Found:
    named = sorted({record["test"] for record in records}) if proofs is None else proofs
    return page.Found(records, named, lambda row: "now", lambda test: "as they are")


@pytest.mark.parametrize(
    ("records", "state"),
    [
        ([], "not run"),
        ([_record(outcome="skipped")], "not run"),
        ([_record()], "held"),
        ([_record(), _record(outcome="failed")], "failed"),
        ([_record(), _record(rooms="before")], "stale"),
        ([_record(), _record(tests="weaker")], "stale"),
        ([_record(counts={"kill_points": 9})], "short"),
        ([_record(counts={"kill_points": 9}), _record(counts={"kill_points": 1})], "held"),
        ([_record(), _record(slow=False, counts={"kill_points": 3})], "held"),
        (
            [_record(counts={"kill_points": 9}), _record(slow=False, counts={"kill_points": 1})],
            "short",
        ),
        ([_record(counts={}), _record(slow=False, counts={"kill_points": 10})], "held"),
        ([_record(), _record(outcome="skipped")], "partial"),
        ([_record(), _record(outcome="skipped", row="")], "partial"),
        ([_record(), _record(outcome="skipped", row="", test="tests/x.py::of_others")], "held"),
    ],
)
def test_a_row_says_the_worst_of_its_tests(records: list[dict[str, Any]], state: str) -> None:
    assert page.state_of(ROW, _found(records)) == state


def test_the_page_shows_failures_skips_and_rows_without_a_run_before_the_table() -> None:
    records = [
        _record(outcome="failed", test=HERE + "[1]"),
        _record(outcome="skipped", test=HERE + "[2]", reason="no compiler", row="T28"),
    ]
    text = page.render(_found(records))
    top = text[: text.index("## Promises and proofs")]
    assert "- failed: T1" in top
    assert "no compiler" in top
    assert "T28" in top.split("- not run: ")[1].splitlines()[0]


def test_a_test_that_was_removed_proves_nothing() -> None:
    records = [_record(test="tests/test_proofs.py::test_that_never_was")]
    assert "test_that_never_was" not in page.render(_found(records, []))


def test_a_run_that_was_stopped_or_was_of_a_sample_holds_nothing() -> None:
    """One quick test of a row that has slow ones made it look proved."""
    other = HERE + "[slow]"
    assert page.state_of(ROW, _found([_record()], [])) == "partial"
    stopped = _found([_record()], [HERE, other])
    assert page.state_of(ROW, stopped) == "partial"
    assert f"- without a record: `{other}`" in page.render(stopped)
    assert page.state_of(ROW, _found([_record(), _record(test=other)], [HERE, other])) == "held"


def test_cases_that_were_removed_do_not_count_on() -> None:
    gone = _record(test=HERE + "[gone]", counts={"kill_points": 500})
    text = page.render(_found([_record(), gone], [HERE]))
    assert "kill points 10 (planned" in text
    assert "[gone]" not in text


def test_a_later_run_replaces_what_is_known_of_the_same_test_only(tmp_path: Path) -> None:
    path = tmp_path / "kept.json"
    proofs.keep(path, [_record(test="a"), _record(test="b")])
    proofs.keep(path, [_record(test="b", row="", outcome="failed", counts={})])
    kept = {record["test"]: record for record in proofs.load(path)}
    assert kept["a"]["outcome"] == "passed"
    assert (kept["b"]["outcome"], kept["b"]["row"]) == ("failed", "T1")


def test_records_of_another_schema_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "kept.json"
    path.write_text(json.dumps({"schema": 99, "records": []}))
    with pytest.raises(ValueError, match="schema 99"):
        proofs.load(path)


def test_a_quick_sample_is_not_added_to_the_whole() -> None:
    """Damage: a soak of 8 seconds told of 3,350 descriptors an hour beside that of 30 minutes."""
    quick = {"kill_points": 4, "seeds": "9", "torn": 2}
    told = page.render(
        _found(
            [
                _record(counts={"kill_points": 4000, "seeds": "0..3"}),
                _record(counts=quick, slow=False),
            ]
        )
    )
    assert "kill points 4,000 (planned: 3,000); seeds 0..3; torn 2 |" in told


def test_a_row_may_say_that_quick_cases_are_others() -> None:
    row = Row("T1", "promise", "how", ("store",), {"planted": 3}, apart=frozenset({"planted"}))
    found = _found(
        [
            _record(counts={"planted": 2}),
            _record(counts={"planted": 1}, slow=False),
        ]
    )
    assert page.state_of(row, found) == "held"


def test_the_page_says_how_long_everything_took() -> None:
    run = {"seconds": 5101.0, "workers": 2, "cores": 2, "commit": "abc", "at": "2026-01-01"}
    found = replace(_found([_record()], [HERE]), run=run)
    assert "took 85 minutes with 2 workers on 2 cores (2026-01-01, abc)" in page.render(found)
    assert "has not been noted yet" in page.render(_found([_record()]))


@pytest.mark.parametrize("seconds", [271.2, 512.0])
def test_the_page_says_how_long_the_quick_sample_took_and_when_that_is_too_long(
    seconds: float,
) -> None:
    quick = {"seconds": seconds, "workers": 2, "cores": 2, "commit": "abc", "at": "2026-01-01"}
    found = replace(_found([_record()], [HERE]), quick=quick)
    assert f"took {seconds:.0f} of its 480 seconds" in page.render(found)
    assert ("too long" in page.render(found)) == (seconds > 480)
    assert "has not been noted here" in page.render(_found([_record()]))


@pytest.mark.parametrize(
    ("changes", "spent", "told"),
    [
        ({}, 271.0, "quick sample: 271 s of 480 s (2 workers, "),
        ({}, 512.0, "quick sample: 512 s of 480 s, which is too long (2 workers, "),
        ({"markexpr": ""}, 271.0, ""),
        ({"markexpr": "slow"}, 271.0, ""),
        ({"keyword": "kill"}, 271.0, ""),
        ({"maxfail": 1}, 271.0, ""),
    ],
)
def test_a_quick_run_says_at_its_end_how_long_it_took(
    monkeypatch: pytest.MonkeyPatch,
    changes: dict[str, Any],
    spent: float,
    told: str,
    tmp_path: Path,
) -> None:
    monkeypatch.chdir(proofs.REPO)
    monkeypatch.setenv("SPECTOR_PROOFS", str(tmp_path / "kept.json"))
    plain = {
        "markexpr": "not slow",
        "keyword": "",
        "deselect": None,
        "ignore": None,
        "collectonly": False,
        "lf": False,
        "numprocesses": 2,
        "maxfail": 0,
    }
    config = SimpleNamespace(args=["tests"], option=SimpleNamespace(**plain | changes), stash={})
    lines: list[str] = []
    hook: Any = conftest.pytest_terminal_summary
    now = 1000.0
    monkeypatch.setattr(proofs.time, "monotonic", lambda: now)
    conftest.pytest_sessionstart(SimpleNamespace(config=config))  # type: ignore[arg-type]
    now += spent
    hook(SimpleNamespace(write_line=lines.append), pytest.ExitCode.OK, config)
    assert len(lines) == bool(told)
    assert not told or lines[0].startswith(told)
    assert proofs.quick_in(tmp_path / "kept.json").get("seconds") == (spent if told else None)
    hook(SimpleNamespace(write_line=lines.append), pytest.ExitCode.INTERRUPTED, config)
    assert len(lines) == bool(told), "a run that was stopped says nothing of the whole"


def test_counts_of_several_tests_are_summed_and_texts_listed() -> None:
    told = page.render(
        _found(
            [
                _record(counts={"kill_points": 4, "seeds": "0..3"}),
                _record(counts={"kill_points": 8, "seeds": "4..9"}),
            ]
        )
    )
    assert "kill points 12 (planned: 3,000); seeds 0..3; 4..9" in told


def test_a_row_nobody_planned_is_refused(proof: Any) -> None:
    with pytest.raises(ValueError, match=r"no row .T99"):
        proof("T99", states=1)


def test_what_is_fuzzed_is_counted_and_planned_by_target() -> None:
    """Damage: of 5.4 million executions 5.0 were of one C program, and 4,900 opened a store."""
    least = next(row.least for row in ROWS if row.name == "T11")
    assert {f"guided_{target}": runs for target, (_, runs) in RUNS.items()} == {
        name: runs for name, runs in least.items() if name.startswith("guided_")
    }
    assert "executions" not in least
    folder = proofs.REPO / "tests/fuzz"
    told = "".join(path.read_text(encoding="utf-8") for path in sorted(folder.glob("test_*.py")))
    counted = set(re.findall(r'proof\(\s*"T11", (\w+)=', told))
    assert counted == {name for name in least if "guided_" not in name} | {"forged_by_chance"}


def test_row_names_are_unique() -> None:
    assert len({row.name for row in ROWS}) == len(ROWS)


@pytest.mark.slow
def test_what_a_test_counted_reaches_the_file(pytester_run: Any) -> None:
    records = pytester_run(
        "def test_good(proof):\n    proof('T1', kill_points=3)\n"
        "def test_bad(proof):\n    proof('T1', kill_points=2)\n    assert False\n"
        "import pytest\n@pytest.mark.skip(reason='no room')\ndef test_none(proof): pass\n"
        "def test_other(): pass\n"
    )
    told = {r["test"].partition("::")[2]: (r["outcome"], r["counts"], r["reason"]) for r in records}
    assert told["test_good"] == ("passed", {"kill_points": 3}, "")
    assert told["test_bad"] == ("failed", {"kill_points": 2}, "")
    assert told["test_none"][0] == "skipped"
    assert "no room" in told["test_none"][2]
    assert "test_other" not in told
    of_row = digests.digest_of_rooms(rooms_of("T1"))
    assert all(r["rooms"] == of_row for r in records if r["row"])


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A small repository: tests of two folders, of which one uses what the other has."""
    files = {
        "tests/__init__.py": "",
        "tests/conftest.py": "import tests.fakes",
        "tests/fakes.py": "",
        "tests/crash/__init__.py": "",
        "tests/crash/workload.py": "from ..images import disk",
        "tests/crash/harness.py": "",
        "tests/crash/shim.c": "int main;",
        "tests/images.py": "",
        "tests/crash/test_kills.py": "from tests.crash.harness import fork",
        "tests/soak/__init__.py": "",
        "tests/soak/conftest.py": "",
        "tests/soak/run.py": "def soak():\n    from tests.crash import workload",
        "tests/soak/test_soak.py": "RUN = 'tests.soak.run:soak'",
        "tests/soak/bits.json": "[]",
        "tests/old/__init__.py": "",
        "tests/old/test_old.py": "MADE = HERE / 'fixtures' / 'old'",
        "tests/fixtures/__init__.py": "",
        "tests/fixtures/old/a.tar": "",
        "tests/test_top.py": "",
        "tests/proofs/rows.py": "",
        "tests/hunt/hunt.py": "T = 'tests/crash/test_kills.py::test_a'",
        "spector/memory.py": "",
        "spector/words/vocab.txt": "",
        "setup.py": "",
        "spector/store/files/files.py": "",
        "spector/search/searcher.py": "",
        "native/scan.c": "",
        "pyproject.toml": "[project]\ndependencies = ['numpy']\n[tool.ruff]\nline-length = 1\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.mark.parametrize(
    ("changed", "stale"),
    [
        ("tests/crash/workload.py", {"crash", "soak"}),  # by an import within a function
        ("tests/crash/shim.c", {"crash", "soak", "hunt"}),
        ("tests/images.py", {"crash", "soak"}),  # through workload.py, and relative
        ("tests/soak/run.py", {"soak"}),
        ("tests/soak/bits.json", {"soak"}),
        ("tests/soak/conftest.py", {"soak"}),
        ("tests/crash/test_kills.py", {"crash", "hunt"}),  # named as a text
        ("tests/crash/harness.py", {"crash", "hunt"}),
        ("tests/fixtures/old/a.tar", {"old"}),
        ("tests/fakes.py", {"crash", "soak", "old", "hunt", "top"}),
        ("tests/conftest.py", {"crash", "soak", "old", "hunt", "top"}),
        ("tests/test_top.py", {"top"}),
        ("tests/proofs/rows.py", set()),
    ],
)
def test_a_proof_is_stale_when_anything_it_rests_on_has_changed(
    tree: Path, changed: str, stale: set[str]
) -> None:
    """Mechanism: only the test's own folder was looked at, so a workload that was made weaker left
    fresh whatever other folders proved with it."""
    tests = {name: f"tests/{name}/test_{name}.py" for name in ("crash", "soak", "old", "hunt")}
    tests["top"] = "tests/test_top.py"

    def all_digests() -> dict[str, str]:
        digests.forget()
        return {name: digests.digest_of_tests(test, tree) for name, test in tests.items()}

    before = all_digests()
    (tree / changed).write_text("# weaker\n" + (tree / changed).read_text())
    after = all_digests()
    digests.forget()
    assert {name for name in tests if before[name] != after[name]} == stale


@pytest.mark.parametrize(
    ("changed", "text", "stale"),
    [
        ("setup.py", "flags", True),
        ("spector/memory.py", "x = 1", True),
        ("spector/words/vocab.txt", "word", True),
        ("pyproject.toml", "[project]\ndependencies = ['numpy<3']\n", True),
        ("pyproject.toml", "[project]\ndependencies = ['numpy']\n[tool.ruff]\nfix=true", False),
        ("tests/conftest.py", "", False),
    ],
)
def test_the_product_is_its_sources_its_build_and_what_it_needs(
    tree: Path, changed: str, text: str, stale: bool
) -> None:
    digests.forget()
    before = digests.digest_of_sources(tree)
    (tree / changed).write_text(text)
    digests.forget()
    assert (digests.digest_of_sources(tree) != before) == stale
    digests.forget()


@pytest.mark.parametrize(
    ("changed", "stale"),
    [
        ("spector/store/files/files.py", {"store", "both"}),
        ("spector/search/searcher.py", {"search", "both"}),
        ("spector/memory.py", {"memory"}),
        ("native/scan.c", {"native"}),
        ("setup.py", {"native"}),
        ("spector/words/vocab.txt", set()),
        ("tests/conftest.py", set()),
        ("pyproject.toml", {"store", "search", "both", "memory", "native"}),
    ],
)
def test_a_row_goes_stale_with_its_own_rooms_only(
    tree: Path, changed: str, stale: set[str]
) -> None:
    """Damage: any change anywhere made every row stale, so each change cost a run of two hours."""
    rows = {each: [each] for each in ("store", "search", "memory", "native")}
    rows["both"] = ["store", "search"]

    def all_digests() -> dict[str, str]:
        digests.forget()
        return {name: digests.digest_of_rooms(rooms, tree) for name, rooms in rows.items()}

    before = all_digests()
    (tree / changed).write_text((tree / changed).read_text() + "\n[build-system]\nrequires=[]")
    after = all_digests()
    digests.forget()
    assert {name for name in rows if before[name] != after[name]} == stale


def test_every_room_exists_and_is_proved_by_some_row() -> None:
    named = {room for row in ROWS for room in rooms_of(row.name)}
    assert [room for room in sorted(named) if not digests.files_of_room(room)] == []
    there = {path.stem for path in (proofs.REPO / "spector").iterdir() if path.name[0] != "_"}
    assert there - named - {"py", "testing"} == set()
    assert not set(GROUPS) & there, "a group must not be called like a room"


@pytest.mark.parametrize("row", [row.name for row in ROWS])
def test_a_row_names_what_its_tests_import(row: str) -> None:
    """A row that left out a room under test would stay fresh over a change of it."""
    call = re.compile(rf'\bproof\(\s*"{re.escape(row)}"')
    used = set()
    for path in (proofs.REPO / "tests").rglob("test_*.py"):
        text = path.read_text(encoding="utf-8")
        if path.name != "test_proofs.py" and call.search(text):
            used |= set(re.findall(r"^(?:from|import) spector\.(\w+)", text, re.MULTILINE))
    assert used - set(rooms_of(row)) == set()


def test_proofs_rest_on_what_other_folders_have() -> None:
    for test, used in (
        ("tests/simulation/test_simulation.py", "tests/crash/workload.py"),
        ("tests/soak/test_soak.py", "tests/crash/workload.py"),
        ("tests/backup/test_live.py", "tests/crash/workload.py"),
        ("tests/backup/test_broken.py", "tests/crash/shim.c"),
        ("tests/store/test_lock.py", "tests/conftest.py"),
    ):
        assert used in digests.files_of(test + "::test_x")
    assert "tests/fuzz/test_kernel.py" not in digests.files_of("tests/soak/test_soak.py::test_x")


def test_what_took_longest_begins_first(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A soak of half an hour that begins last leaves one worker alone with it."""
    kept = tmp_path / "kept.json"
    proofs.keep(
        kept,
        [
            _record(test=name, seconds=seconds)
            for name, seconds in (
                ("soak", 1800.0),
                ("mutants", 500.0),
                ("fuzz", 900.0),
                ("quick", 99.0),
            )
        ],
    )
    monkeypatch.setattr(proofs, "RESULTS", kept)
    marks = {"soak": {"slow", "longest"}, "mutants": {"slow", "longest"}, "quick": set()}

    def item(name: str) -> Any:
        mine = marks.get(name, {"slow"})
        return SimpleNamespace(nodeid=name, get_closest_marker=lambda mark: mark in mine or None)

    items = [item(name) for name in ("quick", "unknown", "mutants", "fuzz", "soak", "other")]
    proofs.longest_first(items)
    assert [each.nodeid for each in items] == [
        "soak",
        "mutants",
        "fuzz",
        "quick",
        "unknown",
        "other",
    ]


@pytest.mark.parametrize(
    ("arguments", "changes", "everything"),
    [
        (["tests"], {}, True),
        ([str(proofs.REPO / "tests")], {}, True),
        (["tests/crash"], {}, False),
        (["tests"], {"markexpr": "not slow"}, False),
        (["tests"], {"keyword": "kill"}, False),
        (["tests"], {"collectonly": True}, False),
        (["tests"], {"lf": True}, False),
    ],
)
def test_only_a_run_of_everything_says_which_proofs_there_are(
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    changes: dict[str, Any],
    everything: bool,
    tmp_path: Path,
) -> None:
    monkeypatch.chdir(proofs.REPO)
    monkeypatch.setenv("SPECTOR_PROOFS", str(tmp_path / "kept.json"))
    plain = {
        "markexpr": "",
        "keyword": "",
        "deselect": None,
        "ignore": None,
        "collectonly": False,
        "lf": False,
        "numprocesses": 2,
    }
    items = [
        SimpleNamespace(nodeid="tests/x.py::proves", fixturenames=["proof"]),
        SimpleNamespace(nodeid="tests/x.py::other", fixturenames=["tmp_path"]),
    ]
    config = SimpleNamespace(args=arguments, option=SimpleNamespace(**plain | changes))
    hook: Any = conftest.pytest_collection_finish
    hook(SimpleNamespace(config=config, items=items))
    found = proofs.proofs_in(tmp_path / "kept.json")
    assert found == (["tests/x.py::proves"] if everything else [])
    config.stash = {}
    conftest.pytest_sessionstart(SimpleNamespace(config=config))  # type: ignore[arg-type]
    conftest.pytest_sessionfinish(SimpleNamespace(config=config))  # type: ignore[arg-type]
    run = proofs.run_in(tmp_path / "kept.json")
    assert (run.get("workers"), "seconds" in run) == ((2, True) if everything else (None, False))


@pytest.fixture
def pytester_run(tmp_path: Path, repo: Path) -> Any:
    """Runs a test module in a fresh pytest with the plugin, and gives the records it left."""

    def run(source: str) -> list[dict[str, Any]]:
        (tmp_path / "conftest.py").write_text(
            "from tests.proof import proof, pytest_runtest_makereport\n"
        )
        (tmp_path / "test_inner.py").write_text(source)
        kept = tmp_path / "kept.json"
        subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)],
            env=os.environ | {"SPECTOR_PROOFS": str(kept), "PYTHONPATH": str(repo)},
            cwd=tmp_path,
            capture_output=True,
            check=False,
        )
        return proofs.load(kept)

    return run
