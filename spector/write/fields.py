"""The fields of a memory as callers give them, and what a memory is named by."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, TypedDict

from numpy.typing import ArrayLike

if TYPE_CHECKING:
    from spector.records import Hit, MemoryRecord


#: one memory: what any verb returns of it, or its id
Named: TypeAlias = "int | Hit | MemoryRecord"
#: one memory, or several
Memories: TypeAlias = "Named | Iterable[Named]"


class MemoryFields(TypedDict, total=False):
    """The keyword arguments of ``remember``, which are the keys of ``remember_many``'s items too."""

    tier: str | None
    tags: Iterable[str] | None
    importance: float | None
    valence: float | None
    arousal: float | None
    event_time: datetime | str | None
    valid_from: datetime | str | None
    valid_until: datetime | str | None
    metadata: Mapping[str, Any] | None
    session_id: str | None
    agent_id: str | None
    user_id: str | None
    source: str | None
    confidence: float | None
    pinned: bool | None
    vector: ArrayLike | None
    immutable: bool | None
    unresolved: bool | None
    category: str | int | None
    modality: str | int | None
    role: str | None
    parents: Memories | None
    supersedes: Memories | Literal["auto"] | None
    aliases: str | Iterable[str] | None
    key: str | None
    namespace: str | Iterable[str] | None
    if_revision: int | None
    expires_in: float | timedelta | None
    expires_at: datetime | str | None
    refresh: bool | None
    attachment: Any


FIELDS: Final = tuple(MemoryFields.__annotations__)
