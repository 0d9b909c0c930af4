"""forget by ids and by a selection: what it asks, what it keeps, until when the words are there.

Mechanism: a selection is written once and means what is there at that moment. Damage: a pipe that
forgets what no one has looked at; an empty variable that selects all; another user's memory, named
by its id; a pinned one that stays while "complete" is printed. Guard: each of them.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import spector
from spector.clock import ManualClock
from tests.cases import Cases
from tests.cli.conftest import Run

cases = Cases(__file__)

Ids = dict[str, int]


@pytest.fixture
def mind(fake_model: None, tmp_path: Path) -> Path:
    """A store of two users, with one pinned and one immutable memory of the first."""
    with spector.open(tmp_path / "mind") as memory:
        for text, more in {
            "Tomas repairs clocks": {"user_id": "tomas", "tags": ["work"]},
            "Tomas has a blue bicycle": {"user_id": "tomas", "pinned": True},
            "Tomas signed the lease": {"user_id": "tomas", "immutable": True},
            "Vera paints boats": {"user_id": "vera", "tags": ["work"], "session_id": "s1"},
            "Vera moved the anchor": {
                "user_id": "vera",
                "metadata": {"year": 2019},
                "event_time": "2019-05-05T00:00Z",
            },
            "The harbour is closed on Mondays": {"event_time": "2020-01-01T00:00Z"},
        }.items():
            memory.remember(text, **more)  # type: ignore[arg-type]
    return tmp_path / "mind"


@pytest.fixture
def ids(mind: Path) -> Ids:
    with spector.open(mind, mode="r") as memory:
        return {
            record.text.split()[0] + " " + record.text.split()[1]: record.id for record in memory
        }


def texts(path: Path) -> set[str]:
    with spector.open(path, mode="r") as memory:
        return {record.text for record in memory}


def in_the_files(path: Path, word: bytes) -> bool:
    return any(word in each.read_bytes() for each in path.rglob("*") if each.is_file())


# --- what is selected ----------------------------------------------------------------------------


@cases("selection", "gone")
def test_a_selection_forgets_what_it_leads_to_and_no_more(
    run: Run, mind: Path, selection: list[str], gone: list[str]
) -> None:
    before = texts(mind)
    rehearsed = run("forget", mind, *selection, "--dry-run", "--json")
    assert (rehearsed.code, texts(mind)) == (0, before)
    done = run("forget", mind, *selection, "--yes", "--json")
    assert done.code == 0, done.err
    assert done.json["forgotten"] == rehearsed.json["would_forget"]
    assert before - texts(mind) == {*gone}


def test_stored_before_is_about_when_it_was_told_not_when_it_happened(
    run: Run, mind: Path, clock: ManualClock
) -> None:
    clock.advance(days=3)
    later = run("remember", mind, "Told late of 1999", "--event-time", "1999-01-01", "--json").json
    edge = later["recorded_at"]
    result = run("forget", mind, "--stored-before", edge, "--yes", "--json")
    assert result.code == 0, result.err
    assert texts(mind) == {
        "Told late of 1999",
        "Tomas has a blue bicycle",
        "Tomas signed the lease",
    }
    assert len(result.json["protected"]) == 2
    assert run("forget", mind, "--before", "2000-01-01", "--yes").code == 0
    assert "Told late of 1999" not in texts(mind)


@cases("argv", ids=" ".join)
def test_what_does_not_say_what_to_forget_forgets_nothing(
    run: Run, mind: Path, argv: list[str]
) -> None:
    before = texts(mind)
    result = run("forget", mind, *argv, "--yes")
    assert (result.code, result.out) == (2, "")
    assert "hint:" in result.err
    assert texts(mind) == before


def test_nothing_that_matches_is_said_and_exits_1(run: Run, mind: Path) -> None:
    result = run("forget", mind, "--user", "nina", "--yes")
    assert (result.code, result.out.strip()) == (1, "forgot 0 memories")
    assert "no memory matches" in result.err
    assert run("forget", mind, "--user", "nina", "--dry-run").code == 1


# --- whether it asks -----------------------------------------------------------------------------


class Keyboard(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def typing(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """A terminal with a user who answers."""

    def answers(text: str) -> None:
        monkeypatch.setattr("sys.stdin", Keyboard(text))
        monkeypatch.setattr(
            "spector.cli.output._is_tty",
            lambda stream: stream.isatty() if isinstance(stream, Keyboard) else True,
        )
        monkeypatch.setenv("NO_COLOR", "1")

    return answers


def test_a_selection_in_a_pipe_needs_yes_and_ids_do_not(run: Run, mind: Path, ids: Ids) -> None:
    before = texts(mind)
    refused = run("forget", mind, "--user", "vera")
    assert (refused.code, texts(mind)) == (2, before)
    assert "--dry-run" in refused.err
    assert "--yes" in refused.err
    assert run("forget", mind, ids["Vera paints"]).code == 0


@pytest.mark.parametrize("answer", ["n\n", "\n", "", "yesterday\n", "N\n"])
def test_any_answer_but_yes_forgets_nothing(
    run: Run, mind: Path, typing: Callable[[str], None], answer: str
) -> None:
    before = texts(mind)
    typing(answer)
    result = run("forget", mind, "--user", "vera")
    assert result.code == 1
    assert "nothing was forgotten" in result.err
    assert texts(mind) == before
    with spector.open(mind):
        pass  # the lock is free again


@pytest.mark.parametrize("answer", ["y\n", "YES\n"])
@pytest.mark.parametrize("mode", [[], ["--json"]])
def test_the_question_shows_what_and_how_many_on_stderr(
    run: Run, mind: Path, typing: Callable[[str], None], answer: str, mode: list[str]
) -> None:
    typing(answer)
    result = run("forget", mind, "--user", "vera", *mode)
    assert result.code == 0, result.err
    assert "would forget 2 memories" in result.err
    assert "Vera paints boats" in result.err
    assert "forget 2 memories? [y/N]" in result.err
    assert "Vera paints" not in result.out
    if mode:
        assert len(json.loads(result.out)["forgotten"]) == 2


def test_many_are_shown_in_part_and_counted_in_full(
    run: Run, mind: Path, typing: Callable[[str], None]
) -> None:
    with spector.open(mind) as memory:
        memory.remember_many([f"entry {n}" for n in range(31)], tags=["bulk"])
    typing("n\n")
    shown = run("forget", mind, "--tag", "bulk").err
    assert "would forget 31 memories, the first 10 of them:" in shown
    assert shown.count("entry ") == 10


def test_ids_are_shown_too_and_a_foreign_one_is_refused_before_the_question(
    run: Run, mind: Path, ids: Ids, typing: Callable[[str], None]
) -> None:
    typing("y\n")
    shown = run("forget", mind, ids["Tomas repairs"])
    assert "Tomas repairs clocks" in shown.err
    refused = run("forget", mind, ids["Vera paints"], "--user", "tomas")
    assert (refused.code, "[y/N]" in refused.err) == (2, False)


# --- what is kept --------------------------------------------------------------------------------


def test_protected_ones_are_kept_named_and_keep_the_erasure_from_being_complete(
    run: Run, mind: Path, ids: Ids
) -> None:
    result = run("forget", mind, "--user", "tomas", "--purge", "--verify", "--yes")
    assert result.code == 1
    kept = {ids["Tomas has"], ids["Tomas signed"]}
    assert f"kept 2 protected memories: {', '.join(map(str, sorted(kept)))}" in result.out
    assert "--include-protected" in result.out
    assert "erasure NOT complete" in result.out
    assert {"Tomas has a blue bicycle", "Tomas signed the lease"} <= texts(mind)


@pytest.mark.parametrize("more", [[], ["--stored-before", "2999-01-01"]])
def test_a_user_is_erased_by_one_command(run: Run, mind: Path, more: list[str]) -> None:
    argv = ["forget", mind, "--user", "tomas", "--purge", "--verify", "--include-protected", *more]
    result = run(*argv, "--yes")
    assert result.code == 0, result.out + result.err
    assert "erasure complete" in result.out
    assert "kept" not in result.out
    assert not in_the_files(mind, b"Tomas")
    assert in_the_files(mind, b"Vera")
    assert [each["id"] for each in run("users", mind, "--json").json["users"]] == ["vera"]


def test_protected_ones_that_stay_keep_an_erasure_by_age_from_being_complete(
    run: Run, mind: Path
) -> None:
    result = run(
        "forget", mind, *"--user tomas --stored-before 2999-01-01 --purge --yes --json".split()
    )
    assert result.code == 1
    assert len(result.json["protected"]) == len(result.json["receipt"]["protected"]) == 2
    assert result.json["receipt"]["complete"] is False


def test_an_immutable_id_is_refused_with_the_others_unless_it_is_skipped_or_included(
    run: Run, mind: Path, ids: Ids
) -> None:
    fixed, other = ids["Tomas signed"], ids["Tomas repairs"]
    for how in ([], ["--dry-run"]):
        refused = run("forget", mind, fixed, other, *how)
        assert refused.code == 2
        assert str(fixed) in refused.err
        assert str(other) not in refused.err
    assert "Tomas repairs clocks" in texts(mind)
    skipped = run("forget", mind, fixed, other, "--skip-protected", "--json")
    assert (skipped.json["forgotten"], skipped.json["protected"]) == ([other], [fixed])
    assert run("forget", mind, fixed, "--include-protected").code == 0
    assert "Tomas signed the lease" not in texts(mind)


# --- whose it is ---------------------------------------------------------------------------------


@pytest.mark.parametrize("purge", [[], ["--purge"]])
def test_an_id_of_another_scope_is_as_unknown_as_one_that_never_was(
    run: Run, mind: Path, ids: Ids, purge: list[str]
) -> None:
    before = texts(mind)
    mine, foreign, never = ids["Tomas repairs"], ids["Vera paints"], 4_000_000
    said = []
    for other in (foreign, ids["The harbour"], never):
        result = run("forget", mind, mine, other, "--user", "tomas", *purge)
        assert result.code == 2
        said.append(result.err.replace(str(other), "N"))
    assert len(set(said)) == 1, said
    assert texts(mind) == before


# --- until when the words are there --------------------------------------------------------------


def test_forget_and_stats_say_until_when_the_words_are_in_the_files(
    run: Run, mind: Path, clock: ManualClock
) -> None:
    assert "none pending" in run("stats", mind).out
    result = run("forget", mind, "--user", "vera", "--yes")
    assert "the files contain them until" in result.out
    assert f"spector compact {mind}" in result.out
    due = run("stats", mind, "--json").json["erasure"]
    assert due["pending"] == 2
    shown = run("stats", mind).out
    assert "2 forgotten or changed memories in the files until the first reflect after" in shown
    assert due["due"][:16].replace("T", " ") + " UTC" in shown
    assert f"spector compact {mind}" in shown
    assert in_the_files(mind, b"anchor")
    clock.advance(days=2)
    assert "erased 2 forgotten memories from the files" in run("reflect", mind).out
    assert not in_the_files(mind, b"anchor")
    assert "none pending" in run("stats", mind).out


def test_a_purge_leaves_nothing_due(run: Run, mind: Path) -> None:
    told: dict[str, Any] = run("forget", mind, "--user", "vera", "--purge", "--yes", "--json").json
    assert told["receipt"]["complete"] is True
    assert "in_files_until" not in told
    soft = run("forget", mind, "--before", "2020-12-31", "--yes", "--json").json
    assert soft["in_files_until"].startswith("20")


def test_a_search_counts_all_it_found_and_lists_the_first_20_as_such(run: Run, mind: Path) -> None:
    for n in range(23):
        (mind / f"stray{n:02}.txt").write_text("Vera paints boats")
    result = run("forget", mind, "--user", "vera", "--purge", "--verify", "--yes")
    assert result.code == 1
    assert "23 traces found" in result.out
    assert "first 20 of 23" in result.out
    assert result.out.count("  trace: ") == 20
    whole = run("compact", mind, "--verify", "Vera paints boats", "--json").json
    assert len(whole["receipt"]["verification"]["residue"]) == 23


def test_a_receipt_by_the_time_of_recording_names_memories_of_the_scope_only(
    run: Run, mind: Path, ids: Ids
) -> None:
    """Vera's memory was forgotten before; the purge of Tomas's takes it along, unnamed."""
    assert run("forget", mind, str(ids["Vera paints"])).code == 0
    result = run(
        "forget",
        mind,
        *"--user tomas --stored-before 2999-01-01 --purge --yes --include-protected --json".split(),
    )
    assert result.code == 0
    assert set(result.json["receipt"]["ids"]) == set(result.json["forgotten"])
    assert not in_the_files(mind, b"Vera paints")


@pytest.mark.parametrize("more", [[], ["--stored-before", "2999-01-01"]])
def test_a_receipt_names_no_memory_of_another_user(
    more: list[str], mind: Path, ids: Ids, run: Run
) -> None:
    """With --stored-before it named those that were made from what was erased, whoever's."""
    with spector.open(mind) as memory:
        child = memory.remember(
            "Tomas may repair the harbour clock", user_id="vera", parents=[ids["Tomas repairs"]]
        )
        gone = memory.remember("Vera has sold the boat", user_id="vera")
        memory.forget(gone)
    result = run("forget", mind, "--user", "tomas", *more, "--purge", "--yes", "--json")
    receipt = json.loads(result.out)["receipt"]
    assert receipt["ids"] == [ids["Tomas repairs"]]
    assert receipt["derived"] == []
    assert receipt["derived_elsewhere"] == 1
    assert str(child.id) not in result.out
    assert str(gone.id) not in result.out


def test_a_purge_of_a_user_without_memories_forgets_nothing_and_says_so(
    run: Run, mind: Path, ids: Ids
) -> None:
    result = run("forget", str(mind), "--user", "nobody here", "--purge", "--yes")
    assert result.code == 1
    assert "no memory matches" in result.err
