"""Lists the memories of a selection without a cue, by ascending id."""

from __future__ import annotations

import heapq
import sys
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from datetime import tzinfo
from itertools import islice
from typing import Any, Final, NamedTuple

from spector.arguments import (
    SCOPES,
    check_scope,
    id_of,
    parse_include,
    parse_integer,
    parse_namespace,
    parse_prefix,
    parse_range,
    parse_sorts,
    parse_switch,
    parse_tags,
    several,
)
from spector.clock import Clock
from spector.config import Config
from spector.errors import InvalidFilterError
from spector.layout import Flag
from spector.messages import refuse_unknown
from spector.records import MemoryRecord, complete
from spector.search.request import EVERYTHING, Selection
from spector.store.catalog import ANYBODY, SAID, Scope, SqlFilter, compile_where, of_keys, of_sorts
from spector.store.core import Store
from spector.store.files import Bytes
from spector.store.integrity import walk
from spector.store.payloads import KeyRange
from spector.tiers import Finder, TierRouter

#: how long a proof that the catalog's tables agree stays valid for indexed lookups, in seconds
TRUSTED_S: Final = 60.0
#: records looked up at once
_CHUNK: Final = 500
_MOST_ID: Final = (1 << 63) - 1
_SELECTING: Final = tuple(
    """tiers tags any_tags user_id agent_id session_id time_range where key_prefix namespace below
    sorts""".split()
)
_SELECTABLE: Final = frozenset(_SELECTING)


class Page(NamedTuple):
    """A part of a list."""

    #: the id that it follows; None for the beginning
    after: int | None = None
    limit: int | None = None
    newest_first: bool = False

    @property
    def is_part(self) -> bool:
        """Whether it leaves out anything."""
        return self.after is not None or self.limit is not None


WHOLE: Final = Page()


class Listing:
    """Turns keywords into selections, and selections into records."""

    def __init__(self, router: TierRouter, finder: Finder, config: Config, clock: Clock) -> None:
        self._router = router
        self._finder = finder
        self._config = config
        self._clock = clock

    def select(self, given: Mapping[str, Any], verb: str, zone: tzinfo | None = None) -> Selection:
        """The selection that keyword arguments of ``verb`` name; checked, and for known tiers.

        ``zone``: of days without a time; None for that of the store.

        Raises:
            UnknownArgumentError, InvalidInputError, UnknownTierError
        """
        if not given.keys() <= _SELECTABLE:
            refuse_unknown(given, _SELECTING, verb)
        for value in given.values():  # no generator: each recall comes here
            if value is not None:
                break
        else:
            return EVERYTHING
        get, config = given.get, self._config
        tags, any_tags = parse_tags(get("tags"), config), parse_tags(get("any_tags"), config)
        labels = {name: check_scope(get(name), name, config) for name in SCOPES}
        keys = _keys(get("key_prefix"), get("namespace"), get("below"))
        sorts = parse_sorts(get("sorts"))
        min_ms, max_ms = parse_range(get("time_range"), zone or config.zone)
        tiers, where, found = get("tiers"), get("where"), None
        if tiers is not None:
            tiers = several(tiers, "tiers", "the name of a tier, or several")
            if not tiers:
                raise InvalidFilterError("tiers is empty", hint="leave it out to search every tier")
        if where is not None and not (isinstance(where, dict) and not where):
            found = compile_where(where, scopes=True)
        if where and found is not None:
            labels = {name: own or _scope_in(where, name) for name, own in labels.items()}
        chosen = Selection(
            tiers=tiers,
            tags=tags,
            any_tags=any_tags,
            **labels,
            min_ms=min_ms,
            max_ms=max_ms,
            where=found,
            keys=keys,
            sorts=sorts,
        )
        self._router.select(chosen.tiers)
        return chosen

    def labels(self, user_id: Any, agent_id: Any, session_id: Any) -> dict[str, str]:
        """The labels of a verb that are given, by name; checked."""
        scope = self.scope(user_id, agent_id, session_id)
        return {name: value for name in SCOPES if (value := getattr(scope, name)) is not None}

    def scope(self, user_id: Any, agent_id: Any, session_id: Any) -> Scope:
        """The scope that the three labels of a verb name."""
        if user_id is agent_id is session_id is None:
            return ANYBODY
        return Scope(
            user_id=check_scope(user_id, "user_id", self._config),
            agent_id=check_scope(agent_id, "agent_id", self._config),
            session_id=check_scope(session_id, "session_id", self._config),
        )

    def records(
        self,
        chosen: Selection,
        damaged: list[int] | None = None,
        *,
        moment_ms: int | None = None,
        proven: bool = False,
        drop: int = 0,
        page: Page = WHOLE,
    ) -> Iterator[tuple[MemoryRecord, Bytes]]:
        """Records with their bytes, by ascending id unless the page says otherwise.

        Args:
            damaged: collects the ids of damaged records, which otherwise raise.
            moment_ms: only what was valid then.
            drop: flags that no record may have; SUPERSEDED among them also leaves out what a
                successor has ended by now.
            proven: guarantee that damage hides no memory, even where an index finds them. A proof
                of a minute ago is enough then: many users are forgotten one after the other.
            page: which part of them; without a proof, which takes longer than a page.
        """
        led = page.is_part and damaged is None
        condition, trusted_s = self.condition(chosen, moment_ms, beside_ways=led)
        if page.is_part:
            trusted_s = None
        if proven and trusted_s is None:
            trusted_s = TRUSTED_S
        scope, finder = chosen.scope, self._finder
        walks = [
            walk(
                store,
                finder.tier_name,
                found.sql,
                found.params,
                damaged,
                trusted_s=trusted_s,
                scope=scope,
                after=page.after,
                most=page.limit,
                newest_first=page.newest_first,
                ways=chosen.ways if led else (),
            )
            for store, found in self.conditions(chosen, condition)
        ]
        every = heapq.merge(*walks, key=lambda each: each[0].id, reverse=page.newest_first)
        chosen_ones = islice(self._as_read(every, drop), page.limit)
        if scope.is_open:
            return chosen_ones
        return ((finder.within(record, scope), image) for record, image in chosen_ones)

    def _as_read(
        self, found: Iterator[tuple[MemoryRecord, Bytes]], drop: int
    ) -> Iterator[tuple[MemoryRecord, Bytes]]:
        """Those without the flags to drop; each knows when it was read."""
        now_ms = self._clock.now_ms()
        for record, image in found:
            if not (drop and _is_dropped(record, drop, now_ms)):
                complete(record, None, now_ms)
                yield record, image

    def listed(
        self, given: Mapping[str, Any], verb: str, include: Any = None
    ) -> tuple[Selection, int]:
        """A selection for a list, and the flags that leave a memory out of it.

        A list has what was said and stored, unless sorts or ``include`` name what is derived.

        Raises:
            InvalidFilterError: There is no such kind of memory.
        """
        chosen = self.select(given, verb)
        drop = 0 if include is None else parse_include(include)
        if chosen.sorts is not None:
            return chosen, drop & ~int(Flag.AUXILIARY)
        if include is None or drop & Flag.AUXILIARY:
            chosen = replace(chosen, sorts=SAID)
        return chosen, drop

    def among(self, chosen: Selection, ids: Collection[int]) -> set[int]:
        """Which of some records are of a selection."""
        condition, _ = self.condition(chosen)
        ordered = sorted(ids)
        out: set[int] = set()
        for store, found in self.conditions(chosen, condition):
            for start in range(0, len(ordered), _CHUNK):
                few = found.among(ordered[start : start + _CHUNK])
                out.update(row[0] for row in store.catalog.select(few.sql, few.params))
        return out

    def why_empty(self, chosen: Selection) -> str:
        """That nothing is stored in the scope of a selection, not even what rests; "" else."""
        labels = {name: label for name in SCOPES if (label := getattr(chosen, name)) is not None}
        scope = replace(Selection(**labels), keys=chosen.keys)
        for store, found in self.conditions(scope, self.condition(scope)[0]):
            if store.catalog.select(found.sql, found.params, limit=1):
                return ""
        named = " and ".join(f"{name} {label!r}" for name, label in labels.items())
        said = f"nothing is stored with {named}" if named else "nothing is stored"
        return said if chosen.keys is None else f"{said} in this namespace"

    def condition(
        self, chosen: Selection, moment_ms: int | None = None, *, beside_ways: bool = False
    ) -> tuple[SqlFilter, float | None]:
        """What rows must satisfy, and the greatest age of a proof that none is hidden (`walk`).

        ``beside_ways``: besides the tags and labels of `Selection.ways`.
        """
        tiers = None if chosen.tiers is None else self._router.select(chosen.tiers)
        codes = None if tiers is None else [tier.code for tier in tiers]
        rest, led = chosen, beside_ways and bool(chosen.ways)
        if led:
            rest = chosen.beside_ways()
        exact = rest.exact(now_ms=moment_ms, replaced=moment_ms is not None, whole_store=not led)
        return rest.with_times(exact, codes), None if chosen.is_indexed else 0.0

    def conditions(self, chosen: Selection, condition: SqlFilter) -> list[tuple[Store, SqlFilter]]:
        """The stores that may have memories of a selection, each with what its rows must satisfy.

        ``condition``: of `condition`, which knows nothing of keys and sorts.
        """
        return [
            (
                store,
                of_sorts(
                    store.catalog,
                    of_keys(store.catalog, condition, chosen.keys, gathers=True),
                    chosen.sorts,
                )
                or condition,
            )
            for store in self._router.stores()
        ]


def parse_page(after: Any, limit: Any, newest_first: Any) -> Page:
    """The part of a list that a caller wants.

    Raises:
        InvalidInputError: ``after`` is no id, ``limit`` no positive number.
    """
    last = (
        None
        if after is None
        else parse_integer(
            id_of(after),
            "after",
            0,
            _MOST_ID,
            "it is the last memory of the page before, or its id",
        )
    )
    most = None if limit is None else parse_integer(limit, "limit", 1, sys.maxsize)
    return Page(last, most, parse_switch(newest_first, "newest_first"))


def _keys(prefix: Any, namespace: Any, below: Any) -> KeyRange | None:
    below = below is not None and parse_switch(below, "below")
    if prefix is None and namespace is None:
        if below:
            raise InvalidFilterError(
                "below was given without a namespace", hint="pass namespace=() for all of them"
            )
        return None
    first = "" if prefix is None else parse_prefix(prefix)
    return KeyRange(parse_namespace(namespace), first, below)


def _is_dropped(record: MemoryRecord, drop: int, now_ms: int) -> bool:
    flags = int(record.flags)
    if flags & Flag.NO_TEXT:  # it is no statistic, and a list has it
        flags &= ~int(Flag.NO_TEXT | Flag.AUXILIARY)
    if flags & drop:
        return True
    end_ms = record.valid_until_ms if record.own_until_ms else None
    return end_ms is not None and end_ms <= now_ms and bool(drop & Flag.SUPERSEDED)


def _scope_in(where: Mapping[str, Any], name: str) -> str | None:
    """The scope that all of a filter's answers have, so that index and Bloom filter help."""
    test = where.get(name)
    if isinstance(test, Mapping):
        test = test.get("eq", test.get("$eq"))
    return test if isinstance(test, str) else None
