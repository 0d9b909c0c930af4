"""A trained head for the feeling of an English text, from its vector and the pieces of its words.

Two linear models, averaged: one of the vector and of counts of words of feeling, one of hashed
words and pieces of words. The weights belong to one embedder; with another the rules decide alone.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from spector.language.emotion.features import dense_features, hashed_features

#: in the order of the outputs
LABELS: Final = ("anger", "disgust", "fear", "joy", "neutral", "sadness", "surprise")
_PATH: Final = Path(__file__).parent / "data" / "heads.npz"
_BAD: Final = ("anger", "disgust", "fear", "sadness")

F32 = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class EmotionHead:
    """Weights of the head, and how they are used.

    Attributes:
        weights: mean (d,), scale (d,), dense (d + counts, 7), hashed (buckets, 7), idf (buckets,),
            bias (7,), thresholds (7,), all f32.
        fingerprint: of the embedder that it was trained on.
    """

    weights: Mapping[str, F32]
    fingerprint: str
    #: of the texts that it was trained on
    language: str = "en"

    def scores(self, text: str, vector: F32) -> F32:
        """(7,) log-odds of each label less its threshold: what is above 0 is meant.

        Args:
            vector: (d,) f32, the embedding of the text.
        """
        return self.log_odds(text, vector) - self.weights["thresholds"]

    def category(self, text: str, vector: F32) -> str | None:
        """The feeling that is furthest above its threshold; None where none is above it."""
        return self.category_of(self.log_odds(text, vector))

    def category_of(self, log_odds: F32, denied: Collection[str] = ()) -> str | None:
        """The same of log-odds that are known, and none of the denied feelings."""
        scores = log_odds - self.weights["thresholds"]
        scores[[label in denied for label in LABELS]] = -np.inf
        best = int(scores.argmax())
        return LABELS[best] if scores[best] >= 0 and LABELS[best] != "neutral" else None

    def log_odds(self, text: str, vector: F32) -> F32:
        """(7,) log-odds of each label."""
        w = self.weights
        even = (np.asarray(vector, np.float32) - w["mean"]) / w["scale"]
        dense = np.concatenate([even, dense_features(text)]).astype(np.float32)
        buckets, counts = hashed_features(text)
        values = (1.0 + np.log(counts)) * w["idf"][buckets]
        values /= max(1e-6, float(np.sqrt((values * values).sum())))
        # not through BLAS, which ends the process where it has no memory for its threads
        total = np.einsum("i,ij->j", dense, w["dense"])
        total = total + np.einsum("i,ij->j", values.astype(np.float32), w["hashed"][buckets])
        return np.asarray(0.5 * total + w["bias"], np.float32)

    def valence(self, text: str, vector: F32) -> float:
        """-1..1: the probability of joy less that of what is unpleasant."""
        return self.valence_of(self.log_odds(text, vector))

    def valence_of(self, log_odds: F32) -> float:
        """The same of log-odds that are known."""
        p = 1.0 / (1.0 + np.exp(-log_odds.astype(np.float64)))
        bad = sum(float(p[LABELS.index(each)]) for each in _BAD)
        return max(-1.0, min(1.0, float(p[LABELS.index("joy")]) - bad))


@lru_cache(maxsize=1)
def _stored() -> EmotionHead | None:
    if not _PATH.exists():
        return None
    with np.load(_PATH, allow_pickle=False) as stored:
        about: dict[str, Any] = json.loads(bytes(stored["about"]).decode())
        weights = {
            name: stored[name].astype(np.float32) for name in stored.files if name != "about"
        }
    return EmotionHead(weights, about["fingerprint"])


def load_head(fingerprint: str | None) -> EmotionHead | None:
    """The head that comes with spector; None for any embedder but the one it was trained on."""
    head = _stored()
    return head if head is not None and head.fingerprint == fingerprint else None
