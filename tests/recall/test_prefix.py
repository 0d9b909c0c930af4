"""More hits contain fewer: a recall of m hits is the beginning of a recall of more.

Mechanism: all that compares hits or moves one sees a pool whose size no caller chooses; k only cuts
the order that is made of it. Damage: the answer at rank 1 of three hits is in no recall of eight,
because a stage that sees more hits merged, moved or dropped it. Guard: stores with nights, facts,
conflicts, floods, repeats and instructions, ranked whole and by candidates, under filters, times,
profiles and options.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Any

import pytest

import spector
from spector import Config, Hit, ManualClock, Memory
from tests.conftest import NOW
from tests.fakes import FakeEmbedder

WORDS = (
    "harbour lantern pepper violin glacier saddle quarry orchid ferry walnut compass kettle tunnel"
    " ribbon marble falcon"
).split()
FORMS = (
    "I saw the {0} near the {1}.",
    "My {0} is in the {1} now.",
    "The {0} costs {2} euros.",
    "I used to keep a {0} in the {1}.",
    "Do you like the {0}?",
    "On {2} May we sold the {0}.",
    "Always mention the {0} when I ask about the {1}.",
    "I moved the {0} to the {1}.",
)
CUES = (
    "where is the {0}?",
    "{0} {1}",
    "what is the price of the {0} now?",
    "{0}",
    "What did I say about the {0} and where is the {1}?",
    "What happened to the {0} last month?",
    "recommend a {0} for the {1}",
    "what do you know about me?",
    "Where did I keep my {0}?",
)
OPTIONS: tuple[dict[str, Any], ...] = (
    {},
    {},
    {},
    {"user_id": "ann"},
    {"tiers": "semantic"},
    {"session_id": "s1"},
    {"where": {"part": 1}},
    {"tags": "odd"},
    {"as_of": "2026-02-10"},
    {"profile": "ucma"},
    {"profile": "cognitive"},
    {"profile": "similarity"},
    {"mmr": 0.5},
    {"per_session": 2},
    {"expand": True},
    {"associate": True},
    {"selective": True},
    {"intent": "auto"},
    {"intent": "temporal"},
    {"intent": "causal"},
    {"intent": "factual"},
    {"kind": "talk"},
    {"mode": "semantic"},
    {"include": ["superseded", "dormant"]},
    {"cut": 0.7},
    {"user_id": "ann", "where": {"part": {"$lt": 2}}, "profile": "cognitive"},
)


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
        for options in rng.sample(OPTIONS, 9):
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
