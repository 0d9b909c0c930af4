"""Sessions: what a conversation has in mind, kept in this process until it is worth a memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spector.faces import on_first_use

if TYPE_CHECKING:
    from spector.session.buffer import BufferEntry, SessionBuffer
    from spector.session.echoes import Echoes
    from spector.session.keeping import Keeping
    from spector.session.registry import Sessions, SessionTools
    from spector.session.sensory import SensoryBuffer, SensoryEntry
    from spector.session.session import Remembering, Session
    from spector.session.state import SessionKey, SessionState
    from spector.session.tags import SynapticTag, SynapticTags
    from spector.session.zones import Zone, ZoneItem, Zones

__all__ = [
    "BufferEntry",
    "Echoes",
    "Keeping",
    "Remembering",
    "SensoryBuffer",
    "SensoryEntry",
    "Session",
    "SessionBuffer",
    "SessionKey",
    "SessionState",
    "SessionTools",
    "Sessions",
    "SynapticTag",
    "SynapticTags",
    "Zone",
    "ZoneItem",
    "Zones",
]

__getattr__ = on_first_use(__name__)
