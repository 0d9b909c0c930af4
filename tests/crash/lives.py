"""What a process may be doing when it is killed: one short workload for every verb of a store.

A ``Life`` has a store made for it once (``prepare``); each case gets a copy. ``run`` then lives it
in a child that is about to be killed, or whose disk is about to fail: it opens the store, calls
``scene.begin()``, from where on calls are counted, and ``scene.did()`` after each thing that was
acknowledged. Add a verb by adding a life to ``LIVES``.
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, Protocol

import spector
from spector.clock import ManualClock
from spector.store import transaction
from tests.crash.harness import die, in_fork
from tests.crash.workload import DIM, START, TINY, open_tiny, vector_of
from tests.fakes import FakeEmbedder

__all__ = ["LIVES", "NOW", "Life", "Scene", "opened", "store_in"]

#: when the lives are lived: the partitions of the prepared stores are of days that are over
NOW = START + timedelta(days=3)


class Scene(Protocol):
    """Where a life takes place, and whom it tells."""

    folder: str
    durability: str

    def begin(self) -> None:
        """From here on every file call may be the last."""

    def did(self, what: str) -> None:
        """The last thing was acknowledged, and everybody must see it from now on."""

    def between(self, *_: Any) -> None:
        """A part of what is being done has been committed on its own."""


@dataclass(frozen=True)
class Life:
    """One workload. ``check`` looks at more than memories, given what was acknowledged."""

    run: Callable[[Scene], None]
    prepare: Callable[[str], None] = lambda folder: None
    check: Callable[[str, list[str]], list[str]] = lambda folder, done: []
    #: of the store's vectors; None where they change
    dim: int | None = DIM
    #: the vector that a text has in this life's store
    vector: Callable[[str, int], Any] = lambda text, dim: vector_of(text)


def store_in(folder: str) -> str:
    return os.path.join(folder, "mind")


#: the stores that this process has opened, which ends without closing them
opened: list[spector.Memory] = []


def _open(scene: Scene) -> spector.Memory:
    memory = open_tiny(store_in(scene.folder), durability=scene.durability, at=NOW)
    opened.append(memory)
    return memory


def _living(scene: Scene) -> spector.Memory:
    memory = _open(scene)
    scene.begin()
    return memory


def _item(text: str, **more: Any) -> dict[str, Any]:
    return {"text": text, "vector": vector_of(text), **more}


def _remember(memory: spector.Memory, text: str, **more: Any) -> int:
    return memory.remember(text, vector=vector_of(text), **more).id


def _ids(memory: spector.Memory) -> dict[str, int]:
    return {record.text.split()[0]: record.id for record in memory}


def _prepared(folder: str) -> None:
    """Thirteen memories in seven partitions, some of them moved, some forgotten."""
    with open_tiny(store_in(folder)) as memory:
        memory.remember_many([
            *(_item(f"old{n} version 0", event_time=START, tags=["a"]) for n in range(5)),
            *(_item(f"new{n} version 0", event_time=START + timedelta(days=1), user_id="u")
              for n in range(3)),
            *(_item(f"fact{n} version 0", tier="semantic", unresolved=n == 1) for n in range(5)),
            *(_item(f"way{n} version 0", tier="procedural") for n in range(2)),
        ])
        ids = _ids(memory)
        memory.forget([ids["old1"], ids["fact0"]])
        memory.update(ids["old2"], text="old2 version 1", vector=vector_of("old2 version 1"))


def _dirty(folder: str) -> None:
    """A store whose writer was killed with a full journal."""
    _prepared(folder)

    def killed() -> None:
        memory = open_tiny(store_in(folder), at=START + timedelta(days=2))
        memory._config = replace(memory._config, checkpoint_bytes=1 << 20)
        for store in memory._router.stores():
            store.config = memory._config
        ids = _ids(memory)
        memory.remember_many([_item(f"late{n} version 0") for n in range(3)])
        memory.update(ids["new0"], text="new0 version 1", vector=vector_of("new0 version 1"))
        memory.forget([ids["old3"], ids["way0"]])
        memory.pin(ids["fact2"])
        die()

    in_fork(killed)


# -- the lives ------------------------------------------------------------------------------------


def _create(scene: Scene) -> None:
    scene.begin()
    _open(scene)
    scene.did("open")


def _reopen(scene: Scene) -> None:
    """Open, and let go without closing: recovery, when the last writer was killed."""
    scene.begin()
    _open(scene)
    scene.did("open")


def _append(scene: Scene) -> None:
    memory = _living(scene)
    for n, tier in enumerate(("episodic", "semantic", "episodic")):
        _remember(memory, f"more{n} version 0", tier=tier, tags=[f"t{n}"], metadata={"n": n})
        scene.did("remember")


def _batch(scene: Scene) -> None:
    memory = _living(scene)
    items = [_item(f"many{n} version 0", event_time=START + timedelta(days=n // 3))
             for n in range(7)]
    memory.remember_many(items, progress=scene.between)
    scene.did("remember_many")


def _bulk(scene: Scene) -> None:
    """Batches that are written and synced in their partition before the commit."""
    transaction.WRITE_AHEAD_RECORDS = 2
    _batch(scene)


def _update(scene: Scene) -> None:
    memory = _living(scene)
    ids = _ids(memory)
    for word in ("old0", "old2", "fact2"):
        text = f"{word} version 9"
        memory.update(ids[word], text=text, vector=vector_of(text))
        scene.did("update")
    memory.update(ids["new0"], tags=["z"], metadata={"k": 1})
    scene.did("update")


def _forget(scene: Scene) -> None:
    memory = _living(scene)
    ids = _ids(memory)
    memory.forget(ids["old0"])
    scene.did("forget")
    memory.forget([ids["way0"], ids["way1"], ids["new1"]])
    scene.did("forget")
    memory.forget(tags=["a"])
    scene.did("forget")


def _strength(scene: Scene) -> None:
    memory = _living(scene)
    ids = _ids(memory)
    memory.reinforce(ids["old0"])
    scene.did("reinforce")
    memory.reinforce(ids["fact3"], False)
    scene.did("reinforce")
    memory.pin(ids["fact2"])
    scene.did("pin")
    memory.unpin(ids["fact2"])
    scene.did("unpin")
    memory.resolve(ids["fact1"])
    scene.did("resolve")
    memory.recall(vector=vector_of("old4 version 0"), k=2, lexical=False, learn=True)
    scene.did("recall")


def _reflect(scene: Scene) -> None:
    memory = _living(scene)
    memory.reflect()
    scene.did("reflect")


def _ordered(folder: str) -> None:
    """Two sealed partitions that a cycle puts in order, one of them with a hole."""
    with open_tiny(store_in(folder)) as memory:
        for n in range(3):
            for tier in ("procedural", "semantic"):
                _remember(memory, f"{tier}{n} version 0", tier=tier)
        memory.update(next(iter(memory)).id, tags=["moved"])


def _half_ordered(folder: str, done: list[str]) -> list[str]:
    with open_tiny(store_in(folder), mode="r") as reader:
        found = [p.headers()["centroid"].tolist()
                 for p in reader._router["semantic"].store.view().partitions if p.state]
    return [f"half in order: {c}" for c in found if 0 in c and any(c)]


def _compact(scene: Scene) -> None:
    memory = _living(scene)
    memory.forget([_ids(memory)[word] for word in ("way0", "way1", "new2")])
    scene.did("forget")
    memory.compact()
    scene.did("compact")


def _erased(folder: str, done: list[str]) -> list[str]:
    """Once compact has been acknowledged, no file has the words of what was forgotten."""
    if "compact" not in done:
        return []
    wrong = []
    for directory, _, names in os.walk(folder):
        for name in names:
            with open(os.path.join(directory, name), "rb") as file:
                data = file.read()
            wrong += [f"{name} has {word!r}" for word in (b"way0", b"old1", b"new2")
                      if word in data]
    return wrong


def _checkpoint(scene: Scene) -> None:
    memory = _living(scene)
    _remember(memory, "extra version 0")
    scene.did("remember")
    text = "old0 version 2"
    memory.update(_ids(memory)["old0"], text=text, vector=vector_of(text))
    scene.did("update")
    memory.checkpoint()
    scene.did("checkpoint")
    _remember(memory, "after version 0")
    scene.did("remember")


def _close(scene: Scene) -> None:
    memory = _open(scene)
    _remember(memory, "extra version 0")
    memory.forget(_ids(memory)["old0"])
    memory.recall("version", vector=vector_of("extra version 0"))
    scene.begin()
    memory.close()
    scene.did("close")


def _export(scene: Scene) -> None:
    memory = _living(scene)
    for _ in range(2):  # to a new name, then over an old file
        memory.export(os.path.join(scene.folder, "out.jsonl"))
        scene.did("export")


def _exported(folder: str, done: list[str]) -> list[str]:
    path = os.path.join(folder, "out.jsonl")
    if not os.path.exists(path):
        return ["the export is gone"] if done else []
    with open(path, encoding="utf-8") as file:
        lines = [json.loads(line) for line in file]
    return [] if len(lines) == 13 else [f"the export has {len(lines)} lines"]


def _exported_before(folder: str) -> None:
    elsewhere = os.path.join(folder, "elsewhere")
    _prepared(elsewhere)
    with open_tiny(store_in(elsewhere), mode="r") as memory:
        memory.export(os.path.join(folder, "in.jsonl"))
    shutil.rmtree(elsewhere)
    with open_tiny(store_in(folder)) as memory:
        _remember(memory, "own version 0")


def _import(scene: Scene) -> None:
    memory = _living(scene)
    store = memory._opened[0].store
    publish = store.publish

    def publishing(*args: Any) -> None:  # an import is as many commits as it has batches
        publish(*args)
        scene.between()

    store.publish = publishing  # type: ignore[method-assign]
    memory.import_(os.path.join(scene.folder, "in.jsonl"))
    scene.did("import")


_LEGACY = "semantic/semantic.mem"


def _legacy(folder: str) -> None:
    """A store from before the semantic tier was partitioned: eleven memories in one file."""
    path = store_in(folder)
    with spector.open(
        path, embedder=None, dim=DIM, config=replace(TINY, semantic_capacity=40),
        clock=ManualClock(START),
    ) as memory:
        for n in range(12):
            _remember(memory, f"fact{n} version 0", tier="semantic", tags=[f"t{n % 3}"])
        memory.forget(next(iter(memory)).id)
    os.rename(os.path.join(path, "semantic/semantic-000.mem"), os.path.join(path, _LEGACY))
    db = sqlite3.connect(os.path.join(path, "catalog.db"))
    with db:
        db.execute("UPDATE segment SET path = ? WHERE tier = 2", (_LEGACY,))
    db.close()


def _migrated(folder: str, done: list[str]) -> list[str]:
    names = os.listdir(os.path.join(store_in(folder), "semantic"))
    files = sorted(name for name in names if name.endswith(".mem"))
    return [] if len(files) == 4 and "semantic.mem" not in files else [f"files: {files}"]


_BEFORE, _AFTER = FakeEmbedder(8), FakeEmbedder(80, seed=1)


def _embedded(folder: str) -> None:
    with spector.open(
        store_in(folder), embedder=_BEFORE, clock=ManualClock(START), config=TINY
    ) as memory:
        memory.remember_many([f"thing{n} of one kind" for n in range(5)], tier="semantic")
        memory.remember_many([f"matter{n} of another" for n in range(5)])
        memory.forget(next(iter(memory)).id)


def _reembed(scene: Scene) -> None:
    scene.begin()
    spector.reembed(store_in(scene.folder), _AFTER)
    scene.did("reembed")


def _embedding(text: str, dim: int) -> Any:
    return (_BEFORE if dim == _BEFORE.dim else _AFTER).embed([text])[0]


def _everything(scene: Scene) -> None:
    """Create, fill, change, forget, reflect, compact, close, one after the other."""
    scene.begin()
    memory = _open(scene)
    scene.did("open")
    memory.remember_many(
        [_item(f"{word} version 0", event_time=NOW - timedelta(days=n % 2))
         for n, word in enumerate(("alpha", "beta", "gamma", "delta"))], progress=scene.between)
    scene.did("remember_many")
    ids = _ids(memory)
    memory.update(ids["alpha"], text="alpha version 1", vector=vector_of("alpha version 1"))
    scene.did("update")
    memory.reinforce(ids["beta"])
    scene.did("reinforce")
    memory.forget(ids["gamma"])
    scene.did("forget")
    memory.checkpoint()
    scene.did("checkpoint")
    memory._clock.advance(days=3)  # type: ignore[attr-defined]
    memory.reflect()
    scene.did("reflect")
    _remember(memory, "omega version 0")
    scene.did("remember")
    memory.compact()
    scene.did("compact")
    memory.close()
    scene.did("close")


LIVES: dict[str, Life] = {
    "create": Life(_create),
    "open": Life(_reopen, _prepared),
    "recover": Life(_reopen, _dirty),
    "append": Life(_append, _prepared),
    "batch": Life(_batch, _prepared),
    "bulk": Life(_bulk, _prepared),
    "update": Life(_update, _prepared),
    "forget": Life(_forget, _prepared),
    "strength": Life(_strength, _prepared),
    "reflect": Life(_reflect, _prepared),
    "cluster": Life(_reflect, _ordered, _half_ordered),
    "compact": Life(_compact, _prepared, _erased),
    "checkpoint": Life(_checkpoint, _prepared),
    "close": Life(_close, _prepared),
    "export": Life(_export, _prepared, _exported),
    "import": Life(_import, _exported_before),
    "migrate": Life(_reopen, _legacy, _migrated),
    "reembed": Life(_reembed, _embedded, dim=None, vector=_embedding),
    "everything": Life(_everything),
}
