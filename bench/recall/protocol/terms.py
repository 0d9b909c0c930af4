"""What each term of the ranking is worth, and the one script that may choose its weight.

A term that costs more than 40 lines must be worth a point on a family in the folds that report.
Weights are fitted once a rotation, on the groups that develop: one weight at a time is left out,
halved and doubled, and a change needs more than a tie.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, fields, replace
from datetime import date
from pathlib import Path
from typing import Any, Final

from bench.recall.protocol.ask import Manner, Row, asked_with
from bench.recall.protocol.judge import MEASURES, Gain, Measure, gain, mean_of, of_part
from bench.recall.protocol.run import TIERS, embedder_of, loaded
from bench.recall.protocol.tables import aligned
from bench.recall.protocol.ways import HEADLINE
from spector import ScoringProfile
from spector.kernel.contract.profile import get_profile

__all__ = ["WITHOUT", "ablate", "fit", "profile_without", "worth"]

_DEFAULT: Final = get_profile("balanced")
#: title -> constants of the ranking that take the term away; those that no longer exist are left
#: out, and a title without any is not shown
WITHOUT: Final[dict[str, dict[str, Any]]] = {
    "words": {"words_fact": 0.0, "words_talk": 0.0, "words_request": 0.0, "by_name": False},
    "neighbours' words": {"before": (), "after": ()},
    "neighbours' vectors": {"near": 0.0},
    "whom the cue is about": {"about": 0.0},
    "length": {"short": 0.0},
    "questions": {"question": 0.0},
    "words of time": {"time_words": 0.0},
    "names first": {"by_name": False},
    "times that cues name": {"by_time": False},
    "statements of preference": {"preference": 0.0},
    "standing": {"standing": 0.0},
    "date": {"date": 0.0},
    "told": {"told": 0.0},
    "events and restrict": {"events": False, "restrict": False},
    "pairs": {"pairs": 0.0},
    "request_shift": {"request_shift": 0.0},
}
#: weights that the fit may change; constants that shape a term stay
_WEIGHTS: Final = (
    "near",
    "words_fact",
    "words_talk",
    "words_request",
    "about",
    "short",
    "question",
    "time_words",
    "preference",
)
#: factors tried, the simplest first
_FACTORS: Final = (0.0, 0.5, 2.0)
#: points of the objective under which two settings are as good as one another
_TIE: Final = 0.1
#: what counts on a set; all others count by any@10
_OBJECTIVES: Final = {"madial": "frac10"}
#: below this, a term of more than 40 lines goes
_WORTH: Final = 1.0

#: set -> way -> profile -> rows
Found = dict[str, dict[str, dict[str, list[Row]]]]


def _known(constants: Mapping[str, Any]) -> dict[str, Any]:
    names = {each.name for each in fields(_DEFAULT.ranking)}
    return {name: value for name, value in constants.items() if name in names}


def profile_without(title: str) -> ScoringProfile | None:
    """The default profile without a term; None when there is no such term."""
    constants = _known(WITHOUT.get(title, {}))
    return _with(constants) if constants else None


def _with(constants: Mapping[str, Any]) -> ScoringProfile:
    return replace(_DEFAULT, name="changed", ranking=replace(_DEFAULT.ranking, **constants))


def ablate(options: argparse.Namespace, day: date) -> int:
    """What is lost without each term, by set: in the groups that develop and those that report."""
    profiles = {"all": _DEFAULT}
    profiles |= {
        title: found for title in options.without or WITHOUT if (found := profile_without(title))
    }
    asked = _ask(options, profiles)
    told = worth(asked, day)
    if options.out:
        Path(options.out).write_text(json.dumps(told, indent=1), encoding="utf-8")
    print("Points lost without a term, worse way of writing: develop / report (sd)")
    print("\n".join(worth_table(told)))
    return 0


def worth(found: Found, day: date) -> dict[str, dict[str, dict[str, list[float]]]]:
    """Title -> set -> part -> [points gained by the term, sd], of the way that it helps less."""
    out: dict[str, dict[str, dict[str, list[float]]]] = {}
    for name, ways in found.items():
        measure = MEASURES[_OBJECTIVES.get(name, "any10")]
        titles = [title for title in next(iter(ways.values())) if title != "all"]
        for title in titles:
            for part in ("develop", "report"):
                gains = [
                    gain(of_part(rows[title], part, day), of_part(rows["all"], part, day), measure)
                    for rows in ways.values()
                ]
                least = min(gains, key=lambda each: each.mean)
                told = out.setdefault(title, {}).setdefault(name, {})
                told[part] = [round(least.mean * 100, 2), round(least.sd * 100, 2)]
    return out


def worth_table(told: Mapping[str, Mapping[str, Mapping[str, Sequence[float]]]]) -> list[str]:
    """A row a term; the last column says whether it earns a point where it is reported."""
    sets = list(dict.fromkeys(name for each in told.values() for name in each))
    body = [["without", *sets, "earns a point"]]
    for title, each in told.items():
        cells = [
            " / ".join(_signed(*each[name][part]) for part in ("develop", "report"))
            if name in each
            else ""
            for name in sets
        ]
        earns = any(parts["report"][0] >= _WORTH for parts in each.values())
        body.append([title, *cells, "yes" if earns else "no"])
    return aligned(body)


def _signed(mean: float, sd: float) -> str:
    return "0" if mean == 0 else f"{-mean:+.1f} ({sd:.1f})"


@dataclass(frozen=True, slots=True)
class _Step:
    """A change that the fit made."""

    weight: str
    value: float
    #: points of the objective on the groups that develop
    gained: float


def fit(options: argparse.Namespace, day: date) -> int:
    """Coordinate search on the groups that develop; prints what it chose and what that reports."""
    chosen: dict[str, float] = {}
    steps: list[_Step] = []
    for lap in range(options.laps):
        changed = False
        for weight in (each for each in _WEIGHTS if _known({each: 0.0})):
            now = chosen.get(weight, float(getattr(_DEFAULT.ranking, weight)))
            tried = {f"{now * factor:g}": now * factor for factor in _FACTORS if now}
            profiles = {"all": _with(chosen)}
            profiles |= {name: _with({**chosen, weight: value}) for name, value in tried.items()}
            found = _ask(options, profiles)
            gains = {
                name: _objective(found, name, day) - _objective(found, "all", day) for name in tried
            }
            picked = _picked(gains)
            print(
                f"lap {lap + 1}, {weight} {now:g}: "
                + ", ".join(f"{name} {each:+.2f}" for name, each in gains.items())
                + (f"; {picked} chosen" if picked else ""),
                flush=True,
            )
            if picked:
                chosen[weight], changed = tried[picked], True
                steps.append(_Step(weight, tried[picked], gains[picked]))
        if not changed:
            break
    if not chosen:
        print("the weights stay")
        return 0
    found = _ask(options, {"all": _DEFAULT, "fitted": _with(chosen)})
    print("fitted: " + ", ".join(f"{name} {value:g}" for name, value in chosen.items()))
    for name, ways in found.items():
        for way, rows in ways.items():
            measure = MEASURES[_OBJECTIVES.get(name, "any10")]
            told = [
                _plain(
                    gain(
                        of_part(rows["all"], part, day), of_part(rows["fitted"], part, day), measure
                    )
                )
                for part in ("develop", "report")
            ]
            print(f"{name}, {way}: develop {told[0]}, report {told[1]}")
    return 0


def _picked(gains: Mapping[str, float]) -> str | None:
    """The best by more than a tie; else the term left out, when that costs no more than a tie."""
    best = max(gains, key=lambda each: gains[each], default=None)
    if best is not None and gains[best] > _TIE:
        return best
    simplest = next(iter(gains), None)
    return simplest if simplest == "0" and gains[simplest] > -_TIE / 2 else None


def _objective(found: Found, profile: str, day: date) -> float:
    """Points: the mean over sets of the worse way, on the groups that develop."""
    worst = [
        min(_mean(rows[profile], name, day) for rows in ways.values())
        for name, ways in found.items()
    ]
    return 100 * math.fsum(worst) / len(worst)


def _mean(rows: Sequence[Row], name: str, day: date) -> float:
    measure: Measure = MEASURES[_OBJECTIVES.get(name, "any10")]
    return mean_of(of_part(rows, "develop", day), measure)


def _plain(found: Gain) -> str:
    return f"{found.mean * 100:+.1f} ({found.sd * 100:.1f})"


def _ask(options: argparse.Namespace, profiles: Mapping[str, ScoringProfile]) -> Found:
    tasks = [(name, way) for name in options.sets for way in options.adapters if way in HEADLINE]
    with ProcessPoolExecutor(options.jobs, multiprocessing.get_context("fork")) as pool:
        asked = [pool.submit(_of_set, name, way, options, dict(profiles)) for name, way in tasks]
        found: Found = {}
        for (name, way), each in zip(tasks, asked, strict=True):
            if rows := each.result():
                found.setdefault(name, {})[way] = rows
    return found


def _of_set(
    name: str, way: str, options: argparse.Namespace, profiles: Mapping[str, ScoringProfile]
) -> dict[str, list[Row]]:
    data = loaded(name, way)
    if data is None:
        return {}
    manner = Manner(way, options.times, TIERS.get(name))
    return asked_with(data, manner, embedder_of(options), profiles)
