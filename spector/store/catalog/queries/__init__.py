"""Conditions and look-ups over the tables of the catalog."""

from __future__ import annotations

from spector.store.catalog.queries.counts import (
    count_by_namespace,
    count_by_tier,
    count_by_user,
    count_by_ways,
    count_users,
    outermost_users,
    strengths_of,
)
from spector.store.catalog.queries.filters import (
    WITHOUT_USER,
    SqlFilter,
    compile_where,
    told_between,
)
from spector.store.catalog.queries.parents import RecordLinks, parents_after
from spector.store.catalog.queries.places import (
    labels_after,
    labels_of,
    ring_of,
    slots_of,
    strength_of,
    strengths_in,
    users_by_age,
)
from spector.store.catalog.queries.scopes import (
    ANYBODY,
    SCOPES,
    Scope,
    members,
)
from spector.store.catalog.queries.sorts import SAID, of_keys, of_sorts
from spector.store.catalog.queries.supersession import (
    LINKED_SQL,
    LINKS_SQL,
    PINNED_SQL,
    RESTED_SQL,
    SUPERSEDED_SQL,
    ended_among,
    has_ended,
    has_windows,
    join_reserved_tags,
    link_tags,
    newer_than,
    split_reserved_tags,
    successors,
)

__all__ = [
    "ANYBODY",
    "LINKED_SQL",
    "LINKS_SQL",
    "PINNED_SQL",
    "RESTED_SQL",
    "SAID",
    "SCOPES",
    "SUPERSEDED_SQL",
    "WITHOUT_USER",
    "RecordLinks",
    "Scope",
    "SqlFilter",
    "compile_where",
    "count_by_namespace",
    "count_by_tier",
    "count_by_user",
    "count_by_ways",
    "count_users",
    "ended_among",
    "has_ended",
    "has_windows",
    "join_reserved_tags",
    "labels_after",
    "labels_of",
    "link_tags",
    "members",
    "newer_than",
    "of_keys",
    "of_sorts",
    "outermost_users",
    "parents_after",
    "ring_of",
    "slots_of",
    "split_reserved_tags",
    "strength_of",
    "strengths_in",
    "strengths_of",
    "successors",
    "told_between",
    "users_by_age",
]
