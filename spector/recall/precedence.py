"""Which of the hits of a context counts where two of them say of one thing how it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from spector.records import HitList
from spector.search.selection import is_word_of_user

__all__ = ["COUNTS", "EARLIER", "OTHERWISE", "Order", "order_of"]

#: of the user's word beside that of others, of theirs, and of what a newer memory stands for
COUNTS: Final = "this counts"
OTHERWISE: Final = "said otherwise"
EARLIER: Final = "earlier"


class Order(NamedTuple):
    """What of some hits counts.

    Attributes:
        heads: id of a hit -> that of the one that counts instead. marks: "earlier" of one that a
            newer one stands for, "said otherwise" of others' words beside the user's, and `COUNTS`
            of his.
    """

    heads: Mapping[int, int]
    marks: Mapping[int, str]


def order_of(hits: HitList, k: int) -> Order:
    """Which of the first k hits stands for which others: the first of all that count instead."""
    shown = {hit.id: hit for hit in hits[:k]}
    heads, marks = dict[int, int](), dict[int, str]()
    before = dict[int, int]()
    for each in shown:  # one that counts instead stands before it
        instead = hits.outdated.get(each, ())
        head = next((before[one] for one in before if one in instead), each)
        before[each] = head
        if head == each:
            continue
        heads[each] = head
        by_user = is_word_of_user(shown[head]) and not is_word_of_user(shown[each])
        marks[each] = OTHERWISE if by_user else EARLIER
        if by_user:
            marks[head] = COUNTS
    return Order(heads, marks)
