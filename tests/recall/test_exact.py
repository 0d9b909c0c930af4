"""Mechanism: a scan rules memories out by estimates.

Damage: what was asked for exactly is estimated after all.
Guard: nothing that was asked exactly, by the recall or by the configuration, gets an estimate.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest

import spector
from spector import Hit, ManualClock, Memory
from spector.config import Config
from spector.kernel.contract.profile import get_profile
from spector.language.cues.intent import is_name
from spector.search.plan import query_of
from spector.search.request import EVERYTHING, Cue, RecallRequest
from tests.cases import Cases
from tests.conftest import NOW
from tests.fakes import FakeEmbedder

cases = Cases(__file__)


@cases("exact", "configured", "expected")
def test_an_estimate_never_takes_the_place_of_an_exact_answer(
    exact: bool, configured: float, expected: float
) -> None:
    request = RecallRequest(
        cue=Cue(None, None),
        k=3,
        selection=EVERYTHING,
        profile=get_profile("balanced"),
        now_ms=0,
        exact=exact,
    )
    config = Config(recall_confidence=configured)
    query = query_of(request, config)
    assert float(query.params["recall_confidence"][0]) == expected


# -- More hits contain fewer: a recall of m hits is the beginning of a recall of more --------------
#
# Mechanism: all that compares hits or moves one sees a pool whose size no caller chooses; k only
# cuts the order that is made of it. Damage: the answer at rank 1 of three hits is in no recall of
# eight, because a stage that sees more hits merged, moved or dropped it. Guard: stores with
# nights, facts, conflicts, floods, repeats and instructions, ranked whole and by candidates, under
# filters, times, profiles and options.


WORDS = (
    "harbour lantern pepper violin glacier saddle quarry orchid ferry walnut compass kettle tunnel"
    " ribbon marble falcon"
).split()
FORMS = tuple(cases.rows("FORMS"))
CUES = tuple(
    (
        "where is the {0}? | {0} {1} | what is the price of the {0} now? | {0} | "
        "What did I say about the {0} and where is the {1}? | "
        "What happened to the {0} last month? | recommend a {0} for the {1} | "
        "what do you know about me? | Where did I keep my {0}?"
    ).split(" | ")
)
OPTIONS: tuple[dict[str, Any], ...] = tuple(cases.rows("OPTIONS"))


def sentence(rng: random.Random, forms: tuple[str, ...]) -> str:
    one, other = rng.sample(WORDS, 2)
    return rng.choice(forms).format(one, other, rng.randrange(1, 29))


def store(seed: int, config: Config, count: int) -> Memory:
    rng, clock = random.Random(seed), ManualClock("2026-01-05T09:00:00Z")
    memory = spector.open(":memory:", embedder=FakeEmbedder(), clock=clock, config=config)
    ids: list[int] = []
    of_ann: list[int] = []
    for n in range(count):
        clock.advance(hours=rng.randrange(1, 20))
        who = rng.choice(("ann", "ann", "bob"))
        text = sentence(rng, FORMS)
        if ids and rng.random() < 0.15:  # said again
            text = memory.get(rng.choice(ids)).text
        doubtful: dict[str, Any] = {"source": "leaflet", "confidence": 0.4}
        ids.append(
            memory.remember(
                text,
                user_id=who,
                session_id=f"s{rng.randrange(4)}",
                tags=["odd"] if n % 2 else [],
                tier=rng.choice(("episodic", "semantic")),
                metadata={"part": n % 4},
                role=rng.choice(("user", "assistant")),
                **(doubtful if rng.random() < 0.2 else {}),
            ).id
        )
        of_ann += ids[-1:] if who == "ann" else []
        if len(ids) > 4 and rng.random() < 0.1:
            memory.facts.add(
                rng.choice(WORDS),
                rng.choice(("is in", "belongs to")),
                rng.choice(WORDS),
                source=ids[-1],
                user_id=who,
            )
        if len(of_ann) > 4 and rng.random() < 0.2:
            kind = rng.choice(("contradicts", "causes", "related_to"))
            memory.graph.link(*rng.sample(of_ann, 2), kind)
    clock.set(NOW)
    memory.reflect()
    return memory


@pytest.mark.parametrize("config", [Config(), Config(rank_all_records=16)], ids=["all", "large"])
@pytest.mark.parametrize("seed", [0, 1])
def test_a_recall_of_fewer_hits_is_the_beginning_of_one_of_more(seed: int, config: Config) -> None:
    rng = random.Random(seed)
    with store(seed, config, 70) as memory:
        for options in rng.sample(OPTIONS, 6):
            cue = sentence(rng, CUES)
            most = [shown(hit) for hit in own(memory.recall(cue, k=100, **options))]
            for k in (1, 2, 3, 8, 20, 45):
                found = [shown(hit) for hit in own(memory.recall(cue, k=k, **options))]
                assert found == most[: len(found)], (cue, k, options)


def test_an_answer_of_few_hits_has_as_many_as_there_are() -> None:
    with store(5, Config(rank_all_records=16), 60) as memory:
        for k in (1, 2, 5, 20, 45):
            assert len(memory.recall("harbour lantern", k=k, cut=0.0)) == k


def own(hits: Iterable[Hit]) -> list[Hit]:
    """Hits of the cue itself, without the neighbours that ``expand`` adds beyond k."""
    return [hit for hit in hits if not hit.graph_distance]


def shown(hit: Hit) -> tuple[object, ...]:
    return hit.id, hit.score, hit.also


# -- A cue that names a memory finds it, and more hits never change the order of fewer -------------
#
# Mechanism: likeness could outweigh a rare word, and scan and full text were cut at fixed numbers
# of candidates before they were added up. Damage: an incident number that one memory has was not
# among its own hits; the first ten of 500 hits were other ones than the ten. Guard: named memories
# come first, and both channels are widened until nothing outside of them can be among the best.


DIM = 16


def _vectors(count: int, seed: int = 5) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(count, DIM))


@pytest.mark.parametrize("profile", ["balanced", "recent", "spector", "cognitive"])
@pytest.mark.parametrize(
    "cue", ["ERR-55812", "what was ERR-55812 about?", "what came up with the build of ERR-55812?"]
)
def test_an_identifier_finds_its_record_whatever_the_vectors_say(cue: str, profile: str) -> None:
    like = np.ones(DIM)
    with spector.open(":memory:", embedder=None, dim=DIM) as memory:
        memory.remember_many(
            [
                {
                    "text": f"the build came up, note {n}",
                    "vector": like + 0.1 * v,
                    "importance": 1.0,
                }
                for n, v in enumerate(_vectors(400))
            ]
        )
        named = memory.remember(
            "a long note which says, among a good many other words, that ERR-55812 is back",
            vector=-like,
            importance=0.0,
            event_time="2020-01-01",
        )
        hits = memory.recall(cue, vector=like, k=3, profile=profile)
    assert hits[0].id == named.id
    assert hits[0].score == pytest.approx(hits[0].explain().score, abs=1e-5)


@pytest.mark.parametrize("cue", ["İstanbul", "istanbul", "İSTANBUL ferries"])
def test_a_turkish_capital_is_looked_up_as_it_is_stored(cue: str) -> None:
    """Mechanism: lower case of İ is an i and a dot above, at which the word was cut."""
    with spector.open(":memory:", embedder=None, dim=DIM) as memory:
        memory.remember_many(
            [{"text": f"note {n}", "vector": v} for n, v in enumerate(_vectors(50))]
        )
        named = memory.remember("ferries of İstanbul", vector=-np.ones(DIM))
        assert memory.recall(cue, vector=np.ones(DIM), k=1)[0].id == named.id


@pytest.mark.parametrize("cue", ["Where is Ann?", "who is Ann", "How old is Ann?", "Ann nerede"])
def test_chatter_with_the_name_in_it_is_no_answer_to_a_question(cue: str) -> None:
    """Mechanism: of a short question one word is left, and the few that had it came first. Damage:
    "Hi, Ann!" stood before everything that says where she is."""
    like = np.ones(DIM)
    with spector.open(":memory:", embedder=None, dim=DIM) as memory:
        memory.remember_many(
            [{"text": f"note {n}", "vector": v} for n, v in enumerate(_vectors(50))]
        )
        chatter = memory.remember("Hi, Ann!", vector=-like)
        answer = memory.remember("she has moved to the coast", vector=like)
        hits = memory.recall(cue, vector=like, k=52)
        assert hits[0].id == answer.id
        why = next(hit for hit in hits if hit.id == chatter.id).explain()
        assert "name" not in why.evidence
        assert memory.recall("Ann", vector=like, k=1)[0].id == chatter.id


@cases("cue", "is_one")
def test_a_name_is_one_or_two_words_and_no_question(cue: str, is_one: bool) -> None:
    assert is_name(cue) is is_one


@pytest.mark.parametrize(
    "gate", [{"min_importance": 0.9}, {"valence": (0.5, 1.0)}, {"categories": "decision"}]
)
def test_full_text_is_not_cut_before_the_gates_of_the_scan(gate: dict[str, object]) -> None:
    """More matches than are taken at once do not pass; the one that does is found."""
    like = np.ones(DIM)
    good = {"importance": 0.95, "valence": 0.9, "category": "decision"}
    with spector.open(":memory:", embedder=None, dim=DIM) as memory:
        memory.remember_many(
            [{"text": "zebra zebra", "vector": v, "importance": 0.1} for v in _vectors(900)]
        )
        memory.remember_many(
            [
                {"text": f"note {n}", "vector": like + 0.5 * v, **good}
                for n, v in enumerate(_vectors(300))
            ]
        )
        wanted = memory.remember("a note that names the zebra once", vector=like * 0.9, **good)
        profile = spector.ScoringProfile(w_similarity=0.1, w_lexical=1.0)
        hits = memory.recall("zebra", vector=-like, k=1, profile=profile, **gate)
        assert hits[0].id == wanted.id


def test_how_another_user_writes_a_number_decides_nothing() -> None:
    """Mechanism: whether the memories know a spelling was asked of all users' words, so that
    "order4711" in one user's memory kept another's cue from meaning "order 4711"."""
    like = np.ones(DIM)

    def first(memory: spector.Memory) -> int:
        return memory.recall("Where is order4711?", vector=like, k=1, user_id="ann")[0].id

    with spector.open(":memory:", embedder=None, dim=DIM) as memory:
        wanted = [
            memory.remember(
                f"order {n} is packed", vector=-like if n == 4711 else like, user_id="ann"
            ).id
            for n in range(4700, 4720)
        ][11]
        assert first(memory) == wanted
        memory.remember("order4711 came back", vector=like, user_id="ben")
        assert first(memory) == wanted
