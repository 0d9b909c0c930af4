"""Pieces of what was forgotten, in arrays, against a dict of them.

Mechanism: a megabyte of text is 32,768 pieces, and each was three objects: forty bytes of memory
for each byte forgotten. Damage without it: who forgets a long history runs out of memory after the
erasure and before its receipt. Guard: the same answers as a dict has, and a bound on the peak.
"""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from spector import Memory
from spector.store.erasure import patterns as pieces
from spector.store.erasure import words as word_residue
from spector.store.erasure.patterns import Finder, Pieces, cut
from spector.store.erasure.search import Needles
from spector.store.erasure.words import words_left


@pytest.mark.parametrize("letters", [1, 2, 3, 256])
def test_kinds_and_owners_are_those_of_a_dict(letters: int) -> None:
    """Zeros inside and at the end, which numpy leaves off a string, are bytes like others."""
    rng = np.random.default_rng(letters)
    held, kinds, owners = Pieces(), dict[bytes, str](), dict[bytes, list[int]]()
    for n in range(600):
        size = int(rng.choice([6, 31, 32, 32, 32]))
        piece = rng.integers(0, letters, size, dtype=np.uint8).tobytes()
        piece = piece[: int(rng.integers(0, size))].ljust(size, b"\0")
        kind = ("text", "tags", "vector")[n % 3]
        owner = None if n % 5 == 0 else n // 4
        held.add(piece, kind, owner)
        kinds.setdefault(piece, kind)
        if owner is not None:
            owners.setdefault(piece, []).append(owner)
    assert len(held) == len(kinds)
    assert {piece: held.kind(piece) for piece in kinds} == kinds
    found = {piece: set(held.owners(piece)) for piece in kinds}
    assert found == {piece: set(owners.get(piece, ())) for piece in kinds}
    data = b"\1".join(kinds)
    naive = {
        (piece, at) for piece in kinds for at in range(len(data)) if data.startswith(piece, at)
    }
    for finder in (held.finder(), Finder(kinds)):
        assert set(finder.search([(0, data)])) == naive


def test_what_is_found_is_not_found_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also when it is at hand already: places are compared many at once."""
    monkeypatch.setattr(pieces, "_PLACES_AT_ONCE", 3)
    whole = [bytes([n]) * 31 + b"x" for n in range(9)]
    finder = Finder(whole)
    assert not finder.done
    for _ in range(2):
        seen = []
        for piece, _ in finder.search([(0, b"".join(whole) * 3), (900, whole[4])]):
            seen.append(piece)
            finder.found((piece, b"y" * 32, b"another"))
        assert sorted(seen) == sorted(whole)
        assert finder.done
        finder.begin()


def test_two_that_hash_alike_are_two(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces, "_ODD", (np.uint32(0),) * 4)
    whole = [bytes([n]) * 32 for n in range(1, 7)] + [b"seven77", b"x" * 40]
    data = b"".join(whole[1:])
    assert {piece for piece, _ in Finder(whole).search([(0, data)])} == set(whole[1:])


@pytest.mark.slow
def test_a_long_history_takes_a_few_times_its_bytes() -> None:
    texts = [
        "".join(map(chr, row))
        for row in np.random.default_rng(3).integers(97, 123, (40, 100_000)).tolist()
    ]
    tracemalloc.start()
    try:
        needles = Needles()
        for n, text in enumerate(texts):
            needles.add("text", text.encode(), n)
        finder = needles.pieces.finder()
        assert [p for p, _ in finder.search([(0, texts[7][:40].encode())])] == [
            next(cut(texts[7].encode()))
        ]
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(needles.pieces) == 40 * 3125
    assert peak < 8 * sum(map(len, texts)), f"{peak / sum(map(len, texts)):.1f} bytes per byte"


def test_a_word_with_the_hash_of_another_is_not_that_other(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Words are compared by hashes first, which must neither add one nor leave one out."""
    memory.remember("an aardvark and a bandicoot")
    catalog = memory._parts.store.catalog
    texts = ["the aardvark", "capybaras, dugongs"]
    plain = words_left(catalog, texts)
    gone = memory.remember("a dugong that is forgotten").id
    memory.forget(gone)
    left = words_left(catalog, texts)
    monkeypatch.setattr(word_residue, "hash", lambda _: 7, raising=False)
    assert words_left(catalog, texts) == left
    assert (plain.wanted, plain.left) == (4, 0)
    assert left == (4, 1)
    assert words_left(catalog, []) == (0, 0)
