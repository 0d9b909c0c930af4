"""The other engines, each imported when its turn comes, in its own process."""

from __future__ import annotations

import importlib
import os
import sqlite3
from pathlib import Path
from typing import Any

import numpy as np

from bench.rivals.contender import Ask, Contender, UnsupportedError
from bench.rivals.metrics import F32
from bench.rivals.workload import FILTERS, SHARES, Share, Workload

#: records that a quantizer or a clustering is trained on
_TRAINING = 100_000


class Faiss(Contender):
    """An index made by faiss's factory, inner product over unit vectors.

    recipe: a factory string; ``{lists}`` becomes about 4 sqrt(n), a power of two.
    kind: decides the class of search parameters: "flat", "rabitq", "ivf", "hnsw".
    effort: lists probed, or candidates kept.
    refine: k times this many candidates are scored again by 8-bit codes; 0 for an index without.
    """

    module = "faiss"

    def __init__(self, recipe: str, kind: str = "flat", *, refine: int = 0, effort: int = 0):
        self.recipe, self.kind, self.refine, self.effort = recipe, kind, refine, effort
        self._bitmaps: dict[str, Any] = {}

    def build(self, work: Workload, folder: Path) -> dict[str, Any]:
        faiss, lists = self.engine, 1 << round(np.log2(4 * work.records**0.5))
        recipe = self.recipe.format(lists=lists)
        index = faiss.index_factory(work.dim, recipe, faiss.METRIC_INNER_PRODUCT)
        if self.kind == "hnsw":
            index.hnsw.efConstruction = 100
        if not index.is_trained:
            rows = np.sort(np.random.default_rng(1).permutation(work.records)[:_TRAINING])
            index.train(np.ascontiguousarray(work.vectors[rows]))
        for _, chunk in work.chunks():
            index.add(chunk)
        faiss.write_index(index, str(folder / "faiss.index"))
        return {"recipe": recipe}

    def open(self, work: Workload, folder: Path) -> None:
        self.engine.omp_set_num_threads(1)
        self.index, self.work = self.engine.read_index(str(folder / "faiss.index")), work

    def ask(self, cue: F32, k: int, share: Share) -> Ask:
        params, index, query = self._params(share, k), self.index, cue[None, :]
        return lambda: index.search(query, k, params=params)

    def rows(self, answer: Any, share: Share) -> list[int]:
        return [int(row) for row in answer[1][0] if row >= 0]

    def _params(self, share: Share, k: int) -> Any:
        faiss, chosen = self.engine, {"sel": self._selector(share)}
        if self.kind == "flat":
            params = faiss.SearchParameters(**chosen)
        elif self.kind == "rabitq":
            params = faiss.RaBitQSearchParameters(qb=4, **chosen)
        elif self.kind == "ivf":
            params = faiss.IVFRaBitQSearchParameters(nprobe=self.effort, qb=4, **chosen)
        else:
            params = faiss.SearchParametersHNSW(efSearch=max(self.effort, k), **chosen)
        if not self.refine:
            return params
        return faiss.IndexRefineSearchParameters(k_factor=self.refine, base_index_params=params)

    def _selector(self, share: Share) -> Any:
        kept = self.work.kept(share)
        if kept is None:
            return None
        if share.column not in self._bitmaps:
            bits = np.packbits(kept, bitorder="little")
            # the selector points into the array, which has to outlive it
            self._bitmaps[share.column] = (self.engine.IDSelectorBitmap(bits), bits)
        return self._bitmaps[share.column][0]


class Usearch(Contender):
    """HNSW over usearch's own int8 quantisation."""

    module = "usearch.index"
    effort = 64

    def build(self, work: Workload, folder: Path) -> None:
        index = self._make(work)
        for start, chunk in work.chunks():
            index.add(np.arange(start, start + len(chunk)), chunk)
        index.save(str(folder / "usearch.index"))

    def open(self, work: Workload, folder: Path) -> None:
        self.index = self._make(work)
        self.index.load(str(folder / "usearch.index"))

    def ask(self, cue: F32, k: int, share: Share) -> Ask:
        if share.column:
            raise UnsupportedError("its Python interface has no filter")
        self.index.expansion_search = max(self.effort, k)
        return lambda: self.index.search(cue, k, threads=1)

    def rows(self, answer: Any, share: Share) -> list[int]:
        return [int(row) for row in answer.keys]

    def _make(self, work: Workload) -> Any:
        return self.engine.Index(
            ndim=work.dim, metric="cos", dtype="i8", connectivity=16, expansion_add=100
        )


class Hnswlib(Contender):
    """HNSW over float32; its filter is a Python function that the search calls back."""

    module = "hnswlib"
    effort = 64

    def build(self, work: Workload, folder: Path) -> None:
        index = self.engine.Index(space="ip", dim=work.dim)
        index.init_index(max_elements=work.records, ef_construction=100, M=16, random_seed=1)
        for start, chunk in work.chunks():
            index.add_items(chunk, np.arange(start, start + len(chunk)))
        index.save_index(str(folder / "hnswlib.index"))

    def open(self, work: Workload, folder: Path) -> None:
        self.index, self.work = self.engine.Index(space="ip", dim=work.dim), work
        self.index.load_index(str(folder / "hnswlib.index"))
        self._kept: dict[str, bytes] = {}

    def ask(self, cue: F32, k: int, share: Share) -> Ask:
        index, kept, gate = self.index, self.work.kept(share), {}
        index.set_ef(max(self.effort, k))
        if kept is not None:
            admits = self._kept.setdefault(share.column, kept.tobytes())
            # it raises rather than to return fewer than k
            k, gate = min(k, int(kept.sum())), {"filter": admits.__getitem__}
        return lambda: index.knn_query(cue, k, num_threads=1, **gate)

    def rows(self, answer: Any, share: Share) -> list[int]:
        return [int(row) for row in answer[0][0]]


class SqliteVec(Contender):
    """A vec0 table: brute force in SQLite, filters as boolean metadata columns."""

    module = "sqlite_vec"

    def build(self, work: Workload, folder: Path) -> None:
        db = self._connect(folder)
        columns = ", ".join(f"{share.column} boolean" for share in FILTERS)
        db.execute(
            "CREATE VIRTUAL TABLE v USING vec0(id INTEGER PRIMARY KEY, "
            f"e float[{work.dim}] distance_metric=cosine, {columns})"
        )
        marks = ", ".join("?" * len(FILTERS))
        for start, chunk in work.chunks(20_000):
            flags = work.members[1:, start : start + len(chunk)].T.astype(int).tolist()
            db.execute("BEGIN")
            db.executemany(
                f"INSERT INTO v VALUES (?, ?, {marks})",
                ((start + n, row.tobytes(), *flags[n]) for n, row in enumerate(chunk)),
            )
            db.execute("COMMIT")
        db.close()

    def open(self, work: Workload, folder: Path) -> None:
        self.db = self._connect(folder)

    def ask(self, cue: F32, k: int, share: Share) -> Ask:
        gate = f" AND {share.column} = 1" if share.column else ""
        sql, value = f"SELECT id FROM v WHERE e MATCH ? AND k = ?{gate}", cue.tobytes()
        return lambda: list(self.db.execute(sql, (value, k)))

    def rows(self, answer: Any, share: Share) -> list[int]:
        return [int(row[0]) for row in answer]

    def _connect(self, folder: Path) -> Any:
        """By Python's own SQLite when it may load extensions, else by apsw's."""
        path = str(folder / "vec.db")
        if hasattr(sqlite3.Connection, "enable_load_extension"):
            db: Any = sqlite3.connect(path, isolation_level=None)
        else:
            db = importlib.import_module("apsw").Connection(path)
        db.enable_load_extension(True)
        db.load_extension(self.engine.loadable_path())
        return db


class Lance(Contender):
    """A LanceDB table without a vector index."""

    module = "lancedb"

    def build(self, work: Workload, folder: Path) -> None:
        pa = importlib.import_module("pyarrow")
        schema = pa.schema(
            [pa.field("id", pa.int64()), pa.field("vector", pa.list_(pa.float32(), work.dim))]
            + [pa.field(share.column, pa.bool_()) for share in FILTERS]
        )

        def pieces() -> Any:
            for start, chunk in work.chunks():
                stop, flat = start + len(chunk), pa.array(chunk.reshape(-1), pa.float32())
                columns = [
                    pa.array(np.arange(start, stop)),
                    pa.FixedSizeListArray.from_arrays(flat, work.dim),
                    *(pa.array(work.members[n, start:stop]) for n in range(1, len(SHARES))),
                ]
                yield pa.RecordBatch.from_arrays(columns, schema=schema)

        reader = pa.RecordBatchReader.from_batches(schema, pieces())
        table = self.engine.connect(str(folder)).create_table("v", reader, schema=schema)
        for share in FILTERS:
            table.create_scalar_index(share.column, index_type="BITMAP")

    def open(self, work: Workload, folder: Path) -> None:
        self.table = self.engine.connect(str(folder)).open_table("v")

    def ask(self, cue: F32, k: int, share: Share) -> Ask:
        def run() -> Any:
            query = self.table.search(cue).distance_type("cosine").limit(k).select(["id"])
            return (query.where(share.column, prefilter=True) if share.column else query).to_arrow()

        return run

    def rows(self, answer: Any, share: Share) -> list[int]:
        return [int(row) for row in answer.column("id").to_numpy()]


class Chroma(Contender):
    """A persistent Chroma collection (HNSW), filters by metadata."""

    module = "chromadb"

    def build(self, work: Workload, folder: Path) -> None:
        hnsw = {"space": "cosine", "ef_construction": 100, "ef_search": 64, "max_neighbors": 16}
        client = self._client(folder)
        collection = client.create_collection(
            "vectors", embedding_function=None, configuration={"hnsw": hnsw}
        )
        for start, chunk in work.chunks(client.get_max_batch_size()):
            rows = range(start, start + len(chunk))
            collection.add(
                ids=[str(row) for row in rows],
                embeddings=chunk,
                metadatas=[
                    {s.column: True for n, s in enumerate(FILTERS, 1) if work.members[n, row]}
                    or None
                    for row in rows
                ],
            )

    def open(self, work: Workload, folder: Path) -> None:
        self.collection = self._client(folder).get_collection("vectors", embedding_function=None)

    def ask(self, cue: F32, k: int, share: Share) -> Ask:
        where = {share.column: True} if share.column else None
        return lambda: self.collection.query(
            query_embeddings=[cue], n_results=k, where=where, include=[]
        )

    def rows(self, answer: Any, share: Share) -> list[int]:
        return [int(row) for row in answer["ids"][0]]

    def _client(self, folder: Path) -> Any:
        os.environ["ANONYMIZED_TELEMETRY"] = "False"
        settings = self.engine.config.Settings(anonymized_telemetry=False)
        return self.engine.PersistentClient(path=str(folder), settings=settings)
