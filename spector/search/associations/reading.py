"""Knowledge in the moment of a search."""

from __future__ import annotations

from collections.abc import Iterator

from spector.knowledge import KnowledgeReader
from spector.process import managed
from spector.search.view import Plan
from spector.store.catalog import Catalog

__all__ = ["catalog_of", "has_details", "knowledge_of"]


def catalog_of(plan: Plan) -> Catalog:
    """The catalog of the store on disk, or of the only one."""
    return plan.snap.stores[_store_of(plan)].catalog


def has_details(plan: Plan) -> bool:
    """False where nothing is known of any memory beside its row."""
    return bool(plan.snap.details(_store_of(plan)))


@managed
def knowledge_of(plan: Plan) -> Iterator[KnowledgeReader]:
    """What the store on disk, or the only one, knows in the snapshot of a plan."""
    n = _store_of(plan)
    catalog, tables = plan.snap.stores[n].catalog, plan.snap.details(n)
    with catalog.reading() as db:
        yield KnowledgeReader(db, catalog.path, tables)


def _store_of(plan: Plan) -> int:
    for n, store in enumerate(plan.snap.stores):
        if store.files.durable:
            return n
    return 0
