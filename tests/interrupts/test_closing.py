"""``close()`` beside running calls: they end with a result or with StoreClosedError.

Mechanism: 32 threads call all verbs while the memory is closed. Damage: the process ended with
SIGSEGV, because SQLite's connections were closed under running statements; calls said that files
were damaged. Guard: as above; the store opens, check finds nothing, what was acknowledged is there.
"""

from __future__ import annotations

import faulthandler
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from types import FrameType

import numpy as np
import pytest
from numpy.typing import NDArray

import spector
from spector import StoreClosedError
from tests.crash.harness import in_fresh_process
from tests.fakes import FakeEmbedder
from tests.interrupts.verbs import READING, WRITING, copied, faults_of, prepared
from tests.proof import Proof, seed

THREADS = 32


def told(found: dict[str, int], proof: Proof, first: int) -> None:
    assert found["faulty"] == 0, "\n".join(map(str, found["faults"]))  # type: ignore[call-overload]
    proof(
        "T37",
        closings=found["closings"],
        calls_beside=found["calls"],
        harmed=0,
        threads=str(THREADS),
        seeds=str(first),
    )


def test_closing_beside_many_threads_ends_their_calls(proof: Proof) -> None:
    first = seed(37)
    told(
        in_fresh_process("tests.interrupts.closing:rounds", count=25, threads=THREADS, seed=first),
        proof,
        first,
    )


@pytest.mark.slow
@pytest.mark.timeout(1500)
def test_closing_a_thousand_times_beside_many_threads(proof: Proof) -> None:
    first = seed(3700)
    told(
        in_fresh_process(
            "tests.interrupts.closing:rounds",
            timeout_s=1400,
            count=1000,
            threads=THREADS,
            seed=first,
        ),
        proof,
        first,
    )


class _Slow(FakeEmbedder):
    """Embeds when it is let."""

    def __init__(self) -> None:
        super().__init__()
        self.entered = threading.Event()
        self.go_on = threading.Event()
        self.is_slow = False

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if self.is_slow:
            self.entered.set()
            assert self.go_on.wait(60)
        return super().embed(texts)


def test_closing_does_not_wait_for_an_embedder(tmp_path: Path) -> None:
    embedder = _Slow()
    memory = spector.open(tmp_path / "mind", embedder=embedder)
    memory.remember("one")
    embedder.is_slow = True
    said: list[BaseException] = []

    def work() -> None:
        try:
            memory.remember("two")
        except BaseException as error:
            said.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    assert embedder.entered.wait(60)
    memory.close()
    embedder.go_on.set()
    thread.join(60)
    assert [type(each) for each in said] == [StoreClosedError]
    with spector.open(tmp_path / "mind", embedder=FakeEmbedder()) as again:
        assert [record.text for record in again] == ["one"]


def test_closing_does_not_wait_for_a_generator_that_never_ends(tmp_path: Path) -> None:
    memory = spector.open(tmp_path / "mind", embedder=FakeEmbedder())
    waiting, go_on = threading.Event(), threading.Event()
    said: list[BaseException] = []

    def items() -> Iterator[str]:
        yield "a turnstone"
        waiting.set()
        assert go_on.wait(60)
        yield "a sanderling"

    def work() -> None:
        try:
            memory.remember_many(items())
        except BaseException as error:
            said.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    assert waiting.wait(60)
    memory.close()
    go_on.set()
    thread.join(60)
    assert [type(each) for each in said] == [StoreClosedError]


@pytest.mark.slow
def test_closing_in_a_callback_of_a_call_ends_that_call(tmp_path: Path) -> None:
    memory = spector.open(tmp_path / "mind", embedder=FakeEmbedder())
    with pytest.raises(StoreClosedError):
        memory.remember_many(
            [f"tern {n}" for n in range(20_000)], progress=lambda done, total: memory.close()
        )
    with spector.open(tmp_path / "mind", embedder=FakeEmbedder()) as again:
        assert len(again) == 8192
        assert again.check().ok


class _ClosingHandler:
    """Closes a memory at the return of the nth call of C, as a signal handler may."""

    def __init__(self, memory: spector.Memory, nth: int) -> None:
        self._memory = memory
        self._left = nth

    def __call__(self, frame: FrameType, event: str, arg: object) -> None:
        if event == "c_return" and "/spector/" in frame.f_code.co_filename:
            self._left -= 1
            if not self._left:
                sys.setprofile(None)
                self._memory.close()


@pytest.mark.sampled
@pytest.mark.parametrize(
    "name",
    [
        "remember",
        "remember_many",
        "update",
        "recall and learn",
        "compact",
        "purge",
        "records",
        "check",
        "backup",
        "close",
    ],
)
def test_a_signal_handler_that_closes_takes_nothing_from_under_its_own_call(
    name: str, tmp_path: Path
) -> None:
    """It waited for ever for a lock of its own thread, or the call raised an error of SQLite's."""
    model = prepared(tmp_path / "model")
    for nth in (*range(1, 40, 9), *range(40, 900, 131)):
        scene = copied(model, tmp_path / f"scene{nth}")
        memory = scene.memory = scene.opened()
        faulthandler.dump_traceback_later(60, exit=True)
        try:
            sys.setprofile(_ClosingHandler(memory, nth))
            {**WRITING, **READING}[name](scene)
        except StoreClosedError:
            pass
        finally:
            sys.setprofile(None)
            faulthandler.cancel_dump_traceback_later()
        assert faults_of(scene) == []


def test_a_memory_that_a_callback_closes_is_closed_when_the_call_has_ended(tmp_path: Path) -> None:
    memory = spector.open(tmp_path / "mind", embedder=FakeEmbedder())
    memory.remember_many([f"a smew, number {n}" for n in range(50)])
    with suppress(StoreClosedError):
        memory.check(progress=lambda done, total: memory.close())
    with pytest.raises(StoreClosedError):
        memory.recall("smew")
    with spector.open(tmp_path / "mind", embedder=FakeEmbedder()) as again:  # the lock is free
        assert len(again) == 50


def test_two_threads_may_close_at_once(tmp_path: Path) -> None:
    for n in range(5):
        memory = spector.open(tmp_path / f"mind{n}", embedder=FakeEmbedder())
        memory.remember("a knot")
        threads = [threading.Thread(target=memory.close) for _ in range(4)]
        for each in threads:
            each.start()
        for each in threads:
            each.join(60)
        spector.open(tmp_path / f"mind{n}", embedder=FakeEmbedder()).close()


def test_an_iterator_says_that_its_memory_was_closed(tmp_path: Path) -> None:
    memory = spector.open(tmp_path / "mind", embedder=FakeEmbedder())
    memory.remember_many(["a ruff", "a dunlin"])
    records = iter(memory)
    next(records)
    memory.close()
    with pytest.raises(StoreClosedError):
        next(records)


def test_closing_waits_for_a_change_to_be_whole(tmp_path: Path) -> None:
    """A thread that is in the middle of many commits ends between two of them."""
    memory = spector.open(tmp_path / "mind", embedder=FakeEmbedder())
    stored: list[int] = []
    ended = threading.Event()

    def work() -> None:
        try:
            while True:
                stored.extend(each.id for each in memory.remember_many(["a knot", "a stint"]))
        except StoreClosedError:
            ended.set()

    thread = threading.Thread(target=work)
    thread.start()
    time.sleep(0.2)
    memory.close()
    assert ended.wait(60)
    thread.join(60)
    with spector.open(tmp_path / "mind", embedder=FakeEmbedder()) as again:
        assert {record.id for record in again} >= set(stored)
        assert len(again) % 2 == 0
