"""What a text says and mentions, as changes of what is known; loaded when a text is read."""

from __future__ import annotations

from spector.knowledge.reading.given import statement_of, statements_of
from spector.knowledge.reading.stated import statement_of_fact
from spector.knowledge.reading.texts import (
    Reading,
    ToName,
    names_in,
    plan_reading,
    read_statements,
    read_text,
    with_names,
)

__all__ = [
    "Reading",
    "ToName",
    "names_in",
    "plan_reading",
    "read_statements",
    "read_text",
    "statement_of",
    "statement_of_fact",
    "statements_of",
    "with_names",
]
