"""The three buffers of a session: raw inputs, the nine entries, the zones of a prompt."""

from __future__ import annotations

import threading

import pytest

from spector.clock import ManualClock
from spector.config import SessionConfig
from spector.errors import InvalidInputError
from spector.providers import token_counter
from spector.session import SensoryBuffer, SessionBuffer, Zones
from tests.cases import Cases

cases = Cases(__file__)

START = 1_795_000_000_000


def nine(clock: ManualClock) -> SessionBuffer:
    return SessionBuffer(clock, SessionConfig())


def zones(clock: ManualClock, **budgets: int) -> Zones:
    given = {f"{zone}_tokens": budgets.get(zone, 10) for zone in ("system", "active", "staging")}
    return Zones(clock, token_counter(len), SessionConfig(**given))


# -- the sensory buffer ----------------------------------------------------------------------------


def test_the_ring_keeps_the_newest_and_counts_all() -> None:
    ring = SensoryBuffer(512, ManualClock(START), "s")
    for n in range(600):
        ring.ingest(f"input {n}", source="user")
    assert (ring.size, ring.total_ingested) == (512, 600)
    drained = ring.drain()
    assert [each.content for each in drained] == [f"input {n}" for n in range(88, 600)]
    assert (ring.size, ring.total_ingested, ring.drain()) == (0, 600, [])


def test_an_entry_says_what_came_from_where_and_when() -> None:
    clock = ManualClock(START)
    ring = SensoryBuffer(2, clock, "s")
    first = ring.ingest("Ada moved to Kars.", source="user")
    clock.advance(seconds=1)
    second = ring.ingest("", source="tool", modality="code")
    assert first.entry_id != second.entry_id
    assert (first.source, first.modality, second.modality) == ("user", "text", "code")
    assert (second.timestamp - first.timestamp).total_seconds() == 1
    assert first.token_estimate > 3
    assert second.token_estimate == 0
    with pytest.raises(InvalidInputError, match="content must be a str"):
        ring.ingest(b"bytes", source="user")  # type: ignore[arg-type]


def test_draining_while_others_write_loses_nothing() -> None:
    """Damage without the lock: an input between the copy and the clearing is gone."""
    ring, drained = SensoryBuffer(100_000, ManualClock(START)), list[str]()

    def write(name: str) -> None:
        for n in range(2_000):
            ring.ingest(f"{name} {n}", source=name)

    threads = [threading.Thread(target=write, args=(name,)) for name in "abc"]
    for each in threads:
        each.start()
    while any(each.is_alive() for each in threads):
        drained += [each.content for each in ring.drain()]
    drained += [each.content for each in ring.drain()]
    assert len(drained) == len(set(drained)) == ring.total_ingested == 6_000


# -- the nine entries ------------------------------------------------------------------------------


def test_of_a_full_buffer_the_lowest_score_goes() -> None:
    """8 entries of 0.9 used now, one of 0.5 last used 30 minutes ago: 0.184 is below 0.300."""
    clock = ManualClock(START)
    buffer = nine(clock)
    assert buffer.add(1, "old", importance=0.5)
    clock.advance(seconds=30 * 60)
    for n in range(2, 10):
        assert buffer.add(n, f"new {n}", importance=0.9)
    assert not buffer.add(10, "weak", importance=0.1)
    assert [each.id for each in buffer.entries] == list(range(1, 10))
    assert buffer.add(11, "used", importance=0.2, access_count=5)
    assert [each.id for each in buffer.entries] == [*range(2, 10), 11]


@cases("importance", "accesses", "kept")
def test_what_is_worth_keeping(importance: float, accesses: int, kept: bool) -> None:
    buffer = nine(ManualClock(START))
    buffer.add(None, "text", importance=importance, access_count=accesses)
    assert bool(buffer.promotion_candidates()) == kept


@pytest.mark.parametrize("wrong", [-0.1, 1.1, float("nan"), "0.5", True])
def test_an_importance_that_is_none_is_refused(wrong: float) -> None:
    with pytest.raises(InvalidInputError, match="importance"):
        nine(ManualClock(START)).add(None, "text", importance=wrong)


# -- the zones -------------------------------------------------------------------------------------


def test_the_least_valuable_item_makes_room() -> None:
    """0.9 last used 9 hours ago is 0.660, 0.5 used now is 0.650: the second goes."""
    clock = ManualClock(START)
    zone = zones(clock)
    assert zone.add("a", "aaaaa", "active", 0.9)
    clock.advance(hours=9)
    assert zone.add("b", "bbbbb", "active", 0.5)
    assert zone.add("c", "ccccc", "active", 0.1)
    assert [each.item_id for each in zone.items("active")] == ["a", "c"]


def test_what_is_larger_than_its_zone_evicts_nothing() -> None:
    zone = zones(ManualClock(START))
    zone.add("a", "aaaaa", "active", 0.1)
    assert not zone.add("b", "b" * 11, "active", 1.0)
    assert zone.render() == "aaaaa"


def test_system_never_evicts() -> None:
    zone = zones(ManualClock(START))
    assert zone.add("a", "aaaaaa", "system", 0.0)
    assert not zone.add("b", "bbbbb", "system", 1.0)
    assert zone.add("c", "cccc", "system", 1.0)
    assert not zone.add("a", "aaaaaaa", "system", 0.0)
    assert zone.render() == "cccc\naaaaaa"


def test_an_update_that_grows_evicts_others_or_changes_nothing() -> None:
    zone = zones(ManualClock(START))
    zone.add("a", "aaaa", "active", 0.1)
    zone.add("b", "bbbb", "active", 0.9)
    assert zone.add("a", "aaaaaaaa", "active", 0.1)
    assert zone.render() == "aaaaaaaa"
    assert not zone.add("a", "a" * 11, "active", 1.0)
    assert zone.render() == "aaaaaaaa"
    item = zone.get("a")
    assert item.importance == 0.1


def test_the_text_has_zones_in_order_and_leaves_out_empty_ones() -> None:
    zone = zones(ManualClock(START), active=100, staging=100)
    zone.add("last", "staged", "staging", 1.0)
    zone.add("low", "low", "active", 0.2)
    zone.add("high", "high", "active", 0.8)
    assert zone.render() == "high\nlow\n\nstaged"
    zone.add("rule", "be brief", "system", 0.0)
    assert zone.render() == "be brief\n\nhigh\nlow\n\nstaged"
    assert zone.clear("active") == 2
    assert zone.render() == "be brief\n\nstaged"
    assert zone.remove("rule")
    assert not zone.remove("rule")
    assert zone.get("rule") is None


@cases("arguments", "named")
def test_wrong_arguments_are_named(arguments: tuple[object, ...], named: str) -> None:
    with pytest.raises(InvalidInputError, match=named):
        zones(ManualClock(START)).add(*arguments)  # type: ignore[arg-type]
