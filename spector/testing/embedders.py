"""What every embedder must do, as a class to subclass in pytest."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import ClassVar

import numpy as np

from spector.api import open as open_memory
from spector.errors import EmbeddingError
from spector.providers import Embedder

__all__ = ["EmbedderTests"]


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
