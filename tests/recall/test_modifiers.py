"""Modifiers of scores, given by hand.

Mechanism: a factor and an addend per candidate change the score after all evidence. Damage without
it: a hit whose explained terms do not add up to its score, or one that a cut at k had left out.
Guard: terms add up to the score, to the last bit; what a modifier lifts enters the first k; without
modifiers no bit changes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import spector
from spector import ManualClock, Memory
from spector.config import AssociationConfig, Config
from spector.errors import InvalidInputError
from spector.knowledge import Changes, KnowledgeReader, New, encode
from spector.language.cues.intent import Intent
from spector.recall.intents import intent_in
from spector.recall.options import parse_intent
from spector.records import Percept
from spector.search.ordering import Modifier, Ranked
from spector.search.plan import Plan
from spector.search.scoring import MakeModifier
from spector.write import Prepared
from tests.cases import Cases
from tests.conftest import NOW
from tests.fakes import FakeEmbedder

cases = Cases(__file__)

TEXTS = [
    f"The {what} of the {where} is closed."
    for what in ("door", "gate", "shop", "well")
    for where in ("mill", "inn", "farm", "harbour", "chapel")
]
CUE = "Which door of the mill is closed?"


@pytest.fixture(params=[8192, 4], ids=["ranked whole", "by candidates"])
def plain_memory(request: pytest.FixtureRequest) -> Iterator[Memory]:
    config = spector.Config(rank_all_records=request.param)
    with spector.open(":memory:", config=config, clock=ManualClock(NOW)) as plain_memory:
        plain_memory.remember_many(TEXTS)
        yield plain_memory


def _modify(plain_memory: Memory, *modifiers: MakeModifier) -> None:
    plain_memory._parts.searcher._by_evidence._modifiers = modifiers


def _found(plain_memory: Memory, k: int = 5) -> list[tuple[int, float, Any]]:
    return [(hit.id, hit.score, hit.explain()) for hit in plain_memory.recall(CUE, k=k)]


def halve(plan: Plan, ranked: Ranked) -> Modifier:
    n = len(ranked.ids)
    return Modifier("half", np.full(n, 0.5, np.float32), np.zeros(n, np.float32))


def lift_last(plan: Plan, ranked: Ranked) -> Modifier:
    """0.9 of every score, and much for the newest memory."""
    addend = np.zeros(len(ranked.ids), np.float32)
    addend[ranked.ids == ranked.ids.max()] = 7.0
    return Modifier("lift", np.full(len(ranked.ids), 0.9, np.float32), addend)


def test_terms_add_up_to_the_score_to_the_last_bit(plain_memory: Memory) -> None:
    _modify(plain_memory, halve, lift_last)
    for _, score, why in _found(plain_memory, k=len(TEXTS)):
        assert {"half", "lift"} <= set(why.evidence)
        assert why.score == score


def test_a_factor_and_an_addend_do_what_they_say(plain_memory: Memory) -> None:
    before = {each: score for each, score, _ in _found(plain_memory, k=len(TEXTS))}
    _modify(plain_memory, halve, lift_last)
    after = {each: score for each, score, _ in _found(plain_memory, k=len(TEXTS))}
    newest = max(before)
    wanted = {each: 0.5 * score * 0.9 + 7.0 * (each == newest) for each, score in before.items()}
    assert after == pytest.approx(wanted, abs=1e-5)


def test_what_a_modifier_lifts_enters_the_first_k(plain_memory: Memory) -> None:
    last = _found(plain_memory, k=len(TEXTS))[-1][0]

    def lift(plan: Plan, ranked: Ranked) -> Modifier:
        addend = np.where(ranked.ids == last, 9, 0).astype(np.float32)
        return Modifier("lift", np.ones(len(addend), np.float32), addend)

    _modify(plain_memory, lift)
    assert _found(plain_memory, k=1)[0][0] == last


def test_a_modifier_lets_nothing_pass_that_the_gates_keep_out(plain_memory: Memory) -> None:
    for_one = plain_memory.remember("The door of the mill is closed.", user_id="ann")
    _modify(plain_memory, lift_last)
    found = plain_memory.recall(CUE, k=40, user_id="ben")
    assert for_one.id not in [hit.id for hit in found]
    assert all(np.isfinite(hit.score) for hit in plain_memory.recall(CUE, k=40, user_id="ann"))


def test_without_modifiers_no_bit_changes(plain_memory: Memory) -> None:
    def none(plan: Plan, ranked: Ranked) -> Modifier:
        n = len(ranked.ids)
        return Modifier("none", np.ones(n, np.float32), np.zeros(n, np.float32))

    before = _found(plain_memory)
    _modify(plain_memory)
    assert _found(plain_memory) == before
    _modify(plain_memory, none)
    assert _found(plain_memory) == before, "a term of 0 is not shown"


def test_two_modifiers_of_one_name_are_refused(plain_memory: Memory) -> None:
    _modify(plain_memory, halve, halve)
    with pytest.raises(AssertionError, match="two modifiers are named half"):
        plain_memory.recall(CUE)


# -- What an intent changes in a recall ------------------------------------------------------------
#
# Mechanism: the parameters of an intent are put into the request. Damage without it: an intent
# that is told and ignored. Guard: each parameter moves its part of a score in the documented
# direction.


DIM = 16
FLAT = np.ones(DIM)
INTENT_CUE = "the old violin of the dusty attic, tuned by hand"


@pytest.fixture
def intent_memory() -> Iterator[Memory]:
    with spector.open(":memory:", embedder=None, dim=DIM) as it:
        it.remember("a violin in the attic", vector=FLAT, category="preference")
        it.remember("a lesson in the attic", vector=FLAT, category="fact")
        it.remember("how to tune a violin", vector=FLAT, tier="procedural", category="procedure")
        yield it


def told(intent_memory: Memory, intent: str | None) -> dict[str, Any]:
    return {
        hit.text: hit.explain()
        for hit in intent_memory.recall(INTENT_CUE, vector=FLAT, intent=intent)
    }


def test_words_count_by_the_share_that_an_intent_gives_them(intent_memory: Memory) -> None:
    of = {name: told(intent_memory, name)["a violin in the attic"].lexical for name in Intent}
    usual = told(intent_memory, None)["a violin in the attic"].lexical
    assert of[Intent.FACTUAL] == pytest.approx(usual)
    assert of[Intent.TEMPORAL] == pytest.approx(2.25 * usual)
    assert of[Intent.GENERAL] == pytest.approx(1.5 * usual)


def test_utility_counts_by_the_boost(intent_memory: Memory) -> None:
    plain = told(intent_memory, None)["a lesson in the attic"].terms["utility"]
    boosted = told(intent_memory, "entity_profile")["a lesson in the attic"].terms["utility"]
    assert (
        boosted > told(intent_memory, "factual")["a lesson in the attic"].terms["utility"] > plain
    )
    assert told(intent_memory, "causal")["a lesson in the attic"].terms["utility"] == plain


def test_what_an_intent_looks_for_is_favoured(intent_memory: Memory) -> None:
    found = told(intent_memory, "preference")
    assert found["a violin in the attic"].modifiers["category"] == pytest.approx(1.1)
    assert len(found) == 1, "of preferences, if there are any"
    intent_memory.forget(
        [hit for hit in intent_memory.recall(vector=FLAT) if hit.text.startswith("a violin")]
    )
    assert len(told(intent_memory, "preference")) == 2
    rule = told(intent_memory, "procedural")["how to tune a violin"].modifiers
    assert rule["category"] == pytest.approx(1.1)
    assert rule["tier"] > told(intent_memory, None)["how to tune a violin"].modifiers.get(
        "tier", 1.0
    )


def test_auto_is_what_the_wording_tells(intent_memory: Memory) -> None:
    assert intent_in("When did Ann move?") is Intent.TEMPORAL
    assert intent_in(None, parse_intent("auto")) is None
    assert intent_in("When did Ann move?", parse_intent("causal")) is Intent.CAUSAL
    for wrong in ("", "why", 3, True):
        with pytest.raises(InvalidInputError, match="intent"):
            parse_intent(wrong)


# -- Modifiers of a session and of kinds within a tier, and knowledge at the end of a context ------


def evidence(hits: spector.HitList, name: str) -> dict[str, float]:
    return {hit.text: hit.explain().evidence.get(name, 0.0) for hit in hits}


@pytest.fixture
def bikes(memory: spector.Memory) -> spector.Memory:
    memory.remember("Ada has a red bike", user_id="u", session_id="one")
    memory.remember("Ada has a blue bike", user_id="u", session_id="two")
    return memory


def test_memories_of_the_session_score_more(bikes: spector.Memory) -> None:
    session = bikes.session("two", user_id="u", profile="cognitive")
    found = session.recall("bike", learn=False)
    assert evidence(found, "episode") == {
        "Ada has a red bike": 0.0,
        "Ada has a blue bike": pytest.approx(0.15),
    }
    assert all(hit.explain().score == hit.score for hit in found)
    assert found[0].text == "Ada has a blue bike"
    restricted = session.recall("bike", learn=False, session_id="two")
    assert evidence(restricted, "episode") == {"Ada has a blue bike": 0.0}


def test_the_boost_is_on_where_associations_are(bikes: spector.Memory) -> None:
    session = bikes.session("two", user_id="u")
    plain = bikes.recall("bike", user_id="u")
    assert [hit.score for hit in session.recall("bike", learn=False)] == [h.score for h in plain]
    on = session.recall("bike", learn=False, associate=True)
    assert max(evidence(on, "episode").values()) == pytest.approx(0.15)
    off = bikes.recall("bike", user_id="u", near_session="two", associate=False)
    assert [hit.score for hit in off] == [hit.score for hit in plain]


def test_a_session_may_be_named_for_one_recall(bikes: spector.Memory) -> None:
    found = bikes.recall("bike", user_id="u", near_session="one")
    assert evidence(found, "episode")["Ada has a red bike"] == pytest.approx(0.15)
    again = bikes.recall("bike", user_id="u", options=spector.RecallOptions(near_session="none"))
    assert set(evidence(again, "episode").values()) == {0.0}
    with pytest.raises(spector.InvalidInputError, match="near_session"):
        bikes.recall("bike", near_session=5)  # type: ignore[arg-type]


def test_the_boost_is_a_setting() -> None:
    config = Config(association=AssociationConfig(episode=0.4))
    with spector.open(":memory:", embedder=FakeEmbedder(), config=config) as memory:
        memory.remember("Ada has a red bike", session_id="one")
        found = memory.recall("bike", near_session="one")
        assert evidence(found, "episode") == {"Ada has a red bike": pytest.approx(0.4)}


def test_a_session_passes_its_mood(memory: spector.Memory) -> None:
    memory.remember("Ada had a fine day", user_id="u", valence=0.8)
    memory.remember("Ada had a poor day", user_id="u", valence=-0.8)
    session = memory.session("s", user_id="u", profile="cognitive")
    session.state.note_message(None, valence=0.9)
    assert session.mood == 0.9
    factors = {
        hit.text: hit.explain().modifiers.get("mood", 1.0)
        for hit in session.recall("Ada day", learn=False)
    }
    assert factors == {"Ada had a fine day": pytest.approx(1.1), "Ada had a poor day": 1.0}


def test_a_mood_lasts_half_an_hour(memory: spector.Memory, clock: spector.ManualClock) -> None:
    session = memory.session("s")
    session.state.note_message(None, valence=0.19)
    assert session.mood is None
    session.state.note_message(None, valence=-0.2)
    clock.advance(seconds=30 * 60 - 1)
    assert session.mood == -0.2
    clock.advance(seconds=1)
    assert session.mood is None


# -- kinds within a tier ---------------------------------------------------------------------------


@cases("text", "fields", "factor")
def test_a_kind_is_a_factor_of_the_score(
    memory: spector.Memory, text: str, fields: dict[str, str], factor: float
) -> None:
    memory.remember(text, **fields)  # type: ignore[arg-type]
    assert "sub_tier" not in memory.recall("bike", profile="cognitive")[0].explain().evidence
    (hit,) = memory.recall("bike", profile="cognitive", near_session="another")
    why = hit.explain()
    before = hit.score - why.evidence.get("sub_tier", 0.0)
    assert hit.score == why.score
    assert hit.score / before == pytest.approx(factor, abs=1e-5)
    (plain,) = memory.recall("bike", profile="cognitive", associate=False, near_session="another")
    assert "sub_tier" not in plain.explain().evidence


def test_kinds_can_be_switched_off() -> None:
    config = Config(association=AssociationConfig(subtiers=False))
    with spector.open(":memory:", embedder=FakeEmbedder(), config=config) as memory:
        memory.remember("the bike is red")
        found = memory.recall("bike", profile="cognitive", near_session="another")
        assert evidence(found, "sub_tier") == {"the bike is red": 0.0}


@pytest.mark.parametrize("profile", sorted(spector.PROFILES))
def test_without_associations_scores_are_as_before(memory: spector.Memory, profile: str) -> None:
    """Bitwise: a store without entities, pairs and sessions, and associate=False."""
    for n in range(20):
        memory.remember(f"the bike number {n} is red", user_id="u", session_id=f"s{n % 3}")
    wanted = [
        (hit.id, hit.score) for hit in memory.recall("bike", profile=profile, associate=False, k=20)
    ]
    near = memory.recall("bike", profile=profile, associate=False, k=20, near_session="s1")
    assert [(hit.id, hit.score) for hit in near] == wanted
    for associate in (None, True):
        plain = memory.recall("bike", profile=profile, k=20, associate=associate)
        assert [(hit.id, hit.score) for hit in plain] == wanted


# -- knowledge in a context ------------------------------------------------------------------------


def test_a_context_ends_with_concepts_that_its_hits_bring_to_mind(memory: spector.Memory) -> None:
    ride = memory.remember("Ada went out in the rain", user_id="u")
    concept, _ = memory.concepts.find_or_create("umbrella", definition="keeps one dry", user_id="u")
    other, _ = memory.concepts.find_or_create("sunshade", definition="for the sun", user_id="u")
    memory.concepts.add_ref(concept.id, "episodes", ride.id)
    memory.graph.link(concept.id, other.id, "related_to", weight=0.8)
    asked = {"user_id": "u", "always": True, "k": 1}
    plain = memory.context("Ada went out in the rain", **asked)
    assert plain.known == ()
    assert "umbrella" not in plain.text
    found = memory.context("Ada went out in the rain", knowledge=True, **asked)
    assert next(hit.id for hit in found.known) == concept.id
    assert found.text.splitlines()[-2].startswith("- ")
    assert found.text.endswith("</memories>\n")
    assert "known:\n" in found.text
    assert found.tokens <= 1000
    few = memory.context(
        "Ada went out in the rain", knowledge=True, max_tokens=plain.tokens + 8, **asked
    )
    assert few.known == ()
    assert few.text == plain.text


def test_knowledge_of_another_user_stays_away(memory: spector.Memory) -> None:
    memory.remember("Ada went out in the rain", user_id="u")
    theirs = memory.remember("Bob went out in the rain", user_id="v")
    concept, _ = memory.concepts.find_or_create("umbrella", definition="dry", user_id="v")
    memory.concepts.add_ref(concept.id, "episodes", theirs.id)
    session = memory.session("s", user_id="u")
    assert "umbrella" not in session.context("went out in the rain", always=True).text


def test_a_percept_adds_what_is_to_be_expected(memory: spector.Memory) -> None:
    for user, success in (("u", True), ("v", False)):
        memory.layers["episodes"].store(
            "Ada grasped the mug",
            user_id=user,
            episode={"objects": ["mug"], "goal": "grasp_mug", "tool": "arm", "success": success},
        )
        concept, _ = memory.concepts.find_or_create("mug", user_id=user)
        episode = next(each for each in memory.records(user_id=user) if "grasped" in each.text)
        memory.concepts.add_ref(concept.id, "episodes", episode.id)
    found = memory.context(
        "the mug", user_id="u", always=True, knowledge=Percept(objects=("mug",), goal="grasp_mug")
    )
    assert '- prediction: "arm for grasp_mug: success (confidence 0.30)"' in found.text
    assert "failure" not in found.text


def test_a_consolidated_memory_is_abbreviated_by_its_summary(memory: spector.Memory) -> None:
    text = "Ada rode to Kars. " + "Then much happened on the road. " * 60
    values = encode("episode", {"summary": "Ada rode to Kars in a day."})

    def decide(reader: KnowledgeReader, now_ms: int) -> Changes:
        changes = Changes(store=[0])
        changes.put("payload", id=New(0), sort="episode", json=values)
        return changes

    made = memory._parts.knowledge.commit(decide, [Prepared(text, {})]).records[0]
    before = memory.context("Ada rode to Kars", max_tokens=120, always=True)
    assert "Then much" in before.text
    memory._parts.changer.set_flag(made.id, spector.Flag.CONSOLIDATED, True)
    assert memory.get(made.id).summary == "Ada rode to Kars in a day."
    after = memory.context("Ada rode to Kars", max_tokens=120, always=True)
    assert '"Ada rode to Kars in a day."' in after.text
    assert "Then much" not in after.text


def test_a_users_word_needs_no_certainty(memory: spector.Memory) -> None:
    memory.remember("Ada rode to Kars", confidence=0.9)
    memory.remember("Ada rode to Izmir", confidence=0.7)
    text = memory.context("Ada rode", always=True).text
    assert text.count("certainty") == 1
    assert '(certainty 0.70): "Ada rode to Izmir"' in text
