"""Unit vectors and their int8 codes, and tags as a Bloom filter."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import mmh3
import numpy as np
from numpy.typing import ArrayLike, NDArray

from spector.errors import InvalidScopeError, InvalidVectorError
from spector.process import keeps
from spector.records import NAMESPACE_END

#: codes lie in -127..127; -128 is never written, so a code can always be negated
MAX_CODE: Final = 127
#: rows handled at once: keeps the temporaries inside the cache
_CHUNK: Final = 512
#: a norm below this has lost its direction to rounding
MIN_NORM: Final = 1e-20


def normalize(vectors: ArrayLike) -> NDArray[np.float32]:
    """Scale each row to length 1: (n, dim) float -> (n, dim) float32, C-contiguous.

    Norms are taken in float64, so values up to the float32 limit do not overflow, and a row's
    result does not depend on the other rows.

    Raises:
        InvalidVectorError: wrong shape, or a row with NaN, infinity or (nearly) no length; the
            message names the row.
    """
    rows = _matrix(vectors)
    out = np.empty(rows.shape, np.float32)
    for start in range(0, len(rows), _CHUNK):
        chunk = rows[start : start + _CHUNK].astype(np.float64)
        with np.errstate(over="ignore", invalid="ignore"):
            norms = np.sqrt(np.einsum("ij,ij->i", chunk, chunk))
        bad = np.flatnonzero(~(np.isfinite(norms) & (norms >= MIN_NORM)))
        if bad.size:
            _refuse(start + int(bad[0]), chunk[bad[0]])
        np.divide(chunk, norms[:, None], out=out[start : start + _CHUNK], casting="same_kind")
    return out


def quantize(vectors: ArrayLike) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """int8 codes and one scale per row, so that ``value ~ code * scale``.

    ``scale = max|x| / 127`` uses the whole range; rounding is half to even. The error of a
    component is at most scale / 2 (plus float32 rounding). A row of zeros gets scale 0.

    Args:
        vectors: (n, dim) finite floats, usually unit rows.

    Returns:
        codes (n, dim) int8 in -127..127 and scales (n,) float32.
    """
    rows = np.asarray(_matrix(vectors), np.float32)
    codes = np.empty(rows.shape, np.int8)
    scales = np.empty(len(rows), np.float32)
    limit = np.float32(MAX_CODE)
    for start in range(0, len(rows), _CHUNK):
        chunk = rows[start : start + _CHUNK]
        scale = np.maximum(chunk.max(axis=1), -chunk.min(axis=1)) / limit
        scales[start : start + _CHUNK] = scale
        steps = chunk / np.where(scale > 0, scale, np.float32(1))[:, None]
        np.rint(steps, out=steps)
        np.clip(steps, -limit, limit, out=steps)
        codes[start : start + _CHUNK] = steps
    return codes, scales


def _matrix(vectors: ArrayLike) -> NDArray[Any]:
    try:
        rows = np.asarray(vectors)
        if rows.dtype.kind not in "fiu":
            rows = rows.astype(np.float32)
    except (TypeError, ValueError):
        raise InvalidVectorError("vectors must be a rectangular array of numbers") from None
    if rows.ndim != 2 or rows.shape[1] == 0:
        raise InvalidVectorError(
            f"expected vectors of shape (n, dim), got {rows.shape}",
            hint="wrap a single vector as vector[None, :]",
        )
    return rows


def _refuse(row: int, values: NDArray[np.float64]) -> None:
    if not np.isfinite(values).all():
        at = int(np.flatnonzero(~np.isfinite(values))[0])
        raise InvalidVectorError(
            f"vector {row} holds {values[at]} at component {at}",
            hint="a failed embedding must raise, not return NaN",
        )
    raise InvalidVectorError(
        f"vector {row} has no direction: all components are (nearly) zero or its norm overflows",
        hint="pass vector=None for a memory without a vector",
    )


# Tags as a 64-bit Bloom filter: four bits a tag, OR-ed over the tags of a record.
#
# A record can pass for a tag it does not have (the read path verifies hits against the catalog);
# it can never fail for a tag it has.

BLOOM_HASHES: Final = 4
#: the first character of reserved tags; users' tags must not contain control characters
RESERVED: Final = "\1"
#: tags that name what this memory supersedes, and the tag of a superseded memory with its
#: earlier end of validity (``spector.store.catalog.queries``)
LINK: Final = "\1supersedes\1"
ENDED: Final = "\1ended\1"
_SCOPES: Final = ("user", "agent", "session")
#: labels of a namespace that have a tag each: more of them would fill the filter
_LEVELS: Final = 4


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


def scope_tag(kind: str, value: str) -> str:
    """The reserved tag that stands for a scope id in the Bloom filter.

    It starts with NUL, which users' tags must not contain, so the two can never be equal.
    """
    if kind not in _SCOPES:
        raise InvalidScopeError(f"no scope {kind!r}", hint=f"choose one of {', '.join(_SCOPES)}")
    return f"\0{kind}\0{value}"


@keeps(65_536)
def namespace_mask(namespace: str, *, below: bool = False) -> int:
    """The bits of a memory whose key is of a namespace, as it is stored.

    One reserved tag stands for each of the first levels, and one for the whole namespace; with
    ``below`` without the latter: these are bits of all that lies within.
    """
    ends = [n for n, each in enumerate(namespace, 1) if each == NAMESPACE_END]
    tags = [f"\0below\0{namespace[:end]}" for end in ends[:_LEVELS]]
    return tags_mask(tags if below else (*tags, f"\0namespace\0{namespace}"))


def record_mask(
    tags: Iterable[str],
    user_id: str | None,
    agent_id: str | None,
    session_id: str | None,
    namespace: str | None = None,
) -> int:
    """The Bloom filter of a memory: its tags, its scopes, and the namespace of its key, if any."""
    mask = tags_mask(tags)
    for kind, value in zip(_SCOPES, (user_id, agent_id, session_id), strict=True):
        if value is not None:
            mask |= tag_mask(scope_tag(kind, value))
    return mask if namespace is None else mask | namespace_mask(namespace)
