"""Checks of the input and the output of every embedder."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spector.errors import EmbeddingError, InvalidTextError
from spector.process import elsewhere
from spector.providers.protocols import Embedder

__all__ = ["check_texts", "embedded", "unit_rows"]


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
