"""What a text is like is looked for in one scope, by vector and by words apart.

Mechanism: two searches in one snapshot, restricted to a user, or to memories without one. Damage
without it: a decision about one user's memory that reads another's; a changed value that is missed
because its vector is not near. Guard: scopes, dormant and superseded memories, both channels.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import spector
from spector import Memory
from spector.layout import Flag
from spector.search import Near, Wanted


def near(memory: Memory, text: str, user_id: str | None = None, **how: Any) -> list[Near]:
    embedder = memory._parts.embedder
    vector = None if embedder is None else embedder.embed([text])[0]
    counts = {"nearest": 5, "worded": 5} | how
    found = memory._parts.neighbours.of(
        [Wanted(text, vector, user_id)], now_ms=memory._parts.clock.now_ms(), **counts
    )
    return list(found[0])


@pytest.fixture
def filled(memory: Memory) -> Memory:
    for text, user in (
        ("Ada keeps bees in Kars.", "a"), ("Bob keeps bees in Van.", "b"),
        ("Carl keeps bees in Bursa.", None), ("Ada plays chess.", "a"),
    ):
        memory.remember(text, user_id=user)
    return memory


@pytest.mark.parametrize(
    ("user", "texts"),
    [("a", {"Ada keeps bees in Kars.", "Ada plays chess."}), ("b", {"Bob keeps bees in Van."}),
     (None, {"Carl keeps bees in Bursa."}), ("nobody else", set())],
)  # fmt: skip
def test_scopes_are_walls(filled: Memory, user: str | None, texts: set[str]) -> None:
    found = near(filled, "Who keeps bees?", user)
    assert {each.record.text for each in found} == texts


def test_each_channel_is_named(filled: Memory) -> None:
    found = near(filled, "chess", "a", nearest=1)
    by = {each.record.text: (each.by_vector, each.by_words) for each in found}
    assert by["Ada plays chess."][1]
    assert sum(each.by_vector for each in found) == 1


def test_vectors_are_those_of_the_store(filled: Memory) -> None:
    embedder = filled._parts.embedder
    assert embedder is not None
    one = near(filled, "Ada plays chess.", "a", worded=0)[0]
    assert one.record.text == "Ada plays chess."
    assert float((one.vector * embedder.embed(["Ada plays chess."])[0]).sum()) > 0.99
    assert np.square(one.vector).sum() == pytest.approx(1.0, abs=1e-5)


def test_what_is_replaced_is_left_out_and_what_sleeps_is_not(memory: Memory) -> None:
    old = memory.remember("Ada lives in Kars.")
    memory.remember("Ada lives in Van.", supersedes=old.id)
    dull = memory.remember("Ada lives in a house.")
    ended = memory.remember("Ada lives in a tent.", valid_until="2026-11-20")
    memory._parts.changer.set_flag(dull.id, Flag.DORMANT, True)
    found = {each.record.text for each in near(memory, "Ada lives in Oslo.")}
    assert "Ada lives in Kars." not in found
    assert {"Ada lives in Van.", dull.text, ended.text} <= found


def test_an_empty_store_and_one_without_an_embedder(store_path: Any) -> None:
    with spector.open(str(store_path), embedder=None, dim=4) as memory:
        assert near(memory, "Ada keeps bees.") == []
        memory.remember("Ada keeps bees.", vector=np.eye(4)[0])
        assert [each.by_words for each in near(memory, "bees")] == [True]
        assert near(memory, "bees", worded=0) == []


def test_all_are_answered_in_their_order(filled: Memory) -> None:
    neighbours, embedder = filled._parts.neighbours, filled._parts.embedder
    assert embedder is not None
    texts = ["Ada plays chess.", "Ada keeps bees in Kars."]
    wanted = [
        Wanted(text, vector, "a", by_words=False)
        for text, vector in zip(texts, embedder.embed(texts), strict=True)
    ]
    found = neighbours.of(wanted, now_ms=filled._parts.clock.now_ms(), nearest=1, worded=3)
    assert [each[0].record.text for each in found] == texts
