"""What a contender has to do, and how it is listed."""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from bench.rivals.metrics import F32
from bench.rivals.workload import Share, Workload

#: one question, ready to be asked: calling it is what gets timed
Ask = Callable[[], Any]


class UnsupportedError(Exception):
    """This contender cannot do this case; the message is the reason that the table shows."""


class Contender(ABC):
    """An engine with its data. Building and asking happen in different processes."""

    #: what is imported before anything is timed
    module: ClassVar[str]
    #: what buys recall with time, where anything does: lists probed, candidates kept
    effort: int = 0

    def imports(self) -> None:
        self.engine: Any = importlib.import_module(self.module)

    @abstractmethod
    def build(self, work: Workload, folder: Path) -> dict[str, Any] | None:
        """Store all vectors, with their filters, in an empty folder; returns figures to note."""

    @abstractmethod
    def open(self, work: Workload, folder: Path) -> None:
        """Be ready to answer with one thread. Timed."""

    @abstractmethod
    def ask(self, cue: F32, k: int, share: Share) -> Ask:
        """A question with everything ready-made that the engine lets one make beforehand.

        Raises:
            UnsupportedError: no such filter.
        """

    @abstractmethod
    def rows(self, answer: Any, share: Share) -> list[int]:
        """Rows of the workload that an answer names, best first; not timed."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the tables.

    Attributes:
        name: of files and the command line. title: in tables.
        about: what the row is, one sentence.
        ranking: what its recall is held against: "cosine", or a profile of spector.
        efforts: what its ``effort`` is set to without a filter, for a curve of time and recall.
        effort_name: what that number is, in the words of its makers.
    """

    name: str
    title: str
    make: Callable[[], Contender]
    about: str
    ranking: str = "cosine"
    efforts: tuple[int, ...] = ()
    effort_name: str = ""

    @property
    def is_spector(self) -> bool:
        return self.name.startswith("spector")

    @property
    def store(self) -> str:
        """The entry whose build this one opens."""
        return "spector" if self.is_spector else self.name
