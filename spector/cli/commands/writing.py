"""Commands that add memories: remember, observe, import."""

from __future__ import annotations

import argparse
import contextlib
import sys
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spector.cli.files import (
    Tally,
    add_durability,
    add_reading,
    changed,
    count_messages,
    files_of,
    format_of,
    read_messages,
    readable,
)
from spector.cli.options import (
    add_embedder,
    add_fields,
    add_json,
    add_path,
    add_scopes,
    expand_home,
    given_fields,
    open_store,
    scopes,
    superseded_id,
)
from spector.cli.output import Console, clean
from spector.cli.streams import input_text
from spector.errors import ImportFormatError, InvalidInputError, InvalidTextError
from spector.messages import counted

if TYPE_CHECKING:
    import spector

__all__ = ["add_import", "add_observe", "add_remember"]

#: messages embedded and committed together; large enough to batch, small enough to show progress
_BATCH = 512
#: characters of a message that an explanation shows
_SHOWN = 100


def add_remember(commands: Any) -> None:
    parser = commands.add_parser("remember", help="store one memory", description=_REMEMBER)
    add_path(parser)
    parser.add_argument("text", metavar="TEXT", nargs="?", default="-", help="the text; - is stdin")
    add_fields(parser)
    parser.add_argument("--tier", help="episodic (default), semantic, procedural")
    parser.add_argument("--pin", action="store_true", help="exempt it from fading")
    parser.add_argument(
        "--supersedes", metavar="ID", action="append", type=superseded_id,
        help="it replaces this memory, which is kept as history (repeatable); auto: what it surely"
        " contradicts",
    )
    add_durability(parser)
    add_scopes(parser)
    add_embedder(parser)
    add_json(parser)
    parser.set_defaults(run=run_remember)


_REMEMBER = "Store one memory. The store is created if it does not exist."


def run_remember(args: argparse.Namespace, console: Console) -> int:
    text = args.text
    if text == "-":
        if sys.stdin.isatty():
            console.note("reading the text from the terminal; end with Ctrl-D")
        text = input_text().strip()
    if not text.strip():
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
    with open_store(args, create=True, durability=args.durability) as memory:
        record = memory.remember({"text": text, **fields, **scopes(args)})
    console.document(record)
    instead = ", ".join(map(str, record.supersedes))
    console.say(
        f"remembered {record.id} ({record.tier}, importance {record.importance:.2f})"
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


def add_observe(commands: Any) -> None:
    parser = commands.add_parser(
        "observe", help="take in messages, and keep what matters", description=_OBSERVE
    )
    add_path(parser)
    parser.add_argument(
        "files", metavar="FILE", nargs="+", type=expand_home,
        help="files or folders to read; - is stdin",
    )
    add_reading(parser)
    parser.add_argument("--timezone", metavar="ZONE", help="where it was said; UTC by default")
    parser.add_argument("--explain", action="store_true", help="say what each stage decided")
    parser.add_argument("--dry-run", action="store_true", help="decide, and store nothing")
    add_durability(parser)
    add_scopes(parser)
    add_embedder(parser)
    add_json(parser)
    parser.set_defaults(run=run_observe)


_OBSERVE = """Take in the messages of chat logs, notes or standard input, in their order. Small
talk, questions and attacks are left out; what is new is stored with its facts and relations, what
has changed replaces what was so before, what is repeated strengthens what is known."""


def run_observe(args: argparse.Namespace, console: Console) -> int:
    with contextlib.ExitStack() as stack:
        files = [path for name in args.files for path in files_of(name, stack)]
        counts: list[int] = []
        for name, path in files:
            broken: list[ImportFormatError] = []
            counts.append(count_messages(args, path, format_of(path, args.format), name, broken))
            for error in broken:
                console.note(f"skipped: {error.message}")
        tally = Tally()
        with (
            open_store(args, create=True, durability=args.durability) as memory,
            console.progress("observing", "message") as progress,
        ):
            done, total = 0, sum(counts)
            for _, path in files:
                messages = read_messages(args, path, format_of(path, args.format))
                while batch := list(islice(messages, _BATCH)):
                    results = memory.observe_many(
                        batch, timezone=args.timezone, dry_run=args.dry_run
                    )
                    tally.add(results)
                    done += len(results)
                    progress.reach(done, total)
                    if args.explain:
                        for message, result in zip(batch, results, strict=True):
                            console.say(f"> {clean(str(message.get('text'))[:_SHOWN])}\n{result}")
    console.document({
        "command": "observe", "dry_run": args.dry_run,
        "files": [
            {"file": name, "messages": count}
            for (name, _), count in zip(files, counts, strict=True)
        ], **tally.to_dict(),
    })  # fmt: skip
    tally.say(console, dry_run=args.dry_run)
    return 0


def add_import(commands: Any) -> None:
    parser = commands.add_parser("import", help="store the messages of files", description=_IMPORT)
    add_path(parser)
    parser.add_argument(
        "files", metavar="FILE", nargs="+", type=expand_home, help="files to read; - is stdin"
    )
    add_reading(parser)
    parser.add_argument("--dry-run", action="store_true", help="read and count, store nothing")
    parser.add_argument(
        "--observe", action="store_true",
        help="keep what matters only, as the command observe does",
    )
    add_durability(parser)
    add_scopes(parser)
    add_embedder(parser)
    add_json(parser)
    parser.set_defaults(run=run_import)


_IMPORT = """Store the messages of chat logs (JSONL, ChatGPT exports), notes (Markdown, text) or
LoCoMo files. All files are read and checked before the first message is stored, so a malformed file
stores nothing. Only broken conversations of a ChatGPT export are skipped, and reported. Importing a
file twice stores its messages twice."""


def run_import(args: argparse.Namespace, console: Console) -> int:
    with contextlib.ExitStack() as stack:
        files = [readable(name, stack) for name in args.files]
        counts: list[dict[str, Any]] = []
        for name, path in zip(args.files, files, strict=True):
            kind = format_of(path, args.format)
            broken: list[ImportFormatError] = []
            count = count_messages(args, path, kind, name, broken)
            counts.append(
                {"file": name, "format": kind, "messages": count, "skipped": len(broken)}
            )
            for error in broken:
                console.note(f"skipped: {error.message}")
        tally = Tally() if args.observe else None
        if not args.dry_run:
            _store(args, console, files, counts, tally)
    stored = 0 if args.dry_run else sum(entry["messages"] for entry in counts)
    observed = {} if tally is None else {"observed": tally.to_dict()}
    console.document({"files": counts, "stored": stored, "dry_run": args.dry_run, **observed})
    for entry in counts:
        verb = "would import" if args.dry_run else "imported"
        name = clean(entry["file"])
        messages = counted(entry["messages"], "message")
        console.say(f"{verb} {messages} from {name} ({entry['format']})")
        if entry["skipped"]:
            skipped = counted(entry["skipped"], "broken conversation")
            console.say(f"skipped {skipped} in {name}")
    if tally is not None and not args.dry_run:
        tally.say(console)
    return 0


def _store(
    args: argparse.Namespace, console: Console, files: list[Path], counts: list[dict[str, Any]],
    tally: Tally | None,
) -> None:
    total = sum(entry["messages"] for entry in counts)
    done = 0
    with (
        open_store(args, create=True, durability=args.durability) as memory,
        console.progress("importing", "message") as progress,
    ):
        for path, entry in zip(files, counts, strict=True):
            progress.reach(done, total)
            if entry["format"] == "spector":  # restores strengths, uses, flags and links as well
                memory.import_(path, change=partial(changed, args), limit=args.limit)
                done += entry["messages"]
                continue
            messages = read_messages(args, path, entry["format"])
            while batch := list(islice(messages, _BATCH)):
                if tally is None:
                    memory.remember_many(batch)
                else:
                    tally.add(memory.observe_many(batch))
                done += len(batch)
                progress.reach(done, total)
