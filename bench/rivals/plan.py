"""Which steps a run consists of, in which order, and what each may take."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Self

from bench.rivals.contenders import Entry, entry_named

#: spector's store gives the truth of the fused score, faiss SQ8 is the yardstick of the pair
ALWAYS: Final = ("spector", "faiss-sq8")


@dataclass(frozen=True, slots=True)
class Limits:
    """What a run may spend: seconds a build, seconds a table cell, memory a process."""

    records: int
    build_s: float
    query_s: float
    cell_s: float
    memory_bytes: int

    @classmethod
    def of(
        cls, records: int, budget_s: float | None, cell_s: float | None, memory_gb: float
    ) -> Self:
        """Defaults grow with the records: four minutes for 100,000, fifteen for a million."""
        build_s = budget_s or max(240.0, records * 0.0009)
        return cls(
            records=records,
            build_s=build_s,
            query_s=max(180.0, build_s / 2),
            cell_s=cell_s or (1.0 if records <= 100_000 else 3.0),
            memory_bytes=int(memory_gb * 2**30),
        )


@dataclass(frozen=True, slots=True)
class Step:
    """One process. ``needs`` are keys of steps without which it makes no sense, ``opens`` names
    the store it reads."""

    verb: str
    name: str = ""
    needs: tuple[str, ...] = ()
    seconds: float = 600.0
    cores: int = 2
    of_spector: bool = False
    opens: str = ""

    @property
    def key(self) -> str:
        return f"{self.verb}-{self.name}" if self.name else self.verb


def plan(entries: Sequence[Entry], records: int, limits: Limits) -> list[Step]:
    """Input first, then the pair, so that the promises are measured even if time runs out."""
    steps = [Step("prepare")]
    for name in ALWAYS:
        steps += _build(entry_named(name), limits)
    steps += [
        Step("formula", needs=("build-spector",), of_spector=True),
        Step("truth", needs=("formula",), of_spector=True),
        Step(
            "pair",
            needs=("truth", *(f"build-{name}" for name in ALWAYS)),
            seconds=limits.query_s * 2,
            cores=1,
            of_spector=True,
        ),
    ]
    for entry in entries:
        if entry.most_records is None or records <= entry.most_records:
            if f"build-{entry.store}" not in {step.key for step in steps}:
                steps += _build(entry_named(entry.store), limits)
            steps += _queries(entry, limits)
    return steps


def _build(entry: Entry, limits: Limits) -> list[Step]:
    # writing a store is not part of the race's time limit: without it there is no truth
    seconds = limits.build_s * (3 if entry.name in ALWAYS else 1)
    return [Step("build", entry.name, ("prepare",), seconds, of_spector=entry.is_spector)]


def _queries(entry: Entry, limits: Limits) -> list[Step]:
    needs = ("truth", f"build-{entry.store}")
    return [
        Step(
            verb,
            entry.name,
            needs,
            limits.query_s,
            cores=cores,
            of_spector=entry.is_spector,
            opens=entry.store,
        )
        for verb, cores in (("query", 1), ("query2", 2))
    ]
