"""A list of memories has what was said and stored; what is derived comes when it is named.

Mechanism: the mark of a record that repeats others, and the sort of its payload. Damage without it:
a user's list shows "mug salience: mean=0.40" beside their own words, and counts it; or an export, a
forgetting or an erasure leaves it behind. Guard: every list and count of one store, one by one.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import spector
from spector import ManualClock, Memory, UnknownArgumentError
from spector.arguments import SORTS
from spector.store.catalog import catalog as ways
from tests.cases import Cases
from tests.fakes import FakeEmbedder

cases = Cases(__file__)


@pytest.fixture
def memory() -> Memory:
    """Eight episodes, a concept and a fact that a caller added, and two statistics."""
    memory = spector.open(":memory:", embedder=FakeEmbedder())
    concept, _ = memory.concepts.find_or_create("tea kettle", user_id="u")
    for n in range(8):
        each = memory.layers["episodes"].store(
            f"boil {n}",
            user_id="u",
            episode={"objects": ["kettle"], "tool": "boil", "success": n != 2, "salience": n / 10},
        )
        memory.concepts.reinforce(concept.id, each)
    memory.concepts.ground(concept.id)
    memory.facts.add("Nadia", "lives_in", "Graz", user_id="u")
    return memory


def test_lists_and_counts_agree_on_what_was_said(memory: Memory) -> None:
    listed = [each.id for each in memory.records()]
    assert len(listed) == 10
    assert len(memory) == memory.count() == memory.count(user_id="u") == 10
    assert [each.id for each in memory] == listed
    assert [each.id for each in memory.records(user_id="u", newest_first=True)] == listed[::-1]
    assert memory.stats()["records"] == memory.stats(user_id="u")["records"] == 10
    assert sum(tier["records"] for tier in memory.stats()["tiers"].values()) == 10
    assert [(user.id, user.count) for user in memory.users()] == [("u", 10)]
    assert not [each for each in memory.records() if each.payload == "statistic"]


def test_what_is_derived_comes_by_its_sort(memory: Memory) -> None:
    assert memory.count(sorts=SORTS) == len(list(memory.records(sorts=SORTS))) == 12
    for sort, count in {"memory": 8, "fact": 1, "concept": 1, "statistic": 2, "theme": 0}.items():
        found = list(memory.records(sorts=sort))
        assert len(found) == memory.count(sorts=[sort], user_id="u") == count, sort
        assert sum(user.count for user in memory.users(sorts=sort)) == count
    assert memory.count(sorts=["fact", "statistic"]) == 3
    assert [user.count for user in memory.users(sorts=["fact", "statistic"])] == [3]
    with pytest.raises(spector.InvalidFilterError, match="no sort"):
        memory.users(sorts="facts")
    assert [each.payload for each in memory.records(sorts="statistic", limit=1)] == ["statistic"]
    assert memory.stats()["derived"] == 2


def test_a_drawn_fact_is_derived_and_one_of_a_caller_is_not(memory: Memory) -> None:
    source = memory.remember("Wren keeps bees in Oulu.", user_id="w")
    memory.facts.add("Wren", "keeps", "bees", source=source)
    memory.facts.add("Wren", "owns", "a punt", user_id="w")
    assert memory.count(user_id="w") == 2
    assert memory.count(user_id="w", sorts="fact") == 2
    assert memory.count(user_id="w", sorts=SORTS) == 3
    assert [each.payload for each in memory.records(user_id="w")] == [None, "fact"]


def test_a_fact_that_outlives_its_source_is_a_memory(memory: Memory) -> None:
    """It was in no list and no recall, though nothing else says it any more."""
    source = memory.remember("Wren keeps bees in Oulu.", user_id="w")
    fact = memory.facts.add("Wren", "keeps", "bees", source=source)
    memory.forget(source, cascade=False)
    assert [each.id for each in memory.records(user_id="w")] == [fact.id]
    assert [hit.id for hit in memory.recall("Wren bees", user_id="w")] == [fact.id]
    assert memory.check().ok


def test_a_page_has_as_many_as_it_may(memory: Memory) -> None:
    """What is left out of a list takes no place on its pages."""
    pages, after = [], None
    while page := list(memory.records(after=after, limit=3)):
        pages.append(len(page))
        after = page[-1]
    assert pages == [3, 3, 3, 1]


def test_a_tier_that_is_not_kept_has_no_tables_of_sorts(memory: Memory) -> None:
    memory.remember("the kettle is hot", tier="working")
    assert memory.count(sorts="fact") == 1
    assert memory.count(sorts="memory") == len(list(memory.records(sorts="memory"))) == 9


def test_an_export_is_a_copy_and_sorts_narrow_it(memory: Memory, tmp_path: Path) -> None:
    assert memory.export(tmp_path / "all.jsonl") == 12
    assert memory.export(tmp_path / "facts.jsonl", sorts="fact") == 1
    [line] = map(json.loads, (tmp_path / "facts.jsonl").read_text().splitlines()[:1])
    assert line["payload"]["fact"]["object"] == "Graz"


def test_forgetting_a_user_takes_what_is_derived_along(memory: Memory) -> None:
    assert len(memory.forget(user_id="u", purge=True).ids) == 12
    assert memory.count(sorts=SORTS) == 0
    assert memory.users() == []


def test_a_count_takes_off_once_what_has_ended_and_is_derived() -> None:
    """A count takes both off one number: a derived memory that has ended is off it once."""
    clock = ManualClock("2026-06-01T09:00:00Z")
    with spector.open(":memory:", clock=clock, embedder=FakeEmbedder(16)) as memory:
        for n, name in enumerate(("Petra", "Nora", "Omar", "Ada")):
            said = memory.remember(
                f"{name} lives in Oulu.", user_id="u", tags=["t"], expires_in=60 + n
            )
            memory.facts.learn(said)
        for ended in range(5):
            for chosen in ({"user_id": "u"}, {"tags": ["t"]}, {"user_id": "u", "tags": ["t"]}):
                assert memory.count(**chosen) == len(list(memory.records(**chosen))) == 4 - ended
            every = memory.count(user_id="u", sorts=SORTS)
            assert every == len(list(memory.records(user_id="u", sorts=SORTS))) == 2 * (4 - ended)
            clock.advance(seconds=60 if not ended else 1)


# -- Lists come in pages, in either order, whatever happens between two of them --------------------
#
# Mechanism: a page begins behind an id, not at a number of rows. Damage without it: a memory that
# is shown twice or never because another was forgotten meanwhile. Guard: pages of every size in
# both orders beside the whole list, with changes in between.


@pytest.fixture
def paged_memory(tmp_path: Path) -> Iterator[Memory]:
    with spector.open(tmp_path / "mind", embedder=FakeEmbedder()) as opened:
        opened.remember_many(
            [
                {
                    "text": f"memory {n}",
                    "user_id": f"u{n % 2}",
                    "tags": [f"t{n % 3}"],
                    "metadata": {"n": n},
                    "tier": "semantic" if n % 5 else "episodic",
                }
                for n in range(23)
            ]
        )
        opened.remember("passing", tier="working", user_id="u0")
        yield opened


def pages(paged_memory: Memory, size: int, **more: Any) -> list[list[int]]:
    """The ids of every page."""
    out: list[list[int]] = []
    last = None
    while found := [each.id for each in paged_memory.records(after=last, limit=size, **more)]:
        out.append(found)
        last = found[-1]
    return out


@pytest.mark.parametrize("size", [1, 2, 7, 23, 24, 25, 1000])
@cases("chosen")
def test_pages_are_the_list_in_parts(
    paged_memory: Memory, size: int, chosen: dict[str, Any]
) -> None:
    whole = [each.id for each in paged_memory.records(**chosen)]
    assert whole == sorted(whole)
    assert whole
    found = pages(paged_memory, size, **chosen)
    assert [each for page in found for each in page] == whole
    assert all(len(page) == size for page in found[:-1])
    back = pages(paged_memory, size, newest_first=True, **chosen)
    assert [each for page in back for each in page] == whole[::-1]
    assert [each.id for each in paged_memory.records(newest_first=True, **chosen)] == whole[::-1]


def test_what_goes_or_comes_between_two_pages_disturbs_neither(paged_memory: Memory) -> None:
    ids = [each.id for each in paged_memory.records(tiers=["episodic", "semantic"])]
    first = list(paged_memory.records(limit=5))
    paged_memory.forget([ids[4], ids[6]])  # the last of the page, and one of the next
    paged_memory.update(ids[7], text="changed", user_id=None)
    new = paged_memory.remember("new")
    rest = [each.id for each in paged_memory.records(after=first[-1])]
    assert [*ids[5:6], *ids[7:], new.id] == [each for each in rest if each in {*ids, new.id}]
    newest = list(paged_memory.records(limit=3, newest_first=True))
    paged_memory.forget(newest[-1])
    after = paged_memory.remember("newer still")
    older = [each.id for each in paged_memory.records(after=newest[-1].id, newest_first=True)]
    assert after.id not in older
    assert older == sorted(older, reverse=True)
    assert max(older) < newest[-1].id


def test_an_iterator_is_of_its_moment_of_reading(paged_memory: Memory) -> None:
    found = paged_memory.records(limit=10, newest_first=True)
    first = next(found)
    gone = [each.id for each in paged_memory.records(limit=4, newest_first=True)][2]
    paged_memory.forget(gone)
    assert gone not in [first.id, *(each.id for each in found)]


def test_after_takes_a_record_a_hit_or_an_id_of_anything(paged_memory: Memory) -> None:
    some = list(paged_memory.records(limit=3))
    hit = next(h for h in paged_memory.recall("memory 1", k=30) if h.id == some[1].id)
    for after in (some[1], some[1].id, hit):
        assert next(paged_memory.records(after=after)).id == some[2].id
    assert next(paged_memory.records(after=0)).id == some[0].id
    assert list(paged_memory.records(after=(1 << 63) - 1)) == []
    assert list(paged_memory.records(after=0, newest_first=True)) == []
    assert len(list(paged_memory.records(after=(1 << 63) - 1, newest_first=True))) == len(
        paged_memory
    )


def test_only_lists_have_pages(paged_memory: Memory) -> None:
    with pytest.raises(UnknownArgumentError):
        paged_memory.count(limit=3)
    with pytest.raises(UnknownArgumentError):
        paged_memory.forget(limit=3)


def test_a_reader_pages_while_a_writer_writes(tmp_path: Path) -> None:
    with spector.open(tmp_path / "mind", embedder=FakeEmbedder()) as paged_memory:
        paged_memory.remember_many([f"memory {n}" for n in range(12)])
        with spector.open(tmp_path / "mind", embedder=FakeEmbedder(), mode="r") as reader:
            first = list(reader.records(limit=5))
            paged_memory.forget(list(paged_memory.records(limit=8)))
            paged_memory.remember("new")
            rest = [each.text for each in reader.records(after=first[-1])]
            assert rest == ["memory 8", "memory 9", "memory 10", "memory 11", "new"]


# -- Counts and pages by tags and labels are those of the list, whichever index leads --------------
#
# Mechanism: the index with the fewest ids is followed, the others are probed. Damage without it: a
# page or a count that takes as long as the commonest tag is common, or that another index answers.
# Guard: every selection of several labels and tags beside a plain list of all memories, with each
# index in the lead, with memories that have expired, and after changes.


_TAGS = ([], ["all"], ["t1"], ["all", "t1"], ["t1", "half"], ["İz"], ["nobody's"])
_LABELS: tuple[dict[str, Any], ...] = tuple(cases.rows("_LABELS"))
_MORE: tuple[dict[str, Any], ...] = (
    {},
    {"where": {"n": {"lt": 60}}},
    {"tiers": ["semantic"]},
    {"any_tags": ["t2", "half"]},
    {"key_prefix": "k1", "namespace": ()},
    {"time_range": (None, "2026-03-03")},
)


@pytest.fixture
def tagged_memory(tmp_path: Path) -> Iterator[Memory]:
    clock = ManualClock("2026-03-02T09:00:00Z")
    with spector.open(tmp_path / "mind", embedder=FakeEmbedder(), clock=clock) as opened:
        opened.remember_many(
            [
                {
                    "text": f"memory {n}",
                    "tags": ["all", f"t{n % 3}", *["half"] * (n % 2)],
                    "user_id": ("ada", "çelik", None)[n // 3 % 3],
                    "session_id": f"s{n % 5}",
                    "agent_id": "bot" if n % 4 else None,
                    "metadata": {"n": n},
                    "key": f"k{n}",
                    "tier": "semantic" if n % 5 else "episodic",
                    "event_time": f"2026-03-0{1 + n % 5}",
                    **({"expires_in": 60.0} if n % 7 == 0 else {}),
                }
                for n in range(90)
            ]
        )
        opened.remember("iz", tags=["İz", "all"], user_id="ada", agent_id="bot")
        clock.advance(seconds=61)
        opened.forget(key="k10", user_id="ada", agent_id="bot")
        opened.update(key="k11", user_id="ada", agent_id="bot", tags=["t1", "moved"])
        yield opened


def _chosen(tags: list[str], labels: dict[str, Any], more: dict[str, Any]) -> dict[str, Any]:
    return {**({"tags": tags} if tags else {}), **labels, **more}


@pytest.mark.parametrize(
    "few", [0, *(pytest.param(n, marks=pytest.mark.slow) for n in (10, 20_000))]
)
def test_counts_and_pages_are_those_of_the_list(
    tagged_memory: Memory, monkeypatch: pytest.MonkeyPatch, few: int
) -> None:
    monkeypatch.setattr(ways, "FEW", few)
    every = list(tagged_memory.records())
    found = 0
    for tags, labels, more in itertools.product(_TAGS, _LABELS, _MORE):
        chosen = _chosen(tags, labels, more)
        whole = [each.id for each in tagged_memory.records(**chosen)]
        plain = {
            each.id
            for each in every
            if set(tags) <= set(each.tags)
            and all(getattr(each, name) == value for name, value in labels.items())
        }
        assert set(whole) <= plain, chosen
        assert more or set(whole) == plain, chosen
        assert tagged_memory.count(**chosen) == len(whole), chosen
        found += len(whole)
        if whole:
            page = [each.id for each in tagged_memory.records(limit=4, after=whole[0], **chosen)]
            assert page == whole[1:5], chosen
            back = tagged_memory.records(limit=4, newest_first=True, **chosen)
            assert [each.id for each in back] == whole[::-1][:4], chosen
    assert found > 1000


def test_a_tag_that_all_have_costs_a_page_no_more_than_the_page(tagged_memory: Memory) -> None:
    """The steps of SQLite are counted, which no load of the machine changes."""
    catalog, listing = tagged_memory._parts.store.catalog, tagged_memory._parts.listing
    passed = [0]

    def step() -> int:
        passed[0] += 1
        return 0

    def steps(**given: Any) -> int:
        chosen = listing.select(given, "records")
        condition, _ = listing.condition(chosen, beside_ways=True)
        with catalog.reading() as db:
            passed[0] = 0
            db.set_progress_handler(step, 1)
            try:
                next(catalog.pages(condition.sql, condition.params, 3, ways=chosen.ways))
            finally:
                db.set_progress_handler(None, 0)
        return passed[0]

    few = steps(tags=["all"])
    tagged_memory.remember_many([{"text": f"more {n}", "tags": ["all"]} for n in range(250)])
    assert steps(tags=["all"]) == few


# -- What is read within a scope names no memory outside of it, links included ---------------------
#
# Mechanism: parents and what superseded what are ids, which may lead to memories of another user.
# Damage: an export for one person, or the hits of a scoped recall, had the ids of memories of
# others. Guard: records, export, recall and context of a scope leave them out; without a scope all
# are there.


@pytest.fixture
def linked_memory(tmp_path: Path) -> Memory:
    return spector.open(tmp_path / "mind", embedder=FakeEmbedder())


def linked(linked_memory: Memory) -> tuple[int, int, int]:
    """Ids of a memory of another user, of one of Ida's and of what derives from both."""
    other = linked_memory.remember("the gate code is in the shed", user_id="bo").id
    own = linked_memory.remember("the gate squeaks", user_id="ida").id
    child = linked_memory.remember("the gate needs oil", user_id="ida", parents=[other, own]).id
    return other, own, child


def test_records_and_exports_of_a_user_name_no_memory_of_others(
    linked_memory: Memory, tmp_path: Path
) -> None:
    other, own, child = linked(linked_memory)
    found = {record.id: record for record in linked_memory.records(user_id="ida")}
    assert found[child].parents == (own,)
    linked_memory.export(tmp_path / "ida.jsonl", user_id="ida")
    lines = (tmp_path / "ida.jsonl").read_text().splitlines()
    assert [
        json.loads(line)["parents"]
        for line in lines
        if f'"id": {child}' in line or json.loads(line)["id"] == child
    ] == [[own]]
    assert str(other) not in "".join(lines)
    everything = {record.id: record for record in linked_memory.records()}
    assert everything[child].parents == (other, own)
    linked_memory.close()


def test_hits_of_a_user_name_no_memory_of_others(linked_memory: Memory) -> None:
    other, own, child = linked(linked_memory)
    by_id = {hit.id: hit for hit in linked_memory.recall("the gate needs oil", user_id="ida")}
    assert by_id[child].record.parents == (own,)
    unscoped = {hit.id: hit for hit in linked_memory.recall("the gate needs oil")}
    assert unscoped[child].record.parents == (other, own)
    linked_memory.close()


def test_hits_of_a_session_name_no_memory_that_another_session_superseded(
    linked_memory: Memory,
) -> None:
    old = linked_memory.remember("the ferry leaves at nine", user_id="ida", session_id="may")
    new = linked_memory.remember(
        "the ferry leaves at ten", user_id="ida", session_id="june", supersedes=old
    )
    scoped = linked_memory.recall("the ferry", session_id="may", include="superseded")
    assert [(hit.id, hit.record.superseded_by) for hit in scoped] == [(old.id, ())]
    own = linked_memory.recall("the ferry", user_id="ida", include="superseded")
    assert {hit.id: hit.record.superseded_by for hit in own}[old.id] == (new.id,)
    linked_memory.close()


def test_a_superseded_memory_in_a_context_says_so(linked_memory: Memory) -> None:
    old = linked_memory.remember("the ferry leaves at nine", event_time="2026-03-01")
    linked_memory.remember("the ferry leaves at ten", supersedes=old, event_time="2026-05-03")
    text = str(
        linked_memory.context("when does the ferry leave?", include="superseded", always=True)
    )
    (line,) = [each for each in text.splitlines() if "at nine" in each]
    assert "(superseded 2026-05-03)" in line
    (line,) = [each for each in text.splitlines() if "at ten" in each]
    assert "superseded" not in line
    linked_memory.close()
