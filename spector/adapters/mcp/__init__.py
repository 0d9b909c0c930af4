"""A memory as a server of the Model Context Protocol: `server` for a program, ``spector mcp``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spector.faces import on_first_use

if TYPE_CHECKING:
    from spector.adapters.mcp.opening import Opening
    from spector.adapters.mcp.serving import server

__all__ = ["Opening", "server"]

__getattr__ = on_first_use(__name__)
