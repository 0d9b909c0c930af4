"""Rows 1 and 2: the feeling of English texts, by the head and by words."""

from __future__ import annotations

import numpy as np

from bench.cognition import train_emotion
from bench.cognition.score import Score, data
from bench.judge.hands import auc
from spector.language.emotion import emotion_in
from spector.language.emotion.detection import LABELS
from spector.providers import MiniLMEmbedder

__all__ = ["english_feelings"]


def english_feelings() -> list[Score]:
    """Rows 1 and 2: trained on the training part alone, judged on the development part."""
    folder = data() / "cognition/goemotions_ekman"
    embedder = MiniLMEmbedder()
    parts = [train_emotion.read(folder / name) for name in ("train12k.tsv", "dev.tsv")]
    learnt, judged = (train_emotion.ready(each, embedder) for each in parts)
    head = train_emotion.train(learnt, embedder.fingerprint)
    found = train_emotion.figures(head, judged)
    by_words = _figures_of_words(*parts[1])
    each = ", ".join(f"{name} {found[name]:.2f}" for name in LABELS)
    return [
        Score(
            1,
            f"feelings in English, GoEmotions dev, macro-F1 of 7 labels ({each})",
            f"{found['macro_f1']:.3f}",
            "0.539",
            "0.58",
            found["macro_f1"] >= 0.58,
        ),
        Score(
            1,
            "the same by words alone, macro-F1 of 6 feelings, one each",
            f"{by_words['macro_f1']:.3f}",
            "0.265",
            "-",
            False,
        ),
        Score(
            2,
            "valence in English, one-label texts, AUC",
            f"{found['auc']:.3f}",
            "0.917",
            "0.94",
            found["auc"] >= 0.94,
        ),
        Score(
            2,
            "the same, accuracy with the cut at 0 / by words alone, AUC",
            f"{found['accuracy']:.3f} / {by_words['auc']:.3f}",
            "0.842 / 0.893",
            "-",
            False,
        ),
    ]


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
    return {"macro_f1": float(np.mean(f1)), "auc": auc(valences[single], labels[single, 3] > 0)}
