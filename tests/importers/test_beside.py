"""A folder of many exports: each is read as what it is, and none hides another.

Damage without it: a chat of ChatGPT in a folder made all other exports and notes in it "files not
read", and a note with WhatsApp in its name all notes of a vault.
Guard: folders with exports of several products, side by side and in one folder.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import spector
from spector.importers import ImportReport, import_files
from tests.fakes import FakeEmbedder
from tests.importers.samples import SAMPLES


def put(folder: Path, kind: str, name: str = "") -> None:
    folder.mkdir(parents=True, exist_ok=True)
    file, text = SAMPLES[kind]
    (folder / (name or file)).write_text(text, encoding="utf-8")


def imported(folder: Path) -> ImportReport:
    with spector.open(":memory:", embedder=FakeEmbedder(dim=16)) as memory:
        return import_files(memory, folder)


def formats(report: ImportReport) -> set[str]:
    assert report.ok, [each.error for each in report.files if each.error]
    return {each.format for each in report.files}


def test_exports_of_several_products_in_one_folder_are_all_read(tmp_path: Path) -> None:
    put(tmp_path / "gpt", "chatgpt")
    put(tmp_path / "claude", "claude")
    put(tmp_path / "phone", "whatsapp ios")
    put(tmp_path / "tg", "telegram")
    put(tmp_path / "work" / "general", "slack")
    (tmp_path / "work" / "users.json").write_text(
        json.dumps([{"id": "U1", "name": "ann"}]), encoding="utf-8"
    )
    (tmp_path / "gpt" / "user.json").write_text('{"id": "u"}', encoding="utf-8")
    (tmp_path / "note.md").write_text("# Garden\n\nBeans grow.", encoding="utf-8")
    report = imported(tmp_path)
    assert formats(report) == {
        "chatgpt",
        "claude",
        "whatsapp",
        "telegram",
        "slack",
        "markdown",
    }
    assert report.others == {".json": 2}  # the user of ChatGPT, and those of Slack


def test_two_products_in_one_folder_are_both_read(tmp_path: Path) -> None:
    put(tmp_path, "chatgpt")
    put(tmp_path, "claude", "conversations-2.json")
    put(tmp_path, "telegram")
    assert formats(imported(tmp_path)) == {"chatgpt", "claude", "telegram"}


def test_a_note_about_a_messenger_hides_no_vault(tmp_path: Path) -> None:
    (tmp_path / "Ideas.md").write_text("Beans grow.", encoding="utf-8")
    (tmp_path / "WhatsApp ideas.txt").write_text("Ask the shop about it.", encoding="utf-8")
    assert formats(imported(tmp_path)) == {"markdown", "text"}


def test_what_is_no_file_is_counted(tmp_path: Path) -> None:
    put(tmp_path, "jsonl")
    os.mkfifo(tmp_path / "pipe.jsonl")
    (tmp_path / "gone.jsonl").symlink_to("nowhere")
    assert imported(tmp_path).others == {"no file": 2}
