"""``spector observe`` and ``import --observe``: what was kept, changed and left out, from anywhere.

Mechanism: files are read and checked, then observed in batches. Damage without it: a log that is
half observed without a word, a dry run that stores, small talk that fills a store. Guard: files,
folders and standard input; JSON; a malformed file; a Ctrl-C between two batches; every format of
the importers.
"""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import spector
from spector.cli.commands import files as observing
from spector.clock import ManualClock
from spector.importers import importing
from tests.cases import Cases
from tests.cli.conftest import Run

cases = Cases(__file__)

TALK = tuple(cases.rows("TALK"))


def lines(turns: Any = TALK) -> str:
    return "".join(
        json.dumps({"role": role, "content": text}, ensure_ascii=False) + "\n"
        for role, text in turns
    )


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "talk.jsonl"
    path.write_text(lines(), encoding="utf-8")
    return path


def texts(path: Path, clock: ManualClock) -> list[str]:
    with spector.open(path, embedder="default", clock=clock) as memory:
        assert memory.check().ok
        return [each.text for each in memory.records(tiers="episodic", include=[])]


def test_a_log_is_observed_and_the_summary_counts_every_message(
    run: Run, tmp_path: Path, log: Path, clock: ManualClock
) -> None:
    store = tmp_path / "mind"
    result = run("observe", store, log)
    assert (result.code, result.err) == (0, "")
    assert "observed: 8 messages" in result.out
    assert "1 replaced earlier ones" in result.out
    assert "1 repeated what was known" in result.out
    for name in ("small talk", "question", "prompt injection"):
        assert name in result.out
    assert texts(store, clock) == ["The staging server uses port 8443.", "Kars'ta yaşıyorum."]


def test_json_has_the_same_counts(run: Run, tmp_path: Path, log: Path) -> None:
    found = run("observe", tmp_path / "mind", log, "--json").json
    assert found["command"] == "observe"
    assert found["dry_run"] is False
    assert [each["messages"] for each in found["files"]] == [8]
    assert (found["messages"], found["created"], found["superseded"]) == (8, 2, 1)
    assert found["reinforced"] == 1
    dropped = found["dropped"]
    assert dropped.keys() >= {"small_talk", "question", "prompt_injection"}
    assert sum(dropped.values()) == 4
    kept = found["created"] + found["superseded"] + found["reinforced"] + found["contradicted"]
    assert kept + found["elaborated"] + sum(dropped.values()) == 8


def test_a_folder_is_read_in_the_order_of_its_names(
    run: Run, tmp_path: Path, clock: ManualClock
) -> None:
    folder = tmp_path / "logs" / "deep"
    folder.mkdir(parents=True)
    (folder / "b.jsonl").write_text(lines(TALK[4:5]), encoding="utf-8")
    (folder.parent / "a.jsonl").write_text(lines(TALK[:1]), encoding="utf-8")
    (folder.parent / "picture.png").write_bytes(b"\x89PNG")
    # ".../a.jsonl" sorts before ".../deep/b.jsonl"
    found = run("observe", tmp_path / "mind", folder.parent, "--json").json
    assert [Path(each["file"]).name for each in found["files"]] == ["a.jsonl", "b.jsonl"]
    assert found["superseded"] == 1
    assert texts(tmp_path / "mind", clock) == ["The staging server uses port 8443."]


def test_a_folder_without_messages_says_so(run: Run, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    result = run("observe", tmp_path / "mind", tmp_path / "empty")
    assert result.code == 2
    assert "no file of messages" in result.err
    assert not (tmp_path / "mind").exists()


def test_standard_input(
    run: Run, tmp_path: Path, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Stdin:
        buffer = io.BytesIO(lines(TALK[:3]).encode())

        def isatty(self) -> bool:
            return False

    monkeypatch.setattr("sys.stdin", Stdin())
    result = run("observe", tmp_path / "mind", "-")
    assert result.code == 0, result.err
    assert "observed: 3 messages" in result.out
    assert texts(tmp_path / "mind", clock) == ["The staging server uses port 8080."]


def test_a_dry_run_decides_and_stores_nothing(
    run: Run, tmp_path: Path, log: Path, clock: ManualClock
) -> None:
    store = tmp_path / "mind"
    assert run("remember", store, "The staging server uses port 8080.").code == 0
    result = run("observe", store, log, "--dry-run")
    assert result.code == 0, result.err
    assert "would be observed: 8 messages" in result.out
    assert "replaced earlier ones" in result.out
    assert texts(store, clock) == ["The staging server uses port 8080."]


def test_each_decision_is_explained_on_request(run: Run, tmp_path: Path, log: Path) -> None:
    out = run("observe", tmp_path / "mind", log, "--explain").out
    assert "> lol ok thanks!" in out
    assert "small_talk" in out
    assert "supersede" in out


@cases("bad", "named")
def test_a_bad_file_is_named_before_anything_is_observed(
    run: Run, tmp_path: Path, log: Path, bad: str, named: str
) -> None:
    broken = tmp_path / "talk2.jsonl"
    broken.write_text(lines() + bad, encoding="utf-8")
    result = run("observe", tmp_path / "mind", log, broken)
    assert result.code == 2
    assert named in result.err
    assert ":9" in result.err or "line 9" in result.err
    assert not (tmp_path / "mind").exists()


def test_a_missing_file_is_an_error_and_no_traceback(run: Run, tmp_path: Path) -> None:
    result = run("observe", tmp_path / "mind", tmp_path / "nowhere.jsonl")
    assert result.code == 2
    assert "nowhere.jsonl" in result.err
    assert "Traceback" not in result.err


def test_an_interrupt_keeps_whole_batches(
    run: Run, tmp_path: Path, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first batch is committed, the second one is cut off before it is stored."""
    monkeypatch.setattr(importing, "STEP", 2)
    observe, batches = observing._observe, list[int]()

    def cut(*args: Any) -> Any:
        batches.append(len(batches))
        if len(batches) == 2:
            raise KeyboardInterrupt
        return observe(*args)

    log = tmp_path / "talk.jsonl"
    log.write_text(
        lines(
            ("user", f"Shelf {n} holds the atlas of {name}.")
            for n, name in enumerate(("Kars", "Oslo", "Lyon", "Bern"))
        ),
        encoding="utf-8",
    )
    monkeypatch.setattr(observing, "_observe", cut)
    result = run("observe", tmp_path / "mind", log)
    assert result.code == 130
    assert "interrupted" in result.err
    assert texts(tmp_path / "mind", clock) == [
        "Shelf 0 holds the atlas of Kars.",
        "Shelf 1 holds the atlas of Oslo.",
    ]


def test_the_zone_of_the_log_decides_what_day_tomorrow_is(
    run: Run, tmp_path: Path, clock: ManualClock
) -> None:
    log = tmp_path / "plan.jsonl"
    log.write_text(
        json.dumps(
            {
                "role": "user",
                "content": "I'm going to the dentist tomorrow.",
                "timestamp": "2026-11-25T22:30:00Z",
            }
        ),
        encoding="utf-8",
    )
    assert run("observe", tmp_path / "mind", log, "--timezone", "Europe/Istanbul").code == 0
    assert texts(tmp_path / "mind", clock) == ["I'm going to the dentist tomorrow [2026-11-27]."]
    bad = run("observe", tmp_path / "mind", log, "--timezone", "Middle/Earth")
    assert bad.code != 0
    assert "Middle/Earth" in bad.err


# -- importers -------------------------------------------------------------------------------------


@cases("name", "content", "kind")
def test_importers_observe(
    run: Run, tmp_path: Path, clock: ManualClock, name: str, content: str, kind: str
) -> None:
    path = tmp_path / name
    path.write_text(content, encoding="utf-8")
    found = run("import", tmp_path / "mind", path, "--observe", "--json").json
    assert found["files"][0]["format"] == kind
    assert found["observed"]["messages"] == found["files"][0]["messages"]
    assert found["observed"]["created"] == 1
    kept = texts(tmp_path / "mind", clock)
    assert len(kept) == 1
    assert "Acme" in kept[0]
    plain = run("import", tmp_path / "other", path, "--json").json
    assert "observed" not in plain
    assert len(texts(tmp_path / "other", clock)) == plain["stored"]


def test_an_import_that_observes_says_what_became_of_messages(
    run: Run, tmp_path: Path, log: Path
) -> None:
    out = run("import", tmp_path / "mind", log, "--observe").out
    assert "imported 8 messages" in out
    assert "observed: 8 messages" in out
    counts = {
        line.split()[0]: line.split()[1]
        for line in out.splitlines()
        if line[:3] == "  r" or line[:3] == "  o"
    }
    assert counts["observed"] == "8", "what was looked at is not what is stored"
    assert "\n  stored " not in out
    dry = run("import", tmp_path / "dry", log, "--observe", "--dry-run")
    assert dry.code == 0
    assert not (tmp_path / "dry").exists()


def test_two_statements_are_judged_without_a_store(run: Run) -> None:
    old, new = "Deposit for the hall: 40 percent.", "Deposit for the hall: 55 percent."
    found = run("judge", old, new, "--json").json
    assert (found["verdict"], found["vetoes"]) == ("may change", [])
    said = run("judge", "I keep bees in Ghent.", "Wilma keeps bees in Bruges now.").out
    assert said.startswith("apart\n")
    assert "vetoes: another subject" in said


# The command imports what is sound, says what is not, and ends with the code that says so.
#
# Damage without it: a script that takes half an import for a whole one. Guard: exit codes, what is
# printed on either stream, and what the store has afterwards.

GOOD = '{"role": "user", "content": "The pump reads three bar.", "timestamp": 1714730000}\n'


def stored(path: Path) -> list[str]:
    with spector.open(path, mode="r") as memory:
        return [each.text for each in memory]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    out = tmp_path / "logs"
    out.mkdir()
    (out / "a.jsonl").write_text(GOOD)
    (out / "b.jsonl").write_text(GOOD + "{\n")
    (out / "c.md").write_text("A note.\n")
    (out / "d.jpg").write_text("x")
    return out


@pytest.mark.parametrize("more", [(), ("--dry-run",)])
def test_an_odd_file_of_a_folder_is_listed_and_the_exit_code_is_1(
    run: Run, tmp_path: Path, folder: Path, more: tuple[str, ...]
) -> None:
    result = run("import", tmp_path / "s", folder, *more)
    assert result.code == 1
    assert "not imported" in result.err
    assert "b.jsonl, line 2" in result.err
    assert "1 .jpg" in result.out
    if more:
        assert not (tmp_path / "s").exists()
    else:
        assert sorted(stored(tmp_path / "s")) == ["The pump reads three bar.", "c\n\nA note."]


@pytest.mark.parametrize("more", [(), ("--dry-run",)])
def test_a_named_file_that_is_bad_ends_the_command(
    run: Run, tmp_path: Path, folder: Path, more: tuple[str, ...]
) -> None:
    result = run("import", tmp_path / "s", folder / "a.jsonl", folder / "b.jsonl", *more)
    assert (result.code, result.out) == (2, "")
    assert not (tmp_path / "s").exists()
    result = run("import", tmp_path / "s", folder / "b.jsonl", "--skip-bad", *more)
    assert result.code == 0
    assert "skipped: " in result.err
    assert "stored" in result.out
    assert more or stored(tmp_path / "s")


def test_a_second_import_says_what_is_known(run: Run, tmp_path: Path, folder: Path) -> None:
    run("import", tmp_path / "s", folder / "a.jsonl")
    for more in (["--dry-run"], []):
        result = run("import", tmp_path / "s", folder / "a.jsonl", *more)
        assert "0 messages from" in result.out
        assert "1 known already" in result.out
    assert len(stored(tmp_path / "s")) == 1


def test_the_working_tier_is_refused(run: Run, tmp_path: Path, folder: Path) -> None:
    for verb in ("import", "observe"):
        result = run(verb, tmp_path / "s", folder / "a.jsonl", "--tier", "working")
        assert result.code == 2
        assert "gone when this command ends" in result.err
    assert not (tmp_path / "s").exists()


def test_a_zone_for_times_without_one(run: Run, tmp_path: Path) -> None:
    chat = tmp_path / "_chat.txt"
    chat.write_text("13/02/25, 00:30 - Ann: Who feeds the cat?\n13/02/25, 00:31 - Ben: I do\n")
    result = run("import", tmp_path / "s", chat, "--tz", "Europe/Istanbul")
    assert "2025-02-13 to 2025-02-13" in result.out
    assert "no time zone" not in result.out
    with spector.open(tmp_path / "s", mode="r") as memory:
        assert next(iter(memory)).event_time.isoformat() == "2025-02-12T21:30:00+00:00"
    assert "2 known already" in run("import", tmp_path / "s", chat).out, "in another zone as well"
    hits = run(
        "recall",
        tmp_path / "s",
        *"cat --since 2025-02-13 --until 2025-02-13 --tz Europe/Istanbul --json".split(),
    ).json["hits"]
    assert len(hits) == 2
    hits = run("recall", tmp_path / "s", "cat", "--until", "2025-02-11", "--json").json["hits"]
    assert not hits
    assert run("recall", tmp_path / "s", "cat", "--tz", "Mars/Olympus").code == 2


def test_observing_a_folder_reads_past_an_odd_file(run: Run, tmp_path: Path, folder: Path) -> None:
    result = run("observe", tmp_path / "s", folder, "--json")
    assert result.code == 1
    assert result.json["messages"] == 2


@pytest.mark.slow
def test_an_interrupt_says_how_much_is_stored_and_the_next_run_completes_it(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    entries: list[dict[str, Any]] = [
        {
            "role": "user",
            "content": f"Entry {n}: pump {n * 7 % 97} reads {n * 3} bar",
            "timestamp": 1714730000 + n,
            "id": f"m{n}",
        }
        for n in range(2000)
    ]
    log.write_text("".join(json.dumps(each) + "\n" for each in entries))
    command = [sys.executable, "-m", "spector", "import", str(tmp_path / "s"), str(log)]
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=env,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    while process.poll() is None and not list(tmp_path.glob("s/episodic/*.mem")):
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate()
    if process.returncode:
        assert f"{len(stored(tmp_path / 's'))} of 2000 messages are stored" in said
    assert subprocess.run(command, env=env, capture_output=True, check=False).returncode == 0
    assert len(stored(tmp_path / "s")) == 2000
