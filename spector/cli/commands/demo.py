"""demo: shows every verb on a sample conversation, and checks each claim as it is printed."""

from __future__ import annotations

import argparse
import contextlib
import os
import tempfile
from pathlib import Path

from spector.cli.options import add_embedder, add_json, expand_home
from spector.cli.output import Console
from spector.errors import InvalidInputError

__all__ = ["add_demo"]


def add_demo(parser: argparse.ArgumentParser) -> None:
    parser.description = _DEMO
    parser.add_argument(
        "path",
        metavar="PATH",
        nargs="?",
        type=expand_home,
        help="keep the store here (must be new)",
    )
    parser.add_argument("--keep", action="store_true", help="keep the temporary store")
    add_embedder(parser)
    add_json(parser)
    parser.set_defaults(run=run_demo)


_DEMO = """Import six weeks of conversation between a developer and her agent, then recall, correct,
reinforce, forget, reflect, compact, check, close, reopen, observe, and sleep through a night. Every
line marked [ok] is a claim that was checked just now. Exit code 1: a claim failed."""


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
