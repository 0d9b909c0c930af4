"""Commands that add memories: remember, import."""

from __future__ import annotations

import argparse
import contextlib
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spector.cli.options import (
    add_embedder,
    add_fields,
    add_json,
    add_path,
    add_scopes,
    expand_home,
    given_fields,
    open_store,
    positive_int,
    scopes,
    superseded_id,
)
from spector.cli.output import Console, clean
from spector.cli.streams import input_blocks, input_text
from spector.errors import ImportFormatError, InvalidInputError, InvalidTextError
from spector.importers import FORMATS, Message, detect_format, iter_messages
from spector.messages import counted

if TYPE_CHECKING:
    import spector

__all__ = ["add_import", "add_remember"]

#: messages embedded and committed together; large enough to batch, small enough to show progress
_BATCH = 512


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
    _add_durability(parser)
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


def add_import(commands: Any) -> None:
    parser = commands.add_parser("import", help="store the messages of files", description=_IMPORT)
    add_path(parser)
    parser.add_argument(
        "files", metavar="FILE", nargs="+", type=expand_home, help="files to read; - is stdin"
    )
    parser.add_argument("--format", choices=FORMATS, default="auto", help="default: by content")
    parser.add_argument("-t", "--tag", action="append", default=[], help="add this tag to all")
    parser.add_argument("--tier", help="store everything in this tier")
    parser.add_argument("--source", help="set the source of every message")
    parser.add_argument("--event-time", metavar="TIME", help="time of entries that have none")
    parser.add_argument(
        "--assume-utc", action="store_true", help="read times without a zone as UTC"
    )
    parser.add_argument(
        "--limit", type=positive_int, metavar="N", help="store at most N messages per file"
    )
    parser.add_argument("--dry-run", action="store_true", help="read and count, store nothing")
    _add_durability(parser)
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
        files = [_readable(name, stack) for name in args.files]
        counts: list[dict[str, Any]] = []
        for name, path in zip(args.files, files, strict=True):
            kind = _format_of(path, args.format)
            broken: list[ImportFormatError] = []
            count = _count(args, path, kind, name, broken)
            counts.append(
                {"file": name, "format": kind, "messages": count, "skipped": len(broken)}
            )
            for error in broken:
                console.note(f"skipped: {error.message}")
        if not args.dry_run:
            _store(args, console, files, counts)
    stored = 0 if args.dry_run else sum(entry["messages"] for entry in counts)
    console.document({"files": counts, "stored": stored, "dry_run": args.dry_run})
    for entry in counts:
        verb = "would import" if args.dry_run else "imported"
        name = clean(entry["file"])
        messages = counted(entry["messages"], "message")
        console.say(f"{verb} {messages} from {name} ({entry['format']})")
        if entry["skipped"]:
            skipped = counted(entry["skipped"], "broken conversation")
            console.say(f"skipped {skipped} in {name}")
    return 0


def _count(
    args: argparse.Namespace, path: Path, kind: str, name: str, broken: list[ImportFormatError]
) -> int:
    """Count the messages of a file, after checking that each can be remembered.

    Errors of conversations that are skipped are added to ``broken``.
    """
    from spector.config import Config
    from spector.write import make_draft

    config, number = Config(), 0
    for number, message in enumerate(_messages(args, path, kind, broken.append), 1):
        fields = {key: value for key, value in message.items() if key != "vector"}
        try:
            make_draft(fields, {}, config=config, dim=1)
        except InvalidInputError as error:
            raise ImportFormatError(
                f"{name}, message {number}: {error.message}", hint=error.hint
            ) from error
    return number


def _store(
    args: argparse.Namespace, console: Console, files: list[Path], counts: list[dict[str, Any]]
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
                memory.import_(path, change=partial(_changed, args), limit=args.limit)
                done += entry["messages"]
                continue
            messages = _messages(args, path, entry["format"])
            while batch := list(islice(messages, _BATCH)):
                memory.remember_many(batch)
                done += len(batch)
                progress.reach(done, total)


def _format_of(path: Path, wanted: str) -> str:
    """The format to read a file as; JSONL from `spector export` is recognized by its fields."""
    if wanted not in ("auto", "jsonl"):
        return wanted
    found = detect_format(path)
    return found if wanted == "auto" or found == "spector" else wanted


def _changed(args: argparse.Namespace, message: dict[str, Any]) -> dict[str, Any]:
    """A message with the fields that the arguments set for all messages."""
    if args.tag:
        message["tags"] = [*(message.get("tags") or ()), *args.tag]
    if args.event_time and not message.get("event_time"):
        message["event_time"] = args.event_time
    for name in ("tier", "source"):
        if getattr(args, name):
            message[name] = getattr(args, name)
    return {**message, **scopes(args)}


def _messages(
    args: argparse.Namespace, path: Path, kind: str,
    on_skip: Callable[[ImportFormatError], None] | None = None,
) -> Iterator[Message]:
    messages = iter_messages(path, kind, assume_utc=args.assume_utc, on_skip=on_skip)
    for message in islice(messages, args.limit):
        yield _changed(args, message)


def _readable(name: str, stack: contextlib.ExitStack) -> Path:
    """The path of a file; standard input is copied into one, because it is read twice."""
    if name != "-":
        return Path(name)
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="spector-")))
    path = folder / "stdin"
    with open(path, "wb") as kept:
        for block in input_blocks():
            kept.write(block)
    return path


def _add_durability(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--durability",
        choices=("strict", "relaxed"),
        default="strict",
        help="relaxed is faster, but a power cut may lose the newest writes (default: strict)",
    )
