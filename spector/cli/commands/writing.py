"""The commands that add one memory, or say what it would do to another: remember, judge."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from spector.cli.options import (
    add_attach,
    add_durability,
    add_embedder,
    add_fields,
    add_key,
    add_path,
    add_scopes,
    add_wait,
    attached,
    given_fields,
    key_of,
    open_store,
    scopes,
    superseded_id,
)
from spector.cli.output import Console, input_text
from spector.errors import InvalidInputError, InvalidTextError

if TYPE_CHECKING:
    import spector


def add_remember(parser: argparse.ArgumentParser) -> None:
    parser.description = "Store one memory. The store is created if it does not exist."
    add_path(parser)
    parser.add_argument("text", metavar="TEXT", nargs="?", default="-", help="the text; - is stdin")
    add_fields(parser)
    parser.add_argument("--tier", help="episodic (default), semantic, procedural")
    parser.add_argument("--pin", action="store_true", help="exempt it from fading")
    add_key(parser, "a name of your own for it; replaces the memory that has it")
    parser.add_argument(
        "--supersedes",
        metavar="ID",
        action="append",
        type=superseded_id,
        help="it replaces this memory, which is kept as history (repeatable); auto: what it surely"
        " contradicts",
    )
    add_attach(parser)
    add_durability(parser)
    add_scopes(parser)
    add_embedder(parser)
    add_wait(parser)


def run_remember(args: argparse.Namespace, console: Console) -> int:
    text = args.text
    if text == "-":
        if sys.stdin.isatty():
            console.note("reading the text from the terminal; end with Ctrl-D")
        text = input_text().strip()
    if not text.strip() and args.attach is None:
        raise InvalidTextError("the text is empty", hint="pass something worth remembering")
    if args.tier == "working":
        raise InvalidInputError(
            "the working tier is kept in memory only, so it would be gone when this command ends",
            hint="choose episodic, semantic or procedural",
        )
    fields = given_fields(args)
    if args.tier is not None:
        fields["tier"] = args.tier
    if args.supersedes is not None:
        fields["supersedes"] = "auto" if args.supersedes == ["auto"] else args.supersedes
    if args.pin:
        fields["pinned"] = True
    fields |= attached(args) | key_of(args)
    with open_store(args, create=True, durability=args.durability) as memory:
        record = memory.remember({"text": text, **fields, **scopes(args)})
    console.document(record)
    instead = ", ".join(map(str, record.supersedes))
    did = "replaced" if record.revision > 1 else "remembered"
    console.say(
        f"{did} {record.id} ({record.tier}, importance {record.importance:.2f})"
        + (f", instead of {instead}" if instead else "")
        + _beside(record)
    )
    return 0


def _beside(record: spector.MemoryRecord) -> str:
    """What a new memory contradicts and does not replace, and why."""
    decision = record.decision
    if decision is None or not decision.contradicted:
        return ""
    others = ", ".join(map(str, decision.contradicted))
    return f"; it contradicts {others}" + (f" ({decision.reason})" if decision.reason else "")


def add_judge(parser: argparse.ArgumentParser) -> None:
    parser.description = "Say what a new statement does to an old one, and why; no store is needed."
    parser.add_argument("old", metavar="OLD", help="the older statement")
    parser.add_argument("new", metavar="NEW", help="the newer statement")


def run_judge(args: argparse.Namespace, console: Console) -> int:
    import spector

    with spector.open(":memory:") as memory:
        found = memory.judge(args.old, args.new)
    console.document(found)
    console.say(str(found))
    return 0
