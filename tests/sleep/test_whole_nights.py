"""Whole nights over a store in which every step has work: cut, killed, undone, beside other calls.

Mechanism: the same night undisturbed and disturbed, compared in all that the store says. Damage
without it: a step that is gone on with decides otherwise, a kill leaves half a unit, a purge during
a night comes back with it. Guard: each test, on one or two users, many of them slow.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import spector
from spector import Config, Flag, ManualClock, SleepConfig
from spector.arguments import SORTS
from tests.crash.shim import in_shimmed_process
from tests.facets.test_erasure import mention
from tests.proof import seed
from tests.sleep.nights import asleep, is_dormant, pass_days, tell, themes_in
from tests.sleep.rich import CONFIG, fill, told

Proof = Callable[..., None]


def slept(batch: int, *, users: int = 1, cut: bool = False, **sleep: Any) -> tuple[Any, int]:
    """What a store says after a night, and the number of calls that it took."""
    config = replace(CONFIG, sleep=replace(CONFIG.sleep, batch_records=batch, **sleep))
    with asleep(config=config) as (memory, clock):
        fill(memory, clock, users=users)
        calls = 1
        while not memory.reflect(max_seconds=1e-9 if cut else None).finished:
            calls += 1
        assert memory.check().ok, memory.check()
        return told(memory), calls


@pytest.mark.parametrize("at", [1, 2, 3, 4])
def test_a_graph_is_pruned_to_its_share_wherever_that_is_cut(at: int) -> None:
    """Also where so few edges are left to drop that there are no longer too many."""
    config = Config(
        sleep=SleepConfig(batch_records=1),
        knowledge=spector.KnowledgeConfig(max_edges=6, edges_per_memory=0),
    )

    def cut(step: str, done: int, total: int | None) -> None:
        if step == "graph" and done == at:
            raise KeyboardInterrupt

    with asleep(config=config) as (memory, clock):
        made = [memory.remember(f"stone {n}") for n in range(10)]
        for n, (one, other) in enumerate(itertools.pairwise(made), 1):
            memory.graph.link(one, other, "related_to", confidence=n / 10)
        pass_days(clock, 1)
        with pytest.raises(KeyboardInterrupt):
            memory.reflect(progress=cut)
        memory.reflect()
        left = {edge for each in made for edge in memory.graph.edges(each.id, direction="out")}
        assert sorted(each.confidence for each in left) == [0.5, 0.6, 0.7, 0.8, 0.9]


@pytest.mark.slow
@pytest.mark.parametrize("batch", [1, 3, 50, 500])
@pytest.mark.parametrize("forgets", [False, True])
def test_nights_of_any_unit_and_any_cut_are_the_same(batch: int, forgets: bool) -> None:
    how: dict[str, Any] = {"forget_action": "forget", "compress_below": "forget"} if forgets else {}
    whole, _ = slept(7, users=3, **how)
    assert slept(batch, users=3, **how)[0] == whole
    if not forgets:  # what is erased is not there to be counted when a step is gone on with
        assert slept(batch, users=3, cut=True, **how)[0] == whole


def _kills(proof: Proof, points: int, **how: Any) -> None:
    number = seed(3)
    print(f"SPECTOR_SEED={number}")
    found = in_shimmed_process(
        "tests.sleep.kills:nights", points=points, seed=number, timeout_s=2900, **how
    )
    proof(
        "nights",
        kills_in_a_night=found["kills"],
        nights_that_differ=len(found["differ"]),
        seeds=str(number),
    )
    assert found["differ"] == []
    assert found["kills"] == points


def test_a_night_that_is_killed_at_a_few_points_is_finished_by_the_next(proof: Proof) -> None:
    _kills(proof, 3)


@pytest.mark.slow
@pytest.mark.parametrize(("forgets", "users"), [(False, 2), (True, 1)])
def test_a_night_that_is_killed_at_random_points_is_finished_by_the_next(
    proof: Proof, forgets: bool, users: int
) -> None:
    _kills(proof, 200, forgets=forgets, users=users)


def test_a_second_night_at_once_changes_nothing_and_an_undone_one_leaves_nothing() -> None:
    with asleep(config=CONFIG) as (memory, clock):
        fill(memory, clock)
        cues = ["the boat", "Ada in Kars", "what does the user like", "step of the run"]

        def answers() -> list[Any]:
            return [
                [(hit.id, round(hit.score, 6)) for hit in memory.recall(cue, k=20, user_id=user)]
                for cue in cues
                for user in ("u0", "u1")
            ]

        before, found = told(memory), answers()
        report = memory.reflect()
        assert {step.name for step in report.steps if step.changed} >= {
            "decay",
            "emotion",
            "replay",
            "promote",
            "demote",
            "rehearse",
            "compress",
            "extract",
            "consolidate",
            "deduplicate",
            "forget",
        }
        after = told(memory)
        assert after != before
        again = memory.reflect()
        assert again.cycle == 0
        assert told(memory) == after
        undone = memory.reflect_undo(report.cycle)
        assert undone.kept == ()
        assert told(memory) == before
        assert answers() == found
        assert memory.check().ok


def test_what_a_second_night_restates_reads_as_before_when_that_is_undone() -> None:
    with asleep(config=CONFIG) as (memory, clock):
        fill(memory, clock, users=1)
        memory.reflect()
        tell(memory, "Ada", "bought", "a seaside hut", user_id="u0")
        memory.remember("I play chess.", importance=0.6, user_id="u0")
        pass_days(clock, 3)
        before = told(memory)
        report = memory.reflect()
        assert [each.id for each in themes_in(memory) if "seaside" in each.text]
        undone = memory.reflect_undo(report.cycle)
        assert undone.kept == ()
        assert told(memory) == before


def test_memories_before_and_after_a_night_differ_by_what_it_made() -> None:
    with asleep(config=CONFIG) as (memory, clock):
        fill(memory, clock, users=1)
        before = {r.id: r for r in memory.records(sorts=SORTS)}
        report = memory.reflect()
        after = {r.id: r for r in memory.records(sorts=SORTS)}
        assert report.memories == (len(before), len(after))
        assert before.keys() <= after.keys(), "nothing is deleted"
        made = after.keys() - before.keys()
        named = {each for step in report.steps for each in step.ids}
        assert made <= named
        slept = {each for each in before if Flag.DORMANT in after[each].flags}
        assert report.dormant == (0, len(slept))
        assert slept <= named
        assert {each: before[each].text for each in before} == {
            each: after[each].text for each in before
        }


def test_a_purge_during_a_night_leaves_no_word_behind(tmp_path: Path) -> None:
    gone: list[Any] = []
    with asleep(tmp_path / "mind", config=CONFIG) as (memory, clock):
        fill(memory, clock, users=1)
        secret = [
            memory.remember(
                f"Ada of u0 hid the zanzibar{n} key. I live in Zanzibar{n}.",
                session_id="t0",
                importance=0.7,
                user_id="u0",
            )
            for n in range(6)
        ]
        pass_days(clock, 3)
        steps: list[str] = []

        def progress(step: str, done: int, total: int | None) -> None:
            if (not steps or steps[-1] != step) and len(gone) < len(secret):
                steps.append(step)
                if step in ("compress", "extract", "consolidate", "deduplicate", "forget"):
                    report = memory.forget(secret[len(gone)].id, purge=True, verify=True)
                    assert report.receipt is not None
                    gone.append(report)

        assert memory.reflect(progress=progress).finished
        assert len(gone) >= 4
        memory.forget([each.id for each in secret[len(gone) :]], purge=True)
        for _ in range(2):
            pass_days(clock, 1)
            memory.reflect()
        assert not [r.text for r in memory.records(sorts=SORTS) if "zanzibar" in r.text.lower()]
        assert not [f for f in memory.facts.query() if "zanzibar" in f.object.lower()]
        for each in (1, 2, 3):
            with_words = [r for r in memory.recall(f"zanzibar{each}", k=50) if "anzibar" in r.text]
            assert not with_words
        assert memory.check().ok
        memory.checkpoint()
    for path in (tmp_path / "mind").rglob("*"):
        if path.is_file():
            assert b"anzibar" not in path.read_bytes(), path


def test_ten_users_share_no_word_of_what_a_night_makes() -> None:
    words = [
        "quince",
        "walrus",
        "zeppelin",
        "marimba",
        "obelisk",
        "tundra",
        "falcon",
        "jasmine",
        "kayak",
        "velvet",
    ]
    with asleep(config=CONFIG) as (memory, clock):
        for user, word in enumerate(words):
            for n in range(12):
                made = memory.remember(
                    f"I like {word} number {n}.",
                    category="preference",
                    importance=0.6,
                    user_id=word,
                    session_id="s",
                )
                if n < 3:
                    mention(memory, made, "The Shop")
            for run in range(2):
                for n, tool in enumerate(("find", f"pay_{word}", "send")):
                    memory.layers["episodes"].store(
                        f"{tool} {word} {run} {n}",
                        user_id=word,
                        importance=0.5,
                        episode={
                            "tool": tool,
                            "success": (user, n) != (3, 1),
                            "run_id": f"r{run}",
                            "goal": f"return the {word}",
                            "objects": [word, "shop"],
                        },
                    )
        for _ in range(2):
            pass_days(clock, 3)
            memory.reflect()
        dreamt = [r for r in memory.records(sorts=SORTS) if r.write_source == "dream"]
        kinds = {str(r.payload) for r in dreamt}
        assert kinds >= {"None", "fact", "concept", "procedure"}
        for record in dreamt:
            assert record.user_id in words
            others = [each for each in words if each != record.user_id and each in record.text]
            assert not others, record.text
        users = {r.id: r.user_id for r in memory.records(sorts=SORTS)}
        for each in users:
            for edge in memory.graph.edges(each):
                assert users[edge.source] == users[edge.target], edge


def test_all_steps_together_retire_no_more_than_the_limit_of_a_day() -> None:
    config = replace(
        CONFIG, sleep=replace(CONFIG.sleep, blast_radius=0.02, expiry_action="dormant")
    )
    with asleep(config=config) as (memory, clock):
        fill(memory, clock, users=1)
        memory.remember_many(
            [{"text": f"hm dull {n}", "importance": 0.1, "user_id": "u0"} for n in range(600)]
        )
        pass_days(clock, 400)
        active = sum(Flag.DORMANT not in r.flags for r in memory.records(sorts=SORTS))
        seen = []
        for hours in (0, 6, 17.9, 0.2):
            clock.advance(hours=hours)
            memory.reflect()
            seen.append(sum(is_dormant(memory, r.id) for r in memory.records(sorts=SORTS)))
        most = active * 0.02 + 1
        assert 10 < seen[0] <= most
        assert seen[:3] == [seen[0]] * 3, "nothing more within 24 hours"
        assert seen[0] < seen[3] <= 2 * most


def test_forgetting_erases_where_that_is_configured_and_within_the_same_limits() -> None:
    sleep = SleepConfig(forget_action="forget", blast_radius=0.02)
    with asleep(config=Config(sleep=sleep)) as (memory, clock):
        dull = memory.remember_many([{"text": f"hm {n}", "importance": 0.1} for n in range(1000)])
        kept = [
            memory.remember("hm ok", importance=0.1, **how)
            for how in (
                {"pinned": True},
                {"immutable": True},
                {"category": "preference"},
                {"unresolved": True},
            )
        ]
        pass_days(clock, 400)
        plan = memory.reflect("forget", dry_run=True)
        assert {each.action for each in plan.proposals} == {"forget"}
        counts = []
        for days in (0, 0, 1):
            pass_days(clock, days)
            report = memory.reflect("forget")
            counts.append(report.step("forget").changed)  # type: ignore[union-attr]
        assert counts == [20, 0, 19]
        assert memory.count() == len(dull) + 4 - 39
        first = {each for proposal in plan.proposals for each in proposal.ids}
        assert not first & {r.id for r in memory.records(sorts=SORTS)}
        assert all(memory.get(each.id) for each in kept)
        undone = memory.reflect_undo(report.cycle)
        assert len(undone.kept) == 19, "what is erased is listed, and stays erased"
        assert memory.check().ok


def test_what_is_below_the_threshold_rests_or_goes_as_configured() -> None:
    for below, days, gone, asleep_now in (
        ("keep", 9, 0, 0),
        ("dormant", 9, 0, 20),
        ("forget", 9, 20, 0),
        ("dormant", 3, 0, 0),
        ("forget", 3, 0, 0),
    ):
        sleep = SleepConfig(compress_below=below, blast_radius=1.0)  # type: ignore[arg-type]
        with asleep(config=Config(sleep=sleep)) as (memory, clock):
            memory.remember_many([{"text": f"hm {n}", "importance": 0.2} for n in range(20)])
            name = memory.remember("My name is Ada.", importance=0.2)
            pass_days(clock, days)
            memory.reflect("compress")
            assert memory.count() == 21 - gone, (below, days)
            assert sum(is_dormant(memory, r.id) for r in memory.records(sorts=SORTS)) == asleep_now
            assert not is_dormant(memory, name.id)


def test_the_preset_of_ucma_forgets_what_is_below_after_two_days() -> None:
    with asleep(config=Config.preset("ucma")) as (memory, clock):
        low, high = (memory.remember(f"note {n}", importance=n) for n in (0.49, 0.51))
        memory.remember_many([f"filler {n}" for n in range(48)], importance=0.9)
        clock.advance(hours=49)
        memory.reflect("compress")
        with pytest.raises(spector.UnknownRecordError):
            memory.get(low.id)
        assert Flag.CONSOLIDATED in memory.get(high.id).flags


def test_memories_that_share_an_entity_move_where_that_is_configured() -> None:
    from tests.facets.test_erasure import mention

    config = Config.preset("v9")
    with asleep(config=config) as (memory, clock):
        shared = [
            memory.remember(f"Ada {n}", session_id="s", user_id="u", pinned=n == 2)
            for n in range(4)
        ]
        few = [memory.remember(f"Ben {n}", session_id="s", user_id="u") for n in range(2)]
        other = memory.remember("Ada elsewhere", session_id="s", user_id="v")
        for each in (*shared, other):
            mention(memory, each, "Ada")
        for each in few:
            mention(memory, each, "Ben")
        pass_days(clock, 1)
        report = memory.reflect("promote")
        tiers = [memory.get(each.id).tier for each in (*shared, *few, other)]
        assert tiers == ["semantic", "semantic", "episodic", "semantic", *["episodic"] * 3]
        assert memory.get(shared[0].id).session_id == "s"
        memory.reflect("extract")
        assert memory.concepts.of("Ada") is None, "they move instead"
        assert memory.check().ok
        memory.reflect_undo(memory.reflect("extract").cycle or report.cycle)
        assert {memory.get(each.id).tier for each in shared} == {"episodic"}


def test_the_daemon_rehearses_at_an_interval_of_its_own(clock: ManualClock) -> None:
    from tests.sleep.test_daemon import wait_for

    for auto, least in ((None, 1), (False, 0)):
        sleep = SleepConfig(testing_interval_s=0.02, auto=auto, steps=("decay",))
        with asleep(config=Config(sleep=sleep)) as (memory, moved):
            memory.remember("one that fades", importance=0.1)
            made = memory.remember_many([f"note {n}" for n in range(3)], category="preference")
            pass_days(moved, 3)
            assert memory.reflect("decay").cycle
            pass_days(moved, 80)
            before = [memory.get(each.id).stability_days for each in made]
            memory.daemon.start()
            if least:
                wait_for(lambda memory=memory: memory.daemon.rehearsals >= 2)  # type: ignore[misc]
            else:
                wait_for(lambda memory=memory: memory.daemon._test > 0)  # type: ignore[misc]
                memory.daemon.stop()
            assert memory.daemon.stop()
            grown = [
                memory.get(each.id).stability_days / old
                for each, old in zip(made, before, strict=True)
            ]
            wanted = 1.5 if least else 1.0
            assert grown == pytest.approx([wanted] * 3), "once in 24 hours, however often it runs"
