"""Files of messages as commands read them: their options, and the import that these describe."""

from __future__ import annotations

import argparse
import contextlib
import os
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spector.cli.options import chosen_embedder, open_store, positive_int
from spector.cli.output import Console
from spector.cli.streams import input_blocks
from spector.errors import InvalidInputError
from spector.importers import FORMATS, NOT_KEPT, Importing, ImportOptions

if TYPE_CHECKING:
    from spector.memory import Memory

__all__ = ["add_reading", "changed", "importing_of", "probe", "refuse_working", "say_refused"]

#: refused files and entries that are listed
_MOST_LISTED = 100


def add_reading(parser: argparse.ArgumentParser) -> None:
    """The options of commands that read files of messages."""
    parser.add_argument("--format", choices=FORMATS, default="auto", help="default: by content")
    parser.add_argument("-t", "--tag", action="append", default=[], help="add this tag to all")
    parser.add_argument("--tier", help="store everything in this tier")
    parser.add_argument("--source", help="set the source of every message")
    parser.add_argument("--me", metavar="NAME", help="who of several people the user is")
    parser.add_argument("--event-time", metavar="TIME", help="time of entries that have none")
    parser.add_argument(
        "--tz",
        metavar="ZONE",
        dest="timezone",
        help="zone of times without one: Europe/Istanbul, +03:00",
    )
    parser.add_argument(
        "--assume-utc", action="store_true", help="read times without a zone as UTC"
    )
    parser.add_argument(
        "--skip-bad",
        action="store_true",
        help="list files and entries that cannot be read, and store the rest",
    )
    parser.add_argument(
        "--limit", type=positive_int, metavar="N", help="store at most N messages per file"
    )
    parser.add_argument(
        "--scopes-from-message",
        action="store_true",
        help="store each message for the user and agent that the file names",
    )


def refuse_working(args: argparse.Namespace, *, observes: bool = False) -> None:
    """Refuse the tier that ends with the command, and any where observing decides.

    Raises:
        InvalidInputError: it was asked for.
    """
    if args.tier in NOT_KEPT:
        raise InvalidInputError(
            "the working tier is kept in memory only, so it would be gone when this command ends",
            hint="choose episodic, semantic or procedural",
        )
    if observes and args.tier is not None:
        raise InvalidInputError(
            "observing decides itself in which tier it keeps what", hint="leave --tier out"
        )


def importing_of(args: argparse.Namespace, stack: contextlib.ExitStack) -> Importing:
    """The import that the arguments describe; standard input is copied, as it is read twice."""
    named = [(name, _readable(name, stack)) for name in args.files]
    return Importing(
        named,
        ImportOptions(
            format=args.format,
            timezone=args.timezone,
            assume_utc=args.assume_utc,
            skip_bad=args.skip_bad,
            limit=args.limit,
            change=partial(changed, args),
            me=args.me,
            user_id=args.user_id,
            agent_id=args.agent_id,
            session_id=args.session_id,
            scopes_from_message=args.scopes_from_message,
        ),
    )


def changed(args: argparse.Namespace, message: dict[str, Any]) -> dict[str, Any]:
    """A message with the fields that the arguments set for all messages."""
    if args.tag:
        message["tags"] = [*(message.get("tags") or ()), *args.tag]
    if args.event_time and not message.get("event_time"):
        message["event_time"] = args.event_time
    for name in ("tier", "source"):
        if getattr(args, name):
            message[name] = getattr(args, name)
    return message


def _readable(name: str, stack: contextlib.ExitStack) -> Path:
    if name != "-":
        return Path(name)
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="spector-")))
    path = folder / "stdin"
    with open(path, "wb") as kept:
        for block in input_blocks():
            kept.write(block)
    return path


@contextlib.contextmanager
def probe(args: argparse.Namespace) -> Iterator[Memory]:
    """A memory that checks messages as the store will: the store, or an empty one of its kind."""
    import spector

    if os.path.exists(os.path.join(args.path, "catalog.db")):
        opened = open_store(args, "r", timezone=args.timezone)
    else:
        opened = spector.open(":memory:", embedder=chosen_embedder(args), timezone=args.timezone)
    with opened as memory:
        yield memory


def say_refused(importing: Importing, console: Console) -> int:
    """Say on stderr which files and entries were refused, and why; returns how many."""
    said: list[str] = []
    for report in importing.report.files:
        if report.error:
            said.append(
                f"not imported: {report.error}" + (f" ({report.hint})" if report.hint else "")
            )
        said += [f"skipped: {each}" for each in report.bad]
        said += [f"note: {each}" for each in report.notes]
    for line in said[:_MOST_LISTED]:
        console.note(line)
    if len(said) > _MOST_LISTED:
        console.note(f"and {len(said) - _MOST_LISTED:,} more, which --json lists")
    return sum(bool(report.error) for report in importing.report.files)
