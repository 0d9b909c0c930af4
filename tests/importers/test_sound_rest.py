"""What one entry lacks costs no other entry of its file, and forms of products are read as meant.

Mechanism: readers say what is no message, and the import names it. Damage without it: half of an
emoji keeps a whole export out; a comment that no reader sees becomes a memory; the lines of a file
of fine-tuning become one long talk. Guard: small files in the forms of the products.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import spector
from spector.importers import import_files
from tests.fakes import FakeEmbedder


def imported(path: Path, **options: Any) -> tuple[list[spector.MemoryRecord], Any]:
    with spector.open(":memory:", embedder=FakeEmbedder()) as memory:
        report = import_files(memory, path, **options)
        return list(memory.records()), report


def written(path: Path, *lines: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def test_half_of_an_emoji_costs_its_message_alone(tmp_path: Path) -> None:
    file = written(
        tmp_path / "talk.jsonl",
        {"text": "The ferry leaves at six."},
        {"text": "cut off \ud83d"},
        {"text": "Bring the blue rope.", "metadata": {"by": "Ivo"}},
    )
    records, report = imported(file)
    assert [each.text for each in records] == ["The ferry leaves at six.", "Bring the blue rope."]
    [bad] = report.files[0].bad
    assert "line 2" in bad
    assert "half of an emoji" in bad


@pytest.mark.parametrize("text", ["\u200b\u200e", "\u00ad", "\ufeff \u2060"])
def test_a_text_that_nobody_sees_stores_nothing_of_its_file(tmp_path: Path, text: str) -> None:
    notes = [{"text": f"note {n}"} for n in range(30)]
    file = written(tmp_path / "x.jsonl", *notes, {"text": text})
    config = spector.Config(batch_records=10)
    with spector.open(":memory:", embedder=FakeEmbedder(), config=config) as memory:
        with pytest.raises(spector.InvalidTextError, match="invisible"):
            memory.import_(file)
        assert len(memory) == 0


def test_each_line_of_fine_tuning_is_a_conversation(tmp_path: Path) -> None:
    talks = [
        {
            "messages": [
                {"role": "user", "content": f"My punt is number {n}."},
                {"role": "assistant", "content": "Noted."},
            ]
        }
        for n in range(3)
    ]
    file = written(tmp_path / "tune.jsonl", *talks)
    records, _ = imported(file)
    assert len(records) == 6
    assert len({each.session_id for each in records}) == 3
    with spector.open(":memory:", embedder=FakeEmbedder()) as memory:
        import_files(memory, file)
        first = {"messages": [{"role": "user", "content": "First of all: hello Oulu."}]}
        written(file, first, *talks)
        import_files(memory, file)
        assert len(memory) == 7, "a line further up makes no other message of those below"


def test_a_comment_of_a_note_is_not_read(tmp_path: Path) -> None:
    note = tmp_path / "vault" / "boat.md"
    note.parent.mkdir()
    note.write_text(
        "The keel is sound. %%ask Ivo%% Paint it.\n\n%%\nold plan\n%%\n\nUp 5%% or 6%% a year.\n\n"
        '```\nprintf("%%d %%s")\n```\n\nOpen %% sign.\n',
        encoding="utf-8",
    )
    whole = "\n".join(each.text for each in imported(note.parent)[0])
    assert "ask Ivo" not in whole
    assert "old plan" not in whole
    for kept in ("Paint it.", "Up 5%% or 6%% a year.", "%%d %%s", "Open %% sign."):
        assert kept in whole


def test_notes_of_one_name_are_told_apart_by_their_folders(tmp_path: Path) -> None:
    for folder in ("north", "south"):
        (tmp_path / "vault" / folder).mkdir(parents=True)
        (tmp_path / "vault" / folder / "Pier.md").write_text(f"The {folder} pier is open.\n")
    records, _ = imported(tmp_path / "vault")
    assert {each.source for each in records} == {"north/Pier.md", "south/Pier.md"}


def test_a_database_of_notion_says_its_rows(tmp_path: Path) -> None:
    table = 'Name,Status,Due\nBuy rope,Open,"February 5, 2026"\n'
    named = tmp_path / "Tasks 0a1b2c3d4e5f60718293a4b5c6d7e8f9.csv"
    named.write_text(table, encoding="utf-8")
    [record], _ = imported(named)
    assert record.text == "Name: Buy rope\nStatus: Open\nDue: February 5, 2026"
    other = tmp_path / "tasks.csv"
    other.write_text(table, encoding="utf-8")
    with pytest.raises(spector.ImportFormatError, match="no column has texts"):
        imported(other)
