"""Tags as a 64-bit Bloom filter: four bits a tag, OR-ed over the tags of a record.

A record can pass for a tag it does not have (the read path verifies hits against the catalog);
it can never fail for a tag it has.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Final, Literal

import mmh3

from spector.errors import InvalidScopeError

__all__ = ["BLOOM_BITS", "BLOOM_HASHES", "scope_tag", "tag_mask", "tags_mask"]

BLOOM_BITS: Final = 64
BLOOM_HASHES: Final = 4
_SCOPES: Final = ("user", "agent", "session")


@lru_cache(maxsize=65_536)
def tag_mask(tag: str) -> int:
    """The four bits of one tag as an unsigned 64-bit integer.

    Double hashing: bit i is ``(h1 + i * h2) mod 64`` with h1 and h2 the halves of
    MurmurHash3_x64_128 (seed 0) of the UTF-8 bytes. h2 is made odd, so the bits are distinct.
    """
    low, high = mmh3.hash64(tag.encode("utf-8", "surrogatepass"), 0, True, False)
    step = high | 1
    mask = 0
    for i in range(BLOOM_HASHES):
        mask |= 1 << ((low + i * step) % BLOOM_BITS)
    return mask


def tags_mask(tags: Iterable[str]) -> int:
    """OR of the masks of all tags; 0 for none."""
    mask = 0
    for tag in tags:
        mask |= tag_mask(tag)
    return mask


def scope_tag(kind: Literal["user", "agent", "session"], value: str) -> str:
    """The reserved tag under which a scope id rides in the Bloom filter.

    It starts with NUL, which no user's tag may contain, so the two can never be equal.
    """
    if kind not in _SCOPES:
        raise InvalidScopeError(f"no scope {kind!r}", hint=f"choose one of {', '.join(_SCOPES)}")
    return f"\0{kind}\0{value}"
