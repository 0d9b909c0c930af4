"""A theme does not stand before the memories that it was made of."""

from __future__ import annotations

from typing import Final

import numpy as np

from spector._types import F32
from spector.layout import Category
from spector.search.associations.reading import has_details, knowledge_of
from spector.search.view import Modifier, Plan, Ranked, header_column

__all__ = ["theme"]

#: a theme below this share of the score of the last one that counts stays behind it
_RIVAL: Final = 0.9
_MOST_RIVALS: Final = 2048
#: share of its sources that must be awake for a theme to give way to them
_AWAKE: Final = 0.5


def theme(plan: Plan, ranked: Ranked) -> Modifier | None:
    """A theme or summary, most of whose sources are awake, is worth what they are on average.

    It quotes them all, is important by what it is, and is like whatever one of them is like: it
    would stand before the one that answers. Asked for everything, it is an answer.
    """
    request = plan.request
    if request.reading.is_survey or not has_details(plan):  # what nights make has details
        return None
    rows, scores = ranked.rivals(2 * plan.k, _RIVAL, _MOST_RIVALS)
    categories = header_column(plan.snap, ranked.part[rows], ranked.slot[rows], "category")
    made = categories == int(Category.SUMMARY)
    if not made.any():
        return None
    own = dict(zip(ranked.ids[rows[made]].tolist(), scores[made].tolist(), strict=True))
    sources: dict[int, list[int]] = {each: [] for each in own}
    with knowledge_of(plan) as reader:
        for edge in reader.edges(list(own), direction="out", kinds=["derived_from"]):
            sources[edge.source].append(edge.target)
    awake = ranked.scores_of({each for found in sources.values() for each in found})
    addend: F32 = np.zeros(len(ranked.ids), np.float32)
    for row, each in zip(rows[made].tolist(), own, strict=True):
        found = [awake[one] for one in sources[each] if one in awake]
        if found and len(found) >= _AWAKE * len(sources[each]):
            addend[row] = min(0.0, sum(found) / len(found) - own[each])
    if not addend.any():
        return None
    return Modifier("theme", np.ones(len(addend), np.float32), addend)
