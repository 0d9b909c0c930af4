"""Ends of superseded memories cost other recalls nothing, and no window is overlooked for that.

Mechanism: a store whose only validity windows are ends of superseded memories is recalled without
asking the catalog for windows. Damage: an expired memory, or one that is yet to hold, is recalled.
"""

from __future__ import annotations

from datetime import timedelta

from spector import Memory
from spector.store.catalog.queries.supersession import has_windows
from tests.api.helpers import ids
from tests.conftest import NOW


def test_only_windows_that_no_flag_tells_of_are_asked_for(memory: Memory) -> None:
    catalog = memory._parts.store.catalog
    old = memory.remember("lives in Bonn", event_time="2026-03-01")
    new = memory.remember("lives in Rome", event_time="2026-06-01", supersedes=old)
    assert catalog.has_validity()
    assert not has_windows(catalog)
    assert ids(memory.recall("lives")) == [new.id]
    soon = memory.remember("lives in Oslo", valid_from=NOW + timedelta(days=1))
    assert has_windows(catalog)
    assert ids(memory.recall("lives")) == [new.id]
    memory.forget(soon.id)
    memory.remember("lives in Kiel", event_time="2026-01-01", valid_until="2026-02-01")
    assert has_windows(catalog)
    assert ids(memory.recall("lives")) == [new.id]
    assert set(ids(memory.recall("lives", as_of="2026-03-02"))) == {old.id}
