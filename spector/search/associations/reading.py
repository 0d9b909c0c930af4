"""Knowledge in the moment of a search."""

from __future__ import annotations

from collections.abc import Iterator

from spector.knowledge import KnowledgeReader
from spector.process import managed
from spector.search.view import Plan

__all__ = ["knowledge_of"]


@managed
def knowledge_of(plan: Plan) -> Iterator[KnowledgeReader]:
    """What the store on disk, or the only one, knows in the snapshot of a plan."""
    stores = plan.snap.stores
    catalog = next((each for each in stores if each.files.durable), stores[0]).catalog
    with catalog.reading() as db:
        yield KnowledgeReader(db, catalog.path)
