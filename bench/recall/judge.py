"""Figures of rows, with their spread. All are shares in 0..1 unless they say otherwise.

A group (a conversation, a topic, a dialogue) lies in one of five folds by a hash of its name, so
nobody chooses. In odd months folds 0-2 develop and 3-4 report; in even months 3, 4 and 0 develop
and 1-2 report.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Final

import numpy as np

from bench.recall.ask import FIRST, Row

FOLDS: Final = 5
PARTS: Final = ("develop", "report")
#: the first number under which every family has groups in both parts of both rotations
_SALT: Final = 0
_HALVINGS: Final = 250
_DRAWS: Final = 2000
_SEED: Final = 20_261_125


def fold_of(group: str) -> int:
    """0..4, the same on every machine and for ever."""
    return hashlib.sha256(f"{_SALT}/{group}".encode()).digest()[0] % FOLDS


def part_of(group: str, day: date) -> str:
    """``develop`` or ``report``."""
    return "report" if fold_of(group) in ({3, 4} if day.month % 2 else {1, 2}) else "develop"


@dataclass(frozen=True, slots=True)
class Measure:
    """``value`` of a row; None: the row has no say. ``better``: 1 more is better, -1 less, 0 it
    depends. ``scale``: what it is shown times."""

    title: str
    value: Callable[[Row], float | None]
    better: int = 1
    scale: float = 100.0


def _any(row: Row, k: int) -> float | None:
    return float(any(_within(row, k))) if row["kind"] == "own" else None


def _within(row: Row, k: int) -> list[bool]:
    return [each is not None and each <= k for each in row["ranks"]]


def _frac(row: Row) -> float | None:
    found = _within(row, FIRST) if row["kind"] == "own" else []
    return sum(found) / len(found) if found else None


def _all(row: Row) -> float | None:
    several = row["kind"] == "own" and len(row["ranks"]) > 1
    return float(all(_within(row, FIRST))) if several else None


def _instruction(row: Row) -> float | None:
    return float(row["instruction"]) if "instruction" in row else None


def _silent(kind: str) -> Callable[[Row], float | None]:
    return lambda row: float(not row["quoted"]) if row["kind"] == kind and "quoted" in row else None


def _lost(row: Row) -> float | None:
    if row["kind"] != "own" or "quoted" not in row:
        return None
    return 0.0 if row["quoted"] else _any(row, FIRST)


def _spoken(row: Row) -> float | None:
    """Memories quoted to a question that nothing answers, where the context speaks."""
    strange = row["kind"] in ("swapped", "none") and row.get("quoted")
    return float(row["quoted"]) if strange else None


MEASURES: Final[dict[str, Measure]] = {
    "any1": Measure("@1", lambda row: _any(row, 1)),
    "any3": Measure("@3", lambda row: _any(row, 3)),
    "any10": Measure("@10", lambda row: _any(row, FIRST)),
    "frac10": Measure("frac", _frac),
    "all10": Measure("all", _all),
    "hits": Measure("hits", lambda row: row.get("hits"), -1, 1.0),
    "instruction": Measure("instr@1", _instruction, -1),
    "stranger": Measure("sil.str", _silent("stranger")),
    "swapped": Measure("sil.swap", _silent("swapped")),
    "none": Measure("sil.none", _silent("none")),
    "withheld": Measure("withheld", _silent("own"), -1),
    "lost": Measure("lost", _lost, -1),
    "spoken": Measure("quoted", _spoken, -1, 1.0),
    "tokens": Measure(
        "tokens", lambda row: row.get("tokens") if row["kind"] == "own" else None, 0, 1.0
    ),
}


def mean_of(rows: Iterable[Row], measure: Measure) -> float:
    """The mean over the rows that have a say; NaN for none."""
    found = [value for row in rows if (value := measure.value(row)) is not None]
    return math.fsum(found) / len(found) if found else math.nan


def of_part(rows: Sequence[Row], part: str, day: date) -> list[Row]:
    """The rows of the groups that ``develop`` or ``report`` in the month of a day, or of all."""
    return [row for row in rows if part not in PARTS or part_of(row["group"], day) == part]


@dataclass(frozen=True, slots=True)
class Spread:
    """``groups``: sd over groups. ``halves``: sd of the difference between random halves of them.
    ``worst``: the lowest group."""

    groups: float
    halves: float
    worst: float


def spread(rows: Sequence[Row], measure: Measure) -> Spread:
    """How far a mean is a matter of which groups were drawn; NaN for fewer than two groups."""
    sums, counts = _by_group((row["group"], measure.value(row)) for row in rows)
    if len(sums) < 2:
        return Spread(math.nan, math.nan, math.nan)
    means = sums / counts
    rng = np.random.default_rng(_SEED)
    gaps = []
    for _ in range(_HALVINGS):
        order = rng.permutation(len(sums))
        here, there = order[: len(sums) // 2], order[len(sums) // 2 :]
        gaps.append(sums[here].sum() / counts[here].sum() - sums[there].sum() / counts[there].sum())
    worst = float(means.min() if measure.better >= 0 else means.max())
    return Spread(float(means.std(ddof=1)), float(np.std(gaps)), worst)


@dataclass(frozen=True, slots=True)
class Gain:
    """Mean of (that - this) over the questions that both have, and the sd of a bootstrap over
    groups. ``is_clear``: at least two of those."""

    mean: float
    sd: float
    questions: int

    @property
    def is_clear(self) -> bool:
        return self.questions > 0 and self.mean != 0 and abs(self.mean) >= 2 * self.sd


def gain(this: Sequence[Row], that: Sequence[Row], measure: Measure) -> Gain:
    """How much more ``that`` has, paired by question and kind."""
    other = {(row["question"], row["kind"]): row for row in that}
    pairs: list[tuple[str, float]] = []
    for row in this:
        twin = other.get((row["question"], row["kind"]))
        before, after = measure.value(row), measure.value(twin) if twin else None
        if before is not None and after is not None:
            pairs.append((row["group"], after - before))
    sums, counts = _by_group(pairs)
    if not len(sums):
        return Gain(math.nan, math.nan, 0)
    rng = np.random.default_rng(_SEED)
    draws = rng.integers(0, len(sums), (_DRAWS, len(sums)))
    means = sums[draws].sum(axis=1) / counts[draws].sum(axis=1)
    return Gain(float(sums.sum() / counts.sum()), float(means.std()), int(counts.sum()))


def _by_group(pairs: Iterable[tuple[str, float | None]]) -> tuple[np.ndarray, np.ndarray]:
    """(groups,) sums and (groups,) counts of the values that are there."""
    sums: dict[str, float] = {}
    counts: dict[str, int] = {}
    for group, value in pairs:
        if value is not None:
            sums[group] = sums.get(group, 0.0) + value
            counts[group] = counts.get(group, 0) + 1
    return np.array(list(sums.values())), np.array(list(counts.values()), float)
