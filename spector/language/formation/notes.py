"""Notes in square brackets: how they are written into a text and taken out of it again."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from spector.records import Note


class Insertion(NamedTuple):
    """A note to write: where in the text, what it says, and of which kind it is.

    A note stands behind its word with a space before it; ``leads`` writes it in front of a text.
    """

    at: int
    value: str
    kind: str
    leads: bool = False


def annotated(said: str, insertions: Iterable[Insertion]) -> tuple[str, tuple[Note, ...]]:
    """A text with its notes, and where they stand in it. Spans include the space of a note."""
    pieces: list[str] = []
    notes: list[Note] = []
    done = length = 0
    for each in sorted(insertions, key=lambda one: (one.at, not one.leads)):
        at = min(max(each.at, done), len(said))
        pieces.append(said[done:at])
        length += at - done
        piece = f"[{each.value}] " if each.leads else f" [{each.value}]"
        notes.append(Note(length, length + len(piece), each.kind, each.value))
        pieces.append(piece)
        length += len(piece)
        done = at
    pieces.append(said[done:])
    return "".join(pieces), tuple(notes)
