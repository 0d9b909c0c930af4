"""Bands of likeness, by which the gate decides under the presets v9, ucma and maxim."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from spector.config import ObserveConfig
from spector.language.words import wording_of
from spector.language.worth import same_particulars
from spector.observe.gate.candidates import Candidate, Incoming
from spector.records import Decision

#: likeness of messages to the most alike of 199 others under the default model, on MemoryBank's
#: English chats: the values below which 0, 5, 10, ... 95 % of them are, and the end of the scale
_DEFAULT: Final = (
    0.28,
    0.39,
    0.44,
    0.47,
    0.49,
    0.51,
    0.53,
    0.54,
    0.55,
    0.57,
    0.58,
    0.59,
    0.60,
    0.62,
    0.64,
    0.65,
    0.67,
    0.68,
    0.71,
    0.75,
    1.0,
)
_DIGITS: Final = 6
#: texts of a store from which on its likeness can be told
LEAST_SAMPLE: Final = 50


def decide_by_bands(
    new: Incoming,
    candidates: Sequence[Candidate],
    config: ObserveConfig,
    sample: Sequence[float] = (),
) -> Decision:
    """The action by the likeness to the nearest memory of the same origin.

    Args:
        sample: likeness of the store's texts to their nearest, ascending, for a calibrated scale.
    """
    near = [
        each
        for each in candidates
        if each.likeness is not None and each.data_source == new.data_source and not each.is_dormant
    ]
    if not near:
        return Decision(action="create")
    old = max(near, key=lambda one: (one.likeness or 0.0, -one.id))
    likeness = old.likeness or 0.0
    s = calibrated(likeness, sample) if config.gate_scale == "calibrated" else likeness
    s = round(s, _DIGITS)  # vectors are float32: 0.92 comes as 0.92000002
    decided = Decision(rule="band", nearest=old.id, likeness=likeness)
    if s < config.update_from:
        if s < config.create_below or new.importance >= config.gap_importance:
            return decided
        reason = f"likeness {s:.2f} with importance {new.importance:.2f}"
        return replace(decided, action="skip", reason=reason)
    if same_particulars(old.words, new.words):
        if s > config.reinforce_above:
            return replace(decided, action="reinforce", reinforced=old.id, verdict="same")
        if merged := _merged(new, old, config):
            return replace(decided, action="update", merged=merged, verdict="adds")
    return replace(decided, relation="elaborates", verdict="adds")


def _merged(new: Incoming, old: Candidate, config: ObserveConfig) -> str | None:
    if config.on_update != "merge" or old.record.immutable or old.is_knowledge:
        return None
    return merged_text(old.record.text, new.text, most=config.max_merged_chars)


def calibrated(likeness: float, sample: Sequence[float]) -> float:
    """The likeness that cuts off the same share of texts under the default model.

    Args:
        sample: likeness of a store's texts to their nearest, ascending; of too few the likeness
            stays as it is.
    """
    if len(sample) < LEAST_SAMPLE:
        return likeness
    at = bisect_left(sample, likeness)
    if at == 0 or at >= len(sample):
        # beyond what the store has: the way to the end of the scale is shared in proportion
        low, high = (-1.0, sample[0]) if at == 0 else (sample[-1], 1.0)
        first, last = (-1.0, _DEFAULT[0]) if at == 0 else (_DEFAULT[-2], 1.0)
        share = (likeness - low) / (high - low) if high > low else 1.0
        return first + (last - first) * min(1.0, max(0.0, share))
    before, after = sample[at - 1], sample[at]
    share = (likeness - before) / (after - before) if after > before else 0.0
    place = (at - 1 + share) / (len(sample) - 1) * (len(_DEFAULT) - 1)
    n = min(int(place), len(_DEFAULT) - 2)
    return _DEFAULT[n] + (_DEFAULT[n + 1] - _DEFAULT[n]) * (place - n)


# Merges a new text into an old one, losing no sentence of either (preset v9).

#: between the texts of two memories
SEPARATOR: Final = " | "
_END: Final = re.compile(r"(?<=[.!?;])\s+|\n+")


def merged_text(old: str, new: str, *, most: int) -> str | None:
    """The old text and, after a separator, the sentences of the new one that it does not have.

    Returns None where that would be longer than ``most`` characters: then both are kept.
    """
    known = {wording_of(each) for each in _sentences(old)}
    fresh = [each for each in _sentences(new) if wording_of(each) not in known]
    if not fresh:
        return old if len(old) <= most else None
    text = f"{old}{SEPARATOR}{' '.join(fresh)}"
    return text if len(text) <= most else None


def _sentences(text: str) -> Iterator[str]:
    for part in text.split(SEPARATOR):
        yield from (each.strip() for each in _END.split(part) if each.strip())
