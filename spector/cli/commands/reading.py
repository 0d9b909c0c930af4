"""Commands that only look: recall, context, export, stats."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Mapping
from typing import Any

from spector.cli.options import (
    add_embedder,
    add_json,
    add_path,
    add_scopes,
    add_selection,
    json_object,
    natural,
    open_memory,
    place,
    scopes,
    selection,
    signed_unit,
    unit,
)
from spector.cli.output import Column, Console, bytes_text, clean, to_jsonable
from spector.cli.shown import day, show_memories
from spector.cli.streams import input_text
from spector.clock import from_ms, to_ms
from spector.config import LAYOUTS
from spector.errors import InvalidInputError
from spector.messages import counted

__all__ = ["add_context", "add_export", "add_recall", "add_stats"]

_USUAL_K = 5


def add_recall(commands: Any) -> None:
    parser = commands.add_parser("recall", help="find memories for a cue", description=_RECALL)
    add_path(parser)
    parser.add_argument(
        "-k", type=natural, metavar="N",
        help="how many (default: 5, and 10 for an order of events or a summary)",
    )  # fmt: skip
    _add_question(parser)
    parser.add_argument(
        "--selective", action="store_true", help="only what stands out; nothing if nothing answers"
    )
    parser.add_argument("--explain", action="store_true", help="show how each score came about")
    parser.add_argument("--full", action="store_true", help="print whole texts")
    add_scopes(parser)
    add_embedder(parser)
    add_json(parser)
    parser.set_defaults(run=run_recall)


def _add_question(parser: argparse.ArgumentParser) -> None:
    """The arguments of ``Memory.recall`` that recall and context share."""
    parser.add_argument("cue", metavar="CUE", nargs="?", help="what to recall for; - is stdin")
    parser.add_argument("-t", "--tag", action="append", default=[], help="require this tag")
    parser.add_argument("--any-tag", action="append", default=[], help="require one of these tags")
    parser.add_argument("--tier", action="append", default=[], help="only this tier (repeatable)")
    parser.add_argument("--since", metavar="TIME", help="not before, ISO 8601")
    parser.add_argument("--until", metavar="TIME", help="not after, ISO 8601")
    parser.add_argument("--as-of", metavar="TIME", help="what held then, ISO 8601")
    parser.add_argument(
        "--include", action="append", default=[], choices=("superseded", "dormant", "quarantined"),
        help="also what is left out otherwise (repeatable)",
    )  # fmt: skip
    parser.add_argument("--min-importance", type=unit, metavar="0..1")
    parser.add_argument(
        "--valence", type=signed_unit, nargs=2, metavar=("MIN", "MAX"), help="only this mood"
    )
    parser.add_argument("--where", type=json_object, metavar="JSON", help="filter on the metadata")
    parser.add_argument("--profile", help="weights to rank by (default: balanced)")
    parser.add_argument("--exact", action="store_true", help="verify every vector, no index")
    parser.add_argument("--no-lexical", action="store_true", help="ignore the words of the cue")
    parser.add_argument("--learn", action="store_true", help="count the hits as used")


_RECALL = """Find the memories that fit a cue, best first; without a cue, the strongest ones. What
the user told to do for such a cue ("when I ask for recipes, ...") is shown after them.
Nothing is changed unless --learn is given. Exit code 1: nothing found."""


def _question(args: argparse.Namespace) -> dict[str, Any]:
    """The arguments of ``_add_question`` as those of ``Memory.recall``."""
    filters: dict[str, Any] = {
        "tiers": args.tier or None,
        "tags": args.tag or None,
        "any_tags": args.any_tag or None,
        "time_range": (args.since, args.until) if args.since or args.until else None,
        "valence": tuple(args.valence) if args.valence else None,
        "as_of": args.as_of,
        "include": args.include or None,
        "min_importance": args.min_importance,
        "where": args.where,
        "profile": args.profile,
    }
    given: dict[str, Any] = {name: value for name, value in filters.items() if value is not None}
    given.update(scopes(args))
    given.update(exact=args.exact, lexical=not args.no_lexical, learn=args.learn)
    given["cue"] = input_text().strip() if args.cue == "-" else args.cue
    return given


def run_recall(args: argparse.Namespace, console: Console) -> int:
    question = _question(args)
    cue = question.pop("cue")
    with open_memory(args, "rw" if args.learn else "r") as memory:
        from spector.search.view import asked_topic, usual_k

        k = args.k or usual_k(asked_topic(cue, ""), _USUAL_K)
        hits = memory.recall(cue, k=k, selective=args.selective, **question)
    console.document({"cue": cue, "k": k, "hits": list(hits),
                      "standing": list(hits.standing), "stats": hits.stats,
                      "abstained": hits.abstained, "reason": hits.reason,
                      "notes": hits.notes})  # fmt: skip
    for note in hits.notes:
        console.note(note)
    if not hits:
        console.note(hits.reason or "nothing found")
    if not console.as_json:
        if hits:
            show_memories(console, hits, full=args.full)
        if hits.standing:
            console.say(f"{chr(10) if hits else ''}standing instructions that fit the cue:")
            show_memories(console, hits.standing, full=args.full)
    if not hits:
        return 0 if hits.standing else 1
    if args.explain and not console.as_json:
        for n, hit in enumerate((*hits, *hits.standing), 1):
            console.say()
            console.say(f"{n}. {hit.id}  {hit.explain()}")
        console.say()
        console.say("records dropped by each phase of the scan:")
        console.pairs(to_jsonable(hits.stats), indent=2)
    return 0


def add_context(commands: Any) -> None:
    parser = commands.add_parser(
        "context", help="write memories down for a prompt", description=_CONTEXT
    )
    add_path(parser)
    parser.add_argument(
        "-n", "--max-tokens", type=natural, default=1000, metavar="N",
        help="tokens of the whole text (default: 1000)",
    )  # fmt: skip
    parser.add_argument(
        "--tokenizer", metavar="NAME", help="OpenAI model or encoding that counts; else an estimate"
    )
    parser.add_argument(
        "-k", type=natural, metavar="N",
        help="memories to consider (default: 20, and 40 for an order of events or a summary)",
    )  # fmt: skip
    always = parser.add_mutually_exclusive_group()
    always.add_argument(
        "--always", action="store_true",
        help="also for small talk, and when no memory seems to answer",
    )  # fmt: skip
    always.add_argument(
        "--pinned", dest="always", action="store_const", const="pinned",
        help="what is pinned before all others, whatever the cue",
    )  # fmt: skip
    parser.add_argument(
        "--layout", choices=LAYOUTS, default=LAYOUTS[0],
        help="full: also times, sessions, and speaker and source in each line (default: compact)",
    )  # fmt: skip
    parser.add_argument("--ids", action="store_true", help="show ids in compact lines, too")
    _add_question(parser)
    parser.add_argument("--explain", action="store_true", help="show what became of each memory")
    add_scopes(parser)
    add_embedder(parser)
    add_json(parser)
    parser.set_defaults(run=run_context)


_CONTEXT = """Write the memories that fit a cue as one block of text for a prompt: quoted as data,
in the order of time, within a budget of tokens, after the instructions of the user that hold. Exit
code 1: there is nothing to say, and stderr says why."""


def run_context(args: argparse.Namespace, console: Console) -> int:
    question = _question(args)
    with open_memory(args, "rw" if args.learn else "r") as memory:
        context = memory.context(
            max_tokens=args.max_tokens, tokenizer=args.tokenizer, k=args.k, always=args.always,
            layout=args.layout, ids=args.ids, **question,
        )  # fmt: skip
    console.document(context.to_dict())
    for note in context.notes:
        console.note(note)
    if not context.hits:
        console.note(context.reason)
    if context and not console.as_json:
        console.data(context.text.removesuffix("\n"))
    if args.explain and (context.quotes or context.standing):
        about = "" if context.exact else "about "
        console.say(f"\n{about}{counted(context.tokens, 'token')} by {context.tokenizer}")
        console.table(
            [Column("relevance", right=True), Column("form"), Column("tokens", right=True),
             Column("id"), Column("why", flexible=True)],
            [*(("", "standing", "", hit.id, "an instruction that holds")
               for hit in context.standing),
             *((f"{quote.relevance:.2f}", quote.form, quote.tokens, quote.hit.id, quote.reason)
               for quote in context.quotes)],
        )  # fmt: skip
    return 0 if context else 1


def add_export(commands: Any) -> None:
    parser = commands.add_parser("export", help="write memories as JSONL", description=_EXPORT)
    add_path(parser)
    parser.add_argument(
        "file", metavar="FILE", nargs="?", default="-", type=place, help="default: stdout"
    )
    parser.add_argument(
        "--overwrite", "--force", action="store_true", dest="overwrite",
        help="replace FILE if it is there",
    )
    parser.add_argument("--vectors", action="store_true", help="write the vectors as well")
    add_selection(parser, recorded=False)
    add_json(parser)
    parser.set_defaults(run=run_export)


_EXPORT = """Write every live memory, or those of a selection, as one JSON object a line, in the
order of their ids. `spector import` reads such a file back. A store without a model gets its
vectors written to FILE too, since nothing could make them again. With --json, FILE is required and
the summary is the document."""


def run_export(args: argparse.Namespace, console: Console) -> int:
    if args.file == "-":
        if args.as_json or args.vectors:
            raise InvalidInputError(
                "--json and --vectors need a FILE", hint=f"spector export {args.path} all.jsonl ..."
            )
        with open_memory(args, "r") as memory:
            if memory.stats()["model"] is None:
                console.note("vectors are left out here, and this store has no model to make them "
                             "again: to import this later, export to a FILE")
            for record in memory.records(**selection(args)):
                console.data(json.dumps(record.to_dict(), ensure_ascii=False))
        return 0
    if os.path.lexists(args.file) and not args.overwrite:
        raise InvalidInputError(
            f"{args.file} is there already", hint="choose another name, or pass --overwrite"
        )
    with open_memory(args, "r") as memory, console.progress("exporting", "memory") as progress:
        vectors = args.vectors or memory.stats()["model"] is None
        count = memory.export(
            args.file, vectors=vectors, overwrite=args.overwrite, progress=progress.reach,
            **selection(args),
        )
    console.document({"file": args.file, "records": count, "vectors": vectors})
    console.say(f"exported {counted(count, 'memory')} to {clean(args.file)}")
    return 0


def add_stats(commands: Any) -> None:
    parser = commands.add_parser("stats", help="what a store holds", description=_STATS)
    add_path(parser)
    add_scopes(parser)
    add_json(parser)
    parser.set_defaults(run=run_stats)


_STATS = """Counts, bytes, tiers, model and kernel of a store, and what is to be erased from its
files by when; with --user, --agent or --session what it holds of that scope."""


def run_stats(args: argparse.Namespace, console: Console) -> int:
    with open_memory(args, "r") as memory:
        stats = to_jsonable(memory.stats(**scopes(args)))
    console.document(stats)
    if console.as_json:
        return 0
    shown = {name: stats[name] for name in ("path", "records", "model", "dim") if name in stats}
    if "kernel" in stats:
        shown["kernel"] = ", ".join(f"{name} {value}" for name, value in stats["kernel"].items())
    if "bytes" in stats:
        sizes = stats["bytes"].items()
        shown["size"] = ", ".join(f"{name} {bytes_text(count)}" for name, count in sizes)
    if "erasure" in stats:
        shown["erasure"] = _due(stats["erasure"])
    console.pairs(shown)
    console.say()
    counts = [name for name in ("records", "tombstones", "partitions")
              if any(name in each for each in stats["tiers"].values())]
    columns = [Column("tier"), *(Column(name, right=True) for name in counts)]
    tiers = stats["tiers"].items()
    console.table(columns, [(tier, *(each.get(n, "") for n in counts)) for tier, each in tiers])
    if stats.get("erasure", {}).get("due") is not None:
        console.hints("\nto erase now what is forgotten: spector compact PATH")
    return 0


def _due(erasure: Mapping[str, Any]) -> str:
    """How much of what was forgotten is in the files, and until when."""
    if erasure["due"] is None:
        return "nothing is due"
    pending = erasure["pending"]
    # stores of the first days only know that something is due
    what = counted(pending, "forgotten or changed memory",
                   "forgotten or changed memories") if pending else "something forgotten"
    due = day(from_ms(to_ms(erasure["due"])))
    return f"{what} in the files until the first reflect after {due} UTC"
