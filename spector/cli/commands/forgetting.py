"""forget: by ids or by a selection, after a confirmation, with a receipt for a purge."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from spector.cli.memory_table import day, show_memories
from spector.cli.options import (
    Arguments,
    iter_selected,
    key_of,
    open_store,
    scopes,
    selection,
)
from spector.cli.output import Console
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


#: memories shown before the confirmation
_SHOWN: Final = 10
#: ids of protected memories shown
_NAMED: Final = 20


FORGET: Final = Arguments(
    """\
Forget the memories with these IDs, or all memories of a selection. Recalls stop finding them at
once. --purge, or `spector compact PATH` later, erases their bytes from the files; otherwise the
output says how long the files still contain them. To erase a user:

  spector forget PATH --user ID --purge --verify --include-protected

On a terminal the command shows what it would forget and asks for confirmation. Without a terminal a
selection needs --yes; IDs do not. With IDs, --user, --agent and --session are a guard: if an ID is
of another scope, it counts as unknown, and nothing is forgotten.

A selection keeps pinned and immutable memories, and lists them. IDs forget pinned memories too. If
one of the IDs is immutable, nothing is forgotten, unless --skip-protected or --include-protected is
given. Facts and other memories that are derived from nothing else go along, unless --no-cascade is
given.

Exit code 1: nothing was forgotten (the answer was no, or nothing matches), or, with --purge, bytes
of erased memories may remain.""",
    """
    @path
    ids ID*:id  ids of memories
    --key KEY  key of one memory, in place of IDs
    @label
    --purge  also erase them from every file, with a receipt
    --verify  with --purge: then search every file for their content
    --include-protected  also forget pinned and immutable memories
    --skip-protected  with IDs: keep the immutable ones, forget the others
    --no-cascade  keep facts and other derived memories whose last source goes, and list them
    --dry-run  only show what would be forgotten
    --yes  do not ask for confirmation
    @selection
    @wait
    """,
    raw=True,
)


def run_forget(args: argparse.Namespace, console: Console) -> int:
    # arguments of ``Memory.records``, with ids only scopes, which guard them; and those of
    # ``Memory.get`` that name one memory by its key
    args.selection, args.named = selection(args), key_of(args)
    _refuse_contradictions(args, guard=scopes(args))
    if args.dry_run:
        with open_store(args, "r") as memory:
            _name_by_key(memory, args)
            return _dry_run(memory, args, console)
    if not args.yes and not (args.ids or args.named) and not console.can_ask:
        raise InvalidInputError(
            "a selection needs a confirmation, and there is no terminal to ask on",
            hint="see what matches with --dry-run, then pass --yes",
        )
    with open_store(args) as memory:
        _name_by_key(memory, args)
        if not args.yes and console.can_ask and not _is_confirmed(memory, args, console):
            console.document({"forgotten": [], "protected": [], "agreed": False})
            console.note("nothing was forgotten")
            return 1
        report = _forget(memory, args)
    _show(report, args, console)
    receipt = report.receipt
    if receipt is not None:  # ids may be of what was forgotten before, and is erased only now
        return 0 if receipt.complete and (report.ids or receipt.ids) else 1
    return 0 if report.ids else 1


def _refuse_contradictions(args: argparse.Namespace, guard: Mapping[str, str]) -> None:
    selects = args.selection.keys() > guard.keys() or args.stored_before is not None
    if args.ids and args.named:
        raise InvalidFilterError("IDs and --key were given", hint="pass one of the two")
    if (args.ids or args.named) and selects:
        raise InvalidFilterError(
            "IDs and a selection were given",
            hint="give one of them; --user, --agent and --session go with either",
        )
    if not (args.ids or args.named or selects or guard):
        raise InvalidFilterError(
            "neither IDs nor a selection were given",
            hint="pass IDs (spector list PATH shows them), or select with --user, --tag, --where,"
            " --before ...; to empty a store, delete its directory",
        )
    if args.verify and not args.purge:
        raise InvalidInputError(
            "--verify searches for what --purge has erased", hint="pass both, or neither"
        )
    if args.include_protected and args.skip_protected:
        raise InvalidInputError(
            "--include-protected and --skip-protected contradict one another",
            hint="leave one of them out",
        )
    if args.skip_protected and not (args.ids or args.named):
        raise InvalidInputError(
            "--skip-protected is for IDs", hint="leave it out: a selection keeps them anyway"
        )


def _name_by_key(memory: Memory, args: argparse.Namespace) -> None:
    """Take the id of the memory that has the key, in place of IDs.

    Without one a purge still erases the mark that the key was forgotten.
    """
    if args.named:
        try:
            args.ids = [memory.get(**args.named, **args.selection).id]
        except UnknownRecordError:
            if not args.purge:
                raise


def _forget(memory: Memory, args: argparse.Namespace) -> ForgetReport:
    """Forget the memories that the arguments mean."""
    how: dict[str, Any] = {
        "purge": args.purge,
        "verify": args.verify,
        "include_protected": args.include_protected,
        "skip_protected": args.skip_protected,
        "cascade": not args.no_cascade,
    }
    if args.ids:
        return memory.forget(list(args.ids), **how, **args.selection)
    if args.stored_before is None:
        return memory.forget(**how, **args.named, **args.selection)
    found = _matching(memory, args)
    kept = tuple(record.id for record in found.protected)
    # the scope as a guard again: the receipt must not name memories of other scopes
    how |= scopes(args)
    report = memory.forget(found.ids, **how)
    receipt = report.receipt
    if receipt is not None:
        receipt = replace(receipt, protected=kept)
    return replace(report, protected=kept, receipt=receipt)


@dataclass(slots=True)
class _Chosen:
    """The memories that would be forgotten: their ids, and some to show."""

    ids: list[int] = field(default_factory=list)
    first: list[MemoryRecord] = field(default_factory=list)
    #: those that are kept
    protected: list[MemoryRecord] = field(default_factory=list)

    def add(self, record: MemoryRecord, args: argparse.Namespace, is_protected: bool) -> None:
        """Add a memory, unless it is protected and not asked for all the same."""
        if is_protected and not args.include_protected:
            self.protected.append(record)
            return
        self.ids.append(record.id)
        if len(self.first) < _SHOWN:
            self.first.append(record)


def _matching(memory: Memory, args: argparse.Namespace) -> _Chosen:
    """The memories that would be forgotten.

    Raises:
        UnknownRecordError: one of the ids is unknown, or of another scope.
    """
    found = _Chosen()
    if not args.ids:
        from spector.arguments import SORTS

        every = {"sorts": SORTS, **args.selection}
        for record in iter_selected(memory, every, args.stored_before) if not args.named else ():
            found.add(record, args, record.pinned or record.immutable)
        return found
    for each in dict.fromkeys(args.ids):
        try:
            record = memory.get(each, **args.selection)
        except PartitionCorruptError:  # a damaged memory can be forgotten, but not shown
            found.ids.append(each)
        except UnknownRecordError:  # it may have been forgotten before, while its bytes remain
            if not args.purge or args.verify:
                raise
        else:
            found.add(record, args, record.immutable)
    if found.protected and not args.skip_protected:
        raise ImmutableRecordError(
            f"some of the IDs are immutable: {_id_list(found.protected)}",
            hint="--skip-protected forgets the others, --include-protected these as well",
        )
    return found


def _dry_run(memory: Memory, args: argparse.Namespace, console: Console) -> int:
    found = _matching(memory, args)
    console.document(
        {
            "dry_run": True,
            "would_forget": found.ids,
            "protected": [record.id for record in found.protected],
        }
    )
    _show_matching(found, args, console)
    return 0 if found.ids else 1


def _show_matching(found: _Chosen, args: argparse.Namespace, console: Console) -> None:
    shown, count = len(found.first), len(found.ids)
    some = f", the first {shown} of them" if 0 < shown < count else ""
    console.say(f"would forget {counted(count, 'memory')}{some}" + ":" * bool(shown))
    if found.first:
        show_memories(console, found.first, protected=True, users="user_id" not in args.selection)
    if found.protected:
        console.say(f"would keep {_kept_text(found.protected)}")


def _is_confirmed(memory: Memory, args: argparse.Namespace, console: Console) -> bool:
    """Show on stderr what would be forgotten, and ask for confirmation."""
    found = _matching(memory, args)
    _show_matching(found, args, console.aside())
    if not found.ids and not args.purge:
        return False
    what = counted(len(found.ids), "memory")
    end = " and erase all forgotten memories from the files" if args.purge else ""
    return console.confirm(f"forget {what}{end}?")


def _show(report: ForgetReport, args: argparse.Namespace, console: Console) -> None:
    found: dict[str, Any] = {
        "forgotten": report.ids,
        "protected": report.protected,
        "derived": report.derived,
        "without_source": report.without_source,
    }
    if report.receipt is None:
        found["in_files_until"] = report.due
    console.document(found | ({"receipt": report.receipt} if args.purge else {}))
    asked = set(args.ids)
    before = asked.difference(report.ids, report.protected) if args.purge else set()
    along = set(report.derived) - asked
    count = len(report.ids) - len(along)
    if not args.ids:
        console.say(f"forgot {counted(count, 'memory')}")
    elif len(before) < len(asked):
        console.say(f"forgot {count} of {counted(len(asked), 'memory')}")
    if along:
        console.say(f"and {counted(len(along), 'derived memory')} with no other source")
    if report.without_source:
        left = counted(len(report.without_source), "derived memory")
        console.say(f"kept {left} without a source: {_id_list(report.without_source)}")
    if report.protected:
        console.say(f"kept {_kept_text(report.protected)}")
    if report.receipt is not None:
        if before:
            gone = len(before.intersection(report.receipt.ids))
            console.say(f"erased {gone} of {counted(len(before), 'memory')} forgotten before")
        console.hints(str(report.receipt))
    elif report.due is not None:
        console.hints(
            "the files contain them until the first reflect after"
            f" {day(report.due)} UTC; to erase them now: spector compact PATH"
        )
    if not (report.ids or report.protected or before):
        console.note("no memory matches")


def _kept_text(kept: Sequence[int | MemoryRecord]) -> str:
    """Protected memories that are kept, the first ones by id, and the option that forgets them."""
    return (
        f"{counted(len(kept), 'protected memory')}: {_id_list(kept)};"
        " --include-protected forgets " + ("it too" if len(kept) == 1 else "them too")
    )


def _id_list(kept: Sequence[int | MemoryRecord]) -> str:
    shown = [str(each) if isinstance(each, int) else _with_reason(each) for each in kept[:_NAMED]]
    head = f"the first {_NAMED} of {len(kept)}: " if len(kept) > _NAMED else ""
    return head + ", ".join(shown)


def _with_reason(record: MemoryRecord) -> str:
    return f"{record.id} ({'immutable' if record.immutable else 'pinned'})"
