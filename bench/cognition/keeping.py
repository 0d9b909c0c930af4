"""Row 24: what the observer keeps of real conversations, and what recall loses by it.

Each store is observed and, beside it, remembered, in one run. Of the turns that are evidence for a
question the dropped ones are counted; of the turns that are cited by none and say nothing (at most
eight words, no name, number or date) those that were dropped. Recall is asked the same questions of
both stores.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import Any, Final

import spector
from bench.cognition.score import Score
from bench.cognition.statements import data
from bench.data import NOW
from bench.recall.sets import load
from bench.recall.shape import DataSet, Item, Question, Store
from spector import ManualClock, ObserveResult
from spector.language.statements import names_of

__all__ = ["Kept", "keeping", "keeping_rows", "measure", "present_state", "scores_of"]

K: Final = 10
_EMPTY_WORDS: Final = 8
#: a fact of FactConsolidation behind its serial number
_FACT: Final = re.compile(r"\d+\. (.+)")
_WORD: Final = re.compile(r"[^\W_]+(?:'[^\W_]+)?")


class Kept:
    """Counts over stores."""

    def __init__(self) -> None:
        self.evidence = self.evidence_dropped = 0
        self.empty = self.empty_dropped = 0
        self.asked = 0
        self.found = {"observe": 0, "remember": 0}


def is_empty(item: Item) -> bool:
    """Whether a turn says nothing that a question could be about: short, no name, no number."""
    words = _WORD.findall(item.text)
    return (
        len(words) <= _EMPTY_WORDS
        and not any(any(c.isdigit() for c in each) for each in words)
        and not names_of(item.text)
        and "[shares" not in item.text
    )


def message_of(item: Item) -> dict[str, Any]:
    """A turn as a caller would hand it over."""
    return {
        "text": item.text,
        "role": item.speaker or None,
        "session_id": item.session or None,
        "event_time": item.time,
        "metadata": {"item": item.id},
    }


def measure(store: Store, questions: Iterable[Question], kept: Kept) -> None:
    """Observe and remember one store, and ask both."""
    asked = [each for each in questions if each.store == store.name and each.gold]
    cited = {each for question in asked for each in question.gold}
    clock = ManualClock(store.until())
    messages = [message_of(each) for each in store.items]
    with (
        spector.open(":memory:", clock=clock) as plain,
        spector.open(":memory:", clock=clock) as memory,
    ):
        plain.remember_many(messages)
        results = memory.observe_many(messages, scopes_from_message=True)
        count(store.items, results, cited, kept)
        owners = {"remember": owners_of(plain), "observe": owners_of(memory)}
        for question in asked:
            clock.set(question.now or store.until())
            kept.asked += 1
            for name, each in (("remember", plain), ("observe", memory)):
                hits = each.recall(question.cue, k=K)
                found = {
                    owner
                    for hit in hits
                    for one in (hit.id, *hit.also)
                    for owner in owners[name].get(one, ())
                }
                kept.found[name] += bool(found & set(question.gold))


def owners_of(memory: spector.Memory) -> dict[int, tuple[str, ...]]:
    """Memory -> the turns that it is from; a fact is from those that state it."""
    own: dict[int, tuple[str, ...]] = {
        each.id: (each.metadata["item"],) for each in memory.records() if "item" in each.metadata
    }
    for fact in memory.facts.query():
        own[fact.id] = tuple(itertools.chain.from_iterable(own.get(s, ()) for s in fact.sources))
    return own


def count(
    items: Sequence[Item], results: Sequence[ObserveResult], cited: set[str], kept: Kept
) -> None:
    """Add the results of one store."""
    for item, result in zip(items, results, strict=True):
        dropped = not result.units or all(each.action == "skip" for each in result.units)
        if item.id in cited:
            kept.evidence += 1
            kept.evidence_dropped += dropped
        elif is_empty(item):
            kept.empty += 1
            kept.empty_dropped += dropped


def keeping(found: DataSet, stores: int | None = None) -> Kept:
    """The counts of a set."""
    kept = Kept()
    for store in found.stores[:stores]:
        measure(store, found.questions, kept)
    return kept


def present_state(size: str = "6k") -> tuple[int, dict[str, int]]:
    """Questions about facts of which newer ones change older ones, and of how many the first hit
    has the newest value: of what was observed, and of what was remembered.
    """
    sets = json.loads(
        (data() / "cognition/factconsolidation/facts.json").read_text(encoding="utf-8")
    )[f"sh_{size}"]
    said = [found[1] for each in sets["context"].splitlines() if (found := _FACT.match(each))]
    clock = ManualClock(NOW)
    messages = [
        {"text": text, "event_time": NOW - timedelta(minutes=len(said) - n)}
        for n, text in enumerate(said)
    ]
    right = {}
    for name in ("observe", "remember"):
        with spector.open(":memory:", clock=clock) as memory:
            memory.observe_many(messages) if name == "observe" else memory.remember_many(messages)
            right[name] = sum(
                any(answer in memory.recall(question, k=1)[0].text for answer in answers)
                for question, answers in zip(sets["questions"], sets["answers"], strict=True)
            )
    return len(sets["questions"]), right


def keeping_rows(conversations: int = 3) -> list[Score]:
    """Row 24: recall on what was observed beside recall on all that was said, in one run."""
    out = []
    for name, title, stores in (("locomo", "LoCoMo", conversations), ("beam", "BEAM", 1)):
        out += scores_of(keeping(load(name), stores), f"{title} dev, {stores} of the set")
    asked, right = present_state()
    own, other = (100 * right[name] / asked for name in ("observe", "remember"))
    return [
        *out,
        Score(
            24,
            "questions about the present state, FactConsolidation 6k, the first hit has the newest"
            " value: observed · remembered",
            f"{own:.0f} · {other:.0f}",
            "-",
            "above",
            own > other,
        ),
    ]


def scores_of(kept: Kept, title: str) -> list[Score]:
    """The counts of a set beside their goals."""
    own, other = (kept.found[name] / max(1, kept.asked) for name in ("observe", "remember"))
    lost = kept.evidence_dropped / max(1, kept.evidence)
    talk = kept.empty_dropped / max(1, kept.empty)
    return [
        Score(
            24,
            f"{title}, {kept.asked} questions, a cited turn in {K} hits: observed · remembered",
            f"{own:.3f} · {other:.3f}",
            "-",
            "1 point below",
            own >= other - 0.01,
        ),
        Score(
            24,
            "the same run: cited turns that are left out · short turns that say nothing",
            f"{100 * lost:.1f} % · {100 * talk:.0f} %",
            "-",
            "3 % · 60 %",
            lost <= 0.03 and (talk >= 0.6 or not kept.empty),
        ),
    ]
