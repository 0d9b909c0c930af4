"""The trained head of feelings belongs to one embedder and scores as it was trained.

Damage without it: a head that judges vectors of another model, or weights that ship and differ from
what was measured.
"""

from __future__ import annotations

from typing import Final

from hypothesis import given
from hypothesis import strategies as st

from bench.judge import heads
from spector.language.emotion import emotion_in, load_head
from spector.language.observing import head_for, judged, worth_keeping
from spector.language.observing.head import (
    HEADS,
    HEADS_VERSION,
    load_heads,
)
from spector.providers import MiniLMEmbedder


def test_another_embedder_has_no_head() -> None:
    assert load_head("another-model") is None
    assert load_head(None) is None
    assert load_head(MiniLMEmbedder().fingerprint) is not None


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


# -- The heads that say what a message is worth are those that were measured, and stay cautious ----
#
# Damage without it: weights of other data than the page of figures, a head that reads vectors of
# another model, or one that takes a short statement for small talk.


_MOST_BYTES: Final = 300_000


def test_weights_are_of_this_version_and_of_the_data_that_is_there() -> None:
    _, _, about = load_heads()
    assert (about["version"], about["sha256"]) == (HEADS_VERSION, heads.digest())
    assert HEADS.stat().st_size <= _MOST_BYTES


def test_only_the_embedder_of_the_head_is_read_beside_the_text() -> None:
    own = MiniLMEmbedder().fingerprint
    assert head_for(own).fingerprint == own
    assert head_for("another-model") is head_for(None)
    assert head_for(None).fingerprint == ""


@given(st.text(max_size=300))
def test_any_text_has_a_verdict(text: str) -> None:
    found = head_for(None).verdict(text)
    assert 0.0 <= found.content <= 1.0
    assert 0.0 <= found.importance <= 1.0


def test_a_head_is_asked_only_where_the_rules_are_not_sure() -> None:
    sure = worth_keeping("The gate code is 4417.")
    assert judged(sure, "ok") is sure
    assert worth_keeping("brilliant, cheers").verdict in ("empty", "unsure")
