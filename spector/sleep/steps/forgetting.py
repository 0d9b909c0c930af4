"""The forgetting engine: five rules, protections, and the limit of a day."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from spector.knowledge import KnowledgeReader
from spector.language.observing import keep_scores
from spector.language.statements import ASSISTANTS
from spector.layout import Category
from spector.search import Words
from spector.sleep.night import Night, Rows, Units, texts_of
from spector.sleep.protection import Protection, guessed_preferences
from spector.sleep.retiring import retiring

__all__ = ["forget"]

#: roles of what is answered: it goes before what persons said
_ANSWER = ASSISTANTS | {"tool", "document"}
#: texts that are read at once
_TEXTS = 2_000
#: memories that are compared by what they say: so many, and so many times those that are to go
_CAREFUL, _TIMES_CAREFUL = 5_000, 3


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
        dull = _ordered(dull, texts, reader)
        kept = protection.of_knowledge(dull["id"].tolist(), texts, reader)
        dull = dull[~np.isin(dull["id"], np.array(sorted(kept), np.int64))]
        over = _over_budget(night, active, dull, protection, reader)
    reasons = {**over.reasons, **{each: why[each] for each in dull["id"].tolist()}}
    chosen = np.concatenate([contradicted, dull, over.rows[~np.isin(over.rows["id"], dull["id"])]])
    reasons |= dict.fromkeys(contradicted["id"].tolist(), "contradicted by a newer one")
    yield from retiring(
        night, chosen, reasons, protection.spared, waiting=over.waiting,
        erases=night.sleep.forget_action == "forget",
    )
    return None


def _dull(
    night: Night, active: Rows, reader: KnowledgeReader
) -> tuple[Rows, dict[int, str]]:
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
        each for each in reader.edges(list(living), kinds=["contradicts"])
        if each.source in living and each.target in living
    ]
    words = night.survey.words({end for each in edges for end in (each.source, each.target)})
    gone = set()
    for each in edges:
        pair = sorted((each.source, each.target), key=lambda end: (
            int(active["event_ms"][living[end]]), end
        ))  # fmt: skip
        if len({_speaker(words.get(end)) for end in pair}) == 1:
            gone.add(pair[0])
    found = active[np.isin(active["id"], np.array(sorted(gone), np.int64))]
    return found[Protection(night, active).of_headers(found, floors=False, use=False)]


def _speaker(words: Words | None) -> str | None:
    return None if words is None else words.role or "user"


class _Over:
    """Memories beyond the budget of their users, and why."""

    def __init__(self, rows: Rows, reasons: Mapping[int, str], waiting: int = 0) -> None:
        self.rows = rows
        self.reasons = dict(reasons)
        #: how many more are too many, and wait for another day
        self.waiting = waiting


def _over_budget(
    night: Night, active: Rows, dull: Rows, protection: Protection, reader: KnowledgeReader
) -> _Over:
    """Of users with more active memories than they may have, those that are worth least."""
    sleep = night.sleep
    if sleep.keep_share >= 1.0 and not sleep.capacity_active:
        return _Over(active[:0], {})
    every = night.memories.rows
    kept_or_asleep = night.is_active(every) | night.is_dormant(every)
    out: list[Rows] = []
    reasons: dict[int, str] = {}
    room, waiting = night.room_of_step(), 0
    for user in np.unique(active["user"]).tolist():
        mine = active[active["user"] == user]
        total = int((kept_or_asleep & (every["user"] == user)).sum())
        most = int(np.ceil(sleep.keep_share * total))
        if sleep.capacity_active and len(mine) > sleep.capacity_active:
            most = min(most, sleep.capacity_trim or sleep.capacity_active)
        excess = len(mine) - most - int((dull["user"] == user).sum())
        tonight = max(0, min(excess, room.get(user, 0)))
        waiting += max(0, excess) - tonight
        if not tonight:
            continue
        found = _least_worth(night, mine[~np.isin(mine["id"], dull["id"])], tonight, protection,
                             reader)  # fmt: skip
        out.append(found)
        reasons |= dict.fromkeys(found["id"].tolist(), "beyond the budget")
    return _Over(np.concatenate(out) if out else active[:0], reasons, waiting)


def _least_worth(
    night: Night, mine: Rows, excess: int, protection: Protection, reader: KnowledgeReader
) -> Rows:
    """As many memories as are too many, those that say least first, protected ones left out."""
    guesses = guessed_preferences(night, mine, reader)
    free = mine[protection.of_headers(mine, floors=True, use=True, guesses=guesses)]
    if night.sleep.capacity_active and night.sleep.order == "v9":
        order = np.lexsort((free["id"], night.retention(free), free["utility"]))
        ordered, texts = free[order], None
    else:
        texts = texts_of(night, free["id"].tolist())
        ordered = _worst_first(free, texts, excess, reader)
    chosen: list[NDArray[np.void]] = []
    count = at = 0
    while count < excess and at < len(ordered):
        part = ordered[at : at + _TEXTS]
        at += _TEXTS
        ids = part["id"].tolist()
        known = texts_of(night, ids) if texts is None else texts
        kept = protection.of_knowledge(ids, known, reader)
        part = part[~np.isin(part["id"], np.array(sorted(kept), np.int64))][: excess - count]
        chosen.append(part)
        count += len(part)
    return np.concatenate(chosen) if chosen else mine[:0]


def _worst_first(
    rows: Rows, texts: Mapping[int, Words], count: int, reader: KnowledgeReader
) -> Rows:
    """Memories by what they are worth; of very many only the short ones are read with care."""
    most = _CAREFUL + _TIMES_CAREFUL * count
    if len(rows) <= most:
        return _ordered(rows, texts, reader)
    lengths = np.array([
        len(texts[each].text) if each in texts else 0 for each in rows["id"].tolist()
    ])
    rows = rows[np.lexsort((rows["id"], lengths))]
    return np.concatenate([_ordered(rows[:most], texts, reader), rows[most:]])


def _ordered(rows: Rows, texts: Mapping[int, Words], reader: KnowledgeReader) -> Rows:
    """Memories by what they are worth, the least first; of equal ones the older first."""
    known = np.array([each in texts for each in rows["id"].tolist()], bool)
    worth = np.ones(len(rows))
    ids = rows["id"][known].tolist()
    said, observed = [texts[each] for each in ids], reader.payloads(ids, "observed")
    worth[known] = keep_scores(
        [each.text for each in said], rows["importance"][known].tolist(),
        [n for n, each in enumerate(said) if (each.role or "").casefold() in _ANSWER],
        replies=[n for n, each in enumerate(ids) if observed.get(each, {}).get("reply")],
    )
    return rows[np.lexsort((rows["id"], rows["event_ms"], worth))]
