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
from tests.fakes import FakeEmbedder

NAIVE = datetime(2026, 5, 4, 12, 0)


@pytest.fixture
def memory(clock: ManualClock) -> Iterator[Memory]:
    """In memory: validation comes before any store, and hundreds of files would be slow."""
    with spector.open(":memory:", embedder=FakeEmbedder(dim=DIM), clock=clock) as opened:
        yield opened


class _Hostile:
    """An object that is none of the types that any argument takes."""


TEXTS: dict[str, Any] = {
    "empty": "",
    "only white space": " \t\n ",
    "10 MB": "word " * 2_000_000,
    "one byte over the limit": "é" * (512 * 1024) + "x",
    "a lone surrogate": "half a pair \ud83d",
    "bytes": b"hello",
    "None": None,
    "a number": 5,
    "a list": ["hello"],
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_a_text_that_cannot_be_remembered_is_refused(memory: Memory, text: Any) -> None:
    memory.remember("what is there already")
    with refused(memory, InvalidTextError):
        memory.remember(text)


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_an_update_refuses_such_a_text_too(memory: Memory, text: Any) -> None:
    record = memory.remember("what is there already")
    with refused(memory, InvalidTextError):
        memory.update(record.id, text=text)


MESSAGES: dict[str, tuple[Any, type[SpectorError]]] = {
    "neither text nor content": ({"role": "user"}, InvalidTextError),
    "both text and content": ({"text": "a", "content": "b"}, InvalidTextError),
    "a content of numbers": ({"role": "user", "content": [7]}, InvalidTextError),
    "an unknown key": ({"content": "a", "colour": "red"}, InvalidInputError),
    "a role that is not a string": ({"role": 7, "content": "a"}, InvalidScopeError),
}


@pytest.mark.parametrize(("message", "kind"), MESSAGES.values(), ids=MESSAGES)
def test_a_malformed_message_is_refused(
    memory: Memory, message: Any, kind: type[SpectorError]
) -> None:
    with refused(memory, kind):
        memory.remember(message)


VECTORS: dict[str, tuple[Any, type[SpectorError]]] = {
    "too short": (vector()[:-1], DimensionMismatchError),
    "too long": ([*vector(), 0.5], DimensionMismatchError),
    "empty": ([], DimensionMismatchError),
    "a matrix": ([vector()], InvalidVectorError),
    "a number": (1.0, InvalidVectorError),
    "a text": ("0.1 0.2", InvalidVectorError),
    "ragged": ([[1.0], [1.0, 2.0]], InvalidVectorError),
    "NaN": ([math.nan, *vector()[1:]], InvalidVectorError),
    "infinity": ([math.inf, *vector()[1:]], InvalidVectorError),
    "minus infinity": ([-math.inf, *vector()[1:]], InvalidVectorError),
    "too large for float32": ([1e39, *vector()[1:]], InvalidVectorError),
    "only zeros": ([0.0] * DIM, InvalidVectorError),
    "too small to have a direction": ([1e-44] * DIM, InvalidVectorError),
    "complex": (np.ones(DIM) * 1j, InvalidVectorError),
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("given", "kind"), VECTORS.values(), ids=VECTORS)
def test_a_vector_without_a_direction_is_refused(
    memory: Memory, given: Any, kind: type[SpectorError]
) -> None:
    with refused(memory, kind):
        memory.remember("with a bad vector", vector=given)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("given", "kind"), VECTORS.values(), ids=VECTORS)
def test_recall_refuses_such_a_vector_too(
    memory: Memory, given: Any, kind: type[SpectorError]
) -> None:
    memory.remember("something to find")
    with refused(memory, kind):
        memory.recall(vector=given)


TAGS: dict[str, Any] = {
    "1,000 tags": [f"tag-{n}" for n in range(1000)],
    "an empty tag": ["fine", ""],
    "a blank tag": ["  "],
    "an empty string for all tags": "",
    "a number": [7],
    "a number for all tags": 7,
    "None among tags": ["fine", None],
    "a NUL, as reserved tags start with": ["\0user\0ada"],
    "a line break": ["two\nlines"],
    "an invisible character": ["zero\u200bwidth"],
    "a lone surrogate": ["\ud800"],
    "a tag of 257 bytes": ["x" * 257],
    "a tag of 129 letters that are 258 bytes": ["é" * 129],
    "an array": np.array([["a"], ["b"]]),
}


@pytest.mark.parametrize("tags", TAGS.values(), ids=TAGS)
@pytest.mark.parametrize("verb", ["remember", "recall", "forget", "update"])
def test_bad_tags_are_refused_by_every_verb(memory: Memory, verb: str, tags: Any) -> None:
    record = memory.remember("x", tags=["fine"])
    calls: dict[str, Callable[[], object]] = {
        "remember": lambda: memory.remember("y", tags=tags),
        "recall": lambda: memory.recall("x", tags=tags),
        "forget": lambda: memory.forget(tags=tags),
        "update": lambda: memory.update(record.id, tags=tags),
    }
    with refused(memory, InvalidTagError):
        calls[verb]()


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


TIMES: dict[str, Any] = {
    "a naive datetime": NAIVE,
    "a string without a zone": "2026-05-04T12:00:00",
    "a string that is no time": "yesterday",
    "an empty string": "",
    "a month that does not exist": "2026-13-01",
    "seconds since 1970": 1_777_000_000,
    "a date": date(2026, 5, 4),
    "before the year 1 in UTC": datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=14))),
    "after the year 9999 in UTC": datetime(
        9999, 12, 31, 23, 59, tzinfo=timezone(timedelta(hours=-12))
    ),
}


@pytest.mark.parametrize("when", TIMES.values(), ids=TIMES)
@pytest.mark.parametrize("field", ["event_time", "valid_from", "valid_until"])
def test_a_time_that_means_no_instant_is_refused(memory: Memory, field: str, when: Any) -> None:
    with refused(memory, InvalidTimeError):
        memory.remember("x", **{field: when})


@pytest.mark.parametrize("when", TIMES.values(), ids=TIMES)
def test_recall_refuses_such_a_range(memory: Memory, when: Any) -> None:
    with refused(memory, InvalidTimeError):
        memory.recall("x", time_range=(when, None))


def test_a_validity_that_ends_before_it_begins_is_refused(memory: Memory) -> None:
    with refused(memory, InvalidTimeError):
        memory.remember("x", valid_from="2026-05-04", valid_until="2026-05-03")


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


SCOPES: dict[str, Any] = {
    "empty": "",
    "blank": "  ",
    "a number": 7,
    "a UUID of bytes": b"\x01\x02",
    "a NUL": "ada\0",
    "a line break": "ada\n",
    "257 bytes": "x" * 257,
    "a list": ["ada"],
}


@pytest.mark.parametrize("value", SCOPES.values(), ids=SCOPES)
@pytest.mark.parametrize("scope", ["user_id", "agent_id", "session_id"])
def test_a_scope_that_is_no_label_is_refused_and_never_widens(
    memory: Memory, scope: str, value: Any
) -> None:
    memory.remember("somebody's", user_id="ada", agent_id="ada", session_id="ada")
    for call in (
        lambda: memory.remember("x", **{scope: value}),
        lambda: memory.recall("x", **{scope: value}),
        lambda: memory.forget(**{scope: value}),
        lambda: list(memory.records(**{scope: value})),
    ):
        with refused(memory, InvalidScopeError):
            call()


METADATA: dict[str, Any] = {
    "a list": [1, 2],
    "a text": "{}",
    "keys that are numbers": {1: "a"},
    "a set": {"a": {1, 2}},
    "bytes": {"a": b"x"},
    "a datetime": {"a": datetime(2026, 1, 1, tzinfo=UTC)},
    "NaN": {"a": math.nan},
    "infinity": {"a": [math.inf]},
    "an object": {"a": _Hostile()},
    "a lone surrogate": {"a": "\ud800"},
    "more than 64 KB": {"a": "x" * (64 * 1024)},
}


@pytest.mark.parametrize("metadata", METADATA.values(), ids=METADATA)
def test_metadata_that_is_no_json_object_is_refused(memory: Memory, metadata: Any) -> None:
    with refused(memory, InvalidMetadataError):
        memory.remember("x", metadata=metadata)


def test_metadata_that_contains_itself_is_refused(memory: Memory) -> None:
    loop: dict[str, Any] = {}
    loop["loop"] = loop
    with refused(memory, InvalidMetadataError):
        memory.remember("x", metadata=loop)


def test_metadata_nested_too_deeply_is_refused(memory: Memory) -> None:
    deep: Any = 1
    for _ in range(100_000):
        deep = [deep]
    with refused(memory, InvalidMetadataError):
        memory.remember("x", metadata={"deep": deep})


def test_metadata_is_a_private_copy(memory: Memory) -> None:
    given = {"list": [1]}
    record = memory.remember("x", metadata=given)
    given["list"].append(2)
    assert memory.get(record.id).metadata == {"list": [1]}


NUMBERS: dict[str, tuple[str, Any]] = {
    f"{name}={value!r}": (name, value)
    for name, values in {
        "importance": (-0.01, 1.01, math.nan, math.inf, "0.5", True),
        "arousal": (-0.01, 1.01, math.nan, "high"),
        "confidence": (-1, 2, math.nan, [0.5]),
        "valence": (-1.01, 1.01, math.nan, "sad", False),
    }.items()
    for value in values
}


@pytest.mark.parametrize(("name", "value"), NUMBERS.values(), ids=NUMBERS)
def test_a_strength_out_of_range_is_refused(memory: Memory, name: str, value: Any) -> None:
    with refused(memory, InvalidInputError):
        memory.remember("x", **{name: value})


OTHERS: dict[str, tuple[dict[str, Any], type[SpectorError]]] = {
    "an unknown tier": ({"tier": "episodical"}, UnknownTierError),
    "a tier that is a number": ({"tier": 1}, UnknownTierError),
    "an unknown category": ({"category": "gossip"}, InvalidInputError),
    "a category out of range": ({"category": 200}, InvalidInputError),
    "an unknown modality": ({"modality": "smell"}, InvalidInputError),
    "pinned that is not a bool": ({"pinned": "yes"}, InvalidInputError),
    "immutable that is not a bool": ({"immutable": 1}, InvalidInputError),
    "unresolved that is not a bool": ({"unresolved": "no"}, InvalidInputError),
    "a parent that is a text": ({"parents": ["5"]}, InvalidInputError),
    "a parent nobody has had yet": ({"parents": [1 << 62]}, InvalidInputError),
    "a negative parent": ({"parents": [-1]}, InvalidInputError),
    "too many parents": ({"parents": range(1025)}, InvalidInputError),
    "a source of 1,000 letters": ({"source": "x" * 1000}, InvalidScopeError),
}


@pytest.mark.parametrize(("given", "kind"), OTHERS.values(), ids=OTHERS)
def test_another_bad_argument_is_refused(
    memory: Memory, given: dict[str, Any], kind: type[SpectorError]
) -> None:
    with refused(memory, kind):
        memory.remember("x", **given)


def test_a_misspelt_tier_gets_a_suggestion(memory: Memory) -> None:
    with pytest.raises(UnknownTierError, match="did you mean 'episodic'"):
        memory.remember("x", tier="episodical")


IDS: dict[str, tuple[Any, type[SpectorError]]] = {
    "an id nobody has": (123, UnknownRecordError),
    "a negative id": (-1, UnknownRecordError),
    "an id beyond 64 bits": (2**70, UnknownRecordError),
    "a bool": (True, InvalidInputError),
    "a text": ("123", InvalidInputError),
    "a float": (1.5, InvalidInputError),
    "None": (None, InvalidInputError),
    "an object": (_Hostile(), InvalidInputError),
}
ID_VERBS: dict[str, Callable[[Memory, Any], object]] = {
    "get": lambda m, i: m.get(i),
    "update": lambda m, i: m.update(i, text="y"),
    "reinforce": lambda m, i: m.reinforce(i),
    "pin": lambda m, i: m.pin(i),
    "unpin": lambda m, i: m.unpin(i),
    "resolve": lambda m, i: m.resolve(i),
    "forget": lambda m, i: m.forget(i),
    "forget several": lambda m, i: m.forget([i]),
}


@pytest.mark.parametrize(("record_id", "kind"), IDS.values(), ids=IDS)
@pytest.mark.parametrize("verb", ID_VERBS.values(), ids=ID_VERBS)
def test_an_id_of_no_memory_is_refused_by_every_verb(
    memory: Memory, verb: Callable[[Memory, Any], object], record_id: Any, kind: type[SpectorError]
) -> None:
    memory.remember("x")
    with refused(
        memory,
        kind if record_id is not None or verb is not ID_VERBS["forget"] else InvalidFilterError,
    ):
        verb(memory, record_id)


def test_an_unknown_id_is_also_a_key_error(memory: Memory) -> None:
    with pytest.raises(KeyError):
        memory.get(1)


@pytest.mark.parametrize("record_id", [1, -1, 2**70, "1", None, 1.5, True, _Hostile()])
def test_what_is_no_id_of_a_memory_is_not_contained(memory: Memory, record_id: Any) -> None:
    memory.remember("x")
    assert record_id not in memory


RECALLS: dict[str, tuple[dict[str, Any], type[SpectorError]]] = {
    "k of 0": ({"k": 0}, InvalidInputError),
    "a negative k": ({"k": -3}, InvalidInputError),
    "k over the limit": ({"k": 10_001}, InvalidInputError),
    "k that is a float": ({"k": 2.0}, InvalidInputError),
    "k that is a bool": ({"k": True}, InvalidInputError),
    "k of False": ({"k": False}, InvalidInputError),
    "an unknown tier": ({"tiers": ["episodic", "dreams"]}, UnknownTierError),
    "a tier that is None": ({"tiers": [None]}, UnknownTierError),
    "tiers that are a number": ({"tiers": 5}, UnknownTierError),
    "tiers that are an object": ({"tiers": _Hostile()}, InvalidFilterError),
    "no tiers": ({"tiers": []}, InvalidFilterError),
    "an unknown profile": ({"profile": "blanced"}, InvalidInputError),
    "a profile that is a dict": ({"profile": {"w_similarity": 1}}, InvalidInputError),
    "valence that is one number": ({"valence": 0.5}, InvalidFilterError),
    "valence the wrong way round": ({"valence": (0.5, 0.1)}, InvalidFilterError),
    "valence out of range": ({"valence": (-2, 1)}, InvalidFilterError),
    "valence of NaN": ({"valence": (math.nan, 1)}, InvalidFilterError),
    "min_importance over 1": ({"min_importance": 1.5}, InvalidInputError),
    "min_importance of NaN": ({"min_importance": math.nan}, InvalidInputError),
    "min_importance that is a text": ({"min_importance": "high"}, InvalidInputError),
    "time_range that is one time": ({"time_range": "2026-05-04"}, InvalidFilterError),
    "time_range of three": ({"time_range": (None, None, None)}, InvalidFilterError),
    "time_range the wrong way round": (
        {"time_range": ("2026-05-05", "2026-05-04")},
        InvalidFilterError,
    ),
    "a naive time_range": ({"time_range": (NAIVE, None)}, InvalidTimeError),
    "where that is a text": ({"where": "project = 1"}, InvalidFilterError),
    "where that is an empty list": ({"where": []}, InvalidFilterError),
    "where with an unknown operator": ({"where": {"a": {"like": 1}}}, InvalidFilterError),
    "where with a set": ({"where": {"a": {1}}}, InvalidFilterError),
    "mood out of range": ({"mood": 2}, InvalidInputError),
    "mood of NaN": ({"mood": math.nan}, InvalidInputError),
    "mood that is a word": ({"mood": "happy"}, InvalidInputError),
    "include of what does not exist": ({"include": ["tombstone"]}, InvalidFilterError),
    "include that is a number": ({"include": 5}, InvalidFilterError),
    "an unknown category": ({"categories": ["gossip"]}, InvalidFilterError),
    "a category out of range": ({"categories": [99]}, InvalidFilterError),
    "categories that are an object": ({"categories": _Hostile()}, InvalidFilterError),
    "an unknown modality": ({"modalities": "smell"}, InvalidFilterError),
    "a modality out of range": ({"modalities": [-1]}, InvalidFilterError),
}


@pytest.mark.parametrize(("given", "kind"), RECALLS.values(), ids=RECALLS)
def test_a_bad_argument_of_recall_is_an_error_and_never_an_empty_list(
    memory: Memory, given: dict[str, Any], kind: type[SpectorError]
) -> None:
    memory.remember("x")
    with refused(memory, kind):
        memory.recall("x", **given)


CUES: dict[str, Any] = {
    "empty": "",
    "blank": "\n",
    "bytes": b"x",
    "a number": 5,
    "a lone surrogate": "\udfff",
    "a message without content": {"role": "user"},
    "a message whose content is a list of numbers": {"content": [7]},
}


@pytest.mark.parametrize("cue", CUES.values(), ids=CUES)
def test_a_cue_that_says_nothing_is_refused(memory: Memory, cue: Any) -> None:
    memory.remember("x")
    with refused(memory, InvalidTextError):
        memory.recall(cue)


def test_an_unknown_keyword_is_refused_by_every_verb(memory: Memory) -> None:
    record = memory.remember("x")
    calls: list[Callable[[], object]] = [
        lambda: memory.remember_many(["x"], tag="y"),
        lambda: memory.update(record.id, tag="y"),
        lambda: memory.forget(user="ada"),
        lambda: list(memory.records(user="ada")),
        lambda: memory.export("/nonexistent/x.jsonl", user="ada"),
    ]
    for call in calls:
        with refused(memory, InvalidInputError):
            call()
    with pytest.raises(TypeError, match="tag"):
        memory.remember("x", tag="y")  # type: ignore[call-arg]


@pytest.mark.parametrize("given", ["hello", {"text": "hello"}, b"hello", None, 5])
def test_remember_many_refuses_what_is_one_item_or_none(memory: Memory, given: Any) -> None:
    with refused(memory, InvalidInputError):
        memory.remember_many(given)


def test_update_with_nothing_to_change_is_refused(memory: Memory) -> None:
    record = memory.remember("x")
    with refused(memory, InvalidInputError):
        memory.update(record.id)


@pytest.mark.parametrize("given", [{"tier": "semantic"}, {"parents": [1]}, {"id": 5}])
def test_update_refuses_what_never_changes(memory: Memory, given: dict[str, Any]) -> None:
    record = memory.remember("x")
    with refused(memory, InvalidInputError):
        memory.update(record.id, **given)


@pytest.mark.parametrize("threshold", [-0.1, 1.1, math.nan, "half"])
def test_compact_refuses_a_threshold_that_is_no_share(memory: Memory, threshold: Any) -> None:
    with refused(memory, InvalidInputError):
        memory.compact(threshold=threshold)


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
