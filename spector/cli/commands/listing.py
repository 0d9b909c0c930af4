"""Commands that show memories without a cue: list, get, count, users, history."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from spector.cli.memory_table import day, show_memories, speaker_label, state_of
from spector.cli.options import (
    Arguments,
    iter_selected,
    key_of,
    newest,
    open_store,
    refuse_both,
    scopes,
    selection,
)
from spector.cli.output import Console, clean, wrap
from spector.errors import InvalidInputError
from spector.messages import counted

if TYPE_CHECKING:
    from spector.records import MemoryRecord


LIST: Final = Arguments(
    """List all memories, or those of a selection, the latest event first, or
    with --stored the last stored first, page by page. Superseded memories are included and marked.
    Exit code 1: no memory matches.""",
    """
    @path
    -n/--limit N:count=20  most memories to show (default: 20)
    --full  print whole texts
    --stored  by the time of storing instead, the last first
    --after ID:id  with --stored: the page behind this memory, the last of the page before
    @selection
    """,
    json="one JSON document per line and memory",
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
    code = _show(args, console, found, count, "no memory matches", full=args.full)
    if paged and len(found) == args.limit:
        console.say(f"\nthe next page: --stored --after {found[-1].id}")
    return code


DORMANT: Final = Arguments(
    """List the memories that spector retire or sleep has put to rest, the
    latest event first: since when and by which rule of sleep, where it was sleep. They are kept,
    but recalls leave them out; spector reactivate brings them back. Exit code 1: there is none.""",
    """
    @path
    -n/--limit N:count=20  most memories to show (default: 20)
    @scopes
    @zone
    """,
)


def run_dormant(args: argparse.Namespace, console: Console) -> int:
    with open_store(args, "r") as memory:
        found = [
            each for each in memory.records(include=["dormant"], **scopes(args)) if each.dormant
        ]
    newest_first = sorted(found, key=lambda each: (-each.event_ms, -each.id))[: args.limit]
    console.document({"memories": newest_first, "dormant": len(found)})
    return _show(args, console, newest_first, len(found), "no memory is dormant")


def _show(
    args: argparse.Namespace,
    console: Console,
    found: Sequence[MemoryRecord],
    count: int,
    otherwise: str,
    *,
    full: bool = False,
) -> int:
    """Print memories, and how many there are besides; the exit code."""
    if not found:
        console.note(otherwise)
        return 1
    if not console.as_json:
        show_memories(console, found, full=full, protected=True, users=args.user_id is None)
    if len(found) < count:
        console.say(f"\nthe newest {len(found)} of {count}; --limit shows more")
    return 0


HOT: Final = Arguments(
    """List the memories that have proved themselves, the most useful first:
    semantic, active, of a utility of 0.8 or more, used ten times or more, recorded in the last 30
    days. Exit code 1: there is none.""",
    """
    @path
    -n/--limit N:count  most memories to show (default: 15)
    @scopes
    """,
)


def run_hot(args: argparse.Namespace, console: Console) -> int:
    with open_store(args, "r") as memory:
        found = memory.hot(limit=args.limit, **scopes(args))
    console.document({"memories": found})
    return _show(args, console, found, len(found), "no memory is hot")


GET: Final = Arguments(
    """Show a memory with all its fields. With --user, --agent or --session, a
    memory of another scope counts as unknown: exit code 2.""",
    """
    @path
    ID?:id  id of a memory
    --key KEY  its key, in place of ID
    @label
    @zone
    --attachment  print what is attached to it, and nothing else
    @scopes
    """,
)


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


COUNT: Final = Arguments(
    "Count the memories of a store, or those of a selection.",
    """
    @path
    @selection
    """,
)


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


USERS: Final = Arguments(
    """List the users of a store with their memory counts and the times of
    their first and last event. Memories without a user are not counted. Exit code 1: there are no
    users.""",
    """
    @path
    @sorts
    @zone
    """,
)


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
        console.say(f"\n{counted(len(users), 'user')}")
    return code


NAMESPACES: Final = Arguments(
    """List the namespaces that memories have keys of, with their counts. The
    first line, without labels, is that of keys in no namespace. Exit code 1: no memory has a
    key.""",
    """
    @path
    --in-namespace LABEL*  only the one with these labels, and those within it (repeatable, outermost
        first)
    --depth N:count  cut to so many labels, counted together
    @scopes
    """,
)


def run_namespaces(args: argparse.Namespace, console: Console) -> int:
    with open_store(args, "r") as memory:
        found = memory.namespaces(tuple(args.in_namespace), depth=args.depth, **scopes(args))
    code = console.listing(
        "namespaces",
        [each._asdict() for each in found],
        "no memory has a key there",
        ">memories | namespace~",
        lambda each: (each["count"], " / ".join(each["namespace"])),
    )
    if found:
        console.say(f"\n{counted(len(found), 'namespace')}")
    return code


# Commands about superseded memories: history, reinstate.


HISTORY: Final = Arguments(
    """Show a memory with all memories that it supersedes and all that
    supersede it, oldest first. Forgotten memories are not shown.""",
    """
    @path
    ID:id  any version of the memory
    @zone
    @scopes
    """,
)


def run_history(args: argparse.Namespace, console: Console) -> int:
    with open_store(args, "r") as memory:
        records = memory.history(args.id, **scopes(args))
    return console.listing(
        "history",
        records,
        "no version is left",
        "id | from | until | superseded by | text~",
        lambda each: (
            each.id,
            day(each.valid_from or each.event_time, console.zone),
            day(each.valid_until, console.zone),
            ", ".join(map(str, each.superseded_by)) or ("forgotten" if each.superseded else ""),
            clean(each.text),
        ),
    )


REINSTATE: Final = Arguments(
    """Make a superseded memory current again, with its own end of validity.
    The memory that superseded it must be forgotten first (`spector forget`), or stays beside it
    with --keep.""",
    """
    @path
    ID:id  id of the superseded memory
    --keep  the newer memory stays valid too; the two are shown as contradicting each other
    @scopes
    @wait
    """,
)


def run_reinstate(args: argparse.Namespace, console: Console) -> int:
    with open_store(args) as memory:
        record = memory.reinstate(args.id, keep=args.keep, **scopes(args))
    console.document(record)
    until = day(record.valid_until)
    console.say(f"memory {record.id} is current again" + (f", until {until}" if until else ""))
    return 0
