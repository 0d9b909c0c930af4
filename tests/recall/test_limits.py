"""What restricts an answer stands beside it, although it has no word of the request.

Mechanism: sentences of both kinds say which requests are about a matter and which memories limit
it. Damage without it: a menu with what makes its guest ill. Guard: words that none of the sentences
has, other matters, another user, an assistant's words, what was taken back, the shipped vectors.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import spector
from spector import Memory
from spector.providers.minilm import MiniLMEmbedder
from spector.search.evidence import limits
from spector.search.evidence.probes import ENGLISH, TURKISH, unit_vectors

TALK = (
    "I repair violins for a living.",
    "My brother moved to Utrecht last autumn.",
    "Our cat is called Biscuit.",
    "We painted the hall yellow.",
)


@pytest.fixture
def memory() -> Iterator[Memory]:
    with spector.open(":memory:") as opened:
        opened.remember_many([{"text": each, "user_id": "ann"} for each in TALK])
        yield opened


def beside(memory: Memory, cue: str, user: str = "ann") -> list[str]:
    return [hit.text for hit in memory.recall(cue, k=2, user_id=user).limits]


@pytest.mark.parametrize(
    ("limit", "request_", "other"),
    [
        (
            "Sesame makes my throat swell.",
            "Suggest something for Sunday's brunch.",
            "When does the tram leave?",
        ),
        (
            "My grandson turned five on Monday.",
            "Which toy would be a nice gift for the boy?",
            "Translate this letter into French.",
        ),
        (
            "I have been in a wheelchair since the accident.",
            "Plan two days in Vienna for me.",
            "What is the name of our cat?",
        ),
    ],
)
def test_a_limit_stands_beside_what_it_limits(
    memory: Memory, limit: str, request_: str, other: str
) -> None:
    memory.remember(limit, user_id="ann")
    assert limit in beside(memory, request_)
    assert limit in str(memory.context(request_, user_id="ann"))
    assert beside(memory, other) == []


def test_a_limit_is_the_user_s_own_and_holds(memory: Memory) -> None:
    cue = "Suggest a menu for Saturday."
    memory.remember("Nuts make me very ill.", user_id="bob")
    memory.remember("You are allergic to celery, perhaps.", role="assistant", user_id="ann")
    memory.remember("Guests are allergic to fish.", source="guide.html", user_id="ann")
    mine = memory.remember("I can't eat anything with milk in it.", user_id="ann")
    assert beside(memory, cue) == [mine.text]
    memory.remember("The doctor says that milk is fine for me.", supersedes=mine.id, user_id="ann")
    assert mine.text not in beside(memory, cue)
    assert beside(memory, cue, user="eve") == []


def test_hits_are_the_same_with_what_stands_beside_them(memory: Memory) -> None:
    before = [hit.id for hit in memory.recall("Suggest a menu.", k=3, user_id="ann")]
    memory.remember("I can't eat anything with milk in it.", user_id="zoe")
    assert [hit.id for hit in memory.recall("Suggest a menu.", k=3, user_id="ann")] == before


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
