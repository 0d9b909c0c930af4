"""The part of docs/recall.md that says what the protocol found; from settled figures alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from bench.recall.protocol.judge import MEASURES
from bench.recall.protocol.tables import SHORT, aligned
from bench.recall.protocol.terms import worth_table

__all__ = ["sections"]

Figures = Mapping[str, Any]
TITLES: Final = {
    "locomo": "LoCoMo",
    "beam": "BEAM",
    "prefeval-chat": "PrefEval in a chat",
    "madial": "MADial",
    "prefeval": "PrefEval, one store",
    "beliefs": "beliefs",
    "kinds": "stores of one kind",
}
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
    ("beliefs", "precision", 65),
    ("beliefs", "recall", 97),
    ("beliefs", "selective_precision", 75),
    ("beliefs", "selective_recall", 95),
    ("kinds", "any1", None),
    ("kinds", "any10", None),
)
_NAMES: Final = {
    "any1": "any@1",
    "any3": "any@3",
    "any10": "any@10",
    "frac10": "frac@10",
    "all10": "all@10 of several",
    "precision": "precision",
    "recall": "recall",
    "selective_precision": "precision, selective",
    "selective_recall": "recall, selective",
}
_INTRO: Final = (
    "On public conversations with known answers: **LoCoMo** (long talks of two people), **BEAM** "
    "and **PrefEval** (chats with an assistant), **MADial** (dialogues in which a memory should "
    "come to mind), **beliefs** (short facts about a user), **stores of one kind** (memories that "
    "are all alike). Nothing is trained on them.",
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
_TERMS: Final = (
    "Points lost on the development / report folds when a term is left out (standard deviation), "
    "in the way of writing in which it helps less."
)


def sections(told: Figures) -> list[str]:
    """Lines of Markdown, the headline first."""
    lines = [*_INTRO, "", *headline_table(told)]
    lines += _titled("## Silence", _SILENCE, silence_table(told))
    lines += _titled("## Spread", "any@10 of the worse way of writing.", spread_table(told))
    lines += _titled("## Kinds of questions", "any@10.", category_table(told))
    if told.get("terms"):
        lines += _titled("## What each term is worth", _TERMS, worth_table(told["terms"]))
    return lines


def headline_table(told: Figures) -> list[str]:
    """A row a figure: the three ways, the report folds, the change."""
    head = ["set", "figure", "goal", *SHORT.values(), "headline, report folds"]
    head += ["before, role=", "change on report folds"] if "gains" in told else []
    body = [head]
    for name, measure, goal in _ROWS:
        ways = told["sets"].get(name, {})
        if not any(measure in each["all"] for each in ways.values()):
            continue
        worse = worse_way(ways, measure)
        cells = [ways[way]["all"].get(measure) if way in ways else None for way in SHORT]
        row = [
            TITLES[name],
            _NAMES[measure],
            "" if goal is None else f"{goal:g}",
            *(_bold(each, goal, way == worse) for way, each in zip(SHORT, cells, strict=True)),
            _percent(ways[worse]["report"].get(measure)),
        ]
        if "gains" in told:
            row.append(_percent(told["before"].get(name, {}).get("role", {}).get(measure)))
            gains = told["gains"].get(name, {}).get(f"{worse} over role", {}).get("report", {})
            row.append(changed(gains.get(measure)))
        body.append(row)
    return aligned(body)


def worse_way(ways: Mapping[str, Any], measure: str) -> str:
    """The way of the headline by a figure."""
    known = [way for way in ("role", "name") if way in ways] or list(ways)
    return min(known, key=lambda way: ways[way]["all"].get(measure, 2.0))


def silence_table(told: Figures) -> list[str]:
    """A row a set and way that has one of the figures."""
    shown = ("stranger", "swapped", "none", "withheld", "lost", "spoken")
    names = ("strangers", "swapped", "none", "withheld", "lost", "quoted")
    body = [["set", "way", *names]]
    for name, ways in told["sets"].items():
        for way, each in ways.items():
            if name == "kinds" or {"stranger", "swapped", "none"} & set(each["all"]):
                body.append(
                    [
                        TITLES[name],
                        SHORT[way],
                        *(_in_unit(each["all"].get(key), key) for key in shown),
                    ]
                )
    return aligned(body) if len(body) > 1 else []


def spread_table(told: Figures) -> list[str]:
    """How far the headline is a matter of which groups there are."""
    body = [
        [
            "set",
            "any@10",
            "sd over groups",
            "worst group",
            "sd between random halves",
            "an unrelated instruction first",
        ]
    ]
    for name, ways in told["sets"].items():
        each = ways[worse_way(ways, "any10")]
        told_spread = [_percent(each["spread"][key]) for key in ("sd", "worst", "halves")]
        body.append(
            [
                TITLES[name],
                _percent(each["all"]["any10"]),
                *told_spread,
                _percent(each["all"].get("instruction")),
            ]
        )
    return aligned(body)


def category_table(told: Figures) -> list[str]:
    """Sets of several kinds of questions."""
    body = [["set", "kind", "questions", *SHORT.values()]]
    for name, ways in told["sets"].items():
        first = next(iter(ways.values()))["categories"]
        for category, counted in first.items() if len(first) > 1 and name in _KINDS else ():
            cells = [
                ways[way]["categories"][category].get("any10") if way in ways else None
                for way in SHORT
            ]
            body.append([TITLES[name], category, str(counted["questions"]), *map(_percent, cells)])
    return aligned(body) if len(body) > 1 else []


#: sets whose kinds of questions differ in what they ask for
_KINDS: Final = ("locomo", "beam", "beliefs")


def changed(found: Sequence[float] | None) -> str:
    """A paired difference in points and its sd; ``=``: under two of them."""
    if not found:
        return ""
    mean, sd = (100 * each for each in found)
    if mean == 0:
        return "0"
    return f"{'' if abs(mean) >= 2 * sd else '= '}{mean:+.1f} ({sd:.1f})"


def _bold(value: float | None, goal: float | None, headline: bool) -> str:
    """Bold: the headline, and it reaches the goal."""
    text = _percent(value)
    reached = value is not None and goal is not None and 100 * value >= goal
    return f"**{text}**" if headline and reached else text


def _percent(value: float | None) -> str:
    return "" if value is None or value != value else f"{100 * value:.1f}"


def _in_unit(value: float | None, name: str) -> str:
    return "" if value is None else f"{value * MEASURES[name].scale:.1f}"


def _titled(title: str, words: str, table: list[str]) -> list[str]:
    return ["", title, "", words, "", *table] if table else []
