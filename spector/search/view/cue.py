"""The cue of a recall, and what the rules of language read in it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import tzinfo
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from spector.language.cues import Kind

if TYPE_CHECKING:
    from spector.language.cues import Topic
    from spector.language.dates import Span, Window

__all__ = ["NO_READING", "Cue", "Reading"]


@dataclass(frozen=True, slots=True, eq=False)
class Cue:
    """A text, a vector (dim,) f32, or both; neither ranks by strength alone."""

    text: str | None
    vector: NDArray[np.float32] | None


@dataclass(frozen=True, slots=True)
class Reading:
    """A cue as the rules of language read it; no store is asked.

    Attributes:
        kind: as the caller named it, or by the wording.
        topic: of a cue about the conversation ("what did I say about ..."); None for any other.
        asks_for_now: it asks how things are, so of two statements the newer one comes first.
        span: the stretch of time that it names, widened by the time zones; None without one.
        record_id: the id that it is, if it is one and nothing else.
        zone: whose days it names.
        window: the stretch to which the answer is restricted; None where a time only orders it.
        ends_ms: it asks for a time, so what has ended since then is seen; None for any other.
    """

    kind: Kind
    topic: Topic | None = None
    asks_for_now: bool = False
    span: Span | None = None
    record_id: int | None = None
    ends_ms: int | None = None
    zone: tzinfo | None = None
    window: Window | None = None

    @property
    def is_survey(self) -> bool:
        """Whether it asks for all there is ("what do you know about me?")."""
        return self.topic is not None and self.topic.is_survey


#: of a recall without a text
NO_READING: Final = Reading(Kind.FACT)
