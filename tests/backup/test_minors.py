"""The minor of keys, ends and attachments is read, written and copied; older programs only read it.

The fixture was made by the code of its time (``tests/fixtures/minors.py``).
"""

from __future__ import annotations

import json
import sqlite3
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import spector
from spector.cli.main import main
from spector.store.catalog import schema
from spector.store.opening import reader
from tests.crash.workload import vector_of
from tests.fakes import FakeEmbedder
from tests.fixtures import make, minors

KINDS = ("closed", "killed")
EXPECTED = minors.TARGET / "expected.json"


@pytest.fixture(params=KINDS)
def mind(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    with tarfile.open(minors.TARGET / f"{request.param}.tar.xz") as archive:
        archive.extractall(tmp_path, filter="data")
    return tmp_path / "mind"


def assert_same(memory: spector.Memory) -> None:
    wanted, found = json.loads(EXPECTED.read_text(encoding="utf-8")), minors.found_in(memory)
    del wanted["until"]
    for (record_id, score), (of_then, score_then) in zip(
        found.pop("recalled"), wanted.pop("recalled"), strict=True
    ):
        assert (record_id, score) == (of_then, pytest.approx(score_then, abs=2e-5))
    # a dictionary of a memory may say more today than it did then
    found["records"] = [
        {name: value for name, value in record.items() if name in of_then}
        for record, of_then in zip(found["records"], wanted["records"], strict=True)
    ]
    assert found == wanted
    assert any(not record["text"] for record in wanted["records"])


def minor_of(path: Path) -> str:
    with sqlite3.connect(path / "catalog.db") as db:
        [(found,)] = db.execute("SELECT value FROM meta WHERE key = 'format_minor'")
    db.close()
    return str(found)


def test_it_is_read_as_it_is_and_written_to(mind: Path, proof: Any) -> None:
    before = {each: each.read_bytes() for each in mind.rglob("*.mem")}
    with make.open_small(str(mind), mode="r") as memory:
        assert_same(memory)
        assert memory.check().ok
    assert {each: each.read_bytes() for each in mind.rglob("*.mem")} == before
    assert minor_of(mind) == "2"
    with make.open_small(str(mind)) as memory:
        assert_same(memory)
        memory.remember(
            "new",
            vector=vector_of("new"),
            key="a",
            namespace=("x", "y"),
            user_id="ada",
            attachment=[2],
        )
        assert memory.get(key="a", namespace=("x", "y"), user_id="ada").attachment() == [2]
        memory.reflect("upkeep")
        assert memory.check().ok
    proof("T16", cells_passed=2)


def test_it_is_copied_and_restored_as_it_is(mind: Path, tmp_path: Path, proof: Any) -> None:
    assert spector.check(mind).ok
    with make.open_small(str(mind), mode="r") as memory:
        memory.backup(tmp_path / "copy")
        memory.export(tmp_path / "all.jsonl")
    spector.restore(tmp_path / "copy", tmp_path / "back")
    with make.open_small(str(tmp_path / "back")) as memory:
        assert_same(memory)
    spector.repair(mind, tmp_path / "mended")
    with make.open_small(str(tmp_path / "mended")) as memory:
        assert_same(memory)
        assert memory.check().ok
    assert "attachment_base64" in (tmp_path / "all.jsonl").read_text(encoding="utf-8")
    proof("T16", cells_passed=3)


@pytest.mark.parametrize("command", ["check", "stats", "inspect", "export", "compact"])
def test_commands_take_it(
    command: str, mind: Path, capsys: pytest.CaptureFixture[str], proof: Any
) -> None:
    assert main([command, str(mind)]) == 0, capsys.readouterr()
    assert spector.check(mind).ok
    proof("T16", cells_passed=1)


def test_a_program_of_an_older_minor_reads_it_and_does_not_write_it(
    mind: Path, monkeypatch: pytest.MonkeyPatch, proof: Any
) -> None:
    make.open_small(str(mind)).close()
    monkeypatch.setattr(schema, "FORMAT_MINOR", 1)
    with pytest.raises(spector.FormatVersionError, match=r"2\.2"):
        make.open_small(str(mind))
    with make.open_small(str(mind), mode="r") as memory:
        assert len(memory) > 10
    proof("T16", cells_passed=1)


def meta_of(path: Path) -> dict[str, str]:
    """The description of a store as a program reads it that knows no ends."""
    with sqlite3.connect(path / "catalog.db") as db:
        found = dict(db.execute("SELECT key, value FROM meta"))
    db.close()
    return found


def refuses(path: Path) -> bool:
    """Whether such a program refuses to open a store, also for reading."""
    try:
        schema.check_format(meta_of(path), str(path), writes=False)
    except spector.FormatVersionError as error:
        return "upgrade" in error.hint
    return False


CALL = {"role": "assistant", "content": None, "tool_calls": [{"function": {"name": "book"}}]}
MISLEADING: dict[str, Callable[[spector.Memory, int], object]] = {
    "an end": lambda m, i: m.remember("x", expires_in=60),
    "a time": lambda m, i: m.remember("x", expires_at="2099-01-01", key="k"),
    "one of many": lambda m, i: m.remember_many(["x", {"text": "y", "expires_in": 60}]),
    "an update": lambda m, i: m.update(i, expires_in=60),
    "no text": lambda m, i: m.remember(attachment=[1]),
    "a call": lambda m, i: m.remember(CALL, attachment=CALL, key="k"),
    "many without text": lambda m, i: m.remember_many([{"attachment": [n]} for n in range(2)]),
    "words gone": lambda m, i: m.update(i, text="", attachment=b"raw"),
}
HARMLESS: dict[str, Callable[[spector.Memory, int], object]] = {
    "a key": lambda m, i: m.remember("x", key="k", namespace=("a",)),
    "an attachment": lambda m, i: m.remember("x", attachment=b"raw"),
    "a key that was forgotten": lambda m, i: m.forget(m.remember("x", key="k").id),
    "no end": lambda m, i: m.update(i, expires_in=None),
}


@pytest.mark.parametrize("how", [*MISLEADING, *HARMLESS])
def test_older_programs_open_no_store_that_they_would_show_wrongly(
    tmp_path: Path, how: str, proof: Any
) -> None:
    path, wanted = tmp_path / "mind", how in MISLEADING
    with spector.open(path, embedder=FakeEmbedder()) as memory:
        plain = memory.remember("a plain one")
        assert not refuses(path)
        with spector.open(path, embedder=FakeEmbedder(), mode="r") as reader:
            (MISLEADING | HARMLESS)[how](memory, plain.id)
            assert refuses(path) is wanted
            assert len(reader) == len(memory), "who knows of them reads on"
    for more in ({"mode": "r"}, {}, {"shared": True}):
        with spector.open(path, embedder=FakeEmbedder(), **more) as memory:
            assert len(memory) == len(list(memory.records()))
            assert memory.check().ok
    assert refuses(path) is wanted
    proof("T16", cells_passed=1)


@pytest.mark.parametrize("how", ["an end", "no text"])
def test_copies_keep_older_programs_out_as_well(tmp_path: Path, how: str) -> None:
    path = tmp_path / "mind"
    with spector.open(path, embedder=FakeEmbedder()) as memory:
        MISLEADING[how](memory, memory.remember("a plain one").id)
        memory.backup(tmp_path / "copy")
        memory.export(tmp_path / "all.jsonl")
    spector.restore(tmp_path / "copy", tmp_path / "back")
    spector.repair(path, tmp_path / "mended")
    with spector.open(tmp_path / "other", embedder=FakeEmbedder()) as other:
        other.import_(tmp_path / "all.jsonl")
    spector.reembed(path, FakeEmbedder(dim=48))
    for name in ("mind", "copy", "back", "mended", "other"):
        assert refuses(tmp_path / name), name
        assert spector.check(tmp_path / name).ok, name


def test_a_write_that_fails_keeps_nobody_out(tmp_path: Path) -> None:
    with spector.open(tmp_path / "mind", embedder=FakeEmbedder()) as memory:
        stone = memory.remember("stone", immutable=True)
        with pytest.raises(spector.SpectorError):
            memory.update(stone.id, expires_in=5)
        with pytest.raises(spector.SpectorError):
            memory.remember("x", expires_in=5, supersedes=stone.id + 999)
    assert not refuses(tmp_path / "mind")


def test_an_older_reader_that_is_open_goes_no_further(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with spector.open(tmp_path / "mind", embedder=FakeEmbedder()) as memory:
        memory.remember("a plain one")
        with spector.open(tmp_path / "mind", embedder=FakeEmbedder(), mode="r") as older:
            monkeypatch.setattr(
                reader, "read_meta", lambda db: dict(db.execute("SELECT key, value FROM meta"))
            )
            assert len(older) == 1
            memory.remember("x", expires_in=60)
            with pytest.raises(spector.FormatVersionError, match="meanwhile"):
                older.recall("x")


def test_what_older_programs_drop_from_recalls_is_what_has_no_text(mind: Path) -> None:
    """They know AUXILIARY and not NO_TEXT, so the first alone must keep it out."""
    with make.open_small(str(mind), mode="r") as memory:
        bare = [each for each in memory.records() if not each.text]
    assert bare
    known = sum(each for each in spector.Flag if each < spector.Flag.NO_TEXT)
    assert all(each.flags & known & spector.Flag.AUXILIARY for each in bare)
