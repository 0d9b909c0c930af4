"""Commands that look after a store: reflect, compact, check, reembed."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

from spector.cli.options import (
    add_embedder,
    add_json,
    add_path,
    add_scopes,
    chosen_embedder,
    open_memory,
    place,
    require_store,
    scopes,
    unit,
)
from spector.cli.output import Column, Console, bytes_text, to_jsonable
from spector.config import MAX_PROBLEMS
from spector.errors import InvalidInputError
from spector.messages import counted

if TYPE_CHECKING:
    from spector.records import CompactionReport, Loss

__all__ = ["add_check", "add_compact", "add_reembed", "add_reflect"]

#: so many like losses of a repair are listed; of more the number is told (--json has each)
_ONE_BY_ONE = 3


def add_reflect(commands: Any) -> None:
    parser = commands.add_parser("reflect", help="run one sleep cycle", description=_REFLECT)
    add_path(parser)
    add_json(parser)
    parser.set_defaults(run=run_reflect)


_REFLECT = """One sleep cycle: seal partitions whose day is over, rebuild those with too many
tombstones, put the records of sealed ones in an order that makes recalls faster, and mark them."""


def run_reflect(args: argparse.Namespace, console: Console) -> int:
    with open_memory(args) as memory:
        report = memory.reflect()
    console.document(report)
    console.say(
        f"sealed {report.sealed}, marked reflectable {report.marked_reflectable}, compacted "
        f"{report.compaction.partitions_compacted}, put in order "
        f"{counted(report.clustered, 'partition')} in {report.elapsed_ms:.1f} ms"
    )
    if report.unclustered:
        are = "is" if report.unclustered == 1 else "are"
        console.note(
            f"{counted(report.unclustered, 'partition')} {are} left to put in order; reflect again"
        )
    receipt = report.compaction.receipt
    if receipt is not None:
        erased = counted(len(receipt.ids), "forgotten memory", "forgotten memories")
        console.say(f"erased {erased} from the files")
        for each in receipt.pending:
            console.note(f"not erased: {each}")
    return _note_failed(report.compaction, console)


def add_compact(commands: Any) -> None:
    parser = commands.add_parser("compact", help="reclaim forgotten records", description=_COMPACT)
    add_path(parser)
    parser.add_argument("--dry-run", action="store_true", help="only say what would be done")
    parser.add_argument(
        "--threshold",
        type=unit,
        default=0.0,
        metavar="0..1",
        help="only partitions with a larger share of tombstones (default: 0, all with any)",
    )
    parser.add_argument(
        "--verify",
        action="append",
        default=[],
        metavar="TEXT",
        help="then search every byte of every file, and the words of the full text, for TEXT, a "
        "name for instance, of at least 4 bytes (repeatable)",
    )
    add_scopes(parser)
    add_json(parser)
    parser.set_defaults(run=run_compact)


_COMPACT = """Rebuild partitions without their forgotten records and purge the catalog, so that
nothing that was forgotten is left in any file; the receipt says what was done. Exit code 1:
something may be left, or a living memory says what --verify named.

Files belong to all users, so all of them are compacted: with --user, --agent or --session what is
printed names only memories of that scope."""


def run_compact(args: argparse.Namespace, console: Console) -> int:
    mode: Literal["r", "rw"] = "r" if args.dry_run else "rw"
    with open_memory(args, mode) as memory, console.progress("compacting", "partition") as progress:
        report = memory.compact(
            threshold=args.threshold, dry_run=args.dry_run, verify=args.verify,
            progress=progress.reach, **scopes(args),
        )
    console.document({**to_jsonable(report), "bytes_reclaimed": report.bytes_reclaimed})
    if not console.as_json:
        _show_compaction(report, console)
    code = _note_failed(report, console)
    if report.receipt is None:
        return code
    console.hints(str(report.receipt))
    found = report.receipt.verification
    return 0 if report.receipt.complete and (found is None or found.gone) else 1


def _note_failed(report: CompactionReport, console: Console) -> int:
    """Say which partitions stayed as they were, and why; the exit code."""
    for each in report.failed:
        console.note(f"not rebuilt: {each['message']}")
    return 1 if report.failed else 0


def _show_compaction(report: CompactionReport, console: Console) -> None:
    verb = "would reclaim" if report.dry_run else "reclaimed"
    if report.partitions:
        names = list(report.partitions[0])
        columns = [Column(name, right=name not in ("path", "file", "state")) for name in names]
        console.table(columns, [[row.get(name, "") for name in names] for row in report.partitions])
        console.say()
    console.say(
        f"{verb} {counted(report.records_reclaimed, 'record')} and "
        f"{bytes_text(report.bytes_reclaimed)}: "
        f"{report.partitions_compacted} of {counted(report.partitions_seen, 'partition')} rebuilt, "
        f"{report.partitions_removed} removed, {counted(report.records_kept, 'record')} kept, "
        f"{report.elapsed_ms:.1f} ms"
    )


def add_check(commands: Any) -> None:
    parser = commands.add_parser("check", help="prove that a store is sound", description=_CHECK)
    add_path(parser)
    parser.add_argument(
        "--repair", metavar="DEST", type=place,
        help="salvage what is intact into a new store at DEST; PATH itself is only read",
    )
    parser.add_argument(
        "--all", action="store_true",
        help=f"list every problem and memory concerned, not only {MAX_PROBLEMS} (as --json does)",
    )
    add_embedder(parser)
    add_json(parser)
    parser.set_defaults(run=run_check)


_CHECK = """Prove that headers are valid, that catalog and partitions agree record by record, that
every checksum holds and that no unknown file is there. Changes nothing. Exit code 1: problems.

With --repair, whatever is intact goes into a new store and the rest is listed. Words whose vector
is damaged are embedded again when --embedder is the model of the store; the default one is used
without being named. Where the catalog does not say any more which model it was, the notes say which
one was taken, and why. Exit code 0: every memory is in the new store with its words; 1: some are
not; 3: there was nothing to salvage.

DEST is a path where nothing is, or an empty directory that is neither a mount point nor the current
one."""


def run_check(args: argparse.Namespace, console: Console) -> int:
    if args.repair is not None:
        return _run_repair(args, console)
    require_store(args.path, existing=True)
    import spector

    everything = args.all or console.as_json
    with console.progress("checking", "partition") as progress:
        report = spector.check(
            args.path, progress=progress.reach, limit=None if everything else MAX_PROBLEMS
        )
    console.document({"ok": report.ok, **to_jsonable(report)})
    if report.problems:
        columns = [Column("code"), Column("where"), Column("problem", flexible=True)]
        rows = [[p.code, p.where, console.advice(p.message)] for p in report.problems]
        console.table(columns, rows)
        if report.unlisted:
            console.say(f"and {report.unlisted} more (--all lists them)")
        for each in report.problems if args.all else ():
            if each.ids:
                at = f"{each.where} from byte {each.offset}"
                console.lines(f"memories in {at}: {', '.join(map(str, each.ids))}")
        console.say()
    verdict = "ok" if report.ok else f"{report.count} problem{'s' * (report.count > 1)}"
    console.say(
        f"{console.style(verdict, 'green' if report.ok else 'red')}: "
        f"{counted(report.records, 'record')}, {counted(report.tombstones, 'tombstone')}, "
        f"{counted(report.partitions, 'partition')}, "
        f"{bytes_text(report.bytes)} in {report.elapsed_ms:.1f} ms"
    )
    if not report.ok and not console.as_json:
        console.note(
            "restore a backup, or salvage what is intact: spector check PATH --repair DEST"
        )
    return 0 if report.ok else 1


def _run_repair(args: argparse.Namespace, console: Console) -> int:
    import spector

    # unnamed, the default one serves where it is the store's
    named = args.embedder or os.environ.get("SPECTOR_EMBEDDER")
    with console.progress("salvaging", "step") as progress:
        report = spector.repair(
            args.path, args.repair, embedder=chosen_embedder(args) if named else None,
            progress=progress.reach,
        )
        console.path = report.path  # what is said from now on is about the new store
        verified = spector.check(report.path)
    console.document(
        {"complete": report.complete, "verified": verified.ok, **to_jsonable(report)}
    )
    if not console.as_json:
        columns = [Column("file"), Column("slot", right=True), Column("memory", right=True),
                   Column("what", flexible=True)]
        for title, found in (("not salvaged", report.lost), ("notes", report.notes)):
            if found:
                console.say(console.style(title, "bold"))
                console.table(columns, _folded(found))
                console.say()
    console.say(
        f"kept {counted(report.kept, 'memory')} in {report.path} ({report.mended} mended, "
        f"{report.wordless} without words), {len(report.lost)} not salvaged, "
        f"{report.elapsed_ms:.1f} ms; the new store "
        + ("is sound" if verified.ok else "HAS PROBLEMS")
    )
    return 0 if report.complete and verified.ok else 1


def _folded(found: Sequence[Loss]) -> list[list[object]]:
    """A row for each; many that say the same of one file, and have no words to show, share one."""
    groups: dict[tuple[object, ...], list[Loss]] = {}
    for n, each in enumerate(found):
        alone = each.text is not None or each.id is None
        groups.setdefault((each.file, each.reason, n if alone else -1), []).append(each)
    rows: list[list[object]] = []
    for group in groups.values():
        if len(group) > _ONE_BY_ONE:
            rows.append([group[0].file or "", "", f"{len(group)} of them", group[0].reason])
            continue
        rows += [
            [each.file or "", "" if each.slot is None else each.slot, each.id or "",
             each.reason + (f": {each.text}" if each.text else "")]
            for each in group
        ]
    return rows


def add_reembed(commands: Any) -> None:
    parser = commands.add_parser("reembed", help="move a store to another model", description=_RE)
    add_path(parser)
    add_embedder(parser)
    add_json(parser)
    parser.set_defaults(run=run_reembed)


_RE = """Embed every text again with the chosen embedder and stamp the store with its model. Ids,
texts, tags and strengths stay."""


def run_reembed(args: argparse.Namespace, console: Console) -> int:
    require_store(args.path)
    import spector

    embedder = chosen_embedder(args)
    if embedder is None:
        raise InvalidInputError(
            "reembed needs an embedder", hint="--embedder default, openai or openai:MODEL"
        )
    with console.progress("embedding", "memory") as progress:
        count = spector.reembed(args.path, embedder, progress=progress.reach)
    console.document({"reembedded": count, "embedder": embedder})
    console.say(f"embedded {counted(count, 'memory')} again with {embedder}")
    return 0
