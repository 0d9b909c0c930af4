"""What a night makes of what was said: summaries, themes, concepts, a smaller graph."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import spector
from spector import Config, Flag, Memory, ReflectReport, SleepConfig
from tests.sleep.nights import BEGIN, asleep, is_dormant, pass_days, tell, themes_in


def changed(report: ReflectReport, name: str) -> int:
    step = report.step(name)
    assert step is not None
    return step.changed


def consolidated(memory: Memory, record_id: int) -> bool:
    return Flag.CONSOLIDATED in memory.get(record_id).flags


def test_the_more_is_due_the_more_important_an_episode_must_be() -> None:
    with asleep() as (memory, clock):
        low, high = (memory.remember(f"note {n}", importance=n) for n in (0.49, 0.51))
        rest = memory.remember_many([f"filler {n}" for n in range(48)], importance=0.1)
        other = memory.remember("of another user", importance=0.4, user_id="b")
        pass_days(clock, 47 / 24)
        assert changed(memory.reflect("compress"), "compress") == 0
        pass_days(clock, 2 / 24)
        report = memory.reflect("compress")
        assert changed(report, "compress") == 2
        assert report.step("compress").skipped == {"less important": 49}  # type: ignore[union-attr]
        assert consolidated(memory, high.id)
        assert consolidated(memory, other.id), "another user's flood does not count"
        assert not consolidated(memory, low.id)
        assert memory.get(high.id).summary == high.text
        assert memory.recall("note", k=60)
        assert not any(is_dormant(memory, each.id) for each in rest)
        set_importance(memory, low.id, 0.9)
        assert changed(memory.reflect("compress"), "compress") == 0, "each is judged once"


def test_a_night_that_changes_nothing_has_judged_what_was_due() -> None:
    with asleep() as (memory, clock):
        low = memory.remember_many([f"gravel {n}" for n in range(25)], importance=0.2)
        pass_days(clock, 3)
        assert changed(memory.reflect("compress"), "compress") == 0
        report = memory.reflect("compress")
        assert (report.cycle, report.step("compress").skipped) == (0, {})  # type: ignore[union-attr]
        set_importance(memory, low[0].id, 0.9)
        high = memory.remember("slate", importance=0.42)
        memory.remember_many([f"sand {n}" for n in range(24)], importance=0.2)
        pass_days(clock, 3)
        report = memory.reflect("compress")
        assert report.step("compress").ids == (high.id,), "25 are due, not 50"  # type: ignore[union-attr]


def test_what_became_dormant_by_its_end_is_seen_by_who_asks_for_its_time() -> None:
    config = Config(sleep=SleepConfig(expiry_action="dormant"))
    with asleep(config=config) as (memory, clock):
        ended = memory.remember("paint the shed", valid_until="2026-01-05", user_id="u")
        others = [
            memory.remember(text, valid_until=end, user_id="u")
            for text, end in (("paint the gate", "2026-03-05"), ("paint the bench", None))
        ]
        memory.retire(others)
        pass_days(clock, 9)
        memory.reflect("expire")
        assert is_dormant(memory, ended.id)
        assert not memory.recall("paint", user_id="u")
        for asked in (
            {"as_of": "2026-01-04"},
            {"intent": "temporal"},
            {"as_of": "2026-01-04", "where": {"user_id": "u"}},
        ):
            assert [hit.id for hit in memory.recall("paint", **asked)] == [ended.id], asked  # type: ignore[arg-type]
        assert not memory.recall("paint", as_of="2026-01-06", user_id="u")


def test_promoting_alone_makes_concepts_of_shared_entities_and_of_success() -> None:
    with asleep() as (memory, clock):
        for n, text in enumerate(
            (
                "Redis crashed",
                "Redis needs 8 GB",
                "I restarted Redis",
                "Redis runs in Kars",
                "Redis is slow",
            )
        ):
            memory.observe(text, session_id=f"s{n % 3}", user_id="u", force=True)
        episodes = memory.layers["episodes"]
        runs = []
        for n in range(8):
            runs.append(episodes.store(f"Pulled {n}.", episode={"tool": "pull", "success": True}))
            pass_days(clock, 1)
        memory.reflect("promote")
        shared = memory.concepts.of("Redis", user_id="u")
        assert shared is not None
        assert len(shared.memory_refs["episodes"]) == 5
        learned = memory.concepts.of("pull → success")
        assert learned is not None
        edges = memory.graph.edges(learned.id, direction="out", kinds=["derived_from"])
        assert sorted(each.target for each in edges) == runs
        assert changed(memory.reflect("promote"), "promote") == 0


def test_runs_of_a_tool_in_equal_words_are_observations_of_their_own() -> None:
    with asleep() as (memory, clock):
        with memory.session("s", user_id="u") as chat:
            runs = []
            for _ in range(8):
                runs.append(chat.outcome("pull", True, goal="open lever", objects=["lever"]).id)
                pass_days(clock, 1)
        memory.reflect()
        assert not any(is_dormant(memory, each) for each in runs)
        before = {each.name: each for each in memory.concepts.find(user_id="u")}
        assert memory.reflect().cycle == 0, "a second night at once changes nothing"
        assert {each.name: each for each in memory.concepts.find(user_id="u")} == before


@pytest.mark.parametrize("text", ["I visited the museum.", "Müzeyi gezdim."])
def test_an_event_of_another_day_is_no_repetition(text: str) -> None:
    with asleep() as (memory, clock):
        made = []
        for _ in range(3):
            made += memory.observe(text, user_id="u", force=True).records
            pass_days(clock, 1)
        twice = [memory.remember("The museum is closed", user_id="u") for _ in range(2)]
        memory.reflect()
        assert len(made) == 3
        assert not any(is_dormant(memory, each.id) for each in made)
        assert any(is_dormant(memory, each.id) for each in twice)


def set_importance(memory: Memory, record_id: int, importance: float) -> None:
    memory.update(record_id, importance=importance)


def test_a_long_episode_gets_a_summary_of_its_own_sentences() -> None:
    filler = " ".join(f"Well, that is how it is, number {n}." for n in range(80))
    text = f"{filler} Ada Lovelace moved to Kars on 3 May 2024 with 12 boxes of books. {filler}"
    with asleep() as (memory, clock):
        made = memory.remember(text, importance=0.9)
        pass_days(clock, 3)
        memory.reflect("compress")
        found = memory.get(made.id)
        assert found.text == text
        assert found.summary is not None
        assert "Ada Lovelace moved to Kars" in found.summary
        assert len(found.summary) < len(text) / 3
        assert memory.check().ok


def test_three_memories_of_one_matter_and_session_become_a_theme(tmp_path: Path) -> None:
    with asleep(tmp_path / "mind") as (memory, clock):
        said: dict[str, Any] = {"session_id": "s", "tags": ["sea"]}
        texts = ("a boat", "a lamp", "two masts")
        made = [tell(memory, "Ada", "bought", text, user_id="u", **said) for text in texts]
        apart = tell(memory, "Ada", "bought", "a house", user_id="v", **said)
        pass_days(clock, 1)
        report = memory.reflect("consolidate")
        [theme] = themes_in(memory)
        assert theme.user_id == "u"
        assert changed(report, "consolidate") == 4
        assert theme.category is spector.Category.SUMMARY
        assert theme.write_source == "dream"
        assert theme.tags == ("sea",)
        assert all(text in theme.text for text in texts)
        edges = memory.graph.edges(theme.id, direction="out", kinds=["derived_from"])
        assert {each.id for each in made} < {each.target for each in edges}
        assert all(consolidated(memory, each.id) for each in made)
        assert not any(is_dormant(memory, each.id) for each in made)
        assert not consolidated(memory, apart.id)
        hits = memory.recall("Ada boat", k=10, user_id="u")
        assert {each.id for each in made} == {hit.id for hit in hits}
        assert changed(memory.reflect("consolidate"), "consolidate") == 0, "once"
        assert memory.check().ok
        memory.reflect_undo(report.cycle)
        assert not themes_in(memory)
        assert not any(consolidated(memory, each.id) for each in made)


def test_a_theme_goes_with_its_sources() -> None:
    with asleep() as (memory, clock):
        made = [tell(memory, "Ada", "likes", f"harbour {n}", session_id="s") for n in range(3)]
        pass_days(clock, 1)
        memory.reflect("consolidate")
        [theme] = themes_in(memory)
        report = memory.forget([each.id for each in made], purge=True, verify=True)
        assert theme.id in report.derived
        assert report.receipt is not None
        assert memory.count() == 0


def test_too_many_prunable_edges_are_trimmed_weakest_first_and_come_back() -> None:
    config = Config.preset("v9")
    with asleep(config=config) as (memory, _):
        ids = [each.id for each in memory.remember_many([f"n {n}" for n in range(60)])]
        pairs = [(a, b) for n, a in enumerate(ids) for b in ids[n + 1 :]][:1001]
        for n, (a, b) in enumerate(pairs):
            memory.graph.link(a, b, "related_to", confidence=0.2 + n / 2000)
        memory.graph.link(ids[0], ids[1], "causes")
        memory.graph.link(ids[2], ids[3], "contradicts")
        before = {
            (e.source, e.target, e.kind): e.confidence for i in ids for e in memory.graph.edges(i)
        }
        report = memory.reflect("graph")
        after = {(e.source, e.target, e.kind) for i in ids for e in memory.graph.edges(i)}
        gone = before.keys() - after
        assert len([key for key in after if key[2] == "related_to"]) == 900
        assert {key[2] for key in after} == {"related_to", "causes", "contradicts"}
        assert max(before[key] for key in gone) < min(
            before[key] for key in after if key[2] == "related_to"
        )
        memory.reflect_undo(report.cycle)
        assert {
            (e.source, e.target, e.kind): e.confidence for i in ids for e in memory.graph.edges(i)
        } == before


def test_what_the_graph_turns_on_is_not_forgotten() -> None:
    config = Config(sleep=SleepConfig(blast_radius=1.0))
    with asleep(config=config) as (memory, clock):
        dull = [memory.remember(f"hm {n}", importance=0.1) for n in range(50)]
        for each in dull[1:]:
            memory.graph.link(each, dull[0], "related_to")
        pass_days(clock, 300)
        memory.reflect(["graph", "forget"])
        memory.reflect("forget")
        assert not is_dormant(memory, dull[0].id)
        assert is_dormant(memory, dull[1].id)


def test_episodes_become_concepts_in_sleep() -> None:
    with asleep() as (memory, clock):
        for n in range(5):
            made = memory.remember(f"grasped the mug, try {n}")
            describe(memory, made, objects=["mug"], goal="grasp_mug", tool="gripper", success=True)
        pass_days(clock, 1)
        report = memory.reflect("extract")
        assert changed(report, "extract") >= 1
        mug = memory.concepts.of("mug")
        assert mug is not None
        assert len(mug.memory_refs["episodes"]) == 5
        assert changed(memory.reflect("extract"), "extract") == 0
        assert memory.check().ok
        memory.reflect_undo(report.cycle)
        assert memory.concepts.of("mug") is None


def describe(memory: Memory, record: Any, **fields: Any) -> None:
    """Keep an episode's details beside it."""
    from spector.knowledge import Changes, encode

    def decide(reader: Any, now_ms: int) -> Changes:
        changes = Changes()
        changes.put("payload", id=record.id, sort="episode", json=encode("episode", fields))
        return changes

    memory._parts.knowledge.commit(decide)


@pytest.mark.parametrize(
    ("most", "limits"),
    [(4, {"redundancy_most": 4}), (5, {"blast_least": 5, "blast_radius": 0.0})],
)
def test_what_is_over_the_limit_of_a_day_has_its_turn(most: int, limits: dict[str, Any]) -> None:
    """Pairs beyond 50 a day, or beyond what may rest in a day, were never compared again."""
    whole = {"redundancy_most": 50, "blast_least": 50, "blast_radius": 1.0}
    [*_, every] = _resting_by_night(whole)
    assert every > 2 * most
    assert _resting_by_night(limits) == [min(n * most, every) for n in (1, 2, 3, 4)]


def _resting_by_night(limits: dict[str, Any]) -> list[int]:
    """How many of twelve pairs rest after each of four nights."""
    with asleep(config=Config(sleep=SleepConfig(**limits))) as (memory, clock):
        for n in range(12):
            for mark in ("", "!"):
                memory.remember(f"Halina moors punt {n} at jetty {n * 7}{mark}", user_id="h")
        found = []
        for _ in range(4):
            pass_days(clock, 1.1)
            memory.reflect("deduplicate")
            found.append(sum(each.dormant for each in memory.records()))
        return found


def test_of_two_that_say_the_same_the_less_useful_rests() -> None:
    with asleep() as (memory, clock):
        one = memory.remember("Ada parks the red boat in Kars", tags=["x"])
        other = memory.remember("Ada parks the red boat in Kars", tags=["y"])
        memory.reinforce(one)
        number = memory.remember("Shell, 40 euros")
        memory.remember("Shell, 42 euros")
        foreign = memory.remember("Ada parks the red boat in Kars", user_id="b")
        tool = memory.remember("Ada parks the red boat in Kars", role="tool")
        agents = memory.remember("Ada parks the red boat in Kars", agent_id="b")
        pass_days(clock, 1)
        report = memory.reflect("deduplicate")
        assert is_dormant(memory, other.id)
        assert not any(is_dormant(memory, each.id) for each in (one, number, foreign, tool, agents))
        [edge] = memory.graph.edges(one.id)
        assert (edge.kind, edge.target) == ("similar_to", other.id)
        assert changed(memory.reflect("deduplicate"), "deduplicate") == 0
        memory.reflect_undo(report.cycle)
        assert not is_dormant(memory, other.id)
        assert not memory.graph.edges(one.id)


class Counting:
    """A summarizer that counts, and answers what a test wants."""

    def __init__(self, answer: Any) -> None:
        self.answer, self.calls = answer, 0

    def summarize(self, texts: Any, *, max_tokens: int) -> Any:
        self.calls += 1
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


@pytest.mark.parametrize(
    ("answer", "made"),
    [
        ("They sail.", 5),
        (ValueError("down"), 0),
        (None, 0),
        ("", 0),
        ("word " * 5000, 0),
    ],
)
def test_a_model_is_asked_within_its_budget_and_may_fail(answer: Any, made: int) -> None:
    from tests.fakes import FakeEmbedder
    from tests.sleep.nights import BEGIN

    model, clock = Counting(answer), spector.ManualClock(BEGIN)
    with spector.open(":memory:", embedder=FakeEmbedder(), clock=clock, summarizer=model) as memory:
        for theme in range(12):
            for n in range(3):
                tell(memory, f"Boat{theme}", "carries", f"load {n}")
        pass_days(clock, 1)
        report = memory.reflect("consolidate")
        assert (model.calls, report.llm_calls) == (5, 5)
        assert report.step("consolidate").fallback  # type: ignore[union-attr]
        themes = themes_in(memory)
        assert len(themes) == 12
        assert sum(each.text == "They sail." for each in themes) == made


def test_a_store_without_an_embedder_sleeps_too() -> None:
    clock = spector.ManualClock(BEGIN)
    with spector.open(":memory:", embedder=None, dim=4, clock=clock) as memory:
        for n in range(12):
            memory.remember(f"I like tea {n}.", importance=0.6, vector=[1.0, n / 100, 0.0, 0.0])
        pass_days(clock, 3)
        assert memory.reflect().finished
        assert len(themes_in(memory)) == 1
        assert len(memory.recall(vector=[1.0, 0.0, 0.0, 0.0], k=20)) == 12
        memory.remember("I like milk.", importance=0.6, vector=[0.0, 1.0, 0.0, 0.0])
        pass_days(clock, 3)
        assert memory.reflect().finished
        assert memory.check().ok
