"""What was true then, or rests, is found by its meaning where it is asked for.

Damage: memories that a recall leaves out by default gave no cosine, so that with ``as_of`` or
``include`` the very memory that was meant ranked behind unrelated ones.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import spector
from spector import ManualClock, Memory


@pytest.fixture(scope="module")
def store() -> Iterator[Memory]:
    clock = ManualClock("2026-03-02T09:00:00Z")
    with spector.open(":memory:", clock=clock) as memory:
        car = memory.remember("I drive a grey Skoda Octavia.")
        for each in (
            "I'm training for the half marathon on 17 May.",
            "I hate coriander.",
            "I take the train to work.",
        ):
            memory.remember(each)
        aunt = memory.remember("My aunt Berta lives in Graz.")
        clock.advance(days=10)
        memory.remember("I bought a Dacia Spring.", supersedes=car.id)
        memory.retire(aunt.id)
        yield memory


@pytest.mark.parametrize(
    ("cue", "options", "answer"),
    [
        ("which car do I drive?", {"as_of": "2026-03-04T09:00:00Z"}, "Skoda"),
        ("which car do I drive?", {"include": ["superseded"]}, "Skoda"),
        ("where does Berta live?", {"include": ["dormant"]}, "Graz"),
    ],
)
def test_it_is_the_first_hit(store: Memory, cue: str, options: dict[str, str], answer: str) -> None:
    best = store.recall(cue, k=2, **options)[0]
    assert answer in best.text
    assert "near" not in best.explain().evidence or best.explain().evidence["near"] > -0.1


def test_without_being_asked_for_it_stays_out(store: Memory) -> None:
    assert "Skoda" not in " ".join(hit.text for hit in store.recall("which car do I drive?", k=5))
    assert "Graz" not in " ".join(hit.text for hit in store.recall("where does Berta live?", k=5))
