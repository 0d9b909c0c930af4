"""bench: runs the measurements of a source checkout."""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import sys
from pathlib import Path
from typing import Any, Final

from spector.cli.output import Console
from spector.errors import InvalidInputError

__all__ = ["add_bench"]

_ABOUT = """Measure recall on public conversations. The suites are part of a source checkout, not of
an installed package. Arguments after the name of a suite are passed on to it: see
spector bench recall --help."""

#: suite -> its module in the source tree, and what it needs beside the package
_SUITES: Final = {"recall": ("bench.recall.__main__", ("bm25s", "Stemmer"))}


def add_bench(commands: Any) -> None:
    parser = commands.add_parser(
        "bench",
        help="measure recall on public conversations (source checkout only)",
        description=_ABOUT,
    )
    parser.add_argument("suite", choices=sorted(_SUITES))
    parser.add_argument("arguments", nargs=argparse.REMAINDER, metavar="...")
    parser.set_defaults(run=run_bench, as_json=False)


def run_bench(args: argparse.Namespace, console: Console) -> int:
    """The suite's own exit code: 0 done, 2 wrong arguments or no data."""
    module, needs = _SUITES[args.suite]
    root = source_tree()
    missing = [name for name in needs if importlib.util.find_spec(name) is None]
    if missing:
        raise InvalidInputError(
            f"the suite needs libraries that are not installed: {', '.join(missing)}",
            hint=f"python -m pip install -e '{root}[test]'",
        )
    # first, because the user's own folder may have a module of this name
    sys.path.insert(0, str(root))
    suite = importlib.import_module(module)
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
