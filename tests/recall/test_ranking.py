"""In which order memories come to mind, and whether the explanation is the truth."""

from __future__ import annotations

import math
from collections.abc import Iterator

import pytest

import spector
from spector import PROFILES, Curve, ManualClock, Memory, ScoringProfile
from tests.api.helpers import ids, own_vectors, texts, vector, vectors
from tests.cases import Cases
from tests.fakes import FakeEmbedder

cases = Cases(__file__)

WORDS = "river stone lantern harbour meadow copper violin marble falcon thunder".split()


@pytest.fixture
def varied(clock: ManualClock) -> Iterator[Memory]:
    """40 memories that differ in everything a score can depend on."""
    with spector.open(":memory:", embedder=FakeEmbedder(), clock=clock) as memory:
        for n in range(40):
            memory.remember(
                f"{WORDS[n % 10]} {WORDS[n // 4]} {n}",
                importance=n % 5 / 4,
                valence=(n % 7 - 3) / 3,
                arousal=n % 11 / 10,
                confidence=1 - n % 3 / 4,
                tags=[WORDS[n % 4]],
                unresolved=n % 6 == 0,
                category=("other", "pattern", "procedure")[n % 3],
                tier=("episodic", "semantic", "working", "procedural")[n % 4],
            )
            clock.advance(hours=7 * (n % 13))
        for record in list(memory)[::3]:
            memory.reinforce(record.id, success=record.id % 2 == 0)
        clock.advance(days=3)
        yield memory


CUSTOM = [
    ScoringProfile(
        name="all",
        w_similarity=0.9,
        w_importance=0.4,
        w_retention=0.3,
        w_recency=0.2,
        w_activation=0.25,
        w_utility=0.35,
        w_tags=0.15,
        w_arousal=0.12,
        w_lexical=0.5,
        confidence_weight=0.5,
        mood_boost=1.3,
        unresolved_boost=1.4,
        consolidated_factor=0.5,
        retention_curve=curve,
        recency_curve=curve,
        fusion=fusion,
        tier_factors=((1, 0.7), (2, 1.2)),
        category_factors=((8, 1.5),),
    )
    for curve in Curve
    for fusion in ("additive", "multiplicative")
]


@pytest.mark.parametrize(
    "profile",
    [*PROFILES, *CUSTOM],
    ids=[*PROFILES, *(f"{p.fusion}-{p.retention_curve}" for p in CUSTOM)],
)
@pytest.mark.parametrize("cue", ["river stone 4", None])
def test_the_terms_of_an_explanation_multiply_out_to_the_score(
    varied: Memory, profile: str | ScoringProfile, cue: str | None
) -> None:
    hits = varied.recall(cue, profile=profile, any_tags=["river", "stone"], mood=0.5, k=30)
    assert hits
    for hit in hits:
        why = hit.explain()
        others = sum(term for name, term in why.terms.items() if name != "similarity")
        if why.fusion == "multiplicative":
            total = why.terms["similarity"] * (1 + others)
        else:
            total = others + why.terms.get("similarity", 0.0)
        total = total * math.prod(why.modifiers.values())
        assert total == pytest.approx(why.fused, abs=1e-5)
        total += sum(why.evidence.values())
        assert total == pytest.approx(hit.score, abs=1e-5)
        assert why.score == pytest.approx(hit.score, abs=1e-5)
        name = profile if isinstance(profile, str) else profile.name
        assert why.profile == name
        assert name in str(why)
        assert hit.to_dict()["explain"]["terms"].keys() == why.terms.keys()
    assert [h.score for h in hits] == sorted((h.score for h in hits), reverse=True)


def test_a_profile_is_named_given_or_the_default_of_the_store(clock: ManualClock) -> None:
    with spector.open(
        ":memory:", embedder=FakeEmbedder(), clock=clock, profile="importance"
    ) as memory:
        memory.remember("river stone", importance=0.0)
        memory.remember("violin", importance=1.0)
        assert memory.recall("river stone", k=1)[0].explain().profile == "importance"
        named = memory.recall("river", k=1, profile="similarity")
        assert named[0].explain().profile == "similarity"
        mine = ScoringProfile(name="mine", w_similarity=0, w_importance=1)
        hits = memory.recall("river stone", profile=mine)
        assert [h.score for h in hits] == pytest.approx([1.0, 0.0])
        assert texts(hits) == ["violin", "river stone"]


def test_similarity_alone_ranks_like_the_cosine(clock: ManualClock) -> None:
    given, cue = vectors(200), vectors(1, seed=77)[0]
    with own_vectors(clock=clock) as memory:
        made = memory.remember_many([{"text": f"n {n}", "vector": given[n]} for n in range(200)])
        hits = memory.recall(vector=cue, k=200, profile="similarity")
        cosine = dict(zip(ids(made), (given @ cue).tolist(), strict=True))
        for hit in hits:
            assert hit.score == pytest.approx(cosine[hit.id], abs=0.02)
        best = sorted(cosine, key=lambda i: -cosine[i])[0]
        assert best in ids(hits[:2])


def test_equal_scores_come_in_the_order_of_ids(clock: ManualClock) -> None:
    with own_vectors(clock=clock) as memory:
        made = memory.remember_many([{"text": f"n {n}", "vector": vector(1)} for n in range(50)])
        for tier in ("semantic", "working"):
            made += memory.remember_many([{"text": "n", "vector": vector(1)}] * 5, tier=tier)
        hits = memory.recall(vector=vector(1), k=60, profile="similarity")
        assert ids(hits) == ids(made)
        assert ids(memory.recall(vector=vector(1), k=7, profile="similarity")) == ids(made)[:7]


def test_a_vector_for_a_cue_wins_over_its_text_and_keeps_its_words(clock: ManualClock) -> None:
    with own_vectors(clock=clock) as memory:
        near = memory.remember("nothing in common", vector=vector(1))
        word = memory.remember("the zanzibar ledger", vector=vector(2))
        assert ids(memory.recall("zanzibar", vector=vector(1), lexical=False, k=1)) == [near.id]
        both = memory.recall("zanzibar", vector=vector(1), k=2)
        assert set(ids(both)) == {near.id, word.id}
        assert both[ids(both).index(word.id)].explain().lexical > 0
        assert ids(memory.recall("zanzibar", k=1)) == [word.id]  # no vector at all


# -- words and ids --------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", ["{}", " {} ", "{}\n"])
def test_an_id_as_a_cue_finds_its_record_first(memory: Memory, shape: str) -> None:
    made = memory.remember_many([f"n {n}" for n in range(50)])
    hits = memory.recall(shape.format(made[31].id), k=3)
    assert hits[0].id == made[31].id
    assert hits[0].explain().score == pytest.approx(hits[0].score, abs=1e-5)
    hidden = memory.remember("x", user_id="ada")
    assert hidden.id not in ids(memory.recall(str(hidden.id), user_id="bob"))


@pytest.mark.parametrize(
    "cue",
    [*cases.rows("no_cue_is_syntax"), "x" * 5000, " ".join(f"w{n}" for n in range(2500)), "0" * 30],
    ids=lambda cue: repr(cue[:12]),
)
def test_no_cue_is_syntax(memory: Memory, cue: str) -> None:
    memory.remember("zebra in the river")
    assert len(memory.recall(cue, vector=vector(1))) == 1


def test_the_cue_of_a_message_is_its_content(memory: Memory) -> None:
    memory.remember_many(["river stone", "violin"])
    by_text = memory.recall("violin")
    by_message = memory.recall({"role": "user", "content": "violin"})
    assert [(h.id, h.score) for h in by_message] == [(h.id, h.score) for h in by_text]


def test_no_cue_ranks_by_strength_alone(memory: Memory, clock: ManualClock) -> None:
    weak = memory.remember("weak", importance=0.1)
    strong = memory.remember("strong", importance=0.9)
    assert ids(memory.recall()) == [strong.id, weak.id]
    assert all(hit.explain().values["similarity"] == 0 for hit in memory.recall())


def test_an_old_but_vital_memory_is_not_cut_off_before_its_importance_counts(
    clock: ManualClock,
) -> None:
    noise = vectors(3000, seed=4) * 0.3
    base = vectors(1, seed=8)[0]
    with own_vectors(clock=clock) as memory:
        memory.remember_many([{"text": "n", "vector": base + v, "importance": 0.0} for v in noise])
        tilted = base + vectors(1, seed=5)[0] * 1.2
        vital = memory.remember("vital", vector=tilted, importance=1.0)
        profile = ScoringProfile(w_similarity=0.2, w_importance=0.8)
        plain = memory.recall(vector=base, k=100, profile="similarity", lexical=False)
        assert vital.id not in ids(plain)
        assert memory.recall(vector=base, k=1, profile=profile)[0].id == vital.id
