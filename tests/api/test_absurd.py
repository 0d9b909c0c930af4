"""Whatever is passed, the answer is a typed error that names the argument, or a result.

Mechanism: values that contain themselves, are nested five thousand deep, have no length, or raise
from ``__iter__``, ``__eq__``, ``__len__``, ``__repr__`` or ``__bool__``; an error that quotes such
a value fails while it is put into words. Damage: RecursionError or an error of the caller's object
out of a verb, after half of the work. Guard: every argument of every verb with every such value;
the memories stay as many as they were.
"""

from __future__ import annotations

import dataclasses
import json
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
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
    RecallOptions,
    SpectorError,
)
from spector.arguments import parse_truth
from spector.messages import items_of, reading, said, shown
from spector.write import FIELDS
from tests.api.helpers import own_vectors, refused, vector, vectors
from tests.crash.harness import in_fresh_process
from tests.fakes import FakeEmbedder
from tests.proof import Proof


class _Failing:
    """Every question that is asked of it fails."""

    def _fail(self, *_: object, **__: object) -> Any:
        raise ArithmeticError("asked")

    __iter__ = __len__ = __eq__ = __hash__ = __repr__ = __str__ = __bool__ = _fail
    __float__ = __index__ = __array__ = __fspath__ = __getitem__ = __contains__ = _fail


class _FailingMap(Mapping[str, Any]):
    def __getitem__(self, key: str) -> Any:
        raise ArithmeticError("asked")

    def __iter__(self) -> Iterator[str]:
        raise ArithmeticError("asked")

    def __len__(self) -> int:
        return 1


class _FailingText(str):
    __slots__ = ()

    def __str__(self) -> str:
        raise ArithmeticError("asked")


def _deep(wrap: Callable[[Any], Any]) -> Any:
    value: Any = "x"
    for _ in range(5000):
        value = wrap(value)
    return value


def _circle() -> dict[str, Any]:
    value: dict[str, Any] = {"a": [1]}
    value["a"].append(value)
    return value


def _breaking() -> Iterator[str]:
    yield "fine"
    raise LookupError("broke")


VALUES: dict[str, Callable[[], Any]] = {
    "in itself": _circle,
    "deep list": lambda: _deep(lambda v: [v]),
    "deep dict": lambda: _deep(lambda v: {"a": v}),
    "deep not": lambda: _deep(lambda v: {"not": v}),
    "0-d": lambda: np.array(2.5),
    "0-d objects": lambda: np.array(None, dtype=object),
    "list of None": lambda: [None],
    "bytes": lambda: b"raw",
    "breaking": _breaking,
    "failing": _Failing,
    "list of failing": lambda: [_Failing()],
    "failing map": _FailingMap,
    "dict of failing": lambda: {"k": _Failing()},
    "failing text": lambda: _FailingText("x"),
    "huge": lambda: 10**5000,
    "list of huge": lambda: [-(10**5000)],
    "half a pair": lambda: "a\udc80",
    "half a pair within": lambda: {"\ud800": ["\udfff"]},
    "true": lambda: True,
    "records": lambda: np.zeros(2, [("a", "i4")]),
    "matrix": lambda: np.eye(2),
    "nothing": lambda: np.array([]),
    "ellipsis": lambda: ...,
    "long": lambda: "x" * 300_000,
}


def _calls(memory: Memory, record_id: int, folder: Path) -> dict[str, Callable[[Any], object]]:
    out: dict[str, Callable[[Any], object]] = {
        "remember": memory.remember,
        "remember_many": memory.remember_many,
        "remember_many item": lambda v: memory.remember_many([v], user_id="q"),
        "get": memory.get,
        "pin": memory.pin,
        "unpin": memory.unpin,
        "forget": memory.forget,
        "reinforce": memory.reinforce,
        "resolve": memory.resolve,
        "history": memory.history,
        "reinforce success": lambda v: memory.reinforce(record_id, success=v),
        "update id": lambda v: memory.update(v, text="x"),
        "recall": memory.recall,
        "context": memory.context,
        "export": memory.export,
        "import": memory.import_,
        "import change": lambda v: memory.import_(folder / "none", change=v),
        "backup": memory.backup,
        "check limit": lambda v: memory.check(limit=v),
        "verify": lambda v: memory.compact(verify=v),
        "threshold": lambda v: memory.compact(threshold=v, dry_run=True),
        "k": lambda v: memory.recall("x", k=v),
        "profile": lambda v: memory.recall("x", profile=v),
        "learn": lambda v: memory.recall("x", learn=v),
        "vector": lambda v: memory.recall(vector=v),
        "tokens": lambda v: memory.context("x", max_tokens=v),
        "layout": lambda v: memory.context("x", layout=v),
        "always": lambda v: memory.context("x", always=v),
        "open": lambda v: spector.open(v, embedder=None, dim=3).close(),
        "check": spector.check,
        "repair": lambda v: spector.repair(v, folder / "r"),
        "restore": lambda v: spector.restore(v, folder / "r"),
    }
    for name in FIELDS:
        out[f"remember {name}"] = lambda v, name=name: memory.remember("some", **{name: v})
        out[f"update {name}"] = lambda v, name=name: memory.update(record_id, **{name: v})
    for name in ("tags", "any_tags", "user_id", "where", "time_range", "tiers", "as_of"):
        out[f"recall {name}"] = lambda v, name=name: memory.recall("x", **{name: v})
    for name in ("tags", "where", "session_id"):
        out[f"forget {name}"] = lambda v, name=name: memory.forget(**{name: v})
    for operator in ("eq", "in", "gt", "contains", "exists"):
        out[f"where {operator}"] = lambda v, o=operator: memory.recall("x", where={"k": {o: v}})
    for field in dataclasses.fields(RecallOptions):
        out[f"option {field.name}"] = lambda v, n=field.name: memory.recall("x", **{n: v})
    for name in ("mode", "durability", "dim", "threads", "config", "clock", "extra_tiers"):
        out[f"open {name}"] = lambda v, n=name: spector.open(
            folder / "o", **{"embedder": None, "dim": 3, n: v}
        ).close()
    return out


@pytest.mark.sampled
@pytest.mark.parametrize("value", VALUES)
def test_every_argument_of_every_verb(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    """A result, for what some argument may well be; or an error of ours, which can be shown."""
    monkeypatch.chdir(tmp_path)
    with spector.open(tmp_path / "mind", embedder=FakeEmbedder(), threads=1) as memory:
        made = memory.remember("what there is", tags=["a"], metadata={"k": 1}, pinned=True)
        for label, call in _calls(memory, made.id, tmp_path).items():
            before = {record.id for record in memory}
            said = None
            if label == "remember_many" and value == "breaking":
                continue  # what an iterable raises is its own
            try:
                call(VALUES[value]())
            except spector.SpectorError as error:
                said = str(error)
            except Exception as error:
                raise AssertionError(f"{label}: {type(error).__name__}") from error
            if said is not None:
                assert "\n" not in said, label
                assert {record.id for record in memory} == before, label
        assert memory.check().ok


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda m: m.recall("x", tags=_breaking()), "tags"),
        (lambda m: m.recall("x", where=_FailingMap()), "where"),
        (lambda m: m.recall("x", time_range=_FailingMap()), "time_range"),
        (lambda m: m.recall("x", include=np.array(1)), "include"),
        (lambda m: m.remember("x", metadata=_circle()), "metadata"),
        (lambda m: m.remember("x", parents=_Failing()), "parents"),
        (lambda m: m.forget(_breaking()), "target"),
        (lambda m: m.forget([], purge=_Failing()), "purge"),
        (lambda m: m.compact(verify=_breaking()), "verify"),
        (lambda m: m.compact(threshold=10**5000), "threshold"),
        (lambda m: m.compact(threshold=None), "threshold"),
        (lambda m: m.backup("b", force=np.eye(2)), "force"),
        (lambda m: m.recall("x", k=10**5000), "k"),
    ],
)
def test_the_argument_is_named(call: Callable[[Memory], object], named: str) -> None:
    with spector.open(":memory:", embedder=FakeEmbedder()) as memory:
        with pytest.raises(spector.InvalidInputError, match=named):
            call(memory)
        assert not len(memory)


def test_anything_can_be_shown() -> None:
    assert shown("it's") == repr("it's")
    assert shown([1, {"a": (2, b"c")}]) == "[1, {'a': (2, b'c')}]"
    assert shown(_Failing()) == said(_Failing()) == "an object of type _Failing"
    for make in VALUES.values():
        assert len(shown(make())) <= 210
        assert len(said(make())) <= 210


def test_what_is_no_ordinary_error_passes() -> None:
    """Lack of memory and an interrupt are not the argument's fault."""
    for kind in (MemoryError, KeyboardInterrupt, SystemExit):
        with pytest.raises(kind), reading("it"):
            raise kind
    with pytest.raises(spector.InvalidTagError), reading("it"):
        raise spector.InvalidTagError("ours")
    assert list(items_of(iter("ab"), "it")) == ["a", "b"]
    assert parse_truth(1, "it") is True


# Mechanism: every length is looked at before anything is made of what was given.
#
# Damage without it: one text fills memory or disk, a million tags hold the writer for minutes, and
# what was cut off somewhere comes back as something else. Guard: each limit is offered one less,
# exactly, and one more; what is far beyond is refused typed, at the cost of at most a few copies.

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
