"""Filling a scan index, compiled by Numba: the twin of native/index.c.

`spector.kernel.reference.index` defines what is computed here. Rotated coordinates and signs have
its bits; the factors of an estimate are sums in another order and agree to rounding.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numba import carray
from numpy.typing import NDArray

from spector.kernel.contract import (
    BLOCK_DTYPE,
    BLOCK_ROWS,
    INDEX_DTYPE,
    INDEX_HEADER_BYTES,
    NO_IMPORTANCE,
    NO_SLOPE,
    SKETCH_BITS,
    SLOPE_SCALE,
    WIDE,
    WIDE_SLOPE_SCALE,
    image_layout,
)
from spector.kernel.jit.compile import array_at, compiled, inner, inner_sum, pointer
from spector.kernel.reference import (
    A_LIMIT,
    A_SCALE,
    IMPORTANCE_SCALE,
    LARGEST,
    NumpyIndex,
    sign_flips,
)
from spector.layout import HEADER_BYTES, RECORD_DTYPE

__all__ = ["NumbaIndex", "rotate_one"]

_LANES: Final = 16
_INF: Final = np.float32(np.inf)
_ZERO: Final = np.float32(0)
_I64_MIN: Final = -(1 << 63)
_I64_MAX: Final = (1 << 63) - 1


class NumbaIndex(NumpyIndex):
    """The index operations that are worth compiling."""

    indexes = True

    def index_append(self, image: NDArray[np.uint8], records: NDArray[np.uint8], n: int) -> None:
        header = image[:INDEX_HEADER_BYTES].view(INDEX_DTYPE)
        dim, first = int(header["dim"][0]), int(header["rows"][0])
        layout = image_layout(dim, int(header["room"][0]))
        _append(image, layout, dim, records, first, n, sign_flips(layout.rotated))
        # last, and not by the compiled code, which may reorder its stores
        header["rows"] = first + n

    def index_update(
        self, image: NDArray[np.uint8], records: NDArray[np.uint8], slots: NDArray[np.uint32]
    ) -> None:
        header = image[:INDEX_HEADER_BYTES].view(INDEX_DTYPE)
        layout = image_layout(int(header["dim"][0]), int(header["room"][0]))
        _update(image, layout, records, slots)

    def index_refresh(self, image: NDArray[np.uint8], records: NDArray[np.uint8]) -> None:
        header = image[:INDEX_HEADER_BYTES].view(INDEX_DTYPE)
        layout = image_layout(int(header["dim"][0]), int(header["room"][0]))
        _refresh(image, layout, records, int(header["rows"][0]))


@inner
def _record(records, slot):  # type: ignore[no-untyped-def]
    address = np.uint64(records.ctypes.data) + np.uint64(slot * records.shape[1])
    return carray(pointer(address), (1,), RECORD_DTYPE)[0]


@inner
def _block(image, layout, slot):  # type: ignore[no-untyped-def]
    at = layout.blocks_at + slot // BLOCK_ROWS * 128
    return carray(pointer(np.uint64(image.ctypes.data) + np.uint64(at)), (1,), BLOCK_DTYPE)[0]


@inner
def _whole(image, layout):  # type: ignore[no-untyped-def]
    at = np.uint64(layout.whole_at)
    return carray(pointer(np.uint64(image.ctypes.data) + at), (1,), BLOCK_DTYPE)[0]


@compiled
def _append(image, layout, dim, records, first, n, flips):  # type: ignore[no-untyped-def]
    words = layout.words
    flags = image[layout.flags_at : layout.tags_at].view(np.uint64)
    tags = image[layout.tags_at : layout.valence_at].view(np.uint64)
    confidence = image[layout.confidence_at : layout.uses_at]
    event_ms = image[layout.event_ms_at : layout.sketch_at].view(np.int64)
    x = np.empty(layout.rotated, np.float32)
    spare = np.empty(layout.rotated, np.float32)
    for slot in range(first, first + n):
        r = _record(records, slot)
        if slot == 0:
            _clear(_whole(image, layout))
        if slot % BLOCK_ROWS == 0:
            _clear(_block(image, layout, slot))
        _set_bits(flags, words, slot, np.uint64(r.flags))
        _set_bits(tags, words, slot, r.tags)
        confidence[slot] = r.confidence
        event_ms[slot] = r.event_ms
        _write_mutable(image, layout, slot, r)
        _widen(_whole(image, layout), r)
        _widen(_block(image, layout, slot), r)
        codes = records[slot, HEADER_BYTES:].view(np.int8)
        x[dim:] = _ZERO
        for i in range(dim):
            x[i] = np.float32(codes[i]) * r.scale
        rotate_one(x, spare, flips)
        _sketch(image, layout, slot, x)
        _widen_codes(_whole(image, layout), _block(image, layout, slot))


@compiled
def _update(image, layout, records, slots):  # type: ignore[no-untyped-def]
    flags = image[layout.flags_at : layout.tags_at].view(np.uint64)
    for i in range(len(slots)):
        slot = np.int64(slots[i])
        r = _record(records, slot)
        bit = np.uint64(1) << np.uint64(slot & 63)
        for f in range(16):
            at = f * layout.words + (slot >> 6)
            if (r.flags >> f) & 1:
                flags[at] |= bit
            else:
                flags[at] &= ~bit
        _write_mutable(image, layout, slot, r)
        _widen(_whole(image, layout), r)
        _widen(_block(image, layout, slot), r)


@compiled
def _refresh(image, layout, records, rows):  # type: ignore[no-untyped-def]
    flags = image[layout.flags_at : layout.tags_at].view(np.uint64)
    word = np.zeros(16, np.uint64)
    start, count = np.uint64(image.ctypes.data), (rows + BLOCK_ROWS - 1) // BLOCK_ROWS
    blocks = array_at(start + np.uint64(layout.blocks_at), count, BLOCK_DTYPE)
    whole = array_at(start + np.uint64(layout.whole_at), 1, BLOCK_DTYPE)
    # made aside: a concurrent reader must not take a block for empty
    fresh = np.empty(2, BLOCK_DTYPE)
    fresh[0] = whole[0]
    _clear_header(fresh[0])
    for slot in range(rows):
        r = _record(records, slot)
        if slot % BLOCK_ROWS == 0:
            fresh[1] = blocks[slot // BLOCK_ROWS]
            _clear_header(fresh[1])
        _write_mutable(image, layout, slot, r)
        _widen(fresh[0], r)
        _widen(fresh[1], r)
        left = np.uint64(r.flags)
        while left != np.uint64(0):
            lowest = left & (~left + np.uint64(1))
            word[_bit_number(lowest)] |= np.uint64(1) << np.uint64(slot & 63)
            left ^= lowest
        if slot % 64 == 63 or slot == rows - 1:
            for f in range(16):
                flags[f * layout.words + (slot >> 6)] = word[f]
                word[f] = 0
        if slot % BLOCK_ROWS == BLOCK_ROWS - 1 or slot == rows - 1:
            blocks[slot // BLOCK_ROWS] = fresh[1]
    if rows:
        whole[0] = fresh[0]


@inner
def _set_bits(slices, words, slot, value):  # type: ignore[no-untyped-def]
    """Bit i of the value into slice i, where it is 0 so far."""
    bit = np.uint64(1) << np.uint64(slot & 63)
    while value != np.uint64(0):
        lowest = value & (~value + np.uint64(1))
        slices[_bit_number(lowest) * words + (slot >> 6)] |= bit
        value ^= lowest


@inner
def _bit_number(power):  # type: ignore[no-untyped-def]
    """Which bit it is that is set in a power of two: its exponent as a float."""
    return (np.float64(power).view(np.int64) >> 52) - 1023


@inner
def _write_mutable(image, layout, slot, r):  # type: ignore[no-untyped-def]
    image[layout.valence_at : layout.confidence_at].view(np.int8)[slot] = r.valence
    uses = image[layout.uses_at : layout.importance_at].view(np.uint16)
    uses[slot] = np.uint16(min(r.access_count, np.uint32(0xFFFF)))
    image[layout.importance_at : layout.last_access_s_at].view(np.float32)[slot] = r.importance
    last = image[layout.last_access_s_at : layout.stability_days_at].view(np.uint32)
    last[slot] = r.last_access_s
    stability = image[layout.stability_days_at : layout.event_ms_at].view(np.float32)
    stability[slot] = r.stability_days
    rounded = np.ceil(r.importance * IMPORTANCE_SCALE)
    known = rounded < NO_IMPORTANCE  # NaN, and more than 1, are not
    code = np.uint8(max(rounded, _ZERO)) if known else np.uint8(NO_IMPORTANCE)
    at = layout.sketch_at + slot * 32 + 31
    if image[at] != code:  # a page that is not written to stays the file's
        image[at] = code


@inner
def _clear(b):  # type: ignore[no-untyped-def]
    """Extremes of no rows."""
    b.event_min, b.event_max, b.used_max = _I64_MAX, _I64_MIN, _I64_MIN
    b.tags_or = np.uint64(0)
    b.importance_max, b.importance_min = -_INF, _INF
    b.stability_max, b.utility_max, b.norm_max = -_INF, -_INF, -_INF
    b.sketch_error_max, b.sketch_slope_max = _ZERO, _ZERO
    b.uses_max, b.categories, b.modalities, b.tiers, b.flags_or = 0, 0, 0, 0, 0
    b.valence_min, b.valence_max = 127, -128
    b.confidence_max, b.confidence_min, b.arousal_max = 0, 255, 0


@inner
def _clear_header(b):  # type: ignore[no-untyped-def]
    """Extremes of no rows, but keep those of the vectors, which do not change."""
    norm, error, slope = b.norm_max, b.sketch_error_max, b.sketch_slope_max
    _clear(b)
    b.norm_max, b.sketch_error_max, b.sketch_slope_max = norm, error, slope


@inner
def _widen_codes(b, one):  # type: ignore[no-untyped-def]
    """Widen by the extremes of another block's vectors."""
    b.norm_max = max(b.norm_max, one.norm_max)
    b.sketch_error_max = max(b.sketch_error_max, one.sketch_error_max)
    b.sketch_slope_max = max(b.sketch_slope_max, one.sketch_slope_max)


@inner
def _widen(b, r):  # type: ignore[no-untyped-def]
    """Take a header into the extremes; NaN bounds nothing."""
    used_ms = r.event_ms if r.last_access_s == 0 else np.int64(r.last_access_s) * 1000
    b.event_min = min(b.event_min, r.event_ms)
    b.event_max = max(b.event_max, r.event_ms)
    b.used_max = max(b.used_max, used_ms)
    b.tags_or |= r.tags
    b.importance_max = _upper(b.importance_max, r.importance)
    b.importance_min = -_upper(-b.importance_min, -r.importance)
    b.stability_max = _upper(b.stability_max, r.stability_days)
    b.utility_max = _upper(b.utility_max, r.utility)
    b.uses_max = max(b.uses_max, r.access_count)
    b.categories |= np.uint32(1) << np.uint32(min(r.category, 31))
    b.modalities |= np.uint32(1) << np.uint32(min(r.modality, 31))
    b.tiers |= np.uint32(1) << np.uint32(min(r.tier, 31))
    b.flags_or |= r.flags
    b.valence_min = min(b.valence_min, r.valence)
    b.valence_max = max(b.valence_max, r.valence)
    b.confidence_max = max(b.confidence_max, r.confidence)
    b.confidence_min = min(b.confidence_min, r.confidence)
    b.arousal_max = max(b.arousal_max, r.arousal)


@inner
def _upper(bound, value):  # type: ignore[no-untyped-def]
    if np.isnan(value):
        return _INF
    return value if value > bound else bound


@inner
def rotate_one(x, spare, flips):  # type: ignore[no-untyped-def]
    """`rotate` of the reference for one vector (D,) in place; ``spare`` is (D,) as well."""
    rows = len(x) // _LANES
    width = 1
    while 2 * width <= rows:
        width *= 2
    shrink = np.float32(1 / np.sqrt(np.float64(width)))
    span = width * _LANES
    for r in range(4):
        for i in range(len(x)):
            x[i] *= flips[r, i]
        _hadamard(x[:span], shrink)
        if span < len(x):
            _hadamard(x[len(x) - span :], shrink)
        for row in range(rows):
            for lane in range(_LANES):
                spare[lane * rows + row] = x[row * _LANES + lane]
        x[:] = spare


@inner
def _hadamard(x, shrink):  # type: ignore[no-untyped-def]
    half = _LANES
    while half < len(x):
        for pair in range(0, len(x), 2 * half):
            upper, lower = x[pair : pair + half], x[pair + half : pair + 2 * half]
            for i in range(half):
                u, v = upper[i], lower[i]
                upper[i] = u + v
                lower[i] = u - v
        half *= 2
    for i in range(len(x)):
        x[i] *= shrink


@inner_sum
def _sums(x, centre, bits):  # type: ignore[no-untyped-def]
    """Squared lengths of x + centre and of x, their product with the centre, and sums of |x_i|."""
    norm2, x2, a, head, rest = _ZERO, _ZERO, _ZERO, _ZERO, _ZERO
    for i in range(bits):
        o = x[i] + centre[i]
        norm2 += o * o
        x2 += x[i] * x[i]
        a += o * centre[i]
        head += abs(x[i])
    for i in range(bits, len(x)):
        o = x[i] + centre[i]
        norm2 += o * o
        x2 += x[i] * x[i]
        a += o * centre[i]
        rest += abs(x[i])
    return norm2, x2, a, head, rest


@inner
def _factors(x2, total, bits, dim):  # type: ignore[no-untyped-def]
    slope = np.float64(x2) / np.float64(total) if x2 != _ZERO else 0.0
    error2 = (bits * slope * slope - np.float64(x2)) / (dim - 1)
    return np.float32(slope), np.float32(np.sqrt(max(error2, 0.0)))


@inner
def _sketch(image, layout, slot, x):  # type: ignore[no-untyped-def]
    """Codes and factors of a rotated vector, from which the centre is taken off here."""
    dim = len(x)
    bits = min(dim, SKETCH_BITS)
    centre = image[layout.centre_at : layout.whole_at].view(np.float32)
    for i in range(dim):
        x[i] -= centre[i]
    norm2, x2, a, head, rest = _sums(x, centre, bits)
    slope, error = _factors(x2, head, bits, dim)
    rounded = np.rint(slope * np.float32(WIDE_SLOPE_SCALE if dim > WIDE else SLOPE_SCALE))
    sound = abs(a) < A_LIMIT and norm2 <= LARGEST and error <= LARGEST and rounded < NO_SLOPE
    sketch = image[layout.sketch_at + slot * 32 : layout.sketch_at + slot * 32 + 32]
    sketch[:28] = 0  # the last byte is not the vector's
    _write_signs(sketch, x[:bits])
    packed = np.uint32(NO_SLOPE << 12)
    b = _block(image, layout, slot)
    if sound:
        scaled = np.rint(np.float64(a) * A_SCALE)
        low = np.int64(min(max(scaled, -2048.0), 2047.0)) & 0xFFF
        packed = np.uint32(low | np.int64(rounded) << 12)
        b.sketch_error_max = max(b.sketch_error_max, error)
        b.sketch_slope_max = max(b.sketch_slope_max, slope)
    for i in range(3):
        sketch[28 + i] = np.uint8((packed >> np.uint32(8 * i)) & np.uint32(0xFF))
    b.norm_max = _upper(b.norm_max, np.float32(np.sqrt(norm2)))
    if layout.fine_bytes:
        at = layout.fine_at + slot * layout.fine_bytes
        fine = image[at : at + layout.fine_bytes]
        fine[:] = 0
        _write_signs(fine, x[bits:])
        tail = fine[layout.fine_bytes - 12 :].view(np.float32)
        tail[0] = a
        tail[1], tail[2] = _factors(x2, head + rest, dim, dim)


@inner
def _write_signs(out, x):  # type: ignore[no-untyped-def]
    for byte in range(len(x) // 8):
        value = 0
        for i in range(8):
            value |= (1 if x[8 * byte + i] >= _ZERO else 0) << i
        out[byte] = value
