"""Commands that show what a store knows: facts, names, ties, and what was learned."""

from __future__ import annotations

import argparse
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final
from xml.sax.saxutils import escape

from spector.cli.memory_table import day, show_memories
from spector.cli.options import Arguments, open_store, scopes
from spector.cli.output import Console, clean
from spector.errors import InvalidInputError
from spector.messages import counted

if TYPE_CHECKING:
    from spector.memory import Memory
    from spector.records import Concept, Edge


FACTS: Final = Arguments(
    """List facts as subject, predicate and object: all that hold, or those
    with NAME as their subject or object. Exit code 1: there is none.""",
    """
    @path
    NAME?  a subject or object
    --predicate WORD  facts with this predicate
    --as-of TIME  facts that held then, ISO 8601
    --hops N:count  also facts about what these facts name, N steps far
    @zone
    @owner
    """,
)


def run_facts(args: argparse.Namespace, console: Console) -> int:
    owner = scopes(args)
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
    return console.listing(
        "facts",
        found,
        "no fact matches",
        "id | subject | predicate | object~ | sure | sources | verified",
        lambda each: (
            each.id,
            clean(each.subject),
            clean(each.predicate),
            clean(each.object),
            f"{each.confidence:.2f}",
            len(each.sources),
            day(each.last_verified, console.zone),
        ),
    )


ENTITIES: Final = Arguments(
    """List persons, organisations, places and things by the number of memories
    that mention them: all, or those that NAME leads to. With --memories, the memories that mention
    NAME, the most useful first. Exit code 1: there is none.""",
    """
    @path
    NAME?  a name, or the start of a word
    --memories  show the memories that mention NAME
    -n/--limit N:count=20  most entities, or memories, to show (default: 20)
    @zone
    @owner
    """,
)


def run_entities(args: argparse.Namespace, console: Console) -> int:
    if args.memories and not args.name:
        raise InvalidInputError("--memories needs a NAME", hint="name the entity")
    with open_store(args, "r") as memory:
        if args.memories:
            records = memory.entities.profile(args.name, limit=args.limit, **scopes(args))
            console.document({"memories": records})
            if not records:
                console.note("no memory mentions it")
            elif not console.as_json:
                show_memories(console, records, users=args.user_id is None)
            return 0 if records else 1
        if args.name:
            found = memory.entities.find(args.name, limit=args.limit, **scopes(args))
        else:
            found = memory.entities.all(limit=args.limit, **scopes(args))
    return console.listing(
        "entities",
        found,
        "no entity is known",
        "name~ | type | >memories | last seen | also called~ | user",
        lambda each: (
            clean(each.name),
            clean(each.type),
            each.mentions,
            day(each.last_seen, console.zone),
            clean(", ".join(each.aliases)),
            clean(each.user_id or ""),
        ),
    )


# graph: shows how memories are tied, as a table or a drawing.

#: characters of a memory that a node of a drawing shows
_LABEL = 40


GRAPH: Final = Arguments(
    """Show the edges around a memory, or the path to another one. Exit code 1:
    the memory has no edge, or there is no path.""",
    """
    @path
    ID:id  id of a memory
    --hops N:count=1  edges to follow (default: 1)
    --kind NAME*  only this kind (repeatable)
    --to ID:id  show the best path to a memory
    (one of)
    --dot >drawing=dot  print the graph for Graphviz
    --svg >drawing=svg  print a drawing as SVG
    """,
)


def run_graph(args: argparse.Namespace, console: Console) -> int:
    with open_store(args, "r") as memory:
        if args.to is not None:
            edges = memory.graph.path(args.id, args.to, hops=16, kinds=args.kind or None) or []
        else:
            edges = _around(memory, args)
        ids = sorted({args.id, *(end for each in edges for end in (each.source, each.target))})
        texts = {each: memory.get(each).text for each in ids}
    if args.drawing is not None:
        labels = {each: _label(text) for each, text in texts.items()}
        console.lines((dot if args.drawing == "dot" else svg)(labels, edges, args.id))
        return 0 if edges else 1
    code = console.listing(
        "edges",
        edges,
        "no path" if args.to is not None else "no edge",
        "from | kind | to | weight | by | text~",
        lambda each: (
            each.source,
            each.kind,
            each.target,
            f"{each.weight:.2f}",
            clean(each.origin),
            clean(texts[each.source if each.target == args.id else each.target]),
        ),
        document={"id": args.id, "edges": edges},
    )
    if edges:
        console.say(f"\n{counted(len(ids), 'memory')}, {counted(len(edges), 'edge')}")
    return code


def _around(memory: Memory, args: argparse.Namespace) -> list[Edge]:
    """Edges within a number of hops, each once."""
    found: dict[tuple[int, str, int], Edge] = {}
    reached = [[args.id], *memory.graph.walk(args.id, hops=args.hops, kinds=args.kind or None)]
    for level in reached[: args.hops]:
        for each in level:
            for edge in memory.graph.edges(each, kinds=args.kind or None):
                found[edge.source, edge.kind, edge.target] = edge
    return [found[key] for key in sorted(found)]


def _label(text: str) -> str:
    line = " ".join(clean(text).split())
    return line if len(line) <= _LABEL else f"{line[: _LABEL - 3]}..."


# Commands about what was learned: procedures, learnings, concepts.


PROCEDURES: Final = Arguments(
    """List procedures: all, oldest first, or those for the situations that
    TAGs name, the most trusted first. Exit code 1: there is none.""",
    """
    @path
    tags TAG*  a situation
    --status draft|active|deprecated  only those of this status
    --steps  print the steps of each
    @most
    @zone
    @owner
    """,
)


def run_procedures(args: argparse.Namespace, console: Console) -> int:
    with open_store(args, "r") as memory:
        if args.tags:
            found = memory.procedures.for_situation(args.tags, limit=args.limit, **scopes(args))
        else:
            found = memory.procedures.all(args.status, **scopes(args))
    found = [each for each in found if args.status in (None, each.status)][: args.limit]
    code = console.listing(
        "procedures",
        found,
        "no procedure matches",
        "id | name~ | status | >success | >runs | last used | for~",
        lambda each: (
            each.id,
            clean(each.name),
            each.status,
            f"{100 * each.success_rate:.0f} %" if each.executions else "",
            each.executions,
            day(each.last_used, console.zone),
            clean(", ".join(each.triggers)),
        ),
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
    return code


def _learning_types() -> dict[str, list[str]]:
    from spector.records import LearningType

    return {"type": [str(each) for each in LearningType]}


LEARNINGS: Final = Arguments(
    """List insights: all, oldest first, or those for the situations that TAGs
    name, the surest of the greatest impact first. Exit code 1: there is none.""",
    """
    @path
    tags TAG*  a situation
    --type :type  only those of this type
    @most
    @owner
    """,
    kinds=_learning_types,
)


def run_learnings(args: argparse.Namespace, console: Console) -> int:
    owner = scopes(args)
    with open_store(args, "r") as memory:
        if args.tags:
            found = memory.learnings.relevant(args.tags, type=args.type, limit=args.limit, **owner)
        else:
            found = memory.learnings.all(args.type, **owner)[: args.limit]
    return console.listing(
        "learnings",
        found,
        "no learning matches",
        "id | insight~ | type | >sure | >impact | >used | for~",
        lambda each: (
            each.id,
            clean(each.insight),
            str(each.type).replace("_", " "),
            f"{each.confidence:.2f}{' held' if each.validated else ''}",
            f"{each.impact:.2f}",
            each.applications,
            clean(", ".join(each.applies_to)),
        ),
    )


CONCEPTS: Final = Arguments(
    """List concepts, oldest first, with the number of memories that each
    refers to. With NAME also its properties, and what is known of it in numbers. Exit code 1: there
    is none.""",
    """
    @path
    NAME?  name of a concept
    --category WORD  only those of this category
    @most
    @owner
    """,
)


def run_concepts(args: argparse.Namespace, console: Console) -> int:
    with open_store(args, "r") as memory:
        found = memory.concepts.find(
            name=args.name, category=args.category, limit=args.limit, **scopes(args)
        )
        numbers = {
            each.id: [number.to_dict() for number in memory.concepts.statistics(each.id)]
            for each in (found if args.name else ())
        }
    code = console.listing(
        "concepts",
        found,
        "no concept matches",
        "id | name~ | category | >sure | >memories | from",
        lambda each: (
            each.id,
            clean(each.name),
            clean(each.category),
            f"{each.confidence:.2f}",
            sum(map(len, each.memory_refs.values())),
            each.provenance.replace("_", " "),
        ),
        document={
            "concepts": [
                each.to_dict() | ({"statistics": numbers[each.id]} if args.name else {})
                for each in found
            ]
        },
    )
    if args.name and not console.as_json:
        for each in found:
            _show_details(console, each, numbers[each.id])
    return code


def _show_details(console: Console, concept: Concept, numbers: Sequence[dict[str, Any]]) -> None:
    details: dict[str, Any] = {"definition": concept.definition} if concept.definition else {}
    details |= concept.properties
    details |= {each["name"]: each["text"] for each in numbers}
    if details:
        console.say()
        console.say(console.style(clean(concept.name), "bold"))
        console.pairs(details, indent=2)


# Drawings of a small graph: text for Graphviz, and an SVG that needs no other program.

_WIDTH: Final = 960
_HEIGHT: Final = 640
_BOX: Final = (230, 40)


def dot(labels: Mapping[int, str], edges: Sequence[Edge], centre: int) -> str:
    """The graph in Graphviz's language."""
    lines = ["digraph memory {", '  node [shape=box, fontname="sans-serif"];']
    for node, label in labels.items():
        style = ", style=bold" if node == centre else ""
        lines.append(f'  {node} [label="{_quoted(label)}"{style}];')
    lines += [
        f'  {each.source} -> {each.target} [label="{_quoted(each.kind)} {each.weight:.2f}"];'
        for each in edges
    ]
    return "\n".join([*lines, "}"])


def svg(labels: Mapping[int, str], edges: Sequence[Edge], centre: int) -> str:
    """The graph as SVG: the memory in the middle, the others on an ellipse around it."""
    places = _places(list(labels), centre)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}"'
        ' font-family="sans-serif" font-size="12">',
        '<rect width="100%" height="100%" fill="white"/>',
    ]
    for each in edges:
        (x1, y1), (x2, y2) = places[each.source], places[each.target]
        # the kind stands nearer to the target, so that the direction can be read
        x, y = x1 + 0.55 * (x2 - x1), y1 + 0.55 * (y2 - y1)
        lines += [
            f'<line x1="{x1:.0f}" y1="{y1:.0f}" x2="{x2:.0f}" y2="{y2:.0f}" stroke="#888"'
            f' stroke-width="{0.5 + 2 * each.weight:.1f}"/>',
            f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="middle" fill="#555">'
            f"{escape(each.kind)} {each.weight:.2f} →</text>",
        ]
    wide, high = _BOX
    for node, (x, y) in places.items():
        fill = "#e8f0fe" if node == centre else "#f7f7f7"
        lines += [
            f'<rect x="{x - wide / 2:.0f}" y="{y - high / 2:.0f}" width="{wide}" height="{high}"'
            f' rx="6" fill="{fill}" stroke="#555"/>',
            f'<text x="{x:.0f}" y="{y - 3:.0f}" text-anchor="middle">{escape(labels[node])}</text>',
            f'<text x="{x:.0f}" y="{y + 13:.0f}" text-anchor="middle" fill="#888">{node}</text>',
        ]
    return "\n".join([*lines, "</svg>"])


def _places(nodes: Sequence[int], centre: int) -> dict[int, tuple[float, float]]:
    x, y = _WIDTH / 2, _HEIGHT / 2
    others = [each for each in nodes if each != centre]
    places = {centre: (x, y)}
    for n, node in enumerate(others):
        angle = 2 * math.pi * n / max(1, len(others)) - math.pi / 2
        wide, high = x - _BOX[0] / 2 - 10, y - _BOX[1] - 10
        places[node] = (x + wide * math.cos(angle), y + high * math.sin(angle))
    return places


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')
