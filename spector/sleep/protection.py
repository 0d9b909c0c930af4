"""What forgetting spares, asked in one place, with a count of what each protection spared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Set
from dataclasses import replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from spector.knowledge import Changes, KnowledgeReader, declared, is_single_valued
from spector.language.frames import extract
from spector.language.observing import only_likes
from spector.language.statements import find_instruction
from spector.layout import Category, Flag
from spector.search import Strengths, SurveyedText
from spector.sleep.night import (
    RETIRED,
    Mask,
    Night,
    Rows,
    among,
    has_flag,
    in_units,
    mark_of,
    texts_of,
    without_ids,
)
from spector.write import Unit

#: what is out of recall, and neither fades nor grows
AT_REST: Final = Flag.DORMANT | Flag.SUPERSEDED | Flag.QUARANTINED
#: predicates of names
IDENTITY: Final = frozenset({"is_named", "is_called"})
_ACTIVE_RATE: Final = 0.5
_VALIDATED: Final = 0.6
_FLOOR: Final = "floor of its category"


class Protection:
    """Spares memories from forgetting.

    Args:
        rows: All memories of the night, for the averages of their users.
    """

    def __init__(self, night: Night, rows: Rows) -> None:
        self._night = night
        self._mean_use = _mean_use(night, rows)
        #: active memories, without those that this night has let go
        self._living = set(rows["id"][night.is_active(rows)].tolist())
        #: memories by the protection that spared them, in parts
        self._spared: dict[str, list[NDArray[np.int64]]] = {}
        #: memories that will be let go once they are older than their floors
        self._young = 0

    @property
    def spared(self) -> dict[str, int]:
        """How many memories each protection has spared, whichever rules named them."""
        found = {
            name: len(np.unique(np.concatenate(parts))) for name, parts in self._spared.items()
        }
        if self._young:
            found[_FLOOR] = found.get(_FLOOR, 0) + self._young
        return found

    def free(self, rows: Rows, reader: KnowledgeReader, *, floors: bool, use: bool) -> Rows:
        """Those that neither their headers nor what they say protects; see the two below."""
        rows = rows[self.of_headers(rows, floors=floors, use=use)]
        ids = rows["id"].tolist()
        kept = self.of_knowledge(ids, texts_of(self._night, ids), reader)
        return rows[~among(rows, kept)]

    def of_headers(self, rows: Rows, *, floors: bool | Mask, use: bool) -> Mask:
        """Which memories may be forgotten, as far as their headers tell.

        Args:
            floors: ask whether they are younger than the floor of their category; or who is.
            use: ask whether they are used more than the average.
        """
        night = self._night
        free = np.ones(len(rows), bool)
        tests: list[tuple[str, Mask]] = [
            ("immutable", has_flag(rows, Flag.IMMUTABLE)),
            ("pinned", has_flag(rows, Flag.PINNED)),
            ("flashbulb", has_flag(rows, Flag.FLASHBULB)),
            ("unresolved", has_flag(rows, Flag.UNRESOLVED)),
            ("central", among(rows, list(map(int, night.state.central)))),
        ]
        if floors is True:
            floors = night.age_days(rows) < self.floors(rows)
        if floors is not False:
            tests.append((_FLOOR, floors))
        if use:
            mean = np.array([self._mean_use.get(each, 0.0) for each in rows["user"].tolist()])
            tests.append(("used more than others", rows["access_count"] > mean))
        for name, holds in tests:
            self._count(name, rows["id"][free & holds])
            free &= ~holds
        return free

    def floors(self, rows: Rows, guesses: Collection[int] = ()) -> NDArray[np.float64]:
        """Days for which each memory is not forgotten; infinite for those that never are.

        Args:
            guesses: memories whose category says nothing, and which have the floor of "other".
        """
        days = self._night.sleep.category_floors_days
        floors = self._night.by_category(days, rows)
        floors[among(rows, guesses)] = float(days["other"])
        return floors

    def note_young(self, count: int) -> None:
        """Count memories that will be let go once they are older than their floors."""
        self._young += count

    def of_knowledge(
        self, ids: Collection[int], words: Mapping[int, SurveyedText], reader: KnowledgeReader
    ) -> set[int]:
        """Those that must stay for what they say: rules, names, the only statement of a value.

        Of memories that state one value the first of ``ids`` go and the last one stays.
        """
        kept: set[int] = set()
        procedures, learnings = reader.payloads(ids, "procedure"), reader.payloads(ids, "learning")
        for name, found in (
            ("rule", _rules(ids, words, reader)),
            ("active procedure", {n for n, each in procedures.items() if _is_active(each)}),
            ("validated learning", {n for n, each in learnings.items() if _is_validated(each)}),
        ):
            self._count(name, sorted(found - kept))
            kept |= found
        going = [each for each in ids if each not in kept]
        holders = _last_holders(going, words, reader, self._living)
        self._count("name or only statement of a value", sorted(holders))
        self._living.difference_update(each for each in going if each not in holders)
        return kept | holders

    def of_users(self, ids: Collection[int], reader: KnowledgeReader) -> set[int]:
        """Those that an observer took from what a user said.

        They say something, or they would not have been stored; that a session was about something
        else makes their importance low, and no reason for them to fade.
        """
        observed = reader.payloads(ids, "observed")
        said = {
            each
            for each in ids
            if observed.get(each, {}).get("data_source") == "user_message"
            and observed[each].get("write_source") == "observer"
        }
        self._count("said by a user", sorted(said))
        return said

    def _count(self, name: str, ids: Sequence[int] | NDArray[np.int64]) -> None:
        if len(ids):
            self._spared.setdefault(name, []).append(np.array(ids, np.int64))


def guessed_preferences(night: Night, rows: Rows, reader: KnowledgeReader) -> set[int]:
    """Observed memories that were taken for a preference and only like what they speak of.

    A budget that kept them all would have room for little else.
    """
    ids = rows["id"][rows["category"] == int(Category.PREFERENCE)].tolist()
    observed = {
        each
        for each, known in reader.payloads(ids, "observed").items()
        if known["write_source"] == "observer" and known["kind"] == "preference"
    }
    words = texts_of(night, sorted(observed))
    return {each for each in observed if each in words and only_likes(words[each].text)}


def _mean_use(night: Night, rows: Rows) -> dict[int, float]:
    """The mean number of accesses of the active memories of each user."""
    active = rows[night.is_active(rows)]
    users = active["user"].astype(np.int64)
    if not len(users):
        return {}
    counts = np.bincount(users)
    sums = np.bincount(users, weights=active["access_count"])
    return {user: sums[user] / counts[user] for user in np.flatnonzero(counts).tolist()}


def _rules(
    ids: Collection[int], words: Mapping[int, SurveyedText], reader: KnowledgeReader
) -> set[int]:
    observed = reader.payloads(ids, "observed")
    return {
        each
        for each in ids
        if observed.get(each, {}).get("kind") == "rule"
        or (
            each in words
            and words[each].role in (None, "user")
            and find_instruction(words[each].text) is not None
        )
    }


def _last_holders(
    ids: Sequence[int], words: Mapping[int, SurveyedText], reader: KnowledgeReader, living: Set[int]
) -> set[int]:
    """Memories that alone state the value of a subject and a one-valued predicate, and names.

    Args:
        ids: in the order in which they would go. living: active memories.
    """
    out: set[int] = set()
    registered = declared(reader).single
    own = {row["id"]: row for row in reader.facts(id=list(ids))}
    stated = reader.links("source", b=ids)
    facts = {row["id"]: row for row in reader.facts(id=[each["a"] for each in stated])}
    holders = reader.sources(facts)
    out.update(
        each
        for each, fact in own.items()
        if fact["holds"] and is_single_valued(fact["predicate"], registered)
    )
    place, gone = {each: n for n, each in enumerate(ids)}, set[int]()
    for tie in sorted(stated, key=lambda tie: place[tie["b"]]):
        row = facts.get(tie["a"])
        if row is None or not row["holds"]:
            continue
        if not is_single_valued(row["predicate"], registered):
            continue
        others = living & set(holders.get(row["id"], ())) - gone - {tie["b"]}
        if row["predicate"] in IDENTITY or not others:
            out.add(tie["b"])
            gone.discard(tie["b"])
        elif tie["b"] not in out:
            gone.add(tie["b"])
    known = {tie["b"] for tie in stated}
    for each in ids:
        if each not in known and each in words and each not in own and _states_slot(words[each]):
            out.add(each)
    return out


def _states_slot(words: SurveyedText) -> bool:
    """Whether a text without rows of facts states a value that there is one of at a time."""
    if words.role not in (None, "user"):
        return False
    return any(
        each.modality == "asserted" and (each.single or each.predicate in IDENTITY)
        for each in extract(words.text)
    )


def _is_active(procedure: Mapping[str, Any]) -> bool:
    return bool(procedure["status"] == "active" and procedure["success_rate"] > _ACTIVE_RATE)


def _is_validated(learning: Mapping[str, Any]) -> bool:
    return bool(learning["validated"] and learning["confidence"] > _VALIDATED)


# Puts memories to rest in the order of a step, as far as the limit of a day allows.


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
    rows = rows[~among(rows, night.done.get(RETIRED, ()))]
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
    reasons: dict[str, Any] = {"reason": why} if isinstance(why, str) else {"reasons": why}
    for unit in in_units(night, picked, None, skipped, **reasons):
        if erases:
            names = Counter(mark_of(night.memories.users[users[each]]) for each in unit.ids)
            yield replace(unit, ids=(), erases=unit.ids, users=names, what="forget")
        else:
            decide = noting_rest(night, unit.ids, why)
            yield replace(unit, alter=_put_to_rest, what=RETIRED, decide=decide)
    if skipped and not chosen:
        yield Unit(seen=waiting, skipped=skipped)


def noting_rest(
    night: Night, ids: Sequence[int], why: str | Mapping[int, str]
) -> Callable[[KnowledgeReader, int], Changes]:
    """The rows that say since when memories rest, and by which rule."""

    def decide(reader: KnowledgeReader, now_ms: int) -> Changes:
        changes = Changes()
        for each in sorted(reader.owners(list(ids))):
            rule = why if isinstance(why, str) else why.get(each, "")
            fields = {"since_ms": night.started_ms, "rule": without_ids(rule)}
            changes.payload(each, "rest", fields)
        return changes

    return decide


def _put_to_rest(fresh: Strengths) -> Mask:
    awake = ~has_flag(fresh.rows, AT_REST | Flag.IMMUTABLE | Flag.PINNED)
    fresh.rows["flags"][awake] |= int(Flag.DORMANT)
    return awake
