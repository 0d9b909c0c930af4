"""Which groups a change may be developed on, and which report it.

A group (a conversation, a topic, a dialogue) lies in one of five folds by a hash of its name, so
nobody chooses. In odd months folds 0-2 develop and 3-4 report; in even months 3, 4 and 0 develop
and 1-2 report.
"""

from __future__ import annotations

import hashlib
from datetime import date
from typing import Final

__all__ = ["FOLDS", "PARTS", "fold_of", "part_of", "reporting"]

FOLDS: Final = 5
PARTS: Final = ("develop", "report")
#: the first number under which every family has groups in both parts of both rotations
_SALT: Final = 0


def fold_of(group: str) -> int:
    """0..4, the same on every machine and for ever."""
    return hashlib.sha256(f"{_SALT}/{group}".encode()).digest()[0] % FOLDS


def reporting(day: date) -> frozenset[int]:
    """The folds whose figures count in the month of a day."""
    return frozenset({3, 4} if day.month % 2 else {1, 2})


def part_of(group: str, day: date) -> str:
    """``develop`` or ``report``."""
    return "report" if fold_of(group) in reporting(day) else "develop"
