"""Puts a memory in the place of another one, under its id, by its key."""

from __future__ import annotations

from spector.write.replacing.attaching import attach
from spector.write.replacing.beside import Beside
from spector.write.replacing.freeing import free_moved
from spector.write.replacing.keyed import KeyWriter
from spector.write.replacing.moving import EndMover
from spector.write.replacing.ties import Ties, ties_of

__all__ = ["Beside", "EndMover", "KeyWriter", "Ties", "attach", "free_moved", "ties_of"]
