"""All queries of a store with forged files and valid checksums.

Whatever the files contain, each query returns or raises a typed error, quickly, and no file outside
the store is touched. Memories that were not forged are unchanged.
"""

from __future__ import annotations

import contextlib
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import spector
from spector.errors import SpectorError
from spector.store import words as word_files
from spector.store.core import records as hydrate
from tests.crash.workload import open_tiny, vector_of
from tests.fuzz.forge import Picks, forge
from tests.store.damage import FILTERS, WORDS, Patient

__all__ = ["Forgery"]

#: seconds of the processor; answers take a hundredth of it
_MOST_S = 20.0
#: of a memory what is the catalog's alone, and stands under its seal
_SHOWN = ("text", "tags", "metadata", "user_id", "event_time", "role", "source")
_OUTSIDE = b"a file that is not the store's"


class Forgery:
    """A store that is forged again and again, each time from its sound files."""

    def __init__(self, root: Path) -> None:
        self.root = root
        hydrate._ATTEMPTS = 2  # there is no writer to wait for
        word_files._WORTH_WRITING = 1  # type: ignore[misc]  # files of few words, too
        self.patient = Patient(root / "mind")
        with open_tiny(self.patient.path) as memory:
            memory.recall("memory", vector=vector_of("w"))
            memory.checkpoint()
        self.patient.keep()
        self.outside = root / "outside.mem"
        self.outside.write_bytes(_OUTSIDE)
        assert sum(name.endswith(".lex") for name in self.patient.names) > 1

    def run(self, picks: Picks) -> None:
        """Forge it, and ask everything."""
        self._forged(picks, self._ask)

    def open(self, picks: Picks) -> None:
        """Forge it, and only open it, by either way in, and read: several times as fast."""
        self._forged(picks, self._glance if picks.ConsumeBool() else self._write_once)

    def _forged(self, picks: Picks, ask: Callable[[set[int]], None]) -> None:
        began = time.process_time()
        try:
            ask(forge(self.patient, picks))
            assert self.outside.read_bytes() == _OUTSIDE, "a file outside was changed"
            here = {path.name for path in self.root.iterdir()}
            assert here <= {"mind", "saved", "outside.mem", "corpus"}, f"left outside: {here}"
        finally:
            shutil.rmtree(self.root / "saved", ignore_errors=True)
            self.outside.write_bytes(_OUTSIDE)
            self.patient.restore()
        took = time.process_time() - began
        assert took < _MOST_S, f"{took:.0f} s of the processor"

    def _ask(self, touched: set[int]) -> None:
        path = self.patient.path
        for ask in (
            lambda: str(spector.check(path)),
            lambda: self._read(touched),
            lambda: spector.repair(path, self.root / "saved"),
            lambda: self._write(touched),
        ):
            with contextlib.suppress(SpectorError):
                ask()

    def _glance(self, touched: set[int]) -> None:
        with contextlib.suppress(SpectorError), open_tiny(self.patient.path, mode="r") as memory:
            self._get(memory, touched)
            memory.recall(cue="memory", vector=vector_of(WORDS[3]), k=20)

    def _write_once(self, touched: set[int]) -> None:
        with contextlib.suppress(SpectorError), open_tiny(self.patient.path) as memory:
            self._get(memory, touched)
            memory.remember("more", vector=vector_of("more"), tier="semantic")

    def _read(self, touched: set[int]) -> None:
        with open_tiny(self.patient.path, mode="r") as memory:
            self._look(memory, touched)

    def _look(self, memory: spector.Memory, touched: set[int]) -> None:
        self._get(memory, touched)
        for ask in self._questions(memory):
            with contextlib.suppress(SpectorError):
                ask()

    def _get(self, memory: spector.Memory, touched: set[int]) -> None:
        for record_id, truth in self.patient.truth.items():
            with contextlib.suppress(SpectorError):
                shown = memory.get(record_id).to_dict()
                lies = [name for name in _SHOWN if shown[name] != truth[name]]
                assert record_id in touched or not lies, f"{record_id} is {shown}"

    def _questions(self, memory: spector.Memory) -> Iterator[Callable[[], Any]]:
        cue: dict[str, Any] = {"cue": "memory", "vector": vector_of(WORDS[3]), "k": 20}
        yield lambda: [record.to_dict() for record in memory]
        yield lambda: repr(memory.recall(**cue))
        yield lambda: memory.recall(cue="word3 version")
        yield lambda: memory.recall(vector=vector_of(WORDS[2]), exact=True, profile="similarity")
        for asked, _ in FILTERS[:5]:
            yield lambda asked=asked: memory.recall(**(cue | asked))  # type: ignore[misc]
        yield lambda: memory.context("memory", vector=cue["vector"])
        yield memory.stats
        yield lambda: [memory.history(each) for each in self.patient.truth]
        yield memory.check

    def _write(self, touched: set[int]) -> None:
        first, second, third, *_ = self.patient.truth
        with open_tiny(self.patient.path) as memory:
            self._look(memory, touched)
            changes: tuple[Callable[[], Any], ...] = (
                lambda: memory.remember("more", vector=vector_of("more"), tier="semantic"),
                lambda: memory.recall(vector=vector_of(WORDS[3]), learn=True),
                lambda: memory.reinforce(first),
                lambda: memory.update(second, text="anew", vector=vector_of("anew"), tags=["t"]),
                lambda: memory.remember("next", vector=vector_of("n"), supersedes=[first]),
                lambda: memory.forget(third),
                memory.reflect,
                memory.compact,
                memory.checkpoint,
                memory.check,
            )
            for change in changes:
                with contextlib.suppress(SpectorError):
                    change()
