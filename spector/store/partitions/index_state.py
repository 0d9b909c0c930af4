"""The state of the scan index of one partition."""

from __future__ import annotations

from dataclasses import dataclass, field

from spector.kernel.contract import ScanIndex

__all__ = ["IndexState"]


@dataclass(slots=True, eq=False)
class IndexState:
    """The scan index of one partition, and what it lacks of its records."""

    index: ScanIndex | None = None
    #: there may be an index file that has not been read
    unread: bool = False
    #: records were overwritten: no index for this partition
    refused: bool = False
    #: any mutable half may have changed: no scan may use the index until it is refreshed
    stale: bool = False
    #: slots whose mutable half has changed since the last update of the index
    changed: list[int] = field(default_factory=list)
    #: mutable halves updated since the extremes were tight
    loose: int = 0
    #: rows that the centre was computed from
    centred_rows: int = 0
    #: rows and change counter of the file
    saved_rows: int = 0
    saved_seq: int = -1
    #: slots of the partition when this process met it
    adopted_rows: int = 0

    @property
    def rows(self) -> int:
        return 0 if self.index is None else self.index.rows

    def adopt(self, index: ScanIndex) -> None:
        """Take an index that matches the records at this moment."""
        self.index = index
        self.stale, self.loose, self.centred_rows = False, 0, index.rows
        self.changed.clear()

    def refuse(self) -> None:
        self.index, self.refused = None, True
        self.changed.clear()
