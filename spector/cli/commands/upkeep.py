"""Commands that maintain and copy a store: reflect, compact, check, backup, inspect, reembed."""

from __future__ import annotations

import argparse
import contextlib
import os
from collections.abc import Callable, Mapping, Sequence
from textwrap import shorten
from typing import TYPE_CHECKING, Any, Final, Literal

from spector.cli.options import (
    Arguments,
    chosen_embedder,
    open_store,
    require_store,
    scopes,
    wait_of,
)
from spector.cli.output import Console, Progress, bytes_text, clean, to_jsonable
from spector.config import MAX_PROBLEMS
from spector.errors import InvalidInputError, ModelMismatchError, UnknownRecordError
from spector.messages import counted

if TYPE_CHECKING:
    from spector import Memory
    from spector.records import BackupReport, CompactionReport, Loss, Proposal, ReflectReport


#: most equal losses of a repair that get a row each; more share one with a count (--json lists all)
_ONE_BY_ONE = 3


REFLECT: Final = Arguments(
    """Run one sleep cycle: strengths decay, what is used grows, what belongs
    together becomes a theme, what is dull becomes dormant, at most 2 % of a user's memories a day;
    then the files are sealed, compacted and put in order. Nothing is deleted but what was forgotten
    before.""",
    """
    @path
    --steps STEP[,STEP]  only these steps, such as decay,forget or upkeep
    --dry-run  show what would change, and change nothing
    --max-seconds S:float  stop after S seconds; run it again to go on
    --undo CYCLE:int  take a cycle back instead
    @embedder
    @wait
    """,
)


#: proposals of a dry run that are listed, and the characters of a memory beside one
_MOST_PROPOSALS, _MOST_WIDE = 50, 60


def run_reflect(args: argparse.Namespace, console: Console) -> int:
    steps = None if args.steps is None else [each.strip() for each in args.steps.split(",")]
    with _opened(args) as memory, console.progress("reflect", "memories") as shown:
        if args.undo is not None:
            report = memory.reflect_undo(args.undo)
        else:
            report = memory.reflect(
                steps,
                dry_run=args.dry_run,
                max_seconds=args.max_seconds,
                progress=lambda step, seen, total: shown(seen, total, step),
            )
        told = report.telling(_MOST_PROPOSALS)
        texts = {} if console.as_json else _texts_of(memory, told)
    console.document(report)
    _show_steps(report, console)
    _show_proposals(report, told, texts, console)
    if not (args.dry_run or args.undo is not None):
        console.say(
            f"sealed {report.sealed}, marked reflectable {report.marked_reflectable}, compacted "
            f"{report.compaction.partitions_compacted}, reordered "
            f"{counted(report.clustered, 'partition')} in {report.elapsed_ms:.1f} ms"
        )
    if report.unclustered:
        console.note(
            f"{counted(report.unclustered, 'partition')} left to reorder; run reflect again"
        )
    receipt = report.compaction.receipt
    if receipt is not None:
        erased = counted(len(receipt.ids), "forgotten memory", "forgotten memories")
        console.say(f"erased {erased} from the files")
        for each in receipt.pending:
            console.note(f"not erased: {each}")
    return _note_failed(report.compaction, console)


def _opened(args: argparse.Namespace) -> Memory:
    """The store, whose other writers go on during a night; without a name with the default
    embedder, which a night needs, if it is its own."""
    try:
        return open_store(args, shared=True)
    except ModelMismatchError:
        if args.embedder or os.environ.get("SPECTOR_EMBEDDER"):
            raise
        args.embedder = "none"
        return open_store(args, shared=True)


def _show_steps(report: ReflectReport, console: Console) -> None:
    """What each step did, and how it can be taken back."""
    rows = [
        [each.name, each.seen, each.changed, each.ruled, each.spared]
        for each in report.steps
        if each.did_something
    ]
    headings = "step | >seen | >changed | to rest~ | spared~"
    if not any(each.rules for each in report.steps):
        headings = headings.replace(" | to rest~", "")
        for row in rows:
            del row[3]
    if rows:
        console.table(headings, rows)
    if report.resumed:
        console.say(f"went on with cycle {report.cycle}, which was cut short")
    if report.kept:
        console.note(f"changed since, and left as they are: {', '.join(map(str, report.kept))}")
    if not report.finished:
        console.note("the time was over; run reflect again to go on")
    if report.is_undoable:
        console.say(f"cycle {report.cycle}: reflect --undo {report.cycle} takes it back")


def _texts_of(memory: Memory, proposals: Sequence[Proposal]) -> dict[int, str]:
    """What the memories say that proposals name."""
    found = {}
    for each in {number for proposal in proposals for number in proposal.ids}:
        with contextlib.suppress(UnknownRecordError):
            found[each] = shorten(clean(memory.get(each).text), _MOST_WIDE, placeholder=" …")
    return found


def _show_proposals(
    report: ReflectReport, told: Sequence[Proposal], texts: Mapping[int, str], console: Console
) -> None:
    """What a dry run proposes, each with the words that it is about."""
    for each in told:
        words = [texts[number] for number in each.ids if number in texts]
        console.say(": ".join([clean(str(each)), *words]))
    if len(report.proposals) > len(told):
        console.note(f"{len(report.proposals) - len(told)} more; --json lists all")


COMPACT: Final = Arguments(
    """Rebuild partitions without their forgotten records and purge the catalog, so that no
file contains a forgotten memory. The receipt says what was done. Exit code 1: bytes may remain, or
a live memory contains what --verify named.

All users share the files, so all files are compacted. With --user, --agent or --session the output
names only memories of that scope.""",
    """
    @path
    --dry-run  only show what would be done
    --threshold 0..1:unit=0  only partitions with a larger share of tombstones (default: 0, any
        tombstone)
    --verify TEXT*  then search every byte of every file, and the full-text index, for TEXT, such as a
        name; at least 4 bytes (repeatable)
    @scopes
    @wait
    """,
)


def run_compact(args: argparse.Namespace, console: Console) -> int:
    mode: Literal["r", "rw"] = "r" if args.dry_run else "rw"
    with open_store(args, mode) as memory, console.progress("compacting", "partition") as progress:
        report = memory.compact(
            threshold=args.threshold,
            dry_run=args.dry_run,
            verify=args.verify,
            progress=progress,
            **scopes(args),
        )
    console.document({**to_jsonable(report), "bytes_reclaimed": report.bytes_reclaimed})
    _show_compaction(report, console)
    code = _note_failed(report, console)
    if report.receipt is None:
        return code
    console.hints(str(report.receipt))
    found = report.receipt.verification
    return 0 if report.receipt.complete and (found is None or found.gone) else 1


def _note_failed(report: CompactionReport, console: Console) -> int:
    """Report partitions that were not rebuilt, and why; return the exit code."""
    for each in report.failed:
        console.note(f"not rebuilt: {each['message']}")
    return 1 if report.failed else 0


def _show_compaction(report: CompactionReport, console: Console) -> None:
    verb = "would reclaim" if report.dry_run else "reclaimed"
    if report.partitions:
        names = list(report.partitions[0])
        headings = [name if name in ("path", "file", "state") else f">{name}" for name in names]
        console.table(
            " | ".join(headings),
            [[row.get(name, "") for name in names] for row in report.partitions],
        )
        console.say()
    console.say(
        f"{verb} {counted(report.records_reclaimed, 'record')} and "
        f"{bytes_text(report.bytes_reclaimed)}: "
        f"{report.partitions_compacted} of {counted(report.partitions_seen, 'partition')} rebuilt, "
        f"{report.partitions_removed} removed, {counted(report.records_kept, 'record')} kept, "
        f"{report.expired} expired, {report.elapsed_ms:.1f} ms"
    )


CHECK: Final = Arguments(
    """Verify that headers are valid, that catalog and partitions agree record by record, that
every checksum matches and that no unknown file is present. Changes nothing. Exit code 1: problems.

With --repair, everything intact goes into a new store and the rest is listed. Texts with a damaged
vector are embedded again if --embedder is the model of the store; the default model need not be
named. If the catalog no longer says which model it was, the notes say which one was used, and why.
Exit code 0: the new store has every memory with its text; 1: some are missing; 3: nothing could be
salvaged.

DEST is a new path, or an empty directory other than a mount point or the current directory.""",
    f"""
    @path
    --repair DEST:path  salvage what is intact into a new store at DEST; PATH is only read
    --all  list every problem and affected memory, not only {MAX_PROBLEMS} (as --json does)
    @embedder
    """,
)


def run_check(args: argparse.Namespace, console: Console) -> int:
    if args.repair is not None:
        return _run_repair(args, console)
    require_store(args.path, existing=True)
    import spector

    everything = args.all or console.as_json
    with console.progress("checking", "partition") as progress:
        report = spector.check(
            args.path, progress=progress, limit=None if everything else MAX_PROBLEMS
        )
    console.document({"ok": report.ok, **to_jsonable(report)})
    if report.problems:
        rows = [[p.code, p.where, console.advice(p.message)] for p in report.problems]
        console.table("code | where | problem~", rows)
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

    # without a name the default embedder is used if it is the store's
    named = args.embedder or os.environ.get("SPECTOR_EMBEDDER")
    with console.progress("salvaging", "step") as progress:
        report = spector.repair(
            args.path,
            args.repair,
            embedder=chosen_embedder(args) if named else None,
            progress=progress,
        )
        console.path = report.path  # hints name the new store from here on
        verified = spector.check(report.path)
    console.document({"complete": report.complete, "verified": verified.ok, **to_jsonable(report)})
    for title, found in (("not salvaged", report.lost), ("notes", report.notes)):
        if found:
            console.say(console.style(title, "bold"))
            console.table("file | >slot | >memory | reason~", _folded(found))
            console.say()
    console.say(
        f"kept {counted(report.kept, 'memory')} in {report.path} ({report.mended} mended, "
        f"{report.wordless} without text), {len(report.lost)} not salvaged, "
        f"{report.elapsed_ms:.1f} ms; the new store "
        + ("is sound" if verified.ok else "HAS PROBLEMS")
    )
    return 0 if report.complete and verified.ok else 1


def _folded(found: Sequence[Loss]) -> list[list[object]]:
    """Rows of a table; many equal losses of one file, without text to show, share a row."""
    groups: dict[tuple[object, ...], list[Loss]] = {}
    for n, each in enumerate(found):
        alone = each.text is not None or each.id is None
        groups.setdefault((each.file, each.reason, n if alone else -1), []).append(each)
    rows: list[list[object]] = []
    for group in groups.values():
        if len(group) > _ONE_BY_ONE:
            rows.append([group[0].file or "", "", f"{len(group)} memories", group[0].reason])
            continue
        rows += [
            [
                each.file or "",
                "" if each.slot is None else each.slot,
                each.id or "",
                each.reason + (f": {each.text}" if each.text else ""),
            ]
            for each in group
        ]
    return rows


REEMBED: Final = Arguments(
    """Embed every text again with the chosen embedder and stamp the store with
    its model. Ids, texts, tags and strengths are kept.""",
    """
    @path
    @embedder
    @wait
    """,
)


def run_reembed(args: argparse.Namespace, console: Console) -> int:
    require_store(args.path)
    import spector

    embedder = chosen_embedder(args)
    if embedder is None:
        raise InvalidInputError(
            "reembed needs an embedder", hint="pass --embedder default, openai or openai:MODEL"
        )
    with console.progress("embedding", "memory") as progress:
        count = spector.reembed(args.path, embedder, progress=progress, wait=wait_of(args))
    console.document({"reembedded": count, "embedder": embedder})
    console.say(f"re-embedded {counted(count, 'memory')} with {embedder}")
    return 0


# Commands that copy whole stores: backup, restore.


BACKUP: Final = Arguments(
    """\
Copy a store as of one moment, even while an agent writes to it. The copy is verified and synced; it
appears at DEST complete or not at all.

DEST is a new path, an empty directory, or an earlier backup of the same store. An earlier backup is
replaced, and its unchanged partitions are reused. If nothing has changed, it is verified and kept,
and nothing is written.

Exit code 3, and DEST is not touched: DEST is another store, a backup that was opened for writing,
or anything else; a mount point, which cannot be replaced (name a directory inside it); the current
directory; or a backup with changes that this store lacks. Such a backup is of a later state (this
store has lost commits or is an older copy), or of a copy that was written to. --force replaces it.

Do not copy a store in use with cp or rsync: such a copy may mix several moments.""",
    """
    @path
    DEST:path  directory of the copy
    --force  replace even a backup that has changes which this store lacks
    """,
    raw=True,
)


def run_backup(args: argparse.Namespace, console: Console) -> int:
    require_store(args.path, existing=True)
    with open_store(args, "r") as memory, console.progress("backing up", "MiB") as progress:
        report = memory.backup(args.dest, force=args.force, progress=_in_mebibytes(progress))
    _show(report, console, "backed up")
    return 0


RESTORE: Final = Arguments(
    """\
Verify a backup and copy it to DEST, a new path or an empty directory. The backup is not changed. To
replace a lost or damaged store, move its directory away first.

The copy keeps the id of the original store. If both are written to from then on, the same memory id
can mean different memories in the two: do not mix their files.""",
    """
    BACKUP:path  directory of the backup
    DEST:path  directory of the new store
    """,
    raw=True,
)


def run_restore(args: argparse.Namespace, console: Console) -> int:
    require_store(args.backup, existing=True)
    import spector

    with console.progress("restoring", "MiB") as progress:
        report = spector.restore(args.backup, args.dest, progress=_in_mebibytes(progress))
    _show(report, console, "restored")
    return 0


def _in_mebibytes(progress: Progress) -> Callable[[int, int], None]:
    return lambda done, total: progress(done >> 20, total >> 20)


def _show(report: BackupReport, console: Console, verb: str) -> None:
    console.document(report)
    reused = f", {report.reused} of them unchanged" if report.reused else ""
    console.say(
        f"{console.style('ok', 'green')}: {verb} {counted(report.records, 'record')} in "
        f"{counted(report.partitions, 'partition')}{reused}, "
        f"{bytes_text(report.bytes_copied)} of {bytes_text(report.bytes)} written to {report.path} "
        f"in {report.elapsed_ms:.1f} ms"
    )


# inspect: shows the partitions or one record of a store, even when the store is damaged.


INSPECT: Final = Arguments(
    """List the partitions of a store, or show one record with the fields of
    its header and what is known of it: its payload, the edges and links that it has. Reads the
    files directly, so it works on a damaged store as far as the files can be read. Exit code 1: the
    files have problems.""",
    """
    @path
    ID?:id  show this record only
    """,
)


def run_inspect(args: argparse.Namespace, console: Console) -> int:
    from spector.store.repair import RawStore

    with RawStore(args.path) as store:
        if args.id is None:
            return _show_partitions(store, console)
        found = store.find(args.id)
        if found is None:
            raise UnknownRecordError(
                f"{args.path} has no record {args.id}", hint="to see ids: spector export PATH"
            )
        found["problems"] = store.problems
    console.document(found)
    if not console.as_json:
        console.pairs({name: value for name, value in found.items() if name != "knowledge"})
        _show_knowledge(found.get("knowledge", {}), console)
    return 0 if found.get("crc_ok") and not store.problems else 1


def _show_knowledge(known: dict[str, list[dict[str, Any]]], console: Console) -> None:
    """Rows of knowledge that name a record, table by table."""
    for table, rows in known.items():
        console.say()
        console.say(console.style(table, "bold"))
        for row in rows:
            if table in ("payload", "fact", "item"):
                console.pairs(row, indent=2)
            else:
                given = {name: value for name, value in row.items() if value is not None}
                console.say("  " + "  ".join(f"{n}={clean(str(v))}" for n, v in given.items()))


def _show_partitions(store: Any, console: Console) -> int:
    partitions = store.partitions()
    console.document(
        {"meta": store.meta, "partitions": to_jsonable(partitions), "problems": store.problems}
    )
    console.pairs(store.meta)
    console.say()
    # no column for the day of an episodic partition: its name has it
    rows = [
        (p.file, p.state, p.live, p.dead, p.capacity, p.bytes, p.generation, "; ".join(p.problems))
        for p in partitions
    ]
    headings = "file | state | >live | >dead | >capacity | >bytes | >gen | problem~"
    console.table(headings, rows)
    for problem in store.problems:
        console.say(console.style(clean(problem), "red"))
    return 1 if store.problems or any(p.problems for p in partitions) else 0
