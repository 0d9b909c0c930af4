"""Knowledge as the lines of an export, and the lines of an export as changes of knowledge."""

from __future__ import annotations

from spector.knowledge.exchange.items import parse_item
from spector.knowledge.exchange.parsing import MEMORY_KEYS, Knowledge, parse_memory
from spector.knowledge.exchange.planning import Arrival, Arrivals, MetError
from spector.knowledge.exchange.ties import Place
from spector.knowledge.exchange.writing import ITEM_KEY, KnowledgeLines

__all__ = [
    "ITEM_KEY",
    "MEMORY_KEYS",
    "Arrival",
    "Arrivals",
    "Knowledge",
    "KnowledgeLines",
    "MetError",
    "Place",
    "parse_item",
    "parse_memory",
]
