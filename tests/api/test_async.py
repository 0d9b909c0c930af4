"""``AsyncMemory`` has every verb, blocks no loop, and loses no write that is cancelled.

Mechanism: a pool of threads, one of which writes in the order of the calls. Damage without it: a
recall on the thread of a server stops all its clients, a cancelled task leaves a write that its
caller never hears of, and two writes change places.
"""

from __future__ import annotations

import asyncio
import copy
import functools
import gc
import inspect
import os
import threading
import time
import warnings
from pathlib import Path
from typing import Any

import pytest

import spector
from spector.asynchronous import _Pool
from tests.fakes import FakeEmbedder

FACETS = "facts entities graph layers learnings procedures concepts daemon".split()


def opened(path: Any = ":memory:", **options: Any) -> Any:
    return spector.open_async(path, **{"embedder": FakeEmbedder(dim=32), **options})


class Slow(FakeEmbedder):
    """An embedder that waits to be let on."""

    def __init__(self) -> None:
        super().__init__(dim=32)
        self.begun, self.may_go = threading.Event(), threading.Event()

    def embed(self, texts: Any) -> Any:
        self.begun.set()
        assert self.may_go.wait(20)
        return super().embed(texts)


def awaited(test: Any) -> Any:
    """A test that is awaited in a loop of its own."""

    @functools.wraps(test)
    def run(*args: Any, **given: Any) -> None:
        asyncio.run(test(*args, **given))

    return run


async def until(event: threading.Event) -> None:
    while not event.is_set():
        await asyncio.sleep(0.001)


def public(value: Any) -> set[str]:
    return {name for name in dir(value) if not name.startswith("_")}


def test_it_has_every_verb_with_its_help() -> None:
    missing = public(spector.Memory) - public(spector.AsyncMemory) - {*FACETS}
    assert missing == set()
    assert spector.AsyncMemory.recall.__doc__ == spector.Memory.recall.__doc__

    async def run() -> None:
        async with opened() as memory:
            assert inspect.signature(memory.remember) == inspect.signature(memory.sync.remember)

    asyncio.run(run())


class Anything:
    """A memory whose verbs, and those of its facets, say in which thread they run."""

    def __getattr__(self, name: str) -> Any:
        return Anything() if name in FACETS else self.thread

    def thread(self, *args: Any, **kwargs: Any) -> Any:
        return [threading.current_thread()]


def test_no_verb_runs_on_the_thread_of_the_loop() -> None:
    verbs = sorted(
        public(spector.AsyncMemory) - {"close", "run", "settled", "records", "namespaces"}
    )
    sync: Any = Anything()
    memory = spector.AsyncMemory(sync, _Pool(2, 10))
    with spector.open(":memory:", embedder=None, dim=4) as whole:
        kinds = {name: type(getattr(whole, name)) for name in FACETS}
    of_facets = {
        facet: {name for name in public(kind) if callable(getattr(kind, name))}
        for facet, kind in kinds.items()
    }

    async def run() -> None:
        found = {}
        for name in verbs:
            session = await getattr(memory, name)()
            found[name] = session[0] if isinstance(session, list) else session.sync[0]
        (found["records"],) = [each async for each in memory.records(limit=1)]
        (found["namespaces"],) = [each async for each in memory.namespaces(limit=2)]
        for facet, names in of_facets.items():
            for name in names:
                found[f"{facet}.{name}"] = (await getattr(getattr(memory, facet), name)())[0]
        found["sessions"] = found["sessions"].sync
        here = threading.current_thread()
        assert [name for name, thread in found.items() if thread is here] == []
        writers = {name for name, each in found.items() if each.name.startswith("spector-write")}
        assert {"remember", "forget", "observe", "facts.add", "reflect"} <= writers
        assert not writers & {"recall", "context", "get", "records", "namespaces", "facts.about"}

    asyncio.run(run())


@awaited
async def test_it_answers_as_the_memory_beneath() -> None:
    async with opened() as memory:
        first = await memory.remember("The kiln is in the barn.", user_id="ana")
        async with await memory.session("s", user_id="ana") as session:
            assert (await session.observe("My brother is called Piet.")).stored
        assert (await memory.recall("Where is the kiln?", user_id="ana"))[0].id == first.id
        assert [each.text for each in memory.sync.recall("kiln")] == [
            each.text for each in await memory.recall("kiln")
        ]
        with pytest.raises(spector.UnknownArgumentError, match="did you mean k"):
            await memory.recall("kiln", kk=3)
        for wrong in ({"limit": "3"}, {"limit": 0}, {"page": 0}, {"tags": 3}):
            with pytest.raises(spector.InvalidInputError, match=next(iter(wrong))):
                memory.records(**wrong)
        assert (memory.path, memory.dim) == (memory.sync.path, memory.sync.dim)
        with pytest.raises(AttributeError, match="sync"):
            memory.daemon.running  # noqa: B018 - a value, which would look true
        assert copy.copy(memory) is memory
        with pytest.raises(AttributeError, match="no verb 'abuot'"):
            await memory.facts.abuot("ana")
        episodes = memory.layers["episodes"]
        made = await episodes.store("The kiln was lit on Monday.")
        assert (await episodes.get(made)).text == "The kiln was lit on Monday."
        with pytest.raises(AttributeError, match="no verb 'graph'"):
            await episodes.graph()
        with pytest.raises(spector.InvalidInputError, match="there is no layer 'dreams'"):
            await memory.layers["dreams"].recall()
        async with await memory.session("t") as talk:  # as the session beneath
            assert await memory.procedures.learn(talk) is None
        await memory.forget(made)
        assert await memory.run(first.to_dict) == first.to_dict()
        await memory.remember_many([f"Note {n}" for n in range(25)])
        ids = [each.id for each in memory.sync.records()]
        assert [each.id async for each in memory.records(page=4)] == ids
        found = memory.records(tags=(tag for tag in ["no such tag"]))
        assert [each.id async for each in found] == []
        assert [each.id async for each in memory.records(page=4, limit=6)] == ids[:6]
        assert [each.id async for each in memory.records(page=4, newest_first=True)] == ids[::-1]
        for n in range(9):
            await memory.remember(f"Note {n}", key="k", namespace=("n", f"{n}"))
        spaces = memory.sync.namespaces("n")
        assert [each async for each in memory.namespaces("n", page=2)] == spaces
        assert [each async for each in memory.namespaces(page=2, limit=5)] == spaces[:5]
    with pytest.raises(spector.StoreClosedError) as refused:
        await memory.count()
    with pytest.raises(spector.StoreClosedError) as of_sync:
        memory.sync.count()
    assert str(refused.value) == str(of_sync.value)
    await memory.close()


@awaited
async def test_writes_keep_the_order_of_their_calls() -> None:
    async with opened() as memory:
        await asyncio.gather(*(memory.remember(f"note {n}") for n in range(60)))
        texts = [each.text async for each in memory]
        assert texts == [f"note {n}" for n in range(60)]


@awaited
async def test_a_write_that_has_not_begun_never_begins_and_one_that_has_ends() -> None:
    embedder = Slow()
    async with opened(embedder=embedder) as memory:
        begun = asyncio.create_task(memory.remember("begun"))
        await until(embedder.begun)
        waiting = asyncio.create_task(memory.remember("waiting"))
        await asyncio.sleep(0.01)
        for task in (waiting, begun):
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        embedder.may_go.set()
        (found,) = await memory.settled()
        assert (found.verb, found.result.text, found.error) == ("remember", "begun", None)
        assert await memory.settled() == ()
        assert [each.text async for each in memory] == ["begun"]


@awaited
async def test_more_calls_than_may_wait_are_refused_with_their_number() -> None:
    embedder = Slow()
    async with opened(embedder=embedder, max_waiting=2) as memory:
        tasks = [asyncio.create_task(memory.remember(f"{n}")) for n in range(2)]
        await until(embedder.begun)
        with pytest.raises(spector.BusyError, match="2 calls are waiting"):
            await memory.count()
        embedder.may_go.set()
        await asyncio.gather(*tasks)
        assert await memory.count() == 2


def test_one_memory_serves_several_loops_and_closes_after_what_was_called(tmp_path: Path) -> None:
    async def first() -> spector.AsyncMemory:
        memory: spector.AsyncMemory = await opened(tmp_path / "m")
        await memory.remember("one")
        return memory

    async def second(memory: spector.AsyncMemory) -> None:
        last = asyncio.create_task(memory.remember("two"))
        await asyncio.sleep(0)
        await memory.close()
        assert (await last).text == "two"

    asyncio.run(second(asyncio.run(first())))
    with spector.open(tmp_path / "m", embedder=FakeEmbedder(dim=32)) as memory:
        assert len(memory) == 2


def test_trio_awaits_it_too() -> None:
    trio = pytest.importorskip("trio", reason="trio is not installed")

    async def run() -> None:
        async with opened() as memory:
            with trio.move_on_after(0):
                await memory.remember("cancelled")
            await memory.remember("one")
            left = {each.result.text for each in await memory.settled()}
            assert {each.text async for each in memory} == left | {"one"}

    trio.run(run)


def test_an_error_of_a_callers_embedder_is_that_of_the_call() -> None:
    class Broken(FakeEmbedder):
        def embed(self, texts: Any) -> Any:
            raise OSError("the model is down")

    async def run() -> None:
        async with opened(embedder=Broken(dim=32)) as memory:
            with pytest.raises(OSError, match="the model is down"):
                await memory.remember("one")
            assert await memory.settled() == ()

    asyncio.run(run())


def test_an_opening_that_fails_or_is_cancelled_leaves_no_thread_and_no_lock(tmp_path: Path) -> None:
    before = {*threading.enumerate()}

    async def run() -> None:
        with (
            spector.open(tmp_path / "m", embedder=None, dim=4),
            pytest.raises(spector.StoreLockedError),
        ):
            await opened(tmp_path / "m", embedder=None)
        with spector.open(tmp_path / "m", embedder=None):
            task = asyncio.ensure_future(opened(tmp_path / "m", embedder=None, wait=20))
            await asyncio.sleep(0.05)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    asyncio.run(run())
    for each in {*threading.enumerate()} - before:
        each.join(10)
        assert not each.is_alive()
    with spector.open(tmp_path / "m", embedder=None, dim=4):
        pass


def test_a_forked_process_hears_what_the_memory_beneath_says(tmp_path: Path) -> None:
    async def run() -> int:
        async with opened(tmp_path / "m") as memory:
            await memory.remember("one")
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)
                child = os.fork()
            if child == 0:
                try:
                    await memory.count()
                except spector.StoreForkedError:
                    os._exit(7)
                os._exit(1)
            return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

    assert asyncio.run(run()) == 7


def test_a_loop_that_ends_with_calls_open_and_a_memory_left_open_warn_once() -> None:
    async def run() -> None:
        memory = await opened()
        asyncio.get_running_loop().create_task(memory.remember("one"))
        await asyncio.sleep(0)

    gc.collect()  # what other tests left
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        asyncio.run(run())
        ends = time.monotonic() + 20  # a thread may have the call still
        while not found and time.monotonic() < ends:
            gc.collect()
            time.sleep(0.01)
    assert [each.category for each in found] == [ResourceWarning]


@pytest.mark.parametrize(
    "options", [{"workers": 0}, {"workers": 1.5}, {"max_waiting": 0}, {"max_waiting": "many"}]
)
def test_bad_numbers_are_refused_at_once(options: dict[str, Any]) -> None:
    with pytest.raises(spector.InvalidInputError, match=next(iter(options))):
        opened(**options)


@awaited
async def test_what_a_session_recalls_keeps_its_place_before_its_end() -> None:
    async with opened() as memory:
        await memory.remember("The kiln is in the barn.")
        for _ in range(20):
            session = await memory.session("s")
            recalled = asyncio.create_task(session.context("Where is the kiln?"))
            await asyncio.sleep(0)
            await session.end()
            await recalled  # SessionClosedError where the end came first


@awaited
async def test_a_close_that_fails_can_be_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    memory = await opened()
    tries = iter([OSError("no space left"), None])

    def close(close: Any = memory.sync.close) -> None:
        if error := next(tries):
            raise error
        close()

    monkeypatch.setattr(type(memory.sync), "close", lambda self: close())
    with pytest.raises(OSError, match="no space"):
        await memory.close()
    await memory.close()
    await memory.close()


@awaited
async def test_two_who_settle_at_once_hear_of_a_write_once() -> None:
    embedder = Slow()
    async with opened(embedder=embedder) as memory:
        task = asyncio.create_task(memory.remember("one"))
        await until(embedder.begun)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        both = asyncio.gather(memory.settled(), memory.settled())
        await asyncio.sleep(0.01)
        embedder.may_go.set()
        first, second = await both
        assert len(first) + len(second) == 1
