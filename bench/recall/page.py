"""docs/recall.md and the tables of the command: what the protocol found.

Figures that are kept of a run lie in bench/results/protocol-*.json.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from typing import Any, Final

from bench import machine, results
from bench.machine import REPO
from bench.recall.ask import Row
from bench.recall.judge import MEASURES, PARTS, Measure, gain, mean_of, of_part, spread
from bench.report import compact

Figures = Mapping[str, Any]
#: set -> way -> rows
Rows = Mapping[str, Mapping[str, Sequence[Row]]]

PAGE: Final = REPO / "docs" / "recall.md"
TITLES: Final = {
    "locomo": "LoCoMo",
    "beam": "BEAM",
    "prefeval-chat": "PrefEval in a chat",
    "madial": "MADial",
    "prefeval": "PrefEval, one store",
}
#: how a way is called in a table
SHORT: Final = {"role": "role=", "name": "Name: text", "words": "words only"}
#: (way of the one, way of the other) that are compared: each with itself, and what a name in the
#: text alone gets with what role= got
PAIRS: Final = (("role", "role"), ("name", "name"), ("words", "words"), ("role", "name"))
#: set, measure, goal in percent on data that nothing was built on; none: shown for what it is
_ROWS: Final[tuple[tuple[str, str, float | None], ...]] = (
    ("locomo", "any10", 90),
    ("locomo", "frac10", 85),
    ("locomo", "all10", None),
    ("locomo", "any1", None),
    ("beam", "any10", 80),
    ("beam", "frac10", None),
    ("beam", "any1", None),
    ("madial", "frac10", 73),
    ("prefeval-chat", "any1", 67),
    ("prefeval-chat", "any3", 83),
    ("prefeval-chat", "any10", None),
    ("prefeval", "any10", None),
)
_NAMES: Final = {
    "any1": "any@1",
    "any3": "any@3",
    "any10": "any@10",
    "frac10": "frac@10",
    "all10": "all@10 of several",
}
#: of the table of silence, and their names
_SILENT: Final = {
    "stranger": "strangers",
    "swapped": "swapped",
    "none": "none",
    "withheld": "withheld",
    "lost": "lost",
    "spoken": "quoted",
}
_INTRO: Final = (
    "On public conversations with known answers: **LoCoMo** (long talks of two people), **BEAM** "
    "and **PrefEval** (chats with an assistant), **MADial** (dialogues in which a memory should "
    "come to mind). Nothing is trained on them.",
    "",
    "- **any@10**: a right memory is among the first ten. **frac@10**: the share of the right ones "
    "that are. **all@10**: all of them are.",
    '- Stored with the speaker as `role=`, with "Name: text" only, and without any (words only); '
    "the worse of the first two is the headline. Instructions beside the hits take places.",
    "- Conversations lie in five folds by a hash: three for development and two for the report, "
    "rotated each month. A change is the paired difference with the standard deviation of a "
    "bootstrap over groups; `=`: under two of them.",
)
_SILENCE: Final = (
    "How often `context` says nothing, in percent: for questions of another conversation "
    "(strangers), the same with the names of the store that is asked (swapped), questions without "
    "an answer (none), and answerable ones (withheld). lost: any@10 without a context. quoted: "
    "memories in a context for an unanswerable question."
)


def today() -> date:
    """Its month decides which folds report."""
    return datetime.now(UTC).date()


# -- tables of a run -------------------------------------------------------------------------------


def worse_of(ways: Mapping[str, Sequence[Row]]) -> str:
    """The headline's way: the lower any@10 of role= and "Name: text"; else the only one."""
    return _worse({way: mean_of(rows, MEASURES["any10"]) for way, rows in ways.items()})


def _worse(figures: Mapping[str, float]) -> str:
    headline = [way for way in ("role", "name") if way in figures] or list(figures)
    return min(headline, key=lambda way: figures[way])


def quick_table(rows: Rows, day: date) -> list[str]:
    """Set x way x measure. ``*``: the worse of role= and "Name: text", which is the headline."""
    any10 = MEASURES["any10"]
    titles = [each.title for each in MEASURES.values()]
    body = [["set", "way", "n", *titles, "dev@10", "rep@10", "sd", "worst", "halves"]]
    for name, ways in rows.items():
        headline = worse_of(ways)
        for way, told in ways.items():
            spreads = spread(told, any10)
            parts = (mean_of(of_part(told, part, day), any10) for part in PARTS)
            body.append(
                [
                    name,
                    SHORT[way] + ("*" if way == headline else ""),
                    str(sum(row["kind"] == "own" for row in told)),
                    *(shown(mean_of(told, each), each) for each in MEASURES.values()),
                    *(shown(each, any10) for each in parts),
                    *(
                        shown(each, any10)
                        for each in (spreads.groups, spreads.worst, spreads.halves)
                    ),
                ]
            )
    return _filled(body)


def compare_table(this: Rows, that: Rows, day: date, part: str = "all") -> list[str]:
    """The gain of ``that`` over ``this`` by set, way and measure, and its sd; ``=``: under 2 sd."""
    measures = {name: each for name, each in MEASURES.items() if name != "tokens"}
    body = [["set", "way", "n", *(each.title for each in measures.values())]]
    for name in this:
        for before, after in PAIRS:
            if before not in this[name] or after not in that.get(name, {}):
                continue
            old, new = (
                of_part(rows, part, day) for rows in (this[name][before], that[name][after])
            )
            found = {key: gain(old, new, each) for key, each in measures.items()}
            body.append(
                [
                    name,
                    SHORT[after] if before == after else "Name: text, was role=",
                    str(found["any10"].questions),
                    *(_change(each, measures[key]) for key, each in found.items()),
                ]
            )
    return _filled(body)


def _change(found: Any, measure: Measure) -> str:
    if not found.questions or found.mean == 0:
        return "0" if found.questions else ""
    sign = "" if found.is_clear else "="
    digits = 1 if measure.scale == 100 else 2
    return f"{sign}{found.mean * measure.scale:+.{digits}f} ({found.sd * measure.scale:.{digits}f})"


def shown(value: float, measure: Measure) -> str:
    """A figure in its own unit; nothing for NaN."""
    if math.isnan(value):
        return ""
    return f"{value * measure.scale:.1f}" if value * measure.scale < 1000 else f"{value:.0f}"


def _filled(body: Sequence[Sequence[str]]) -> list[str]:
    """A table without columns that have nothing but a head."""
    kept = [n for n in range(len(body[0])) if n < 3 or any(row[n] for row in body[1:])]
    return aligned([[row[n] for n in kept] for row in body])


def aligned(body: Sequence[Sequence[str]]) -> list[str]:
    """Lines of a Markdown table whose first row is its head."""
    widths = [max(len(row[n]) for row in body) for n in range(len(body[0]))]
    lines = [
        "| " + " | ".join(each.ljust(w) for each, w in zip(row, widths, strict=True)) + " |"
        for row in body
    ]
    return [lines[0], "|" + "|".join("-" * (w + 2) for w in widths) + "|", *lines[1:]]


# -- figures that are kept ---------------------------------------------------------------------------


def settled(run: Figures, day: date, base: Figures | None = None) -> dict[str, Any]:
    """All figures of a run, and what it gains over ``base``."""
    told: dict[str, Any] = {
        "schema": results.SCHEMA,
        "mode": "protocol",
        **{name: run[name] for name in ("started", "commit", "elapsed_s") if name in run},
        "day": day.isoformat(),
        "machine": machine.describe_machine(),
        "sets": {
            name: {way: _figures(each, day) for way, each in ways.items()}
            for name, ways in run["rows"].items()
        },
    }
    if base is not None:
        told["base"] = base["commit"]
        told["gains"] = {
            name: {
                f"{after} over {before}": _gains(old[before], ways[after], day)
                for before, after in PAIRS
                if before in old and after in ways
            }
            for name, ways in run["rows"].items()
            if (old := base["rows"].get(name))
        }
        told["before"] = {
            name: {way: _means(each) for way, each in ways.items()}
            for name, ways in base["rows"].items()
        }
    return told


def _figures(rows: Sequence[Row], day: date) -> dict[str, Any]:
    spreads = spread(rows, MEASURES["any10"])
    own = [row for row in rows if row["kind"] == "own"]
    return {
        "questions": len(own),
        **{part: _means(of_part(rows, part, day)) for part in ("all", *PARTS)},
        "spread": {
            "sd": results.round_to(spreads.groups),
            "worst": results.round_to(spreads.worst),
            "halves": results.round_to(spreads.halves),
        },
        "categories": {
            category: {"questions": len(part), **_means(part, ("any10", "frac10", "all10"))}
            for category in dict.fromkeys(row["category"] for row in own)
            if (part := [row for row in own if row["category"] == category])
        },
    }


def _means(rows: Sequence[Row], names: Sequence[str] = tuple(MEASURES)) -> dict[str, float]:
    found = {name: mean_of(rows, MEASURES[name]) for name in names}
    return {name: results.round_to(v) for name, v in found.items() if not math.isnan(v)}


def _gains(old: Sequence[Row], new: Sequence[Row], day: date) -> dict[str, dict[str, list[float]]]:
    out: dict[str, dict[str, list[float]]] = {}
    for part in ("all", *PARTS):
        parts = of_part(old, part, day), of_part(new, part, day)
        told = {name: gain(*parts, each) for name, each in MEASURES.items()}
        out[part] = {
            name: [results.round_to(each.mean), results.round_to(each.sd)]
            for name, each in told.items()
            if each.questions
        }
    return out


def newest() -> dict[str, Any]:
    """The figures of the last run that was settled."""
    return results.load(results.all_of("protocol-*.json", "python -m bench.recall settle")[0])


# -- the page --------------------------------------------------------------------------------------


def docs_page(told: Figures) -> str:
    """The page as Markdown, the headline first."""
    base = f", compared with {told['base']}" if "base" in told else ""
    sets = {name: told["sets"][name] for name in TITLES if name in told["sets"]}
    lines = [
        "# What recall brings back",
        "",
        f"Generated by `python -m bench.recall report` from a run of {told['commit']}, "
        f"{told['started'][:10]}{base}.",
        "",
        *_INTRO,
        "",
        *aligned(_headline(told)),
    ]
    for title, words, body in (
        ("Silence", _SILENCE, _silence(sets)),
        ("Spread", "any@10 of the worse way of writing.", _spreads(sets)),
        ("Kinds of questions", "any@10.", _categories(sets)),
    ):
        if len(body) > 1:
            lines += ["", f"## {title}", "", words, "", *aligned(body)]
    return compact("\n".join(lines)) + "\n"


def _headline(told: Figures) -> list[list[str]]:
    """A row a figure: the three ways, the report folds, the change."""
    body = [["set", "figure", "goal", *SHORT.values(), "headline, report folds"]]
    body[0] += ["before, role=", "change on report folds"] if "gains" in told else []
    for name, measure, goal in _ROWS:
        ways = told["sets"].get(name, {})
        if not any(measure in each["all"] for each in ways.values()):
            continue
        worse = _worse({way: each["all"].get(measure, 2.0) for way, each in ways.items()})
        row = [TITLES[name], _NAMES[measure], "" if goal is None else f"{goal:g}"]
        for way in SHORT:
            value = ways[way]["all"].get(measure) if way in ways else None
            reached = value is not None and goal is not None and 100 * value >= goal
            # bold: the headline, and it reaches the goal
            bold = "**" if way == worse and reached else ""
            row.append(f"{bold}{_percent(value)}{bold}")
        row.append(_percent(ways[worse]["report"].get(measure)))
        if "gains" in told:
            row.append(_percent(told["before"].get(name, {}).get("role", {}).get(measure)))
            gains = told["gains"].get(name, {}).get(f"{worse} over role", {}).get("report", {})
            row.append(_changed(gains.get(measure)))
        body.append(row)
    return body


def _silence(sets: Figures) -> list[list[str]]:
    """A row a set and way that has one of the figures."""
    body = [["set", "way", *_SILENT.values()]]
    for name, ways in sets.items():
        for way, each in ways.items():
            if {"stranger", "swapped", "none"} & set(each["all"]):
                figures = (
                    f"{each['all'][key] * MEASURES[key].scale:.1f}" if key in each["all"] else ""
                    for key in _SILENT
                )
                body.append([TITLES[name], SHORT[way], *figures])
    return body


def _spreads(sets: Figures) -> list[list[str]]:
    """How far the headline is a matter of which groups there are."""
    head = "set,any@10,sd over groups,worst group,sd between random halves"
    body = [[*head.split(","), "an unrelated instruction first"]]
    for name, ways in sets.items():
        each = ways[_worse({way: one["all"]["any10"] for way, one in ways.items()})]
        whole, told = each["all"], each["spread"]
        figures = (whole["any10"], told["sd"], told["worst"], told["halves"])
        body.append([TITLES[name], *map(_percent, (*figures, whole.get("instruction")))])
    return body


def _categories(sets: Figures) -> list[list[str]]:
    """Sets whose kinds of questions differ in what they ask for."""
    body = [["set", "kind", "questions", *SHORT.values()]]
    for name in ("locomo", "beam"):
        ways = {way: each["categories"] for way, each in sets.get(name, {}).items()}
        for category, counted in next(iter(ways.values()), {}).items():
            cells = (ways[way][category].get("any10") if way in ways else None for way in SHORT)
            body.append([TITLES[name], category, str(counted["questions"]), *map(_percent, cells)])
    return body


def _changed(found: Sequence[float] | None) -> str:
    """A paired difference in points and its sd; ``=``: under two of them."""
    if not found:
        return ""
    mean, sd = (100 * each for each in found)
    if mean == 0:
        return "0"
    return f"{'' if abs(mean) >= 2 * sd else '= '}{mean:+.1f} ({sd:.1f})"


def _percent(value: float | None) -> str:
    return "" if value is None or value != value else f"{100 * value:.1f}"
