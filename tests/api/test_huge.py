"""Mechanism: every length is looked at before anything is made of what was given.

Damage without it: one text fills memory or disk, a million tags hold the writer for minutes, and
what was cut off somewhere comes back as something else. Guard: each limit is offered one less,
exactly, and one more; what is far beyond is refused typed, at the cost of at most a few copies.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import spector
from spector import (
    Config,
    InvalidInputError,
    InvalidMetadataError,
    InvalidScopeError,
    InvalidTagError,
    InvalidTextError,
    Memory,
    SpectorError,
)
from tests.api.helpers import own_vectors, refused, vector, vectors
from tests.crash.harness import in_fresh_process
from tests.proof import Proof

LIMITS = Config()
MARK = "\u0301"


@pytest.fixture
def memory() -> Iterator[Memory]:
    with own_vectors() as opened:
        yield opened


def _remember(memory: Memory, given: dict[str, Any]) -> Any:
    return memory.remember(given["text"], **{k: v for k, v in given.items() if k != "text"})


def _metadata(size: int) -> dict[str, Any]:
    room = size - len(json.dumps({"k": ""}, separators=(",", ":")))
    return {"k": "v" * room}


#: argument -> (what to give for a size, the limit, the error beyond it)
SIZES: dict[str, tuple[Any, int, type[SpectorError]]] = {
    "text": (lambda n: {"text": "x" * n}, LIMITS.max_text_bytes, InvalidTextError),
    "text of two-byte letters": (
        lambda n: {"text": "x" * (n % 2) + "é" * (n // 2)},
        LIMITS.max_text_bytes,
        InvalidTextError,
    ),
    "text of words": (
        lambda n: {"text": ("word " * (n // 5 + 1))[: n - 1] + "."},
        LIMITS.max_text_bytes,
        InvalidTextError,
    ),
    "tags": (lambda n: {"tags": [f"t{i}" for i in range(n)]}, LIMITS.max_tags, InvalidTagError),
    "a tag": (lambda n: {"tags": ["t" * n]}, LIMITS.max_tag_bytes, InvalidTagError),
    "metadata": (
        lambda n: {"metadata": _metadata(n)},
        LIMITS.max_metadata_bytes,
        InvalidMetadataError,
    ),
    "a scope": (lambda n: {"user_id": "u" * n}, LIMITS.max_scope_bytes, InvalidScopeError),
    "parents": (
        lambda n: {"parents": list(range(1, n + 1))},
        LIMITS.max_parents,
        InvalidInputError,
    ),
}


@pytest.mark.parametrize("name", SIZES)
def test_a_limit_is_exact(memory: Memory, name: str, proof: Proof) -> None:
    make, limit, kind = SIZES[name]
    rest = {"text": "a text", "vector": vector()}
    if name == "parents":
        memory.remember_many(
            [{"text": f"m{n}", "vector": v} for n, v in enumerate(vectors(limit + 1))]
        )
        known = sorted(record.id for record in memory)

        def make(n: int) -> dict[str, Any]:
            return {"parents": known[:n]}

    for size in (limit - 1, limit):
        given = make(size)
        record = memory.get(_remember(memory, rest | given).id)
        for key, value in given.items():
            stored = getattr(record, key)
            assert (list(stored) if isinstance(value, list) else stored) == value
    with refused(memory, kind):
        _remember(memory, rest | make(limit + 1))
    proof("T20", accepted_at_a_limit=2, refused=1, untyped=0)


TEXTS = {
    "NUL": "before\0after \0",
    "right to left": "\u05e9\u05dc\u05d5\u05dd \u202eabc\u202c \u0645\u0631\u062d\u0628\u0627",
    "300,000 combining marks": "e" + MARK * 300_000,
    "joined emoji": "\U0001f468\u200d\U0001f469\u200d\U0001f467" * 1000,
    "noncharacters": "\uffff \ufdd0 \U0010ffff",
    "line ends": "a\r\nb\rc\u2028d\x85e",
    "byte order mark": "\ufeffbegin",
}


@pytest.mark.parametrize("name", TEXTS)
def test_a_strange_text_comes_back_as_it_was(store_path: Path, name: str, proof: Proof) -> None:
    text = TEXTS[name]
    with own_vectors(store_path) as memory:
        memory.remember("plain", vector=vector(1))
        made = memory.remember(text, vector=vector())
    with own_vectors(store_path, mode="r") as memory:
        assert memory.get(made.id).text == text
        assert memory.recall(vector=vector(), k=1)[0].text == text
        assert memory.check().ok
    proof("T20", strange_texts=1, changed=0)


@pytest.mark.parametrize("text", ["\ud800", "half \udfff", "x" * 1000 + "\udc80", "\ud83d\ude00"])
def test_half_of_a_pair_is_refused_wherever_it_stands(
    memory: Memory, text: str, proof: Proof
) -> None:
    calls: list[tuple[type[SpectorError], Any]] = [
        (InvalidTextError, {"text": text}),
        (InvalidTagError, {"tags": [text]}),
        (InvalidScopeError, {"user_id": text}),
        (SpectorError, {"metadata": {"k": text}}),
        (SpectorError, {"source": text}),
    ]
    for kind, given in calls:
        with refused(memory, kind):
            _remember(memory, {"text": "a text", "vector": vector()} | given)
    proof("T20", refused=len(calls), untyped=0)


def test_a_million_tags_are_refused_by_the_first_too_many(memory: Memory, proof: Proof) -> None:
    taken = 0

    def tags() -> Iterator[str]:
        nonlocal taken
        for taken in range(1_000_000):
            yield f"t{taken}"

    for given in (tags(), [f"t{n}" for n in range(1_000_000)]):
        with refused(memory, InvalidTagError):
            memory.remember("a text", vector=vector(), tags=given)
    assert taken == LIMITS.max_tags
    proof("T20", refused=2, untyped=0)


@pytest.mark.parametrize(
    "tag",
    [
        "e" + MARK * 1_000_000,
        "t" * (1 << 26),
        "e" + (MARK + "\u0323") * 500_000,
    ],
    ids=["a million marks", "64 MiB", "a million marks in no order"],
)
def test_a_huge_tag_is_refused_by_every_verb(memory: Memory, tag: str, proof: Proof) -> None:
    record = memory.remember("a text", vector=vector(), tags=["fine"])
    for call in (
        lambda: memory.remember("a text", vector=vector(), tags=[tag]),
        lambda: memory.update(record.id, tags=[tag]),
        lambda: memory.recall(vector=vector(), tags=[tag]),
    ):
        with refused(memory, InvalidTagError):
            call()
    assert unicodedata.normalize("NFC", "e" + MARK) == "é"
    proof("T20", refused=3, untyped=0)


@pytest.mark.parametrize("size", [1, 3, 7, 8, 20])
def test_one_text_too_long_stops_a_batch_between_commits(
    store_path: Path, size: int, proof: Proof
) -> None:
    config = Config(batch_records=size)
    with own_vectors(store_path, config=config) as memory:
        items: list[dict[str, Any]] = [
            {"text": f"m{n}", "vector": v} for n, v in enumerate(vectors(20))
        ]
        items[13]["text"] = "x" * (LIMITS.max_text_bytes + 1)
        with pytest.raises(InvalidTextError):
            memory.remember_many(items)
        found = sorted(int(record.text[1:]) for record in memory)
        assert found == list(range(len(found))), "not a prefix"
        assert len(found) <= 13
        assert len(found) % size == 0
        assert memory.check().ok
    proof("T20", refused=1, untyped=0)


SLOW = pytest.mark.slow


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("size", "letter", "verb"),
    [
        (1 << 26, "x", "remember"),
        (1 << 26, "é", "update"),
        (1 << 26, "x", "recall"),
        pytest.param(1 << 30, "x", "remember", marks=SLOW),
        pytest.param(1 << 30, "x", "remember_many", marks=SLOW),
        pytest.param(1 << 30, "é", "remember", marks=SLOW),
        pytest.param(1 << 30, "\U0001f600", "update", marks=SLOW),
        pytest.param(1 << 30, "x", "recall", marks=SLOW),
    ],
)
def test_refusing_a_huge_text_costs_no_more_than_its_copies(
    size: int, letter: str, verb: str, proof: Proof
) -> None:
    """A cue is no memory: its ends are read, which costs as little."""
    found = in_fresh_process("tests.api.huge:refuse", size=size, letter=letter, verb=verb)
    copies = found["grown"] / size
    is_read = verb == "recall"
    proof(
        "T20",
        refused=int(not is_read),
        untyped=0,
        largest_text_mib=size / 2**20,
        most_copies_to_refuse=round(copies, 2),
    )
    assert found["stored"] == ["known"]
    assert found["error"] == ("accepted" if is_read else "InvalidTextError")
    assert found["grown"] <= 2 * size + (64 << 20)


def test_more_hits_than_there_may_be_are_refused(memory: Memory, proof: Proof) -> None:
    memory.remember("a text", vector=vector())
    assert len(memory.recall(vector=vector(), k=LIMITS.max_k)) == 1
    for k in (LIMITS.max_k + 1, 1 << 31, 1 << 32, 1 << 63, 1 << 200):
        with refused(memory, InvalidInputError):
            memory.recall(vector=vector(), k=k)
    assert spector.Config().max_k == LIMITS.max_k
    proof("T20", refused=5, untyped=0)
