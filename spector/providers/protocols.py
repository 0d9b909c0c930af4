"""Protocols of the models that can be plugged into a memory; no base classes needed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from spector.records import PromotionCandidate

__all__ = [
    "LLM", "Embedder", "Fact", "FactExtractor", "ImportanceScorer", "PromotionSource", "Summarizer",
]


@runtime_checkable
class Embedder(Protocol):
    """Turns texts into unit vectors.

    The three attributes must be readable without a network call: a store saves them when it is
    created and compares them when it is opened.
    """

    @property
    def model_id(self) -> str:
        """Name of the model for people, e.g. ``all-MiniLM-L6-v2-int8``."""
        ...

    @property
    def dim(self) -> int:
        """Number of components of a vector."""
        ...

    @property
    def fingerprint(self) -> str:
        """Identity of everything that determines vectors: weights, pooling, windows, template.

        Vectors with different fingerprints must never be compared.
        """
        ...

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Embed texts: ``n`` strings -> (n, dim) float32, rows finite with L2 norm 1.

        Raises:
            EmbeddingError: a text could not be embedded. There are no partial results and no
                rows of zeros.
        """
        ...


@runtime_checkable
class LLM(Protocol):
    """A chat model; what it cannot do, the rules do in its place."""

    @property
    def model_id(self) -> str:
        """Name of the model for people."""
        ...

    def complete(
        self, system: str, user: str, *, max_tokens: int = 512, temperature: float = 0.0,
        json: bool = False,
    ) -> str:
        """Return the answer to one question; a JSON object if ``json``.

        Raises:
            LLMError: there is no answer.
        """
        ...


@runtime_checkable
class Summarizer(Protocol):
    """Condenses several memories into one text."""

    def summarize(self, texts: Sequence[str], *, max_tokens: int) -> str:
        """Return one text of at most ``max_tokens`` tokens, as the model counts them."""
        ...


@dataclass(frozen=True, slots=True)
class Fact:
    """One statement extracted from a text.

    Attributes:
        predicate: a lemma in snake case: ``lives_in``.
        confidence: 0..1.
        polarity: False when the text denies it.
        modality: "asserted", or "hedged" under a "maybe".
        span: the part of the text that states it, the end exclusive; None if it is unknown.
    """

    subject: str
    predicate: str
    object: str
    confidence: float = 1.0
    polarity: bool = True
    modality: str = "asserted"
    span: tuple[int, int] | None = None


@runtime_checkable
class FactExtractor(Protocol):
    """Extracts the statements of a text."""

    def extract(self, text: str) -> Sequence[Fact]:
        """Return the facts in order of appearance; empty if the text has none."""
        ...


@runtime_checkable
class PromotionSource(Protocol):
    """Finds patterns in memories that may become concepts."""

    def get_promotion_candidates(
        self, min_confidence: float = 0.6, min_observations: int = 3
    ) -> Sequence[PromotionCandidate]:
        """Return what it found from this confidence and number of observations on."""
        ...


@runtime_checkable
class ImportanceScorer(Protocol):
    """Rates how important it is to remember a text."""

    def score(
        self, text: str, *, role: str | None = None, metadata: Mapping[str, Any] | None = None
    ) -> float:
        """Return a score from 0 (small talk) to 1 (must never be lost)."""
        ...
