"""Damage to the files of a store, and its effect: detected, harmless, or a wrong answer.

One store is made once. Each case changes some of its bytes, runs everything that could detect it,
and restores the bytes. A wrong answer is a memory with other text, times or strength than stored,
or an incomplete answer while ``check`` reports no problem. Users may open a store without
``check``, so a memory that ``get`` does not find is a wrong answer too, unless opening failed.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Set
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import spector
from spector.errors import SpectorError, UnknownRecordError
from tests.crash.workload import DIM, START, TINY, open_tiny, vector_of

__all__ = ["STRENGTH", "Outcome", "Patient", "ram"]

WORDS = [f"word{n} version 0 of the memory number {n}" for n in range(11)]
_PROFILES = ("similarity", "balanced")
_CATEGORIES = ("fact", "preference", "plan")


#: what ``to_dict`` has of the mutable half of a record
STRENGTH = (
    "importance",
    "valence",
    "arousal",
    "stability_days",
    "utility",
    "access_count",
    "last_access",
    "flags",
)


def _minute(n: int) -> datetime:
    return START + timedelta(minutes=n)


#: what may be asked of recall, and which memories it is true of: each looks at bytes of its own, in
#: records, scan indexes, words or the catalog, and what is wrong there silently leaves one out
FILTERS: tuple[tuple[dict[str, Any], Callable[[dict[str, Any]], bool]], ...] = (
    ({"tags": ["t1"]}, lambda m: "t1" in m["tags"]),
    ({"any_tags": ["t0", "t2"], "cue": "memory"}, lambda m: bool({"t0", "t2"} & {*m["tags"]})),
    ({"where": {"n": {"$gt": 3}}}, lambda m: m["metadata"]["n"] > 3),
    ({"user_id": "ada", "cue": "memory"}, lambda m: m["user_id"] == "ada"),
    (
        {"time_range": (_minute(3), _minute(8))},
        lambda m: _minute(3) <= datetime.fromisoformat(m["event_time"]) < _minute(8),
    ),
    ({"min_importance": 0.61}, lambda m: m["importance"] >= 0.61),
    ({"valence": (0.12, 0.42), "cue": "memory"}, lambda m: 0.12 <= m["valence"] <= 0.42),
    ({"categories": ["fact", "plan"]}, lambda m: m["category"] in {"fact", "plan"}),
    (
        {"tiers": "episodic", "tags": ["all"], "user_id": "ada"},
        lambda m: m["tier"] == "episodic" and m["user_id"] == "ada",
    ),
)


def ram() -> str | None:
    """A directory in memory for the many rewrites, where there is one."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


@dataclass(slots=True)
class Outcome:
    """Who noticed one piece of damage, and what was shown in spite of it."""

    by_check: bool = False
    by_open: bool = False
    by_get: bool = False
    by_recall: bool = False
    missing: int = 0
    lies: list[str] = field(default_factory=list)

    @property
    def found(self) -> bool:
        return self.by_check or self.by_open

    @property
    def verdict(self) -> str:
        if self.lies or (self.missing and not self.found):
            return "WRONG"
        return "found" if self.found else "harmless"


class Patient:
    """A closed store of twelve memories, one of them forgotten, and its undamaged answers."""

    def __init__(self, root: Path, *, closed: bool = True) -> None:
        self.root = root
        self.path = str(root)
        memory = open_tiny(self.path)
        try:
            for n, text in enumerate(WORDS):
                memory.remember(
                    text,
                    vector=vector_of(text),
                    tier=("semantic", "episodic")[n % 2],
                    tags=[f"t{n % 3}", "all"],
                    user_id="ada" if n % 4 else "eve",
                    metadata={"n": n},
                    category=_CATEGORIES[n % 3],
                    event_time=_minute(n),
                    importance=0.5 + n / 40,
                    valence=n / 20,
                    role="user",
                    source="test",
                )
            gone = memory.remember("secret", vector=vector_of("secret"), tier="semantic")
            memory.forget(gone.id)
            self.gone = gone.id
            ids = [record.id for record in memory]
            if not closed:  # of each kind of change one that only the catalog knows of is the last
                memory.update(ids[1], importance=0.25)
                memory.reinforce(ids[2])
                memory.update(ids[3], tags=["t0", "all", "more"])
                for n in range(8):
                    memory.update(ids[n], metadata={"n": -n})
            if closed:
                memory.checkpoint()
            else:  # a copy of the files as a killed process leaves them
                live, self.root = self.root, root.with_name(root.name + "-killed")
                self.path = str(self.root)
                shutil.copytree(live, self.root)
        finally:
            memory.close()
        self.keep()
        self.truth: dict[int, dict[str, Any]] = {}
        with open_tiny(self.path, mode="r") as reader:
            self.truth = {record.id: record.to_dict() for record in reader}
        #: which of them each of ``FILTERS`` lets through, by the truth alone
        self.chosen = [{n for n, m in self.truth.items() if of(m)} for _, of in FILTERS]
        assert all(0 < len(chosen) < len(self.truth) for chosen in self.chosen)
        self._turns = 0
        self.restore()
        assert len(self.truth) == len(WORDS)
        assert self.ask().verdict == "harmless"

    def keep(self) -> None:
        """From now on the files as they are now are the undamaged ones."""
        self.names = sorted(
            p.relative_to(self.root).as_posix()
            for p in self.root.rglob("*")
            if p.is_file() and p.name not in {"LOCK", "catalog.db-shm"}
        )
        self.bytes = {name: (self.root / name).read_bytes() for name in self.names}

    def restore(self) -> None:
        """Put back every file that differs, and take away what does not belong."""
        for path in list(self.root.rglob("*")):
            name = path.relative_to(self.root).as_posix()
            if path.is_file() and name not in self.bytes and name != "LOCK":
                path.unlink()
        for name, data in self.bytes.items():
            path = self.root / name
            if not path.exists() or path.read_bytes() != data:
                self.put(name, data)

    def put(self, name: str, data: bytes) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)

    @contextlib.contextmanager
    def damaged(self, name: str, offset: int, data: bytes) -> Iterator[None]:
        whole = self.bytes[name]
        self.put(name, whole[:offset] + data + whole[offset + len(data) :])
        try:
            yield
        finally:
            self.restore()

    def ask(self) -> Outcome:
        """Let check, both openings, get and recall look at the files as they are now."""
        out = Outcome()
        try:
            report = spector.check(self.path)
            out.by_check = not report.ok
            for problem in report.problems:
                assert problem.where
                assert problem.message
        except SpectorError:
            out.by_check = True
        try:
            with open_tiny(self.path, mode="r") as memory:
                # missing memories count only if the damage was not detected
                self._read(memory, out, whole=not out.by_check)
        except SpectorError:
            out.by_open = True
        if not out.by_check:
            self._write(out)
        return out

    def _read(self, memory: spector.Memory, out: Outcome, *, whole: bool) -> None:
        """Everything by id and by recall; with all filters when ``whole``, else two in turn."""
        for record_id, truth in self.truth.items():
            try:
                shown = memory.get(record_id).to_dict()
            except UnknownRecordError:
                out.lies.append(f"get({record_id}) knows of no such memory")
                continue
            except SpectorError:
                out.by_get = True
                continue
            if shown != truth:
                out.lies.append(f"get({record_id}) is {shown}")
        with contextlib.suppress(SpectorError):
            memory.get(self.gone)
            out.lies.append("a forgotten memory is back")
        with contextlib.suppress(SpectorError):
            walked = {record.id: record.to_dict() for record in memory}
            if walked != self.truth:  # whether check knows or not: an export would lack it
                out.lies.append(f"a walk shows {walked}")
        for profile in _PROFILES:
            cues: list[dict[str, Any]] = [
                {"vector": vector_of(WORDS[3])},
                {"cue": "memory", "vector": vector_of(WORDS[5])},
            ]
            for cue in cues:
                self._recall(memory, out, self.truth.keys(), profile=profile, **cue)
        self._turns += 2
        every = list(zip(FILTERS, self.chosen, strict=True))
        for (asked, _), chosen in every if whole else (every * 2)[self._turns % len(every) :][:2]:
            self._recall(memory, out, chosen, vector=vector_of(WORDS[3]), **asked)

    def _recall(
        self, memory: spector.Memory, out: Outcome, expected: Set[int], **asked: Any
    ) -> None:
        """Ask for more memories than there are: just those expected, or an error."""
        try:
            hits = memory.recall(**asked, k=len(self.truth) + 5, cut=0)
        except SpectorError:
            out.by_recall = True
            return
        for hit in hits:
            if hit.record.to_dict() != self.truth.get(hit.id):
                out.lies.append(f"recall shows {hit.record}")
            elif hit.id not in expected:
                out.lies.append(f"recall shows {hit.id}, which is not of those asked for: {asked}")
        out.missing += len(expected - {hit.id for hit in hits})

    def _write(self, out: Outcome) -> None:
        """A writer opens it, changes it and finds it sound: only where check found nothing."""
        copy = Path(tempfile.mkdtemp(dir=ram()))
        try:
            shutil.copytree(self.root, copy / "mind")
            try:
                with open_tiny(str(copy / "mind")) as memory:
                    self._read(memory, out, whole=False)
                    memory.remember("more", vector=vector_of("more"), tier="semantic")
                    memory.reinforce(next(iter(self.truth)))
                    if not memory.check().ok:
                        out.by_open = True
            except SpectorError:
                out.by_open = True
        finally:
            shutil.rmtree(copy)


assert DIM == 16
assert TINY.semantic_capacity == 3
