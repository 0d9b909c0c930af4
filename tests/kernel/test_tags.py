"""Mechanism: tags as four bits each of a 64-bit Bloom filter.

Damage: a false negative hides a memory from the user who tagged it.
Guard: containment holds for every subset of a record's tags, whatever the tags are.
"""

from __future__ import annotations

import mmh3
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spector.errors import InvalidScopeError
from spector.kernel.contract.tags import BLOOM_BITS, BLOOM_HASHES, scope_tag, tag_mask, tags_mask

TAGS = st.text(max_size=40)


@settings(max_examples=300, deadline=None)
@given(st.sets(TAGS, max_size=30), st.randoms(use_true_random=False))
def test_no_false_negative(tags: set[str], random: object) -> None:
    mask = tags_mask(tags)
    some = sorted(tags)[:: random.randint(1, 3)]  # type: ignore[attr-defined]
    assert mask & tags_mask(some) == tags_mask(some)


@given(TAGS)
@settings(max_examples=300, deadline=None)
def test_a_tag_has_exactly_four_bits_in_64(tag: str) -> None:
    assert tag_mask(tag).bit_count() == BLOOM_HASHES
    assert 0 <= tag_mask(tag) < 1 << BLOOM_BITS


def test_bits_are_those_of_the_format_page() -> None:
    """Independent of the module's own arithmetic: the bits on disk must never change."""
    number = int.from_bytes(mmh3.mmh3_x64_128_digest(b"coffee", 0), "little")
    bits = f"{number:0128b}"[::-1]
    slices = [int(bits[at : at + 6][::-1], 2) for at in range(0, 126, 6)]
    want = list(dict.fromkeys(slices))[:4]
    assert tag_mask("coffee") == sum(1 << bit for bit in want)
    assert tag_mask("coffee") == 0x0001_0020_0210_0000


def test_scope_tags_differ_by_kind_and_from_every_user_tag() -> None:
    scopes = {scope_tag("user", "ann"), scope_tag("agent", "ann"), scope_tag("session", "ann")}
    assert len(scopes) == 3
    assert all(tag.startswith("\0") for tag in scopes)
    assert scope_tag("user", "a\0agent") != scope_tag("agent", "a")


def test_unknown_scope_is_refused() -> None:
    with pytest.raises(InvalidScopeError, match="no scope 'team'"):
        scope_tag("team", "ann")  # type: ignore[arg-type]
