"""References follow a memory that another takes the place of."""

from __future__ import annotations

from spector.knowledge.changes import Changes, New
from spector.knowledge.reader import KnowledgeReader

__all__ = ["plan_moved_references"]

_REFERENCE = "reference:"


def plan_moved_references(
    reader: KnowledgeReader, changes: Changes, gone: int, kept: int | New
) -> list[int]:
    """Have the concepts that refer to a memory refer to the one that replaces it.

    For a memory that is merged into another, compressed to another id, or retired because another
    says the same. A concept that refers to both keeps one reference: the earlier place, and the
    earlier time of counting. Both must be of one user.

    Returns:
        The concepts whose references moved.
    """
    if gone == kept:
        return []
    ids = [gone] if isinstance(kept, New) else [gone, kept]
    rows = [row for row in reader.link_kinds(ids) if row["kind"].startswith(_REFERENCE)]
    known = {(row["a"], row["kind"]): row for row in rows if row["b"] == kept}
    moved = []
    for row in rows:
        if row["b"] != gone or row["a"] == kept:
            continue
        changes.drop("link", row["a"], row["kind"], gone)
        other = known.get((row["a"], row["kind"]))
        n, t_ms = row["n"], row["t_ms"]
        if other is not None:
            n = min((each for each in (n, other["n"]) if each is not None), default=None)
            t_ms = min((each for each in (t_ms, other["t_ms"]) if each is not None), default=None)
        changes.put("link", a=row["a"], kind=row["kind"], b=kept, n=n, t_ms=t_ms)
        moved.append(row["a"])
    return moved
