"""Erases forgotten content from the catalog, and searches every byte for what is left of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spector.faces import on_first_use

if TYPE_CHECKING:
    from spector.store.erasure.catalog import (
        DueErasure,
        awaits_erasure,
        derived_from,
        due_of,
        ids_left_in,
        mark_erased,
        may_be_gone,
        memories_of,
        needs_purge,
        note_erasure,
        note_user_gone,
        postpone,
        purge,
        users_gone,
        wipe_dead,
    )
    from spector.store.erasure.search import (
        Needles,
        foreign_files,
        verify,
    )


__getattr__ = on_first_use(__name__)
