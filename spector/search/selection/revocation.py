"""Which instructions a newer one of the same matter takes the place of, or ends.

The newer one stands where that is unsure: of two contrary ones an answer can follow only one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from spector._types import F32
from spector.kernel.contract import cosine_table
from spector.search.selection.instructions import Instruction

__all__ = ["revoked"]

#: cosine from which on two orders are of one matter: one forbids what the other asks for; both ask
_ALIKE_CONTRARY, _ALIKE = 0.55, 0.45
#: share of the newer one's words that the older one has: what it forbids; another value of it
_SHARED, _OF_VALUE = 0.6, 0.5


def revoked(
    instructions: Sequence[Instruction], vouched: Sequence[bool], vectors: F32 | None = None
) -> set[int]:
    """Numbers of the instructions (newest first) that no longer apply, those that only end others
    among them.

    A newer one revokes an older one of the same user, agent and kind of speaker. Words without a
    role revoke no words that have one.

    Args:
        vectors: (n, dim) f32 unit vectors of their texts; None where there are none.
    """
    gone = {n for n, each in enumerate(instructions) if each.lifts}
    likeness = None if vectors is None else cosine_table(vectors, vectors)
    having: dict[str, list[int]] = defaultdict(list)
    for n, each in enumerate(instructions):
        for word in (*each.forms, *each.aspects):
            having[word].append(n)
    for newer, each in enumerate(instructions):
        near = {n for word in (*each.forms, *each.aspects) for n in having[word] if n > newer}
        for older in near - gone:
            other = instructions[older]
            if (
                other.scope == each.scope
                and (vouched[newer] or not vouched[older])
                and _is_contrary(
                    each, other, 0.0 if likeness is None else float(likeness[newer, older])
                )
            ):
                gone.add(older)
    return gone


def _is_contrary(new: Instruction, old: Instruction, alike: float) -> bool:
    """Whether an answer cannot follow both; what is narrower takes nothing back."""
    shared = _share(new, old)
    if new.forbids != old.forbids and shared >= _SHARED:
        return True
    if new.condition is not None and not _same_condition(new, old):
        return False
    if new.forbids != old.forbids:
        return shared > 0 and alike >= _ALIKE_CONTRARY
    if new.forbids or new.lifts or not _same_condition(new, old):
        return False  # of two things that are forbidden both may be
    return (
        bool(new.aspects & old.aspects) or shared >= _OF_VALUE or (shared > 0 and alike >= _ALIKE)
    )


def _same_condition(new: Instruction, old: Instruction) -> bool:
    if new.condition is None or old.condition is None:
        return new.condition is old.condition
    one, other = {*new.condition.split()}, {*old.condition.split()}
    return one <= other or other <= one


def _share(new: Instruction, old: Instruction) -> float:
    """Share of the newer one's words that the older one has as well."""
    common = sum(not old.forms.isdisjoint(word) for word in new.about)
    return common / len(new.about) if new.about else 0.0
