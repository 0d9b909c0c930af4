"""Checks that a store is whole, and finds what a crash has left."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spector.faces import on_first_use

if TYPE_CHECKING:
    from spector.store.integrity.check import StoreCheck
    from spector.store.integrity.check_catalog import (
        check_unopened,
        refuse_damage,
        refuse_disagreement,
    )
    from spector.store.integrity.recovery import (
        Replay,
        is_entry,
        is_replaced,
        lay_over,
        mutable_halves,
        read_stray,
        reconcile,
        refuse_lost,
        refuse_lost_schema,
        require_entry,
        sound_runs,
        stem_of,
    )
    from spector.store.integrity.walking import walk


__getattr__ = on_first_use(__name__)
