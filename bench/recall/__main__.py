"""``python -m bench.recall``: ask every ranking the questions of every data set, and report.

python -m bench.recall                     all sets and arms, times; saves JSON
python -m bench.recall --sets locomo beam --arms bm25 spector
python -m bench.recall --parts arms        without times
python -m bench.recall times               how long a recall of 6,000 turns takes, and its stages
python -m bench.recall times --store PATH  the same of a store that is there
python -m bench.recall report              docs/recall.md and docs/recall.svg from the newest runs
python -m bench.recall quick               the protocol: see bench/recall/protocol/command.py for
                                           this and compare, ablate, fit, settle, vectors
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from bench import machine, results
from bench.data import NOW
from bench.recall import report, tables
from bench.recall.arms import ARMS, Arm
from bench.recall.evaluate import Asked, ask_all
from bench.recall.figures import arm_figures
from bench.recall.ledger import Ledger, digest, digest_of_code
from bench.recall.lexical import K1, B
from bench.recall.protocol import command as protocol
from bench.recall.sets import LOADERS, NoDataError, load
from bench.recall.shape import DataSet
from bench.recall.stages import stage_table
from bench.recall.timing import of_store, timings
from bench.recall.vectors import Memoised, Shelf, Vectors, default_folder, no_vectors, vectors_of
from spector.clock import ManualClock
from spector.providers import Embedder, MiniLMEmbedder

#: sets whose questions have known answers
SETS: Final = tuple(name for name in LOADERS if name != "memorybank")
PARTS: Final = ("arms", "times")
FOLDS: Final = 5


def main(arguments: list[str] | None = None, prog: str = "python -m bench.recall") -> int:
    words = sys.argv[1:] if arguments is None else arguments
    if words and words[0] in protocol.VERBS:
        return protocol.main(words)
    options = _parse(arguments, prog)
    if options.verb == "report":
        source = Path(options.file) if options.file else report.newest()
        try:
            report.write_page(results.load(source))
        except report.MixedError as error:
            print(f"{source.name}: {error}", file=sys.stderr)
            return 2
        print(f"docs/recall.md made from {source.name}")
        return 0
    embedder = _embedder(options)
    folder = _folder(options)
    try:
        sets = [load(name) for name in options.sets]
    except NoDataError as error:
        print(error, file=sys.stderr)
        return 2
    if options.verb == "times":
        return _print_times(sets, embedder, folder, options.store)
    run = measure(sets, embedder, folder, options)
    stamp = run["started"].replace(":", "").replace("-", "")[:13]
    default = results.RESULTS / f"recall-{stamp}-{run['commit'][:7]}.json"
    path = Path(options.out) if options.out else default
    results.save(run, path)
    print(report.summary(run))
    print(f"\nsaved as {os.path.relpath(path)}; the page: python -m bench.recall report")
    return 0


def _print_times(sets: list[DataSet], embedder: Embedder, folder: Path, store: str | None) -> int:
    """The table of times and that of the stages; nothing is saved."""
    if store is None:
        times = timings(sets, embedder, folder)
    else:
        data = next(each for each in sets if each.name == "locomo")
        vectors = vectors_of(data, embedder, folder, "plain").cues
        cues = [(each.cue, vectors[each.id]) for each in data.questions]
        times = of_store(store, cues, ManualClock(NOW))
    print(f"{times['turns']:,} memories, load {os.getloadavg()[0]:.1f}")
    print("\n".join([*tables.times_table({"times": times}), "", *stage_table(times["stages_us"])]))
    return 0


def measure(
    sets: list[DataSet], embedder: Embedder, folder: Path, options: argparse.Namespace
) -> dict[str, Any]:
    """All figures of a run; each question's own go to a file of lines."""
    started, begin = datetime.now(UTC), time.perf_counter()
    commit, load_before = machine.describe_commit(), os.getloadavg()[0]
    code = digest_of_code()
    told = _told_of(sets, embedder, folder, f"{started:%Y%m%dT%H%M%S}", options)
    times = timings(sets, embedder, folder) if "times" in options.parts else {}
    if times:
        times["code"] = digest_of_code()
    return {
        "schema": results.SCHEMA,
        "mode": "recall",
        "started": started.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "commit": commit["commit"],
        "code": code,
        "code_at_the_end": digest_of_code(),
        "dirty": commit["dirty"] or machine.describe_commit() != commit,
        "embedder": embedder.model_id,
        "bm25": {"k1": K1, "b": B, "stop": "bm25s.STOPWORDS_EN_PLUS", "stem": "snowball english"},
        "folds": FOLDS,
        "machine": machine.describe_machine(),
        "versions": machine.describe_versions(),
        "sets": {name: told[name].figures for name in (data.name for data in sets)},
        "arms_of_earlier_runs": sum(each.reused for each in told.values()),
        "times": times,
        "load_average": [round(load_before, 2), round(os.getloadavg()[0], 2)],
        "elapsed_s": round(time.perf_counter() - begin, 1),
    }


@dataclass(frozen=True, slots=True)
class _Told:
    """What one set was found to be like."""

    name: str
    figures: dict[str, Any]
    #: arms that lines of earlier runs answered
    reused: int


def _told_of(
    sets: list[DataSet], embedder: Embedder, folder: Path, run: str, options: argparse.Namespace
) -> dict[str, _Told]:
    """Every set; several at a time in processes of their own, the longest first."""
    if options.jobs < 2 or len(sets) < 2:
        return {data.name: _of_set(data, embedder, folder, run, options) for data in sets}
    longest = sorted(sets, key=lambda data: -len(data.questions))
    # a child must not inherit threads of an embedder that has begun
    with ProcessPoolExecutor(options.jobs, multiprocessing.get_context("spawn")) as pool:
        found = [pool.submit(_of_name, data.name, run, options) for data in longest]
        told = [each.result() for each in found]
    return {each.name: each for each in told}


def _of_name(name: str, run: str, options: argparse.Namespace) -> _Told:
    return _of_set(load(name), _embedder(options), _folder(options), run, options)


def _of_set(
    data: DataSet, embedder: Embedder, folder: Path, run: str, options: argparse.Namespace
) -> _Told:
    ledger = Ledger(folder / "runs", f"{run}-{data.name}", embedder.fingerprint)
    asking = _Asking(data, embedder, folder, ledger, options.again)
    figures = _figures_of(asking, options)
    # processes of one run may start at different times
    return _Told(data.name, {**figures, "code": digest_of_code()}, ledger.reused)


def _embedder(options: argparse.Namespace) -> Memoised:
    return Memoised(MiniLMEmbedder(threads=options.threads), Shelf(_folder(options)))


def _folder(options: argparse.Namespace) -> Path:
    return Path(options.cache) if options.cache else default_folder()


class _Asking:
    """One set: its vectors while they are needed, and what was asked of it before."""

    def __init__(
        self, data: DataSet, embedder: Embedder, folder: Path, ledger: Ledger, again: bool
    ) -> None:
        self.data = data
        self._embedder, self._folder, self._ledger = embedder, folder, ledger
        self._again = again
        self._made: dict[tuple[str, bool], Vectors] = {}

    def ask(self, name: str, arm: Arm, foreign: bool = True) -> Asked:
        known = None if self._again else self._ledger.find(self.data, arm, foreign)
        if known is not None:
            return known
        asked = ask_all(name, arm, self.data, self._vectors(arm), foreign)
        self._ledger.add(self.data, name, arm, asked)
        return asked

    def _vectors(self, arm: Arm) -> Vectors:
        form = (arm.template if arm.needs_vectors else "", arm.by_parts)
        if form not in self._made:
            self._made[form] = (
                vectors_of(self.data, self._embedder, self._folder, *form)
                if form[0]
                else no_vectors(self.data)
            )
        return self._made[form]


def _figures_of(asking: _Asking, options: argparse.Namespace) -> dict[str, Any]:
    data = asking.data
    figures: dict[str, Any] = {
        "title": data.title,
        "digest": digest(data.stores, data.questions),
        "stores": len(data.stores),
        "items": sum(len(store.items) for store in data.stores),
        "questions": len(data.answerable),
        "notes": list(data.notes),
    }
    if "arms" in options.parts:
        arms = {name: arm for name, arm in ARMS.items() if name in options.arms}
        asked = {name: asking.ask(name, arm) for name, arm in arms.items()}
        figures["arms"] = arm_figures(data, asked, FOLDS)
    return figures


def _parse(arguments: list[str] | None, prog: str) -> argparse.Namespace:
    about = (__doc__ or "").partition(": ")[2].split("\n\n")[0]
    parser = argparse.ArgumentParser(prog=prog, description=about)
    verbs = ["run", "times", "report"]
    parser.add_argument("verb", nargs="?", choices=verbs, default="run")
    parser.add_argument("--sets", nargs="+", choices=LOADERS, default=list(SETS))
    parser.add_argument("--arms", nargs="+", choices=ARMS, default=list(ARMS))
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument(
        "--cache",
        metavar="FOLDER",
        help="folder for vectors (default: spector-bench in the user's cache)",
    )
    parser.add_argument("--threads", type=int, default=None, help="threads of the embedder")
    parser.add_argument(
        "--jobs",
        type=int,
        default=min(2, os.cpu_count() or 1),
        help="sets measured at once (default: 2)",
    )
    parser.add_argument(
        "--again", action="store_true", help="ask again what earlier runs have asked"
    )
    parser.add_argument("--store", metavar="PATH", help="times: measure this store")
    parser.add_argument("--out", metavar="FILE", help="where to save the results")
    parser.add_argument("--file", metavar="FILE", help="report: the run to make the page from")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    # by its own name, under which processes that are spawned find what they are to do
    from bench.recall.__main__ import main as run_by_name

    sys.exit(run_by_name())
