"""A program may end without closing anything: nothing is lost, hangs, or is said that is no news.

Mechanism: memories are closed when the interpreter begins to end, as long as no other thread may be
using them; once it takes modules apart nothing is touched any more. Damage without it: an end that
waits for ever for a lock in the hands of a thread that no longer runs, maps taken from under a scan
(SIGSEGV), "Exception ignored in" on every console. Guard: whole processes, their exit code, their
standard error and the store that they leave.
"""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import spector
from spector.errors import ImmutableRecordError
from tests.crash.harness import in_fresh_process
from tests.crash.workload import open_tiny, texts_of
from tests.fakes import FakeEmbedder
from tests.proof import Proof

REPO = Path(__file__).resolve().parent.parent.parent
_BEGIN = """
import atexit, gc, sys, threading, time
import spector
from tests.crash.workload import open_tiny, vector_of
def put(text): memory.remember(text, vector=vector_of(text))
"""
_OPEN = """
memory = open_tiny(sys.argv[1])
for n in range(10): put(f"m{n}")
memory.recall("m1", vector=vector_of("m1"))
"""
#: (what the program does, what is in the store afterwards beside m0 to m9)
ENDS: dict[str, tuple[str, list[str]]] = {
    "functions of the user's at the end still have their memory": (
        # registered before anything of spector but its name was loaded
        "atexit.register(lambda: put('goodbye'))" + _OPEN,
        ["goodbye"],
    ),
    "a thread sleeps between two calls": (
        _OPEN
        + """
def work():
    put("from a thread")
    done.set()
    time.sleep(1000)
    put("never")
done = threading.Event()
threading.Thread(target=work, daemon=True).start()
done.wait()
""",
        ["from a thread"],
    ),
    "a thread is about to begin": (
        _OPEN
        + """
threading.Thread(target=lambda: [memory.recall("m1", vector=vector_of("m1")) for _ in range(10**6)],
                 daemon=True).start()
""",
        [],
    ),
    "threads are in calls of every kind": (
        _OPEN
        + """
def loop(call):
    while True: call()
for call in (
    lambda: memory.recall("m1", vector=vector_of("m1")), memory.reflect, memory.check,
    lambda: list(memory), memory.stats,
): threading.Thread(target=loop, args=(call,), daemon=True).start()
time.sleep(0.2)
""",
        [],
    ),
    "memories in cycles, on disk and not, with their daemons running": (
        _OPEN
        + """
class Agent: pass
for path in (":memory:", sys.argv[1] + "-other"):
    agent = Agent()
    agent.memory, agent.me = open_tiny(path), agent
    agent.memory.daemon.start()
    agent.memory.remember("x", vector=vector_of("x"))
    agent.memory.recall("x", vector=vector_of("x"))
memory.daemon.start()
agent = [memory]; agent.append(agent)
""",
        [],
    ),
    "it is opened while the program ends": (
        _OPEN
        + """
memory.close()
class Late:
    def __del__(self): self.memory = open_tiny(self.path); self.keep.append(self)
late = Late(); late.path = sys.argv[1]; late.keep = sys.modules.setdefault("late", [])
""",
        [],
    ),
}


def run(code: str, path: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *options, "-c", code, str(path)],
        cwd=REPO,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(REPO)},
        capture_output=True,
        timeout=120,
    )


@pytest.mark.sampled
@pytest.mark.parametrize("end", ENDS)
def test_a_program_ends_in_silence_and_leaves_a_whole_store(store_path: Path, end: str) -> None:
    code, more = ENDS[end]
    done = run(_BEGIN + code, store_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", ""), done
    with open_tiny(str(store_path)) as memory:
        assert sorted(texts_of(memory).values()) == sorted([*(f"m{n}" for n in range(10)), *more])
        assert memory.check().ok


def test_a_developer_is_told_of_what_was_not_closed(store_path: Path) -> None:
    done = run(_BEGIN + _OPEN, store_path, "-X", "dev")
    assert done.returncode == 0
    said = [line for line in done.stderr.splitlines() if "spector" in line or "Memory" in line]
    assert len(said) == 1, done.stderr
    assert "ResourceWarning" in said[0]
    assert "was not closed" in said[0]
    assert "ignored" not in done.stderr, "as in: Exception ignored in"


@pytest.mark.parametrize(
    "beside",
    ["", "threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()"],
    ids=["alone", "beside a thread of something else"],
)
def test_what_no_other_thread_has_used_is_closed_properly(store_path: Path, beside: str) -> None:
    """Nothing has to be replayed the next time."""
    assert run(_BEGIN + _OPEN + beside, store_path).returncode == 0
    assert not (store_path / "catalog.db-wal").exists()


# -- What must not keep others waiting, and what must not be left open -----------------------------
#
# Mechanism: update embedded its text under the store's lock; a memory that was dropped without
# close kept the lock; a cue had no limit. Damage: one slow embedding server stopped all writers;
# re-running a notebook cell could not open the store; a pasted log took a minute. Guard: these
# tests.


class _Held(FakeEmbedder):
    """Embeds "slow" texts only when it is let."""

    def __init__(self) -> None:
        super().__init__(dim=32)
        self.begun, self.go = threading.Event(), threading.Event()

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if any("slow" in text for text in texts):
            self.begun.set()
            assert self.go.wait(200)
        return super().embed(texts)


def test_an_update_that_is_being_embedded_holds_up_no_other_writer(store_path: Path) -> None:
    embedder = _Held()
    with spector.open(store_path, embedder=embedder) as memory:
        first = memory.remember("first")
        thread = threading.Thread(target=lambda: memory.update(first.id, text="slow words"))
        thread.start()
        assert embedder.begun.wait(100)
        done: list[int] = []
        other = threading.Thread(target=lambda: done.append(memory.remember("second").id))
        other.start()
        other.join(100)
        held_up = not done
        embedder.go.set()
        thread.join(100)
        other.join(100)
        assert not held_up
        assert memory.get(first.id).text == "slow words"
        assert memory.recall("slow words", k=1)[0].id == first.id


def test_an_immutable_memory_is_refused_before_anything_is_embedded(store_path: Path) -> None:
    embedder = _Held()
    with spector.open(store_path, embedder=embedder) as memory:
        fixed = memory.remember("fixed", immutable=True)
        with pytest.raises(ImmutableRecordError):
            memory.update(fixed.id, text="slow words")
        assert not embedder.begun.is_set()


# -- A process that opens a store, recalls and closes again, over and over, does not grow ----------
#
# Mechanism: the process's own memory (RssAnon), read after each closing, with the cycle collector
# off. Damage without it: a service that opens a store for each request grew by four megabytes with
# every one of them. Guard: what the last openings leave is what the first have left. Each round is
# in a fresh process, in which nothing else allocates.


_DIM = 64
_BATCH = 20_000


def own_mib() -> float:
    """Memory of this process that no file is behind, MiB."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("RssAnon:")[1].split()[0]) / 1024


def reopen(path: str, memories: int, openings: int) -> dict[str, Any]:
    """Own memory after the fifth closing and after the last, of reading and writing in turn."""
    rng = np.random.default_rng(0)
    vectors = rng.standard_normal((min(memories, _BATCH), _DIM)).astype(np.float32)
    with spector.open(path, embedder=None, dim=_DIM, durability="relaxed") as memory:
        for first in range(0, memories, _BATCH):
            memory.remember_many(
                [
                    {"text": f"memory {n} about w{n % 5000}", "vector": vectors[n % _BATCH]}
                    for n in range(first, min(first + _BATCH, memories))
                ]
            )
        memory.recall("about w77", vector=vectors[3])
    del memory
    gc.collect()
    gc.disable()
    seen = []
    for n in range(openings):
        with spector.open(
            path, embedder=None, dim=_DIM, durability="relaxed", mode="r" if n % 2 else "rw"
        ) as memory:
            hits = memory.recall(f"w{n} w5", vector=vectors[n])
            assert len(hits) == 10
            if n % 4 == 0:
                memory.remember(f"another {n}", vector=vectors[n])
        seen.append(own_mib())
    maps = sum(f"{path}/" in line for line in Path("/proc/self/maps").read_text().splitlines())
    return {"fifth_mib": seen[4], "last_mib": seen[-1], "most_mib": max(seen[4:]), "maps": maps}


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="needs /proc")
def test_a_small_store_that_is_opened_again_and_again_leaves_nothing(store_path: Path) -> None:
    found = in_fresh_process(
        "tests.api.test_ends_of_a_process:reopen", path=str(store_path), memories=4000, openings=25
    )
    # one index of words and vectors of this store is about 3 MiB
    assert found["last_mib"] < found["fifth_mib"] + 3, found
    assert found["maps"] == 0


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="needs /proc")
@pytest.mark.slow
def test_a_hundred_openings_of_a_hundred_thousand_memories_leave_nothing(
    store_path: Path, proof: Proof
) -> None:
    found = in_fresh_process(
        "tests.api.test_ends_of_a_process:reopen",
        path=str(store_path),
        memories=100_000,
        openings=100,
        timeout_s=1200,
    )
    grown = found["last_mib"] - found["fifth_mib"]
    proof("T31", reopenings=100, mib_grown_by_reopening=f"{grown:.1f}")
    assert grown < 10, found
    assert found["maps"] == 0
