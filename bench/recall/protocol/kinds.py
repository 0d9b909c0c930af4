"""Stores of one kind, from the tests: all memories are alike, and one answers each question."""

from __future__ import annotations

import importlib
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from bench.recall.shape import DataSet, Item, Question, Store

__all__ = ["kinds"]

_SOURCE: Final = "tests.recall.one_kind"
_FIRST: Final = datetime(2026, 3, 2, 9, tzinfo=UTC)


def kinds(_: object = None) -> DataSet | None:
    """Five stores of more than forty memories, forty questions; None where the tests are absent."""
    try:
        told: Any = importlib.import_module(_SOURCE)
    except ModuleNotFoundError:
        return None
    stores = tuple(
        Store(
            each.name,
            tuple(
                Item(str(n), text, "", "", _FIRST + timedelta(hours=n), n)
                for n, text in enumerate(each.texts)
            ),
        )
        for each in told.STORES
    )
    questions = tuple(
        Question(
            f"{each.name}-{n}",
            each.name,
            asked.cue,
            each.name,
            (str(asked.answer),),
            None,
            each.name,
        )
        for each in told.STORES
        for n, asked in enumerate(each.questions)
    )
    return DataSet("kinds", "Stores of one kind", stores, questions)
