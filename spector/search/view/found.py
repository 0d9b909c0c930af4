"""A hit of a recall as it was found: the bytes, the catalog's row, and why it has its score."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from spector.kernel.contract import RESERVED, Query, lengths
from spector.language.words import wording_of
from spector.layout import HEADER_BYTES, RECORD_DTYPE
from spector.records import Details, Explanation, Hit, MemoryRecord, complete
from spector.search.view.snapshot import Candidate
from spector.store.catalog import StoredRow, decode_row
from spector.store.core import header_of, to_record
from spector.store.files import Bytes

__all__ = [
    "FoundRecord",
    "candidate_of",
    "confine",
    "explain",
    "found_of",
    "image_of",
    "note_details",
    "units_of",
    "vectors_of",
    "wording_in",
]

#: how reserved tags begin in the JSON text of a row's tags
_RESERVED_IN_JSON = json.dumps(RESERVED)[1:-1]
_SPEAKER_IN_JSON = '"speaker"'
_CONFIDENCE_AT = RECORD_DTYPE.fields["confidence"][1]  # type: ignore[index]


class FoundRecord:
    """All that it takes to make a hit's record.

    Attributes:
        image: (stride,) u8. wording: of the text, where it is known, see `wording_in`.
        details: what few memories have. read_ms: the moment of the recall.
    """

    __slots__ = (
        "_newer",
        "_row",
        "candidate",
        "details",
        "id",
        "image",
        "read_ms",
        "text",
        "tier",
        "wording",
    )

    def __init__(
        self,
        record_id: int,
        text: str,
        tier: str,
        row: StoredRow,
        image: Bytes,
        newer: tuple[int, ...],
        candidate: Candidate,
        wording: str | None,
        read_ms: int,
    ) -> None:
        self.id = record_id
        self.text = text
        self.tier = tier
        self._row = row
        self._newer = newer
        self.image = image
        self.candidate = candidate
        self.wording = wording
        self.details: Details | None = None
        self.read_ms = read_ms

    @property
    def may_have_links(self) -> bool:
        """Whether the record may name other memories; most do not, and need not be made."""
        row = self._row
        return bool(self._newer or row.parents or (row.tags and _RESERVED_IN_JSON in row.tags))

    @property
    def speaker(self) -> str:
        """The speaker, or the role, as it was given; without a record being made."""
        row = self._row
        named = None
        if row.metadata and _SPEAKER_IN_JSON in row.metadata:
            named = json.loads(row.metadata).get("speaker")
        return named if isinstance(named, str) and named else row.role or ""

    @property
    def scope(self) -> tuple[str | None, str | None]:
        """User and agent."""
        return self._row.user_id, self._row.agent_id

    @property
    def source(self) -> str | None:
        return self._row.source

    @property
    def event_ms(self) -> int:
        return self._row.event_ms

    @property
    def certainty(self) -> int:
        """Confidence as it is stored, 0..255."""
        return int(self.image[_CONFIDENCE_AT])

    def record(self) -> MemoryRecord:
        made = to_record(decode_row(self._row), header_of(self.image), self.tier, self._newer)
        complete(made, self.details, self.read_ms)
        return made


def confine(hits: Sequence[Hit], within: Callable[[MemoryRecord], MemoryRecord]) -> None:
    """Have the records of hits be what ``within`` makes of them, where they may have links."""
    for hit in hits:
        if isinstance(hit._found, FoundRecord) and hit._found.may_have_links:
            object.__setattr__(hit, "record", within(hit.record))


def note_details(hit: Hit, details: Details) -> None:
    """Have the record of a hit say what is known of it beside its row."""
    found = found_of(hit)
    if found.details is None:
        found.details, made = details, hit.made_record
        if made is not None:
            complete(made, details, found.read_ms)


def found_of(hit: Hit) -> FoundRecord:
    """Where a hit of a recall is from."""
    found = hit._found
    assert isinstance(found, FoundRecord), "it is from a recall"
    return found


def image_of(hit: Hit) -> Bytes:
    """(stride,) u8: the record of a hit that a recall has found."""
    return found_of(hit).image


def wording_in(hit: Hit) -> str:
    """The words of a hit, whatever their case and the space between them."""
    found = hit._found
    known = found.wording if isinstance(found, FoundRecord) else None
    return wording_of(hit.text) if known is None else known


def candidate_of(hit: Hit) -> Candidate | None:
    """What a hit was ranked by; None for one that no recall has found."""
    return hit._found.candidate if isinstance(hit._found, FoundRecord) else None


def explain(
    image: Bytes, fused: float, similarity: float, evidence: Mapping[str, float], query: Query
) -> Explanation:
    """The terms of one score, those of the kernel computed by the reference formula."""
    from spector.kernel.reference import score_terms  # most recalls are not explained

    header = image[:HEADER_BYTES].view(RECORD_DTYPE)
    values = score_terms(header, np.array([similarity], dtype=np.float32), query)
    profile = query.profile
    weights = profile.weights()
    raw = {name: float(values[name][0]) for name, weight in weights.items() if weight}
    terms = {name: weights[name] * value for name, value in raw.items()}
    if profile.fusion == "multiplicative":
        terms["similarity"] = max(0.0, terms.get("similarity", 0.0))
    modifiers = {
        name: float(values[name][0])
        for name in ("confidence", "tier", "category", "mood", "unresolved", "consolidated")
        if float(values[name][0]) != 1.0
    }
    return Explanation(
        profile=profile.name,
        fusion=profile.fusion,
        values=raw,
        terms=terms,
        modifiers=modifiers,
        fused=fused,
        evidence=dict(evidence),
    )


def units_of(hits: Sequence[Hit]) -> NDArray[np.float32]:
    """The same made exactly of length 1, which their codes are but about; 0 of what has none."""
    vectors = vectors_of(hits)
    long = np.maximum(lengths(vectors), np.float32(1e-12))
    return np.asarray(vectors / long[:, None], np.float32)


def vectors_of(hits: Sequence[Hit]) -> NDArray[np.float32]:
    """(n, dim) float32 unit vectors of hits of the read path, as they are stored."""
    images: Bytes = np.stack([image_of(hit) for hit in hits])
    headers = np.ascontiguousarray(images[:, :HEADER_BYTES]).view(RECORD_DTYPE)[:, 0]
    codes = np.ascontiguousarray(images[:, HEADER_BYTES:]).view(np.int8)
    return np.asarray(codes * headers["scale"][:, None], np.float32)
