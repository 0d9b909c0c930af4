"""Every command for people and for machines: output, exit code, and what it did to the store.

Damage guarded against: a document on stdout that is not one JSON value, a failure that exits 0, a
looking command that changes the store, half an import.
"""

from __future__ import annotations

import io
import json
import re
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import spector
from spector import Flag
from tests.cases import Cases
from tests.cli.conftest import LINES, Run

cases = Cases(__file__)


def snapshot(path: Path) -> dict[str, bytes]:
    """Contents of every partition, which a looking command must leave alone."""
    return {str(p): p.read_bytes() for p in path.rglob("*.mem")}


def ids_by_text(run: Run, path: Path) -> dict[str, int]:
    lines = run("export", path).out.splitlines()
    return {record["text"]: record["id"] for record in map(json.loads, lines)}


# --- remember ------------------------------------------------------------------------------------


def test_remember_creates_a_store_and_recall_finds_it(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "new" / "store"
    result = run("remember", path, "Quokka is the staging box", "--tag", "ops", "--pin")
    assert result.code == 0
    assert result.out.startswith("remembered ")
    found = run("recall", path, "quokka", "--json").json
    assert [hit["text"] for hit in found["hits"]] == ["Quokka is the staging box"]
    assert found["hits"][0]["tags"] == ["ops"]
    assert "pinned" in found["hits"][0]["flags"]


def test_remember_json_prints_the_record_with_every_field(run: Run, tmp_path: Path) -> None:
    result = run(
        "remember",
        tmp_path / "s",
        "A fact",
        *"-t a -t b --tier semantic --importance 0.25 --valence -0.5 --arousal 0.2".split(),
        *"--confidence 0.6 --event-time 2026-05-04T10:00:00+02:00 --valid-until 2027-01-01".split(),
        "--metadata",
        '{"n": 1}',
        *"--role user --source test --user u --agent g --session s --json".split(),
    )
    record = result.json
    assert result.code == 0
    assert record["event_time"] == "2026-05-04T08:00:00Z"
    assert record["valid_until"] == "2027-01-02T00:00:00Z", "the whole day"
    assert (record["tier"], record["tags"]) == ("semantic", ["a", "b"])
    assert record["metadata"] == {"n": 1}
    assert (record["user_id"], record["agent_id"], record["session_id"]) == ("u", "g", "s")
    assert (record["role"], record["source"]) == ("user", "test")
    assert record["importance"] == pytest.approx(0.25)
    assert record["valence"] == pytest.approx(-0.5, abs=0.01)
    assert record["confidence"] == pytest.approx(0.6, abs=0.01)


def test_remember_reads_stdin(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("from a pipe\n"))
    assert run("remember", tmp_path / "s", "-", "--json").json["text"] == "from a pipe"


def test_remember_refuses_an_empty_text(run: Run, tmp_path: Path) -> None:
    result = run("remember", tmp_path / "s", "  ")
    assert (result.code, result.out) == (2, "")
    assert "error: the text is empty" in result.err
    assert not (tmp_path / "s").exists()


def test_naive_time_is_refused_with_a_next_step(run: Run, tmp_path: Path) -> None:
    result = run("remember", tmp_path / "s", "x", "--event-time", "2026-05-04T10:00:00")
    assert result.code == 2
    assert "no time zone" in result.err
    assert "hint:" in result.err


# --- recall --------------------------------------------------------------------------------------


def test_recall_prints_a_table(run: Run, filled: Path) -> None:
    result = run("recall", filled, "which morning for deploys", "-k", "2")
    assert result.code == 0
    head, rule, *rows = result.out.splitlines()
    assert head.split() == ["#", "score", "when", "tier", "speaker", "text", "id"]
    assert set(rule) == {"-", " "}
    assert "Deploys happen on Tuesday mornings" in rows[0]
    assert len(rows) == 2


@cases("arguments", "expected")
def test_recall_filters(run: Run, filled: Path, arguments: list[str], expected: list[int]) -> None:
    found = run("recall", filled, "anything", "-k", "10", "--json", *arguments).json
    texts = {hit["text"] for hit in found["hits"]}
    # a pinned memory is exempt from the floor on importance, so both answers are in the contract
    assert texts == {LINES[n]["text"] for n in expected}


def test_recall_on_a_narrow_terminal_prints_paragraphs(
    run: Run, filled: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "50")
    lines = run("recall", filled, "which morning for deploys", "-k", "1").out.splitlines()
    assert lines[0].startswith("1. ")
    assert lines[1] == "   Deploys happen on Tuesday mornings"
    assert max(map(len, lines[1:])) <= 50


def test_recall_shows_the_instructions_that_fit_in_a_section_of_their_own(
    run: Run, filled: Path
) -> None:
    rule = "Whenever I ask for recipes, list the calories."
    run("remember", filled, rule, "--role", "user")
    run("remember", filled, "Never use emojis.", "--role", "user")
    cue = "Can you suggest recipes?"
    found = run("recall", filled, cue, "--json").json
    assert [each["text"] for each in found["standing"]] == [rule]
    assert rule not in [hit["text"] for hit in found["hits"]]
    hits, _, section = run("recall", filled, cue).out.partition("standing instructions")
    assert rule in section
    assert rule not in hits
    assert "condition" in run("recall", filled, cue, "--explain").out
    assert "standing instructions" not in run("recall", filled, "the cat").out
    alone = run("recall", filled, cue, "--where", '{"nothing": 1}')
    assert alone.code == 1


def test_recall_shows_what_limits_an_answer_behind_the_hits(
    run: Run, filled: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recalled = spector.Memory.recall

    def recall(memory: spector.Memory, *args: Any, **given: Any) -> spector.HitList:
        hits = recalled(memory, *args, **given)
        hits.limits = tuple(recalled(memory, "the cat", k=1))
        return hits

    monkeypatch.setattr(spector.Memory, "recall", recall)
    cue = "which morning for deploys"
    (limit,) = run("recall", filled, cue, "--json").json["limits"]
    section = run("recall", filled, cue).out.partition("what limits an answer")[2]
    assert limit["text"] in section
    assert run("recall", filled, cue, "--where", '{"nothing": 1}').code == 0


def test_context_shows_the_instructions_that_hold(run: Run, filled: Path) -> None:
    run("remember", filled, "Never use emojis.", "--role", "user")
    result = run("context", filled, "which morning for deploys", "--explain")
    assert result.code == 0
    assert result.out.index("standing instructions") < result.out.index("Never use emojis.")
    assert "standing instruction" in result.out
    found = run("context", filled, "which morning for deploys", "--json").json
    assert len(found["standing"]) == 1


def test_recall_that_finds_nothing_exits_1_with_an_empty_list(run: Run, filled: Path) -> None:
    result = run("recall", filled, "x", "--tag", "no-such-tag", "--json")
    assert result.code == 1
    assert result.json["hits"] == []
    assert "nothing found" in result.err


def test_recall_explain_shows_terms_and_phases(run: Run, filled: Path) -> None:
    result = run("recall", filled, "deploys", "-k", "1", "--explain")
    assert "similarity" in result.out
    assert "dropped_tags" in result.out


def test_recall_without_learn_changes_nothing_and_with_learn_counts_the_use(
    run: Run, filled: Path
) -> None:
    before = snapshot(filled)
    run("recall", filled, "cat", "-k", "1")
    assert snapshot(filled) == before
    assert run("recall", filled, "cat", "-k", "1", "--learn").code == 0
    (hit,) = run("recall", filled, "cat", "-k", "1", "--json").json["hits"]
    assert hit["access_count"] >= 1


# --- context --------------------------------------------------------------------------------------


def test_context_prints_a_block_for_a_prompt(run: Run, filled: Path) -> None:
    result = run("context", filled, "when do deploys happen?", "--max-tokens", "300")
    assert result.code == 0
    assert result.out.startswith("<memories>\n")
    assert result.out.endswith("</memories>\n")
    assert '"Deploys happen on Tuesday mornings"' in result.out
    assert "7 Sep 2026:" in result.out
    full = run("context", filled, "when do deploys happen?", "--layout", "full")
    assert "# 2026-09-07" in full.out
    with_ids = run("context", filled, "when do deploys happen?", "--ids", "--json")
    first = with_ids.json["quotes"][0]["id"]
    assert f"- {first}" in full.out
    assert f"- {first}" in with_ids.json["text"]
    assert f"- {first}" not in result.out


def test_context_quotes_what_is_pinned_first(run: Run, filled: Path) -> None:
    kept = run("remember", filled, "Never deploy on Fridays", "--pin", "--json")
    assert kept.code == 0
    small_talk = run("context", filled, "--pinned", "thanks!")
    assert small_talk.code == 0
    assert "pinned:" in small_talk.out
    assert "Never deploy on Fridays" in small_talk.out
    assert "memory was not consulted" in small_talk.err
    assert run("context", filled, "thanks!", "--pinned", "--always").code == 2


def test_context_json_says_what_became_of_each_memory(run: Run, filled: Path) -> None:
    document = run("context", filled, "deploys", "--json").json
    assert document["tokens"] <= document["max_tokens"] == 1000
    assert document["tokenizer"] == "estimate"
    assert {quote["form"] for quote in document["quotes"]} <= {"full", "abbreviated", "skipped"}


def test_context_without_anything_to_say_exits_with_one_and_says_why(
    run: Run, filled: Path
) -> None:
    small_talk = run("context", filled, "thanks!")
    assert (small_talk.code, small_talk.out) == (1, "")
    assert "memory was not consulted" in small_talk.err
    assert run("context", filled, "thanks!", "--always").code == 0
    assert run("context", filled, "deploys", "-n", "5").code == 1


def test_context_explains_what_it_left_out(run: Run, filled: Path) -> None:
    result = run("context", filled, "deploys", "-n", "50", "--explain", "--always")
    assert "relevance" in result.out
    assert "no room left in the budget" in result.out


def test_context_refuses_a_model_it_cannot_count_for(run: Run, filled: Path) -> None:
    result = run("context", filled, "deploys", "--tokenizer", "parrot-1")
    assert (result.code, result.out) == (2, "")
    assert "hint:" in result.err


# --- import and export ---------------------------------------------------------------------------


def test_import_reports_each_file(run: Run, tmp_path: Path) -> None:
    first, second = tmp_path / "a.jsonl", tmp_path / "b.md"
    first.write_text('{"text": "one"}\n{"text": "two"}\n')
    second.write_text("# Title\n\nthree\n")
    result = run("import", tmp_path / "s", first, second, "--tag", "x", "--json")
    counts = {"read", "stored", "messages", "known", "skipped"}
    assert [{key: each[key] for key in each.keys() & counts} for each in result.json["files"]] == [
        {"read": 2, "stored": 2, "messages": 2, "known": 0, "skipped": 0},
        {"read": 1, "stored": 1, "messages": 1, "known": 0, "skipped": 0},
    ]
    assert [(each["file"], each["format"]) for each in result.json["files"]] == [
        (str(first), "jsonl"),
        (str(second), "markdown"),
    ]
    assert (result.json["stored"], result.json["dry_run"]) == (3, False)
    hits = run("recall", tmp_path / "s", "three", "--tag", "x", "-k", "9", "--json").json["hits"]
    assert len(hits) == 3


def test_import_of_a_malformed_file_stores_nothing(run: Run, tmp_path: Path) -> None:
    good, bad = tmp_path / "good.jsonl", tmp_path / "bad.jsonl"
    good.write_text('{"text": "fine"}\n')
    bad.write_text('{"text": "fine"}\n{"text": 3}\n')
    result = run("import", tmp_path / "s", good, bad)
    assert (result.code, result.out) == (2, "")
    assert "bad.jsonl" in result.err
    assert not (tmp_path / "s").exists()


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("importance", 7),
        ("session_id", "a\nb"),
        ("tags", ["x" * 300]),
        ("valid_until", "1999-01-01"),
    ],
)
def test_import_of_a_message_that_cannot_be_stored_names_it_and_stores_nothing(
    run: Run, tmp_path: Path, field: str, value: Any
) -> None:
    source = tmp_path / "a.jsonl"
    bad = {"text": "two", "valid_from": "2026-01-01", field: value}
    source.write_text(f'{{"text": "one"}}\n{json.dumps(bad)}\n')
    result = run("import", tmp_path / "s", source)
    assert result.code == 2
    assert "a.jsonl, message 2" in result.err
    assert not (tmp_path / "s").exists()


def test_import_dry_run_only_counts(run: Run, tmp_path: Path) -> None:
    source = tmp_path / "a.jsonl"
    source.write_text('{"text": "one"}\n{"text": "two"}\n')
    result = run("import", tmp_path / "s", source, "--dry-run", "--limit", "1")
    first, *rest = result.out.splitlines()
    assert first == f"would import 1 message from {source} (jsonl)"
    assert ["stored", "would", "be", "1"] in [each.split() for each in rest]
    assert not (tmp_path / "s").exists()


def test_import_reads_stdin(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Stdin:
        buffer = io.BytesIO(b'{"role": "user", "content": "piped"}\n')

    monkeypatch.setattr("sys.stdin", Stdin())
    assert run("import", tmp_path / "s", "-", "--json").json["stored"] == 1


def test_wrong_format_is_named(run: Run, tmp_path: Path) -> None:
    source = tmp_path / "a.txt"
    source.write_text("just words")
    result = run("import", tmp_path / "s", source, "--format", "chatgpt")
    assert result.code == 2
    assert "expected a JSON array" in result.err


def test_export_reads_back_into_an_equal_store(run: Run, filled: Path, tmp_path: Path) -> None:
    exported = tmp_path / "out.jsonl"
    assert run("export", filled, exported).out == f"exported 3 memories to {exported}\n"
    assert run("import", tmp_path / "copy", exported).code == 0

    def essence(path: Path) -> list[dict[str, Any]]:
        own = {"id", "recorded_at", "last_access"}
        records = [json.loads(line) for line in run("export", path).out.splitlines()]
        return [{key: r[key] for key in r.keys() - own} for r in records]

    assert essence(tmp_path / "copy") == essence(filled)


def test_export_does_not_overwrite_unless_forced(run: Run, filled: Path, tmp_path: Path) -> None:
    target = tmp_path / "out.jsonl"
    target.write_text("precious")
    refused = run("export", filled, target)
    assert (refused.code, target.read_text()) == (2, "precious")
    assert run("export", filled, target, "--force", "--json").json["records"] == 3
    assert not (tmp_path / "out.jsonl.part").exists()


def test_export_json_to_stdout_is_a_usage_error(run: Run, filled: Path) -> None:
    assert run("export", filled, "--json").code == 2


# --- forget, reflect, compact, check, stats ------------------------------------------------------


def test_forget_then_compact_removes_the_bytes(run: Run, filled: Path) -> None:
    cat = ids_by_text(run, filled)["The cat is called Quokka"]
    assert run("forget", filled, cat, "--json").json["forgotten"] == [cat]
    assert run("recall", filled, "Quokka", "--user", "maya").code == 1
    before = run("compact", filled, "--dry-run", "--threshold", "0", "--json").json
    assert (before["dry_run"], before["records_reclaimed"]) == (True, 1)
    done = run("compact", filled, "--threshold", "0", "--json").json
    assert done["records_reclaimed"] == 1
    assert all(b"Quokka" not in p.read_bytes() for p in filled.rglob("*") if p.is_file())
    assert run("check", filled).code == 0


def test_forget_with_purge_removes_the_bytes_and_prints_a_receipt(run: Run, filled: Path) -> None:
    cat = ids_by_text(run, filled)["The cat is called Quokka"]
    result = run("forget", filled, cat, "--purge", "--verify")
    assert result.code == 0
    assert "erasure complete" in result.out
    assert f"memories erased: 1 ({cat})" in result.out
    assert "not covered: earlier backups" in result.out
    assert all(b"Quokka" not in p.read_bytes() for p in filled.rglob("*") if p.is_file())


def test_a_purge_of_what_was_forgotten_before_says_what_it_erased(run: Run, filled: Path) -> None:
    known = ids_by_text(run, filled)
    cat, deploys = known["The cat is called Quokka"], known["Deploys happen on Tuesday mornings"]
    run("forget", filled, cat)
    both = run("forget", filled, cat, cat, deploys, "--purge")
    assert "forgot 1 of 2 memories\nerased 1 of 1 memory forgotten before" in both.out
    (rollback,) = ids_by_text(run, filled).values()
    run("forget", filled, rollback)
    alone = run("forget", filled, rollback, "--purge")
    assert alone.out.startswith("erased 1 of 1 memory forgotten before\n")


def test_an_erasure_that_is_not_complete_exits_1_and_says_where_something_is_left(
    run: Run, filled: Path
) -> None:
    cat = ids_by_text(run, filled)["The cat is called Quokka"]
    (filled / "notes.txt").write_text("The cat is called Quokka")
    result = run("forget", filled, cat, "--purge", "--verify", "--json")
    assert result.code == 1
    assert result.json["receipt"]["verification"]["residue"][0]["where"] == "notes.txt"
    result = run("compact", filled, "--verify", "called Quokka")
    assert result.code == 1
    assert "trace: given in notes.txt at byte 11" in result.out


def test_a_name_that_a_living_memory_says_is_told_and_exits_1(run: Run, filled: Path) -> None:
    cat = ids_by_text(run, filled)["The cat is called Quokka"]
    result = run("compact", filled, "--verify", "quokka")
    assert result.code == 1
    assert f"live memories still contain what you named: 1 ({cat})" in result.out
    run("forget", filled, cat)
    assert run("compact", filled, "--verify", "Quokka").code == 0
    short = run("compact", filled, "--verify", "cat")
    assert short.code == 2
    assert "at least 4 bytes" in short.err


def test_forget_of_an_unknown_id_forgets_none(run: Run, filled: Path) -> None:
    cat = ids_by_text(run, filled)["The cat is called Quokka"]
    result = run("forget", filled, cat, 12345)
    assert result.code == 2
    assert "12345" in result.err
    assert cat in ids_by_text(run, filled).values()


def test_purge_of_what_was_forgotten_before_erases_it(run: Run, filled: Path) -> None:
    cat = ids_by_text(run, filled)["The cat is called Quokka"]
    assert run("forget", filled, cat).code == 0
    again = run("forget", filled, cat)
    assert again.code == 2
    assert f"memory {cat} has been forgotten" in again.err
    assert f"spector compact {filled}" in again.err
    searched = run("forget", filled, cat, "--purge", "--verify")
    assert searched.code == 2, "nobody knows any more what to search for"
    assert run("compact", filled, "--dry-run", "--json").json["records_reclaimed"] == 1
    result = run("forget", filled, cat, "--purge")
    assert result.code == 0
    assert f"memories erased: 1 ({cat})" in result.out
    assert all(b"Quokka" not in p.read_bytes() for p in filled.rglob("*") if p.is_file())
    assert run("compact", filled, "--dry-run", "--json").json["records_reclaimed"] == 0
    assert "there is no memory" in run("forget", filled, cat, "--purge").err


def test_a_dry_run_of_compact_refuses_to_verify(run: Run, filled: Path) -> None:
    result = run("compact", filled, "--dry-run", "--verify", "Quokka")
    assert result.code == 2
    assert "a dry run erases nothing" in result.err


def test_hints_name_the_store_that_was_given(run: Run, filled: Path) -> None:
    odd = filled.rename(filled.with_name("my mind"))
    (odd / "catalog.db").write_bytes(b"no database at all, but a text that is long enough" * 40)
    result = run("recall", odd, "anything")
    assert result.code == 3
    assert f"spector check '{odd}'" in result.err
    assert "PATH" not in result.err


def test_compact_prints_a_report_for_people(run: Run, filled: Path) -> None:
    result = run("compact", filled)
    assert result.code == 0
    assert "reclaimed 0 records" in result.out


def test_reflect_seals_days_that_are_over(run: Run, filled: Path) -> None:
    report = run("reflect", filled, "--json").json
    assert report["marked_reflectable"] == 2, "two days of episodes lie in the past"
    assert "marked reflectable 0" in run("reflect", filled).out, "nothing is left to do"


def test_check_ok_and_with_damage(run: Run, filled: Path) -> None:
    sound = run("check", filled, "--json")
    assert (sound.code, sound.json["ok"], sound.json["records"]) == (0, True, 3)
    assert run("check", filled).out.startswith("ok: 3 records")
    (filled / "episodic" / "stray.bin").write_bytes(b"?")
    damaged = run("check", filled)
    assert damaged.code == 1
    assert "stray.bin" in damaged.out


def test_check_of_a_flipped_bit_exits_1_and_names_the_file(run: Run, filled: Path) -> None:
    victim = next(filled.glob("episodic/*.mem"))
    data = bytearray(victim.read_bytes())
    data[64 + 70] ^= 1
    victim.write_bytes(data)
    result = run("check", filled, "--json")
    assert result.code == 1
    (problem,) = result.json["problems"]
    assert (problem["file"], problem["slot"]) == (f"episodic/{victim.name}", 0)
    assert problem["offset"] == 64
    assert problem["id"]


def test_check_repair_saves_the_rest_and_lists_the_loss(
    run: Run, filled: Path, tmp_path: Path
) -> None:
    victim = next(filled.glob("episodic/*.mem"))
    data = bytearray(victim.read_bytes())
    data[64 + 70] ^= 1
    victim.write_bytes(data)
    result = run("check", filled, "--repair", tmp_path / "saved", "--json")
    assert (result.code, result.json["kept"], result.json["complete"]) == (1, 2, False)
    (loss,) = result.json["lost"]
    assert (loss["file"], loss["slot"]) == (f"episodic/{victim.name}", 0)
    assert loss["text"]
    assert run("check", tmp_path / "saved").code == 0
    shown = run("check", filled, "--repair", tmp_path / "again")
    assert "not salvaged" in shown.out
    assert loss["text"][:20] in " ".join(shown.out.split()), "it may be wrapped"
    assert run("check", filled, "--repair", tmp_path / "saved").code == 3
    whole = run("check", tmp_path / "saved", "--repair", tmp_path / "copy")
    assert (whole.code, run("check", tmp_path / "copy").code) == (0, 0)


def test_stats_for_people_and_machines(run: Run, filled: Path) -> None:
    shown = run("stats", filled)
    assert shown.code == 0
    assert re.search(r"^records +3$", shown.out, re.MULTILINE)
    assert re.search(r"^episodic +2 +0 +2$", shown.out, re.MULTILINE)
    stats = run("stats", filled, "--json").json
    assert (stats["records"], stats["tiers"]["procedural"]["records"]) == (3, 1)


def test_reembed_moves_a_store_to_another_model(run: Run, filled: Path) -> None:
    assert run("recall", filled, "cat", "--embedder", "other").code == 3
    result = run("reembed", filled, "--embedder", "other", "--json")
    assert result.code == 0, result.err
    assert run("recall", filled, "cat", "--embedder", "other").code == 0
    assert run("check", filled).code == 0


# --- inspect -------------------------------------------------------------------------------------


def test_inspect_lists_partitions(run: Run, filled: Path) -> None:
    result = run("inspect", filled)
    assert result.code == 0
    assert "episodic/2026-09-07-000.mem" in result.out
    partitions = run("inspect", filled, "--json").json["partitions"]
    assert sum(p["live"] for p in partitions) == 3
    assert {p["day"] for p in partitions} == {"2026-09-07", "2026-09-08", None}


def test_inspect_shows_the_header_of_one_record(run: Run, filled: Path) -> None:
    record = ids_by_text(run, filled)["Rollback with the command revert"]
    found = run("inspect", filled, record, "--json")
    assert found.code == 0
    assert found.json["crc_ok"] is True
    assert found.json["header"]["flags"] == ["pinned"]
    assert found.json["header"]["tier"] == "procedural"
    assert found.json["catalog"]["text"] == "Rollback with the command revert"
    assert str(record) in run("inspect", filled, record).out


def test_an_alias_is_given_and_taken_away_from_the_shell(run: Run, tmp_path: Path) -> None:
    mind = tmp_path / "mind"
    made = run(
        "remember",
        mind,
        "Postgres 14 on host pg-3",
        "--alias",
        "Ledger DB",
        *"--alias pgpay --json".split(),
    ).json
    assert made["metadata"] == {"aliases": ["Ledger DB", "pgpay"]}
    for n in range(5):
        run("remember", mind, f"Lunch number {n} was soup")
    (hit, *_) = run("recall", mind, "where is the ledgre db", "--json").json["hits"]
    assert hit["id"] == made["id"]
    changed = run("update", mind, made["id"], "--alias", "Cash Box", "--json").json
    assert changed["metadata"] == {"aliases": ["Cash Box"]}
    assert run("update", mind, made["id"], "--clear", "aliases", "--json").json["metadata"] == {}


def test_a_memory_supersedes_another_from_the_shell(run: Run, tmp_path: Path) -> None:
    mind = tmp_path / "mind"
    old = run("remember", mind, "I live in Berlin", "--event-time", "2026-03-10T00:00Z", "--json")
    told = run(
        "remember",
        mind,
        "I live in Lisbon",
        "--supersedes",
        old.json["id"],
        "--event-time",
        "2026-06-05T00:00Z",
    )
    assert told.code == 0
    assert f"instead of {old.json['id']}" in told.out
    (new,) = (h["id"] for h in run("recall", mind, "where do I live", "--json").json["hits"])
    then = run("recall", mind, "where do I live", "--as-of", "2026-04-01T00:00Z", "--json").json
    assert [hit["superseded_by"] for hit in then["hits"]] == [[new]]
    assert "Berlin" in run("context", mind, "where do I live", "--as-of", "2026-04-01T00:00Z").out
    shown = [run("inspect", mind, each, "--json").json["catalog"] for each in (old.json["id"], new)]
    assert [(each["supersedes"], each["superseded_by"], each["tags"]) for each in shown] == [
        ([], [new], []),
        ([old.json["id"]], [], []),
    ]
    again = run("remember", mind, "I live in Porto", "--supersedes", old.json["id"])
    assert (again.code, "superseded" in again.err) == (2, True)
    assert f"spector history {mind} {old.json['id']}" in again.err
    assert run("check", mind).code == 0


def test_a_history_is_shown_and_taken_back_from_the_shell(run: Run, tmp_path: Path) -> None:
    mind = tmp_path / "mind"
    old = run(
        "remember",
        mind,
        "I live in Berlin",
        *"--valid-until 2030-01-01T00:00Z --event-time 2026-03-10T00:00Z --json".split(),
    ).json["id"]
    new = run("remember", mind, "I live in Lisbon", "--supersedes", old, "--json").json["id"]
    told = run("history", mind, old)
    assert told.code == 0
    assert told.out.index("Berlin") < told.out.index("Lisbon")
    shown = run("history", mind, new, "--json").json["history"]
    assert [(each["id"], each["superseded_by"]) for each in shown] == [(old, [new]), (new, [])]
    question = ("recall", mind, "where do I live", "--json")
    assert [h["id"] for h in run(*question).json["hits"]] == [new]
    every = run(*question, "--include", "superseded").json["hits"]
    assert {h["id"] for h in every} == {old, new}
    assert "Berlin" in run("context", mind, "where do I live", "--include", "superseded").out
    refused = run("reinstate", mind, old)
    assert (refused.code, f"spector forget {mind} {new}" in refused.err) == (2, True)
    assert run("forget", mind, new).code == 0
    assert "forgotten" in run("history", mind, old).out
    back = run("reinstate", mind, old, "--json")
    assert (back.code, back.json["valid_until"]) == (0, "2030-01-01T00:00:00Z")
    assert "2030-01-01" in run("reinstate", mind, old).out
    assert [h["id"] for h in run(*question).json["hits"]] == [old]
    other = run("remember", mind, "I live in Porto", "--supersedes", old, "--json").json["id"]
    assert run("reinstate", mind, old, "--keep").code == 0
    assert [(h["id"], h["conflicts"]) for h in run(*question).json["hits"]] == [
        (other, [old]),
        (old, [other]),
    ]
    assert run("history", mind, 12345).code == run("reinstate", mind, 12345).code == 2


@cases("more")
def test_an_export_imported_with_options_brings_nothing_back_as_current(
    run: Run, tmp_path: Path, more: tuple[str, str]
) -> None:
    with spector.open(tmp_path / "mind", embedder=None, dim=4) as memory:
        old = memory.remember("Ann lives in Rome", vector=[1, 0, 0, 0], tags=["home"])
        memory.remember("Ann lives in Oslo", vector=[1, 0, 0, 0], supersedes=old)
        bad = memory.remember("ignore all that", vector=[0, 1, 0, 0])
        memory._parts.changer.set_flag(bad.id, Flag.QUARANTINED, True)
        memory.reinforce(old.id)
        memory.export(tmp_path / "out.jsonl", vectors=True)
    told = run("import", tmp_path / "new", tmp_path / "out.jsonl", *more, "--json")
    assert (told.code, told.json["stored"]) == (0, 3)
    with spector.open(tmp_path / "new") as memory:
        first, second, third = memory
        assert (second.supersedes, first.superseded) == ((first.id,), True)
        assert Flag.QUARANTINED in third.flags
        assert first.access_count == 1
        assert [hit.id for hit in memory.recall("where does Ann live")] == [second.id]
        if more[0] == "--tag":
            assert (first.tags, second.tags) == (("home", "x"), ("x",))
        field = {"--source": "source", "--tier": "tier", "--user": "user_id"}.get(more[0])
        if field is not None:
            assert {getattr(each, field) for each in memory} == {more[1]}
        assert memory.check().ok


def test_a_limit_takes_the_first_of_an_export(run: Run, tmp_path: Path) -> None:
    with spector.open(tmp_path / "mind", embedder=None, dim=4) as memory:
        for n in range(3):
            memory.remember(f"memory {n}", vector=[1.0, 0.0, 0.0, n])
        memory.export(tmp_path / "out.jsonl", vectors=True)
    told = run("import", tmp_path / "new", tmp_path / "out.jsonl", "--limit", "2", "--json")
    assert told.json["stored"] == 2
    with spector.open(tmp_path / "new") as memory:
        assert [each.text for each in memory] == ["memory 0", "memory 1"]
        with pytest.raises(spector.InvalidInputError, match="limit"):
            memory.import_(tmp_path / "out.jsonl", limit=-1)


def test_inspect_works_on_a_damaged_store(run: Run, filled: Path) -> None:
    record = ids_by_text(run, filled)["The cat is called Quokka"]
    first, second = sorted(filled.glob("episodic/*.mem"))
    data = bytearray(first.read_bytes())
    data[20] ^= 1
    first.write_bytes(data)
    (filled / "catalog.db").write_bytes(b"not a database at all")
    for side in filled.glob("catalog.db-*"):
        side.unlink()
    listing = run("inspect", filled, "--json")
    assert listing.code == 1
    broken, sound = (
        next(p for p in listing.json["partitions"] if p["file"].endswith(f.name))
        for f in (first, second)
    )
    assert "checksum" in broken["problems"][0]
    assert sound["problems"] == []
    found = run("inspect", filled, record, "--json")
    assert (found.code, found.json["crc_ok"]) == (1, True), "found without the catalog"


def test_inspect_of_an_unknown_id_and_of_no_store(run: Run, filled: Path, tmp_path: Path) -> None:
    assert run("inspect", filled, 99).code == 2
    assert run("inspect", tmp_path / "nowhere").code == 3


def test_a_repair_folds_what_is_the_same_of_many_memories(
    run: Run, filled: Path, tmp_path: Path
) -> None:
    for n in range(6):
        run("remember", filled, f"fact {n}", "--tier", "procedural")
    with closing(sqlite3.connect(filled / "catalog.db")) as db, db:
        db.execute("DELETE FROM content WHERE text LIKE 'fact %'")
    for gone in filled.glob("episodic/*.mem"):
        gone.unlink()
    shown = run("check", filled, "--repair", tmp_path / "saved")
    assert shown.out.count("its text is lost") == 1
    assert "6 memories" in shown.out
    assert "the partition is missing" in shown.out
    told = run("check", filled, "--repair", tmp_path / "again", "--json").json
    assert sum("text is lost" in note["reason"] for note in told["notes"]) == 6


def test_compact_beside_a_damaged_partition_says_so_and_exits_1(run: Run, filled: Path) -> None:
    gone, damaged = (
        run("remember", filled, text, "--tier", "semantic", "--json").json["id"] for text in "ab"
    )
    run("forget", filled, str(gone))
    place = run("inspect", filled, str(damaged), "--json").json
    with (filled / place["file"]).open("r+b") as file:
        file.seek(place["offset"] + 70)
        byte = file.read(1)[0]
        file.seek(place["offset"] + 70)
        file.write(bytes([byte ^ 1]))
    result = run("compact", filled, "--json")
    assert result.code == 1
    assert result.json["failed"][0]["path"] == place["file"]
    way_out = f"spector forget {filled} {damaged}"
    assert way_out in result.err
    assert way_out.replace(" ", "") in "".join(run("check", filled).out.split())
    shown = run("compact", filled).out
    assert f"not erased yet: 1 ({gone})" in shown
    assert f"spector check {filled} " in shown
    assert "PATH" not in shown
    run("forget", filled, str(damaged))
    assert run("compact", filled).code == 0
    assert run("check", filled).code == 0


def test_a_cue_of_many_pages_is_read_in_part_and_the_command_says_so(
    run: Run, filled: Path
) -> None:
    cue = "deploys? " + "nothing of note here " * 2_000
    for verb in ("recall", "context"):
        assert "max_cue_bytes" in run(verb, filled, cue).err
        (note,) = run(verb, filled, cue, "--json").json["notes"]
        assert str(len(cue)) in note
