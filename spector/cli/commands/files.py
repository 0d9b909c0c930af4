"""Commands that read files of messages: import and observe."""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from spector.cli.options import Arguments, chosen_embedder, open_store, scopes
from spector.cli.output import Console, clean, input_blocks
from spector.errors import InvalidInputError
from spector.importers import (
    FORMATS,
    NOT_KEPT,
    FileReport,
    Importing,
    ImportOptions,
    observable,
    observing,
)
from spector.messages import counted

if TYPE_CHECKING:
    from spector import ObserveResult
    from spector.memory import Memory


#: arguments that are options of an import
_OF_IMPORT: Final = """format timezone assume_utc skip_bad limit me user_id agent_id session_id
scopes_from_message""".split()
#: files that get a line of their own
_MOST_FILES: Final = 20


IMPORT: Final = Arguments(
    """Store the messages of chat logs (JSON lines, exports of ChatGPT, Claude,
    Telegram, WhatsApp, Slack, Discord), notes (Markdown, text), tables and data sets: files,
    folders or zip archives. Each file is read and checked to its end before its first message is
    stored, so a malformed file stores nothing. Every message has a key: importing a file again, or
    a longer export of the same chat, adds what is new, and what was forgotten stays forgotten. A
    file that was named and cannot be read ends the command; one in a folder is listed, the others
    are stored, and the exit code is 1. --dry-run ends with the same exit code.""",
    """
    @path
    files FILE+:path  files, folders or zip archives to read; - is stdin
    @reading
    --dry-run  read, check and count, store nothing
    --observe  keep what matters only, as the command observe does
    @durability
    @scopes
    @embedder
    @wait
    """,
    kinds=lambda: {"format": FORMATS},
)


def run_import(args: argparse.Namespace, console: Console) -> int:
    refuse_working(args, observes=args.observe)
    tally = Tally() if args.observe else None
    with contextlib.ExitStack() as stack:
        importing = importing_of(args, stack)
        with probe(args) as memory:
            importing.check(memory, dry_run=args.dry_run, observes=args.observe)
        if not args.dry_run and importing.total:
            _store(args, console, importing, tally)
    refused = say_refused(importing, console)
    _say(args, console, importing, tally)
    return 1 if refused else 0


def _store(
    args: argparse.Namespace, console: Console, importing: Importing, tally: Tally | None
) -> None:
    def observe(messages: list[dict[str, Any]]) -> None:
        assert tally is not None
        tally.add(memory.observe_many(messages, scopes_from_message=True))

    with (
        open_store(args, create=True, durability=args.durability) as memory,
        console.progress("importing", "message") as progress,
    ):
        before = len(memory)
        try:
            importing.store(
                memory,
                progress=progress,
                storing=None if tally is None else observing(memory, observe, args.source),
            )
        except BaseException as error:
            _say_how_far(memory, before, importing, error, console)
            raise


def _say_how_far(
    memory: Memory, before: int, importing: Importing, error: BaseException, console: Console
) -> None:
    """Say how much of an import that ends early is stored."""
    stored = len(memory) - before
    said = f"{stored} of {importing.total} messages are stored"
    if isinstance(error, KeyboardInterrupt):
        console.note(said)
    else:
        error.add_note(said)


def _say(
    args: argparse.Namespace, console: Console, importing: Importing, tally: Tally | None
) -> None:
    report = importing.report
    console.document(
        {
            "files": [each.to_dict() for each in report.files],
            "stored": 0 if args.dry_run else report.stored,
            "known": report.known,
            "dry_run": args.dry_run,
            "others": dict(report.others),
            **({} if tally is None else {"observed": tally.to_dict()}),
        }
    )
    verb = "would import" if args.dry_run else "imported"
    sound = [each for each in report.files if not each.error]
    sound = [each for each in sound if each.messages] or sound
    for each in sound[:_MOST_FILES]:
        messages = counted(each.stored, "message")
        known = f", {each.known:,} known already" if each.known else ""
        console.say(f"{verb} {messages} from {clean(each.file)} ({each.format}){known}")
    if len(sound) > _MOST_FILES:
        rest = sound[_MOST_FILES:]
        messages = counted(sum(each.stored for each in rest), "message")
        console.say(f"{verb} {messages} from {counted(len(rest), 'more file', 'more files')}")
    if tally is not None and not args.dry_run:
        tally.say(console)
    if not console.as_json:
        console.pairs(report.pairs(), indent=2)


# observe: takes in messages, and keeps what matters.

#: beginnings and ends of what names a file
_PATH: Final = re.compile(r"^[./~]|\.\w{1,8}$")
#: characters of a message that an explanation shows
_SHOWN = 100


OBSERVE: Final = Arguments(
    """Take in the messages of chat logs, notes or standard input, or a text,
    in order. Small talk, questions and attacks are left out; what is new is stored with its facts
    and relations, what has changed replaces what was so before, what is repeated strengthens what
    is known.""",
    """
    @path
    files FILE+:path  files or folders to read, or a text in quotes ("I live in Bath."); - is stdin
    @reading
    --timezone ZONE >timezone  where it was said; the same as --tz
    --explain  say what each stage decided
    --dry-run  decide, and store nothing
    @durability
    @scopes
    @embedder
    @wait
    """,
    kinds=lambda: {"format": FORMATS},
)


def run_observe(args: argparse.Namespace, console: Console) -> int:
    refuse_working(args, observes=True)
    tally = Tally()
    if said := [each for each in args.files if _is_text(each)]:
        return _run_said(args, console, said, tally)
    with contextlib.ExitStack() as stack:
        importing = importing_of(args, stack)
        with probe(args) as memory:
            importing.check(memory)
        refused = say_refused(importing, console)
        with (
            open_store(args, create=True, durability=args.durability) as memory,
            console.progress("observing", "message") as progress,
        ):
            importing.store(
                memory,
                progress=progress,
                storing=lambda messages: _observe(args, console, memory, messages, tally),
            )
    sound = [each for each in importing.report.files if not each.error]
    _say_observed(args, console, tally, sound)
    return 1 if refused else 0


def _say_observed(
    args: argparse.Namespace, console: Console, tally: Tally, files: Sequence[FileReport] = ()
) -> None:
    read = [{"file": each.file, "messages": each.messages} for each in files]
    console.document(
        {"command": "observe", "dry_run": args.dry_run, "files": read, **tally.to_dict()}
    )
    tally.say(console, dry_run=args.dry_run)


def _is_text(name: str) -> bool:
    """Whether an argument is a text: words that name no file, and look like no name of one."""
    return " " in name.strip() and not os.path.lexists(name) and _PATH.search(name) is None


def _run_said(args: argparse.Namespace, console: Console, said: list[str], tally: Tally) -> int:
    """Observe texts of the command line as a user's messages."""
    if len(said) < len(args.files):
        raise InvalidInputError(
            f"{said[0]!r:.60} is a text, and other arguments are files",
            hint="observe the files with a command of their own",
        )
    messages = [changed(args, {"role": "user", "text": each, **scopes(args)}) for each in said]
    with open_store(args, create=True, durability=args.durability) as memory:
        _observe(args, console, memory, messages, tally)
    _say_observed(args, console, tally)
    return 0


def _observe(
    args: argparse.Namespace,
    console: Console,
    memory: Memory,
    messages: list[dict[str, Any]],
    tally: Tally,
) -> list[str]:
    messages = [observable(each, args.source) for each in messages]
    results = memory.observe_many(
        messages, timezone=args.timezone, dry_run=args.dry_run, scopes_from_message=True
    )
    tally.add(results)
    if args.explain:
        for message, result in zip(messages, results, strict=True):
            console.say(f"> {clean(str(message.get('text'))[:_SHOWN])}\n{result}")
    return ["new"] * len(results)


# Files of messages as commands read them: their options, and the import that these describe.

#: refused files and entries that are listed
_MOST_LISTED = 100


def refuse_working(args: argparse.Namespace, *, observes: bool = False) -> None:
    """Refuse the tier that ends with the command, and any where observing decides.

    Raises:
        InvalidInputError: it was asked for.
    """
    if args.tier in NOT_KEPT:
        raise InvalidInputError(
            "the working tier is kept in memory only, so it would be gone when this command ends",
            hint="choose episodic, semantic or procedural",
        )
    if observes and args.tier is not None:
        raise InvalidInputError(
            "observing decides itself in which tier it keeps what", hint="leave --tier out"
        )


def importing_of(args: argparse.Namespace, stack: contextlib.ExitStack) -> Importing:
    """The import that the arguments describe; standard input is copied, as it is read twice."""
    named = [(name, _readable(name, stack)) for name in args.files]
    return Importing(
        named,
        ImportOptions(
            change=partial(changed, args), **{name: getattr(args, name) for name in _OF_IMPORT}
        ),
    )


def changed(args: argparse.Namespace, message: dict[str, Any]) -> dict[str, Any]:
    """A message with the fields that the arguments set for all messages."""
    if args.tag:
        message["tags"] = [*(message.get("tags") or ()), *args.tag]
    if args.event_time and not message.get("event_time"):
        message["event_time"] = args.event_time
    for name in ("tier", "source"):
        if getattr(args, name):
            message[name] = getattr(args, name)
    return message


def _readable(name: str, stack: contextlib.ExitStack) -> Path:
    if name != "-":
        return Path(name)
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="spector-")))
    path = folder / "stdin"
    with open(path, "wb") as kept:
        for block in input_blocks():
            kept.write(block)
    return path


@contextlib.contextmanager
def probe(args: argparse.Namespace) -> Iterator[Memory]:
    """A memory that checks messages as the store will: the store, or an empty one of its kind."""
    import spector

    if os.path.exists(os.path.join(args.path, "catalog.db")):
        opened = open_store(args, "r")
    else:
        opened = spector.open(":memory:", embedder=chosen_embedder(args), timezone=args.timezone)
    with opened as memory:
        yield memory


def say_refused(importing: Importing, console: Console) -> int:
    """Say on stderr which files and entries were refused, and why; returns how many."""
    said: list[str] = []
    for report in importing.report.files:
        if report.error:
            said.append(
                f"not imported: {report.error}" + (f" ({report.hint})" if report.hint else "")
            )
        said += [f"skipped: {each}" for each in report.bad]
        said += [f"note: {each}" for each in report.notes]
    for line in said[:_MOST_LISTED]:
        console.note(line)
    if len(said) > _MOST_LISTED:
        console.note(f"and {len(said) - _MOST_LISTED:,} more, which --json lists")
    return sum(bool(report.error) for report in importing.report.files)


# What became of observed messages, counted.

#: what became of a message -> how the summary says it
_SAID: Final = {
    "created": "stored",
    "superseded": "replaced earlier ones",
    "contradicted": "contradict earlier ones",
    "elaborated": "add to earlier ones",
    "reinforced": "repeated what was known",
}
_CREATED: Final = {"contradicts": "contradicted", "elaborates": "elaborated"}


class Tally:
    """What became of messages, counted."""

    def __init__(self) -> None:
        self.messages = 0
        self.kept: Counter[str] = Counter()
        self.dropped: Counter[str] = Counter()
        self.flashbulbs = 0

    def add(self, results: Iterable[ObserveResult]) -> None:
        """Count more results."""
        for result in results:
            self.messages += 1
            if not result.units or all(each.action == "skip" for each in result.units):
                self.dropped[result.filter or result.reason or "importance"] += 1
            for unit in result.units:
                self.flashbulbs += unit.flashbulb
                if unit.action == "supersede":
                    self.kept["superseded"] += 1
                elif unit.action == "reinforce":
                    self.kept["reinforced"] += 1
                elif unit.action == "create":
                    self.kept[_CREATED.get(unit.relation or "", "created")] += 1

    def to_dict(self) -> dict[str, Any]:
        """As JSON writes it."""
        return {
            "messages": self.messages,
            **{name: self.kept[name] for name in _SAID},
            "flashbulbs": self.flashbulbs,
            "dropped": dict(self.dropped.most_common()),
        }

    def say(self, console: Console, *, dry_run: bool = False) -> None:
        """Print the summary."""
        would = "would be " if dry_run else ""
        console.say(f"{would}observed: {counted(self.messages, 'message')}")
        for name, said in _SAID.items():
            if self.kept[name]:
                console.say(f"  {self.kept[name]:>7,} {said}")
        if self.flashbulbs:
            console.say(f"  {self.flashbulbs:>7,} of them vivid, and pinned")
        if self.dropped:
            console.say(f"  {sum(self.dropped.values()):>7,} left out:")
            for name, count in self.dropped.most_common():
                console.say(f"  {count:>11,} {name.replace('_', ' ')}")
