"""forget: by ids or by a selection, after a question, with a receipt when it is for good."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from spector.cli.options import (
    SCOPE_NAMES,
    add_json,
    add_path,
    add_selection,
    open_memory,
    record_id,
    scopes,
    selection,
)
from spector.cli.output import Console
from spector.cli.selecting import Sample, sample, selected
from spector.cli.shown import day, show_memories
from spector.errors import (
    ImmutableRecordError,
    InvalidFilterError,
    InvalidInputError,
    PartitionCorruptError,
    UnknownRecordError,
)
from spector.messages import counted

if TYPE_CHECKING:
    from spector.memory import Memory
    from spector.records import ForgetReport, MemoryRecord

__all__ = ["add_forget"]

#: so many memories are shown before the question
_SHOWN: Final = 10
#: and so many ids of what is kept are named
_NAMED: Final = 20


def add_forget(commands: Any) -> None:
    parser = commands.add_parser(
        "forget", help="forget memories by id or by a selection", description=_FORGET,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_path(parser)
    parser.add_argument("ids", metavar="ID", nargs="*", type=record_id, help="ids of memories")
    parser.add_argument(
        "--purge", action="store_true", help="also erase them from every file, with a receipt"
    )
    parser.add_argument(
        "--verify", action="store_true", help="with --purge: search every file for what they said"
    )
    parser.add_argument(
        "--include-protected", action="store_true",
        help="also pinned and immutable ones, which are kept otherwise",
    )
    parser.add_argument(
        "--skip-protected", action="store_true",
        help="with IDs, some of which are immutable: forget the others",
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="only show what would be forgotten"
    )
    parser.add_argument("--yes", action="store_true", help="do not ask")
    add_selection(parser)
    add_json(parser)
    parser.set_defaults(run=run_forget)


_FORGET = """\
Forget memories: those of the IDs, or all that a selection leads to. They are gone from every
answer at once. --purge, or `spector compact PATH` later, erases their bytes from the files; what is
printed says until when these still hold them otherwise. To erase a user:

  spector forget PATH --user ID --purge --verify --include-protected

On a terminal the command shows what it would forget, and asks. Without one a selection needs --yes;
IDs do not. With IDs, --user, --agent and --session are a guard: an ID of another scope is as
unknown as one that never was, and then nothing is forgotten.

A selection keeps pinned and immutable memories and names them. IDs name what they mean, so pinned
ones go as well; an immutable one among them is refused with all the others, unless --skip-protected
or --include-protected is given.

Exit code 1: nothing was forgotten (the answer was no, or nothing matches), or, with --purge, bytes
of what was to be erased may be left."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wish:
    """What is to be forgotten, and how."""

    ids: Sequence[int]
    #: with ids only scopes, which guard them; else arguments of ``Memory.records``
    selection: Mapping[str, Any]
    stored_before: str | None
    purge: bool
    verify: bool
    include_protected: bool
    skip_protected: bool


def run_forget(args: argparse.Namespace, console: Console) -> int:
    wish = _Wish(
        ids=args.ids, selection=selection(args), stored_before=args.stored_before,
        purge=args.purge, verify=args.verify, include_protected=args.include_protected,
        skip_protected=args.skip_protected,
    )
    _refuse_contradictions(wish, guard=scopes(args))
    if args.dry_run:
        with open_memory(args, "r") as memory:
            return _rehearse(memory, wish, console)
    if not args.yes and not wish.ids and not console.can_ask:
        raise InvalidInputError(
            "a selection is forgotten without a terminal to ask on",
            hint="look at it with --dry-run, then pass --yes",
        )
    with open_memory(args) as memory:
        if not args.yes and console.can_ask and not _agreed(memory, wish, console):
            console.document({"forgotten": [], "protected": [], "agreed": False})
            console.note("nothing was forgotten")
            return 1
        report = forget(memory, wish)
    _show(report, wish, console)
    receipt = report.receipt
    if receipt is not None:  # ids may be of what was forgotten before, and is erased only now
        return 0 if receipt.complete and (report.ids or receipt.ids) else 1
    return 0 if report.ids else 1


def _refuse_contradictions(wish: _Wish, guard: Mapping[str, str]) -> None:
    selects = wish.selection.keys() > guard.keys() or wish.stored_before is not None
    if wish.ids and selects:
        raise InvalidFilterError(
            "IDs and a selection were given",
            hint="give one of them; --user, --agent and --session go with either",
        )
    if not (wish.ids or selects or guard):
        raise InvalidFilterError(
            "neither IDs nor a selection were given",
            hint="name IDs (spector list PATH shows them), or select with --user, --tag, --where,"
            " --before ...; to empty a store, delete its directory",
        )
    if wish.verify and not wish.purge:
        raise InvalidInputError(
            "--verify searches for what --purge has erased", hint="pass both, or neither"
        )
    if wish.include_protected and wish.skip_protected:
        raise InvalidInputError(
            "--include-protected and --skip-protected contradict one another",
            hint="leave one of them out",
        )
    if wish.skip_protected and not wish.ids:
        raise InvalidInputError(
            "--skip-protected is for IDs", hint="leave it out: a selection keeps them anyway"
        )


def forget(memory: Memory, wish: _Wish) -> ForgetReport:
    """Forget what is wished for."""
    how: dict[str, Any] = {"purge": wish.purge, "verify": wish.verify}
    if wish.include_protected:
        how["include_protected"] = True
    if wish.skip_protected:
        how["skip_protected"] = True
    if wish.ids:
        return memory.forget(list(wish.ids), **how, **wish.selection)
    if wish.stored_before is None:
        return memory.forget(**how, **wish.selection)
    found = matching(memory, wish)
    kept = tuple(record.id for record in found.protected)
    # the scope again, as a guard: the receipt must not name memories of others
    guard = {name: wish.selection[name] for name in SCOPE_NAMES if name in wish.selection}
    report = memory.forget(found.ids, **how, **guard)
    receipt = report.receipt
    if receipt is not None:
        receipt = replace(receipt, protected=kept)
    return replace(report, protected=kept, receipt=receipt)


def matching(memory: Memory, wish: _Wish) -> Sample:
    """What would be forgotten.

    Raises:
        UnknownRecordError: one of the ids is not there, or of another scope.
    """
    if not wish.ids:
        return sample(
            selected(memory, wish.selection, wish.stored_before), _SHOWN,
            with_protected=wish.include_protected,
        )
    found = Sample()
    for each in dict.fromkeys(wish.ids):
        try:
            record = memory.get(each, **wish.selection)
        except PartitionCorruptError:  # what is damaged can be forgotten, but not shown
            found.count += 1
            found.ids.append(each)
            continue
        except UnknownRecordError:
            if not wish.purge or wish.verify:
                raise
            continue  # it may have been forgotten before, and its bytes are left
        if record.immutable and not wish.include_protected:
            found.protected.append(record)
            continue
        found.count += 1
        found.ids.append(each)
        if len(found.first) < _SHOWN:
            found.first.append(record)
    if found.protected and not wish.skip_protected:
        raise ImmutableRecordError(
            f"immutable memories are among them: {_listed(found.protected)}",
            hint="--skip-protected forgets the others, --include-protected these as well",
        )
    return found


def _rehearse(memory: Memory, wish: _Wish, console: Console) -> int:
    found = matching(memory, wish)
    console.document({
        "dry_run": True, "would_forget": found.ids,
        "protected": [record.id for record in found.protected],
    })  # fmt: skip
    _show_matching(found, wish, console)
    return 0 if found.count else 1


def _show_matching(found: Sample, wish: _Wish, console: Console) -> None:
    some = f", the first {len(found.first)} of them" if len(found.first) < found.count else ""
    if found.count and not found.first:
        some = ""
    console.say(f"would forget {counted(found.count, 'memory')}{some}" + ":" * bool(found.first))
    if found.first:
        show_memories(
            console, found.first, protected=True, users="user_id" not in wish.selection
        )
    if found.protected:
        console.say(f"would keep {_kept(len(found.protected), found.protected, wish)}")


def _agreed(memory: Memory, wish: _Wish, console: Console) -> bool:
    """Show on stderr what would be forgotten, and ask."""
    found = matching(memory, wish)
    _show_matching(found, wish, console.aside())
    if not found.count and not wish.purge:
        return False
    what = counted(found.count, "memory")
    end = " and erase everything that was forgotten from the files" if wish.purge else ""
    return console.confirm(f"forget {what}{end}?")


def _show(report: ForgetReport, wish: _Wish, console: Console) -> None:
    found: dict[str, Any] = {"forgotten": report.ids, "protected": report.protected}
    if report.receipt is None:
        found["in_files_until"] = report.due
    console.document(found | ({"receipt": report.receipt} if wish.purge else {}))
    asked = set(wish.ids)
    before = asked.difference(report.ids, report.protected) if wish.purge else set()
    if not wish.ids:
        console.say(f"forgot {counted(len(report.ids), 'memory')}")
    elif len(before) < len(asked):
        console.say(f"forgot {len(report.ids)} of {counted(len(asked), 'memory')}")
    if report.protected:
        console.say(f"kept {_kept(len(report.protected), report.protected, wish)}")
    if report.receipt is not None:
        if before:
            gone = len(before.intersection(report.receipt.ids))
            which = "that had been forgotten before"
            console.say(f"erased {gone} of {counted(len(before), 'memory')} {which}")
        console.hints(str(report.receipt))
    elif report.due is not None:
        console.hints(
            "their words are in the files until the first reflect after"
            f" {day(report.due)} UTC; to erase them now: spector compact PATH"
        )
    if not (report.ids or report.protected or before):
        console.note("no memory matches")


def _kept(count: int, kept: Sequence[int | MemoryRecord], wish: _Wish) -> str:
    """Which protected memories stay, the first of them by id, and what takes them along."""
    return (
        f"{counted(count, 'protected memory')}: {_listed(kept)};"
        " --include-protected forgets " + ("it too" if count == 1 else "them too")
    )


def _listed(kept: Sequence[int | MemoryRecord]) -> str:
    shown = [str(each) if isinstance(each, int) else _named(each) for each in kept[:_NAMED]]
    head = f"the first {_NAMED} of {len(kept)}: " if len(kept) > _NAMED else ""
    return head + ", ".join(shown)


def _named(record: MemoryRecord) -> str:
    return f"{record.id} ({'immutable' if record.immutable else 'pinned'})"
