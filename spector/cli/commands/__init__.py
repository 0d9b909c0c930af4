"""The table of commands; the module of a command is imported when the command is chosen."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from importlib import import_module
from typing import Final, NamedTuple

__all__ = ["COMMANDS", "Command"]


class Command(NamedTuple):
    """A verb of the command line."""

    verb: str
    help: str
    #: module, of this package if it begins with a dot, and its function that describes the
    #: arguments to a parser
    home: str

    def describe(self, parser: argparse.ArgumentParser) -> None:
        """Add the arguments, and set the function that runs the command as ``run``."""
        module, _, function = self.home.partition(":")
        home = import_module(module, __name__)
        add: Callable[[argparse.ArgumentParser], None] = getattr(home, function)
        add(parser)


#: heading in the help -> its commands
GROUPS: Final = {
    "memories": (
        Command("remember", "store one memory", ".writing:add_remember"),
        Command("observe", "take in messages, and keep what matters", ".files:add_observe"),
        Command("recall", "find memories for a cue", ".reading:add_recall"),
        Command("context", "write memories as text for a prompt", ".reading:add_context"),
        Command("list", "show the newest memories", ".listing:add_list"),
        Command("get", "show one memory by id", ".listing:add_get"),
        Command("count", "count memories", ".listing:add_count"),
        Command("users", "list users and their memory counts", ".listing:add_users"),
        Command("namespaces", "list namespaces and their memory counts", ".listing:add_namespaces"),
        Command("dormant", "show memories at rest", ".listing:add_dormant"),
        Command("hot", "show what a context may quote whatever the cue", ".listing:add_hot"),
        Command("history", "show a memory's earlier and later versions", ".listing:add_history"),
    ),
    "changes": (
        Command("update", "correct a memory", ".changing:add_update"),
        Command(
            "pin", "exempt memories from fading and from forget by selection", ".changing:add_pin"
        ),
        Command("unpin", "remove the protection of pin", ".changing:add_unpin"),
        Command("resolve", "mark unresolved memories as resolved", ".changing:add_resolve"),
        Command("reinforce", "record that memories helped, or misled", ".changing:add_reinforce"),
        Command("retire", "make memories dormant: kept, but not recalled", ".changing:add_retire"),
        Command("reactivate", "bring dormant memories back", ".changing:add_reactivate"),
        Command("reinstate", "make a superseded memory current again", ".listing:add_reinstate"),
        Command("forget", "forget memories by id or by a selection", ".forgetting:add_forget"),
    ),
    "knowledge": (
        Command("facts", "show facts", ".knowledge:add_facts"),
        Command("entities", "show who and what memories mention", ".knowledge:add_entities"),
        Command("graph", "show how memories are tied", ".knowledge:add_graph"),
        Command(
            "procedures",
            "show how things are done, and how often it worked",
            ".knowledge:add_procedures",
        ),
        Command("learnings", "show insights, and whether they held", ".knowledge:add_learnings"),
        Command("concepts", "show what memories have in common", ".knowledge:add_concepts"),
        Command("judge", "say what a new statement does to an old one", ".writing:add_judge"),
    ),
    "files": (
        Command("import", "store the messages of files", ".files:add_import"),
        Command("export", "write memories as JSONL", ".reading:add_export"),
    ),
    "the store": (
        Command("mcp", "serve a store to agents", "spector.adapters.mcp.commands:add_mcp"),
        Command("hook", "print a context for a hook", "spector.adapters.mcp.commands:add_hook"),
        Command("reflect", "run one sleep cycle", ".upkeep:add_reflect"),
        Command("compact", "erase forgotten memories and reclaim space", ".upkeep:add_compact"),
        Command("check", "verify a store, or salvage a damaged one", ".upkeep:add_check"),
        Command("backup", "copy a store, even while it is in use", ".upkeep:add_backup"),
        Command("restore", "make a store from a backup", ".upkeep:add_restore"),
        Command("stats", "show the size and the contents of a store", ".reading:add_stats"),
        Command("inspect", "show the files of a store, even a damaged one", ".upkeep:add_inspect"),
        Command("reembed", "move a store to another model", ".upkeep:add_reembed"),
    ),
    "the program": (
        Command(
            "doctor",
            "show how this is installed, and what stands in its way",
            ".program:add_doctor",
        ),
        Command("demo", "show every verb on an example", ".program:add_demo"),
        Command(
            "bench",
            "measure recall on public conversations (source checkout only)",
            ".program:add_bench",
        ),
    ),
}
COMMANDS: Final = {each.verb: each for group in GROUPS.values() for each in group}
