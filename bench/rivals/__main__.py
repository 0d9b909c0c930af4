"""``python -m bench.rivals``: measure spector beside other engines, and make the page.

python -m bench.rivals --quick             100,000 records
python -m bench.rivals --full              1,000,000 records
python -m bench.rivals --only faiss-sq8 ...  these contenders (and what they need)
python -m bench.rivals --again NAME ...    forget what is known of these (pair, all, ...) first
python -m bench.rivals report              docs/rivals.md from the largest and newest run
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from bench import machine, results
from bench.rivals import report
from bench.rivals.contenders import ENTRIES, Entry, entry_named
from bench.rivals.guard import run_step
from bench.rivals.plan import ALWAYS, Limits, Step, plan

PACKAGES: Final = (
    "faiss-cpu",
    "usearch",
    "hnswlib",
    "sqlite-vec",
    "apsw",
    "lancedb",
    "chromadb",
    "qdrant-client",
)
QUICK, FULL = 100_000, 1_000_000


def main(arguments: list[str] | None = None) -> int:
    options = _parse(arguments)
    if options.verb == "report":
        source = Path(options.file) if options.file else report.newest()
        report.write_page(results.load(source))
        print(f"docs/rivals.md made from {source.name}")
        return 0
    records = options.records or (FULL if options.full else QUICK)
    run = measure(records, options)
    stamp = run["started"].replace(":", "").replace("-", "")[:13]
    default = results.RESULTS / f"rivals-{stamp}-{run['commit'][:7]}-{records // 1000}k.json"
    path = Path(options.out) if options.out else default
    results.save(run, path)
    print(report.summary(run))
    print(f"\nsaved as {os.path.relpath(path)}; the page: python -m bench.rivals report")
    return 0


def measure(records: int, options: argparse.Namespace) -> dict[str, Any]:
    """Every step that is not done yet, each in its own process; then all that is known."""
    folder = Path(options.work or Path(machine.scratch_root(), "spector-rivals")) / str(records)
    (folder / "steps").mkdir(parents=True, exist_ok=True)
    commit, code = machine.describe_commit(), _state_of_spector()
    started = datetime.now(UTC)
    entries = [entry_named(name) for name in options.only] if options.only else list(ENTRIES)
    limits = Limits.of(records, options.budget_s, options.cell_s, options.memory_gb)
    steps = plan(entries, records, limits)
    for name in options.again:
        _forget(folder, steps, name)
    known: dict[str, dict[str, Any]] = {}
    for n, step in enumerate(steps):
        known[step.key] = _done(folder, step, code) or _run(
            folder, step, limits, code, known, f"[{n + 1}/{len(steps)}]"
        )
        if not options.keep:
            _drop_stores(folder, steps[n + 1 :])
    run = {
        "schema": results.SCHEMA,
        "mode": "rivals",
        "started": started.strftime("%Y-%m-%dT%H:%M:%SZ"),
        # of all steps, those of an earlier, interrupted run included
        "elapsed_s": round(sum(told.get("elapsed_s", 0.0) for told in known.values()), 1),
        "commit": commit["commit"],
        "dirty": commit["dirty"] or machine.describe_commit() != commit,
        "records": records,
        "dim": known.get("prepare", {}).get("dim", 0),
        "data": known.get("prepare", {}).get("source", "unknown"),
        "cell_s": limits.cell_s,
        "kernel": _kernel_name(),
        "load_average": _load_range(known),
        "machine": machine.describe_machine(),
        "versions": {**machine.describe_versions(), **_versions()},
        "contenders": [_figures(entry, known) for entry in entries],
        "pair": known["pair"],
    }
    if not options.keep:
        shutil.rmtree(folder)
    return run


def _run(
    folder: Path,
    step: Step,
    limits: Limits,
    code: str,
    known: dict[str, dict[str, Any]],
    place: str,
) -> dict[str, Any]:
    """Run a step and keep its report, unless what it needs is missing."""
    for needed in step.needs:
        if "reason" in known[needed]:
            return {"reason": known[needed]["reason"], "since": needed}
    print(f"{place} {step.key} ...", end=" ", flush=True)
    if step.verb == "build":
        shutil.rmtree(folder / "stores" / step.name, ignore_errors=True)
    elif step.opens and not (folder / "stores" / step.opens).exists():
        return {"reason": f"its store is gone; run again with --again build-{step.opens}"}
    told = run_step(
        [
            step.verb,
            "--folder",
            str(folder),
            "--name",
            step.name,
            "--records",
            str(limits.records),
            "--cell-s",
            str(limits.cell_s),
        ],
        seconds=step.seconds,
        memory_bytes=limits.memory_bytes,
        cores=step.cores,
        log=folder / "steps" / f"{step.key}.log",
    )
    told["code"], told["cell_s"] = code, limits.cell_s
    told["load_average"] = round(os.getloadavg()[0], 2)
    (folder / "steps" / f"{step.key}.json").write_text(json.dumps(told), encoding="utf-8")
    print(told.get("reason") or f"{told['elapsed_s']:.1f} s", flush=True)
    return told


def _drop_stores(folder: Path, left: list[Step]) -> None:
    """Stores that no step needs any more; those of a million records would fill small disks."""
    needed = {step.opens for step in left} | {step.name for step in left if step.verb == "build"}
    if any(step.verb in ("formula", "pair") for step in left):
        needed |= set(ALWAYS)
    for path in (folder / "stores").iterdir() if (folder / "stores").is_dir() else ():
        if path.name not in needed:
            shutil.rmtree(path)


def _done(folder: Path, step: Step, code: str) -> dict[str, Any] | None:
    """What an earlier run found out, be it a failure, unless spector has changed since."""
    path = folder / "steps" / f"{step.key}.json"
    if not path.is_file():
        return None
    told: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    stale = step.of_spector and told["code"] != code
    return None if stale else told


def _state_of_spector() -> str:
    """Changes with every file of the product, committed or not."""
    digest = hashlib.sha256()
    for root in ("spector", "native"):
        for path in sorted((machine.REPO / root).rglob("*")):
            if path.suffix in (".py", ".c", ".h", ".so"):
                digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]


def _forget(folder: Path, steps: list[Step], name: str) -> None:
    chosen = [s for s in steps if name in ("all", s.name, s.key)]
    if not chosen:
        raise SystemExit(f"--again {name}: no contender or step has this name")
    for step in chosen:
        (folder / "steps" / f"{step.key}.json").unlink(missing_ok=True)


def _load_range(known: dict[str, dict[str, Any]]) -> list[float]:
    """Lowest and highest load average that steps ended with."""
    loads = [told["load_average"] for told in known.values() if "load_average" in told]
    return [min(loads), max(loads)] if loads else [round(os.getloadavg()[0], 2)] * 2


def _figures(entry: Entry, known: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """All that is known of a contender, under the names that the report reads."""
    return {
        "name": entry.name,
        "title": entry.title,
        "about": entry.about,
        "ranking": entry.ranking,
        "build": known.get(f"build-{entry.store}", {}),
        "query": known.get(f"query-{entry.name}", {}),
        "query2": known.get(f"query2-{entry.name}", {}),
        "sits_out": entry.why_not_more,
        "effort_name": entry.effort_name,
    }


def _versions() -> dict[str, str]:
    import importlib.metadata

    found = {}
    for package in PACKAGES:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            found[package] = "absent"
    return found


def _kernel_name() -> str:
    from spector.kernel.dispatch import kernel_info

    info = kernel_info()
    return f"{info['name']} ({info['isa']})"


def _parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench.rivals", description=(__doc__ or "").split("\n\n")[0]
    )
    add: Callable[..., Any] = parser.add_argument
    add("verb", nargs="?", choices=["run", "report"], default="run")
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--quick", action="store_true", help="100,000 records (the default)")
    size.add_argument("--full", action="store_true", help="1,000,000 records")
    size.add_argument("--records", type=int, metavar="N", help="another number of records")
    add("--only", nargs="+", default=[], metavar="NAME", help="these contenders only")
    add(
        "--again",
        nargs="+",
        default=[],
        metavar="NAME",
        help="measure these again (contenders, steps, or all)",
    )
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
