"""``python -m bench.recall VERB``: judge a change of recall in minutes.

python -m bench.recall quick                         every set in every way; prints one table
python -m bench.recall quick --sets beam --adapters role name --out new.json
python -m bench.recall quick --of /work/other        the product of another folder
python -m bench.recall compare old.json new.json     paired by question; sd of a group bootstrap
python -m bench.recall settle new.json --base old.json   keep the figures
python -m bench.recall report                        docs/recall.md from the figures kept last
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from bench import results
from bench.recall.ask import SETS, WAYS, measure
from bench.recall.page import PAGE, compare_table, docs_page, newest, quick_table, settled, today
from bench.recall.sets import NoDataError

_HOME: Final = Path(__file__).resolve().parents[2]
#: run the command with the product of another folder
_OF: Final = """
import sys
folder, home, *arguments = sys.argv[1:]
sys.path[:0] = [folder]
import spector
sys.path[0] = home
from bench.recall.__main__ import main
sys.exit(main(arguments))
"""


def main(arguments: Sequence[str] | None = None, *, prog: str = "python -m bench.recall") -> int:
    """Exit code: 0 done, 2 wrong arguments or no data."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    options = _parse(given, prog)
    if options.of:
        return _of_folder(options.of, given)
    verbs = {"quick": _quick, "compare": _compare, "settle": _settle, "report": _report}
    try:
        verbs[options.verb](options)
    except NoDataError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


def _of_folder(folder: str, arguments: list[str]) -> int:
    taken = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    taken.add_argument("--of")
    _, rest = taken.parse_known_args(arguments)
    where = str(Path(folder).resolve())
    command = [sys.executable, "-c", _OF, where, str(_HOME), *rest]
    environment = {**os.environ, "SPECTOR_BENCH_OF": where}
    return subprocess.run(command, env=environment, check=False).returncode


def _quick(options: argparse.Namespace) -> None:
    begin = time.perf_counter()
    tasks = [(name, way) for name in options.sets for way in options.adapters]
    folder = os.environ.get("SPECTOR_BENCH_OF", str(_HOME))
    commit = subprocess.run(
        ["git", "-C", folder, "describe", "--always", "--dirty=+"],
        capture_output=True,
        text=True,
        check=False,
    )
    run: dict[str, Any] = {
        "schema": 1,
        "mode": "protocol",
        "started": datetime.now(UTC).isoformat()[:19],
        "commit": f"{Path(folder).name} {commit.stdout.strip()}",
        "rows": {},
    }
    # the children load the model; a fork of a process that has threads of it may hang
    with ProcessPoolExecutor(options.jobs, multiprocessing.get_context("fork")) as pool:
        found = [
            pool.submit(measure, name, way, options.config, not options.no_silence)
            for name, way in tasks
        ]
        for (name, way), each in zip(tasks, found, strict=True):
            if rows := each.result():
                run["rows"].setdefault(name, {})[way] = rows
    run["elapsed_s"] = round(time.perf_counter() - begin, 1)
    if options.out:
        Path(options.out).write_text(json.dumps(run), encoding="utf-8")
    print("\n".join(quick_table(run["rows"], today())))
    print(f"\n{run['commit']}; {run['elapsed_s']} s")


def _compare(options: argparse.Namespace) -> None:
    this, that = (json.loads(Path(path).read_text("utf-8")) for path in options.files)
    print(
        f"{that['commit']} over {this['commit']}; in brackets the sd of a bootstrap over groups; "
        "=: under 2 sd"
    )
    for part in ("all", "develop", "report"):
        print(f"\n{part}")
        print("\n".join(compare_table(this["rows"], that["rows"], today(), part)))


def _settle(options: argparse.Namespace) -> None:
    run, base = (
        json.loads(Path(path).read_text("utf-8")) if path else None
        for path in (options.files[0], options.base)
    )
    stamp = run["started"].replace(":", "").replace("-", "")[:13]
    path = results.RESULTS / f"protocol-{stamp}.json"
    results.save(settled(run, today(), base), path)
    print(f"saved as {os.path.relpath(path)}; the page: python -m bench.recall report")


def _report(_: argparse.Namespace) -> None:
    PAGE.write_text(docs_page(newest()), encoding="utf-8")
    print("docs/recall.md made from the figures that were settled last")


def _parse(arguments: list[str], prog: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog=prog, description="What recall brings back, by the protocol."
    )
    add = parser.add_argument
    add("verb", choices=("quick", "compare", "settle", "report"))
    add("files", nargs="*", metavar="FILE", help="compare: two; settle: one")
    add("--sets", nargs="+", choices=SETS, default=list(SETS))
    add("--adapters", nargs="+", choices=WAYS, default=list(WAYS))
    add("--no-silence", action="store_true", help="recalls only, no contexts")
    add("--of", metavar="FOLDER", help="measure the product of this folder")
    add("--jobs", type=int, default=min(2, os.cpu_count() or 1))
    add("--base", metavar="FILE", help="settle: results to compare with")
    add("--config", nargs="+", metavar="FIELD=VALUE", default=[], help="of Config")
    add("--out", metavar="FILE", help="where to save the rows")
    options = parser.parse_args(arguments)
    wanted = {"compare": 2, "settle": 1}.get(options.verb, 0)
    if len(options.files) != wanted:
        parser.error(f"{options.verb} takes {wanted} files of results")
    return options


if __name__ == "__main__":
    raise SystemExit(main())
