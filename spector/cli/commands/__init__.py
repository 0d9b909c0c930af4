"""One function per command that adds its parser; heavy imports happen when a command runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from spector.cli.commands import backup, bench, demo, facts, inspecting, reading, upkeep, writing

__all__ = ["COMMANDS"]

COMMANDS: Final[tuple[Callable[[Any], None], ...]] = (
    writing.add_remember,
    reading.add_recall,
    reading.add_context,
    writing.add_import,
    reading.add_export,
    writing.add_forget,
    facts.add_history,
    facts.add_reinstate,
    upkeep.add_reflect,
    upkeep.add_compact,
    upkeep.add_check,
    backup.add_backup,
    backup.add_restore,
    reading.add_stats,
    inspecting.add_inspect,
    upkeep.add_reembed,
    demo.add_demo,
    bench.add_bench,
)
