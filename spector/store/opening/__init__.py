"""Opens a store for writing or reading, and brings it to its last commit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spector.faces import on_first_use

if TYPE_CHECKING:
    from spector.store.opening.opening import (
        OpenedStore,
        Stamp,
        has_partitions,
        no_store_at,
        open_disk,
        open_memory,
    )
    from spector.store.opening.reader import reading_catalog
    from spector.store.opening.recovery import remove_leftovers


__getattr__ = on_first_use(__name__)
