"""Record blocks and queries for the kernel's tests, all made from a seeded generator."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from spector.errors import KernelUnavailableError
from spector.kernel.contract.profile import PROFILES, Curve, ScoringProfile
from spector.kernel.contract.quantization import normalize, quantize
from spector.kernel.contract.query import Query, make_query
from spector.kernel.contract.scanner import Kernel, Part
from spector.kernel.dispatch import KERNEL_NAMES, load_kernel
from spector.layout import HEADER_BYTES, RECORD_DTYPE, Flag, stride_of

NOW_MS = 1_790_000_000_000
DAY_MS = 86_400_000


def kernel_or_skip(name: str) -> Kernel:
    try:
        return load_kernel(name)
    except KernelUnavailableError as error:
        if name == "reference":
            raise
        pytest.skip(str(error))


def kernels() -> list[Kernel]:
    """Every backend that loads here; the reference first."""
    found = []
    for name in reversed(KERNEL_NAMES):
        try:
            found.append(load_kernel(name))
        except KernelUnavailableError:
            assert name != "reference"
    return found


def instruction_sets() -> list[int]:
    """Masks for `set_caps`: portable C, every set that this CPU has alone, and all together."""
    from spector.kernel.native import CAPS, set_caps

    here = set_caps()
    return [0, *(bit for bit in CAPS.values() if bit & here), here]


def everywhere() -> Iterator[tuple[Kernel, str]]:
    """Every backend, the reference first, C on every instruction set."""
    for kernel in kernels():
        if kernel.name != "native":
            yield kernel, kernel.name
            continue
        from spector.kernel.native import set_caps

        try:
            for caps in instruction_sets():
                set_caps(caps)
                yield kernel, f"native {caps:x}"
        finally:
            set_caps()


def headers_of(rows: NDArray[np.uint8]) -> NDArray[Any]:
    """The rows' headers as a writable structured view."""
    return rows[:, :HEADER_BYTES].view(RECORD_DTYPE)[:, 0]


def make_rows(rng: np.random.Generator, count: int, dim: int) -> NDArray[np.uint8]:
    """Healthy records of every kind, ages from the future to decades, and many exact ties."""
    rows = np.zeros((count, stride_of(dim)), np.uint8)
    if not count:
        return rows
    header = headers_of(rows)
    codes, header["scale"] = quantize(normalize(rng.standard_normal((count, dim)) + 0.1))
    rows[:, HEADER_BYTES : HEADER_BYTES + dim] = codes.view(np.uint8)
    header["version"] = 1
    header["id"] = rng.integers(1, 1 << 40, count)
    header["tier"] = rng.integers(0, 5, count)
    header["category"] = rng.integers(0, 12, count)
    header["modality"] = rng.integers(0, 7, count)
    age_days = 10 ** rng.uniform(-6, 4.5, count) * rng.choice([-1, 1], count, p=[0.05, 0.95])
    header["event_ms"] = NOW_MS - (age_days * DAY_MS).astype(np.int64)
    header["tags"] = rng.integers(0, 1 << 63, count, np.uint64) * 2 + 1
    header["confidence"] = rng.integers(0, 256, count)
    flags = np.where(rng.random(count) < 0.3, 1 << rng.integers(0, 9, count), 0)
    header["flags"] = flags | np.where(rng.random(count) < 0.1, 1 << rng.integers(0, 9, count), 0)
    header["valence"] = rng.integers(-128, 128, count)
    header["arousal"] = rng.integers(0, 256, count)
    header["importance"] = rng.random(count)
    header["stability_days"] = 10 ** rng.uniform(-2, 3, count)
    header["utility"] = rng.random(count)
    header["access_count"] = rng.integers(0, 30, count)
    used_s = NOW_MS // 1000 - (10 ** rng.uniform(-1, 8, count)).astype(np.int64)
    header["last_access_s"] = np.where(rng.random(count) < 0.4, 0, used_s)
    if count > 4:  # equal scores under equal and under different ids
        rows[1] = rows[0]
        rows[-1] = rows[0]
        header["id"][-1] = header["id"][0] + 1
    return rows


def damage(rng: np.random.Generator, rows: NDArray[np.uint8]) -> None:
    """Put values into some records that a healthy store never writes."""
    header = headers_of(rows)
    odd = np.array([np.nan, np.inf, -np.inf, -1.0, 0.0, 1e-45, 3e38, -3e38], np.float32)
    for name in ("scale", "importance", "stability_days", "utility"):
        at = np.flatnonzero(rng.random(len(rows)) < 0.04)
        header[name][at] = rng.choice(odd, at.size)
    at = np.flatnonzero(rng.random(len(rows)) < 0.04)
    far = np.array([-(1 << 63), (1 << 63) - 1, 0, NOW_MS, 1 << 61], np.int64)
    header["event_ms"][at] = rng.choice(far, at.size)
    at = np.flatnonzero(rng.random(len(rows)) < 0.04)
    header["access_count"][at] = 0xFFFF_FFFF
    at = np.flatnonzero(rng.random(len(rows)) < 0.04)
    for name in ("tier", "category", "modality"):
        header[name][at] = rng.integers(0, 256, at.size)
    at = np.flatnonzero(rng.random(len(rows)) < 0.04)
    rows[at, HEADER_BYTES:] = rng.integers(0, 256, (at.size, rows.shape[1] - HEADER_BYTES))
    if len(rows):
        rows[len(rows) // 2, HEADER_BYTES:] = 0x80  # int8 -128, which quantize never makes


def make_parts(rng: np.random.Generator, rows: NDArray[np.uint8]) -> list[Part]:
    """The rows as partitions: some empty, some read only in part, some with a bitmap."""
    cuts = np.sort(rng.integers(0, len(rows) + 1, 2)).tolist()
    parts = []
    for first, last in zip([0, *cuts], [*cuts, len(rows)], strict=True):
        data = rows[first:last]
        count = len(data) if rng.random() < 0.7 else int(rng.integers(0, len(data) + 1))
        allow = None
        if rng.random() < 0.3:
            allow = rng.integers(0, 1 << 63, -(-len(data) // 64), np.uint64) * 2 + 1
        parts.append(Part(data, count, allow))
    return [*parts, Part(rows[:0], 0)]


def random_profile(rng: np.random.Generator, **fixed: Any) -> ScoringProfile:
    """A profile with every parameter of a scan drawn; about half of the weights are 0."""
    weights = {
        name: float(rng.random() * (rng.random() < 0.6))
        for name in ScoringProfile.__dataclass_fields__
        if name.startswith("w_")
    }
    drawn: dict[str, Any] = {
        **weights,
        "fusion": str(rng.choice(["additive", "multiplicative"])),
        "retention_curve": Curve(rng.choice(list(Curve))),
        "power_law_exponent": float(rng.uniform(0.1, 2)),
        "recency_curve": Curve(rng.choice(list(Curve))),
        "recency_scale_days": float(10 ** rng.uniform(-2, 3)),
        "activation_decay": float(rng.uniform(0.1, 1.5)),
        "min_similarity": float(rng.choice([-1.0, -0.1, 0.0, 0.1])),
        "retention_floor": float(rng.choice([0.0, 0.0, 0.3])),
        "confidence_weight": float(rng.random()),
        "mood_boost": float(rng.uniform(0.5, 2)),
        "unresolved_boost": float(rng.uniform(0.5, 2)),
        "consolidated_factor": float(rng.uniform(0, 1)),
        "flashbulb_retention": float(rng.random()),
        "tier_factors": tuple((i, float(rng.random() * 2)) for i in range(int(rng.integers(5)))),
        "category_factors": tuple(
            (i, float(rng.random() * 2)) for i in range(int(rng.integers(9)))
        ),
    }
    assert set(drawn) | {"name", "ranking"} == set(ScoringProfile.__dataclass_fields__)
    return ScoringProfile(**{**drawn, **fixed})


def random_query(
    rng: np.random.Generator, dim: int, profiles: list[ScoringProfile], near: NDArray[Any]
) -> Query:
    """A query with a random subset of all filters; ``near`` are headers to draw bounds from."""
    maybe = rng.random(10)
    options: dict[str, Any] = {}
    bits = near["tags"][rng.integers(len(near))] if len(near) else np.uint64(0)
    if maybe[0] < 0.3:
        options["tags_all"] = (
            int(bits)
            & int(rng.integers(0, 1 << 63))
            & int(rng.integers(0, 1 << 63))
            & int(rng.integers(0, 1 << 63))
        )
    if maybe[1] < 0.3:
        masks = rng.integers(0, 1 << 63, int(rng.integers(1, 4)), np.uint64)
        options["any_masks"] = [int(mask & bits) for mask in masks]
    if maybe[2] < 0.5:
        options["overlap_mask"] = int(rng.integers(0, 1 << 63))
    if maybe[3] < 0.2:
        options["valence_min"], options["valence_max"] = sorted(rng.integers(-128, 128, 2).tolist())
    if maybe[4] < 0.2:
        options["event_min_ms"] = NOW_MS - int(10 ** rng.uniform(3, 12))
    if maybe[5] < 0.2:
        options["event_max_ms"] = NOW_MS - int(10 ** rng.uniform(3, 12))
    if maybe[6] < 0.2:
        options["importance_floor"] = float(rng.random())
    if maybe[7] < 0.2:
        options["retention_floor"] = float(rng.random())
    if maybe[8] < 0.2:
        options["drop_flags"] = int(rng.integers(0, 512)) & ~int(Flag.PINNED)
    if maybe[9] < 0.2:
        options["modality_mask"] = int(rng.integers(1, 256))
        options["category_mask"] = int(rng.integers(0, 1 << 12))
    return make_query(
        now_ms=NOW_MS + int(rng.choice([0, 0, -DAY_MS, 10**9])),
        vector=rng.standard_normal(dim) if rng.random() < 0.9 else None,
        profile=profiles[int(rng.integers(len(profiles)))],
        mood=int(rng.integers(-128, 128)) if rng.random() < 0.5 else 0,
        **options,
    )


def profile_pool(rng: np.random.Generator, count: int) -> list[ScoringProfile]:
    return [*PROFILES.values(), *(random_profile(rng) for _ in range(count))]


def one_record(fields: Mapping[str, Any], vector: NDArray[Any] | None = None) -> Part:
    """A partition with one healthy record, some of its fields overridden."""
    unit = np.array([1.0, 0.0, 0.0, 0.0]) if vector is None else vector
    rows = np.zeros((1, stride_of(len(unit))), np.uint8)
    header = headers_of(rows)
    codes, header["scale"] = quantize(normalize(unit[None, :]))
    rows[:, HEADER_BYTES : HEADER_BYTES + len(unit)] = codes.view(np.uint8)
    healthy = {
        "version": 1,
        "tier": 1,
        "category": 1,
        "id": 7,
        "event_ms": NOW_MS - 10 * DAY_MS,
        "tags": 0xFF,
        "confidence": 128,
        "valence": 20,
        "arousal": 100,
        "importance": 0.5,
        "stability_days": 10.0,
        "utility": 0.5,
        "access_count": 3,
        "last_access_s": (NOW_MS - 5 * DAY_MS) // 1000,
    }
    for name, value in {**healthy, **fields}.items():
        header[name] = value
    return Part(rows, 1)
