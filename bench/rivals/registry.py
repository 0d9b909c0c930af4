"""The contenders, in the order of the tables."""

from __future__ import annotations

from functools import partial
from typing import Final

from bench.rivals.contender import Entry
from bench.rivals.engines import Chroma, Faiss, Hnswlib, Lance, SqliteVec, Usearch
from bench.rivals.spector_store import SpectorRecall, SpectorStore

#: of the graphs: links a node, and candidates kept while building and while searching
_GRAPH: Final = "M = 16, efConstruction = 100, ef = 64"
_EFS: Final = (64, 128, 256, 512, 1024)

ENTRIES: Final[tuple[Entry, ...]] = (
    Entry(
        "spector",
        "spector kernel, cosine only",
        partial(SpectorStore, "similarity"),
        "`kernel.scan` ranking by similarity alone, which is what the rivals do; filters go "
        "through the Bloom gate, 16 more are taken and strangers dropped, as recall does",
    ),
    Entry(
        "spector-fused",
        "spector kernel, fused",
        SpectorStore,
        "the same call ranking by the fused score (profile balanced); recall is against the exact "
        "fused ranking in float32",
        "balanced",
    ),
    Entry(
        "spector-bitmap",
        "spector kernel, fused, ready-made bitmap",
        partial(SpectorStore, gate="bitmap"),
        "the filter as a bitmap made beforehand, as the selectors of faiss are",
        "balanced",
    ),
    Entry(
        "spector-exact",
        "spector kernel, fused, exact",
        partial(SpectorStore, exact=True),
        "every surviving vector is read: no estimates",
        "balanced",
    ),
    Entry(
        "spector-recall",
        "spector `recall(vector=..., k=10)`",
        SpectorRecall,
        "the public verb end to end: scan, catalog, checksums, text and metadata of the hits",
        "balanced",
    ),
    Entry(
        "faiss-flat",
        "faiss flat, float32",
        partial(Faiss, "Flat"),
        "brute force over float32; the filter is an IDSelectorBitmap",
    ),
    Entry(
        "faiss-sq8",
        "faiss SQ8 flat",
        partial(Faiss, "SQ8"),
        "brute force over 8-bit codes: the yardstick; the filter is an IDSelectorBitmap",
    ),
    Entry(
        "faiss-rabitq-sq8",
        "faiss RaBitQ + SQ8",
        partial(Faiss, "RaBitQ,Refine(SQ8)", "rabitq", refine=16),
        "1-bit codes, 4-bit query, the best 160 scored again by 8-bit codes",
    ),
    Entry(
        "faiss-ivf-rabitq",
        "faiss IVF RaBitQ + SQ8",
        partial(Faiss, "IVF{lists},RaBitQ,Refine(SQ8)", "ivf", refine=16, effort=32),
        "clustered, 32 lists probed, the best 160 scored again",
        efforts=(8, 16, 32, 64, 128, 256),
        effort_name="lists probed",
    ),
    Entry(
        "faiss-hnsw",
        "faiss HNSW, float32",
        partial(Faiss, "HNSW16,Flat", "hnsw", effort=64),
        f"graph over float32, {_GRAPH}",
        efforts=_EFS,
        effort_name="ef",
    ),
    Entry(
        "usearch-hnsw",
        "usearch HNSW, int8",
        Usearch,
        f"graph over int8, {_GRAPH}",
        efforts=_EFS,
        effort_name="ef",
    ),
    Entry(
        "hnswlib",
        "hnswlib, float32",
        Hnswlib,
        f"graph over float32, {_GRAPH}; the filter is a Python callback",
        efforts=_EFS,
        effort_name="ef",
    ),
    Entry(
        "sqlite-vec",
        "sqlite-vec, float32",
        SqliteVec,
        "brute force inside SQLite; filters are boolean metadata columns",
    ),
    Entry(
        "lancedb",
        "LanceDB, no vector index",
        Lance,
        "brute force; filters are boolean columns with bitmap indexes",
    ),
    Entry(
        "chroma", "Chroma, float32", Chroma, f"graph over float32, {_GRAPH}; filters are metadata"
    ),
)
_BY_NAME: Final = {entry.name: entry for entry in ENTRIES}


def entry_named(name: str) -> Entry:
    if name not in _BY_NAME:
        raise ValueError(f"no contender {name!r}; choose of {', '.join(_BY_NAME)}")
    return _BY_NAME[name]
