"""Messages and texts in JSON, tables and data sets."""

from __future__ import annotations

from typing import Final

from spector.importers.entries import Format
from spector.importers.tables import (
    csv_table,
    documents,
    jsonl,
    locomo,
    longmemeval,
    mem0,
    sharegpt,
)

__all__ = ["FORMATS"]

FORMATS: Final[tuple[Format, ...]] = (
    jsonl.SPECTOR,
    locomo.FORMAT,
    longmemeval.FORMAT,
    sharegpt.FORMAT,
    mem0.FORMAT,
    documents.FORMAT,
    jsonl.FORMAT,
    csv_table.FORMAT,
)
