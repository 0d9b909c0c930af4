"""Processes that share a store: they write, read what others have acknowledged, and may be killed.

They come from a server that has loaded the engine and no store, so that one starts in milliseconds.
"""

from __future__ import annotations

import multiprocessing
import os
import random
import time
from collections.abc import Callable
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import spector
from spector import Config, ConflictError, Memory, MemoryRecord
from tests.fakes import FakeEmbedder

__all__ = (
    "CONFIG begun count_up hold increment lines_of opened operate write_and_look write_for_ever"
).split()

#: small partitions and a short journal, so that few writes come to checkpoints and full partitions
CONFIG = Config(
    episodic_capacity=64,
    index_min_rows=8,
    checkpoint_bytes=1 << 14,
    erase_after_s=0,
    min_extent_bytes=4096,
    max_extent_bytes=65536,
)
WAIT_S = 120.0
#: memories that each user has at most in random operations
_MOST = 200

_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload([__name__, "spector.assembly"])


def opened(path: Path, **more: Any) -> Memory:
    """The store, shared, with an embedder that takes no time."""
    given = {"shared": True, "wait": WAIT_S, **more}
    return spector.open(path, embedder=FakeEmbedder(), config=CONFIG, **given)


def begun(work: Callable[..., None], *given: Any) -> BaseProcess:
    """A process that does ``work``."""
    process = _context.Process(target=work, args=given)
    process.start()
    return process


def _noted(log: int, line: str) -> None:
    os.write(log, f"{line}\n".encode())


def _log(path: Path) -> int:
    return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)


def lines_of(path: Path, kind: str) -> list[str]:
    """What the lines of a log say that begin with a word."""
    if not path.exists():
        return []
    lines = path.read_text().splitlines()
    return [line.split(" ", 1)[1] for line in lines if line.split(" ", 1)[0] == kind]


def write_for_ever(path: Path, log_path: Path, seed: int) -> None:
    """Store, change and forget until killed; each is noted before and after."""
    rng, log, mine = random.Random(seed), _log(log_path), list[int]()
    memory = opened(path)
    for n in range(1_000_000):
        text = f"writer {seed} line {n}"
        _noted(log, f"start {text}")
        if mine and rng.random() < 0.2:
            gone = mine.pop(rng.randrange(len(mine)))
            _noted(log, f"forgetting {gone}")
            memory.forget(gone)
            _noted(log, f"forgotten {gone}")
        if rng.random() < 0.05:
            memory.compact()
        made = memory.remember(text)
        mine.append(made.id)
        _noted(log, f"ack {made.id} {text}")


def count_up(path: Path, log_path: Path, count: int) -> None:
    """Add one to a number by compare and swap, so often; each loss of a race is noted."""
    log = _log(log_path)
    with opened(path) as memory:
        for _ in range(count):
            _noted(log, f"lost {increment(memory)}")


def increment(memory: Memory) -> int:
    """Add one to the number that a key has; how often another was faster."""
    held: MemoryRecord | None = memory.get(key="n") if memory.count(key_prefix="n") else None
    for lost in range(1_000):
        number, revision = (0, 0) if held is None else (int(held.text), held.revision)
        try:
            if held is None or lost % 2:
                memory.remember(str(number + 1), key="n", if_revision=revision)
            else:
                memory.update(key="n", text=str(number + 1), if_revision=revision)
        except ConflictError as error:
            held = error.current
        else:
            return lost
    raise AssertionError("another was faster a thousand times")


def hold(path: Path, log_path: Path) -> None:
    """Store something, and keep the right to write until killed."""
    memory = opened(path)
    made = memory.remember("of the holder")
    with memory._parts.store.exclusive():
        _noted(_log(log_path), f"held {made.id}")
        time.sleep(3600)


def write_and_look(path: Path, log_path: Path, name: str, count: int, wait_s: float) -> None:
    """Write; after each write everything must be there that anyone had acknowledged before."""
    log, worst = _log(log_path), 0.0
    with opened(path, wait=wait_s) as memory:
        memory.recall("warm")
        for n in range(count):
            begun_s = time.monotonic()
            made = memory.remember(f"{name} says {n}")
            worst = max(worst, time.monotonic() - begun_s)
            _noted(log, f"ack {made.id}")
            there = [int(each) for each in lines_of(log_path, "ack")]
            for each in there[-5:]:
                if each not in memory:
                    _noted(log, f"missing {each}")
            if len(memory) < len(there):
                _noted(log, f"fewer {len(memory)} than {len(there)}")
    _noted(log, f"worst {worst}")


def operate(path: Path, log_path: Path, user: str, count: int, seed: int) -> None:
    """Random operations of one user beside a model of what it has; differences are noted."""
    rng, log, model = random.Random(seed), _log(log_path), dict[int, str]()
    keyed: dict[str, int] = {}
    memory = opened(path)
    for n in range(count):
        chance = rng.random()
        if len(model) > _MOST:  # as many come as go, so that an operation costs the same at the end
            gone = set(rng.sample(sorted(model), len(model) // 2))
            memory.forget(sorted(gone), user_id=user)
            model = {each: text for each, text in model.items() if each not in gone}
            keyed = {key: each for key, each in keyed.items() if each not in gone}
        some = rng.choice(sorted(model)) if model else None
        text = f"{user} thing {n} of {rng.randrange(9)}"
        if chance < 0.3 or some is None:
            model[memory.remember(text, user_id=user).id] = text
        elif chance < 0.36:
            texts = [f"{text} part {i}" for i in range(rng.choice((2, 5, 70)))]
            made = memory.remember_many(texts, user_id=user)
            model.update(zip([each.id for each in made], texts, strict=True))
        elif chance < 0.46:
            key = f"key {rng.randrange(4)}"
            made_one = memory.remember(text, user_id=user, key=key)
            if keyed.setdefault(key, made_one.id) != made_one.id:
                _noted(log, f"differs {user} two of {key}")
            model[made_one.id] = text
        elif chance < 0.56:
            memory.update(some, text=text, user_id=user)
            model[some] = text
        elif chance < 0.68:
            memory.forget(some, user_id=user)
            del model[some]
            keyed = {key: each for key, each in keyed.items() if each != some}
        elif chance < 0.73:
            memory.pin(some, user_id=user)
        elif chance < 0.75:
            done = rng.randrange(3)
            if done == 2:
                memory.reflect("upkeep")
            else:
                (memory.compact, memory.checkpoint)[done]()
        elif chance < 0.77:
            memory.close()
            if rng.random() < 0.5:
                with opened(path, shared=False) as alone:
                    model[alone.remember(text, user_id=user).id] = text
            memory = opened(path)
        elif chance < 0.9:
            found = memory.get(some, user_id=user).text
            if found != model[some]:
                _noted(log, f"differs {user} {some}: {found!r}, not {model[some]!r}")
        elif chance < 0.95:
            hits = memory.recall(model[some], user_id=user, k=5)
            if not all(model.get(hit.id) == hit.text for hit in hits) or not hits:
                _noted(log, f"differs {user} recall of {some}: {[hit.id for hit in hits]}")
        elif memory.count(user_id=user) != len(model):
            _noted(log, f"differs {user} count {memory.count(user_id=user)}, not {len(model)}")
    said = {each.id: each.text for each in memory.records(user_id=user)}
    if said != model:
        _noted(log, f"differs {user} at the end: {len(said)} and {len(model)}")
    memory.close()
    _noted(log, f"done {user}")
