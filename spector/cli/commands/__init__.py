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
    #: module, of this package if it begins with a dot; of "recall" it has ``RECALL``, the arguments,
    #: and ``run_recall``
    home: str

    def describe(self, parser: argparse.ArgumentParser) -> None:
        """Add the arguments, and set the function that runs the command as ``run``."""
        home = import_module(self.home, __name__)
        getattr(home, self.verb.upper()).add_to(parser)
        parser.set_defaults(run=getattr(home, f"run_{self.verb}"))


#: heading in the help -> its commands
GROUPS: Final = {
    "memories": (
        Command("remember", "store one memory", ".writing"),
        Command("observe", "take in messages, and keep what matters", ".files"),
        Command("recall", "find memories for a cue", ".reading"),
        Command("context", "write memories as text for a prompt", ".reading"),
        Command("list", "show the newest memories", ".listing"),
        Command("get", "show one memory by id", ".listing"),
        Command("count", "count memories", ".listing"),
        Command("users", "list users and their memory counts", ".listing"),
        Command("namespaces", "list namespaces and their memory counts", ".listing"),
        Command("dormant", "show memories at rest", ".listing"),
        Command("hot", "show what a context may quote whatever the cue", ".listing"),
        Command("history", "show a memory's earlier and later versions", ".listing"),
    ),
    "changes": (
        Command("update", "correct a memory", ".changing"),
        Command("pin", "exempt memories from fading and from forget by selection", ".changing"),
        Command("unpin", "remove the protection of pin", ".changing"),
        Command("resolve", "mark unresolved memories as resolved", ".changing"),
        Command("reinforce", "record that memories helped, or misled", ".changing"),
        Command("retire", "make memories dormant: kept, but not recalled", ".changing"),
        Command("reactivate", "bring dormant memories back", ".changing"),
        Command("reinstate", "make a superseded memory current again", ".listing"),
        Command("forget", "forget memories by id or by a selection", ".forgetting"),
    ),
    "knowledge": (
        Command("facts", "show facts", ".knowledge"),
        Command("entities", "show who and what memories mention", ".knowledge"),
        Command("graph", "show how memories are tied", ".knowledge"),
        Command("procedures", "show how things are done, and how often it worked", ".knowledge"),
        Command("learnings", "show insights, and whether they held", ".knowledge"),
        Command("concepts", "show what memories have in common", ".knowledge"),
        Command("judge", "say what a new statement does to an old one", ".writing"),
    ),
    "files": (
        Command("import", "store the messages of files", ".files"),
        Command("export", "write memories as JSONL", ".reading"),
    ),
    "the store": (
        Command("mcp", "serve a store to agents", "spector.adapters.mcp.commands"),
        Command("hook", "print a context for a hook", "spector.adapters.mcp.commands"),
        Command("reflect", "run one sleep cycle", ".upkeep"),
        Command("compact", "erase forgotten memories and reclaim space", ".upkeep"),
        Command("check", "verify a store, or salvage a damaged one", ".upkeep"),
        Command("backup", "copy a store, even while it is in use", ".upkeep"),
        Command("restore", "make a store from a backup", ".upkeep"),
        Command("stats", "show the size and the contents of a store", ".reading"),
        Command("inspect", "show the files of a store, even a damaged one", ".upkeep"),
        Command("reembed", "move a store to another model", ".upkeep"),
    ),
    "the program": (
        Command("doctor", "show how this is installed, and what stands in its way", ".program"),
        Command("demo", "show every verb on an example", ".program"),
        Command(
            "bench", "measure recall on public conversations (source checkout only)", ".program"
        ),
    ),
}
COMMANDS: Final = {each.verb: each for group in GROUPS.values() for each in group}
