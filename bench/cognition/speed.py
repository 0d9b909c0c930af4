"""Row 23: what observing costs beside remembering, in one run and in turns.

Two stores hold the same memories with given vectors. Messages of another set (MemoryBank, users and
assistants) then come to both: each is observed in one store, and remembered in the other, which
also answers a recall of 8 for a cue of its own. Which of the two begins changes from message to
message. Batches of 256 are observed and remembered the same way. All run on one core, and both
sides embed with the offline model. Reported are ratios of medians of one run.
"""

from __future__ import annotations

import json
import shutil
import statistics
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import spector
from bench import machine
from bench.cognition.score import Score, scores
from bench.data import NOW, Corpus, batches, data_root, load_corpus
from bench.measure import seconds_of
from bench.stores import BUILD_BATCH, open_store
from spector.clock import ManualClock

__all__ = ["Costs", "measured", "speed_rows"]

K: Final = 8
_BATCH: Final = 256
#: not timed: models and rules are loaded, files are read
_WARM: Final = 8


@dataclass(slots=True)
class Costs:
    """Seconds of a run.

    Attributes:
        observed: of each message, and whether it was stored.
        remembered: of a remember and a recall, for each message.
        batches: of (observe_many, remember_many), each with the same messages.
    """

    observed: list[tuple[float, bool]] = field(default_factory=list)
    remembered: list[float] = field(default_factory=list)
    batches: list[tuple[float, float]] = field(default_factory=list)

    def single(self, *, stored: bool = False) -> float:
        """Median of observing over the median of a remember and a recall."""
        chosen = [
            (own, other)
            for (own, is_stored), other in zip(self.observed, self.remembered, strict=True)
            if is_stored or not stored
        ]
        if not chosen:
            return float("nan")
        return statistics.median(own for own, _ in chosen) / statistics.median(
            other for _, other in chosen
        )

    def throughput(self) -> float:
        """Of ``observe_many``, as a share of that of ``remember_many``."""
        spent = [sum(each) for each in zip(*self.batches, strict=True)]
        return spent[1] / spent[0] if spent else float("nan")

    def share_stored(self) -> float:
        """Of the single messages."""
        return sum(stored for _, stored in self.observed) / max(1, len(self.observed))


def messages() -> list[dict[str, str]]:
    """Turns of MemoryBank's English chats, in their order, each text once."""
    people = json.loads(
        (data_root() / "memorybank_en/memory_bank_en.json").read_text(encoding="utf-8")
    )
    found: dict[str, str] = {}
    for person in people.values():
        for turns in person["history"].values():
            for turn in turns:
                for role, key in (("user", "query"), ("assistant", "response")):
                    text = str(turn.get(key) or "").strip()
                    if text:
                        found.setdefault(text, role)
    return [{"role": role, "content": text} for text, role in found.items()]


def measured(folder: Path, *, records: int, singles: int, rounds: int) -> Costs:
    """The costs over stores of so many records."""
    corpus = load_corpus()
    one, other = folder / "one", folder / "other"
    fill(one, corpus, records)
    shutil.copytree(one, other)
    said = messages()
    first, rest = said[: _WARM + singles], said[_WARM + singles :]
    out = Costs()
    clock = ManualClock(NOW)
    with _opened(one, clock) as seen, _opened(other, clock) as kept:
        for n, message in enumerate(first):
            _single(seen, kept, message, corpus.cue_texts[n % len(corpus.cue_texts)], n, out)
        del out.observed[:_WARM], out.remembered[:_WARM]
        for n in range(rounds):
            batch = rest[n * _BATCH : (n + 1) * _BATCH]
            if len(batch) == _BATCH:
                _batch(seen, kept, batch, n, out)
    return out


def fill(path: Path, corpus: Corpus, records: int) -> None:
    """A store of the default model with so many memories, whose vectors are given."""
    with open_store(path, corpus.dim, embedder="default") as memory:
        for start, stop in batches(records, BUILD_BATCH):
            memory.remember_many(corpus.records(start, stop, records))


def _opened(path: Path, clock: ManualClock) -> spector.Memory:
    return spector.open(path, clock=clock, durability="relaxed")


def _single(
    seen: spector.Memory,
    kept: spector.Memory,
    message: dict[str, str],
    cue: str,
    n: int,
    out: Costs,
) -> None:
    stored: list[bool] = []

    def observe() -> None:
        stored.append(bool(seen.observe(message)))

    def remember() -> None:
        kept.remember(message)
        kept.recall(cue, k=K)

    times = _in_turns([observe, remember], n)
    out.observed.append((times[0], stored[0]))
    out.remembered.append(times[1])


def _batch(
    seen: spector.Memory, kept: spector.Memory, batch: list[dict[str, str]], n: int, out: Costs
) -> None:
    times = _in_turns([lambda: seen.observe_many(batch), lambda: kept.remember_many(batch)], n)
    out.batches.append((times[0], times[1]))


def _in_turns(calls: Sequence[Callable[[], Any]], n: int) -> list[float]:
    """Seconds of each of two calls; which is first depends on n."""
    times = [0.0, 0.0]
    for at in (n % 2, 1 - n % 2):
        times[at] = seconds_of(calls[at])
    return times


def speed_rows(records: int = 100_000, singles: int = 400, rounds: int = 4) -> list[Score]:
    """Row 23."""
    with machine.one_core(), tempfile.TemporaryDirectory(dir=machine.scratch_root()) as folder:
        found = measured(Path(folder), records=records, singles=singles, rounds=rounds)
    return scores(
        "speed",
        records=records,
        singles=singles,
        share=100 * found.share_stored(),
        whole=found.single(),
        stored=found.single(stored=True),
        many=found.throughput(),
    )
