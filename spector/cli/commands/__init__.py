"""The table of commands; the module of a command is imported when the command is chosen."""

from __future__ import annotations

import argparse
from importlib import import_module
from typing import Final, NamedTuple

__all__ = ["COMMANDS", "Command"]


class Command(NamedTuple):
    """A verb of the command line."""

    verb: str
    help: str
    #: module, of this package if it begins with a dot, and the name of what it has for the command:
    #: ``RECALL``, its arguments, and ``run_recall``
    home: str

    def describe(self, parser: argparse.ArgumentParser) -> None:
        """Add the arguments, and set the function that runs the command as ``run``."""
        module, _, name = self.home.partition(":")
        home = import_module(module, __name__)
        getattr(home, name.upper()).add_to(parser)
        parser.set_defaults(run=getattr(home, f"run_{name}"))


#: heading in the help -> its commands
GROUPS: Final = {
    "memories": (
        Command("remember", "store one memory", ".writing:remember"),
        Command("observe", "take in messages, and keep what matters", ".files:observe"),
        Command("recall", "find memories for a cue", ".reading:recall"),
        Command("context", "write memories as text for a prompt", ".reading:context"),
        Command("list", "show the newest memories", ".listing:list"),
        Command("get", "show one memory by id", ".listing:get"),
        Command("count", "count memories", ".listing:count"),
        Command("users", "list users and their memory counts", ".listing:users"),
        Command("namespaces", "list namespaces and their memory counts", ".listing:namespaces"),
        Command("dormant", "show memories at rest", ".listing:dormant"),
        Command("hot", "show what a context may quote whatever the cue", ".listing:hot"),
        Command("history", "show a memory's earlier and later versions", ".listing:history"),
    ),
    "changes": (
        Command("update", "correct a memory", ".changing:update"),
        Command("pin", "exempt memories from fading and from forget by selection", ".changing:pin"),
        Command("unpin", "remove the protection of pin", ".changing:unpin"),
        Command("resolve", "mark unresolved memories as resolved", ".changing:resolve"),
        Command("reinforce", "record that memories helped, or misled", ".changing:reinforce"),
        Command("retire", "make memories dormant: kept, but not recalled", ".changing:retire"),
        Command("reactivate", "bring dormant memories back", ".changing:reactivate"),
        Command("reinstate", "make a superseded memory current again", ".listing:reinstate"),
        Command("forget", "forget memories by id or by a selection", ".forgetting:forget"),
    ),
    "knowledge": (
        Command("facts", "show facts", ".knowledge:facts"),
        Command("entities", "show who and what memories mention", ".knowledge:entities"),
        Command("graph", "show how memories are tied", ".knowledge:graph"),
        Command(
            "procedures",
            "show how things are done, and how often it worked",
            ".knowledge:procedures",
        ),
        Command("learnings", "show insights, and whether they held", ".knowledge:learnings"),
        Command("concepts", "show what memories have in common", ".knowledge:concepts"),
        Command("judge", "say what a new statement does to an old one", ".writing:judge"),
    ),
    "files": (
        Command("import", "store the messages of files", ".files:import"),
        Command("export", "write memories as JSONL", ".reading:export"),
    ),
    "the store": (
        Command("mcp", "serve a store to agents", "spector.adapters.mcp.commands:mcp"),
        Command("hook", "print a context for a hook", "spector.adapters.mcp.commands:hook"),
        Command("reflect", "run one sleep cycle", ".upkeep:reflect"),
        Command("compact", "erase forgotten memories and reclaim space", ".upkeep:compact"),
        Command("check", "verify a store, or salvage a damaged one", ".upkeep:check"),
        Command("backup", "copy a store, even while it is in use", ".upkeep:backup"),
        Command("restore", "make a store from a backup", ".upkeep:restore"),
        Command("stats", "show the size and the contents of a store", ".reading:stats"),
        Command("inspect", "show the files of a store, even a damaged one", ".upkeep:inspect"),
        Command("reembed", "move a store to another model", ".upkeep:reembed"),
    ),
    "the program": (
        Command(
            "doctor", "show how this is installed, and what stands in its way", ".program:doctor"
        ),
        Command("demo", "show every verb on an example", ".program:demo"),
        Command(
            "bench",
            "measure recall on public conversations (source checkout only)",
            ".program:bench",
        ),
    ),
}
COMMANDS: Final = {each.verb: each for group in GROUPS.values() for each in group}
