"""Kills a process at each of its file calls, and looks at what is left.

A life is first lived undisturbed, in a child, while a second reader notes what the store shows
after each thing that was acknowledged. Then it is lived again and killed at its n-th call, for
every n. What had been acknowledged goes through a pipe that the parent owns. A reader beside the
dead writer and the next writer must both show exactly the state of the last acknowledgement or of
the next one (or one of those that a batch commits on its way there), pass ``check``, and go on:
take a new memory and recall it.
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import spector
from spector.clock import ManualClock
from spector.store.catalog.schema import RELAXED_LOG
from tests.crash.harness import in_fork, scratch
from tests.crash.lives import HEAVY, KNOWING, LIVES, NOW, Life
from tests.crash.prepared import store_in
from tests.crash.shim import CHANGING, KILL, TORN, WRITE, Shim
from tests.crash.workload import TINY, warm_up
from tests.knowing import known_rows

KILLED = -9
#: flags of memories that no recall shows
_AT_REST = frozenset(("dormant", "quarantined"))
#: id -> everything a user can see of that memory; None when there is no store
State = dict[str, dict[str, Any]] | None


# -- one life -------------------------------------------------------------------------------------


@dataclass
class Told:
    """A scene that writes what was acknowledged into a pipe, and begins what ``ready`` says."""

    folder: str
    durability: str
    pipe: int
    ready: Callable[[], None]

    def begin(self) -> None:
        self.ready()

    def did(self, what: str) -> None:
        os.write(self.pipe, f"{what}\n".encode())

    def between(self, *_: Any) -> None:
        pass


@dataclass
class Watched:
    """A scene of an undisturbed life: what the store shows after each acknowledgement."""

    folder: str
    durability: str
    states: list[State] = field(default_factory=list)
    #: per acknowledgement: what was committed on the way to it
    halfway: list[list[State]] = field(default_factory=lambda: [[]])

    def begin(self) -> None:
        self.states.append(state_beside(self.folder))

    def did(self, what: str) -> None:
        self.states.append(state_beside(self.folder))
        self.halfway.append([])

    def between(self, *_: Any) -> None:
        self.halfway[-1].append(state_beside(self.folder))


@dataclass
class Stage:
    """A life, its prepared store, and all that may be seen of it."""

    name: str
    life: Life
    durability: str
    master: str
    case: str
    states: list[State]
    halfway: list[list[State]]

    def reset(self) -> None:
        shutil.rmtree(self.case, ignore_errors=True)
        shutil.copytree(self.master, self.case)

    def allowed(self, acknowledged: int) -> list[State]:
        between = self.halfway[acknowledged] if acknowledged < len(self.halfway) else []
        return [*self.states[acknowledged : acknowledged + 2], *between]


@contextmanager
def staged(name: str, durability: str = "strict") -> Iterator[Stage]:
    """Prepare a life and live it once, watched."""
    life = {**LIVES, **HEAVY, **KNOWING}[name]
    with scratch() as root:
        master, case, notes = (os.path.join(root, n) for n in ("master", "case", "notes"))
        os.mkdir(master)
        life.prepare(master)
        shutil.copytree(master, case)

        def watched() -> None:
            scene = Watched(case, durability)
            life.run(scene)
            Path(notes).write_text(json.dumps([scene.states, scene.halfway]), encoding="utf-8")

        assert in_fork(watched) == 0
        states, halfway = json.loads(Path(notes).read_text(encoding="utf-8"))
        stage = Stage(name, life, durability, master, case, states, halfway)
        yield stage


def live(stage: Stage, ready: Callable[[], None]) -> tuple[int, list[str]]:
    """Live it in a child; its exit code and what it acknowledged."""
    stage.reset()
    reading, writing = os.pipe()
    os.set_blocking(reading, False)

    def work() -> None:
        stage.life.run(Told(stage.case, stage.durability, writing, ready))

    try:
        code = in_fork(work)
        os.close(writing)
        with os.fdopen(os.dup(reading), "rb") as told:
            return code, told.read().decode().split()
    finally:
        os.close(reading)


def strike(stage: Stage, action: int, classes: int, at: int) -> Callable[[], None]:
    """What a child does when it begins: from now on its calls count, and one is its last."""

    def ready() -> None:
        shim = Shim()
        shim.arm(stage.case)
        shim.fault(action, classes=classes, at=at)

    return ready


# -- what is left ---------------------------------------------------------------------------------


def open_left(folder: str, mode: Any = "rw", dim: int | None = None) -> spector.Memory:
    """A store of any model; what is asked of it brings vectors along."""
    return spector.open(
        store_in(folder), embedder=None, mode=mode, config=TINY, clock=ManualClock(NOW), dim=dim
    )


def state_of(memory: spector.Memory) -> State:
    """As JSON would have it, so that states of two processes compare; memories with what is known
    of them.
    """
    known = known_rows(memory)
    found: State = json.loads(
        json.dumps(
            {
                str(r.id): r.to_dict() | ({"known": known[r.id]} if r.id in known else {})
                for r in memory
            }
        )
    )
    return found


def state_beside(folder: str) -> State:
    """What a reader in another process sees."""
    try:
        with open_left(folder, "r") as reader:
            return state_of(reader)
    except spector.StoreNotFoundError:
        return None


def inspect(stage: Stage, acknowledged: list[str], again: int = 0) -> list[str]:
    """What is wrong with the store that a process left behind.

    ``again`` is a memory that was acknowledged on top of the life itself.
    """
    allowed = stage.allowed(len(acknowledged))
    wrong = []
    beside = state_beside(stage.case)
    if again and (beside or {}).pop(str(again), None) is None:
        wrong.append("what was remembered after the error is lost")
    if beside not in allowed:
        wrong.append(f"reader: {difference(beside, allowed)}")
    with _opened(stage, wrong) as memory:
        if memory is None:
            return wrong
        seen = state_of(memory)
        shown = {i: each for i, each in (seen or {}).items() if i != str(again)}
        if (beside or {}) != shown:
            wrong.append(f"reader and writer differ: {difference(shown, [beside])}")
        ever = known(stage.states[: len(acknowledged) + 1])
        wrong += usable(stage, memory, seen or {}, ever)
        with open_left(stage.case, "r") as reader:
            if {r.id for r in reader} != {r.id for r in memory}:
                wrong.append("a reader does not see the new memory")
    return wrong + stage.life.check(stage.case, acknowledged)


@contextmanager
def _opened(stage: Stage, wrong: list[str]) -> Iterator[spector.Memory | None]:
    try:
        memory = open_left(stage.case, dim=stage.life.dim)
    except spector.SpectorError as error:
        wrong.append(f"cannot be opened: {error!r}")
        yield None
        return
    with memory:
        yield memory


def known(states: list[State]) -> set[str]:
    return {record_id for state in states for record_id in state or ()}


def usable(stage: Stage, memory: spector.Memory, seen: dict[str, Any], ids: set[str]) -> list[str]:
    """What an open store gets wrong: check, counting, reading, recalling, and one more memory.

    ``ids`` are all that anybody was ever told of.
    """
    wrong = [f"check: {p}" for p in memory.check().problems]
    if len(memory) != len(seen):
        wrong.append(f"len is {len(memory)}, but {len(seen)} can be iterated")
    wrong += [f"forgotten {i} is still there" for i in ids - seen.keys() if int(i) in memory]
    active = [each for each in seen.values() if not _AT_REST & set(each.get("flags", ()))]
    for each in active[:: max(1, len(active) - 1)]:
        wrong += _recalled(stage, memory, each["id"], each["text"])
    text = "sequel version 0"
    try:
        new = memory.remember(text, vector=stage.life.vector(text, memory.dim))
    except spector.SpectorError as error:
        return [*wrong, f"takes no new memory: {error!r}"]
    if str(new.id) in ids:
        wrong.append(f"the id of {new.id} is given out again")
    return wrong + _recalled(stage, memory, new.id, text)


def _recalled(stage: Stage, memory: spector.Memory, record_id: int, text: str) -> list[str]:
    if not text:  # what has none comes in no recall
        return []
    vector = stage.life.vector(text, memory.dim)
    # two, as what contradicts it and is newer stands before it
    hits = memory.recall(vector=vector, k=2, lexical=False, profile="similarity")
    wrong = []
    if record_id not in [hit.id for hit in hits]:
        wrong.append(f"recall by vector does not find {record_id} {text!r}")
    found = memory.recall(text.split()[0], vector=vector, k=3)
    # a fact and its source are one hit
    if record_id not in [each for hit in found for each in (hit.id, *hit.also)]:
        wrong.append(f"recall by word does not find {record_id} {text!r}")
    return wrong


def difference(seen: State, allowed: list[State]) -> str:
    """In which way a state is like none of those allowed, compared with the one most like it."""
    told = [_compared(seen, each) for each in allowed]
    return min(told, key=len) if told else "nothing is allowed"


def _compared(seen: State, other: State) -> str:
    if seen is None or other is None:
        return f"{'no store' if seen is None else len(seen)}, not {other and len(other)}"
    missing = [other[i]["text"] for i in other.keys() - seen.keys()]
    added = [seen[i]["text"] for i in seen.keys() - other.keys()]
    changed = [
        (seen[i]["text"], key, other[i].get(key), seen[i].get(key))
        for i in other.keys() & seen.keys()
        for key in other[i]
        if other[i][key] != seen[i].get(key)
    ]
    return f"missing {missing}, added {added}, changed {changed}"


# -- killed at every call -------------------------------------------------------------------------


def kills(
    names: list[str] | None = None,
    durability: str = "strict",
    start: int = 1,
    step: int = 1,
    torn: bool = True,
) -> dict[str, Any]:
    """Kill each life at call ``start``, ``start + step``, ... and, ``torn``, within its writes.

    Things that were never killed in the middle are counted by ``unseen``.
    """
    warm_up()
    wrong: dict[str, list[str]] = {}
    points: dict[str, int] = {}
    unseen: dict[str, list[int]] = {}
    for name in names or LIVES:
        points[name], within = 0, set()
        with staged(name, durability) as stage:
            for action, classes in ((KILL, CHANGING), (TORN, WRITE))[: 1 + torn]:
                n, code = start, KILLED
                while code:
                    code, told = live(stage, strike(stage, action, classes, n))
                    assert code in (0, KILLED), f"{name} ended with {code}"
                    found = inspect(stage, told)
                    if found:
                        wrong[f"{name} {durability} {'torn' if action == TORN else 'at'} {n}"] = (
                            found
                        )
                    points[name] += code == KILLED
                    within.add(len(told))
                    n += step
            unseen[name] = sorted(set(range(len(stage.states) - 1)) - within)
    return {"points": points, "wrong": wrong, "unseen": unseen}


# -- recovery killed, too -------------------------------------------------------------------------


def recoveries(
    names: list[str] | None = None,
    durability: str = "strict",
    start: int = 1,
    step: int = 1,
    inner: int = 1,
) -> dict[str, Any]:
    """Kill the opening that follows each of those kills at its calls, and the next opening as well.

    Whatever happens on the way, the store that comes out is the one that an undisturbed opening
    makes of the same image.
    """
    warm_up()
    wrong: dict[str, list[str]] = {}
    images = first = second = longest = 0
    for name in names or LIVES:
        with staged(name, durability) as stage:
            n, code = start, KILLED
            while True:
                code, _ = live(stage, strike(stage, KILL, CHANGING, n))
                if code == 0:
                    break
                image = os.path.join(os.path.dirname(stage.case), "image")
                shutil.copytree(stage.case, image)
                images += 1
                found, lengths = _recover_killed(stage, image, inner, n)
                shutil.rmtree(image)
                if found:
                    wrong[f"{name} {durability} at {n}"] = found
                first, second = first + lengths[0], second + lengths[1]
                longest = max(longest, lengths[0])
                n += step
    return {"images": images, "first": first, "second": second, "longest": longest, "wrong": wrong}


def _recover_killed(
    stage: Stage, image: str, inner: int, seed: int
) -> tuple[list[str], tuple[int, int]]:
    """Problems, and how many openings were killed at the first and at the second level."""
    _restore(stage, image)
    expected = _settled(stage)
    wrong, m, second = [], 1 + seed % inner, 0
    first = 0
    while True:
        _restore(stage, image)
        if _opening_killed(stage, m) == 0:
            return wrong, (first, second)
        first += 1
        # where the second opening dies goes round, so that every place has its turn
        second += _opening_killed(stage, 1 + (7 * m + seed) % (m + 10)) == KILLED
        found = _settled(stage)
        if found != expected:
            wrong.append(f"killed at {m}: {_unlike(found, expected)}")
        m += inner


def _restore(stage: Stage, image: str) -> None:
    shutil.rmtree(stage.case)
    shutil.copytree(image, stage.case)


def _opening_killed(stage: Stage, at: int) -> int:
    def work() -> None:
        strike(stage, KILL, CHANGING, at)()
        open_left(stage.case, dim=stage.life.dim)
        os._exit(0)  # before the memory is closed, which would be more than an opening

    return in_fork(work)


def _settled(stage: Stage) -> dict[str, Any]:
    """Everything durable about a store, after an undisturbed opening and closing."""
    with open_left(stage.case, dim=stage.life.dim) as memory:
        state, problems = state_of(memory), [str(p) for p in memory.check().problems]
    path = store_in(stage.case)
    db = sqlite3.connect(f"{path}/catalog.db")
    found: dict[str, Any] = {
        table: sorted(map(repr, db.execute(f"SELECT {what} FROM {table}"))) for table, what in _KEPT
    }
    partitions = db.execute("SELECT path, slots FROM segment WHERE state < 4").fetchall()
    db.close()
    for name, slots in partitions:
        with open(os.path.join(path, name), "rb") as file:
            header = file.read(64)
            stride = int.from_bytes(header[24:28], "little")
            found[name] = (header + file.read(slots * stride)).hex()
    # what names a log, SQLite chooses by chance
    meta = [row for row in found.pop("meta") if not row.startswith(f"('{RELAXED_LOG}'")]
    found["uuid"] = [] if state == {} else meta  # a store made anew has another
    return {**found, "state": state, "problems": problems}


#: what an opening may not change; counters that only have to grow are left out
_KEPT = (
    ("meta", "*"),
    ("record", "*"),
    ("content", "*"),
    ("record_tag", "*"),
    ("journal", "*"),
    ("segment", "id, tier, day, sequence, generation, path, state, capacity, slots, live"),
    ("head", "last_id"),
)


def _unlike(found: dict[str, Any], expected: dict[str, Any]) -> str:
    keys = [k for k in {*found, *expected} if found.get(k) != expected.get(k)]
    return f"problems {found['problems']}, differs in {keys}"
