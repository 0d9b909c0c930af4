"""What a caller can get wrong when remembering, and what must then happen.

Mechanism: every argument is checked before anything is embedded or written. Damage without it: a
record that no recall can find, a store that no longer opens, a raw TypeError from three layers
down. Guard: each mistake raises its own typed error with a next step, and the store is unchanged.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import spector
from spector import (
    DimensionMismatchError,
    InvalidFilterError,
    InvalidInputError,
    InvalidMetadataError,
    InvalidScopeError,
    InvalidTagError,
    InvalidTextError,
    InvalidTimeError,
    InvalidVectorError,
    ManualClock,
    Memory,
    SpectorError,
    UnknownRecordError,
    UnknownTierError,
)
from tests.api.helpers import DIM, ids, refused, texts, vector
from tests.cases import Cases
from tests.fakes import FakeEmbedder

cases = Cases(__file__)

NAIVE = datetime(2026, 5, 4, 12, 0)


@pytest.fixture
def memory(clock: ManualClock) -> Iterator[Memory]:
    """In memory: validation comes before any store, and hundreds of files would be slow."""
    with spector.open(":memory:", embedder=FakeEmbedder(dim=DIM), clock=clock) as opened:
        yield opened


class _Hostile:
    """An object that is none of the types that any argument takes."""


def _loop() -> dict[str, Any]:
    loop: dict[str, Any] = {}
    loop["loop"] = loop
    return loop


def _deep() -> dict[str, Any]:
    deep: Any = 1
    for _ in range(100_000):
        deep = [deep]
    return {"deep": deep}


TEXTS = [
    "",
    " \t\n ",
    "word " * 2_000_000,
    "é" * (512 * 1024) + "x",  # one byte over the limit
    "half a pair \ud83d",
    b"hello",
    None,
    5,
    ["hello"],
]
MESSAGES = [{"role": "user"}, {"text": "a", "content": "b"}, {"role": "user", "content": [7]}]
SIZES = [vector()[:-1], [*vector(), 0.5], []]
VECTORS = [
    [vector()],
    1.0,
    "0.1 0.2",
    [[1.0], [1.0, 2.0]],
    *([number, *vector()[1:]] for number in (math.nan, math.inf, -math.inf, 1e39)),
    [0.0] * DIM,
    [1e-44] * DIM,  # too small to have a direction
    np.ones(DIM) * 1j,
]
TAGS = [
    *cases.rows("TAGS"),
    [f"tag-{n}" for n in range(1000)],
    ["\0user\0ada"],  # as reserved tags start
    ["x" * 257],
    ["é" * 129],
    np.array([["a"], ["b"]]),
]
TIMES = [
    NAIVE,
    "2026-05-04T12:00:00",
    "yesterday",
    "",
    "2026-13-01",
    1_777_000_000,
    date(2026, 5, 4),
    datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=14))),  # before the year 1 in UTC
    datetime(9999, 12, 31, 23, 59, tzinfo=timezone(timedelta(hours=-12))),
]
SCOPES = ["", "  ", 7, b"\x01\x02", "ada\0", "ada\n", "\ud800", "x" * 257, ["ada"]]
METADATA = [
    [1, 2],
    "{}",
    {1: "a"},
    {"a": {1, 2}},
    {"a": b"x"},
    {"a": datetime(2026, 1, 1, tzinfo=UTC)},
    {"a": math.nan},
    {"a": [math.inf]},
    {"a": _Hostile()},
    {"a": "\ud800"},
    {"a": "x" * (64 * 1024)},
    _loop(),
    _deep(),
]
#: no memory has these; SQLite's numbers have 64 bits with a sign, Python's have no end
IDS = [123, 0, -1, (1 << 63) - 1, 1 << 63, (1 << 64) - 1, 1 << 70]
NO_IDS = [True, "123", 1.5, _Hostile()]
KEYS = ["", "x" * 513, "é" * 257, 5, b"k", ["k"], "\ud800"]
NAMESPACES = [
    ("a", 1),
    ("a", None),
    ("",),
    ("a\0b",),
    ("\ud800",),
    {"a": 1},
    5,
    b"a",
    ("x" * 600,),
    ("a",) * 33,
    ({},),
]
MOVES = [*cases.rows("MOVES"), {3: "v"}, [("user_id", "v")]]

#: verb -> the call; what a row gives is among the arguments
VERBS: dict[str, Callable[[Memory, int, dict[str, Any]], object]] = {
    "remember": lambda m, i, given: m.remember(**{"text_or_message": "y", **given}),
    "remember keyed": lambda m, i, given: m.remember("y", key="k", **given),
    "remember lasting": lambda m, i, given: m.remember("y", expires_in=5, **given),
    "remember_many": lambda m, i, given: m.remember_many(**given),
    "update": lambda m, i, given: m.update(i, **given),
    "update moved": lambda m, i, given: m.update(i, text="y", **given),
    "update text": lambda m, i, given: m.update(**given, text="y"),
    "recall": lambda m, i, given: m.recall(**{"cue": "x", **given}),
    "recall vector": lambda m, i, given: m.recall(**given),
    "records": lambda m, i, given: list(m.records(**given)),
    "pages": lambda m, i, given: m.records(**given),  # before the first is read
    "count": lambda m, i, given: m.count(**given),
    "forget": lambda m, i, given: m.forget(**given),
    "forget one": lambda m, i, given: m.forget(i, **given),
    "forget several": lambda m, i, given: m.forget([given["target"]]),
    "get": lambda m, i, given: m.get(**given),
    "get keyed": lambda m, i, given: m.get(key="k", **given),
    "reinforce": lambda m, i, given: m.reinforce(**given),
    "pin": lambda m, i, given: m.pin(**given),
    "unpin": lambda m, i, given: m.unpin(**given),
    "resolve": lambda m, i, given: m.resolve(**given),
    "compact": lambda m, i, given: m.compact(**given),
}
_BY_ID = "get, update text, reinforce, pin, unpin, resolve, forget several"
_MANY = [math.nan, math.inf]
#: verbs, argument, error, values that are none
REFUSED: list[tuple[str, str, type[SpectorError], list[Any]]] = [
    ("remember", "text_or_message", InvalidTextError, [*TEXTS, *MESSAGES]),
    ("remember", "text_or_message", InvalidInputError, [{"content": "a", "colour": "red"}]),
    ("remember", "text_or_message", InvalidScopeError, [{"role": 7, "content": "a"}]),
    ("update", "text", InvalidTextError, TEXTS),
    ("remember, recall vector", "vector", DimensionMismatchError, SIZES),
    ("remember, recall vector", "vector", InvalidVectorError, VECTORS),
    ("remember, recall, forget, update", "tags", InvalidTagError, TAGS),
    *(
        ("remember", name, InvalidTimeError, TIMES)
        for name in ("event_time", "valid_from", "valid_until")
    ),
    ("recall", "time_range", InvalidTimeError, [(when, None) for when in TIMES]),
    *(
        ("remember, recall, forget, records", name, InvalidScopeError, SCOPES)
        for name in ("user_id", "agent_id", "session_id")
    ),
    ("remember", "metadata", InvalidMetadataError, METADATA),
    ("remember", "importance", InvalidInputError, [-0.01, 1.01, *_MANY, "0.5", True]),
    ("remember", "arousal", InvalidInputError, [-0.01, 1.01, math.nan, "high"]),
    ("remember", "confidence", InvalidInputError, [-1, 2, math.nan, [0.5]]),
    ("remember", "valence", InvalidInputError, [-1.01, 1.01, math.nan, "sad", False]),
    ("remember", "tier", UnknownTierError, ["episodical", 1]),
    ("remember", "category", InvalidInputError, ["gossip", 200]),
    ("remember", "modality", InvalidInputError, ["smell"]),
    *(
        ("remember", name, InvalidInputError, ["yes", 1])
        for name in ("pinned", "immutable", "unresolved")
    ),
    ("remember", "parents", InvalidInputError, [["5"], [1 << 62], [-1], range(1025)]),
    ("remember", "source", InvalidScopeError, ["x" * 1000, "\ud800"]),
    (_BY_ID, "target", UnknownRecordError, IDS),
    ("forget", "target", UnknownRecordError, IDS),
    (_BY_ID, "target", InvalidInputError, [None]),
    ("forget", "target", InvalidFilterError, [None]),
    (f"{_BY_ID}, forget", "target", InvalidInputError, NO_IDS),
    ("recall", "cue", InvalidTextError, ["", "\n", b"x", 5, "\udfff"]),
    ("recall", "cue", InvalidTextError, [{"role": "user"}, {"content": [7]}]),
    ("recall", "k", InvalidInputError, [0, -3, 10_001, 1 << 200, 2.0, True, False]),
    ("recall", "tiers", UnknownTierError, [["episodic", "dreams"], [None], 5]),
    ("recall", "tiers", InvalidFilterError, [_Hostile(), []]),
    ("recall", "profile", InvalidInputError, ["blanced", {"w_similarity": 1}]),
    ("recall", "valence", InvalidFilterError, [0.5, (0.5, 0.1), (-2, 1), (math.nan, 1)]),
    ("recall", "min_importance", InvalidInputError, [1.5, math.nan, "high"]),
    ("recall", "time_range", InvalidFilterError, ["2026-05-04", (None, None, None)]),
    ("recall", "time_range", InvalidFilterError, [("2026-05-05", "2026-05-04")]),
    ("recall", "where", InvalidFilterError, ["project = 1", [], {"a": {"like": 1}}, {"a": {1}}]),
    ("recall", "mood", InvalidInputError, [2, math.nan, "happy"]),
    ("recall", "include", InvalidFilterError, [["tombstone"], 5]),
    ("recall", "categories", InvalidFilterError, [["gossip"], [99], _Hostile()]),
    ("recall", "modalities", InvalidFilterError, ["smell", [-1]]),
    ("remember_many", "items", InvalidInputError, ["hello", {"text": "hello"}, b"hello", None, 5]),
    ("update", "tier", InvalidInputError, ["semantic"]),
    ("update", "parents", InvalidInputError, [[1]]),
    ("update", "id", InvalidInputError, [5]),
    ("update moved", "move_to", InvalidInputError, MOVES),
    ("compact", "threshold", InvalidInputError, [-0.1, 1.1, math.nan, "half"]),
    ("remember, forget, get", "key", InvalidInputError, KEYS),
    ("get", "key", InvalidInputError, [None]),
    ("remember keyed, get keyed, records", "namespace", InvalidInputError, NAMESPACES),
    ("count, records", "key_prefix", InvalidInputError, [5]),
    ("remember keyed, update, forget one", "if_revision", InvalidInputError, [-1, 1.5, "1", True]),
    ("count, records", "sorts", InvalidFilterError, ["entity", [], [3]]),
    ("pages", "limit", InvalidInputError, [0, -1, 1.5, True, "5"]),
    ("pages", "after", InvalidInputError, [-1, "7", 1.0, True, 1 << 63, [1]]),
    ("pages", "newest_first", InvalidInputError, [1, "yes"]),
    ("remember, update", "expires_in", InvalidInputError, [0, -1, *_MANY, "5", True]),
    ("remember, update", "expires_in", InvalidInputError, [timedelta(seconds=-5)]),
    ("remember, update", "expires_at", InvalidTimeError, ["soon"]),
    ("remember, update", "refresh", InvalidInputError, [True]),
    ("remember lasting", "expires_at", InvalidInputError, ["2099-01-01"]),
    ("remember lasting", "refresh", InvalidInputError, ["yes"]),
    ("remember lasting", "immutable", InvalidInputError, [True]),
    ("remember lasting", "tier", InvalidInputError, ["working"]),
]
CASES = [
    pytest.param(verb, name, kind, value, id=f"{verb}-{name}-{n}")
    for verbs, name, kind, values in REFUSED
    for verb in verbs.split(", ")
    for n, value in enumerate(values)
]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("verb", "name", "kind", "value"), CASES)
def test_what_is_no_such_value_is_refused_and_changes_nothing(
    memory: Memory, verb: str, name: str, kind: type[SpectorError], value: Any
) -> None:
    scopes = dict.fromkeys(("user_id", "agent_id", "session_id"), "ada")
    record = memory.remember("x", tags=["fine"], **scopes)  # which no wrong scope may widen to
    with refused(memory, kind):
        VERBS[verb](memory, record.id, {name: value})


def test_two_values_that_contradict_each_other_are_refused(memory: Memory) -> None:
    record = memory.remember("x")
    for call in (
        lambda: memory.remember("x", valid_from="2026-05-04", valid_until="2026-05-03"),
        lambda: memory.update(record.id),
        lambda: memory.update(record.id, expires_in=5, expires_at="2099-01-01"),
        lambda: memory.update(record.id, expires_at="2099-01-01", refresh=True),
        lambda: memory.update(record.id, expires_in=5, immutable=True),
    ):
        with refused(memory, InvalidInputError):
            call()


@pytest.mark.parametrize(
    "tag",
    ["c++", "日本語", "with spaces", "'; DROP TABLE record; --", "🦓", "%", "\\", '"', "x" * 256],
)
def test_a_weird_but_honest_tag_is_stored_and_found(memory: Memory, tag: str) -> None:
    record = memory.remember("tagged", tags=[tag])
    memory.remember("not tagged")
    assert record.tags == (tag,)
    assert ids(memory.recall(tags=[tag])) == [record.id]


def test_tags_that_differ_only_in_composition_are_one_tag(memory: Memory) -> None:
    record = memory.remember("tagged", tags=["cafe\u0301", "caf\u00e9", " caf\u00e9 "])
    assert record.tags == ("caf\u00e9",)
    assert ids(memory.recall(tags=["cafe\u0301"])) == [record.id]


@pytest.mark.parametrize("year", [1, 1900, 1969, 1970, 2038, 2106, 2262, 9999])
def test_a_distant_year_is_remembered_recalled_and_checked(
    store_path: Path, clock: ManualClock, year: int
) -> None:
    memory = spector.open(store_path, embedder=FakeEmbedder(), clock=clock)
    when = datetime(year, 3, 2, 1, 2, 3, 456_000, tzinfo=UTC)
    record = memory.remember("a distant event", event_time=when)
    memory.remember("a recent one")
    assert record.event_time == when
    assert ids(memory.recall(time_range=(when, when + timedelta(milliseconds=1)))) == [record.id]
    assert texts(memory.recall("a distant event", k=1)) == ["a distant event"]
    assert memory.check().ok
    memory.close()
    with spector.open(store_path, embedder=FakeEmbedder(), clock=clock) as again:
        assert again.get(record.id).event_time == when


def test_metadata_is_a_private_copy(memory: Memory) -> None:
    given = {"list": [1]}
    record = memory.remember("x", metadata=given)
    given["list"].append(2)
    assert memory.get(record.id).metadata == {"list": [1]}


def test_a_misspelt_tier_gets_a_suggestion(memory: Memory) -> None:
    with pytest.raises(UnknownTierError, match="did you mean 'episodic'"):
        memory.remember("x", tier="episodical")


@pytest.mark.parametrize("value", [1e25, np.float32(3e38)])
def test_a_vector_of_huge_numbers_is_stored_without_a_warning(value: float) -> None:
    """Mechanism: the sum of their squares overflows, which NumPy says to whoever listens."""
    with spector.open(":memory:", embedder=None, dim=8) as memory, warnings.catch_warnings():
        warnings.simplefilter("error")
        for vector in (np.full(8, value, np.float32), [float(value)] * 8, np.full(8, float(value))):
            made = memory.remember("x", vector=vector)
            hit = memory.recall(vector=vector, k=1, profile="similarity")[0]
            assert hit.id == made.id
            assert 0.99 < hit.score <= 1.0
            memory.forget(made)
