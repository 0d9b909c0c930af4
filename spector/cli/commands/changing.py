"""Commands that change one memory, or several by id: update, pin, unpin, resolve, reinforce."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from spector.cli.options import (
    Arguments,
    attached,
    given_fields,
    key_of,
    open_store,
    record_id,
    refuse_both,
    scopes,
)
from spector.cli.output import Console, clean
from spector.errors import InvalidInputError
from spector.messages import counted

if TYPE_CHECKING:
    from spector.records import MemoryRecord


#: what --clear takes -> the argument of ``Memory.update``
_CLEARED: Final = {
    "tags": "tags",
    "metadata": "metadata",
    "attachment": "attachment",
    "aliases": "aliases",
    "role": "role",
    "source": "source",
    "valid-from": "valid_from",
    "valid-until": "valid_until",
    "expiry": "expires_in",
}
_SCOPES: Final = {"user": "user_id", "agent": "agent_id", "session": "session_id"}


def _id_or_text(text: str) -> int | str:
    """The id of a record; with --key the new text may stand in its place."""
    is_id = text.isascii() and text.isdigit() and str(int(text)) == text
    return int(text) if is_id else text


UPDATE: Final = Arguments(
    """Correct the text or other fields of a memory and keep its id. Given tags
    replace all of its tags. For a fact that was true and has changed, use spector remember
    --supersedes instead. --user, --agent and --session are a guard: a memory of another scope
    counts as unknown. To move a memory, use --move-to-user and the like; together with --user, not
    to another user.""",
    """
    @path
    ID?:id_or_text  id of a memory; not with --key
    TEXT?  the new text; - is stdin
    --key KEY  correct the memory that has this key
    @label
    @fields
    @attach
    --move-to-user ID >move_to_user_id  move it to this user
    --move-to-agent ID >move_to_agent_id  move it to this agent
    --move-to-session ID >move_to_session_id  move it to this session
    --clear *:cleared  remove this field from it (repeatable)
    @scopes
    @embedder
    @wait
    """,
    kinds=lambda: {"id_or_text": _id_or_text, "cleared": (*_CLEARED, *_SCOPES)},
)


def _target(args: argparse.Namespace) -> tuple[int | None, str | None]:
    """The id that was given, or None with --key, and the new text."""
    if args.key is None:
        refuse_both(args, args.id is not None)
        if isinstance(args.id, str):
            try:
                args.id = record_id(args.id)
            except argparse.ArgumentTypeError as error:
                raise InvalidInputError(str(error), hint="pass an ID, or --key KEY") from None
        return args.id, args.text
    refuse_both(args, args.text)
    return None, None if args.id is None else str(args.id)


def run_update(args: argparse.Namespace, console: Console) -> int:
    record_named, text = _target(args)
    named = key_of(args)
    if text == "-":
        text = console.input_words()
    changes = given_fields(args) | attached(args) | ({} if text is None else {"text": text})
    asked = {field: getattr(args, f"move_to_{field}") for field in _SCOPES.values()}
    move_to = {field: value for field, value in asked.items() if value is not None}
    for name in args.clear:
        into = changes if name in _CLEARED else move_to
        field = {**_CLEARED, **_SCOPES}[name]
        if field in into:
            raise InvalidInputError(
                f"--clear {name} contradicts a new {name}", hint="leave one of the two out"
            )
        into[field] = () if name == "tags" else None
    if not (changes or move_to):
        raise InvalidInputError(
            "no change was given", hint="pass a new TEXT, --tag, --importance, --move-to-user ..."
        )
    if text is None:  # nothing is embedded
        args.embedder = "none"
    with open_store(args) as memory:
        guarded: dict[str, Any] = {**changes, **scopes(args), **named}
        record = memory.update(record_named, move_to=move_to or None, **guarded)
    console.document(record)
    console.say(f"updated {record.id} ({record.tier}, importance {record.importance:.2f})")
    for name, field in _SCOPES.items():
        if field in move_to:
            owner = getattr(record, field)
            console.say(f"now of {f'{name} {clean(owner)}' if owner else f'no {name}'}")
    return 0


#: of changes of several memories, and what all such changes promise
_OF_SEVERAL: Final = """+Changes all of the IDs or none: if one is unknown, or not of the given --user,
--agent or --session, no memory is changed."""
_SEVERAL: Final = """
@path
ids ID+:id  ids of memories
@scopes
@wait
"""
PIN = UNPIN = RESOLVE = RETIRE = REACTIVATE = Arguments(_OF_SEVERAL, _SEVERAL)
REINFORCE: Final = Arguments(_OF_SEVERAL, f"{_SEVERAL}--failure  they misled, so weaken them")


def _change_each(
    verb: str, done: str, args: argparse.Namespace, console: Console, *more: object
) -> int:
    """Change each memory once, after checking that all of them exist.

    None can be forgotten in between, because this process is the only writer.
    """
    guard = scopes(args)
    with open_store(args) as memory:
        each_once = list(dict.fromkeys(args.ids))
        for each in each_once:
            memory.get(each, **guard)
        return _say_changed(
            console, done, [getattr(memory, verb)(each, *more, **guard) for each in each_once]
        )


def _change_all(verb: str, done: str, args: argparse.Namespace, console: Console) -> int:
    with open_store(args) as memory:
        return _say_changed(console, done, getattr(memory, verb)(args.ids, **scopes(args)))


def _say_changed(console: Console, done: str, records: Sequence[MemoryRecord]) -> int:
    console.document({"memories": records})
    console.say(f"{done} {counted(len(records), 'memory')}")
    return 0


run_pin = partial(_change_each, "pin", "pinned")
run_unpin = partial(_change_each, "unpin", "unpinned")
run_resolve = partial(_change_each, "resolve", "resolved")
run_retire = partial(_change_all, "retire", "retired")
run_reactivate = partial(_change_all, "reactivate", "reactivated")


def run_reinforce(args: argparse.Namespace, console: Console) -> int:
    done = "weakened" if args.failure else "strengthened"
    return _change_each("reinforce", done, args, console, not args.failure)
