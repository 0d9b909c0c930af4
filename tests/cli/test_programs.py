"""The demonstration: every claim holds with the real embedder, and a claim that fails is reported.

Damage guarded against: a demo that says [ok] whatever happens, and sample data that does not read.
"""

from __future__ import annotations

import json
import runpy
from collections import Counter
from datetime import date
from importlib.resources import files
from pathlib import Path

import pytest

import spector
from spector.cli import main as cli
from spector.cli.commands import program as bench
from spector.cli.main import main
from spector.importers import iter_messages
from tests.cli.conftest import Run

SAMPLE = Path(str(files("spector.cli") / "data" / "sample_conversation.jsonl"))


def test_sample_conversation_is_as_long_and_varied_as_promised() -> None:
    turns = list(iter_messages(SAMPLE))
    days = [turn["event_time"].date() for turn in turns]
    tags = Counter(tag for turn in turns for tag in turn["tags"])
    assert len(turns) >= 150
    assert (min(days), max(days)) == (date(2026, 9, 7), date(2026, 10, 18))
    assert days == sorted(days)
    assert len({turn["session_id"] for turn in turns}) >= 15
    assert {turn["role"] for turn in turns} == {"user", "assistant"}
    for tag in ("preference", "decision", "correction", "procedure", "incident", "smalltalk"):
        assert tags[tag] >= 4, tag
    assert len({turn["text"] for turn in turns}) == len(turns), "no line is a copy"


def test_every_claim_holds_with_the_real_embedder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main(["demo", str(tmp_path / "mind"), "--json"])
    report = json.loads(capsys.readouterr().out)
    failed = [claim for step in report["steps"] for claim in step["claims"] if not claim["ok"]]
    assert failed == []
    assert (code, report["ok"]) == (0, True)
    assert len(report["steps"]) == 16
    assert report["elapsed_s"] < 60
    # a named place is kept, and the command line can go on with it
    assert main(["recall", str(tmp_path / "mind"), "E_LEASE_STALE", "-k", "1"]) == 0
    assert "E_LEASE_STALE" in capsys.readouterr().out


@pytest.mark.slow
def test_a_claim_that_does_not_hold_fails_the_demo(run: Run) -> None:
    """With a model that knows no meaning, the claims about meaning must be reported as failed."""
    result = run("demo")
    assert result.code == 1
    assert "[FAILED]" in result.out
    assert "claims FAILED:" in result.out
    assert "[ok] no hit contains 4417 any more" in result.out, "what needs no meaning still holds"


def test_demo_refuses_a_place_that_is_not_empty(run: Run, filled: Path) -> None:
    result = run("demo", filled)
    assert result.code == 2
    assert "is not empty" in result.err


def test_demo_leaves_nothing_behind_unless_asked(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    run("demo", "--json")
    assert list(tmp_path.iterdir()) == []
    kept = run("demo", "--keep", "--json").json["store"]
    assert Path(kept, "catalog.db").exists()


# -- Every program under examples/ runs; each ends in assertions of its own ------------------------


EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.py"))


def test_there_are_examples_and_the_readme_names_each() -> None:
    readme = (Path(__file__).parents[2] / "examples" / "README.md").read_text()
    assert len(EXAMPLES) >= 4
    for example in EXAMPLES:
        assert f"`{example.name}`" in readme


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_example_runs(example: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(example), run_name="__main__")
    assert capsys.readouterr().out


def test_the_agent_stores_what_was_said_and_never_what_it_quoted() -> None:
    """Three sessions: an answer that quotes a memory, stored again, would be quoted in the next."""
    loop = runpy.run_path(str(EXAMPLES[0].parent / "agent_loop.py"))
    told = ("I am allergic to walnuts.", "My sister Ayla lives in Kars.", "I sail on Sundays.")
    asked = ("Which nuts must I avoid?", "Where does Ayla live?", "When do I sail?")
    with spector.open(":memory:") as memory:
        for session, cues in (("one", told), ("two", asked), ("three", asked)):
            for cue in cues:
                reply = loop["turn"](memory, "maya", session, cue)
                assert session == "one" or reply.quoted, cue
        texts = [record.text for record in memory]
        for words in ("allergic to walnuts", "sister Ayla", "sail on Sundays"):
            assert sum(words in text for text in texts) == 1, words
        assert not [text for text in texts if '"' in text or text.startswith("- ")]
        assert len(texts) == 2 * (len(told) + 2 * len(asked))
        said = {(each.role, each.session_id) for each in memory}
        assert said == {(r, s) for r in ("user", "assistant") for s in ("one", "two", "three")}


# -- ``spector bench``: the measurements of the source tree, from the command ----------------------
#
# Mechanism: the command looks for ``bench/`` beside the package, imports it and hands it the rest
# of the line. Damage if wrong: a traceback for users of the installed package, or a user's own
# module named bench being run. Guard: a tree without it, one with another module in the way, and
# the real suite's own help and errors.


def test_an_installed_package_says_where_the_measurements_are(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(bench, "__file__", str(tmp_path / "spector" / "cli" / "c" / "bench.py"))
    result = run("bench", "recall")
    assert (result.code, result.out) == (2, "")
    assert "not part of an installed package" in result.err
    assert "hint: in a source checkout" in result.err


def test_everything_behind_the_suite_is_for_the_suite(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        cli.main(["bench", "recall", "--help"])
    assert stopped.value.code == 0
    text = capsys.readouterr().out
    assert text.startswith("usage: spector bench recall")
    assert "--sets" in text


def test_a_suite_without_data_ends_with_its_own_words(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SPECTOR_DATA", str(tmp_path / "none"))
    result = run("bench", "recall", "quick", "--sets", "madial", "--adapters", "role")
    assert result.code == 2
    assert "SPECTOR_DATA" in result.err


def test_a_suite_that_there_is_not_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["bench", "dreams"]) == 2
    assert "hint: see spector bench --help" in capsys.readouterr().err
