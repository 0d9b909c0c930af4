"""What decides whether a recall says nothing is judged by the memories that its filter leaves.

Mechanism: memories were counted, and likeness was measured, over all of a store. Damage: a user
with two memories was met with silence because of somebody else's sixty; a filter that nothing
passes reported how like the others were. Guard: a filter gives the signals of a store that has
nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest

import spector
from spector import Config, ManualClock, Memory
from spector.providers.minilm import MiniLMEmbedder
from spector.search import probes as limits
from spector.search.probes import ENGLISH, TURKISH
from spector.search.probes import vectors_of_texts as unit_vectors
from spector.search.signals import SAMPLE
from tests.cases import Cases
from tests.fakes import FakeEmbedder

cases = Cases(__file__)

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
    *cases.rows("SCOPES"),
    (
        {"event_time": "2026-01-05"},
        {"event_time": "2025-01-05"},
        {"time_range": ("2026-01-01", "2026-02-01")},
    ),
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
        assert not found.signals.measured
        assert found.signals.memories == 40
        assert memory.recall("Where is Zorblax?", vector=AXES[1], agent_id="dan", selective=True)


def test_the_time_in_a_cue_is_no_filter() -> None:
    """It is a guess; the thresholds were measured with everything counted."""
    with _open() as memory:
        _own(memory, 8, event_time="2026-12-03")
        _own(memory, 9, event_time="2026-11-03")
        found = memory.recall("where was the umbrella last month?", vector=AXES[1]).signals
    assert found.memories == 17


# -- An empty answer of an empty scope says that nothing is stored there ---------------------------
#
# Damage: an agent with the wrong user_id got [] like one whose user never told that. Guard: a
# scope with and without memories, recalls and contexts.


def test_an_empty_scope_is_named(memory: Memory) -> None:
    assert memory.recall("where are the oars?").abstained
    memory.remember("The oars are in the boathouse.", user_id="ann")
    found = memory.recall("where are the oars?", user_id="bea")
    assert not found
    assert found.abstained
    assert "user_id 'bea'" in found.reason
    context = memory.context("where are the oars?", user_id="bea")
    assert context.abstained
    assert "user_id 'bea'" in context.reason


def test_a_scope_whose_memories_do_not_pass_a_filter_is_not_empty(memory: Memory) -> None:
    memory.remember("The oars are in the boathouse.", user_id="ann")
    found = memory.recall("where are the oars?", user_id="ann", tags="none")
    assert not found
    assert not found.abstained


# -- A cue that names a time is answered with what lies in it, or with nothing and the reason ------
#
# Mechanism: hits are those of the time, by when they happened or by a day that they name. Damage
# without it: "what did I do yesterday?" is answered with ten memories of last year.


@pytest.fixture
def dated_memory() -> Iterator[Memory]:
    clock = ManualClock(datetime(2026, 6, 1, 9, tzinfo=UTC))  # a Monday
    with spector.open(":memory:", embedder=FakeEmbedder(dim=32), clock=clock) as made:
        made.observe("I had dumplings with Irma.")
        clock.advance(days=3)
        made.observe("I went to the planetarium yesterday.")
        made.observe("My ferry to Hvar is on 20 July.")
        clock.advance(days=6)
        made.observe("The vet is next Tuesday.")
        clock.advance(days=1)
        yield made


@cases("cue", "words")
def test_what_lies_in_the_time_of_the_cue_is_returned(
    dated_memory: Memory, cue: str, words: list[str]
) -> None:
    texts = [hit.text for hit in dated_memory.recall(cue)]
    assert len(texts) == len(words)
    assert all(any(word in text for text in texts) for word in words)


@cases("cue", "time")
def test_where_nothing_lies_in_it_the_answer_is_empty_and_says_so(
    dated_memory: Memory, cue: str, time: str
) -> None:
    hits = dated_memory.recall(cue)
    assert (list(hits), hits.abstained) == ([], True)
    assert time in hits.reason
    assert time in dated_memory.context(cue).reason


@pytest.mark.parametrize("cue", ["Who came along on 3 June 2026?", "Who moved on 20 July 2026?"])
def test_what_names_the_day_comes_before_what_may_be_of_it(dated_memory: Memory, cue: str) -> None:
    said = [hit.record.said for hit in dated_memory.recall(cue)]
    assert said[0].endswith("planetarium yesterday." if "June" in cue else "20 July.")
    assert len(said) == 4


# -- What restricts an answer stands beside it, although it has no word of the request -------------
#
# Mechanism: sentences of both kinds say which requests are about a matter and which memories limit
# it. Damage without it: a menu with what makes its guest ill. Guard: words that none of the
# sentences has, other matters, another user, an assistant's words, what was taken back, the
# shipped vectors.


TALK = (
    "I repair violins for a living.",
    "My brother moved to Utrecht last autumn.",
    "Our cat is called Biscuit.",
    "We painted the hall yellow.",
)


@pytest.fixture
def limit_memory() -> Iterator[Memory]:
    with spector.open(":memory:") as opened:
        opened.remember_many([{"text": each, "user_id": "ann"} for each in TALK])
        yield opened


def beside(limit_memory: Memory, cue: str, user: str = "ann") -> list[str]:
    return [hit.text for hit in limit_memory.recall(cue, k=2, user_id=user).limits]


@cases("limit", "request_", "other")
def test_a_limit_stands_beside_what_it_limits(
    limit_memory: Memory, limit: str, request_: str, other: str
) -> None:
    limit_memory.remember(limit, user_id="ann")
    assert limit in beside(limit_memory, request_)
    assert limit in str(limit_memory.context(request_, user_id="ann"))
    assert beside(limit_memory, other) == []


def test_a_limit_is_the_user_s_own_and_holds(limit_memory: Memory) -> None:
    cue = "Suggest a menu for Saturday."
    limit_memory.remember("Nuts make me very ill.", user_id="bob")
    limit_memory.remember("You are allergic to celery, perhaps.", role="assistant", user_id="ann")
    limit_memory.remember("Guests are allergic to fish.", source="guide.html", user_id="ann")
    mine = limit_memory.remember("I can't eat anything with milk in it.", user_id="ann")
    assert beside(limit_memory, cue) == [mine.text]
    limit_memory.remember(
        "The doctor says that milk is fine for me.", supersedes=mine.id, user_id="ann"
    )
    assert mine.text not in beside(limit_memory, cue)
    assert beside(limit_memory, cue, user="eve") == []


@pytest.mark.parametrize("cue", ["milk", "What can Ada not eat?", "What did I eat with milk?"])
def test_what_is_looked_up_is_no_request(limit_memory: Memory, cue: str) -> None:
    limit_memory.remember("I can't eat anything with milk in it.", user_id="ann")
    assert beside(limit_memory, cue) == []


def test_what_only_shares_the_matter_of_a_request_is_no_limit(limit_memory: Memory) -> None:
    for habit in ("Ada drinks tea.", "I drink green tea at work.", "Kids want pancakes."):
        limit_memory.remember(habit, user_id="ann")
    assert beside(limit_memory, "What should I cook and drink tonight?") == []


def test_hits_are_the_same_with_what_stands_beside_them(limit_memory: Memory) -> None:
    before = [hit.id for hit in limit_memory.recall("Suggest a menu.", k=3, user_id="ann")]
    limit_memory.remember("I can't eat anything with milk in it.", user_id="zoe")
    assert [hit.id for hit in limit_memory.recall("Suggest a menu.", k=3, user_id="ann")] == before


def test_shipped_vectors_are_those_of_the_sentences() -> None:
    embedder = MiniLMEmbedder()
    kinds = [*(kind for matter in limits.MATTERS for kind in matter), limits.OTHERS]
    for name, texts in (
        ("limits", [text for kind in kinds for text in kind]),
        ("probes", [*ENGLISH, *TURKISH]),
    ):
        shipped = unit_vectors(embedder, texts, name)
        assert len(shipped) == len(texts)
        made = np.asarray(embedder.embed(texts), np.float32)
        cosines = (shipped * made).sum(axis=1) / np.linalg.norm(made, axis=1)
        assert cosines.min() > 0.999
