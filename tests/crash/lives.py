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
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, Protocol

import spector
from spector.clock import ManualClock
from spector.store.backup import destination
from spector.store.core import transaction
from tests.api.helpers import files_with
from tests.crash.observing import KEEPING, MERGING, Alike, alike, endings, merges, observations
from tests.crash.prepared import (
    AFTER,
    BEFORE,
    backed_up,
    dirty,
    embedded,
    exported_before,
    ids_of,
    item,
    ordered,
    prepared,
    secrets_in,
    store_in,
    with_a_secret,
)
from tests.crash.workload import DIM, START, TINY, open_tiny, put, vector_of
from tests.knowing import Vectors, deeds

__all__ = ["HEAVY", "KNOWING", "LIVES", "NOW", "Life", "Scene", "opened"]

#: when the lives are lived: the partitions of the prepared stores are of days that are over
NOW = START + timedelta(days=3)


class Scene(Protocol):
    """The place of a run, and the receiver of its events."""

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


#: the stores that this process has opened, which ends without closing them
opened: list[spector.Memory] = []


def _open(scene: Scene) -> spector.Memory:
    memory = open_tiny(store_in(scene.folder), durability=scene.durability, at=NOW)
    opened.append(memory)
    return memory


class _Acknowledged:
    """A memory whose verbs are acknowledged to a scene once they return."""

    def __init__(self, memory: spector.Memory, scene: Scene) -> None:
        self._memory, self._scene = memory, scene

    def __iter__(self) -> Iterator[spector.MemoryRecord]:
        return iter(self._memory)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._memory, name)
        if name.startswith("_"):
            return found

        def verb(*args: Any, **given: Any) -> Any:
            made = found(*args, **given)
            self._scene.did(name)
            return made

        return verb


def _living(scene: Scene) -> Any:
    memory = _open(scene)
    scene.begin()
    return _Acknowledged(memory, scene)


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
        put(memory, f"more{n} version 0", tier=tier, tags=[f"t{n}"], metadata={"n": n})


def _batch(scene: Scene) -> None:
    memory = _living(scene)
    items = [
        item(f"many{n} version 0", event_time=START + timedelta(days=n // 3)) for n in range(7)
    ]
    memory.remember_many(items, progress=scene.between)


def _bulk(scene: Scene) -> None:
    """Batches that are written and synced in their partition before the commit."""
    transaction.WRITE_AHEAD_RECORDS = 2
    _batch(scene)


def _update(scene: Scene) -> None:
    memory = _living(scene)
    ids = ids_of(memory)
    for word in ("old0", "old2", "fact2"):
        text = f"{word} version 9"
        memory.update(ids[word], text=text, vector=vector_of(text))
    memory.update(ids["new0"], tags=["z"], metadata={"k": 1})


def _supersede(scene: Scene) -> None:
    """Memories of several partitions end with the commit of the one that takes their place."""
    memory = _living(scene)
    ids = ids_of(memory)
    first = put(memory, "moved0 version 0", supersedes=[ids["old2"], ids["fact3"]])
    put(memory, "moved1 version 0", supersedes=first, tier="semantic")
    new = put(memory, "moved2 version 0", supersedes=ids["new1"], user_id="u")
    memory.forget(new)
    memory.reinstate(ids["new1"])


def _forget(scene: Scene) -> None:
    memory = _living(scene)
    ids = ids_of(memory)
    memory.forget(ids["old0"])
    memory.forget([ids["way0"], ids["way1"], ids["new1"]])
    memory.forget(tags=["a"])


def _keys(scene: Scene) -> None:
    """Under a key there is one memory at any moment: what was, or what takes its place."""
    memory = _living(scene)
    put(memory, "key0 version 0", key="a", user_id="u", namespace=("x", "y"))
    put(memory, "key1 version 0", key="a", user_id="u", namespace=("x", "y"), tier="semantic")
    memory.remember_many(
        [
            item("key2 version 0", key="b"),
            item("key3 version 0", key="a"),
            item("key4 version 0", key="b"),
        ],
        progress=scene.between,
    )
    memory.remember_many(
        [
            item("key5 version 0", key="b"),
            item("key6 version 0", key="c"),
            item("key7 version 0", key="a", tier="semantic"),
        ],
        progress=scene.between,
    )
    text = "key8 version 0"
    memory.update(key="b", text=text, vector=vector_of(text))
    memory.forget(key="c")
    memory.forget(key="b", purge=True)
    put(memory, "key9 version 0", key="d", expires_in=60, refresh=True)
    memory.update(key="d", expires_in=None)


def _attachments(scene: Scene) -> None:
    """What is attached is there with its memory, or is not: never one of the two alone."""
    memory = _living(scene)
    put(memory, "att0 version 0", attachment=b"0" * 9000)
    memory.remember(attachment={"n": [1]}, key="a", user_id="u")
    memory.remember(attachment=b"2" * 5000, key="a", user_id="u")
    text = "att1 version 0"
    memory.update(key="a", user_id="u", text=text, vector=vector_of(text), attachment=[3])
    memory.update(key="a", user_id="u", attachment=None)
    memory.remember_many(
        [item(f"att{n} version 0", key=f"k{n}", attachment=bytes([n]) * 3000) for n in (2, 3)],
        progress=scene.between,
    )
    memory.forget(key="k2")
    memory.forget(key="k3", purge=True)


def _strength(scene: Scene) -> None:
    memory = _living(scene)
    ids = ids_of(memory)
    memory.reinforce(ids["old0"])
    memory.reinforce(ids["fact3"], False)
    memory.pin(ids["fact2"])
    memory.unpin(ids["fact2"])
    memory.resolve(ids["fact1"])
    memory.recall(vector=vector_of("old4 version 0"), k=2, lexical=False, learn=True)


def _reflect(scene: Scene) -> None:
    memory = _living(scene)
    memory.reflect("upkeep")


def _half_ordered(folder: str, done: list[str]) -> list[str]:
    with open_tiny(store_in(folder), mode="r") as reader:
        found = [
            p.headers()["centroid"].tolist()
            for p in reader._parts.router["semantic"].store.view().partitions
            if p.state
        ]
    return [f"half in order: {c}" for c in found if 0 in c and any(c)]


def _compact(scene: Scene) -> None:
    memory = _living(scene)
    memory.forget([ids_of(memory)[word] for word in ("way0", "way1", "new2")])
    memory.compact()


def _erased(folder: str, done: list[str]) -> list[str]:
    """Once compact has been acknowledged, no file has the words of what was forgotten."""
    return _left(folder, b"way0", b"old1", b"new2") if "compact" in done else []


def _left(folder: str, *needles: bytes) -> list[str]:
    path = Path(store_in(folder))
    return [f"{name} has {each!r}" for each in needles for name in files_with(path, each)]


def _purge(scene: Scene) -> None:
    memory = _living(scene)
    memory.forget(ids_of(memory)["secret"], purge=True)


def _purged(folder: str, done: list[str]) -> list[str]:
    """What a killed process has begun to erase, the next sleep erases; or it is all there."""
    with open_tiny(store_in(folder), at=NOW) as memory:
        present = "secret" in ids_of(memory)
        receipt = memory.reflect().compaction.receipt
        pending = memory.stats()["erasure"]["pending"]
        wrong = [f"check: {p}" for p in memory.check().problems]
    if receipt is not None and not receipt.complete:
        wrong.append(f"receipt {receipt}")
    if present:
        return wrong + ["it is not forgotten"] * bool(done)
    return wrong + [f"{pending} are still due"] * bool(pending) + _left(folder, *secrets_in(folder))


def _checkpoint(scene: Scene) -> None:
    memory = _living(scene)
    put(memory, "extra version 0")
    text = "old0 version 2"
    memory.update(ids_of(memory)["old0"], text=text, vector=vector_of(text))
    memory.checkpoint()
    put(memory, "after version 0")


def _close(scene: Scene) -> None:
    memory = _open(scene)
    put(memory, "extra version 0")
    memory.forget(ids_of(memory)["old0"])
    memory.recall("version", vector=vector_of("extra version 0"))
    scene.begin()
    memory.close()
    scene.did("close")


def _export(scene: Scene) -> None:
    memory = _living(scene)
    for _ in range(2):  # to a new name, then over an old file
        memory.export(os.path.join(scene.folder, "out.jsonl"), overwrite=True)


def _exported(folder: str, done: list[str]) -> list[str]:
    path = os.path.join(folder, "out.jsonl")
    if not os.path.exists(path):
        return ["the export is gone"] if done else []
    with open(path, encoding="utf-8") as file:
        lines = [json.loads(line) for line in file]
    return [] if len(lines) == 13 else [f"the export has {len(lines)} lines"]


def _import(scene: Scene) -> None:
    """As many commits as batches, strength and flags in each: a parent ends the first batch."""
    memory = _living(scene)
    memory.import_(os.path.join(scene.folder, "in.jsonl"), progress=scene.between)


def _copy_in(folder: str) -> str:
    return os.path.join(folder, "copy")


def _backup(scene: Scene) -> None:
    """To a new place, then over the older one, which is another as the store has changed."""
    memory = _living(scene)
    memory.backup(_copy_in(scene.folder))
    put(memory, "later version 0")
    memory.backup(_copy_in(scene.folder))


def _backup_in_two_steps(scene: Scene) -> None:
    """Where two names cannot be exchanged, the older copy has another name for a moment."""
    destination._exchange = lambda *names: False  # type: ignore[assignment]
    _backup(scene)


def _backed_up(folder: str, done: list[str]) -> list[str]:
    """A copy is whole wherever it is, and the next one leaves nothing else behind."""
    path = _copy_in(folder)
    older = destination.Destination.at(path).aside
    counts = (14,) if done.count("backup") == 2 else (13, 14)
    wrong = _copied(path if os.path.exists(path) else older, done, *counts)
    with open_tiny(store_in(folder), at=NOW) as memory:
        memory.backup(path)
        wrong += _copied(path, ["backup"], len(memory))
    return wrong + _beside(folder)


def _copied(path: str, done: list[str], *counts: int) -> list[str]:
    if not os.path.exists(path):
        return ["the copy is gone"] if done else []
    with open_tiny(path, mode="r") as memory:
        wrong = [f"copy: {p}" for p in memory.check().problems]
        return wrong + [f"the copy has {len(memory)}"] * (len(memory) not in counts)


def _beside(folder: str) -> list[str]:
    left = set(os.listdir(folder)) - {"mind", "copy"}
    return [f"left behind: {left}"] if left else []


def _repair(scene: Scene) -> None:
    scene.begin()
    report = spector.repair(store_in(scene.folder), _copy_in(scene.folder))
    scene.did("repair" if report.complete else "salvage")


def _repaired(folder: str, done: list[str]) -> list[str]:
    if "salvage" in done:  # not all of it could be read
        return []
    path = _copy_in(folder)
    if os.path.exists(path):
        return _copied(path, done, 13)
    spector.repair(store_in(folder), path)
    with open_tiny(store_in(folder), mode="r") as memory:
        wrong = ["the copy is gone"] * bool(done) + _copied(path, ["repair"], len(memory))
    return wrong + _beside(folder)


def _restore(scene: Scene) -> None:
    scene.begin()
    spector.restore(_copy_in(scene.folder), store_in(scene.folder))
    scene.did("restore")


def _restored(folder: str, done: list[str]) -> list[str]:
    """Whatever a killed one has left, the next one is complete."""
    shutil.rmtree(store_in(folder))
    spector.restore(_copy_in(folder), store_in(folder))
    return _copied(store_in(folder), ["restore"], 13) + _beside(folder)


def _reembed(scene: Scene) -> None:
    scene.begin()
    spector.reembed(store_in(scene.folder), AFTER)
    scene.did("reembed")


def _embedding(text: str, dim: int) -> Any:
    return (BEFORE if dim == BEFORE.dim else AFTER).embed([text])[0]


def _opened_to_know(
    folder: str, durability: str = "strict", embedder: Any = None, config: Any = TINY
) -> spector.Memory:
    memory = spector.open(
        store_in(folder),
        embedder=embedder or Vectors(),
        config=config,
        clock=ManualClock(NOW),
        durability=durability,
    )
    opened.append(memory)
    return memory


def _told(events: Callable[[Any], Any], vector: Any = None, **how: Any) -> Life:
    """Events one after the other, in a store with a model and without any memory.

    ``how``: embedder and configuration.
    """

    def run(scene: Scene) -> None:
        memory = _opened_to_know(scene.folder, scene.durability, **how)
        scene.begin()
        for name, do in events(memory):
            do()
            scene.did(name.replace(" ", "-"))

    more = {} if vector is None else {"vector": vector}
    return Life(run, lambda folder: _opened_to_know(folder, **how).close(), **more)


def _everything(scene: Scene) -> None:
    """Create, fill, change, forget, reflect, compact, close, one after the other."""
    scene.begin()
    memory: Any = _Acknowledged(_open(scene), scene)
    scene.did("open")
    memory.remember_many(
        [
            item(f"{word} version 0", event_time=NOW - timedelta(days=n % 2))
            for n, word in enumerate(("alpha", "beta", "gamma", "delta"))
        ],
        progress=scene.between,
    )
    ids = ids_of(memory)
    memory.update(ids["alpha"], text="alpha version 1", vector=vector_of("alpha version 1"))
    memory.reinforce(ids["beta"])
    memory.forget(ids["gamma"])
    memory.checkpoint()
    memory._parts.clock.advance(days=3)
    memory.reflect("upkeep")
    put(memory, "omega version 0")
    memory.compact()
    memory.close()


def _large(scene: Scene) -> None:
    """Texts that need room, on the disk and in memory."""
    memory = _living(scene)
    texts = [f"large{n} version 0 " + f"{n} padding " * 20_000 for n in range(6)]
    memory.remember_many([item(text) for text in texts], progress=scene.between)
    memory.forget(ids_of(memory)["large1"])
    memory.recall("padding", vector=vector_of(texts[0]))
    memory.compact()


#: too long to be killed at each call
HEAVY: dict[str, Life] = {"large": Life(_large, prepared)}
#: what changes knowledge, killed by tests of its own: it takes much longer than each of the others
KNOWING: dict[str, Life] = {
    # facts, edges, concepts, procedures and learnings: made, changed, forgotten, moved
    "know": _told(deeds),
    # messages that create, supersede, contradict, strengthen, elaborate and capture
    "observe": _told(observations),
    # messages that give memories more words: words and rows change together, or not at all
    "merge": _told(merges, alike, embedder=Alike(), config=MERGING),
    # flashbulbs, plans, quarantine, and what is retired, moved, reinstated, promoted, erased
    "end": _told(endings, config=KEEPING),
}
LIVES: dict[str, Life] = {
    "create": Life(_create),
    "open": Life(_reopen, prepared),
    "recover": Life(_reopen, dirty),
    "append": Life(_append, prepared),
    "batch": Life(_batch, prepared),
    "bulk": Life(_bulk, prepared),
    "update": Life(_update, prepared),
    "forget": Life(_forget, prepared),
    "supersede": Life(_supersede, prepared),
    "keys": Life(_keys, prepared),
    "attachments": Life(_attachments, prepared),
    "strength": Life(_strength, prepared),
    "reflect": Life(_reflect, prepared),
    "cluster": Life(_reflect, ordered, _half_ordered),
    "compact": Life(_compact, prepared, _erased),
    "checkpoint": Life(_checkpoint, prepared),
    "close": Life(_close, prepared),
    "export": Life(_export, prepared, _exported),
    "import": Life(_import, exported_before),
    "purge": Life(_purge, with_a_secret, _purged),
    "backup": Life(_backup, prepared, _backed_up),
    "backup in two steps": Life(_backup_in_two_steps, prepared, _backed_up),
    "restore": Life(_restore, backed_up, _restored),
    "repair": Life(_repair, prepared, _repaired),
    "reembed": Life(_reembed, embedded, dim=None, vector=_embedding),
    "everything": Life(_everything),
}
