"""pytest-benchmark's JSON as flat rows: one per measurement, with statistics in its own unit."""

from __future__ import annotations

import json
import math
import operator
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

SCHEMA: Final = 1
RESULTS: Final = Path(__file__).resolve().parent / "results"

#: units of time, as a factor from seconds
_TIME_UNITS: Final = {"s": 1.0, "ms": 1e3, "us": 1e6}
_OPERATORS: Final = {"<=": operator.le, ">=": operator.ge}


def convert(benchmarks: dict[str, Any]) -> list[dict[str, Any]]:
    """Rows of the ``benchmarks`` of a pytest-benchmark report, in the order they ran."""
    return [_row(entry) for entry in benchmarks["benchmarks"]]


def statistics(samples: Sequence[float]) -> dict[str, float]:
    """best, p50, p99, worst and mean of times or sizes, where less is better.

    Percentiles by the nearest rank, so each is a real sample.
    """
    ordered = sorted(samples)
    return {
        "best": ordered[0],
        "p50": ordered[rank(0.50, len(ordered))],
        "p99": ordered[rank(0.99, len(ordered))],
        "worst": ordered[-1],
        "mean": math.fsum(ordered) / len(ordered),
    }


def rank(share: float, count: int) -> int:
    """Position of the nearest-rank percentile in ``count`` sorted samples."""
    return max(0, math.ceil(share * count) - 1)


def in_unit(second: float, unit: str, work: float) -> float:
    """A time in its unit, or as the rate (``records/s``) of ``work`` items in that time.

    Statistics are taken of times and then converted, so the p99 of a rate is its slow end too.
    """
    if unit in _TIME_UNITS:
        return second * _TIME_UNITS[unit]
    if not unit.endswith("/s"):
        raise ValueError(f"times cannot be given in {unit!r}")
    return work / second


def met(row: dict[str, Any]) -> bool | None:
    """Whether the row keeps its promise; None when it makes none."""
    target = row.get("target")
    if not target:
        return None
    figures = {**row["stats"], **row["extra"]}
    return bool(_OPERATORS[target["op"]](figures[target["of"]], target["value"]))


def save(results: dict[str, Any], path: Path) -> None:
    """One line for each entry of a table, so that a diff shows the rows that changed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = ",\n".join(f"{_dumped(name)}: {_table(value)}" for name, value in results.items())
    path.write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")


def _table(value: Any) -> str:
    if isinstance(value, dict) and any(isinstance(each, dict) for each in value.values()):
        entries = ",\n".join(f" {_dumped(name)}: {_dumped(each)}" for name, each in value.items())
        return f"{{\n{entries}\n}}"
    if isinstance(value, list) and any(isinstance(each, dict) for each in value):
        return "[\n" + ",\n".join(f" {_dumped(each)}" for each in value) + "\n]"
    return _dumped(value)


def _dumped(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def load(path: Path) -> dict[str, Any]:
    results: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    if results.get("schema") != SCHEMA:
        raise ValueError(f"{path.name}: schema {results.get('schema')!r}, expected {SCHEMA}")
    return results


def all_of(pattern: str, maker: str, folder: Path = RESULTS) -> list[Path]:
    """Runs that are kept, the newest first: names hold their date.

    Raises:
        FileNotFoundError: there is none; it names the command that makes one.
    """
    found = sorted(folder.glob(pattern), reverse=True)
    if not found:
        raise FileNotFoundError(f"no {pattern} in {folder.name}/; make one: {maker}")
    return found


def newest_full(folder: Path = RESULTS) -> Path:
    return all_of("*-full.json", "python -m bench --full", folder)[0]


def _row(entry: dict[str, Any]) -> dict[str, Any]:
    info = entry["extra_info"]
    unit, work = info["unit"], float(info.get("work", 1))
    if "values" in info:
        samples = [float(value) for value in info["values"]]
        stats = statistics(samples)
    else:
        samples = info.get("samples_s") or entry["stats"]["data"]
        stats = {name: in_unit(s, unit, work) for name, s in statistics(samples).items()}
    row: dict[str, Any] = {
        "id": info["id"],
        "group": info["group"],
        "title": info["title"],
        "unit": unit,
        "params": info["params"],
        "samples": len(samples),
        "stats": {name: round_to(value) for name, value in stats.items()},
        "extra": {
            name: round_to(value) if isinstance(value, float) else value
            for name, value in info.get("extra", {}).items()
        },
    }
    if "cpu_s" in info:
        row["cpu_p50"] = round_to(in_unit(max(info["cpu_s"], 1e-9), unit, work))
    if info.get("target"):
        row["target"] = info["target"]
        row["met"] = met(row)
    return row


def round_to(value: float, digits: int = 5) -> float:
    """Significant digits: what a timer cannot resolve is noise in a diff."""
    return float(f"{value:.{digits}g}")
