"""Limits: what restricts what may be suggested, and the requests that it matters for.

"Suggest a menu" has no word of "peanuts put me in hospital twice", and a cosine of the two says
nothing. But the request is like other requests about food, and the statement like other statements
of what is not eaten. So each matter has sentences of both kinds, and what is nearer to one
of them than unrelated questions ever are is of that kind.
"""

from __future__ import annotations

import threading
from typing import Final, NamedTuple

import numpy as np

from spector._types import F32
from spector.errors import EmbeddingError
from spector.kernel.contract import dots, norm
from spector.providers import CachedEmbedder, Embedder
from spector.search.evidence.probes import is_known, unit_vectors

__all__ = ["MATTERS", "OTHERS", "Limits", "Matter", "is_like"]


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
    """Vectors of the matters by one embedder, made when they are needed first. Thread-safe."""

    def __init__(self, embedder: Embedder | None) -> None:
        # past the cache, whose place is for cues
        self._embedder = embedder.inner if isinstance(embedder, CachedEmbedder) else embedder
        self._vectors: list[F32] = []
        self._lock = threading.Lock()

    def for_cue(
        self, vector: F32 | None, probes: F32 | None, *, make: bool
    ) -> tuple[tuple[F32, F32], ...]:
        """Of each matter that a cue is a request of: its limits, and what is none.

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
            (limits, others)
            for requests, limits in zip(matters[::2], matters[1::2], strict=True)
            if is_like(vector, requests, others, probes)
        )

    def asking(self) -> F32 | None:
        """(dim,) what requests have in common; None of a model whose vectors are not shipped."""
        if self._embedder is None or not is_known(self._embedder):
            return None
        requests = np.concatenate(self.vectors(make=False)[:-1:2])
        return np.asarray(_IN_COMMON * requests.mean(axis=0), np.float32)

    def vectors(self, *, make: bool) -> list[F32]:
        """Requests and limits of each matter in turn, and the others; [] where there are none.

        Args:
            make: they may be embedded, where none are shipped; see `Probes.for_cue`.
        """
        with self._lock:
            if not self._vectors and self._embedder and (make or is_known(self._embedder)):
                kinds = [*(kind for matter in MATTERS for kind in matter), OTHERS]
                texts = [text for kind in kinds for text in kind]
                try:
                    made = unit_vectors(self._embedder, texts, "limits")
                except EmbeddingError:
                    return []
                self._vectors = np.split(made, np.cumsum([len(kind) for kind in kinds])[:-1])
            return self._vectors


def is_like(vector: F32, examples: F32, others: F32, probes: F32) -> bool:
    """Whether a vector is like one of some examples: more than like others and unrelated ones."""
    best, usual = float(dots(examples, vector).max()), dots(probes, vector)
    chance = float(usual.mean()) + _ABOVE * max(float(usual.std()), _FLOOR * norm(vector))
    return best >= max(_LEAST * norm(vector), float(dots(others, vector).max()), chance)
