"""What a recall notices about its cue, which decides whether it had better say nothing."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import spector
from spector import Memory, Signals
from spector.language.statements.speakers import (
    Speakers,
    states_preference,
    subject_of,
    terms_of_time,
)
from spector.search import RecallRequest
from spector.search.probes import ENGLISH, TURKISH, Probes
from spector.search.signals import SignalCollector
from tests.cases import Cases
from tests.fakes import FakeEmbedder

cases = Cases(__file__)


@pytest.fixture
def told(memory: Memory) -> Memory:
    memory.remember_many(
        {"text": text, "role": "Ann", "session_id": "s"}
        for text in (
            "I bought a violin in Vienna.",
            "The cat sleeps all day.",
            "Rain again, what a pity.",
            "We had soup for lunch.",
            "My brother Ben called about the car.",
        )
    )
    return memory


def signals(memory: Memory, cue: str | None) -> Signals:
    memory._parts.probes.for_cue(cue, make=True)  # as a context does
    found = memory.recall(cue).signals
    assert found is not None
    return found


def test_words_that_memories_have_cover_a_cue(told: Memory) -> None:
    known = signals(told, "Who bought the violin in Vienna?")
    half = signals(told, "Who bought the violin in Zanzibar?")
    nothing = signals(told, "Who sold a helicopter near Zanzibar?")
    assert known.coverage > half.coverage > nothing.coverage == 0.0


def test_a_name_that_no_memory_has_is_noticed(told: Memory) -> None:
    assert signals(told, "When did Quentin call?").unknown_name
    assert not signals(told, "When did Ben call?").unknown_name
    assert not signals(told, "When did Ann call?").unknown_name, "who speaks is known as well"


def test_the_kind_of_a_cue_is_noticed(told: Memory) -> None:
    assert signals(told, "Where did I buy the violin?").kind == "fact"
    assert signals(told, "Can you recommend a violin?").kind == "request"
    assert signals(told, "It is raining all day long here").kind == "talk"


def test_a_cue_is_measured_once_whatever_time_it_names(
    told: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Mechanism: the time in a cue is searched by itself, beside all. Damage: both searches were
    measured, which reads a thousand vectors, and one of the measures was thrown away."""
    made: list[Any] = []
    measure = SignalCollector.signals

    def spied(*args: Any) -> Signals:
        made.append(measure(*args))
        return made[-1]

    request = told.recall("Who bought the violin in Vienna today?").request
    assert isinstance(request, RecallRequest)
    assert request.reading.span is not None
    monkeypatch.setattr(SignalCollector, "signals", spied)
    assert told._parts.recaller.searcher.recall(request).signals is not None
    assert len(made) == 1


def test_likeness_is_counted_above_what_questions_about_something_else_reach(
    memory: Memory,
) -> None:
    """The same cosine is much where unrelated questions reach little, and little where they reach
    as much; how alike the memories are to each other does not matter."""
    axes = np.eye(memory.dim, dtype=np.float32)
    probes = memory._parts.probes.for_cue("zebra", make=True)
    assert probes is not None
    cue = axes[0] + 2 * axes[30]

    def likeness() -> float:
        found = memory.recall("zebra", vector=cue).signals
        assert found.likeness is not None
        return found.likeness

    for n in range(4):
        memory.remember(f"apart {n}", vector=axes[0] + axes[n])
    apart = likeness()
    memory.remember_many([{"text": f"copy {n}", "vector": axes[0] + axes[1]} for n in range(200)])
    assert likeness() == pytest.approx(apart, abs=0.5), "copies change little"
    memory.remember_many([{"text": f"probe {n}", "vector": each} for n, each in enumerate(probes)])
    assert likeness() < apart - 0.5


def test_too_few_memories_have_no_usual_likeness(memory: Memory) -> None:
    for n in range(3):
        memory.remember(f"note {n}")
        assert signals(memory, "note").likeness is None
    memory.remember("note 3")
    assert signals(memory, "note").likeness is not None


def test_the_usual_likeness_forgets_what_was_erased(told: Memory) -> None:
    assert signals(told, "violin").likeness is not None
    told.forget(where={"or": [{"x": {"exists": False}}]})
    assert told.recall("violin").signals is None or signals(told, "violin").likeness is None


def _note(memory: Memory, n: int) -> int:
    vector = np.random.default_rng(n).normal(size=memory.dim) + 0.02 * n * np.eye(memory.dim)[0]
    return memory.remember(f"note {n}", vector=vector).id


def _likeness(memory: Memory) -> float | None:
    cue = np.eye(memory.dim)[0]
    memory._parts.probes.for_cue("Where is the zebra?", make=True)
    found = memory.recall("Where is the zebra?", vector=cue).signals
    return found.likeness


@pytest.mark.parametrize("count", [40, 300])
def test_the_usual_likeness_depends_on_the_memories_alone(
    store_path: Path, clock: spector.ManualClock, count: int
) -> None:
    """Mechanism: a sample was kept until the store had grown by an eighth. Damage: who had recalled
    before was met with silence where a reader, or the same store opened again, was answered. Guard:
    the sample is a function of the memories; every recall in between finds what a new reader does.
    """
    path, config = str(store_path), spector.Config(index_min_rows=10**6)
    common: dict[str, Any] = {"embedder": FakeEmbedder(), "clock": clock, "config": config}
    with spector.open(path, **common) as memory:
        ids = [_note(memory, n) for n in range(count)]
        steps: list[Callable[[], Any]] = [
            *(partial(_note, memory, n) for n in range(count, count + 4)),
            partial(memory.forget, ids[0]),
            partial(memory.forget, ids[count // 2]),
            partial(memory.update, ids[9], vector=-np.ones(32)),
            partial(memory.remember_many, [{"text": "x", "vector": np.ones(32)}] * (count // 6)),
            memory.compact,
        ]
        for step in steps:
            step()
            found = _likeness(memory)
            with spector.open(path, mode="r", **common) as reader:
                assert _likeness(reader) == found, step
    with spector.open(path, **common) as memory:
        assert _likeness(memory) == found


def test_the_shipped_probes_are_those_of_the_offline_embedder() -> None:
    from spector.providers import resolve

    embedder = resolve("default")
    probes = Probes(embedder)
    for cue, texts in (("Where is it?", ENGLISH), ("Bu nerede?", TURKISH)):
        shipped = probes.for_cue(cue, make=False)
        assert shipped is not None
        made = np.asarray(embedder.embed(list(texts)), np.float32)
        made /= np.linalg.norm(made, axis=1, keepdims=True)
        assert shipped == pytest.approx(made, abs=2e-3)


# Likings, words of time, questions, and whom a cue is about.
#
# Mechanism: terms of the ranking formula are given by the wording of a text. Damage without it: what
# the user likes is lost among facts; a question outranks its answer; "What will Ann do?" is about
# Will.
# Guard: tables, and changes that must not matter.


@cases("text")
def test_a_preference_is_seen(text: str) -> None:
    assert states_preference(text)
    assert states_preference(text.upper().replace("İ", "I"))


@cases("text", "count")
def test_words_of_time_are_counted_up_to_two(text: str, count: int) -> None:
    assert terms_of_time(text) == count


@cases("cue", "speakers", "expected")
def test_the_one_person_that_a_cue_is_about(
    cue: str, speakers: list[str], expected: str | None
) -> None:
    assert subject_of(cue, speakers) == expected
    assert subject_of(cue, Speakers.of(reversed(speakers))) == expected
