"""The values with which the designs that spector learned from would run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

__all__ = ["PRESETS"]

#: a memory is looked for among the eight nearest by likeness, and nothing limits what is retired
_BANDS: Final[Mapping[str, Any]] = {"gate_by": "bands", "gate_neighbours": 8}

#: name -> flat fields, and fields by section, that differ from the defaults
PRESETS: Final[Mapping[str, Mapping[str, Any]]] = {
    "spector": {},
    # Cognitive Memory v9
    "v9": {
        "profile": "cognitive",
        "context_abbreviated": 0.4,
        "observe": {
            **_BANDS,
            "rewrite": True,
            "on_update": "merge",
            "reward_prior": False,
            "exclamation": 0.2,
            "confidence": "class",
            "entity_by": "mention",
        },
        "knowledge": {"edges_per_memory": 0},
        "sleep": {
            "order": "v9",
            "utility_drift_up": True,
            "promote_accesses_utility": 0.0,
            "promote_entity_memories": 3,
            "promote_entity_sessions": 1,
            "promote_by_entity": "move",
            "cluster_min_importance": 0.0,
            "forget_contradicted": True,
            "blast_radius": 1.0,
            "capacity_active": 500,
            "capacity_trim": 450,
            "expiry_action": "dormant",
        },
    },
    # Unified Cognitive Memory Architecture
    "ucma": {
        "profile": "ucma",
        "initial_stability_days": 1.0,
        "stability_by_importance": False,
        "observe": {**_BANDS, "importance": "ucma"},
        "association": {"expand": True, "min_similarity": 0.50},
        "sleep": {
            "retention_curve": "ebbinghaus",
            "compress_below": "forget",
            "forget_max_importance": 1.0,
            "blast_radius": 1.0,
            "forget_action": "forget",
        },
    },
    # MAXIM
    "maxim": {
        "observe": {**_BANDS},
        "sleep": {
            "promote_entity_memories": 1,
            "promote_entity_sessions": 1,
            "blast_radius": 1.0,
        },
    },
}
