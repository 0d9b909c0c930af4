"""The budget of a user: of memories beyond it those rest that say least."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np
from numpy.typing import NDArray

from spector.knowledge import KnowledgeReader
from spector.language.observing import keep_scores
from spector.language.statements import ASSISTANTS
from spector.search import Words
from spector.sleep.night import Night, Rows, texts_of
from spector.sleep.protection import Protection, guessed_preferences

__all__ = ["Over", "ordered", "over_budget"]

#: roles of what is answered: it goes before what persons said
_ANSWER: Final = ASSISTANTS | {"tool", "document"}
#: texts that are read at once
_TEXTS: Final = 2_000
#: memories that are compared by what they say: so many, and so many times those that are to go
_CAREFUL, _TIMES_CAREFUL = 5_000, 3


class Over:
    """Memories beyond the budget of their users, and why."""

    def __init__(self, rows: Rows, reasons: Mapping[int, str], waiting: int = 0) -> None:
        self.rows = rows
        self.reasons = dict(reasons)
        #: how many more are too many, and wait for another day
        self.waiting = waiting


def over_budget(
    night: Night, active: Rows, dull: Rows, protection: Protection, reader: KnowledgeReader
) -> Over:
    """Of users with more active memories than they may have, those that are worth least."""
    sleep = night.sleep
    if sleep.keep_share >= 1.0 and not sleep.capacity_active:
        return Over(active[:0], {})
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
        mine = mine[~np.isin(mine["id"], dull["id"])]
        found = _least_worth(night, mine, excess, tonight, protection, reader)
        out.append(found)
        reasons |= dict.fromkeys(found["id"].tolist(), "beyond the budget")
    return Over(np.concatenate(out) if out else active[:0], reasons, waiting)


def _least_worth(
    night: Night,
    mine: Rows,
    excess: int,
    most: int,
    protection: Protection,
    reader: KnowledgeReader,
) -> Rows:
    """Of the memories that are too many, those that say least, what rests tonight.

    What is to go and is younger than the floor of its category waits for it: nothing that says more
    goes in its place, or what was said last would stay for its age.

    Args:
        excess: how many are too many. most: of how many tonight.
    """
    if most <= 0:
        return mine[:0]
    floors = protection.floors(mine, guessed_preferences(night, mine, reader))
    free = protection.of_headers(mine, floors=np.isinf(floors), use=True)
    mine, floors = mine[free], floors[free]
    young = mine["id"][night.age_days(mine) < floors]
    if len(young) == len(mine):  # nothing is read for nothing
        protection.note_young(min(excess, len(young)))
        return mine[:0]
    if night.sleep.capacity_active and night.sleep.order == "v9":
        mine, young = mine[~np.isin(mine["id"], young)], young[:0]  # the limit is met at once
        order = np.lexsort((mine["id"], night.retention(mine), mine["utility"]))
        queue, texts = mine[order], None
    else:
        texts = texts_of(night, mine["id"].tolist())
        queue = _worst_first(mine, texts, most, reader)
    chosen: list[NDArray[np.void]] = []
    count = waiting = at = 0
    while count < most and count + waiting < excess and at < len(queue):
        part = queue[at : at + _TEXTS]
        at += _TEXTS
        ids = part["id"][~np.isin(part["id"], young)].tolist()  # the others are asked in their time
        known = texts_of(night, ids) if texts is None else texts
        kept = protection.of_knowledge(ids, known, reader)
        part = part[~np.isin(part["id"], np.array(sorted(kept), np.int64))]
        part = part[: excess - count - waiting]
        waits = np.isin(part["id"], young)
        waiting += int(waits.sum())
        chosen.append(part[~waits][: most - count])
        count += len(chosen[-1])
    protection.note_young(waiting)
    return np.concatenate(chosen) if chosen else mine[:0]


def _worst_first(
    rows: Rows, texts: Mapping[int, Words], count: int, reader: KnowledgeReader
) -> Rows:
    """Memories by what they are worth; of very many only the short ones are read with care."""
    most = _CAREFUL + _TIMES_CAREFUL * count
    if len(rows) <= most:
        return ordered(rows, texts, reader)
    lengths = np.array(
        [len(texts[each].text) if each in texts else 0 for each in rows["id"].tolist()]
    )
    rows = rows[np.lexsort((rows["id"], lengths))]
    return np.concatenate([ordered(rows[:most], texts, reader), rows[most:]])


def ordered(rows: Rows, texts: Mapping[int, Words], reader: KnowledgeReader) -> Rows:
    """Memories by what they are worth, the least first; of equal ones the older first."""
    known = np.array([each in texts for each in rows["id"].tolist()], bool)
    worth = np.ones(len(rows))
    ids = rows["id"][known].tolist()
    said, observed = [texts[each] for each in ids], reader.payloads(ids, "observed")
    worth[known] = keep_scores(
        [each.text for each in said],
        rows["importance"][known].tolist(),
        [n for n, each in enumerate(said) if (each.role or "").casefold() in _ANSWER],
        replies=[n for n, each in enumerate(ids) if observed.get(each, {}).get("reply")],
    )
    return rows[np.lexsort((rows["id"], rows["event_ms"], worth))]
