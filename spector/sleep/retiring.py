"""Puts memories to rest in the order of a step, as far as the limit of a day allows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np

from spector.knowledge import Changes, KnowledgeReader, encode
from spector.layout import Category, Flag
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

__all__ = [
    "OUTDATED", "Outdated", "made_by_nights", "noting_rest", "outdated", "retiring", "stands_for",
]

#: the rule by which what quotes a superseded memory rests
OUTDATED: Final = "quotes what has changed"
#: share of its living sources that rest, above which what a night made stands for them
_STANDS_FOR: Final = 0.5


class Outdated(NamedTuple):
    """What nights made of memories of which one was superseded since.

    Attributes:
        tonight: those awake that rest tonight, the oldest first. waiting: how many wait for another
            day. resting: ids of those that rest, with tonight's.
    """

    tonight: Rows
    waiting: int
    resting: frozenset[int]


def outdated(
    night: Night, reader: KnowledgeReader, may_rest: Callable[[int, str], bool]
) -> Outdated:
    """What quotes a superseded memory, of what nights made.

    Pinned and immutable ones stay, and those that stand for living sources at rest.

    Args:
        may_rest: whether one with an id and of a kind is asked for.
    """
    rows = night.memories.rows
    superseded = set(rows["id"][has_flag(rows, Flag.SUPERSEDED)].tolist())
    of_nights = rows[rows["category"] == int(Category.SUMMARY)]
    if not superseded or not len(of_nights):
        return Outdated(rows[:0], 0, frozenset())
    asleep = set(rows["id"][night.is_dormant(rows)].tolist())
    made = made_by_nights(of_nights, reader, may_rest)
    found = {
        each for each, mine in made.items()
        if mine & superseded and not stands_for(mine - superseded, asleep)
    }
    awake = of_nights[
        np.isin(of_nights["id"], np.array(sorted(found), np.int64)) & night.is_active(of_nights)
        & ~has_flag(of_nights, Flag.PINNED | Flag.IMMUTABLE)
    ]
    awake = awake[np.lexsort((awake["id"], awake["event_ms"]))]
    room, chosen = night.room_of_step() if len(awake) else {}, []
    for n, user in enumerate(awake["user"].tolist()):
        if room.get(user, 0) > 0:
            room[user] -= 1
            chosen.append(n)
    tonight = awake[chosen]
    resting = frozenset((found & asleep) | set(tonight["id"].tolist()))
    return Outdated(tonight, len(awake) - len(tonight), resting)


def made_by_nights(
    rows: Rows, reader: KnowledgeReader, is_meant: Callable[[int, str], bool]
) -> dict[int, set[int]]:
    """Memory that a night made -> its sources, of those that are meant by id and kind."""
    observed = reader.payloads(rows["id"].tolist(), "observed")
    sources: dict[int, set[int]] = {
        each: set() for each, known in sorted(observed.items())
        if known["write_source"] == "dream" and is_meant(each, known["kind"] or "")
    }
    for edge in reader.edges(list(sources), direction="out", kinds=["derived_from"]):
        sources[edge.source].add(edge.target)
    return sources


def stands_for(sources: set[int], asleep: set[int]) -> bool:
    """Whether what a night made stands for its sources: more than half of them rest."""
    return len(sources & asleep) > _STANDS_FOR * len(sources)


def retiring(
    night: Night, rows: Rows, why: str | Mapping[int, str], spared: Mapping[str, int], *,
    waiting: int = 0, erases: bool = False,
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
                erases=batch.tolist(), users=Counter(names), what="forget", seen=len(batch),
                skipped=skipped, reason=why if isinstance(why, str) else "",
                reasons={} if isinstance(why, str) else why,
            )  # fmt: skip
            skipped = {}
            continue
        yield Unit(
            ids=batch.tolist(), alter=_put_to_rest, what=RETIRED, seen=len(batch),
            skipped=skipped, reason=why if isinstance(why, str) else "",
            reasons={} if isinstance(why, str) else why,
            decide=noting_rest(night, batch.tolist(), why),
        )  # fmt: skip
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
            changes.put("payload", id=each, sort="rest", json=encode("rest", {
                "since_ms": night.started_ms, "rule": without_ids(rule),
            }))  # fmt: skip
        return changes

    return decide


def _put_to_rest(fresh: Strengths) -> Mask:
    rows = fresh.rows
    awake = ((rows["flags"] & AT_REST) == 0) & ~has_flag(rows, Flag.IMMUTABLE | Flag.PINNED)
    rows["flags"] = np.where(awake, rows["flags"] | int(Flag.DORMANT), rows["flags"])
    found: Mask = awake
    return found
