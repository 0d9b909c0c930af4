"""Three token budgets of a prompt: what always holds, what is worked on, what was just recalled.

``system`` never evicts. In ``active`` and ``staging`` the item with the lowest
``0.7 * importance + 0.3 / (1 + hours since its last access)`` makes room (UCMA, chapter 10).
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final, Literal, get_args

from spector.arguments import parse_choice, parse_number
from spector.clock import Clock, from_ms
from spector.errors import InvalidInputError
from spector.messages import shown, with_hints
from spector.providers import TokenCounter

__all__ = ["Zone", "ZoneItem", "Zones"]

Zone = Literal["system", "active", "staging"]
_ZONES: Final[tuple[Zone, ...]] = get_args(Zone)
ItemId = str | int


@dataclass(frozen=True, slots=True, kw_only=True)
class ZoneItem:
    """An item of a zone, and the tokens that it takes."""

    item_id: ItemId
    content: str
    zone: Zone
    importance: float
    tokens: int
    added_at: datetime
    last_accessed: datetime

    def __repr__(self) -> str:
        return f"ZoneItem({self.item_id!r}, {self.zone}, {self.tokens} tokens)"


@with_hints
class Zones:
    """Items of a prompt in three zones, each within its budget of tokens. Thread-safe.

    Args:
        budgets: tokens of each zone.
        weights: of importance and of recency in the score that keeps an item.
    """

    def __init__(
        self,
        clock: Clock,
        counter: TokenCounter,
        *,
        budgets: Mapping[str, int],
        weights: tuple[float, float],
    ) -> None:
        self._clock = clock
        self._counter = counter
        self._budgets = budgets
        self._weights = weights
        self._lock = threading.Lock()
        self._items: dict[ItemId, ZoneItem] = {}

    def __repr__(self) -> str:
        used = ", ".join(f"{zone} {int(of['used'])}" for zone, of in self.usage().items())
        return f"Zones({used})"

    def __len__(self) -> int:
        return len(self._items)

    def __contains__(self, item_id: object) -> bool:
        return item_id in self._items

    def count_by(self, counter: TokenCounter) -> None:
        """Count tokens by another counter, those of the items that are there, too."""
        counts = {key: counter(each.content) for key, each in list(self._items.items())}
        with self._lock:
            self._counter = counter
            for key, tokens in counts.items():
                if key in self._items:
                    self._items[key] = replace(self._items[key], tokens=tokens)

    def add(self, item_id: ItemId, content: str, zone: Zone, importance: float) -> bool:
        """Put an item into a zone, or change one; others of the zone make room for it.

        A known id is changed: its words, its importance and its zone.

        Returns:
            False when it does not fit: it is larger than the zone, or the zone is ``system`` and
            full. Then nothing was evicted, and an item with this id is as it was.

        Raises:
            InvalidInputError: naming the argument.
        """
        item_id, zone = _item_id(item_id), parse_choice(zone, "zone", *_ZONES)
        if not isinstance(content, str):
            raise InvalidInputError(
                f"content must be a str, got {type(content).__name__}", hint="pass a text"
            )
        importance = parse_number(importance, "importance", 0.0, 1.0)
        tokens = self._counter(content)  # may be code of the caller: outside of the lock
        now = from_ms(self._clock.now_ms())
        with self._lock:
            old = self._items.get(item_id)
            victims = self._victims(item_id, zone, tokens, now)
            if victims is None:
                return False
            for each in victims:
                del self._items[each]
            self._items[item_id] = ZoneItem(
                item_id=item_id,
                content=content,
                zone=zone,
                importance=importance,
                tokens=tokens,
                added_at=now if old is None else old.added_at,
                last_accessed=now,
            )
            return True

    def get(self, item_id: ItemId) -> ZoneItem | None:
        """An item by its id, or None. Counts as an access."""
        now = from_ms(self._clock.now_ms())
        with self._lock:
            found = self._items.get(_item_id(item_id))
            if found is not None:
                found = self._items[found.item_id] = replace(found, last_accessed=now)
            return found

    def remove(self, item_id: ItemId) -> bool:
        """Take out an item; False when there is none."""
        with self._lock:
            return self._items.pop(_item_id(item_id), None) is not None

    def clear(self, zone: str) -> int:
        """Empty a zone; returns how many items it had."""
        zone = parse_choice(zone, "zone", *_ZONES)
        with self._lock:
            kept = {key: each for key, each in self._items.items() if each.zone != zone}
            count, self._items = len(self._items) - len(kept), kept
            return count

    def items(self, zone: str) -> tuple[ZoneItem, ...]:
        """The items of a zone, the most important first."""
        zone = parse_choice(zone, "zone", *_ZONES)
        found = [each for each in list(self._items.values()) if each.zone == zone]
        return tuple(sorted(found, key=lambda each: -each.importance))

    def render(self) -> str:
        """All items as one text: zones in order with a blank line between, one item a line.

        Within a zone the most important come first; empty zones are left out.
        """
        blocks = ["\n".join(each.content for each in self.items(zone)) for zone in _ZONES]
        return "\n\n".join(block for block in blocks if block)

    def usage(self) -> dict[str, dict[str, float]]:
        """Tokens used, the budget, and the percentage of it, by zone."""
        out: dict[str, dict[str, float]] = {}
        for zone in _ZONES:
            used, budget = sum(each.tokens for each in self.items(zone)), self._budgets[zone]
            percent = round(100.0 * used / budget, 1) if budget else 0.0
            out[zone] = {"used": used, "budget": budget, "pct": percent}
        return out

    def erase(self, ids: Collection[int], texts: Collection[str] = ()) -> int:
        """Take out the items of some memories, or with some texts; returns how many."""
        with self._lock:
            gone = [
                key
                for key, each in self._items.items()
                if key in ids or any(text in each.content for text in texts)
            ]
            for key in gone:
                del self._items[key]
            return len(gone)

    def _victims(
        self, item_id: ItemId, zone: Zone, tokens: int, now: datetime
    ) -> list[ItemId] | None:
        """The items that make room for one, lowest score first; None when it cannot fit."""
        budget = self._budgets[zone]
        if tokens > budget:
            return None
        others = [e for e in self._items.values() if e.zone == zone and e.item_id != item_id]
        excess = sum(each.tokens for each in others) + tokens - budget
        if excess <= 0:
            return []
        if zone == "system":
            return None
        victims: list[ItemId] = []
        for each in sorted(others, key=lambda each: self._score(each, now)):
            if excess <= 0:
                break
            victims.append(each.item_id)
            excess -= each.tokens
        return victims

    def _score(self, item: ZoneItem, now: datetime) -> float:
        """What keeps an item in its zone; the lowest score goes."""
        hours = max(0.0, (now - item.last_accessed).total_seconds() / 3600)
        by_importance, by_recency = self._weights
        return by_importance * item.importance + by_recency / (1 + hours)


def _item_id(value: object) -> ItemId:
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        raise InvalidInputError(
            f"item_id must be a str or an int, got {shown(value)}",
            hint="pass a name of yours, or the id of a memory",
        )
    return value
