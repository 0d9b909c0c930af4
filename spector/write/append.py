"""Appends a batch of drafts to a store: columns, record images, places, and rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from spector.config import Config
from spector.errors import InvalidInputError
from spector.kernel import crc32c_rows
from spector.kernel.contract import RESERVED, normalize, quantize, record_mask
from spector.layout import (
    MUTABLE_BYTES,
    MUTABLE_OFFSET,
    RECORD_DTYPE,
    RECORD_VERSION,
    Flag,
    headers_of,
    stride_of,
)
from spector.records import MemoryRecord, make_records
from spector.store.catalog import rows as catalog_rows
from spector.store.core import Store, Transaction, header_columns, tags_and_links
from spector.store.files import Bytes
from spector.store.partitions import image_rows
from spector.store.payloads import KeyPath
from spector.tiers import PlacesByUser, TierStore
from spector.write.draft import Draft

if TYPE_CHECKING:
    from spector.knowledge import Changes
    from spector.store.catalog import Row


# The flags of a record, which are the first two bytes of its mutable half.


def flags_of(row: Row) -> int:
    """The flags of a record, as the catalog has them."""
    return int.from_bytes(row.mutable[:2], "little")


def with_flag(block: bytes, flag: Flag, on: bool = True) -> bytes:
    """A mutable half in which a flag is set, or cleared."""
    flags = int.from_bytes(block[:2], "little")
    flags = flags | int(flag) if on else flags & ~int(flag)
    return flags.to_bytes(2, "little") + block[2:]


# One batch of drafts on its way into a store.


class StagedChange(Protocol):
    """A change of an earlier memory in the commit of a batch."""

    @property
    def before(self) -> Row: ...

    def stage(self, tx: Transaction) -> None: ...


@dataclass(frozen=True, slots=True, eq=False)
class Work:
    """Drafts of one store with all that their records are made of; ``vectors`` is (n, dim) f32."""

    store: Store
    drafts: Sequence[Draft]
    tiers: Sequence[TierStore]
    importance: Sequence[float]
    vectors: NDArray[np.float32] | None
    #: changes of earlier memories
    others: Sequence[StagedChange]
    now_ms: int
    #: called with the transaction and the ids before the commit
    then: Callable[[Transaction, list[int]], None] | None

    def vectors_of(self, members: Sequence[int]) -> NDArray[np.float32] | None:
        """(m, dim) f32 of some drafts."""
        return None if self.vectors is None else self.vectors[list(members)]


class Settler(Protocol):
    """Decides what drafts with ``settles`` supersede."""

    def runs(self, drafts: Sequence[Draft]) -> Iterable[Sequence[Draft]]:
        """Drafts in their order, cut before each that may supersede one before it."""

    def settle(
        self, drafts: Sequence[Draft], vectors: NDArray[np.float32] | None, now_ms: int
    ) -> Changes:
        """Decide for drafts, with no other writer until they are stored; the rows to add."""


class KeyStore(Protocol):
    """Stores batches in which drafts have keys."""

    def store(self, work: Work) -> list[MemoryRecord | None]:
        """The memory that each draft has become; None where it was left out."""


def path_of_draft(draft: Draft) -> KeyPath:
    """Where the key of a draft is unique."""
    assert draft.key is not None
    return KeyPath(draft.namespace, draft.key, draft.user_id or "", draft.agent_id or "")


def refuse_future_parents(drafts: Sequence[Draft], first_id: int) -> None:
    """Refuse parents with ids that have not been given out: a parent precedes its child.

    Raises:
        InvalidInputError: naming the id.
    """
    for draft in drafts:
        if draft.parents and max(draft.parents) >= first_id:
            raise InvalidInputError(
                f"parent {max(draft.parents)} does not exist",
                hint="pass ids of memories that were remembered before",
            )


# Drafts of one store as columns, the form that records, rows and record images are made of.

#: fields that stand beside a memory
BESIDE: Final = frozenset({"key", "expires_ms", "expires_in_ms", "attachment"})


class Batch:
    """Drafts as columns. A field that no draft has been given has no column and costs nothing."""

    def __init__(self, drafts: Sequence[Draft]) -> None:
        self.size = len(drafts)
        given: set[str] = set().union(*map(vars, drafts))
        self._columns = {name: list(map(attrgetter(name), drafts)) for name in given}

    def given(self, *names: str) -> dict[str, list[Any]]:
        """The columns that exist."""
        return {name: self._columns[name] for name in names if name in self._columns}

    def column(self, name: str, default: Any = None) -> list[Any]:
        """A column, or ``default`` for every draft."""
        return self._columns.get(name) or [default] * self.size


@dataclass(frozen=True, slots=True, eq=False)
class Strengths:
    """The starting values of the mutable halves: (n,) u16, f64, f64."""

    flags: NDArray[np.uint16]
    importance: NDArray[np.float64]
    stability_days: NDArray[np.float64]


_FLAGS = {
    "pinned": Flag.PINNED,
    "immutable": Flag.IMMUTABLE,
    "unresolved": Flag.UNRESOLVED,
    "derived": Flag.AUXILIARY,
    "quarantined": Flag.QUARANTINED,
    "is_wordless": Flag.NO_TEXT | Flag.AUXILIARY,
}


def strengths_of(batch: Batch, importance: Sequence[float], config: Config) -> Strengths:
    """Starting strengths: stability grows with importance; strong arousal makes a flashbulb.

    Flashbulb memories (Brown and Kulik; Cognitive Memory v9): pinned, importance at least 0.9,
    stability x 1.5.
    """
    flags = np.zeros(batch.size, dtype=np.uint16)
    for name, column in batch.given(*_FLAGS).items():
        flags[np.array(column, dtype=bool)] |= int(_FLAGS[name])
    strength = np.array(importance, dtype=np.float64)
    growth = np.ones(batch.size)
    for column in batch.given("arousal").values():
        flashbulb = np.array(column) >= config.flashbulb_arousal
        flags[flashbulb] |= int(Flag.FLASHBULB | Flag.PINNED)
        strength[flashbulb] = np.maximum(strength[flashbulb], 0.9)
        growth[flashbulb] = 1.5
    growth *= np.array(batch.column("growth", 1.0), dtype=np.float64)
    scale = 0.5 + strength if config.stability_by_importance else 1.0
    stability = config.initial_stability_days * scale * growth
    return Strengths(flags, strength, np.minimum(stability, config.max_stability_days))


# From drafts and vectors to record images: the bytes that a partition will hold.

_MAX_U32 = 0xFFFF_FFFF


@dataclass(frozen=True, slots=True, eq=False)
class Encoded:
    """images (n, stride) u8; headers is the same memory as (n,) RECORD_DTYPE."""

    images: Bytes
    headers: NDArray[np.void]

    def mutable(self, n: int) -> bytes:
        """The 24 mutable bytes of record n."""
        return self.images[n, MUTABLE_OFFSET : MUTABLE_OFFSET + MUTABLE_BYTES].tobytes()

    def mutables(self) -> list[bytearray]:
        """The 24 mutable bytes of every record."""
        whole = bytearray(self.images[:, MUTABLE_OFFSET : MUTABLE_OFFSET + MUTABLE_BYTES].tobytes())
        return [whole[at : at + MUTABLE_BYTES] for at in range(0, len(whole), MUTABLE_BYTES)]


def _blooms_of(batch: Batch) -> list[int]:
    """The Bloom filter of every draft; many have the same tags and scopes."""
    named = zip(batch.column("key"), batch.column("namespace", ""), strict=True)
    keys = list(
        zip(
            batch.column("tags", ()),
            batch.column("user_id"),
            batch.column("agent_id"),
            batch.column("session_id"),
            [None if key is None else namespace for key, namespace in named],
            strict=True,
        )
    )
    known = {key: record_mask(*key) for key in set(keys)}
    return [known[key] for key in keys]


def encode_batch(
    batch: Batch,
    strengths: Strengths,
    ids: Sequence[int],
    tier_codes: Sequence[int],
    vectors: NDArray[np.float32] | None,
    *,
    now_ms: int,
    dim: int,
    uuid: bytes,
    config: Config,
) -> Encoded:
    """Record images of drafts. ``vectors`` is (n, dim) f32; zeros or None: without a vector."""
    headers = np.zeros(batch.size, dtype=RECORD_DTYPE)
    codes = np.zeros((batch.size, dim), dtype=np.int8)
    if vectors is not None:
        given = vectors.any(axis=1)
        if given.all():
            codes, headers["scale"] = quantize(normalize(vectors))
        else:
            codes[given], headers["scale"][given] = quantize(normalize(vectors[given]))
    headers["version"] = RECORD_VERSION
    headers["tier"] = tier_codes
    headers["id"] = ids
    headers["event_ms"] = [now_ms if ms is None else ms for ms in batch.column("event_ms")]
    headers["tags"] = _blooms_of(batch)
    headers["confidence"] = round(255 * config.default_confidence)
    for name, column in batch.given("category", "modality").items():
        headers[name] = column
    for name, column in batch.given("valence", "arousal", "confidence").items():
        values = [config.default_confidence if each is None else each for each in column]
        headers[name] = np.rint(np.array(values) * (127 if name == "valence" else 255))
    headers["flags"] = strengths.flags
    headers["importance"] = strengths.importance
    headers["stability_days"] = strengths.stability_days
    headers["utility"] = 0.5
    seconds = headers["event_ms"] // 1000
    headers["last_access_s"] = np.minimum(np.maximum(seconds, 0), _MAX_U32)
    for column in batch.given("restored").values():
        for n, restored in enumerate(column):
            for name, value in (restored or {}).items():
                headers[name][n] = value
    images = image_rows(headers, codes, stride_of(dim))
    return reseal(images, uuid)


def reseal(images: Bytes, uuid: bytes) -> Encoded:
    """Set the checksums of record images in place; returns both views of the images."""
    crc = np.empty(len(images), dtype=np.uint32)
    crc32c_rows(images, crc, uuid)
    headers = headers_of(images)
    headers["crc"] = crc
    return Encoded(images, headers)


#: columns of the catalog's record table with the name of a draft's field
_RECORD = ("valid_from_ms", "valid_until_ms", "session_id", "agent_id", "user_id")
#: fields of `MemoryRecord` with the name of a draft's field
_VIEW = ("text", "tags", *_RECORD, "role", "source", "parents", "decision")


def append_batch(
    tx: Transaction,
    tiers: Sequence[TierStore],
    batch: Batch,
    ids: list[int],
    encoded: Encoded,
    now_ms: int,
) -> None:
    """Stage the images and rows of new records, tier by tier."""
    record = {
        "id": ids,
        "event_ms": encoded.headers["event_ms"].tolist(),
        "recorded_ms": [now_ms] * batch.size,
        "mutable": encoded.mutables(),
        **batch.given(*_RECORD),
    }
    content = {"id": ids, **_content(batch)}
    tags = batch.column("tags", ())
    for tier, members in _grouped(tiers):
        for start in range(0, len(members), tier.max_batch):
            part = members[start : start + tier.max_batch]
            if len(part) == batch.size:
                _place(tx, tier, encoded.images, record, content, tags)
            else:
                _place(
                    tx,
                    tier,
                    np.ascontiguousarray(encoded.images[part]),
                    _part_of(record, part),
                    _part_of(content, part),
                    [tags[n] for n in part],
                )


def _content(batch: Batch) -> dict[str, list[Any]]:
    columns = batch.given("text", "tags", "role", "source", "parents")
    if "tags" in columns:
        columns["tags"] = [catalog_rows.tags_json(tags) for tags in columns["tags"]]
    if "parents" in columns:
        columns["parents"] = [catalog_rows.to_json(parents) for parents in columns["parents"]]
    for encoded in batch.given("metadata_json").values():
        columns["metadata"] = [None if text == "{}" else text for text in encoded]
    return columns


def _place(
    tx: Transaction,
    tier: TierStore,
    images: NDArray[np.uint8],
    record: dict[str, list[Any]],
    content: dict[str, list[Any]],
    tags: list[tuple[str, ...]],
) -> None:
    if hasattr(tier, "place_by_user"):  # what ``isinstance`` finds out in ten calls
        users = record.get("user_id") or [None] * len(images)
        placed = cast("PlacesByUser", tier).place_by_user(tx, images, users)
    else:
        placed = tier.place(tx, images, np.array(record["event_ms"], dtype=np.int64))
    if placed.evicted:
        gone = tx.catalog.fetch(placed.evicted)
        catalog_rows.delete_rows(tx.connection, gone.values())
    places = {"segment_id": placed.segment_ids.tolist(), "slot": placed.slots.tolist()}
    catalog_rows.insert_rows(tx.connection, record | places, content, tags)


def _part_of(columns: dict[str, list[Any]], part: list[int]) -> dict[str, list[Any]]:
    return {name: [column[n] for n in part] for name, column in columns.items()}


def _grouped(tiers: Sequence[TierStore]) -> list[tuple[TierStore, list[int]]]:
    found: dict[str, tuple[TierStore, list[int]]] = {}
    for n, tier in enumerate(tiers):
        found.setdefault(tier.name, (tier, []))[1].append(n)
    return list(found.values())


def records_of(
    batch: Batch,
    ids: list[int],
    tier_names: list[str],
    headers: NDArray[np.void],
    now_ms: int,
) -> list[MemoryRecord]:
    """The records that were just stored, as callers get them."""
    columns: dict[str, list[Any]] = {
        "id": ids,
        "tier": tier_names,
        "recorded_ms": [now_ms] * batch.size,
        "read_ms": [now_ms] * batch.size,
        "metadata": [{} if given is None else given for given in batch.column("metadata")],
        **batch.given(*_VIEW),
        **header_columns(headers),
    }
    if any(tags and tags[-1].startswith(RESERVED) for tags in columns.get("tags", ())):
        columns.update(tags_and_links(columns["tags"]))
    return make_records(columns)
