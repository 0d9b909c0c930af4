"""``python -m bench.recall VERB``: judge a change of recall in minutes.

python -m bench.recall quick                         every set in every way; prints one table
python -m bench.recall quick --sets beam --adapters role name --out new.json
python -m bench.recall quick --of /work/other        the product of another folder
python -m bench.recall compare old.json new.json     paired by question; sd of a group bootstrap
python -m bench.recall ablate                        what each term of the ranking is worth
python -m bench.recall fit                           the weights, on the groups that develop
python -m bench.recall curve --config abstain_below=0.3 abstain_below=0.4
                                                     what a constant decides, for each value
python -m bench.recall settle new.json --base old.json --terms t.json
                                                     keep the figures
python -m bench.recall report                        docs/recall.md from the figures kept last
python -m bench.recall vectors                       embed what is missing
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
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any, Final

from bench.recall.sets import NoDataError

VERBS: Final = ("quick", "compare", "vectors", "ablate", "fit", "curve", "settle", "report")
_HOME: Final = Path(__file__).resolve().parents[3]
#: run the command with the product of another folder
_OF: Final = """
import sys
folder, home, *arguments = sys.argv[1:]
sys.path[:0] = [folder]
import spector
sys.path[0] = home
from bench.recall.protocol.command import main
sys.exit(main(arguments))
"""


def main(arguments: Sequence[str] | None = None, *, prog: str = "python -m bench.recall") -> int:
    """Exit code: 0 done, 2 wrong arguments or no data."""
    options = _parse(sys.argv[1:] if arguments is None else list(arguments), prog)
    try:
        return _run(options, list(arguments or sys.argv[1:]))
    except NoDataError as error:
        print(error, file=sys.stderr)
        return 2


def _run(options: argparse.Namespace, arguments: list[str]) -> int:
    if options.of and options.verb != "compare":
        return _of_folder(options.of, arguments)
    if options.verb == "compare":
        return _compare(options)
    if options.verb == "settle":
        return _settle(options)
    if options.verb == "report":
        return _report()
    if options.verb == "vectors":
        return _vectors(options)
    if options.verb in ("ablate", "fit", "curve"):
        from bench.recall.protocol import curve, terms

        verbs = {"ablate": terms.ablate, "fit": terms.fit, "curve": curve.curve}
        return verbs[options.verb](options, _today(options))
    return _quick(options)


def _of_folder(folder: str, arguments: list[str]) -> int:
    taken = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    taken.add_argument("--of")
    _, rest = taken.parse_known_args(arguments)
    where = str(Path(folder).resolve())
    environment = {**os.environ, "SPECTOR_BENCH_OF": where}
    command = [sys.executable, "-c", _OF, where, str(_HOME), *rest]
    return subprocess.run(command, env=environment, check=False).returncode


def _quick(options: argparse.Namespace) -> int:
    from bench.recall.protocol.judge import MEASURES
    from bench.recall.protocol.run import measure
    from bench.recall.protocol.tables import category_table, quick_table

    begin = time.perf_counter()
    tasks = [(name, way) for name in options.sets for way in options.adapters]
    run: dict[str, Any] = {
        "schema": 1,
        "mode": "protocol",
        "started": datetime.now(UTC).isoformat()[:19],
        "commit": _commit(),
        "times": options.times,
        "rows": {},
    }
    # the children load the model; a fork of a process that has threads of it may hang
    with ProcessPoolExecutor(options.jobs, multiprocessing.get_context("fork")) as pool:
        found = [pool.submit(measure, name, way, options) for name, way in tasks]
        for (name, way), each in zip(tasks, found, strict=True):
            if rows := each.result():
                run["rows"].setdefault(name, {})[way] = rows
    run["elapsed_s"] = round(time.perf_counter() - begin, 1)
    if options.out:
        Path(options.out).write_text(json.dumps(run), encoding="utf-8")
    print("\n".join(quick_table(run["rows"], _today(options))))
    print()
    print("\n".join(category_table(run["rows"], MEASURES["any10"])))
    print(f"\n{run['commit']}; {run['elapsed_s']} s; times {options.times}")
    return 0


def _compare(options: argparse.Namespace) -> int:
    from bench.recall.protocol.tables import compare_table

    this, that = (json.loads(Path(path).read_text("utf-8")) for path in options.files)
    print(
        f"{that['commit']} over {this['commit']}; in brackets the sd of a bootstrap over groups; "
        "=: under 2 sd"
    )
    for part in ("all", "develop", "report") if options.part == "each" else (options.part,):
        print(f"\n{part}")
        old, new = (
            {name: ways for name, ways in each["rows"].items() if name in options.sets}
            for each in (this, that)
        )
        print("\n".join(compare_table(old, new, _today(options), part)))
    return 0


def _settle(options: argparse.Namespace) -> int:
    from bench import results
    from bench.recall.protocol.settle import settled

    def read(path: str | None) -> dict[str, Any] | None:
        told: dict[str, Any] | None = json.loads(Path(path).read_text("utf-8")) if path else None
        return told

    run = read(options.files[0])
    assert run is not None
    told = settled(run, _today(options), *map(read, (options.base, options.terms)))
    stamp = run["started"].replace(":", "").replace("-", "")[:13]
    path = results.RESULTS / f"protocol-{stamp}.json"
    results.save(told, path)
    print(f"saved as {os.path.relpath(path)}; the page: python -m bench.recall report")
    return 0


def _report() -> int:
    from bench.recall.protocol.page import write_page
    from bench.recall.protocol.settle import newest

    write_page(newest())
    print("docs/recall.md made from the figures that were settled last")
    return 0


def _vectors(options: argparse.Namespace) -> int:
    from bench.recall.protocol.run import embed_all

    embed_all(options)
    return 0


def _commit() -> str:
    folder = os.environ.get("SPECTOR_BENCH_OF", str(_HOME))
    told = subprocess.run(
        ["git", "-C", folder, "describe", "--always", "--dirty=+"],
        capture_output=True,
        text=True,
        check=False,
    )
    return f"{Path(folder).name} {told.stdout.strip()}"


def _today(options: argparse.Namespace) -> date:
    return date.fromisoformat(options.day) if options.day else datetime.now(UTC).date()


def _parse(arguments: list[str], prog: str) -> argparse.Namespace:
    from bench.recall.protocol.run import SETS
    from bench.recall.protocol.ways import TIMES, WAYS

    parser = argparse.ArgumentParser(
        prog=prog, description="What recall brings back, by the protocol."
    )
    parser.add_argument("verb", choices=VERBS)
    parser.add_argument("files", nargs="*", metavar="FILE", help="compare: two; settle: one")
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--adapters", nargs="+", choices=WAYS, default=list(WAYS))
    parser.add_argument("--times", choices=TIMES, default="real", help="of events")
    parser.add_argument(
        "--others",
        type=int,
        default=1,
        metavar="N",
        help="stores that a question of another is put to",
    )
    parser.add_argument("--no-silence", action="store_true", help="recalls only, no contexts")
    parser.add_argument("--part", choices=("all", "develop", "report", "each"), default="each")
    parser.add_argument("--day", help="whose month decides the parts; default today")
    parser.add_argument("--of", metavar="FOLDER", help="measure the product of this folder")
    parser.add_argument("--cache", metavar="FOLDER", help="of vectors; or SPECTOR_BENCH_CACHE")
    parser.add_argument("--jobs", type=int, default=min(2, os.cpu_count() or 1))
    parser.add_argument("--base", metavar="FILE", help="settle: results to compare with")
    parser.add_argument("--terms", metavar="FILE", help="settle: what ablate saved")
    parser.add_argument(
        "--config",
        nargs="+",
        metavar="FIELD=VALUE",
        default=[],
        help="of Config; curve: each is measured by itself",
    )
    parser.add_argument("--without", nargs="+", metavar="TERM", help="ablate: these alone")
    parser.add_argument("--laps", type=int, default=2, help="fit: over all weights, at most")
    parser.add_argument("--out", metavar="FILE", help="where to save the rows")
    options = parser.parse_args(arguments)
    wanted = {"compare": 2, "settle": 1}.get(options.verb, 0)
    if len(options.files) != wanted:
        parser.error(f"{options.verb} takes {wanted} files of results")
    return options
