"""graph: shows how memories are tied, as a table or a drawing."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from spector.cli.options import add_json, add_path, open_store, positive_int, record_id
from spector.cli.output import Column, Console, clean
from spector.messages import counted

if TYPE_CHECKING:
    from spector.memory import Memory
    from spector.records import Edge

__all__ = ["add_graph"]

#: characters of a memory that a node of a drawing shows
_LABEL = 40


def add_graph(parser: argparse.ArgumentParser) -> None:
    parser.description = _GRAPH
    add_path(parser)
    parser.add_argument("id", metavar="ID", type=record_id, help="id of a memory")
    parser.add_argument(
        "--hops", type=positive_int, default=1, metavar="N", help="edges to follow (default: 1)"
    )
    parser.add_argument(
        "--kind", action="append", default=None, metavar="NAME", help="only this kind (repeatable)"
    )
    parser.add_argument("--to", type=record_id, metavar="ID", help="show the best path to a memory")
    drawing = parser.add_mutually_exclusive_group()
    drawing.add_argument(
        "--dot",
        action="store_const",
        const="dot",
        dest="drawing",
        help="print the graph for Graphviz",
    )
    drawing.add_argument(
        "--svg", action="store_const", const="svg", dest="drawing", help="print a drawing as SVG"
    )
    add_json(parser)
    parser.set_defaults(run=run_graph)


_GRAPH = """Show the edges around a memory, or the path to another one. Exit code 1: the memory has
no edge, or there is no path."""


def run_graph(args: argparse.Namespace, console: Console) -> int:
    with open_store(args, "r") as memory:
        if args.to is not None:
            edges = memory.graph.path(args.id, args.to, hops=16, kinds=args.kind) or []
        else:
            edges = _around(memory, args)
        ids = sorted({args.id, *(end for each in edges for end in (each.source, each.target))})
        texts = {each: memory.get(each).text for each in ids}
    if args.drawing is not None:
        from spector.cli.drawing import dot, svg

        labels = {each: _label(text) for each, text in texts.items()}
        console.lines((dot if args.drawing == "dot" else svg)(labels, edges, args.id))
        return 0 if edges else 1
    console.document({"id": args.id, "edges": [each.to_dict() for each in edges]})
    if not edges:
        console.note("no path" if args.to is not None else "no edge")
        return 1
    columns = [
        Column("from"),
        Column("kind"),
        Column("to"),
        Column("weight"),
        Column("by"),
        Column("text", flexible=True),
    ]
    console.table(
        columns,
        [
            (
                each.source,
                each.kind,
                each.target,
                f"{each.weight:.2f}",
                clean(each.origin),
                clean(texts[each.source if each.target == args.id else each.target]),
            )
            for each in edges
        ],
    )
    console.say()
    console.say(f"{counted(len(ids), 'memory')}, {counted(len(edges), 'edge')}")
    return 0


def _around(memory: Memory, args: argparse.Namespace) -> list[Edge]:
    """Edges within a number of hops, each once."""
    found: dict[tuple[int, str, int], Edge] = {}
    reached = [[args.id], *memory.graph.walk(args.id, hops=args.hops, kinds=args.kind)]
    for level in reached[: args.hops]:
        for each in level:
            for edge in memory.graph.edges(each, kinds=args.kind):
                found[edge.source, edge.kind, edge.target] = edge
    return [found[key] for key in sorted(found)]


def _label(text: str) -> str:
    line = " ".join(clean(text).split())
    return line if len(line) <= _LABEL else f"{line[: _LABEL - 3]}..."
