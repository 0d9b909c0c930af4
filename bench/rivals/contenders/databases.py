"""sqlite-vec, LanceDB, Chroma and Qdrant's local mode: engines that also keep metadata."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from bench.rivals.contenders.base import Ask
from bench.rivals.contenders.graphs import int8_rows
from bench.rivals.metrics import F32
from bench.rivals.workload import FILTERS, SHARES, Share, Workload


class SqliteVec:
    """A vec0 table: brute force in SQLite, filters as boolean metadata columns."""

    def __init__(self, int8: bool) -> None:
        self.int8 = int8

    def imports(self) -> None:
        import sqlite_vec

        self.extension = sqlite_vec.loadable_path()
        self._connect = _sqlite_with_extensions()

    def build(self, work: Workload, folder: Path) -> dict[str, Any]:
        folder.mkdir(parents=True, exist_ok=True)
        db = self._connect(str(folder / "vec.db"), self.extension)
        kind = "int8" if self.int8 else "float"
        columns = ", ".join(f"{share.column} boolean" for share in FILTERS)
        db.execute(
            f"CREATE VIRTUAL TABLE v USING vec0(id INTEGER PRIMARY KEY, "
            f"e {kind}[{work.dim}] distance_metric=cosine, {columns})"
        )
        vector = "vec_int8(?)" if self.int8 else "?"
        marks = ", ".join("?" * len(FILTERS))
        for start, chunk in work.chunks(20_000):
            rows = int8_rows(chunk) if self.int8 else chunk
            flags = work.members[1:, start : start + len(chunk)].T.astype(int).tolist()
            db.execute("BEGIN")
            db.executemany(
                f"INSERT INTO v VALUES (?, {vector}, {marks})",
                ((start + n, row.tobytes(), *flags[n]) for n, row in enumerate(rows)),
            )
            db.execute("COMMIT")
        db.close()
        return {}

    def open(self, work: Workload, folder: Path, threads: int) -> None:
        self.path = str(folder / "vec.db")
        self._local = threading.local()
        self._here()

    def ask(self, cue: F32, k: int, share: Share) -> Ask:
        vector = "vec_int8(?)" if self.int8 else "?"
        gate = f" AND {share.column} = 1" if share.column else ""
        sql = f"SELECT id FROM v WHERE e MATCH {vector} AND k = ?{gate}"
        value = (int8_rows(cue[None])[0] if self.int8 else cue).tobytes()
        return lambda: list(self._here().execute(sql, (value, k)))

    def rows(self, answer: Any, share: Share) -> list[int]:
        return [int(row[0]) for row in answer]

    def close(self) -> None:
        self._here().close()

    def _here(self) -> Any:
        """A connection of the calling thread, as SQLite wants it."""
        if not hasattr(self._local, "db"):
            self._local.db = self._connect(self.path, self.extension)
        return self._local.db


def _sqlite_with_extensions() -> Callable[[str, str], Any]:
    """A function that connects: Python's own SQLite when it may load extensions, else apsw's."""
    import sqlite3

    if hasattr(sqlite3.Connection, "enable_load_extension"):

        def connect(path: str, extension: str) -> Any:
            db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
            db.enable_load_extension(True)
            db.load_extension(extension)
            return db

        return connect
    import apsw

    def connect_apsw(path: str, extension: str) -> Any:
        db = apsw.Connection(path)
        db.enable_load_extension(True)
        db.load_extension(extension)
        return db

    return connect_apsw


class Lance:
    """A LanceDB table; ``index`` None is brute force, else a kind of vector index."""

    def __init__(self, index: str | None = None) -> None:
        self.kind = index
        self.effort = 20 if index == "ivf_rq" else 64

    def imports(self) -> None:
        import lancedb
        import lancedb.index
        import pyarrow

        self.lancedb, self.arrow = lancedb, pyarrow

    def build(self, work: Workload, folder: Path) -> dict[str, Any]:
        pa = self.arrow
        schema = pa.schema(
            [pa.field("id", pa.int64()), pa.field("vector", pa.list_(pa.float32(), work.dim))]
            + [pa.field(share.column, pa.bool_()) for share in FILTERS]
        )

        def pieces() -> Any:
            for start, chunk in work.chunks():
                stop = start + len(chunk)
                flat = pa.array(chunk.reshape(-1), pa.float32())
                yield pa.RecordBatch.from_arrays(
                    [
                        pa.array(np.arange(start, stop)),
                        pa.FixedSizeListArray.from_arrays(flat, work.dim),
                        *(pa.array(work.members[n, start:stop]) for n in range(1, len(SHARES))),
                    ],
                    schema=schema,
                )

        db = self.lancedb.connect(str(folder))
        reader = pa.RecordBatchReader.from_batches(schema, pieces())
        table = db.create_table("v", reader, schema=schema)
        for share in FILTERS:
            table.create_scalar_index(share.column, index_type="BITMAP")
        if self.kind == "ivf_hnsw_sq":
            table.create_index(
                "cosine",
                vector_column_name="vector",
                index_type="IVF_HNSW_SQ",
                num_partitions=1,
                m=16,
                ef_construction=100,
            )
        elif self.kind == "ivf_rq":
            table.create_index("cosine", vector_column_name="vector", index_type="IVF_RQ")
        return {}

    def open(self, work: Workload, folder: Path, threads: int) -> None:
        self.table = self.lancedb.connect(str(folder)).open_table("v")

    def ask(self, cue: F32, k: int, share: Share) -> Ask:
        def run() -> Any:
            query = self.table.search(cue).distance_type("cosine").limit(k).select(["id"])
            if self.kind == "ivf_hnsw_sq":
                query = query.ef(max(self.effort, k))
            elif self.kind == "ivf_rq":
                query = query.nprobes(self.effort).refine_factor(10)
            if share.column:
                query = query.where(share.column, prefilter=True)
            return query.to_arrow()

        return run

    def rows(self, answer: Any, share: Share) -> list[int]:
        return [int(row) for row in answer.column("id").to_numpy()]

    def close(self) -> None:
        self.table = None


class Chroma:
    """A persistent Chroma collection (HNSW), filters by metadata."""

    def imports(self) -> None:
        os.environ["ANONYMIZED_TELEMETRY"] = "False"
        import chromadb

        self.chroma = chromadb

    def build(self, work: Workload, folder: Path) -> dict[str, Any]:
        client = self._client(folder)
        collection = client.create_collection(
            "vectors",
            embedding_function=None,
            configuration={
                "hnsw": {
                    "space": "cosine",
                    "ef_construction": 100,
                    "ef_search": 64,
                    "max_neighbors": 16,
                }
            },
        )
        step = client.get_max_batch_size()
        for start, chunk in work.chunks(step):
            rows = range(start, start + len(chunk))
            collection.add(
                ids=[str(row) for row in rows],
                embeddings=chunk,
                metadatas=[work.flags(row) or None for row in rows],
            )
        return {}

    def open(self, work: Workload, folder: Path, threads: int) -> None:
        self.collection = self._client(folder).get_collection("vectors", embedding_function=None)

    def ask(self, cue: F32, k: int, share: Share) -> Ask:
        where = {share.column: True} if share.column else None
        collection, vectors = self.collection, [cue]
        return lambda: collection.query(
            query_embeddings=vectors, n_results=k, where=where, include=[]
        )

    def rows(self, answer: Any, share: Share) -> list[int]:
        return [int(row) for row in answer["ids"][0]]

    def close(self) -> None:
        self.collection = None

    def _client(self, folder: Path) -> Any:
        settings = self.chroma.config.Settings(anonymized_telemetry=False)
        return self.chroma.PersistentClient(path=str(folder), settings=settings)


class QdrantLocal:
    """Qdrant's Python client without a server: NumPy over all vectors, payloads in Python.

    In memory, because its files commit every point by itself: 1 ms of processor time a point and
    a wait for the disk. So opening means loading everything again.
    """

    def imports(self) -> None:
        import qdrant_client

        self.qdrant = qdrant_client

    def build(self, work: Workload, folder: Path) -> dict[str, Any]:
        folder.mkdir(parents=True, exist_ok=True)
        self._load(work).close()
        return {"in_memory": True}

    def open(self, work: Workload, folder: Path, threads: int) -> None:
        self.client = self._load(work)

    def ask(self, cue: F32, k: int, share: Share) -> Ask:
        models, client = self.qdrant.models, self.client
        only = None
        if share.column:
            condition = models.FieldCondition(key=share.column, match=models.MatchValue(value=True))
            only = models.Filter(must=[condition])
        return lambda: client.query_points(
            "v", query=cue, limit=k, query_filter=only, with_payload=False
        )

    def rows(self, answer: Any, share: Share) -> list[int]:
        return [int(point.id) for point in answer.points]

    def close(self) -> None:
        self.client.close()

    def _load(self, work: Workload) -> Any:
        models = self.qdrant.models
        client = self.qdrant.QdrantClient(location=":memory:")
        client.create_collection(
            "v", vectors_config=models.VectorParams(size=work.dim, distance=models.Distance.COSINE)
        )
        for start, chunk in work.chunks(5000):
            rows = range(start, start + len(chunk))
            client.upsert(
                "v",
                models.Batch(
                    ids=list(rows),
                    vectors=chunk.tolist(),
                    payloads=[work.flags(row) for row in rows],
                ),
            )
        return client
