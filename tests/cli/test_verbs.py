"""list, get, count, users, update, pin and the like, with scopes as a guard on every verb by id.

Mechanism: a scope as an option means a filter, a new value, or nothing, by verb. Damage: one user's
command reads, changes or takes over another's memory. Guard: the memory of another scope is refused
in the words of an id that never was, and nothing of it changes.
"""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

import spector
from tests.cases import Cases
from tests.cli.conftest import Run

cases = Cases(__file__)

NEVER = 77


@pytest.fixture
def mind(fake_model: None, tmp_path: Path) -> Path:
    with spector.open(tmp_path / "mind") as memory:
        for n in range(5):
            memory.remember(
                f"Oskar's note {n}",
                user_id="oskar",
                event_time=f"2025-01-0{5 - n}T00:00Z",
                tags=["even"] if n % 2 == 0 else ["odd"],
            )
        memory.remember("Lena keeps bees", user_id="lena", agent_id="hive", unresolved=True)
        memory.remember("It rained", event_time="2020-02-02T00:00Z")
    return tmp_path / "mind"


def record_of(path: Path, words: str) -> Any:
    with spector.open(path, mode="r") as memory:
        return next(record for record in memory if record.text.startswith(words))


# --- list, count, users --------------------------------------------------------------------------


def test_list_has_the_newest_first_and_says_how_many_there_are(run: Run, mind: Path) -> None:
    shown = run("list", mind, "--user", "oskar", "--limit", "2")
    assert shown.code == 0
    order = [line.split("Oskar's note ")[1][0] for line in shown.out.splitlines() if "note" in line]
    assert order == ["0", "1"]
    assert "the newest 2 of 5" in shown.out
    assert "the newest" not in run("list", mind, "--user", "oskar").out


def test_list_prints_a_document_a_line_for_machines(run: Run, mind: Path) -> None:
    lines = run("list", mind, "--json", "--tag", "odd").out.splitlines()
    assert [json.loads(line)["text"] for line in lines] == ["Oskar's note 1", "Oskar's note 3"]
    assert [json.loads(line)["tags"] for line in lines] == [["odd"], ["odd"]]


def test_list_shows_whose_they_are_only_where_that_is_not_clear(run: Run, mind: Path) -> None:
    assert "lena" in run("list", mind).out
    assert "lena" not in run("list", mind, "--user", "lena").out.replace("Lena", "")


def test_a_selection_that_leads_to_nothing_exits_1(run: Run, mind: Path) -> None:
    for mode in ([], ["--json"]):
        result = run("list", mind, "--tag", "none", *mode)
        assert (result.code, result.out) == (1, "")
        assert "no memory matches" in result.err


@cases("selection", "count")
def test_count(run: Run, mind: Path, selection: list[str], count: int) -> None:
    assert run("count", mind, *selection).out == f"{count}\n"
    assert run("count", mind, *selection, "--json").json == {"count": count}


def test_users_are_listed_with_how_many_and_from_when_to_when(run: Run, mind: Path) -> None:
    shown = run("users", mind)
    assert shown.code == 0
    rows = [line.split() for line in shown.out.splitlines()[2:4]]
    assert [row[:2] for row in rows] == [["lena", "1"], ["oskar", "5"]]
    assert rows[1][2] == "2025-01-01"
    assert "2 users" in shown.out
    (lena, oskar) = run("users", mind, "--json").json["users"]
    assert (lena["id"], oskar["count"]) == ("lena", 5)
    assert oskar["last"].startswith("2025-01-05T00:00:00")


def test_an_export_of_a_selection_has_that_alone(run: Run, mind: Path, tmp_path: Path) -> None:
    printed = run("export", mind, "--user", "oskar", "--tag", "odd").out.splitlines()
    assert [json.loads(line)["text"] for line in printed] == ["Oskar's note 1", "Oskar's note 3"]
    target = tmp_path / "lena.jsonl"
    told = run("export", mind, target, "--agent", "hive")
    assert told.out == f"exported 1 memory to {target}\n"
    assert [json.loads(line)["user_id"] for line in target.read_text().splitlines()] == ["lena"]


def test_stats_of_a_user_count_that_user_only(run: Run, mind: Path) -> None:
    told = run("stats", mind, "--user", "oskar", "--json").json
    assert (told["records"], told["tiers"]["episodic"]["records"]) == (5, 5)
    assert "lena" not in json.dumps(told)
    shown = run("stats", mind, "--user", "oskar")
    assert shown.code == 0
    assert "episodic" in shown.out


# --- get -----------------------------------------------------------------------------------------


def test_get_shows_every_word_and_what_is_known_of_it(run: Run, tmp_path: Path) -> None:
    text = "one\n   two " + "long " * 60 + "\nlast"
    told = run(
        "remember",
        tmp_path / "s",
        text,
        *"--tag a --role tool --metadata".split(),
        '{"n": 1}',
        "--pin",
        "--json",
    ).json
    shown = run("get", tmp_path / "s", told["id"])
    assert shown.code == 0
    assert shown.out.split("\n\n", 1)[1].split() == text.split()
    assert "pinned" in shown.out
    assert "tool" in shown.out
    assert run("get", tmp_path / "s", told["id"], "--json").json == told


# --- the guard -----------------------------------------------------------------------------------

CHANGES = dict(cases.rows("CHANGES"))


@pytest.mark.parametrize("verb", CHANGES)
@cases("guard", ids=" ".join)
def test_a_memory_of_another_scope_is_as_unknown_as_one_that_never_was(
    run: Run, mind: Path, verb: str, guard: list[str]
) -> None:
    before = record_of(mind, "Lena")
    said = []
    for each in (before.id, record_of(mind, "It rained").id, NEVER):
        result = run(verb, mind, each, *CHANGES[verb], *guard, "--json")
        assert (result.code, result.out) == (2, "")
        said.append(result.err.replace(f"id {each}", "id N"))
    assert len(set(said)) == 1, said
    assert record_of(mind, "Lena") == before


@pytest.mark.parametrize("verb", [verb for verb in CHANGES if verb != "reinstate"])
def test_a_memory_of_the_scope_is_found(run: Run, mind: Path, verb: str) -> None:
    lena = record_of(mind, "Lena").id
    result = run(verb, mind, lena, *CHANGES[verb], "--user", "lena", "--agent", "hive")
    assert result.code == 0, result.err


def test_several_ids_are_all_or_none(run: Run, mind: Path) -> None:
    oskar, lena = record_of(mind, "Oskar's note 1").id, record_of(mind, "Lena").id
    assert run("pin", mind, oskar, lena, "--user", "oskar").code == 2
    assert not record_of(mind, "Oskar's note 1").pinned
    both = run("pin", mind, oskar, lena, oskar)
    assert (both.code, both.out) == (0, "pinned 2 memories\n")
    assert record_of(mind, "Lena").pinned
    assert run("unpin", mind, lena).out == "unpinned 1 memory\n"
    assert not record_of(mind, "Lena").pinned


def test_resolve_and_reinforce(run: Run, mind: Path) -> None:
    lena = record_of(mind, "Lena")
    assert run("resolve", mind, lena.id).code == 0
    assert not record_of(mind, "Lena").unresolved
    assert run("reinforce", mind, lena.id).out == "strengthened 1 memory\n"
    strong = record_of(mind, "Lena").utility
    assert strong > lena.utility
    assert run("reinforce", mind, lena.id, "--failure").out == "weakened 1 memory\n"
    assert record_of(mind, "Lena").utility < strong


# --- update --------------------------------------------------------------------------------------


def test_update_changes_what_is_given_and_nothing_else(
    run: Run, mind: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = record_of(mind, "Lena")
    told = run(
        "update",
        mind,
        before.id,
        "Lena keeps wasps",
        *"--tag a --importance 0.9 --source".split(),
        "a letter",
        "--json",
    ).json
    assert (told["id"], told["text"], told["tags"]) == (before.id, "Lena keeps wasps", ["a"])
    assert (told["source"], told["importance"]) == ("a letter", pytest.approx(0.9))
    assert (told["user_id"], told["agent_id"]) == ("lena", "hive")
    hits = run("recall", mind, "wasps", "--user", "lena", "--json").json["hits"]
    assert [hit["id"] for hit in hits] == [before.id]
    monkeypatch.setattr("sys.stdin", io.StringIO("Lena keeps cats\n"))
    assert run("update", mind, before.id, "-").code == 0
    assert record_of(mind, "Lena").text == "Lena keeps cats"


def test_update_takes_away_what_is_to_be_cleared(run: Run, mind: Path) -> None:
    lena = record_of(mind, "Lena").id
    run(
        "update",
        mind,
        lena,
        *"--tag x --metadata".split(),
        '{"a": 1}',
        *"--valid-until 2999-01-01 --role user --source web".split(),
    )
    fields = ("tags", "metadata", "valid-until", "role", "source")
    clear = [part for field in fields for part in ("--clear", field)]
    told = run("update", mind, lena, *clear, "--json").json
    assert (told["tags"], told["metadata"], told["valid_until"]) == ([], {}, None)
    assert (told["role"], told["source"], told["text"]) == (None, None, "Lena keeps bees")


def test_a_memory_is_moved_by_its_own_option_and_not_across_users_under_a_guard(
    run: Run, mind: Path
) -> None:
    lena = record_of(mind, "Lena").id
    refused = run("update", mind, lena, "--user", "lena", "--move-to-user", "oskar")
    assert (refused.code, record_of(mind, "Lena").user_id) == (2, "lena")
    within = run("update", mind, lena, "--user", "lena", "--move-to-session", "s9")
    assert within.code == 0, within.err
    assert record_of(mind, "Lena").session_id == "s9"
    moved = run("update", mind, lena, "--move-to-user", "oskar", "--clear", "agent")
    assert "now of user oskar\nnow of no agent" in moved.out
    after = record_of(mind, "Lena")
    assert (after.user_id, after.agent_id, after.session_id) == ("oskar", None, "s9")


def test_the_user_of_an_update_is_a_guard_and_the_hint_says_how_to_move(
    run: Run, mind: Path
) -> None:
    result = run("update", mind, record_of(mind, "Lena").id, "--user", "oskar", "--importance", "1")
    assert result.code == 2
    assert "--move-to-user" in result.err
    alone = run("update", mind, record_of(mind, "Lena").id, "--user", "lena")
    assert (alone.code, "--move-to-user" in alone.err) == (2, True)


@pytest.mark.parametrize(
    "argv", [[], ["  "], ["--clear", "tags", "--tag", "x"], ["--clear", "text"]], ids=" ".join
)
def test_an_update_that_says_nothing_or_two_things_is_refused(
    run: Run, mind: Path, argv: list[str]
) -> None:
    before = record_of(mind, "Lena")
    assert run("update", mind, before.id, *argv).code == 2
    assert record_of(mind, "Lena") == before


def test_update_takes_a_key_and_an_attachment(run: Run, filled: Path, tmp_path: Path) -> None:
    """A memory without words shows in a list what it has instead."""
    (tmp_path / "a.bin").write_bytes(b"\x00\xff")
    at = ("--key", "k", "--namespace", "n", "--user", "ada")
    assert run("remember", filled, "first words", *at).code == 0
    done = run("update", filled, "other words", *at, "--attach", tmp_path / "a.bin")
    assert done.code == 0, done.err
    shown = json.loads(run("get", filled, *at, "--json").out)
    assert (shown["text"], shown["attachment_bytes"]) == ("other words", 2)
    assert run("update", filled, "", *at).code == 0
    assert "no text, 2 bytes attached" in run("list", filled, "--user", "ada").out
    refused = run("update", filled, *at, "--clear", "attachment")
    assert (refused.code, "the text is empty" in refused.err) == (2, True)
    assert run("update", filled, "words", *at).code == 0
    assert run("update", filled, *at, "--clear", "attachment").code == 0
    shown = json.loads(run("get", filled, *at, "--json").out)
    assert (shown["text"], shown.get("attachment_bytes")) == ("words", None)
    for wrong in (["1", "x", *at], ["words"], [], ["--key", "zzz", "--tag", "a"]):
        assert run("update", filled, *wrong, "--importance", "0.5").code == 2, wrong
    refused = run("remember", filled, "x", "--expires-in", "nan")
    assert "--expires-in is nan" in refused.err
    assert "timedelta" not in refused.err
