"""faiss: flat, 8-bit, RaBitQ and HNSW, each with a ready-made bitmap as its id selector."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from bench.rivals.contenders.base import Ask, UnsupportedError
from bench.rivals.metrics import F32
from bench.rivals.workload import Share, Workload

#: records that a quantizer or a clustering is trained on
_TRAINING = 100_000


class Faiss:
    """An index made by faiss's factory, inner product over unit vectors.

    recipe: a factory string; ``{lists}`` becomes about 4 sqrt(n), a power of two.
    kind: decides the class of search parameters: "flat", "rabitq", "fast", "ivf", "hnsw".
    refine: k times this many candidates are scored again by 8-bit codes; 0 for an index without.
    """

    def __init__(
        self,
        recipe: str,
        kind: str = "flat",
        *,
        refine: int = 0,
        nprobe: int = 0,
        ef_search: int = 0,
        ef_construction: int = 0,
    ) -> None:
        self.recipe, self.kind, self.refine = recipe, kind, refine
        self.nprobe, self.ef_search, self.ef_construction = nprobe, ef_search, ef_construction
        self._bitmaps: dict[str, Any] = {}

    @property
    def effort(self) -> int:
        """Lists probed, or candidates kept: what buys recall with time."""
        return self.nprobe if self.kind == "ivf" else self.ef_search

    @effort.setter
    def effort(self, value: int) -> None:
        if self.kind == "ivf":
            self.nprobe = value
        else:
            self.ef_search = value

    def imports(self) -> None:
        import faiss

        self.faiss = faiss

    def build(self, work: Workload, folder: Path) -> dict[str, Any]:
        faiss = self.faiss
        lists = 1 << round(np.log2(4 * work.records**0.5))
        recipe = self.recipe.format(lists=lists)
        index = faiss.index_factory(work.dim, recipe, faiss.METRIC_INNER_PRODUCT)
        if self.ef_construction:
            index.hnsw.efConstruction = self.ef_construction
        rng = np.random.default_rng(1)
        if not index.is_trained:
            rows = np.sort(rng.permutation(work.records)[:_TRAINING])
            index.train(np.ascontiguousarray(work.vectors[rows]))
        for _, chunk in work.chunks():
            index.add(chunk)
        folder.mkdir(parents=True, exist_ok=True)
        faiss.write_index(index, str(folder / "faiss.index"))
        return {"recipe": recipe}

    def open(self, work: Workload, folder: Path, threads: int) -> None:
        self.faiss.omp_set_num_threads(threads)
        self.index = self.faiss.read_index(str(folder / "faiss.index"))
        self.work = work

    def ask(self, cue: F32, k: int, share: Share) -> Ask:
        params, index, query = self._params(share, k), self.index, cue[None, :]
        return lambda: index.search(query, k, params=params)

    def rows(self, answer: Any, share: Share) -> list[int]:
        return [int(row) for row in answer[1][0] if row >= 0]

    def close(self) -> None:
        self.index = None

    def _params(self, share: Share, k: int) -> Any:
        faiss, selector = self.faiss, self._selector(share)
        if self.kind == "fast":
            if selector is not None:
                raise UnsupportedError("this index takes no search parameters, so no selector")
            return None
        own: dict[str, Callable[[], Any]] = {
            "flat": lambda: faiss.SearchParameters(sel=selector),
            "rabitq": lambda: faiss.RaBitQSearchParameters(sel=selector, qb=4),
            "ivf": lambda: faiss.IVFRaBitQSearchParameters(sel=selector, nprobe=self.nprobe, qb=4),
            "hnsw": lambda: faiss.SearchParametersHNSW(
                sel=selector, efSearch=max(self.ef_search, k)
            ),
        }
        params = own[self.kind]()
        if not self.refine:
            return params
        return faiss.IndexRefineSearchParameters(k_factor=self.refine, base_index_params=params)

    def _selector(self, share: Share) -> Any:
        bits = self.work.bitmap(share)
        if bits is None:
            return None
        if share.column not in self._bitmaps:
            # the selector points into the array, which has to outlive it
            self._bitmaps[share.column] = (self.faiss.IDSelectorBitmap(bits), bits)
        return self._bitmaps[share.column][0]


class FaissFastRefined(Faiss):
    """The fast scan of RaBitQ codes, then 8-bit codes of the best.

    faiss hands no parameters down to this index, so the factor is a property of the index.
    """

    def open(self, work: Workload, folder: Path, threads: int) -> None:
        super().open(work, folder, threads)
        self.faiss.downcast_index(self.index).k_factor = self.refine

    def _params(self, share: Share, k: int) -> Any:
        if share.column:
            raise UnsupportedError("this index takes no search parameters, so no selector")
        return None
