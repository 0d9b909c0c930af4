"""Mechanism: whatever comes from outside, a typed error that says what is wrong, or a result.

Damage without it: a file that somebody else made ends an import with a traceback, or a value from
a model's tool call ends a recall with one. Guard: sound inputs are changed at random, as bytes and
as JSON, where the structure is kept so that the changes reach behind the first check.
"""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import spector
from spector.errors import SpectorError
from spector.importers import FORMATS, iter_messages
from spector.kernel.checksum import crc32c
from spector.kernel.contract.index import INDEX_HEADER_BYTES
from tests.crash.workload import DIM, open_tiny, vector_of
from tests.fakes import FakeEmbedder
from tests.proof import seed

SIZES = pytest.mark.parametrize(
    "count", [pytest.param(400, id="some"), pytest.param(40_000, id="all", marks=pytest.mark.slow)]
)
_ODD: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    -1,
    1 << 63,
    -(1 << 63) - 1,
    1 << 200,
    0.5,
    float("nan"),
    float("inf"),
    1e308,
    "",
    " ",
    "\0",
    "\ud800",
    "\ufeff",
    "a" * 5000,
    "2026-01-01",
    "1e9",
    "{}",
    "[]",
    [],
    {},
    [[]],
    {"": None},
    [None],
    {"$gt": 1},
    {"$or": []},
    ["a", 1, None],
    "٣",
    "😀",
    "\u202e",
)
_KEYS = (
    "$and",
    "$or",
    "$not",
    "$in",
    "$gt",
    "$contains",
    "$exists",
    "$eq",
    "a",
    "a.b",
    "",
    "\0",
    "text",
    "role",
    "content",
    "mapping",
    "message",
    "parts",
    "$",
    "..",
    "a" * 300,
)


def _odd(rng: random.Random, depth: int = 0) -> Any:
    pick = rng.randrange(8)
    if depth > 3 or pick < 4:
        return copy.deepcopy(rng.choice(_ODD))
    if pick < 6:
        return {rng.choice(_KEYS): _odd(rng, depth + 1) for _ in range(rng.randrange(4))}
    return [_odd(rng, depth + 1) for _ in range(rng.randrange(4))]


def _changed(value: Any, rng: random.Random) -> Any:
    """The same JSON with one to three places replaced, doubled or taken out."""
    out = copy.deepcopy(value)
    for _ in range(rng.randrange(1, 4)):
        at, parent, key = out, None, None
        while isinstance(at, (dict, list)) and at and rng.random() < 0.8:
            parent = at
            key = rng.choice(list(at)) if isinstance(at, dict) else rng.randrange(len(at))
            at = at[key]
        if parent is None:
            continue
        action = rng.randrange(4)
        if action == 0 and isinstance(parent, dict):
            parent[rng.choice(_KEYS)] = parent.pop(key)
        elif action == 1:
            del parent[key]
        else:
            parent[key] = _odd(rng)
    return out


def _dirty(data: bytes, rng: random.Random) -> bytes:
    out = bytearray(data)
    for _ in range(rng.randrange(1, 6)):
        at = rng.randrange(len(out) + 1)
        action = rng.randrange(4)
        if action == 0 and at < len(out):
            out[at] = rng.randrange(256)
        elif action == 1:
            out[at:at] = rng.choice((b"\0", b"\xff", b"{", b"]", b'"', b"\\u", b"\n", b"1e999"))
        elif action == 2:
            del out[at : at + rng.randrange(1, 40)]
        else:
            out[at:at] = out[rng.randrange(len(out) + 1) :][:50]
    return bytes(out)


def _node(parent: str | None, role: str, text: str) -> dict[str, Any]:
    return {
        "id": text,
        "parent": parent,
        "children": [],
        "message": {
            "id": text,
            "author": {"role": role},
            "create_time": 1767225600.0,
            "content": {"content_type": "text", "parts": [text]},
        },
    }


_SOUND: dict[str, Any] = {
    "jsonl": [
        {"role": "user", "content": "hello", "timestamp": "2026-01-01T00:00:00Z"},
        {"text": "more", "tags": ["a"], "metadata": {"k": [1, {"b": 2}]}, "user_id": "ada"},
    ],
    "spector": [
        {
            "text": "x",
            "tier": "semantic",
            "tags": ["a"],
            "event_time": "2026-01-01Z",
            "importance": 0.5,
            "parents": [1],
            "id": 2,
            "flags": ["PINNED"],
        }
    ],
    "chatgpt": [
        {
            "title": "t",
            "current_node": "b",
            "create_time": 1767225600.0,
            "mapping": {"a": _node(None, "user", "a"), "b": _node("a", "assistant", "b")},
        }
    ],
    "locomo": [
        {
            "sample_id": "c1",
            "conversation": {
                "speaker_a": "A",
                "speaker_b": "B",
                "session_1_date_time": "1:56 pm on 8 May, 2023",
                "session_1": [{"speaker": "A", "dia_id": "D1:1", "text": "hi"}],
            },
        }
    ],
    "markdown": "# Title\n\ntext\n\n- a\n- b\n\n```py\nx\n```\n",
    "text": "First.\n\nSecond line.\n\nThird.",
}


def _written(name: str, value: Any) -> bytes:
    if isinstance(value, str):
        return value.encode("utf-8", "surrogatepass")
    if name in ("jsonl", "spector") and isinstance(value, list):
        lines = (json.dumps(each) for each in value)
        return "\n".join(lines).encode("utf-8", "surrogatepass")
    return json.dumps(value).encode("utf-8", "surrogatepass")


def _only_typed(call: Callable[[], object], what: object) -> int:
    """1 when it was refused; anything but a typed error is a failure that shows the input."""
    try:
        call()
    except SpectorError as error:
        return 1 if error.message else 0
    except Exception as error:
        raise AssertionError(f"SPECTOR_SEED={seed(3)}: {what!r}") from error
    return 0


@SIZES
def test_imports_of_anything_are_read_or_refused(tmp_path: Path, count: int, proof: Any) -> None:
    rng = random.Random(seed(3))
    path = tmp_path / "import.dat"
    refused = 0
    for n in range(count):
        name = rng.choice(list(_SOUND))
        data = _written(name, _changed(_SOUND[name], rng) if n % 2 else _SOUND[name])
        path.write_bytes(data if n % 2 else _dirty(data, rng))
        form = name if rng.random() < 0.7 else rng.choice(FORMATS)
        refused += _only_typed(
            lambda form=form: list(iter_messages(path, form, assume_utc=True)),
            (form, path.read_bytes()),
        )
    proof("T11", imports_by_chance=count, crashes=0)
    assert 0 < refused < count


@SIZES
def test_arguments_of_any_kind_are_taken_or_refused(count: int, proof: Any) -> None:
    """Filters, tags, scopes, times and texts, as a model's tool call may give them."""
    rng = random.Random(seed(4))
    with spector.open(":memory:", embedder=FakeEmbedder(dim=DIM)) as memory:
        memory.remember("one", tags=["a"], metadata={"a": {"b": [1, "x", None]}, "c": 1.5})
        names = (
            "where",
            "tags",
            "any_tags",
            "user_id",
            "time_range",
            "tiers",
            "k",
            "valence",
            "min_importance",
            "mood",
            "include",
            "categories",
            "modalities",
            "vector",
        )
        refused = 0
        for _ in range(count):
            given = {rng.choice(names): _odd(rng) for _ in range(rng.randrange(1, 3))}
            if rng.random() < 0.5:
                sound = {"a.b": {"$contains": 1}, "$or": [{"c": {"$gt": 1}}, {"$not": {"c": 2}}]}
                given["where"] = _changed(sound, rng)
            refused += _only_typed(lambda given=given: memory.recall("one", **given), given)
        assert 0 < refused <= count
        memory.check()
    proof("T11", arguments_by_chance=count, crashes=0)


@SIZES
def test_lines_of_an_export_are_imported_or_refused(tmp_path: Path, count: int, proof: Any) -> None:
    rng = random.Random(seed(5))
    path = tmp_path / "export.jsonl"
    rounds = count // 4
    with open_tiny(":memory:") as memory:
        memory.remember("w", vector=vector_of("w"), tags=["t"], metadata={"n": 1})
        memory.export(path)
        sound = json.loads(path.read_text())
        for n in range(rounds):
            data = _written("jsonl", [_changed(sound, rng)])
            path.write_bytes(data if n % 2 else _dirty(data, rng))
            _only_typed(lambda: memory.import_(path), path.read_bytes())
        assert memory.check().ok
    proof("T11", exports_by_chance=rounds, crashes=0)


@SIZES
def test_scan_indexes_with_sums_that_fit_never_show_what_is_not_there(
    tmp_path: Path, count: int, proof: Any
) -> None:
    """Both checksums are made to fit, so the changes reach the kernel."""
    rng = random.Random(seed(6))
    path = tmp_path / "mind"
    with open_tiny(str(path)) as memory:
        for n in range(3):
            memory.remember(f"w{n}", vector=vector_of(f"w{n}"), tier="semantic", tags=["t"])
    index = next(path.rglob("*.idx"))
    whole = index.read_bytes()
    rounds = count // 20
    for _ in range(rounds):
        data = bytearray(whole)
        for _ in range(rng.randrange(1, 9)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        data[28:32] = crc32c(bytes(data[INDEX_HEADER_BYTES:])).to_bytes(4, "little")
        data[124:128] = crc32c(bytes(data[:124])).to_bytes(4, "little")
        index.write_bytes(bytes(data))
        with open_tiny(str(path), mode="r") as memory:
            for hit in memory.recall(vector=vector_of("w1"), tags=["t"], k=5):
                assert hit.text in {"w0", "w1", "w2"}
    proof("T11", scan_indexes_by_chance=rounds, crashes=0)
