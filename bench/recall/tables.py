"""The tables of docs/recall.md, from the figures of one run."""

from __future__ import annotations

from typing import Any

from bench.recall.arms import ARMS

Run = dict[str, Any]


def main_table(figures: dict[str, Any]) -> list[str]:
    """One set: an arm a row."""
    rows = [
        "| arm | any@10 | frac@10 | all@10 | precision | silent | tokens |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, arm in figures["arms"].items():
        told = arm["all"]
        rows.append(
            f"| {ARMS[name].title} | {_with_interval(arm['interval']['any'])} "
            f"| {_with_interval(arm['interval']['frac'])} | {percent(told['all'])} "
            f"| {percent(told['precision'])} | {percent(told.get('silent', 0))} "
            f"| {told['tokens']:,.0f} |"
        )
    return rows


def times_table(run: Run) -> list[str]:
    times = run.get("times")
    if not times:
        return []
    names = {
        "recall_ms": "recall, vector of the cue given",
        "recall_cpu_ms": "the same, processor time",
        "recall_with_embedding_ms": "recall, cue embedded",
        "recall_with_embedding_cpu_ms": "the same, processor time",
        "context_ms": "a context of 1,000 tokens, vector of the cue given",
        "recall_by_vector_ms": "recall by vector alone",
        "recall_by_vector_cpu_ms": "the same, processor time",
        "write_to_readable_ms": "`remember` until a recall has it",
        "first_recall_without_words_ms": "first recall of an opened store, without files of words",
        "first_recall_ms": "the same with them",
        "recall_of_few_by_vector_ms": f"{times.get('few', 0):,} memories: by vector, and the texts",
    }
    rows = ["| ms | best | p50 | p95 | p99 |", "|---|---|---|---|---|"]
    for key, title in names.items():
        if key not in times:
            continue
        told = times[key]
        rows.append(
            f"| {title} | "
            + " | ".join(f"{told[n]:.2f}" for n in ("best", "p50", "p95", "p99"))
            + " |"
        )
    return rows


def percent(share: float) -> str:
    return f"{100 * share:.1f}"


def _with_interval(values: list[float]) -> str:
    middle, low, high = values
    return f"{percent(middle)} ({100 * low:.0f}-{100 * high:.0f})"
