"""What ``Config.recall_confidence`` costs and what it gives: recall@10 against time.

    python -m bench.confidence [records]        1,000,000 unless said otherwise

Each confidence is asked the same cues, in turn, of the same store; the truth is ``exact=True``.
Writes a part of docs/performance.md and its plot, and keeps the figures in bench/results.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from tqdm import tqdm

from bench import machine, report, results
from bench.data import NOISE, Corpus, load_corpus, topic
from bench.rivals import svg
from bench.stores import build, open_store
from spector.config import Config

CONFIDENCES: Final = (0.25, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0)
CUES: Final = 300
K: Final = 10
#: name -> keywords of recall
QUESTIONS: Final[dict[str, dict[str, Any]]] = {
    "balanced": {"profile": "balanced"},
    "similarity": {"profile": "similarity"},
    "balanced, 1 % tag": {"profile": "balanced", "tags": [topic(7)]},
}
PLOT: Final = report.PAGE.with_name("recall-confidence.svg")


def main(arguments: list[str]) -> int:
    records = int(arguments[0]) if arguments else 1_000_000
    corpus = load_corpus()
    with tempfile.TemporaryDirectory(dir=machine.scratch_root()) as root:
        path = build(Path(root) / "store", corpus, records).path
        started = datetime.now(UTC)
        run = {
            "schema": results.SCHEMA,
            "mode": "confidence",
            "records": records,
            "started": started.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "source": corpus.source,
            "machine": machine.describe_machine(),
            "versions": machine.describe_versions(),
            **machine.describe_commit(),
            "curves": measure(path, corpus),
        }
    stamp = started.strftime("%Y%m%dT%H%M")
    name = f"confidence-{stamp}-{run['commit'][:7]}-{records // 1000}k.json"
    results.save(run, results.RESULTS / name)
    report.write_block(report.PAGE, "confidence", block(run))
    PLOT.write_text(plot(run))
    print(block(run))
    return 0


def measure(path: Path, corpus: Corpus) -> dict[str, list[dict[str, Any]]]:
    """Per question: confidence -> recall, p50 and p99 in ms; 0 is the exact answer."""
    step = max(1, len(corpus.cues) // CUES)
    cues = corpus.cues[::step][:CUES]
    opened = {
        z: open_store(path, corpus.dim, mode="r", threads=1, config=Config(recall_confidence=z))
        for z in (0.0, *CONFIDENCES)
    }
    curves = {}
    for question, keywords in QUESTIONS.items():
        took: dict[float, list[float]] = {z: [] for z in opened}
        found: dict[float, int] = dict.fromkeys(opened, 0)
        wanted = 0
        for cue in tqdm([cues[0], *cues], desc=question, disable=None):  # the first warms up
            truth: set[int] = set()
            for z, memory in opened.items():
                begin = time.perf_counter()
                hits = memory.recall(vector=cue, k=K, **keywords)
                took[z].append(time.perf_counter() - begin)
                ids = {hit.id for hit in hits}
                truth = ids if z == 0 else truth
                found[z] += len(ids & truth)
            wanted += len(truth)
        curves[question] = [
            {
                "confidence": z,
                "recall": found[z] / wanted,
                "p50_ms": statistics.median(times[1:]) * 1e3,
                "p99_ms": statistics.quantiles(times[1:], n=100)[98] * 1e3,
            }
            for z, times in took.items()
        ]
    for memory in opened.values():
        memory.close()
    return curves


def block(run: dict[str, Any]) -> str:
    """The part of the page: the plot, then a table for each question."""
    told = run["machine"]
    lines = [
        "## Recall against time",
        "",
        "Made by `python -m bench.confidence`: what `Config.recall_confidence` costs and gives. "
        "recall@10 is the share of the exact top 10 that an estimated recall finds. Times are of "
        "`recall(vector=...)` from Python, one thread, in turns.",
        "",
        f"{run['records']:,} records, {run['source']}, copies at noise {NOISE}; {CUES} cues; "
        f"{told['cpu']}, load {told['load_average'][0]} at the start; commit {run['commit'][:7]}, "
        f"{run['started'][:10]}.",
        "",
        "![recall against time](recall-confidence.svg)",
    ]
    for question, rows in run["curves"].items():
        lines += ["", f"### {question}", "", "| standard errors | recall@10 | p50, ms | p99, ms |"]
        lines += ["|--:|--:|--:|--:|"] + [
            f"| {row['confidence'] or 'exact'} | {row['recall']:.4f} | {row['p50_ms']:.2f} | "
            f"{row['p99_ms']:.2f} |"
            for row in rows
        ]
    return "\n".join(lines) + "\n"


def plot(run: dict[str, Any]) -> str:
    profiles = ("balanced", "similarity")  # more would hide one another
    points = {
        f"{question}: {row['confidence'] or 'exact'}": (row["p50_ms"], row["recall"])
        for question, rows in run["curves"].items()
        if question in profiles
        for row in rows
    }
    low = min(recall for _, recall in points.values())
    return svg.scatter(
        f"Recall@10 and time by recall_confidence, {run['records']:,} records",
        "p50, ms",
        "recall@10",
        points,
        floor=min(0.99, low - 0.005),
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
