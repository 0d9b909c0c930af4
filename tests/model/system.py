"""One writer, several readers, backups, a failing disk, kills and a clock, all in one thread.

What each handle may see follows from the model alone: between operations every reader shows what
is committed; within an operation it shows the state before it, after it, or after a batch of it,
and never an earlier one than was seen before. A call that the disk made fail has not happened,
unless the store says that it has failed: then reopening decides between all and nothing.
"""

from __future__ import annotations

import contextlib
import os
import random
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import spector
from spector.errors import SpectorError, StoreExistsError, StoreFailedError, StoreLockedError
from spector.store.backup import copy as backup
from spector.store.opening import opening as recover
from tests.crash.workload import TINY
from tests.model.conductor import Conductor, Plan
from tests.model.life import Setup, copy_as_killed, difference
from tests.model.oracle import Oracle
from tests.model.spec import Handle
from tests.model.world import VECTORS, World, refusal

__all__ = ["System"]

_DAY_MS = 86_400_000
_READERS = 4
#: the outcome of these is known to the model only through what they answer
_UNTROUBLED = frozenset({"remember_bad", "forget_by", "recall", "restore", "days", "check"})
#: operations within which nothing happens
_ALONE = frozenset({"doom", "clock", "get", "select", "by_text", "by_word", "restore", "intruder"})


class System(World):
    """Use :meth:`play` for every step."""

    camera = Conductor

    def __init__(self, setup: Setup, root: str, rng: random.Random) -> None:
        self._rng = rng
        self._plan = Plan()
        self._glimpses: list[tuple[str, dict[int, Any]]] = []
        self._wrong: list[str] = []
        #: the reader that is in the middle of something itself
        self._busy: spector.Memory | None = None
        self._backups: dict[int, _Copy] = {}
        #: the copies that this store has been the source of, or was restored from
        self._past: list[_Copy] = []
        self.counts = dict.fromkeys(
            "looks_within faults faults_told stores_failed recoveries_killed backups "
            "backups_refused restores compared_handles".split(),
            0,
        )
        self.days = 0.0
        super().__init__(setup, root)
        before, backup.DiskFiles = backup.DiskFiles, recover.DiskFiles  # type: ignore[misc]
        restore = self._restore

        def back() -> None:
            backup.DiskFiles = before  # type: ignore[misc]
            restore()

        self._restore = back

    @property
    def moments(self) -> int:
        """How many moments the last operation had, which is the same each time."""
        return self._camera.count

    def state(self) -> str:
        """What the model holds, in short."""
        return f"{self.clock.now_ms()} {sorted(self.oracle.records)} {self._camera.fired}"

    def play(self, serial: int, name: str, args: Mapping[str, Any], plan: Plan) -> None:
        """One operation and what happens within it; then every handle is compared.

        Raises:
            AssertionError: a handle shows what it may not.
        """
        self._plan = plan
        self.step(serial, name, args)
        assert not self._wrong, "\n".join(self._wrong)

    # -- within an operation ----------------------------------------------------------------------

    def _operation(self, name: str) -> Callable[..., Any]:
        operation = super()._operation(name)
        if name in _ALONE:
            return operation

        def run(**args: Any) -> Any:
            plan, doomed = self._plan, self._camera.armed
            if name in _UNTROUBLED:
                plan = Plan(plan.looks)
            self._states, self._glimpses = [self.oracle.copy()], []
            self._camera.conduct(plan, self._glimpse, doomed=doomed)
            try:
                made = (
                    self._in_trouble(name, args)
                    if plan.trouble and not doomed
                    else (operation(**args))
                )
            finally:
                self._camera.rest()
            self._judge()
            return made

        return run

    def _glimpse(self, who: int, moment: str) -> None:
        """A reader looks while the writer is in the middle of something."""
        if not self._readers or self._readers[who % len(self._readers)] is self._busy:
            return
        reader = self._readers[who % len(self._readers)]
        where = f"reader {who} within the operation, before {moment} {self._camera.count}"
        self.counts["looks_within"] += 1
        try:
            seen = {record.id: record for record in reader}
            hits = reader.recall(vector=VECTORS[who], k=3, lexical=False)
            alike = len(reader) == len(seen) and all(hit.record == seen[hit.id] for hit in hits)
        except Exception as error:  # must not pass through the writer's own frames
            self._wrong.append(f"{where}: {error!r}")
            return
        self._glimpses.append((where, seen))
        if not alike:
            self._wrong.append(f"{where}: {hits} of {seen}")

    def _judge(self) -> None:
        """What was seen within an operation are its states, in their order."""
        states = [s.without_volatile().records for s in (*self._states, self.oracle)]
        at = 0
        for where, seen in self._glimpses:
            later = [n for n in range(at, len(states)) if states[n] == seen]
            assert later, difference(seen, states[at], where)
            at = later[0]

    # -- trouble ----------------------------------------------------------------------------------

    def _in_trouble(self, name: str, args: Mapping[str, Any]) -> Any:
        args, texts = _spared(name, args, self._is_volatile), self._texts
        operation = super()._operation(name)
        try:
            made = operation(**args)
        except SpectorError as error:
            if not self._camera.struck:  # nothing was wrong
                raise
            told = error
        else:  # it is safe; of what went wrong behind it the store tells at its next call
            self._camera.rest()
            self._mended()
            return made
        finally:
            self.counts["faults"] += bool(self._camera.struck)
        self._camera.rest()
        assert told.message, repr(told)
        assert told.hint, repr(told)
        self.counts["faults_told"] += 1
        mended = self._mended()
        seen = {record.id: record for record in self.memory}
        if seen == self.oracle.records:
            return None
        assert mended or name == "remember_many", difference(
            seen, self.oracle.records, f"{name} said that it failed, the store is open, and"
        )
        self._texts = texts
        if name == "remember_many":
            return self._whole_batches(args["news"])
        real, self.memory = self.memory, _Done(self.memory)  # type: ignore[assignment]
        try:
            return operation(**args)
        finally:
            self.memory = real

    def _mended(self) -> bool:
        """Reopen a store that has failed, or was closed; True when there was a need to."""
        # the working tier has its own
        stores = [opened.store for opened in self.memory._parts.access.opened]
        if all(store.is_open and not store.failed for store in stores):
            return False
        if all(store.is_open for store in stores):
            self.counts["stores_failed"] += 1
            for verb in (lambda: len(self.memory), lambda: self.memory.recall("beta")):
                with refusal(StoreFailedError):
                    verb()
        with contextlib.suppress(SpectorError):
            self.memory.close()
        self.memory = self._open()
        self.oracle = self.oracle.without_volatile()
        self._fleeting.clear()
        return True

    def _whole_batches(self, news: list[dict[str, Any]]) -> list[int]:
        """Those of the batches that are there: whole ones, the first ones."""
        given = [self._new(new) for new in news]
        found = {record.text: record for record in self.memory}
        ids: list[int] = []
        for start in range(0, len(given), TINY.batch_records):
            batch = given[start : start + TINY.batch_records]
            if any(each["text"] not in found for each in batch):
                break
            ids += self._made([found[each["text"]] for each in batch], batch)
            self._states.append(self.oracle.copy())
        return ids

    def _is_volatile(self, handle: Handle) -> bool:
        return self.oracle.tier_of(self.handles.get(handle, -1)) == "working"

    # -- kills ------------------------------------------------------------------------------------

    def _recovered(self) -> spector.Memory:
        """A reader may be first to see what a kill left, and recovery may be killed as well."""
        self._camera.rest()
        chance = self._rng.random()
        if chance < 0.5:
            self._readers = [self._open("r")]
            seen = {record.id: record for record in self._readers[0]}
        if 0.3 < chance < 0.8:
            photo, path = f"{self._root}/again", self._path
            self._camera.looks = {}
            self._camera.wait(self._rng.randrange(20), lambda: copy_as_killed(path, photo))
            self._open().close()
            if not self._camera.fired:
                copy_as_killed(path, photo)
            self._camera.rest()
            self._close_readers()
            shutil.rmtree(path)
            self._lives += 1
            os.rename(photo, self._path)
            self.counts["recoveries_killed"] += 1
        memory = self._open()
        if chance < 0.5:
            found = {record.id: record for record in memory}
            assert seen == found, difference(seen, found, "a reader before the recovery")
        return memory

    # -- readers ----------------------------------------------------------------------------------

    def do_reader(self, which: int, verb: str) -> None:
        """Another one comes, or one looks more closely, or goes."""
        if verb == "open" and len(self._readers) < _READERS:
            self._readers.append(self._open("r"))
        if not self._readers:
            return self._idle()
        reader = self._busy = self._readers[which % len(self._readers)]
        try:
            self._use(reader, which, verb)
        finally:
            self._busy = None

    def _use(self, reader: spector.Memory, which: int, verb: str) -> None:
        if verb == "recall":
            self.recalls.compare(
                reader,
                self.oracle.without_volatile(),
                {"vector": VECTORS[which], "k": 4},
                self.clock.now_ms(),
                exact=True,
            )
        elif verb == "check":
            problems = reader.check().problems
            assert not problems or self._camera.struck, "; ".join(map(str, problems))
        elif verb == "close":
            self._readers.remove(reader)
            reader.close()

    def compare(self, serial: int) -> None:
        super().compare(serial)
        self.counts["compared_handles"] += 1 + len(self._readers)

    def do_intruder(self) -> None:
        with refusal(StoreLockedError):
            self._open()

    # -- life, time -------------------------------------------------------------------------------

    def do_clock(self, ms: int) -> None:
        super().do_clock(ms)
        self.days += max(ms, 0) / _DAY_MS

    def do_days(self, count: int) -> None:
        """Nights pass; each ends with a reflection."""
        for _ in range(count):
            self.do_clock(_DAY_MS)
            self.do_upkeep("reflect")

    # -- copies -----------------------------------------------------------------------------------

    def do_backup(self, where: int, by_reader: bool, new: dict[str, Any]) -> list[int]:
        """By a reader the writer goes on meanwhile: the copy shows the moment it was begun."""
        ids: list[int] = []
        # a copy knows no ids of the working tier: what goes on from it may give them again
        moment = _Copy(self.oracle.without_volatile(), set(self._lasting), tuple(self._past))
        source = self.memory
        progress = None
        if by_reader and self._readers:
            source = self._busy = self._readers[0]

            def progress(done: int, total: int) -> None:
                if not ids and not self._camera.trouble:
                    ids.extend(self.do_remember(new))
                    self._states.append(self.oracle.copy())

        try:
            self._back_up(source, where, progress)
        except SpectorError:
            self._camera.rest()
            self._compare_backup(where)
            raise
        finally:
            self._busy = None
        self._backups[where] = moment
        self._past.append(moment)
        self._compare_backup(where)
        self.counts["backups"] += 1
        return ids

    def _back_up(self, source: spector.Memory, where: int, progress: Any) -> None:
        """What a restored store never was is replaced only by force, and by it always."""
        path, there = f"{self._root}/backup{where}", self._backups.get(where)
        try:
            source.backup(path, progress=progress)
        except StoreExistsError as error:
            refused = "went its own way" in error.message
            if not refused or there is None or there in self._past:
                raise
            self._compare_backup(where)
            self.counts["backups_refused"] += 1
            source.backup(path, progress=progress, force=True)
        else:
            lost = there is not None and there not in self._past
            if lost and all(there.oracle.records != copy.oracle.records for copy in self._past):
                raise AssertionError(f"backup {where} was replaced by a store that never was it")

    def _compare_backup(self, where: int) -> None:
        path, armed = f"{self._root}/backup{where}", self._camera.armed
        self._camera.armed = False
        if where not in self._backups:
            assert not os.path.exists(path), "a backup that failed is there"
        else:
            with self._opened_at(path) as copy:
                seen = {record.id: record for record in copy}
                problems = copy.check().problems
            expected = self._backups[where].oracle.records
            assert seen == expected, difference(seen, expected, f"backup {where}")
            assert not problems, problems
        self._camera.armed = armed

    def _opened_at(self, path: str) -> spector.Memory:
        return spector.open(
            path,
            embedder=None,
            dim=self.memory.dim,
            mode="r",
            config=TINY,
            clock=self.clock,
            threads=1,
        )

    def do_restore(self, where: int) -> None:
        """The disk is lost, and what was backed up goes on."""
        if where not in self._backups:
            return self._idle()
        self._doom = None
        self._camera.armed = False  # tests/backup kills restores; here is no store to look at
        self._close_readers()
        self.memory.close()
        shutil.rmtree(self._path)
        self._lives += 1
        spector.restore(f"{self._root}/backup{where}", self._path)
        self.memory = self._open()
        copy = self._backups[where]
        self.oracle, self._lasting = copy.oracle.copy(), set(copy.lasting)
        self._past = [*copy.past, copy]
        self._fleeting.clear()
        self.handles = {h: i for h, i in self.handles.items() if i in self.oracle.records}
        self.counts["restores"] += 1


@dataclass(frozen=True, eq=False, slots=True)
class _Copy:
    """What a backup holds, and the copies of the same store that were made before it."""

    oracle: Oracle
    lasting: set[int]
    past: tuple[_Copy, ...]


class _Done:
    """Answers for operations that were done, although their call had raised, as they would have."""

    def __init__(self, memory: spector.Memory) -> None:
        self._memory = memory

    def remember(self, text: str, **given: Any) -> Any:
        return next(record for record in self._memory if record.text == text)

    def forget(self, ids: list[int], *, purge: bool) -> Any:
        return SimpleNamespace(ids=tuple(sorted(set(ids))))

    def __getattr__(self, verb: str) -> Any:
        return lambda record_id, *more, **changes: self._memory.get(record_id)


def _spared(
    name: str, args: Mapping[str, Any], volatile: Callable[[Handle], bool]
) -> dict[str, Any]:
    """The same arguments without what has no disk, which another failing tier cannot take back."""
    out = dict(args)
    if name == "remember":
        out["new"] = {**out["new"], "tier": "episodic"}
    if name == "remember_many":
        out["news"] = [{**new, "tier": "semantic"} for new in out["news"]]
    if name == "forget":
        out |= {"which": [h for h in out["which"] if not volatile(h)], "purge": False}
    return out
