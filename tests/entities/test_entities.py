"""Names are found where they stand, typed right or left out, in English and Turkish.

Mechanism: capitals, lists, neighbours, case endings; a trained head for English. Damage without it:
facts about nobody, entities made of the first word of a sentence. Guard: sentences of our own.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import spector
from spector.errors import EmbeddingError
from spector.language.entities import (
    MOST_WORDS,
    EntityHead,
    Mention,
    entities_of,
    load_head,
    person_mentions,
    rule_mentions,
    seen_in,
    split_words,
)
from spector.language.entities.head import word_features
from spector.language.observing import MOST_CHARS
from spector.providers import CachedEmbedder, MiniLMEmbedder, minilm
from spector.providers.wordpiece import OVERLAP_TOKENS
from tests.fakes import FakeEmbedder


def entities_in(
    text: str, *, speakers: Sequence[str] = (), head: EntityHead | None = None, vectors: Any = None
) -> list[Mention]:
    return names_of([text], speakers, head, vectors)[0]


def names_of(
    texts: Sequence[str], speakers: Sequence[str], head: EntityHead | None, vectors: Any
) -> list[list[Mention]]:
    return entities_of(
        [(each, speakers) for each in texts],
        head=head,
        seen=None if head is None else seen_in(texts, vectors, head.fingerprint),
    )


def found(text: str, **options: object) -> list[tuple[str, str]]:
    return [(each.name, each.type) for each in rule_mentions(text, **options)]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (
            "Yesterday Ada met Bob in Kars.",
            [("Ada", "person"), ("Bob", "person"), ("Kars", "place")],
        ),
        ("Dr. Weber moved to Springfield.", [("Weber", "person"), ("Springfield", "thing")]),
        (
            "We run Redis and PostgreSQL on Linux.",
            [("Redis", "tech"), ("PostgreSQL", "tech"), ("Linux", "tech")],
        ),
        (
            "She studies at Delft University of Technology.",
            [("Delft University of Technology", "org")],
        ),
        (
            "I work at Northwind Inc. and live on Baker Street.",
            [("Northwind Inc", "org"), ("Baker Street", "place")],
        ),
        ("Please react quickly; the rust on the rails is bad.", []),
        ("We React to Rust in May.", [("React", "tech"), ("Rust", "tech")]),
        ("Today I will call. Maybe Monday.", []),
        ("The meeting went well. Everything Is Fine", []),
        ("Then Alan Kay spoke.", [("Alan Kay", "person")]),
        ("Alan Kay spoke.", [("Alan Kay", "person")]),
    ],
)
def test_english_names(text: str, names: list[tuple[str, str]]) -> None:
    assert [n for n in found(text) if n in names] == names
    if not names:
        assert found(text) == []


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Ayşe dün Ankara'ya taşındı.", [("Ayşe", "person"), ("Ankara", "place")]),
        (
            "Mehmet Bey Boğaziçi Üniversitesi'nde çalışıyor.",
            [("Mehmet Bey", "person"), ("Boğaziçi Üniversitesi", "org")],
        ),
        (
            "Toplantı Göktepe'de, sonra İzmir'e geçiyoruz.",
            [("Göktepe", "place"), ("İzmir", "place")],
        ),
        ("Zeynep'in kedisi hasta.", [("Zeynep", "person")]),
        ("Zeynep Kaya Bursa'da yaşıyor.", [("Zeynep Kaya", "person"), ("Bursa", "place")]),
        ("Alan genişledi.", []),
        ("Bugün hava güzel. Yarın da öyle.", []),
    ],
)
def test_turkish_names(text: str, names: list[tuple[str, str]]) -> None:
    assert found(text) == names


def test_a_known_speaker_is_a_person_in_any_case() -> None:
    assert found("gökberk said hi", speakers=["Gökberk"]) == [("gökberk", "person")]


def test_first_and_second_person() -> None:
    assert [each.name for each in person_mentions("I told you about my car")] == [
        "user",
        "agent",
        "user",
    ]
    assert [each.name for each in person_mentions("Ben sana söyledim")] == ["user", "agent"]


@given(st.text(max_size=200))
def test_any_text_gives_spans_that_quote_it(text: str) -> None:
    mentions = entities_in(text)
    assert all(text[each.start : each.end] == each.name for each in mentions)
    assert all(a.end <= b.start for a, b in itertools.pairwise(mentions))


class Flat:
    """An embedder with one vector for every word."""

    def __init__(self, fingerprint: str) -> None:
        self.fingerprint = fingerprint
        self.asked = 0

    def word_vectors(self, words: list[str]) -> np.ndarray:
        self.asked += 1
        return np.zeros((len(words), 384), np.float32)


class Counted(FakeEmbedder):
    """Counts the words and the longest text that it is asked for."""

    def __init__(self, fingerprint: str) -> None:
        super().__init__(384)
        self.fingerprint = fingerprint
        self.words, self.longest = 0, 0

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.longest = max([self.longest, *map(len, texts)])
        return np.full((len(texts), 384), 384**-0.5, np.float32)

    def word_vectors(self, words: Sequence[str]) -> NDArray[np.float32]:
        self.words += len(words)
        return np.ones((len(words), 384), np.float32)


@pytest.mark.parametrize(
    "text",
    ["lorem ipsum dolor sit amet " * 2_000, "," * 100_000, "a, " * 30_000, "😀" * 50_000],
    ids=["words", "commas", "pairs", "emoji"],
)
def test_of_a_long_message_an_embedder_sees_so_many_words(text: str) -> None:
    counted = Counted(MiniLMEmbedder().fingerprint)
    with spector.open(":memory:", embedder=counted) as memory:
        memory.observe(text)
        assert counted.words <= 2 * MOST_WORDS
        assert counted.longest <= max(spector.Config().observe.max_chars, MOST_CHARS)


def test_of_a_long_text_the_model_reads_so_many_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []
    hidden = minilm._LoadedModel._hidden
    monkeypatch.setattr(
        minilm._LoadedModel,
        "_hidden",
        lambda self, batch: read.extend(len(ids) for _, ids in batch) or hidden(self, batch),
    )
    words = [*"Ada won".split(), "antidisestablishmentarianism" * 3, *["x-y"] * 1000]
    found = MiniLMEmbedder().word_vectors(words)
    assert sum(read) <= minilm.WORD_TOKENS + 2 * OVERLAP_TOKENS
    assert found[:3].any(axis=1).all()
    assert not found[minilm.WORD_TOKENS :].any()


def test_the_head_speaks_for_its_own_embedder_and_english_only() -> None:
    head = load_head()
    assert isinstance(head, EntityHead)
    other, own = Flat("another"), Flat(head.fingerprint)
    entities_in("we met zork yesterday", head=head, vectors=other)
    entities_in("dün Ankara'ya gittik ve çok güzeldi", head=head, vectors=own)
    assert (other.asked, own.asked) == (0, 0)
    entities_in("we met zork yesterday", head=head, vectors=own)
    assert own.asked == 1


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("my brother zork lives in brovary", ("zork", "person")),
        ("my dog biscuit ate the couch", ("biscuit", "animal")),
    ],
)
def test_the_head_finds_a_name_that_no_list_has(text: str, name: tuple[str, str]) -> None:
    mentions = entities_in(text, head=load_head(), vectors=MiniLMEmbedder())
    assert name in [(each.name, each.type) for each in mentions]


def test_a_quote_before_a_name_is_none_of_it() -> None:
    words = [each.text for each in split_words("Ada's list says 'Brovary’s bread' and Ankara’da")]
    assert words == ["Ada", "'s", "list", "says", "'", "Brovary", "’s", "bread", "'", "and",
                     "Ankara", "’da"]  # fmt: skip


def test_with_a_head_known_speakers_are_persons_and_technologies_are_of_the_list() -> None:
    mentions = entities_in(
        "gökberk uses Redis", speakers=["Gökberk"], head=load_head(), vectors=MiniLMEmbedder()
    )
    assert [(each.name, each.type) for each in mentions] == [
        ("gökberk", "person"),
        ("Redis", "tech"),
    ]


class Words:
    """An embedder of another fingerprint: the head must not be asked."""

    fingerprint = "another"

    def word_vectors(self, words: Sequence[str]) -> NDArray[np.float32]:
        raise AssertionError("the head is pinned to its embedder")


def test_another_embedder_leaves_the_rules_alone() -> None:
    text = "yesterday wendover won against Grimsby in Kars"
    assert entities_in(text, head=load_head(), vectors=Words()) == rule_mentions(text)
    cached = CachedEmbedder(MiniLMEmbedder())
    inner = cached.inner
    assert isinstance(inner, MiniLMEmbedder)
    assert np.array_equal(cached.word_vectors(["Ada", "won"]), inner.word_vectors(["Ada", "won"]))
    plain = CachedEmbedder(FakeEmbedder())
    with pytest.raises(EmbeddingError, match="no vectors of words"):
        plain.word_vectors(["Ada"])


def test_names_of_many_texts_are_those_of_each() -> None:
    texts = [
        "Yesterday wendover won against Grimsby",
        "Ada met Bob in Kars",
        "",
        "dün Ankara'daydık",
        "I use Redis and Postgres at Acme Inc.",
    ]
    vectors, head = MiniLMEmbedder(), load_head()
    found = names_of(texts, ["Ada"], head, vectors)
    assert found == [
        entities_in(each, speakers=["Ada"], head=head, vectors=vectors) for each in texts
    ]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Omar visited Lisbon in May.", {"Omar", "Lisbon"}),
        ("They met Kim in July, on Friday.", {"Kim"}),
        ("Ayşe Ankara'ya Temmuz'da gitti.", {"Ayşe", "Ankara"}),
        ("They moved from Kars in March.", {"Kars"}),
    ],
)
def test_days_and_months_are_no_places(text: str, names: set[str]) -> None:
    assert {each.name for each in rule_mentions(text)} == names


@pytest.mark.parametrize(
    "text",
    ["Lena works in Cardiology.", "It was printed in Nature.", "He got a prize in Chemistry."],
)
def test_a_preposition_alone_makes_no_place(text: str) -> None:
    assert "place" not in {each.type for each in rule_mentions(text)}


def test_the_head_scores_words_as_its_plain_steps_do() -> None:
    """The first layer is computed by parts; each mean, neighbour and spelling must arrive."""
    head = load_head()
    chance = np.random.default_rng(7)
    for text in ("Ada", "It's @ada's #1 IDE-like tool, v2.0!", "WE MET ZORK. In Kars", "ğ , 9"):
        words = [each.text for each in split_words(text)]
        vectors = chance.normal(size=(len(words), 384)).astype(np.float32)
        plain_steps = head.scores(word_features(words, vectors))
        assert np.allclose(head.fast_scores(words, vectors), plain_steps, atol=1e-4)
