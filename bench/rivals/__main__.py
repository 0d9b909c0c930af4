"""``python -m bench.rivals``: measure spector beside other engines, and make the page.

python -m bench.rivals --quick             100,000 records
python -m bench.rivals --full              1,000,000 records
python -m bench.rivals --only faiss-sq8 ...  these contenders (and what they need)
python -m bench.rivals report              docs/rivals.md from the largest and newest run
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from bench import machine, results
from bench.rivals import page
from bench.rivals.contender import Entry
from bench.rivals.guard import run_step
from bench.rivals.registry import ENTRIES, entry_named

PACKAGES: Final = ("faiss-cpu", "usearch", "hnswlib", "sqlite-vec", "apsw", "lancedb", "chromadb")
QUICK, FULL = 100_000, 1_000_000
#: spector's store gives the truth of the fused score, faiss SQ8 is the yardstick of the pair
ALWAYS: Final = ("spector", "faiss-sq8")


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parse(arguments)
    if options.verb == "report":
        source = Path(options.file) if options.file else page.newest()
        page.PAGE.write_text(page.docs_page(results.load(source)), encoding="utf-8")
        print(f"docs/rivals.md made from {source.name}")
        return 0
    records = options.records or (FULL if options.full else QUICK)
    run = measure(records, options)
    stamp = run["started"].replace(":", "").replace("-", "")[:13]
    default = results.RESULTS / f"rivals-{stamp}-{run['commit'][:7]}-{records // 1000}k.json"
    path = Path(options.out) if options.out else default
    results.save(run, path)
    print(page.docs_page(run))
    print(f"saved as {os.path.relpath(path)}; the page: python -m bench.rivals report")
    return 0


def measure(records: int, options: argparse.Namespace) -> dict[str, Any]:
    """Every step that is not done yet, each in its own process; then all that is known."""
    commit = machine.describe_commit()
    name = f"{records}-{commit['commit'][:7]}"
    folder = Path(options.work or Path(machine.scratch_root(), "spector-rivals")) / name
    (folder / "steps").mkdir(parents=True, exist_ok=True)
    started = datetime.now(UTC)
    entries = [entry_named(name) for name in options.only] if options.only else list(ENTRIES)
    # four minutes for 100,000 records, fifteen for a million
    build_s = options.budget_s or max(240.0, records * 0.0009)
    query_s = max(180.0, build_s / 2)
    cell_s = options.cell_s or (1.0 if records <= QUICK else 3.0)
    known: dict[str, dict[str, Any]] = {}

    def step(
        verb: str, name: str = "", needs: Sequence[str] = (), seconds: float = 600, cores: int = 2
    ) -> None:
        """Run a step, unless an earlier run did, or what it needs is missing."""
        key = f"{verb}-{name}" if name else verb
        kept = folder / "steps" / f"{key}.json"
        reason = next((known[n]["reason"] for n in needs if "reason" in known[n]), None)
        if reason or kept.is_file():
            known[key] = {"reason": reason} if reason else json.loads(kept.read_text("utf-8"))
            return
        print(f"{key} ...", end=" ", flush=True)
        if verb == "build":
            shutil.rmtree(folder / "stores" / name, ignore_errors=True)
        known[key] = run_step(
            [verb, str(folder), name, str(records), str(cell_s)],
            seconds=seconds,
            memory_bytes=int(options.memory_gb * 2**30),
            cores=cores,
            log=folder / "steps" / f"{key}.log",
        )
        kept.write_text(json.dumps(known[key]), encoding="utf-8")
        print(known[key].get("reason") or f"{known[key]['elapsed_s']:.1f} s", flush=True)

    # input first, then the pair, so that the promises are measured even if time runs out
    step("prepare")
    for name in ALWAYS:
        # writing these stores is not part of the race's time limit: without them there is no truth
        step("build", name, ["prepare"], build_s * 3)
    step("truth", needs=["build-spector"])
    step(
        "pair", needs=["truth", *(f"build-{name}" for name in ALWAYS)], seconds=query_s * 2, cores=1
    )
    for entry in entries:
        step("build", entry.store, ["prepare"], build_s)
        step("query", entry.name, ["truth", f"build-{entry.store}"], query_s, cores=1)
        if not (options.keep or entry.is_spector):
            # those of a million records would fill small disks
            shutil.rmtree(folder / "stores" / entry.store, ignore_errors=True)
    loads = [each["load_average"] for each in known.values() if "load_average" in each]
    run = {
        "schema": results.SCHEMA,
        "mode": "rivals",
        "started": started.strftime("%Y-%m-%dT%H:%M:%SZ"),
        # of all steps, those of an earlier, interrupted run included
        "elapsed_s": round(sum(each.get("elapsed_s", 0.0) for each in known.values()), 1),
        "commit": commit["commit"],
        "dirty": commit["dirty"] or machine.describe_commit() != commit,
        "records": records,
        "dim": known["prepare"].get("dim", 0),
        "data": known["prepare"].get("source", "unknown"),
        "cell_s": cell_s,
        "kernel": machine.kernel_name(),
        "load_average": [min(loads), max(loads)],
        "machine": machine.describe_machine(),
        "versions": {**machine.describe_versions(), **machine.versions_of(PACKAGES)},
        "contenders": [_figures(entry, known) for entry in entries],
        "pair": known["pair"],
    }
    if not options.keep:
        shutil.rmtree(folder)
    return run


def _figures(entry: Entry, known: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """All that is known of a contender, under the names that the page reads."""
    return {
        "name": entry.name,
        "title": entry.title,
        "about": entry.about,
        "ranking": entry.ranking,
        "build": known[f"build-{entry.store}"],
        "query": known[f"query-{entry.name}"],
        "effort_name": entry.effort_name,
    }


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench.rivals", description=(__doc__ or "").split("\n\n")[0]
    )
    add = parser.add_argument
    add("verb", nargs="?", choices=["run", "report"], default="run")
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--quick", action="store_true", help="100,000 records (the default)")
    size.add_argument("--full", action="store_true", help="1,000,000 records")
    size.add_argument("--records", type=int, metavar="N", help="another number of records")
    add("--only", nargs="+", default=[], metavar="NAME", help="these contenders only")
    add("--budget-s", type=float, metavar="S", help="longest build; half of it to query")
    add("--cell-s", type=float, metavar="S", help="time spent on each cell of a table")
    add("--memory-gb", type=float, default=14.0, help="a step that needs more is stopped")
    add("--work", metavar="DIR", help="where vectors, stores and finished steps are kept")
    add("--keep", action="store_true", help="keep stores and finished steps when done")
    add("--out", metavar="FILE", help="where to save the results")
    add("--file", metavar="FILE", help="report: the run to make the page from")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
