"""What a store is made for: the model and the length of its vectors."""

from __future__ import annotations

import uuid as uuid_module
from collections.abc import Mapping
from dataclasses import dataclass

from spector.errors import CatalogCorruptError, ModelMismatchError
from spector.layout import FORMAT_VERSION

__all__ = ["Stamp"]


@dataclass(frozen=True, slots=True)
class Stamp:
    """What a store is made for; written once, compared at every open. None means "whatever"."""

    dim: int | None
    model_id: str | None
    fingerprint: str | None

    def new_meta(self) -> dict[str, str]:
        """What the catalog of a new store says of it.

        Raises:
            ModelMismatchError: no dimension is given.
        """
        if self.dim is None:
            raise ModelMismatchError(
                "a new store needs to know how long its vectors are",
                hint="pass dim=, or an embedder",
            )
        return {
            "format_version": str(FORMAT_VERSION),
            "uuid": uuid_module.uuid4().hex,
            "dim": str(self.dim),
            "model_id": self.model_id or "",
            "fingerprint": self.fingerprint or "",
        }

    def refuse_other(self, meta: Mapping[str, str], root: str) -> None:
        """Raise when the store at ``root`` was made for something else.

        Raises:
            ModelMismatchError, CatalogCorruptError
        """
        hint = f"open it with what it was made with, or convert it: spector reembed {root}"
        try:
            dim, _ = int(meta["dim"]), bytes.fromhex(meta["uuid"])
        except (KeyError, ValueError):
            raise CatalogCorruptError(
                f"{root}: the catalog does not say what store it is",
                hint="restore a backup, or salvage what there is: spector check PATH --repair DEST",
            ) from None
        if self.fingerprint and meta["fingerprint"] and self.fingerprint != meta["fingerprint"]:
            raise ModelMismatchError(
                f"{root} holds vectors of {meta['model_id']} ({meta['fingerprint']}), not of "
                f"{self.model_id} ({self.fingerprint})",
                hint=hint,
            )
        if self.fingerprint and not meta["fingerprint"]:
            raise ModelMismatchError(
                f"{root} holds vectors that were given by its users, not made by {self.model_id}",
                hint=f"open it with embedder=None, or convert it: spector reembed {root}",
            )
        if self.dim is not None and self.dim != dim:
            raise ModelMismatchError(
                f"{root} holds vectors of {dim} dimensions, not {self.dim}", hint=hint
            )
