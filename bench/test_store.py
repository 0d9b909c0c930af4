"""Writing, reading, opening and compacting whole stores through the public API."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench.data import Corpus, reference, topic
from bench.machine import REPO, idlest_core, one_thread_environment, python
from bench.measure import Row, at_least, at_most, settle
from bench.stores import Stores, build, bytes_by_kind, open_store

K = 10


# --- writing ------------------------------------------------------------------------------------


def test_append_twenty_thousand(row: Row, corpus: Corpus, scratch: Path, pinned: int) -> None:
    """``remember_many`` with given vectors, a new store each round."""
    records = 20_000
    batch = corpus.records(0, records, records)
    opened: list[Any] = []

    def new_store() -> tuple[tuple[Any, ...], dict[str, Any]]:
        for memory in opened:
            memory.close()
        opened[:] = [open_store(scratch / f"append-{len(list(scratch.iterdir()))}", corpus.dim)]
        settle()
        return (opened[0],), {}

    row.rounds(
        lambda memory: memory.remember_many(batch),
        setup=new_store,
        rounds=5,
        id=f"write/append.many.{records}",
        title="remember_many, vectors given, relaxed",
        unit="records/s",
        work=records,
        params={"records": records, "dim": corpus.dim, "threads": 1},
        target=at_least(20_000, "p50"),
    )
    opened[0].close()


def test_build(row: Row, stores: Stores, corpus: Corpus, store_size: int, pinned: int) -> None:
    """The same over a whole store in calls of 50,000, checkpoints included."""
    built = stores.get(store_size)
    whole = sum(built.batch_seconds) + built.close_seconds
    row.samples(
        [whole],
        id=f"write/build.{store_size}",
        title="building a store with remember_many, close included",
        unit="records/s",
        work=store_size,
        params={"records": store_size, "dim": corpus.dim, "threads": 1},
        extra={
            "first_call_s": built.batch_seconds[0],
            "last_call_s": built.batch_seconds[-1],
            "close_s": built.close_seconds,
        },
    )


@pytest.mark.parametrize("durability", ["strict", "relaxed"])
def test_remember_one(
    row: Row, corpus: Corpus, scratch: Path, full: bool, durability: str, pinned: int
) -> None:
    """One ``remember`` at a time with a given vector, into a store of its own."""
    rounds = 3000 if full else 500
    records = corpus.records(0, rounds, rounds)
    supply = iter(records)
    with open_store(scratch / f"one-{durability}", corpus.dim, durability=durability) as memory:

        def next_record() -> tuple[tuple[Any, ...], dict[str, Any]]:
            record = next(supply)
            return (record["text"],), {key: record[key] for key in record if key != "text"}

        row.rounds(
            memory.remember,
            setup=next_record,
            rounds=rounds,
            id=f"write/remember.{durability}",
            title=f"remember, vector given, {durability}",
            params={"records": rounds, "dim": corpus.dim, "threads": 1},
            target=at_least(500, "per_second") if durability == "strict" else None,
        )
    row.note(per_second=rounds / sum(row.times()))


# --- reading ------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def memory(
    stores: Stores, corpus: Corpus, store_size: int, opened: list[dict[str, Any]]
) -> Iterator[Any]:
    """The store, open for writing; after other processes have opened it, as it takes the lock."""
    with open_store(stores.get(store_size).path, corpus.dim) as opened:
        yield opened


RECALLS: dict[str, tuple[str, bool, dict[str, Any]]] = {
    # name: (what the row says, whether the cue's words are used, further keywords)
    "vector": ("recall by vector", False, {}),
    "hybrid": ("recall by vector and words", True, {}),
    "tagged": ("recall by vector, tag of 1 % of the records", False, {"tags": [topic(7)]}),
    "where": (
        "recall by vector, metadata filter of 1 % of the records",
        False,
        {"where": {"turn": {"gte": 0}}},
    ),
}


@pytest.mark.parametrize("kind", RECALLS)
def test_recall(
    row: Row, memory: Any, corpus: Corpus, store_size: int, kind: str, full: bool, pinned: int
) -> None:
    title, words, keywords = RECALLS[kind]
    keywords = dict(keywords)
    if kind == "where":
        keywords["where"] = {"turn": {"lt": store_size // 100}}

    def recall(text: str | None, vector: Any) -> Any:
        return memory.recall(text, vector=vector, k=K, **keywords)

    cues = [corpus.cue(i) for i in range(200)]
    assert len(recall(cues[0][0] if words else None, cues[0][1])) == K
    row.calls(
        recall,
        [(text if words else None, vector) for text, vector in cues],
        at_most=200,
        budget_s=20 if full else 4,
        id=f"recall/recall.{kind}.{store_size}",
        title=title,
        params={"records": store_size, "dim": corpus.dim, "threads": 1, "k": K},
    )


def test_recall_of_a_rare_word(
    row: Row, memory: Any, corpus: Corpus, store_size: int, pinned: int
) -> None:
    """A cue that names one record by a token only it has; also counts how often that was found."""
    from spector.providers.minilm import MiniLMEmbedder

    wanted = [reference((i * 7919) % store_size) for i in range(100)]
    vectors = MiniLMEmbedder(threads=1).embed(wanted)

    def recall(word: str, vector: Any) -> Any:
        return memory.recall(word, vector=vector, k=K)

    pairs = list(zip(wanted, vectors, strict=True))
    found = sum(any(word in hit.text for hit in recall(word, vector)) for word, vector in pairs)
    row.calls(
        recall,
        pairs,
        at_most=100,
        budget_s=10,
        id=f"recall/recall.rare.{store_size}",
        title="recall by a rare word and its vector",
        params={"records": store_size, "dim": corpus.dim, "threads": 1, "k": K},
        target=at_least(1.0, "found"),
    )
    row.note(found=found / len(wanted))


# --- opening, in processes of their own ---------------------------------------------------------


@pytest.fixture(scope="session")
def opened(stores: Stores, corpus: Corpus, store_size: int, full: bool) -> list[dict[str, Any]]:
    """What fresh processes report of opening the closed store, and of their first recall."""
    path = stores.get(store_size).path
    cue = stores.root / "cue.npy"
    np.save(cue, corpus.cue(0)[1], allow_pickle=False)
    return [child("open", str(path), str(corpus.dim), str(cue)) for _ in range(9 if full else 3)]


def test_open(row: Row, opened: list[dict[str, Any]], corpus: Corpus, store_size: int) -> None:
    assert all(run["records"] == store_size and run["hits"] == K for run in opened)
    row.samples(
        [run["open_s"] for run in opened],
        id=f"open/open.{store_size}",
        title="opening a store in a fresh process, engine loaded, files in the page cache",
        params={"records": store_size, "dim": corpus.dim},
        target=at_most(200) if store_size >= 1_000_000 else None,
    )


def test_first_recall(
    row: Row, opened: list[dict[str, Any]], corpus: Corpus, store_size: int
) -> None:
    row.samples(
        [run["first_recall_s"] for run in opened],
        id=f"open/first-recall.{store_size}",
        title="the first recall of a fresh process, by vector",
        params={"records": store_size, "dim": corpus.dim, "k": K},
    )


def test_resident_memory(
    row: Row, opened: list[dict[str, Any]], corpus: Corpus, store_size: int
) -> None:
    """Memory of its own after the first recall, less the interpreter with its imports."""
    row.values(
        [(run["rss_recall"]["anon"] - run["rss_start"]["anon"]) / 2**20 for run in opened],
        unit="MiB",
        id=f"size/rss.{store_size}",
        title="resident memory that an open store adds, its own pages",
        params={"records": store_size, "dim": corpus.dim},
        extra={
            "process_anon_mib": opened[-1]["rss_recall"]["anon"] / 2**20,
            "mapped_file_mib": opened[-1]["rss_recall"]["file"] / 2**20,
        },
    )


def test_bytes_on_disk(row: Row, stores: Stores, corpus: Corpus, store_size: int) -> None:
    built = stores.get(store_size)
    sizes = bytes_by_kind(built.path)
    text_bytes = np.mean([len(text.encode("utf-8")) for text in corpus.texts]) + 13
    row.values(
        [sum(sizes.values()) / store_size],
        unit="bytes/record",
        id=f"size/disk.{store_size}",
        title="bytes on disk per record, after close",
        params={"records": store_size, "dim": corpus.dim},
        extra={
            **{kind.replace(" ", "_"): size / store_size for kind, size in sizes.items()},
            "text": float(text_bytes),
        },
    )


@pytest.mark.parametrize(
    ("figure", "title", "promise"),
    [
        ("import_s", "import spector in a fresh process", at_most(150)),
        ("load_s", "the same, and the first use of a name, which loads the engine", None),
    ],
)
def test_import(
    row: Row, full: bool, figure: str, title: str, promise: dict[str, Any] | None
) -> None:
    runs = [child("import") for _ in range(15 if full else 5)]
    row.samples(
        [run[figure] for run in runs],
        id=f"open/import.{figure.removesuffix('_s')}",
        title=title,
        params={},
        target=promise,
        extra={"modules": runs[-1]["modules"]},
    )


# --- compaction and check -----------------------------------------------------------------------


def test_compact(row: Row, corpus: Corpus, scratch: Path, full: bool, pinned: int) -> None:
    """Four in ten records are forgotten, then the rest is rebuilt. One run: it eats its input."""
    records = 100_000 if full else 10_000
    path = scratch / "compact"
    build(path, corpus, records)
    with open_store(path, corpus.dim) as memory:
        memory.forget(where={"turn": {"lt": records * 4 // 10}})
        report: list[Any] = []
        row.rounds(
            lambda: report.append(memory.compact()),
            rounds=1,
            id=f"sleep/compact.{records}",
            title="compact after forgetting 40 %",
            unit="records/s",
            work=records,
            params={"records": records, "dim": corpus.dim, "threads": 1},
        )
        row.note(
            elapsed_ms=row.times()[0] * 1e3,
            records_reclaimed=report[0].records_reclaimed,
            bytes_reclaimed=report[0].bytes_reclaimed,
        )
    shutil.rmtree(path)


def test_check(row: Row, memory: Any, corpus: Corpus, store_size: int, pinned: int) -> None:
    row.rounds(
        memory.check,
        rounds=1,
        id=f"sleep/check.{store_size}",
        title="check: every record's checksum against the catalog",
        unit="records/s",
        work=store_size,
        params={"records": store_size, "dim": corpus.dim, "threads": 1},
    )


def child(*arguments: str) -> dict[str, Any]:
    """Run ``bench.child`` on one core and return what it printed."""
    core = idlest_core(os.sched_getaffinity(0))
    run = subprocess.run(
        python("-m", "bench.child", *arguments),
        cwd=REPO,
        env={**os.environ, **one_thread_environment()},
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
        preexec_fn=lambda: os.sched_setaffinity(0, {core}),
    )
    if run.returncode:
        raise RuntimeError(run.stderr[-2000:])
    result: dict[str, Any] = json.loads(run.stdout)
    return result
