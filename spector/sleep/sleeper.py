"""Sleep of one memory: cycles, each a call that closing waits for, and their undoing."""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Final, Protocol

from spector.arguments import (
    parse_callback,
    parse_cycle,
    parse_integer,
    parse_seconds,
    parse_steps,
    parse_truth,
)
from spector.clock import Clock
from spector.config import Config
from spector.process import Calls, Operation, Operations, Pace, verb
from spector.records import CompactionReport, ReflectReport
from spector.search import Surveyor
from spector.sleep.condensing import Tools
from spector.sleep.undo import SleepState, undo
from spector.tiers import TierRouter
from spector.upkeep import (
    Clustered,
    cluster_due,
    compact_all,
    index_rest,
    is_overdue,
    mark_reflectable,
    seal_finished,
)
from spector.write import UnitWriter

if TYPE_CHECKING:
    from spector.sleep.cycle import Progress


#: the step that a new cycle finishes for one that was given up, at its own time
_DECAY: Final = "decay"
#: `reflect` of this step alone is upkeep of the files
_UPKEEP: Final = ("upkeep",)


class CycleTurn(Protocol):
    """Held while a cycle runs."""

    @property
    def is_wanted(self) -> bool:
        """Another process waits for the end of this cycle."""

    @property
    def is_elsewhere(self) -> bool:
        """Another process is in a cycle."""

    def __enter__(self) -> object: ...

    def __exit__(self, *raised: object) -> None: ...


@dataclass(eq=False)
class Sleeper:
    """Runs cycles for `Memory.reflect` and for the daemon.

    Args:
        ensure: raises when the stores cannot be written.
        empty_caches: called with what a cycle has erased from the files.
        expire: forgets what has expired, before upkeep; returns how many.
        turn: held while a cycle runs: one at a time.
    """

    _calls: Calls
    router: TierRouter
    config: Config
    clock: Clock
    ensure: Callable[..., None]
    empty_caches: Callable[[CompactionReport], CompactionReport]
    survey: Surveyor
    writer: UnitWriter
    tools: Tools
    turn: CycleTurn
    operations: Operations
    expire: Callable[[], int]
    _interrupted: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        self._pace = Pace(self._calls, self.config.sleep.share_beside)
        self.tools = replace(self.tools, breathe=self._pace.breathe)

    def hear_of_tags(self, drop_expired: Callable[[], int]) -> None:
        """Have nights drop the expired tags of sessions, which are held weakly."""
        held = weakref.WeakMethod(drop_expired)

        def drop() -> int:
            found = held()
            return 0 if found is None else found()

        self.tools = replace(self.tools, drop_expired_tags=drop)

    @verb
    def reflect(
        self,
        steps: str | Iterable[str] | None = None,
        *,
        dry_run: bool = False,
        max_seconds: float | None = None,
        max_llm_calls: int | None = None,
        progress: Progress | None = None,
    ) -> ReflectReport:
        """One cycle, or some of its steps; see ``Memory.reflect``."""
        named = None if steps is None else parse_steps(steps)
        dry_run = parse_truth(dry_run, "dry_run")
        parse_callback(progress, "progress")
        seconds = parse_seconds(max_seconds, self.config.sleep.max_seconds)
        calls = self.config.sleep.max_llm_calls
        if max_llm_calls is not None:
            calls = parse_integer(max_llm_calls, "max_llm_calls", 0)
        self.ensure(write=not dry_run)
        if named == _UPKEEP and not dry_run:
            return self.upkeep(seconds)
        with self.turn, self.operations.noting("reflect") as operation:
            self._interrupted = False
            self._pace.begin()
            report = self._cycle(
                named, dry_run=dry_run, seconds=seconds, calls=calls, progress=progress
            )
            self._note(operation, report)
        return report

    def _note(self, operation: Operation, report: ReflectReport) -> None:
        """Have the log say what each step of a cycle did."""
        operation.output.update(
            cycle=report.cycle, finished=report.finished, steps=[each.name for each in report.steps]
        )
        operation.fallback = any(each.fallback for each in report.steps)
        for each in report.steps:
            self.operations.note(
                Operation(
                    each.name,
                    input={"cycle": report.cycle, "seen": each.seen},
                    output={"ids": list(each.ids), "changed": each.changed},
                    fallback=each.fallback,
                    latency_ms=each.elapsed_ms,
                )
            )

    def _cycle(
        self,
        named: tuple[str, ...] | None,
        *,
        dry_run: bool,
        seconds: float,
        calls: int,
        progress: Progress | None,
    ) -> ReflectReport:
        # what a night does is loaded by the first one: it takes a fifth of all that is opened
        from spector.sleep.cycle import Cycle, begin, named_steps, note_of

        now_ms, state = self.clock.now_ms(), self._state()
        names = named_steps(self.config, named)
        is_over = _is_over_after(seconds)

        def must_stop() -> bool:
            return self._interrupted or is_over() or self.turn.is_wanted

        cycle = partial(
            Cycle,
            config=self.config,
            survey=self.survey,
            writer=self.writer,
            tools=self.tools,
            upkeep=lambda: self._maintain(must_stop),
            seal=lambda: seal_finished(self.router, now_ms),
            calls=calls,
            progress=progress,
        )
        resumable = named is None or list(named) == state.recent.get("steps")
        if state.step == _DECAY and not resumable and not dry_run:
            # decay goes on from where it was at the time of its own cycle
            cycle(must_stop=lambda: False).run(state, (_DECAY,), named=True, dry_run=False)
        note = note_of(state)
        left, resumed = begin(state, names, now_ms, resumable=resumable)
        report = cycle(must_stop=must_stop).run(
            state,
            left,
            named=named is not None,
            dry_run=dry_run,
            note=None if resumed else {**note, "started_ms": state.started_ms},
        )
        return replace(report, resumed=resumed)

    @verb
    def upkeep(self, seconds: float = 0.0) -> ReflectReport:
        """Upkeep of the files alone, for so many seconds; 0 is no limit."""
        self.ensure(write=True)
        self._pace.begin()
        return self._maintain(_is_over_after(seconds))

    def _maintain(self, must_stop: Callable[[], bool]) -> ReflectReport:
        expired = self.expire()
        report = reflect_once(
            self.router,
            now_ms=self.clock.now_ms(),
            config=self.config,
            between=self._pace.breathe,
            must_stop=must_stop,
        )
        compaction = replace(report.compaction, expired=expired)
        return replace(report, compaction=self.empty_caches(compaction))

    @verb
    def reflect_undo(self, cycle: int) -> ReflectReport:
        """Undo a cycle; see ``Memory.reflect_undo``."""
        from spector.sleep.gathering import retold

        number = parse_cycle(cycle)
        self.ensure(write=True)
        with self.turn:
            return undo(number, self.survey, self.writer, partial(retold, self.survey, self.config))

    def interrupt(self) -> None:
        """Let a running cycle end after its unit; the next one goes on."""
        self._interrupted = True

    def may_sleep(self) -> bool:
        """Whether a cycle may run by itself: where one ran before, or messages were observed; and
        no other process is in one."""
        if self.turn.is_elsewhere:
            return False
        auto = self.config.sleep.auto
        if auto is not None:
            return auto
        with self.survey.knowledge() as reader:
            return reader.sleep_state() is not None or reader.has_observed()

    def _state(self) -> SleepState:
        with self.survey.knowledge() as reader:
            row = reader.sleep_state()
            begun = [] if row is not None else reader.cycle_changes("cycle")
        state = SleepState.of(row)
        if begun:  # a repair has lost the row, and what has decayed must not do so again
            state.cycle = begun[-1]["cycle"]
            state.decayed_ms = state.compressed_ms = begun[-1]["before"]["started_ms"]
        return state


def _is_over_after(seconds: float) -> Callable[[], bool]:
    """Whether so many seconds have passed since this call; never for 0."""
    ends = time.monotonic() + seconds if seconds else None
    return lambda: ends is not None and time.monotonic() >= ends


# One sleep cycle: which upkeep is done, and in what order.


def reflect_once(
    router: TierRouter,
    *,
    now_ms: int,
    config: Config,
    between: Callable[[], object] = int,
    must_stop: Callable[[], bool] = bool,
) -> ReflectReport:
    """Seal finished partitions, compact wasteful ones, put sealed ones in order, mark and index.

    Every step is its own small commit, so a cycle that is killed has simply done less; running it
    again does the rest. Consolidating the content of a sealed partition belongs between the
    sealing and the marking, which is why the two are separate states. Damaged partitions are left
    as they are and reported under ``compaction.failed``. What was forgotten ``erase_after_s`` ago
    is erased from every file; ``compaction.receipt`` says how that went.

    Args:
        between: called between two pieces of work, without a lock.
        must_stop: asked after each partition; the next call does what is left.
    """
    started = time.perf_counter()
    sealed = seal_finished(router, now_ms)
    # what these two rebuild begins a new life as a sealed partition
    erase = is_overdue(router, now_ms, config.erase_after_s)
    compaction = compact_all(
        router,
        config=config,
        threshold=0.0 if erase else config.tombstone_ratio,
        now_ms=now_ms,
        erase=erase,
        between=between,
        must_stop=must_stop,
    )
    between()
    is_cut, marked = compaction.partitions_left > 0, 0
    clustered = Clustered() if is_cut else cluster_due(router, config, between, must_stop)
    between()
    is_cut = is_cut or clustered.is_cut
    if not is_cut:
        marked = mark_reflectable(router)
        index_rest(router)
    failed = {each["path"]: each for each in (*clustered.failed, *compaction.failed)}
    return ReflectReport(
        finished=not is_cut,
        sealed=sealed,
        marked_reflectable=marked,
        clustered=clustered.partitions,
        clustered_records=clustered.records,
        unclustered=clustered.left,
        compaction=replace(compaction, failed=tuple(failed.values())),
        elapsed_ms=(time.perf_counter() - started) * 1000,
    )
