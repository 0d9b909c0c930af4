"""What a contender has to do, and how it is listed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from bench.rivals.metrics import F32
from bench.rivals.workload import Share, Workload

#: one question, ready to be asked: calling it is what gets timed
Ask = Callable[[], Any]


class UnsupportedError(Exception):
    """This contender cannot do this case; the message is the reason that the table shows."""


class Contender(Protocol):
    """An engine with its data. Building, opening and asking happen in different processes."""

    def build(self, work: Workload, folder: Path) -> dict[str, Any]:
        """Store all vectors, with their filters, under ``folder``; returns figures to note."""
        ...

    def open(self, work: Workload, folder: Path, threads: int) -> None:
        """Be ready to answer. Timed, so imports belong into `imports`."""
        ...

    def imports(self) -> None:
        """Import the engine."""
        ...

    def ask(self, cue: F32, k: int, share: Share) -> Ask:
        """A question with everything ready-made that the engine lets one make beforehand.

        Raises:
            UnsupportedError: no such filter.
        """
        ...

    def rows(self, answer: Any, share: Share) -> list[int]:
        """Rows of the workload that an answer names, best first; not timed."""
        ...

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the tables.

    Attributes:
        name: of files and the command line. title: in tables.
        make: imports the contender's module and makes it.
        built_by: the entry whose build this one opens; its own name if it builds.
        ranking: what its recall is held against: "cosine", or a profile of spector.
        about: what the row is, one sentence.
        most_records: above this it sits out, for the reason in ``why_not_more``.
        neighbours: takes part in the truncation trap, as a rival that is fetched from.
        efforts: what its ``effort`` is set to without a filter, for a curve of time and recall.
        effort_name: what that number is, in the words of its makers.
    """

    name: str
    title: str
    make: Callable[[], Contender]
    about: str
    built_by: str = ""
    ranking: str = "cosine"
    most_records: int | None = None
    why_not_more: str = ""
    neighbours: bool = True
    efforts: tuple[int, ...] = ()
    effort_name: str = ""
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def store(self) -> str:
        return self.built_by or self.name

    @property
    def is_spector(self) -> bool:
        return self.store == "spector"
