"""Commands about statements and names: facts, entities."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from spector.cli.commands.knowledge.owner import add_owner, owner_in
from spector.cli.memory_table import day, show_memories
from spector.cli.options import add_json, add_path, add_zone, open_store, positive_int
from spector.cli.output import Column, Console, clean
from spector.errors import InvalidInputError

__all__ = ["add_entities", "add_facts"]


def add_facts(parser: argparse.ArgumentParser) -> None:
    parser.description = _FACTS
    add_path(parser)
    parser.add_argument("name", metavar="NAME", nargs="?", help="a subject or object")
    parser.add_argument("--predicate", metavar="WORD", help="facts with this predicate")
    parser.add_argument("--as-of", metavar="TIME", help="facts that held then, ISO 8601")
    parser.add_argument(
        "--hops",
        type=positive_int,
        default=None,
        metavar="N",
        help="also facts about what these facts name, N steps far",
    )
    add_zone(parser)
    add_owner(parser)
    add_json(parser)
    parser.set_defaults(run=run_facts)


_FACTS = """List facts as subject, predicate and object: all that hold, or those with NAME as their
subject or object. Exit code 1: there is none."""


def run_facts(args: argparse.Namespace, console: Console) -> int:
    owner = owner_in(args)
    with open_store(args, "r") as memory:
        if args.hops is not None and args.name:
            ids = [
                each.fact_id for each in memory.facts.traverse(args.name, hops=args.hops, **owner)
            ]
            found = [memory.facts.get(each) for each in ids]
        elif args.name and args.as_of is None and args.predicate is None:
            found = memory.facts.about(args.name, **owner)
        else:
            by_id = {
                each.id: each
                for end in (("subject", "object") if args.name else ("subject",))
                for each in memory.facts.query(
                    predicate=args.predicate, as_of=args.as_of, **{end: args.name}, **owner
                )
            }
            found = [by_id[each] for each in sorted(by_id)]
    console.document({"facts": [each.to_dict() for each in found]})
    if not found:
        console.note("no fact matches")
        return 1
    columns = [
        Column("id"),
        Column("subject"),
        Column("predicate"),
        Column("object", flexible=True),
        Column("sure"),
        Column("sources"),
        Column("verified"),
    ]
    console.table(
        columns,
        [
            (
                each.id,
                clean(each.subject),
                clean(each.predicate),
                clean(each.object),
                f"{each.confidence:.2f}",
                len(each.sources),
                day(each.last_verified, console.zone),
            )
            for each in found
        ],
    )
    return 0


def add_entities(parser: argparse.ArgumentParser) -> None:
    parser.description = _ENTITIES
    add_path(parser)
    parser.add_argument("name", metavar="NAME", nargs="?", help="a name, or the start of a word")
    parser.add_argument(
        "--memories", action="store_true", help="show the memories that mention NAME"
    )
    parser.add_argument(
        "-n",
        "--limit",
        type=positive_int,
        default=20,
        metavar="N",
        help="most entities, or memories, to show (default: 20)",
    )
    add_zone(parser)
    add_owner(parser)
    add_json(parser)
    parser.set_defaults(run=run_entities)


_ENTITIES = """List persons, organisations, places and things by the number of memories that
mention them: all, or those that NAME leads to. With --memories, the memories that mention NAME, the
most useful first. Exit code 1: there is none."""


def run_entities(args: argparse.Namespace, console: Console) -> int:
    if args.memories and not args.name:
        raise InvalidInputError("--memories needs a NAME", hint="name the entity")
    with open_store(args, "r") as memory:
        if args.memories:
            records = memory.entities.profile(args.name, limit=args.limit, **owner_in(args))
            console.document({"memories": records})
            if records and not console.as_json:
                show_memories(console, records, users=args.user_id is None)
            return _answer(console, records, "no memory mentions it")
        if args.name:
            found = memory.entities.find(args.name, limit=args.limit, **owner_in(args))
        else:
            found = memory.entities.all(limit=args.limit, **owner_in(args))
    console.document({"entities": [each.to_dict() for each in found]})
    if not found:
        return _answer(console, found, "no entity is known")
    columns = [
        Column("name", flexible=True),
        Column("type"),
        Column("memories", right=True),
        Column("last seen"),
        Column("also called", flexible=True),
        Column("user"),
    ]
    console.table(
        columns,
        [
            (
                clean(each.name),
                clean(each.type),
                each.mentions,
                "" if each.last_seen is None else day(each.last_seen, console.zone),
                clean(", ".join(each.aliases)),
                clean(each.user_id or ""),
            )
            for each in found
        ],
    )
    return 0


def _answer(console: Console, found: Sequence[object], otherwise: str) -> int:
    """Exit code 0 when something was found; otherwise say so."""
    if found:
        return 0
    console.note(otherwise)
    return 1
