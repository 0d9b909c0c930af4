"""Checks that every embedder makes on what comes in and what goes out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spector.errors import EmbeddingError, InvalidTextError
from spector.process import elsewhere
from spector.providers.protocols import Embedder

__all__ = ["checked_texts", "embedded", "unit_rows"]


def checked_texts(texts: Sequence[str]) -> list[str]:
    """The texts as a list; one blank text refuses them all.

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
            raise InvalidTextError(f"text {i} is a {type(text).__name__}, not a string")
        if not text or text.isspace():
            raise EmbeddingError(f"text {i} is empty", hint="leave empty texts out")
    return checked


def unit_rows(vectors: Any, *, rows: int, dim: int, source: str) -> NDArray[np.float32]:
    """What a model answered -> (rows, dim) float32 with L2 norm 1, or an error.

    Raises:
        EmbeddingError: wrong shape, not numbers, not finite, or a row of zeros.
    """
    found, norms = _measured(vectors, rows=rows, dim=dim, source=source)
    unit: NDArray[np.float32] = (found / norms[:, None]).astype(np.float32)
    return unit


def embedded(embedder: Embedder, texts: Sequence[str]) -> NDArray[np.float32]:
    """What ``embedder.embed(texts)`` answers, (n, dim) float32, once it is what it should be.

    An embedder may be anybody's code, so its answer is checked here, and otherwise left as it is.

    Raises:
        EmbeddingError: wrong shape, not numbers, not finite, or a row of zeros.
    """
    answer = elsewhere(embedder.embed, texts)
    _measured(answer, rows=len(texts), dim=embedder.dim, source=embedder.model_id)
    return np.asarray(answer, dtype=np.float32)


def _measured(
    vectors: Any, *, rows: int, dim: int, source: str
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """(rows, dim) float64 and its (rows,) norms, all finite and positive."""
    try:
        found = np.asarray(vectors, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise EmbeddingError(f"{source} answered something that is not a matrix") from error
    if found.shape != (rows, dim):
        raise EmbeddingError(
            f"{source} answered shape {found.shape}, expected ({rows}, {dim})",
            hint="the model's dimension differs from the one that was declared",
        )
    norms = np.sqrt(np.einsum("ij,ij->i", found, found))
    bad = np.flatnonzero(~np.isfinite(norms) | (norms == 0))
    if bad.size:
        raise EmbeddingError(
            f"{source} answered NaN, infinity or a zero vector for text {int(bad[0])}",
            hint="nothing was stored; try again, or report it to the model's provider",
        )
    return found, norms
