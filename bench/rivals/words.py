"""The fixed prose of docs/rivals.md."""

from __future__ import annotations

from typing import Final

METHOD: Final = """\
This page is generated: `python -m bench.rivals report` makes it from the newest of the largest
`bench/results/rivals-*.json`, and `make bench-rivals` makes such a file (ARGS=--full for a million
records). Nothing is edited by hand, and rows that we lose stay.

- Vectors are real sentence embeddings: turns of conversation, tiled to the size with seeded
  Gaussian noise (a copy keeps a cosine of about 0.93) and renormalised, so neighbours exist. Cues
  are questions about the same conversations; all contenders get the same ones in the same order.
- A filter keeps a random 100 %, 10 %, 1 %, 0.1 % or 0.01 % of the records. Rivals get the filter
  they offer, prepared beforehand: a bitmap selector, metadata, or a column with an index.
- Building, queries with one thread and queries with two run in separate processes; the one-thread
  process is pinned to one core. Files are in the page cache.
- p50 and p99 are nearest-rank percentiles; with fewer than 100 samples p99 is the slowest. Slow
  engines answer fewer of the 200 cues within the time for a cell: at least 5, in the trap 20.
- Recall is the share of the true top 10, computed in float32, that was found.
- Graphs and clusters are built in one way each, named below, and not tuned for this data. The table
  by filter runs them at one effort (candidates kept, lists probed); another table has several.
""".splitlines()

COMPARABLE: Final = """\
- Rivals rank by similarity. spector ranks by a fused score (similarity, importance, retention,
  recency, activation, utility) in the same pass. The row "cosine only" does what they do; the fused
  rows do more, and their recall is measured against the fused ranking.
- The bare libraries (faiss, usearch, hnswlib) keep vectors and nothing else: no text, no metadata,
  no durability, and most are loaded whole into memory. The databases store ids and the columns of
  the filters here, no text. spector's store holds text, tags, metadata and full text as well.
- The kernel rows time one call with a prepared query, as for the bare libraries. The row `recall`
  is the verb that a user calls, with text and checksums: compare the databases with that one.
- A Bloom filter lets false positives pass. `recall` removes them by asking the catalog; the kernel
  rows take 16 more and count only the true ones.
- "Build" is `remember_many` with text, tags and full text for spector, vectors for the libraries.
- The re-ranking of the trap is generous: exact similarities, and strengths at no cost in time.
""".splitlines()

TRAP: Final = """\
An agent wants the ten memories that are best by similarity, importance, recency and the rest
together. A vector index returns only the nearest, so one fetches k x 1, 10 or 100 of them and
re-ranks those by the same formula. Whatever was cut off before its importance was considered is
lost. The cells show how much of the true fused top 10 is left, and how long the fetch took (p50,
without re-ranking).
"""
