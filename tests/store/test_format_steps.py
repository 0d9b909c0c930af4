"""There is one format; another one is refused, and one made-up step shows the way to the next.

Mechanism: the catalog and every partition say their format, and an opening runs the steps that lead
on from it. Damage without it: a store of a later program is taken for a damaged one, or written to
by code that does not know it; a migration that is killed leaves half of each.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import spector
from spector.layout import FORMAT_VERSION, PARTITION_DTYPE
from spector.store.catalog import schema
from spector.store.core.store import Store
from spector.store.opening import recovery
from spector.store.partitions import segment as header
from spector.store.rewriting import STEPS, Step, next_step, rewrite_all
from tests.crash.workload import open_tiny, texts_of, vector_of
from tests.store.spoil import says, sql

NEXT = FORMAT_VERSION + 1


@pytest.fixture
def mind(tmp_path: Path) -> Path:
    with open_tiny(str(tmp_path / "mind")) as memory:
        for n in range(7):
            text = f"w{n} version 0"
            memory.remember(text, vector=vector_of(text), tier=("semantic", "episodic")[n % 2])
        memory.forget(next(iter(memory)).id)
    return tmp_path / "mind"


def formats(path: Path) -> tuple[str, set[int]]:
    """What the catalog and the headers of the partitions say."""
    [(said,)] = sql(path, "SELECT value FROM meta WHERE key = 'format_version'")
    heads = [np.frombuffer(p.read_bytes()[:64], PARTITION_DTYPE)[0] for p in path.rglob("*.mem")]
    return said, {int(head["version"]) for head in heads}


def test_there_is_one_format(mind: Path) -> None:
    assert (FORMAT_VERSION, STEPS) == (1, ())
    assert formats(mind) == ("1", {1})


@pytest.mark.parametrize("version", [2, 102, 2**31])
def test_an_unknown_format_is_refused_and_both_are_named(version: int, mind: Path) -> None:
    says(mind, str(version))
    before = {path: path.read_bytes() for path in mind.rglob("*.mem")}
    for call in (
        lambda: open_tiny(str(mind)),
        lambda: open_tiny(str(mind), mode="r"),
        lambda: spector.check(mind),
        lambda: spector.restore(mind, mind.parent / "back"),
        lambda: spector.reembed(mind, "default"),
    ):
        with pytest.raises(spector.FormatVersionError) as caught:
            call()
        assert f"format {version}" in str(caught.value)
        assert f"reads up to {FORMAT_VERSION}" in str(caught.value)
        assert "upgrade" in caught.value.hint
    assert {path: path.read_bytes() for path in mind.rglob("*.mem")} == before
    assert not (mind.parent / "back").exists()


@pytest.mark.parametrize("version", ["0", "-1", "two", ""])
def test_a_version_that_is_none_is_damage(version: str, mind: Path) -> None:
    says(mind, version)
    for mode in ("rw", "r"):
        with pytest.raises(spector.CatalogCorruptError):
            open_tiny(str(mind), mode=mode)
    assert [problem.code for problem in spector.check(mind).problems] == ["I15"]


# -- one made-up step ------------------------------------------------------------------------------


@pytest.fixture
def step(monkeypatch: pytest.MonkeyPatch) -> Callable[[bool], list[str]]:
    """Install a step to the next format that changes nothing but the number; a list of its runs."""
    runs: list[str] = []

    def install(dies: bool) -> list[str]:
        def run(store: Store) -> None:
            runs.append(store.meta["format_version"])
            if dies:
                raise spector.StoreError("killed here")
            rewrite_all(store, lambda images, rows: images, {"format_version": str(NEXT)})

        steps = (*STEPS, Step(FORMAT_VERSION, run))
        monkeypatch.setattr(recovery, "next_step", lambda version: next_step(version, steps))
        for module in (schema, header):
            monkeypatch.setattr(module, "FORMAT_VERSION", NEXT)
        return runs

    return install


def test_an_opening_to_write_runs_the_step_and_a_killed_one_is_begun_again(
    mind: Path, step: Callable[[bool], list[str]]
) -> None:
    with open_tiny(str(mind)) as memory:
        wanted = texts_of(memory)
    runs = step(True)
    with pytest.raises(spector.StoreError, match="killed here"):
        open_tiny(str(mind))
    assert formats(mind) == ("1", {1})
    step(False)
    with open_tiny(str(mind)) as memory:
        assert texts_of(memory) == wanted
        assert memory.check().ok
    assert runs == ["1", "1"]
    assert formats(mind) == ("2", {2})
    open_tiny(str(mind)).close()
    assert runs == ["1", "1"], "the finished step was done again"


def test_a_reader_that_is_open_meanwhile_is_told(
    mind: Path, step: Callable[[bool], list[str]]
) -> None:
    with open_tiny(str(mind), mode="r") as reader:
        assert len(reader)
        step(False)
        open_tiny(str(mind)).close()
        with pytest.raises(spector.FormatVersionError, match="meanwhile"):
            reader.recall("w1")
