"""What decides whether a recall says nothing is judged by the memories that its filter leaves.

Mechanism: memories were counted, and likeness was measured, over all of a store. Damage: a user
with two memories was met with silence because of somebody else's sixty; a filter that nothing
passes reported how like the others were. Guard: a filter gives the signals of a store that has
nothing else.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import spector
from spector import Config, Memory
from spector.search.evidence.baseline import SAMPLE
from tests.fakes import FakeEmbedder

DIM = 16
CUE = "Where did he put the two-wheeler?"
AXES = np.eye(DIM)


def _open(*, small: bool = True) -> Memory:
    config = Config(rank_all_records=8192 if small else 50)
    clock = spector.ManualClock(1_800_000_000_000)
    memory = spector.open(":memory:", embedder=FakeEmbedder(DIM), config=config, clock=clock)
    memory._parts.probes.for_cue(CUE, make=True)  # as a context does
    return memory


def _noise(count: int, seed: int = 3) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(count, DIM))


def _others(memory: Memory, count: int, **common: Any) -> None:
    """Memories of somebody else, all alike, with the words of the cue."""
    memory.remember_many(
        [
            {
                "text": f"the two-wheeler, put away as note {n}",
                "vector": AXES[0] + 0.01 * v,
                **common,
            }
            for n, v in enumerate(_noise(count))
        ]
    )


def _own(memory: Memory, count: int, **common: Any) -> None:
    memory.remember_many(
        [
            {"text": f"the umbrella {n} is red", "vector": v, **common}
            for n, v in enumerate(_noise(count, 9))
        ]
    )


SCOPES: list[tuple[dict[str, Any], dict[str, Any], dict[str, Any]]] = [
    ({"user_id": "dan"}, {"user_id": "carla"}, {"user_id": "dan"}),
    ({"agent_id": "a"}, {"agent_id": "b"}, {"agent_id": "a"}),
    ({"session_id": "s"}, {"session_id": "t"}, {"session_id": "s"}),
    ({"tags": ["x"]}, {"tags": ["y"]}, {"tags": ["x"]}),
    ({"tags": ["x"]}, {"tags": ["y"]}, {"any_tags": ["x", "z"]}),
    ({"metadata": {"p": 1}}, {"metadata": {"p": 2}}, {"where": {"p": 1}}),
    (
        {"event_time": "2026-01-05"},
        {"event_time": "2025-01-05"},
        {"time_range": ("2026-01-01", "2026-02-01")},
    ),
    ({"importance": 0.9}, {"importance": 0.1}, {"min_importance": 0.5}),
    ({"category": "decision"}, {"category": "preference"}, {"categories": "decision"}),
]


@pytest.mark.parametrize(("own", "others", "scope"), SCOPES)
@pytest.mark.parametrize("small", [True, False])
@pytest.mark.parametrize("count", [3, 60])
def test_a_filter_gives_the_signals_of_a_store_without_the_rest(
    own: dict[str, Any], others: dict[str, Any], scope: dict[str, Any], small: bool, count: int
) -> None:
    vector = AXES[0] + AXES[1]
    # what is of one session stands around one another, whatever is asked for
    around = {name: each for name, each in own.items() if name == "session_id"}
    with _open(small=small) as memory, _open() as alone:
        _own(memory, count, **own)
        _others(memory, 60, **others)
        _own(alone, count, **around)
        for k in (2, 10, 40, 100):
            found = memory.recall(CUE, vector=vector, k=k, **scope).signals
            wanted = alone.recall(CUE, vector=vector, k=k).signals
            assert found is not None
            assert wanted is not None
            assert found.memories == count
            assert found.cosine == pytest.approx(wanted.cosine, abs=1e-4)
            assert found.coverage == wanted.coverage == 0.0
            assert found.likeness == (
                None if wanted.likeness is None else pytest.approx(wanted.likeness, abs=1e-3)
            )


@pytest.mark.parametrize("small", [True, False])
def test_of_fewer_than_four_memories_in_a_scope_nothing_is_withheld(small: bool) -> None:
    with _open(small=small) as memory:
        _own(memory, 2, user_id="dan")
        _others(memory, 60, user_id="carla")
        common: dict[str, Any] = {"cue": "Where is Zorblax?", "vector": -AXES[0]}
        assert memory.recall(**common, selective=True).abstained, "it can be met with silence"
        hits = memory.recall(**common, user_id="dan", selective=True)
        assert hits
        assert not hits.abstained
        assert memory.context("Where is Zorblax?", vector=-AXES[0], user_id="dan").text


@pytest.mark.parametrize("small", [True, False])
@pytest.mark.parametrize("scope", [{"where": {"p": 7}}, {"agent_id": "no"}, {"tags": ["no"]}])
def test_a_filter_that_nothing_passes_tells_nothing_of_others(
    scope: dict[str, Any], small: bool
) -> None:
    with _open(small=small) as memory:
        _others(memory, 60, user_id="carla")
        found = memory.recall(CUE, vector=AXES[0], **scope)
    assert found == []
    assert found.signals is not None
    assert (found.signals.coverage, found.signals.cosine, found.signals.likeness) == (0, None, None)
    assert found.signals.memories == 0


@pytest.mark.sampled
@pytest.mark.parametrize("small", [True, False])
@pytest.mark.parametrize(
    "scope", [{"where": {"p": 1}}, {"user_id": "dan"}, {"min_importance": 0.5}]
)
def test_of_many_that_pass_a_sample_is_measured(scope: dict[str, Any], small: bool) -> None:
    with _open(small=small) as memory, _open() as alone:
        for mine in (memory, alone):
            _own(mine, 3 * SAMPLE, user_id="dan", metadata={"p": 1}, importance=0.9)
        _others(memory, 3 * SAMPLE, user_id="carla", metadata={"p": 2}, importance=0.1)
        found = memory.recall(CUE, vector=AXES[1], k=40, **scope).signals
        wanted = alone.recall(CUE, vector=AXES[1], k=40).signals
        again = memory.recall(CUE, vector=AXES[1], k=40, **scope).signals
    assert found is not None
    assert wanted is not None
    assert found.memories == pytest.approx(3 * SAMPLE, rel=0.15)
    assert found.likeness == pytest.approx(wanted.likeness, abs=0.3)
    assert found.cosine == pytest.approx(wanted.cosine, abs=1e-4)
    assert found.coverage == 0.0
    assert found == again


def test_a_small_part_of_a_large_store_is_not_withheld_for_the_rest() -> None:
    """What no sample shows is not measured by the rest, nor by the hits, which are likest."""
    with _open(small=False) as memory:
        _own(memory, 44, agent_id="dan")
        _others(memory, 8000, agent_id="carla")
        found = memory.recall("Where is Zorblax?", vector=AXES[1], k=40, agent_id="dan")
        assert found.signals is not None
        assert not found.signals.measured
        assert found.signals.memories == 40
        assert memory.recall("Where is Zorblax?", vector=AXES[1], agent_id="dan", selective=True)


def test_the_time_in_a_cue_is_no_filter() -> None:
    """It is a guess; the thresholds were measured with everything counted."""
    with _open() as memory:
        _own(memory, 8, event_time="2026-12-03")
        _own(memory, 9, event_time="2026-11-03")
        found = memory.recall("where was the umbrella last month?", vector=AXES[1]).signals
    assert found is not None
    assert found.memories == 17
