"""``python -m bench.cognition``: entities, pronouns, dates and changed facts; writes docs/cognition.md.

python -m bench.cognition                  every row, and the page
python -m bench.cognition --rows 5 10      these rows, printed only
python -m bench.cognition --rows 8 --keep  these rows, in place of those of the page

The sets lie in ``$SPECTOR_DATA`` or ../shared/data and are not part of this repository. No judge
and no model beyond the offline embedder takes part.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Collection, Sequence

from bench.cognition.nights import curve_section
from bench.cognition.rows import ROWS
from bench.cognition.score import Score
from bench.data import data_root
from bench.machine import REPO

PAGE = REPO / "docs" / "cognition.md"
#: a row below its goal of which the run fails: observing takes nothing away
PROMISE = 25
_HEAD = """# Cognition, measured

`make bench-cognition` computes this page from public development sets, with no judge and no model
beyond the offline embedder. Floors were measured with other methods before the work began, on parts
of the sets that are not used here, and goals were set for those parts: compare with care. Rows that
miss their goal stay.

| row | what is counted | here | floor | goal | reached |
|---|---|---|---|---|---|
"""


def page_of(scores: Sequence[Score], *, kept: Sequence[str] = ()) -> str:
    """The page of these scores, and of lines of a page that are kept."""
    lines = [
        f"| {each.row} | {each.what} | {each.found} | {each.floor} | {each.goal}"
        f" | {'-' if each.goal == '-' else 'yes' if each.reached else 'no'} |"
        for each in scores
    ]
    if kept:
        lines = sorted((*kept, *lines), key=_row_of)
    missed = sum(each.endswith("| no |") for each in lines)
    total = len(lines)
    table = "\n".join(lines)
    return f"{_HEAD}{table}\n\n{curve_section()}Goals missed: {missed} of {total}.\n"


def lines_of(page: str, *, without: Collection[int]) -> list[str]:
    """The lines of a page's table, without those of some rows."""
    return [
        line
        for line in page.splitlines()
        if line.startswith("| ") and _row_of(line) > 0 and _row_of(line) not in without
    ]


def renewed(page: str, rows: Collection[int], scores: Sequence[Score]) -> str:
    """A page with these scores in place of what it says of those rows and of theirs.

    What computes one row may score another one as well.
    """
    return page_of(scores, kept=lines_of(page, without={*rows, *(each.row for each in scores)}))


def _row_of(line: str) -> int:
    first = line.split("|")[1].strip()
    return int(first) if first.isdecimal() else 0


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.cognition")
    parser.add_argument("--rows", nargs="*", type=int, choices=sorted(ROWS), help="all by default")
    parser.add_argument("--keep", action="store_true", help="keep the other rows of the page")
    options = parser.parse_args(arguments)
    if not (data_root() / "cognition").is_dir():
        print(
            f"no data at {data_root()}; set SPECTOR_DATA to the folder of the sets", file=sys.stderr
        )
        return 1
    scores: list[Score] = []
    for row in options.rows or sorted(ROWS):
        began = time.perf_counter()
        for each in ROWS[row]():
            print(f"{each.row:3} {each.what}: {each.found} (floor {each.floor}, goal {each.goal})")
            scores.append(each)
        print(f"    {time.perf_counter() - began:.0f} s", flush=True)
    if options.rows and options.keep:
        PAGE.write_text(renewed(PAGE.read_text(encoding="utf-8"), options.rows, scores), "utf-8")
    if not options.rows:
        PAGE.write_text(page_of(scores), encoding="utf-8")
        print(PAGE.relative_to(REPO))
    broken = [each for each in scores if each.row == PROMISE and not each.reached]
    for each in broken:
        print(f"row {each.row} is a promise, and fails: {each.found}", file=sys.stderr)
    return int(bool(broken))


if __name__ == "__main__":
    raise SystemExit(main())
