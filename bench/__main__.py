"""``python -m bench``: measure, save as JSON, and make the tables.

python -m bench                quick: about a minute, small stores; prints a table
python -m bench --full         up to a million records; writes bench/results/*-full.json
python -m bench --only recall  the benchmarks whose name contains a word
python -m bench report         README and docs/performance.md from the newest full run
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench import machine, report, results

HERE = Path(__file__).resolve().parent


def main(arguments: list[str] | None = None) -> int:
    options = _parse(arguments)
    if options.verb == "report":
        source = Path(options.file) if options.file else results.newest_full()
        report.write_all(results.load(source))
        print(f"README.md and docs/performance.md made from {source.name}")
        return 0
    run, code = measure("full" if options.full else "quick", options.only)
    stamp = run["started"].replace(":", "").replace("-", "")[:13]
    default = results.RESULTS / f"{stamp}-{run['commit'][:7]}-{run['mode']}.json"
    path = Path(options.out) if options.out else default
    results.save(run, path)
    print("\n".join(line for line in report.docs_block(run).splitlines() if _is_figure(line)))
    print(f"\nsaved as {os.path.relpath(path)}")
    return code


def measure(mode: str, only: str | None) -> tuple[dict[str, Any], int]:
    """Run the benchmarks in a child with one numeric thread, and gather what they report."""
    started, begin = datetime.now(UTC), time.perf_counter()
    commit, load_before = machine.describe_commit(), os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as folder:
        raw, junit = Path(folder, "raw.json"), Path(folder, "junit.xml")
        command = [
            *machine.python("-m", "pytest", str(HERE), "-q", "--benchmark-only"),
            *("--benchmark-quiet", f"--benchmark-json={raw}", f"--junit-xml={junit}"),
            *("-o", "timeout=0", "-p", "no:cacheprovider", "-rs", *(["-k", only] if only else [])),
        ]
        environment = {**os.environ, **machine.one_thread_environment(), "SPECTOR_BENCH_MODE": mode}
        done = subprocess.run(command, cwd=machine.REPO, env=environment, check=False)
        rows = results.convert(json.loads(raw.read_text("utf-8"))) if _filled(raw) else []
        failed = _failed(junit)
    run = {
        "schema": results.SCHEMA,
        "mode": mode,
        "started": started.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "elapsed_s": round(time.perf_counter() - begin, 1),
        "commit": commit["commit"],
        # the working tree may move on while the benchmarks run
        "dirty": commit["dirty"] or machine.describe_commit() != commit,
        "data": _data_source(),
        "kernel": machine.kernel_name(),
        "load_average": [round(load_before, 2), round(os.getloadavg()[0], 2)],
        "machine": machine.describe_machine(),
        "versions": machine.describe_versions(),
        "rows": rows,
        "failed": failed,
    }
    return run, done.returncode


def _filled(path: Path) -> bool:
    return path.is_file() and path.stat().st_size > 0


def _failed(junit: Path) -> list[dict[str, str]]:
    """Benchmarks that failed or were skipped, with the first line of the reason."""
    if not _filled(junit):
        return [{"test": "all", "why": "the run ended before any report"}]
    import xml.etree.ElementTree as ElementTree

    found = []
    for case in ElementTree.parse(junit).iter("testcase"):
        for outcome in case:
            if outcome.tag in {"failure", "error", "skipped"}:
                why = (outcome.get("message") or outcome.tag).splitlines()[0]
                found.append({"test": str(case.get("name")), "why": why[:200]})
    return found


def _data_source() -> str:
    from bench.data import load_corpus

    return load_corpus().source


def _is_figure(line: str) -> bool:
    return line.startswith(("| ", "|-", "- ", "##", "Not measured", "Missed")) or "are met" in line


def _parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench", description=(__doc__ or "").split("\n\n")[0]
    )
    parser.add_argument("verb", nargs="?", choices=["run", "report"], default="run")
    parser.add_argument("--quick", action="store_true", help="about a minute (the default)")
    parser.add_argument("--full", action="store_true", help="all sizes up to a million records")
    parser.add_argument("--only", metavar="WORD", help="benchmarks whose name contains this")
    parser.add_argument("--out", metavar="FILE", help="where to save the results")
    parser.add_argument("--file", metavar="FILE", help="report: the run to make the tables from")
    options = parser.parse_args(arguments)
    if options.quick and options.full:
        parser.error("choose --quick or --full")
    return options


if __name__ == "__main__":
    sys.exit(main())
