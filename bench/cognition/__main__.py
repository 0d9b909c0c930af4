"""``python -m bench.cognition``: entities, triples and changed facts; writes docs/cognition.md.

python -m bench.cognition                  every row, and the page
python -m bench.cognition --rows 5 10      these rows, printed only

The sets lie in ``$SPECTOR_DATA`` or ../shared/data and are not part of this repository. No judge
and no model beyond the offline embedder takes part.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence

from bench.cognition.rows import ROWS, Score
from bench.cognition.statements import data
from bench.machine import REPO

PAGE = REPO / "docs" / "cognition.md"
_HEAD = """# Cognition, measured

`make bench-cognition` computes this page from public development sets, with no judge and no model
beyond the offline embedder. Floors were measured with other methods before the work began, on parts
of the sets that are not used here, and goals were set for those parts: compare with care. Rows that
miss their goal stay.

| row | what is counted | here | floor | goal | reached |
|---|---|---|---|---|---|
"""


def page_of(scores: Sequence[Score]) -> str:
    """The page of these scores."""
    lines = [
        f"| {each.row} | {each.what} | {each.found} | {each.floor} | {each.goal}"
        f" | {'yes' if each.reached else 'no'} |"
        for each in scores
    ]
    missed = sum(not each.reached for each in scores)
    total = len(scores)
    return f"{_HEAD}{chr(10).join(lines)}\n\nGoals missed: {missed} of {total}.\n"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.cognition")
    parser.add_argument("--rows", nargs="*", type=int, choices=sorted(ROWS), help="all by default")
    options = parser.parse_args(arguments)
    if not (data() / "cognition").is_dir():
        print(f"no data at {data()}; set SPECTOR_DATA to the folder of the sets", file=sys.stderr)
        return 1
    scores: list[Score] = []
    for row in options.rows or sorted(ROWS):
        began = time.perf_counter()
        for each in ROWS[row]():
            print(f"{each.row:3} {each.what}: {each.found} (floor {each.floor}, goal {each.goal})")
            scores.append(each)
        print(f"    {time.perf_counter() - began:.0f} s", flush=True)
    if not options.rows:
        PAGE.write_text(page_of(scores), encoding="utf-8")
        print(PAGE.relative_to(REPO))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
