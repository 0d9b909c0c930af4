"""Commits every promotion of a memory at once, as a night does unit by unit."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from spector import Memory


@dataclass
class Promoted:
    """Ids of concepts made and met, of statistics of trends; how many were rejected, and why."""

    made: tuple[int, ...] = ()
    met: tuple[int, ...] = ()
    statistics: tuple[int, ...] = ()
    rejected: Counter[str] = field(default_factory=Counter)


def promote(memory: Memory) -> Promoted:
    parts, done = memory._parts, Promoted()
    for each in parts.promoter.promotions():
        if each.decide is None:
            done.rejected[each.reason] += 1
        elif each.restates is not None:
            with parts.knowledge.reading() as reader:
                changes = each.decide(reader, parts.clock.now_ms())
            parts.updater.restate(each.restates, each.name, changes)
        else:
            records = parts.knowledge.commit(each.decide, each.prepared).records.values()
            made = tuple(record.id for record in records)
            if each.category == "statistic":
                done.statistics += made
            elif each.concept is None:
                done.made += made
            else:
                done.met += (each.concept,)
    return done
