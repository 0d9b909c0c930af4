"""What a fork does to a store and its lock; each scenario returns what was wrong, as text."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from typing import Any

import spector
from spector.errors import StoreForkedError, StoreLockedError
from spector.store.files import lock
from spector.store.integrity.walking import walk
from tests.crash.harness import die, in_fork, run_and_exit, scratch
from tests.crash.workload import open_tiny, put, texts_of, vector_of, warm_up


def _forked(call: Callable[[], object]) -> None:
    try:
        call()
    except StoreForkedError as error:
        if error.hint:
            return
    raise AssertionError("used a store across a fork")


def _looks(memory: spector.Memory, first: int) -> list[Callable[[], object]]:
    return [
        lambda: memory.get(first),
        lambda: memory.recall("before"),
        lambda: list(memory),
        lambda: len(memory),
        memory.check,
        memory.stats,
        lambda: first in memory,
    ]


def _changes(memory: spector.Memory, first: int) -> list[Callable[[], object]]:
    return [
        lambda: memory.remember("x", vector=vector_of("x")),
        memory.compact,
        memory.reflect,
        lambda: memory.forget(first),
    ]


def use_after_fork() -> list[str]:
    """Every verb of an inherited store refuses; closing it in the child does no harm."""
    warm_up()
    with scratch() as root:
        path = os.path.join(root, "mind")
        with open_tiny(path) as memory:
            first = put(memory, "before")

            def child() -> None:
                for verb in (*_looks(memory, first), *_changes(memory, first)):
                    _forked(verb)
                memory.close()
                memory.close()

            code = in_fork(child)
            second = put(memory, "after")
            wrong = [] if code == 0 else [f"the child ended with {code}"]
            try:
                open_tiny(path).close()
                wrong.append("the child's close dropped the parent's lock")
            except StoreLockedError:
                pass
        with open_tiny(path) as memory:
            if texts_of(memory) != {first: "before", second: "after"}:
                wrong.append(f"found {texts_of(memory)}")
        return wrong


def surviving_child_keeps_no_lock(killed: bool) -> list[str]:
    """A child that lives on does not keep its parent's store locked, however the parent ended."""
    warm_up()
    with scratch() as root:
        path = os.path.join(root, "mind")
        reading, writing = os.pipe()

        def parent() -> None:
            memory = open_tiny(path)
            put(memory, "m")
            if os.fork() == 0:
                # fork returned, so its hooks have run; who only knows the pid cannot know that
                os.write(writing, str(os.getpid()).encode())
                signal.pause()
            os.close(writing)
            if killed:
                die()
            memory.close()

        code = in_fork(parent)
        os.close(writing)
        child = int(os.read(reading, 32))
        try:
            os.kill(child, 0)  # it is still there
            with open_tiny(path) as memory:
                wrong = [] if len(memory) == 1 else ["the memory is gone"]
        except StoreLockedError as error:
            wrong = [f"the child kept the lock: {error}"]
        finally:
            os.kill(child, signal.SIGKILL)
        return wrong if code == (-signal.SIGKILL if killed else 0) else [*wrong, f"parent: {code}"]


def descriptor_of_a_killed_holder(lets_go: bool) -> dict[str, Any]:
    """A child of a killed writer has the lock's descriptor, as one between fork and exec has; it
    lets go once the next writer has found the store locked, or never. No time passes: the next
    writer's sleeps are counted, and the first tells the child."""
    warm_up()
    with scratch() as root:
        path = os.path.join(root, "mind")
        go, say_go = os.pipe()
        told, tell = os.pipe()
        slept: list[float] = []

        def parent() -> None:
            memory = open_tiny(path)
            put(memory, "m")
            lock = memory._parts.access.opened[0].lock
            assert lock is not None
            inherited = os.dup(lock._fd)  # the hook does not know this one
            if os.fork() == 0:
                os.close(say_go)
                os.write(tell, str(os.getpid()).encode())
                os.read(go, 1)
                os.close(inherited)
                os.write(tell, b"x")
                os._exit(0)
            os.close(say_go)
            signal.pause()

        def sleep(seconds: float) -> None:
            slept.append(seconds)
            if lets_go and len(slept) == 1:
                os.write(say_go, b"x")
                os.read(told, 1)

        holder = os.fork()
        if holder == 0:
            run_and_exit(parent)
        child = int(os.read(told, 64))
        os.kill(holder, signal.SIGKILL)
        os.waitpid(holder, 0)
        lock.sleep = sleep
        found: dict[str, Any] = {"holder": holder}
        try:
            with open_tiny(path) as memory:
                found["texts"] = list(texts_of(memory).values())
        except StoreLockedError as error:
            found |= {"error": str(error), "hint": error.hint}
        finally:
            os.kill(child, signal.SIGKILL)
        return {**found, "steps": len(slept), "slept_s": sum(slept)}


def child_exit_keeps_later_commits() -> list[str]:
    """SQLite deletes the log when what it takes for the last connection closes: an inherited
    connection that a child closes at its exit must not take the commits of a later writer along."""
    warm_up()
    with scratch() as root:
        path = os.path.join(root, "mind")
        go, stop = os.pipe()
        ready, told = os.pipe()
        memory = open_tiny(path)
        first = put(memory, "first")
        child = os.fork()
        if child == 0:
            os.close(stop)
            os.write(told, b"x")
            os.read(go, 1)
            connections = [opened.store.catalog.main for opened in memory._parts.access.opened]
            memory.close()
            del memory
            for connection in connections:
                del connection
            import gc

            connections.clear()
            gc.collect()
            os._exit(0)
        os.read(ready, 1)
        memory.close()

        def writer() -> None:
            later = open_tiny(path)
            put(later, "second")
            die()

        in_fork(writer)
        os.close(go)
        os.write(stop, b"x")
        os.close(stop)
        os.waitpid(child, 0)
        with open_tiny(path) as again:
            found = sorted(texts_of(again).values())
        return [] if found == ["first", "second"] else [f"found {found}, {first}"]


def child_of_a_process_that_had_it_open() -> list[str]:
    """SQLite takes the locks of the parent for the child's, and its log is deleted under it: a
    store that was open at the fork cannot be opened in the child, even when the parent has closed
    it since; one that was closed before the fork can."""
    warm_up()
    with scratch() as root:
        path = os.path.join(root, "mind")
        memory = open_tiny(path)
        put(memory, "first")
        go, say_go = os.pipe()

        def refused(*more: Callable[[], object]) -> None:
            os.read(go, 1)
            looks: list[Callable[[], object]] = [
                lambda: open_tiny(path, mode="r"),
                lambda: spector.check(path),
            ]
            for look in (*looks, *more):
                _forked(look)

        def allowed() -> None:
            with open_tiny(path) as mine:
                put(mine, "second")
            with open_tiny(path, mode="r") as mine:
                assert len(mine) == 2

        wrong = []
        os.write(say_go, b"x")
        if in_fork(refused):  # beside the parent
            wrong.append("refused beside the parent otherwise than expected")
        child = os.fork()
        if child == 0:
            run_and_exit(lambda: refused(lambda: open_tiny(path)))
        memory.close()
        os.write(say_go, b"x")
        if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]):
            wrong.append("opened behind the parent's close")
        if in_fork(allowed):
            wrong.append("closed before the fork, and could not be opened after it")
        return wrong


def use_in_a_child_forked_while_a_thread_has_the_lock() -> list[str]:
    """The thread does not exist in the child, so the lock would never be released: every verb
    refuses before it acquires it, and so does a walk that the parent had prepared or begun."""
    warm_up()
    wrong: list[str] = []
    with scratch() as root:
        path = os.path.join(root, "mind")
        with open_tiny(path) as writer:
            first = put(writer, "before")
            put(writer, "another")
            with open_tiny(path, mode="r") as reader:
                wrong += _stuck(writer, [*_looks(writer, first), *_changes(writer, first)])
                wrong += _stuck(reader, _looks(reader, first))
    return wrong


def _stuck(memory: spector.Memory, verbs: list[Callable[[], object]]) -> list[str]:
    prepared, begun = iter(memory), iter(memory)
    next(begun)
    store = memory._parts.store
    of_store = walk(store, memory._parts.finder.tier_name, "1", ())
    entered, leave = threading.Event(), threading.Event()

    def hold() -> None:
        with store.lock:
            entered.set()
            leave.wait()

    def child() -> None:
        walks = (lambda: next(prepared), lambda: next(begun), lambda: next(of_store))
        for verb in (*walks, *verbs):
            signal.alarm(30)  # ends the process
            _forked(verb)

    thread = threading.Thread(target=hold)
    thread.start()
    entered.wait()
    try:
        code = in_fork(child)
    finally:
        leave.set()  # or closing would wait for that thread
        thread.join()
    return [] if code == 0 else [f"mode {memory._parts.access.mode}: the child ended with {code}"]


def close_in_a_child_forked_during_a_commit() -> list[str]:
    """The lock of a store may be held by a thread that does not exist in the child."""
    warm_up()
    with scratch() as root, open_tiny(os.path.join(root, "mind")) as memory:
        store = memory._parts.store
        entered, leave = threading.Event(), threading.Event()

        def hold() -> None:
            with store.lock, memory.daemon._wake:
                entered.set()
                leave.wait()

        thread = threading.Thread(target=hold)
        thread.start()
        entered.wait()
        pid = os.fork()
        if pid == 0:
            run_and_exit(memory.close)
        deadline, code = time.monotonic() + 60, None
        while code is None and time.monotonic() < deadline:
            done, status = os.waitpid(pid, os.WNOHANG)
            code = os.waitstatus_to_exitcode(status) if done else None
            time.sleep(0.01)
        leave.set()
        thread.join()
        if code is None:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        return [] if code == 0 else [f"close in the child: {code}"]


def unrelated_closes_keep_the_lock() -> list[str]:
    """Opening and closing the same files in this process does not give the lock away."""
    with scratch() as root:
        path = os.path.join(root, "mind")
        with open_tiny(path) as memory:
            put(memory, "m")
            for name in ("LOCK", "catalog.db", *(f"episodic/{n}" for n in _names(path))):
                with open(os.path.join(path, name), "rb") as file:
                    file.read(1)
            return [] if in_fork(lambda: _must_be_locked(path)) == 0 else ["the lock was lost"]


def _names(path: str) -> list[str]:
    return os.listdir(os.path.join(path, "episodic"))


def _must_be_locked(path: str) -> None:
    try:
        open_tiny(path)
    except StoreLockedError:
        return
    raise AssertionError("a second writer got in")
