"""FactConsolidation: questions about facts of which newer ones change older ones (11, 12, 24)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from datetime import timedelta
from typing import Any, Final, NamedTuple

import spector
from bench.cognition.score import Score, scores
from bench.data import NOW, data_root
from spector.clock import ManualClock

#: words behind which the value of a fact stands
_LINKS: Final = frozenset("is of by in with from to as for".split())


class Asked(NamedTuple):
    """Facts in their order, and questions of one hop or of several with their answers."""

    facts: list[str]
    questions: list[tuple[str, list[str]]]

    def messages(self) -> list[dict[str, Any]]:
        """The facts as they were said, a minute apart until now."""
        last = len(self.facts)
        return [
            {"text": text, "event_time": NOW - timedelta(minutes=last - n)}
            for n, text in enumerate(self.facts)
        ]

    def answered(self, memory: spector.Memory, k: int) -> float:
        """Percent of the questions of which one of k hits has the answer."""
        right = sum(
            any(answer in hit.text for hit in memory.recall(question, k=k) for answer in answers)
            for question, answers in self.questions
        )
        return 100 * right / len(self.questions)


def asked(size: str, hops: str = "sh") -> Asked:
    """``size``: 6k or 32k. ``hops``: sh, one, or mh, several."""
    sets = json.loads((data_root() / "cognition/factconsolidation/facts.json").read_text("utf-8"))
    lines = sets[f"sh_{size}"]["context"].splitlines()
    facts = [found[1] for line in lines if (found := re.match(r"\d+\. (.+)", line))]
    chosen = sets[f"{hops}_{size}"]
    return Asked(facts, list(zip(chosen["questions"], chosen["answers"], strict=True)))


def changed_pairs(facts: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Facts of one wording up to a last value, the older one first."""
    seen: dict[str, list[str]] = {}
    for fact in (each.strip().removesuffix(".") for each in facts):
        words = fact.split()
        for at in range(len(words) - 1, max(len(words) - 6, 3), -1):
            if words[at - 1] in _LINKS:
                same = seen.setdefault(" ".join(words[:at]), [])
                yield from ((other, fact) for other in same if other != fact)
                same.append(fact)
                break


def changed_facts() -> list[Score]:
    """Rows 11 and 12."""
    out = []
    for size in ("6k", "32k"):
        one, several = asked(size), asked(size, "mh")
        with spector.open(":memory:", clock=ManualClock(NOW)) as memory:
            memory.remember_many(one.messages(), supersedes="auto")
            first, among = one.answered(memory, 1), several.answered(memory, 10)
        out += scores(f"facts {size}", first=first, among=among)
    return out


def present_state() -> list[Score]:
    """Row 24, of what was observed and of what was remembered."""
    one, found = asked("6k"), {}
    for name in ("observe", "remember"):
        with spector.open(":memory:", clock=ManualClock(NOW)) as memory:
            getattr(memory, f"{name}_many")(one.messages())
            found[name] = one.answered(memory, 1)
    return scores("present", **found)
