"""The scan index in plain NumPy: the definition that C and Numba are tested against.

Vectors are compared relative to a centre and after a rotation that spreads every vector over all
coordinates: with o a record's dequantised vector, q the cue's, c the centre and P the rotation,
x = P(o) - P(c) and y = P(q) - P(c), so that <o, q> = <x, y> + <o, c> + <q, c> - <c, c>.

Of x only the signs b_i of d coordinates are kept and three numbers: A = <o, c>, the slope
B = |x|^2 / S with S = sum |x_i| over the d, and the error E. Then B * sum b_i y_i estimates
<x, y> without bias, with a standard error of E |y|, where E = |x| sqrt(1/f^2 - 1) / sqrt(D - 1)
and f = S / (sqrt(d) |x|) is the cosine of x and b (RaBitQ; Gao and Long, SIGMOD 2024).

The sketch has the signs of the first 224 coordinates, A and B in 12 bits each, and the importance
in 8, rounded up, so that one look at it bounds the sum of both terms of a score; for E, the largest
of a block of 512 has to do. The fine code has the other signs and A, B, E over all coordinates.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from spector._types import F32
from spector.kernel.contract import (
    BLOCK_ROWS,
    NO_IMPORTANCE,
    NO_SLOPE,
    SKETCH_BITS,
    SLOPE_SCALE,
    WIDE,
    WIDE_SLOPE_SCALE,
    Sections,
    sections_of,
    squared,
    write_header,
)
from spector.layout import HEADER_BYTES, RECORD_DTYPE

ROUNDS: Final = 4
LANES: Final = 16
A_SCALE: Final = 2.0**10
#: of an importance; 254 stands for 1
IMPORTANCE_SCALE: Final = np.float32(254)
#: sketches have no A of this magnitude or more
A_LIMIT: Final = 2.0
#: values beyond count as not finite
LARGEST: Final = 3.4e38
_CHUNK: Final = 4096


def slope_scale(rotated: int) -> float:
    """The factor of a slope in a sketch of an index of D coordinates."""
    return WIDE_SLOPE_SCALE if rotated > WIDE else SLOPE_SCALE


_MIN = frozenset({"event_min", "importance_min", "valence_min", "confidence_min"})
_OR = frozenset({"tags_or", "categories", "modalities", "tiers", "flags_or"})
_CODES = (("categories", "category"), ("modalities", "modality"), ("tiers", "tier"))
_OF_VECTORS = frozenset({"norm_max", "sketch_error_max", "sketch_slope_max"})


def mix(rounds: int, counter: int) -> int:
    """64 pseudo-random bits (splitmix64) that do not depend on anything but these two numbers."""
    mask = (1 << 64) - 1
    z = ((0x5EC70 + rounds) * 0x9E3779B97F4A7C15 + counter * 0xD1B54A32D192ED03) & mask
    z = ((z ^ z >> 30) * 0xBF58476D1CE4E5B9) & mask
    z = ((z ^ z >> 27) * 0x94D049BB133111EB) & mask
    return z ^ z >> 31


@lru_cache(maxsize=64)
def sign_flips(rotated: int) -> F32:
    """Signs of the rotation's rounds: (4, D) float32 of +1 and -1, read-only."""
    words = [[mix(r, k) for k in range(rotated // 64)] for r in range(ROUNDS)]
    bits = np.unpackbits(np.array(words, "<u8").view(np.uint8), axis=1, bitorder="little")
    flips = np.where(bits, np.float32(-1), np.float32(1))
    flips.flags.writeable = False
    return flips


def rotate(x: F32) -> F32:
    """An isometry of D coordinates, D a multiple of 64: (n, D) float32 -> (n, D) float32.

    Four rounds over rows of 16 lanes: flip signs; transform a power of two of rows, the first ones
    and then the last ones, by Walsh and Hadamard (each lane alone); transpose.
    """
    n, dim = x.shape
    rows = dim // LANES
    width = 1 << (rows.bit_length() - 1)
    for flips in sign_flips(dim):
        cube = (x * flips).reshape(n, rows, LANES)
        for first in sorted({0, rows - width}):
            _hadamard(cube[:, first : first + width])
        x = cube.transpose(0, 2, 1).reshape(n, dim)
    return x


def _hadamard(window: F32) -> None:
    """Walsh-Hadamard transform over axis 1 of (n, w, lanes), in place, scaled to keep lengths."""
    n, width, lanes = window.shape
    turned, half = window, 1
    while half < width:
        pairs = turned.reshape(n, width // (2 * half), 2, half, lanes)
        upper, lower = pairs[:, :, 0], pairs[:, :, 1]
        turned = np.stack([upper + lower, upper - lower], axis=2).reshape(n, width, lanes)
        half *= 2
    window[:] = turned * np.float32(1 / np.sqrt(width))


def factors(x: F32, bits: int) -> tuple[F32, F32]:
    """Slope B and error E of the estimate from the signs of the first ``bits`` coordinates.

    (n, D) float32 -> two (n,) float32; 0 where x is, not finite where x is not.
    """
    dim = x.shape[1]
    wide = x.astype(np.float64)
    norm2 = np.einsum("ij,ij->i", wide, wide)
    slope = np.where(norm2 == 0, 0, norm2 / np.abs(wide[:, :bits]).sum(axis=1))
    error2 = (bits * slope**2 - norm2) / (dim - 1)
    return slope.astype(np.float32), np.sqrt(np.maximum(error2, 0)).astype(np.float32)


class NumpyIndex:
    """The index operations of a kernel, see `spector.kernel.contract.scanner.Kernel`."""

    indexes = False

    def index_init(self, image: NDArray[np.uint8], dim: int, room: int, centre: F32 | None) -> None:
        image[:] = 0
        write_header(image, dim, room)
        if centre is not None:
            sections = sections_of(image)
            padded = np.zeros((1, len(sections.centre)), np.float32)
            padded[0, :dim] = centre
            sections.centre[:] = rotate(padded)[0]
            sections.header["centre_norm2"] = squared(sections.centre)
            sections.header["centre_id"] = _hash(sections.centre.tobytes())

    def index_append(self, image: NDArray[np.uint8], records: NDArray[np.uint8], n: int) -> None:
        sections = sections_of(image)
        first = int(sections.header["rows"])
        for start in range(first, first + n, _CHUNK):
            stop = min(start + _CHUNK, first + n)
            _append(sections, records[start:stop], start)
        sections.header["rows"] = first + n

    def index_update(
        self, image: NDArray[np.uint8], records: NDArray[np.uint8], slots: NDArray[np.uint32]
    ) -> None:
        sections = sections_of(image)
        headers = _headers(records[slots])
        word, bit = slots >> 6, np.uint64(1) << (slots & 63).astype(np.uint64)
        for f, flags in enumerate(sections.flags):
            is_set = headers["flags"] >> f & 1 == 1
            np.bitwise_and.at(flags, word, ~bit)
            np.bitwise_or.at(flags, word[is_set], bit[is_set])
        _write_mutable(sections, headers, slots)
        measured = _measures(headers)
        if len(slots):
            widen(sections.whole, measured)
        for block in np.unique(slots // BLOCK_ROWS).tolist():
            mine = slots // BLOCK_ROWS == block
            widen(sections.blocks[block : block + 1], {k: v[mine] for k, v in measured.items()})

    def index_refresh(self, image: NDArray[np.uint8], records: NDArray[np.uint8]) -> None:
        sections = sections_of(image)
        rows = int(sections.header["rows"])
        headers = _headers(records[:rows])
        _write_bits(sections.flags, 0, headers["flags"])
        _write_mutable(sections, headers, slice(0, rows))
        measured = _measures(headers)
        if rows:
            _tighten(sections.whole, measured)
        for first in range(0, rows, BLOCK_ROWS):
            block = sections.blocks[first // BLOCK_ROWS : first // BLOCK_ROWS + 1]
            _tighten(block, {k: v[first : first + BLOCK_ROWS] for k, v in measured.items()})


def _hash(data: bytes) -> int:
    """FNV-1a, never 0."""
    value = 0xCBF29CE484222325
    for byte in data:
        value = ((value ^ byte) * 0x100000001B3) & ((1 << 64) - 1)
    return value or 1


def widen(block: NDArray[Any], values: dict[str, NDArray[Any]], fresh: bool = False) -> None:
    """Take values of rows, (n,) each with n > 0, into a block (1,) of extremes by their names."""
    for name, value in values.items():
        if name in _OR:
            block[name] |= np.bitwise_or.reduce(value)
        else:
            pick: Any = np.minimum if name in _MIN else np.maximum
            found = pick.reduce(value)
            block[name] = found if fresh else pick(block[name], found)


def _tighten(block: NDArray[Any], values: dict[str, NDArray[Any]]) -> None:
    """Extremes of just these rows, whose vectors are those that the block has taken already."""
    kept = {name: block[name].copy() for name in _OF_VECTORS}
    block[:] = 0
    widen(block, values, True)
    for name, value in kept.items():
        block[name] = value


def _append(s: Sections, records: NDArray[np.uint8], first: int) -> None:
    headers, stop = _headers(records), first + len(records)
    _write_bits(s.flags, first, headers["flags"])
    _write_bits(s.tags, first, headers["tags"])
    s.columns["confidence"][first:stop] = headers["confidence"]
    s.columns["event_ms"][first:stop] = headers["event_ms"]
    _write_mutable(s, headers, slice(first, stop))
    measured = {**_measures(headers), **_sketch(s, records, headers, first)}
    widen(s.whole, measured, first == 0)
    start = first
    while start < stop:
        end = min(stop, start // BLOCK_ROWS * BLOCK_ROWS + BLOCK_ROWS)
        block = s.blocks[start // BLOCK_ROWS : start // BLOCK_ROWS + 1]
        mine = {name: value[start - first : end - first] for name, value in measured.items()}
        widen(block, mine, start % BLOCK_ROWS == 0)
        start = end


def _sketch(
    s: Sections, records: NDArray[np.uint8], headers: NDArray[Any], first: int
) -> dict[str, F32]:
    """Codes and factors of the records' vectors; returns their extremes for the blocks."""
    dim, stop = len(s.centre), first + len(records)
    used = int(s.header["dim"])  # the padding is 0 in the cue
    bits = min(dim, SKETCH_BITS)
    with np.errstate(all="ignore"):
        vectors = np.zeros((len(records), dim), np.float32)
        vectors[:, :used] = records[:, HEADER_BYTES : HEADER_BYTES + used].view(np.int8)
        vectors[:, :used] *= headers["scale"][:, None]
        turned = rotate(vectors)
        x = turned - s.centre
        norm2 = np.einsum("ij,ij->i", turned, turned, dtype=np.float64)
        a = np.einsum("ij,j->i", turned, s.centre, dtype=np.float64)
        slope, error = factors(x, bits)
        rounded = np.rint(slope * np.float32(slope_scale(dim)))
        sound = (np.abs(a) < A_LIMIT) & (norm2 <= LARGEST) & (error <= LARGEST)
        sound &= rounded < NO_SLOPE
        signs = np.packbits(x >= 0, axis=1, bitorder="little")
        sketch = s.sketch[first:stop]
        sketch["signs"] = 0
        sketch["signs"][:, : bits // 8] = signs[:, : bits // 8]
        # a clamped NaN would be an undefined integer
        low = np.rint(np.clip(np.where(sound, a, 0) * A_SCALE, -2048, 2047)).astype(np.int32)
        high = np.where(sound, rounded, NO_SLOPE).astype(np.int32)
        packed = (low & 0xFFF | high << 12).astype("<u4")
        sketch["factors"] = packed[:, None].view(np.uint8)[:, :3]
        if s.fine.shape[1]:
            fine = s.fine[first:stop]
            fine[:] = 0
            fine[:, : (dim - bits) // 8] = signs[:, bits // 8 :]
            tail = np.column_stack([a, *factors(x, dim)]).astype("<f4")
            fine[:, -12:] = tail.view(np.uint8)
    norm = np.sqrt(norm2).astype(np.float32)
    return {
        "norm_max": _upper(norm),
        "sketch_error_max": np.where(sound, error, np.float32(0)),
        "sketch_slope_max": np.where(sound, slope, np.float32(0)),
    }


def _measures(headers: NDArray[Any]) -> dict[str, NDArray[Any]]:
    """Extremes of the headers for the blocks; NaN bounds nothing."""
    used_ms = headers["last_access_s"].astype(np.int64) * 1000
    used_ms = np.where(headers["last_access_s"] == 0, headers["event_ms"], used_ms)
    importance = headers["importance"]
    codes = {
        name: np.uint32(1) << np.minimum(headers[field], 31).astype(np.uint32)
        for name, field in _CODES
    }
    return {
        "event_min": headers["event_ms"],
        "event_max": headers["event_ms"],
        "used_max": used_ms,
        "tags_or": headers["tags"],
        "importance_max": _upper(importance),
        "importance_min": np.where(np.isnan(importance), np.float32(-np.inf), importance),
        "stability_max": _upper(headers["stability_days"]),
        "utility_max": _upper(headers["utility"]),
        "uses_max": headers["access_count"],
        **codes,
        "flags_or": headers["flags"],
        "valence_min": headers["valence"],
        "valence_max": headers["valence"],
        "confidence_max": headers["confidence"],
        "confidence_min": headers["confidence"],
        "arousal_max": headers["arousal"],
    }


def _upper(values: F32) -> F32:
    return np.where(np.isnan(values), np.float32(np.inf), values)


def _write_mutable(s: Sections, headers: NDArray[Any], at: Any) -> None:
    s.columns["valence"][at] = headers["valence"]
    s.columns["uses"][at] = np.minimum(headers["access_count"], 0xFFFF)
    for name in ("importance", "last_access_s", "stability_days"):
        s.columns[name][at] = headers[name]
    with np.errstate(all="ignore"):
        rounded = np.ceil(headers["importance"] * IMPORTANCE_SCALE)
        known = rounded < NO_IMPORTANCE  # NaN, and more than 1, are not
        s.sketch["importance"][at] = np.where(known, np.maximum(rounded, 0), NO_IMPORTANCE)


def _write_bits(slices: NDArray[np.uint64], first: int, values: NDArray[Any]) -> None:
    """Bit i of each value (n,) into slice i of (slices, words), from slot ``first`` on."""
    low, high = first // 64, -(-(first + len(values)) // 64)
    words = np.ascontiguousarray(slices[:, low:high])
    bits = np.unpackbits(words.view(np.uint8), axis=1, bitorder="little")
    shifts = np.arange(len(slices), dtype=values.dtype)[:, None]
    place = slice(first - low * 64, first - low * 64 + len(values))
    bits[:, place] = values >> shifts & values.dtype.type(1)
    slices[:, low:high] = np.packbits(bits, axis=1, bitorder="little").view("<u8")


def _headers(records: NDArray[np.uint8]) -> NDArray[Any]:
    return np.ascontiguousarray(records[:, :HEADER_BYTES]).view(RECORD_DTYPE)[:, 0]
