"""Check beside a writer that never pauses: no false alarm, and damage is still found."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

import spector
from spector.layout import stride_of
from spector.store.integrity import check as checking

DIM = 8


@pytest.fixture
def writer(tmp_path: Path) -> Iterator[spector.Memory]:
    with spector.open(tmp_path / "mind", embedder=None, dim=DIM) as memory:
        for number in range(6):
            remember(memory, number)
        memory.checkpoint()
        yield memory


def remember(memory: spector.Memory, number: int) -> int:
    vector = np.eye(DIM, dtype=np.float32)[number % DIM]
    return memory.remember(f"memory {number}", vector=vector).id


def between(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> None:
    """Let the writer act between a check's snapshot of the catalog and its look at partitions."""
    plain = checking.check_catalog

    def overtaken(*args: object) -> object:
        found = plain(*args)  # type: ignore[arg-type]
        act()
        return found

    monkeypatch.setattr(checking, "check_catalog", overtaken)


@pytest.mark.parametrize("what", ["remember", "many", "reinforce", "forget"])
def test_a_writer_that_never_pauses_is_no_damage(
    writer: spector.Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    acts = []
    first = next(iter(writer)).id
    many = [{"text": "one of many", "vector": [1.0] * DIM}] * 80

    def act() -> None:
        acts.append(what)
        if what == "remember":
            remember(writer, len(acts))
        elif what == "many":
            writer.remember_many(many)
        elif what == "reinforce":
            writer.reinforce(first)
        else:
            writer.forget(remember(writer, 1))
        if len(acts) % 2:
            writer.checkpoint()

    between(monkeypatch, act)
    report = spector.check(tmp_path / "mind")
    assert report.ok, report.problems
    assert acts


def test_damage_beside_a_writer_that_never_pauses_is_found(
    writer: spector.Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (file,) = (tmp_path / "mind").rglob("*.mem")
    raw = bytearray(file.read_bytes())
    raw[64 + stride_of(DIM) * 2 + 66] ^= 0x10  # the vector of the third record
    file.write_bytes(raw)
    between(monkeypatch, lambda: remember(writer, 1))
    report = spector.check(tmp_path / "mind")
    assert {problem.code for problem in report.problems} >= {"I3"}
    assert {problem.slot for problem in report.problems} == {2}
