"""Protocols of the models that can be plugged into a memory; no base classes needed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from spector.errors import EmbeddingError, InvalidTextError
from spector.process import elsewhere

if TYPE_CHECKING:
    from spector.records import Emotion, Judge, PromotionCandidate, Reference


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
        self,
        system: str,
        user: str,
        *,
        max_tokens: int = 512,
        temperature: float = 0.0,
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


@runtime_checkable
class CoreferenceResolver(Protocol):
    """Says which names the pronouns of a message stand for."""

    def resolve(self, text: str, before: Sequence[str]) -> Sequence[Reference]:
        """Return the words that stand for a name, each with where it begins and who is meant.

        Args:
            before: the last messages of the conversation, the newest last.
        """
        ...


@runtime_checkable
class EntityExtractor(Protocol):
    """Names what a text mentions."""

    def entities(self, text: str) -> Sequence[tuple[str, str]]:
        """Return (name as it stands in the text, type), in their order.

        Types are person, organization, place, product, tech, event and thing.
        """
        ...


@runtime_checkable
class EmotionDetector(Protocol):
    """Says how a message feels."""

    def detect(self, text: str) -> Emotion:
        """Return valence, arousal and category of a message."""
        ...


@runtime_checkable
class RelationDetector(Protocol):
    """Says how a new memory is related to earlier ones."""

    def relate(
        self, text: str, others: Sequence[tuple[int, str]]
    ) -> Mapping[int, tuple[str, float]]:
        """Return id -> (kind of the edge, confidence 0..1) for those that are related.

        Kinds are related_to, similar_to, same_entity, elaborates, causes and supports.

        Args:
            others: (id, words) of memories of the same user.
        """
        ...


@runtime_checkable
class IntentClassifier(Protocol):
    """Says what a question to a memory is after."""

    def classify(self, cue: str) -> str:
        """Return the name of a ``spector.Intent``."""
        ...


@dataclass(frozen=True, slots=True)
class Detectors:
    """Your own models for single stages, in place of the rules and of the chat model.

    One that raises, or answers nonsense, leaves its stage to the rules.

    Attributes:
        references: what pronouns stand for. entities: what a message mentions.
        emotion: how it feels. relations: how it is related to earlier ones.
        intent: what a cue is after. judge: what a new statement does to an old one.
    """

    references: CoreferenceResolver | None = None
    entities: EntityExtractor | None = None
    emotion: EmotionDetector | None = None
    relations: RelationDetector | None = None
    intent: IntentClassifier | None = None
    judge: Judge | None = None


# Checks of the input and the output of every embedder.


def check_texts(texts: Sequence[str]) -> list[str]:
    """Return the texts as a list, after checking that none is blank.

    Raises:
        InvalidTextError: a single string, or an item that is not a string.
        EmbeddingError: a text that is empty or only white space.
    """
    if isinstance(texts, (str, bytes)):
        raise InvalidTextError(
            "embed() takes a sequence of texts, got one string", hint="write embed([text])"
        )
    checked = list(texts)
    for i, text in enumerate(checked):
        if not isinstance(text, str):
            raise InvalidTextError(f"text {i} must be a str, got {type(text).__name__}")
        if not text or text.isspace():
            raise EmbeddingError(f"text {i} is empty", hint="leave empty texts out")
    return checked


def unit_rows(vectors: Any, *, rows: int, dim: int, source: str) -> NDArray[np.float32]:
    """Vectors of a model -> (rows, dim) float32 with L2 norm 1.

    Raises:
        EmbeddingError: wrong shape, not numbers, not finite, or a row of zeros.
    """
    found, norms = _check_matrix(vectors, rows=rows, dim=dim, source=source)
    unit: NDArray[np.float32] = (found / norms[:, None]).astype(np.float32)
    return unit


def embedded(embedder: Embedder, texts: Sequence[str]) -> NDArray[np.float32]:
    """Return ``embedder.embed(texts)``, (n, dim) float32, after checking shape and values.

    An embedder may be third-party code, so its result is checked, but not changed.

    Raises:
        EmbeddingError: wrong shape, not numbers, not finite, or a row of zeros.
    """
    answer = elsewhere(embedder.embed, texts)
    _check_matrix(answer, rows=len(texts), dim=embedder.dim, source=embedder.model_id)
    return np.asarray(answer, dtype=np.float32)


def _check_matrix(
    vectors: Any, *, rows: int, dim: int, source: str
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return (rows, dim) float64 and its (rows,) norms, all finite and positive."""
    try:
        found = np.asarray(vectors, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise EmbeddingError(f"{source} did not return a matrix of numbers") from error
    if found.shape != (rows, dim):
        raise EmbeddingError(
            f"{source} returned shape {found.shape}, expected ({rows}, {dim})",
            hint="declare the dimension that the model has",
        )
    norms = np.sqrt(np.einsum("ij,ij->i", found, found))
    bad = np.flatnonzero(~np.isfinite(norms) | (norms == 0))
    if bad.size:
        raise EmbeddingError(
            f"{source} returned NaN, infinity or a zero vector for text {int(bad[0])}",
            hint="nothing was stored; try again, or report it to the model's provider",
        )
    return found, norms
