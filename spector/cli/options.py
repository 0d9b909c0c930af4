"""Arguments shared by several commands, and the functions that parse their values."""

from __future__ import annotations

import argparse
import heapq
import json
import os
import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from spector.clock import to_ms
from spector.errors import InvalidInputError, InvalidTimeError

if TYPE_CHECKING:
    from spector.memory import Memory
    from spector.records import MemoryRecord


SCOPE_NAMES: Final = ("user_id", "agent_id", "session_id")


#: seconds that a command waits for another writer, unless --wait says otherwise
_WAIT_S: Final = 5.0


def add_path(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("path", metavar="PATH", type=expand_home, help="directory of the store")


def expand_home(text: str) -> str:
    """A path with ``~`` expanded; the shell does not expand it in ``--repair=~/saved``."""
    if not text.startswith("~"):
        return text
    from spector.arguments import without_tilde

    try:
        return without_tilde(text, "path")
    except InvalidInputError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def add_zone(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--tz",
        metavar="ZONE",
        dest="timezone",
        help='zone of "yesterday", of days and of shown times: Europe/Istanbul, +03:00 (default: UTC)',
    )


def add_embedder(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--embedder",
        metavar="NAME",
        default=None,
        help="default (offline), openai, openai:MODEL or none; otherwise $SPECTOR_EMBEDDER is used",
    )


def add_durability(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--durability",
        choices=("strict", "relaxed"),
        default="strict",
        help="relaxed is faster, but a power cut may lose the newest writes (default: strict)",
    )


def add_wait(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--wait",
        type=seconds,
        metavar="SECONDS",
        default=None,
        help=f"wait so long for another writer, in turn; 0: not at all (default: {_WAIT_S:g})",
    )


def wait_of(args: argparse.Namespace) -> float:
    """The seconds that a command waits for another writer."""
    given: float | None = getattr(args, "wait", None)
    return _WAIT_S if given is None else given


def add_scopes(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("scope")
    group.add_argument("--user", metavar="ID", dest="user_id", help="user id")
    group.add_argument("--agent", metavar="ID", dest="agent_id", help="agent id")
    group.add_argument("--session", metavar="ID", dest="session_id", help="session id")


def scopes(args: argparse.Namespace) -> dict[str, str]:
    """The scope arguments of the command line."""
    given = {name: getattr(args, name) for name in SCOPE_NAMES}
    return {name: value for name, value in given.items() if value is not None}


def add_key(parser: argparse.ArgumentParser, what: str) -> None:
    """Add the arguments of :func:`key_of`."""
    parser.add_argument("--key", metavar="KEY", help=what)
    parser.add_argument(
        "--namespace",
        metavar="LABEL",
        action="append",
        default=[],
        help="label of the namespace that the key is of (repeatable, outermost first)",
    )


def key_of(args: argparse.Namespace) -> dict[str, Any]:
    """The arguments of ``add_key`` as keywords of verbs that take a key."""
    if args.key is None:
        if args.namespace:
            raise InvalidInputError("--namespace was given without --key", hint="pass both")
        return {}
    return {"key": args.key, "namespace": tuple(args.namespace)}


def add_attach(parser: argparse.ArgumentParser) -> None:
    """Add the argument of :func:`attached`."""
    parser.add_argument(
        "--attach",
        metavar="FILE",
        type=Path,
        help='keep the bytes of a file with it; the text may then be ""',
    )


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


def add_limit(parser: argparse.ArgumentParser, what: str = "most to show", usual: int = 20) -> None:
    parser.add_argument(
        "-n",
        "--limit",
        type=positive_int,
        default=usual,
        metavar="N",
        help=f"{what} (default: {usual})",
    )


def add_ids(parser: argparse.ArgumentParser, what: str = "ids of memories") -> None:
    parser.add_argument("ids", metavar="ID", nargs="+", type=record_id, help=what)


def add_selection(parser: argparse.ArgumentParser, *, recorded: bool = True) -> None:
    """Add the arguments of :func:`selection`, scopes included.

    ``recorded``: also --stored-before, for commands that read every memory themselves.
    """
    group = parser.add_argument_group("selection")
    group.add_argument(
        "-t", "--tag", action="append", default=[], help="has this tag (repeated: all)"
    )
    group.add_argument("--any-tag", action="append", default=[], help="has one of these tags")
    group.add_argument("--tier", action="append", default=[], help="is in this tier (repeatable)")
    add_sorts(group)
    group.add_argument("--where", type=json_object, metavar="JSON", help="filter on the metadata")
    group.add_argument(
        "--key-prefix",
        metavar="TEXT",
        help='has a key that begins so ("": any), in --in-namespace, or else in no namespace',
    )
    add_namespace(group)
    group.add_argument("--since", type=time, metavar="TIME", help="event at or after this time")
    group.add_argument("--before", type=time, metavar="TIME", help="event before this time")
    if recorded:
        group.add_argument(
            "--stored-before", type=time, metavar="TIME", help="recorded before this time, ISO 8601"
        )
    add_zone(parser)
    add_scopes(parser)


def add_sorts(parser: argparse._ActionsContainer) -> None:
    """Add --sort, which may be given several times."""
    parser.add_argument(
        "--sort",
        action="append",
        default=[],
        metavar="NAME",
        help="is of this sort, drawn from others or not: fact, concept, theme (repeatable)",
    )


def add_namespace(parser: argparse._ActionsContainer) -> None:
    """Add the arguments of :func:`namespace_of`."""
    parser.add_argument(
        "--in-namespace",
        metavar="LABEL",
        action="append",
        default=[],
        help="has a key of the namespace with these labels (repeatable, outermost first)",
    )
    parser.add_argument(
        "--below", action="store_true", help="or of a namespace within that one; alone: any key"
    )


def namespace_of(args: argparse.Namespace) -> dict[str, Any]:
    """The arguments of ``add_namespace`` as keywords of verbs that select."""
    given: dict[str, Any] = {"namespace": tuple(args.in_namespace), "below": args.below}
    return given if any(given.values()) else {}


def selection(args: argparse.Namespace) -> dict[str, Any]:
    """The arguments of ``add_selection`` as keywords of ``Memory.records``.

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


def add_fields(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of :func:`given_fields`: the fields of a memory besides its text."""
    parser.add_argument("-t", "--tag", action="append", default=[], help="tag (repeatable)")
    parser.add_argument("--importance", type=unit, metavar="0..1", help="how much it matters")
    parser.add_argument("--valence", type=signed_unit, metavar="-1..1", help="bad to good mood")
    parser.add_argument("--arousal", type=unit, metavar="0..1", help="calm to excited")
    parser.add_argument("--confidence", type=unit, metavar="0..1", help="how far it can be trusted")
    for name, what in (
        ("event-time", "when it happened"),
        ("valid-from", "when it becomes true"),
        ("valid-until", "when it stops being true"),
    ):
        parser.add_argument(f"--{name}", metavar="TIME", help=f"{what}, ISO 8601 with a zone")
    parser.add_argument(
        "--expires-in", type=float, metavar="SECONDS", help="when it expires and is erased"
    )
    parser.add_argument("--expires-at", metavar="TIME", help="the same, ISO 8601 with a zone")
    parser.add_argument(
        "--refresh",
        action="store_const",
        const=True,
        help="with --expires-in: each use (recall --learn) begins it anew",
    )
    parser.add_argument(
        "--if-revision",
        type=int,
        metavar="N",
        help="only if the memory with the key has this revision; 0: if there is none",
    )
    parser.add_argument("--metadata", type=json_object, metavar="JSON", help="a JSON object")
    parser.add_argument("--role", help="role of the speaker: user, assistant, ...")
    parser.add_argument("--source", help="document, tool or page it comes from")
    parser.add_argument(
        "--alias",
        metavar="NAME",
        action="append",
        default=[],
        help="a name that recall finds it by, one typo allowed (repeatable)",
    )
    add_zone(parser)


def given_fields(args: argparse.Namespace) -> dict[str, Any]:
    """The arguments of ``add_fields`` as keywords of ``Memory.remember``."""
    names = tuple(
        """importance valence arousal confidence event_time valid_from valid_until metadata role source
        expires_in expires_at refresh if_revision""".split()
    )
    fields = {name: getattr(args, name) for name in names if getattr(args, name) is not None}
    several = {"tags": args.tag, "aliases": args.alias}
    return {**fields, **{name: given for name, given in several.items() if given}}


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


def seconds(text: str) -> float:
    """Seconds of at most a day."""
    return _number(text, 0.0, 86_400.0)


def unit(text: str) -> float:
    """A number in 0..1."""
    return _number(text, 0.0, 1.0)


def signed_unit(text: str) -> float:
    """A number in -1..1."""
    return _number(text, -1.0, 1.0)


def _number(text: str, low: float, high: float) -> float:
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


@dataclass(slots=True)
class Sample:
    """The result of a selection: count, ids, and some memories to show."""

    count: int = 0
    first: list[MemoryRecord] = field(default_factory=list)
    ids: list[int] = field(default_factory=list)
    #: pinned and immutable ones, which a selection keeps; not counted with the others
    protected: list[MemoryRecord] = field(default_factory=list)


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


def sample(records: Iterable[MemoryRecord], size: int, *, with_protected: bool) -> Sample:
    """Count memories; keep all ids and the first ``size`` memories.

    ``with_protected``: count pinned and immutable memories like the others.
    """
    found = Sample()
    for record in records:
        if not with_protected and (record.pinned or record.immutable):
            found.protected.append(record)
            continue
        found.count += 1
        found.ids.append(record.id)
        if len(found.first) < size:
            found.first.append(record)
    return found
