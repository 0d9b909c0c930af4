"""Rows 1 and 2: the feeling of English texts, by the head and by words."""

from __future__ import annotations

import numpy as np

from bench.cognition import train_emotion
from bench.cognition.score import Score, scores
from bench.data import data_root
from bench.judge.hands import auc
from spector.language.emotion import emotion_in
from spector.language.emotion.detection import LABELS
from spector.providers import MiniLMEmbedder

__all__ = ["english_feelings"]


def english_feelings() -> list[Score]:
    """Rows 1 and 2: trained on the training part alone, judged on the development part."""
    folder = data_root() / "cognition/goemotions_ekman"
    embedder = MiniLMEmbedder()
    parts = [train_emotion.read(folder / name) for name in ("train12k.tsv", "dev.tsv")]
    learnt, judged = (train_emotion.ready(each, embedder) for each in parts)
    head = train_emotion.train(learnt, embedder.fingerprint)
    found = train_emotion.figures(head, judged)
    by_words = _figures_of_words(*parts[1])
    return scores("feelings", **found, **by_words)


def _figures_of_words(texts: list[str], labels: np.ndarray) -> dict[str, float]:
    """What the rules alone find: F1 of each feeling, and how valence parts joy from the rest."""
    found = [emotion_in(each) for each in texts]
    f1 = []
    for k, name in enumerate(LABELS):
        if name != "neutral":
            given = np.array([each.category == name for each in found])
            wanted = labels[:, k] > 0
            f1.append(2 * (given & wanted).sum() / max(1, given.sum() + wanted.sum()))
    single = (labels.sum(axis=1) == 1) & (labels[:, 4] == 0) & (labels[:, 6] == 0)
    valences = np.array([each.valence for each in found])
    return {
        "words_f1": float(np.mean(f1)),
        "words_auc": auc(valences[single], labels[single, 3] > 0),
    }
