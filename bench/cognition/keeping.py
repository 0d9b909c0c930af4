"""Row 24: what the observer keeps of real conversations, and what recall loses by it.

Each store is observed and, beside it, remembered, in one run. Of the turns that are evidence for a
question the dropped ones are counted; of the turns that are cited by none and say nothing (at most
eight words, no name, number or date) those that were dropped. Recall is asked the same questions of
both stores.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

import spector
from bench.cognition.facts import present_state
from bench.cognition.score import Score, scores
from bench.recall.sets import load
from bench.recall.shape import Item, Question
from spector import ManualClock, Memory
from spector.language.statements import names_of

__all__ = ["found_by", "keeping_rows", "message_of", "owners_of"]

K: Final = 10
_EMPTY_WORDS: Final = 8
_WORD: Final = re.compile(r"[^\W_]+(?:'[^\W_]+)?")

Owners = Mapping[int, frozenset[str]]
Found = np.ndarray[Any, np.dtype[np.bool_]]


def is_empty(item: Item) -> bool:
    """Whether a turn says nothing that a question could be about: short, no name, no number."""
    words = _WORD.findall(item.text)
    return (
        len(words) <= _EMPTY_WORDS
        and not any(c.isdigit() for each in words for c in each)
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


def owners_of(memory: Memory) -> Owners:
    """Memory -> the turns that it is from; a fact is from those that state it.

    What sleep makes of many messages is from none: it would be right by its size.
    """
    own = {
        each.id: frozenset([each.metadata["item"]])
        for each in memory.records()
        if "item" in each.metadata
    }
    out = dict(own)
    for fact in memory.facts.query():
        out[fact.id] = frozenset().union(*(own.get(each, frozenset()) for each in fact.sources))
    return out


def found_by(
    memory: Memory, questions: Sequence[Question], owners: Owners, first: int = K
) -> Found:
    """For each question, whether a message that answers it is among the ``first`` of ten hits."""
    out = np.zeros(len(questions), bool)
    for n, question in enumerate(questions):
        hits = memory.recall(question.cue, k=K)[:first]
        found = (owners.get(one, ()) for hit in hits for one in (hit.id, *hit.also))
        out[n] = bool(set().union(*found) & set(question.gold))
    return out


def measured(name: str, stores: int) -> Counter[str]:
    """Counts of the first stores of a set."""
    out, data = Counter[str](), load(name)
    for store in data.stores[:stores]:
        asked = [each for each in data.answerable if each.store == store.name]
        cited = {each for question in asked for each in question.gold}
        clock, messages = ManualClock(store.until()), [message_of(each) for each in store.items]
        with (
            spector.open(":memory:", clock=clock) as plain,
            spector.open(":memory:", clock=clock) as memory,
        ):
            plain.remember_many(messages)
            results = memory.observe_many(messages, scopes_from_message=True)
            for item, result in zip(store.items, results, strict=True):
                kind = "evidence" if item.id in cited else "empty" if is_empty(item) else "other"
                out[kind] += 1
                out[f"{kind} dropped"] += all(each.action == "skip" for each in result.units)
            owners = {each: owners_of(each) for each in (memory, plain)}
            for question in asked:
                clock.set(question.now or store.until())
                out["asked"] += 1
                out["observe"] += int(found_by(memory, [question], owners[memory])[0])
                out["remember"] += int(found_by(plain, [question], owners[plain])[0])
    return out


def keeping_rows() -> list[Score]:
    """Recall on what was observed beside recall on all that was said, in one run."""
    out = []
    for name, title, stores in (("locomo", "LoCoMo", 3), ("beam", "BEAM", 1)):
        kept = measured(name, stores)
        own, other = (kept[each] / max(1, kept["asked"]) for each in ("observe", "remember"))
        lost, talk = (kept[f"{n} dropped"] / max(1, kept[n]) for n in ("evidence", "empty"))
        out += scores(
            "keeping",
            title=title,
            stores=stores,
            asked=kept["asked"],
            own=own,
            other=other,
            enough=other - 0.01,
            lost=100 * lost,
            talk=100 * talk,
            talk_or_none=100 * talk if kept["empty"] else 100,
        )
    return [*out, *present_state()]
