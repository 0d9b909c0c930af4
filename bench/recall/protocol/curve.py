"""A setting of ``Config`` against what it decides: constants are chosen from a curve."""

from __future__ import annotations

import argparse
import multiprocessing
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from datetime import date
from typing import Final

from bench.recall.protocol.ask import Row
from bench.recall.protocol.judge import MEASURES, mean_of, of_part
from bench.recall.protocol.run import measure
from bench.recall.protocol.tables import aligned, shown

__all__ = ["curve", "curve_table"]

_SHOWN: Final = (
    "stranger",
    "swapped",
    "none",
    "lost",
    "spoken",
    "precision",
    "recall",
    "selective_precision",
    "selective_recall",
)
#: value -> set -> way -> rows
_Rows = dict[str, dict[str, dict[str, list[Row]]]]


def curve(options: argparse.Namespace, day: date) -> int:
    """``--config abstain_below=0.3 abstain_below=0.35 ...``: each is measured by itself."""
    tasks = [
        (setting, name, way)
        for setting in options.config
        for name in options.sets
        for way in options.adapters
    ]
    rows: _Rows = {}
    with ProcessPoolExecutor(options.jobs, multiprocessing.get_context("fork")) as pool:
        asked = [
            pool.submit(measure, name, way, options, (setting,)) for setting, name, way in tasks
        ]
        for (setting, name, way), each in zip(tasks, asked, strict=True):
            if found := each.result():
                rows.setdefault(setting, {}).setdefault(name, {})[way] = found
    print("\n".join(curve_table(rows, day)))
    return 0


def curve_table(rows: _Rows, day: date) -> list[str]:
    """A row a setting, set and way; cells: develop / report."""
    body: list[Sequence[str]] = [
        ["setting", "set", "way", *(MEASURES[name].title for name in _SHOWN)]
    ]
    for setting, by_set in rows.items():
        for name, ways in by_set.items():
            for way, told in ways.items():
                parts = [of_part(told, part, day) for part in ("develop", "report")]
                cells = [
                    "/".join(shown(mean_of(part, MEASURES[key]), MEASURES[key]) for part in parts)
                    for key in _SHOWN
                ]
                body.append([setting, name, way, *(each if each != "/" else "" for each in cells)])
    return aligned(body)
