"""What a metadata filter means, in plain Python, and random documents and filters to compare on."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

from spector.store.catalog.filters import OPERATORS
from tests.cases import Cases

cases = Cases(__file__)


def matches_where(where: Mapping[str, Any], metadata: Any) -> bool:
    return all(_entry_matches(key, value, metadata) for key, value in where.items())


def _entry_matches(key: str, value: Any, metadata: Any) -> bool:
    match key.removeprefix("$"):
        case "and":
            return all(matches_where(item, metadata) for item in value)
        case "or":
            return any(matches_where(item, metadata) for item in value)
        case "not":
            return not matches_where(value, metadata)
    found = _reach(key, metadata)
    return _test_matches(value if isinstance(value, dict) else {"eq": value}, found)


def _reach(key: str, metadata: Any) -> list[Any]:
    """The value at a dotted key as a list of one, or an empty list when it is absent."""
    parts = [part.replace("\1", ".") for part in key.replace("\\.", "\1").split(".")]
    for part in parts:
        if not isinstance(metadata, dict) or part not in metadata:
            return []
        metadata = metadata[part]
    return [metadata]


def _test_matches(test: dict[str, Any], found: list[Any]) -> bool:
    return all(
        _operator_holds(op.removeprefix("$"), operand, found) for op, operand in test.items()
    )


def _operator_holds(operator: str, operand: Any, found: list[Any]) -> bool:
    value = found[0] if found else None
    match operator:
        case "eq":
            return _equal(value, operand)
        case "ne":
            return not _equal(value, operand)
        case "in":
            return any(_equal(value, item) for item in operand)
        case "exists":
            return bool(found) is operand
        case "not":
            return not _test_matches(operand, found)
        case "contains":
            if isinstance(value, list):
                return any(_equal(item, operand) for item in value)
            return isinstance(value, str) and isinstance(operand, str) and operand in value
    pair = _comparable(value, operand)
    if pair is None:
        return False
    left, right = pair
    orders = {"gt": left > right, "gte": left >= right, "lt": left < right, "lte": left <= right}
    return bool(orders[operator])


def _equal(value: Any, operand: Any) -> bool:
    if value is None or operand is None:
        return value is operand
    if isinstance(value, bool) or isinstance(operand, bool):
        return value is operand
    pair = _comparable(value, operand)
    return pair is not None and bool(pair[0] == pair[1])


def _comparable(value: Any, operand: Any) -> tuple[Any, Any] | None:
    if isinstance(value, bool) or isinstance(operand, bool):
        return None
    if isinstance(value, int | float) and isinstance(operand, int | float):
        big = isinstance(value, int) and not -(2**63) <= value < 2**63
        return (float(value) if big else value), operand
    if isinstance(operand, datetime):
        if not isinstance(value, str):
            return None
        try:
            stored = datetime.fromisoformat(value)
        except ValueError:
            return None
        return (stored if stored.tzinfo else stored.replace(tzinfo=UTC)), operand
    if isinstance(value, str) and isinstance(operand, str):
        return value, operand
    return None


# --- random documents and filters ---------------------------------------------------------------

KEYS = ["a", "b", "c", "né", 'q"t', "it's", "dot.ted", "0", " ", "and", "\U0001f9e0", "x\ny", "\\"]
INSTANTS = [datetime(2026, 5, 4, 17, 30, tzinfo=UTC) + timedelta(ms * 0.37) for ms in range(4)]
TEXTS = [
    *cases.rows("texts"),
    *(moment.isoformat(timespec="milliseconds") for moment in INSTANTS),
    INSTANTS[0].astimezone(timezone(timedelta(hours=-7))).isoformat(),
]
NUMBERS = [
    *cases.rows("numbers"),
    0.1 + 0.2,
    2**53,
    2**53 + 1,
    2.0**53,
    2**63 - 1,
    -(2**63),
    1 / 3,
    math.pi,
]


def a_scalar(rng: random.Random) -> Any:
    roll = rng.random()
    if roll < 0.4:
        return rng.choice(NUMBERS) if rng.random() < 0.7 else rng.uniform(-3, 3)
    if roll < 0.8:
        return rng.choice(TEXTS)
    return rng.choice([True, False, None])


def a_value(rng: random.Random, depth: int) -> Any:
    roll = rng.random()
    if depth and roll < 0.25:
        return a_document(rng, depth - 1)
    if depth and roll < 0.4:
        return [a_value(rng, depth - 1) for _ in range(rng.randrange(4))]
    if roll < 0.43:
        return rng.choice([2**63, 2**64 + 1, -(2**70)])
    return a_scalar(rng)


def a_document(rng: random.Random, depth: int = 2) -> dict[str, Any]:
    return {key: a_value(rng, depth) for key in rng.sample(KEYS, rng.randrange(5))}


def an_operand(rng: random.Random) -> Any:
    return rng.choice(INSTANTS) if rng.random() < 0.1 else a_scalar(rng)


def a_field(rng: random.Random) -> str:
    keys = rng.choices([key for key in KEYS if key != "\\"], k=rng.choice([1, 1, 1, 2, 3]))
    field = ".".join(key.replace(".", "\\.") for key in keys)
    return "a" if field == "and" else field


def a_test(rng: random.Random, depth: int) -> Any:
    if rng.random() < 0.2:
        return an_operand(rng)
    test: dict[str, Any] = {}
    for operator in rng.sample(OPERATORS, rng.choice([1, 1, 2])):
        name = rng.choice(["", "$"]) + operator
        if operator == "in":
            test[name] = [an_operand(rng) for _ in range(rng.randrange(5))]
        elif operator == "exists":
            test[name] = rng.random() < 0.5
        elif operator == "not":
            inner = a_test(rng, depth)
            test[name] = inner if isinstance(inner, dict) else {"eq": inner}
        elif operator in {"eq", "ne", "contains"}:
            test[name] = an_operand(rng)
        else:
            test[name] = rng.choice([*NUMBERS, *TEXTS, *INSTANTS])
    return test


def a_filter(rng: random.Random, depth: int = 3) -> dict[str, Any]:
    where: dict[str, Any] = {}
    for _ in range(rng.choice([0, 1, 1, 1, 2, 3])):
        roll = rng.random()
        if depth and roll < 0.3:
            name = rng.choice(["and", "or", "$and", "$or"])
            where[name] = [a_filter(rng, depth - 1) for _ in range(rng.randrange(4))]
        elif depth and roll < 0.45:
            where[rng.choice(["not", "$not"])] = a_filter(rng, depth - 1)
        else:
            where[a_field(rng)] = a_test(rng, depth)
    return where
