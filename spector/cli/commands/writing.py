"""The commands that add one memory, or say what it would do to another: remember, judge."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Final

from spector.cli.options import (
    Arguments,
    attached,
    given_fields,
    key_of,
    open_store,
    scopes,
    superseded_id,
)
from spector.cli.output import Console
from spector.errors import InvalidInputError, InvalidTextError

if TYPE_CHECKING:
    import spector


REMEMBER: Final = Arguments(
    "Store one memory. The store is created if it does not exist.",
    """
    @path
    TEXT?=-  the text; - is stdin
    @fields
    --tier TIER  episodic (default), semantic, procedural
    --pin  exempt it from fading
    --key KEY  a name of your own for it; replaces the memory that has it
    @label
    --supersedes ID*:superseded  it replaces this memory, which is kept as history (repeatable);
        auto: what it surely contradicts
    @attach
    @durability
    @scopes
    @embedder
    @wait
    """,
    kinds=lambda: {"superseded": superseded_id},
)


def run_remember(args: argparse.Namespace, console: Console) -> int:
    text = args.text
    if text == "-":
        text = console.input_words()
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
    if args.supersedes:
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


JUDGE: Final = Arguments(
    "Say what a new statement does to an old one, and why; no store is needed.",
    """
    OLD  the older statement
    NEW  the newer statement
    """,
)


def run_judge(args: argparse.Namespace, console: Console) -> int:
    import spector

    with spector.open(":memory:") as memory:
        found = memory.judge(args.old, args.new)
    console.document(found)
    console.say(str(found))
    return 0
