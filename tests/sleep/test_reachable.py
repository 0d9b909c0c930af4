"""At every moment of a night each memory is found: awake, or by what was made of it.

Damage without it: a source that sleeps before its theme can be recalled, or a theme that has gone
while its sources sleep. Guard: a look at the store after each unit, and a recall in between.
"""

from __future__ import annotations

import spector
from spector import Config, Memory
from tests.sleep.nights import asleep, pass_days


def _unreachable(memory: Memory) -> list[str]:
    """Memories that sleep and that nothing awake is derived from."""
    active = {each.id for each in memory.records(include=[])}
    return [
        each.text for each in memory.records()
        if each.dormant and not any(
            edge.kind in ("derived_from", "similar_to") and {edge.source, edge.target} & active
            for edge in memory.graph.edges(each.id)
        )
    ]  # fmt: skip


def test_sources_sleep_in_the_commit_that_makes_their_theme() -> None:
    config = Config(sleep=spector.SleepConfig(originals="dormant", batch_records=5))
    with asleep(config=config) as (memory, clock):
        memory.remember_many([
            {"text": f"Zehra planted tree {n} in Artvin.", "session_id": f"s{n // 9}"}
            for n in range(45)
        ])  # fmt: skip
        pass_days(clock, 3)
        looked, missed = 0, []

        def look(step: str, done: int, total: int | None) -> None:
            nonlocal looked
            looked += 1
            missed.extend(_unreachable(memory))
            hits = memory.recall(f"tree {looked % 45} in Artvin", k=10)
            if not hits:
                missed.append(f"nothing found after {step} {done}")

        memory.reflect(progress=look)
        assert looked > 5
        assert not missed
        assert sum(each.dormant for each in memory.records()) >= 40
        report = memory.reflect_undo(1)
        assert not report.kept
        assert not any(each.dormant for each in memory.records())
        assert memory.check().ok
