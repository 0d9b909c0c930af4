"""The command imports what is sound, says what is not, and ends with the code that says so.

Damage without it: a script that takes half an import for a whole one. Guard: exit codes, what is
printed on either stream, and what the store has afterwards.
"""

from __future__ import annotations

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
from tests.cli.conftest import Run

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
        "cat",
        "--since",
        "2025-02-13",
        "--until",
        "2025-02-13",
        "--tz",
        "Europe/Istanbul",
        "--json",
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
def test_an_interrupt_says_how_much_is_stored_and_the_next_run_completes_it(
    tmp_path: Path,
) -> None:
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
