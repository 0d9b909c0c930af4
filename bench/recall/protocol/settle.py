"""The figures that are kept of a run: bench/results/protocol-*.json."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

from bench import machine, results
from bench.recall.protocol.ask import Row
from bench.recall.protocol.judge import MEASURES, gain, mean_of, of_part, spread
from bench.recall.protocol.tables import PAIRS

__all__ = ["newest", "settled"]

_PARTS = ("all", "develop", "report")


def settled(
    run: Mapping[str, Any],
    day: date,
    base: Mapping[str, Any] | None = None,
    terms: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """All figures of a run, what it gains over ``base``, what terms are worth."""
    rows = run["rows"]
    told: dict[str, Any] = {
        "schema": results.SCHEMA,
        "mode": "protocol",
        **{name: run[name] for name in ("started", "commit", "times", "elapsed_s") if name in run},
        "day": day.isoformat(),
        "machine": machine.describe_machine(),
        "sets": {
            name: {way: _figures(each, day) for way, each in ways.items()}
            for name, ways in rows.items()
        },
        "terms": dict(terms or {}),
    }
    if base is not None:
        told["base"] = base["commit"]
        told["gains"] = {
            name: {
                f"{after} over {before}": _gains(old[before], ways[after], day)
                for before, after in PAIRS
                if before in old and after in ways
            }
            for name, ways in rows.items()
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
        **{part: _means(of_part(rows, part, day)) for part in _PARTS},
        "spread": {
            "sd": _short(spreads.groups),
            "worst": _short(spreads.worst),
            "halves": _short(spreads.halves),
        },
        "categories": {
            category: {"questions": len(part), **_means(part, ("any10", "frac10", "all10"))}
            for category in dict.fromkeys(row["category"] for row in own)
            if (part := [row for row in own if row["category"] == category])
        },
    }


def _means(rows: Sequence[Row], names: Sequence[str] = tuple(MEASURES)) -> dict[str, float]:
    found = {name: mean_of(rows, MEASURES[name]) for name in names}
    return {name: _short(value) for name, value in found.items() if not math.isnan(value)}


def _gains(old: Sequence[Row], new: Sequence[Row], day: date) -> dict[str, dict[str, list[float]]]:
    out: dict[str, dict[str, list[float]]] = {}
    for part in _PARTS:
        parts = of_part(old, part, day), of_part(new, part, day)
        told = {name: gain(*parts, each) for name, each in MEASURES.items()}
        out[part] = {
            name: [_short(each.mean), _short(each.sd)]
            for name, each in told.items()
            if each.questions
        }
    return out


def _short(value: float) -> float:
    return results.round_to(value)


def newest(folder: Path = results.RESULTS) -> dict[str, Any]:
    """The figures of the last run that was settled; names hold the date."""
    found = sorted(folder.glob("protocol-*.json"))
    if not found:
        raise FileNotFoundError(
            f"no protocol-*.json in {folder.name}/; make one: python -m bench.recall settle"
        )
    return results.load(found[-1])
