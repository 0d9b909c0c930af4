"""What one search looks at: its plan, its snapshot, the records that pass its filters."""

from __future__ import annotations

from spector.search.view.confirm import (
    Confirmer,
    candidate_of,
    confine,
    found_of,
    image_of,
    units_of,
    vectors_of,
)
from spector.search.view.features import (
    NOWHERE,
    FeatureTable,
    NormCache,
    all_features,
    features_of,
    header_column,
    marked,
    mixed_vectors,
    places_of,
    unit_vectors,
)
from spector.search.view.filtering import (
    Places,
    allowed,
    conditions,
    partitions_of,
)
from spector.search.view.formulas import (
    TYPICAL_DEVIATION,
    deviation,
    diverse,
    idf_of,
    length_norm,
    mixed,
    reciprocal_ranks,
)
from spector.search.view.ordering import (
    Ranked,
    beyond,
    from_hits,
)
from spector.search.view.plan import (
    EVERYTHING,
    RecallRequest,
    Selection,
    asked_topic,
    by_importance,
    make_selection,
    pinned_request,
    until,
    usual_k,
    within,
)
from spector.search.view.reach import (
    Reach,
)
from spector.search.view.scan_query import (
    lacks_words,
    query_of,
    scored_all,
    stats_of,
)
from spector.search.view.snapshot import (
    Candidate,
    Moved,
    Snapshot,
    make_snapshot,
    patched_snapshot,
)

__all__ = [
    "EVERYTHING",
    "NOWHERE",
    "TYPICAL_DEVIATION",
    "Candidate",
    "Confirmer",
    "FeatureTable",
    "Moved",
    "NormCache",
    "Places",
    "Ranked",
    "Reach",
    "RecallRequest",
    "Selection",
    "Snapshot",
    "all_features",
    "allowed",
    "asked_topic",
    "beyond",
    "by_importance",
    "candidate_of",
    "conditions",
    "confine",
    "deviation",
    "diverse",
    "features_of",
    "found_of",
    "from_hits",
    "header_column",
    "idf_of",
    "image_of",
    "lacks_words",
    "length_norm",
    "make_selection",
    "make_snapshot",
    "marked",
    "mixed",
    "mixed_vectors",
    "partitions_of",
    "patched_snapshot",
    "pinned_request",
    "places_of",
    "query_of",
    "reciprocal_ranks",
    "scored_all",
    "stats_of",
    "unit_vectors",
    "units_of",
    "until",
    "usual_k",
    "vectors_of",
    "within",
]
