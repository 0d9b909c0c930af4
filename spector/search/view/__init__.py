"""What one search looks at: its plan, its snapshot, the records that pass its filters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spector.faces import on_first_use

if TYPE_CHECKING:
    from spector.search.view.answer import Answer
    from spector.search.view.confirm import Confirmer
    from spector.search.view.cue import NO_READING, Cue, Reading
    from spector.search.view.eligible import eligible_rows
    from spector.search.view.features import (
        NOWHERE,
        FeatureTable,
        NormCache,
        all_features,
        features_of,
        header_column,
        mark_rows,
        mixed_vectors,
        places_of,
        unit_vectors,
    )
    from spector.search.view.formulas import (
        TYPICAL_DEVIATION,
        choose_by_mmr,
        deviation,
        idf_of,
        length_norm,
        mix_neighbours,
        reciprocal_ranks,
    )
    from spector.search.view.found import (
        candidate_of,
        confine,
        found_of,
        image_of,
        note_details,
        units_of,
        vectors_of,
        wording_in,
    )
    from spector.search.view.ordering import (
        Modifier,
        Ranked,
        scanned_hits,
        unfeatured_hits,
    )
    from spector.search.view.plan import (
        AllowedRecords,
        Plan,
        allowed_by_keys,
        allowed_records,
        is_unfiltered,
        make_plan,
    )
    from spector.search.view.request import (
        EVERYTHING,
        EVERYTHING_SAID,
        RecallRequest,
        Selection,
        make_selection,
        pinned_request,
        told_within,
        until,
        with_rested,
        within,
    )
    from spector.search.view.snapshot import (
        Candidate,
        Moved,
        Snapshot,
        make_snapshot,
        patch_snapshot,
    )

__all__ = [
    "EVERYTHING",
    "EVERYTHING_SAID",
    "NOWHERE",
    "NO_READING",
    "TYPICAL_DEVIATION",
    "AllowedRecords",
    "Answer",
    "Candidate",
    "Confirmer",
    "Cue",
    "FeatureTable",
    "Modifier",
    "Moved",
    "NormCache",
    "Plan",
    "Ranked",
    "Reading",
    "RecallRequest",
    "Selection",
    "Snapshot",
    "all_features",
    "allowed_by_keys",
    "allowed_records",
    "candidate_of",
    "choose_by_mmr",
    "confine",
    "deviation",
    "eligible_rows",
    "features_of",
    "found_of",
    "header_column",
    "idf_of",
    "image_of",
    "is_unfiltered",
    "length_norm",
    "make_plan",
    "make_selection",
    "make_snapshot",
    "mark_rows",
    "mix_neighbours",
    "mixed_vectors",
    "note_details",
    "patch_snapshot",
    "pinned_request",
    "places_of",
    "reciprocal_ranks",
    "scanned_hits",
    "told_within",
    "unfeatured_hits",
    "unit_vectors",
    "units_of",
    "until",
    "vectors_of",
    "with_rested",
    "within",
    "wording_in",
]

__getattr__ = on_first_use(__name__)
