"""Redundancy: of two memories that say the same, the less useful one rests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from spector.knowledge import Changes, KnowledgeReader, plan_moved_references
from spector.language.worth import Wording, is_other_event, same_particulars
from spector.layout import Flag, TierCode
from spector.providers import estimated_tokens
from spector.records import MemoryRecord
from spector.search import Strengths
from spector.sleep.night import (
    DAY_MS,
    RETIRED,
    Mask,
    Night,
    Rows,
    Units,
    breathe,
    consolidated,
    has_flag,
    in_units,
    mark_of,
    texts_of,
)
from spector.sleep.protection import AT_REST, Protection, retiring
from spector.write import Unit

#: new memories whose nearest one is looked up
_MOST_NEW: Final = 500
#: pairs over the limit of a day that are kept for the next one
_MOST_WAITING: Final = 1_000
#: of them between two looks at the time
_LOOKED_AT_ONCE: Final = 10
_HELD: Final = Flag.PINNED | Flag.IMMUTABLE | Flag.FLASHBULB | Flag.UNRESOLVED


def deduplicate(night: Night, cursor: int) -> Units:
    """Compare what is new with what is nearest; of what says the same one becomes dormant.

    The oldest comes first, and a later cycle goes on behind the last one that was compared.
    """
    lately = [
        each
        for each in night.state.recent.get("compared", [])
        if each[0] > night.started_ms - DAY_MS
    ]
    left = night.sleep.redundancy_most - sum(each[1] for each in lately)
    found, last, waiting = yield from _pairs(night, left)
    chosen = night.once("pairs", lambda: [*night.state.recent.get("waiting", ()), *found])
    last = night.once("last", lambda: last)
    waiting = night.once("waiting", lambda: waiting)
    compared = _still(night, chosen)
    room = night.room_to_retire()
    numbers = {user: n for n, user in enumerate(night.memories.users)}
    gone = set(night.done.get(RETIRED, ()))
    over: list[list[int]] = []
    for likeness, one, other in compared:
        if {one.id, other.id} & gone or not _says_the_same(one, other):
            continue
        if (one.flags | other.flags) & AT_REST:  # of the two that waited one has gone since
            continue
        if not night.tools.says_the_same(one, other):
            continue
        loser, kept = _chosen(one, other)
        number = numbers.get(loser.user_id, -1)
        if loser.flags & _HELD:
            yield Unit(skipped={"protected": 1})
            continue
        if room.get(number, 0) <= 0:
            over.append([one.id, other.id])
            yield Unit(skipped={"limit of a day": 1})
            continue
        room[number] -= 1
        gone.add(loser.id)
        yield _rest(loser, kept, likeness)
    if compared or waiting:
        yield Unit(seen=len(compared), skipped={"comparisons of a day": waiting} if waiting else {})
    noted = [*lately, [night.started_ms, len(chosen)]] if chosen else lately
    recent = {"compared": noted, "deduplicated_id": last, "waiting": over[:_MOST_WAITING]}
    return {"recent": recent}


def _still(
    night: Night, chosen: Sequence[Sequence[int]]
) -> list[tuple[float, MemoryRecord, MemoryRecord]]:
    """The chosen pairs of which both are there, in their order."""
    out = []
    for a, b in chosen:
        records = night.survey.records([a, b])
        if len(records) == 2:
            vectors = night.survey.vectors([a, b])
            likeness = float(np.einsum("d,d->", vectors[0], vectors[1]))
            out.append((likeness, records[a], records[b]))
    return out


def _pairs(night: Night, most: int) -> Generator[Unit, None, tuple[list[list[int]], int, int]]:
    """New memories and their nearest ones of the same user, until there are ``most`` pairs.

    When the time is over, how far it came is kept with a unit; the next call goes on there.

    Returns:
        The pairs, the likeliest first; the last memory that was looked up; how many are left.
    """
    rows = night.memories.rows
    last: int = night.state.recent.get("deduplicated_id", 0)
    tiers = [int(TierCode.EPISODIC), int(TierCode.SEMANTIC)]
    new = rows[night.is_active(rows) & np.isin(rows["tier"], tiers) & (rows["id"] > last)]
    ids = np.sort(new["id"])[:_MOST_NEW].tolist()
    stated = _statements(night, ids)
    records, vectors = night.survey.records(ids), night.survey.vectors(ids)
    at, known = night.once("looked", lambda: [0, []])
    found = {(min(a, b), max(a, b)): (likeness, a, b) for likeness, a, b in known}
    for n, each in enumerate(ids):
        if each > at and len(found) >= most:
            break
        last = each
        if each <= at or each not in stated or each not in records or not vectors[n].any():
            continue  # the second but last: it was forgotten meanwhile
        breathe(night)
        near = night.tools.neighbours.find(
            "",
            vectors[n],
            user_id=records[each].user_id,
            now_ms=night.started_ms,
            count=2,
            channels=("vector",),
        )
        for other in near:
            if other.id == each or other.likeness is None or other.record.dormant:
                continue
            if other.likeness > night.sleep.redundancy:
                key = (min(each, other.id), max(each, other.id))
                found[key] = (other.likeness, each, other.id)
        if not night.dry and n % _LOOKED_AT_ONCE == _LOOKED_AT_ONCE - 1 and night.must_stop():
            night.state.note_once("looked", [each, list(found.values())])
            yield Unit(judges=True)
    ordered = sorted(found.values(), key=lambda each: (-each[0], each[1], each[2]))
    return [[a, b] for _, a, b in ordered], last, int(np.count_nonzero(new["id"] > last))


def _statements(night: Night, ids: list[int]) -> set[int]:
    """Those that are no runs of a tool: each of these is an observation, also in equal words."""
    with night.survey.knowledge() as reader:
        known = reader.payloads(ids, "episode")
    runs = {
        each
        for each, details in known.items()
        if details.get("tool") is not None or details.get("success") is not None
    }
    return set(ids) - runs


def _says_the_same(one: MemoryRecord, other: MemoryRecord) -> bool:
    """Whether two memories are of one sort, agent and kind of source, with the same particulars.

    An event of another day is another event, as it is when it is observed.
    """
    if one.data_source != other.data_source or one.payload or other.payload:
        return False
    if (one.tier, one.category, one.agent_id) != (other.tier, other.category, other.agent_id):
        return False
    if "dream" in (one.write_source, other.write_source):
        return False
    texts = Wording(one.said, one.event_ms), Wording(other.said, other.event_ms)
    if is_other_event(*texts) or texts[0].turns != texts[1].turns:
        return False
    return same_particulars(*texts)


def _chosen(one: MemoryRecord, other: MemoryRecord) -> tuple[MemoryRecord, MemoryRecord]:
    """The one that rests, and the one that stays: pinned, more useful, more used, newer."""
    pair = sorted(
        (one, other),
        key=lambda each: (
            bool(each.flags & _HELD),
            each.utility,
            each.access_count,
            each.event_ms,
            each.id,
        ),
    )
    return pair[0], pair[1]


def _rest(loser: MemoryRecord, kept: MemoryRecord, likeness: float) -> Unit:
    """The unit that lets one rest and gives its uses, sources and references to the other."""
    return Unit(
        ids=(loser.id, kept.id),
        alter=_merged(loser.id, kept.id),
        what=RETIRED,
        seen=0,
        kinds={kept.id: "merged"},
        reason=f"says what {kept.id} says",
        decide=_moved(loser.id, kept.id, likeness),
    )


def _merged(loser: int, kept: int) -> Callable[[Strengths], Mask]:
    def alter(fresh: Strengths) -> Mask:
        rows = fresh.rows
        places = {each: n for n, each in enumerate(rows["id"].tolist())}
        chosen = np.zeros(len(rows), bool)
        if loser not in places or kept not in places:
            return chosen
        flags = int(rows["flags"][places[loser]])
        if flags & int(Flag.DORMANT | _HELD):
            return chosen
        rows["flags"][places[loser]] = flags | int(Flag.DORMANT)
        used = int(rows["access_count"][places[kept]]) + int(rows["access_count"][places[loser]])
        chosen[places[kept]] = used != int(rows["access_count"][places[kept]])
        rows["access_count"][places[kept]] = min(used, 0xFFFF_FFFF)
        chosen[places[loser]] = True
        return chosen

    return alter


def _moved(loser: int, kept: int, likeness: float) -> Callable[[KnowledgeReader, int], Changes]:
    def decide(reader: KnowledgeReader, now_ms: int) -> Changes:
        changes = Changes()
        if len(reader.owners([loser, kept])) < 2 or any(
            each.kind == "contradicts" and kept in (each.source, each.target)
            for each in reader.edges([loser])
        ):
            return changes
        plan_moved_references(reader, changes, loser, kept)
        held = reader.sources([row["a"] for row in reader.links("source", b=[loser])])
        for fact, sources in sorted(held.items()):
            if kept not in sources and fact != kept:
                changes.link(fact, "source", kept, len(sources), now_ms)
        first, second = min(loser, kept), max(loser, kept)
        changes.tie(first, "similar_to", second, "dream", now_ms, min(1.0, likeness))
        return changes

    return decide


# The step from short to medium term: what is a few days old is judged once.

_HOUR_MS = 3_600_000


def compress(night: Night, cursor: int) -> Units:
    """Important episodes get a summary and the mark of the medium term.

    Due is what has become two days old since the step last ran. The more of a user are due at
    once, the more important an episode must be. What is not stays as it is, unless the config
    says otherwise.
    """
    sleep, rows = night.sleep, night.memories.rows
    born = np.maximum(rows["event_ms"], rows["recorded_ms"])
    ripe = born + int(sleep.short_term_ttl_h * _HOUR_MS)
    due = rows[
        night.is_active(rows)
        & (rows["tier"] == int(TierCode.EPISODIC))
        & (ripe > night.state.compressed_ms)
        & (ripe <= night.started_ms)
    ]
    counts = Counter(due["user"].tolist())
    if sleep.compress_below == "forget":  # what is erased cannot be counted again
        names = night.memories.users
        first = night.once("due", lambda: {mark_of(names[n]): count for n, count in counts.items()})
        counts = Counter({n: first.get(mark_of(names[n]), count) for n, count in counts.items()})
    least = {
        user: sleep.compress_base + min(n / 100 * sleep.compress_penalty, sleep.compress_penalty)
        for user, n in counts.items()
    }
    threshold = np.array([least[each] for each in due["user"].tolist()], np.float32)
    fresh = ~has_flag(due, Flag.CONSOLIDATED)
    chosen = due["id"][fresh & (due["importance"] >= threshold)]
    below = due[fresh & (due["importance"] < threshold)]
    spared = {"less important": len(below)} if len(below) and not cursor else {}
    for unit in in_units(night, chosen, cursor, spared, alter=consolidated, reason="medium term"):
        texts = {each: found.text for each, found in texts_of(night, unit.ids).items()}
        decide, fallback = _summaries(night, texts)
        yield replace(unit, decide=decide, fallback=fallback)
        spared = {}
    if sleep.compress_below != "keep":
        spared = {}
        yield from _below(night, below)
    if len(due):  # each is judged once, also in a night that changes nothing else
        yield Unit(skipped=spared, state={"compressed_ms": night.started_ms}, judges=True)
    return {"compressed_ms": night.started_ms}


def _below(night: Night, rows: Rows) -> Units:
    """What is not important enough rests or goes, as far as protections and limits let it.

    Where forgetting erases, what is below goes as soon as it is judged, as in UCMA; else floors of
    categories hold.
    """
    sleep, protection = night.sleep, Protection(night, night.memories.rows)
    erases = sleep.compress_below == "forget"
    floors = not (erases and sleep.forget_action == "forget")
    with night.survey.knowledge() as reader:
        free = protection.free(rows, reader, floors=floors, use=True)
    yield from retiring(
        night, free, "not important in the short term", protection.spared, erases=erases
    )
    return None


def _summaries(
    night: Night, texts: Mapping[int, str]
) -> tuple[Callable[[KnowledgeReader, int], Changes], bool]:
    """Rows with the summaries of texts that are too long to be their own; whether a model failed."""
    most = night.sleep.summary_tokens
    long = {each: text for each, text in texts.items() if estimated_tokens(text) > most}
    made = {each: night.summary_of(text) for each, text in long.items()}
    short = {each: text for each, (text, _) in made.items()}
    fallback = any(failed for _, failed in made.values())

    def decide(reader: KnowledgeReader, now_ms: int) -> Changes:
        changes = Changes()
        known = reader.payloads(list(short), "episode")
        for each, summary in short.items():
            if summary and not known.get(each, {}).get("summary"):
                fields = {**known.get(each, {}), "summary": summary}
                changes.payload(each, "episode", fields)
        return changes

    return decide, fallback
