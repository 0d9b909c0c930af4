"""bench: runs the measurements of a source checkout."""

from __future__ import annotations

import argparse
import importlib
import sys
from pathlib import Path
from typing import Final

from spector.cli.output import Console
from spector.errors import InvalidInputError

__all__ = ["add_bench"]

_ABOUT = """Measure recall on public conversations. The suites are part of a source checkout, not of
an installed package. Arguments after the name of a suite are passed on to it: see
spector bench recall --help."""

#: suite -> its module in the source tree
_SUITES: Final = {"recall": "bench.recall.__main__"}


def add_bench(parser: argparse.ArgumentParser) -> None:
    parser.description = _ABOUT
    parser.add_argument("suite", choices=sorted(_SUITES))
    parser.add_argument("arguments", nargs=argparse.REMAINDER, metavar="...")
    parser.set_defaults(run=run_bench, as_json=False)


def run_bench(args: argparse.Namespace, console: Console) -> int:
    """The suite's own exit code: 0 done, 2 wrong arguments or no data."""
    root = source_tree()
    # first, because the user's own folder may have a module of this name
    sys.path.insert(0, str(root))
    suite = importlib.import_module(_SUITES[args.suite])
    code: int = suite.main(args.arguments, prog=f"spector bench {args.suite}")
    return code


def source_tree() -> Path:
    """The folder that holds ``spector/`` and ``bench/``.

    Raises:
        InvalidInputError: spector runs from an installed package.
    """
    root = Path(__file__).resolve().parents[3]
    if not (root / "bench" / "recall" / "__main__.py").is_file():
        raise InvalidInputError(
            "the suites are not part of an installed package",
            hint="in a source checkout run: python -m pip install -e '.[test]', then try again",
        )
    return root
