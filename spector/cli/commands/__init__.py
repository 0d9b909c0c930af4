"""Adds the parser of each command; heavy imports happen only when a command runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from spector.cli.commands import (
    backup,
    bench,
    changing,
    demo,
    files,
    forgetting,
    history,
    inspecting,
    knowledge,
    listing,
    reading,
    upkeep,
    writing,
)

__all__ = ["COMMANDS"]

COMMANDS: Final[tuple[Callable[[Any], None], ...]] = (
    writing.add_remember,
    files.add_observe,
    writing.add_judge,
    reading.add_recall,
    reading.add_context,
    listing.add_list,
    listing.add_get,
    listing.add_count,
    listing.add_users,
    changing.add_update,
    changing.add_pin,
    changing.add_unpin,
    changing.add_resolve,
    changing.add_reinforce,
    changing.add_retire,
    changing.add_reactivate,
    listing.add_dormant,
    listing.add_hot,
    history.add_history,
    history.add_reinstate,
    knowledge.add_facts,
    knowledge.add_entities,
    knowledge.add_graph,
    knowledge.add_procedures,
    knowledge.add_learnings,
    knowledge.add_concepts,
    forgetting.add_forget,
    files.add_import,
    reading.add_export,
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
