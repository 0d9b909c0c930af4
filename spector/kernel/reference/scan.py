"""The six phases in plain NumPy: the definition that C and Numba are tested against."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from spector._types import F32, U32
from spector.kernel.contract import (
    ACTIVATION_SCALE,
    DROP_PHASES,
    HIT_DTYPE,
    MAX_ABS_MS,
    MIN_STABILITY_DAYS,
    AllowList,
    Kernel,
    PartTable,
    Query,
    ScanResult,
    dots,
    empty_result,
    lookup,
)
from spector.kernel.reference.index import NumpyIndex
from spector.kernel.reference.lexical import NumpyLexical, NumpyNeighbours
from spector.layout import CRC_SPAN, HEADER_BYTES, RECORD_DTYPE, Flag

# Bytes of records at given places, copied together: the plain way.


class NumpyGather:
    """`spector.kernel.contract.scanner.Kernel.gather`."""

    def _gather(
        self,
        table: PartTable,
        parts: NDArray[np.uint32],
        slots: NDArray[np.uint32],
        offset: int,
        out: NDArray[np.uint8],
    ) -> None:
        order = np.argsort(parts, kind="stable")
        firsts = np.flatnonzero(np.diff(parts[order].astype(np.int64), prepend=-1)).tolist()
        for first, stop in zip(firsts, [*firsts[1:], len(parts)], strict=False):
            mine = order[first:stop]
            data = table.parts[parts[mine[0]]].data
            out[mine] = data[slots[mine], offset : offset + out.shape[1]]


TERMS: Final = (
    "similarity",
    "importance",
    "retention",
    "recency",
    "activation",
    "utility",
    "tags",
    "arousal",
)
MODIFIERS: Final = ("confidence", "tier", "category", "mood", "unresolved", "consolidated")

_DAYS_PER_MS: Final = 1.0 / 86_400_000.0
_SECONDS_PER_MS: Final = 1.0 / 1000.0
_ONE: Final = np.float32(1)
_FULL: Final = np.float32(255)
#: rows whose vectors are widened to float64 at once
_CHUNK: Final = 4096


class ReferenceKernel(NumpyIndex, NumpyLexical, NumpyNeighbours, NumpyGather, Kernel):
    """The slow, plain backend."""

    name = "reference"

    def _scan(
        self, table: PartTable, query: Query, k: int, allow: AllowList | None, select: U32 | None
    ) -> ScanResult:
        drops = np.zeros(len(DROP_PHASES), np.uint64)
        scanned = 0
        hits = [np.zeros(0, HIT_DTYPE)]
        for index in range(len(table)) if select is None else select.tolist():
            count = int(table.counts[index])
            bitmap = table.parts[index].allow
            if allow is not None:
                count, bitmap = min(count, int(allow.counts[index])), allow.bitmap(index)
            if count == 0:
                continue
            rows = table.parts[index].data[:count]
            scanned += count
            found, scores, sims = _phases(rows, bitmap, query, drops)
            hit = np.zeros(len(found), HIT_DTYPE)
            hit["id"] = _headers(rows)["id"][found]
            hit["score"], hit["similarity"] = scores, sims
            hit["part"], hit["slot"] = index, found
            hits.append(hit)
        everything = np.concatenate(hits)
        if not len(everything):
            return empty_result(drops, scanned, 0)
        order = np.lexsort(
            (everything["slot"], everything["part"], everything["id"], -everything["score"])
        )
        return ScanResult(everything[order[:k]], drops, scanned, len(everything))

    def _score(
        self, table: PartTable, query: Query, parts: U32, slots: U32, similarity: F32
    ) -> F32:
        scores = np.full(len(parts), -np.inf, np.float32)
        similarity[:] = 0
        for index in np.unique(parts).tolist():
            mine = np.flatnonzero(parts == index)
            part = table.parts[index]
            rows = part.data[slots[mine]]
            bitmap = part.allow
            if bitmap is not None:
                bits = np.unpackbits(bitmap.view(np.uint8), bitorder="little")[slots[mine]]
                bitmap = _pack(bits)
            found, values, cosines = _phases(
                rows, bitmap, query, np.zeros(len(DROP_PHASES), np.uint64), similarity, mine
            )
            scores[mine[found]], similarity[mine[found]] = values, cosines
        return scores

    def crc32c(self, data: bytes | memoryview | NDArray[np.uint8], crc: int = 0) -> int:
        return crc32c_bytes(bytes(data), crc)

    def crc32c_rows(self, rows: NDArray[np.uint8], out: NDArray[np.uint32], crc: int) -> None:
        state = np.full(len(rows), crc ^ 0xFFFF_FFFF, np.uint32)
        for column in [*range(CRC_SPAN), *range(HEADER_BYTES, rows.shape[1])]:
            state = CRC_TABLE[(state ^ rows[:, column]) & 0xFF] ^ (state >> np.uint32(8))
        np.bitwise_xor(state, np.uint32(0xFFFF_FFFF), out=out)


def score_terms(headers: NDArray[Any], sims: F32, query: Query) -> dict[str, F32]:
    """Every term, modifier and the fused score of records: the formula in one place.

    Args:
        headers: (n,) `RECORD_DTYPE`.
        sims: (n,) float32 cosines with the cue; ignored when the query has no cue vector.

    Returns:
        (n,) float32 arrays: raw values under the names in `TERMS` (before weights), factors
        under those in `MODIFIERS`, and "score". Terms are computed even where their weight is 0,
        but enter the score only where it is not. Not finite scores are -inf.
    """
    profile, params = query.profile, query.params[0]
    out: dict[str, F32] = {}
    out["similarity"] = _similarity_term(sims, query)
    with np.errstate(all="ignore"):
        _strength_terms(out, headers, query)
        _modifiers(out, headers, query)
        fused = np.zeros(len(headers), np.float32)
        for name in TERMS:
            weight = params["w_" + name]
            if weight != 0 and not (name == "similarity" and profile.fusion == "multiplicative"):
                fused = fused + weight * out[name]
        if profile.fusion == "multiplicative":
            positive = np.where(out["similarity"] < 0, np.float32(0), out["similarity"])
            fused = (params["w_similarity"] * positive) * (_ONE + fused)
        factor = out["confidence"] * out["tier"]
        for name in MODIFIERS[2:]:
            factor = factor * out[name]
        fused = fused * factor
    out["score"] = np.where(np.isfinite(fused), fused, -np.float32(np.inf)).astype(np.float32)
    return out


def _similarity_term(sims: F32, query: Query) -> F32:
    if query.vector is None:
        neutral = 1.0 if query.profile.fusion == "multiplicative" else 0.0
        return np.full(len(sims), neutral, np.float32)
    return np.asarray(sims, np.float32)


def _strength_terms(out: dict[str, F32], headers: NDArray[Any], query: Query) -> None:
    params, tables = query.params[0], query.tables
    access_ms = headers["last_access_s"].astype(np.int64) * 1000
    used_ms = np.where(headers["last_access_s"] == 0, headers["event_ms"], access_ms)
    idle_ms = _age_ms(used_ms, query)
    out["importance"] = headers["importance"]
    out["retention"] = _retention(headers, query)
    event_days = (_age_ms(headers["event_ms"], query) * _DAYS_PER_MS).astype(np.float32)
    out["recency"] = lookup(tables.recency, event_days * params["recency_rate"])
    idle_s = (idle_ms * _SECONDS_PER_MS).astype(np.float32)
    uses = np.maximum(headers["access_count"], 1).astype(np.float32)
    out["activation"] = uses / (uses + lookup(tables.activation, idle_s * ACTIVATION_SCALE))
    out["utility"] = headers["utility"]
    shared = np.bitwise_count(headers["tags"] & params["overlap_mask"]).astype(np.float32)
    out["tags"] = shared / np.float32(max(int(params["overlap_bits"]), 1))
    out["arousal"] = headers["arousal"].astype(np.float32) / _FULL


def _retention(headers: NDArray[Any], query: Query) -> F32:
    access_ms = headers["last_access_s"].astype(np.int64) * 1000
    used_ms = np.where(headers["last_access_s"] == 0, headers["event_ms"], access_ms)
    idle_days = (_age_ms(used_ms, query) * _DAYS_PER_MS).astype(np.float32)
    stability = headers["stability_days"]
    stability = np.where(stability >= MIN_STABILITY_DAYS, stability, MIN_STABILITY_DAYS)
    value = lookup(query.tables.retention, idle_days / stability)
    raised = np.maximum(value, query.params[0]["flashbulb_retention"])
    return np.where(headers["flags"] & int(Flag.FLASHBULB) != 0, raised, value).astype(np.float32)


def _modifiers(out: dict[str, F32], headers: NDArray[Any], query: Query) -> None:
    params, flags = query.params[0], headers["flags"]
    out["confidence"] = query.tables.confidence[headers["confidence"]]
    out["tier"] = query.tables.tier[headers["tier"]]
    out["category"] = query.tables.category[headers["category"]]
    agrees = np.sign(headers["valence"].astype(np.int32)) * np.sign(params["mood"]) > 0
    out["mood"] = np.where(agrees, params["mood_boost"], _ONE)
    unresolved = flags & int(Flag.UNRESOLVED) != 0
    out["unresolved"] = np.where(unresolved, params["unresolved_boost"], _ONE)
    consolidated = flags & int(Flag.CONSOLIDATED) != 0
    out["consolidated"] = np.where(consolidated, params["consolidated_factor"], _ONE)


def _age_ms(then_ms: NDArray[np.int64], query: Query) -> NDArray[np.float64]:
    """Milliseconds since an instant, never negative, as float64."""
    age = np.int64(query.now_ms) - np.clip(then_ms, -MAX_ABS_MS, MAX_ABS_MS)
    return np.asarray(np.maximum(age, 0), np.float64)


def _phases(
    rows: NDArray[np.uint8],
    bitmap: NDArray[np.uint64] | None,
    query: Query,
    drops: NDArray[np.uint64],
    sims_out: F32 | None = None,
    sims_at: NDArray[np.int64] | None = None,
) -> tuple[NDArray[np.int64], F32, F32]:
    """Positions of the rows that reach phase 6, their scores and cosines; counts the drops."""
    headers, params = _headers(rows), query.params[0]
    found = np.arange(len(rows))
    for phase, passes in enumerate(
        (
            headers["flags"] & params["drop_flags"] == 0,
            _allowed(len(rows), bitmap),
            _tags_pass(headers["tags"], query),
            (headers["valence"] >= query.valence_min) & (headers["valence"] <= query.valence_max),
            _strength_pass(headers, query),
        )
    ):
        kept = found[passes[found]]
        drops[phase] += np.uint64(len(found) - len(kept))
        found = kept
    sims = np.zeros(len(found), np.float32)
    if query.vector is not None:
        with np.errstate(all="ignore"):
            scale = query.scale * headers["scale"][found]
            sims = _dots(rows[:, HEADER_BYTES:], found, query.codes).astype(np.float32) * scale
        if sims_out is not None and sims_at is not None:
            sims_out[sims_at[found]] = sims
        keep = ~(sims < params["min_similarity"])
        drops[5] += np.uint64(len(found) - int(keep.sum()))
        found, sims = found[keep], sims[keep]
    if not len(found):
        return found, sims, sims
    return found, score_terms(headers[found], sims, query)["score"], sims


def _allowed(count: int, bitmap: NDArray[np.uint64] | None) -> NDArray[np.bool_]:
    if bitmap is None:
        return np.ones(count, np.bool_)
    return np.unpackbits(bitmap.view(np.uint8), count=count, bitorder="little").astype(np.bool_)


def _tags_pass(tags: NDArray[np.uint64], query: Query) -> NDArray[np.bool_]:
    needed = np.uint64(query.tags_all)
    passes = np.asarray(tags & needed == needed)
    if len(query.any_masks):
        some = np.zeros(len(tags), np.bool_)
        for mask in query.any_masks:
            some |= tags & mask == mask
        passes &= some
    return passes


def _strength_pass(headers: NDArray[Any], query: Query) -> NDArray[np.bool_]:
    params = query.params[0]
    event = headers["event_ms"]
    passes = (event >= params["event_min_ms"]) & (event < params["event_max_ms"])
    for field, mask in (("modality", query.modality_mask), ("category", query.category_mask)):
        if mask:
            code = headers[field]
            passes &= (code < 32) & (np.uint32(mask) >> (code & np.uint8(31)) & 1 == 1)
    weak = np.zeros(len(headers), np.bool_)
    if params["importance_floor"] > 0:
        weak |= headers["importance"] < params["importance_floor"]
    if params["retention_floor"] > 0:
        with np.errstate(all="ignore"):
            weak |= _retention(headers, query) < params["retention_floor"]
    return np.asarray(passes & ~(weak & (headers["flags"] & int(Flag.PINNED) == 0)))


def _dots(
    vectors: NDArray[np.uint8], found: NDArray[np.int64], codes: NDArray[np.int8]
) -> NDArray[np.int32]:
    """Exact dot products: float64 holds every integer below 2^53."""
    wide = codes.astype(np.float64)
    out = np.empty(len(found), np.int32)
    for start in range(0, len(found), _CHUNK):
        rows = vectors[found[start : start + _CHUNK]].view(np.int8).astype(np.float64)
        out[start : start + _CHUNK] = dots(rows, wide)
    return out


def _headers(rows: NDArray[np.uint8]) -> NDArray[Any]:
    return np.ascontiguousarray(rows[:, :HEADER_BYTES]).view(RECORD_DTYPE)[:, 0]


def _pack(bits: NDArray[np.uint8]) -> NDArray[np.uint64]:
    padded = np.zeros(-(-len(bits) // 64) * 64, np.uint8)
    padded[: len(bits)] = bits
    return np.packbits(padded, bitorder="little").view(np.uint64)


def _crc_table() -> NDArray[np.uint32]:
    """Byte table of the reflected Castagnoli polynomial 0x1EDC6F41."""
    table = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        table = (table >> np.uint32(1)) ^ np.where(table & 1, np.uint32(0x82F63B78), 0).astype("u4")
    return table.astype(np.uint32)


CRC_TABLE: Final = _crc_table()
_CRC_LIST: Final[list[int]] = CRC_TABLE.tolist()


def crc32c_bytes(data: bytes, crc: int = 0) -> int:
    """CRC-32C one byte at a time, continuing from ``crc``."""
    state = crc ^ 0xFFFF_FFFF
    for byte in data:
        state = _CRC_LIST[(state ^ byte) & 0xFF] ^ (state >> 8)
    return state ^ 0xFFFF_FFFF
