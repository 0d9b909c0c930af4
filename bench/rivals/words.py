"""The fixed prose of docs/rivals.md."""

from __future__ import annotations

from typing import Final

METHOD: Final = """\
Made by `python -m bench.rivals report`; no row is edited or left out. `make bench-rivals` measures
(ARGS=--full for a million records).

- Vectors are sentence embeddings of conversation, copied with Gaussian noise (cosine about 0.93).
  Cues are questions; all contenders get the same ones.
- A filter keeps a random share of the records. Rivals get the filter they offer, prepared.
- One thread is pinned to one core. Files are in the page cache. Graphs and clusters are not tuned.
- Recall is the share of the true top 10 in float32. Slow engines answer fewer of the 200 cues.
""".splitlines()

COMPARABLE: Final = """\
- Rivals rank by similarity, as the row "cosine only" does. The fused rows also weigh importance,
  retention and recency, and their recall is measured against that ranking.
- faiss, usearch and hnswlib keep vectors only; the databases store ids and filter columns here.
  spector's store holds text, tags, metadata and full text.
- Compare the row `recall`, the verb with text and checksums, with the databases, and the kernel
  rows, which take 16 more and drop false positives of the Bloom filter, with the libraries.
- The re-ranking of the trap is generous: exact similarities, and strengths at no cost in time.
""".splitlines()

TRAP: Final = """\
The ten memories best by similarity, importance and recency together are wanted. A vector index
returns only the nearest, so one fetches k x 1, 10 or 100 and re-ranks those. The cells show how much
of the true fused top 10 is left, and how long the fetch took (p50).
"""
