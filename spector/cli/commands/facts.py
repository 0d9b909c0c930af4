"""Commands for facts that change: history, reinstate."""

from __future__ import annotations

import argparse
from typing import Any

from spector.cli.options import add_json, add_path, add_scopes, open_memory, record_id, scopes
from spector.cli.output import Column, Console, clean
from spector.cli.shown import day

__all__ = ["add_history", "add_reinstate"]


def add_history(commands: Any) -> None:
    parser = commands.add_parser(
        "history", help="what superseded what, from one memory on", description=_HISTORY
    )
    add_path(parser)
    parser.add_argument("id", metavar="ID", type=record_id, help="any memory of the history")
    add_scopes(parser)
    add_json(parser)
    parser.set_defaults(run=run_history)


_HISTORY = """Show a memory with all that it supersedes and that supersedes it, the older before the
newer. What has been forgotten is not among them."""


def run_history(args: argparse.Namespace, console: Console) -> int:
    with open_memory(args, "r") as memory:
        records = memory.history(args.id, **scopes(args))
    console.document({"history": records})
    columns = [
        Column("id"), Column("from"), Column("until"), Column("superseded by"),
        Column("text", flexible=True),
    ]  # fmt: skip
    console.table(columns, [
        (
            record.id, day(record.valid_from or record.event_time), day(record.valid_until),
            ", ".join(map(str, record.superseded_by)) or ("forgotten" if record.superseded else ""),
            clean(record.text),
        )
        for record in records
    ])  # fmt: skip
    return 0


def add_reinstate(commands: Any) -> None:
    parser = commands.add_parser(
        "reinstate", help="let a superseded memory hold again", description=_REINSTATE
    )
    add_path(parser)
    parser.add_argument("id", metavar="ID", type=record_id, help="the older memory")
    add_scopes(parser)
    add_json(parser)
    parser.set_defaults(run=run_reinstate)


_REINSTATE = """Let a superseded memory hold again, as long as it would have, once what superseded
it has been forgotten (`spector forget`)."""


def run_reinstate(args: argparse.Namespace, console: Console) -> int:
    with open_memory(args) as memory:
        record = memory.reinstate(args.id, **scopes(args))
    console.document(record)
    until = day(record.valid_until)
    console.say(f"memory {record.id} holds" + (f" until {until}" if until else " again"))
    return 0
