"""Commands that copy whole stores: backup, restore."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING

from spector.cli.options import add_json, add_path, expand_home, open_store, require_store
from spector.cli.output import Console, Progress, bytes_text
from spector.messages import counted

if TYPE_CHECKING:
    from spector.records import BackupReport

__all__ = ["add_backup", "add_restore"]


def add_backup(parser: argparse.ArgumentParser) -> None:
    parser.description = _BACKUP
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    add_path(parser)
    parser.add_argument("dest", metavar="DEST", type=expand_home, help="directory of the copy")
    parser.add_argument(
        "--force",
        action="store_true",
        help="replace even a backup that has changes which this store lacks",
    )
    add_json(parser)
    parser.set_defaults(run=run_backup)


_BACKUP = """\
Copy a store as of one moment, even while an agent writes to it. The copy is verified and synced; it
appears at DEST complete or not at all.

DEST is a new path, an empty directory, or an earlier backup of the same store. An earlier backup is
replaced, and its unchanged partitions are reused. If nothing has changed, it is verified and kept,
and nothing is written.

Exit code 3, and DEST is not touched: DEST is another store, a backup that was opened for writing,
or anything else; a mount point, which cannot be replaced (name a directory inside it); the current
directory; or a backup with changes that this store lacks. Such a backup is of a later state (this
store has lost commits or is an older copy), or of a copy that was written to. --force replaces it.

Do not copy a store in use with cp or rsync: such a copy may mix several moments."""


def run_backup(args: argparse.Namespace, console: Console) -> int:
    require_store(args.path, existing=True)
    with open_store(args, "r") as memory, console.progress("backing up", "MiB") as progress:
        report = memory.backup(args.dest, force=args.force, progress=_in_mebibytes(progress))
    _show(report, console, "backed up")
    return 0


def add_restore(parser: argparse.ArgumentParser) -> None:
    parser.description = _RESTORE
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument(
        "backup", metavar="BACKUP", type=expand_home, help="directory of the backup"
    )
    parser.add_argument("dest", metavar="DEST", type=expand_home, help="directory of the new store")
    add_json(parser)
    parser.set_defaults(run=run_restore)


_RESTORE = """\
Verify a backup and copy it to DEST, a new path or an empty directory. The backup is not changed. To
replace a lost or damaged store, move its directory away first.

The copy keeps the id of the original store. If both are written to from then on, the same memory id
can mean different memories in the two: do not mix their files."""


def run_restore(args: argparse.Namespace, console: Console) -> int:
    require_store(args.backup, existing=True)
    import spector

    with console.progress("restoring", "MiB") as progress:
        report = spector.restore(args.backup, args.dest, progress=_in_mebibytes(progress))
    _show(report, console, "restored")
    return 0


def _in_mebibytes(progress: Progress) -> Callable[[int, int], None]:
    return lambda done, total: progress.reach(done >> 20, total >> 20)


def _show(report: BackupReport, console: Console, verb: str) -> None:
    console.document(report)
    reused = f", {report.reused} of them unchanged" if report.reused else ""
    console.say(
        f"{console.style('ok', 'green')}: {verb} {counted(report.records, 'record')} in "
        f"{counted(report.partitions, 'partition')}{reused}, "
        f"{bytes_text(report.bytes_copied)} of {bytes_text(report.bytes)} written to {report.path} "
        f"in {report.elapsed_ms:.1f} ms"
    )
