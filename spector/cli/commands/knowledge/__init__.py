"""Commands that show what a store knows: facts, names, ties, and what was learned."""

from __future__ import annotations

from spector.cli.commands.knowledge.facts import add_entities, add_facts
from spector.cli.commands.knowledge.graph import add_graph
from spector.cli.commands.knowledge.items import add_concepts, add_learnings, add_procedures

__all__ = [
    "add_concepts",
    "add_entities",
    "add_facts",
    "add_graph",
    "add_learnings",
    "add_procedures",
]
