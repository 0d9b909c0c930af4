"""inspect: shows the partitions or one record of a store, even when the store is damaged."""

from __future__ import annotations

import argparse
from typing import Any

from spector.cli.options import add_json, add_path, record_id
from spector.cli.output import Column, Console, clean, to_jsonable
from spector.errors import UnknownRecordError

__all__ = ["add_inspect"]


def add_inspect(parser: argparse.ArgumentParser) -> None:
    parser.description = _INSPECT
    add_path(parser)
    parser.add_argument("id", metavar="ID", nargs="?", type=record_id, help="show this record only")
    add_json(parser)
    parser.set_defaults(run=run_inspect)


_INSPECT = """List the partitions of a store, or show one record with the fields of its header and
what is known of it: its payload, the edges and links that it has.
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
        console.pairs({name: value for name, value in found.items() if name != "knowledge"})
        _show_knowledge(found.get("knowledge", {}), console)
    return 0 if found.get("crc_ok") and not store.problems else 1


def _show_knowledge(known: dict[str, list[dict[str, Any]]], console: Console) -> None:
    """Rows of knowledge that name a record, table by table."""
    for table, rows in known.items():
        console.say()
        console.say(console.style(table, "bold"))
        for row in rows:
            if table in ("payload", "fact", "item"):
                console.pairs(row, indent=2)
            else:
                console.say(
                    "  "
                    + "  ".join(
                        f"{name}={clean(str(value))}"
                        for name, value in row.items()
                        if value is not None
                    )
                )


def _show_partitions(store: Any, console: Console) -> int:
    partitions = store.partitions()
    console.document(
        {"meta": store.meta, "partitions": to_jsonable(partitions), "problems": store.problems}
    )
    console.pairs(store.meta)
    console.say()
    columns = [
        Column("file"),
        Column("state"),
        Column("live", right=True),
        Column("dead", right=True),
        Column("capacity", right=True),
        Column("bytes", right=True),
        Column("gen", right=True),
        Column("problem", flexible=True),
    ]
    # no column for the day of an episodic partition: its name has it
    rows = [
        (p.file, p.state, p.live, p.dead, p.capacity, p.bytes, p.generation, "; ".join(p.problems))
        for p in partitions
    ]
    console.table(columns, rows)
    for problem in store.problems:
        console.say(console.style(clean(problem), "red"))
    return 1 if store.problems or any(p.problems for p in partitions) else 0
