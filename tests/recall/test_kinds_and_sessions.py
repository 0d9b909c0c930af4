"""Modifiers of a session and of kinds within a tier, and knowledge at the end of a context."""

from __future__ import annotations

import pytest

import spector
from spector.config import AssociationConfig, Config
from spector.knowledge import Changes, KnowledgeReader, New, encode
from spector.records import Percept
from spector.write import Prepared
from tests.fakes import FakeEmbedder


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


@pytest.mark.parametrize(
    ("text", "fields", "factor"),
    [
        ("the bike is red", {"role": "user"}, 1.1),
        ("the bike is red", {"role": "assistant"}, 1.0),
        ("the bike is red", {"tier": "semantic"}, 1.0),
        ("always lock the bike", {"tier": "semantic"}, 1.1),
        ("bisikleti her zaman kilitle bike", {"tier": "semantic"}, 1.1),
        ("the bike is locked", {"tier": "semantic", "category": "pattern"}, 1.1),
        ("how to mend the bike", {"tier": "semantic"}, 1.05),
        ("mend the bike", {"tier": "semantic", "category": "procedure"}, 1.05),
        ("mend the bike", {"tier": "procedural"}, 1.0),
    ],
)
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
