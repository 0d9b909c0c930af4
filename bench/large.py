"""A store of millions of memories: how long it takes to open, and to recall from.

    python -m bench.large [records] [--work DIR] [--reflect]    10,000,000 unless said otherwise

Needs about a kilobyte of disk a record, and a quarter of an hour to build ten million. With --work
the store is kept there, and one that is there already is measured. Recalls, exact recalls and plain
streaming reads of the same record files go in turns on one core, so that all meet the same
neighbours. With --reflect one sleep cycle then puts all partitions in order, and all is measured
again with the same cues. Keeps the figures in bench/results, and writes a part of
docs/performance.md from the newest ones of a million and of ten million.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from bench import machine, report, results
from bench.data import NOISE, Corpus, batches, load_corpus, topic
from bench.stores import BUILD_BATCH, bytes_by_kind, open_store
from bench.stream import readers
from spector import Config

K: Final = 10
OPENINGS: Final = 9
ROUNDS: Final = 15
WARM_ROUNDS: Final = 3
#: name -> keywords of recall
QUESTIONS: Final[dict[str, dict[str, Any]]] = {
    "recall(vector=...)": {},
    'recall(vector=..., profile="similarity")': {"profile": "similarity"},
    "recall(vector=..., tags=[1 % of all])": {"tags": [topic(7)]},
    "recall(vector=..., exact=True)": {"exact": True},
}
STRAIGHT: Final = "streaming read of all records"
PAGE: Final = report.PAGE
#: records of the stores that the page tells of
ON_PAGE: Final = (1_000_000, 10_000_000)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.large", description=__doc__)
    parser.add_argument("records", nargs="?", type=int, default=10_000_000)
    parser.add_argument("--work", type=Path, help="where the store is kept")
    parser.add_argument("--reflect", action="store_true", help="measure again after a sleep cycle")
    asked = parser.parse_args(arguments)
    corpus = load_corpus()
    with tempfile.TemporaryDirectory(dir=machine.scratch_root()) as root:
        path = (asked.work or Path(root)) / f"large-{asked.records}"
        built = _ensure(path, corpus, asked.records)
        started = datetime.now(UTC)
        run = {
            "schema": results.SCHEMA,
            "mode": "large",
            "records": asked.records,
            "started": started.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "source": corpus.source,
            "machine": machine.describe_machine(),
            "versions": machine.describe_versions(),
            **machine.describe_commit(),
            "built": built,
            "bytes": bytes_by_kind(path),
            "opened": openings(path, corpus),
            **measure(path, corpus),
        }
        if asked.reflect:
            run["slept"] = sleep(path, corpus.dim, asked.records)
            run["after"] = {"opened": openings(path, corpus), **measure(path, corpus)}
    stamp = started.strftime("%Y%m%dT%H%M")
    name = f"large-{stamp}-{run['commit'][:7]}-{asked.records // 1000}k.json"
    results.save(run, results.RESULTS / name)
    if asked.records in ON_PAGE:
        report.write_block(PAGE, "large", block(newest(results.RESULTS)))
    print("\n".join(section(run)))
    return 0


def _ensure(path: Path, corpus: Corpus, records: int) -> dict[str, float] | None:
    """Build the store unless it is there; seconds of appending and of closing."""
    if path.exists():
        with open_store(path, corpus.dim, mode="r") as memory:
            if len(memory) == records:
                return None
        raise SystemExit(f"{path} holds something else: delete it, or choose another --work")
    appending = 0.0
    memory = open_store(path, corpus.dim)
    for start, stop in tqdm([*batches(records, BUILD_BATCH)], desc="building", disable=None):
        batch = corpus.records(start, stop, records)
        begin = time.perf_counter()
        memory.remember_many(batch)
        appending += time.perf_counter() - begin
    begin = time.perf_counter()
    memory.close()
    return {"append_s": appending, "close_s": time.perf_counter() - begin}


def openings(path: Path, corpus: Corpus) -> list[dict[str, Any]]:
    """What fresh processes report of opening the store for writing, and of their first recall."""
    with tempfile.TemporaryDirectory() as folder:
        cue = Path(folder) / "cue.npy"
        np.save(cue, corpus.cues[3], allow_pickle=False)
        found = []
        for _ in tqdm(range(OPENINGS), desc="opening", disable=None):
            command = machine.python(
                "-m", "bench.child", "open", str(path), str(corpus.dim), str(cue)
            )
            told = subprocess.run(
                command,
                check=True,
                capture_output=True,
                text=True,
                cwd=machine.REPO,
                env={**os.environ, **machine.one_thread_environment()},
            )
            found.append(json.loads(told.stdout))
    return found


def sleep(path: Path, dim: int, records: int) -> dict[str, float]:
    """One cycle that may put all sealed partitions in order: how many it did, and its seconds."""
    with open_store(path, dim, config=Config(cluster_records=records)) as memory:
        begin = time.perf_counter()
        done = memory.reflect()
        took = time.perf_counter() - begin
    return {
        "seconds": took,
        "partitions": done.clustered,
        "records": done.clustered_records,
        "left": done.unclustered,
    }


def measure(path: Path, corpus: Corpus) -> dict[str, Any]:
    """Seconds of each question and of the streaming read, in turns; recall@10 of the estimates."""
    took: dict[str, list[float]] = {name: [] for name in (*QUESTIONS, STRAIGHT)}
    agreed: list[float] = []
    maps = [np.memmap(file, np.uint8, mode="r") for file in sorted(path.rglob("*.mem"))]
    words = [each[: len(each) // 64 * 64].view(np.uint64) for each in maps]
    reader = _fastest(words)
    with machine.one_core(), open_store(path, corpus.dim, mode="r", threads=1) as memory:
        memory.recall(vector=corpus.cues[0], k=K)  # verifies the indexes, once
        for n in tqdm(range(WARM_ROUNDS + ROUNDS), desc="recalling", disable=None):
            found = {}
            for name, keywords in QUESTIONS.items():
                begin = time.perf_counter()
                hits = memory.recall(vector=corpus.cues[n + 5], k=K, **keywords)
                took[name].append(time.perf_counter() - begin)
                found[name] = {hit.id for hit in hits}
            truth = found["recall(vector=..., exact=True)"]
            agreed.append(len(truth & found["recall(vector=...)"]) / len(truth))
            begin = time.perf_counter()
            for each in words:
                readers()[reader](each)
            took[STRAIGHT].append(time.perf_counter() - begin)
    return {
        "reader": reader,
        "streamed_bytes": sum(each.nbytes for each in words),
        "recall_at_10": statistics.fmean(agreed),
        "seconds": {name: each[WARM_ROUNDS:] for name, each in took.items()},
    }


def _fastest(words: Iterable[NDArray[np.uint64]]) -> str:
    """The streaming reader that needs the least time for a sample of the files."""
    sample = list(words)[:400]
    times = {}
    for name, read in readers().items():
        for _ in range(2):  # the first lap reads from the disk
            begin = time.perf_counter()
            for each in sample:
                read(each)
            times[name] = time.perf_counter() - begin
    return min(times, key=lambda name: times[name])


def newest(folder: Path) -> list[dict[str, Any]]:
    """The last run of each size that the page tells of, smallest first."""
    last: dict[int, dict[str, Any]] = {}
    for path in sorted(folder.glob("large-*.json")):  # names begin with their date
        run = results.load(path)
        last[run["records"]] = run
    return [last[records] for records in ON_PAGE if records in last]


def block(runs: Iterable[dict[str, Any]]) -> str:
    """The part of the page, in Markdown."""
    lines = [
        "## Large stores",
        "",
        "Made by `python -m bench.large`. A fresh process opens the store, whose files are in the "
        "page cache. Recalls run from Python on one core, k = 10, in turns with a streaming read of "
        "the record files, which no straight scan can beat.",
    ]
    for run in runs:
        lines += ["", *section(run)]
    return "\n".join(lines) + "\n"


def section(run: dict[str, Any]) -> list[str]:
    """What the page tells of one run."""
    told, opened = run["machine"], run["opened"]
    speed = run["streamed_bytes"] / _median(run, STRAIGHT) / 1e9
    lines = [
        f"### {run['records']:,} memories",
        "",
        f"Records of {run['source']}, copies at noise {NOISE}; "
        f"{sum(run['bytes'].values()) / run['records']:.0f} bytes a record on disk, of which "
        f"{run['bytes'].get('derived', 0) / run['records']:.0f} are derived indexes; "
        f"{told['cpu']}, load {told['load_average'][0]} at the start; commit {run['commit'][:7]}, "
        f"{run['started'][:10]}.",
        "",
        *_table(run),
        f"{_shares(run)} The streaming read ({run['reader']}) runs at {speed:.1f} GB/s. Resident "
        f"after opening: {statistics.median(_resident(each, 'rss_open') for each in opened):.0f} "
        "MB, mostly the interpreter and the engine.",
    ]
    if run["built"]:
        rate = run["records"] / run["built"]["append_s"]
        lines += [
            "",
            f"Built at {rate:,.0f} records/s (`remember_many`, relaxed, vectors given), closed in "
            f"{run['built']['close_s']:.1f} s.",
        ]
    if run.get("after"):
        slept, after = run["slept"], run["after"]
        lines += [
            "",
            f"#### {run['records']:,} after sleep",
            "",
            f"One cycle of `reflect()` put {slept['records']:,} records in {slept['partitions']:,} "
            f"partitions in order in {slept['seconds']:,.0f} s and left {slept['left']:,} "
            f"(`Config(cluster_records={run['records']})`).",
            "",
            *_table(after),
            _shares(after),
        ]
    return lines


def _shares(told: dict[str, Any]) -> str:
    default, exact = (
        f"{_median(told, f'recall(vector=...{more})') / _median(told, STRAIGHT):.1%}"
        for more in ("", ", exact=True")
    )
    return (
        f"The default recall takes {default} of the streaming read, `exact=True` {exact}; the "
        f"default recall found {told['recall_at_10']:.1%} of the exact top 10."
    )


def _median(told: dict[str, Any], name: str) -> float:
    return statistics.median(told["seconds"][name])


def _table(told: dict[str, Any]) -> list[str]:
    opened, seconds = told["opened"], told["seconds"]
    return [
        "| what | best | median | worst |",
        "|---|--:|--:|--:|",
        _row("open", [each["open_s"] for each in opened]),
        _row("first recall of a process", [each["first_recall_s"] for each in opened]),
        *(_row(f"`{name}`", seconds[name]) for name in QUESTIONS),
        _row(STRAIGHT, seconds[STRAIGHT]),
        "",
    ]


def _row(name: str, seconds: list[float]) -> str:
    best, median, worst = min(seconds), statistics.median(seconds), max(seconds)
    return f"| {name} | {best * 1e3:,.1f} ms | {median * 1e3:,.1f} ms | {worst * 1e3:,.1f} ms |"


def _resident(told: dict[str, Any], when: str) -> float:
    found: dict[str, int] = told[when]
    return found["anon"] / 1e6


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
