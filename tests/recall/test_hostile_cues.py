"""Cues that somebody made to hurt.

Mechanism: a cue is any text, and rules on it are regular expressions. Damage without the guard: one
message of a few kilobytes keeps a core for minutes (catastrophic backtracking), a huge number or
date raises something untyped. Guard: every reader of cues goes through long, repetitive and broken
texts, and no expression in these modules repeats without bound what itself repeats without bound.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from spector.clock import to_ms
from spector.language.cues import need_gate
from spector.language.cues.compound import split_cue
from spector.language.cues.intent import kind_of, route_cue
from spector.language.statements.instructions import find_instruction
from spector.language.statements.markers import (
    ends_with_question,
    states_preference,
    subject_of,
    terms_of_time,
)
from spector.language.time.ranges import time_range_in
from spector.language.words.folding import is_turkish, plain
from spector.recall.hypothetical import hypotheses

NOW = to_ms("2026-11-22T11:00:00Z")
SIZE = 10_000

UNITS = [
    "a",
    " ",
    "\n",
    "?",
    ".",
    "'",
    "-",
    "my ",
    "my",
    "how ",
    "is ",
    "what is ",
    "and ",
    "and what ",
    " and also",
    "before ",
    "two days after ",
    "after, ",
    "last ",
    "3 ",
    "May ",
    "May 8 ",
    "1-1-",
    "2023-05-08 ",
    "from May to ",
    "the ",
    "Ann ",
    "she ",
    "/a ",
    "i",
    "ı",
    "İ",
    "ş",
    "q\u0307",
    "\u0301",
    "\u0301\u0323",
    "\ud800",
    "\x00",
    "ne ",
    "mi ",
    "maliyi",
    "didi",
    "di ",
    "hi ",
    "ha",
    "9",
    "99999999 ",
    "\U0001f44d",
    "你",
    "한",
    "ه",
    "\u200d",
    "\u202e",
    "ﬃ",
    "ẞ",
    "when i ask ",
    "never ",
    "sorduğumda ",
    "when i ask about ",
    "from now on, ",
    "i prefer ",
    "(",
    "[shares ",
    "\\",
    "in 2023 ",
    "please ",
    "whenever ",
    "dan önce ",
    "the week of ",
]
READERS: dict[str, Callable[[str], object]] = {
    "gate": need_gate,
    "route": route_cue,
    "kind": kind_of,
    "split": lambda cue: split_cue(cue, ["Ann", "Bob Lee"]),
    "when": lambda cue: time_range_in(cue, NOW, years=range(1900, 2100)),
    "asks": ends_with_question,
    "instruction": find_instruction,
    "prefers": states_preference,
    "about": lambda cue: subject_of(cue, ["Ann", "Bob Lee"]),
    "terms_of_time": terms_of_time,
    "hyde": hypotheses,
    "turkish": lambda cue: is_turkish(cue, plain(cue)),
}
MODULES = (
    "language.time.expressions",
    "language.cues.need",
    "recall.hypothetical",
    "language.statements.instructions",
    "language.cues.compound",
    "language.words.folding",
    "language.cues.intent",
    "language.statements.markers",
    "language.time.modifiers",
    "language.time.ranges",
)


@pytest.mark.sampled
@pytest.mark.parametrize("unit", UNITS, ids=ascii)
def test_a_unit_repeated_is_read_in_one_pass(unit: str) -> None:
    cue = unit * (SIZE // len(unit))
    for read in READERS.values():
        read(cue)
        read(f"What did Ann do {cue} last week?")


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize(
    "cue", ["", "\x00", "\ud800", "\udfff\ud800", "\ufffe", "9" * 5000, "²³", "٣"], ids=range(8)
)
def test_broken_texts_raise_nothing(reader: str, cue: str) -> None:
    READERS[reader](cue)
    READERS[reader](f"in {cue} May {cue} ago")


def patterns(module: str) -> Iterator[tuple[str, re.Pattern[str]]]:
    """Every compiled expression among a module's names, with where it was found."""

    def inside(name: str, value: object) -> Iterator[tuple[str, re.Pattern[str]]]:
        if isinstance(value, re.Pattern):
            yield name, value
        elif isinstance(value, (tuple, list)):
            for each in value:
                yield from inside(name, each)

    for name, value in vars(importlib.import_module(f"spector.{module}")).items():
        yield from inside(name, value)


def nested_repeats(pattern: str) -> bool:
    """Whether an unbounded repeat stands inside of an unbounded one."""
    parser: Any = importlib.import_module("re._parser")

    def walk(part: Any, inside: bool) -> bool:
        if isinstance(part, parser.SubPattern):
            return any(walk(each, inside) for each in part)
        if isinstance(part, tuple):
            name = str(part[0]) if part else ""
            if name in ("MAX_REPEAT", "MIN_REPEAT"):
                _low, high, what = part[1]
                unbounded = high == parser.MAXREPEAT
                return (unbounded and inside) or walk(what, inside or unbounded)
            return any(walk(each, inside) for each in part)
        return isinstance(part, list) and any(walk(each, inside) for each in part)

    return walk(parser.parse(pattern), False)


@pytest.mark.parametrize("module", MODULES)
def test_no_expression_repeats_a_repeat_without_bound(module: str) -> None:
    guilty = [name for name, pattern in patterns(module) if nested_repeats(pattern.pattern)]
    assert guilty == []


def test_the_check_sees_what_it_is_for() -> None:
    assert nested_repeats(r"(?:a+b?)+c")
    assert nested_repeats(r"x|(\w+\s)*y")
    assert not nested_repeats(r"(?:\w+ ){0,3}(?:ha)+x*")
    assert sum(1 for module in MODULES for _ in patterns(module)) > 30
