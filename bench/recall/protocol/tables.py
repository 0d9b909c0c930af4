"""Tables of the protocol, as Markdown that is also aligned for a terminal."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any, Final

from bench.recall.protocol.ask import Row
from bench.recall.protocol.judge import MEASURES, Measure, gain, mean_of, of_part, spread
from bench.recall.protocol.ways import HEADLINE

__all__ = [
    "PAIRS",
    "SHORT",
    "aligned",
    "category_table",
    "compare_table",
    "quick_table",
    "shown",
    "worse_of",
]

#: set -> way -> rows
Rows = Mapping[str, Mapping[str, Sequence[Row]]]
#: how a way is called in a table
SHORT: Final = {"role": "role=", "name": "Name: text", "words": "words only"}


#: (way of the one, way of the other) that are compared: each with itself, and what a name in the
#: text alone gets with what role= got
PAIRS: Final = (("role", "role"), ("name", "name"), ("words", "words"), ("role", "name"))


def worse_of(ways: Mapping[str, Sequence[Row]]) -> str:
    """The headline's way: the lower any@10 of role= and "Name: text"; else the only one."""
    told = [way for way in HEADLINE if way in ways] or list(ways)
    return min(told, key=lambda way: mean_of(ways[way], MEASURES["any10"]))


def quick_table(rows: Rows, day: date) -> list[str]:
    """Set x way x measure. ``*``: the worse of role= and "Name: text", which is the headline."""
    heads = [
        "set",
        "way",
        "n",
        *(each.title for each in MEASURES.values()),
        "dev@10",
        "rep@10",
        "sd",
        "worst",
        "halves",
    ]
    body = []
    for name, ways in rows.items():
        headline = worse_of(ways)
        for way, told in ways.items():
            spreads = spread(told, MEASURES["any10"])
            body.append(
                [
                    name,
                    SHORT[way] + ("*" if way == headline else ""),
                    str(_own(told)),
                    *(shown(mean_of(told, each), each) for each in MEASURES.values()),
                    *(
                        shown(
                            mean_of(of_part(told, part, day), MEASURES["any10"]), MEASURES["any10"]
                        )
                        for part in ("develop", "report")
                    ),
                    *(
                        shown(each, MEASURES["any10"])
                        for each in (spreads.groups, spreads.worst, spreads.halves)
                    ),
                ]
            )
    empty = [n for n in range(3, len(heads)) if all(not row[n] for row in body)]
    keep = [n for n in range(len(heads)) if n not in empty]
    return aligned([[row[n] for n in keep] for row in [heads, *body]])


def category_table(rows: Rows, measure: Measure) -> list[str]:
    """Set and category x way."""
    ways = list(dict.fromkeys(way for told in rows.values() for way in told))
    body = [["set", "category", "n", *(SHORT[way] for way in ways)]]
    for name, told in rows.items():
        first = next(iter(told.values()))
        listed = dict.fromkeys(row["category"] for row in first if row["kind"] == "own")
        for category in listed if len(listed) > 1 else ():
            parts = {
                way: [row for row in each if row["category"] == category]
                for way, each in told.items()
            }
            count = _own(next(iter(parts.values())))
            body.append(
                [
                    name,
                    category,
                    str(count),
                    *(shown(mean_of(parts.get(way, ()), measure), measure) for way in ways),
                ]
            )
    return aligned(body) if len(body) > 1 else []


def compare_table(this: Rows, that: Rows, day: date, part: str = "all") -> list[str]:
    """The gain of ``that`` over ``this`` by set, way and measure, and its sd; ``=``: under 2 sd."""
    shown_measures = {name: each for name, each in MEASURES.items() if name != "tokens"}
    body = [["set", "way", "n", *(each.title for each in shown_measures.values())]]
    for name in this:
        for before, after in PAIRS:
            if before not in this[name] or after not in that.get(name, {}):
                continue
            both = this[name][before], that[name][after]
            old, new = (of_part(rows, part, day) for rows in both)
            title = SHORT[after] if before == after else "Name: text, was role="
            found = {key: gain(old, new, each) for key, each in shown_measures.items()}
            body.append(
                [
                    name,
                    title,
                    str(found["any10"].questions),
                    *(_change(each, shown_measures[key]) for key, each in found.items()),
                ]
            )
    empty = [n for n in range(3, len(body[0])) if all(not row[n] for row in body[1:])]
    return aligned([[each for n, each in enumerate(row) if n not in empty] for row in body])


def _change(found: Any, measure: Measure) -> str:
    if not found.questions:
        return ""
    if found.mean == 0:
        return "0"
    sign = "" if found.is_clear else "="
    digits = 1 if measure.scale == 100 else 2
    return f"{sign}{found.mean * measure.scale:+.{digits}f} ({found.sd * measure.scale:.{digits}f})"


def shown(value: float, measure: Measure) -> str:
    """A figure in its own unit; nothing for NaN."""
    if math.isnan(value):
        return ""
    return f"{value * measure.scale:.1f}" if value * measure.scale < 1000 else f"{value:.0f}"


def _own(rows: Sequence[Row]) -> int:
    return sum(row["kind"] == "own" for row in rows)


def aligned(body: Sequence[Sequence[str]]) -> list[str]:
    """Lines of a Markdown table whose first row is its head."""
    widths = [max(len(row[n]) for row in body) for n in range(len(body[0]))]
    lines = [
        "| " + " | ".join(each.ljust(w) for each, w in zip(row, widths, strict=True)) + " |"
        for row in body
    ]
    return [lines[0], "|" + "|".join("-" * (w + 2) for w in widths) + "|", *lines[1:]]
