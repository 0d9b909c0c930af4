"""forget: by ids or by a selection, after a confirmation, with a receipt for a purge."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from spector.cli.memory_table import day, show_memories
from spector.cli.options import (
    SCOPE_NAMES,
    Sample,
    add_key,
    add_path,
    add_selection,
    add_wait,
    iter_selected,
    key_of,
    open_store,
    record_id,
    sample,
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


def add_forget(parser: argparse.ArgumentParser) -> None:
    parser.description = _FORGET
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    add_path(parser)
    parser.add_argument("ids", metavar="ID", nargs="*", type=record_id, help="ids of memories")
    add_key(parser, "key of one memory, in place of IDs")
    parser.add_argument(
        "--purge", action="store_true", help="also erase them from every file, with a receipt"
    )
    parser.add_argument(
        "--verify",
        action="store_true",
        help="with --purge: then search every file for their content",
    )
    parser.add_argument(
        "--include-protected", action="store_true", help="also forget pinned and immutable memories"
    )
    parser.add_argument(
        "--skip-protected",
        action="store_true",
        help="with IDs: keep the immutable ones, forget the others",
    )
    parser.add_argument(
        "--no-cascade",
        action="store_false",
        dest="cascade",
        help="keep facts and other derived memories whose last source goes, and list them",
    )
    parser.add_argument("--dry-run", action="store_true", help="only show what would be forgotten")
    parser.add_argument("--yes", action="store_true", help="do not ask for confirmation")
    add_selection(parser)
    add_wait(parser)


_FORGET = """\
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
of erased memories may remain."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Request:
    """What to forget, and how."""

    ids: Sequence[int]
    #: arguments of ``Memory.records``; with ids only scopes, which guard them
    selection: Mapping[str, Any]
    stored_before: str | None
    purge: bool
    verify: bool
    include_protected: bool
    skip_protected: bool
    cascade: bool
    #: arguments of ``Memory.get`` that name one memory by its key
    key: Mapping[str, Any]


def run_forget(args: argparse.Namespace, console: Console) -> int:
    request = _Request(
        ids=args.ids,
        selection=selection(args),
        stored_before=args.stored_before,
        purge=args.purge,
        verify=args.verify,
        include_protected=args.include_protected,
        skip_protected=args.skip_protected,
        cascade=args.cascade,
        key=key_of(args),
    )
    _refuse_contradictions(request, guard=scopes(args))
    if args.dry_run:
        with open_store(args, "r") as memory:
            return _dry_run(memory, _with_id(memory, request), console)
    names = request.ids or request.key
    if not args.yes and not names and not console.can_ask:
        raise InvalidInputError(
            "a selection needs a confirmation, and there is no terminal to ask on",
            hint="see what matches with --dry-run, then pass --yes",
        )
    with open_store(args) as memory:
        request = _with_id(memory, request)
        if not args.yes and console.can_ask and not _is_confirmed(memory, request, console):
            console.document({"forgotten": [], "protected": [], "agreed": False})
            console.note("nothing was forgotten")
            return 1
        report = forget(memory, request)
    _show(report, request, console)
    receipt = report.receipt
    if receipt is not None:  # ids may be of what was forgotten before, and is erased only now
        return 0 if receipt.complete and (report.ids or receipt.ids) else 1
    return 0 if report.ids else 1


def _refuse_contradictions(request: _Request, guard: Mapping[str, str]) -> None:
    selects = request.selection.keys() > guard.keys() or request.stored_before is not None
    if request.ids and request.key:
        raise InvalidFilterError("IDs and --key were given", hint="pass one of the two")
    if (request.ids or request.key) and selects:
        raise InvalidFilterError(
            "IDs and a selection were given",
            hint="give one of them; --user, --agent and --session go with either",
        )
    if not (request.ids or request.key or selects or guard):
        raise InvalidFilterError(
            "neither IDs nor a selection were given",
            hint="pass IDs (spector list PATH shows them), or select with --user, --tag, --where,"
            " --before ...; to empty a store, delete its directory",
        )
    if request.verify and not request.purge:
        raise InvalidInputError(
            "--verify searches for what --purge has erased", hint="pass both, or neither"
        )
    if request.include_protected and request.skip_protected:
        raise InvalidInputError(
            "--include-protected and --skip-protected contradict one another",
            hint="leave one of them out",
        )
    if request.skip_protected and not (request.ids or request.key):
        raise InvalidInputError(
            "--skip-protected is for IDs", hint="leave it out: a selection keeps them anyway"
        )


def _with_id(memory: Memory, request: _Request) -> _Request:
    """The request with the id of the memory that has its key.

    Without one a purge still erases the mark that the key was forgotten.
    """
    if not request.key:
        return request
    try:
        found = memory.get(**request.key, **request.selection)
    except UnknownRecordError:
        if not request.purge:
            raise
        return request
    return replace(request, ids=(found.id,))


def forget(memory: Memory, request: _Request) -> ForgetReport:
    """Forget the memories of a request."""
    how: dict[str, Any] = {"purge": request.purge, "verify": request.verify}
    if request.include_protected:
        how["include_protected"] = True
    if request.skip_protected:
        how["skip_protected"] = True
    if not request.cascade:
        how["cascade"] = False
    if request.ids:
        return memory.forget(list(request.ids), **how, **request.selection)
    if request.stored_before is None:
        how |= request.key
        return memory.forget(**how, **request.selection)
    found = matching(memory, request)
    kept = tuple(record.id for record in found.protected)
    # the scope as a guard again: the receipt must not name memories of other scopes
    guard = {name: request.selection[name] for name in SCOPE_NAMES if name in request.selection}
    report = memory.forget(found.ids, **how, **guard)
    receipt = report.receipt
    if receipt is not None:
        receipt = replace(receipt, protected=kept)
    return replace(report, protected=kept, receipt=receipt)


def matching(memory: Memory, request: _Request) -> Sample:
    """The memories that a request would forget.

    Raises:
        UnknownRecordError: one of the ids is unknown, or of another scope.
    """
    if request.key and not request.ids:
        return Sample()
    if not request.ids:
        from spector.arguments import SORTS

        every = {"sorts": SORTS, **request.selection}
        return sample(
            iter_selected(memory, every, request.stored_before),
            _SHOWN,
            with_protected=request.include_protected,
        )
    found = Sample()
    for each in dict.fromkeys(request.ids):
        try:
            record = memory.get(each, **request.selection)
        except PartitionCorruptError:  # a damaged memory can be forgotten, but not shown
            found.count += 1
            found.ids.append(each)
            continue
        except UnknownRecordError:
            if not request.purge or request.verify:
                raise
            continue  # it may have been forgotten before, while its bytes remain
        if record.immutable and not request.include_protected:
            found.protected.append(record)
            continue
        found.count += 1
        found.ids.append(each)
        if len(found.first) < _SHOWN:
            found.first.append(record)
    if found.protected and not request.skip_protected:
        raise ImmutableRecordError(
            f"some of the IDs are immutable: {_id_list(found.protected)}",
            hint="--skip-protected forgets the others, --include-protected these as well",
        )
    return found


def _dry_run(memory: Memory, request: _Request, console: Console) -> int:
    found = matching(memory, request)
    console.document(
        {
            "dry_run": True,
            "would_forget": found.ids,
            "protected": [record.id for record in found.protected],
        }
    )
    _show_matching(found, request, console)
    return 0 if found.count else 1


def _show_matching(found: Sample, request: _Request, console: Console) -> None:
    some = f", the first {len(found.first)} of them" if len(found.first) < found.count else ""
    if found.count and not found.first:
        some = ""
    console.say(f"would forget {counted(found.count, 'memory')}{some}" + ":" * bool(found.first))
    if found.first:
        show_memories(
            console, found.first, protected=True, users="user_id" not in request.selection
        )
    if found.protected:
        console.say(f"would keep {_kept_text(len(found.protected), found.protected, request)}")


def _is_confirmed(memory: Memory, request: _Request, console: Console) -> bool:
    """Show on stderr what would be forgotten, and ask for confirmation."""
    found = matching(memory, request)
    _show_matching(found, request, console.aside())
    if not found.count and not request.purge:
        return False
    what = counted(found.count, "memory")
    end = " and erase all forgotten memories from the files" if request.purge else ""
    return console.confirm(f"forget {what}{end}?")


def _show(report: ForgetReport, request: _Request, console: Console) -> None:
    found: dict[str, Any] = {
        "forgotten": report.ids,
        "protected": report.protected,
        "derived": report.derived,
        "without_source": report.without_source,
    }
    if report.receipt is None:
        found["in_files_until"] = report.due
    console.document(found | ({"receipt": report.receipt} if request.purge else {}))
    asked = set(request.ids)
    before = asked.difference(report.ids, report.protected) if request.purge else set()
    along = set(report.derived) - asked
    count = len(report.ids) - len(along)
    if not request.ids:
        console.say(f"forgot {counted(count, 'memory')}")
    elif len(before) < len(asked):
        console.say(f"forgot {count} of {counted(len(asked), 'memory')}")
    if along:
        console.say(f"and {counted(len(along), 'derived memory')} with no other source")
    if report.without_source:
        left = counted(len(report.without_source), "derived memory")
        console.say(f"kept {left} without a source: {_id_list(report.without_source)}")
    if report.protected:
        console.say(f"kept {_kept_text(len(report.protected), report.protected, request)}")
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


def _kept_text(count: int, kept: Sequence[int | MemoryRecord], request: _Request) -> str:
    """Protected memories that are kept, the first ones by id, and the option that forgets them."""
    return (
        f"{counted(count, 'protected memory')}: {_id_list(kept)};"
        " --include-protected forgets " + ("it too" if count == 1 else "them too")
    )


def _id_list(kept: Sequence[int | MemoryRecord]) -> str:
    shown = [str(each) if isinstance(each, int) else _with_reason(each) for each in kept[:_NAMED]]
    head = f"the first {_NAMED} of {len(kept)}: " if len(kept) > _NAMED else ""
    return head + ", ".join(shown)


def _with_reason(record: MemoryRecord) -> str:
    return f"{record.id} ({'immutable' if record.immutable else 'pinned'})"
