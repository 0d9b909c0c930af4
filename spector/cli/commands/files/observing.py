"""observe: takes in messages, and keeps what matters."""

from __future__ import annotations

import argparse
import contextlib
import os
import re
from typing import TYPE_CHECKING, Any, Final

from spector.cli.commands.files.reading import (
    add_reading,
    changed,
    importing_of,
    probe,
    refuse_working,
    say_refused,
)
from spector.cli.commands.files.tally import Tally
from spector.cli.options import (
    add_durability,
    add_embedder,
    add_json,
    add_path,
    add_scopes,
    add_wait,
    expand_home,
    open_store,
    scopes,
)
from spector.cli.output import Console, clean
from spector.errors import InvalidInputError
from spector.importers import observable

if TYPE_CHECKING:
    from spector.memory import Memory

__all__ = ["add_observe"]

#: beginnings and ends of what names a file
_PATH: Final = re.compile(r"^[./~]|\.\w{1,8}$")
#: characters of a message that an explanation shows
_SHOWN = 100


def add_observe(parser: argparse.ArgumentParser) -> None:
    parser.description = _OBSERVE
    add_path(parser)
    parser.add_argument(
        "files",
        metavar="FILE",
        nargs="+",
        type=expand_home,
        help='files or folders to read, or a text in quotes ("I live in Bath."); - is stdin',
    )
    add_reading(parser)
    parser.add_argument(
        "--timezone", metavar="ZONE", dest="timezone", help="where it was said; the same as --tz"
    )
    parser.add_argument("--explain", action="store_true", help="say what each stage decided")
    parser.add_argument("--dry-run", action="store_true", help="decide, and store nothing")
    add_durability(parser)
    add_scopes(parser)
    add_embedder(parser)
    add_wait(parser)
    add_json(parser)
    parser.set_defaults(run=run_observe)


_OBSERVE = """Take in the messages of chat logs, notes or standard input, or a text, in order. Small
talk, questions and attacks are left out; what is new is stored with its facts and relations, what
has changed replaces what was so before, what is repeated strengthens what is known."""


def run_observe(args: argparse.Namespace, console: Console) -> int:
    refuse_working(args, observes=True)
    tally = Tally()
    if said := [each for each in args.files if _is_text(each)]:
        return _run_said(args, console, said, tally)
    with contextlib.ExitStack() as stack:
        importing = importing_of(args, stack)
        with probe(args) as memory:
            importing.check(memory)
        refused = say_refused(importing, console)
        with (
            open_store(
                args, create=True, durability=args.durability, timezone=args.timezone
            ) as memory,
            console.progress("observing", "message") as progress,
        ):
            importing.store(
                memory,
                progress=progress.reach,
                storing=lambda messages: _observe(args, console, memory, messages, tally),
            )
    console.document(
        {
            "command": "observe",
            "dry_run": args.dry_run,
            "files": [
                {"file": each.file, "messages": each.messages}
                for each in importing.report.files
                if not each.error
            ],
            **tally.to_dict(),
        }
    )
    tally.say(console, dry_run=args.dry_run)
    return 1 if refused else 0


def _is_text(name: str) -> bool:
    """Whether an argument is a text: words that name no file, and look like no name of one."""
    return " " in name.strip() and not os.path.lexists(name) and _PATH.search(name) is None


def _run_said(args: argparse.Namespace, console: Console, said: list[str], tally: Tally) -> int:
    """Observe texts of the command line as a user's messages."""
    if len(said) < len(args.files):
        raise InvalidInputError(
            f"{said[0]!r:.60} is a text, and other arguments are files",
            hint="observe the files with a command of their own",
        )
    messages = [changed(args, {"role": "user", "text": each, **scopes(args)}) for each in said]
    with open_store(
        args, create=True, durability=args.durability, timezone=args.timezone
    ) as memory:
        _observe(args, console, memory, messages, tally)
    console.document(
        {
            "command": "observe",
            "dry_run": args.dry_run,
            "files": [],
            **tally.to_dict(),
        }
    )
    tally.say(console, dry_run=args.dry_run)
    return 0


def _observe(
    args: argparse.Namespace,
    console: Console,
    memory: Memory,
    messages: list[dict[str, Any]],
    tally: Tally,
) -> list[str]:
    messages = [observable(each, args.source) for each in messages]
    results = memory.observe_many(
        messages, timezone=args.timezone, dry_run=args.dry_run, scopes_from_message=True
    )
    tally.add(results)
    if args.explain:
        for message, result in zip(messages, results, strict=True):
            console.say(f"> {clean(str(message.get('text'))[:_SHOWN])}\n{result}")
    return ["new"] * len(results)
