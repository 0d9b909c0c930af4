"""Tags as a 64-bit Bloom filter: four bits a tag, OR-ed over the tags of a record.

A record can pass for a tag it does not have (the read path verifies hits against the catalog);
it can never fail for a tag it has.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Literal

import mmh3

from spector.errors import InvalidScopeError
from spector.process import keeps

__all__ = [
    "BLOOM_BITS",
    "BLOOM_HASHES",
    "ENDED",
    "LINK",
    "RESERVED",
    "scope_tag",
    "tag_mask",
    "tags_mask",
]

BLOOM_BITS: Final = 64
BLOOM_HASHES: Final = 4
#: the first character of reserved tags; users' tags must not contain control characters
RESERVED: Final = "\1"
#: tags that name what this memory supersedes, and the tag of a superseded memory with its
#: earlier end of validity (``spector.store.catalog.queries.supersession``)
LINK: Final = "\1supersedes\1"
ENDED: Final = "\1ended\1"
_SCOPES: Final = ("user", "agent", "session")


@keeps(65_536)
def tag_mask(tag: str) -> int:
    """The four bits of one tag as an unsigned 64-bit integer.

    The first four different ones of the 6-bit slices of MurmurHash3_x64_128 (seed 0) of the UTF-8
    bytes, from the least significant on. A tag can have any four of the 64 bits.
    """
    low, high = mmh3.hash64(tag.encode("utf-8", "surrogatepass"), 0, True, False)
    mask = 0
    slices = low | high << 64
    for at in range(0, 126, 6):
        mask |= 1 << (slices >> at & 63)
        if mask.bit_count() == BLOOM_HASHES:
            return mask
    while mask.bit_count() < BLOOM_HASHES:  # one tag in 10^16 has 21 slices of three values
        mask |= mask + 1  # the lowest bit that is not set
    return mask


def tags_mask(tags: Iterable[str]) -> int:
    """OR of the masks of all tags; 0 for none. Reserved tags have no bits; no cue has them."""
    mask = 0
    for tag in tags:
        if not tag.startswith(RESERVED):
            mask |= tag_mask(tag)
    return mask


def scope_tag(kind: Literal["user", "agent", "session"], value: str) -> str:
    """The reserved tag that stands for a scope id in the Bloom filter.

    It starts with NUL, which users' tags must not contain, so the two can never be equal.
    """
    if kind not in _SCOPES:
        raise InvalidScopeError(f"no scope {kind!r}", hint=f"choose one of {', '.join(_SCOPES)}")
    return f"\0{kind}\0{value}"
