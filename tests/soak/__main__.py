"""``python -m tests.soak --minutes 30``: run a soak, show how it goes and what it found."""

from __future__ import annotations

import argparse
import json
import sys

from spector.kernel.contract.query import make_query
from tests.proof import seed
from tests.soak.run import READERS, soak


def _bar(share: float, what: str) -> None:
    done = min(30, int(30 * share))
    print(
        f"\r[{'#' * done}{'.' * (30 - done)}] {min(share, 1):4.0%}  {what}   ",
        end="",
        file=sys.stderr,
        flush=True,
    )


def main() -> int:
    """Exit code 1 when anything was wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--readers", type=int, default=READERS)
    parser.add_argument("--memories", type=int, default=3000, help="that the store keeps")
    parser.add_argument("--csv", metavar="FILE", help="all samples")
    parser.add_argument("--dir", help="where the store shall be")
    given = parser.parse_args()
    assert make_query.__kwdefaults__ is not None
    make_query.__kwdefaults__["index_from_rows"] = 0  # scans of this small store use its indexes
    found = soak(
        60 * given.minutes,
        seed=seed(1),
        memories=given.memories,
        readers=given.readers,
        table=given.csv,
        place=given.dir,
        progress=_bar if sys.stderr.isatty() else None,
    )
    if sys.stderr.isatty():
        print(file=sys.stderr)
    print(json.dumps(found, indent=2))
    return 1 if found["wrong"] or found["violations"] else 0


if __name__ == "__main__":
    sys.exit(main())
