"""inspect: shows the partitions or one record of a store, even when the store is damaged."""

from __future__ import annotations

import argparse
from typing import Any

from spector.cli.options import add_json, add_path, record_id
from spector.cli.output import Column, Console, clean, to_jsonable
from spector.errors import UnknownRecordError

__all__ = ["add_inspect"]


def add_inspect(commands: Any) -> None:
    parser = commands.add_parser(
        "inspect", help="show the files of a store, even a damaged one", description=_INSPECT
    )
    add_path(parser)
    parser.add_argument("id", metavar="ID", nargs="?", type=record_id, help="show this record only")
    add_json(parser)
    parser.set_defaults(run=run_inspect)


_INSPECT = """List the partitions of a store, or show one record with the fields of its header.
Reads the files directly, so it works on a damaged store as far as the files can be read.
Exit code 1: the files have problems."""


def run_inspect(args: argparse.Namespace, console: Console) -> int:
    from spector.store.repair import RawStore

    with RawStore(args.path) as store:
        if args.id is None:
            return _show_partitions(store, console)
        found = store.find(args.id)
        if found is None:
            raise UnknownRecordError(
                f"{args.path} has no record {args.id}", hint="to see ids: spector export PATH"
            )
        found["problems"] = store.problems
    console.document(found)
    if not console.as_json:
        console.pairs(found)
    return 0 if found.get("crc_ok") and not store.problems else 1


def _show_partitions(store: Any, console: Console) -> int:
    partitions = store.partitions()
    console.document(
        {"meta": store.meta, "partitions": to_jsonable(partitions), "problems": store.problems}
    )
    console.pairs(store.meta)
    console.say()
    columns = [
        Column("file"), Column("state"), Column("live", right=True), Column("dead", right=True),
        Column("capacity", right=True), Column("bytes", right=True), Column("gen", right=True),
        Column("problem", flexible=True),
    ]  # fmt: skip
    # no column for the day of an episodic partition: its name has it
    rows = [
        (p.file, p.state, p.live, p.dead, p.capacity, p.bytes, p.generation, "; ".join(p.problems))
        for p in partitions
    ]
    console.table(columns, rows)
    for problem in store.problems:
        console.say(console.style(clean(problem), "red"))
    return 1 if store.problems or any(p.problems for p in partitions) else 0
