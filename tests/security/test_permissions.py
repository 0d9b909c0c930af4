"""Files are 0600 and directories 0700, whatever the umask, from the moment they are made.

Mechanism: every file is created by the store itself, SQLite's before SQLite can, and looked at
before it is used. Damage without it: other users of the machine read what an agent remembers.
Guard: the modes of everything below the root after every verb, under the laxest and the strictest
umask, and at the moment of creation.
"""

from __future__ import annotations

import os
import stat
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import spector
from spector import Config, ManualClock
from spector.store.files.text_files import write_lines
from tests.fakes import FakeEmbedder

TINY = Config(episodic_capacity=4, index_min_rows=1)


@pytest.fixture(params=[0o000, 0o022, 0o077, 0o777])
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    before = os.umask(request.param)
    try:
        yield request.param
    finally:
        os.umask(before)


def modes(path: Path) -> dict[str, str]:
    found = {".": path, **{p.relative_to(path).as_posix(): p for p in path.rglob("*")}}
    return {name: oct(stat.S_IMODE(p.lstat().st_mode)) for name, p in found.items()}


def too_open(path: Path) -> dict[str, str]:
    return {
        name: mode
        for name, mode in modes(path).items()
        if mode != (oct(0o700) if (path / name).is_dir() else oct(0o600))
    }


def test_every_file_of_every_verb_is_its_owners_alone(
    tmp_path: Path, clock: ManualClock, umask: int
) -> None:
    path = tmp_path / "mind"
    with spector.open(path, embedder=FakeEmbedder(), clock=clock, config=TINY) as memory:
        assert too_open(path) == {}
        made = memory.remember_many([f"note {n}" for n in range(20)])
        memory.remember("a rule", tier="procedural")
        memory.recall("note")
        memory.checkpoint()
        assert too_open(path) == {}
        assert {p.name for p in path.iterdir()} >= {
            "LOCK",
            "catalog.db",
            "catalog.db-wal",
            "catalog.db-shm",
            "episodic",
        }
        clock.advance(days=2)
        memory.reflect()
        memory.forget([r.id for r in made[:6]], purge=True, verify=True)
        assert too_open(path) == {}
        with spector.open(path, mode="r", embedder=FakeEmbedder(), clock=clock) as reader:
            reader.recall("note")
            assert too_open(path) == {}
        memory.export(tmp_path / "out.jsonl")
        memory.backup(tmp_path / "copy")
    assert too_open(path) == {}
    assert too_open(tmp_path / "copy") == {}
    assert stat.S_IMODE((tmp_path / "out.jsonl").stat().st_mode) == 0o600
    assert any(name.endswith(".idx") for name in modes(path))


def test_a_catalog_is_private_before_sqlite_sees_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, umask: int
) -> None:
    from spector.store.catalog import catalog

    real, seen = catalog.sqlite3.connect, []

    def connect(where: str, **options: Any) -> Any:
        if where != "file::memory:":
            seen.append(oct(stat.S_IMODE((tmp_path / "mind" / "catalog.db").stat().st_mode)))
        return real(where, **options)

    monkeypatch.setattr(catalog.sqlite3, "connect", connect)
    spector.open(tmp_path / "mind", embedder=FakeEmbedder()).close()
    assert set(seen) == {"0o600"}


def loosen(path: Path, extra: int = 0o055) -> None:
    for each in (path, *path.rglob("*")):
        each.chmod(stat.S_IMODE(each.stat().st_mode) | (extra if each.is_dir() else extra & 0o044))


def test_rights_of_others_are_taken_back_when_a_store_is_opened_to_write(
    store_path: Path, clock: ManualClock
) -> None:
    """Copied with cp under the usual umask, unpacked from an archive, made by mkdir."""
    with spector.open(store_path, embedder=FakeEmbedder(), clock=clock) as memory:
        memory.remember("x")
    loosen(store_path)
    assert too_open(store_path) != {}
    with spector.open(store_path, mode="r", embedder=FakeEmbedder(), clock=clock):
        assert too_open(store_path) != {}, "a reader changes nothing"
    with spector.open(store_path, embedder=FakeEmbedder(), clock=clock):
        assert too_open(store_path) == {}


def test_a_store_that_everybody_could_change_says_so(store_path: Path, clock: ManualClock) -> None:
    spector.open(store_path, embedder=FakeEmbedder(), clock=clock).close()
    store_path.chmod(0o777)
    with (
        pytest.warns(UserWarning, match="every user of this machine could change"),
        spector.open(store_path, embedder=FakeEmbedder(), clock=clock),
    ):
        pass
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        spector.open(store_path, embedder=FakeEmbedder(), clock=clock).close()


def test_nothing_gets_rights_that_it_did_not_have(store_path: Path, clock: ManualClock) -> None:
    spector.open(store_path, embedder=FakeEmbedder(), clock=clock).close()
    (store_path / "notes.txt").write_text("mine")
    (store_path / "notes.txt").chmod(0o444)
    spector.open(store_path, embedder=FakeEmbedder(), clock=clock).close()
    assert modes(store_path)["notes.txt"] == oct(0o400)


def test_an_export_does_not_follow_a_link_that_was_put_in_its_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The name of the file that is being written cannot be guessed, and must be a new one."""
    victim = tmp_path / "victim"
    victim.write_text("precious")
    for guess in (os.getpid(), "0" * 16):
        (tmp_path / f"out.jsonl.{guess}.tmp").symlink_to(victim)
    write_lines(str(tmp_path / "out.jsonl"), ["line"])
    monkeypatch.setattr("secrets.token_hex", lambda n: "0" * 16)
    with pytest.raises(spector.StoreError):
        write_lines(str(tmp_path / "out.jsonl"), ["line"])
    assert victim.read_text() == "precious"
