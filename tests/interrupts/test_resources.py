"""Resources: what a thread holds is given back, however a call ends.

Mechanism: Python may raise between ``__enter__`` and the block, and before the first line of
``__exit__``. Damage: a lock, a connection or a transaction stayed with whoever kept the traceback,
a notebook for instance. Guard: a call gives back what is above the resources that it began with.
"""

from __future__ import annotations

import signal
import sys
import threading
from functools import partial
from pathlib import Path

import pytest

import spector
from spector.config import Config
from spector.errors import InvalidInputError
from spector.kernel import get_kernel
from spector.process.resources import (
    entry,
)
from spector.store.core.store import Store
from spector.store.opening import Stamp, open_disk
from spector.tiers.router import default_tiers
from tests.fakes import FakeEmbedder
from tests.interrupts.sweep import Cut, cut_at


def test_a_store_whose_closing_is_interrupted_twice_is_closed_by_the_end_of_the_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or its lock stays with the process, and nobody can open the store."""
    path = tmp_path / "mind"
    with spector.open(path, embedder=None, dim=3):
        pass
    cuts, real = [Cut(), Cut()], Store.close

    def close(store: Store) -> None:
        if cuts:
            raise cuts.pop()
        real(store)

    monkeypatch.setattr(Store, "close", close)
    kept = []  # as a caller has it who keeps the traceback

    @entry
    def work() -> None:
        kept.append(
            open_disk(
                str(path),
                Stamp(None, None, None),
                [tier.files for tier in default_tiers()],
                Config(),
                get_kernel(),
                mode="rw",
                durability="strict",
            )
        )
        with kept[0]:
            pass

    with pytest.raises(Cut):
        work()
    assert cuts == []
    with spector.open(path, embedder=None, dim=3) as memory:
        memory.remember("north", vector=[0, 1, 0])


def test_a_kept_traceback_keeps_no_lock(tmp_path: Path) -> None:
    """A notebook keeps the last traceback, and other threads must go on."""
    memory = spector.open(tmp_path / "mind", embedder=FakeEmbedder())
    kept: list[BaseException] = []
    nth = 0
    while nth == len(kept):
        nth += 1
        try:
            with pytest.raises(Cut) as info:
                cut_at(nth, partial(memory.remember, "the first"), catch=False)
            kept.append(info.value)
        except pytest.fail.Exception:  # it came to its end
            break
        said: list[object] = []

        def work(said: list[object] = said, memory: spector.Memory = memory) -> None:
            try:
                said.append(memory.remember("the second"))
            except spector.StoreFailedError as error:
                said.append(error)

        thread = threading.Thread(target=work)
        thread.start()
        thread.join(60)
        assert said, f"another thread could not write after an interrupt at place {nth}"
        if isinstance(said[0], spector.StoreFailedError):
            memory.close()
            memory = spector.open(tmp_path / "mind", embedder=FakeEmbedder())
    assert len(kept) > 20
    memory.close()


def test_a_signal_handler_that_writes_is_told_so(tmp_path: Path) -> None:
    said: list[BaseException] = []
    memory = spector.open(tmp_path / "mind", embedder=FakeEmbedder())

    def handler(*args: object) -> None:
        try:
            memory.remember("from within")
        except spector.StoreError as error:
            said.append(error)

    before = signal.signal(signal.SIGUSR1, handler)

    def hook(frame: object, event: str, arg: object) -> None:
        if event == "c_return" and getattr(arg, "__name__", "") == "executemany":
            sys.setprofile(None)
            signal.raise_signal(signal.SIGUSR1)

    try:
        sys.setprofile(hook)
        record = memory.remember("from outside")
    finally:
        sys.setprofile(None)
        signal.signal(signal.SIGUSR1, before)
    assert [type(each) for each in said] == [spector.StoreError]
    assert "signal handler" in said[0].hint  # type: ignore[attr-defined]
    assert [each.text for each in memory] == ["from outside"]
    assert memory.get(record.id).text == "from outside"
    assert memory.check().ok
    memory.close()


def test_an_ordinary_exception_of_a_time_limit_costs_no_more(tmp_path: Path) -> None:
    """Soft time limits raise an ``Exception``, which no list of interrupts would name."""

    class TooLongError(Exception):
        pass

    for nth in range(1, 60, 7):
        root = tmp_path / f"mind{nth}"
        memory = spector.open(root, embedder=FakeEmbedder())
        memory.remember("the first")
        seen = 0
        raised: list[BaseException | None] = []

        def hook(frame: object, event: str, arg: object, nth: int = nth) -> None:
            nonlocal seen
            if event == "c_return" and getattr(arg, "__module__", None) != "builtins":
                seen += 1
                if seen == nth:
                    sys.setprofile(None)
                    raise TooLongError

        sys.setprofile(hook)
        try:
            memory.remember("the second")
        except Exception as error:  # wrapped, when it came while an argument was looked at
            raised.append(error.__cause__ if isinstance(error, InvalidInputError) else error)
        finally:
            sys.setprofile(None)
        assert all(isinstance(each, TooLongError) for each in raised), raised
        memory.close()
        with spector.open(root, embedder=FakeEmbedder()) as again:
            assert again.check().ok
            assert "the first" in {record.text for record in again}
