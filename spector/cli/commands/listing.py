"""Commands that show memories without a cue: list, get, count, users, history."""

from __future__ import annotations

import argparse
import json
import sys
from functools import partial
from typing import TYPE_CHECKING, Any

from spector.cli.memory_table import day, show_memories, speaker_label, state_of
from spector.cli.options import (
    add_key,
    add_limit,
    add_path,
    add_scopes,
    add_selection,
    add_sorts,
    add_wait,
    add_zone,
    iter_selected,
    key_of,
    newest,
    open_store,
    positive_int,
    record_id,
    refuse_both,
    scopes,
    selection,
)
from spector.cli.output import Console, clean, wrap
from spector.errors import InvalidInputError
from spector.messages import counted

if TYPE_CHECKING:
    from spector.records import MemoryRecord


def add_list(parser: argparse.ArgumentParser) -> None:
    parser.description = """List all memories, or those of a selection, the latest event first, or
    with --stored the last stored first, page by page. Superseded memories are included and marked.
    Exit code 1: no memory matches."""
    add_path(parser)
    add_limit(parser, "most memories to show")
    parser.add_argument("--full", action="store_true", help="print whole texts")
    parser.add_argument(
        "--stored", action="store_true", help="by the time of storing instead, the last first"
    )
    parser.add_argument(
        "--after",
        metavar="ID",
        type=record_id,
        help="with --stored: the page behind this memory, the last of the page before",
    )
    add_selection(parser)
    parser.add_argument(
        "--json",
        action="store_true",
        dest="as_json",
        help="print one JSON document per line and memory",
    )


def run_list(args: argparse.Namespace, console: Console) -> int:
    chosen, paged = selection(args), args.stored or args.after is not None
    if paged and args.stored_before is not None:
        raise InvalidInputError(
            "--stored and --stored-before were given", hint="begin a page with --after ID"
        )
    with open_store(args, "r") as memory:
        if paged:
            found = list(
                memory.records(after=args.after, limit=args.limit, newest_first=True, **chosen)
            )
            count = len(found)
        else:
            found, count = newest(memory, chosen, args.stored_before, args.limit)
    if console.as_json:
        for record in found:
            console.data(json.dumps(record.to_dict(), ensure_ascii=False))
    if not found:
        console.note("no memory matches")
        return 1
    if not console.as_json:
        show_memories(console, found, full=args.full, protected=True, users=args.user_id is None)
    if paged and len(found) == args.limit:
        console.say()
        console.say(f"the next page: --stored --after {found[-1].id}")
    if len(found) < count:
        console.say()
        console.say(f"the newest {len(found)} of {count}; --limit shows more")
    return 0


def add_dormant(parser: argparse.ArgumentParser) -> None:
    parser.description = """List the memories that spector retire or sleep has put to rest, the
    latest event first: since when and by which rule of sleep, where it was sleep. They are kept,
    but recalls leave them out; spector reactivate brings them back. Exit code 1: there is none."""
    add_path(parser)
    add_limit(parser, "most memories to show")
    add_scopes(parser)
    add_zone(parser)


def run_dormant(args: argparse.Namespace, console: Console) -> int:
    whose: dict[str, Any] = scopes(args)
    with open_store(args, "r") as memory:
        found = [each for each in memory.records(include=["dormant"], **whose) if each.dormant]
    newest_first = sorted(found, key=lambda each: (-each.event_ms, -each.id))[: args.limit]
    console.document({"memories": newest_first, "dormant": len(found)})
    if not found:
        console.note("no memory is dormant")
        return 1
    if not console.as_json:
        show_memories(console, newest_first, protected=True, users=args.user_id is None)
    if len(newest_first) < len(found):
        console.say()
        console.say(f"the newest {len(newest_first)} of {len(found)}; --limit shows more")
    return 0


def add_hot(parser: argparse.ArgumentParser) -> None:
    parser.description = """List the memories that have proved themselves, the most useful first:
    semantic, active, of a utility of 0.8 or more, used ten times or more, recorded in the last 30
    days. Exit code 1: there is none."""
    add_path(parser)
    parser.add_argument(
        "-n",
        "--limit",
        type=positive_int,
        default=None,
        metavar="N",
        help="most memories to show (default: 15)",
    )
    add_scopes(parser)


def run_hot(args: argparse.Namespace, console: Console) -> int:
    with open_store(args, "r") as memory:
        found = memory.hot(limit=args.limit, **scopes(args))
    console.document({"memories": found})
    if not found:
        console.note("no memory is hot")
        return 1
    if not console.as_json:
        show_memories(console, found, protected=True, users=args.user_id is None)
    return 0


def add_get(parser: argparse.ArgumentParser) -> None:
    parser.description = """Show a memory with all its fields. With --user, --agent or --session, a
    memory of another scope counts as unknown: exit code 2."""
    add_path(parser)
    parser.add_argument("id", metavar="ID", nargs="?", type=record_id, help="id of a memory")
    add_key(parser, "its key, in place of ID")
    add_zone(parser)
    parser.add_argument(
        "--attachment", action="store_true", help="print what is attached to it, and nothing else"
    )
    add_scopes(parser)


def run_get(args: argparse.Namespace, console: Console) -> int:
    key = key_of(args)
    refuse_both(args, args.id is not None)
    with open_store(args, "r") as memory:
        record = memory.get(args.id, **key, **scopes(args))
        attached = record.attachment() if args.attachment else None
    if args.attachment:
        return _print_attachment(record, attached)
    console.document(record)
    if not console.as_json:
        show_record(console, record)
    return 0


def _print_attachment(record: MemoryRecord, attached: Any) -> int:
    """Write bytes as they are, and a JSON value as JSON."""
    if record.attachment_bytes is None:
        raise InvalidInputError(
            f"nothing is attached to memory {record.id}",
            hint="attach something: spector remember PATH TEXT --attach FILE",
        )
    is_bytes = isinstance(attached, bytes)
    data = attached if is_bytes else json.dumps(attached, ensure_ascii=False).encode() + b"\n"
    sys.stdout.flush()
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()
    return 0


def show_record(console: Console, record: MemoryRecord) -> None:
    """Print every field that is set, then the text, line by line."""
    values = record.to_dict()
    when = partial(day, zone=console.zone)
    shown: dict[str, Any] = {
        "id": record.id,
        "tier": record.tier,
        "state": state_of(record, protected=True, zone=console.zone),
        "who": speaker_label(record),
        "user": record.user_id,
        "agent": record.agent_id,
        "session": record.session_id,
        "happened": when(record.event_time),
        "recorded": when(record.recorded_at),
        "valid from": when(record.valid_from),
        "valid until": when(record.valid_until),
        "tags": record.tags,
        "key": record.key,
        "namespace": record.namespace,
        "revision": record.revision or None,
        "expires": when(record.expires_at),
        "attachment": None
        if record.attachment_bytes is None
        else counted(record.attachment_bytes, "byte", commas=True),
    }
    names = tuple(
        """confidence importance valence arousal stability_days utility access_count category modality
        parents supersedes superseded_by metadata""".split()
    )
    shown |= {name.replace("_", " "): values[name] for name in names}
    console.pairs(
        {name: value for name, value in shown.items() if value not in (None, "", (), [], {})}
    )
    console.say()
    for line in record.text.splitlines():
        for part in wrap(clean(line), console.width - 2):
            console.say(f"  {part}".rstrip())


def add_count(parser: argparse.ArgumentParser) -> None:
    parser.description = "Count the memories of a store, or those of a selection."
    add_path(parser)
    add_selection(parser)


def run_count(args: argparse.Namespace, console: Console) -> int:
    with open_store(args, "r") as memory:
        chosen = selection(args)
        if args.stored_before is None:
            number = memory.count(**chosen)
        else:
            number = sum(1 for _ in iter_selected(memory, chosen, args.stored_before))
    console.document({"count": number})
    console.say(str(number))
    return 0


def add_users(parser: argparse.ArgumentParser) -> None:
    parser.description = """List the users of a store with their memory counts and the times of
    their first and last event. Memories without a user are not counted. Exit code 1: there are no
    users."""
    add_path(parser)
    add_sorts(parser)
    add_zone(parser)


def run_users(args: argparse.Namespace, console: Console) -> int:
    with open_store(args, "r") as memory:
        users = memory.users(sorts=args.sort or None)
    code = console.listing(
        "users",
        users,
        "no memory has a user",
        "user~ | >memories | first | last",
        lambda each: (
            each.id,
            each.count,
            *(day(at, console.zone) for at in (each.first, each.last)),
        ),
    )
    if users:
        console.say()
        console.say(counted(len(users), "user"))
    return code


def add_namespaces(parser: argparse.ArgumentParser) -> None:
    parser.description = """List the namespaces that memories have keys of, with their counts. The
    first line, without labels, is that of keys in no namespace. Exit code 1: no memory has a
    key."""
    add_path(parser)
    parser.add_argument(
        "--in-namespace",
        metavar="LABEL",
        action="append",
        default=[],
        help="only the one with these labels, and those within it (repeatable, outermost first)",
    )
    parser.add_argument(
        "--depth", type=positive_int, metavar="N", help="cut to so many labels, counted together"
    )
    add_scopes(parser)


def run_namespaces(args: argparse.Namespace, console: Console) -> int:
    with open_store(args, "r") as memory:
        given: dict[str, Any] = {"depth": args.depth, **scopes(args)}
        found = memory.namespaces(tuple(args.in_namespace), **given)
    console.document({"namespaces": [each._asdict() for each in found]})
    if not found:
        console.note("no memory has a key there")
        return 1
    rows = [(each.count, " / ".join(each.namespace)) for each in found]
    console.table(">memories | namespace~", rows)
    console.say()
    console.say(counted(len(found), "namespace"))
    return 0


# Commands about superseded memories: history, reinstate.


def add_history(parser: argparse.ArgumentParser) -> None:
    parser.description = """Show a memory with all memories that it supersedes and all that
    supersede it, oldest first. Forgotten memories are not shown."""
    add_path(parser)
    parser.add_argument("id", metavar="ID", type=record_id, help="any version of the memory")
    add_zone(parser)
    add_scopes(parser)


def run_history(args: argparse.Namespace, console: Console) -> int:
    with open_store(args, "r") as memory:
        records = memory.history(args.id, **scopes(args))
    console.document({"history": records})
    console.table(
        "id | from | until | superseded by | text~",
        [
            (
                record.id,
                day(record.valid_from or record.event_time, console.zone),
                day(record.valid_until, console.zone),
                ", ".join(map(str, record.superseded_by))
                or ("forgotten" if record.superseded else ""),
                clean(record.text),
            )
            for record in records
        ],
    )
    return 0


def add_reinstate(parser: argparse.ArgumentParser) -> None:
    parser.description = """Make a superseded memory current again, with its own end of validity.
    The memory that superseded it must be forgotten first (`spector forget`), or stays beside it
    with --keep."""
    add_path(parser)
    parser.add_argument("id", metavar="ID", type=record_id, help="id of the superseded memory")
    parser.add_argument(
        "--keep",
        action="store_true",
        help="the newer memory stays valid too; the two are shown as contradicting each other",
    )
    add_scopes(parser)
    add_wait(parser)


def run_reinstate(args: argparse.Namespace, console: Console) -> int:
    with open_store(args) as memory:
        record = memory.reinstate(args.id, keep=args.keep, **scopes(args))
    console.document(record)
    until = day(record.valid_until)
    console.say(f"memory {record.id} is current again" + (f", until {until}" if until else ""))
    return 0
