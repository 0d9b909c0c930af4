"""Knowledge in the moment of a search."""

from __future__ import annotations

from collections.abc import Iterator

from spector.knowledge import KnowledgeReader
from spector.process import managed
from spector.search.view import Plan
from spector.store.catalog import Catalog

__all__ = ["catalog_of", "knowledge_of"]


def catalog_of(plan: Plan) -> Catalog:
    """The catalog of the store on disk, or of the only one."""
    stores = plan.snap.stores
    return next((each for each in stores if each.files.durable), stores[0]).catalog


@managed
def knowledge_of(plan: Plan) -> Iterator[KnowledgeReader]:
    """What the store on disk, or the only one, knows in the snapshot of a plan."""
    catalog = catalog_of(plan)
    with catalog.reading() as db:
        yield KnowledgeReader(db, catalog.path)
