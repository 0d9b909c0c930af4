"""A scan's query: validated once, and packed as the struct that the backends read."""

from __future__ import annotations

import ctypes
import math
import struct
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spector.errors import InvalidFilterError, InvalidVectorError
from spector.kernel.contract.profile import (
    ScoringProfile,
    build_activation_table,
    build_table,
    get_profile,
)
from spector.kernel.contract.quantization import MAX_CODE, MIN_NORM, normalize
from spector.layout import Flag, vector_bytes
from spector.messages import shown

DEFAULT_DROP_FLAGS: Final = int(
    Flag.TOMBSTONE
    | Flag.DORMANT
    | Flag.SUPERSEDED
    | Flag.QUARANTINED
    | Flag.AUXILIARY
    | Flag.NO_TEXT
)
_TOMBSTONE: Final = int(Flag.TOMBSTONE)
#: a scan of fewer rows is faster straight than over an index (measured: native, 384 dimensions)
INDEX_FROM_ROWS: Final = 2048
#: instants beyond this are clamped, so a difference of two never overflows
MAX_ABS_MS: Final = 1 << 61
_MIN_I64: Final = -(1 << 63)
_MAX_I64: Final = (1 << 63) - 1
_MAX_U64: Final = (1 << 64) - 1

_POINTERS = "codes any_masks retention recency activation confidence tier category".split()
_I64 = "now_ms event_min_ms event_max_ms".split()
_U64 = "tags_all overlap_mask".split()
_U32 = """any_count vector_bytes modality_mask category_mask drop_flags multiplicative overlap_bits
    index_from_rows""".split()
_I32 = "valence_min valence_max mood reserved2".split()
_F32 = """scale importance_floor retention_floor min_similarity w_similarity w_importance
    w_retention w_recency w_activation w_utility w_tags w_arousal recency_rate recall_confidence
    mood_boost unresolved_boost consolidated_factor flashbulb_retention""".split()

#: ``spector_query`` of native/spector.h; addresses as integers, 0 for none
QUERY_DTYPE: Final = np.dtype(
    [(name, "<u8") for name in _POINTERS]
    + [(name, "<i8") for name in _I64]
    + [(name, "<u8") for name in _U64]
    + [(name, "<u4") for name in _U32]
    + [(name, "<i4") for name in _I32]
    + [(name, "<f4") for name in _F32]
)

# The fields that differ between queries are packed in two writes: setting twenty fields of a NumPy
# struct one by one would take longer than scanning a small store.
_ADDRESSES: Final = struct.Struct("<2Q")
#: now_ms .. retention_floor, all fields between them
_VARYING: Final = struct.Struct(
    f"<{len(_I64)}q{len(_U64)}Q{len(_U32)}I{len(_I32)}i{_F32.index('min_similarity')}f"
)
_VARYING_AT: Final[int] = QUERY_DTYPE.fields["now_ms"][1]  # type: ignore[index]
_CONFIDENCE: Final = struct.Struct("<f")
_CONFIDENCE_AT: Final[int] = QUERY_DTYPE.fields["recall_confidence"][1]  # type: ignore[index]


_NO_PARAMS: Final[NDArray[Any]] = np.zeros(0, QUERY_DTYPE)

#: integer arguments of `make_query`, in the order in which they are checked
_RANGES: Final = (
    ("now_ms", -MAX_ABS_MS, MAX_ABS_MS),
    ("tags_all", 0, _MAX_U64),
    ("overlap_mask", 0, _MAX_U64),
    ("valence_min", -128, 127),
    ("valence_max", -128, 127),
    ("event_min_ms", _MIN_I64, _MAX_I64),
    ("event_max_ms", _MIN_I64, _MAX_I64),
    ("drop_flags", 0, 0xFFFF),
    ("modality_mask", 0, 0xFFFF_FFFF),
    ("category_mask", 0, 0xFFFF_FFFF),
    ("mood", -128, 127),
    ("index_from_rows", 0, 0xFFFF_FFFF),
)


@dataclass(frozen=True, slots=True, eq=False)
class Tables:
    """Lookup tables of a profile: float32, read-only, shared by all its queries."""

    retention: NDArray[np.float32]
    recency: NDArray[np.float32]
    activation: NDArray[np.float32]
    confidence: NDArray[np.float32]
    tier: NDArray[np.float32]
    category: NDArray[np.float32]


@dataclass(slots=True, kw_only=True, eq=False)
class Query:
    """The query of one scan; build it with `make_query`.

    It never changes. It is not frozen, because that would make it six times as slow to build.

    ``codes`` (zero-padded to the record's vector bytes), ``scale``, ``tables`` and ``params``
    follow from the other fields.
    """

    profile: ScoringProfile
    now_ms: int
    vector: NDArray[np.float32] | None
    tags_all: int
    any_masks: NDArray[np.uint64]
    overlap_mask: int
    valence_min: int
    valence_max: int
    event_min_ms: int | None
    event_max_ms: int | None
    importance_floor: float
    retention_floor: float
    drop_flags: int
    modality_mask: int
    category_mask: int
    mood: int
    codes: NDArray[np.int8]
    scale: np.float32
    tables: Tables
    params: NDArray[Any]

    @property
    def vector_bytes(self) -> int:
        """Padded bytes of the cue's codes; 0 without a cue vector."""
        return len(self.codes)


def make_query(
    *,
    now_ms: int,
    vector: ArrayLike | None = None,
    profile: str | ScoringProfile = "balanced",
    tags_all: int = 0,
    any_masks: Iterable[int] = (),
    overlap_mask: int = 0,
    valence_min: int = -128,
    valence_max: int = 127,
    event_min_ms: int | None = None,
    event_max_ms: int | None = None,
    importance_floor: float = 0.0,
    retention_floor: float | None = None,
    drop_flags: int = DEFAULT_DROP_FLAGS,
    modality_mask: int = 0,
    category_mask: int = 0,
    mood: int = 0,
    recall_confidence: float = 0.0,
    index_from_rows: int = INDEX_FROM_ROWS,
) -> Query:
    """Validate and prepare the query of a scan.

    Args:
        now_ms: the instant that ages are measured from, ms since 1970 UTC. A memory from after
            this instant has age 0.
        vector: the cue, (dim,) floats; normalised and quantised here. None: no similarity.
        profile: a preset's name or a profile.
        tags_all: Bloom mask whose bits a record must all have; 0 admits every record.
        any_masks: Bloom masks of which a record must contain at least one; none admits all.
        overlap_mask: bits that the tag term counts: popcount(record & mask) / popcount(mask).
        valence_min, valence_max: inclusive bounds in -128..127.
        event_min_ms, event_max_ms: half-open range [min, max) of event times; None is open.
        importance_floor: drops weaker records unless pinned; 0 drops none.
        retention_floor: likewise for retention; None takes the profile's.
        drop_flags: records with any of these flags are dropped; TOMBSTONE always is.
        modality_mask, category_mask: bit i admits code i; 0 admits all codes.
        mood: -128..127; its sign is compared with the record's valence, 0 boosts nothing.
        recall_confidence: standard errors that the bound from a scan index adds to an estimated
            cosine before it rules a record out; 0 estimates nothing, so the answer is exact.
        index_from_rows: scans of fewer indexed rows go straight over the records.

    Raises:
        InvalidVectorError: the cue is not a finite, non-zero (dim,) vector.
        InvalidFilterError: any other argument is out of its range.
    """
    chosen = get_profile(profile)
    floor = chosen.retention_floor if retention_floor is None else float(retention_floor)
    _check_shares(importance_floor, floor, recall_confidence)
    _check_integers(
        now_ms,
        tags_all,
        overlap_mask,
        valence_min,
        valence_max,
        _MIN_I64 if event_min_ms is None else event_min_ms,
        _MAX_I64 if event_max_ms is None else event_max_ms,
        drop_flags,
        modality_mask,
        category_mask,
        mood,
        index_from_rows,
    )
    masks, (unit, codes, scale) = _any_array(any_masks), _cue(vector)
    template, tables = _prepared_of(chosen)
    query = Query(
        profile=chosen,
        now_ms=now_ms,
        vector=unit,
        tags_all=tags_all,
        any_masks=masks,
        overlap_mask=overlap_mask,
        valence_min=valence_min,
        valence_max=valence_max,
        event_min_ms=event_min_ms,
        event_max_ms=event_max_ms,
        importance_floor=importance_floor,
        retention_floor=floor,
        drop_flags=drop_flags | _TOMBSTONE,
        modality_mask=modality_mask,
        category_mask=category_mask,
        mood=mood,
        codes=codes,
        scale=scale,
        tables=tables,
        params=_NO_PARAMS,
    )
    query.params = _pack(query, template, index_from_rows, recall_confidence)
    return query


def _check_shares(importance_floor: float, retention_floor: float, confidence: float) -> None:
    floors = ("importance_floor", importance_floor), ("retention_floor", retention_floor)
    for name, number in floors:
        if not 0 <= number <= 1:
            raise InvalidFilterError(f"{name} must be in 0..1, got {shown(number)}")
    if not 0 <= confidence <= 100:
        raise InvalidFilterError(f"recall_confidence must be in 0..100, got {shown(confidence)}")


def _check_integers(*values: int) -> None:
    """Of the arguments in `_RANGES`, in their order."""
    for (name, low, high), value in zip(_RANGES, values, strict=True):
        # the fast way first: bool and NumPy's integers are looked at more closely
        if type(value) is not int or not low <= value <= high:
            _check_int(name, value, low, high)


def _pack(
    query: Query, template: bytes, index_from_rows: int, recall_confidence: float
) -> NDArray[Any]:
    """(1,) `QUERY_DTYPE`: the profile's template with what differs from query to query."""
    raw = bytearray(template)
    codes, masks = query.codes, query.any_masks
    _ADDRESSES.pack_into(
        raw,
        0,
        _address(codes) if codes.size else 0,
        _address(masks) if masks.size else 0,
    )
    _VARYING.pack_into(
        raw,
        _VARYING_AT,
        query.now_ms,
        _MIN_I64 if query.event_min_ms is None else query.event_min_ms,
        _MAX_I64 if query.event_max_ms is None else query.event_max_ms,
        query.tags_all,
        query.overlap_mask,
        masks.size,
        codes.size,
        query.modality_mask,
        query.category_mask,
        query.drop_flags,
        query.profile.fusion == "multiplicative",
        query.overlap_mask.bit_count(),
        index_from_rows,
        query.valence_min,
        query.valence_max,
        query.mood,
        0,
        query.scale,
        query.importance_floor,
        query.retention_floor,
    )
    _CONFIDENCE.pack_into(raw, _CONFIDENCE_AT, recall_confidence)
    return np.ndarray(1, QUERY_DTYPE, raw)


def _check_int(name: str, value: object, low: int, high: int) -> None:
    if not isinstance(value, (int, np.integer)) or not low <= int(value) <= high:
        raise InvalidFilterError(f"{name} must be an integer in {low}..{high}, got {shown(value)}")


def _any_array(any_masks: Iterable[int]) -> NDArray[np.uint64]:
    masks = [int(mask) for mask in any_masks]
    if not masks:
        return _NO_MASKS
    for mask in masks:
        _check_int("any_masks", mask, 0, _MAX_U64)
    return np.array(masks, np.uint64)


def _address(array: NDArray[Any]) -> int:
    """A third of what ``array.ctypes`` costs, but for arrays that can be written to only."""
    return ctypes.addressof(ctypes.c_char.from_buffer(array.data))


#: profiles that are known by their objects
_MOST_PREPARED: Final = 256
_NO_MASKS: Final = np.zeros(0, np.uint64)
_NO_CODES: Final = np.zeros(0, np.int8)
_LIMIT: Final = np.float32(MAX_CODE)


def _cue(
    vector: ArrayLike | None,
) -> tuple[NDArray[np.float32] | None, NDArray[np.int8], np.float32]:
    """The cue as a unit vector, its codes padded with zeros, and their scale.

    To the bit what `normalize` and `quantize` make of one row, without what only many rows need.
    """
    if vector is None:
        return None, _NO_CODES, np.float32(0)
    array = np.asarray(vector)
    if array.ndim != 1:
        raise InvalidVectorError(f"a cue must have shape (dim,), got {array.shape}")
    if array.dtype != np.float32 or not array.size:
        unit = normalize(array[None, :])[0]
    else:
        wide = array.astype(np.float64)  # squares of float32 cannot overflow here
        norm = math.sqrt(np.einsum("i,i->", wide, wide))
        if not MIN_NORM <= norm < math.inf:
            normalize(array[None, :])  # raises
        wide /= norm
        unit = wide.astype(np.float32)
    scale: np.float32 = max(unit[unit.argmax()], -unit[unit.argmin()]) / _LIMIT
    # a unit vector's scale is never denormal, so no step can round to more than MAX_CODE
    codes = np.rint(unit / scale).astype(np.int8)
    if len(codes) == vector_bytes(len(codes)):
        return unit, codes, scale
    padded = np.zeros(vector_bytes(len(codes)), np.int8)
    padded[: len(codes)] = codes
    return unit, padded, scale


#: id of a profile -> itself, which keeps the id its own, and what was prepared for it
_last_prepared: Final[dict[int, tuple[ScoringProfile, tuple[bytes, Tables]]]] = {}


def _prepared_of(profile: ScoringProfile) -> tuple[bytes, Tables]:
    """`_prepared` of a profile that is mostly the same object: its hash is that of 25 fields."""
    known = _last_prepared.get(id(profile))
    if known is not None:
        return known[1]
    if len(_last_prepared) >= _MOST_PREPARED:
        _last_prepared.clear()
    found = _prepared(profile)
    _last_prepared[id(profile)] = profile, found
    return found


@lru_cache(maxsize=256)
def _prepared(profile: ScoringProfile) -> tuple[bytes, Tables]:
    """The part of the struct that depends on the profile alone, and the tables it points to."""
    tables = Tables(
        retention=build_table(profile.retention_curve, profile.power_law_exponent),
        recency=build_table(profile.recency_curve, profile.power_law_exponent),
        activation=build_activation_table(profile.activation_decay),
        confidence=_confidence(profile.confidence_weight),
        tier=_factors(profile.tier_factors),
        category=_factors(profile.category_factors),
    )
    params = np.zeros(1, QUERY_DTYPE)
    row = params[0]
    for name in ("retention", "recency", "activation", "confidence", "tier", "category"):
        table: NDArray[np.float32] = getattr(tables, name)
        table.flags.writeable = False
        row[name] = table.ctypes.data
    for name in _F32:
        if hasattr(profile, name):
            row[name] = getattr(profile, name)
    if profile.min_similarity <= -1:
        # quantised cosines may pass -1 by a rounding error; the default must drop nothing
        row["min_similarity"] = -np.inf
    row["recency_rate"] = np.float32(1.0 / profile.recency_scale_days)
    row["multiplicative"] = profile.fusion == "multiplicative"
    # as bytes, because copying them field by field would take longer than an empty scan
    return params.tobytes(), tables


def _factors(pairs: tuple[tuple[int, float], ...]) -> NDArray[np.float32]:
    table = np.ones(256, np.float32)
    for code, factor in pairs:
        table[code] = factor
    return table


def _confidence(weight: float) -> NDArray[np.float32]:
    """Factor of each confidence byte: ``1 - weight * (1 - byte / 255)``."""
    confidence = np.arange(256, dtype=np.float32) / np.float32(255)
    return np.float32(1) - np.float32(weight) * (np.float32(1) - confidence)
