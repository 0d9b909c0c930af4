"""What strangers store changes no score and no order of a user's recall, to the last bit.

Mechanism: under a user the words, lengths, cosines, names and speakers that a score is measured by
are those of his memories alone. Damage: a user learned from his scores whether anyone had said a
word, and a stranger could reorder his answers by saying it often. Guard: a user alone and among
strangers who use his words, sessions and names, in two languages, ranked whole and by candidates.
"""

from __future__ import annotations

import importlib
import random
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import spector
from spector import Config, ManualClock, Memory
from spector.clock import to_ms
from spector.language.cues import need_gate
from spector.language.cues.intent import kind_of, route_cue, split_cue
from spector.language.dates import time_range_in
from spector.language.statements.instructions import find_instruction
from spector.language.statements.speakers import (
    ends_with_question,
    states_preference,
    subject_of,
    terms_of_time,
)
from spector.language.words.folding import is_turkish, plain
from spector.recall.recaller import hypotheses
from tests.cases import Cases
from tests.fakes import FakeEmbedder

cases = Cases(__file__)

WORDS = "lantern pepper violin glacier saddle quarry orchid ferry walnut compass".split()
FORMS = tuple(cases.rows("FORMS"))
CUES = tuple(
    (
        "where is the {0}? | {0} | {0} {1} | What happened to order {2}? | "
        "Is my {0} in the {1} now? | What did Mona say about the {0}? | "
        "Which {0} did Deniz buy? | suggest a {0} for the {1} | "
        "What did I say about the {0} and where is the {1}?"
    ).split(" | ")
)
STRANGE = ("Fenerin yanında bir {0} gördüm, güzeldi.", "{0} {0} {0}", "Ask Mona Lind about {1}.")
HOW: tuple[dict[str, Any], ...] = tuple(cases.rows("HOW"))


def filled(forms: tuple[str, ...], rng: random.Random) -> str:
    return rng.choice(forms).format(*rng.sample(WORDS, 2), rng.randrange(4700, 4712))


def store(seed: int, config: Config, strangers: int) -> Memory:
    mine, theirs = random.Random(seed), random.Random(seed + 1)
    clock = ManualClock("2026-05-01T08:00:00Z")
    memory = spector.open(":memory:", embedder=FakeEmbedder(), clock=clock, config=config)
    for n in range(60):
        clock.set(f"2026-05-{1 + n // 4:02}T{8 + n % 4:02}:00:00Z")
        memory.remember(
            filled(FORMS, mine),
            user_id="bob",
            session_id=f"s{n % 3}",
            tier=mine.choice(("episodic", "semantic")),
            tags=["odd"] if n % 2 else [],
            role=mine.choice(("user", "assistant", "Mona")),
        )
        for k in range(strangers):
            clock.advance(hours=0.01)
            memory.remember(
                filled((*FORMS, *STRANGE), theirs),
                user_id=f"u{k}",
                session_id=f"s{n % 3}",
                role=theirs.choice(("user", "Mona Lind", "Deniz")),
                aliases=[theirs.choice(WORDS)],
            )
    clock.set("2026-06-01T08:00:00Z")
    return memory


@pytest.mark.parametrize("records", [8192, 100, 16])
@pytest.mark.parametrize("seed", [0, 10])
def test_strangers_change_no_score_and_no_order(seed: int, records: int) -> None:
    config = Config(rank_all_records=records)
    with store(seed, config, 0) as alone, store(seed, config, 3) as among:
        rng = random.Random(seed)
        for how in HOW:
            for _ in range(2):
                cue = filled(CUES, rng)
                one, other = (
                    memory.recall(cue, user_id="bob", k=12, **how) for memory in (alone, among)
                )
                assert [(hit.text, hit.score) for hit in one] == [
                    (hit.text, hit.score) for hit in other
                ], (cue, how)
                assert one.reason == other.reason


# -- Cues that somebody made to hurt ---------------------------------------------------------------
#
# Mechanism: a cue is any text, and rules on it are regular expressions. Damage without the guard:
# one message of a few kilobytes keeps a core for minutes (catastrophic backtracking), a huge
# number or date raises something untyped. Guard: every reader of cues goes through long,
# repetitive and broken texts, and no expression in these modules repeats without bound what itself
# repeats without bound.


NOW = to_ms("2026-11-22T11:00:00Z")
SIZE = 10_000

UNITS = cases.rows("UNITS")
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
MODULES = tuple(
    (
        "language.dates.numbers language.cues.need recall.recaller "
        "language.statements.instructions language.cues.intent language.words.folding "
        "language.statements.speakers language.dates.grammar language.dates.scan"
    ).split()
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
