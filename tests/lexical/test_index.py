"""The index of words says what the plain computation says, however the store came to be so."""

from __future__ import annotations

import copy
import random

import numpy as np
import pytest

from spector.kernel import get_kernel
from spector.language.statements.form import MemoryText
from spector.language.words.analysis import Term, cue_terms
from spector.lexical import columns as chains
from spector.lexical import index, postings
from spector.lexical.index import WordIndex
from spector.lexical.view import WordView
from tests.lexical.brute import Shelf, bm25, neighbours_of, terms_of
from tests.proof import seed

_WORDS = "guitar tent music lake river bank coffee tea run walk the a of with boat car".split()
_DAY = 86_400_000


def _text(rng: random.Random, number: int) -> MemoryText:
    words = " ".join(rng.choice(_WORDS) for _ in range(rng.randrange(0, 12)))
    return MemoryText(
        id=number,
        segment_id=0,
        slot=0,
        event_ms=rng.randrange(0, 40) * _DAY,
        session_id=rng.choice([None, "s1", "s2", "s3"]),
        speaker=rng.choice([None, "Ann", "Bob"]),
        text=words,
        seal=rng.randrange(1 << 32),
    )


def _agrees(view: WordView, shelf: Shelf, cue: str) -> None:
    """Every answer of a view about a cue equals the plain computation."""
    texts = shelf.all()
    ids = [text.id for text in texts]
    terms = cue_terms(cue)
    assert view.n_rows == len(texts)
    rows, scores = view.best(terms, k=max(1, len(texts)))
    expected = bm25(texts, terms)
    assert dict(zip(view.ids(rows).tolist(), scores.tolist(), strict=True)) == pytest.approx(
        expected, rel=1e-4
    )
    ordered = list(zip((-scores).tolist(), view.ids(rows).tolist(), strict=True))
    assert ordered == sorted(ordered), "best first, ties by id"
    every = view.rows(ids)
    assert view.ids(every).tolist() == ids
    read = [terms_of(text) for text in texts]
    lookup = view.look_up(terms)
    lines = view.field_lines(view.field_numbers(every), lookup)
    assert view.counts(every, lookup, lines).tolist() == [
        [counts[term.text] for counts, _, _ in read] for term in terms
    ]
    having = dict(lines)
    nowhere = np.zeros(len(every), bool)
    assert [having.get(n, nowhere).tolist() for n in range(len(terms))] == [
        [term.text in fields for _, fields, _ in read] for term in terms
    ]
    assert view.column("content", every).tolist() == [length for _, _, length in read]
    near = view.neighbours(every, 3)
    found = np.where(near < 0, -1, view.ids(near.ravel()).reshape(near.shape))
    assert found.tolist() == [neighbours_of(texts, n, 3) for n in ids]


def _change(rng: random.Random, shelf: Shelf, number: int) -> int:
    """One commit: some of it appended, updated, forgotten, rewritten or given up."""
    kind = rng.choice(["add", "add", "add", "update", "forget", "compact", "abandon"])
    texts = shelf.all()
    if kind == "add" or not texts:
        segment = shelf.some(rng)
        for _ in range(rng.choice([1, 1, 3, 70])):
            number += 1
            shelf.put(segment, _text(rng, number))
    elif kind in ("update", "forget"):
        for old in rng.sample(texts, min(len(texts), rng.choice([1, 5, 30]))):
            shelf.partitions[old.segment_id][old.slot] = None
            if kind == "update":
                shelf.put(shelf.some(rng), _text(rng, old.id))
    else:
        segment = rng.choice(list(shelf.partitions))
        kept = [text for text in shelf.partitions.pop(segment) if text is not None]
        if kind == "compact":
            shelf.generations[segment] = shelf.generations.get(segment, 0) + 1
            shelf.partitions[segment] = []
        else:
            segment = shelf.fresh()
        for text in kept:
            shelf.put(segment, text)
    return number


@pytest.mark.sampled
@pytest.mark.parametrize(
    "start", [*range(3), *(pytest.param(n, marks=pytest.mark.slow) for n in range(3, 6))]
)
def test_an_index_that_follows_commits_answers_like_a_plain_computation(
    start: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also of a moment before the last one, as recalls that began earlier ask for.

    Small blocks, batches and chains, so that merging, relinking and clearing out happen.
    """
    monkeypatch.setattr(postings, "TAIL_ROWS", 8)
    monkeypatch.setattr(index, "_MANY_DEAD", 20)
    monkeypatch.setattr(index, "_BATCH", 32)
    monkeypatch.setattr(chains, "_ONE_BY_ONE", 4)
    first = seed(start)
    rng = random.Random(first)
    shelf, number, held, moments = Shelf(), 0, [], []
    following = WordIndex(get_kernel(), b"key")
    for _ in range(40):
        for _ in range(rng.choice([1, 1, 4])):
            number = _change(rng, shelf, number)
        moments.append((shelf.spans(), copy.deepcopy(shelf)))
        spans, moment = rng.choice([moments[-1], moments[-1], rng.choice(moments[-3:])])
        view = following.follow(spans, moment)
        cue = " ".join(rng.sample(_WORDS, 3)) + rng.choice(["", " Ann", " January 1970"])
        _agrees(view, moment, cue)
        held.append((view, cue, view.best(cue_terms(cue)), view.neighbours(np.arange(len(view)))))
    for view, cue, (rows, scores), near in held:  # a view stays what it was
        again, same = view.best(cue_terms(cue))
        assert (again.tolist(), same.tolist()) == (rows.tolist(), scores.tolist()), first
        assert (view.neighbours(np.arange(len(view))) == near).all(), first


def test_scores_do_not_depend_on_the_order_of_commits() -> None:
    rng = random.Random(3)
    texts = [_text(rng, n) for n in range(1, 2000)]
    at_once, one_by_one = Shelf(), Shelf()
    for text in texts:
        at_once.put(1, text)
    late = WordIndex(get_kernel(), b"key").follow(at_once.spans(), at_once)
    following = WordIndex(get_kernel(), b"key")
    for n, text in enumerate(texts):
        one_by_one.put(1, text)
        if n % 37 == 0:
            following.follow(one_by_one.spans(), one_by_one)
    early = following.follow(one_by_one.spans(), one_by_one)
    for cue in ("guitar by the lake", "Ann coffee 3 January", "the of a"):
        a, b = late.best(cue_terms(cue), k=200), early.best(cue_terms(cue), k=200)
        assert late.ids(a[0]).tolist() == early.ids(b[0]).tolist()
        assert a[1].tolist() == b[1].tolist(), "bit for bit"


def test_only_allowed_rows_are_among_the_best() -> None:
    shelf = Shelf()
    for n in range(1, 50):
        shelf.put(1, MemoryText(n, 0, 0, 0, None, None, "guitar " * n, n))
    view = WordIndex(get_kernel()).follow(shelf.spans(), shelf)
    allow = np.zeros(len(view), bool)
    allow[view.rows([3, 9])] = True
    rows, _ = view.best([Term("guitar")], k=5, allow=allow)
    assert sorted(view.ids(rows).tolist()) == [3, 9]


def test_an_empty_store_answers_everything() -> None:
    view = WordIndex(get_kernel()).follow((), Shelf())
    terms = cue_terms("green word")
    none = np.array([-1], np.int64)
    assert (len(view), view.n_rows, view.df(terms).tolist()) == (0, 0, [0, 0])
    assert view.best(terms)[0].tolist() == []
    assert view.counts(none, view.look_up(terms), []).tolist() == [[0], [0]]
    assert view.neighbours(none, 2).tolist() == [[-1, -1, -1, -1]]
    assert view.rows([5]).tolist() == view.ids(none).tolist() == [-1]


def test_a_cue_without_words_matches_nothing() -> None:
    shelf = Shelf()
    shelf.put(1, MemoryText(1, 0, 0, 0, None, None, "guitar", 1))
    view = WordIndex(get_kernel()).follow(shelf.spans(), shelf)
    every = np.arange(len(view))
    assert view.best([])[0].tolist() == []
    assert view.counts(every, view.look_up([]), []).shape == (0, 1)
    assert view.df([]).tolist() == []


def test_an_index_takes_a_few_hundred_bytes_a_memory() -> None:
    """The bound that the module states, on texts of 20 words from a vocabulary like a talk's."""
    rng = random.Random(1)
    known = [f"w{int(rng.paretovariate(0.9))}" for _ in range(100_000)]
    shelf = Shelf()
    for n in range(1, 3001):
        text = " ".join(rng.choice(known) for _ in range(20))
        shelf.put(1, MemoryText(n, 0, 0, n * _DAY // 50, f"s{n // 50}", rng.choice("AB"), text, n))
    view = WordIndex(get_kernel()).follow(shelf.spans(), shelf)
    assert view.nbytes / len(view) < 400
