"""Files of messages as commands read them, and what became of the messages."""

from __future__ import annotations

import argparse
import contextlib
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from spector.cli.options import positive_int, scopes
from spector.cli.output import Console
from spector.cli.streams import input_blocks
from spector.errors import ImportFormatError, InvalidInputError
from spector.importers import FORMATS, Message, detect_format, iter_messages
from spector.messages import counted

if TYPE_CHECKING:
    from spector import ObserveResult

__all__ = [
    "Tally", "add_durability", "add_reading", "changed", "count_messages", "files_of", "format_of",
    "read_messages", "readable",
]

#: endings of files that are read in a folder
_ENDINGS: Final = frozenset((".json", ".jsonl", ".md", ".markdown", ".txt", ".zip"))
#: what became of a message -> how the summary says it
_SAID: Final = {
    "created": "stored", "superseded": "replaced earlier ones",
    "contradicted": "contradict earlier ones", "elaborated": "add to earlier ones",
    "reinforced": "repeated what was known",
}  # fmt: skip
_CREATED: Final = {"contradicts": "contradicted", "elaborates": "elaborated"}


def add_reading(parser: argparse.ArgumentParser) -> None:
    """The options of commands that read files of messages."""
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


def count_messages(
    args: argparse.Namespace, path: Path, kind: str, name: str, broken: list[ImportFormatError]
) -> int:
    """Count the messages of a file, after checking that each can be remembered.

    Errors of conversations that are skipped are added to ``broken``.
    """
    from spector.config import Config
    from spector.write import make_draft

    config, number = Config(), 0
    for number, message in enumerate(read_messages(args, path, kind, broken.append), 1):
        fields = {key: value for key, value in message.items() if key != "vector"}
        try:
            make_draft(fields, {}, config=config, dim=1)
        except InvalidInputError as error:
            raise ImportFormatError(
                f"{name}, message {number}: {error.message}", hint=error.hint
            ) from error
    return number


def format_of(path: Path, wanted: str) -> str:
    """The format to read a file as; JSONL from `spector export` is recognized by its fields."""
    if wanted not in ("auto", "jsonl"):
        return wanted
    found = detect_format(path)
    return found if wanted == "auto" or found == "spector" else wanted


def changed(args: argparse.Namespace, message: dict[str, Any]) -> dict[str, Any]:
    """A message with the fields that the arguments set for all messages."""
    if args.tag:
        message["tags"] = [*(message.get("tags") or ()), *args.tag]
    if args.event_time and not message.get("event_time"):
        message["event_time"] = args.event_time
    for name in ("tier", "source"):
        if getattr(args, name):
            message[name] = getattr(args, name)
    return {**message, **scopes(args)}


def read_messages(
    args: argparse.Namespace, path: Path, kind: str,
    on_skip: Callable[[ImportFormatError], None] | None = None,
) -> Iterator[Message]:
    messages = iter_messages(path, kind, assume_utc=args.assume_utc, on_skip=on_skip)
    for message in islice(messages, args.limit):
        yield changed(args, message)


def readable(name: str, stack: contextlib.ExitStack) -> Path:
    """The path of a file; standard input is copied into one, because it is read twice."""
    if name != "-":
        return Path(name)
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="spector-")))
    path = folder / "stdin"
    with open(path, "wb") as kept:
        for block in input_blocks():
            kept.write(block)
    return path


def add_durability(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--durability",
        choices=("strict", "relaxed"),
        default="strict",
        help="relaxed is faster, but a power cut may lose the newest writes (default: strict)",
    )


def files_of(name: str, stack: contextlib.ExitStack) -> list[tuple[str, Path]]:
    """The files of an argument: itself, or what a folder holds."""
    path = readable(name, stack)
    if name == "-" or not path.is_dir():
        return [(name, path)]
    found = sorted(
        each for each in path.rglob("*") if each.is_file() and each.suffix.lower() in _ENDINGS
    )
    if not found:
        raise ImportFormatError(
            f"{name}: no file of messages in this folder",
            hint=f"its files end in {', '.join(sorted(_ENDINGS))}; name others one by one",
        )
    return [(str(each), each) for each in found]


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
            "messages": self.messages, **{name: self.kept[name] for name in _SAID},
            "flashbulbs": self.flashbulbs, "dropped": dict(self.dropped.most_common()),
        }  # fmt: skip

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
