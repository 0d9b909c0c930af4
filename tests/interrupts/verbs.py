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


def _memory(scene: Scene) -> spector.Memory:
    assert scene.memory is not None
    return scene.memory


def _note(scene: Scene, records: list[spector.MemoryRecord]) -> None:
    """What was returned has been acknowledged."""
    for record in records:
        scene.kept[record.id] = record.text


def _remember(scene: Scene) -> None:
    _note(scene, [_memory(scene).remember("a coot builds a nest", tags=["bird"], user_id="ada")])


def _remember_another_day(scene: Scene) -> None:
    _note(scene, [_memory(scene).remember("a coot swims", event_time="2026-04-01T08:00:00Z")])


def _remember_many(scene: Scene) -> None:
    texts = [f"reed warbler number {n}" for n in range(80)]
    _note(scene, _memory(scene).remember_many(texts, event_time="2026-03-03T09:00:00Z"))


def _remember_everywhere(scene: Scene) -> None:
    items = [{"text": f"note {tier}", "tier": tier} for tier in ("working", "semantic", "episodic")]
    _note(scene, _memory(scene).remember_many(items)[1:])


def _supersede(scene: Scene) -> None:
    _note(scene, [_memory(scene).remember("the boat is green", supersedes=scene.newer)])


def _update(scene: Scene) -> None:
    changed = scene.doomed[0]
    _memory(scene).update(changed, text="a bittern booms in the reeds", tags=["loud"])


def _update_in_place(scene: Scene) -> None:
    _memory(scene).update(next(iter(scene.kept)), importance=0.9)


def _reinstate(scene: Scene) -> None:
    memory = _memory(scene)
    memory.forget(scene.newer)
    memory.reinstate(scene.replaced)


def _forget(scene: Scene) -> None:
    _memory(scene).forget(scene.doomed)


def _forget_by_filter(scene: Scene) -> None:
    _memory(scene).forget({"doomed": True})


def _erase_a_user(scene: Scene) -> None:
    _memory(scene).forget(user_id="noa", purge=True, verify=True, include_protected=True)


def _move(scene: Scene) -> None:
    _memory(scene).update(next(iter(scene.kept)), move_to={"user_id": "noa", "session_id": "s"})


def _purge(scene: Scene) -> None:
    _memory(scene).forget(scene.doomed, purge=True, verify=True)


def _remember_by_key(scene: Scene) -> None:
    items = [{"text": f"oar {n}", "key": f"oar {n % 2}"} for n in range(3)]
    _note(scene, _memory(scene).remember_many([*items, "an oar without a key"]))


def _replace_by_key(scene: Scene) -> None:
    _memory(scene).remember("the boat has a sail", key="boat", tags=["boat"])


def _attach(scene: Scene) -> None:
    record = _memory(scene).remember(attachment={"heron": list(range(200))}, key="bare")
    _memory(scene).update(record, attachment=b"heron" * 500)
    _note(scene, [record])


def _backup_again(scene: Scene) -> None:
    memory, place = _memory(scene), scene.folder / "copy"
    memory.backup(place)
    _note(scene, [memory.remember("a teal")])
    memory.backup(place)


def _import(scene: Scene) -> None:
    lines = scene.folder / "lines.jsonl"
    lines.write_text("".join(f'{{"text": "imported {n}"}}\n' for n in range(5)), "utf-8")
    _note(scene, _memory(scene).import_(lines))


def _close(scene: Scene) -> None:
    memory = _memory(scene)
    memory.remember("in the working tier", tier="working")
    memory.recall("heron")
    memory.close()


def _with(scene: Scene) -> None:
    with _memory(scene) as memory:
        _note(scene, [memory.remember("a grebe dives")])


def _observe(scene: Scene) -> None:
    _memory(scene).observe("My name is Ada and I live in Kars.", user_id="ada", session_id="s")


def _observe_many(scene: Scene) -> None:
    _memory(scene).observe_many(["Ben works at Acme.", "Ben moved to Izmir."], user_id="ada")


def _retire(scene: Scene) -> None:
    memory = _memory(scene)
    memory.retire(next(iter(scene.kept)))


def _reactivate(scene: Scene) -> None:
    memory = _memory(scene)
    memory.retire(next(iter(scene.kept)))
    memory.reactivate(next(iter(scene.kept)))


def _undo(scene: Scene) -> None:
    """A night, and back: strengths and what it made."""
    report = _memory(scene).reflect()
    if report.cycle:
        _memory(scene).reflect_undo(report.cycle)


def _session(scene: Scene) -> None:
    memory = _memory(scene)
    with memory.session("s", user_id="ada") as session:
        session.buffer.add(None, "Ada moved to Kars", importance=0.7)
        assert memory.sessions()


WRITING: dict[str, Callable[[Scene], object]] = {
    "observe": _observe,
    "observe_many": _observe_many,
    "retire": _retire,
    "reactivate": _reactivate,
    "take a night back": _undo,
    "session": _session,
    "remember": _remember,
    "remember another day": _remember_another_day,
    "remember_many": _remember_many,
    "remember everywhere": _remember_everywhere,
    "supersede": _supersede,
    "update": _update,
    "update in place": _update_in_place,
    "move": _move,
    "reinforce": lambda scene: _memory(scene).reinforce(next(iter(scene.kept))),
    "pin": lambda scene: _memory(scene).pin(next(iter(scene.kept))),
    "unpin": lambda scene: _memory(scene).unpin(scene.pinned),
    "resolve": lambda scene: _memory(scene).resolve(scene.open_matter),
    "reinstate": _reinstate,
    "forget": _forget,
    "forget by filter": _forget_by_filter,
    "purge": _purge,
    "remember by key": _remember_by_key,
    "replace by key": _replace_by_key,
    "remember with an end": lambda scene: _memory(scene).remember("an ice floe", expires_in=60),
    "update an end": lambda scene: _memory(scene).update(key="boat", expires_in=60),
    "update by key": lambda scene: _memory(scene).update(key="boat", text="a boat with a sail"),
    "attach": _attach,
    "replace what is attached": lambda scene: _memory(scene).remember(
        "the boat has a log", key="boat", attachment=b"log" * 2000
    ),
    "forget by key": lambda scene: _memory(scene).forget(key="boat"),
    "erase a user": _erase_a_user,
    "recall and learn": lambda scene: _memory(scene).recall("heron", learn=True),
    "reflect": lambda scene: _memory(scene).reflect("upkeep"),
    "night": lambda scene: _memory(scene).reflect(),
    "compact": lambda scene: _memory(scene).compact(verify=["red kite"]),
    "checkpoint": lambda scene: _memory(scene).checkpoint(),
    "import": _import,
    "close": _close,
    "with": _with,
}

READING: dict[str, Callable[[Scene], object]] = {
    "gate": lambda scene: _memory(scene).gate("I live in Kars."),
    "hot": lambda scene: _memory(scene).hot(),
    "judge": lambda scene: _memory(scene).judge("I live in Kars.", "I live in Bonn now."),
    "recall": lambda scene: _memory(scene).recall("which heron stands at the pond?", user_id="ada"),
    "context": lambda scene: _memory(scene).context("which heron stands at the pond?"),
    "get": lambda scene: _memory(scene).get(scene.pinned),
    "records of a page": lambda scene: list(
        _memory(scene).records(after=scene.pinned, limit=5, newest_first=True)
    ),
    "get by key": lambda scene: _memory(scene).get(key="boat"),
    "attachment": lambda scene: [r.attachment() for r in _memory(scene).records(limit=60)],
    "records by key": lambda scene: list(_memory(scene).records(key_prefix="b")),
    "history": lambda scene: _memory(scene).history(scene.newer),
    "records": lambda scene: list(_memory(scene).records(tags=["bird"])),
    "check": lambda scene: _memory(scene).check(),
    "stats": lambda scene: _memory(scene).stats(),
    "stats of a user": lambda scene: _memory(scene).stats(user_id="ada"),
    "count": lambda scene: (_memory(scene).count(user_id="ada"), len(_memory(scene))),
    "users": lambda scene: _memory(scene).users(),
    "namespaces": lambda scene: _memory(scene).namespaces(),
    "in": lambda scene: scene.pinned in _memory(scene),
    "backup": lambda scene: _memory(scene).backup(scene.folder / "copy"),
    "backup again": _backup_again,
    "export": lambda scene: _memory(scene).export(scene.folder / "out.jsonl"),
}


def _open(scene: Scene) -> None:
    scene.made.append(scene.opened())


def _open_to_read(scene: Scene) -> None:
    scene.made.append(scene.opened(mode="r"))
    scene.made[-1].recall("heron")


def _open_relaxed(scene: Scene) -> None:
    scene.made.append(scene.opened(durability="relaxed"))


def _open_new(scene: Scene) -> None:
    made = spector.open(scene.folder / "fresh", embedder=FakeEmbedder())
    scene.made.append(made)


def _reembed(scene: Scene) -> None:
    spector.reembed(scene.root, FakeEmbedder(seed=1))
    spector.reembed(scene.root, FakeEmbedder())


#: these open the store themselves
ENTRIES: dict[str, Callable[[Scene], object]] = {
    "open": _open,
    "open to read": _open_to_read,
    "open relaxed": _open_relaxed,
    "open new": _open_new,
    "check a path": lambda scene: spector.check(scene.root),
    "restore": lambda scene: spector.restore(scene.root, scene.folder / "restored"),
    "repair": lambda scene: spector.repair(scene.root, scene.folder / "repaired"),
    "reembed": _reembed,
}


def faults_of(scene: Scene) -> list[str]:
    """What is wrong after the verb was cut off: of the object, of the store, of the process."""
    return [*_faults_of_object(scene), *_faults_of_store(scene)]


def _faults_of_object(scene: Scene) -> list[str]:
    memory = scene.memory
    if memory is None:
        return []
    some = next(iter(scene.kept))
    probes: dict[str, Callable[[], object]] = {
        "recall": lambda: memory.recall("heron"),
        "get": lambda: memory.get(some),
        "records": lambda: list(memory),
        "check": lambda: _sound(memory.check()),
        "remember": lambda: _note(scene, [memory.remember("what comes after an interrupt")]),
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
