"""Puts memories to rest in the order of a step, as far as the limit of a day allows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from spector.knowledge import Changes, KnowledgeReader, encode
from spector.layout import Flag
from spector.search import Strengths
from spector.sleep.night import (
    RETIRED,
    Mask,
    Night,
    Rows,
    batches,
    has_flag,
    mark_of,
    without_ids,
)
from spector.sleep.protection import AT_REST
from spector.write import Unit

__all__ = ["noting_rest", "retiring"]


def retiring(
    night: Night,
    rows: Rows,
    why: str | Mapping[int, str],
    spared: Mapping[str, int],
    *,
    waiting: int = 0,
    erases: bool = False,
) -> Iterable[Unit]:
    """Units that make memories dormant, in their order, as far as a day's limit allows.

    Args:
        waiting: how many more of them wait for another day.
        erases: they are forgotten for good instead.
    """
    done = np.array(sorted(night.done.get(RETIRED, ())), np.int64)
    rows = rows[~np.isin(rows["id"], done)]
    room, chosen = night.room_to_retire(), []
    for n, user in enumerate(rows["user"].tolist()):
        if room.get(user, 0) > 0:
            room[user] -= 1
            chosen.append(n)
    waiting += len(rows) - len(chosen)
    skipped = {
        name: count for name, count in {**spared, "limit of a day": waiting}.items() if count
    }
    picked = rows["id"][chosen]
    users = dict(zip(picked.tolist(), rows["user"][chosen].tolist(), strict=True))
    for batch in batches(picked, night.sleep.batch_records):
        if erases:
            names = (mark_of(night.memories.users[users[each]]) for each in batch.tolist())
            yield Unit(
                erases=batch.tolist(),
                users=Counter(names),
                what="forget",
                seen=len(batch),
                skipped=skipped,
                reason=why if isinstance(why, str) else "",
                reasons={} if isinstance(why, str) else why,
            )
            skipped = {}
            continue
        yield Unit(
            ids=batch.tolist(),
            alter=_put_to_rest,
            what=RETIRED,
            seen=len(batch),
            skipped=skipped,
            reason=why if isinstance(why, str) else "",
            reasons={} if isinstance(why, str) else why,
            decide=noting_rest(night, batch.tolist(), why),
        )
        skipped = {}
    if skipped:
        yield Unit(seen=waiting, skipped=skipped)


def noting_rest(
    night: Night, ids: Sequence[int], why: str | Mapping[int, str]
) -> Callable[[KnowledgeReader, int], Changes]:
    """The rows that say since when memories rest, and by which rule."""

    def decide(reader: KnowledgeReader, now_ms: int) -> Changes:
        changes = Changes()
        for each in sorted(reader.owners(list(ids))):
            rule = why if isinstance(why, str) else why.get(each, "")
            changes.put(
                "payload",
                id=each,
                sort="rest",
                json=encode(
                    "rest",
                    {
                        "since_ms": night.started_ms,
                        "rule": without_ids(rule),
                    },
                ),
            )
        return changes

    return decide


def _put_to_rest(fresh: Strengths) -> Mask:
    rows = fresh.rows
    awake = ((rows["flags"] & AT_REST) == 0) & ~has_flag(rows, Flag.IMMUTABLE | Flag.PINNED)
    rows["flags"] = np.where(awake, rows["flags"] | int(Flag.DORMANT), rows["flags"])
    found: Mask = awake
    return found
