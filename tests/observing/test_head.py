"""The trained head of feelings belongs to one embedder and scores as it was trained.

Damage without it: a head that judges vectors of another model, or weights that ship and differ from
what was measured.
"""

from __future__ import annotations

import numpy as np
import pytest

from bench.cognition import train_emotion
from spector.language.emotion import emotion_in, load_head
from spector.language.emotion.head import LABELS
from spector.providers import MiniLMEmbedder


class _Embedder:
    """Vectors of eight numbers that a text's letters decide."""

    def embed(self, texts: list[str]) -> np.ndarray:
        rows = [[sum(map(ord, each)) % (7 + n) for n in range(8)] for each in texts]
        return np.array(rows, np.float32)


def _texts() -> tuple[list[str], np.ndarray]:
    texts, labels = [], []
    for n in range(84):
        k = n % 7
        texts.append(f"{LABELS[k]} says number {n} of {LABELS[k]}, so {LABELS[k]}ly?")
        labels.append(np.eye(7, dtype=np.float32)[k])
    return texts, np.array(labels)


def test_another_embedder_has_no_head() -> None:
    assert load_head("another-model") is None
    assert load_head(None) is None
    assert load_head(MiniLMEmbedder().fingerprint) is not None


def test_a_head_scores_one_text_as_it_was_trained_on_all() -> None:
    part = _texts()
    ready = train_emotion.ready(part, _Embedder())  # type: ignore[arg-type]
    head = train_emotion.train(ready, "a-model")
    together = train_emotion.log_odds(dict(head.weights), ready)
    for n in (0, 5, 40):
        alone = head.log_odds(part[0][n], ready.vectors[n])
        assert alone == pytest.approx(together[n], abs=1e-3)
    found = train_emotion.figures(head, ready)
    assert found["macro_f1"] > 0.9
    assert train_emotion.figures(train_emotion.train(ready, "a-model"), ready) == found


def test_the_head_judges_english_and_only_with_a_vector() -> None:
    embedder = MiniLMEmbedder()
    head = load_head(embedder.fingerprint)
    text = "My grandmother passed away last night and I can't stop thinking of her"
    vector = embedder.embed([text])[0]
    assert emotion_in(text, vector=vector, head=head).category == "sadness"
    assert emotion_in(text, head=head) == emotion_in(text)
    turkish = "Bugün çok mutluyum"
    vector = embedder.embed([turkish])[0]
    assert emotion_in(turkish, vector=vector, head=head) == emotion_in(turkish)


def test_the_outage_is_anger_with_the_head_too() -> None:
    embedder = MiniLMEmbedder()
    text = "I am FURIOUS!!! The production server is DOWN!"
    found = emotion_in(text, vector=embedder.embed([text])[0], head=load_head(embedder.fingerprint))
    assert found.category == "anger"
    assert found.arousal == pytest.approx(0.85)
    assert found.valence < 0


@pytest.mark.parametrize(
    "text",
    [
        "Not cheerful at all today.",
        "I was never delighted with that flat.",
        "No fun this time.",
    ],
)
def test_a_joy_that_is_denied_is_none_for_the_head_either(text: str) -> None:
    embedder = MiniLMEmbedder()
    head = load_head(embedder.fingerprint)
    found = emotion_in(text, vector=embedder.embed([text])[0], head=head)
    assert found.category != "joy"
    assert found.valence < 0
