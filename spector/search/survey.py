"""Reads many memories at once for sleep: strengths as columns, records, vectors, knowledge."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spector.errors import UnknownRecordError
from spector.knowledge import KnowledgeReader
from spector.layout import HEADER_BYTES
from spector.process import managed
from spector.records import MemoryRecord
from spector.store.catalog import split_reserved_tags
from spector.store.core import NO_END, Strengths, read_strengths
from spector.tiers import Finder, TierRouter

__all__ = ["NO_END", "Strengths", "SurveyedText", "Surveyor"]

#: memories that are read while writers wait
_PAGE = 2_000


class SurveyedText(NamedTuple):
    """What a memory says, and who said it."""

    text: str
    role: str | None
    source: str | None
    tags: tuple[str, ...]
    metadata: Mapping[str, Any]
    parents: tuple[int, ...]


class Surveyor:
    """Reads the durable store. Callers check that it is open."""

    def __init__(self, router: TierRouter, finder: Finder) -> None:
        self._router = router
        self._finder = finder
        #: how many readers of a store in memory are open, for which writers wait
        self.locking = 0

    def all(self, between: Callable[[], object] = int) -> Strengths:
        """Every lasting memory, by ascending id. Writers wait for a page at a time.

        Args:
            between: called after each page.
        """
        pages, after = [], -1
        while True:
            page = read_strengths(self._router.durable_store(), after=after, limit=_PAGE)
            pages.append(page)
            between()
            if len(page) < _PAGE:
                return _joined(pages)
            after = int(page.rows["id"][-1])

    def of(self, ids: Collection[int]) -> Strengths:
        """Those of these memories that there are, by ascending id."""
        return read_strengths(self._router.durable_store(), ids=sorted(ids))

    def words(self, ids: Collection[int]) -> dict[int, SurveyedText]:
        """What those of these memories say that there are."""
        found = self._router.durable_store().catalog.fetch(sorted(ids))
        return {
            each: SurveyedText(
                row.text,
                row.role,
                row.source,
                split_reserved_tags(row.tags).own,
                row.metadata,
                row.parents,
            )
            for each, row in found.items()
        }

    def records(self, ids: Collection[int]) -> dict[int, MemoryRecord]:
        """Those of these memories that there are, as a user sees them."""
        out: dict[int, MemoryRecord] = {}
        for each in sorted(ids):
            with contextlib.suppress(UnknownRecordError):
                out[each] = self._finder.get(each)
        return out

    def vectors(self, ids: Sequence[int]) -> NDArray[np.float32]:
        """(n, dim) f32, each of length 1; zeros for a memory that is gone."""
        store = self._router.durable_store()
        out = np.zeros((len(ids), store.dim), np.float32)
        with store.still():
            found = store.catalog.places_of(list(ids))
            for n, each in enumerate(ids):
                if each in found:
                    image = store.record_image(*found[each])
                    out[n] = image[HEADER_BYTES : HEADER_BYTES + store.dim].view(np.int8)
        lengths = np.sqrt(np.einsum("ij,ij->i", out, out, dtype=np.float64))
        lengths[lengths == 0.0] = 1.0
        unit: NDArray[np.float32] = (out / lengths[:, None]).astype(np.float32)
        return unit

    @managed
    def knowledge(self) -> Iterator[KnowledgeReader]:
        """What the store knows, in one moment.

        A store in memory has one connection, which a writer wants after the store's lock; so this
        takes both in that order, and writers wait for the step.
        """
        store = self._router.durable_store()
        catalog = store.catalog
        with contextlib.ExitStack() as stack:
            if catalog.in_memory:
                stack.enter_context(store.still())
                self.locking += 1
                stack.callback(self._unlock)
            yield KnowledgeReader(stack.enter_context(catalog.reading()), catalog.path)

    def _unlock(self) -> None:
        self.locking -= 1


def _joined(pages: Sequence[Strengths]) -> Strengths:
    """Pages as one, users and sessions numbered through."""
    rows = np.concatenate([page.rows for page in pages])
    names: dict[str, tuple[str | None, ...]] = {}
    for column in ("users", "sessions"):
        numbers: dict[str | None, int] = {}
        renumbered = []
        for page in pages:
            known = [numbers.setdefault(each, len(numbers)) for each in getattr(page, column)]
            renumbered.append(np.array(known, np.int32)[page.rows[column[:-1]]])
        rows[column[:-1]] = np.concatenate(renumbered)
        names[column] = tuple(numbers)
    return Strengths(rows, names["users"], names["sessions"])
