"""Copies by tools that know nothing of stores: of one in use, of one killed, over one killed."""

from __future__ import annotations

import json
import os
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np

import spector
from spector.errors import SpectorError
from tests.backup.live import History
from tests.crash.harness import die, in_fork, scratch
from tests.crash.workload import Worker, open_tiny, tell_pipe, texts_of, warm_up, wrong_in

#: in which order a tool copies files; each has its own, that of cp -r is the file system's
ORDERS: Final[dict[str, Callable[[str], Any]]] = {
    "by name": lambda name: name,
    "files before folders": lambda name: (name.count("/"), name),
    "catalog first": lambda name: (not name.startswith("catalog"), name),
    "catalog last": lambda name: (name.startswith("catalog"), name),
}
Wrong = Callable[[spector.Memory], list[str]]


def _names(store: Path, rng: np.random.Generator) -> list[str]:
    names = sorted(p.relative_to(store).as_posix() for p in store.rglob("*") if p.is_file())
    order = str(rng.choice([*ORDERS, "any"]))
    return sorted(names, key=ORDERS[order]) if order in ORDERS else list(rng.permutation(names))


def _copy(names: list[str], source: Path, target: Path) -> None:
    for name in names:
        place = target / name
        place.parent.mkdir(parents=True, exist_ok=True)
        if (source / name).exists():
            shutil.copyfile(source / name, place)


def _copy_in_use(
    worker: Worker, names: list[str], source: Path, target: Path, rng: np.random.Generator
) -> bool:
    """Copy file by file while the store is written to; whether it was written to meanwhile.

    In some copies every file has another moment, in most two moments meet, and some are of one. In
    some of them memories are only used meanwhile: then the same ones are in all files.
    """
    quiet = rng.random() < 0.5
    pauses = rng.permutation(len(names))[: int(rng.choice([0, 1, 1, 1, 2, len(names)]))]
    for n, name in enumerate(names):
        for _ in range(int(rng.integers(1, 4)) if n in pauses else 0):
            if quiet:
                getattr(worker, str(rng.choice(["_reinforce", "_pin", "_touch"])))()
            else:
                worker.step()
        if n in pauses and rng.random() < 0.5:
            worker.memory.checkpoint()
        _copy([name], source, target)
    return bool(pauses.size)


def _look(path: Path, wrong_with: Wrong) -> tuple[str, bool, list[str]]:
    """Open it both ways: (outcome, True if it opened for writing, unnoticed faults).

    The outcome is "refused", "found_by_check" or "sound". A sound store must have no fault, and a
    reader must not show one without a warning of ``check``.
    """
    try:
        warned = not spector.check(path).ok
    except SpectorError:
        warned = True
    wrong: list[str] = []
    try:
        with open_tiny(str(path), mode="r") as reader:
            wrong += [] if warned else [f"a reader: {each}" for each in wrong_with(reader)]
    except SpectorError:
        pass  # refused, be it by the opening or by the walk
    try:
        memory = open_tiny(str(path))
    except SpectorError:
        return "refused", False, wrong
    with memory:
        if not memory.check().ok:
            return "found_by_check", True, wrong
        try:
            return "sound", True, wrong + wrong_with(memory)
        except SpectorError as error:
            return "sound", True, [*wrong, f"{error!r}, and check finds nothing"]


def _lies(path: Path, history: History) -> list[str]:
    """Of a copy that opens, whatever ``check`` says: what never was remembered under its id."""
    ever: dict[int, set[str]] = {}
    for line in history.lines:
        for record_id, text in line.get("put", ()):
            ever.setdefault(record_id, set()).add(text)
    lies = []
    with open_tiny(str(path), mode="r") as memory:
        for record_id in ever:
            try:
                text = memory.get(record_id).text
            except SpectorError:
                continue
            if text not in ever[record_id]:
                lies.append(f"get({record_id}) shows {text!r}")
    return lies


class _Tally:
    def __init__(self) -> None:
        self.outcomes: Counter[str] = Counter()
        self.wrong: dict[str, list[str]] = {}

    def take(
        self, target: Path, history: History, first: int, name: str, *, one_moment: bool
    ) -> None:
        """Of one moment it must be sound; of several, what it shows must be one between them."""

        def wrong_with(memory: spector.Memory) -> list[str]:
            seen = texts_of(memory)
            return history.explain(seen, first, history.length()) + wrong_in(memory, sample=3)

        outcome, opened, wrong = _look(target, wrong_with)
        if opened:
            try:
                wrong += _lies(target, history)
            except SpectorError:
                outcome = "refused"  # of readers
        if one_moment and outcome != "sound":
            wrong.append(f"a whole copy of one moment is {outcome}")
        self.outcomes[outcome] += 1
        if wrong:
            self.wrong[name] = wrong

    def told(self) -> dict[str, Any]:
        return {"outcomes": dict(self.outcomes), "wrong": self.wrong}


def in_use(seed: int, copies: int) -> dict[str, Any]:
    """Copies of a store that is written to, some right after a checkpoint."""
    warm_up()
    rng = np.random.default_rng(seed)
    tally, history = _Tally(), History()
    with scratch() as root, open_tiny(os.path.join(root, "mind")) as memory:
        mind, target = Path(root, "mind"), Path(root, "copy")
        worker = Worker(memory, {}, seed, history.tell)
        for _ in range(60):
            worker.step()
        for n in range(copies):
            if rng.random() < 0.5:
                memory.checkpoint()
            first = history.length()
            written = _copy_in_use(worker, _names(mind, rng), mind, target, rng)
            tally.take(target, history, first, f"seed {seed}, copy {n}", one_moment=not written)
            shutil.rmtree(target)
    return tally.told()


def killed(seed: int, copies: int) -> dict[str, Any]:
    """Copies of which the writer is killed before the first, or any later, file is copied."""
    warm_up()
    tally, logs = _Tally(), 0
    for n in range(copies):
        rng = np.random.default_rng([seed, n])
        whole = rng.random() < 0.25
        with scratch() as root:
            mind, target, rest = Path(root, "mind"), Path(root, "copy"), Path(root, "rest")

            def work(
                mind: Path = mind,
                target: Path = target,
                rest: Path = rest,
                n: int = n,
                rng: np.random.Generator = rng,
                whole: bool = whole,
            ) -> None:
                memory = open_tiny(str(mind))
                fd = os.open(mind.parent / "lines", os.O_CREAT | os.O_APPEND | os.O_WRONLY)
                worker = Worker(memory, {}, seed * 1000 + n, tell_pipe(fd))
                for _ in range(int(rng.integers(10, 50))):
                    worker.step()
                if not whole:
                    names = _names(mind, rng)
                    done = int(rng.integers(1, len(names)))
                    first = (mind.parent / "lines").read_text().count("\n")
                    rest.write_text(json.dumps([first, *names[done:]]))
                    _copy_in_use(worker, names[:done], mind, target, rng)
                    for _ in range(int(rng.integers(3))):
                        worker.step()
                die()

            assert in_fork(work) < 0
            logs += (mind / "catalog.db-wal").stat().st_size > 0
            history = History()
            for line in (mind.parent / "lines").read_text().splitlines():
                history.tell(json.loads(line))
            first, names = history.length(), _names(mind, rng)
            if not whole:
                first, *names = json.loads(rest.read_text())
            _copy(names, mind, target)
            tally.take(target, history, first, f"seed {seed}, copy {n}", one_moment=whole)
    return tally.told() | {"logs": logs}


def over_killed(first: int, count: int) -> dict[str, Any]:
    """``cp -r backup/. mind/`` where a killed writer has left its log, for some seeds."""
    warm_up()
    outcomes: Counter[str] = Counter()
    opened: dict[str, list[int]] = {}
    wrong: dict[str, list[str]] = {}
    logs = 0
    for seed in range(first, first + count):
        with scratch() as root:
            mind, saved = Path(root, "mind"), Path(root, "saved")
            assert in_fork(lambda m=mind, s=saved, n=seed: _back_up_and_die(m, s, n)) < 0
            logs += (mind / "catalog.db-wal").stat().st_size > 0
            states = []
            for path in (saved, mind):
                shutil.copytree(path, f"{path}-alone")
                with open_tiny(f"{path}-alone") as memory:
                    states.append(_everything(memory))
            shutil.copytree(saved, mind, dirs_exist_ok=True)

            def neither(memory: spector.Memory, states: list[Any] = states) -> list[str]:
                seen = _everything(memory)
                found = wrong_in(memory, sample=3)
                return found if seen in states else [*found, _mixture(seen, *states)]

            outcome, writable, silent = _look(mind, neither)
            outcomes[outcome] += 1
            if writable:
                opened.setdefault(outcome, []).append(seed)
            if silent:
                wrong[str(seed)] = silent
    return {"outcomes": dict(outcomes), "wrong": wrong, "opened": opened, "logs": logs}


def _back_up_and_die(mind: Path, saved: Path, seed: int) -> None:
    rng = np.random.default_rng(seed)
    memory = open_tiny(str(mind))
    worker = Worker(memory, {}, seed, lambda line: None)

    def work(least: int) -> None:
        for _ in range(int(rng.integers(least, 60))):
            worker.step()

    work(20)
    memory.backup(str(saved))
    work(1)
    if rng.random() < 0.5:
        memory.checkpoint()
        work(1)
    die()


def _everything(memory: spector.Memory) -> dict[int, dict[str, Any]]:
    return {record.id: record.to_dict() for record in memory}


def _mixture(seen: Any, backup: Any, dead: Any) -> str:
    def told(other: Any) -> str:
        both = seen.keys() & other.keys()
        return (
            f"lacks {sorted(other.keys() - seen.keys())}, has {sorted(seen.keys() - other.keys())}"
            f" more, differs in {[each for each in sorted(both) if seen[each] != other[each]]}"
        )

    return f"a mixture: beside the backup it {told(backup)}; beside the dead store it {told(dead)}"
