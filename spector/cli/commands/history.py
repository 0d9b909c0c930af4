"""Commands about superseded memories: history, reinstate."""

from __future__ import annotations

import argparse

from spector.cli.memory_table import day
from spector.cli.options import (
    add_json,
    add_path,
    add_scopes,
    add_wait,
    add_zone,
    open_store,
    record_id,
    scopes,
)
from spector.cli.output import Column, Console, clean

__all__ = ["add_history", "add_reinstate"]


def add_history(parser: argparse.ArgumentParser) -> None:
    parser.description = _HISTORY
    add_path(parser)
    parser.add_argument("id", metavar="ID", type=record_id, help="any version of the memory")
    add_zone(parser)
    add_scopes(parser)
    add_json(parser)
    parser.set_defaults(run=run_history)


_HISTORY = """Show a memory with all memories that it supersedes and all that supersede it, oldest
first. Forgotten memories are not shown."""


def run_history(args: argparse.Namespace, console: Console) -> int:
    with open_store(args, "r") as memory:
        records = memory.history(args.id, **scopes(args))
    console.document({"history": records})
    columns = [
        Column("id"),
        Column("from"),
        Column("until"),
        Column("superseded by"),
        Column("text", flexible=True),
    ]
    console.table(
        columns,
        [
            (
                record.id,
                day(record.valid_from or record.event_time, console.zone),
                day(record.valid_until, console.zone),
                ", ".join(map(str, record.superseded_by))
                or ("forgotten" if record.superseded else ""),
                clean(record.text),
            )
            for record in records
        ],
    )
    return 0


def add_reinstate(parser: argparse.ArgumentParser) -> None:
    parser.description = _REINSTATE
    add_path(parser)
    parser.add_argument("id", metavar="ID", type=record_id, help="id of the superseded memory")
    parser.add_argument(
        "--keep",
        action="store_true",
        help="the newer memory stays valid too; the two are shown as contradicting each other",
    )
    add_scopes(parser)
    add_wait(parser)
    add_json(parser)
    parser.set_defaults(run=run_reinstate)


_REINSTATE = """Make a superseded memory current again, with its own end of validity. The memory
that superseded it must be forgotten first (`spector forget`), or stays beside it with --keep."""


def run_reinstate(args: argparse.Namespace, console: Console) -> int:
    with open_store(args) as memory:
        record = memory.reinstate(args.id, keep=args.keep, **scopes(args))
    console.document(record)
    until = day(record.valid_until)
    console.say(f"memory {record.id} is current again" + (f", until {until}" if until else ""))
    return 0
