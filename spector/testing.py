"""What embedders and tiers must do, as classes to subclass in pytest."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from spector.api import open as open_memory
from spector.clock import ManualClock
from spector.errors import EmbeddingError
from spector.memory import Memory
from spector.providers import Embedder
from spector.tiers import TierStore

# What every embedder must do, as a class to subclass in pytest.


class EmbedderTests:
    """Subclass it, name the subclass ``Test...``, and override :meth:`make_embedder`.

    ``texts`` and ``tolerance`` may be overridden too: the second is how far a component of a vector
    may differ between calls; a model on the CPU should need none.
    """

    texts: ClassVar[Sequence[str]] = (
        "I moved to Lisbon in March.",
        "ok",
        "The deploy failed because the certificate had expired; renew it before Friday.",
        "Я живу в Берлине.",
        "今日は寒いです。",
        "naïve café 😀",
        "word " * 300,
    )
    tolerance: ClassVar[float] = 0.0

    def make_embedder(self) -> Embedder:
        """A new embedder. Called several times; all of them must give the same vectors."""
        raise NotImplementedError("override make_embedder()")

    def test_the_attributes_describe_the_model(self) -> None:
        embedder = self.make_embedder()
        assert isinstance(embedder, Embedder)
        assert isinstance(embedder.model_id, str)
        assert embedder.model_id
        assert isinstance(embedder.fingerprint, str)
        assert embedder.fingerprint
        assert isinstance(embedder.dim, int)
        assert embedder.dim > 0

    def test_vectors_are_unit_float32_rows(self) -> None:
        embedder = self.make_embedder()
        vectors = embedder.embed(list(self.texts))
        assert vectors.dtype == np.float32
        assert vectors.shape == (len(self.texts), embedder.dim)
        np.testing.assert_allclose(np.square(vectors).sum(axis=1), 1.0, atol=2e-4)

    def test_no_texts_give_no_rows(self) -> None:
        embedder = self.make_embedder()
        assert embedder.embed([]).shape == (0, embedder.dim)

    def test_a_vector_depends_on_its_own_text_only(self) -> None:
        """A model that pads a batch must not let one text change the vector of another."""
        embedder = self.make_embedder()
        batch = embedder.embed(list(self.texts))
        backwards = embedder.embed(list(self.texts[::-1]))[::-1]
        alone = np.vstack([embedder.embed([text]) for text in self.texts])
        self._assert_equal(batch, backwards)
        self._assert_equal(batch, alone)

    def test_one_fingerprint_means_the_same_vectors(self) -> None:
        """A store compares fingerprints when it is opened, and then trusts its vectors."""
        first, second = self.make_embedder(), self.make_embedder()
        assert (first.fingerprint, first.dim) == (second.fingerprint, second.dim)
        self._assert_equal(first.embed(list(self.texts)), second.embed(list(self.texts)))

    def test_a_blank_text_is_an_error_or_a_vector_but_never_zeros(self) -> None:
        for text in ("", " ", "\n\t"):
            try:
                vectors = self.make_embedder().embed([text])
            except EmbeddingError:
                continue
            assert np.isfinite(vectors).all()
            assert np.abs(vectors[0]).max() > 0

    def test_threads_may_share_it(self) -> None:
        embedder = self.make_embedder()
        expected = embedder.embed(list(self.texts))
        with ThreadPoolExecutor(4) as pool:
            found = list(pool.map(lambda _: embedder.embed(list(self.texts)), range(4)))
        for vectors in found:
            self._assert_equal(vectors, expected)

    def test_a_store_remembers_recalls_and_reopens_with_it(self, tmp_path: Path) -> None:
        with open_memory(tmp_path / "mind", embedder=self.make_embedder()) as memory:
            ids = [memory.remember(text).id for text in self.texts]
        with open_memory(tmp_path / "mind", embedder=self.make_embedder()) as memory:
            for text, id_ in zip(self.texts, ids, strict=True):
                hits = memory.recall(vector=self.make_embedder().embed([text])[0], k=1)
                assert [hit.id for hit in hits] == [id_]

    def _assert_equal(self, found: np.ndarray, expected: np.ndarray) -> None:
        np.testing.assert_allclose(found, expected, rtol=0, atol=self.tolerance)


# What every tier must do, as a class to subclass in pytest.

_START = datetime(2026, 3, 1, 12, tzinfo=UTC)
_DIM = 8


class TierTests:
    """Subclass it, name the subclass ``Test...``, and override :meth:`make_tier`.

    ``records`` is how many memories the tests write. A tier that drops old records must keep at
    least that many; one whose partitions are larger than that is never seen to begin a second.
    """

    records: ClassVar[int] = 40

    def make_tier(self) -> TierStore:
        """A new tier, attached to nothing."""
        raise NotImplementedError("override make_tier()")

    def open(self, path: Path) -> Memory:
        """A store with the tier. Its vectors are given, its clock stands still."""
        return open_memory(
            path, embedder=None, dim=_DIM, clock=ManualClock(_START), extra_tiers=[self.make_tier()]
        )

    def fill(self, memory: Memory) -> list[int]:
        """Write ``records`` memories, one an hour, half of them in one batch; return their ids."""
        half, name = self.records // 2, self.make_tier().name
        lines: list[dict[str, Any]] = [
            {
                "text": f"entry {n} of the log",
                "vector": _vector(n),
                "tier": name,
                "tags": [f"group-{n % 4}"],
                "event_time": _START - timedelta(hours=n),
            }
            for n in range(self.records)
        ]
        ids = [memory.remember(line.pop("text"), **line).id for line in lines[:half]]
        return ids + [record.id for record in memory.remember_many(lines[half:])]

    def test_records_are_found_by_tier_tag_and_vector(self, tmp_path: Path) -> None:
        with self.open(tmp_path / "mind") as memory:
            ids = self.fill(memory)
            name = self.make_tier().name
            assert _ids(memory, tiers=name) == set(ids)
            assert _ids(memory, tags=["group-1"]) == set(ids[1::4])
            for n in (0, self.records - 1):
                assert memory.recall(vector=_vector(n), k=1)[0].id == ids[n]
                assert memory.get(ids[n]).tier == name
            assert memory.check().ok

    def test_a_restart_keeps_all_records_or_none_of_a_volatile_tier(self, tmp_path: Path) -> None:
        with self.open(tmp_path / "mind") as memory:
            ids = self.fill(memory)
        with self.open(tmp_path / "mind") as memory:
            kept = set() if self.make_tier().volatile else set(ids)
            assert _ids(memory, tiers=self.make_tier().name) == kept
            assert memory.check().ok

    def test_a_time_range_finds_exactly_the_records_in_it(self, tmp_path: Path) -> None:
        """``may_hold`` rules out whole partitions: one wrong False hides memories."""
        with self.open(tmp_path / "mind") as memory:
            ids = self.fill(memory)
            for first, last in ((0, 1), (3, 9), (self.records // 2, self.records)):
                begin = _START - timedelta(hours=last - 1)
                end = _START - timedelta(hours=first) + timedelta(milliseconds=1)
                found = memory.recall(
                    vector=_vector(0), k=self.records, time_range=(begin, end), exact=True
                )
                assert {hit.id for hit in found} == set(ids[first:last])

    def test_an_update_keeps_the_id_and_the_tier(self, tmp_path: Path) -> None:
        with self.open(tmp_path / "mind") as memory:
            ids = self.fill(memory)
            changed = memory.update(ids[2], text="rewritten", vector=_vector(500))
            moved = memory.update(ids[3], event_time=_START - timedelta(days=40))
            for record, id_ in ((changed, ids[2]), (moved, ids[3])):
                assert (record.id, record.tier) == (id_, self.make_tier().name)
            assert memory.recall(vector=_vector(500), k=1)[0].id == ids[2]
            assert _ids(memory, tiers=self.make_tier().name) == set(ids)
            assert memory.check().ok

    def test_a_purge_leaves_no_byte_and_every_other_record(self, tmp_path: Path) -> None:
        with self.open(tmp_path / "mind") as memory:
            ids = self.fill(memory)
            gone = set(ids[::3])
            receipt = memory.forget(sorted(gone), purge=True, verify=True).receipt
            assert receipt is not None
            assert receipt.complete
            assert _ids(memory, tiers=self.make_tier().name) == set(ids) - gone
            assert memory.check().ok

    def test_sleep_changes_no_answer(self, tmp_path: Path) -> None:
        """``finished`` decides what is sealed and rewritten; scores must not notice."""
        with self.open(tmp_path / "mind") as memory:
            ids = self.fill(memory)
            memory.forget(ids[::2])
            before = [(hit.id, hit.score) for hit in memory.recall(vector=_vector(1), k=50)]
            memory.reflect("upkeep")
            memory.compact()
            assert [(h.id, h.score) for h in memory.recall(vector=_vector(1), k=50)] == before
            assert memory.check().ok

    def test_a_backup_has_the_records_that_a_restart_has(self, tmp_path: Path) -> None:
        with self.open(tmp_path / "mind") as memory:
            ids = self.fill(memory)
            memory.backup(tmp_path / "copy")
        with self.open(tmp_path / "copy") as memory:
            kept = set() if self.make_tier().volatile else set(ids)
            assert _ids(memory, tiers=self.make_tier().name) == kept


def _vector(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(_DIM).astype(np.float32)


def _ids(memory: Memory, **selection: Any) -> set[int]:
    return {record.id for record in memory.records(**selection)}
