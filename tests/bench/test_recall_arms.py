"""The arms, and what lies between them and their figures.

Mechanism: channels, formulas, the product through its public API, vectors on disk, the loop that
asks. Damage if wrong: an arm that answers from other texts than the rest. Guard: small stores whose
best answer is known, a recording embedder.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest

import spector
from bench.data import NOW
from bench.recall.arms import ARMS
from bench.recall.evaluate import ask_all
from bench.recall.ledger import Ledger, digest, read_lines
from bench.recall.product import Product, evidence_of, remember_texts
from bench.recall.shape import DataSet, Item, Question, Store
from bench.recall.timing import of_store, timings
from bench.recall.vectors import TEMPLATES, Memoised, Vectors, no_vectors, vectors_of
from spector import HitList, Signals
from spector.clock import ManualClock
from spector.recall.abstention import log_odds
from tests.bench.recall_samples import DAY, TEXTS, Recording, a_set, a_store


@pytest.fixture
def vectors(tmp_path: Path) -> Vectors:
    return vectors_of(a_set(), Recording(), tmp_path)


# -- vectors on disk --------------------------------------------------------------------------


def test_vectors_are_made_once_and_kept_by_text(tmp_path: Path) -> None:
    first, second = Recording(), Recording()
    made = vectors_of(a_set(), first, tmp_path)
    again = vectors_of(a_set(), second, tmp_path)
    assert second.seen == []
    assert len(first.seen) == len(set(first.seen)) == 12
    np.testing.assert_array_equal(made.items["two"], again.items["two"])
    np.testing.assert_array_equal(made.items["one"][0], first.embed(["Ann: The cat sat"])[0])
    np.testing.assert_array_equal(made.cues["q2"], first.embed(["what about the snow"])[0])


def test_another_embedder_of_the_same_name_does_not_get_old_vectors(tmp_path: Path) -> None:
    vectors_of(a_set(), Recording(), tmp_path)
    other = Recording()
    other.fingerprint = "recording-2"
    vectors_of(a_set(), other, tmp_path)
    assert len(other.seen) == 12


def test_the_files_hold_ids_and_hashes_and_no_text(tmp_path: Path) -> None:
    vectors_of(a_set(), Recording(), tmp_path)
    about = json.loads((tmp_path / "recording" / "locomo.items.json").read_text("utf-8"))
    assert about["ids"][:2] == ["one/t0", "one/t1"]
    assert np.load(tmp_path / "recording" / "locomo.items.npy").shape == (8, 8)
    assert "cat" not in json.dumps(about)
    assert sorted(path.name for path in (tmp_path / "recording").iterdir()) == [
        "locomo.cues.json",
        "locomo.cues.npy",
        "locomo.items.json",
        "locomo.items.npy",
    ]


def test_a_run_that_is_cut_short_keeps_what_it_has(tmp_path: Path) -> None:
    class Tiring(Recording):
        def embed(self, texts: Sequence[str]) -> np.ndarray:
            if len(self.seen) > 300:
                raise KeyboardInterrupt
            return super().embed(texts)

    many = DataSet("big", "big", (a_store("one", [f"text {n}" for n in range(400)]),), ())
    with pytest.raises(KeyboardInterrupt):
        vectors_of(many, Tiring(), tmp_path)
    second = Recording()
    vectors_of(many, second, tmp_path)
    assert len(second.seen) == 400 - 256
    assert not list((tmp_path / "recording").glob("*partial*"))


def test_a_role_is_not_put_before_a_text_but_a_name_is() -> None:
    role = Item("a", "Hi", "assistant", "s", DAY, 0)
    name = Item("a", "Hi", "Bob", "s", DAY, 0)
    assert TEMPLATES["items"](role) == "Hi"
    assert TEMPLATES["items"](name) == "Bob: Hi"
    assert TEMPLATES["plain"](name) == "Hi"
    assert TEMPLATES["dated"](name) == "[08 May 2024] Bob: Hi"


# -- arms and changes ---------------------------------------------------------------------------


def test_arms_without_vectors_do_not_have_a_set_embedded() -> None:
    needy = {name: arm.needs_vectors for name, arm in ARMS.items()}
    assert not needy["bm25"]
    assert needy["dense"]
    assert needy["spector"]
    asked = ask_all("bm25", ARMS["bm25"], a_set(), no_vectors(a_set()))
    assert asked.outcomes[0].ranks == (1,)


# -- the loop ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", list(ARMS))
def test_every_arm_answers_with_the_items_of_its_store(name: str, vectors: Vectors) -> None:
    asked = ask_all(name, ARMS[name], a_set(), vectors)
    assert [each.question for each in asked.outcomes] == ["q0", "q1", "q2"]
    assert [each.question for each in asked.unanswerable] == ["q3"]
    # the questions of one store asked of the other, where nothing is gold
    assert [each.question.split()[0] for each in asked.foreign] == ["q2", "q0", "q1"]
    assert len({each.question for each in asked.foreign}) == 3
    assert not any(each.ranks for each in asked.foreign)
    assert all(set(each.ids) <= {"t0", "t1", "t2", "t3"} for each in asked.outcomes)


@pytest.mark.parametrize("name", ["bm25", "spector-text"])
def test_arms_that_read_words_find_the_text_with_them(name: str, vectors: Vectors) -> None:
    asked = ask_all(name, ARMS[name], a_set(), vectors)
    assert asked.outcomes[0].ranks == (1,)
    if name != "spector":  # what is asked about in one word is no name; its vectors are noise
        assert asked.outcomes[2].ranks == (1,)


def test_the_product_embeds_texts_and_cues_by_itself(tmp_path: Path) -> None:
    """Mechanism: it was handed the vectors of texts as they are. Damage: what it embeds instead (a
    text without the name before it, a cue without its frame) was never measured."""
    embedder = Recording()
    vectors = vectors_of(a_set(), Recording(), tmp_path)
    ask_all("spector", ARMS["spector"], a_set(), replace(vectors, embedder=embedder))
    assert {TEXTS[0], "which cat sat?"} <= set(embedder.seen)


@pytest.mark.parametrize("name", ["dense", "spector-vector"])
def test_arms_that_read_vectors_rank_alike(name: str, vectors: Vectors) -> None:
    """The product's vectors are int8, so the order of what is not nearly equal is the same."""
    data = a_set()
    with ARMS[name].opened(data.stores[0], vectors.items["one"]) as ask:
        answer = ask(data.questions[0], vectors.cues["q0"])
    exact = vectors.items["one"] @ vectors.cues["q0"]
    assert answer.ids == tuple(f"t{row}" for row in np.argsort(-exact))


def test_a_session_stands_where_the_best_of_its_turns_does(tmp_path: Path) -> None:
    """The product remembers turns; plain arms read the session as one text."""
    turns = a_store().items
    whole = tuple(
        Item(f"s{n}", " ".join(turn.text for turn in part), "", f"s{n}", part[0].time, n, part)
        for n, part in enumerate((turns[:2], turns[2:]))
    )
    asked = Question("q", "one", "which dog?", "x", ("s0",), DAY + timedelta(days=1), "one")
    data = DataSet("sessions", "sessions", (Store("one", whole),), (asked,))
    vectors = vectors_of(data, Recording(), tmp_path, "plain", by_parts=True)
    assert vectors.items["one"].shape == (4, 8)
    outcome = ask_all("spector", ARMS["spector"], data, vectors).outcomes[0]
    assert outcome.ids == ("s0", "s1")
    assert outcome.ranks == (1,)
    asked_plainly = ask_all("bm25", ARMS["bm25"], data, no_vectors(data))
    assert asked_plainly.outcomes[0].ids == ("s0", "s1")


def test_who_spoke_is_told_as_the_role_and_not_in_the_text(vectors: Vectors) -> None:
    store = a_store()
    with spector.open(":memory:", embedder=None, dim=8) as memory:
        named = remember_texts(memory, store.items, vectors.items["one"], "plain")
        records = [memory.get(record_id) for record_id in named]
    assert [record.text for record in records] == list(TEXTS)
    assert {record.role for record in records} == {"Ann"}
    assert [record.session_id for record in records] == ["s0", "s0", "s1", "s1"]


def test_a_memoised_embedder_makes_each_vector_once(tmp_path: Path) -> None:
    real = Recording()
    embedder = Memoised(real)
    first = embedder.embed(["a", "b", "a"])
    np.testing.assert_array_equal(embedder.embed(["b", "c"])[0], first[1])
    assert real.seen == ["a", "b", "c"]
    assert (embedder.dim, embedder.fingerprint) == (8, "recording-1")


def test_a_context_tells_its_own_tokens_and_only_what_it_quotes(vectors: Vectors) -> None:
    arm = Product("context", (), context_tokens=400)
    asked = ask_all("context", arm, a_set(), replace(vectors, embedder=None)).outcomes
    assert all(0 < each.tokens <= 400 for each in asked)
    assert asked[0].ranks == (1,)
    whole = ask_all("whole", ARMS["spector"], a_set(), vectors).outcomes
    assert all(set(a.ids) <= set(b.ids) for a, b in zip(asked, whole, strict=True))


def test_evidence_is_the_probability_of_an_answer() -> None:
    fact = Signals(kind="fact", coverage=0.5, cosine=0.4)
    odds = math.exp(log_odds(fact))
    assert evidence_of(HitList(signals=fact)) == pytest.approx(odds / (1 + odds))
    talk = Signals(kind="talk", coverage=0.5, cosine=0.4)
    assert evidence_of(HitList(signals=talk)) == evidence_of(HitList(signals=fact))
    assert evidence_of(HitList()) is None


def test_options_make_an_arm_of_the_product(vectors: Vectors) -> None:
    arm = Product("of one session", options=(("session_id", "s0"),))
    asked = ask_all("mine", arm, a_set(), vectors)
    assert arm.title == "of one session"
    assert {each for outcome in asked.outcomes for each in outcome.ids} == {"t0", "t1"}


def test_lines_hold_ids_and_ranks_and_never_a_text(tmp_path: Path, vectors: Vectors) -> None:
    asked = ask_all("bm25", ARMS["bm25"], a_set(), vectors)
    Ledger(tmp_path, "x", "f").add(a_set(), "bm25", ARMS["bm25"], asked)
    rows = read_lines(tmp_path / "x.jsonl")
    assert len(rows) == 7
    assert rows[0]["ranks"] == [1]
    assert {row["asked"] for row in rows} == {"own", "unanswerable", "foreign"}
    text = (tmp_path / "x.jsonl").read_text("utf-8")
    assert not any(word in text for word in ("cat sat", "snow", "nobody knows"))


def test_what_was_asked_is_not_asked_again_unless_anything_differs(
    tmp_path: Path, vectors: Vectors
) -> None:
    data, arm = a_set(), ARMS["bm25"]
    asked = ask_all("bm25", arm, data, vectors)
    Ledger(tmp_path, "x", "f").add(data, "bm25", arm, asked)
    found = Ledger(tmp_path, "y", "f").find(data, arm)
    assert found is not None
    assert [each.ranks for each in found.outcomes] == [each.ranks for each in asked.outcomes]
    assert len(found.foreign) == 3
    assert Ledger(tmp_path, "y", "g").find(data, arm) is None
    assert Ledger(tmp_path, "y", "f").find(data, ARMS["bm25-near"]) is None
    fewer = replace(data, questions=data.questions[:2])
    assert Ledger(tmp_path, "y", "f").find(fewer, arm) is None


def test_two_lists_with_the_same_arm_ask_it_once(tmp_path: Path, vectors: Vectors) -> None:
    data, arm = a_set(), ARMS["bm25"]
    ledger = Ledger(tmp_path, "x", "f")
    ledger.add(data, "bm25", arm, ask_all("bm25", arm, data, vectors))
    found = ledger.find(data, arm)
    assert found is not None
    assert found.outcomes[0].ranks == (1,)
    assert ledger.reused == 0
    assert Ledger(tmp_path, "y", "f").find(data, arm, foreign=False) is not None


def test_an_arm_that_was_not_asked_to_the_end_is_asked_again(
    tmp_path: Path, vectors: Vectors
) -> None:
    data, arm = a_set(), ARMS["bm25"]
    Ledger(tmp_path, "x", "f").add(data, "bm25", arm, ask_all("bm25", arm, data, vectors))
    path = tmp_path / "x.jsonl"
    path.write_text(path.read_text("utf-8")[:-20], encoding="utf-8")
    assert len(read_lines(path)) == 6
    assert Ledger(tmp_path, "y", "f").find(data, arm) is None


def test_a_digest_changes_with_a_text_and_with_a_question() -> None:
    data = a_set()
    whole = digest(data.stores, data.questions)
    assert digest(data.stores, data.questions) == whole
    assert digest(data.stores[:1], data.questions) != whole
    assert digest(data.stores, data.questions[:1]) != whole


# -- times --------------------------------------------------------------------------------------


def test_times_are_of_a_store_on_disk_and_every_write_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bench.recall.timing.TURNS", 40)
    monkeypatch.setattr("bench.recall.timing._WRITES", 5)
    monkeypatch.setattr("bench.recall.timing._WARM", 1)
    monkeypatch.setattr("bench.recall.timing._PLAIN", 5)
    told = timings([a_set()], Recording(), tmp_path)
    assert told["turns"] == 40
    assert told["not_in_the_first_recall"] == 0
    assert told["write_to_readable_ms"]["p50"] > 0
    assert told["few"] == 40
    assert {"hits confirmed", "scores and cosines"} <= set(told["stages_us"])
    assert timings([], Recording(), tmp_path) == {}


def test_times_of_a_store_that_is_there_are_read_only_and_leave_nothing_wrapped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bench.recall.timing._WARM", 1)
    rng, clock, recall = np.random.default_rng(3), ManualClock(NOW), spector.Memory.recall
    with spector.open(tmp_path / "mind", embedder=None, dim=8, clock=clock) as memory:
        memory.remember_many(
            [{"text": f"the cat sat {n} times", "vector": rng.normal(size=8)} for n in range(30)]
        )
    cues = [(f"cat {n}", rng.normal(size=8).astype(np.float32)) for n in range(4)]
    told = of_store(str(tmp_path / "mind"), cues, clock)
    assert told["turns"] == 30
    assert told["recall_ms"]["p50"] >= told["recall_ms"]["best"] > 0
    assert "hits confirmed" in told["stages_us"]
    assert spector.Memory.recall is recall
