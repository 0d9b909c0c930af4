"""Which older memory a new one may have changed, by the offline model.

What another text changes is far rarer among the memories near it than among the pairs that the
model was trained on, so of those near it only the likeliest gets a probability.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Final

from spector.errors import EmbeddingError, ModelFileError
from spector.language.tables import common_share, language_of
from spector.observe.gate.candidates import Candidate, Incoming
from spector.observe.gate.vetoes import distrust
from spector.providers import ChangeModel

__all__ = ["Ordering"]

#: share of common English words that each of two texts must have, and both on average; 96 % of
#: the pairs of hands have it, and hardly one of another language
_ENGLISH: Final = (0.05, 0.2)
#: older memories that are judged for one new one
_MOST: Final = 4
#: log-odds added to those of the model, which was trained with two wrong pairs for each pair
_PRIOR: Final = 1.32
#: log-odds of what is as good as impossible
_LEAST: Final = -50.0


class Ordering:
    """Asks the offline model about new memories and the older ones near them.

    Args:
        model: loads at the first question. Where it fails, one warning, and the cues decide.
    """

    def __init__(self, model: ChangeModel) -> None:
        self._model: ChangeModel | None = model

    @property
    def works(self) -> bool:
        """Whether the model has not failed."""
        return self._model is not None

    @staticmethod
    def reads(old: str, new: str) -> bool:
        """Whether the model reads two texts: it knows no language but English."""
        shares = [_english_share(each) for each in (old, new)]
        return min(shares) >= _ENGLISH[0] and sum(shares) / 2 >= _ENGLISH[1]

    def near(
        self, new: Incoming, candidates: Iterable[Candidate], more: Mapping[str, float]
    ) -> list[str]:
        """The words of the older memories that a new one may have changed, the nearest first; none
        for what no user says, as the model knows messages of users only.

        Args:
            more: words of messages that will be memories before it -> likeness.
        """
        if new.data_source != "user_message" or _english_share(new.said) < _ENGLISH[0]:
            return []
        found = dict(more)
        for each in candidates:
            if not (
                each.is_knowledge
                or each.is_dormant
                or each.speaker != new.speaker
                or each.record.event_ms > new.event_ms
                or distrust(new, each)
            ):
                found[each.said] = max(each.likeness or 0.0, found.get(each.said, 0.0))
        found.pop(new.said, None)
        ordered = sorted(found, key=lambda each: (-found[each], each))
        return list(islice((each for each in ordered if self.reads(each, new.said)), _MOST))

    def changes(self, new: str, olds: Sequence[str]) -> dict[str, float]:
        """Words of older memories -> probability that a new text changes what they say; of all but
        the likeliest it is 0. Nothing where the model has failed."""
        model = self._model
        if model is None or not olds:
            return {}
        try:
            odds = model.odds([(old, new) for old in olds])
        except (ModelFileError, EmbeddingError) as error:
            if self.works:
                self._model = None
                warnings.warn(f"cues alone decide what may have changed: {error}", stacklevel=2)
            return {}
        best = int(odds.argmax())
        share = 1.0 / (1.0 + math.exp(-max(_LEAST, float(odds[best]) + _PRIOR)))
        return {old: share if n == best else 0.0 for n, old in enumerate(olds)}


def _english_share(text: str) -> float:
    """Share of a text's words that are common English ones; 0 for a text of another language."""
    return common_share(text, "en") if language_of(text) == "en" else 0.0
