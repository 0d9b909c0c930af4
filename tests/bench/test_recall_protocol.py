"""The protocol that recall is judged by.

Mechanism: three ways of writing the speaker, folds by a hash, standing ones that take places,
strangers' questions with the names swapped, gains paired by question. Damage if wrong: a change
that helps one set by chance looks like a gain, or a loss hides behind another way of writing.
Guard: small stores whose figures are plain.
"""

from __future__ import annotations

import math
from datetime import date
from types import SimpleNamespace
from typing import Any

import pytest

from bench.recall import page
from bench.recall.ask import Mind, asked_of, message_of
from bench.recall.judge import FOLDS, MEASURES, fold_of, gain, mean_of, of_part, part_of, spread
from bench.recall.names import Names, swapped
from bench.recall.page import compare_table, quick_table, worse_of
from bench.recall.shape import Item, Question, Store
from tests.bench.recall_samples import DAY, Recording, a_set, a_store

ODD, EVEN = date(2026, 11, 25), date(2026, 12, 1)


def test_each_way_writes_the_speaker_where_it_says() -> None:
    item = Item("a", "Hello", "Ann", "s", DAY, 0)
    assert message_of(item, "role")["role"] == "Ann"
    assert message_of(item, "name")["text"] == "Ann: Hello"
    assert "role" not in message_of(item, "name")
    assert message_of(item, "words")["text"] == "Hello"
    assert "Ann" not in str(message_of(item, "words"))


def test_folds_never_move_and_both_parts_have_groups() -> None:
    folds = {name: fold_of(name) for name in ("conv-26", "beam-1", "madial-0", "travel_hotel")}
    assert folds == {"conv-26": 4, "beam-1": 1, "madial-0": 4, "travel_hotel": 2}
    names = [f"group-{n}" for n in range(100)]
    assert {fold_of(name) for name in names} == set(range(FOLDS))
    for day in (ODD, EVEN):
        parts = [part_of(name, day) for name in names]
        assert 25 < parts.count("report") < 55
    assert all(part_of(n, ODD) == "develop" for n in names if part_of(n, EVEN) == "report")


def test_names_of_the_store_asked_take_the_place_of_strangers() -> None:
    here = Store(
        "here",
        tuple(
            Item(str(n), text, who, "s", DAY, n)
            for n, (who, text) in enumerate(
                [
                    ("Ann", "I met Zoltan today"),
                    ("Bob", "and Zoltan said"),
                    ("Ann", "that Zoltan left"),
                ]
            )
        ),
    )
    there = Store(
        "there",
        tuple(Item(str(n), "we saw Priya by the lake", "Carl", "s", DAY, n) for n in range(3)),
    )
    cue = "What did Ann's friend Zoltan tell Bob at the lake?"
    found = swapped(cue, Names(here), Names(there))
    assert found == "What did Carl's friend Priya tell Carl at the lake?"
    assert swapped("Where is the lake?", Names(here), Names(there)) == "Where is the lake?"


def test_all_questions_are_asked_and_strangers_with_both_names() -> None:
    rows = list(asked_of(a_set(), "name", Recording()))
    kinds = [row["kind"] for row in rows]
    assert [kinds.count(each) for each in ("own", "none", "stranger", "swapped")] == [3, 1, 3, 3]
    assert all("quoted" in row for row in rows)
    assert mean_of(rows, MEASURES["any10"]) == 1
    assert mean_of(rows, MEASURES["hits"]) > 0


def test_a_hit_stands_for_memories_of_equal_words() -> None:
    hits = _Hits([SimpleNamespace(id=0, also=(2,))])
    memory: Any = SimpleNamespace(recall=lambda *_: hits)
    mind = Mind(memory, a_store(), {n: f"t{n}" for n in range(4)})
    row = mind.recalled(Question("q", "one", "cue", "x", ("t2",), DAY, "one"))
    assert row["ranks"] == [1]


class _Hits(list[Any]):
    standing: tuple[Any, ...] = ()


def _row(n: int, rank: int | None, group: str = "a", **more: Any) -> dict[str, Any]:
    return {
        "question": f"q{n}",
        "group": group,
        "category": "x",
        "kind": "own",
        "ranks": [rank],
        "hits": 4,
        "instruction": False,
        "quoted": 1,
        **more,
    }


def test_measures_of_plain_rows() -> None:
    rows = [
        _row(0, 1),
        _row(1, 3),
        _row(2, 11, quoted=0),
        _row(3, None),
        _row(4, 2, quoted=0),
        {**_row(5, None), "kind": "swapped", "quoted": 0},
    ]
    found = {name: mean_of(rows, each) for name, each in MEASURES.items()}
    assert (found["any1"], found["any3"], found["any10"]) == (0.2, 0.6, 0.6)
    assert found["lost"] == 0.2
    assert found["swapped"] == 1
    assert math.isnan(found["all10"])
    assert math.isnan(found["stranger"])


def test_a_gain_that_is_one_group_s_is_not_clear() -> None:
    before = [_row(n, None, f"g{n % 5}") for n in range(50)]
    everywhere = [_row(n, 1 if n % 10 < 5 else None, f"g{n % 5}") for n in range(50)]
    one_group = [_row(n, 1 if n % 5 == 0 else None, f"g{n % 5}") for n in range(50)]
    assert gain(before, everywhere, MEASURES["any10"]).is_clear
    found = gain(before, one_group, MEASURES["any10"])
    assert found.mean == pytest.approx(0.2)
    assert not found.is_clear
    assert gain(before, before, MEASURES["any10"]).mean == 0
    assert gain(before, [], MEASURES["any10"]).questions == 0


def test_the_spread_is_that_of_groups() -> None:
    rows = [_row(n, 1 if n % 4 == 0 else None, f"g{n % 4}") for n in range(40)]
    found = spread(rows, MEASURES["any10"])
    assert found.worst == 0
    assert found.groups == pytest.approx(0.5)
    assert found.halves > 0.3
    parts = [of_part(rows, part, ODD) for part in ("develop", "report")]
    assert sum(map(len, parts)) == 40


def test_the_worse_way_is_the_headline_and_words_only_never() -> None:
    ways = {"role": [_row(0, 1)], "name": [_row(0, 11)], "words": [_row(0, None)]}
    assert worse_of(ways) == "name"
    table = "\n".join(quick_table({"locomo": ways}, ODD))
    assert "Name: text*" in table
    assert "role=*" not in table
    changed = {"locomo": {**ways, "name": [_row(0, 1)]}}
    told = "\n".join(compare_table({"locomo": ways}, changed, ODD))
    assert "+100.0" in told
    assert "Name: text, was role=" in told


def test_the_published_page_is_that_of_the_figures_kept_last() -> None:
    assert page.PAGE.read_text(encoding="utf-8") == page.docs_page(page.newest())
