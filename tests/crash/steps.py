"""Kill one upkeep operation at each of its steps: migration, change of model, reordering."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Callable
from typing import Any

import spector
from tests.crash import faults
from tests.crash.harness import in_fork, scratch
from tests.crash.workload import Model, open_tiny, texts_of, vector_of, warm_up, wrong_in
from tests.fakes import FakeEmbedder

_LEGACY = "semantic/semantic.mem"


def legacy_store(path: str) -> dict[int, str]:
    """A store from before the semantic tier was partitioned: eleven memories in one file."""
    from dataclasses import replace

    from spector.clock import ManualClock
    from tests.crash.workload import DIM, START, TINY

    with spector.open(
        path, embedder=None, dim=DIM, config=replace(TINY, semantic_capacity=40),
        clock=ManualClock(START),
    ) as memory:
        for n in range(12):
            text = f"fact{n} version 0"
            memory.remember(text, vector=vector_of(text), tier="semantic", tags=[f"t{n % 3}"])
        memory.forget(next(iter(memory)).id)
        texts = texts_of(memory)
    os.rename(os.path.join(path, "semantic/semantic-000.mem"), os.path.join(path, _LEGACY))
    db = sqlite3.connect(os.path.join(path, "catalog.db"))
    with db:
        db.execute("UPDATE segment SET path = ? WHERE tier = 2", (_LEGACY,))
    db.close()
    return texts


def migration() -> dict[str, Any]:
    """Kill the first opening of an old store at each step; the next one completes it."""
    def finished(path: str, texts: dict[int, str]) -> list[str]:
        with open_tiny(path) as memory:
            wrong = wrong_in(memory, Model(), sample=12)
            if texts_of(memory) != texts:
                wrong.append(f"found {texts_of(memory)}")
        if os.path.exists(os.path.join(path, _LEGACY)):
            wrong.append("the old file is still there")
        files = os.listdir(os.path.join(path, "semantic"))
        if sum(name.endswith(".mem") for name in files) != 4:
            wrong.append(f"files: {files}")
        return wrong

    return _each_step(legacy_store, lambda path: open_tiny(path), finished)


def change_of_model() -> dict[str, Any]:
    """Kill ``reembed`` to another dimension at each step: as before, or converted."""
    before, after = FakeEmbedder(8), FakeEmbedder(80, seed=1)

    def prepare(path: str) -> dict[int, str]:
        with spector.open(path, embedder=before) as memory:
            records = [
                *memory.remember_many([f"one thing {n}" for n in range(5)], tier="semantic"),
                *memory.remember_many([f"another thing {n}" for n in range(5)]),
            ]
            memory.forget(records[2].id)
            return texts_of(memory)

    def finished(path: str, texts: dict[int, str]) -> list[str]:
        wrong = [f"check: {p}" for p in spector.check(path).problems if p.code != "I14"]
        try:
            memory = spector.open(path, embedder=before)
        except spector.ModelMismatchError:
            memory = spector.open(path, embedder=after)
        with memory:
            wrong += [f"check: {p}" for p in memory.check().problems]
            if texts_of(memory) != texts:
                wrong.append(f"found {texts_of(memory)}")
            if [h.text for h in memory.recall("one thing 3", k=1)] != ["one thing 3"]:
                wrong.append("recall fails")
            memory.forget(next(iter(memory)).id)
            memory.compact()  # takes the names that leftovers could occupy
        if spector.reembed(path, after) != len(texts) - 1:
            wrong.append("running it again did not convert all")
        with spector.open(path, embedder=after) as memory:
            wrong += [f"check after running it again: {p}" for p in memory.check().problems]
        return wrong

    return _each_step(prepare, lambda path: spector.reembed(path, after), finished)


def reordering() -> dict[str, Any]:
    """Kill the cycle that puts sealed partitions in order at each step: old or new, then done."""
    def prepare(path: str) -> dict[int, str]:
        with open_tiny(path) as memory:
            for n in range(3):  # two full partitions
                for tier in ("procedural", "semantic"):
                    text = f"{tier}{n} version 0"
                    memory.remember(text, vector=vector_of(text), tier=tier)
            memory.update(next(iter(memory)).id, tags=["moved"])  # one has to be compacted, too
            return texts_of(memory)

    def finished(path: str, texts: dict[int, str]) -> list[str]:
        with open_tiny(path, mode="r") as reader:
            wrong = [] if texts_of(reader) == texts else [f"a reader found {texts_of(reader)}"]
        with open_tiny(path) as memory:
            wrong += wrong_in(memory, Model(), sample=6)
            if texts_of(memory) != texts:
                wrong.append(f"found {texts_of(memory)}")
            wrong += [f"half in order: {c}" for c in clusters(memory) if 0 in c and any(c)]
            memory.reflect()
            if memory.reflect().clustered or not all(map(all, clusters(memory))):
                wrong.append(f"not in order: {clusters(memory)}")
            if texts_of(memory) != texts:
                wrong.append(f"found {texts_of(memory)} in the end")
            wrong += [f"check in the end: {p}" for p in memory.check().problems]
        return wrong

    def clusters(memory: spector.Memory) -> list[list[int]]:
        partitions = memory._router["semantic"].store.view().partitions
        return [p.headers()["centroid"].tolist() for p in partitions if p.state and p.live > 1]

    return _each_step(prepare, _reflect, finished)


def new_format(start: int = 1, step: int = 1) -> dict[str, Any]:
    """Kill the first opening of a store of format 1, whose writer was killed, at its steps."""
    import json
    import tarfile

    from tests.fixtures import make

    wanted = json.loads((make.HERE / "format-1" / "expected.json").read_text(encoding="utf-8"))

    def prepare(path: str) -> dict[int, str]:
        with tarfile.open(make.HERE / "format-1" / "killed.tar.xz") as archive:
            archive.extractall(os.path.dirname(path), filter="data")
        os.rename(os.path.join(os.path.dirname(path), "mind"), path)
        return {record["id"]: record["text"] for record in wanted["records"]}

    def ids_by(memory: spector.Memory) -> list[list[int]]:
        return [
            sorted(hit.id for hit in memory.recall(k=50, exact=True, **given))
            for given in ({"tags": ["t1"]}, {"user_id": "ada"}, {"session_id": "s2"})
        ]

    def of_records(**wish: str) -> list[int]:
        return sorted(
            r["id"] for r in wanted["records"]
            if all(v in r["tags"] if k == "tags" else r[k] == v for k, v in wish.items())
        )

    found_by = [of_records(tags="t1"), of_records(user_id="ada"), of_records(session_id="s2")]

    def finished(path: str, texts: dict[int, str]) -> list[str]:
        wrong = []
        for mode in ("r", "rw"):  # a reader finds the old format or the new one
            with make.open_small(path, mode=mode) as memory:
                if texts_of(memory) != texts:
                    wrong.append(f"{mode} found {texts_of(memory)}")
                if ids_by(memory) != found_by:
                    wrong.append(f"{mode}: filters find {ids_by(memory)}")
                wrong += [f"{mode}: {p}" for p in memory.check().problems if p.code != "I14"]
        wrong += [f"check: {p}" for p in spector.check(path).problems]
        return wrong

    return _each_step(
        prepare, lambda path: make.open_small(path), finished, start=start, step=step
    )


def _reflect(path: str) -> None:
    with open_tiny(path) as memory:
        memory.reflect()


def _each_step(
    prepare: Callable[[str], dict[int, str]], action: Callable[[str], object],
    finished: Callable[[str, dict[int, str]], list[str]], *, start: int = 1, step: int = 1,
) -> dict[str, Any]:
    warm_up()
    wrong: dict[int, list[str]] = {}
    with scratch() as root:
        master, path = os.path.join(root, "master"), os.path.join(root, "mind")
        texts = prepare(master)
        n, tried, code = start - step, -1, -9
        while code:
            n, tried = n + step, tried + 1
            shutil.rmtree(path, ignore_errors=True)
            shutil.copytree(master, path)

            def work(at: int = n) -> None:
                faults.install(faults.Fault(at=at, kind="kill", sql=True))
                action(path)

            code = in_fork(work)
            if code not in (0, -9):
                raise AssertionError(f"step {n} failed by itself: {code}")
            found = finished(path, texts)
            if found:
                wrong[n] = found
    return {"steps": n - 1, "tried": tried, "wrong": wrong}
