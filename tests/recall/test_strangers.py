"""What strangers store changes no score and no order of a user's recall, to the last bit.

Mechanism: under a user the words, lengths, cosines, names and speakers that a score is measured by
are those of his memories alone. Damage: a user learned from his scores whether anyone had said a
word, and a stranger could reorder his answers by saying it often. Guard: a user alone and among
strangers who use his words, sessions and names, in two languages, ranked whole and by candidates.
"""

from __future__ import annotations

import random
from typing import Any

import pytest

import spector
from spector import Config, ManualClock, Memory
from tests.fakes import FakeEmbedder

WORDS = "lantern pepper violin glacier saddle quarry orchid ferry walnut compass".split()
FORMS = (
    "The {0} is beside the {1}.",
    "I keep my {0} in the {1}.",
    "Order {2} was a {0}.",
    "Is the {0} for sale?",
    "{0}, {1} and {0} again",
    "I sold the {0} on 4 May.",
)
CUES = (
    "where is the {0}?",
    "{0}",
    "{0} {1}",
    "What happened to order {2}?",
    "Is my {0} in the {1} now?",
    "What did Mona say about the {0}?",
    "Which {0} did Deniz buy?",
    "suggest a {0} for the {1}",
    "What did I say about the {0} and where is the {1}?",
)
STRANGE = ("Fenerin yanında bir {0} gördüm, güzeldi.", "{0} {0} {0}", "Ask Mona Lind about {1}.")
HOW: tuple[dict[str, Any], ...] = (
    {},
    {"selective": True},
    {"profile": "cognitive"},
    {"mmr": 0.6},
    {"tags": "odd"},
    {"tiers": "semantic"},
    {"intent": "auto"},
    {"session_id": "s1"},
)


def filled(forms: tuple[str, ...], rng: random.Random) -> str:
    return rng.choice(forms).format(*rng.sample(WORDS, 2), rng.randrange(4700, 4712))


def store(seed: int, config: Config, strangers: int) -> Memory:
    mine, theirs = random.Random(seed), random.Random(seed + 1)
    clock = ManualClock("2026-05-01T08:00:00Z")
    memory = spector.open(":memory:", embedder=FakeEmbedder(), clock=clock, config=config)
    for n in range(60):
        clock.set(f"2026-05-{1 + n // 4:02}T{8 + n % 4:02}:00:00Z")
        memory.remember(
            filled(FORMS, mine),
            user_id="bob",
            session_id=f"s{n % 3}",
            tier=mine.choice(("episodic", "semantic")),
            tags=["odd"] if n % 2 else [],
            role=mine.choice(("user", "assistant", "Mona")),
        )
        for k in range(strangers):
            clock.advance(hours=0.01)
            memory.remember(
                filled((*FORMS, *STRANGE), theirs),
                user_id=f"u{k}",
                session_id=f"s{n % 3}",
                role=theirs.choice(("user", "Mona Lind", "Deniz")),
                aliases=[theirs.choice(WORDS)],
            )
    clock.set("2026-06-01T08:00:00Z")
    return memory


@pytest.mark.parametrize("records", [8192, 100, 16])
@pytest.mark.parametrize("seed", [0, 10])
def test_strangers_change_no_score_and_no_order(seed: int, records: int) -> None:
    config = Config(rank_all_records=records)
    with store(seed, config, 0) as alone, store(seed, config, 3) as among:
        rng = random.Random(seed)
        for how in HOW:
            for _ in range(4):
                cue = filled(CUES, rng)
                one, other = (
                    memory.recall(cue, user_id="bob", k=12, **how) for memory in (alone, among)
                )
                assert [(hit.text, hit.score) for hit in one] == [
                    (hit.text, hit.score) for hit in other
                ], (cue, how)
                assert one.reason == other.reason
