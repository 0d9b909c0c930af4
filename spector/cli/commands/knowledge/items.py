"""Commands about what was learned: procedures, learnings, concepts."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from spector.cli.commands.knowledge.owner import add_owner, owner_in
from spector.cli.memory_table import day
from spector.cli.options import add_json, add_path, add_zone, open_store, positive_int
from spector.cli.output import Column, Console, clean
from spector.messages import counted

if TYPE_CHECKING:
    from spector.memory import Memory
    from spector.records import Concept, Procedure

__all__ = ["add_concepts", "add_learnings", "add_procedures"]

_STATUSES = ("draft", "active", "deprecated")


def add_procedures(parser: argparse.ArgumentParser) -> None:
    parser.description = _PROCEDURES
    add_path(parser)
    parser.add_argument("tags", metavar="TAG", nargs="*", help="a situation")
    parser.add_argument("--status", choices=_STATUSES, help="only those of this status")
    parser.add_argument("--steps", action="store_true", help="print the steps of each")
    _add_limit(parser)
    add_zone(parser)
    add_owner(parser)
    add_json(parser)
    parser.set_defaults(run=run_procedures)


_PROCEDURES = """List procedures: all, oldest first, or those for the situations that TAGs name, the
most trusted first. Exit code 1: there is none."""


def run_procedures(args: argparse.Namespace, console: Console) -> int:
    with open_store(args, "r") as memory:
        if args.tags:
            found = memory.procedures.for_situation(args.tags, limit=args.limit, **owner_in(args))
        else:
            found = memory.procedures.all(args.status, **owner_in(args))
    found = [each for each in found if args.status in (None, each.status)][: args.limit]
    console.document({"procedures": [each.to_dict() for each in found]})
    if not found:
        console.note("no procedure matches")
        return 1
    columns = [
        Column("id"),
        Column("name", flexible=True),
        Column("status"),
        Column("success", right=True),
        Column("runs", right=True),
        Column("last used"),
        Column("for", flexible=True),
    ]
    console.table(
        columns,
        [
            (
                each.id,
                clean(each.name),
                each.status,
                _share(each),
                each.executions,
                "" if each.last_used is None else day(each.last_used, console.zone),
                clean(", ".join(each.triggers)),
            )
            for each in found
        ],
    )
    if args.steps:
        for each in found:
            console.say()
            console.say(console.style(clean(each.name), "bold"))
            for n, step in enumerate(each.steps, 1):
                failed = each.failed_steps.get(step.step_id or step.description, 0)
                console.say(
                    f"  {n}. {clean(step.description)}"
                    + (f" (failed {counted(int(failed), 'time')})" if failed else "")
                )
    return 0


def _share(procedure: Procedure) -> str:
    return "" if not procedure.executions else f"{100 * procedure.success_rate:.0f} %"


def add_learnings(parser: argparse.ArgumentParser) -> None:
    from spector.records import LearningType

    parser.description = _LEARNINGS
    add_path(parser)
    parser.add_argument("tags", metavar="TAG", nargs="*", help="a situation")
    parser.add_argument(
        "--type", choices=[str(each) for each in LearningType], help="only those of this type"
    )
    _add_limit(parser)
    add_owner(parser)
    add_json(parser)
    parser.set_defaults(run=run_learnings)


_LEARNINGS = """List insights: all, oldest first, or those for the situations that TAGs name, the
surest of the greatest impact first. Exit code 1: there is none."""


def run_learnings(args: argparse.Namespace, console: Console) -> int:
    owner = owner_in(args)
    with open_store(args, "r") as memory:
        if args.tags:
            found = memory.learnings.relevant(args.tags, type=args.type, limit=args.limit, **owner)
        else:
            found = memory.learnings.all(args.type, **owner)[: args.limit]
    console.document({"learnings": [each.to_dict() for each in found]})
    if not found:
        console.note("no learning matches")
        return 1
    columns = [
        Column("id"),
        Column("insight", flexible=True),
        Column("type"),
        Column("sure", right=True),
        Column("impact", right=True),
        Column("used", right=True),
        Column("for", flexible=True),
    ]
    console.table(
        columns,
        [
            (
                each.id,
                clean(each.insight),
                str(each.type).replace("_", " "),
                f"{each.confidence:.2f}{' held' if each.validated else ''}",
                f"{each.impact:.2f}",
                each.applications,
                clean(", ".join(each.applies_to)),
            )
            for each in found
        ],
    )
    return 0


def add_concepts(parser: argparse.ArgumentParser) -> None:
    parser.description = _CONCEPTS
    add_path(parser)
    parser.add_argument("name", metavar="NAME", nargs="?", help="name of a concept")
    parser.add_argument("--category", metavar="WORD", help="only those of this category")
    _add_limit(parser)
    add_owner(parser)
    add_json(parser)
    parser.set_defaults(run=run_concepts)


_CONCEPTS = """List concepts, oldest first, with the number of memories that each refers to. With
NAME also its properties, and what is known of it in numbers. Exit code 1: there is none."""


def run_concepts(args: argparse.Namespace, console: Console) -> int:
    with open_store(args, "r") as memory:
        found = memory.concepts.find(
            name=args.name, category=args.category, limit=args.limit, **owner_in(args)
        )
        numbers = {each.id: _numbers_of(memory, each) for each in found} if args.name else {}
    console.document(
        {
            "concepts": [
                each.to_dict() | ({"statistics": numbers[each.id]} if args.name else {})
                for each in found
            ]
        }
    )
    if not found:
        console.note("no concept matches")
        return 1
    columns = [
        Column("id"),
        Column("name", flexible=True),
        Column("category"),
        Column("sure", right=True),
        Column("memories", right=True),
        Column("from"),
    ]
    console.table(
        columns,
        [
            (
                each.id,
                clean(each.name),
                clean(each.category),
                f"{each.confidence:.2f}",
                sum(map(len, each.memory_refs.values())),
                each.provenance.replace("_", " "),
            )
            for each in found
        ],
    )
    if args.name and not console.as_json:
        for each in found:
            _show_details(console, each, numbers[each.id])
    return 0


def _show_details(console: Console, concept: Concept, numbers: Sequence[dict[str, Any]]) -> None:
    details: dict[str, Any] = {}
    if concept.definition:
        details["definition"] = concept.definition
    details |= concept.properties
    details |= {each["name"]: each["text"] for each in numbers}
    if details:
        console.say()
        console.say(console.style(clean(concept.name), "bold"))
        console.pairs(details, indent=2)


def _numbers_of(memory: Memory, concept: Concept) -> list[dict[str, Any]]:
    """The statistics of a concept as they are stored."""
    return [each.to_dict() for each in memory.concepts.statistics(concept.id)]


def _add_limit(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-n",
        "--limit",
        type=positive_int,
        default=20,
        metavar="N",
        help="most to show (default: 20)",
    )
