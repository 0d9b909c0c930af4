"""Brings what is left of a damaged store into a new one."""

from __future__ import annotations

from spector.store.repair.identity import (
    identify,
    partitions_in,
    refuse_newer,
)
from spector.store.repair.inspect import (
    RawStore,
)
from spector.store.repair.repair import (
    salvage,
)
from spector.store.repair.salvaged import (
    Identity,
    Salvage,
)
from spector.store.repair.salvaging import (
    Remains,
    read_partition,
    read_remains,
)
from spector.store.repair.transplanting import (
    transplant,
)

__all__ = [
    "Identity",
    "RawStore",
    "Remains",
    "Salvage",
    "identify",
    "partitions_in",
    "read_partition",
    "read_remains",
    "refuse_newer",
    "salvage",
    "transplant",
]
