"""Mechanism: several processes, one after the other in no order, write and remove files of words.

Damage without a guard: a process goes on with the numbers of files that another one has replaced,
or leaves words of what a third has erased. Guard: who writes takes up what is there or writes anew,
and an erasure removes whatever has the form of such a file, whoever wrote it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import spector
from spector.clock import ManualClock
from spector.errors import StoreLockedError
from spector.language.words import term_hash
from spector.lexical import LEXICAL_DTYPE, LEXICAL_HEADER_BYTES, read_block
from spector.store import words as word_files
from tests.crash.harness import in_fresh_process, run_and_exit, scratch
from tests.crash.workload import DIM, vector_of, warm_up
from tests.proof import seed

_ROUNDS = 6
_WORDS = "guitar tent music lake river bank coffee tea run walk boat car".split()


def _opened(path: str, *, shared: bool = False) -> spector.Memory:
    """The store for writing, once whoever has it lets it go; or beside the others."""
    if shared:
        return spector.open(path, embedder=None, dim=DIM, shared=True, wait=240)
    deadline = time.monotonic() + 240
    while True:
        try:
            return spector.open(path, embedder=None, dim=DIM)
        except StoreLockedError:
            assert time.monotonic() < deadline, "nobody lets the store go"
            time.sleep(0.002)


def _put(memory: spector.Memory, who: int, first: int, rng: np.random.Generator) -> None:
    texts = [" ".join(rng.choice(_WORDS, 6)) + f" w{who}n{first + n}" for n in range(20)]
    texts.append(f"secret qzj{who}x{first} of the vault")
    memory.remember_many([{"text": text, "vector": vector_of(text)} for text in texts])
    memory.recall("guitar music", vector=vector_of("guitar"), k=3)  # takes up or reads the words


def _write_shared(path: str, who: int, value: int) -> None:
    rng = np.random.default_rng([value, who])
    with _opened(path, shared=True) as memory:
        for n in range(_ROUNDS):
            _put(memory, who, 100 * n, rng)
            memory._parts.store.index_rest()


def _write(path: str, who: int, value: int) -> None:
    rng = np.random.default_rng([value, who])
    for n in range(_ROUNDS):
        with _opened(path) as memory:
            _put(memory, who, 100 * n, rng)


def _purge(path: str, *, shared: bool = False) -> None:
    for _ in range(_ROUNDS):
        with _opened(path, shared=shared) as memory:
            secrets = [record.id for record in memory if record.text.startswith("secret")]
            if not secrets:
                continue
            receipt = memory.forget(secrets, purge=True, verify=True).receipt
            assert receipt is not None
            # what reads beside it holds the log, and the receipt says so
            assert shared or receipt.complete, str(receipt)


def _erased_words_in_files(path: str) -> list[str]:
    """Words of secrets that are gone, of which a block has the hash."""
    with spector.open(path, embedder=None, dim=DIM, mode="r") as memory:
        there = {record.text.split()[1] for record in memory if record.text.startswith("secret")}
        store = memory._parts.store
        gone = {f"qzj{w}x{100 * n}" for w in range(3) for n in range(_ROUNDS)} - there
        hashes = {term_hash(word, store.uuid): word for word in gone}
        blocks = [
            read_block(image, store.kernel, uuid=store.uuid, analysis=_analysis_of(image))[0]
            for name in store.files.listing()
            if word_files.is_words(name)
            and name != word_files.LIST
            and (image := word_files.bytes_of(store.files, name)) is not None
        ]
        return [
            hashes[value]
            for block in blocks
            if block is not None
            for value in block.hash.tolist()
            if value in hashes
        ]


def _analysis_of(image: Any) -> int:
    return int(np.array(image[:LEXICAL_HEADER_BYTES]).view(LEXICAL_DTYPE)["analysis"][0])


def words_of_three(value: int, shared: bool) -> dict[str, Any]:
    """Two processes that write and one that erases; then what is left, and what is found."""
    word_files._WORTH_WRITING = 1  # type: ignore[misc]
    warm_up()
    with scratch() as root:
        path = f"{root}/mind"
        with spector.open(path, embedder=None, dim=DIM) as memory:
            _put(memory, 0, 0, np.random.default_rng(value))
        write = _write_shared if shared else _write
        works: list[Callable[[], None]] = [
            lambda: write(path, 1, value),
            lambda: write(path, 2, value),
            lambda: _purge(path, shared=shared),
        ]
        children = []
        for work in works:
            pid = os.fork()
            if pid == 0:
                run_and_exit(work)
            children.append(pid)
        codes = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in children]
        erased = _erased_words_in_files(path)
        _purge(path)
        with _opened(path) as memory:
            memory.compact(threshold=0)
        needles = [b"qzj%dx" % who for who in range(3)]
        left = [
            p.name
            for p in Path(path).rglob("*")
            if p.is_file() and any(needle in p.read_bytes() for needle in needles)
        ]
        answers = []
        clock = ManualClock(datetime.now(UTC))  # strengths fade from one opening to the next
        for fresh in (False, True):
            if fresh:
                for each in Path(path, "lexical").glob("*"):
                    each.unlink()
            with spector.open(path, embedder=None, dim=DIM, mode="r", clock=clock) as memory:
                answers.append(
                    [
                        [
                            (hit.id, round(hit.score, 5))
                            for hit in memory.recall(cue, vector=vector_of(cue), k=20)
                        ]
                        for cue in ("guitar river", "tent", "coffee", "vault")
                    ]
                )
                count = len(memory)
        problems = [str(problem) for problem in spector.check(path).problems]
    differ = [pair for pair in zip(*answers, strict=True) if pair[0] != pair[1]]
    return {
        "codes": codes,
        "left": left,
        "differ": differ,
        "count": count,
        "problems": problems,
        "erased": erased,
    }


@pytest.mark.slow
@pytest.mark.parametrize("shared", [False, True])
def test_words_of_two_writers_and_an_eraser_are_those_of_the_texts(shared: bool) -> None:
    found = in_fresh_process(
        "tests.store.test_words_beside:words_of_three", value=seed(5), shared=shared
    )
    assert found["erased"] == []
    assert found["codes"] == [0, 0, 0]
    assert found["left"] == []
    assert found["problems"] == []
    assert found["differ"] == []
    assert found["count"] == 20 * (2 * _ROUNDS + 1)
