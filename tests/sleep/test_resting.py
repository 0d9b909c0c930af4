"""A memory that rests says since when, and by which rule, as long as it does.

Damage without it: after a week nobody can tell why a memory is out of recall. Guard: nights, a
month later, waking, resting by name and undoing.
"""

from __future__ import annotations

from datetime import timedelta

from spector import Config, SleepConfig
from spector.providers import estimated_tokens
from tests.sleep.nights import BEGIN, asleep, pass_days


def test_what_rests_says_since_when_and_by_which_rule() -> None:
    config = Config(sleep=SleepConfig(keep_share=0.5, undo_days=7))
    with asleep(config=config) as (memory, clock):
        dull = memory.remember_many([f"hm {n}" for n in range(3)], importance=0.1)
        said = memory.remember_many([
            f"The harbour of Foça has {n} blue boats and {n + 40} nets" for n in range(9)
        ], importance=0.3)  # fmt: skip
        named = memory.remember("The mill of Cunda has a red door", importance=0.9)
        memory.retire(named)
        pass_days(clock, 300)
        memory.reflect(["forget"])
        pass_days(clock, 30)
        memory.reflect(["decay", "forget"])
        told = {each.id: (each.dormant_since, each.dormant_rule)
                for each in memory.records(include=["dormant"]) if each.dormant}  # fmt: skip
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


def test_the_sources_of_a_theme_that_took_their_place_say_so() -> None:
    config = Config(sleep=SleepConfig(originals="dormant"))
    with asleep(config=config) as (memory, clock):
        made = [
            memory.observe(f"Ada repaired the ferry engine {n} in Kars.", session_id="s",
                           user_id="u").units[0].record for n in range(3)
        ]  # fmt: skip
        pass_days(clock, 3)
        memory.reflect(["consolidate"])
        rules = {memory.get(each.id).dormant_rule for each in made if each is not None}
        assert rules == {"in a theme"}


def test_a_theme_has_a_share_of_the_tokens_of_its_sources() -> None:
    said = [
        f"Ada repaired the ferry engine {n} in Kars with a wrench of her uncle. It took {n} hours"
        f" and cost {n * 37} liras, paid by the harbour of Foça. The engine runs again since then."
        for n in range(3, 7)
    ]
    sizes = {}
    for share in (1.0, 0.4):
        with asleep(config=Config(sleep=SleepConfig(theme_share=share))) as (memory, clock):
            for each in said:
                memory.observe(each, session_id="s", user_id="u")
            pass_days(clock, 3)
            memory.reflect(["consolidate"])
            themes = [each.text for each in memory.records() if each.write_source == "dream"]
            assert len(themes) == 1
            assert "liras" in themes[0]
            sizes[share] = estimated_tokens(themes[0])
    whole = sum(map(estimated_tokens, said))
    assert 0 < sizes[0.4] <= 0.4 * whole < sizes[1.0]
