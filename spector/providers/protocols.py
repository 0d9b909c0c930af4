"""What a model has to offer to be plugged into a memory: structural types, no base classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

__all__ = ["Embedder", "Fact", "FactExtractor", "ImportanceScorer", "Summarizer"]


@runtime_checkable
class Embedder(Protocol):
    """Turns texts into unit vectors.

    The three attributes must be readable without any network call: a store stamps them when it
    is created and compares them when it is opened.
    """

    @property
    def model_id(self) -> str:
        """Name of the model for people, e.g. ``all-MiniLM-L6-v2-int8``."""
        ...

    @property
    def dim(self) -> int:
        """Components of a vector."""
        ...

    @property
    def fingerprint(self) -> str:
        """Everything that decides what a vector means: weights, pooling, windows, template.

        Vectors with different fingerprints must never be compared.
        """
        ...

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Embed texts: ``n`` strings -> (n, dim) float32, rows finite with L2 norm 1.

        Raises:
            EmbeddingError: any text could not be embedded. There is no partial answer and
                never a row of zeros.
        """
        ...


@runtime_checkable
class Summarizer(Protocol):
    """Condenses several memories into one text."""

    def summarize(self, texts: Sequence[str], *, max_tokens: int) -> str:
        """One text of at most ``max_tokens`` tokens (of the model's own counting)."""
        ...


@dataclass(frozen=True, slots=True)
class Fact:
    """One statement drawn from a text; ``confidence`` is 0..1."""

    subject: str
    predicate: str
    object: str
    confidence: float = 1.0


@runtime_checkable
class FactExtractor(Protocol):
    """Finds the statements that a text makes."""

    def extract(self, text: str) -> Sequence[Fact]:
        """The facts in order of appearance; empty when the text states none."""
        ...


@runtime_checkable
class ImportanceScorer(Protocol):
    """Judges how much a text is worth remembering."""

    def score(
        self, text: str, *, role: str | None = None, metadata: Mapping[str, Any] | None = None
    ) -> float:
        """0 (small talk) .. 1 (must never be lost)."""
        ...
