"""One cycle of sleep: its steps in order, each in units that are one commit, resumed where cut."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeAlias

from spector.config import Config
from spector.errors import CatalogCorruptError, PartitionCorruptError
from spector.layout import Flag
from spector.records import Proposal, ReflectReport, StepReport
from spector.search import Surveyor
from spector.sleep.condensing import Tools
from spector.sleep.gathering import consolidate
from spector.sleep.learning import extract, graph, rhythm
from spector.sleep.night import DAY_MS, RETIRED, Night, Units, breathe, has_flag, without_ids
from spector.sleep.redundancy import compress, deduplicate
from spector.sleep.strengths import (
    decay,
    demote,
    emotion,
    expire,
    forget,
    promote,
    rehearse,
    replay,
)
from spector.sleep.undo import SleepState
from spector.write import Unit, UnitWriter

#: called with (step, units done, in total or None)
Progress = Callable[[str, int, int | None], None]
#: an interrupted cycle is given up after a day
_STALE_MS: Final = DAY_MS
_MOST_IDS: Final = 1000
#: mechanics of the files, which come first and last
FIRST: Final = "seal"
LAST: Final = "upkeep"


#: what a cycle counts for itself
_OF_A_CYCLE: Final = frozenset({"made", "read", "calls", "once"})


class Stopped(Exception):  # noqa: N818  no error: the time is over
    """The cycle ends here; the next call goes on."""


def named_steps(config: Config, steps: str | Iterable[str] | None) -> tuple[str, ...]:
    """The steps to run, in their order; all of the config for None."""
    if steps is None:
        names: Sequence[str] = config.sleep.steps
        if config.sleep.order == "v9":
            names = [each for each in names if each != "forget"]
            at = names.index("consolidate") if "consolidate" in names else len(names)
            if "forget" in config.sleep.steps:
                names = [*names[:at], "forget", *names[at:]]
        return tuple(names)
    return tuple(steps)


def begin(
    state: SleepState, names: Sequence[str], now_ms: int, *, resumable: bool
) -> tuple[list[str], bool]:
    """The steps that are left, and whether an unfinished cycle goes on; the state is brought there."""
    if resumable and state.step and now_ms - state.started_ms < _STALE_MS:
        steps = list(state.recent.get("steps", names))
        if state.step in steps:
            return steps[steps.index(state.step) :], True
    state.cycle += 1
    state.started_ms = max(now_ms, state.decayed_ms)
    state.seed = state.cycle * 0x9E3779B1 % (1 << 31)
    state.step, state.cursor = names[0] if names else "", 0
    kept = {name: value for name, value in state.recent.items() if name not in _OF_A_CYCLE}
    state.recent = {**kept, "steps": list(names)}
    return list(names), False


@dataclass(slots=True)
class _Tally:
    """What a step has done so far."""

    name: str
    seen: int = 0
    changed: int = 0
    ids: list[int] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)
    rules: Counter[str] = field(default_factory=Counter)
    fallback: bool = False
    started: float = field(default_factory=time.perf_counter)

    def add(self, unit: Unit, ids: Iterable[int]) -> None:
        found = list(ids)
        self.seen += unit.seen
        self.changed += len(found)
        self.ids += found[: _MOST_IDS - len(self.ids)]
        self.skipped.update(unit.skipped)
        if unit.what == RETIRED or unit.erases:
            self.rules.update(
                without_ids(unit.reasons.get(each, unit.reason))
                for each in found
                if each not in unit.kinds
            )
        self.fallback = self.fallback or unit.fallback

    def report(self) -> StepReport:
        return StepReport(
            name=self.name,
            seen=self.seen,
            changed=self.changed,
            ids=tuple(self.ids),
            skipped=dict(self.skipped),
            rules=dict(self.rules),
            fallback=self.fallback,
            elapsed_ms=(time.perf_counter() - self.started) * 1000,
        )


@dataclass(slots=True, kw_only=True, eq=False)
class Cycle:
    """Runs the steps of one cycle.

    Args:
        upkeep: does the upkeep of the files, at the end.
        must_stop: asked between two units.
    """

    config: Config
    survey: Surveyor
    writer: UnitWriter
    tools: Tools
    upkeep: Callable[[], ReflectReport]
    seal: Callable[[], int]
    calls: int
    must_stop: Callable[[], bool]
    progress: Progress | None = None
    #: where sleep was before this cycle; None once a change has put it on record
    _note: dict[str, Any] | None = None
    _reports: list[StepReport] = field(default_factory=list)
    _proposals: list[Proposal] = field(default_factory=list)
    _files: ReflectReport = field(default_factory=ReflectReport)
    _sealed: int = 0
    #: the step that comes next was cut short in an earlier call
    _is_resumed: bool = False

    def run(
        self,
        state: SleepState,
        steps: Sequence[str],
        *,
        named: bool,
        dry_run: bool,
        note: dict[str, Any] | None = None,
    ) -> ReflectReport:
        """Run steps from where the state is; it moves along.

        Args:
            note: where sleep was before the cycle, if it begins now. A cycle that changes nothing
                leaves no trace.
        """
        started, self._note = time.perf_counter(), note
        left = max(0, self.calls - int(state.recent.get("calls", 0)))
        night = Night(
            self.config,
            self.survey,
            state,
            self.tools,
            named=named,
            dry=dry_run,
            calls_left=left,
            must_stop=self.must_stop,
        )
        self._is_resumed = note is None and not dry_run
        if self._is_resumed:
            self.writer.finish_erasing(state.cycle)
        before, finished = self._counts(night), True
        try:
            for n, name in enumerate(steps):
                if not dry_run:
                    state.step = name
                    if n:
                        state.cursor = 0
                self._step(night, name, dry_run=dry_run)
        except Stopped:
            finished = False
        if finished and not dry_run:
            state.step, state.cursor = "", 0
        is_on_record = self._note is None and not dry_run
        if is_on_record:
            self.writer.put_state(state.row(), drop_before=self._oldest_kept(night))
        night.begin_step()
        after = self._counts(night)
        return replace(
            self._files,
            sealed=self._sealed + self._files.sealed,
            cycle=state.cycle if is_on_record else 0,
            steps=tuple(self._reports),
            finished=finished,
            llm_calls=night.calls,
            proposals=tuple(self._proposals),
            memories=(before[0], after[0]),
            dormant=(before[1], after[1]),
            elapsed_ms=(time.perf_counter() - started) * 1000,
        )

    def _step(self, night: Night, name: str, *, dry_run: bool) -> None:
        if name not in (FIRST, LAST, *STEPS):
            return
        tally = _Tally(name)
        try:
            if name == FIRST:
                self._sealed = tally.changed = 0 if dry_run else self.seal()
            elif name == LAST:
                if not dry_run:
                    self._files = self.upkeep()
                    tally.changed = self._files.compaction.records_reclaimed
                    if not self._files.finished:
                        raise Stopped
            elif name in STEPS:
                night.begin_step(resumed=self._is_resumed)
                self._is_resumed = False
                for unit in self._units(night, name):
                    self._do(night, name, unit, tally, dry_run=dry_run)
        except (CatalogCorruptError, PartitionCorruptError):
            # what is damaged is left as it is; upkeep reports it, and the other steps go on
            tally.skipped["damaged"] += 1
        finally:
            self._reports.append(tally.report())

    def _units(self, night: Night, name: str) -> Iterator[Unit]:
        """The units of a step; at its end the state takes over what it returns."""
        units = STEPS[name](night, night.state.cursor)
        while True:
            try:
                unit = next(units)
            except StopIteration as end:
                night.state.note(end.value or {})
                return
            yield unit

    def _do(self, night: Night, name: str, unit: Unit, tally: _Tally, *, dry_run: bool) -> None:
        if dry_run:
            proposed = list(self._proposed(night, name, unit))
            self._proposals += proposed
            tally.add(unit, [each for one in proposed for each in one.ids])
            tally.changed += sum(not one.ids for one in proposed)  # what would be made
            return
        night.state.note(unit.state)
        night.state.cursor = max(night.state.cursor, unit.cursor)
        done = self.writer.commit(unit, night.state.cycle, night.row, self._note)
        if done.is_committed:
            self._note = None
        night.is_outdated = night.is_outdated or done.is_committed
        night.note_made(len(done.made))
        breathe(night)
        tally.add(unit, [*done.changed, *(each.id for each in done.made)])
        if self.progress is not None:
            self.progress(name, tally.seen, None)
        is_work = unit.ids or unit.prepared or unit.erases or unit.judges
        if is_work and self.must_stop():
            raise Stopped

    def _proposed(self, night: Night, name: str, unit: Unit) -> Iterator[Proposal]:
        """What a unit would change, a proposal each."""
        for record_id, before, after in night.pretend(unit):
            yield Proposal(
                step=name,
                action=unit.what,
                ids=(record_id,),
                reason=unit.reasons.get(record_id, unit.reason),
                before=before,
                after=after,
            )
        yield from _rows_proposed(night, name, unit)

    def _counts(self, night: Night) -> tuple[int, int]:
        """Memories, and how many of them are dormant."""
        try:
            rows = night.memories.rows
        except (CatalogCorruptError, PartitionCorruptError):
            return 0, 0
        return len(rows), int(has_flag(rows, Flag.DORMANT).sum())

    def _oldest_kept(self, night: Night) -> int:
        """The oldest cycle that can still be undone, or that limits of a day count."""
        since = night.started_ms - int(max(1.0, self.config.sleep.undo_days) * DAY_MS)
        with self.survey.knowledge() as reader:
            begun = reader.cycle_changes("cycle")
        kept = [row["cycle"] for row in begun if row["before"]["started_ms"] >= since]
        return min(kept, default=night.state.cycle)


def _rows_proposed(night: Night, name: str, unit: Unit) -> Iterator[Proposal]:
    """What a unit would make, and of whose knowledge it would change rows."""
    if unit.decide is None:
        return
    with night.survey.knowledge() as reader:
        changes = unit.decide(reader, night.started_ms)
    if not changes:
        return
    for n in () if unit.restates is not None else changes.store:
        if night.proposes(name, unit.prepared[n].text):
            yield Proposal(
                step=name, action="make", reason=unit.reason, after={"text": unit.prepared[n].text}
            )
    if unit.restates is not None:
        yield Proposal(
            step=name,
            action="restate",
            ids=(unit.restates,),
            reason=unit.reason,
            after={"text": unit.prepared[0].text},
        )
    for each in unit.noted:
        yield Proposal(step=name, action="note", ids=(each,), reason=unit.reason)


def note_of(state: SleepState) -> dict[str, Any]:
    """What the record of changes says of a cycle: where sleep was before it."""
    names = "started_ms decayed_ms compressed_ms extracted_id abstracted_id recent"
    return {name: getattr(state, name) for name in names.split()}


# The steps of a cycle, each a plan over the memories of the night that yields units.

#: a step from a cursor on
Step: TypeAlias = Callable[[Night, int], Units]

#: by name; sealing and upkeep are mechanics of the files, which have no plan
STEPS: Final[Mapping[str, Step]] = {
    "rhythm": rhythm,
    "decay": decay,
    "emotion": emotion,
    "replay": replay,
    "promote": promote,
    "demote": demote,
    "rehearse": rehearse,
    "expire": expire,
    "compress": compress,
    "extract": extract,
    "consolidate": consolidate,
    "deduplicate": deduplicate,
    "graph": graph,
    "forget": forget,
}
