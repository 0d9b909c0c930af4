"""What commands take: their arguments as tables, and the functions that parse the values."""

from __future__ import annotations

import argparse
import heapq
import json
import os
import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from datetime import date, timedelta
from functools import partial
from inspect import cleandoc
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from spector.clock import to_ms
from spector.errors import InvalidInputError, InvalidTimeError

if TYPE_CHECKING:
    from spector.memory import Memory
    from spector.records import MemoryRecord


#: seconds that a command waits for another writer, unless --wait says otherwise
_WAIT_S: Final = 5.0


class Arguments:
    """The arguments of a command, and what its help says.

    A line of the table is an argument, two blanks, and its help, which may go on in lines that are
    indented: ``-n/--limit N:count=20  most to show``. Behind the name stands what a value is called
    (none for a switch), how often it may be given (``?``, ``+``, ``*``), its kind, and its default.
    A kind is a function that parses, or the values that there are; those may also stand in place of
    the name of a value: ``strict|relaxed``. ``>name`` is the attribute that gets the value, and
    ``>name=word`` of a switch that word. ``[title]`` begins a group, ``(one of)`` one whose arguments
    exclude each other, and ``[]`` ends it. ``@name`` stands for lines of ``SHARED``.

    Args:
        about: the description; one that begins with "+" follows the line of the command's help.
        kinds: further kinds, made when they are needed.
        raw: the description has lines of its own.
        json: what --json prints; "" for a command without it.
    """

    def __init__(
        self,
        about: str,
        table: str = "",
        *,
        kinds: Callable[[], Mapping[str, Any]] = dict,
        raw: bool = False,
        json: str = "one JSON document on stdout",
    ) -> None:
        self._about, self._table, self._kinds = about, table, kinds
        self._raw, self._json = raw, json

    def add_to(self, parser: argparse.ArgumentParser) -> None:
        """Add the arguments and the description to a parser."""
        before = f"{parser.description} " if self._about.startswith("+") else ""
        parser.description = before + self._about.removeprefix("+")
        if self._raw:
            parser.formatter_class = argparse.RawDescriptionHelpFormatter
        kinds = {**KINDS, **self._kinds()}
        into: argparse._ActionsContainer = parser
        for line in _lines_of(self._table):
            if line == "(one of)":
                into = parser.add_mutually_exclusive_group()
            elif line.startswith("["):
                into = parser.add_argument_group(line[1:-1]) if line != "[]" else parser
            else:
                _add(into, line, kinds)
        parser.set_defaults(as_json=False)
        if self._json:
            _add(parser, f"--json >as_json  print {self._json}", {})


def _lines_of(table: str) -> Iterator[str]:
    """The lines of a table, with those that it shares, and each help on its line."""
    for line in re.sub(r"\n +", " ", cleandoc(table)).splitlines():
        if line.startswith("@"):
            yield from _lines_of(SHARED[line[1:]])
        else:
            yield line


#: what a value is called, how often it may be given, its kind, its default
_VALUE: Final = re.compile(r"(.*?)([*+?]?)(?::(\w+))?(?:=(.*))?")


def _add(into: argparse._ActionsContainer, line: str, kinds: Mapping[str, Any]) -> None:
    head, _, about = line.partition("  ")
    first, *values = head.split()
    how: dict[str, Any] = {"help": about.strip()}
    if values and values[-1].startswith(">"):
        how["dest"], _, word = values.pop()[1:].partition("=")
        if word:
            how |= {"action": "store_const", "const": word}
    is_option = first.startswith("-")
    if not values and is_option:
        into.add_argument(*first.split("/"), **{"action": "store_true", **how})
        return
    found = _VALUE.fullmatch(values[-1] if values else first)
    assert found is not None, line
    called, often, kind, default = found.groups()
    named = (*values[:-1], called)
    how["metavar"] = (named if len(named) > 1 else called) or None
    if len(named) > 1:
        how["nargs"] = len(named)
    elif often == "*" and is_option:
        how |= {"action": "append", "default": []}
    elif often:
        how["nargs"] = often
    elif called == argparse.REMAINDER:
        how["nargs"] = argparse.REMAINDER
    if "|" in called:
        how |= {"metavar": None, "choices": tuple(called.split("|"))}
    if kind is not None:
        how["type" if callable(kinds[kind]) else "choices"] = kinds[kind]
    if default is not None:
        how["default"] = default
    names = first.split("/") if is_option else [first if values else called.lower()]
    into.add_argument(*names, **how)


#: name -> lines that tables share
SHARED: Final = {
    "path": "PATH:path  directory of the store",
    "zone": """
        --tz ZONE >timezone  zone of "yesterday", of days and of shown times: Europe/Istanbul,
            +03:00 (default: UTC)""",
    "embedder": """
        --embedder NAME  default (offline), openai, openai:MODEL or none; otherwise
            $SPECTOR_EMBEDDER is used""",
    "durability": """
        --durability strict|relaxed=strict  relaxed is faster, but a power cut may lose the newest
            writes (default: strict)""",
    "wait": f"""
        --wait SECONDS:seconds  wait so long for another writer, in turn; 0: not at all
            (default: {_WAIT_S:g})""",
    "owner": """
        [scope]
        --user ID >user_id  user id
        --agent ID >agent_id  agent id""",
    "scopes": """
        @owner
        --session ID >session_id  session id
        []""",
    "label": """
        --namespace LABEL*  label of the namespace that the key is of (repeatable, outermost
            first)""",
    "attach": """
        --attach FILE:file  keep the bytes of a file with it; the text may then be \"\"""",
    "most": "-n/--limit N:count=20  most to show (default: 20)",
    "sorts": """
        --sort NAME*  is of this sort, drawn from others or not: fact, concept, theme
            (repeatable)""",
    "namespace": """
        --in-namespace LABEL*  has a key of the namespace with these labels (repeatable, outermost
            first)
        --below  or of a namespace within that one; alone: any key""",
    # the arguments of `selection` without scopes; the group goes on
    "filters": """
        [selection]
        -t/--tag TAG*  has this tag (repeated: all)
        --any-tag ANY_TAG*  has one of these tags
        --tier TIER*  is in this tier (repeatable)
        @sorts
        --where JSON:json  filter on the metadata
        --key-prefix TEXT  has a key that begins so ("": any), in --in-namespace, or else in no
            namespace
        @namespace
        --since TIME:time  event at or after this time
        --before TIME:time  event before this time""",
    # for commands that read every memory themselves
    "selection": """
        @filters
        --stored-before TIME:time  recorded before this time, ISO 8601
        []
        @zone
        @scopes""",
    # of recall and context: arguments of ``Memory.recall``
    "question": """
        CUE?  question or text to find memories for; - is stdin
        -t/--tag TAG*  require this tag
        --any-tag ANY_TAG*  require one of these tags
        --tier TIER*  only this tier (repeatable)
        --since TIME  events at or after this time, ISO 8601
        --until TIME  events before this time, or up to the end of this day
        @zone
        --as-of TIME  memories valid at this time, ISO 8601
        --include superseded|dormant|quarantined*  also memories in this state, which are skipped
            otherwise (repeatable)
        --min-importance 0..1:unit  only memories of at least this importance, and pinned ones
        --valence MIN MAX:signed_unit  only memories with a valence in this range
        --where JSON:json  filter on the metadata
        @namespace
        --profile PROFILE  scoring profile to rank by (default: balanced)
        --exact  compare every vector, use no index
        --no-lexical  rank without the words of the cue
        --learn  count the hits as used""",
    # of commands that read files of messages
    "reading": """
        --format :format=auto  default: by content
        -t/--tag TAG*  add this tag to all
        --tier TIER  store everything in this tier
        --source SOURCE  set the source of every message
        --me NAME  who of several people the user is
        --event-time TIME  time of entries that have none
        --tz ZONE >timezone  zone of times without one: Europe/Istanbul, +03:00
        --assume-utc  read times without a zone as UTC
        --skip-bad  list files and entries that cannot be read, and store the rest
        --limit N:count  store at most N messages per file
        --scopes-from-message  store each message for the user and agent that the file names""",
    # of commands for agents
    "store": """
        STORE?:path  its directory
        --user ID >user_id  only this user's memories
        --agent ID >agent_id  only this agent's memories""",
    # the fields of a memory besides its text, for `given_fields`
    "fields": """
        -t/--tag TAG*  tag (repeatable)
        --importance 0..1:unit  how much it matters
        --valence -1..1:signed_unit  bad to good mood
        --arousal 0..1:unit  calm to excited
        --confidence 0..1:unit  how far it can be trusted
        --event-time TIME  when it happened, ISO 8601 with a zone
        --valid-from TIME  when it becomes true, ISO 8601 with a zone
        --valid-until TIME  when it stops being true, ISO 8601 with a zone
        --expires-in SECONDS:float  when it expires and is erased
        --expires-at TIME  the same, ISO 8601 with a zone
        --refresh  with --expires-in: each use (recall --learn) begins it anew
        --if-revision N:int  only if the memory with the key has this revision; 0: if there is none
        --metadata JSON:json  a JSON object
        --role ROLE  role of the speaker: user, assistant, ...
        --source SOURCE  document, tool or page it comes from
        --alias NAME*  a name that recall finds it by, one typo allowed (repeatable)
        @zone""",
}


def expand_home(text: str) -> str:
    """A path with ``~`` expanded; the shell does not expand it in ``--repair=~/saved``."""
    if not text.startswith("~"):
        return text
    from spector.arguments import without_tilde

    try:
        return without_tilde(text, "path")
    except InvalidInputError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def wait_of(args: argparse.Namespace) -> float:
    """The seconds that a command waits for another writer."""
    given: float | None = getattr(args, "wait", None)
    return _WAIT_S if given is None else given


def scopes(args: argparse.Namespace) -> dict[str, Any]:
    """The scope arguments of the command line; ``@owner`` has no session."""
    given = {"user_id": args.user_id, "agent_id": args.agent_id}
    given["session_id"] = getattr(args, "session_id", None)
    return {name: value for name, value in given.items() if value is not None}


def key_of(args: argparse.Namespace) -> dict[str, Any]:
    """--key and --namespace as keywords of verbs that take a key."""
    if args.key is None:
        if args.namespace:
            raise InvalidInputError("--namespace was given without --key", hint="pass both")
        return {}
    return {"key": args.key, "namespace": tuple(args.namespace)}


def attached(args: argparse.Namespace) -> dict[str, bytes]:
    """The bytes that are to be attached, as a keyword of ``Memory.remember``."""
    path: Path | None = args.attach
    if path is None:
        return {}
    try:
        return {"attachment": path.read_bytes()}
    except OSError as error:
        raise InvalidInputError(
            f"{path} cannot be read: {error.strerror}", hint="name a file that can be read"
        ) from None


def refuse_both(args: argparse.Namespace, names: object) -> None:
    """Raise unless either an ID or --key was given."""
    if bool(names) == (args.key is not None):
        raise InvalidInputError("an ID or --key is needed", hint="pass one of the two")


def namespace_of(args: argparse.Namespace) -> dict[str, Any]:
    """The arguments of ``@namespace`` as keywords of verbs that select."""
    given: dict[str, Any] = {"namespace": tuple(args.in_namespace), "below": args.below}
    return given if any(given.values()) else {}


def selection(args: argparse.Namespace) -> dict[str, Any]:
    """The arguments of ``@selection`` as keywords of ``Memory.records``.

    --stored-before is not included, because the library has no such argument.
    """
    given: dict[str, Any] = {
        "tags": args.tag,
        "any_tags": args.any_tag,
        "tiers": args.tier,
        "where": args.where,
        "sorts": args.sort,
        "time_range": (args.since, args.before) if args.since or args.before else None,
    }
    keys = {} if args.key_prefix is None else {"key_prefix": args.key_prefix}
    given = {name: value for name, value in given.items() if value}
    return {**given, **keys, **namespace_of(args), **scopes(args)}


def given_fields(args: argparse.Namespace) -> dict[str, Any]:
    """The arguments of ``@fields`` as keywords of ``Memory.remember``."""
    names = tuple(
        """importance valence arousal confidence event_time valid_from valid_until metadata role source
        expires_in expires_at refresh if_revision""".split()
    )
    fields = {name: getattr(args, name) for name in names}
    fields |= {"tags": args.tag or None, "aliases": args.alias or None}
    return {
        name: value for name, value in fields.items() if value is not None and value is not False
    }


def time(text: str) -> str:
    """An ISO 8601 date or time with a zone."""
    try:
        to_ms(text)
    except InvalidTimeError as error:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a date or a time with a zone; write it like 2026-05-04 or"
            " 2026-05-04T17:30:00Z"
        ) from error
    return text


def end_of(text: str | None) -> str | None:
    """A time, or of a day without a time the day after it, which it ends before."""
    if text is None or len(text.strip()) != 10:
        return text
    try:
        return (date.fromisoformat(text.strip()) + timedelta(days=1)).isoformat()
    except (ValueError, OverflowError):
        return text  # refused by its own name


def positive_int(text: str) -> int:
    """A positive whole number."""
    value = int(text) if text.strip().isdigit() else 0
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a positive whole number")
    return value


def record_id(text: str) -> int:
    """The id of a record."""
    if not text.isdigit():
        raise argparse.ArgumentTypeError(f"{text!r} is not a memory id; ids are whole numbers")
    return int(text)


def superseded_id(text: str) -> int | str:
    """The id of a record, or "auto"."""
    return text if text == "auto" else record_id(text)


def _number(low: float, high: float, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not low <= value <= high:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from {low:g} to {high:g}")
    return value


def json_object(text: str) -> dict[str, Any]:
    """A JSON object."""
    try:
        value = json.loads(text)
    except json.JSONDecodeError as exc:
        raise argparse.ArgumentTypeError(f"not JSON: {exc.msg} at column {exc.colno}") from exc
    except (RecursionError, ValueError) as exc:  # nested too deeply, or too many digits
        raise argparse.ArgumentTypeError(f"not JSON of a sane size: {str(exc)[:80]}") from exc
    if not isinstance(value, dict):
        raise argparse.ArgumentTypeError('expected a JSON object such as \'{"key": "value"}\'')
    return value


#: kind of a value -> what parses it
KINDS: Final[Mapping[str, Callable[[str], Any]]] = {
    "path": expand_home,
    "file": Path,
    "time": time,
    "count": positive_int,
    "id": record_id,
    "int": int,
    "float": float,
    "seconds": partial(_number, 0.0, 86_400.0),  # at most a day
    "unit": partial(_number, 0.0, 1.0),
    "signed_unit": partial(_number, -1.0, 1.0),
    "json": json_object,
}


def open_store(
    args: argparse.Namespace,
    mode: Literal["rw", "r"] = "rw",
    *,
    create: bool = False,
    **options: Any,
) -> Memory:
    """The store at ``args.path``, with the days of the zone that the arguments name.

    Commands that do not embed open it without an embedder.

    Raises:
        StoreNotFoundError: there is no store, and the command does not create one.
    """
    if not create:
        require_store(args.path)
    import spector

    embedder = chosen_embedder(args) if hasattr(args, "embedder") else None
    options.setdefault("timezone", getattr(args, "timezone", None))
    return spector.open(args.path, mode=mode, embedder=embedder, wait=wait_of(args), **options)


def require_store(path: str, *, existing: bool = False) -> None:
    """Raise if the path has no store, before anything creates one there.

    ``existing``: do not suggest to create one, as for a backup that is to be restored.
    """
    if os.path.exists(os.path.join(path, "catalog.db")):
        return
    from spector.store.opening import no_store_at

    if existing or os.path.exists(path):  # Path.exists raises if a name is too long
        raise no_store_at(path)
    raise no_store_at(
        path, f'create one: spector remember {shlex.quote(path)} "something worth keeping"'
    )


def chosen_embedder(args: argparse.Namespace) -> str | None:
    """The embedder of the command line, the environment, or the default; None for "none"."""
    name: str = args.embedder or os.environ.get("SPECTOR_EMBEDDER") or "default"
    return None if name == "none" else name


# The memories that a command selects: thin functions over ``Memory``.


def iter_selected(
    memory: Memory, selection: Mapping[str, Any], stored_before: str | None = None
) -> Iterator[MemoryRecord]:
    """Memories of a selection by ascending id, optionally only those recorded before a time."""
    if stored_before is None:
        yield from memory.records(**selection)
        return
    end_ms = to_ms(stored_before)
    # a walk over all memories first proves that damage hides none; one by tag or scope does not
    next(memory.records(), None)
    for record in memory.records(**selection):
        if record.recorded_ms < end_ms:
            yield record


def newest(
    memory: Memory, selection: Mapping[str, Any], stored_before: str | None, limit: int
) -> tuple[list[MemoryRecord], int]:
    """The memories with the latest events, latest first, and the number of all."""
    count = 0

    def counting() -> Iterator[MemoryRecord]:
        nonlocal count
        for record in iter_selected(memory, selection, stored_before):
            count += 1
            yield record

    found = heapq.nlargest(limit, counting(), key=lambda record: (record.event_ms, record.id))
    return found, count
