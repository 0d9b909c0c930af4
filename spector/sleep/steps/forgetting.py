"""The forgetting engine: five rules, protections, and the limit of a day."""

from __future__ import annotations

import numpy as np

from spector.knowledge import KnowledgeReader
from spector.layout import Category
from spector.search import Words
from spector.sleep.night import Night, Rows, Units, texts_of
from spector.sleep.protection import Protection
from spector.sleep.retiring import retiring
from spector.sleep.steps.budget import ordered, over_budget

__all__ = ["forget"]


def forget(night: Night, cursor: int) -> Units:
    """Let dull and unused memories sleep, those that say least first.

    Rules in their order: contradiction (if the config says so), utility, retention, redundancy
    (which its own step finds), the budget of a user.
    """
    rows = night.memories.rows
    protection = Protection(night, rows)
    active = rows[night.is_active(rows)]
    with night.survey.knowledge() as reader:
        contradicted = _contradicted(night, active, reader)
        dull, why = _dull(night, active, reader)
        free = protection.of_headers(dull, floors=True, use=True)
        dull = dull[free]
        if night.sleep.forget_max_importance < 1.0:
            faded = [each for each in dull["id"].tolist() if why[each] == "faded"]
            said = protection.of_users(faded, reader)
            dull = dull[~np.isin(dull["id"], np.array(sorted(said), np.int64))]
        texts = texts_of(night, dull["id"].tolist())
        dull = ordered(dull, texts, reader)
        kept = protection.of_knowledge(dull["id"].tolist(), texts, reader)
        dull = dull[~np.isin(dull["id"], np.array(sorted(kept), np.int64))]
        over = over_budget(night, active, dull, protection, reader)
    reasons = {**over.reasons, **{each: why[each] for each in dull["id"].tolist()}}
    chosen = np.concatenate([contradicted, dull, over.rows[~np.isin(over.rows["id"], dull["id"])]])
    reasons |= dict.fromkeys(contradicted["id"].tolist(), "contradicted by a newer one")
    yield from retiring(
        night,
        chosen,
        reasons,
        protection.spared,
        waiting=over.waiting,
        erases=night.sleep.forget_action == "forget",
    )
    return None


def _dull(night: Night, active: Rows, reader: KnowledgeReader) -> tuple[Rows, dict[int, str]]:
    """Memories that the rules of utility and retention name, and which of the two did."""
    sleep = night.sleep
    useless = (active["utility"] < np.float32(sleep.utility_floor)) & (
        night.idle_days(active) >= sleep.utility_unused_days
    )
    threshold = np.full(len(active), sleep.forget_below)
    for n, confidence in _confidences(active, reader).items():
        threshold[n] = sleep.forget_below / max(confidence, 0.10)
    unimportant = active["importance"] < np.float32(sleep.forget_max_importance)
    if sleep.forget_max_importance >= 1.0:
        unimportant[:] = True
    faded = unimportant & (night.retention(active) < threshold)
    why = dict.fromkeys(active["id"][useless].tolist(), "useless")
    why |= dict.fromkeys(active["id"][faded & ~useless].tolist(), "faded")
    return active[useless | faded], why


def _confidences(active: Rows, reader: KnowledgeReader) -> dict[int, float]:
    """Confidence of facts, by their position."""
    of_facts = active["category"] == int(Category.FACT)
    ids = active["id"][of_facts].tolist()
    known = {row["id"]: row["confidence"] for row in reader.facts(id=ids)} if ids else {}
    places = np.flatnonzero(of_facts).tolist()
    return {n: known[each] for n, each in zip(places, ids, strict=True) if each in known}


def _contradicted(night: Night, active: Rows, reader: KnowledgeReader) -> Rows:
    """The older of two memories of one kind of speaker that contradict each other."""
    if not night.sleep.forget_contradicted:
        return active[:0]
    living = {each: n for n, each in enumerate(active["id"].tolist())}
    edges = [
        each
        for each in reader.edges(list(living), kinds=["contradicts"])
        if each.source in living and each.target in living
    ]
    words = night.survey.words({end for each in edges for end in (each.source, each.target)})
    gone = set()
    for each in edges:
        pair = sorted(
            (each.source, each.target), key=lambda end: (int(active["event_ms"][living[end]]), end)
        )
        if len({_speaker(words.get(end)) for end in pair}) == 1:
            gone.add(pair[0])
    found = active[np.isin(active["id"], np.array(sorted(gone), np.int64))]
    return found[Protection(night, active).of_headers(found, floors=False, use=False)]


def _speaker(words: Words | None) -> str | None:
    return None if words is None else words.role or "user"
