"""Sessions: what a conversation has in mind, kept in this process until it is worth a memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spector.faces import on_first_use

if TYPE_CHECKING:
    from spector.session.buffer import (
        BufferEntry,
        Echoes,
        SensoryBuffer,
        SensoryEntry,
        SessionBuffer,
        SynapticTag,
        SynapticTags,
    )
    from spector.session.registry import Keeping, Sessions
    from spector.session.session import Remembering, Session
    from spector.session.state import SessionKey, SessionState, Zone, ZoneItem, Zones


__getattr__ = on_first_use(__name__)
