"""What is left of the hits of a recall: one for equal words, and in the semantic tier no chaff.

Mechanism: copies of one statement are one hit that names the others; beliefs that score below half
of the best are left out. Damage without it: ten copies fill the ten places, and ten memories come
back where one bears on the cue; with too much of it, a memory that is asked for by name hides all
others, or messages are cut as if they were beliefs. Guard: own stores, the rule on and off.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import spector
from spector import InvalidInputError, ManualClock, Memory, RecallOptions
from spector.kernel.contract.profile import PROFILES
from spector.search.selection.diversity import near_the_best, own_scores, without_repeats
from tests.conftest import NOW

DIM = 16
CUE = np.eye(DIM)[0]


def like(cosine: float, n: int) -> np.ndarray:
    """A unit vector with this cosine to ``CUE``."""
    return np.asarray(cosine * CUE + np.sqrt(1 - cosine**2) * np.eye(DIM)[1 + n % (DIM - 1)])


@pytest.fixture
def memory() -> Iterator[Memory]:
    with spector.open(":memory:", embedder=None, dim=DIM, clock=ManualClock(NOW)) as it:
        yield it


def flood(memory: Memory, text: str, count: int, **more: object) -> list[int]:
    return [
        each.id
        for each in memory.remember_many(
            [
                {
                    "text": text,
                    "vector": CUE,
                    "event_time": f"2026-01-{1 + n % 28:02}T{n % 24:02}:00Z",
                    "session_id": f"s{n}",
                    **more,
                }
                for n in range(count)
            ]
        )
    ]


# -- equal words --------------------------------------------------------------------------------


@pytest.mark.parametrize("records", [8192, 4])
def test_copies_are_one_hit_and_the_others_are_found(memory: Memory, records: int) -> None:
    with spector.open(
        ":memory:",
        embedder=None,
        dim=DIM,
        clock=ManualClock(NOW),
        config=spector.Config(rank_all_records=records),
    ) as memory:
        copies = flood(memory, "The barn is painted red.", 60)
        others = [
            memory.remember(f"The barn has {n} doors", vector=like(0.5, n)).id for n in range(5)
        ]
        hits = memory.recall("What colour is the barn?", vector=CUE, k=4)
        assert [hit.id in copies for hit in hits] == [True, False, False, False]
        assert {hit.id for hit in hits[1:]} < set(others)
        assert sorted([hits[0].id, *hits[0].also]) == sorted(copies)
        assert all(hit.also == () for hit in hits[1:])


def test_the_newest_stands_where_the_best_does(memory: Memory) -> None:
    best = memory.remember("We moved to Izmir", vector=CUE, event_time="2024-02-01").id
    newest = memory.remember("we moved  to IZMIR.", vector=like(0.6, 1), event_time="2025-02-01").id
    other = memory.remember("We moved away", vector=like(0.8, 2)).id
    plain = {hit.id: hit.score for hit in memory.recall(vector=CUE)}
    hits = memory.recall("Where did we move to?", vector=CUE)
    assert [hit.id for hit in hits] == [newest, other]
    assert hits[0].also == (best,)
    assert hits[0].to_dict()["also"] == [best]
    assert hits[0].text == "we moved  to IZMIR."
    assert hits[0].score == hits[0].explain().score > hits[1].score
    assert len(plain) == 3, "by a vector alone every memory is a hit"


@pytest.mark.parametrize(
    "more",
    [
        {"text": "The key is here?"},
        {"role": "assistant"},
        {"user_id": "b"},
        {"agent_id": "b"},
        {"metadata": {"speaker": "Ann"}},
    ],
)
def test_other_words_and_other_people_are_hits_of_their_own(
    memory: Memory, more: dict[str, object]
) -> None:
    said = {"text": "The key is here.", "vector": CUE, "user_id": "a", "role": "user"}
    memory.remember_many([said, {**said, **more}])
    hits = memory.recall("Where is the key?", vector=CUE)
    assert len(hits) == 2
    assert [hit.also for hit in hits] == [(), ()]


def test_a_context_quotes_equal_words_once(memory: Memory) -> None:
    copies = flood(memory, "The barn is painted red.", 12)
    context = memory.context("What colour is the barn?", vector=CUE)
    (hit,) = context.hits
    assert sorted([hit.id, *hit.also]) == copies
    assert context.text.count("painted red") == 1


def test_choosing_twice_changes_nothing(memory: Memory) -> None:
    flood(memory, "The barn is painted red.", 3)
    flood(memory, "The barn is painted blue.", 3, role="user")
    hits = memory.recall("What colour is the barn?", vector=CUE)
    assert without_repeats(hits) == hits
    assert without_repeats([]) == []


# -- far behind the best ------------------------------------------------------------------------

COSINES = (0.9, 0.7, 0.2, 0.0, -0.3)


def beliefs(memory: Memory, tier: str = "semantic") -> list[int]:
    return [
        memory.remember(
            f"belief {'abcde'[n]}", vector=like(cosine, n), tier=tier, importance=0.1
        ).id
        for n, cosine in enumerate(COSINES)
    ]


def test_beliefs_far_behind_the_best_are_left_out(memory: Memory) -> None:
    ids = beliefs(memory)
    everything = memory.recall("Which one is meant?", vector=CUE, cut=0.0)
    assert [hit.id for hit in everything] == ids
    hits = memory.recall("Which one is meant?", vector=CUE)
    assert [hit.id for hit in hits] == ids[:2]
    best = everything[0].score
    for share in (0.3, 0.5, 0.75, 1.0):
        found = memory.recall("Which one is meant?", vector=CUE, options=RecallOptions(cut=share))
        assert [hit.score for hit in found] == [
            hit.score for hit in everything if hit.score >= share * best
        ]
    context = memory.context("Which one is meant?", vector=CUE, always=True)
    assert [hit.id for hit in context.hits] == ids[:2]


def test_messages_are_not_cut(memory: Memory) -> None:
    ids = beliefs(memory, "episodic")
    assert [hit.id for hit in memory.recall("Which one is meant?", vector=CUE)] == ids


def test_beliefs_are_compared_with_messages(memory: Memory) -> None:
    message = memory.remember("which one is meant is this one", vector=CUE).id
    away = memory.remember("belief", vector=like(0.1, 3), tier="semantic").id
    hits = [hit.id for hit in memory.recall("Which one is meant?", vector=CUE)]
    assert hits == [message]
    assert away in [hit.id for hit in memory.recall("Which one is meant?", vector=CUE, cut=0)]


@pytest.mark.parametrize("cue", ["INC-2219", "Who closed INC-2219 for good?", "id"])
def test_a_name_does_not_make_all_others_look_far(memory: Memory, cue: str) -> None:
    ids = beliefs(memory)
    named = memory.remember("INC-2219 is closed", vector=like(0.1, 7), tier="semantic").id
    hits = memory.recall(str(named) if cue == "id" else cue, vector=CUE)
    assert [hit.id for hit in hits[:3]] == [named, *ids[:2]]
    assert len(hits) < len(ids)


@pytest.mark.parametrize(
    "how",
    [
        {"cue": None},
        {"lexical": False},
        {"profile": "similarity"},
        {"vector": None},
        {"profile": spector.ScoringProfile(name="strength", w_similarity=0.0, w_importance=1.0)},
    ],
)
def test_where_scores_do_not_say_what_fits_nothing_is_cut(
    memory: Memory, how: dict[str, object]
) -> None:
    ids = beliefs(memory)
    asked = {"cue": "Which one is meant?", "vector": CUE, **how}
    assert {hit.id for hit in memory.recall(**asked)} == set(ids)  # type: ignore[arg-type]


def test_below_zero_there_is_nothing_to_be_a_share_of(memory: Memory) -> None:
    weights = spector.ScoringProfile(name="bare", w_similarity=1.0, w_lexical=0.5)
    for n in range(3):
        memory.remember(f"belief {n}", vector=like(-0.2 - n / 10, n), tier="semantic")
    hits = memory.recall("What else?", vector=CUE, profile=weights)
    assert len(hits) == 3
    assert max(own_scores(hits)) < 0
    assert near_the_best(hits, 1.0, best=max(own_scores(hits))) == hits
    assert near_the_best([], 0.5, best=0.0) == []


@pytest.mark.parametrize("tier", ["semantic", "episodic"])
def test_selective_keeps_what_is_near_the_best(memory: Memory, tier: str) -> None:
    ids = beliefs(memory, tier)
    hits = memory.recall("Which one is meant?", vector=CUE, selective=True)
    assert {hit.id for hit in hits} <= set(ids[:2])
    assert hits


def test_selective_leaves_out_beliefs_unlike_the_cue(memory: Memory) -> None:
    """All far away and all alike: the best of them is no better than the rest."""
    for tier in ("semantic", "episodic"):
        for n in range(6):
            memory.remember(f"remark {'uvwxyz'[n]}", vector=like(0.2, n), tier=tier, importance=0.1)
    hits = memory.recall("Which one is meant?", vector=CUE, selective=True, kind="talk")
    assert {hit.tier for hit in hits} <= {"episodic"}


@pytest.mark.parametrize("bad", [-0.1, 1.1, "half", None, True])
def test_a_cut_that_is_no_share_is_refused(memory: Memory, bad: object) -> None:
    with pytest.raises(InvalidInputError, match="cut is"):
        memory.recall("x", vector=CUE, cut=bad)  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="cut is"):
        memory.context("x", vector=CUE, cut=bad)  # type: ignore[arg-type]
    assert "balanced" in PROFILES
