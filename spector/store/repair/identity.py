"""Which store this is, even when its catalog no longer tells."""

from __future__ import annotations

import contextlib
from collections import Counter

from spector._version import __version__
from spector.errors import FormatVersionError, SpectorError, StoreError
from spector.layout import FORMAT_VERSION, MAX_DIM
from spector.store.files import DiskFiles
from spector.store.repair.remnants import RecoveredCatalog, read_partition
from spector.store.repair.salvage import Identity

__all__ = ["identify", "partitions_in", "refuse_newer"]


def identify(files: DiskFiles, recovered: RecoveredCatalog) -> Identity:
    """Uuid and dimension, from the catalog, or else those that most partitions name.

    Raises:
        StoreError: neither tells.
    """
    meta = recovered.meta
    try:
        uuid, dim = bytes.fromhex(meta["uuid"]), int(meta["dim"])
        if len(uuid) == 16 and 1 <= dim <= MAX_DIM:
            known = {"model_id", "fingerprint"} <= meta.keys()
            names = (meta["model_id"], meta["fingerprint"]) if known else ("", "")
            return Identity(uuid, dim, *names, model_known=known)
    except (KeyError, ValueError):
        pass
    found: Counter[tuple[bytes, int]] = Counter()
    for name in partitions_in(files):
        try:
            each = read_partition(files, name, uuid=None, dim=None, slots=0)
        except SpectorError:
            continue
        if each is not None:
            found[each.uuid, each.dim] += 1
    if not found:
        raise StoreError(
            f"{files.root}: neither catalog nor partitions tell which store this is",
            hint="restore a backup",
        )
    (uuid, dim), _ = found.most_common(1)[0]
    return Identity(uuid, dim, model_known=False)


def refuse_newer(files: DiskFiles, recovered: RecoveredCatalog) -> None:
    """Refuse a store of a later format, whose bytes could be taken for damage.

    Where only the catalog has the later format, it is damaged: every partition repeats the format.

    Raises:
        FormatVersionError
    """
    said = recovered.meta.get("format_version", "")
    if not said.isdecimal() or len(said) > 9 or int(said) <= FORMAT_VERSION:
        return
    for name in partitions_in(files):
        with contextlib.suppress(SpectorError):
            if read_partition(files, name, uuid=None, dim=None, slots=0) is not None:
                return
    raise FormatVersionError(
        f"{files.root} has format {said}; spector {__version__} reads up to {FORMAT_VERSION}",
        hint="upgrade: pip install -U spector-memory; then repair it",
    )


def partitions_in(files: DiskFiles) -> list[str]:
    return [name for name in files.listing() if name.endswith(".mem")]
