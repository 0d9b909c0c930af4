"""Commands that read: recall, context, export, stats."""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from spector.cli.memory_table import day, show_memories
from spector.cli.options import Arguments, end_of, namespace_of, open_store, scopes, selection
from spector.cli.output import Console, bytes_text, clean, input_text, to_jsonable
from spector.clock import from_ms, to_ms
from spector.config import LAYOUTS
from spector.errors import InvalidInputError
from spector.messages import counted

RECALL: Final = Arguments(
    """Find the memories that match a cue, best first; without a cue, the
    strongest ones. Standing instructions of the user for such a cue ("when I ask for recipes, ...")
    are shown after them. Nothing is changed unless --learn is given. Exit code 1: nothing found.""",
    """
    @path
    -k N:count  most hits (default: 10, or 20 for an order of events or a summary)
    --offset N:int=0  so many better hits are left out
    --min-score SCORE:float  leave out hits of a lower score
    @question
    --selective  only hits that stand out; none if no memory answers
    --explain  show the terms of each score
    --full  print whole texts
    @scopes
    @embedder
    @wait
    """,
)


def _question(args: argparse.Namespace) -> dict[str, Any]:
    """The arguments of ``@question`` as those of ``Memory.recall``."""
    filters: dict[str, Any] = {
        "tiers": args.tier or None,
        "tags": args.tag or None,
        "any_tags": args.any_tag or None,
        "time_range": (args.since, end_of(args.until)) if args.since or args.until else None,
        "timezone": args.timezone,
        "valence": tuple(args.valence) if args.valence else None,
        "as_of": args.as_of,
        "include": args.include or None,
        "min_importance": args.min_importance,
        "where": args.where,
        "profile": args.profile,
    }
    given: dict[str, Any] = {name: value for name, value in filters.items() if value is not None}
    given.update(namespace_of(args), **scopes(args))
    given.update(exact=args.exact, lexical=not args.no_lexical, learn=args.learn)
    given["cue"] = input_text().strip() if args.cue == "-" else args.cue
    return given


def run_recall(args: argparse.Namespace, console: Console) -> int:
    question = _question(args)
    cue = question.pop("cue")
    with open_store(args, "rw" if args.learn else "r") as memory:
        question |= {"offset": args.offset, "min_score": args.min_score}
        hits = memory.recall(cue, k=args.k, selective=args.selective, **question)
    console.document(
        {
            "cue": cue,
            "k": args.k,
            "hits": list(hits),
            "standing": list(hits.standing),
            "limits": list(hits.limits),
            "stats": hits.stats,
            "abstained": hits.abstained,
            "reason": hits.reason,
            "notes": hits.notes,
        }
    )
    for note in hits.notes:
        console.note(note)
    if not hits:
        console.note(hits.reason or "nothing found")
    if not console.as_json:
        if hits:
            show_memories(console, hits, full=args.full)
        for beside, title in (
            (hits.standing, "standing instructions for this cue"),
            (hits.limits, "what limits an answer to this cue"),
        ):
            if beside:
                console.say(f"{chr(10) if hits else ''}{title}:")
                show_memories(console, beside, full=args.full)
    if not hits:
        return 0 if hits.standing or hits.limits else 1
    if args.explain and not console.as_json:
        for n, hit in enumerate((*hits, *hits.standing, *hits.limits), 1):
            console.say(f"\n{n}. {hit.id}  {hit.explain()}")
        console.say("\nrecords dropped by each phase of the scan:")
        console.pairs(to_jsonable(hits.stats), indent=2)
    return 0


CONTEXT: Final = Arguments(
    """Write the memories that match a cue as one block of text for a prompt:
    quoted as data, in order of time, within a token budget, after the user's standing instructions.
    Exit code 1: the text is empty, and stderr says why.""",
    f"""
    @path
    -n/--max-tokens N:count=1000  most tokens of the whole text (default: 1000)
    --tokenizer NAME  OpenAI model or encoding to count with (default: an estimate)
    -k N:count  memories to consider (default: 20, or 40 for an order of events or a summary)
    (one of)
    --always  also for small talk, and when no memory seems to answer
    --pinned >always=pinned  pinned memories first, whatever the cue
    []
    --layout :layout={LAYOUTS[0]}  full adds times and sessions, and speaker and source of each line
        (default: compact)
    --ids  also show ids in compact lines
    @question
    --explain  show why each memory is in the text or not
    @scopes
    @embedder
    @wait
    """,
    kinds=lambda: {"layout": LAYOUTS},
)


def run_context(args: argparse.Namespace, console: Console) -> int:
    question = _question(args)
    with open_store(args, "rw" if args.learn else "r") as memory:
        context = memory.context(
            max_tokens=args.max_tokens,
            tokenizer=args.tokenizer,
            k=args.k,
            always=args.always,
            layout=args.layout,
            ids=args.ids,
            **question,
        )
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
            ">relevance | form | >tokens | id | why~",
            [
                *(("", "standing", "", hit.id, "standing instruction") for hit in context.standing),
                *(
                    (f"{quote.relevance:.2f}", quote.form, quote.tokens, quote.hit.id, quote.reason)
                    for quote in context.quotes
                ),
            ],
        )
    return 0 if context else 1


EXPORT: Final = Arguments(
    """Write every live memory, or those of a selection, as one JSON object per
    line, in order of ids. `spector import` reads such a file back. Vectors of a store without a
    model are written to FILE too, because they could not be computed again. With --json, FILE is
    required and the JSON document is a summary.""",
    """
    @path
    FILE?:path=-  default: stdout
    --overwrite/--force  replace FILE if it exists
    --vectors  also write the vectors
    @filters
    []
    @zone
    @scopes
    """,
)


def run_export(args: argparse.Namespace, console: Console) -> int:
    if args.file == "-":
        if args.as_json or args.vectors:
            raise InvalidInputError(
                "--json and --vectors need a FILE", hint=f"spector export {args.path} all.jsonl ..."
            )
        with open_store(args, "r") as memory:
            if memory.stats()["model"] is None:
                console.note(
                    "vectors are not written to stdout, and this store has no model to "
                    "compute them again; to import this later, export to a FILE"
                )
            with tempfile.TemporaryDirectory(prefix="spector-") as folder:
                whole = Path(folder) / "export"  # with what is known, which no record has
                memory.export(whole, vectors=False, **selection(args))
                with open(whole, encoding="utf-8") as lines:
                    for line in lines:
                        console.data(line.rstrip("\n"))
        return 0
    if os.path.lexists(args.file) and not args.overwrite:
        raise InvalidInputError(
            f"{args.file} exists already", hint="choose another name, or pass --overwrite"
        )
    with open_store(args, "r") as memory, console.progress("exporting", "memory") as progress:
        vectors = args.vectors or memory.stats()["model"] is None
        count = memory.export(
            args.file,
            vectors=vectors,
            overwrite=args.overwrite,
            progress=progress,
            **selection(args),
        )
    console.document({"file": args.file, "records": count, "vectors": vectors})
    console.say(f"exported {counted(count, 'memory')} to {clean(args.file)}")
    return 0


STATS: Final = Arguments(
    """Show counts, bytes, tiers, model and kernel of a store, and which
    forgotten memories are still to be erased from its files; with --user, --agent or --session only
    counts of that scope.""",
    """
    @path
    @scopes
    """,
)


def run_stats(args: argparse.Namespace, console: Console) -> int:
    with open_store(args, "r") as memory:
        stats = to_jsonable(memory.stats(**scopes(args)))
    console.document(stats)
    if console.as_json:
        return 0
    names = ("path", "records", "derived", "users", "facts", "nights", "model", "dim")
    shown = {name: stats[name] for name in names if name in stats}
    if "kernel" in stats:
        shown["kernel"] = ", ".join(f"{name} {value}" for name, value in stats["kernel"].items())
    if "bytes" in stats:
        sizes = stats["bytes"].items()
        shown["size"] = ", ".join(f"{name} {bytes_text(count)}" for name, count in sizes)
    if "erasure" in stats:
        shown["erasure"] = _due_text(stats["erasure"])
    console.pairs(shown)
    console.say()
    counts = [
        name
        for name in ("records", "tombstones", "partitions")
        if any(name in each for each in stats["tiers"].values())
    ]
    tiers = stats["tiers"].items()
    headings = " | ".join(["tier", *(f">{name}" for name in counts)])
    console.table(headings, [(tier, *(each.get(n, "") for n in counts)) for tier, each in tiers])
    if stats.get("erasure", {}).get("due") is not None:
        console.hints("\nto erase forgotten memories now: spector compact PATH")
    return 0


def _due_text(erasure: Mapping[str, Any]) -> str:
    """How many forgotten memories the files still contain, and until when."""
    if erasure["due"] is None:
        return "none pending"
    pending = erasure["pending"]
    # the log may be all that is left to erase
    what = (
        counted(pending, "forgotten or changed memory", "forgotten or changed memories")
        if pending
        else "forgotten memories"
    )
    due = day(from_ms(to_ms(erasure["due"])))
    return f"{what} in the files until the first reflect after {due} UTC"
