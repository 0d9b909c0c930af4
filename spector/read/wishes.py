"""What requests have in common, so that it can be taken out of one.

"Can you recommend a restaurant for tonight?" is near every memory in which something was asked for
or recommended; what should come to mind is what is known of tastes and habits. So the mean vector
of many requests is subtracted, in part, from that of the cue (``Ranking.request_shift``): 5.7
points of PrefEval, see "Ranking research" in bench/LOG.md.
"""

from __future__ import annotations

import base64
import threading
from typing import Final

import numpy as np
from numpy.typing import NDArray

from spector.embed import CachedEmbedder, Embedder
from spector.embed.validate import embedded
from spector.errors import EmbeddingError
from spector.kernel.products import lengths as lengths_of

__all__ = ["REQUESTS", "Wishes"]

REQUESTS: Final = (
    "Can you recommend something for me?",
    "What would you suggest?",
    "What are some good options?",
    "Do you have any suggestions for me?",
    "I'm looking for ideas, what do you recommend?",
    "Can you suggest some places to visit this weekend?",
    "What should I cook for dinner tonight?",
    "Can you help me choose a new laptop?",
    "What are some good books to read?",
    "How can I learn to play an instrument?",
    "I'm planning a party, any ideas?",
    "What gift should I buy for a friend?",
    "Can you give me some tips to save money?",
    "How should I prepare for a job interview?",
    "Where should I go on holiday next summer?",
    "What are the best ways to stay healthy?",
    "I need a new hobby, what would you suggest?",
    "Which phone should I buy?",
    "Can you help me plan my week?",
    "What music should I listen to while working?",
    "How do I decorate my living room?",
    "What is a good way to relax after work?",
    "I want to buy a present, what do you recommend?",
    "Could you suggest a good movie for tonight?",
    "What kind of plants should I grow on my balcony?",
    "How can I improve my writing?",
    "Can you recommend a good podcast?",
    "What should I wear tomorrow?",
    "What are some fun activities for a rainy day?",
    "Which software would be best for this task?",
)

#: of the offline embedder, (384,) little-endian float16 in base 64: half a second that nobody waits
_MINILM: Final = (
    "GJuFoz0kfCIwo8clayj/pr+kuBj1oukUC6mxJ0Io2ZziKFAnjSiBqSGq0KMaFE4kZpI2KbyRkxhwqMSmzyVEIq6o"
    "3qOhp0El+CU/qU8liCRJo48lhyaDGb4l2ab8JOwoaSxzKEOUgxlzqjqceabVoFOr7KDJJ+6nVR9bo7idXCRAqWYe"
    "OqBSLMcU8Ch4qdQhiiBNJbmhCZ6xF2urS6UkCjKkGqT9pyOhAB8FH1AgLiZFqE+hWKOqHiagJCJCorUoWx9EqoOm"
    "4SocJbgkHyghAPEiCaViD3Ig2iFMnAikASLbqcOc7hh7FM8qGyRtI3spgCKAIgeZzCCrpe0hUiIAgJolLxwxnPAr"
    "PSlhIB4hOqInoUUljhyJoHKoFx/wKaSiQqdFJmkZH6ZzpsGmaqK5Hscg0qj2KHOoeyjqny2aEiItIyil3KCko1Cr"
    "mqJTKe2hZafFJbqcXqQ6K8AfzicBIUWqxB6NpS6o/gsOoSWshaiHJUEh+SXspwMnlCIQpCSm16QWJ8QhIp6jIF6o"
    "zRymJ2cqmhKKpWAoW6UErN+oZxZ5IjMgw6k/KAclg6PLlFijhqdDGmqrNR4sKGmpuKUAAAcl7KhUJC8lHicsoRio"
    "daWqomAfiKjXms4p7SBCJjShfyQZJfciMSdGp68rS6OMIqeCVSTRnjGg6qUxmlqotqKcKBekOCOPKCsm4aebpIEo"
    "gCfSorcljiWQHq+dgqodJjYfUiTJmyucW6TYpVUk7aOnmyGpRiBRHWuqfx+UoOEp06IfqBQbOSERpCgmWqkGKi8l"
    "MaW8pAamiimnGsYhzR5sHE6duqMFnlggAieyoHMfKaNsnDmhISLfG+oemZ0AgLoknai/oDsmlKfUqwqoTqgzJyOm"
    "FSc1qqgjnibOjCqlZyiJDAaogiD6KIkf7iLQHkUiWCB5KRUlGyrjLB2khSKHpS+lQqg8rDkkvqUzCF2WJJf8IHGb"
    "KwVkmoClgieTqUmmCygIooiosCj0oEkjEyjSoPUoKx39KJ0gL6BxqiYl"
)
_KNOWN: Final = {"minilm:8199be6f699a395f99f89df973f9dc52:mean-w254-o50-plain-v1": _MINILM}


class Wishes:
    """The mean vector of requests by one embedder, made when a request first comes."""

    def __init__(self, embedder: Embedder | None) -> None:
        # past the cache, whose place is for cues
        self._embedder = embedder.inner if isinstance(embedder, CachedEmbedder) else embedder
        self._mean: NDArray[np.float32] | None = None
        self._lock = threading.Lock()

    def mean(self) -> NDArray[np.float32] | None:
        """(dim,) f32, not of length 1; None without an embedder, or while it fails: a recall that
        has the vector of its cue needs no more.
        """
        if self._embedder is None:
            return None
        with self._lock:
            known = _KNOWN.get(self._embedder.fingerprint)
            if self._mean is None and known is not None:
                self._mean = np.frombuffer(base64.b64decode(known), "<f2").astype(np.float32)
            if self._mean is None:
                try:
                    vectors = embedded(self._embedder, list(REQUESTS))
                except EmbeddingError:
                    return None
                lengths = lengths_of(vectors)[:, None]
                self._mean = (vectors / lengths).mean(axis=0).astype(np.float32)
            return self._mean
