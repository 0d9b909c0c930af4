"""Vectors that leave and enter a store: those of one model only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from spector.errors import ImportFormatError, ModelMismatchError
from spector.layout import HEADER_BYTES
from spector.messages import counted
from spector.store.core import header_of
from spector.store.files import Bytes

__all__ = ["Vectors"]


@dataclass(frozen=True, slots=True)
class Vectors:
    """The model of a store's vectors: only vectors of one model leave or enter it."""

    dim: int
    #: of the model of the store's vectors; "" when the caller gave them
    fingerprint: str
    can_embed: bool

    def of(self, image: Bytes) -> list[float] | None:
        """The vector of a record from its (stride,) u8 bytes; None when it has none."""
        scale = float(header_of(image)["scale"])
        codes = image[HEADER_BYTES : HEADER_BYTES + self.dim].view(np.int8).astype(np.float64)
        values: list[float] = (scale * codes).round(7).tolist()
        return values if scale else None

    def accepts(self, entry: dict[str, Any], where: str) -> bool:
        """True when the entry's vector is of this store's model; False: embed the text instead.

        Raises:
            ModelMismatchError: it is not, and there is no embedder.
            ImportFormatError: its model is unknown, and its length is not the store's.
        """
        model = entry.get("vector_model")
        if model is None:  # not from an export: the author of the line vouches for its vector
            return True
        length = len(entry["vector"])
        if model == self.fingerprint and (model or length == self.dim):
            return True
        if self.can_embed:
            return False
        if model != self.fingerprint:
            raise ModelMismatchError(
                f"{where}: the vector is of {model or 'no known model'}, the store's are of "
                f"{self.fingerprint or 'no known model'}",
                hint="open the store with an embedder, which then embeds the texts again",
            )
        raise ImportFormatError(
            f"{where}: the vector has {counted(length, 'number')}, the store's have {self.dim}",
            hint=f"import into a store made with dim={length}, or open one with an embedder",
        )
