"""What the models of a store say of drafts: their vectors and, unless given, their importance."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from spector.errors import InvalidInputError, InvalidVectorError
from spector.process import elsewhere
from spector.providers import embedded
from spector.tiers import TierStore
from spector.write.context import WriteContext
from spector.write.drafts import Draft

__all__ = ["importance_of", "vectors_of"]


def vectors_of(
    parts: WriteContext, drafts: Sequence[Draft], tiers: Sequence[TierStore], words: Sequence[str]
) -> NDArray[np.float32] | None:
    """(n, dim) f32: given vectors as they are, the others made of ``words`` in one call.

    Without a text there is none. Without an embedder, volatile memories may do without a vector:
    zeros, or None for all.
    """
    missing = [
        n for n, draft in enumerate(drafts) if draft.vector is None and not draft.is_wordless
    ]
    if missing and parts.embedder is None:
        lasting = [tiers[n].name for n in missing if not tiers[n].volatile]
        if lasting:
            raise InvalidVectorError(
                f"no vector for a memory of tier {lasting[0]}, and the store has no embedder",
                hint="pass vector=, or open the store with an embedder",
            )
        if len(missing) == len(drafts):
            return None
    if not missing and not any(draft.is_wordless for draft in drafts):
        return np.array([draft.vector for draft in drafts])
    out = np.zeros((len(drafts), parts.dim), dtype=np.float32)
    for n, draft in enumerate(drafts):
        if draft.vector is not None:
            out[n] = draft.vector
    if parts.embedder is not None and missing:
        out[missing] = embedded(parts.embedder, [words[n] for n in missing])
    return out


def importance_of(parts: WriteContext, draft: Draft) -> float:
    if draft.importance is not None:
        return draft.importance
    if parts.importance is None or draft.is_wordless:
        return parts.config.default_importance
    judge = parts.importance.score
    score = float(elsewhere(judge, draft.text, role=draft.role, metadata=draft.metadata))
    if not 0.0 <= score <= 1.0:
        raise InvalidInputError(
            f"the importance scorer returned {score}", hint="it must return 0..1"
        )
    return score
