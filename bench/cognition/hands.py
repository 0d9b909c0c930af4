"""Row 28: what the gate makes of pairs of eleven hands that nobody read for it.

The hands were split by lot before a pair was looked at: ``random.Random(43)`` over their names in
order. Rules were written with sight of the first eleven; `MEASURED` are only counted.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from bench.cognition.gate import decided
from bench.cognition.score import Score
from bench.judge.hands import pairs_of
from spector.language.tables import language_of
from spector.providers import MiniLMEmbedder

__all__ = ["DEVELOPED", "MEASURED", "hands"]

DEVELOPED: Final = "burak deniz dolores fatima hiro isla joaquin lena margaret noor tyrell".split()
MEASURED: Final = "aylin bruno chidi deepa ewan greta ingrid kayleigh kiran mateo rustam".split()
_TRUE: Final = ("changes", "ends")
_RELATIONS: Final = (*_TRUE, "apart", "adds", "same")


def hands(names: list[str] = MEASURED) -> list[Score]:
    """Row 28: pairs that get an edge of order, or are superseded, by relation and language."""
    embedder, out, found_of = MiniLMEmbedder(), [], pairs_of()
    ties: dict[str, dict[str, list[bool]]] = {"en": {}, "tr": {}}
    hidden = 0
    for name in names:
        rows = found_of[name]
        vectors = [embedder.embed([row[part] for row in rows]) for part in ("old", "new")]
        likeness = np.einsum("nd,nd->n", *vectors).tolist()
        language = language_of(" ".join(row["old"] for row in rows))
        for row, like in zip(rows, likeness, strict=True):
            decision = decided(row["old"], row["new"], likeness=like)
            is_tied = bool(decision.may_change or decision.superseded)
            ties[language].setdefault(row["relation"], []).append(is_tied)
            hidden += bool(decision.superseded) and row["relation"] not in _TRUE
    for language, found in ties.items():
        shares = {each: 100 * sum(found[each]) / len(found[each]) for each in _RELATIONS}
        count = sum(map(len, found.values()))
        out.append(
            Score(
                28,
                f"{count} pairs of unread hands, {language}: tied as changed, in percent of "
                + " · ".join(_RELATIONS),
                " · ".join(f"{shares[each]:.1f}" for each in _RELATIONS),
                "-",
                f"wrongly hidden in both: {hidden}",
                hidden * 200 <= count,
            )
        )
    return out
