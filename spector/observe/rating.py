"""The importance of a statement, from what the stages know of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from spector.config import ObserveConfig
from spector.errors import StoreClosedError
from spector.observe.gate import Candidate, Decision, cosines
from spector.observe.importance import Channels, by_channels, by_text, priority_of
from spector.observe.jobs import Job
from spector.records import Importance

__all__ = ["Rater"]


class Rater:
    """Rates statements.

    Args:
        score: the caller's importance of a draft; None for the formula of the configuration.
    """

    def __init__(
        self, config: ObserveConfig, score: Callable[[Any], float] | None = None
    ) -> None:
        self._config = config
        self._score = score

    def ask(self, job: Job) -> None:
        """Ask the caller's scorer, with no lock held; where it fails, the formula decides."""
        if self._score is None or job.ready.draft.importance is not None:
            return
        try:
            job.outside.scored = float(self._score(job.ready.draft))
        except StoreClosedError:
            raise
        except Exception:  # any scorer may fail in any way; it is reported
            if "importance" not in job.analysis.fallbacks:
                job.analysis.fallbacks.append("importance")

    def rate(
        self, job: Job, candidates: Sequence[Candidate], decision: Decision
    ) -> Importance:
        analysis, observe = job.analysis, self._config
        changed = decision.action == "supersede" or decision.relation == "contradicts"
        near = [
            (each.likeness, each.record.utility) for each in candidates
            if each.likeness is not None
        ]
        found = by_channels(
            Channels(
                kind=analysis.kind, data_source=analysis.message.data_source,
                valence=analysis.emotion.valence, arousal=analysis.emotion.arousal,
                alarm=analysis.alarm, is_hedged=analysis.is_hedged,
                is_asked=analysis.is_asked,
                likeness=max((like for like, _ in near), default=None), is_changed=changed,
                kin=near, attention=self._attention(job),
            ), observe,
        )
        value = self._valued(job, found.composite)
        if value == found.composite:
            return found
        return replace(found, composite=value, priority=priority_of(value))

    def _valued(self, job: Job, composite: float) -> float:
        """The importance that counts: the caller's, his scorer's, the formula's, a model's."""
        draft, message = job.ready.draft, job.analysis.message
        if draft.importance is not None:
            return draft.importance
        if job.outside.scored is not None:
            return job.outside.scored
        if self._config.importance == "ucma":
            composite = by_text(message.text, message.data_source)
        return composite if job.outside.importance is None else job.outside.importance

    def _attention(self, job: Job) -> float | None:
        session, vector = job.session, job.ready.vector
        if session is None or vector is None:
            return None
        others = list(session.attention_vectors)
        if not others:
            return None
        return max(0.0, max(cosines(np.stack(others), vector)))
