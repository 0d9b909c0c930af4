"""An interrupt whose traceback is kept, as a notebook keeps it, leaves nothing behind that runs.

Mechanism: the frames of a traceback have their cursors, so a statement that an interrupt cut off
between two rows went on for as long as the traceback was there. Damage: its connection was used
again and showed its moment for ever, so a memory that had just been acknowledged was unknown, and
`check` named damage; closing left the catalog open. Guard: statements end with the read that an
error leaves, and with the connection.
"""

from __future__ import annotations

import shutil
import sqlite3
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import spector
from tests.crash.harness import scratch
from tests.fakes import FakeEmbedder
from tests.interrupts.verbs import ENTRIES, READING, WRITING, Scene, copied, faults_of, prepared

JOBS = {**WRITING, **READING, **ENTRIES}
#: verbs that read rows one by one, and how many such places there are between two that are tried
VERBS = {
    "check": 41,
    "check a path": 67,
    "compact": 29,
    "purge": 37,
    "backup": 67,
    "restore": 67,
    "open to read": 29,
    "recall": 29,
}
#: frames above the one that calls which may have the cursor
_DEPTH = 3


class _Cut(KeyboardInterrupt):
    """A Ctrl-C."""


class _Hook:
    """Raises at the return of the nth call that is made while a variable has a cursor."""

    def __init__(self, nth: int) -> None:
        self._left = nth

    def __call__(self, frame: FrameType, event: str, arg: Any) -> None:
        if event != "c_return" or "/spector/" not in frame.f_code.co_filename:
            return
        above: FrameType | None = frame
        for _ in range(_DEPTH):
            if above is None or "/spector/" not in above.f_code.co_filename:
                return
            if any(isinstance(each, sqlite3.Cursor) for each in above.f_locals.values()):
                break
            above = above.f_back
        else:
            return
        self._left -= 1
        if not self._left:
            sys.setprofile(None)
            raise _Cut


def _cut(nth: int, job: Callable[[], object]) -> _Cut | None:
    """Do a job with an interrupt: what was raised, with all that it keeps."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            sys.setprofile(_Hook(nth))
            try:
                job()
            finally:
                sys.setprofile(None)
        except _Cut as cut:
            return cut
    return None


@pytest.fixture(scope="module")
def model() -> Iterator[Scene]:
    with scratch() as folder:
        yield prepared(Path(folder) / "model")


@pytest.mark.sampled
@pytest.mark.parametrize("name", VERBS)
def test_a_statement_that_was_cut_off_shows_no_old_moment(name: str, model: Scene) -> None:
    faults: list[str] = []
    nth = 1
    while True:
        scene = copied(model, model.folder.parent / "scene")
        if name not in ENTRIES:
            scene.memory = scene.opened()
        kept = _cut(nth, lambda scene=scene: JOBS[name](scene))
        faults += [f"{name} at {nth}: {fault}" for fault in faults_of(scene)]
        shutil.rmtree(scene.folder)
        if kept is None:
            break
        nth += VERBS[name]
    assert faults == []
    assert nth > 1, "no place was tried"


def test_a_reader_whose_look_was_cut_off_goes_on_following(tmp_path: Path) -> None:
    days = [f"2026-05-{day:02d}T08:00:00Z" for day in range(1, 9)]
    with spector.open(tmp_path / "mind", embedder=FakeEmbedder()) as memory:
        reader = spector.open(tmp_path / "mind", embedder=FakeEmbedder(), mode="r")
        kept = []
        for nth, day in enumerate(days, 1):
            record = memory.remember(f"a plover of {day}", event_time=day)
            kept.append(_cut(nth, lambda: len(reader)))
            kept.append(_cut(nth, lambda record=record: reader.get(record.id)))
            assert reader.get(record.id).text == record.text
        reader.close()


def test_an_error_of_a_callback_that_is_kept_leaves_no_statement(tmp_path: Path) -> None:
    def stop(done: int, total: int | None) -> None:
        raise TimeoutError("enough")

    with spector.open(tmp_path / "mind", embedder=FakeEmbedder()) as memory:
        memory.remember_many([f"a stint, number {n}" for n in range(300)])
        kept = []
        for job in (
            lambda: memory.check(progress=stop),
            lambda: memory.export(tmp_path / "lines", progress=stop),
            lambda: memory.backup(tmp_path / "copy", progress=stop),
        ):
            with pytest.raises(TimeoutError) as raised:
                job()
            kept.append(raised)
            record = memory.remember("seen afterwards")
            assert memory.get(record.id).text == "seen afterwards"
            assert memory.check().ok
