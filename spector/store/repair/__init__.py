"""Copies what is left of a damaged store into a new one."""

from __future__ import annotations

from spector.store.repair.inspect import RawStore
from spector.store.repair.remnants import RecoveredCatalog, read_partition, recover_catalog
from spector.store.repair.salvage import (
    Identity,
    Salvage,
    identify,
    partitions_in,
    refuse_newer,
    transplant,
)
