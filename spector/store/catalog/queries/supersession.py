"""Which memory supersedes which: a reserved tag of the newer memory names the older one.

The tag begins with U+0001, which no user's tag may contain. So a link is sealed with the words of
its memory, found from either side (the tag index leads from the older one to the newer), and
copied, repaired and checked like any tag, without a table of its own. The older memory always has
the smaller id, so links form no cycle.

The older memory keeps the end of validity that it had before in a reserved tag of its own. It is
needed when the older one is reinstated, and by then the newer one is gone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from spector.kernel.contract import ENDED, LINK, RESERVED
from spector.layout import Flag
from spector.process import keeps
from spector.store.catalog.catalog import Catalog, id_chunks
from spector.store.catalog.row_codec import Row, StoredRow

__all__ = [
    "LINKED_SQL",
    "LINKS_SQL",
    "PINNED_SQL",
    "RESTED_SQL",
    "SUPERSEDED_SQL",
    "TagParts",
    "ended_among",
    "has_ended",
    "has_windows",
    "join_reserved_tags",
    "link_tags",
    "newer_than",
    "split_reserved_tags",
    "successors",
]

#: flags begin a mutable block, and SUPERSEDED is in their first byte
_SUPERSEDED: Final = int(Flag.SUPERSEDED)
#: memories with an end of validity that are checked for one that is not superseded
_MANY: Final = 256


def _flagged_sql(flag: Flag) -> str:
    """A condition on ``record``: a flag in the first byte of its mutable block is set.

    SQLite has no bit operations on blobs, so the byte is tested as two hexadecimal digits.
    """
    high, bits = flag > 0xF, int(flag) >> 4 or int(flag)
    digits = ",".join(f"'{digit:X}'" for digit in range(16) if digit & bits)
    return f"substr(hex(substr(record.mutable, 1, 1)), {1 if high else 2}, 1) IN ({digits})"


SUPERSEDED_SQL: Final = _flagged_sql(Flag.SUPERSEDED)
PINNED_SQL: Final = _flagged_sql(Flag.PINNED)
#: a condition on ``record`` with a moment: not dormant, or its validity had ended by then
RESTED_SQL: Final = f"(NOT {_flagged_sql(Flag.DORMANT)} OR valid_until_ms <= ?)"
#: a condition on ``record``: a living memory supersedes it
LINKED_SQL: Final = (
    "EXISTS (SELECT 1 FROM record_tag AS link"
    f" WHERE link.tag = char(1) || '{LINK[1:-1]}' || char(1) || record.id)"
)
#: (newer id, older id as text) of every link
LINKS_SQL: Final = (
    f"SELECT id AS newer, substr(tag, {len(LINK) + 1}) AS older FROM record_tag"
    f" WHERE tag >= char(1) || '{LINK[1:-1]}' || char(1)"
    f" AND tag < char(1) || '{LINK[1:-1]}' || char(2)"
)


def link_tags(superseded: Iterable[int]) -> tuple[str, ...]:
    """The reserved tags of a memory that supersedes these memories."""
    return tuple(f"{LINK}{record_id}" for record_id in superseded)


class TagParts(NamedTuple):
    """A memory's own tags, and what its reserved tags say."""

    own: tuple[str, ...]
    #: ids of the memories it supersedes
    supersedes: tuple[int, ...] = ()
    #: its end of validity before it was superseded; () when it was not
    until_ms: tuple[int | None, ...] = ()


def join_reserved_tags(
    own: tuple[str, ...], supersedes: Iterable[int], until_ms: tuple[int | None, ...]
) -> tuple[str, ...]:
    """Stored tags from their parts, the inverse of `split_reserved_tags`."""
    ends = (ENDED if each is None else f"{ENDED}{each}" for each in until_ms)
    return (*own, *ends, *link_tags(supersedes))


def split_reserved_tags(tags: tuple[str, ...]) -> TagParts:
    """Split stored tags into a memory's own ones and the meaning of the reserved ones."""
    if not tags or not tags[-1].startswith(RESERVED):  # these come last
        return TagParts(tags)
    return _split(tags)


@keeps(1024)
def _split(tags: tuple[str, ...]) -> TagParts:
    own = tuple(tag for tag in tags if not tag.startswith(RESERVED))
    links = (tag.removeprefix(LINK) for tag in tags if tag.startswith(LINK))
    ends = [tag.removeprefix(ENDED) for tag in tags if tag.startswith(ENDED)]
    return TagParts(
        own,
        tuple(int(link) for link in links if link.isascii() and link.isdecimal()),
        tuple(_number(end) for end in ends[:1]),
    )


def _number(text: str) -> int | None:
    digits = text.removeprefix("-")
    return int(text) if digits.isascii() and digits.isdecimal() else None


def has_ended(row: Row | StoredRow) -> bool:
    """Whether a memory may have a successor; only then one is looked up."""
    return bool(row.mutable[0] & _SUPERSEDED) or row.valid_until_ms is not None


def ended_among(rows: Iterable[StoredRow]) -> list[int]:
    """Ids of those of some memories that may have a successor."""
    return [
        row.id for row in rows if row.mutable[0] & _SUPERSEDED or row.valid_until_ms is not None
    ]


def successors(catalog: Catalog, ids: Sequence[int]) -> dict[int, tuple[int, ...]]:
    """id -> the living memories that supersede it, ascending; only ids that have any."""
    out: dict[int, list[int]] = {}
    alive, now = catalog.ends.alive("record_tag")
    with catalog.reading() as connection:
        for chunk in id_chunks(ids):
            marks = ",".join("?" * len(chunk))
            for tag, newer in connection.execute(
                f"SELECT tag, id FROM record_tag WHERE tag IN ({marks}){alive} ORDER BY id",
                (*link_tags(chunk), *now),
            ):
                out.setdefault(int(tag.removeprefix(LINK)), []).append(newer)
    return {older: tuple(newer) for older, newer in out.items()}


def newer_than(catalog: Catalog, row: Row | StoredRow) -> tuple[int, ...]:
    """The living memories that supersede the one of a row, ascending."""
    return successors(catalog, [row.id]).get(row.id, ()) if has_ended(row) else ()


def has_windows(catalog: Catalog) -> bool:
    """False when only superseded memories, which their flag excludes, have a validity window.

    When many have an end of validity they are not all checked, and the answer is True.
    """
    with catalog.reading() as connection:
        found = connection.execute(
            "SELECT EXISTS (SELECT 1 FROM record WHERE valid_from_ms IS NOT NULL AND NOT"
            f" {SUPERSEDED_SQL}) OR (SELECT count(*) = {_MANY} OR total(NOT {SUPERSEDED_SQL}) > 0"
            f" FROM (SELECT mutable FROM record WHERE valid_until_ms IS NOT NULL LIMIT {_MANY})"
            " AS record)"
        )
        return bool(found.fetchone()[0])
