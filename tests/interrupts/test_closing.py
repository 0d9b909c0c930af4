"""``close()`` beside running calls: they end with a result or with StoreClosedError.

Mechanism: 32 threads call all verbs while the memory is closed. Damage: the process ended with
SIGSEGV, because SQLite's connections were closed under running statements; calls said that files
were damaged. Guard: as above; the store opens, check finds nothing, what was acknowledged is there.
"""

from __future__ import annotations

import faulthandler
import shutil
import signal
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import FrameType

import numpy as np
import pytest
from numpy.typing import NDArray

import spector
from spector import StoreClosedError
from spector.config import Config
from spector.errors import InvalidInputError
from spector.kernel import get_kernel
from spector.process.resources import entry
from spector.store.core.store import Store
from spector.store.opening import Stamp, open_disk
from spector.tiers.router import default_tiers
from tests.crash.harness import in_fresh_process, scratch
from tests.fakes import FakeEmbedder
from tests.interrupts.sweep import Cut, at_return, cut_at, raising
from tests.interrupts.verbs import ENTRIES, READING, WRITING, Scene, copied, faults_of, prepared
from tests.proof import Proof, seed

THREADS = 32
JOBS = {**WRITING, **READING, **ENTRIES}


@pytest.mark.timeout(1500)
@pytest.mark.parametrize("count", [25, pytest.param(1000, marks=pytest.mark.slow)])
def test_closing_beside_many_threads_ends_their_calls(count: int, proof: Proof) -> None:
    first = seed(37)
    found = in_fresh_process(
        "tests.interrupts.closing:rounds",
        timeout_s=1400,
        count=count,
        threads=THREADS,
        seed=first,
    )
    assert found["faulty"] == 0, "\n".join(map(str, found["faults"]))
    proof(
        "T37",
        closings=found["closings"],
        calls_beside=found["calls"],
        harmed=0,
        threads=str(THREADS),
        seeds=str(first),
    )


def _begun(job: Callable[[], object]) -> tuple[threading.Thread, list[BaseException]]:
    """A thread that does a job, and what that will have raised."""
    said: list[BaseException] = []

    def work() -> None:
        try:
            job()
        except BaseException as error:
            said.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    return thread, said


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
    thread, said = _begun(lambda: memory.remember("two"))
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

    def items() -> Iterator[str]:
        yield "a turnstone"
        waiting.set()
        assert go_on.wait(60)
        yield "a sanderling"

    thread, said = _begun(lambda: memory.remember_many(items()))
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


@pytest.mark.sampled
@pytest.mark.parametrize(
    "name",
    (
        "remember | remember_many | update | recall and learn | compact | purge | "
        "records | check | backup | close"
    ).split(" | "),
)
def test_a_signal_handler_that_closes_takes_nothing_from_under_its_own_call(
    name: str, tmp_path: Path
) -> None:
    """As a signal handler may. It waited for ever for a lock of its own thread, or the call raised
    an error of SQLite's."""
    model = prepared(tmp_path / "model")
    for nth in (*range(1, 40, 9), *range(40, 900, 131)):
        scene = copied(model, tmp_path / f"scene{nth}")
        memory = scene.memory = scene.opened()
        faulthandler.dump_traceback_later(60, exit=True)
        try:
            said = at_return(
                nth, memory.close, lambda scene=scene: JOBS[name](scene), lambda *_: True
            )
        finally:
            faulthandler.cancel_dump_traceback_later()
        assert isinstance(said, StoreClosedError | None), said
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


# -- Resources: what a thread holds is given back, however a call ends -----------------------------
#
# Mechanism: Python may raise between ``__enter__`` and the block, and before the first line of
# ``__exit__``. Damage: a lock, a connection or a transaction stayed with whoever kept the
# traceback, a notebook for instance. Guard: a call gives back what is above the resources that it
# began with.


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
    try:
        failed = at_return(
            1,
            lambda: signal.raise_signal(signal.SIGUSR1),
            lambda: memory.remember("from outside"),
            lambda frame, function: function.__name__ == "executemany",
        )
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert failed is None
    assert [type(each) for each in said] == [spector.StoreError]
    assert "signal handler" in said[0].hint  # type: ignore[attr-defined]
    assert [each.text for each in memory] == ["from outside"]
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
        raised = at_return(nth, raising(TooLongError()), partial(memory.remember, "the second"))
        if isinstance(raised, InvalidInputError):  # it came while an argument was looked at
            raised = raised.__cause__
        assert isinstance(raised, TooLongError | None), raised
        memory.close()
        with spector.open(root, embedder=FakeEmbedder()) as again:
            assert again.check().ok
            assert "the first" in {record.text for record in again}


# -- An interrupt whose traceback is kept, as a notebook keeps it, leaves nothing behind that
#    runs
#
# Mechanism: the frames of a traceback have their cursors, so a statement that an interrupt cut off
# between two rows went on for as long as the traceback was there. Damage: its connection was used
# again and showed its moment for ever, so a memory that had just been acknowledged was unknown,
# and `check` named damage; closing left the catalog open. Guard: statements end with the read that
# an error leaves, and with the connection.


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


def _has_a_cursor(frame: FrameType, function: object) -> bool:
    """Whether a call was made while a variable has a cursor."""
    above: FrameType | None = frame
    for _ in range(_DEPTH):
        if above is None or "/spector/" not in above.f_code.co_filename:
            return False
        if any(isinstance(each, sqlite3.Cursor) for each in above.f_locals.values()):
            return True
        above = above.f_back
    return False


def _cut(nth: int, job: Callable[[], object]) -> BaseException | None:
    """Do a job with an interrupt: what was raised, with all that it keeps."""
    found = at_return(nth, raising(Cut()), job, _has_a_cursor)
    assert isinstance(found, Cut | None), found
    return found


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
