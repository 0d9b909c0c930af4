"""Weights of the small heads that come with spector."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray


def read_weights(path: Path) -> tuple[dict[str, Any], dict[str, NDArray[np.float32]]] | None:
    """What a file says of its head, and its weights by name; None when it is not there."""
    if not path.exists():
        return None
    with np.load(path, allow_pickle=False) as stored:
        about: dict[str, Any] = json.loads(bytes(stored["about"]).decode())
        names = (name for name in stored.files if name != "about")
        return about, {name: stored[name].astype(np.float32) for name in names}
