"""The list of contenders, in the order of the tables."""

from __future__ import annotations

from typing import Any, Final

from bench.rivals.contenders.base import Contender, Entry

#: of the graphs: links a node, and candidates kept while building and while searching
_GRAPH: Final = "M = 16, efConstruction = 100, ef = 64"
_EFS: Final = (64, 128, 256, 512, 1024)
_LISTS: Final = (8, 16, 32, 64, 128, 256)


def _spector(**options: Any) -> Contender:
    from bench.rivals.contenders.spector_store import SpectorStore

    return SpectorStore(**options)


def _recall(profile: str) -> Contender:
    from bench.rivals.contenders.spector_store import SpectorRecall

    return SpectorRecall(profile)


def _faiss(recipe: str, kind: str = "flat", **options: Any) -> Contender:
    from bench.rivals.contenders.faiss_flat import Faiss, FaissFastRefined

    return (FaissFastRefined if kind == "fast" else Faiss)(recipe, kind, **options)


def _graph(name: str) -> Contender:
    from bench.rivals.contenders import graphs

    made: Contender = getattr(graphs, name)()
    return made


def _database(name: str, *arguments: Any) -> Contender:
    from bench.rivals.contenders import databases

    made: Contender = getattr(databases, name)(*arguments)
    return made


ENTRIES: Final[tuple[Entry, ...]] = (
    Entry(
        "spector",
        "spector kernel, cosine only",
        lambda: _spector(profile="similarity"),
        "`kernel.scan` ranking by similarity alone, which is what the rivals do; filters go "
        "through the Bloom gate, 16 more are taken and strangers dropped, as recall does",
    ),
    Entry(
        "spector-fused",
        "spector kernel, fused",
        lambda: _spector(profile="balanced"),
        "the same call ranking by the fused score (profile balanced); recall is against the exact "
        "fused ranking in float32",
        built_by="spector",
        ranking="balanced",
        neighbours=False,
    ),
    Entry(
        "spector-bitmap",
        "spector kernel, fused, ready-made bitmap",
        lambda: _spector(profile="balanced", gate="bitmap"),
        "the filter as a bitmap made beforehand, as the selectors of faiss are",
        built_by="spector",
        ranking="balanced",
        neighbours=False,
    ),
    Entry(
        "spector-exact",
        "spector kernel, fused, exact",
        lambda: _spector(profile="balanced", exact=True),
        "every surviving vector is read: no estimates",
        built_by="spector",
        ranking="balanced",
        neighbours=False,
    ),
    Entry(
        "spector-recall",
        "spector `recall(vector=..., k=10)`",
        lambda: _recall("balanced"),
        "the public verb end to end: scan, catalog, checksums, text and metadata of the hits",
        built_by="spector",
        ranking="balanced",
        neighbours=False,
    ),
    Entry(
        "faiss-flat",
        "faiss flat, float32",
        lambda: _faiss("Flat"),
        "brute force over float32; the filter is an IDSelectorBitmap",
    ),
    Entry(
        "faiss-sq8",
        "faiss SQ8 flat",
        lambda: _faiss("SQ8"),
        "brute force over 8-bit codes: the yardstick; the filter is an IDSelectorBitmap",
    ),
    Entry(
        "faiss-rabitq",
        "faiss RaBitQ",
        lambda: _faiss("RaBitQ", "rabitq"),
        "1-bit codes, 4-bit query, nothing scored again",
    ),
    Entry(
        "faiss-rabitq-sq8",
        "faiss RaBitQ + SQ8",
        lambda: _faiss("RaBitQ,Refine(SQ8)", "rabitq", refine=16),
        "the same, and the best 160 scored again by 8-bit codes",
    ),
    Entry(
        "faiss-rabitq-fast",
        "faiss RaBitQ fast scan + SQ8",
        lambda: _faiss("RaBitQfs,Refine(SQ8)", "fast", refine=16),
        "the fast-scan layout of the same codes, the best 160 scored again",
    ),
    Entry(
        "faiss-ivf-rabitq",
        "faiss IVF RaBitQ + SQ8",
        lambda: _faiss("IVF{lists},RaBitQ,Refine(SQ8)", "ivf", refine=16, nprobe=32),
        "clustered, 32 lists probed, the best 160 scored again",
        efforts=_LISTS,
        effort_name="lists probed",
    ),
    Entry(
        "faiss-ivf-rabitq-fast",
        "faiss IVF RaBitQ fast scan + SQ8",
        lambda: _faiss("IVF{lists},RaBitQfs,Refine(SQ8)", "ivf", refine=16, nprobe=32),
        "the same in the fast-scan layout",
        efforts=_LISTS,
        effort_name="lists probed",
    ),
    Entry(
        "faiss-hnsw",
        "faiss HNSW, float32",
        lambda: _faiss("HNSW16,Flat", "hnsw", ef_search=64, ef_construction=100),
        f"graph over float32, {_GRAPH}",
        efforts=_EFS,
        effort_name="ef",
    ),
    Entry(
        "usearch-exact",
        "usearch exact, int8",
        lambda: _graph("UsearchExact"),
        "brute force over int8 codes scaled per row",
    ),
    Entry(
        "usearch-hnsw",
        "usearch HNSW, int8",
        lambda: _graph("UsearchGraph"),
        f"graph over int8, {_GRAPH}",
        efforts=_EFS,
        effort_name="ef",
    ),
    Entry(
        "hnswlib",
        "hnswlib, float32",
        lambda: _graph("Hnswlib"),
        f"graph over float32, {_GRAPH}; the filter is a Python callback",
        efforts=_EFS,
        effort_name="ef",
    ),
    Entry(
        "sqlite-vec",
        "sqlite-vec, float32",
        lambda: _database("SqliteVec", False),
        "brute force inside SQLite; filters are boolean metadata columns",
    ),
    Entry(
        "sqlite-vec-int8",
        "sqlite-vec, int8",
        lambda: _database("SqliteVec", True),
        "the same over int8 codes scaled per row",
    ),
    Entry(
        "lancedb",
        "LanceDB, no vector index",
        lambda: _database("Lance"),
        "brute force; filters are boolean columns with bitmap indexes",
    ),
    Entry(
        "lancedb-hnsw",
        "LanceDB IVF_HNSW_SQ",
        lambda: _database("Lance", "ivf_hnsw_sq"),
        f"graph over 8-bit codes, {_GRAPH}",
        efforts=_EFS,
        effort_name="ef",
    ),
    Entry(
        "lancedb-rq",
        "LanceDB IVF_RQ",
        lambda: _database("Lance", "ivf_rq"),
        "clustered RaBitQ codes, 20 lists probed, the best 100 scored again",
        efforts=(20, 40, 80, 160),
        effort_name="lists probed",
    ),
    Entry(
        "chroma",
        "Chroma, float32",
        lambda: _database("Chroma"),
        f"graph over float32, {_GRAPH}; filters are metadata",
    ),
    Entry(
        "qdrant-local",
        "Qdrant local mode",
        lambda: _database("QdrantLocal"),
        "the Python client without a server: NumPy brute force, filters evaluated in Python; in "
        "memory, because its files commit every point by itself, so it opens by loading all again",
        most_records=100_000,
        why_not_more="local mode holds every payload as Python objects and scans them for each "
        "filter; the client itself advises against more than 20,000 points",
    ),
)


def entry_named(name: str) -> Entry:
    for entry in ENTRIES:
        if entry.name == name:
            return entry
    raise ValueError(f"no contender {name!r}; choose of {', '.join(e.name for e in ENTRIES)}")
