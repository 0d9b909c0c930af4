"""Every verb that an interrupt may cut off, and what must hold of the store afterwards."""

from __future__ import annotations

import contextlib
import os
import shutil
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import spector
from spector import Config, StoreClosedError, StoreFailedError
from tests.fakes import FakeEmbedder

__all__ = ["ENTRIES", "READING", "WRITING", "Scene", "descriptors", "prepared"]

#: indexes of days with few memories, and partitions that fill
CONFIG = Config(index_min_rows=8, episodic_capacity=64, erase_after_s=0)


@dataclass(slots=True)
class Scene:
    """A store in a folder of its own, in which one verb is going to be cut off."""

    folder: Path
    #: what must be there whatever happens: id -> text
    kept: dict[int, str]
    #: what the verb is given
    pinned: int
    open_matter: int
    replaced: int
    newer: int
    doomed: list[int]
    memory: spector.Memory | None = None
    #: descriptors of the process before the store was opened
    before: Counter[str] = field(default_factory=Counter)
    made: list[spector.Memory] = field(default_factory=list)

    @property
    def root(self) -> Path:
        return self.folder / "mind"

    @property
    def m(self) -> spector.Memory:
        assert self.memory is not None
        return self.memory

    @property
    def one(self) -> int:
        return next(iter(self.kept))

    def note(self, *records: spector.MemoryRecord) -> None:
        """What was returned has been acknowledged."""
        self.kept.update((record.id, record.text) for record in records)

    def opened(self, **more: Any) -> spector.Memory:
        return spector.open(self.root, embedder=FakeEmbedder(), config=CONFIG, **more)


def descriptors() -> Counter[str]:
    """What the descriptors of this process are of, and how many."""
    out: Counter[str] = Counter()
    for each in os.listdir("/proc/self/fd"):
        with contextlib.suppress(FileNotFoundError):  # that of the list itself
            out[os.readlink(f"/proc/self/fd/{each}")] += 1
    return out


def prepared(folder: Path) -> Scene:
    """A store of two days with memories of all sorts; what is forgotten in it is not erased yet."""
    scene = Scene(folder, {}, 0, 0, 0, 0, [])
    with scene.opened() as memory:
        texts = [f"grey heron number {n} stands at pond {n % 7}" for n in range(48)]
        made = memory.remember_many(texts[:24], event_time="2026-03-02T08:00:00Z", tags=["bird"])
        made += memory.remember_many(texts[24:], event_time="2026-03-03T08:00:00Z", user_id="ada")
        scene.pinned = memory.remember("the pond is private", pinned=True).id
        scene.open_matter = memory.remember("is the pond deep?", unresolved=True).id
        scene.replaced = memory.remember("the boat is red").id
        scene.newer = memory.remember("the boat is blue", supersedes=scene.replaced).id
        memory.forget([made.pop(3).id, made.pop(30).id])
        memory.update(made[5].id, text="a night heron sleeps in the willow")
        scene.doomed = [memory.update(made.pop(n), metadata={"doomed": True}).id for n in (7, 8)]
        memory.remember("noa rows on the pond", user_id="noa", immutable=True)
        memory.remember("the boat lies at the pier", key="boat")
        scene.kept = {record.id: memory.get(record.id).text for record in made}
    return scene


def copied(model: Scene, folder: Path) -> Scene:
    """The same scene in another folder, in place of one that a failed test has left there."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(model.folder, folder)
    return Scene(
        folder,
        dict(model.kept),
        model.pinned,
        model.open_matter,
        model.replaced,
        model.newer,
        list(model.doomed),
        before=descriptors(),
    )


BIRD = "which heron stands at the pond?"
_REEDS = [f"reed warbler number {n}" for n in range(80)]
_OARS = [*({"text": f"oar {n}", "key": f"oar {n % 2}"} for n in range(3)), "an oar without a key"]
_TIERS = [{"text": f"note {tier}", "tier": tier} for tier in ("working", "semantic", "episodic")]


def _attach(scene: Scene) -> None:
    record = scene.m.remember(attachment={"heron": list(range(200))}, key="bare")
    scene.m.update(record, attachment=b"heron" * 500)
    scene.note(record)


def _backup_again(scene: Scene) -> None:
    place = scene.folder / "copy"
    scene.m.backup(place)
    scene.note(scene.m.remember("a teal"))
    scene.m.backup(place)


def _import(scene: Scene) -> None:
    lines = scene.folder / "lines.jsonl"
    lines.write_text("".join(f'{{"text": "imported {n}"}}\n' for n in range(5)), "utf-8")
    scene.note(*scene.m.import_(lines))


def _close(scene: Scene) -> None:
    scene.m.remember("in the working tier", tier="working")
    scene.m.recall("heron")
    scene.m.close()


def _with(scene: Scene) -> None:
    with scene.m as memory:
        scene.note(memory.remember("a grebe dives"))


def _undo(scene: Scene) -> None:
    """A night, and back: strengths and what it made."""
    report = scene.m.reflect()
    if report.cycle:
        scene.m.reflect_undo(report.cycle)


def _session(scene: Scene) -> None:
    with scene.m.session("s", user_id="ada") as session:
        session.buffer.add(None, "Ada moved to Kars", importance=0.7)
        assert scene.m.sessions()


WRITING: dict[str, Callable[[Scene], object]] = {
    "observe": lambda s: s.m.observe(
        "My name is Ada and I live in Kars.", user_id="ada", session_id="s"
    ),
    "observe_many": lambda s: s.m.observe_many(
        ["Ben works at Acme.", "Ben moved to Izmir."], user_id="ada"
    ),
    "retire": lambda s: s.m.retire(s.one),
    "reactivate": lambda s: (s.m.retire(s.one), s.m.reactivate(s.one)),
    "take a night back": _undo,
    "session": _session,
    "remember": lambda s: s.note(
        s.m.remember("a coot builds a nest", tags=["bird"], user_id="ada")
    ),
    "remember another day": lambda s: s.note(
        s.m.remember("a coot swims", event_time="2026-04-01T08:00:00Z")
    ),
    "remember_many": lambda s: s.note(
        *s.m.remember_many(_REEDS, event_time="2026-03-03T09:00:00Z")
    ),
    "remember everywhere": lambda s: s.note(*s.m.remember_many(_TIERS)[1:]),
    "supersede": lambda s: s.note(s.m.remember("the boat is green", supersedes=s.newer)),
    "update": lambda s: s.m.update(s.doomed[0], text="a bittern booms in the reeds", tags=["loud"]),
    "update in place": lambda s: s.m.update(s.one, importance=0.9),
    "move": lambda s: s.m.update(s.one, move_to={"user_id": "noa", "session_id": "s"}),
    "reinforce": lambda s: s.m.reinforce(s.one),
    "pin": lambda s: s.m.pin(s.one),
    "unpin": lambda s: s.m.unpin(s.pinned),
    "resolve": lambda s: s.m.resolve(s.open_matter),
    "reinstate": lambda s: (s.m.forget(s.newer), s.m.reinstate(s.replaced)),
    "forget": lambda s: s.m.forget(s.doomed),
    "forget by filter": lambda s: s.m.forget({"doomed": True}),
    "purge": lambda s: s.m.forget(s.doomed, purge=True, verify=True),
    "remember by key": lambda s: s.note(*s.m.remember_many(_OARS)),
    "replace by key": lambda s: s.m.remember("the boat has a sail", key="boat", tags=["boat"]),
    "remember with an end": lambda s: s.m.remember("an ice floe", expires_in=60),
    "update an end": lambda s: s.m.update(key="boat", expires_in=60),
    "update by key": lambda s: s.m.update(key="boat", text="a boat with a sail"),
    "attach": _attach,
    "replace what is attached": lambda s: s.m.remember(
        "the boat has a log", key="boat", attachment=b"log" * 2000
    ),
    "forget by key": lambda s: s.m.forget(key="boat"),
    "erase a user": lambda s: s.m.forget(
        user_id="noa", purge=True, verify=True, include_protected=True
    ),
    "recall and learn": lambda s: s.m.recall("heron", learn=True),
    "reflect": lambda s: s.m.reflect("upkeep"),
    "night": lambda s: s.m.reflect(),
    "compact": lambda s: s.m.compact(verify=["red kite"]),
    "checkpoint": lambda s: s.m.checkpoint(),
    "import": _import,
    "close": _close,
    "with": _with,
}

READING: dict[str, Callable[[Scene], object]] = {
    "gate": lambda s: s.m.gate("I live in Kars."),
    "hot": lambda s: s.m.hot(),
    "judge": lambda s: s.m.judge("I live in Kars.", "I live in Bonn now."),
    "recall": lambda s: s.m.recall(BIRD, user_id="ada"),
    "context": lambda s: s.m.context(BIRD),
    "get": lambda s: s.m.get(s.pinned),
    "records of a page": lambda s: list(s.m.records(after=s.pinned, limit=5, newest_first=True)),
    "get by key": lambda s: s.m.get(key="boat"),
    "attachment": lambda s: [r.attachment() for r in s.m.records(limit=60)],
    "records by key": lambda s: list(s.m.records(key_prefix="b")),
    "history": lambda s: s.m.history(s.newer),
    "records": lambda s: list(s.m.records(tags=["bird"])),
    "check": lambda s: s.m.check(),
    "stats": lambda s: s.m.stats(),
    "stats of a user": lambda s: s.m.stats(user_id="ada"),
    "count": lambda s: (s.m.count(user_id="ada"), len(s.m)),
    "users": lambda s: s.m.users(),
    "namespaces": lambda s: s.m.namespaces(),
    "in": lambda s: s.pinned in s.m,
    "backup": lambda s: s.m.backup(s.folder / "copy"),
    "backup again": _backup_again,
    "export": lambda s: s.m.export(s.folder / "out.jsonl"),
}


def _open_to_read(scene: Scene) -> None:
    scene.made.append(scene.opened(mode="r"))
    scene.made[-1].recall("heron")


def _reembed(scene: Scene) -> None:
    spector.reembed(scene.root, FakeEmbedder(seed=1))
    spector.reembed(scene.root, FakeEmbedder())


#: these open the store themselves
ENTRIES: dict[str, Callable[[Scene], object]] = {
    "open": lambda s: s.made.append(s.opened()),
    "open to read": _open_to_read,
    "open relaxed": lambda s: s.made.append(s.opened(durability="relaxed")),
    "open new": lambda s: s.made.append(spector.open(s.folder / "fresh", embedder=FakeEmbedder())),
    "check a path": lambda s: spector.check(s.root),
    "restore": lambda s: spector.restore(s.root, s.folder / "restored"),
    "repair": lambda s: spector.repair(s.root, s.folder / "repaired"),
    "reembed": _reembed,
}


def faults_of(scene: Scene) -> list[str]:
    """What is wrong after the verb was cut off: of the object, of the store, of the process."""
    return [*_faults_of_object(scene), *_faults_of_store(scene)]


def _faults_of_object(scene: Scene) -> list[str]:
    memory = scene.memory
    if memory is None:
        return []
    probes: dict[str, Callable[[], object]] = {
        "recall": lambda: memory.recall("heron"),
        "get": lambda: memory.get(scene.one),
        "records": lambda: list(memory),
        "check": lambda: _sound(memory.check()),
        "remember": lambda: scene.note(memory.remember("what comes after an interrupt")),
        "forget": lambda: memory.forget(scene.kept and memory.remember("soon gone").id),
        "check again": lambda: _sound(memory.check()),
    }
    out = []
    for name, probe in probes.items():
        try:
            probe()
        except (StoreFailedError, StoreClosedError):  # it says that it has to be opened again
            pass
        except BaseException as error:
            out.append(f"then {name}: {type(error).__name__}: {error}")
    return out


def _sound(report: spector.CheckReport) -> None:
    if not report.ok:
        raise AssertionError(str(report.problems[:3]))


def _faults_of_store(scene: Scene) -> list[str]:
    out = []
    for each in [*scene.made, *([scene.memory] if scene.memory is not None else [])]:
        try:
            each.close()
        except BaseException as error:
            out.append(f"then close: {type(error).__name__}: {error}")
    scene.memory = None
    scene.made.clear()
    if left := descriptors() - scene.before:
        out.append(f"descriptors are left: {dict(left)}")
    if not scene.root.exists():
        return [*out, "the store is gone"]
    for root in (scene.root, scene.folder / "fresh"):
        if root.exists():
            with _told(out, f"opening {root.name} again"):
                _reopened(scene, root)
    return out


def _reopened(scene: Scene, root: Path) -> None:
    embedder = FakeEmbedder()
    try:
        with contextlib.suppress(spector.StoreNotFoundError):  # its creation was cut off
            spector.open(root, embedder=embedder, mode="r").close()
    except spector.ModelMismatchError:
        embedder = FakeEmbedder(seed=1)  # a change of model was made, and not taken back
    with spector.open(root, embedder=embedder, config=CONFIG) as memory:
        kept = scene.kept if root == scene.root else {}
        lost = [n for n, text in kept.items() if n not in memory or memory.get(n).text != text]
        if lost:
            raise AssertionError(f"lost: {lost}")
        _sound(memory.check())
        memory.remember("written after it was opened again")


@contextlib.contextmanager
def _told(out: list[str], where: str) -> Iterator[None]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    except BaseException as error:
        out.append(f"{where}: {type(error).__name__}: {error}")
