"""Readers beside a writer see old or new, whole, and never miss a live memory."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from spector.errors import StoreLockedError
from tests.crash.harness import REPO, TIMEOUT_S, in_fresh_process
from tests.crash.readers import ENOUGH
from tests.crash.workload import open_tiny, texts_of, vector_of
from tests.proof import Proof

pytestmark = pytest.mark.crash


@pytest.mark.timeout(400)
@pytest.mark.parametrize(("seconds", "seed"), [(4, 1), pytest.param(60, 7, marks=pytest.mark.slow)])
def test_four_reading_processes_beside_a_writer_see_only_what_was_committed(
    seconds: float, seed: int, proof: Proof
) -> None:
    found: dict[str, Any] = in_fresh_process(
        "tests.crash.readers:processes", seconds=seconds, seed=seed, timeout_s=seconds + TIMEOUT_S
    )
    proof(
        "T13",
        changes=found["operations"],
        looks=found["looks"],
        reader_seconds=seconds * 4,
        violations=len(found["wrong"]),
    )
    assert found["wrong"] == [], found
    assert found["operations"] >= ENOUGH, "the writer hardly wrote"
    assert found["looks"] >= ENOUGH, "the readers hardly read"


# -- One writer at a time, whoever wants to; one memory for many threads; an end without a close ---


@pytest.mark.timeout(400)
@pytest.mark.parametrize("grants", [40, pytest.param(400, marks=pytest.mark.slow)])
def test_a_store_that_many_want_to_write_is_granted_to_one_at_a_time(
    grants: int, proof: Proof
) -> None:
    found = in_fresh_process("tests.crash.contend:contend", grants=grants)
    counts = {name: value for name, value in found.items() if name != "wrong"}
    proof("T14", **counts, lost_acknowledged=len(found["wrong"]))
    assert found["wrong"] == []
    assert found["overlaps"] == 0
    assert found["grants"] >= grants
    assert found["killed"] > 0


@pytest.mark.sampled
@pytest.mark.parametrize("rounds", [50, pytest.param(600, marks=pytest.mark.slow)])
@pytest.mark.parametrize("path", [None, ":memory:"], ids=["disk", "memory"])
@pytest.mark.timeout(900)
def test_eight_threads_use_every_verb_of_one_memory(
    rounds: int, path: str | None, proof: Proof
) -> None:
    found = in_fresh_process("tests.crash.contend:hammer", rounds=rounds, path=path, timeout_s=890)
    proof("T15", thread_operations=found["operations"], thread_violations=len(found["wrong"]))
    assert found["wrong"] == []
    assert found["operations"] == 8 * rounds


# -- ends without a close -----------------------------------------------------------------------

_LIFE = """
import gc, os, sys, threading
from tests.crash.workload import open_tiny, vector_of
memory = open_tiny(sys.argv[1])
for n in range(20):
    memory.remember(f"m{n}", vector=vector_of(f"m{n}"))
    memory.recall(f"m{n}", vector=vector_of(f"m{n}"))
"""
_ENDS = {
    "exit": "",
    "exit with the daemon": "memory.daemon._interval_s = 0.001; memory.daemon.start()",
    "exit in a cycle": "cycle = [memory]; cycle.append(cycle)",
    "collected": "del memory; gc.collect()",
    "sys.exit": "sys.exit(0)",
    "os._exit": "os._exit(0)",
    "raised": "os.dup2(os.open(os.devnull, os.O_WRONLY), 2); raise SystemExit(0)",
    "a thread is in a recall": """
threading.Thread(
    target=lambda: [memory.recall(vector=vector_of("x")) for _ in range(10**6)], daemon=True
).start()
""",
    "a reader and a writer": "reader = open_tiny(sys.argv[1], mode='r'); len(reader)",
}


#: each takes the start of an interpreter
_QUICK = ("exit with the daemon", "collected", "a thread is in a recall")


@pytest.mark.sampled
@pytest.mark.parametrize(
    "end", [end if end in _QUICK else pytest.param(end, marks=pytest.mark.slow) for end in _ENDS]
)
def test_a_process_that_ends_without_a_close_leaves_a_whole_store(
    store_path: Path, end: str, proof: Proof
) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", _LIFE + _ENDS[end], str(store_path)],
        cwd=REPO,
        env={**os.environ, "PYTHONPATH": str(REPO)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, ""), done
    with open_tiny(str(store_path)) as memory:
        proof("T15", ends_without_close=1, lost_acknowledged=20 - len(memory))
        assert sorted(texts_of(memory).values()) == sorted(f"m{n}" for n in range(20))
        assert memory.check().ok


def _in_spawned(path: str, said: Any) -> None:
    try:
        open_tiny(path).close()
        said.put("granted")
    except StoreLockedError:
        with open_tiny(path, mode="r") as memory:
            said.put(sorted(texts_of(memory).values()))


def test_a_spawned_process_reads_but_does_not_write(store_path: Path, proof: Proof) -> None:
    spawn = multiprocessing.get_context("spawn")
    with open_tiny(str(store_path)) as memory:
        memory.remember("m", vector=vector_of("m"))
        said = spawn.Queue()
        child = spawn.Process(target=_in_spawned, args=(str(store_path), said))
        child.start()
        found = said.get(timeout=120)
        child.join()
        proof("T15", spawned=1, lock_losses=int(found == "granted"))
        assert found == ["m"]
        memory.remember("n", vector=vector_of("n"))
