"""Migrations between formats: what each format changed, and how an older store is converted.

The catalog has the format of its store: ``format_version``, and ``format_minor`` where that is not
0. Every partition repeats the first.

======================  ==============================================================
newer version           refused, whatever the mode
newer minor             opens with ``mode="r"`` only
the same                opens
older version           ``mode="rw"`` migrates it; ``mode="r"`` reads it as it is
======================  ==============================================================

A step converts a store to the next format, all or nothing: one commit of the catalog sets the new
version together with everything that it implies. So a migration that is killed continues with the
next opening after the last finished step. There is no way back.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from spector.kernel import crc32c_rows
from spector.kernel.contract import scope_tag, tags_mask
from spector.layout import headers_of
from spector.store.catalog import Row, add_seals
from spector.store.core import Store
from spector.store.files import Bytes
from spector.store.rewriting.rewriting import rewrite_all

__all__ = ["STEPS", "Step", "next_step"]


@dataclass(frozen=True, slots=True)
class Step:
    """How a store of format ``before`` becomes one of format ``before + 1``."""

    before: int
    what: str
    #: commits the new version together with what it means, or nothing
    run: Callable[[Store], object]


def bloom_of(row: Row, version: int) -> int:
    """The Bloom filter of a memory, from what the catalog knows exactly."""
    scopes = [
        scope_tag(kind, value)  # type: ignore[arg-type]
        for kind, value in (
            ("user", row.user_id),
            ("agent", row.agent_id),
            ("session", row.session_id),
        )
        if value is not None
    ]
    return tags_mask((*row.tags, *scopes), version)


def _to_format_2(store: Store) -> int:
    """New tag bits from the exact tags, and seals over the catalog's words.

    Damaged records stay as they are, for check to find.
    """

    def transform(images: Bytes, rows: list[Row]) -> Bytes:
        new: Bytes = images.copy()
        headers = headers_of(new)
        headers["tags"] = [bloom_of(row, 2) for row in rows]
        headers["crc"] = crc32c_rows(new, seed=store.uuid)
        return new

    return rewrite_all(store, transform, {"format_version": "2"}, keep_damaged=True, also=add_seals)


STEPS: Final[tuple[Step, ...]] = (
    Step(
        1,
        "tags take any four of the 64 bits, not one of 1,024 patterns; words have seals",
        _to_format_2,
    ),
)


def next_step(version: int, steps: tuple[Step, ...] = STEPS) -> Step | None:
    """The step that leads on from a format, if one does."""
    return next((step for step in steps if step.before == version), None)
