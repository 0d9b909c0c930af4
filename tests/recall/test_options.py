"""`RecallOptions` and the keywords of recall are one set of arguments, checked in one place.

Mechanism: each field is given both ways, in turn with sound and with bad values. Damage without it:
an option that is checked when it is a keyword and ignored when it is a field, one that a context
drops, a misspelt keyword that nobody notices. Guard: the fields are listed from the class.
"""

from __future__ import annotations

import contextlib
import dataclasses
import math
from collections.abc import Iterator
from typing import Any, get_type_hints

import pytest

import spector
from spector import (
    InvalidInputError,
    ManualClock,
    Memory,
    RecallOptions,
    ScoringProfile,
    SpectorError,
    UnknownArgumentError,
)
from spector.recall.options import COMMON, RareArguments
from tests.conftest import NOW
from tests.fakes import FakeEmbedder

#: a value that differs from the default, and one that is refused
VALUES: dict[str, tuple[Any, Any]] = {
    "valence": ((0.1, 1.0), (1.0, 0.1)),
    "min_importance": (0.5, math.nan),
    "categories": ("decision", ["gossip"]),
    "modalities": (["text"], ["smell"]),
    "include": (["dormant"], ["tombstone"]),
    "mood": (0.5, "happy"),
    "exact": (True, "yes"),
    "lexical": (False, 0),
    "compound": (True, None),
    "hyde": (True, 1),
    "intent": ("temporal", "vague"),
    "mmr": (0.7, 1.5),
    "coverage": (True, "full"),
    "per_session": (2, 0),
    "cut": (0.9, 2),
    "associate": (True, 1),
    "expand": (True, 1),
    "dormant_hint": (True, 1),
    "near_session": ("s", 1),
    "sorts": ("memory", "facts"),
    "mode": ("semantic", "fast"),
    "min_score": (0.1, float("nan")),
    "seed": (1838348697600000, -1),
    "timezone": ("+03:00", "Mars/Olympus"),
}


@pytest.fixture(scope="module")
def memory() -> Iterator[Memory]:
    with spector.open(":memory:", embedder=FakeEmbedder(), clock=ManualClock(NOW)) as memory:
        memory.remember_many(
            [
                {
                    "text": f"the violin number {n}",
                    "valence": (n % 5 - 2) / 2,
                    "importance": n / 20,
                    "category": "decision" if n % 3 else "fact",
                    "session_id": f"s{n % 4}",
                }
                for n in range(20)
            ]
        )
        yield memory


def test_every_option_has_a_case_and_a_keyword_of_the_same_type() -> None:
    assert {field.name for field in dataclasses.fields(RecallOptions)} == set(VALUES)
    assert get_type_hints(RecallOptions) == get_type_hints(RareArguments)
    assert not set(COMMON) & set(VALUES)


@pytest.mark.parametrize("name", VALUES)
def test_an_option_answers_as_its_keyword_does(memory: Memory, name: str) -> None:
    given = {name: VALUES[name][0]}
    options = RecallOptions(**given)
    assert options != RecallOptions()
    asked = {"k": 12, "cue": "what about the violin?"}
    by_name = memory.recall(**asked, **given)  # type: ignore[arg-type]
    assert memory.recall(**asked, options=options) == by_name  # type: ignore[arg-type]
    shown = memory.context("what about the violin?", k=12, options=options, always=True)
    assert [hit.id for hit in shown.hits] == [
        hit.id for hit in memory.context("what about the violin?", k=12, always=True, **given).hits
    ]


@pytest.mark.parametrize("name", VALUES)
def test_a_bad_option_is_named_with_what_to_do_about_it(memory: Memory, name: str) -> None:
    bad = {name: VALUES[name][1]}
    said = name.removesuffix("s") if name != "categories" else "category"
    for call in (
        lambda: RecallOptions(**bad),
        lambda: memory.recall("x", **bad),
        lambda: memory.context("what of it?", **bad),
    ):
        with pytest.raises(InvalidInputError, match=said.removesuffix("ie")) as error:
            call()
        assert error.value.hint


def test_a_keyword_goes_before_the_same_field_of_options(memory: Memory) -> None:
    options = RecallOptions(per_session=1)
    assert len(memory.recall("violin", k=20, options=options)) == 4
    assert len(memory.recall("violin", k=20, options=options, per_session=2)) == 8
    assert len(memory.recall("violin", k=20, options=options, per_session=None)) == 20


def test_a_misspelt_argument_is_refused_with_the_nearest_one(memory: Memory) -> None:
    for wrong, right in (("min_importanc", "min_importance"), ("any_tag", "any_tags")):
        with pytest.raises(UnknownArgumentError, match=wrong) as error:
            memory.recall("x", **{wrong: 1})  # type: ignore[arg-type]
        assert f"did you mean {right}?" in str(error.value)
    with pytest.raises(TypeError, match=r"Memory.context\(\) .*'qqqq'") as unlike:
        memory.context("thanks!", **{"qqqq": 1})  # type: ignore[arg-type]
    assert "per_session" in str(unlike.value)


@pytest.mark.parametrize("wrong", [{"mmr": 0.5}, ScoringProfile(), "balanced", 3])
def test_options_of_another_type_are_refused(memory: Memory, wrong: Any) -> None:
    with pytest.raises(InvalidInputError, match="options"):
        memory.recall("x", options=wrong)


def test_a_context_refuses_what_it_does_by_itself(memory: Memory) -> None:
    with pytest.raises(InvalidInputError, match="selective"):
        memory.context("what of it?", selective=True)  # type: ignore[call-arg]


def test_options_stay_as_they_were_made(memory: Memory) -> None:
    names = ["dormant"]
    options = RecallOptions(include=iter(names), categories=names and ["fact"])
    names.append("superseded")
    assert (options.include, options.categories) == (("dormant",), ("fact",))
    for _ in range(2):  # an iterator is read once only
        assert len(memory.recall("violin", k=20, options=options)) == 7
    assert hash(options) == hash(RecallOptions(include=("dormant",), categories=("fact",)))
    with pytest.raises(dataclasses.FrozenInstanceError):
        options.mood = 1.0  # type: ignore[misc]


def test_every_error_of_an_option_is_ours() -> None:
    class Odd:
        def __iter__(self) -> Iterator[str]:
            return iter([])

        def __float__(self) -> float:
            raise TypeError("no")

    for name in VALUES:
        for value in (Odd(), b"x", {"a": 1}, [[1]], object()):
            given: dict[str, Any] = {name: value}
            with contextlib.suppress(SpectorError):
                RecallOptions(**given)
