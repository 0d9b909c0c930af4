"""Commands that copy whole stores: backup, restore."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from spector.cli.options import add_json, add_path, open_memory, place, require_store
from spector.cli.output import Console, Progress, bytes_text
from spector.messages import counted

if TYPE_CHECKING:
    from spector.records import BackupReport

__all__ = ["add_backup", "add_restore"]


def add_backup(commands: Any) -> None:
    parser = commands.add_parser(
        "backup", help="copy a store, even one in use", description=_BACKUP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_path(parser)
    parser.add_argument("dest", metavar="DEST", type=place, help="directory of the copy")
    parser.add_argument(
        "--force", action="store_true",
        help="also replace a backup with changes that this store does not have",
    )
    add_json(parser)
    parser.set_defaults(run=run_backup)


_BACKUP = """\
Copy a store as it is at one moment, while an agent goes on writing to it. The copy is verified,
synced, and appears at DEST complete or not at all.

DEST is a path where nothing is, an empty directory, or an earlier backup of the same store. That
one is replaced, and partitions that have not changed since are taken over from it; where nothing
has changed it is verified and kept, and nothing is written. A backup
that has been opened to write, another store, or anything else is left alone: exit code 3. So are a
mount point, which cannot be replaced (name a directory inside of it), and the current directory.

So is a backup with changes that this store does not have: one of a later state (this store has lost
commits, or is an older copy), or one of a copy that went its own way. --force replaces it.

Do not copy a store in use with cp or rsync: what such a copy shows may be of several moments."""


def run_backup(args: argparse.Namespace, console: Console) -> int:
    require_store(args.path, existing=True)
    with open_memory(args, "r") as memory, console.progress("backing up", "MiB") as progress:
        report = memory.backup(
            args.dest, force=args.force, progress=_in_mebibytes(progress)
        )
    _show(report, console, "backed up")
    return 0


def add_restore(commands: Any) -> None:
    parser = commands.add_parser(
        "restore", help="put a backup in place", description=_RESTORE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("backup", metavar="BACKUP", type=place, help="directory of the backup")
    parser.add_argument("dest", metavar="DEST", type=place, help="directory of the new store")
    add_json(parser)
    parser.set_defaults(run=run_restore)


_RESTORE = """\
Verify a backup and put a copy of it at DEST, where nothing or an empty directory may be. The backup
stays as it is. To replace a store that is lost or damaged, move its directory away first.

The copy has the id of the store it came from. If both go on being written to, they are two stores
that an id of a memory does not tell apart: do not mix their files."""


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
