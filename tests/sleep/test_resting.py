"""A memory that rests says since when, and by which rule, as long as it does.

Damage without it: after a week nobody can tell why a memory is out of recall. Guard: nights, a
month later, waking, resting by name and undoing.
"""

from __future__ import annotations

from datetime import timedelta

from spector import Config, SleepConfig
from tests.sleep.nights import BEGIN, asleep, pass_days


def test_what_rests_says_since_when_and_by_which_rule() -> None:
    config = Config(sleep=SleepConfig(keep_share=0.5, undo_days=7))
    with asleep(config=config) as (memory, clock):
        dull = memory.remember_many([f"hm {n}" for n in range(3)], importance=0.1)
        said = memory.remember_many(
            [f"The harbour of Foça has {n} blue boats and {n + 40} nets" for n in range(9)],
            importance=0.3,
        )
        named = memory.remember("The mill of Cunda has a red door", importance=0.9)
        memory.retire(named)
        pass_days(clock, 300)
        memory.reflect(["forget"])
        pass_days(clock, 30)
        memory.reflect(["decay", "forget"])
        told = {
            each.id: (each.dormant_since, each.dormant_rule)
            for each in memory.records(include=["dormant"])
            if each.dormant
        }
        since = BEGIN + timedelta(days=300)
        assert [told.pop(each.id) for each in dull] == [(since, "faded")] * 3
        assert told.pop(named.id) == (None, None)
        assert set(told.values()) == {(since, "beyond the budget")}
        assert set(told) < {each.id for each in said}
        assert memory.check().ok


def test_what_was_woken_and_retired_by_name_has_no_rule_any_more() -> None:
    with asleep() as (memory, clock):
        dull = memory.remember("hm", importance=0.1)
        pass_days(clock, 300)
        memory.reflect(["forget"])
        assert memory.get(dull.id).dormant_rule == "faded"
        memory.reactivate(dull.id)
        assert memory.get(dull.id).dormant_since is None
        memory.retire(dull.id)
        woken = memory.get(dull.id)
        assert (woken.dormant, woken.dormant_since, woken.dormant_rule) == (True, None, None)


def test_undoing_takes_the_rule_back() -> None:
    with asleep() as (memory, clock):
        dull = memory.remember("hm", importance=0.1)
        pass_days(clock, 300)
        cycle = memory.reflect(["forget"]).cycle
        memory.reflect_undo(cycle)
        assert not memory.get(dull.id).dormant
        with memory._parts.sleeper._survey.knowledge() as reader:
            assert not reader.payloads([dull.id], "rest")
