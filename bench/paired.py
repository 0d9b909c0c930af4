"""Two trees of this project measured side by side, call against call.

    python -m bench.paired BEFORE [AFTER] [--large] [--sizes 1000,100000] [--only scan]

BEFORE and AFTER (default: this tree) are folders that hold ``spector/`` and its built kernel. Each
works in a process of its own, both on the same core; they take turns, and which of them begins
changes from pair to pair. A turn repeats a call until `TURN_S` are over. Reported are the medians
of a call's time, and of the ratio after / before over the pairs with the 95 % interval of a
bootstrap: noise that lasts longer than a pair meets both trees and cancels out. The processes are
started anew in each round, because where their memory lies makes a lasting difference.

Measured are the bare scan (straight and over indexes, with and without a filter by tag),
``recall`` of a vector and of a text, and ``remember``. The text's vector is looked up, not
computed. Without the word "scan" in ``--only`` nothing is prepared for scans.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import numpy as np

REPO: Final = Path(__file__).resolve().parent.parent
SIZES: Final = (1_000, 100_000)
LARGE: Final = 1_000_000
ROUNDS: Final = 5
PAIRS: Final = 30
CUES: Final = 40
#: seconds of a turn at least, and the calls of a turn at most
TURN_S: Final = 0.004
MOST_CALLS: Final = 400
RESAMPLES: Final = 10_000
SEED: Final = 20_261_125
K: Final = 10
#: standard errors, the default of `Config.recall_confidence`; without it an index estimates nothing
CONFIDENCE: Final = 2.5
NOW: Final = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
PARTITION_ROWS: Final = 10_000

Call = Callable[[int], Any]


# -- the process of one tree --------------------------------------------------------------------


def serve(work: Path) -> None:
    """Answer orders on standard input, one JSON line each: the process of one tree."""
    # what is sent to standard output is read by the other side: nothing else may get there
    answers, sys.stdout = sys.stdout, sys.stderr
    calls: dict[str, Call] = {}
    for line in sys.stdin:
        verb, *values = json.loads(line)
        if verb == "build":
            build(work, Path(values[0]), values[1])
            answer: Any = None
        elif verb == "prepare":
            calls |= scans(work, values[0]) if "scan" in values[2] or not values[2] else {}
            calls |= recalls(work, Path(values[1]), values[0])
            answer = {name: digest(call) for name, call in calls.items()}
        else:
            name, start, count = values
            call = calls[name]
            began = time.perf_counter_ns()
            for at in range(start, start + count):
                call(at % CUES)
            answer = (time.perf_counter_ns() - began) / count
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


def digest(call: Call) -> str:
    """Of what the call answers to every cue; also warms it up."""
    found = hashlib.sha256()
    for at in range(CUES):
        result = call(at)
        ids = result.ids.tolist() if hasattr(result, "ids") else [hit.id for hit in result]
        found.update(repr(ids).encode())
    return found.hexdigest()


def scans(work: Path, size: int) -> dict[str, Call]:
    """The bare scan of ``size`` records, by name."""
    from spector.clock import MS_PER_DAY, to_ms
    from spector.kernel import get_kernel
    from spector.kernel.contract import (
        Part,
        PartTable,
        ScanIndex,
        centre_of,
        make_query,
        quantize,
        tags_mask,
    )
    from spector.layout import HEADER_BYTES, RECORD_DTYPE, stride_of

    given, now_ms = inputs(work), to_ms(NOW)
    vectors = np.load(work / f"vectors-{size}.npy", mmap_mode="r")
    codes, scales = quantize(np.asarray(vectors))
    rng = np.random.default_rng(SEED)
    headers = np.zeros(size, RECORD_DTYPE)
    headers["version"], headers["confidence"] = 1, 255
    headers["id"], headers["scale"] = np.arange(1, size + 1), scales
    headers["event_ms"] = now_ms - (size - np.arange(size)) * (MS_PER_DAY // 2500)
    topics = np.array([tags_mask([topic(n), "chat"]) for n in range(100)], np.uint64)
    headers["tags"] = topics[np.arange(size) % 100]
    headers["importance"], headers["utility"] = rng.random(size), rng.random(size)
    headers["stability_days"] = rng.uniform(1, 60, size)
    records = np.zeros((size, stride_of(codes.shape[1])), np.uint8)
    records[:, :HEADER_BYTES] = headers.view(np.uint8).reshape(size, HEADER_BYTES)
    records[:, HEADER_BYTES : HEADER_BYTES + codes.shape[1]] = codes.view(np.uint8)

    kernel = get_kernel()
    spans = [records[at : at + PARTITION_ROWS] for at in range(0, size, PARTITION_ROWS)]
    tables = {"straight": PartTable([Part(each, len(each)) for each in spans])}
    if kernel.indexes and size > PARTITION_ROWS:
        dim = vectors.shape[1]
        centre = centre_of(spans[0], dim)
        indexes = [ScanIndex.create(kernel, dim, len(each), centre) for each in spans]
        for index, each in zip(indexes, spans, strict=True):
            index.append(each)
        tables["indexed"] = PartTable(
            [
                Part(each, len(each), index=index.image)
                for each, index in zip(spans, indexes, strict=True)
            ]
        )

    def scan(table: Any, mask: int, confidence: float) -> Call:
        queries = [
            make_query(now_ms=now_ms, vector=cue, tags_all=mask, recall_confidence=confidence)
            for cue in given["cues"]
        ]
        return lambda at: kernel.scan(table, queries[at], K)

    return {
        f"scan {kind}, {'tag of 1 %' if mask else 'no filter'}, {size:,}": scan(
            table, mask, CONFIDENCE if kind == "indexed" else 0.0
        )
        for kind, table in tables.items()
        for mask in (0, tags_mask([topic(7)]))
    }


def recalls(work: Path, path: Path, size: int) -> dict[str, Call]:
    """``recall`` in a store of ``size`` memories, by name."""
    given, memory = inputs(work), open_store(work, path)
    vectors, texts, tags = given["cues"], given["cue_texts"], [topic(7)]
    return {
        f"recall(vector), {size:,}": lambda at: memory.recall(vector=vectors[at], k=K),
        f"recall(vector), tag of 1 %, {size:,}": lambda at: memory.recall(
            vector=vectors[at], k=K, tags=tags
        ),
        f"recall(text), {size:,}": lambda at: memory.recall(texts[at], k=K),
        f"recall(text), tag of 1 %, {size:,}": lambda at: memory.recall(texts[at], k=K, tags=tags),
        f"remember(vector), {size:,}": lambda at: [
            memory.remember(texts[at], vector=vectors[at], tags=tags, event_time=NOW)
        ],
    }


def build(work: Path, path: Path, size: int) -> None:
    given = inputs(work)
    vectors = np.load(work / f"vectors-{size}.npy", mmap_mode="r")
    texts, speakers = given["texts"], given["speakers"]
    with open_store(work, path) as memory:
        for start in range(0, size, PARTITION_ROWS):
            memory.remember_many(
                [
                    {
                        "text": f"{texts[n % len(texts)]} [ref{n:07d}]",
                        "vector": vectors[n],
                        "tags": [topic(n % 100), "chat"],
                        "importance": n * 7919 % 1000 / 1000,
                        "event_time": NOW - timedelta(milliseconds=34_560 * (size - n)),
                        "metadata": {"speaker": speakers[n % len(texts)]},
                    }
                    for n in range(start, min(start + PARTITION_ROWS, size))
                ]
            )
        memory.checkpoint()


def open_store(work: Path, path: Path) -> Any:
    import spector

    given = inputs(work)
    known = dict(zip(given["cue_texts"], given["cues"], strict=True))

    class Given:
        """Looks the vectors of the cues up."""

        model_id, fingerprint, dim = "given", "1", given["cues"].shape[1]

        def embed(self, texts: list[str]) -> Any:
            return np.stack([known[text] for text in texts])

    clock = spector.ManualClock(NOW)
    return spector.open(path, embedder=Given(), clock=clock, durability="relaxed", threads=1)


def topic(n: int) -> str:
    return f"topic-{n:02d}"


def inputs(work: Path) -> dict[str, Any]:
    """What both trees work on: texts and speakers to store, cues and their vectors."""
    found: dict[str, Any] = json.loads((work / "inputs.json").read_text(encoding="utf-8"))
    return {**found, "cues": np.load(work / "cues.npy")}


# -- the process that compares ------------------------------------------------------------------


class Tree:
    """A process that has one tree's ``spector``."""

    def __init__(self, root: Path, work: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-P", __file__, "--serve", str(work)],
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(root), "PYTHONHASHSEED": "0"},
        )

    def ask(self, *order: Any) -> Any:
        to, answers = self.process.stdin, self.process.stdout
        assert to is not None
        assert answers is not None
        to.write(json.dumps(order) + "\n")
        to.flush()
        line = answers.readline()
        if not line:
            raise RuntimeError(f"the process of a tree has ended ({self.process.wait()})")
        return json.loads(line)

    def close(self) -> None:
        self.process.communicate()


def write_inputs(work: Path, sizes: list[int]) -> None:
    from bench.data import load_corpus

    corpus = load_corpus()
    given = {
        "texts": corpus.texts,
        "speakers": corpus.speakers,
        "cue_texts": [f"{corpus.cue(n)[0]} {n}" for n in range(CUES)],
    }
    (work / "inputs.json").write_text(json.dumps(given), encoding="utf-8")
    np.save(work / "cues.npy", np.stack([corpus.cue(n)[1] for n in range(CUES)]))
    for size in sizes:
        np.save(work / f"vectors-{size}.npy", corpus.vectors(0, size))


def compare(options: argparse.Namespace, work: Path, size: int) -> list[dict[str, Any]]:
    """Rows of the table for stores of one size."""
    stores = [work / f"before-{size}", work / f"after-{size}"]
    times: dict[str, list[Any]] = {}
    calls: dict[str, int] = {}
    same: dict[str, bool] = {}
    for round_ in range(options.rounds):
        before, after = Tree(options.before, work), Tree(options.after, work)
        try:
            if not round_:
                before.ask("build", str(stores[0]), size)
                shutil.copytree(stores[0], stores[1])
            answers = before.ask("prepare", size, str(stores[0]), options.only)
            others = after.ask("prepare", size, str(stores[1]), options.only)
            for name in (each for each in answers if options.only in each):
                same[name] = same.get(name, True) and answers[name] == others[name]
                if name not in calls:
                    once = max(tree.ask("time", name, 0, 3) for tree in (before, after))
                    calls[name] = int(min(MOST_CALLS, max(1, TURN_S * 1e9 // once)))
                took = measure(before, after, name, calls[name], options.pairs)
                times.setdefault(name, []).append(took)
        finally:
            before.close()
            after.close()
    return [
        {"name": name, "same_answers": same[name], "calls": calls[name], **summary(np.array(each))}
        for name, each in times.items()
    ]


def measure(before: Tree, after: Tree, name: str, count: int, pairs: int) -> Any:
    """(pairs, 2) nanoseconds a call, of before and after."""
    times = np.zeros((pairs, 2))
    for pair in range(pairs):
        turns = [(0, before), (1, after)]
        for column, tree in turns if pair % 2 else reversed(turns):
            times[pair, column] = tree.ask("time", name, pair * count, count)
    return times


def summary(times: Any) -> dict[str, Any]:
    """Medians of (rounds, pairs, 2) times. The bootstrap draws rounds, then pairs of each."""
    rounds, pairs, _ = times.shape
    ratios = times[..., 1] / times[..., 0]
    rng = np.random.default_rng(SEED)
    round_ = rng.integers(0, rounds, (RESAMPLES, rounds, 1))
    drawn = ratios[round_, rng.integers(0, pairs, (RESAMPLES, rounds, pairs))]
    low, high = np.percentile(np.median(drawn.reshape(RESAMPLES, -1), axis=1), [2.5, 97.5])
    before, after = np.median(times.reshape(-1, 2), axis=0) / 1e3
    return {
        "rounds": rounds,
        "pairs": pairs,
        "before_us": float(before),
        "after_us": float(after),
        "ratio": float(np.median(ratios)),
        "low": float(low),
        "high": float(high),
    }


def table(rows: list[dict[str, Any]]) -> str:
    head = f"{'call':<44} {'before us':>10} {'after us':>10} {'ratio':>7}   95 % interval"
    return "\n".join(
        [
            head,
            *(
                f"{row['name']:<44} {row['before_us']:>10.1f} {row['after_us']:>10.1f} "
                f"{row['ratio']:>7.3f}   {row['low']:.3f} .. {row['high']:.3f}"
                + ("" if row["same_answers"] else "   ANSWERS DIFFER")
                for row in rows
            ),
        ]
    )


def main(argv: list[str]) -> int:
    if argv[:1] == ["--serve"]:
        serve(Path(argv[1]))
        return 0
    parser = argparse.ArgumentParser(prog="python -m bench.paired", description=__doc__)
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path, nargs="?", default=REPO)
    parser.add_argument("--sizes", help="memories of the stores, such as 1000,100000")
    parser.add_argument("--large", action="store_true", help=f"{LARGE:,} memories too")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="of processes started anew")
    parser.add_argument("--pairs", type=int, default=PAIRS, help="of turns in a round")
    parser.add_argument("--only", default="", help="measure calls with this in their name")
    parser.add_argument("--json", type=Path, help="write the rows to this file too")
    options = parser.parse_args(argv)
    named = options.sizes.split(",") if options.sizes else SIZES
    sizes = [int(each) for each in named] + [LARGE] * options.large
    if hasattr(os, "sched_setaffinity"):  # children inherit it: the trees share one core
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        write_inputs(work, sizes)
        for size in sizes:
            rows += compare(options, work, size)
            shutil.rmtree(work / f"before-{size}", ignore_errors=True)
            shutil.rmtree(work / f"after-{size}", ignore_errors=True)
    print(table(rows))
    print(json.dumps(rows))
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    return 0 if all(row["same_answers"] for row in rows) else 1


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
