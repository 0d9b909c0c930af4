"""Probes: unrelated questions that calibrate what a cosine means in a store.

A cosine of 0.35 is high among remarks about everything and low among messages of one project, and
every model has a range of its own. The cosines of a store's memories with unrelated questions show
both, whatever the memories have in common.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

import spector.providers
from spector._types import F32
from spector.errors import EmbeddingError
from spector.kernel.contract import dots, norm
from spector.kernel.contract import lengths as lengths_of
from spector.language.words import is_turkish, plain
from spector.providers import CachedEmbedder, Embedder, embedded

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


def is_shipped(embedder: Embedder) -> bool:
    """Whether vectors by an embedder are shipped, so that none is computed."""
    return embedder.fingerprint in _KNOWN


def vectors_of_texts(embedder: Embedder, texts: Sequence[str], name: str) -> F32:
    """(n, dim) f32 unit vectors of our sentences; shipped ones where there are any.

    Raises:
        EmbeddingError: the embedder failed.
    """
    if (known := _KNOWN.get(embedder.fingerprint)) is not None:
        folder = Path(spector.providers.__file__).with_name("data")
        return np.asarray(np.load(folder / f"{name}-{known}.npy"), np.float32)
    made = embedded(embedder, list(texts))
    return np.asarray(made / np.maximum(lengths_of(made)[:, None], 1e-12), np.float32)


class _Sentences:
    """Vectors of our sentences by one embedder, made when they are needed first. Thread-safe."""

    def __init__(self, embedder: Embedder | None, texts: Sequence[str], name: str) -> None:
        # past the cache, whose place is for cues
        self.embedder = embedder.inner if isinstance(embedder, CachedEmbedder) else embedder
        self._texts, self._name = texts, name
        self._made: F32 | None = None
        self._lock = threading.Lock()

    def vectors(self, *, make: bool) -> F32 | None:
        """(n, dim) f32 unit vectors; None without an embedder, and while that fails.

        Args:
            make: they may be embedded, where none are shipped: an embedder may be a paid service
                elsewhere.
        """
        embedder = self.embedder
        with self._lock:
            if self._made is None and embedder is not None and (make or is_shipped(embedder)):
                try:
                    self._made = vectors_of_texts(embedder, self._texts, self._name)
                except EmbeddingError:
                    return None
            return self._made


class Probes:
    """Vectors of the questions by one embedder. Thread-safe."""

    def __init__(self, embedder: Embedder | None) -> None:
        self._sentences = _Sentences(embedder, (*ENGLISH, *TURKISH), "probes")

    def for_cue(self, cue: str | None, *, make: bool) -> F32 | None:
        """(24, dim) f32 unit vectors of the questions in the language of a cue; None without one.

        ``make``: see `_Sentences.vectors`.
        """
        made = None if cue is None else self._sentences.vectors(make=make)
        if made is None or cue is None:
            return None
        turkish = is_turkish(cue, plain(cue))
        return made[len(ENGLISH) :] if turkish else made[: len(ENGLISH)]


# Limits: what restricts what may be suggested, and the requests that it matters for.
#
# "Suggest a menu" has no word of "peanuts put me in hospital twice", and a cosine of the two says
# nothing. But the request is like other requests about food, and the statement like other statements
# of what is not eaten. So each matter has sentences of both kinds, and what is nearer to one
# of them than unrelated questions ever are is of that kind.


class Matter(NamedTuple):
    """Requests about something, and statements that restrict what may be suggested."""

    requests: tuple[str, ...]
    limits: tuple[str, ...]


MATTERS: Final = (
    Matter(  # what is eaten
        (
            "Suggest a menu for dinner.",
            "What should I cook tonight?",
            "Recommend a restaurant.",
            "Give me a recipe for a cake.",
            "Which snacks can I bring to the party?",
            "What should I drink with it?",
            "Make a shopping list for the week.",
        ),
        (
            "I am allergic to nuts.",
            "I do not eat meat.",
            "I have to avoid gluten.",
            "I am diabetic, so sugar is bad for me.",
            "Our religion forbids pork and alcohol.",
            "I am lactose intolerant.",
            "Milk upsets my stomach.",
            "Eggs give me a rash.",
            "My lips swell when I eat strawberries.",
            "The doctor put me on a diet without salt.",
            "We fast during the day this month.",
            "I stopped drinking alcohol.",
            "I cannot chew hard food.",
            "Shellfish nearly killed me once.",
            "My husband can't have anything with wheat in it.",
        ),
    ),
    Matter(  # who is a child
        (
            "What present should I buy for my daughter's birthday?",
            "Suggest a book for my son.",
            "Which games can we play with the kids?",
            "Recommend a film for the children.",
        ),
        (
            "My daughter is six years old.",
            "Our son turns four in May.",
            "The baby is eight months old.",
            "My kid is in third grade.",
            "My little one starts school this autumn.",
            "The twins had their second birthday.",
        ),
    ),
    Matter(  # where one goes
        (
            "Plan a weekend trip for us.",
            "Where should we go on holiday?",
            "Find me a hotel and a flight.",
            "What can we see in the city in three days?",
            "What could we do on Saturday night?",
        ),
        (
            "I use a wheelchair.",
            "I am afraid of flying.",
            "I am pregnant.",
            "I cannot climb stairs because of my knees.",
            "My back does not allow long walks.",
            "I can hardly see any more.",
            "I am deaf in one ear.",
            "I get sick on boats.",
            "Crowds and loud places make me panic.",
            "I am not allowed to drive.",
            "The heat is dangerous for me.",
            "I walk with a stick since my stroke.",
        ),
    ),
    Matter(  # what is paid
        (
            "Which laptop should I buy?",
            "Find me a hotel for the weekend.",
            "Plan our holiday.",
            "Suggest a present for my wife.",
            "Help me choose a new phone.",
            "Where could we go out for dinner?",
            "Recommend a course for me.",
        ),
        (
            "My budget is 200 euros.",
            "I cannot spend more than 50 dollars.",
            "We are short of money this month.",
            "We are saving and have to spend little.",
            "I lost my job and live on my savings.",
            "There is nothing left after the rent.",
            "I am paying off my debts.",
            "We agreed to keep it under a hundred.",
        ),
    ),
    Matter(  # what is good for the body
        (
            "Make me a workout plan.",
            "Which exercises can I do at home?",
            "Suggest a sport for me.",
            "What can I take against a headache?",
            "Which medicine helps against a cold?",
            "How can I sleep better?",
        ),
        (
            "I have a heart condition.",
            "I have asthma.",
            "I had surgery on my knee.",
            "I take blood thinners every day.",
            "I am allergic to penicillin.",
            "I am pregnant.",
            "My back hurts when I lift something.",
            "I have epilepsy.",
            "My kidneys do not work well.",
            "The doctor said no running for six weeks.",
            "I get migraines from strong smells.",
            "I have high blood pressure and take pills for it.",
            "Dust and pollen make me wheeze.",
            "A bee sting could kill me.",
        ),
    ),
)
#: what is about the same matters, and is neither a request for a suggestion nor a limit
OTHERS: Final = (
    "I love pizza.",
    "We had pasta for dinner.",
    "I learned to bake bread.",
    "My sister is a cook.",
    "What did I cook last week?",
    "Write a poem for a birthday.",
    "My boss has two children.",
    "I bought my daughter a bicycle.",
    "When is my flight?",
    "I am flying to Rome in June.",
    "We stayed at a hotel by the sea.",
    "I bought a new laptop.",
    "My car cost nine thousand.",
    "I got a raise.",
    "I went to the gym.",
    "I work at a hospital.",
    "I saw the dentist.",
    "My dog is five years old.",
    "Explain this to me.",
    "Make this text shorter.",
)
#: cosine with an example from which anything is like it, and deviations above those with unrelated
#: questions, which say what a cosine means to a model
_LEAST: Final = 0.35
_ABOVE: Final = 3.0
#: share of the mean of all requests that is taken out of one
_IN_COMMON: Final = 0.8
#: the smallest deviation of cosines
_FLOOR: Final = 0.01


class Limits:
    """Vectors of the matters by one embedder. Thread-safe."""

    def __init__(self, embedder: Embedder | None) -> None:
        kinds = [*(kind for matter in MATTERS for kind in matter), OTHERS]
        self._ends = np.cumsum([len(kind) for kind in kinds])[:-1]
        self._vectors: list[F32] = []
        self._sentences = _Sentences(embedder, [text for kind in kinds for text in kind], "limits")

    def for_cue(
        self, vector: F32 | None, probes: F32 | None, *, make: bool
    ) -> tuple[tuple[F32, F32], ...]:
        """Of each matter that a cue is a request of: its limits, and what is none, as requests.

        Args:
            vector: (dim,) that of the cue. probes: (p, dim) of unrelated questions.
            make: see `vectors`.

        Returns:
            Pairs of (n, dim) and (m, dim) f32 unit vectors.
        """
        if vector is None or probes is None or not (known := self.vectors(make=make)):
            return ()
        *matters, others = known
        return tuple(
            (limits, np.concatenate((others, requests)))  # which share only the matter with it
            for requests, limits in zip(matters[::2], matters[1::2], strict=True)
            if is_like(vector, requests, others, probes)
        )

    def asking(self) -> F32 | None:
        """(dim,) what requests have in common; None of a model whose vectors are not shipped."""
        embedder = self._sentences.embedder
        if embedder is None or not is_shipped(embedder):
            return None
        requests = np.concatenate(self.vectors(make=False)[:-1:2])
        return np.asarray(_IN_COMMON * requests.mean(axis=0), np.float32)

    def vectors(self, *, make: bool) -> list[F32]:
        """Requests and limits of each matter in turn, and the others; [] where there are none.

        ``make``: see `_Sentences.vectors`.
        """
        if not self._vectors and (made := self._sentences.vectors(make=make)) is not None:
            self._vectors = np.split(made, self._ends)
        return self._vectors


def is_like(vector: F32, examples: F32, others: F32, probes: F32) -> bool:
    """Whether a vector is like one of some examples: more than like others and unrelated ones."""
    best, usual = float(dots(examples, vector).max()), dots(probes, vector)
    chance = float(usual.mean()) + _ABOVE * max(float(usual.std()), _FLOOR * norm(vector))
    return best >= max(_LEAST * norm(vector), float(dots(others, vector).max()), chance)
