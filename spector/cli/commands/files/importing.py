"""import: stores the messages of files."""

from __future__ import annotations

import argparse
import contextlib
from typing import TYPE_CHECKING, Any, Final

from spector.cli.commands.files.reading import (
    add_reading,
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
)
from spector.cli.output import Console, clean
from spector.importers import Importing, observing
from spector.messages import counted

if TYPE_CHECKING:
    from spector.memory import Memory

__all__ = ["add_import"]

#: files that get a line of their own
_MOST_FILES: Final = 20


def add_import(parser: argparse.ArgumentParser) -> None:
    parser.description = _IMPORT
    add_path(parser)
    parser.add_argument(
        "files",
        metavar="FILE",
        nargs="+",
        type=expand_home,
        help="files, folders or zip archives to read; - is stdin",
    )
    add_reading(parser)
    parser.add_argument(
        "--dry-run", action="store_true", help="read, check and count, store nothing"
    )
    parser.add_argument(
        "--observe",
        action="store_true",
        help="keep what matters only, as the command observe does",
    )
    add_durability(parser)
    add_scopes(parser)
    add_embedder(parser)
    add_wait(parser)
    add_json(parser)
    parser.set_defaults(run=run_import)


_IMPORT = """Store the messages of chat logs (JSON lines, exports of ChatGPT, Claude, Telegram,
WhatsApp, Slack, Discord), notes (Markdown, text), tables and data sets: files, folders or zip
archives. Each file is read and checked to its end before its first message is stored, so a
malformed file stores nothing. Every message has a key: importing a file again, or a longer export
of the same chat, adds what is new, and what was forgotten stays forgotten. A file that was named
and cannot be read ends the command; one in a folder is listed, the others are stored, and the exit
code is 1. --dry-run ends with the same exit code."""


def run_import(args: argparse.Namespace, console: Console) -> int:
    refuse_working(args, observes=args.observe)
    tally = Tally() if args.observe else None
    with contextlib.ExitStack() as stack:
        importing = importing_of(args, stack)
        with probe(args) as memory:
            importing.check(memory, dry_run=args.dry_run, observes=args.observe)
        if not args.dry_run and importing.total:
            _store(args, console, importing, tally)
    refused = say_refused(importing, console)
    _say(args, console, importing, tally)
    return 1 if refused else 0


def _store(
    args: argparse.Namespace, console: Console, importing: Importing, tally: Tally | None
) -> None:
    def observe(messages: list[dict[str, Any]]) -> None:
        assert tally is not None
        tally.add(memory.observe_many(messages, scopes_from_message=True))

    with (
        open_store(args, create=True, durability=args.durability, timezone=args.timezone) as memory,
        console.progress("importing", "message") as progress,
    ):
        before = len(memory)
        try:
            importing.store(
                memory,
                progress=progress.reach,
                storing=None if tally is None else observing(memory, observe, args.source),
            )
        except BaseException as error:
            _say_how_far(memory, before, importing, error, console)
            raise


def _say_how_far(
    memory: Memory, before: int, importing: Importing, error: BaseException, console: Console
) -> None:
    """Say how much of an import that ends early is stored."""
    stored = len(memory) - before
    said = f"{stored} of {importing.total} messages are stored"
    if isinstance(error, KeyboardInterrupt):
        console.note(said)
    else:
        error.add_note(said)


def _say(
    args: argparse.Namespace, console: Console, importing: Importing, tally: Tally | None
) -> None:
    report = importing.report
    console.document(
        {
            "files": [each.to_dict() for each in report.files],
            "stored": 0 if args.dry_run else report.stored,
            "known": report.known,
            "dry_run": args.dry_run,
            "others": dict(report.others),
            **({} if tally is None else {"observed": tally.to_dict()}),
        }
    )
    verb = "would import" if args.dry_run else "imported"
    sound = [each for each in report.files if not each.error]
    sound = [each for each in sound if each.messages] or sound
    for each in sound[:_MOST_FILES]:
        messages = counted(each.stored, "message")
        known = f", {each.known:,} known already" if each.known else ""
        console.say(f"{verb} {messages} from {clean(each.file)} ({each.format}){known}")
    if len(sound) > _MOST_FILES:
        rest = sound[_MOST_FILES:]
        messages = counted(sum(each.stored for each in rest), "message")
        console.say(f"{verb} {messages} from {counted(len(rest), 'more file', 'more files')}")
    if tally is not None and not args.dry_run:
        tally.say(console)
    if not console.as_json:
        console.pairs(report.pairs(), indent=2)
