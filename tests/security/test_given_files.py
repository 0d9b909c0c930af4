"""A pipe, a socket or a device in the place of a file that a user names is refused at once.

Mechanism: opening a pipe waits for its other end, and a device never ends. Damage: a call, or a
command, that never returns. Guard: every path that is taken from outside, with an alarm.
"""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import spector
from spector.importers import FORMATS, iter_messages
from spector.providers.minilm import MiniLMEmbedder
from spector.store.repair.inspect import RawStore
from tests.crash.workload import open_tiny, vector_of


def _pipe(path: Path) -> Path:
    os.mkfifo(path)
    return path


def _socket(path: Path) -> Path:
    with socket.socket(socket.AF_UNIX) as made:
        here = os.getcwd()
        os.chdir(path.parent)  # the name of a socket has room for 100 bytes
        try:
            made.bind(path.name)
        finally:
            os.chdir(here)
    return path


def _device(path: Path) -> Path:
    path.symlink_to("/dev/zero")
    return path


@pytest.fixture(autouse=True)
def alarm() -> Iterator[None]:
    signal.alarm(60)
    yield
    signal.alarm(0)


def _import_(path: Path) -> None:
    with spector.open(":memory:", embedder=None, dim=3) as memory:
        memory.import_(path)


def _export(path: Path) -> None:
    with spector.open(":memory:", embedder=None, dim=3) as memory:
        memory.export(path)


def _backup(path: Path) -> None:
    with spector.open(":memory:", embedder=None, dim=3) as memory:
        memory.backup(path)


VERBS: dict[str, Callable[[Path], object]] = {
    "import_": _import_,
    "export": _export,
    "backup": _backup,
    "open": lambda path: spector.open(path, embedder=None, dim=3),
    "open r": lambda path: spector.open(path, embedder=None, dim=3, mode="r"),
    "check": spector.check,
    "repair": lambda path: spector.repair(path, path.with_name("dest")),
    "restore": lambda path: spector.restore(path, path.with_name("dest")),
    "model": lambda path: MiniLMEmbedder(path=str(path)).fingerprint,
    "inspect": RawStore,
    "importer": lambda path: list(iter_messages(path)),
    **{
        f"importer {each}": lambda path, each=each: list(iter_messages(path, each))
        for each in FORMATS
        if each != "auto"
    },
}


@pytest.mark.parametrize("make", [_pipe, _socket, _device])
@pytest.mark.parametrize("verb", VERBS)
def test_what_is_no_file_is_refused(
    tmp_path: Path, verb: str, make: Callable[[Path], Path]
) -> None:
    strange = make(tmp_path / "strange")
    with pytest.raises(spector.SpectorError):
        VERBS[verb](strange)
    assert os.path.lexists(strange)


def test_a_partition_that_becomes_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "mind"
    with open_tiny(str(path)) as memory:
        made = memory.remember("a word", vector=vector_of("a"))
    (partition,) = path.rglob("*.mem")
    with RawStore(path) as raw:
        partition.unlink()
        _pipe(partition)
        with pytest.raises(spector.StoreError, match="pipe"):
            raw.record(made.id) if hasattr(raw, "record") else raw._rows(raw.names[0])
