"""Probes: unrelated questions that calibrate what a cosine means in a store.

A cosine of 0.35 is high among remarks about everything and low among messages of one project, and
every model has a range of its own. The cosines of a store's memories with unrelated questions show
both, whatever the memories have in common.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np

import spector.providers
from spector._types import F32
from spector.errors import EmbeddingError
from spector.kernel.contract import lengths as lengths_of
from spector.language.words import is_turkish, plain
from spector.providers import CachedEmbedder, Embedder, embedded

__all__ = ["ENGLISH", "TURKISH", "Probes", "is_known", "unit_vectors"]


ENGLISH: Final = (
    "Which treaty ended the war between the two kingdoms?",
    "How do volcanoes form under the sea?",
    "Who directed the film about the lighthouse?",
    "When does the museum of clocks open?",
    "What did the committee decide about the bridge?",
    "Where was the first railway station built?",
    "Why did the price of copper fall?",
    "How many moons does the planet have?",
    "Which opening did the chess champion choose?",
    "What is the password of the printer?",
    "Who repaired the roof of the chapel?",
    "When is the next meeting with the auditors?",
    "What colour is the neighbour's motorbike?",
    "How long does the ferry to the island take?",
    "Where does the professor keep her telescope?",
    "Which song did the choir sing at the end?",
    "What did the vet say about the old horse?",
    "Who won the election in the harbour town?",
    "How much does the tailor ask for a coat?",
    "Did the gardener plant the tulips?",
    "What is the gate code of the warehouse?",
    "Which medicine did the doctor stop?",
    "Where did the twins learn to dance?",
    "What time does the bakery close on Mondays?",
)
TURKISH: Final = (
    "İki krallık arasındaki savaşı hangi antlaşma bitirdi?",
    "Deniz altındaki yanardağlar nasıl oluşur?",
    "Deniz feneri filmini kim yönetti?",
    "Saat müzesi ne zaman açılıyor?",
    "Kurul köprü hakkında ne karar verdi?",
    "İlk tren istasyonu nerede yapıldı?",
    "Bakırın fiyatı neden düştü?",
    "O gezegenin kaç uydusu var?",
    "Satranç şampiyonu hangi açılışı seçti?",
    "Yazıcının şifresi ne?",
    "Şapelin çatısını kim onardı?",
    "Denetçilerle bir sonraki toplantı ne zaman?",
    "Komşunun motosikleti ne renk?",
    "Adaya giden feribot ne kadar sürüyor?",
    "Profesör teleskobunu nerede saklıyor?",
    "Koro en sonda hangi şarkıyı söyledi?",
    "Veteriner yaşlı at için ne dedi?",
    "Liman kentinde seçimi kim kazandı?",
    "Terzi bir palto için ne kadar istiyor?",
    "Bahçıvan laleleri dikti mi?",
    "Deponun kapı kodu ne?",
    "Doktor hangi ilacı kesti?",
    "İkizler dans etmeyi nerede öğrendi?",
    "Fırın pazartesi günleri saat kaçta kapanıyor?",
)

#: embedders whose (n, dim) float16 unit vectors of our sentences are shipped
_KNOWN: Final = {
    "minilm:8199be6f699a395f99f89df973f9dc52:mean-w254-o50-plain-v1": "minilm",
}


def is_known(embedder: Embedder) -> bool:
    """Whether vectors by an embedder are shipped, so that none is computed."""
    return embedder.fingerprint in _KNOWN


def unit_vectors(embedder: Embedder, texts: Sequence[str], name: str) -> F32:
    """(n, dim) f32 unit vectors of our sentences; shipped ones where there are any.

    Raises:
        EmbeddingError: the embedder failed.
    """
    if (known := _KNOWN.get(embedder.fingerprint)) is not None:
        folder = Path(spector.providers.__file__).with_name("data")
        return np.asarray(np.load(folder / f"{name}-{known}.npy"), np.float32)
    made = embedded(embedder, list(texts))
    return np.asarray(made / np.maximum(lengths_of(made)[:, None], 1e-12), np.float32)


class Probes:
    """Vectors of the questions by one embedder, made when they are needed first. Thread-safe."""

    def __init__(self, embedder: Embedder | None) -> None:
        # past the cache, whose place is for cues
        self._embedder = embedder.inner if isinstance(embedder, CachedEmbedder) else embedder
        self._vectors: dict[bool, F32] = {}
        self._lock = threading.Lock()

    def for_cue(self, cue: str | None, *, make: bool) -> F32 | None:
        """(24, dim) f32 unit vectors of the questions in the language of a cue.

        None without a cue or an embedder, while that fails, or when they would have to be made and
        ``make`` is False: an embedder may be a paid service elsewhere.
        """
        if self._embedder is None or cue is None:
            return None
        turkish = is_turkish(cue, plain(cue))
        with self._lock:
            if turkish not in self._vectors and (make or is_known(self._embedder)):
                try:
                    made = unit_vectors(self._embedder, (*ENGLISH, *TURKISH), "probes")
                except EmbeddingError:
                    return None
                self._vectors = {False: made[: len(ENGLISH)], True: made[len(ENGLISH) :]}
            return self._vectors.get(turkish)
