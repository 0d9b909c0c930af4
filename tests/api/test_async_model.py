"""An ``AsyncMemory`` holds what a ``Memory`` holds that was given the writes that took effect.

Mechanism: calls of several tasks at once, some of them cancelled, over several loops in turn and
with the store closed and opened again in between; `settled` says which cancelled writes came to
their end. Damage without it: a write is lost, done twice or in another order, and nobody hears of
it. Guard: the same writes, in the order of their calls, given to a plain `Memory`.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import spector
from spector import Memory, SpectorError
from tests.fakes import FakeEmbedder

_WORDS = "boiler kettle ladder window river violin stone garden".split()
#: calls that wait at once
_AT_ONCE = 12


@dataclass
class Step:
    """One call: what a task awaits, and the same for the plain memory."""

    call: Callable[[Any], Coroutine[Any, Any, Any]]
    twin: Callable[[Memory], Any] | None
    #: the text that only this write gives a memory, or the id that it forgets
    mark: object = None


class Model:
    """Makes steps, and knows what the plain memory holds after them."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.plain = spector.open(":memory:", embedder=FakeEmbedder(dim=32))
        self.cancelled = self.steps = self.settled = 0
        #: text of a memory -> its id in the memory that is awaited, and in the plain one
        self.ids: dict[str, tuple[int, int]] = {}
        #: ids that a call of this round forgets: of two, one could not say which came to its end
        self.leaving: set[int] = set()

    def step(self) -> Step:
        rng, self.steps = self.rng, self.steps + 1
        text = f"{rng.choice(_WORDS)} {rng.choice(_WORDS)} {self.steps}"
        drawn = rng.random()
        if drawn < 0.35 or not self.ids:
            return self._remember(text, {})
        if drawn < 0.5:
            return self._remember(text, {"key": f"k{rng.randrange(20)}", "namespace": ("n",)})
        of, (own, twin) = rng.choice([*self.ids.items()])
        if drawn < 0.65:
            return Step(
                lambda m: m.update(own, text=text), lambda p: p.update(twin, text=text), text
            )
        if drawn < 0.75 and own not in self.leaving:
            self.leaving.add(own)
            return Step(lambda m: m.forget(own), lambda p: p.forget(twin), own)
        reads: list[Callable[[Any], Any]] = [
            lambda m: m.recall(of, k=3),
            lambda m: m.count(),
            lambda m: m.facts.about("Ada"),
        ]
        return Step(rng.choice(reads), None)

    def _remember(self, text: str, given: dict[str, Any]) -> Step:
        return Step(lambda m: m.remember(text, **given), lambda p: p.remember(text, **given), text)

    def follow(self, steps: list[Step], results: list[Any]) -> None:
        """Give the plain memory the writes that took effect; a write that failed fails there."""
        for step, result in zip(steps, results, strict=True):
            if step.twin is None or isinstance(result, asyncio.CancelledError):
                continue
            if isinstance(result, SpectorError):
                with pytest.raises(type(result)):
                    step.twin(self.plain)
                continue
            assert not isinstance(result, BaseException), result
            found = step.twin(self.plain)
            if isinstance(result, spector.MemoryRecord):
                gone = [text for text, ids in self.ids.items() if ids[0] == result.id]
                for text in gone:
                    del self.ids[text]
                self.ids[result.text] = (result.id, found.id)
            else:
                assert len(found.ids) == len(result.ids)
                self.ids = {text: ids for text, ids in self.ids.items() if ids[0] not in result.ids}

    async def round(self, memory: Any, *, closes: bool) -> None:
        """Some calls at once, of which some are cancelled; a close among them comes after them."""
        rng, self.leaving = self.rng, set()
        steps = [self.step() for _ in range(rng.randrange(1, _AT_ONCE))]
        tasks = [asyncio.ensure_future(step.call(memory)) for step in steps]
        for task in rng.sample(tasks, rng.randrange(len(tasks) // 2 + 1)):
            for _ in range(rng.randrange(3)):
                await asyncio.sleep(0 if rng.random() < 0.5 else rng.random() * 0.003)
            self.cancelled += task.cancel()
        if closes:
            await asyncio.sleep(0)  # every task has called by now
            await memory.close()
            with pytest.raises(spector.StoreClosedError):
                await memory.count()
        results: list[Any] = list(await asyncio.gather(*tasks, return_exceptions=True))
        late = await memory.settled()
        self.settled += len(late)
        for each in late:
            mark = each.error
            if isinstance(each.result, spector.MemoryRecord):
                mark = each.result.text
            elif each.error is None:
                mark = next(iter(each.result.ids), None)
            waiting = [
                n
                for n, step in enumerate(steps)
                if isinstance(results[n], asyncio.CancelledError) and step.mark == mark
            ]
            if waiting:  # else it failed, or forgot what was gone
                results[waiting[0]] = each.result
        self.follow(steps, results)

    def compare(self, memory: Memory) -> None:
        def held(one: Memory) -> list[Any]:
            return sorted((each.text, each.key, each.revision) for each in one.records())

        assert held(memory) == held(self.plain)
        for cue in _WORDS[:2]:
            ours, plain = (
                {each.text for each in one.recall(cue, k=10_000)} for one in (memory, self.plain)
            )
            assert ours == plain


@pytest.mark.parametrize("steps", [400, pytest.param(10_000, marks=pytest.mark.slow)])
def test_it_holds_what_a_memory_holds(steps: int, tmp_path: Path) -> None:
    model = Model(random.Random(20261129 + steps))
    memory: Any = None
    # how many calls a cancel still meets is the machine's: go on until they are enough
    while model.steps < steps or model.cancelled <= steps / 8 or not model.settled:
        closes = model.rng.random() < 0.2

        async def loop(memory: Any = memory, closes: bool = closes) -> Any:
            if memory is None:
                memory = await spector.open_async(
                    tmp_path / "m", embedder=FakeEmbedder(dim=32), durability="relaxed"
                )
            for _ in range(8):
                await model.round(memory, closes=False)
            model.compare(memory.sync)
            if closes:
                await model.round(memory, closes=True)
            return None if closes else memory

        memory = asyncio.run(loop())
    if memory is not None:
        memory.sync.close()
    with spector.open(tmp_path / "m", embedder=FakeEmbedder(dim=32)) as found:
        model.compare(found)
        assert found.check().ok
    model.plain.close()
