"""Resources: what a thread holds is given back, however a call ends.

Mechanism: Python may raise between ``__enter__`` and the block, and before the first line of
``__exit__``. Damage: a lock, a connection or a transaction stayed with whoever kept the traceback,
a notebook for instance. Guard: a call gives back what is above the resources that it began with.
"""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

import spector
from spector.config import Config
from spector.errors import InvalidInputError
from spector.kernel import get_kernel
from spector.process.resources import (
    Call,
    WeakList,
    _Managed,
    begin,
    drop,
    end,
    entry,
    held_by_calling,
    managed,
    postpone,
    take,
)
from spector.store.core.store import Store
from spector.store.opening import Stamp, open_disk
from spector.tiers.router import default_tiers
from tests.fakes import FakeEmbedder
from tests.interrupts.sweep import Cut, cut_at


class Held:
    """Something to give back."""

    def __init__(self, log: list[str], name: str) -> None:
        self.log, self.name = log, name

    def abandon(self, error: BaseException | None) -> None:
        self.log.append(f"{self.name} after {type(error).__name__}")


@managed
def noting(log: list[str]) -> Iterator[str]:
    log.append("begun")
    try:
        yield "value"
        log.append("done")
    except BaseException as error:
        log.append(f"failed with {type(error).__name__}")
        raise
    finally:
        log.append("ended")


@pytest.mark.sampled
@pytest.mark.parametrize(
    "error", [None, ValueError("x"), StopIteration("x"), RuntimeError("x"), KeyboardInterrupt()]
)
def test_a_manager_is_one_as_of_contextlib(error: BaseException | None) -> None:
    def run(make: Callable[[list[str]], contextlib.AbstractContextManager[str]]) -> list[object]:
        log: list[object] = []
        try:
            with make(log) as value:  # type: ignore[arg-type]
                log.append(value)
                if error is not None:
                    raise error
        except BaseException as raised:
            log.append((type(raised), raised.args, raised is error))
        return log

    plain = contextlib.contextmanager(noting.__wrapped__)  # type: ignore[attr-defined]
    assert run(noting) == run(plain)


def test_a_manager_may_swallow_an_error() -> None:
    @managed
    def swallowing() -> Iterator[None]:
        with contextlib.suppress(ValueError):
            yield

    with swallowing():
        raise ValueError("swallowed")


def test_a_call_gives_back_what_it_has_left_open_and_nothing_else() -> None:
    log: list[str] = []
    outer, inner = Held(log, "outer"), Held(log, "inner")
    take(outer)  # type: ignore[arg-type]
    try:

        @entry
        def work() -> None:
            take(inner)  # type: ignore[arg-type]
            raise Cut

        with pytest.raises(Cut):
            work()
        assert log == ["inner after Cut"]
    finally:
        drop(outer)  # type: ignore[arg-type]


def test_a_call_that_was_kept_from_its_end_is_cleaned_up_by_the_next() -> None:
    log: list[str] = []
    call = Call()
    begin(call)
    take(Held(log, "left"))  # type: ignore[arg-type]
    call.over = True  # and the interrupt comes before ``end``
    following = Call()
    begin(following)
    following.over = True
    end(following)
    assert [each.split()[0] for each in log] == ["left"]


def test_a_generator_that_never_saw_its_exit_is_ended_by_the_call() -> None:
    log: list[str] = []

    @entry
    def work() -> None:
        manager = noting(log)
        manager.__enter__()  # and then ``__exit__`` does not come
        raise Cut

    with pytest.raises(Cut):
        work()
    assert log == ["begun", "failed with Cut", "ended"]


def test_a_manager_whose_enter_is_interrupted_behind_its_yield_is_ended() -> None:
    log: list[str] = []

    def hook(frame: object, event: str, arg: object) -> None:
        if event == "c_return" and getattr(arg, "__name__", "") == "next":
            sys.setprofile(None)
            raise Cut

    manager = noting(log)
    sys.setprofile(hook)
    try:
        with pytest.raises(Cut):
            manager.__enter__()
    finally:
        sys.setprofile(None)
    assert log[0] == "begun"
    assert log[-1] == "ended"


class _CutOff:
    """A generator that an interrupt meets behind its ``yield``, and others when it is ended."""

    gi_frame: object = "some frame"
    gi_running = False

    def __init__(self) -> None:
        self.cuts = [Cut(), Cut(), Cut()]

    def __next__(self) -> None:
        raise self.cuts.pop()

    def throw(self, error: BaseException) -> None:
        if self.cuts:
            raise self.cuts.pop()

    def close(self) -> None:
        if self.cuts:
            raise self.cuts.pop()
        self.gi_frame = None


def test_a_manager_that_is_interrupted_while_it_is_ended_is_ended_by_the_call() -> None:
    """Or what it has taken is nobody's any more: a lock that stays for good."""
    generator = _CutOff()

    @entry
    def work() -> None:
        _Managed(generator).__enter__()  # type: ignore[arg-type]

    with pytest.raises(Cut):
        work()
    assert generator.cuts == []
    assert generator.gi_frame is None


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


def test_a_look_at_a_catalog_in_memory_that_never_saw_its_exit_frees_its_lock() -> None:
    """Or every other thread waits for it for good."""
    with spector.open(":memory:", embedder=None, dim=3) as memory:
        memory.remember("north", vector=[0, 1, 0])
        catalog = memory._parts.store.catalog
        free: list[bool] = []

        def ask() -> None:
            free.append(catalog.only.acquire(blocking=False))
            if free[-1]:
                catalog.only.release()

        def ask_elsewhere() -> None:
            thread = threading.Thread(target=ask)
            thread.start()
            thread.join()

        @entry
        def work() -> None:
            catalog.reading().__enter__()
            ask_elsewhere()
            raise Cut

        with pytest.raises(Cut):
            work()
        ask_elsewhere()
        assert free == [False, True]
        assert memory.count() == 1


@pytest.mark.sampled
@pytest.mark.parametrize("look", ["reading", "snapshot"])
def test_a_look_at_a_catalog_that_never_saw_its_exit_gives_its_connection_back(
    tmp_path: Path, look: str
) -> None:
    """Or a descriptor, and with a snapshot the log's growth, stay with each interrupt."""
    with spector.open(tmp_path / "mind", embedder=None, dim=3) as memory:
        memory.remember("north", vector=[0, 1, 0])
        catalog = memory._parts.store.catalog
        lent: list[object] = []

        @entry
        def work() -> None:
            lent.append(getattr(catalog, look)().__enter__())
            assert len(catalog._lent) == 1
            raise Cut

        with pytest.raises(Cut):
            work()
        assert lent[0] not in catalog._connections
        assert catalog._lent == {}
        assert getattr(catalog.pinned, "connection", None) is None
        assert memory.count() == 1


def test_what_is_held_by_calling_is_not_lost() -> None:
    kept: list[int] = []
    assert held_by_calling(kept, max, 3, 4) == 4
    assert kept == [4]


def test_a_postponed_interrupt_is_raised_by_the_call_it_came_in() -> None:
    @entry
    def work() -> str:
        postpone(Cut())
        return "not returned"

    with pytest.raises(Cut):
        work()


def test_a_weak_list_has_each_living_object_once() -> None:
    class Thing:
        pass

    things: WeakList[Thing] = WeakList()
    first, second = Thing(), Thing()
    for each in (first, second, first):
        things.add(each)
    assert len(list(things)) == 2
    things.discard(first)
    assert list(things) == [second]
    del second
    assert not things


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


def test_a_partition_that_was_opened_for_one_look_is_closed_by_the_end_of_the_call(
    tmp_path: Path,
) -> None:
    with spector.open(tmp_path / "mind", embedder=FakeEmbedder()) as memory:
        memory.remember("a rope")
        memory.checkpoint()
        (segment,) = (each for each in memory._parts.store.segments.values())
        segment.release()
        call = Call()
        begin(call)
        segment._borrowed().__enter__()
        assert segment.is_open
        call.over = True
        end(call)
        assert not segment.is_open
