"""A store whose clock a test moves, and nights in it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import spector
from spector import Config, Detectors, ManualClock, Memory, MemoryRecord
from spector.knowledge.association import themes_among
from tests.fakes import FakeEmbedder

BEGIN = datetime(2026, 1, 1, 12, tzinfo=UTC)


@contextmanager
def asleep(
    path: Path | str = ":memory:",
    *,
    config: Config | None = None,
    clock: ManualClock | None = None,
    detectors: Detectors | None = None,
) -> Iterator[tuple[Memory, ManualClock]]:
    """A memory and its clock, which begins on the first of January 2026."""
    clock = ManualClock(BEGIN) if clock is None else clock
    with spector.open(
        path,
        embedder=FakeEmbedder(),
        clock=clock,
        config=config or Config(),
        detectors=detectors,
    ) as memory:
        yield memory, clock


def pass_days(clock: ManualClock, days: float) -> None:
    """Move the clock on."""
    clock.advance(days=days)


def tell(memory: Memory, subject: str, predicate: str, value: str, **fields: Any) -> MemoryRecord:
    """A memory that states a fact."""
    made = memory.remember(f"{subject} {predicate} {value}.", **{"importance": 0.6, **fields})
    memory.facts.add(subject, predicate, value, source=made)
    return made


def themes_in(memory: Memory) -> list[MemoryRecord]:
    """What nights made of memories, awake or at rest, the oldest first."""
    with memory._parts.sleeper.survey.knowledge() as reader:
        made = themes_among(reader, reader.all_payloads("observed"))
    return [memory.get(each) for each in sorted(made)]


def strength(memory: Memory, record_id: int) -> float:
    return memory.get(record_id).stability_days


def set_strength(memory: Memory, record_id: int, **values: Any) -> None:
    """Give a memory strengths that it would have after years of use."""

    def change(header: Any, _: Any) -> bool:
        for name, value in values.items():
            header[name] = value
        return True

    memory._parts.changer.change([record_id], change)


def is_dormant(memory: Memory, record_id: int) -> bool:
    return spector.Flag.DORMANT in memory.get(record_id).flags
