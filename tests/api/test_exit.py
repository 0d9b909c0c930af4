"""A program may end without closing anything: nothing is lost, hangs, or is said that is no news.

Mechanism: memories are closed when the interpreter begins to end, as long as no other thread may be
using them; once it takes modules apart nothing is touched any more. Damage without it: an end that
waits for ever for a lock in the hands of a thread that no longer runs, maps taken from under a scan
(SIGSEGV), "Exception ignored in" on every console. Guard: whole processes, their exit code, their
standard error and the store that they leave.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.crash.workload import open_tiny, texts_of

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
