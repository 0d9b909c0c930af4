"""The input of all contenders, in files: vectors, cues, filters and the true answers.

Every step of a run is a process of its own, so what they share lies in the work folder::

    <folder>/vectors.npy   (n, dim) float32 unit rows      cues.npy      (q, dim) float32
    <folder>/members.npy   (shares, n) bool                store-ids.npy (n,) uint64, spector's
    <folder>/formula.npz   base and slope of each profile  truth.npz     (q, k) rows per ranking
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bench.data import Corpus, batches, load_corpus
from bench.rivals.metrics import F32, Ranking, exact_top

K: Final = 10
CUES: Final = 200
SEED: Final = 20_261_122
PROFILES: Final = ("balanced", "importance")
#: other tags that records carry, two each, as real ones do: a Bloom filter without them never lies
TOPICS: Final = 1000
_CHUNK: Final = 50_000


class Share(NamedTuple):
    """A filter: the share of the records that it keeps, and the tag or column that says so."""

    label: str
    column: str
    fraction: float


#: the first keeps all records, which every contender serves by not filtering
SHARES: Final = (
    Share("100 %", "", 1.0),
    Share("10 %", "keep10", 0.1),
    Share("1 %", "keep1", 0.01),
    Share("0.1 %", "keep01", 0.001),
    Share("0.01 %", "keep001", 0.0001),
)
FILTERS: Final = SHARES[1:]


@dataclass(frozen=True, slots=True, eq=False)
class Workload:
    """A folder that `prepare` has filled."""

    folder: Path
    records: int
    dim: int
    source: str
    vectors: NDArray[np.float32]
    cues: F32
    members: NDArray[np.bool_]

    def kept(self, share: Share) -> NDArray[np.bool_] | None:
        """(n,) members of a filter; None for the one that keeps all."""
        return None if not share.column else self.members[SHARES.index(share)]

    def store(self, name: str) -> Path:
        """Where a contender keeps what it built."""
        return self.folder / "stores" / name

    def chunks(self, size: int = _CHUNK) -> Iterator[tuple[int, F32]]:
        """All vectors in order, as (first row, (m, dim) float32 in memory)."""
        for start, stop in batches(self.records, size):
            yield start, np.ascontiguousarray(self.vectors[start:stop])

    def formulas(self) -> dict[str, Ranking]:
        """Per profile the fused score of all records as a function of the cosine."""
        with np.load(self.folder / "formula.npz", allow_pickle=False) as file:
            return {
                name: Ranking(base=file[f"{name}-base"], slope=file[f"{name}-slope"])
                for name in PROFILES
            }

    def truth(self) -> dict[str, NDArray[np.int64]]:
        """(q, K) rows per ranking, see `truth_name`."""
        with np.load(self.folder / "truth.npz", allow_pickle=False) as file:
            return {name: file[name] for name in file.files}


def truth_name(profile: str, share: Share) -> str:
    """Name of a ranking; profile "cosine" is the plain nearest-neighbour order."""
    return f"{profile}-{share.column or 'all'}"


def prepare(folder: Path, records: int) -> dict[str, Any]:
    """Write vectors, cues and filters. Cues are spread over all questions of the data."""
    corpus = load_corpus()
    folder.mkdir(parents=True, exist_ok=True)
    out = np.lib.format.open_memmap(
        folder / "vectors.npy", mode="w+", dtype=np.float32, shape=(records, corpus.dim)
    )
    for start, stop in batches(records, _CHUNK):
        out[start:stop] = corpus.vectors(start, stop)
    out.flush()
    np.save(folder / "cues.npy", spread_cues(corpus))
    np.save(folder / "members.npy", draw_members(records))
    about = {"records": records, "dim": corpus.dim, "source": corpus.source}
    (folder / "about.json").write_text(json.dumps(about), encoding="utf-8")
    return about


def load(folder: Path) -> Workload:
    about = json.loads((folder / "about.json").read_text(encoding="utf-8"))
    return Workload(
        folder=folder,
        records=int(about["records"]),
        dim=int(about["dim"]),
        source=str(about["source"]),
        vectors=np.load(folder / "vectors.npy", mmap_mode="r", allow_pickle=False),
        cues=np.load(folder / "cues.npy", allow_pickle=False),
        members=np.load(folder / "members.npy", allow_pickle=False),
    )


def draw_members(records: int) -> NDArray[np.bool_]:
    """(shares, n) bool; each filter keeps exactly its share, at random, independent of the rest."""
    members = np.zeros((len(SHARES), records), np.bool_)
    for n, share in enumerate(SHARES):
        rng = np.random.default_rng([SEED, n])
        keep = max(1, round(records * share.fraction))
        members[n, rng.permutation(records)[:keep]] = True
    return members


def spread_cues(corpus: Corpus) -> F32:
    """(q, dim) float32 unit rows."""
    wanted = min(CUES, len(corpus.cues))
    chosen = corpus.cues[np.linspace(0, len(corpus.cues) - 1, wanted).astype(np.int64)]
    chosen = chosen.astype(np.float32)
    return np.asarray(chosen / np.linalg.norm(chosen, axis=1, keepdims=True), np.float32)


def find_truth(work: Workload) -> dict[str, Any]:
    """Write the true answers: nearest by float32 cosine, and best by each profile's fused score."""
    formulas = work.formulas()
    rankings = {}
    for share in SHARES:
        rankings[truth_name("cosine", share)] = Ranking(members=work.kept(share))
        for name, formula in formulas.items():
            rankings[truth_name(name, share)] = Ranking(
                work.kept(share), formula.base, formula.slope
            )
    found = exact_top(work.vectors, work.cues, K, rankings)
    np.savez(work.folder / "truth.npz", **found)
    return {"rankings": len(found), "cues": len(work.cues)}
