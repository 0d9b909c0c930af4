"""What a refusal of something huge costs, measured in a process of its own."""

from __future__ import annotations

import resource
from typing import Any

import numpy as np

import spector
from spector.errors import SpectorError

__all__ = ["refuse"]


def refuse(size: int, letter: str, verb: str) -> dict[str, Any]:
    """Offer a text of ``size`` bytes; the error, and how much memory beyond the text it took."""
    vector = np.ones(8, np.float32)
    with spector.open(":memory:", embedder=None, dim=8) as memory:
        known = memory.remember("known", vector=vector)
        verbs: dict[str, Any] = {
            "remember": lambda text: memory.remember(text, vector=vector),
            "remember_many": lambda text: memory.remember_many([{"text": text, "vector": vector}]),
            "update": lambda text: memory.update(known.id, text=text, vector=vector),
            "recall": lambda text: memory.recall(text),
        }
        text = letter * (size // len(letter.encode()))
        before = _peak_bytes()
        try:
            verbs[verb](text)
            error = "accepted"
        except SpectorError as refusal:
            error = type(refusal).__name__ if refusal.hint else "no hint"
        grown = _peak_bytes() - before
        stored = [record.text for record in memory]
    return {"error": error, "grown": grown, "stored": stored}


def _peak_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
